//! Strong components by the transitive closure: two vertices that reach each other.

use super::apsp::all_pairs;

/// The smallest vertex of each vertex's strong component. O(n^3): for tests.
pub fn components(adjacency: &[Vec<u32>]) -> Vec<u32> {
    let distance = all_pairs(adjacency);
    let reaches = |u: usize, v: usize| distance[u][v].is_some();
    let first = |v: usize| (0..v).find(|&u| reaches(u, v) && reaches(v, u)).unwrap_or(v);
    (0..adjacency.len()).map(|v| first(v) as u32).collect()
}
