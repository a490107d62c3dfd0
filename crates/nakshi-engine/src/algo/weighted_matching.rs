//! A matching of large weight, by suitors.
//!
//! R. Preis, "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs",
//! STACS 1999: to take the heaviest edge again and again makes at least half of the largest weight. The
//! pairs are found by [`super::suitors`].

use super::suitors::{self, Couples};
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::Bitmap;
use nakshi_store::VertexId;

algorithm! {
    /// Matching of large weight: at least half of the most that any matching has.
    ///
    /// The heaviest edges are taken first; the direction of edges is ignored. Edges whose weight is not above
    /// 0 and self-loops are left out.
    pub struct WeightedMatching = "weighted-matching" {
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    method: "weighted_matching";
    citation: "R. Preis, \"Linear time 1/2-approximation algorithm for maximum weighted matching in general \
        graphs\", STACS 1999; F. Manne, M. Halappanavar, \"New effective multithreaded matching \
        algorithms\", IPDPS 2014";
    outside: &[Parameter::UNIT];
    columns: &[Output::new("partner", "vertex", "the other vertex of the pair; missing where there is none")];
    summary: &[
        Output::new("pairs", "uint64", "number of pairs"),
        Output::new("weight", "float64", "sum of the weights of the edges between them"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "a weight that is not finite; no such column.";
}

/// Pairs in internal order.
#[derive(Debug, Clone, Default)]
pub struct HeavyPairs {
    /// Partner of each vertex; meaningful where `matched`.
    pub partners: Vec<VertexId>,
    /// Vertices that have a partner.
    pub matched: Bitmap,
    /// Sum of the weights of the edges between partners.
    pub sum: f64,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<HeavyPairs> for Outcome {
    fn from(found: HeavyPairs) -> Self {
        let pairs = found.matched.count() as u64 / 2;
        Outcome::of(vec![suitors::column(found.partners, found.matched)], found.stats)
            .with_summary("pairs", pairs)
            .with_summary("weight", found.sum)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for WeightedMatching {
    type Output = HeavyPairs;

    fn needs(&self, summary: &Summary) -> Needs {
        suitors::needs(summary, self.weight.clone())
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<HeavyPairs> {
        let mut log = IterationLog::new(graph);
        let Couples { partners, matched, sum } = suitors::run(Self::NAME, graph, &mut log, cx)?;
        let weight = self.weight.clone();
        Ok(HeavyPairs { partners, matched, sum, weight, stats: log.finish() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{matching as oracle, sample};
    use crate::program::pull::mixed;
    use proptest::prelude::*;

    fn order(u: u32, v: u32) -> u64 {
        mixed(u64::from(u.min(v)) << 32 | u64::from(u.max(v)))
    }

    fn partners(found: &HeavyPairs) -> Vec<Option<u32>> {
        let of = |v: usize| found.matched.get(v).then(|| found.partners[v]);
        (0..found.partners.len()).map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_heaviest_edges_first(
            edges in sample::distinct_arcs(20),
            seed in proptest::collection::vec(-2i8..6, 400),
            directed in any::<bool>(),
        ) {
            let kept = |edge: &&(u32, u32)| directed || edge.0 <= edge.1;
            let edges: Vec<_> = edges.iter().filter(kept).copied().collect();
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w)).collect();
            let all: Vec<_> = edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
            let (expected, sum) = oracle::heaviest_first(20, &all, order);
            let config = WeightedMatching { weight: Some("weight".into()) };
            for cx in sample::contexts() {
                let given = Some(weights.as_slice());
                let on_ssd = Graph::from_edges_on_ssd(20, &edges, directed, given, 16 << 10, &|b| b);
                let memory = || Graph::from_edges(20, &edges, directed, given);
                for graph in [memory(), memory().and_then(Graph::decoded_lists), on_ssd] {
                    let found = config.run(&graph.unwrap(), &cx).unwrap();
                    prop_assert_eq!(partners(&found), expected.clone());
                    prop_assert_eq!(found.sum, sum);
                }
            }
        }

        #[test]
        fn is_maximal_without_weights(sample in sample::graphs(40, 150)) {
            let all: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let (expected, _) = oracle::heaviest_first(sample.n, &all, order);
            sample.compare(&expected, |graph, cx| {
                partners(&WeightedMatching::default().run(graph, cx).unwrap())
            })?;
        }

        #[test]
        fn has_half_of_the_largest_weight(
            edges in sample::distinct_arcs(7),
            seed in proptest::collection::vec(1u8..20, 49),
        ) {
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w)).collect();
            let all: Vec<_> = edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
            let graph = Graph::from_edges(7, &edges, true, Some(&weights)).unwrap();
            let found = WeightedMatching::default().run(&graph, &Context::new()).unwrap();
            let most = oracle::largest_weight(7, &all);
            prop_assert!(found.sum <= most && 2.0 * found.sum >= most, "{} {}", found.sum, most);
        }
    }

    /// Rounds of more vertices than one thread takes.
    #[test]
    fn large_rounds_are_the_same() {
        for sample in sample::power_laws(20_000, 50_000, 5) {
            let all: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let (expected, _) = oracle::heaviest_first(sample.n, &all, order);
            for (graph, cx) in sample.settings() {
                let found = WeightedMatching::default().run(&graph, &cx).unwrap();
                assert!(partners(&found) == expected);
            }
        }
    }

    #[test]
    fn refuses_nan() {
        let graph = Graph::from_edges(2, &[(0, 1)], true, Some(&[f64::NAN])).unwrap();
        let error = WeightedMatching::default().run(&graph, &Context::new()).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
