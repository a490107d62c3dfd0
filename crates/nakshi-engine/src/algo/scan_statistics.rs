//! Scan statistics: the vertex whose closed neighbourhood has the most edges.
//!
//! Locality statistic after Priebe et al., *Scan Statistics on Enron Graphs* (2005); the
//! order of work, largest degree first with an early stop, after FlashGraph (FAST 2015)
//! section 4. Candidates are taken 64 at a time: a bit per candidate marks its closed
//! neighbourhood in a word per vertex, and one pass over the lists of marked vertices
//! counts the edges with both ends marked for all 64, in vertical counters. What cannot
//! reach the best so far, by its degree or by those of its neighbours, is never counted.
//!
//! An edge counts once in an undirected graph; in a directed graph a neighbour is joined
//! in any direction and each arc counts. Self-loops and duplicates never count.
//!
//! State: 8 bytes of marks and 4 of degree per vertex (8 if directed). With all
//! statistics asked for, that of [`crate::algo::lcc`].

use super::lcc::neighbourhood_arcs;
use super::triangles::oriented::Ranking;
use super::{both, triangles};
use crate::algo::Algorithm;
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::map_blocks;
use crate::shared::share_u64;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Candidates per pass: bits of a mark.
const BATCH: usize = 64;

/// The largest number of edges in a closed neighbourhood, and whose it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanStatistics {
    /// Whether the statistic of every vertex is computed (default: no, only the largest).
    pub per_vertex: bool,
}

/// What [`ScanStatistics`] finds.
#[derive(Debug, Clone, Default)]
pub struct Locality {
    /// The largest statistic; 0 without edges.
    pub max: u64,
    /// The vertex that has it, the one with the smallest user id among equals; `None`
    /// without vertices.
    pub vertex: Option<VertexId>,
    /// The statistic of every vertex in internal order, if asked for.
    pub per_vertex: Option<Vec<u64>>,
    /// Vertices whose neighbourhood was counted.
    pub counted: u64,
    /// What the run did.
    pub stats: RunStats,
}

impl From<Locality> for Outcome {
    fn from(found: Locality) -> Self {
        let columns = found
            .per_vertex
            .map(|c| Column::new("scan_statistic", Values::U64(c)))
            .into_iter()
            .collect();
        let summary_vertices = found.vertex.map(|v| ("vertex".to_owned(), v)).into_iter().collect();
        Outcome { columns, summary_vertices, stats: found.stats, ..Outcome::default() }
            .with_summary("max", found.max)
            .with_summary("counted", found.counted)
    }
}

impl Algorithm for ScanStatistics {
    type Output = Locality;
    const NAME: &'static str = "scan-statistics";
    const ABOUT: &'static str = "largest number of edges in a closed neighbourhood";

