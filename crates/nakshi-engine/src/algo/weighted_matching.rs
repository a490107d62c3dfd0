//! A matching of large weight.
//!
//! R. Preis, "Linear time 1/2-approximation algorithm for maximum weighted matching in general graphs",
//! STACS 1999; F. Manne, R. Bisseling, "A parallel approximation algorithm for the weighted maximum
//! matching problem", PPAM 2007. Every vertex points to the free neighbour at the end of its heaviest
//! edge; two that point to each other are a pair. Vertices that pointed to one of the pair look again.
//! The pairs are those that one gets by taking the edges by their weights, the heaviest first; edges of
//! equal weight are in the order of a hash of the ranks of their ends, whatever the layout.
//!
//! State: rank, pointer, its weight, and partner, 20 bytes a vertex; rounds, 5 bytes, and sets.

use super::rounds::{ROUND_BYTES, Rounds};
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::{SharedF64, share_f64, share_u32, zeroed};
use crate::source::weights::Weights;
use crate::stats::{IterationLog, RunStats};
use crate::thin;
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId, mix};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Vertices up to which one thread looks for the heaviest edges.
const SMALL: usize = 4096;
/// Lists that are requested at once.
const BATCH: usize = 256;
/// The pointer of a vertex without a free neighbour, and the partner of one that is free.
const NONE: u32 = u32::MAX;

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
        graphs\", STACS 1999; F. Manne, R. Bisseling, PPAM 2007";
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
        let column = Column::with_valid("partner", Values::Vertex(found.partners), found.matched);
        Outcome::of(vec![column], found.stats)
            .with_summary("pairs", pairs)
            .with_summary("weight", found.sum)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Algorithm for WeightedMatching {
    type Output = HeavyPairs;

    fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(20.0 + 4.0 + 0.5 + ROUND_BYTES, directions);
        needs.state_bytes_fixed = thin::STATE_BYTES * directions.len() as u64;
        Needs { column: self.weight.clone(), gathers: true, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<HeavyPairs> {
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let ranks = graph.id_ranks(cx)?;
        let mut pointers = zeroed::<u32>(n, "pointers")?;
        let mut heaviest = zeroed::<f64>(n, "weights")?;
        let mut partners = zeroed::<u32>(n, "partners")?;
        pointers.fill(NONE);
        partners.fill(NONE);
        let state = Pointers {
            ranks: ranks.as_deref(),
            to: share_u32(&mut pointers),
            weights: share_f64(&mut heaviest),
            partners: share_u32(&mut partners),
        };
        let mut readers = Vec::new();
        for &direction in graph.all_lists() {
            readers.push((direction, graph.reader(direction, cx)?));
        }
        let mut rounds = Rounds::new(graph, graph.all_lists(), cx)?;
        // Internal ids are 32 bits.
        let mut seeking: Vec<VertexId> = (0..n as u32).collect();
        let mut done = 0;
        while !seeking.is_empty() {
            let size = seeking.len() as u64;
            cx.check()?;
            state.point(graph, &seeking, &mut readers, cx)?;
            let paired = state.pair(&seeking);
            drop(seeking);
            done += paired.len();
            // A vertex that pointed to one that is taken looks again, once.
            seeking = rounds.visit(&paired, &|v, u| state.lets_go(v, u))?;
            log.end("round", size);
            cx.progress().update("weighted-matching", done as u64, n as u64);
        }
        let mut matched = Bitmap::new(n);
        let taken = partners.iter().enumerate().filter(|(_, partner)| **partner != NONE);
        taken.for_each(|(v, _)| matched.set(v));
        // In order, so that the sum is the same for any number of threads.
        let first = |(v, partner): (u32, &u32)| (v < *partner && *partner != NONE).then_some(v);
        let firsts = (0..).zip(&partners).filter_map(first);
        let sum = firsts.filter_map(|v| heaviest.get(v as usize)).sum();
        let weight = self.weight.clone();
        Ok(HeavyPairs { partners, matched, sum, weight, stats: log.finish() })
    }
}

/// The heaviest edge of each vertex to a free one.
struct Pointers<'a> {
    ranks: Option<&'a [u32]>,
    to: &'a [AtomicU32],
    weights: &'a [SharedF64],
    partners: &'a [AtomicU32],
}

