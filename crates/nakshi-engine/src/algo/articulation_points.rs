//! Articulation points, by a spanning forest and the numbers of its vertices
//! ([`super::low_points`]).
//!
//! R. Tarjan, U. Vishkin, "An efficient parallel biconnectivity algorithm", SIAM J. Comput. 14
//! (1985). The edges of the forest, each named by its lower end, are joined into blocks: those
//! below the two ends of an edge outside the forest, and that below a vertex with that above it
//! where an edge leads out from under the vertex. A vertex with edges of two blocks is an
//! articulation point. In a forest of breadth-first trees no end of an edge outside it lies above
//! the other. After the forest, all lists are read twice. State: 36 bytes a vertex.

use super::components::{compress, link};
use super::low_points::{self, LowPoints};
use super::spanning_forest::SpanningForest;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::Bitmap;
use nakshi_store::{Direction, List, VertexId};

algorithm! {
    /// Articulation points: vertices without which their component falls apart.
    ///
    /// The direction of edges is ignored.
    #[derive(Eq)]
    pub struct ArticulationPoints = "articulation-points" {}
    method: "articulation_points";
    citation: "R. Tarjan, U. Vishkin, \"An efficient parallel biconnectivity algorithm\", SIAM J. Comput. 14 (1985)";
    columns: &[Output::new("articulation_point", "bool", "true if the vertex is one")];
    summary: &[
        Output::new("articulation_points", "uint64", "number of articulation points"),
        Output::new("blocks", "uint64", "largest parts without an articulation point of their own, of two \
            vertices at least"),
    ];
}

/// Articulation points in internal order.
#[derive(Debug, Clone, Default)]
pub struct CutVertices {
    /// The articulation points.
    pub points: Bitmap,
    /// Number of blocks (biconnected components).
    pub blocks: usize,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<CutVertices> for Outcome {
    fn from(found: CutVertices) -> Self {
        let (count, blocks) = (found.points.count(), found.blocks);
        let column = Column::new("articulation_point", Values::Bool(found.points));
        Outcome::of(vec![column], found.stats)
            .with_summary("articulation_points", count)
            .with_summary("blocks", blocks)
    }
}

impl Algorithm for ArticulationPoints {
    type Output = CutVertices;

    fn needs(&self, summary: &Summary) -> Needs {
        let needs = SpanningForest {}.needs(summary);
        let bytes = needs.state_bytes_per_vertex.max(low_points::BYTES + 4.0 + 0.125);
        Needs { state_bytes_per_vertex: bytes, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<CutVertices> {
        let n = graph.num_vertices();
        let forest = SpanningForest {}.run(graph, cx)?;
        let mut stats = forest.stats.clone();
        let mut log = IterationLog::new(graph);
        let points = LowPoints::new(graph, forest, cx)?;
        log.end("low points", n as u64);
        let mut blocks = zeroed::<u32>(n, "blocks")?;
        // Internal ids are 32 bits.
        (0..).zip(&mut blocks).for_each(|(v, block)| *block = v);
        let shared = share_u32(&mut blocks);
        for v in (0..n as u32).filter(|&v| !points.is_root(v)) {
            let parent = points.parent(v);
            if !points.is_root(parent) && points.leads_out(v, parent) {
                link(shared, v, parent);
            }
        }
        let parents = points.into_parents();
        let is_edge = |v: VertexId, u: VertexId| parents.get(v as usize) == Some(&u);
        let visit = |(): &mut (), v: VertexId, list: &List<'_>| {
            Ok(list.for_each(|u| {
                // Each edge of an undirected graph is in two lists.
                if (u < v || graph.directed()) && !is_edge(v, u) && !is_edge(u, v) {
                    link(shared, u, v);
                }
            })?)
        };
        graph.scan(Direction::Out, cx, |_| (), visit)?;
        compress(cx, shared)?;
        log.end("blocks", n as u64);
        let (points, blocks) = between(&parents, &blocks);
        stats.append(log.finish());
        Ok(CutVertices { points, blocks, stats })
    }
}

/// Vertices with edges of two blocks, and the number of blocks; `blocks` has that of the edge from
/// each vertex to its parent.
fn between(parents: &[VertexId], blocks: &[u32]) -> (Bitmap, usize) {
    let mut points = Bitmap::new(parents.len());
    let mut count = 0;
    // A root has no edge of its own: its entry takes the block of the first child.
    let mut of_root = blocks.to_vec();
    for (v, (&parent, &block)) in (0u32..).zip(parents.iter().zip(blocks)) {
        if parent == v {
            continue;
        }
        count += usize::from(block == v);
        let root = parents.get(parent as usize) == Some(&parent);
        let Some(above) = of_root.get_mut(parent as usize) else { continue };
        if root && *above == parent {
            *above = block;
        } else if *above != block {
            points.set(parent as usize);
        }
    }
    (points, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{biconnectivity as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn are_vertices_that_part_others(sample in sample::graphs(40, 60)) {
            let expected = oracle::articulation_points(&sample.undirected());
            sample.compare(&expected, |graph, cx| {
                let found = ArticulationPoints {}.run(graph, cx).unwrap();
                (0..sample.n).map(|v| found.points.get(v)).collect()
            })?;
        }
    }
}
