//! Betweenness from its definition: shortest paths are counted for all pairs, and a
//! vertex is credited with the share of the paths through it. No back propagation.

use super::apsp::all_pairs;

/// Number of shortest paths between all pairs, by distance.
fn path_counts(adjacency: &[Vec<u32>], distance: &[Vec<Option<u32>>]) -> Vec<Vec<f64>> {
    let n = adjacency.len();
    let mut counts = vec![vec![0.0; n]; n];
    for s in 0..n {
        counts[s][s] = 1.0;
        let mut order: Vec<usize> = (0..n).filter(|&v| distance[s][v].is_some()).collect();
        order.sort_by_key(|&v| distance[s][v]);
        for &u in &order {
            for &v in &adjacency[u] {
                let v = v as usize;
                if distance[s][v] == distance[s][u].map(|d| d + 1) {
                    counts[s][v] += counts[s][u];
                }
            }
        }
    }
    counts
}

/// Sum over `sources` and all targets of the share of shortest paths through each vertex
/// (ends excluded), without any scaling. O(k n^2): for tests.
pub fn betweenness(adjacency: &[Vec<u32>], sources: &[u32]) -> Vec<f64> {
    let n = adjacency.len();
    let distance = all_pairs(adjacency);
    let counts = path_counts(adjacency, &distance);
    let mut score = vec![0.0; n];
    for s in sources.iter().map(|&s| s as usize) {
        for t in (0..n).filter(|&t| t != s) {
            let Some(whole) = distance[s][t] else { continue };
            for v in (0..n).filter(|&v| v != s && v != t) {
                if let (Some(a), Some(b)) = (distance[s][v], distance[v][t])
                    && a + b == whole
                {
                    score[v] += counts[s][v] * counts[v][t] / counts[s][t];
                }
            }
        }
    }
    score
}