    fn needs(&self, summary: &Summary) -> Needs {
        if self.per_vertex {
            return triangles::needs(summary, if summary.directed { 16.0 } else { 12.0 });
        }
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        // Marks, degrees, two sets, ranks of the users' ids while a tie is settled.
        let mut needs = Needs::new(if summary.directed { 17.0 } else { 13.0 } + 4.0, directions);
        needs.state_bytes_fixed =
            if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Locality> {
        if self.per_vertex { all(self, graph, cx) } else { largest(graph, cx) }
    }
}

/// The largest value and its vertex, ties to the smallest user id.
fn winner(
    graph: &Graph,
    scores: impl Iterator<Item = (VertexId, u64)> + Clone,
    cx: &Context,
) -> Result<Option<(VertexId, u64)>> {
    let Some(max) = scores.clone().map(|s| s.1).max() else { return Ok(None) };
    let ranks = graph.id_ranks(cx)?;
    let rank = |v: VertexId| ranks.as_ref().map_or(Some(v), |ranks| ranks.get(v as usize).copied());
    Ok(scores.filter(|s| s.1 == max).min_by_key(|s| rank(s.0)))
}

fn all(config: &ScanStatistics, graph: &Graph, cx: &Context) -> Result<Locality> {
    let mut log = IterationLog::new(graph);
    let by = Ranking::new(graph, cx)?;
    let needs = config.needs(&graph.summary());
    let (census, arcs) = neighbourhood_arcs(graph, &by, &needs, &mut log, cx)?;
    let mut scores = arcs;
    for (i, score) in scores.iter_mut().enumerate() {
        let at = |counts: &[u32]| counts.get(i).copied().map_or(0, u64::from);
        if !graph.directed() {
            *score /= 2;
        }
        *score += at(&census.degree) + at(&census.mutual);
    }
    drop(census);
    let scores = by.by_vertex(scores);
    let pairs = scores.iter().enumerate().map(|(v, &s)| (v as VertexId, s));
    let best = winner(graph, pairs, cx)?;
    Ok(Locality {
        max: best.map_or(0, |b| b.1),
        vertex: best.map(|b| b.0),
        counted: scores.len() as u64,
        per_vertex: Some(scores),
        stats: log.finish(),
    })
}

/// List entries of each vertex in both directions: what bounds are made of.
fn degrees(graph: &Graph, cx: &Context) -> Result<Vec<u32>> {
    let mut degrees = graph.degrees(Direction::Out, cx)?;
    if graph.directed() {
        let incoming = graph.degrees(Direction::In, cx)?;
        for (d, more) in degrees.iter_mut().zip(incoming) {
            *d = d.saturating_add(more);
        }
    }
    Ok(degrees)
}

/// No closed neighbourhood of a vertex with `degree` list entries has more edges.
fn bound_by_degree(degree: u32, directed: bool) -> u64 {
    let d = u64::from(degree);
    let among = d * d.saturating_sub(1);
    d.saturating_add(if directed { among } else { among / 2 })
}

fn largest(graph: &Graph, cx: &Context) -> Result<Locality> {
    let mut log = IterationLog::new(graph);
    let n = graph.num_vertices();
    let degrees = degrees(graph, cx)?;
    let degree = |v: VertexId| degrees.get(v as usize).copied().unwrap_or(0);
    let mut marks = vec![0u64; n];
    let mut scores: Vec<(VertexId, u64)> = Vec::new();
    let first = highest(&degrees);
    count_batch(graph, &first, &mut marks, &mut scores, cx)?;
    log.end("largest degrees", first.len() as u64);
    let mut best = scores.iter().map(|s| s.1).max().unwrap_or(0);
    let mut rest = Bitmap::new(n);
    for v in 0..n as VertexId {
        if bound_by_degree(degree(v), graph.directed()) >= best {
            rest.set(v as usize);
        }
    }
    first.iter().for_each(|&v| rest.clear(v as usize));
    let mut bounds = bounds_by_neighbours(graph, rest.into(), &degrees, best, &mut marks, cx)?;
    log.end("bounds", bounds.len() as u64);
    bounds.sort_unstable_by_key(|&(v, bound)| (Reverse(bound), v));
    let mut queue = bounds.as_slice();
    let total = bounds.len() as u64;
    while let Some(&(_, bound)) = queue.first()
        && bound >= best
    {
        let (batch, later) = queue.split_at(BATCH.min(queue.len()));
        let batch: Vec<VertexId> = batch.iter().map(|b| b.0).collect();
        count_batch(graph, &batch, &mut marks, &mut scores, cx)?;
        best = scores.iter().map(|s| s.1).max().unwrap_or(best);
        queue = later;
        cx.progress().update("scan statistics", total - queue.len() as u64, total);
        log.end("batch", batch.len() as u64);
    }
    let counted = scores.len() as u64;
    drop((marks, degrees));
    let best = winner(graph, scores.iter().copied(), cx)?;
    Ok(Locality {
        max: best.map_or(0, |b| b.1),
        vertex: best.map(|b| b.0),
        counted,
        per_vertex: None,
        stats: log.finish(),
    })
}

/// The vertices with the most list entries, as many as fit into a batch.
fn highest(degrees: &[u32]) -> Vec<VertexId> {
    let mut top = std::collections::BinaryHeap::with_capacity(BATCH + 1);
    for (v, &degree) in degrees.iter().enumerate() {
        let item = Reverse((degree, Reverse(v as VertexId)));
        if top.len() < BATCH || top.peek().is_some_and(|least| item < *least) {
            top.push(item);
            if top.len() > BATCH {
                top.pop();
            }
        }
    }
    top.into_iter().map(|Reverse((_, Reverse(v)))| v).collect()
}

/// Of `candidates`, those whose neighbours' degrees allow a statistic of `best`, with
/// that bound.
fn bounds_by_neighbours(
    graph: &Graph,
    candidates: VertexSet,
    degrees: &[u32],
    best: u64,
    sums: &mut [u64],
    cx: &Context,
) -> Result<Vec<(VertexId, u64)>> {
    let n = graph.num_vertices();
    let degree = |v: VertexId| u64::from(degrees.get(v as usize).copied().unwrap_or(0));
    sums.fill(0);
    let shared = share_u64(sums);
    // Edges with both ends near `v`, counted at both ends, one direction at a time.
    let each = if graph.directed() { 2 } else { 1 };
    let directions: &[Direction] =
        if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    for &direction in directions {
        graph.gather(
            direction,
            &candidates,
            cx,
            |_| (),
            |(), v, list| {
                let own = each * degree(v);
                let mut sum = 0u64;
                list.for_each(|u| sum = sum.saturating_add(degree(u).min(own)))?;
                if let Some(slot) = shared.get(v as usize) {
                    slot.fetch_add(sum, Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
    }
    let found = map_blocks(cx, n, |range| {
        let reaches = |v: usize| {
            let sum = shared.get(v).map_or(0, |s| s.load(Ordering::Relaxed));
            let bound = degree(v as VertexId) + sum.div_ceil(2);
            (candidates.contains(v as VertexId) && bound >= best).then_some((v as VertexId, bound))
        };
        Ok(range.filter_map(reaches).collect::<Vec<_>>())
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Counts in which several numbers at once go up by one: bit `i` of plane `k` is bit `k`
/// of number `i`.
struct Vertical {
    planes: [u64; 16],
    added: u32,
    counts: [u64; BATCH],
}

impl Vertical {
    fn new() -> Self {
        Vertical { planes: [0; 16], added: 0, counts: [0; BATCH] }
    }

    #[inline]
    fn add(&mut self, bits: u64) {
        if bits == 0 {
            return;
        }
        let mut carry = bits;
        for plane in &mut self.planes {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
            if carry == 0 {
                break;
            }
        }
        self.added += 1;
        if self.added == u32::from(u16::MAX) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        for (k, plane) in self.planes.iter_mut().enumerate() {
            for (i, count) in self.counts.iter_mut().enumerate() {
                *count += (*plane >> i & 1) << k;
            }
            *plane = 0;
        }
        self.added = 0;
    }
}

/// Appends the statistics of at most [`BATCH`] vertices to `scores`.
fn count_batch(
    graph: &Graph,
    batch: &[VertexId],
    marks: &mut [u64],
    scores: &mut Vec<(VertexId, u64)>,
    cx: &Context,
) -> Result<()> {
    marks.fill(0);
    let shared = share_u64(marks);
    let mark = |v: VertexId, bit: u64| {
        if let Some(slot) = shared.get(v as usize) {
            slot.fetch_or(bit, Ordering::Relaxed);
        }
    };
    let mut order: Vec<VertexId> = batch.to_vec();
    order.sort_unstable();
    let mut set = VertexSet::new(graph.num_vertices());
    order.iter().for_each(|&v| {
        set.insert(v);
    });
    let bit = |v: VertexId| order.binary_search(&v).map_or(0, |i| 1u64 << i);
    let directions: &[Direction] =
        if graph.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    for &direction in directions {
        graph.gather(
            direction,
            &set,
            cx,
            |_| (),
            |(), v, list| {
                mark(v, bit(v));
                Ok(list.for_each(|u| mark(u, bit(v)))?)
            },
        )?;
    }
    let counts = edges_within(graph, shared, cx)?;
    scores.extend(order.iter().zip(counts).map(|(&v, count)| (v, count)));
    Ok(())
}

/// For each bit, the edges whose ends are both marked with it.
fn edges_within(graph: &Graph, marks: &[AtomicU64], cx: &Context) -> Result<[u64; BATCH]> {
    let n = graph.num_vertices();
    let mark = |v: usize| marks.get(v).map_or(0, |m| m.load(Ordering::Relaxed));
    let mut marked = Bitmap::new(n);
    for v in (0..n).filter(|&v| mark(v) != 0) {
        marked.set(v);
    }
    let directed = graph.directed();
    let count = |vertical: &mut Vertical, v: VertexId, list: &crate::List<'_>| {
        let own = mark(v as usize);
        let mut last = None;
        Ok(list.blocks(|block| {
            for &u in block {
                if !directed && u >= v {
                    return ControlFlow::Break(());
                }
                if u != v && last != Some(u) {
                    vertical.add(own & mark(u as usize));
                }
                last = Some(u);
            }
            ControlFlow::Continue(())
        })?)
    };
    let parts = graph.gather(Direction::Out, &marked.into(), cx, |_| Vertical::new(), count)?;
    let mut counts = [0; BATCH];
    for mut part in parts {
        part.flush();
        counts.iter_mut().zip(part.counts).for_each(|(sum, c)| *sum += c);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{cases, graphs};
    use crate::algo::oracle::triangles as oracle;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(sample in graphs(150, 600)) {
            let expected = oracle::scan_statistics(&sample.adjacency(), sample.directed);
            let max = expected.iter().copied().max().unwrap_or(0);
            let first = expected.iter().position(|&s| s == max).map(|v| v as VertexId);
            for (graph, cx) in sample.settings() {
                let every = ScanStatistics { per_vertex: true }.run(&graph, &cx).unwrap();
                prop_assert_eq!(every.per_vertex.as_ref(), Some(&expected));
                prop_assert_eq!((every.max, every.vertex), (max, first));
                let found = ScanStatistics::default().run(&graph, &cx).unwrap();
                prop_assert_eq!((found.max, found.vertex), (max, first));
            }
        }
    }

    #[test]
    fn vertical_counters_count() {
        let mut vertical = Vertical::new();
        let mut expected = [0u64; BATCH];
        for i in 0..200_000u64 {
            let bits = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            vertical.add(bits);
            expected.iter_mut().enumerate().for_each(|(k, e)| *e += bits >> k & 1);
        }
        vertical.flush();
        assert_eq!(vertical.counts, expected);
    }
}
