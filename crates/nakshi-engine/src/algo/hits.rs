//! Hubs and authorities.
//!
//! J. Kleinberg, "Authoritative sources in a hyperlinked environment", J. ACM 46 (1999).
//!
//! An iteration pulls authorities over the in-lists and hubs over the out-lists. State: hubs of this and
//! of the next iteration and authorities, 24 bytes a vertex.

use super::power::{Limits, Norm, normalise, product, settle};
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
    /// Hubs and authorities (HITS), each normalised to sum 1.
    ///
    /// Good hubs lead to good authorities. A graph without edges has neither: all scores are 0.
    pub struct Hits = "hits" {
        /// Iterations at most. A run that does not settle within them fails.
        pub iterations: u32 = 1000 => Parameter::INTEGER.at_least(1.0);
        /// Stop when the hubs change by less than this in sum (L1).
        pub tolerance: f64 = 1e-8 => Parameter::NUMBER.above(0.0);
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    citation: "J. Kleinberg, \"Authoritative sources in a hyperlinked environment\", J. ACM 46 (1999)";
    outside: &[Parameter::UNIT];
    columns: &[
        Output::new("hub", "float64", "the score as a hub; all sum to 1"),
        Output::new("authority", "float64", "the score as an authority; all sum to 1"),
    ];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new("change", "float64", "change of the hubs in the last iteration (L1)"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "the scores do not settle in the iterations allowed; no such column.";
}

/// Scores in internal order.
#[derive(Debug, Clone)]
pub struct HubsAndAuthorities {
    /// One score a vertex; they sum to 1.
    pub hubs: Vec<f64>,
    /// One score a vertex; they sum to 1.
    pub authorities: Vec<f64>,
    /// Iterations that ran.
    pub iterations: u32,
    /// Change of the hubs in the last iteration (L1).
    pub change: f64,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<HubsAndAuthorities> for Outcome {
    fn from(found: HubsAndAuthorities) -> Self {
        let columns = vec![
            Column::new("hub", Values::F64(found.hubs)),
            Column::new("authority", Values::F64(found.authorities)),
        ];
        Outcome::of(columns, found.stats)
            .with_summary("iterations", found.iterations)
            .with_summary("change", found.change)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for Hits {
    type Output = HubsAndAuthorities;

    fn needs(&self, _summary: &Summary) -> Needs {
        let directions = [Direction::In, Direction::Out];
        Needs { repeats: true, column: self.weight.clone(), ..Needs::new(24.0, &directions) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<HubsAndAuthorities> {
        self.check()?;
        let n = graph.num_vertices();
        let mut start = zeroed::<f64>(n, "hubs")?;
        start.fill(1.0 / n.max(1) as f64);
        let mut authorities = zeroed::<f64>(n, "authorities")?;
        let limits = Limits {
            iterations: self.iterations,
            tolerance: self.tolerance,
            remedy: "give more iterations or a larger tolerance",
        };
        let found = settle(graph, cx, limits, start, |hubs, next| {
            let plain = |_, sum| sum;
            product(graph, Direction::In, cx, (hubs, &mut authorities), plain)?;
            normalise(cx, &mut authorities, Norm::Sum)?;
            product(graph, Direction::Out, cx, (&authorities, next), plain)?;
            normalise(cx, next, Norm::Sum)
        })?;
        Ok(HubsAndAuthorities {
            hubs: found.values,
            authorities,
            iterations: found.iterations,
            change: found.change,
            weight: self.weight.clone(),
            stats: found.stats,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, spectral as oracle};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        /// A hub that leads everywhere: one largest singular value, which squared matrices find too.
        #[test]
        fn equals_squared_matrices(mut sample in sample::graphs(20, 80)) {
            sample.edges.extend((0..sample.n as u32).map(|v| (0, v)));
            let matrix = oracle::matrix(&sample.arcs(), sample.n);
            let (hubs, authorities) = oracle::hubs_and_authorities(&matrix);
            let config = Hits { iterations: 100_000, tolerance: 1e-13, ..Hits::default() };
            let mut bits: Option<Vec<f64>> = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap();
                let pairs = found.hubs.iter().zip(&hubs);
                for (a, b) in pairs.chain(found.authorities.iter().zip(&authorities)) {
                    prop_assert!((a - b).abs() < 1e-6, "{} is not {}", a, b);
                }
                assert_eq!(bits.get_or_insert_with(|| found.hubs.clone()), &found.hubs);
            }
        }
    }

    #[test]
    fn a_graph_without_edges_has_neither() {
        let graph = Graph::from_edges(3, &[], true, None).unwrap();
        let found = Hits::default().run(&graph, &Context::new()).unwrap();
        assert_eq!((found.hubs, found.authorities), (vec![0.0; 3], vec![0.0; 3]));
    }
}
