//! Oracles: each algorithm again, by another method, on plain adjacency vectors.

pub mod apsp;
pub mod bc;
pub mod cdlp;
pub mod sssp;
pub mod triangles;

#[cfg(test)]
pub(crate) mod sample {
    //! Small random graphs for tests.

    use crate::{Context, Graph};
    use proptest::prelude::*;

    /// A graph as its edges, with self-loops, duplicates and isolated vertices.
    #[derive(Debug, Clone)]
    pub(crate) struct Sample {
        pub(crate) n: usize,
        pub(crate) edges: Vec<(u32, u32)>,
        pub(crate) directed: bool,
    }

    /// Graphs of up to `n` vertices and `m` edges, some with a hub.
    pub(crate) fn graphs(n: u32, m: usize) -> impl Strategy<Value = Sample> {
        (1..=n).prop_flat_map(move |n| {
            let end = prop_oneof![3 => 0..n, 1 => 0..n.div_ceil(4)];
            let edges = proptest::collection::vec((end.clone(), end), 0..=m);
            (edges, any::<bool>()).prop_map(move |(edges, directed)| Sample {
                n: n as usize,
                edges,
                directed,
            })
        })
    }

    impl Sample {
        pub(crate) fn graph(&self) -> Graph {
            Graph::from_edges(self.n, &self.edges, self.directed, None).unwrap()
        }

        /// Distinct arcs; an undirected edge is two, a self-loop one.
        pub(crate) fn arcs(&self) -> Vec<(u32, u32)> {
            let mut arcs = self.edges.clone();
            if !self.directed {
                arcs.extend(self.edges.iter().map(|&(u, v)| (v, u)));
            }
            arcs.sort_unstable();
            arcs.dedup();
            arcs
        }

        pub(crate) fn adjacency(&self) -> Vec<Vec<u32>> {
            let mut lists = vec![Vec::new(); self.n];
            self.arcs().iter().for_each(|&(u, v)| lists[u as usize].push(v));
            lists
        }
    }

    /// Contexts with one and with two threads.
    pub(crate) fn contexts() -> [Context; 2] {
        [1, 2].map(|threads| Context::new().with_threads(threads))
    }
}
