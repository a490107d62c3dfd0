//! Longest paths by relaxing all edges again and again (Bellman and Ford): no vertex is taken away.

use super::apsp::all_pairs;

/// Edges of the longest path that ends at each vertex; `None` if there is a cycle.
pub fn generations(adjacency: &[Vec<u32>]) -> Option<Vec<u32>> {
    let mut longest = vec![0u32; adjacency.len()];
    for _ in 0..=adjacency.len() {
        let before = longest.clone();
        for (u, list) in adjacency.iter().enumerate() {
            for &v in list {
                longest[v as usize] = longest[v as usize].max(longest[u] + 1);
            }
        }
        if longest == before {
            return Some(longest);
        }
    }
    None
}

/// Returns true if a path leads from the vertex back to it.
pub fn is_on_a_cycle(adjacency: &[Vec<u32>], vertex: u32) -> bool {
    let distance = all_pairs(adjacency);
    adjacency[vertex as usize]
        .iter()
        .any(|&next| distance[next as usize][vertex as usize].is_some())
}

/// Length of the longest path over `(from, to, weight)` arcs without cycle that ends at each vertex; a path
/// may begin anywhere.
pub fn longest_paths(n: usize, arcs: &[(u32, u32, f64)]) -> Vec<f64> {
    let mut longest = vec![0.0f64; n];
    loop {
        let before = longest.clone();
        for &(u, v, weight) in arcs {
            longest[v as usize] = longest[v as usize].max(longest[u as usize] + weight);
        }
        if longest == before {
            return longest;
        }
    }
}
