//! Matching by one sorted list of edges, instead of by proposals.

use crate::program::pull::mixed;

/// The partner of each vertex if edges are taken greedily, the heaviest first; weights are by chance.
pub fn partners(lists: &[Vec<u32>]) -> Vec<Option<u32>> {
    let pairs = (0u32..).zip(lists).flat_map(|(u, list)| list.iter().map(move |&v| (u, v)));
    let apart = pairs.filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v)));
    let mut edges: Vec<_> =
        apart.map(|(u, v)| (mixed(u64::from(u) << 32 | u64::from(v)), u, v)).collect();
    edges.sort_unstable();
    let mut partners = vec![None; lists.len()];
    for (_, u, v) in edges.into_iter().rev() {
        if partners[u as usize].is_none() && partners[v as usize].is_none() {
            partners[u as usize] = Some(v);
            partners[v as usize] = Some(u);
        }
    }
    partners
}
