//! PageRank by pulling: the kernel of [`super::pagerank`] and [`super::personalized_pagerank`].
//!
//! Each iteration streams the in-lists and sums the contributions `rank / degree` of
//! the neighbours. State: the contributions of this and of the next iteration, 8 bytes a
//! vertex, and in a directed graph the out-degrees; the ranks themselves are made at the end,
//! and until then their memory keeps lists on the SSD. Contributions are f32 above [`EXACT`]
//! vertices (half the cache lines; a relative rounding error of 3e-8 each, summed in f64) and
//! f64 below, and f64 wherever the tolerance is below [`SINGLE`]: rounded contributions change by
//! about 2e-8 in sum for ever. That takes 8 bytes a vertex more and up to twice the time.

use super::power::{Norm, normalise};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::parallel::for_each_block_mut;
use crate::shared::{Shareable, Slot, Zero, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::VertexSet;
use nakshi_store::{Direction, Term, VertexId};

/// Vertices up to which contributions are f64.
pub(super) const EXACT: usize = 1 << 18;

/// The least tolerance, but for 0, that f32 contributions surely reach: each is off by 2^-24 of itself
/// at most, so that ranks, 1 in sum, change by 6e-8 at most when nothing but rounding is left.
pub(super) const SINGLE: f64 = 1e-7;

/// The parameters of the kernel.
pub(super) struct Pull<'a> {
    pub(super) damping: f64,
    pub(super) iterations: u32,
    pub(super) tolerance: f64,
    /// The vertices at which walks begin, and begin again; all if `None`.
    pub(super) sources: Option<&'a VertexSet>,
}

/// Ranks in internal order.
#[derive(Debug, Clone)]
pub struct PageRankOutput {
    /// One rank per vertex; they sum to 1.
    pub ranks: Vec<f64>,
    /// Iterations that ran.
    pub iterations: u32,
    /// Change in the last iteration (L1). Of the variants with deltas: the mass, as a part of all,
    /// that vertices hold back in the end, more than which another iteration would not move.
    pub change: f64,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// A contribution: what a vertex gives to each of its out-neighbours.
pub(crate) trait Contribution: Shareable + Zero + Term {
    fn from_f64(value: f64) -> Self;
}

impl Contribution for f32 {
    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Contribution for f64 {
    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
}

/// Sums over a chunk of vertices.
#[derive(Default, Clone, Copy)]
struct ChunkSums {
    dangling: f64,
    change: f64,
}

/// Contribution of a vertex of this rank; a vertex without out-edges keeps its rank there.
fn share(rank: f64, degree: u64) -> f64 {
    rank / degree.max(1) as f64
}

/// The arrays of a run.
struct State<'a, C> {
    /// Out-degrees of a directed graph.
    degrees: &'a [u32],
    values: &'a [C],
    /// Rank that comes to each source from elsewhere than its in-neighbours.
    base: f64,
}

/// Runs with contributions of the width that the graph and the tolerance ask for.
pub(super) fn run(config: &Pull<'_>, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
    match config.rounds(graph.num_vertices() as u64) {
        true => config.pull::<f32>(graph, cx),
        false => config.pull::<f64>(graph, cx),
    }
}

/// Runs with contributions of 32 bits.
#[cfg(test)]
pub(super) fn rounded(config: &Pull<'_>, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
    config.pull::<f32>(graph, cx)
}

impl Pull<'_> {
    /// Returns true if contributions are f32.
    pub(super) fn rounds(&self, vertices: u64) -> bool {
        let reachable = self.tolerance == 0.0 || self.tolerance >= SINGLE;
        vertices > EXACT as u64 && reachable
    }

    /// Memory and lists of a run.
    pub(super) fn needs(&self, summary: &Summary) -> Needs {
        let contribution = if self.rounds(summary.vertices) { 4.0 } else { 8.0 };
        let degrees = 4.0;
        let while_reading = 2.0 * contribution + if summary.directed { degrees } else { 0.0 };
        let at_the_end = contribution + degrees + size_of::<f64>() as f64;
        // The larger, which it is in a directed graph with f64, is held all the time.
        let most = f64::max(while_reading, at_the_end);
        let late_bytes_per_vertex = most - while_reading;
        Needs { repeats: true, late_bytes_per_vertex, ..Needs::new(most, &[Direction::In]) }
    }

