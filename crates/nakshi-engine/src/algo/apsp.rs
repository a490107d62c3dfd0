//! Hop distances from up to 128 sources at once.
//!
//! MS-BFS: M. Then et al., "The more the merrier: efficient multi-source graph traversal",
//! PVLDB 8 (2014). A word per vertex holds a bit per source; one pass over a list moves
//! the searches of all sources along an edge with one operation. Levels with few members
//! push along out-edges; others pull over the lists of the vertices that some source has
//! not reached yet, and stop a list as soon as nothing can be added.
//!
//! State: three words of 8 bytes per vertex up to 64 sources, of 16 beyond; 4 bytes per
//! vertex and source for distances, or 12 for sums. Integers throughout.

use super::sources::sample;
use super::{Algorithm, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::parallel_for;
use crate::stats::{IterationLog, RunStats};
use crate::thin::{self, Thin};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Sources at most: bits of the state.
pub const MAX_SOURCES: usize = 128;

algorithm! {
    /// Distances in edges from up to 128 sources, in one traversal.
    #[derive(Eq)]
    pub struct Apsp = "apsp" {
        /// Vertices to start from. At most 128.
        pub sources: Vec<VertexId> = Vec::new() => Parameter::VERTICES;
        /// Draw this many at random instead.
        pub sample: u32 = 16 => Parameter::INTEGER.at_most(MAX_SOURCES as f64);
        /// Seed of the draw.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Keep the distances from each source. Otherwise each vertex has the mean distance from the
        /// sources that reach it.
        pub distances: bool = true => Parameter::FLAG.off_by("no-distances");
    }
    citation: "M. Then et al., \"The more the merrier: efficient multi-source graph traversal\" (MS-BFS), \
        PVLDB 8 (2014)";
    columns: &[
        Output::new("distance_*", "uint32", "distance from that source; missing where unreachable")
            .when("distances"),
        Output::new("mean_distance", "float64", "mean distance from the sources that reach the vertex")
            .when("not distances"),
    ];
    summary: &[
        Output::new("sources", "uint64", "number of sources"),
        Output::new("mean_distance", "float64", "mean over all pairs that have a path"),
        Output::new("max_distance", "uint64", "the longest distance"),
        Output::new("reached", "list", "vertices that each source reaches"),
        Output::new("eccentricities", "list", "the longest distance from each source"),
        Output::new("source_*", "vertex", "the source of that number"),
    ];
}

/// The vertices that one source reaches, and their distances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Reach {
    /// Vertices reached, the source among them.
    pub reached: u64,
    /// Sum of the distances to them.
    pub sum: u64,
    /// The largest of the distances.
    pub eccentricity: u32,
}

/// Distances in internal order.
#[derive(Debug, Clone, Default)]
pub struct HopDistances {
    /// The sources, in the order given (or by ascending id).
    pub sources: Vec<VertexId>,
    /// The vertices that each source reaches.
    pub reach: Vec<Reach>,
    /// By source, then vertex: the distance, `u32::MAX` if there is none. Empty unless asked
    /// for.
    pub distances: Vec<Vec<u32>>,
    /// By vertex: mean distance from the sources that reach it, NaN if none does. Empty if
    /// the distances themselves were asked for.
    pub means: Vec<f64>,
    /// Statistics of the run.
    pub stats: RunStats,
}

const UNREACHED: u32 = u32::MAX;

