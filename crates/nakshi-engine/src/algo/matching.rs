//! A maximal matching: [`super::suitors`] where every edge weighs the same.
//!
//! J. Hoepman, "Simple distributed weighted matchings", arXiv:cs/0410047 (2004), with weights by chance. On
//! several servers it is the pull program [`programs::PullMatching`], with the same pairs.

use super::pulling::{PulledResult, Pulls};
use super::suitors;
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::Outcome;
use crate::program::pull::programs::{self, UNMATCHED};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::Bitmap;
use nakshi_store::VertexId;

algorithm! {
    /// Maximal matching: pairs of neighbours, none in two pairs; the direction of edges is ignored.
    #[derive(Eq)]
    pub struct Matching = "matching" {}
    citation: "J. Hoepman, \"Simple distributed weighted matchings\", arXiv:cs/0410047 (2004)";
    columns: &[Output::new("partner", "vertex", "the other vertex of the pair; missing where there is none")];
    summary: &[Output::new("pairs", "uint64", "number of pairs")];
}

/// Pairs in internal order.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Partner of each vertex; meaningful where `matched`.
    pub partners: Vec<VertexId>,
    /// Vertices that have a partner.
    pub matched: Bitmap,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Pairs> for Outcome {
    fn from(found: Pairs) -> Self {
        let pairs = found.matched.count() as u64 / 2;
        let column = suitors::column(found.partners, found.matched);
        Outcome::of(vec![column], found.stats).with_summary("pairs", pairs)
    }
}

impl Algorithm for Matching {
    type Output = Pairs;

    fn needs(&self, summary: &Summary) -> Needs {
        suitors::needs(summary, None)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Pairs> {
        let mut log = IterationLog::new(graph);
        let suitors::Couples { partners, matched, .. } =
            suitors::run(Self::NAME, graph, &mut log, cx)?;
        Ok(Pairs { partners, matched, stats: log.finish() })
    }
}

impl Pulls for Matching {
    type Program = programs::PullMatching;

    fn program(&self) -> programs::PullMatching {
        programs::PullMatching
    }

    fn assemble(&self, found: PulledResult<'_, u32>) -> Result<Pairs> {
        let mut matched = Bitmap::new(found.values.len());
        for (v, _) in found.values.iter().enumerate().filter(|(_, mate)| **mate != UNMATCHED) {
            matched.set(v);
        }
        Ok(Pairs { partners: found.values, matched, stats: found.stats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{matching as oracle, sample};
    use crate::algo::pulling;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_the_heaviest_edges_first(sample in sample::graphs(40, 200)) {
            let expected = oracle::partners(&sample.adjacency());
            let partners = |found: Pairs| {
                let of = |v: usize| found.matched.get(v).then(|| found.partners[v]);
                (0..sample.n).map(of).collect()
            };
            sample.compare(&expected, |graph, cx| partners(Matching {}.run(graph, cx).unwrap()))?;
            sample.compare(&expected, |graph, cx| {
                partners(pulling::run(&Matching {}, graph, cx).unwrap())
            })?;
        }
    }
}
