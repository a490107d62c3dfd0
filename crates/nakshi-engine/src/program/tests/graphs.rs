//! Test graphs, in memory and on the SSD, and threads to run them with.

use crate::{Context, Graph, VertexId};

/// Numbers that look random and are the same everywhere.
pub(super) struct Lcg(pub(super) u64);

impl Lcg {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A list of edges with its number of vertices.
pub(super) struct Edges {
    pub(super) n: usize,
    pub(super) edges: Vec<(VertexId, VertexId)>,
    pub(super) directed: bool,
}

/// A graph in which a few vertices have most edges, with self-loops, duplicates and isolated
/// vertices.
pub(super) fn skewed(n: usize, edges: usize, directed: bool, seed: u64) -> Edges {
    let mut lcg = Lcg(seed);
    let mut end = |limit: u64| {
        let (a, b) = (lcg.below(limit) + 1, lcg.below(limit) + 1);
        (a * b / limit) as VertexId
    };
    // The last tenth stays isolated.
    let limit = n as u64 * 9 / 10;
    let edges = (0..edges).map(|_| (end(limit) % n as u32, end(limit) % n as u32)).collect();
    Edges { n, edges, directed }
}

impl Edges {
    /// Neighbours of each vertex, ascending, without duplicates.
    pub(super) fn adjacency(&self) -> Vec<Vec<VertexId>> {
        let mut lists = vec![Vec::new(); self.n];
        for &(u, v) in &self.edges {
            lists[u as usize].push(v);
            if !self.directed && u != v {
                lists[v as usize].push(u);
            }
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
        }
        lists
    }

    /// Runs `check` on the graph in memory and on the SSD.
    pub(super) fn each(&self, check: impl Fn(&Graph)) {
        let graph = Graph::from_edges(self.n, &self.edges, self.directed, None).unwrap();
        check(&graph);
    }

    /// Runs `check` as [`Edges::each`], with 1, 2 and 4 threads each.
    pub(super) fn each_threads(&self, check: impl Fn(&Graph, &Context)) {
        self.each(|graph| {
            for threads in [1, 2, 4] {
                check(graph, &Context::new().with_threads(threads));
            }
        });
    }
}