impl From<HopDistances> for Outcome {
    fn from(found: HopDistances) -> Self {
        let mut columns = Vec::new();
        for (i, distances) in found.distances.into_iter().enumerate() {
            let valid = bits(distances.iter().map(|&d| d != UNREACHED), distances.len());
            columns.push(Column::with_valid(
                format!("distance_{i}"),
                Values::U32(distances),
                valid,
            ));
        }
        if columns.is_empty() {
            let valid = bits(found.means.iter().map(|m| !m.is_nan()), found.means.len());
            columns.push(Column::with_valid("mean_distance", Values::F64(found.means), valid));
        }
        let named = |(i, &v): (usize, &VertexId)| (format!("source_{i}"), v);
        let summary_vertices = found.sources.iter().enumerate().map(named).collect();
        let pairs: u64 = found.reach.iter().map(|r| r.reached - 1).sum();
        let sum: u64 = found.reach.iter().map(|r| r.sum).sum();
        let mean = if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 };
        let of = |f: fn(&Reach) -> u64| found.reach.iter().map(f).collect::<Vec<u64>>();
        let far = found.reach.iter().map(|r| r.eccentricity).max().unwrap_or(0);
        Outcome { columns, summary_vertices, stats: found.stats, ..Outcome::default() }
            .with_summary("sources", found.sources.len() as u64)
            .with_summary("mean_distance", mean)
            .with_summary("max_distance", far)
            .with_summary("reached", of(|r| r.reached))
            .with_summary("eccentricities", of(|r| r.eccentricity.into()))
    }
}

fn bits(values: impl Iterator<Item = bool>, len: usize) -> Bitmap {
    let mut bits = Bitmap::new(len);
    for (i, _) in values.enumerate().filter(|(_, value)| *value) {
        bits.set(i);
    }
    bits
}

impl Algorithm for Apsp {
    type Output = HopDistances;

    fn needs(&self, _summary: &Summary) -> Needs {
        let count = if self.sources.is_empty() { self.sample as usize } else { self.sources.len() };
        let words = if count <= 64 { 8.0 } else { 16.0 };
        let results = if self.distances { 4.0 * count as f64 } else { 12.0 };
        let needs = Needs::new(3.0 * words + 0.5 + results, &[Direction::Out, Direction::In]);
        let state_bytes_fixed = thin::STATE_BYTES;
        Needs {
            repeats: true,
            gathers: true,
            against: Some(Direction::In),
            state_bytes_fixed,
            ..needs
        }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<HopDistances> {
        let n = graph.num_vertices();
        if let Some(bad) = self.sources.iter().find(|&&s| s as usize >= n) {
            return Err(Error::UnknownVertex { id: bad.to_string() });
        }
        let count = if self.sources.is_empty() { self.sample as usize } else { self.sources.len() };
        if count > MAX_SOURCES {
            let name = if self.sources.is_empty() { "sample" } else { "sources" };
            return Err(Error::parameter(name, format!("{count} sources; at most 128 at once")));
        }
        let sources = if self.sources.is_empty() {
            sample(graph, count, self.seed, cx)?
        } else {
            self.sources.clone()
        };
        let results = Results::new(sources.len(), n, self.distances, cx)?;
        let log = IterationLog::new(graph);
        let stats = if sources.len() <= 64 {
            Traversal::<1>::new(n, &sources).run(graph, &results, log, cx)?
        } else {
            Traversal::<2>::new(n, &sources).run(graph, &results, log, cx)?
        };
        Ok(results.finish(sources, stats))
    }
}

/// The distances that a run keeps.
struct Results {
    distances: Vec<Vec<AtomicU32>>,
    sums: Vec<AtomicU64>,
    counts: Vec<AtomicU32>,
    reach: Vec<[AtomicU64; 3]>,
}

impl Results {
    fn new(sources: usize, n: usize, keep: bool, cx: &Context) -> Result<Self> {
        // Column by column: filling all of them takes a while.
        let column = |_| {
            cx.check()?;
            Ok((0..n).map(|_| AtomicU32::new(UNREACHED)).collect())
        };
        let zeros = if keep { 0 } else { n };
        let distances = (0..if keep { sources } else { 0 }).map(column).collect::<Result<_>>()?;
        Ok(Results {
            distances,
            sums: (0..zeros).map(|_| AtomicU64::new(0)).collect(),
            counts: (0..zeros).map(|_| AtomicU32::new(0)).collect(),
            reach: (0..sources).map(|_| Default::default()).collect(),
        })
    }

