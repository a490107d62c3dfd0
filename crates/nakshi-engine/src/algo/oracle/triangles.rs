//! Triangles, clustering and scan statistics from a dense adjacency matrix.

/// Adjacency matrix; `matrix[u][v]` if there is an arc from `u` to `v`, loops removed.
pub fn matrix(adjacency: &[Vec<u32>]) -> Vec<Vec<bool>> {
    let n = adjacency.len();
    let mut matrix = vec![vec![false; n]; n];
    for (u, list) in adjacency.iter().enumerate() {
        for &v in list {
            matrix[u][v as usize] = u != v as usize;
        }
    }
    matrix
}

/// Triangles through each vertex, direction ignored. O(n^3): for tests.
pub fn per_vertex(adjacency: &[Vec<u32>]) -> Vec<u64> {
    let arcs = matrix(adjacency);
    let n = arcs.len();
    let edge = |u: usize, v: usize| arcs[u][v] || arcs[v][u];
    let mut counts = vec![0; n];
    for u in 0..n {
        for v in 0..u {
            for w in 0..v {
                if edge(u, v) && edge(u, w) && edge(v, w) {
                    counts[u] += 1;
                    counts[v] += 1;
                    counts[w] += 1;
                }
            }
        }
    }
    counts
}

/// Arcs among the neighbours of each vertex and the number of neighbours (joined by an
/// arc in any direction). In an undirected graph each edge is two arcs.
fn among(arcs: &[Vec<bool>], v: usize) -> (u64, u64) {
    let n = arcs.len();
    let near: Vec<usize> = (0..n).filter(|&u| arcs[u][v] || arcs[v][u]).collect();
    let mut count = 0;
    for &a in &near {
        count += near.iter().filter(|&&b| arcs[a][b]).count() as u64;
    }
    (count, near.len() as u64)
}

/// Local clustering coefficients as LDBC Graphalytics defines them.
pub fn clustering(adjacency: &[Vec<u32>]) -> Vec<f64> {
    let arcs = matrix(adjacency);
    (0..arcs.len())
        .map(|v| match among(&arcs, v) {
            (_, 0 | 1) => 0.0,
            (edges, near) => edges as f64 / (near as f64 * (near as f64 - 1.0)),
        })
        .collect()
}

/// Edges in the closed neighbourhood of each vertex, direction ignored: one for two vertices that arcs
/// join, in one direction or in both.
pub fn scan_statistics(adjacency: &[Vec<u32>]) -> Vec<u64> {
    let arcs = matrix(adjacency);
    let n = arcs.len();
    let edge = |u: usize, v: usize| arcs[u][v] || arcs[v][u];
    (0..n)
        .map(|v| {
            let near = |u: usize| u == v || edge(u, v);
            let below = |u: usize| (0..u).filter(|&w| near(w) && edge(u, w)).count() as u64;
            (0..n).filter(|&u| near(u)).map(below).sum()
        })
        .collect()
}
