//! Small random graphs for tests.

use crate::{Context, Graph};
use proptest::prelude::*;

/// Bounds of thin frontiers: the engine's own, none at all, and one that frontiers of small graphs cross.
const BOUNDS: [Option<u64>; 3] = [None, Some(0), Some(24)];

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

/// As [`graphs`], some with the hubs first.
pub(crate) fn graphs_and_hubs_first(n: u32, m: usize) -> impl Strategy<Value = Sample> {
    let order = |(sample, first): (Sample, bool)| if first { sample.hub_first() } else { sample };
    (graphs(n, m), any::<bool>()).prop_map(order)
}

/// Different arcs between `n` vertices, in ascending order.
pub(crate) fn distinct_arcs(n: u32) -> impl Strategy<Value = Vec<(u32, u32)>> {
    let most = (n * n) as usize;
    let arcs = proptest::collection::btree_set((0..n, 0..n), 0..most / 2);
    arcs.prop_map(|arcs| arcs.into_iter().collect())
}

impl Sample {
    pub(crate) fn graph(&self) -> Graph {
        Graph::from_edges(self.n, &self.edges, self.directed, None).unwrap()
    }

    /// The same graph in SSD mode with a page cache of a few pages.
    pub(crate) fn graph_on_ssd(&self) -> Graph {
        let cache = 16 << 10;
        Graph::from_edges_on_ssd(self.n, &self.edges, self.directed, None, cache, &|b| b).unwrap()
    }

    /// As [`Sample::graph_on_ssd`], in selective mode.
    fn graph_selective(&self) -> Graph {
        Graph::from_edges_selective(self.n, &self.edges, self.directed, 16 << 10).unwrap()
    }

    /// The same graph in memory, decoded.
    pub(crate) fn graph_decoded(&self) -> Graph {
        self.graph().decoded_lists().unwrap()
    }

    /// The graph in memory, decoded in memory and in SSD mode, with frontiers that are thin by different bounds.
    pub(crate) fn graphs(&self) -> Vec<Graph> {
        let with = |bound: Option<u64>| {
            [self.graph(), self.graph_on_ssd()].map(|graph| graph.with_thin(bound))
        };
        let decoded = [None, Some(0)].map(|bound| self.graph_decoded().with_thin(bound));
        BOUNDS.into_iter().flat_map(with).chain(decoded).collect()
    }

    /// The graphs of [`Sample::graphs`] and one in selective mode, each with one and with two threads.
    pub(crate) fn settings(&self) -> Vec<(Graph, Context)> {
        let with = |cx: Context| {
            let graphs = self.graphs().into_iter().chain([self.graph_selective()]);
            graphs.map(move |graph| (graph, cx.clone()))
        };
        contexts().into_iter().flat_map(with).collect()
    }

    /// Compares what `run` finds in each of the [`Sample::settings`] with `expected`.
    pub(crate) fn compare<T: PartialEq + std::fmt::Debug>(
        &self,
        expected: &T,
        run: impl Fn(&Graph, &Context) -> T,
    ) -> Result<(), TestCaseError> {
        for (graph, cx) in self.settings() {
            prop_assert_eq!(&run(&graph, &cx), expected);
        }
        Ok(())
    }

    /// The same graph with the vertices in descending order of their list entries, as a
    /// degree layout has them.
    fn hub_first(&self) -> Sample {
        let mut degrees = vec![0u32; self.n];
        for (u, v) in self.arcs() {
            degrees[u as usize] += 1;
            if self.directed {
                degrees[v as usize] += 1;
            }
        }
        let mut order: Vec<usize> = (0..self.n).collect();
        order.sort_by_key(|&v| std::cmp::Reverse(degrees[v]));
        let mut rank = vec![0u32; self.n];
        (0..).zip(&order).for_each(|(r, &v)| rank[v] = r);
        let edges = self.edges.iter().map(|&(u, v)| (rank[u as usize], rank[v as usize])).collect();
        Sample { edges, ..self.clone() }
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

    /// Lists of both ends of each edge, without its direction.
    pub(crate) fn undirected(&self) -> Vec<Vec<u32>> {
        Sample { directed: false, ..self.clone() }.adjacency()
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

/// A graph of `n` vertices in which a few hubs have most of the edges, from `seed`.
pub(crate) fn power_law(n: u32, m: usize, directed: bool, seed: u64) -> Sample {
    let mut state = seed | 1;
    let mut next = move || {
        // xorshift64*, uniform in 0..1
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut vertex = move || ((next().powi(4) * f64::from(n)) as u32).min(n - 1);
    let edges = (0..m).map(|_| (vertex(), vertex())).collect();
    Sample { n: n as usize, edges, directed }
}

/// An undirected and a directed graph as of [`power_law`].
pub(crate) fn power_laws(n: u32, m: usize, seed: u64) -> [Sample; 2] {
    [false, true].map(|directed| power_law(n, m, directed, seed))
}

/// Cases of a property test: `base` times the environment's `NAKSHI_TEST_SCALE`.
pub(crate) fn cases(base: u32) -> u32 {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|s| s.parse::<u32>().ok());
    base.saturating_mul(scale.unwrap_or(1))
}