    /// `v` is at distance `depth` from each source of `new`.
    fn record<const W: usize>(&self, v: usize, new: [u64; W], depth: u32, seen: &mut [u64]) {
        for (w, mut word) in new.into_iter().enumerate() {
            while word != 0 {
                let source = 64 * w + word.trailing_zeros() as usize;
                word &= word - 1;
                if let Some(count) = seen.get_mut(source) {
                    *count += 1;
                }
                if let Some(cell) = self.distances.get(source).and_then(|d| d.get(v)) {
                    cell.store(depth, Ordering::Relaxed);
                }
            }
        }
        if let (Some(sum), Some(count)) = (self.sums.get(v), self.counts.get(v)) {
            let found: u32 = new.iter().map(|w| w.count_ones()).sum();
            sum.fetch_add(u64::from(found) * u64::from(depth), Ordering::Relaxed);
            count.fetch_add(found, Ordering::Relaxed);
        }
    }

    /// Adds what a worker has seen at `depth`: vertices by source.
    fn reached(&self, seen: &[u64], depth: u32) {
        for ([reached, sum, far], &count) in self.reach.iter().zip(seen) {
            if count > 0 {
                reached.fetch_add(count, Ordering::Relaxed);
                sum.fetch_add(count * u64::from(depth), Ordering::Relaxed);
                far.fetch_max(depth.into(), Ordering::Relaxed);
            }
        }
    }

    fn finish(self, sources: Vec<VertexId>, stats: RunStats) -> HopDistances {
        let plain = |cells: Vec<AtomicU32>| cells.into_iter().map(AtomicU32::into_inner).collect();
        let mean = |(sum, count): (AtomicU64, AtomicU32)| {
            sum.into_inner() as f64 / f64::from(count.into_inner())
        };
        let reach = |[reached, sum, far]: [AtomicU64; 3]| Reach {
            reached: reached.into_inner(),
            sum: sum.into_inner(),
            // A distance in hops is below the number of vertices, which has 32 bits.
            eccentricity: far.into_inner() as u32,
        };
        HopDistances {
            sources,
            reach: self.reach.into_iter().map(reach).collect(),
            distances: self.distances.into_iter().map(plain).collect(),
            means: self.sums.into_iter().zip(self.counts).map(mean).collect(),
            stats,
        }
    }
}

/// `W` words of sources per vertex.
struct Traversal<const W: usize> {
    /// Sources that have reached the vertex.
    seen: Vec<AtomicU64>,
    /// Sources that reached the vertex in the last level.
    now: Vec<AtomicU64>,
    /// Sources that reach the vertex in this level.
    next: Vec<AtomicU64>,
    full: [u64; W],
    frontier: VertexSet,
}

#[inline]
fn load<const W: usize>(cells: &[AtomicU64], v: usize) -> [u64; W] {
    std::array::from_fn(|w| cells.get(W * v + w).map_or(0, |c| c.load(Ordering::Relaxed)))
}

#[inline]
fn store<const W: usize>(cells: &[AtomicU64], v: usize, words: [u64; W]) {
    for (w, word) in words.into_iter().enumerate() {
        if let Some(cell) = cells.get(W * v + w) {
            cell.store(word, Ordering::Relaxed);
        }
    }
}

impl<const W: usize> Traversal<W> {
    fn new(n: usize, sources: &[VertexId]) -> Self {
        let zeros = || (0..W * n).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let (seen, now, next) = (zeros(), zeros(), zeros());
        let mut full = [0u64; W];
        let mut frontier = VertexSet::new(n);
        for (i, &source) in sources.iter().enumerate() {
            let (w, bit) = (i / 64, 1u64 << (i % 64));
            if let Some(word) = full.get_mut(w) {
                *word |= bit;
            }
            for cells in [&seen, &now] {
                if let Some(cell) = cells.get(W * source as usize + w) {
                    cell.fetch_or(bit, Ordering::Relaxed);
                }
            }
            frontier.insert(source);
        }
        Traversal { seen, now, next, full, frontier }
    }

