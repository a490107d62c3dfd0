//! Communities by label propagation with weights, until every vertex has a label that weighs most.
//!
//! U. Raghavan, R. Albert, S. Kumara, "Near linear time algorithm to detect community structures in
//! large-scale networks", Phys. Rev. E 76 (2007). Only vertices with a neighbour whose label has changed
//! are looked at again, as in V. Traag, L. Šubelj, "Large network community detection by fast label
//! propagation", Sci. Rep. 13 (2023); in place of their queue a coin decides in each round who may change,
//! so that neighbours do not swap labels for ever. Coins and ties are hashes of the seed and of the ranks
//! of the users' ids: the communities depend neither on threads nor on the layout.
//!
//! State: the rank, the label and the next label, 12 bytes a vertex, and sets of vertices.

use super::cdlp::{different, name_by_vertices};
use super::communities::lists::{GraphLevel, GraphPart, Level, Neighbors};
use super::communities::tally::Tally;
use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{BLOCK, map_ranges, parallel_for};
use crate::shared::share_u32;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId, mix};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Vertices that a worker takes at once.
const GRAIN: usize = 1024;
/// The label of a vertex that has none yet.
const NONE: u32 = u32::MAX;

algorithm! {
    /// Communities by label propagation with weights; the direction of edges is ignored.
    ///
    /// In the end each vertex has a label that weighs most among its neighbours.
    pub struct LabelPropagation = "label-propagation" {
        /// Rounds at most. There are fewer if no vertex changes its label any more.
        pub iterations: u32 = 100 => Parameter::INTEGER;
        /// Vertices that keep their labels, and alone have one at first. By default every vertex begins
        /// with a label of its own.
        pub fixed: Vec<VertexId> = Vec::new() => Parameter::VERTICES;
        /// Seed of the order of changes, and of the choice between labels that weigh the same.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Edge column with the weights. By default that is the store's only one; in a store without any,
        /// and in Rust, every edge weighs 1.
        pub weight: Option<String> = None => Parameter::COLUMN;
    }
    method: "label_propagation";
    citation: "U. Raghavan, R. Albert, S. Kumara, Phys. Rev. E 76 (2007); V. Traag, L. Šubelj, \"Large \
        network community detection by fast label propagation\", Sci. Rep. 13 (2023)";
    outside: &[Parameter::UNIT];
    columns: &[
        Output::new("label", "vertex", "the community, named by one of the vertex ids; missing where no \
            label has come"),
    ];
    summary: &[
        Output::new("communities", "uint64", "number of communities"),
        Output::new("iterations", "uint64", "rounds that were run"),
        Output::new("settled", "bool", "true if no vertex would change its label in a further round"),
        Output::new("lengths", "text", "the column that was used, or \"unit\""),
    ];
    raises: "a negative or NaN weight, no such column, or several columns and none named.";
}

