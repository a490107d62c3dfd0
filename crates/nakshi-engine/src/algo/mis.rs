//! A maximal independent set.
//!
//! G. Blelloch, J. Fineman, J. Shun, "Greedy sequential maximal independent set and matching are
//! parallel on average", SPAA 2012. Each vertex has a priority, a hash of the seed and of the rank
//! of its user id. In a round every open vertex without an open neighbour before it joins the set,
//! and its neighbours are out. The set is that which one gets by taking the vertices in the order
//! of their priorities, whatever the layout and the schedule; the rounds are few.
//!
//! State: the ranks, 4 bytes a vertex, as much again while they are read, and sets of vertices.

use super::reach::reach;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId, mix};
use std::ops::ControlFlow;

algorithm! {
    /// Maximal independent set: no two members are neighbours.
    ///
    /// Every other vertex has a member as neighbour. The direction of edges is ignored, and so are
    /// self-loops.
    #[derive(Eq)]
    pub struct Mis = "mis" {
        /// Seed of the priorities, by which vertices join the set.
        pub seed: u64 = 0 => Parameter::INTEGER;
    }
    citation: "G. Blelloch, J. Fineman, J. Shun, \"Greedy sequential maximal independent set and matching are \
        parallel on average\", SPAA 2012";
    columns: &[Output::new("member", "bool", "true if the vertex is in the set")];
    summary: &[Output::new("members", "uint64", "vertices in the set")];
}

/// A maximal independent set, in internal order.
#[derive(Debug, Clone, Default)]
pub struct IndependentSet {
    /// The members.
    pub members: Bitmap,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<IndependentSet> for Outcome {
    fn from(found: IndependentSet) -> Self {
        let count = found.members.count();
        Outcome::of(vec![Column::new("member", Values::Bool(found.members))], found.stats)
            .with_summary("members", count)
    }
}

impl Algorithm for Mis {
    type Output = IndependentSet;

    fn needs(&self, _summary: &Summary) -> Needs {
        let needs = Needs::new(4.0 + 4.0, &[Direction::Out, Direction::In]);
        Needs { gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<IndependentSet> {
        let n = graph.num_vertices();
        let mut log = IterationLog::new(graph);
        let directions = graph.all_lists();
        let priorities = Priorities { ranks: graph.id_ranks(cx)?, seed: self.seed };
        let mut members = Bitmap::new(n);
        let mut closed = Bitmap::new(n);
        let mut open = VertexSet::full(n);
        while !open.is_empty() {
            let size = open.count() as u64;
            let joining = priorities.first(graph, open, cx)?;
            members.unite(joining.bits());
            closed.unite(joining.bits());
            closed.unite(reach(graph, directions, &joining, &closed, cx)?.bits());
            open = closed.complement().into();
            log.end("round", size);
            cx.progress().update("mis", (n - open.count()) as u64, n as u64);
        }
        Ok(IndependentSet { members, stats: log.finish() })
    }
}

/// The order in which vertices join.
struct Priorities {
    ranks: Option<Vec<u32>>,
    seed: u64,
}

impl Priorities {
    #[inline]
    fn of(&self, v: VertexId) -> u64 {
        let rank = match &self.ranks {
            Some(ranks) => ranks.get(v as usize).copied().unwrap_or(v),
            None => v,
        };
        // Different for different vertices, as `mix` is.
        mix(mix(self.seed) ^ u64::from(rank))
    }

    /// The vertices of `open` that come before all of their neighbours there.
    fn first(&self, graph: &Graph, open: VertexSet, cx: &Context) -> Result<VertexSet> {
        let behind = AtomicBitmap::new(open.universe());
        let mut left = open.clone();
        for &direction in graph.all_lists() {
            graph.gather(
                direction,
                &left,
                cx,
                |_| (),
                |(), v, list| {
                    let own = self.of(v);
                    let before = |u: VertexId| u != v && open.contains(u) && self.of(u) < own;
                    Ok(list.blocks(|block| {
                        if block.iter().any(|&u| before(u)) {
                            behind.set(v as usize);
                            return ControlFlow::Break(());
                        }
                        ControlFlow::Continue(())
                    })?)
                },
            )?;
            left = left.without(&behind);
        }
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{mis as oracle, sample};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_the_order_of_priorities(sample in sample::graphs(50, 200), seed in 0u64..50) {
            let priority = |v: u32| mix(mix(seed) ^ u64::from(v));
            let expected = oracle::members(&sample.adjacency(), priority);
            sample.compare(&expected, |graph, cx| {
                let found = Mis { seed }.run(graph, cx).unwrap();
                (0..sample.n).map(|v| found.members.get(v)).collect()
            })?;
        }
    }
}
