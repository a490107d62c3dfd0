//! Bridges, by a spanning forest and the numbers of its vertices ([`super::low_points`]).
//!
//! R. Tarjan, U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM J. Comput. 14
//! (1985). An edge of the forest is a bridge if no other edge leads out of the subtree below it;
//! all other edges lie on cycles. After the forest, all lists are read once. State: 32 bytes a
//! vertex.

use super::low_points::{self, LowPoints};
use super::spanning_forest::SpanningForest;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::Bitmap;
use nakshi_store::VertexId;

algorithm! {
    /// Bridges: edges on no cycle, without which their component falls apart.
    ///
    /// The direction of edges is ignored, and edges in both directions are one. Parallel edges are
    /// no bridges.
    #[derive(Eq)]
    pub struct Bridges = "bridges" {}
    citation: "R. Tarjan, U. Vishkin, \"An efficient parallel biconnectivity algorithm\", SIAM J. Comput. 14 (1985)";
    columns: &[
        Output::new("bridge", "vertex", "the other end of the bridge that leads from the vertex towards the \
            smallest id of its component; missing where there is none, so that each bridge is there once"),
    ];
    summary: &[Output::new("bridges", "uint64", "number of bridges")];
}

/// Bridges in internal order.
#[derive(Debug, Clone, Default)]
pub struct BridgeEnds {
    /// The other end of a bridge of each vertex; meaningful where `has_bridge`.
    pub ends: Vec<VertexId>,
    /// Vertices from which a bridge leads towards the root of their tree.
    pub has_bridge: Bitmap,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<BridgeEnds> for Outcome {
    fn from(found: BridgeEnds) -> Self {
        let count = found.has_bridge.count();
        let column = Column::with_valid("bridge", Values::Vertex(found.ends), found.has_bridge);
        Outcome::of(vec![column], found.stats).with_summary("bridges", count)
    }
}

impl Algorithm for Bridges {
    type Output = BridgeEnds;

    fn needs(&self, summary: &Summary) -> Needs {
        let needs = SpanningForest {}.needs(summary);
        let bytes = needs.state_bytes_per_vertex.max(low_points::BYTES + 0.125);
        Needs { state_bytes_per_vertex: bytes, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<BridgeEnds> {
        let forest = SpanningForest {}.run(graph, cx)?;
        let mut stats = forest.stats.clone();
        let mut log = IterationLog::new(graph);
        let points = LowPoints::new(graph, forest, cx)?;
        let mut has_bridge = Bitmap::new(graph.num_vertices());
        // Internal ids are 32 bits.
        for v in 0..graph.num_vertices() as u32 {
            if !points.is_root(v) && !points.leads_out(v, v) {
                has_bridge.set(v as usize);
            }
        }
        log.end("bridges", graph.num_vertices() as u64);
        stats.append(log.finish());
        Ok(BridgeEnds { ends: points.into_parents(), has_bridge, stats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{biconnectivity as oracle, sample};
    use proptest::prelude::*;

    /// The bridges as pairs in ascending order.
    fn found(graph: &Graph, cx: &Context) -> Vec<(u32, u32)> {
        let found = Bridges {}.run(graph, cx).unwrap();
        let pair = |v: usize| (found.ends[v].min(v as u32), found.ends[v].max(v as u32));
        let mut pairs: Vec<_> = found.has_bridge.iter().map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn are_edges_that_part_their_ends(sample in sample::graphs(40, 60)) {
            let expected = oracle::bridges(&sample.undirected());
            sample.compare(&expected, found)?;
        }
    }
}
