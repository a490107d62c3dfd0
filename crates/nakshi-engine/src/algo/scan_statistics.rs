//! Scan statistics: the vertex whose closed neighbourhood has the most edges.
//!
//! Locality statistic after Priebe et al., *Scan Statistics on Enron Graphs* (2005); the
//! order of work, largest degree first with an early stop, after FlashGraph (FAST 2015)
//! section 4. Candidates are taken 64 at a time: a bit per candidate marks its closed
//! neighbourhood in a word per vertex, and one pass over the lists of marked vertices
//! counts the edges with both ends marked for all 64, in vertical counters. What cannot
//! reach the best so far, by its degree or by those of its neighbours, is never counted.
//!
//! Direction is ignored, as for [triangles](mod@super::triangles): two vertices are joined by one edge,
//! whether by an arc in one direction or in both. Self-loops and duplicates never count.
//!
//! On graphs whose degrees bound little, as those without hubs, so many candidates are left that all
//! statistics are computed instead, from the triangles through each vertex.
//!
//! State: that of [`crate::algo::lcc`], which is more than a word of marks per vertex and
//! one per candidate.

use super::triangles;
use super::triangles::oriented::{Census, Facts, Ranking};
use crate::algo::{Algorithm, Output, Parameter, algorithm, choices};
use crate::both::both_lists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::program::programs::ScanStatistics as VertexScan;
use crate::program::run_program;
use crate::shared::{share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Candidates per pass: bits of a mark.
const BATCH: usize = 64;
/// Candidates beyond which counting all triangles is cheaper: each batch reads the lists of
/// all neighbours of its members, which can be most of the graph.
const FEW: usize = 128 * BATCH;

algorithm! {
    /// Scan statistic: the most edges inside the closed neighbourhood of a vertex.
    ///
    /// Edges are taken as undirected. Vertices are tried by descending degree, and the search stops as soon
    /// as no other can win.
    pub struct ScanStatistics = "scan-statistics" {
        /// Compute it for every vertex, without stopping early.
        pub per_vertex: bool = false => Parameter::FLAG;
        /// Method that finds it; the results are the same.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    method: "scan_statistics";
    citation: "C. Priebe et al., \"Scan statistics on Enron graphs\", Comput. Math. Organ. Theory 11 (2005)";
    columns: &[
        Output::new("scan_statistic", "uint64", "edges inside the closed neighbourhood").when("per_vertex"),
    ];
    summary: &[
        Output::new("max", "uint64", "the largest statistic"),
        Output::new("vertex", "vertex", "the vertex that has it, the one with the smallest id among equals"),
        Output::new("counted", "uint64", "neighbourhoods that were counted"),
    ];
}

choices! {
    /// Methods of scan statistics.
    pub enum Variant {
        /// scans, for 64 candidates at a time
        Direct = "direct",
        /// FlashGraph's vertex program, for undirected graphs and without `per_vertex`
        Vertex = "vertex",
    }
}

/// Result of [`ScanStatistics`].
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
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Locality> for Outcome {
    fn from(found: Locality) -> Self {
        let column = found.per_vertex.map(|c| Column::new("scan_statistic", Values::U64(c)));
        let columns = column.into_iter().collect();
        let summary_vertices = found.vertex.map(|v| ("vertex".to_owned(), v)).into_iter().collect();
        Outcome { columns, summary_vertices, stats: found.stats, ..Outcome::default() }
            .with_summary("max", found.max)
            .with_summary("counted", found.counted)
    }
}

impl Algorithm for ScanStatistics {
    type Output = Locality;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.variant == Variant::Vertex {
            let mut needs = VertexScan::config().needs(&VertexScan::new());
            needs.state_bytes_fixed += 64 * summary.longest_list;
            return needs;
        }
        // Of all statistics: only the lists tell whether it comes to that. The census of a directed
        // graph counts neighbours in both directions too.
        triangles::needs(summary, if summary.directed { 16.0 } else { 12.0 })
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Locality> {
        if self.variant == Variant::Vertex {
            return self.by_program(graph, cx);
        }
        if self.per_vertex {
            return all(self, graph, IterationLog::new(graph), cx);
        }
        largest(self, graph, FEW, cx)
    }
}

impl ScanStatistics {
    fn by_program(&self, graph: &Graph, cx: &Context) -> Result<Locality> {
        triangles::refuse_directed(graph)?;
        if self.per_vertex {
            let what = "the vertex program stops early; take the variant \"direct\"";
            return Err(Error::parameter("per_vertex", what));
        }
        let program = VertexScan::new();
        let (states, stats) = run_program(graph, &program, &VertexScan::config(), cx)?;
        let mut best = Best::new(states.len());
        // Internal ids are 32 bits.
        for (v, state) in states.iter().enumerate() {
            if let Some(score) = state {
                best.add(v as VertexId, *score);
            }
        }
        let vertex = best.vertex(graph, cx)?;
        Ok(Locality { max: best.max, vertex, counted: best.counted, per_vertex: None, stats })
    }
}

fn all(
    config: &ScanStatistics,
    graph: &Graph,
    mut log: IterationLog<'_>,
    cx: &Context,
) -> Result<Locality> {
    let by = Ranking::new(graph, cx)?;
    let mut census = Census::take(graph, &by, Facts::Mutual, cx)?;
    log.end("census", graph.num_vertices() as u64);
    let mut scores = zeroed::<u64>(graph.num_vertices(), "scan statistics")?;
    let room = triangles::room(&config.needs(&graph.summary()), graph, cx)?;
    let shared = share_u64(&mut scores);
    // Each edge between two neighbours closes a triangle.
    triangles::count_all(graph, &by, &mut census, room, Some(shared), &mut log, cx)?;
    for (score, &degree) in scores.iter_mut().zip(&census.degree) {
        *score += u64::from(degree);
    }
    drop(census);
    let scores = by.by_vertex(scores);
    let mut best = Best::new(scores.len());
    // Internal ids are 32 bits.
    scores.iter().enumerate().for_each(|(v, &s)| best.add(v as VertexId, s));
    Ok(Locality {
        max: best.max,
        vertex: best.vertex(graph, cx)?,
        counted: best.counted,
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
fn bound_by_degree(degree: u32) -> u64 {
    let d = u64::from(degree);
    d.saturating_add(d * d.saturating_sub(1) / 2)
}

/// Counts candidates while there are at most `few`.
fn largest(config: &ScanStatistics, graph: &Graph, few: usize, cx: &Context) -> Result<Locality> {
    let mut log = IterationLog::new(graph);
    let n = graph.num_vertices();
    let degrees = degrees(graph, cx)?;
    let mut marks = zeroed::<u64>(n, "marks of neighbourhoods")?;
    let mut best = Best::new(n);
    let first = highest(&degrees);
    count_batch(graph, &first, &mut marks, &mut best, cx)?;
    log.end("largest degrees", first.len() as u64);
    let rest = AtomicBitmap::new(n);
    map_blocks(cx, n, |range| {
        for v in range {
            let degree = degrees.get(v).copied().unwrap_or(0);
            if bound_by_degree(degree) >= best.max {
                rest.set(v);
            }
        }
        Ok(())
    })?;
    let mut rest = rest.into_bitmap();
    first.iter().for_each(|&v| rest.clear(v as usize));
    let rest = VertexSet::from(rest);
    bounds_by_neighbours(graph, &rest, &degrees, &mut marks, cx)?;
    drop(degrees);
    let mut queue = Queue::new(&rest, &marks, best.max)?;
    drop(rest);
    let total = queue.0.len() as u64;
    log.end("bounds", total);
    if queue.0.len() > few {
        drop((marks, queue));
        let found = all(config, graph, log, cx)?;
        return Ok(Locality { per_vertex: None, ..found });
    }
    loop {
        cx.check()?;
        let batch = queue.next(best.max);
        if batch.is_empty() {
            break;
        }
        count_batch(graph, &batch, &mut marks, &mut best, cx)?;
        cx.progress().update("scan statistics", total - queue.0.len() as u64, total);
        log.end("batch", batch.len() as u64);
    }
    drop((marks, queue));
    Ok(Locality {
        max: best.max,
        vertex: best.vertex(graph, cx)?,
        counted: best.counted,
        per_vertex: None,
        stats: log.finish(),
    })
}

/// The largest statistic so far.
struct Best {
    max: u64,
    /// Whose it is.
    vertices: Bitmap,
    counted: u64,
}

impl Best {
    fn new(n: usize) -> Self {
        Best { max: 0, vertices: Bitmap::new(n), counted: 0 }
    }

    fn add(&mut self, v: VertexId, statistic: u64) {
        self.counted += 1;
        if statistic > self.max {
            self.vertices.words_mut().fill(0);
            self.max = statistic;
        }
        if statistic == self.max {
            self.vertices.set(v as usize);
        }
    }

    /// The vertex with the largest count; of several, the one with the smallest user id.
    fn vertex(&self, graph: &Graph, cx: &Context) -> Result<Option<VertexId>> {
        let vertex = match graph.id_ranks(cx)? {
            None => self.vertices.iter().next(),
            Some(ranks) => self.vertices.iter().min_by_key(|&v| ranks.get(v).copied()),
        };
        // Internal ids are 32 bits.
        Ok(vertex.map(|v| v as VertexId))
    }
}

/// Candidates by descending bounds: a bound of 32 bits, then the complement of the vertex.
/// A heap, because most candidates are never asked for.
struct Queue(BinaryHeap<u64>);

impl Queue {
    /// The `candidates` whose bound is not below `best`.
    fn new(candidates: &VertexSet, bounds: &[u64], best: u64) -> Result<Self> {
        let keys = || {
            let bound = |v: VertexId| bounds.get(v as usize).copied().unwrap_or(0);
            let reaching = candidates.iter().map(move |v| (v, bound(v))).filter(|c| c.1 >= best);
            reaching.map(|(v, bound)| bound.min(u32::MAX.into()) << 32 | u64::from(!v))
        };
        let count = keys().count();
        let mut all = Vec::new();
        all.try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory { what: "candidates", bytes: 8 * count as u64 })?;
        all.extend(keys());
        Ok(Queue(all.into()))
    }

    /// The next batch of vertices that may reach `best`.
    fn next(&mut self, best: u64) -> Vec<VertexId> {
        let reaches = |key: &u64| {
            let bound = key >> 32;
            bound == u64::from(u32::MAX) || bound >= best
        };
        let take = || self.0.peek().is_some_and(reaches).then(|| self.0.pop()).flatten();
        // The lower half is the complement of the vertex.
        std::iter::from_fn(take).take(BATCH).map(|key| !(key as u32)).collect()
    }
}

/// The vertices with the most list entries, as many as fit into a batch.
fn highest(degrees: &[u32]) -> Vec<VertexId> {
    let mut top = BinaryHeap::with_capacity(BATCH + 1);
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

/// For each of `candidates` a bound by the degrees of its neighbours; 0 for all others.
fn bounds_by_neighbours(
    graph: &Graph,
    candidates: &VertexSet,
    degrees: &[u32],
    bounds: &mut [u64],
    cx: &Context,
) -> Result<()> {
    let degree = |v: usize| u64::from(degrees.get(v).copied().unwrap_or(0));
    clear(bounds, cx)?;
    let shared = share_u64(bounds);
    // Edges with both ends near `v`, counted at both ends, and twice where both ways lead there.
    for &direction in directions(graph.directed()) {
        graph.gather(
            direction,
            candidates,
            cx,
            |_| (),
            |(), v, list| {
                let own = degree(v as usize);
                let mut sum = 0u64;
                list.for_each(|u| sum = sum.saturating_add(degree(u as usize).min(own)))?;
                if let Some(slot) = shared.get(v as usize) {
                    slot.fetch_add(sum, Ordering::Relaxed);
                }
                Ok(())
            },
        )?;
    }
    for_each_block_mut(cx, bounds, |start, block| {
        for v in candidates.bits().iter_in(start, start + block.len()) {
            if let Some(bound) = block.get_mut(v - start) {
                *bound = degree(v) + bound.div_ceil(2);
            }
        }
        Ok(())
    })
}

fn clear(words: &mut [u64], cx: &Context) -> Result<()> {
    for_each_block_mut(cx, words, |_, block| {
        block.fill(0);
        Ok(())
    })
}

/// The directions in which a vertex has lists.
fn directions(directed: bool) -> &'static [Direction] {
    if directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] }
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

/// Tells `best` the statistics of at most [`BATCH`] vertices.
fn count_batch(
    graph: &Graph,
    batch: &[VertexId],
    marks: &mut [u64],
    best: &mut Best,
    cx: &Context,
) -> Result<()> {
    clear(marks, cx)?;
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
    for &direction in directions(graph.directed()) {
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
    order.iter().zip(counts).for_each(|(&v, count)| best.add(v, count));
    Ok(())
}

/// For each bit, the edges whose ends are both marked with it.
fn edges_within(graph: &Graph, marks: &[AtomicU64], cx: &Context) -> Result<[u64; BATCH]> {
    let n = graph.num_vertices();
    let mark = |v: usize| marks.get(v).map_or(0, |m| m.load(Ordering::Relaxed));
    let marked = AtomicBitmap::new(n);
    map_blocks(cx, n, |range| {
        range.filter(|&v| mark(v) != 0).for_each(|v| {
            marked.set(v);
        });
        Ok(())
    })?;
    let totals = [const { AtomicU64::new(0) }; BATCH];
    let counts = |_| Counting { vertical: Vertical::new(), totals: &totals };
    // Each edge is counted at its larger end.
    if graph.directed() {
        both_lists(graph, &marked.into(), cx, counts, |counting, v, out, into| {
            let own = mark(v as usize);
            let mut lists = [out, into];
            while let Some(u) = lists.iter().filter_map(|list| list.first()).copied().min()
                && u < v
            {
                counting.vertical.add(own & mark(u as usize));
                for list in &mut lists {
                    while let Some((_, rest)) = list.split_first().filter(|(next, _)| **next == u) {
                        *list = rest;
                    }
                }
            }
            Ok(())
        })?;
    } else {
        graph.gather(Direction::Out, &marked.into(), cx, counts, |counting, v, list| {
            let own = mark(v as usize);
            let mut last = None;
            Ok(list.blocks(|block| {
                for &u in block {
                    if u >= v {
                        return ControlFlow::Break(());
                    }
                    if last != Some(u) {
                        counting.vertical.add(own & mark(u as usize));
                    }
                    last = Some(u);
                }
                ControlFlow::Continue(())
            })?)
        })?;
    }
    Ok(totals.map(AtomicU64::into_inner))
}

/// The counts of one worker, which it adds to those of all when it is done.
struct Counting<'t> {
    vertical: Vertical,
    totals: &'t [AtomicU64; BATCH],
}

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.vertical.flush();
        for (total, &count) in self.totals.iter().zip(&self.vertical.counts) {
            total.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{cases, graphs};
    use crate::algo::oracle::triangles as oracle;
    use proptest::prelude::*;

    fn every() -> ScanStatistics {
        ScanStatistics { per_vertex: true, ..ScanStatistics::default() }
    }

    /// Two vertices that point at each other, and a third that both point at: three edges.
    #[test]
    fn mutual_arcs_are_one_edge() {
        let edges = [(0, 1), (1, 0), (0, 2), (1, 2)];
        let graph = crate::Graph::from_edges(3, &edges, true, None).unwrap();
        let cx = Context::new();
        let every = every().run(&graph, &cx).unwrap();
        assert_eq!(every.per_vertex, Some(vec![3, 3, 3]));
        assert_eq!(ScanStatistics::default().run(&graph, &cx).unwrap().max, 3);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        /// Seen red with arcs in both directions counted as two edges.
        #[test]
        fn equals_the_oracle(sample in graphs(150, 600)) {
            let expected = oracle::scan_statistics(&sample.adjacency());
            let max = expected.iter().copied().max().unwrap_or(0);
            let first = expected.iter().position(|&s| s == max).map(|v| v as VertexId);
            for (graph, cx) in sample.settings() {
                let every = every().run(&graph, &cx).unwrap();
                prop_assert_eq!(every.per_vertex.as_ref(), Some(&expected));
                prop_assert_eq!((every.max, every.vertex), (max, first));
                // By candidates, and by all statistics if one candidate is left.
                for few in [FEW, 0] {
                    let found = largest(&ScanStatistics::default(), &graph, few, &cx).unwrap();
                    prop_assert_eq!((found.max, found.vertex), (max, first));
                    prop_assert!(found.per_vertex.is_none());
                }
                let variant = Variant::Vertex;
                let program = ScanStatistics { variant, ..ScanStatistics::default() };
                match program.run(&graph, &cx) {
                    Ok(found) => prop_assert_eq!((found.max, found.vertex), (max, first)),
                    Err(error) => prop_assert!(graph.directed(), "{error}"),
                }
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
