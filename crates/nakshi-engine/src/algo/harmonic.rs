//! Harmonic centrality.
//!
//! P. Boldi, S. Vigna, "Axioms for centrality", Internet Mathematics 10 (2014); computed by HyperBall,
//! arXiv 1308.2144.
//!
//! The distances come from [`super::hyperball`], which tells the state.

use super::hyperball::{Balls, HyperBall, LOG2M};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::RunStats;

algorithm! {
    /// Harmonic centrality: the sum of 1 over the distance from every other vertex.
    ///
    /// Distances are counted in edges, along their direction. Graphs of more than 4,096 vertices are
    /// estimated by HyperBall.
    #[derive(Eq)]
    pub struct Harmonic = "harmonic" {
        /// Binary logarithm of the registers of a counter. Each takes two bytes a vertex; four times as
        /// many halve the error.
        pub log2m: u32 = 8 => LOG2M;
        /// Search from every vertex instead. It is expensive.
        pub exact: bool = false => Parameter::FLAG;
        /// Seed of the counters.
        pub seed: u64 = 0 => Parameter::INTEGER;
    }
    citation: "P. Boldi, S. Vigna, \"In-core computation of geometric centralities with HyperBall\", \
        arXiv 1308.2144";
    columns: &[Output::new("harmonic", "float64", "the sum; a vertex without a path adds nothing")];
    summary: &[
        Output::new("effective_diameter", "float64", "distance within which 90 % of the pairs with a \
            path lie, interpolated"),
        Output::new("neighborhood_function", "list", "pairs of vertices within each distance, from 0 on"),
        Output::new("method", "text", "\"exact\" or \"hyperball\""),
    ];
}

/// Scores by distances, in internal order.
#[derive(Debug, Clone)]
pub struct DistanceScores {
    /// Name of the column.
    pub name: &'static str,
    /// One score a vertex.
    pub scores: Vec<f64>,
    /// Pairs of vertices within each distance, from 0 on.
    pub function: Vec<f64>,
    /// Distance within which 90 % of the pairs with a path lie.
    pub effective_diameter: f64,
    /// True if every distance was measured.
    pub exact: bool,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl DistanceScores {
    pub(super) fn new(name: &'static str, scores: Vec<f64>, balls: Balls) -> Self {
        let effective_diameter = balls.effective_diameter();
        let Balls { function, exact, stats, .. } = balls;
        DistanceScores { name, scores, function, effective_diameter, exact, stats }
    }
}

impl From<DistanceScores> for Outcome {
    fn from(found: DistanceScores) -> Self {
        Outcome::of(vec![Column::new(found.name, Values::F64(found.scores))], found.stats)
            .with_summary("effective_diameter", found.effective_diameter)
            .with_summary("neighborhood_function", found.function)
            .with_summary("method", if found.exact { "exact" } else { "hyperball" })
    }
}

impl Harmonic {
    fn balls(&self) -> HyperBall {
        let Harmonic { log2m, exact, seed } = *self;
        HyperBall { log2m, seed, exact, value: f64::recip }
    }
}

impl Algorithm for Harmonic {
    type Output = DistanceScores;

    fn needs(&self, summary: &Summary) -> Needs {
        self.balls().needs(summary)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<DistanceScores> {
        self.check()?;
        let mut balls = self.balls().run(graph, cx)?;
        let scores = std::mem::take(&mut balls.sums);
        Ok(DistanceScores::new("harmonic", scores, balls))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::closeness::Closeness;
    use crate::algo::oracle::{distances as oracle, sample};
    use proptest::prelude::*;

    fn close(found: &[f64], expected: &[f64]) -> bool {
        found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(30)))]
        #[test]
        fn equals_searches_from_every_vertex(sample in sample::graphs(40, 120)) {
            let distances = oracle::distances(&sample.adjacency());
            for (graph, cx) in sample.settings() {
                let found = Harmonic::default().run(&graph, &cx).unwrap();
                prop_assert!(close(&found.scores, &oracle::harmonic(&distances)));
                prop_assert!(close(&found.function, &oracle::function(&distances)));
                let found = Closeness::default().run(&graph, &cx).unwrap();
                prop_assert!(close(&found.scores, &oracle::closeness(&distances, true)));
                let plain = Closeness { improved: false, ..Closeness::default() };
                let found = plain.run(&graph, &cx).unwrap();
                prop_assert!(close(&found.scores, &oracle::closeness(&distances, false)));
            }
        }
    }
}