    /// The part of the rank of restarts that comes to a vertex: 1 over the sources, or nothing.
    #[inline]
    fn restarts(&self, v: usize, each: f64) -> f64 {
        match self.sources {
            Some(sources) if !sources.bits().get(v) => 0.0,
            _ => each,
        }
    }

    fn pull<C: Contribution>(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        let n = graph.num_vertices();
        let mut log = IterationLog::new(graph);
        let each = 1.0 / self.sources.map_or(n, VertexSet::count).max(1) as f64;
        let mut values = zeroed::<C>(n, "PageRank's contributions")?;
        let mut degrees = graph.degrees(Direction::Out, cx)?;
        for_each_block_mut(cx, &mut values, |start, block| {
            for ((v, value), &degree) in (start..).zip(block).zip(degrees.iter().skip(start)) {
                *value = C::from_f64(share(self.restarts(v, each), degree.into()));
            }
            Ok(())
        })?;
        let ends = degrees.iter().enumerate().filter(|(_, degree)| **degree == 0);
        let mut dangling: f64 = match self.sources {
            None => ends.count() as f64 * each,
            Some(_) => ends.map(|(v, _)| self.restarts(v, each)).sum(),
        };
        if !graph.directed() {
            // Those of the in-lists, which are read anyway.
            degrees = Vec::new();
        }
        log.end("degrees", n as u64);
        let mut next = zeroed::<C>(n, "PageRank's contributions")?;
        let mut iterations = 0;
        let mut change = f64::INFINITY;
        while iterations < self.iterations && change > self.tolerance && n > 0 {
            let base = (1.0 - self.damping) * each + self.damping * dangling * each;
            let state = State { degrees: &degrees, values: &values, base };
            let sums = self.iteration(graph, cx, &state, &mut next)?;
            std::mem::swap(&mut values, &mut next);
            dangling = sums.dangling;
            change = sums.change;
            iterations += 1;
            cx.progress().update("pagerank", iterations.into(), self.iterations.into());
            log.end("pull", n as u64);
        }
        drop(next);
        graph.release();
        if !graph.directed() {
            degrees = graph.degrees(Direction::Out, cx)?;
        }
        let ranks = ranks(cx, values, &degrees)?;
        log.end("ranks", n as u64);
        Ok(PageRankOutput { ranks, iterations, change, stats: log.finish() })
    }

    fn iteration<C: Contribution>(
        &self,
        graph: &Graph,
        cx: &Context,
        state: &State<'_, C>,
        next: &mut [C],
    ) -> Result<ChunkSums> {
        let next = C::share(next);
        let State { degrees, values, base } = *state;
        let damping = self.damping;
        let directed = graph.directed();
        let visit = |sums: &mut ChunkSums, v: VertexId, in_degree: u64, sum: f64| {
            let v = v as usize;
            let (Some(&old), Some(slot)) = (values.get(v), next.get(v)) else { return };
            let degree = match degrees.get(v) {
                Some(&degree) if directed => degree.into(),
                _ => in_degree,
            };
            let rank = self.restarts(v, base) + damping * sum;
            if degree == 0 {
                sums.dangling += rank;
            }
            sums.change += (rank - old.into() * degree.max(1) as f64).abs();
            slot.put(C::from_f64(share(rank, degree)));
        };
        let sums = graph.scan_sums(Direction::In, cx, values, ChunkSums::default, visit)?;
        Ok(sums.iter().fold(ChunkSums::default(), |a, b| ChunkSums {
            dangling: a.dangling + b.dangling,
            change: a.change + b.change,
        }))
    }
}

/// The ranks behind the contributions, normalised to sum 1.
fn ranks<C: Contribution>(cx: &Context, values: Vec<C>, degrees: &[u32]) -> Result<Vec<f64>> {
    let mut ranks = zeroed::<f64>(values.len(), "PageRank's ranks")?;
    for_each_block_mut(cx, &mut ranks, |start, block| {
        let known = values.iter().zip(degrees).skip(start);
        for (rank, (value, &degree)) in block.iter_mut().zip(known) {
            *rank = (*value).into() * f64::from(degree.max(1));
        }
        Ok(())
    })?;
    normalise(cx, &mut ranks, Norm::Sum)?;
    Ok(ranks)
}
