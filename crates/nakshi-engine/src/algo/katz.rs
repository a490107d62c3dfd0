//! Katz centrality.
//!
//! L. Katz, "A new status index derived from sociometric analysis", Psychometrika 18 (1953).
//!
//! Iterates x = alpha A x + beta from 0. State: scores of this and of the next iteration, 16 bytes a
//! vertex.

use super::eigenvector::Scores;
use super::power::{Limits, Norm, normalise, product, settle};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::shared::zeroed;
use nakshi_store::Direction;

algorithm! {
    /// Katz centrality: walks that end at a vertex, those of k edges counted alpha to the power of k times.
    pub struct Katz = "katz" {
        /// Factor by which an edge attenuates. The scores settle only if it is below 1 over the largest
        /// eigenvalue of the adjacency matrix, which is at most the largest degree.
        pub alpha: f64 = 0.1 => Parameter::NUMBER.above(0.0);
        /// Score that every vertex has of itself.
        pub beta: f64 = 1.0 => Parameter::NUMBER;
        /// Scale the squares of the scores to sum 1.
        pub normalized: bool = true => Parameter::FLAG.off_by("no-normalized");
        /// Iterations at most. A run that does not settle within them fails.
        pub iterations: u32 = 1000 => Parameter::INTEGER.at_least(1.0);
        /// Stop when the scores change by less than this a vertex, on average.
        pub tolerance: f64 = 1e-6 => Parameter::NUMBER.above(0.0);
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "L. Katz, \"A new status index derived from sociometric analysis\", Psychometrika 18 (1953)";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("katz", "float64", "the score")];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new("change", "float64", "change in the last iteration (L1)"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "the scores do not settle in the iterations allowed; no such column.";
}

impl Algorithm for Katz {
    type Output = Scores;

    fn needs(&self, _summary: &Summary) -> Needs {
        Needs { repeats: true, column: self.weight.clone(), ..Needs::new(16.0, &[Direction::In]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Scores> {
        self.check()?;
        let n = graph.num_vertices();
        let Katz { alpha, beta, .. } = *self;
        let limits = Limits {
            iterations: self.iterations,
            tolerance: self.tolerance * n as f64,
            remedy: "take a smaller alpha, below 1 over the largest eigenvalue, or more iterations",
        };
        let start = zeroed::<f64>(n, "scores")?;
        let mut found = settle(graph, cx, limits, start, |values, next| {
            product(graph, Direction::In, cx, (values, next), |_, sum| alpha * sum + beta)
        })?;
        if self.normalized {
            normalise(cx, &mut found.values, Norm::Euclid)?;
        }
        Ok(Scores::new("katz", found, &self.weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, spectral as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn solves_the_equations(sample in sample::graphs(20, 80), normalized in any::<bool>()) {
            let matrix = oracle::matrix(&sample.arcs(), sample.n);
            let config = Katz { alpha: 0.01, beta: 2.0, normalized, tolerance: 1e-12, ..Katz::default() };
            let expected = oracle::katz(&matrix, 0.01, 2.0, normalized);
            let mut bits: Option<Vec<f64>> = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap().scores;
                for (a, b) in found.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-8, "{} is not {}", a, b);
                }
                assert_eq!(bits.get_or_insert_with(|| found.clone()), &found);
            }
        }
    }

    /// Seen red with a run that went on to its last iteration with infinite scores.
    #[test]
    fn tells_that_alpha_is_too_large() {
        let graph = sample::power_law(100, 900, false, 1).graph();
        let large = Katz { alpha: 10.0, iterations: 100_000, ..Katz::default() };
        let error = large.run(&graph, &Context::new()).unwrap_err().to_string();
        assert!(error.contains("smaller alpha"), "{error}");
    }
}
