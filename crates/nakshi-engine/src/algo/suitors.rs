//! Pairs of neighbours along the heaviest edges: what [`super::matching`] and [`super::weighted_matching`]
//! share.
//!
//! F. Manne, M. Halappanavar, "New effective multithreaded matching algorithms", IPDPS 2014. Every vertex
//! proposes to the neighbour at the end of its heaviest edge among those that have no better suitor, and
//! takes the place of the suitor that it has. Who is displaced looks again in the next round. Two that are
//! the suitors of each other are a pair. The pairs are those that one gets by taking the edges by their
//! weights, the heaviest first; edges of equal weight are in the order of a hash of the ranks of their ends,
//! whatever the layout and the schedule.
//!
//! State: rank, proposal, its weight and suitor, 20 bytes a vertex; the vertices of a round, twice in part.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::outcome::{Column, Values};
use crate::program::pull::mixed;
use crate::shared::{SharedF64, share_f64, share_u32, zeroed};
use crate::source::weights::Weights;
use crate::stats::IterationLog;
use crate::thin;
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

/// Vertices up to which one thread reads the lists of a round.
const SMALL: usize = 4096;
/// Lists that are requested at once.
const BATCH: usize = 256;
/// The proposal of a vertex that makes none, and the suitor of one that has none.
const NONE: u32 = u32::MAX;

/// Pairs in internal order.
#[derive(Debug, Clone, Default)]
pub(super) struct Couples {
    /// Partner of each vertex; meaningful where `matched`.
    pub(super) partners: Vec<VertexId>,
    /// Vertices that have a partner.
    pub(super) matched: Bitmap,
    /// Sum of the weights of the edges between partners.
    pub(super) sum: f64,
}

/// The column of partners, missing where there is none.
pub(super) fn column(partners: Vec<VertexId>, matched: Bitmap) -> Column {
    Column::with_valid("partner", Values::Vertex(partners), matched)
}

/// Memory and lists of a run with the weights of a column, or with all of them 1.
pub(super) fn needs(summary: &Summary, column: Option<String>) -> Needs {
    let directions: &[Direction] =
        if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    let mut needs = Needs::new(20.0 + 4.0 + 4.0 + 0.75, directions);
    needs.state_bytes_fixed = thin::STATE_BYTES * directions.len() as u64;
    Needs { column, gathers: true, ..needs }
}

/// Finds the pairs; `name` is that of the algorithm.
///
/// # Errors
/// A weight that is not finite; as [`Graph::gather`].
pub(super) fn run(
    name: &'static str,
    graph: &Graph,
    log: &mut IterationLog<'_>,
    cx: &Context,
) -> Result<Couples> {
    let n = graph.num_vertices();
    let ranks = graph.id_ranks(cx)?;
    let mut proposals = zeroed::<u32>(n, "proposals")?;
    let mut weights = zeroed::<f64>(n, "weights")?;
    let mut suitors = zeroed::<u32>(n, "suitors")?;
    suitors.fill(NONE);
    let state = Suitors {
        ranks: ranks.as_deref(),
        proposals: share_u32(&mut proposals),
        weights: share_f64(&mut weights),
        of: share_u32(&mut suitors),
    };
    let mut readers = Vec::new();
    for &direction in graph.all_lists() {
        readers.push(graph.reader(direction, cx)?);
    }
    // Internal ids are 32 bits.
    let mut seeking: Vec<VertexId> = (0..n as u32).collect();
    while !seeking.is_empty() {
        cx.check()?;
        let size = seeking.len();
        seeking = match size {
            ..=SMALL => state.small(&seeking, &mut readers, cx)?,
            _ => state.large(seeking, graph, cx)?,
        };
        log.end("round", size as u64);
        cx.progress().update(name, (n - seeking.len()) as u64, n as u64);
    }
    let mut matched = Bitmap::new(n);
    let mut sum = 0.0;
    let suitor = |v: u32| suitors.get(v as usize).copied().unwrap_or(NONE);
    // In order, so that the sum is the same for any number of threads.
    for v in 0..n as u32 {
        let partner = suitor(v);
        if partner != NONE && suitor(partner) == v {
            matched.set(v as usize);
            sum += if v < partner { weights.get(v as usize).copied().unwrap_or(0.0) } else { 0.0 };
        }
    }
    Ok(Couples { partners: suitors, matched, sum })
}

/// An edge to a vertex, in the order in which edges are taken.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Edge {
    weight: f64,
    order: u64,
    to: VertexId,
}

/// Proposals under way. While a vertex is the suitor of another, its proposal and weight stay.
struct Suitors<'a> {
    ranks: Option<&'a [u32]>,
    /// To whom each vertex proposes, or would in the list after.
    proposals: &'a [AtomicU32],
    /// The weight of the edge along which each vertex proposes.
    weights: &'a [SharedF64],
    /// The best suitor of each vertex.
    of: &'a [AtomicU32],
}