/// Communities in internal order.
#[derive(Debug, Clone, Default)]
pub struct LabeledCommunities {
    /// The vertex whose id is the label, by vertex; meaningful where `labeled`.
    pub labels: Vec<VertexId>,
    /// Vertices that have a label; `None` if all have.
    pub labeled: Option<Bitmap>,
    /// Number of different labels.
    pub count: u64,
    /// Rounds that were run.
    pub iterations: u32,
    /// True if a further round would change nothing.
    pub settled: bool,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<LabeledCommunities> for Outcome {
    fn from(found: LabeledCommunities) -> Self {
        let values = Values::Vertex(found.labels);
        let column = Column { name: "label".to_owned(), values, valid: found.labeled };
        Outcome::of(vec![column], found.stats)
            .with_summary("communities", found.count)
            .with_summary("iterations", found.iterations)
            .with_summary("settled", found.settled)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for LabelPropagation {
    type Output = LabeledCommunities;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(12.0 + 1.0, directions);
        let weighted = self.weight.is_some();
        let lists = GraphLevel::state_bytes(summary.longest_list, weighted, summary.directed);
        // A worker tallies the labels around one vertex: a byte of list may hold two neighbours.
        needs.state_bytes_fixed = lists + 128 * summary.longest_list;
        Needs { repeats: true, column: self.weight.clone(), gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<LabeledCommunities> {
        self.check()?;
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let ranks = match graph.id_ranks(cx)? {
            Some(ranks) => ranks,
            // There are at most 2^32 vertices.
            None => (0..n).map(|v| v as u32).collect(),
        };
        let (mut labels, fixed) = self.first(&ranks)?;
        let mut active = fixed.complement();
        let seed = mix(self.seed);
        let mut iterations = 0;
        while iterations < self.iterations && active.count() > 0 {
            let coin = mix(seed ^ u64::from(iterations));
            let turn = turn(&active, coin, &ranks, cx)?;
            let mut next = labels.clone();
            let round = Round { graph, ranks: &ranks, labels: &labels, seed, turn: &turn };
            let near = round.run(share_u32(&mut next), cx)?;
            active = left(&active, &turn, &near, &fixed);
            labels = next;
            iterations += 1;
            log.end("propagate", turn.count() as u64);
            cx.progress().update("labels", iterations.into(), self.iterations.into());
        }
        drop(ranks);
        let settled = active.count() == 0;
        let count = different(&labels);
        let labeled = (!self.fixed.is_empty()).then(|| {
            let mut labeled = Bitmap::new(n);
            let known = labels.iter().enumerate().filter(|(_, label)| **label != NONE);
            known.for_each(|(v, _)| labeled.set(v));
            labeled
        });
        name_by_vertices(graph, &mut labels, cx)?;
        let weight = self.weight.clone();
        let stats = log.finish();
        Ok(LabeledCommunities { labels, labeled, count, iterations, settled, weight, stats })
    }
}

impl LabelPropagation {
    /// The first labels, and the vertices that keep theirs.
    fn first(&self, ranks: &[u32]) -> Result<(Vec<u32>, Bitmap)> {
        let n = ranks.len();
        let mut fixed = Bitmap::new(n);
        if self.fixed.is_empty() {
            return Ok((ranks.to_vec(), fixed));
        }
        let mut labels = vec![NONE; n];
        for &v in &self.fixed {
            let slots = (labels.get_mut(v as usize), ranks.get(v as usize));
            let (Some(label), Some(&rank)) = slots else {
                return Err(Error::UnknownVertex { id: v.to_string() });
            };
            *label = rank;
            fixed.set(v as usize);
        }
        Ok((labels, fixed))
    }
}

/// The active vertices that a coin lets change in this round.
fn turn(active: &Bitmap, coin: u64, ranks: &[u32], cx: &Context) -> Result<VertexSet> {
    let chosen = AtomicBitmap::new(active.len());
    parallel_for(cx, active.len(), |range| {
        for v in active.iter_in(range.start, range.end) {
            let rank = ranks.get(v).copied().unwrap_or(0);
            if mix(coin ^ u64::from(rank)) >> 63 == 0 {
                chosen.set(v);
            }
        }
        Ok(())
    })?;
    Ok(chosen.into_bitmap().into())
}

/// The vertices to look at in the rounds to come: those that had no turn, and those near a change.
fn left(active: &Bitmap, turn: &VertexSet, near: &AtomicBitmap, fixed: &Bitmap) -> Bitmap {
    let mut left = active.clone();
    let words = left.words_mut().iter_mut().zip(turn.bits().words()).zip(fixed.words());
    for (k, ((word, turn), fixed)) in words.enumerate() {
        *word = (*word & !turn | near.word(k)) & !fixed;
    }
    left
}

/// One round.
struct Round<'a> {
    graph: &'a Graph,
    ranks: &'a [u32],
    labels: &'a [u32],
    seed: u64,
    turn: &'a VertexSet,
}

impl Round<'_> {
    /// Puts the labels that change into `next`. Returns the neighbours of vertices whose labels change.
    fn run(&self, next: &[AtomicU32], cx: &Context) -> Result<AtomicBitmap> {
        let near = AtomicBitmap::new(next.len());
        GraphLevel(self.graph).parts(self.turn, cx, |range, part| {
            let step = |tally: &mut Tally, inner: Range<usize>| {
                let (from, to) = (range.start + inner.start, range.start + inner.end);
                for v in self.turn.bits().iter_in(from, to) {
                    self.visit(v, part, tally, (next, &near));
                }
                Ok(())
            };
            map_ranges(cx, (range.len(), GRAIN.min(BLOCK)), Tally::default, step)?;
            Ok(())
        })?;
        Ok(near)
    }

    fn visit(
        &self,
        v: usize,
        part: &GraphPart,
        tally: &mut Tally,
        (next, near): (&[AtomicU32], &AtomicBitmap),
    ) {
        // Internal ids are 32 bits.
        let vertex = v as VertexId;
        tally.clear(part.degree(vertex));
        part.each(vertex, |u, weight| {
            let label = self.labels.get(u as usize).copied().unwrap_or(NONE);
            if u != vertex && label != NONE {
                tally.add(label, weight);
            }
        });
        let own = self.labels.get(v).copied().unwrap_or(NONE);
        let label = self.choice(v, own, tally);
        if label != own {
            if let Some(slot) = next.get(v) {
                slot.store(label, Relaxed);
            }
            part.each(vertex, |u, _| {
                near.set(u as usize);
            });
        }
    }

    /// The label that weighs most; of several the own one, or the one that a hash chooses.
    fn choice(&self, v: usize, own: u32, tally: &Tally) -> u32 {
        let rank = self.ranks.get(v).copied().unwrap_or(0);
        let salt = mix(self.seed ^ u64::from(rank)).wrapping_add(1);
        let order = |label: u32| if label == own { 0 } else { mix(salt ^ u64::from(label)) | 1 };
        let mut best = (own, 0.0);
        for (label, weight) in tally.entries() {
            let ties = weight == best.1;
            if weight > best.1 || ties && (order(label), label) < (order(best.0), best.0) {
                best = (label, weight);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{label_propagation as oracle, sample};
    use proptest::prelude::*;

    fn hashes(seed: u64) -> oracle::Hashes {
        let seed = mix(seed);
        oracle::Hashes {
            turn: Box::new(move |round, v| {
                mix(mix(seed ^ u64::from(round)) ^ u64::from(v)) >> 63 == 0
            }),
            order: Box::new(move |v, label| {
                mix(mix(seed ^ u64::from(v)).wrapping_add(1) ^ u64::from(label)) | 1
            }),
        }
    }

    fn found(config: &LabelPropagation, graph: &Graph, cx: &Context) -> (Vec<Option<u32>>, bool) {
        let found = config.run(graph, cx).unwrap();
        let has = |v: usize| found.labeled.as_ref().is_none_or(|labeled| labeled.get(v));
        let labels = (0..).zip(&found.labels).map(|(v, &label)| has(v).then_some(label)).collect();
        (labels, found.settled)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(60)))]
        #[test]
        fn equals_rounds_over_all_vertices(
            sample in sample::graphs(40, 150),
            picks in proptest::collection::vec(0u32..40, 0..3),
            seed in 0u64..9,
            iterations in 0u32..40,
        ) {
            let arcs: Vec<_> = sample.arcs().iter().map(|&(u, v)| (u, v, 1.0)).collect();
            let fixed: Vec<u32> = picks.iter().map(|pick| pick % sample.n as u32).collect();
            let edges = oracle::both_ways(sample.n, &arcs, sample.directed);
            let expected = oracle::labels(&edges, &fixed, &hashes(seed), iterations);
            let config = LabelPropagation { iterations, fixed: fixed.clone(), seed, weight: None };
            for (graph, cx) in sample.settings() {
                let (labels, settled) = found(&config, &graph, &cx);
                prop_assert_eq!(&labels, &expected);
                let stable = oracle::is_stable(&edges, &fixed, &labels);
                prop_assert!(!settled || stable);
            }
        }

        #[test]
        fn adds_up_weights(
            edges in sample::distinct_arcs(12),
            seed in proptest::collection::vec(0u32..5, 144),
        ) {
            let weights: Vec<f64> = edges.iter().zip(&seed).map(|(_, &w)| f64::from(w)).collect();
            let arcs: Vec<_> = edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
            let lists = oracle::both_ways(12, &arcs, true);
            let expected = oracle::labels(&lists, &[], &hashes(1), 30);
            let config = LabelPropagation {
                iterations: 30,
                seed: 1,
                weight: Some("weight".into()),
                ..LabelPropagation::default()
            };
            for cx in sample::contexts() {
                let graph = Graph::from_edges(12, &edges, true, Some(&weights)).unwrap();
                prop_assert_eq!(found(&config, &graph, &cx).0, expected.clone());
            }
        }
    }

    #[test]
    fn settles_on_a_power_law_graph() {
        for sample in sample::power_laws(5000, 20_000, 3) {
            let run = |graph: Graph, threads: usize| {
                let cx = Context::new().with_threads(threads);
                found(&LabelPropagation::default(), &graph, &cx)
            };
            let (labels, settled) = run(sample.graph(), 1);
            assert!(settled);
            assert!(run(sample.graph_on_ssd(), 2) == (labels, true));
        }
    }
}
