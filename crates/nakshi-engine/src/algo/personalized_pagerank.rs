//! Personalised PageRank: walks begin, and begin again, at some vertices.
//!
//! T. Haveliwala, "Topic-sensitive PageRank", WWW 2002.
//!
//! The kernel is [`super::pagerank_pull`]. State: that of PageRank, and a bit a vertex.

use super::pagerank::PageRankOutput;
use super::pagerank_pull::{self, Pull};
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::vertex_set::VertexSet;
use nakshi_store::VertexId;

algorithm! {
    /// PageRank of walks that begin again at some vertices, normalised to sum 1.
    ///
    /// The rank of dangling vertices, too, goes to these vertices, in equal parts.
    pub struct PersonalizedPageRank = "personalized-pagerank" {
        /// Vertices to begin at. One that is named twice counts once.
        pub sources: Vec<VertexId> = Vec::new() => Parameter::VERTICES.required();
        /// Probability of following an edge.
        pub damping: f64 = 0.85 => Parameter::NUMBER.at_least(0.0).below(1.0);
        /// Most iterations. Without a tolerance exactly this many are run.
        pub iterations: u32 = 100 => Parameter::INTEGER.implies("tolerance", 0.0);
        /// Stop when the ranks change by less than this in sum (L1). 0 runs all iterations that change a
        /// rank.
        pub tolerance: f64 = 1e-7 => Parameter::NUMBER.at_least(0.0);
    }
    method: "personalized_pagerank";
    citation: "T. Haveliwala, \"Topic-sensitive PageRank\", WWW 2002";
    columns: &[Output::new("rank", "float64", "the rank; all sum to 1")];
    summary: &[
        Output::new("iterations", "uint64", "iterations that were run"),
        Output::new("change", "float64", "change in the last iteration (L1)"),
    ];
    raises: "no source.";
}

impl PersonalizedPageRank {
    fn pull<'a>(&self, sources: Option<&'a VertexSet>) -> Pull<'a> {
        let PersonalizedPageRank { damping, iterations, tolerance, .. } = *self;
        Pull { damping, iterations, tolerance, sources }
    }
}

impl Algorithm for PersonalizedPageRank {
    type Output = PageRankOutput;

    fn needs(&self, summary: &Summary) -> Needs {
        let mut needs = self.pull(None).needs(summary);
        needs.state_bytes_per_vertex += 0.125;
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<PageRankOutput> {
        self.check()?;
        if self.sources.is_empty() {
            return Err(Error::parameter("sources", "name at least one vertex to begin at"));
        }
        let mut sources = VertexSet::new(graph.num_vertices());
        for &source in &self.sources {
            if source as usize >= graph.num_vertices() {
                return Err(Error::UnknownVertex { id: source.to_string() });
            }
            sources.insert(source);
        }
        pagerank_pull::run(&self.pull(Some(&sources)), graph, cx)
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
        fn solves_the_equations(sample in sample::graphs(20, 80), picks in proptest::collection::vec(0u32..20, 1..4)) {
            let sources: Vec<u32> = picks.iter().map(|pick| pick % sample.n as u32).collect();
            let expected = oracle::personalized_pagerank(&sample.adjacency(), &sources, 0.85);
            let config = PersonalizedPageRank {
                sources,
                iterations: 500,
                tolerance: 1e-13,
                ..PersonalizedPageRank::default()
            };
            let mut bits: Option<Vec<f64>> = None;
            for (graph, cx) in sample.settings() {
                let found = config.run(&graph, &cx).unwrap().ranks;
                for (a, b) in found.iter().zip(&expected) {
                    prop_assert!((a - b).abs() < 1e-9, "{} is not {}", a, b);
                }
                assert_eq!(bits.get_or_insert_with(|| found.clone()), &found);
            }
        }
    }

    #[test]
    fn refuses_no_source() {
        let graph = sample::power_law(10, 20, true, 1).graph();
        let error = PersonalizedPageRank::default().run(&graph, &Context::new()).unwrap_err();
        assert!(error.to_string().contains("at least one"), "{error}");
    }
}
