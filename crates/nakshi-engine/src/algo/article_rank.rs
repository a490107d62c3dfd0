//! ArticleRank: PageRank in which vertices with few out-edges have less weight.
//!
//! J. Li, P. Willett, "ArticleRank: a PageRank-based alternative to numbers of citations for analysing
//! citation networks", Aslib Proceedings 61 (2009).
//!
//! A vertex gives each of its out-neighbours its score over the sum of its own out-degree and of the mean
//! out-degree. State: what a vertex gives in this and in the next iteration, and its out-degree, or the
//! sum of the weights of its out-edges, 24 bytes a vertex, and degrees while they are read.

use super::communities::lists::checked;
use super::power::product;
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{det_sum, for_each_block_mut};
use crate::shared::{share_f64, zeroed};
use crate::stats::{IterationLog, RunStats};
use nakshi_store::Direction;

algorithm! {
    /// ArticleRank: PageRank in which vertices with few out-edges give less to each of them.
    ///
    /// The scores are not normalised: a vertex without in-edges has 1 - damping.
    pub struct ArticleRank = "article-rank" {
        /// Probability of following an edge.
        pub damping: f64 = 0.85 => Parameter::NUMBER.at_least(0.0).below(1.0);
        /// Most iterations. Without a tolerance exactly this many are run.
        pub iterations: u32 = 100 => Parameter::INTEGER.implies("tolerance", 0.0);
        /// Stop when the scores change by less than this a vertex, on average. 0 runs all iterations that
        /// change a score.
        pub tolerance: f64 = 1e-7 => Parameter::NUMBER.at_least(0.0);
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    method: "article_rank";
    citation: "J. Li, P. Willett, \"ArticleRank: a PageRank-based alternative to numbers of citations for \
        analysing citation networks\", Aslib Proceedings 61 (2009)";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("article_rank", "float64", "the score")];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new("change", "float64", "change in the last iteration (L1)"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "a weight that is negative or not finite; no such column.";
}

/// Scores in internal order.
#[derive(Debug, Clone, Default)]
pub struct ArticleScores {
    /// One score a vertex.
    pub scores: Vec<f64>,
    /// Iterations that ran.
    pub iterations: u32,
    /// Change of the last iteration, in sum (L1).
    pub change: f64,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<ArticleScores> for Outcome {
    fn from(found: ArticleScores) -> Self {
        let column = Column::new("article_rank", Values::F64(found.scores));
        Outcome::of(vec![column], found.stats)
            .with_summary("iterations", found.iterations)
            .with_summary("change", serde_json::Number::from_f64(found.change))
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for ArticleRank {
    type Output = ArticleScores;

    fn needs(&self, _summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if self.weight.is_some() { &[Direction::In, Direction::Out] } else { &[Direction::In] };
        Needs { repeats: true, column: self.weight.clone(), ..Needs::new(24.0 + 4.0, directions) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<ArticleScores> {
        self.check()?;
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let ArticleRank { damping, tolerance, .. } = *self;
        let given = given(graph, cx)?;
        log.end("degrees", n as u64);
        let own = |v: usize| given.get(v).copied().unwrap_or(0.0);
        let mean = det_sum(cx, n, own)? / n.max(1) as f64;
        let part = |v: usize, score: f64| {
            let all = own(v) + mean;
            if all > 0.0 { score / all } else { 0.0 }
        };
        let mut values = zeroed::<f64>(n, "scores")?;
        fill(cx, &mut values, |v, _| part(v, 1.0 - damping))?;
        let mut next = zeroed::<f64>(n, "scores")?;
        let mut change = if n == 0 { 0.0 } else { f64::INFINITY };
        let mut iterations = 0;
        while iterations < self.iterations && change > tolerance * n as f64 {
            product(graph, Direction::In, cx, (&values, &mut next), |v, sum| {
                part(v, 1.0 - damping + damping * sum)
            })?;
            let (old, new) = (&values, &next);
            let of = |all: &[f64], v: usize| all.get(v).copied().unwrap_or(0.0);
            change = det_sum(cx, n, |v| (of(new, v) - of(old, v)).abs() * (own(v) + mean))?;
            std::mem::swap(&mut values, &mut next);
            iterations += 1;
            cx.progress().update("article-rank", iterations.into(), self.iterations.into());
            log.end("pull", n as u64);
        }
        let alone = 1.0 - damping;
        fill(cx, &mut values, |v, part| if mean > 0.0 { part * (own(v) + mean) } else { alone })?;
        let weight = self.weight.clone();
        Ok(ArticleScores { scores: values, iterations, change, weight, stats: log.finish() })
    }
}

/// Replaces each value by `f(v, value)`.
fn fill(cx: &Context, values: &mut [f64], f: impl Fn(usize, f64) -> f64 + Sync) -> Result<()> {
    for_each_block_mut(cx, values, |start, block| {
        block.iter_mut().enumerate().for_each(|(at, value)| *value = f(start + at, *value));
        Ok(())
    })
}

/// The out-degree of each vertex, or the sum of the weights of its out-edges.
fn given(graph: &Graph, cx: &Context) -> Result<Vec<f64>> {
    let mut given = zeroed::<f64>(graph.num_vertices(), "degrees")?;
    if !graph.weighted() {
        let degrees = graph.degrees(Direction::Out, cx)?;
        fill(cx, &mut given, |v, _| f64::from(degrees.get(v).copied().unwrap_or(0)))?;
        return Ok(given);
    }
    let shared = share_f64(&mut given);
    graph.scan_weighted(
        Direction::Out,
        cx,
        |_| (),
        |(), v, _, weights| {
            let mut sum = 0.0;
            for at in 0..weights.len() {
                sum += checked(weights.get(at))?;
            }
            if let Some(slot) = shared.get(v as usize) {
                slot.set(sum);
            }
            Ok(())
        },
    )?;
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::algo::oracle::{sample, spectral as oracle};
    use proptest::prelude::*;

    fn config() -> ArticleRank {
        ArticleRank { iterations: 1000, tolerance: 1e-14, ..ArticleRank::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn solves_the_equations(sample in sample::graphs(20, 80)) {
            let arcs: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let expected = oracle::article_rank(&arcs, sample.n, 0.85);
            let mut bits: Option<Vec<f64>> = None;
            for (graph, cx) in sample.settings() {
                let found = config().run(&graph, &cx).unwrap().scores;
                for (a, b) in found.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-9, "{} is not {}", a, b);
                }
                assert_eq!(bits.get_or_insert_with(|| found.clone()), &found);
            }
        }

        #[test]
        fn solves_the_equations_with_weights(
            edges in sample::distinct_arcs(15),
            seed in proptest::collection::vec(1u32..50, 225),
        ) {
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w) / 7.0).collect();
            let arcs: Vec<_> = edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
            let expected = oracle::article_rank(&arcs, 15, 0.85);
            for cx in sample::contexts() {
                let graph = Graph::from_edges(15, &edges, true, Some(&weights)).unwrap();
                let config = ArticleRank { weight: Some("weight".into()), ..config() };
                let found = config.run(&graph, &cx).unwrap().scores;
                for (a, b) in found.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-9, "{} is not {}", a, b);
                }
            }
        }
    }

    #[test]
    fn refuses_negative_weights() {
        let graph = Graph::from_edges(2, &[(0, 1)], true, Some(&[-1.0])).unwrap();
        let error = ArticleRank::default().run(&graph, &Context::new()).unwrap_err();
        assert!(matches!(error, Error::NegativeWeight { .. }), "{error}");
    }
}
