//! A proper colouring, by LFGraph's pull program [`programs::PullColoring`].
//!
//! M. Jones, P. Plassmann, "A parallel graph coloring heuristic", SIAM J. Sci. Comput. 14 (1993).
//! State: degree and colour, 8 bytes a vertex, in two versions.

use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Output, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::program::pull::programs;
use crate::stats::RunStats;

algorithm! {
    /// Proper colouring: neighbours never share a colour; the direction of edges is ignored.
    #[derive(Eq)]
    pub struct Coloring = "coloring" {}
    citation: "M. Jones, P. Plassmann, \"A parallel graph coloring heuristic\", SIAM J. Sci. Comput. 14 (1993)";
    columns: &[Output::new("color", "uint32", "the colour, from 0")];
    summary: &[Output::new("colors", "uint64", "number of colours")];
}

/// Colours in internal order.
#[derive(Debug, Clone, Default)]
pub struct Colors {
    /// Colour of each vertex, from 0.
    pub colors: Vec<u32>,
    /// Number of colours.
    pub count: u64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Colors> for Outcome {
    fn from(found: Colors) -> Self {
        Outcome::of(vec![Column::new("color", Values::U32(found.colors))], found.stats)
            .with_summary("colors", found.count)
    }
}

impl Algorithm for Coloring {
    type Output = Colors;

    fn needs(&self, summary: &Summary) -> Needs {
        pulling::needs(self, summary, 0.0)
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Colors> {
        pulling::run(self, graph, cx)
    }
}

impl Pulls for Coloring {
    type Program = programs::PullColoring;

    fn program(&self) -> programs::PullColoring {
        programs::PullColoring
    }

    fn assemble(&self, found: PulledResult<'_, u32>) -> Result<Colors> {
        let count = found.values.iter().max().map_or(0, |most| u64::from(*most) + 1);
        Ok(Colors { colors: found.values, count, stats: found.stats })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{coloring as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_the_greedy_order(sample in sample::graphs(40, 200)) {
            let colors = oracle::colors(&sample.adjacency(), sample.directed);
            let most = colors.iter().max().map_or(0, |most| u64::from(*most) + 1);
            sample.compare(&(colors, most), |graph, cx| {
                let found = Coloring {}.run(graph, cx).unwrap();
                (found.colors, found.count)
            })?;
        }
    }
}
