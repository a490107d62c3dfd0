//! Core numbers.
//!
//! The k-core is the largest part of a graph in which every vertex has k edges. D. Matula, L. Beck,
//! "Smallest-last ordering and clustering and graph coloring algorithms", J. ACM 30 (1983):
//! vertices of the least degree are taken away, again and again. All vertices of a degree go at
//! once, by several workers, as in N. Dasari, D. Ranjan, M. Zubair, "ParK: An efficient algorithm
//! for k-core decomposition on multicore processors", IEEE Big Data 2014. Each list is read once,
//! when its vertex goes.
//!
//! State: the degree among what is left, which ends as the core number, 4 bytes a vertex; the
//! vertices that are left, 4 bytes; those that go, 4 bytes. Self-loops do not count. In a directed
//! graph edges of both directions count, as in NetworkX.

use super::rounds::{ROUND_BYTES, Rounds};
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::share_u32;
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

algorithm! {
    /// Core number: the largest k for which the vertex is in the k-core.
    ///
    /// The k-core is the largest part in which every vertex has at least k edges. Edges of both
    /// directions count, each; self-loops do not.
    #[derive(Eq)]
    pub struct KCore = "k-core" {}
    method: "k_core";
    citation: "D. Matula, L. Beck, \"Smallest-last ordering and clustering and graph coloring algorithms\", \
        J. ACM 30 (1983); N. Dasari, D. Ranjan, M. Zubair, \"ParK\", IEEE Big Data 2014";
    columns: &[Output::new("core", "uint32", "the core number")];
    summary: &[
        Output::new("degeneracy", "uint64", "the largest core number"),
        Output::new("innermost", "uint64", "vertices that have it"),
    ];
}

/// Core numbers in internal order.
#[derive(Debug, Clone, Default)]
pub struct Cores {
    /// Core number of each vertex.
    pub cores: Vec<u32>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Cores> for Outcome {
    fn from(found: Cores) -> Self {
        let degeneracy = found.cores.iter().max().copied().unwrap_or(0);
        let innermost = found.cores.iter().filter(|core| **core == degeneracy).count();
        Outcome::of(vec![Column::new("core", Values::U32(found.cores))], found.stats)
            .with_summary("degeneracy", degeneracy)
            .with_summary("innermost", innermost)
    }
}

impl Algorithm for KCore {
    type Output = Cores;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        Needs { gathers: true, ..Needs::new(8.0 + ROUND_BYTES, directions) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Cores> {
        let mut log = IterationLog::new(graph);
        let mut cores = degrees(graph, cx)?;
        log.end("degrees", graph.num_vertices() as u64);
        peel(graph, share_u32(&mut cores), &mut log, cx)?;
        Ok(Cores { cores, stats: log.finish() })
    }
}

/// Edges at each vertex, self-loops not among them.
///
/// # Errors
/// As [`Graph::scan`].
pub(super) fn degrees(graph: &Graph, cx: &Context) -> Result<Vec<u32>> {
    let mut degrees = graph.degrees(Direction::Out, cx)?;
    if graph.directed() {
        let incoming = graph.degrees(Direction::In, cx)?;
        degrees.iter_mut().zip(incoming).for_each(|(d, more)| *d = d.saturating_add(more));
    }
    let ends = if graph.directed() { 2 } else { 1 };
    let shared = share_u32(&mut degrees);
    graph.scan(
        Direction::Out,
        cx,
        |_| (),
        |(), v, list| {
            let mut loops = 0;
            list.blocks(|block| {
                loops += block.iter().filter(|&&u| u == v).count() as u32;
                // Lists are ascending.
                match block.last() {
                    Some(&last) if last > v => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            })?;
            if loops > 0
                && let Some(slot) = shared.get(v as usize)
            {
                slot.fetch_sub(ends * loops, Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(degrees)
}

/// Vertices that go, one set after the other, and the degrees among what is left.
pub(super) struct Peeling<'g> {
    rounds: Rounds<'g>,
    degrees: &'g [AtomicU32],
}

impl<'g> Peeling<'g> {
    /// A peeling of a graph with these degrees.
    ///
    /// # Errors
    /// Errors of setting up the reads.
    pub(super) fn new(graph: &'g Graph, degrees: &'g [AtomicU32], cx: &'g Context) -> Result<Self> {
        Ok(Peeling { rounds: Rounds::new(graph, graph.all_lists(), cx)?, degrees })
    }

    fn degree(&self, v: VertexId) -> u32 {
        self.degrees.get(v as usize).map_or(0, |slot| slot.load(Relaxed))
    }

    /// Takes vertices away whose degree is at most `core`, and then those that come down to it.
    ///
    /// # Errors
    /// As [`Graph::gather`].
    pub(super) fn take(&mut self, mut going: Vec<VertexId>, core: u32) -> Result<()> {
        let degrees = self.degrees;
        // A neighbour that is down to this core keeps it, and goes too.
        let follows = |v: VertexId, u: VertexId| {
            let Some(slot) = degrees.get(u as usize).filter(|_| u != v) else { return false };
            let less = |degree: u32| (degree > core).then(|| degree - 1);
            slot.load(Relaxed) > core && slot.fetch_update(Relaxed, Relaxed, less) == Ok(core + 1)
        };
        while !going.is_empty() {
            going = self.rounds.visit(&going, &follows)?;
        }
        Ok(())
    }
}

/// Turns degrees into core numbers.
fn peel(
    graph: &Graph,
    degrees: &[AtomicU32],
    log: &mut IterationLog<'_>,
    cx: &Context,
) -> Result<()> {
    let mut peeling = Peeling::new(graph, degrees, cx)?;
    let count = degrees.iter().filter(|slot| slot.load(Relaxed) > 0).count();
    let mut left: Vec<VertexId> = Vec::with_capacity(count);
    // Internal ids are 32 bits.
    left.extend((0..degrees.len() as u32).filter(|&v| peeling.degree(v) > 0));
    let mut core = 0;
    loop {
        left.retain(|&v| peeling.degree(v) > core);
        let Some(least) = left.iter().map(|&v| peeling.degree(v)).min() else { return Ok(()) };
        core = least;
        let size = left.iter().filter(|&&v| peeling.degree(v) == core).count();
        let mut going: Vec<VertexId> = Vec::with_capacity(size);
        going.extend(left.iter().copied().filter(|&v| peeling.degree(v) == core));
        peeling.take(going, core)?;
        log.end("peel", left.len() as u64);
        let gone = degrees.len() - left.len();
        cx.progress().update("k-core", gone as u64, degrees.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{k_core as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_h_indices(sample in sample::graphs(40, 300)) {
            let expected = oracle::cores(&sample.adjacency(), sample.directed);
            sample.compare(&expected, |graph, cx| KCore {}.run(graph, cx).unwrap().cores)?;
        }
    }

    /// Rounds of more vertices than one thread takes.
    #[test]
    fn equals_the_h_indices_on_a_power_law_graph() {
        for sample in sample::power_laws(20_000, 60_000, 5) {
            let expected = oracle::cores(&sample.adjacency(), sample.directed);
            for (graph, cx) in sample.settings() {
                assert_eq!(KCore {}.run(&graph, &cx).unwrap().cores, expected);
            }
        }
    }
}
