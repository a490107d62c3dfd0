//! PageRank.
//!
//! S. Brin, L. Page, "The anatomy of a large-scale hypertextual Web search engine", 1998.
//! Normalised as NetworkX and LDBC Graphalytics do: ranks sum to 1, and the mass of
//! vertices without out-edges is spread evenly over all vertices.
//!
//! Pull: each iteration streams the in-lists and sums the contributions `rank / degree` of
//! the neighbours. State: the contributions of this and of the next iteration, 8 bytes a
//! vertex, and in a directed graph the out-degrees; the ranks themselves are made at the end,
//! and until then their memory keeps lists on the SSD. Contributions are f32 above [`EXACT`]
//! vertices (half the cache lines; a relative rounding error of 3e-8 each, summed in f64) and
//! f64 below, and f64 wherever the tolerance is below [`SINGLE`]: rounded contributions change by
//! about 2e-8 in sum for ever. That takes 8 bytes a vertex more and up to twice the time.
//!
//! The variants that send deltas are in [`super::pagerank_delta`].

use super::pagerank_delta::{self, Deltas, Spread};
use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Declared, Output, Parameter, algorithm, choices};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::program::block::programs::BlockPageRank;
use crate::program::block::{Number, block_needs, run_blocks};
use crate::program::pull::programs;
use crate::shared::{Shareable, Slot, Zero, zeroed};
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, Term};
use std::marker::PhantomData;

/// Vertices up to which contributions are f64.
pub const EXACT: usize = 1 << 18;

/// The least tolerance, but for 0, that f32 contributions surely reach: each is off by 2^-24 of itself
/// at most, so that ranks, 1 in sum, change by 6e-8 at most when nothing but rounding is left.
pub const SINGLE: f64 = 1e-7;

algorithm! {
    /// PageRank, normalised to sum 1, the rank of dangling vertices spread evenly.
    pub struct PageRank = "pagerank" {
        /// Probability of following an edge.
        pub damping: f64 = 0.85 => Parameter::NUMBER.at_least(0.0).below(1.0).pulls();
        /// Most iterations. Without a tolerance exactly this many are run.
        pub iterations: u32 = 100 => Parameter::INTEGER.implies("tolerance", 0.0).pulls();
        /// Stop when the ranks change by less than this in sum (L1). 0 runs all iterations, of which
        /// "pull" leaves out those that would change no rank. Below 1e-7 a run by "pull" on more than
        /// 262,144 vertices keeps numbers of 64 bits instead of 32, which takes 4 to 8 bytes a vertex
        /// more and up to twice the time.
        pub tolerance: f64 = 1e-7 => Parameter::NUMBER.at_least(0.0).pulls();
        /// Method that spreads the ranks.
        pub variant: Variant = Variant::Pull => Parameter::choice(Variant::CHOICES);
    }
    citation: "S. Brin, L. Page, \"The anatomy of a large-scale hypertextual Web search engine\", 1998";
    columns: &[Output::new("rank", "float64", "the rank; all sum to 1")];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new(
            "change",
            "float64",
            "change in the last iteration (L1); of \"delta\" and \"vertex\" the part of all rank that is \
             not passed on yet",
        )
        .alone(),
    ];
}

