//! The k-truss.
//!
//! J. Cohen, "Trusses: Cohesive subgraphs for social network analysis", NSA technical report
//! (2008): the largest part of a graph in which every edge is in k - 2 triangles. It lies in the
//! (k-1)-core, which is found first, by lists that are read once ([`super::k_core`]); in a
//! power-law graph that is a small part. The edges of the core are then taken into memory
//! ([`edges`]), and edges in too few triangles are taken away in rounds; a round looks at those
//! again that have lost a triangle, and stops counting where there are enough.
//!
//! State: 20 bytes a vertex; for each edge of the core its two ends, 8 bytes, and four bits for
//! each of them. How large a core is shows only in the run, so the estimate is for all edges.

mod edges;

use super::k_core::{Peeling, degrees};
use super::rounds::ROUND_BYTES;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::both;
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use edges::Edges;
use nakshi_store::{Direction, VertexId};

algorithm! {
    /// The k-truss: the largest part of the graph in which every edge is in k - 2 triangles.
    ///
    /// The direction of edges is ignored, edges between the same vertices are one, and self-loops
    /// never count.
    #[derive(Eq)]
    pub struct KTruss = "k-truss" {
        /// Order of the truss: an edge is in at least `k - 2` triangles.
        pub k: u32 = 3 => Parameter::INTEGER.at_least(2.0).required();
    }
    method: "k_truss";
    citation: "J. Cohen, \"Trusses: Cohesive subgraphs for social network analysis\", NSA technical report (2008)";
    columns: &[
        Output::new("member", "bool", "true if the vertex has an edge in the truss"),
        Output::new("degree", "uint32", "edges of the truss at the vertex"),
    ];
    summary: &[
        Output::new("vertices", "uint64", "vertices in the truss"),
        Output::new("edges", "uint64", "edges in the truss"),
    ];
}

/// A truss, in internal order.
#[derive(Debug, Clone, Default)]
pub struct Truss {
    /// Edges of the truss at each vertex.
    pub degrees: Vec<u32>,
    /// Edges in the truss.
    pub edges: usize,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Truss> for Outcome {
    fn from(found: Truss) -> Self {
        let mut members = Bitmap::new(found.degrees.len());
        let inside = found.degrees.iter().enumerate().filter(|(_, degree)| **degree > 0);
        inside.for_each(|(v, _)| members.set(v));
        let count = members.count();
        let member = Column::new("member", Values::Bool(members));
        let degree = Column::new("degree", Values::U32(found.degrees));
        Outcome::of(vec![member, degree], found.stats)
            .with_summary("vertices", count)
            .with_summary("edges", found.edges)
    }
}

impl Algorithm for KTruss {
    type Output = Truss;

    fn needs(&self, summary: &Summary) -> Needs {
        let mut needs = Needs::new(16.0 + ROUND_BYTES, &[Direction::Out, Direction::In]);
        // Of an undirected graph an arc is one of two already.
        let arcs = if summary.directed { 2 * summary.arcs } else { summary.arcs };
        needs.state_bytes_fixed = 4 * arcs
            + arcs / 2
            + if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
        Needs { gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Truss> {
        let mut log = IterationLog::new(graph);
        let mut degrees = degrees(graph, cx)?;
        let members = core(graph, &mut degrees, self.k.saturating_sub(1), cx)?;
        log.end("core", members.count() as u64);
        let mut order: Vec<VertexId> = Vec::with_capacity(members.count());
        order.extend(members.iter());
        let degree = |v: VertexId| degrees.get(v as usize).copied().unwrap_or(0);
        order.sort_unstable_by_key(|&v| (std::cmp::Reverse(degree(v)), v));
        let mut place = degrees;
        for (number, &v) in (0..).zip(&order) {
            if let Some(slot) = place.get_mut(v as usize) {
                *slot = number;
            }
        }
        let mut edges = Edges::read(graph, &members, &place, &order, cx)?;
        drop(place);
        log.end("edges", edges.count() as u64);
        self.thin_out(&mut edges, &mut log, cx)?;
        let mut degrees = zeroed::<u32>(graph.num_vertices(), "degrees in a truss")?;
        for (&v, degree) in order.iter().zip(edges.degrees()?) {
            if let Some(slot) = degrees.get_mut(v as usize) {
                *slot = degree;
            }
        }
        Ok(Truss { degrees, edges: edges.count(), stats: log.finish() })
    }
}

impl KTruss {
    /// Takes edges away until each that is left is in enough triangles.
    fn thin_out(&self, edges: &mut Edges, log: &mut IterationLog<'_>, cx: &Context) -> Result<()> {
        let least = self.k.saturating_sub(2);
        let mut some = edges.all();
        loop {
            let weak = edges.weak(&some, least, cx)?;
            let count = weak.count() / 2;
            log.end("triangles", count as u64);
            if count == 0 {
                return Ok(());
            }
            some = edges.take_away(&weak, cx)?;
            cx.progress().update("edges left", edges.count() as u64, 0);
        }
    }
}

/// The vertices of the core in which each has at least `least` edges.
fn core(graph: &Graph, degrees: &mut [u32], least: u32, cx: &Context) -> Result<VertexSet> {
    if let Some(below) = least.checked_sub(1) {
        let going: Vec<VertexId> =
            (0..).zip(degrees.iter()).filter(|(_, d)| **d < least).map(|(v, _)| v).collect();
        Peeling::new(graph, share_u32(degrees), cx)?.take(going, below)?;
    }
    let mut members = VertexSet::new(degrees.len());
    for (v, _) in (0..).zip(degrees.iter()).filter(|(_, degree)| **degree >= least) {
        members.insert(v);
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{k_truss as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_edge_by_edge(sample in sample::graphs(25, 200), k in 2u32..8) {
            let expected = oracle::degrees(&sample.undirected(), k);
            sample.compare(&expected, |graph, cx| {
                let found = KTruss { k }.run(graph, cx).unwrap();
                assert_eq!(found.edges as u32 * 2, found.degrees.iter().sum::<u32>());
                found.degrees
            })?;
        }
    }
}
