//! Eigenvector centrality.
//!
//! P. Bonacich, "Power and centrality: a family of measures", Am. J. Sociology 92 (1987).
//!
//! Power iteration with the matrix A + I, whose eigenvectors are those of A and which also settles on
//! bipartite graphs. State: scores of this and of the next iteration, 16 bytes a vertex.

use super::power::{Limits, Norm, Settled, normalise, product, settle};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::zeroed;
use crate::stats::RunStats;
use nakshi_store::Direction;

algorithm! {
    /// Eigenvector centrality: a vertex scores as its in-neighbours do, in sum; 2-norm 1.
    pub struct Eigenvector = "eigenvector" {
        /// Iterations at most. A run that does not settle within them fails.
        pub iterations: u32 = 100 => Parameter::INTEGER.at_least(1.0);
        /// Stop when the scores change by less than this a vertex, on average.
        pub tolerance: f64 = 1e-6 => Parameter::NUMBER.above(0.0);
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "P. Bonacich, \"Power and centrality: a family of measures\", Am. J. Sociology 92 (1987)";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("eigenvector", "float64", "the score; the squares sum to 1")];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new("change", "float64", "change in the last iteration (L1)"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "the scores do not settle in the iterations allowed; no such column.";
}

/// Scores in internal order, of eigenvector and Katz centrality.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Name of the column.
    pub name: &'static str,
    /// One score a vertex.
    pub scores: Vec<f64>,
    /// Iterations that ran.
    pub iterations: u32,
    /// Change in the last iteration (L1).
    pub change: f64,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl Scores {
    pub(super) fn new(name: &'static str, found: Settled, weight: &Option<String>) -> Self {
        let Settled { values: scores, iterations, change, stats } = found;
        Scores { name, scores, iterations, change, weight: weight.clone(), stats }
    }
}

impl From<Scores> for Outcome {
    fn from(found: Scores) -> Self {
        Outcome::of(vec![Column::new(found.name, Values::F64(found.scores))], found.stats)
            .with_summary("iterations", found.iterations)
            .with_summary("change", found.change)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for Eigenvector {
    type Output = Scores;

    fn needs(&self, _summary: &Summary) -> Needs {
        Needs { repeats: true, column: self.weight.clone(), ..Needs::new(16.0, &[Direction::In]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Scores> {
        self.check()?;
        let n = graph.num_vertices();
        let mut start = zeroed::<f64>(n, "scores")?;
        start.fill(1.0 / n.max(1) as f64);
        let limits = Limits {
            iterations: self.iterations,
            tolerance: self.tolerance * n as f64,
            remedy: "give more iterations or a larger tolerance",
        };
        let found = settle(graph, cx, limits, start, |values, next| {
            product(graph, Direction::In, cx, (values, next), |v, sum| {
                values.get(v).copied().unwrap_or(0.0) + sum
            })?;
            normalise(cx, next, Norm::Euclid)
        })?;
        Ok(Scores::new("eigenvector", found, &self.weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, spectral as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        /// Undirected and connected: one largest eigenvalue, which squaring the matrix finds too.
        #[test]
        fn equals_squared_matrices(mut sample in sample::graphs(25, 100)) {
            sample.directed = false;
            sample.edges.extend((1..sample.n as u32).map(|v| (v - 1, v)));
            let expected = oracle::eigenvector(&oracle::matrix(&sample.arcs(), sample.n));
            let config = Eigenvector { iterations: 100_000, tolerance: 1e-12, ..Eigenvector::default() };
            let mut bits: Option<Vec<f64>> = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap().scores;
                for (a, b) in found.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-5, "{} is not {}", a, b);
                }
                assert_eq!(bits.get_or_insert_with(|| found.clone()), &found);
            }
        }
    }

    #[test]
    fn counts_in_neighbours_and_their_weights() {
        let edges = [(0, 1), (1, 0), (0, 2), (2, 0)];
        let graph = Graph::from_edges(3, &edges, true, Some(&[1.0, 1.0, 3.0, 1.0])).unwrap();
        let cx = Context::new();
        let found = Eigenvector::default().run(&graph, &cx).unwrap().scores;
        // The eigenvalue is 2: x0 = (x1 + x2) / 2, x1 = x0 / 2, x2 = 3 x0 / 2.
        for (v, ratio) in [(1, 0.5), (2, 1.5)] {
            assert!((found[v] / found[0] - ratio).abs() < 1e-4, "{found:?}");
        }
    }

    #[test]
    fn tells_that_scores_do_not_settle() {
        let graph = sample::power_law(100, 500, false, 1).graph();
        let few = Eigenvector { iterations: 1, ..Eigenvector::default() };
        let error = few.run(&graph, &Context::new()).unwrap_err().to_string();
        assert!(error.contains("after 1 iterations; give more"), "{error}");
    }
}