choices! {
    /// Methods of PageRank.
    pub enum Variant {
        /// every vertex pulls from its in-neighbours in every iteration
        Pull = "pull",
        /// vertices whose rank changed send the change along their out-edges (FlashGraph)
        Delta = "delta",
        /// the same by FlashGraph's vertex program
        Vertex = "vertex",
        /// a program on blocks of vertices
        Block = "block",
        /// LFGraph's pull program, which also runs on several servers
        PullProgram = "pull-program",
    }
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

impl Algorithm for PageRank {
    type Output = PageRankOutput;

    fn needs(&self, summary: &Summary) -> Needs {
        match self.variant {
            Variant::Pull => self.needs_of_pull(summary),
            Variant::Delta => Needs { gathers: true, ..Needs::new(24.25, &[Direction::Out]) },
            Variant::Vertex => pagerank_delta::needs_of_program(&self.deltas()),
            Variant::PullProgram => pulling::needs(self, summary, 0.0),
            Variant::Block if self.rounds(summary.vertices) => self.needs_of_blocks::<f32>(summary),
            Variant::Block => self.needs_of_blocks::<f64>(summary),
        }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        self.check()?;
        match self.variant {
            Variant::Delta => {
                let Spread { mut ranks, iterations, left, stats } =
                    pagerank_delta::run(&self.deltas(), graph, cx)?;
                normalise(cx, &mut ranks)?;
                Ok(PageRankOutput { ranks, iterations, change: left, stats })
            }
            Variant::Vertex => {
                let Spread { ranks, iterations, left, stats } =
                    pagerank_delta::by_program(&self.deltas(), graph, cx)?;
                Ok(PageRankOutput { ranks, iterations, change: left, stats })
            }
            Variant::PullProgram => pulling::run(self, graph, cx),
            Variant::Block if self.rounds(graph.num_vertices() as u64) => {
                self.by_blocks::<f32>(graph, cx)
            }
            Variant::Block => self.by_blocks::<f64>(graph, cx),
            Variant::Pull if self.rounds(graph.num_vertices() as u64) => {
                self.pull::<f32>(graph, cx)
            }
            Variant::Pull => self.pull::<f64>(graph, cx),
        }
    }
}

impl Pulls for PageRank {
    type Program = programs::PullPageRank;

    fn program(&self) -> programs::PullPageRank {
        let PageRank { damping, iterations, tolerance, .. } = *self;
        programs::PullPageRank { damping, iterations, tolerance }
    }

    fn steps(&self) -> Option<u32> {
        Some(self.iterations)
    }

    fn assemble(&self, found: PulledResult<'_, f64>) -> Result<PageRankOutput> {
        // The program looks at changes only to know when to stop.
        let known = found.totals.filter(|_| self.tolerance > 0.0);
        let change = known.map_or(f64::NAN, |totals| totals.apart());
        Ok(PageRankOutput {
            ranks: found.values,
            iterations: found.steps,
            change,
            stats: found.stats,
        })
    }
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

impl PageRank {
    fn block_program<T>(&self, vertices: usize) -> BlockPageRank<T> {
        let PageRank { damping, tolerance, .. } = *self;
        BlockPageRank { damping, tolerance, vertices, value: PhantomData }
    }

    fn needs_of_blocks<T: Number>(&self, summary: &Summary) -> Needs {
        let mut needs = block_needs(&self.block_program::<T>(0), None, summary);
        // The ranks, when one of the two arrays of values is gone.
        needs.state_bytes_per_vertex += 8.0;
        needs
    }

    fn by_blocks<T: Number>(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        let program = self.block_program::<T>(graph.num_vertices());
        let found = run_blocks(graph, &program, Some(self.iterations), cx)?;
        let mut ranks = zeroed::<f64>(graph.num_vertices(), "ranks")?;
        let degrees = graph.degrees(Direction::Out, cx)?;
        for ((rank, value), degree) in ranks.iter_mut().zip(&found.values).zip(degrees) {
            *rank = BlockPageRank::rank(*value, degree);
        }
        let change = if self.tolerance > 0.0 { found.change.distance } else { f64::NAN };
        normalise(cx, &mut ranks)?;
        Ok(PageRankOutput { ranks, iterations: found.steps, change, stats: found.stats })
    }

    /// Returns true if contributions are f32.
    fn rounds(&self, vertices: u64) -> bool {
        let reachable = self.tolerance == 0.0 || self.tolerance >= SINGLE;
        vertices > EXACT as u64 && reachable
    }

    fn deltas(&self) -> Deltas {
        let PageRank { damping, iterations, tolerance, .. } = *self;
        Deltas { damping, iterations, tolerance }
    }

    fn needs_of_pull(&self, summary: &Summary) -> Needs {
        let contribution = if self.rounds(summary.vertices) { 4.0 } else { 8.0 };
        let degrees = 4.0;
        let while_reading = 2.0 * contribution + if summary.directed { degrees } else { 0.0 };
        let at_the_end = contribution + degrees + size_of::<f64>() as f64;
        // The larger, which it is in a directed graph with f64, is held all the time.
        let most = f64::max(while_reading, at_the_end);
        let late_bytes_per_vertex = most - while_reading;
        Needs { late_bytes_per_vertex, ..Needs::new(most, &[Direction::In]) }
    }

    fn pull<C: Contribution>(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        let n = graph.num_vertices();
        let mut log = IterationLog::new(graph);
        let uniform = 1.0 / n.max(1) as f64;
        let mut values = zeroed::<C>(n, "PageRank's contributions")?;
        let mut degrees = graph.degrees(Direction::Out, cx)?;
        for_each_block_mut(cx, &mut values, |start, block| {
            for (value, &degree) in block.iter_mut().zip(degrees.iter().skip(start)) {
                *value = C::from_f64(share(uniform, degree.into()));
            }
            Ok(())
        })?;
        let mut dangling = degrees.iter().filter(|&&d| d == 0).count() as f64 * uniform;
        if !graph.directed() {
            // Those of the in-lists, which are read anyway.
            degrees = Vec::new();
        }
        log.end("degrees", n as u64);
        let mut next = zeroed::<C>(n, "PageRank's contributions")?;
        let mut iterations = 0;
        let mut change = f64::INFINITY;
        while iterations < self.iterations && change > self.tolerance && n > 0 {
            let base = (1.0 - self.damping) * uniform + self.damping * dangling * uniform;
            let sums = self.iteration(graph, cx, base, &degrees, &values, &mut next)?;
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

    /// One iteration; `degrees` are the out-degrees of a directed graph.
    fn iteration<C: Contribution>(
        &self,
        graph: &Graph,
        cx: &Context,
        base: f64,
        degrees: &[u32],
        values: &[C],
        next: &mut [C],
    ) -> Result<ChunkSums> {
        let next = C::share(next);
        let damping = self.damping;
        let directed = graph.directed();
        let sums = graph.scan_fold(Direction::In, cx, ChunkSums::default, |sums, v, list| {
            let v = v as usize;
            let (Some(&old), Some(slot)) = (values.get(v), next.get(v)) else {
                return Ok(());
            };
            let degree = match degrees.get(v) {
                Some(&degree) if directed => degree.into(),
                _ => list.degree(),
            };
            let rank = base + damping * list.sum(values)?;
            if degree == 0 {
                sums.dangling += rank;
            }
            sums.change += (rank - old.into() * degree.max(1) as f64).abs();
            slot.put(C::from_f64(share(rank, degree)));
            Ok(())
        })?;
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
    normalise(cx, &mut ranks)?;
    Ok(ranks)
}

/// Scales `ranks` to sum 1, the same for every thread count.
fn normalise(cx: &Context, ranks: &mut [f64]) -> Result<()> {
    let blocks = {
        let ranks = &*ranks;
        map_blocks(cx, ranks.len(), |range| {
            Ok(ranks.get(range).unwrap_or_default().iter().sum::<f64>())
        })?
    };
    let total: f64 = blocks.into_iter().sum();
    if total > 0.0 {
        let scale = 1.0 / total;
        for_each_block_mut(cx, ranks, |_, block| {
            block.iter_mut().for_each(|rank| *rank *= scale);
            Ok(())
        })?;
    }
    Ok(())
}

impl From<PageRankOutput> for Outcome {
    fn from(output: PageRankOutput) -> Outcome {
        let change = serde_json::Number::from_f64(output.change);
        Outcome::of(vec![Column::new("rank", Values::F64(output.ranks))], output.stats)
            .with_summary("iterations", output.iterations)
            .with_summary("change", change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{pagerank as oracle, sample};
    use crate::error::Error;
    use proptest::prelude::*;

    fn close(found: &[f64], expected: &[f64]) {
        let sum: f64 = found.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "sum {sum}");
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() <= 1e-4 * b, "{a} is not {b}");
        }
    }

    fn check(sample: &sample::Sample) {
        let config = PageRank { iterations: 30, tolerance: 0.0, ..PageRank::default() };
        let expected = oracle::ranks(&sample.adjacency(), config.damping, config.iterations);
        let mut bits: Option<Vec<f64>> = None;
        for graph in [sample.graph(), sample.graph_on_ssd()] {
            for cx in sample::contexts() {
                let output = config.run(&graph, &cx).unwrap();
                close(&output.ranks, &expected);
                let single = config.pull::<f32>(&graph, &cx).unwrap();
                close(&single.ranks, &expected);
                // The same bits for every thread count and mode.
                assert_eq!(bits.get_or_insert_with(|| output.ranks.clone()), &output.ranks);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn agrees_with_pushing(sample in sample::graphs(60, 200)) {
            check(&sample);
        }

        #[test]
        fn blocks_agree_with_pushing(sample in sample::graphs(60, 200)) {
            let expected = oracle::ranks(&sample.adjacency(), 0.85, 200);
            let variant = Variant::Block;
            let config =
                PageRank { iterations: 300, tolerance: 1e-9, variant, ..PageRank::default() };
            for graph in [sample.graph(), sample.graph_on_ssd()] {
                for cx in sample::contexts() {
                    close(&config.run(&graph, &cx).unwrap().ranks, &expected);
                }
            }
        }

        #[test]
        fn deltas_agree_with_pushing(sample in sample::graphs(60, 200)) {
            let expected = oracle::ranks(&sample.adjacency(), 0.85, 200);
            for variant in [Variant::Delta, Variant::Vertex] {
                let config =
                    PageRank { iterations: 300, tolerance: 1e-7, variant, ..PageRank::default() };
                let mut bits: Option<Vec<f64>> = None;
                for graph in [sample.graph(), sample.graph_on_ssd()] {
                    for cx in sample::contexts() {
                        let output = config.run(&graph, &cx).unwrap();
                        close(&output.ranks, &expected);
                        prop_assert!(output.change <= 1e-7);
                        assert_eq!(bits.get_or_insert_with(|| output.ranks.clone()), &output.ranks);
                    }
                }
            }
        }
    }

    #[test]
    fn agrees_on_a_power_law_graph() {
        for sample in sample::power_laws(20_000, 120_000, 11) {
            check(&sample);
        }
    }

    /// Seen red with f32 contributions whatever the tolerance (all iterations, a change of 2e-8), and
    /// with the variants of deltas telling a change of 0.
    #[test]
    fn small_tolerances_are_reached() {
        let sample = sample::power_law(EXACT as u32 + 1, 2 * EXACT, true, 5);
        let graph = sample.graph();
        let cx = Context::new().with_threads(2);
        let small = sample::power_law(1000, 5000, true, 3).graph();
        for (graph, variant, tolerance) in [
            (&graph, Variant::Pull, 1e-7),
            (&graph, Variant::Pull, 1e-9),
            (&small, Variant::Pull, 1e-9),
            (&small, Variant::Delta, 1e-9),
            (&small, Variant::Vertex, 1e-9),
            (&small, Variant::PullProgram, 1e-9),
            (&small, Variant::Block, 1e-9),
        ] {
            // What deltas leave shrinks by the damping in each iteration: over a hundred for 1e-9.
            let config = PageRank { iterations: 300, tolerance, variant, ..PageRank::default() };
            let output = config.run(graph, &cx).unwrap();
            let (found, change) = (output.iterations, output.change);
            assert!(found < 300, "{variant:?} {tolerance}: {found} iterations");
            assert!(change > 0.0 && change <= tolerance, "{variant:?} {tolerance}: {change}");
        }
        let summary = graph.summary();
        let state = |tolerance| {
            let config = PageRank { tolerance, ..PageRank::default() };
            config.needs(&summary).state_bytes_per_vertex
        };
        assert_eq!((state(0.0), state(1e-7), state(1e-8)), (16.0, 16.0, 20.0));
    }

    /// A run that ends by its number of iterations also tells the rank that is left.
    #[test]
    fn deltas_tell_what_is_left() {
        let graph = sample::power_law(1000, 5000, true, 3).graph();
        let cx = Context::new().with_threads(2);
        let mut last = f64::INFINITY;
        for iterations in [1, 2, 5, 20] {
            let config = PageRank {
                iterations,
                tolerance: 0.0,
                variant: Variant::Delta,
                ..PageRank::default()
            };
            let change = config.run(&graph, &cx).unwrap().change;
            assert!(change > 0.0 && change < last, "{change} after {iterations}");
            last = change;
        }
    }

    #[test]
    fn stops_at_the_tolerance() {
        let graph = sample::power_law(1000, 5000, true, 3).graph();
        let cx = Context::new().with_threads(2);
        let output = PageRank { tolerance: 1e-3, ..PageRank::default() }.run(&graph, &cx).unwrap();
        assert!(output.change < 1e-3 && output.iterations < 100);
        let wrong = PageRank { damping: 1.0, ..PageRank::default() };
        assert!(matches!(wrong.run(&graph, &cx), Err(Error::Parameter { .. })));
    }
}