    fn run(
        mut self,
        graph: &Graph,
        results: &Results,
        mut log: IterationLog,
        cx: &Context,
    ) -> Result<RunStats> {
        let n = graph.num_vertices();
        let count = results.reach.len();
        let mut seen = vec![0; count];
        for v in self.frontier.iter() {
            results.record(v as usize, load::<W>(&self.now, v as usize), 0, &mut seen);
        }
        results.reached(&seen, 0);
        let mut depth = 0;
        let mut thin = Thin::new(graph, &[Direction::Out], cx);
        while !self.frontier.is_empty() {
            if let Some(members) = thin.members(&self.frontier)? {
                depth = self.thin(&mut thin, members, (results, depth), &mut log)?;
                continue;
            }
            depth += 1;
            let open = self.open(cx)?;
            let touched = if graph.selective() || self.frontier.count() * 16 < open.count() {
                self.push(graph, cx)?
            } else {
                self.pull(graph, &open, cx)?
            };
            log.end("traverse", self.frontier.count() as u64);
            cx.progress().update("levels", depth.into(), 0);
            for v in self.frontier.iter() {
                store(&self.now, v as usize, [0; W]);
            }
            self.settle(touched, n, depth, results, cx)?;
        }
        Ok(log.finish())
    }

    /// Levels from a thin one on; returns the number of the last.
    fn thin(
        &mut self,
        thin: &mut Thin<'_>,
        members: Vec<VertexId>,
        (results, mut depth): (&Results, u32),
        log: &mut IterationLog,
    ) -> Result<u32> {
        let mut counts = vec![0u64; results.reach.len()];
        let taken = thin.steps(members, |thin, members, next| {
            depth += 1;
            thin.visit(Direction::Out, members, |v, list| {
                let now = load::<W>(&self.now, v as usize);
                Ok(list.for_each(|u| {
                    let (u, seen) = (u as usize, load::<W>(&self.seen, u as usize));
                    let new: [u64; W] = std::array::from_fn(|w| now[w] & !seen[w]);
                    if new != [0; W] {
                        let old = load::<W>(&self.next, u);
                        if old == [0; W] {
                            next.push(u as VertexId);
                        }
                        store(&self.next, u, std::array::from_fn::<_, W, _>(|w| old[w] | new[w]));
                    }
                })?)
            })?;
            for &v in members {
                store(&self.now, v as usize, [0; W]);
            }
            next.iter().for_each(|&u| self.advance(u as usize, depth, results, &mut counts));
            results.reached(&counts, depth);
            counts.fill(0);
            Ok(())
        })?;
        log.end_steps("traverse", taken.steps, taken.members);
        self.frontier = VertexSet::of(self.frontier.universe(), &taken.frontier);
        Ok(depth)
    }

    /// Makes what `v` got in this level what it gives in the next.
    fn advance(&self, v: usize, depth: u32, results: &Results, counts: &mut [u64]) {
        let new = load::<W>(&self.next, v);
        let seen = load::<W>(&self.seen, v);
        store(&self.seen, v, std::array::from_fn::<_, W, _>(|w| seen[w] | new[w]));
        store(&self.now, v, new);
        store(&self.next, v, [0; W]);
        results.record(v, new, depth, counts);
    }

    /// Vertices that some source has not reached.
    fn open(&self, cx: &Context) -> Result<VertexSet> {
        let n = self.frontier.universe();
        let open = AtomicBitmap::new(n);
        parallel_for(cx, n, |range| {
            range.filter(|&v| load::<W>(&self.seen, v) != self.full).for_each(|v| {
                open.set(v);
            });
            Ok(())
        })?;
        Ok(open.into())
    }

    /// Members of the frontier give their sources to their out-neighbours.
    fn push(&self, graph: &Graph, cx: &Context) -> Result<VertexSet> {
        let touched = AtomicBitmap::new(graph.num_vertices());
        graph.gather(
            Direction::Out,
            &self.frontier,
            cx,
            |_| (),
            |(), v, list| {
                let now = load::<W>(&self.now, v as usize);
                Ok(list.for_each(|u| {
                    let seen = load::<W>(&self.seen, u as usize);
                    for (w, (now, seen)) in now.into_iter().zip(seen).enumerate() {
                        if now & !seen != 0
                            && let Some(cell) = self.next.get(W * u as usize + w)
                        {
                            cell.fetch_or(now & !seen, Ordering::Relaxed);
                            touched.set(u as usize);
                        }
                    }
                })?)
            },
        )?;
        Ok(touched.into())
    }