impl Pointers<'_> {
    fn rank(&self, v: VertexId) -> u32 {
        self.ranks.and_then(|ranks| ranks.get(v as usize)).copied().unwrap_or(v)
    }

    fn is_free(&self, v: VertexId) -> bool {
        self.partners.get(v as usize).is_some_and(|slot| slot.load(Relaxed) == NONE)
    }

    /// Order of the edges of equal weight, different for different edges.
    fn order(&self, v: VertexId, u: VertexId) -> u64 {
        let (a, b) = (self.rank(v), self.rank(u));
        mix(u64::from(a.min(b)) << 32 | u64::from(a.max(b)))
    }

    /// Points each member to the free neighbour at the end of its heaviest edge.
    fn point(
        &self,
        graph: &Graph,
        members: &[VertexId],
        readers: &mut [(Direction, ListReader<'_>)],
        cx: &Context,
    ) -> Result<()> {
        for &v in members {
            self.to.get(v as usize).into_iter().for_each(|slot| slot.store(NONE, Relaxed));
        }
        if members.len() <= SMALL {
            for (_, reader) in readers {
                for batch in members.chunks(BATCH) {
                    cx.check()?;
                    let requests: Vec<_> = batch.iter().map(|&v| (v, 0)).collect();
                    reader.read_weighted(&requests, &mut |_, v, list, weights| {
                        self.look(v, list, weights)
                    })?;
                }
            }
            return Ok(());
        }
        let set = VertexSet::of(graph.num_vertices(), members);
        for &direction in graph.all_lists() {
            graph.gather_weighted(
                direction,
                &set,
                cx,
                |_| (),
                |(), v, list, weights| self.look(v, list, weights),
            )?;
        }
        Ok(())
    }

    /// Points a vertex to a neighbour in this list, if the edge is heavier than the one so far.
    fn look(&self, v: VertexId, list: &List<'_>, weights: &Weights<'_>) -> Result<()> {
        let slots = (self.to.get(v as usize), self.weights.get(v as usize));
        let (Some(to), Some(heaviest)) = slots else { return Ok(()) };
        let mut best = match to.load(Relaxed) {
            NONE => (0.0, 0, NONE),
            u => (heaviest.get(), self.order(v, u), u),
        };
        let (mut at, mut fault) = (0, None);
        list.for_each(|u| {
            let weight = weights.get(at);
            at += 1;
            if !weight.is_finite() {
                fault = Some(weight);
            }
            if weight <= 0.0 || weight < best.0 || u == v || !self.is_free(u) {
                return;
            }
            let order = self.order(v, u);
            if weight > best.0 || order > best.1 {
                best = (weight, order, u);
            }
        })?;
        if let Some(weight) = fault {
            return Err(Error::not_finite(weight));
        }
        heaviest.set(best.0);
        to.store(best.2, Relaxed);
        Ok(())
    }

    /// Pairs the vertices that point to each other, of which one has just looked; returns both ends.
    fn pair(&self, members: &[VertexId]) -> Vec<VertexId> {
        let mut paired = Vec::new();
        let points = |v: VertexId| self.to.get(v as usize).map_or(NONE, |slot| slot.load(Relaxed));
        for &v in members {
            let u = points(v);
            if u == NONE || points(u) != v || !self.is_free(v) {
                continue;
            }
            for (one, other) in [(v, u), (u, v)] {
                if let Some(slot) = self.partners.get(one as usize) {
                    slot.store(other, Relaxed);
                    paired.push(one);
                }
            }
        }
        paired
    }

    /// Takes the pointer of `u` back if it is free and pointed to `v`; true for the first that does so.
    fn lets_go(&self, v: VertexId, u: VertexId) -> bool {
        let taken = |slot: &AtomicU32| slot.compare_exchange(v, NONE, Relaxed, Relaxed).is_ok();
        self.is_free(u) && self.to.get(u as usize).is_some_and(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{matching as oracle, sample};
    use proptest::prelude::*;

    fn order(u: u32, v: u32) -> u64 {
        mix(u64::from(u.min(v)) << 32 | u64::from(u.max(v)))
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
