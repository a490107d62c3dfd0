//! The examples do what they say.

#![allow(clippy::unwrap_used)]

#[path = "../examples/k_core.rs"]
mod k_core;

use nakshi_engine::{Context, Graph, VertexId};

/// Removes one vertex after the other, by hand.
fn peel(n: u32, edges: &[(VertexId, VertexId)], k: usize) -> Vec<VertexId> {
    let mut core: Vec<VertexId> = (0..n).collect();
    loop {
        let mut neighbours: Vec<Vec<VertexId>> = vec![Vec::new(); n as usize];
        for &(u, v) in edges.iter().filter(|(u, v)| core.contains(u) && core.contains(v)) {
            neighbours[u as usize].push(v);
            neighbours[v as usize].push(u);
        }
        neighbours.iter_mut().for_each(|l| {
            l.sort_unstable();
            l.dedup();
        });
        let before = core.len();
        core.retain(|&v| neighbours[v as usize].len() >= k);
        if core.len() == before {
            return core;
        }
    }
}

#[test]
fn the_k_core_is_what_peeling_leaves() {
    let mut x = 7u64;
    let mut next = |n: u64| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 33) % n
    };
    let edges: Vec<(u32, u32)> = (0..900)
        .map(|_| ((next(200) * next(200) / 200) as u32, next(200) as u32))
        .filter(|(u, v)| u != v)
        .collect();
    let memory = Graph::from_edges(200, &edges, false, None).unwrap();
    let ssd =
        Graph::from_edges_on_ssd(200, &edges, false, None, 64 << 10, &|backend| backend).unwrap();
    for graph in [memory, ssd] {
        for threads in [1, 2, 4] {
            let cx = Context::new().with_threads(threads);
            let mut sizes = Vec::new();
            for k in 0..12 {
                let core = k_core::k_core(&graph, k, &cx).unwrap();
                assert_eq!(core, peel(200, &edges, k as usize), "{k}-core");
                sizes.push(core.len());
            }
            assert!(sizes[0] == 200 && sizes.is_sorted_by(|a, b| a >= b));
        }
    }
}