impl Suitors<'_> {
    /// A round of few vertices, by the calling thread; returns those that look again.
    fn small(
        &self,
        members: &[VertexId],
        readers: &mut [ListReader<'_>],
        cx: &Context,
    ) -> Result<Vec<VertexId>> {
        let mut again = Vec::new();
        members.iter().for_each(|&v| self.propose_none(v));
        let last = readers.len().saturating_sub(1);
        for (k, reader) in readers.iter_mut().enumerate() {
            for batch in members.chunks(BATCH) {
                cx.check()?;
                let requests: Vec<_> = batch.iter().map(|&v| (v, 0)).collect();
                reader.read_weighted(&requests, &mut |_, v, list, weights| {
                    again.extend(self.look(v, list, weights, k == last)?);
                    Ok(())
                })?;
            }
        }
        again.sort_unstable();
        Ok(again)
    }

    /// A round of many vertices, by all workers; returns those that look again.
    fn large(&self, members: Vec<VertexId>, graph: &Graph, cx: &Context) -> Result<Vec<VertexId>> {
        let set = VertexSet::of(graph.num_vertices(), &members);
        members.iter().for_each(|&v| self.propose_none(v));
        drop(members);
        let again = AtomicBitmap::new(graph.num_vertices());
        let directions = graph.all_lists();
        for &direction in directions {
            let last = directions.last() == Some(&direction);
            graph.gather_weighted(
                direction,
                &set,
                cx,
                |_| (),
                |(), v, list, weights| {
                    if let Some(one) = self.look(v, list, weights, last)? {
                        again.set(one as usize);
                    }
                    Ok(())
                },
            )?;
        }
        drop(set);
        let again = VertexSet::from(again);
        let mut found = Vec::with_capacity(again.count());
        found.extend(again.iter());
        Ok(found)
    }

    fn propose_none(&self, v: VertexId) {
        self.proposals.get(v as usize).into_iter().for_each(|slot| slot.store(NONE, Relaxed));
    }

    /// Looks for the best edge of `v` in a list, and, when that is the last of its lists, proposes along it.
    /// Returns the vertex that must look again: `v` itself, or the one whose place it took.
    fn look(
        &self,
        v: VertexId,
        list: &List<'_>,
        weights: &Weights<'_>,
        last: bool,
    ) -> Result<Option<VertexId>> {
        let before = self.proposal(v);
        loop {
            let Some(edge) = self.best(v, before, list, weights)? else {
                self.propose_none(v);
                return Ok(None);
            };
            let slots = (self.proposals.get(v as usize), self.weights.get(v as usize));
            let (Some(proposal), Some(weight)) = slots else { return Ok(None) };
            proposal.store(edge.to, Relaxed);
            weight.set(edge.weight);
            if !last {
                return Ok(None);
            }
            match self.propose(v, edge) {
                Some(displaced) => return Ok((displaced != NONE).then_some(displaced)),
                // It is in another list that no better edge than this may be.
                None if Some(edge) == before => return Ok(Some(v)),
                None => {}
            }
        }
    }

    /// The edge along which `v` would propose so far.
    fn proposal(&self, v: VertexId) -> Option<Edge> {
        let to = self.proposals.get(v as usize)?.load(Relaxed);
        let weight = self.weights.get(v as usize)?;
        (to != NONE).then(|| Edge { weight: weight.get(), order: self.order(v, to), to })
    }

    /// The best edge of `before` and those in a list to vertices that would take `v`.
    fn best(
        &self,
        v: VertexId,
        before: Option<Edge>,
        list: &List<'_>,
        weights: &Weights<'_>,
    ) -> Result<Option<Edge>> {
        let mut best = before.unwrap_or(Edge { weight: 0.0, order: 0, to: NONE });
        let (mut at, mut fault) = (0, None);
        list.for_each(|u| {
            let weight = weights.get(at);
            at += 1;
            if !weight.is_finite() {
                fault = Some(weight);
            }
            if weight <= 0.0 || weight < best.weight || u == v {
                return;
            }
            let edge = Edge { weight, order: self.order(v, u), to: u };
            if edge > best && self.takes(u, edge, self.suitor(u)) {
                best = edge;
            }
        })?;
        match fault {
            Some(weight) => Err(Error::not_finite(weight)),
            None => Ok((best.to != NONE).then_some(best)),
        }
    }

    fn suitor(&self, u: VertexId) -> VertexId {
        self.of.get(u as usize).map_or(NONE, |slot| slot.load(Acquire))
    }

    /// True if `u`, which has a suitor, takes the one at the other end of an edge instead.
    fn takes(&self, u: VertexId, edge: Edge, suitor: VertexId) -> bool {
        let Some(weight) = self.weights.get(suitor as usize) else { return true };
        let weight = weight.get();
        edge.weight > weight || edge.weight == weight && edge.order > self.order(u, suitor)
    }

    /// Makes `v` the suitor at the end of an edge, unless a better one has come; returns the one before, or
    /// `NONE`.
    fn propose(&self, v: VertexId, edge: Edge) -> Option<VertexId> {
        let slot = self.of.get(edge.to as usize)?;
        let mut suitor = slot.load(Acquire);
        while self.takes(edge.to, edge, suitor) {
            match slot.compare_exchange(suitor, v, AcqRel, Acquire) {
                Ok(displaced) => return Some(displaced),
                Err(other) => suitor = other,
            }
        }
        None
    }

    /// The order of edges of equal weight, different for different edges and that of
    /// [`PullMatching`](crate::program::pull::programs::PullMatching).
    fn order(&self, v: VertexId, u: VertexId) -> u64 {
        let rank = |v: VertexId| match self.ranks {
            Some(ranks) => ranks.get(v as usize).copied().unwrap_or(v),
            None => v,
        };
        let (a, b) = (rank(v), rank(u));
        mixed(u64::from(a.min(b)) << 32 | u64::from(a.max(b)))
    }
}
