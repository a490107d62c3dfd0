//! The k-truss by taking away one edge at a time.

use std::collections::BTreeSet;

/// Edges of the k-truss at each vertex; lists have both ends of each edge.
pub fn degrees(adjacency: &[Vec<u32>], k: u32) -> Vec<u32> {
    let mut near: Vec<BTreeSet<usize>> = Vec::new();
    for (u, list) in adjacency.iter().enumerate() {
        near.push(list.iter().map(|&v| v as usize).filter(|&v| v != u).collect());
    }
    let weak = |near: &[BTreeSet<usize>]| {
        let edges = near.iter().enumerate().flat_map(|(u, list)| list.iter().map(move |&v| (u, v)));
        let mut edges = edges.collect::<Vec<_>>().into_iter();
        edges.find(|&(u, v)| near[u].intersection(&near[v]).count() + 2 < k as usize)
    };
    while let Some((u, v)) = weak(&near) {
        near[u].remove(&v);
        near[v].remove(&u);
    }
    near.iter().map(|list| list.len() as u32).collect()
}
