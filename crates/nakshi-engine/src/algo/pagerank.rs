//! PageRank.
//!
//! S. Brin, L. Page, "The anatomy of a large-scale hypertextual Web search engine", 1998.
//! Normalised as NetworkX and LDBC Graphalytics do: ranks sum to 1, and the mass of
//! vertices without out-edges is spread evenly over all vertices.
//!
//! The variant that pulls is in [`super::pagerank_pull`], those that send deltas are in
//! [`super::pagerank_delta`].

use super::pagerank_delta::{self, Deltas, Spread};
pub use super::pagerank_pull::PageRankOutput;
use super::pagerank_pull::{self, Pull};
use super::power::{Norm, normalise};
use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Declared, Output, Parameter, algorithm, choices};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::program::block::programs::BlockPageRank;
use crate::program::block::{Number, block_needs, run_blocks};
use crate::program::pull::programs;
use crate::shared::zeroed;
use nakshi_store::Direction;
use std::marker::PhantomData;

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

impl Algorithm for PageRank {
    type Output = PageRankOutput;

    fn needs(&self, summary: &Summary) -> Needs {
        match self.variant {
            Variant::Pull => self.pull().needs(summary),
            Variant::Delta => Needs { gathers: true, ..Needs::new(24.25, &[Direction::Out]) },
            Variant::Vertex => pagerank_delta::needs_of_program(&self.deltas()),
            Variant::PullProgram => pulling::needs(self, summary, 0.0),
            Variant::Block if self.pull().rounds(summary.vertices) => {
                self.needs_of_blocks::<f32>(summary)
            }
            Variant::Block => self.needs_of_blocks::<f64>(summary),
        }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        self.check()?;
        match self.variant {
            Variant::Delta => {
                let Spread { mut ranks, iterations, left, stats } =
                    pagerank_delta::run(&self.deltas(), graph, cx)?;
                normalise(cx, &mut ranks, Norm::Sum)?;
                Ok(PageRankOutput { ranks, iterations, change: left, stats })
            }
            Variant::Vertex => {
                let Spread { ranks, iterations, left, stats } =
                    pagerank_delta::by_program(&self.deltas(), graph, cx)?;
                Ok(PageRankOutput { ranks, iterations, change: left, stats })
            }
            Variant::PullProgram => pulling::run(self, graph, cx),
            Variant::Block if self.pull().rounds(graph.num_vertices() as u64) => {
                self.by_blocks::<f32>(graph, cx)
            }
            Variant::Block => self.by_blocks::<f64>(graph, cx),
            Variant::Pull => pagerank_pull::run(&self.pull(), graph, cx),
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
        normalise(cx, &mut ranks, Norm::Sum)?;
        Ok(PageRankOutput { ranks, iterations: found.steps, change, stats: found.stats })
    }

    fn pull(&self) -> Pull<'static> {
        let PageRank { damping, iterations, tolerance, .. } = *self;
        Pull { damping, iterations, tolerance, sources: None }
    }

    fn deltas(&self) -> Deltas {
        let PageRank { damping, iterations, tolerance, .. } = *self;
        Deltas { damping, iterations, tolerance }
    }
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
    use crate::algo::pagerank_pull::EXACT;
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
        for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
            for cx in sample::contexts() {
                let output = config.run(&graph, &cx).unwrap();
                close(&output.ranks, &expected);
                let single = pagerank_pull::rounded(&config.pull(), &graph, &cx).unwrap();
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
            for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
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
                for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
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