    /// Vertices of `open` take what their in-neighbours have.
    fn pull(&self, graph: &Graph, open: &VertexSet, cx: &Context) -> Result<VertexSet> {
        let touched = AtomicBitmap::new(graph.num_vertices());
        graph.gather(
            Direction::In,
            open,
            cx,
            |_| (),
            |(), v, list| {
                let seen = load::<W>(&self.seen, v as usize);
                let missing: [u64; W] = std::array::from_fn(|w| self.full[w] & !seen[w]);
                let mut new = [0u64; W];
                list.blocks(|block| {
                    for &u in block {
                        let now = load::<W>(&self.now, u as usize);
                        new.iter_mut().zip(now).for_each(|(new, now)| *new |= now);
                    }
                    let all =
                        new.iter().zip(&missing).all(|(new, missing)| new & missing == *missing);
                    if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                let new: [u64; W] = std::array::from_fn(|w| new[w] & missing[w]);
                if new != [0; W] {
                    store(&self.next, v as usize, new);
                    touched.set(v as usize);
                }
                Ok(())
            },
        )?;
        Ok(touched.into())
    }

    /// Makes what was found the new frontier.
    fn settle(
        &mut self,
        touched: VertexSet,
        n: usize,
        depth: u32,
        results: &Results,
        cx: &Context,
    ) -> Result<()> {
        crate::parallel::parallel_for(cx, n, |block| {
            let mut counts = vec![0u64; results.reach.len()];
            for v in touched.bits().iter_in(block.start, block.end) {
                self.advance(v, depth, results, &mut counts);
            }
            results.reached(&counts, depth);
            Ok(())
        })?;
        self.frontier = touched;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::apsp as oracle;
    use crate::algo::oracle::sample::{cases, graphs};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(sample in graphs(130, 300), count in 1usize..=128, shift: u32) {
            let expected = oracle::all_pairs(&sample.adjacency());
            let n = sample.n as u32;
            let sources: Vec<u32> = (0..count as u32).map(|i| (i + shift % n) % n).collect();
            for (graph, cx) in sample.settings() {
                let config = Apsp { sources: sources.clone(), ..Apsp::default() };
                let found = config.run(&graph, &cx).unwrap();
                let means = Apsp { distances: false, ..config }.run(&graph, &cx).unwrap();
                prop_assert_eq!(&found.reach, &means.reach);
                for (i, &s) in sources.iter().enumerate() {
                    let row = &expected[s as usize];
                    let distances: Vec<u32> = row.iter().map(|d| d.unwrap_or(UNREACHED)).collect();
                    prop_assert_eq!(&found.distances[i], &distances);
                    let finite = || row.iter().flatten();
                    prop_assert_eq!(found.reach[i].reached, finite().count() as u64);
                    prop_assert_eq!(Some(&found.reach[i].eccentricity), finite().max());
                }
                for (v, &found) in means.means.iter().enumerate() {
                    let near: Vec<u32> =
                        sources.iter().filter_map(|&s| expected[s as usize][v]).collect();
                    let mean = near.iter().sum::<u32>() as f64 / near.len() as f64;
                    prop_assert!(found == mean || (mean.is_nan() && found.is_nan()));
                }
            }
        }
    }

    #[test]
    fn more_than_128_sources_are_refused() {
        let graph = Graph::from_edges(200, &[(0, 1)], false, None).unwrap();
        let config = Apsp { sample: 129, ..Apsp::default() };
        let result = config.run(&graph, &Context::new());
        assert!(matches!(result, Err(Error::Parameter { name, .. }) if name == "sample"));
    }
}
