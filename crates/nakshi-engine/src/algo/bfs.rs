//! Breadth-first search.
//!
//! Direction-optimising: S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing
//! breadth-first search", SC 2012. A bottom-up step first looks at the heads of each
//! unvisited vertex, which are in memory and in a hub-first layout are its largest
//! neighbours; only where neither is in the frontier the list is read, up to the first hit.
//! A step goes top-down or bottom-up, by the bytes that either would read,
//! estimated from the frontier's lists and a sample of the unvisited vertices.
//!
//! State: the level, 4 bytes a vertex, and three bitmaps. Parents are found in a pass of
//! their own over the lists, only when asked for. The variant in program form goes top-down
//! throughout.

use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, Output, Parameter, Variant, algorithm};
use crate::context::Context;
use crate::costs::{ReadCosts, misses};
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::{Graph, Heads};
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::program::block::programs::FrontierBfs;
use crate::program::block::{PerVertex, frontier_needs, run_frontier};
use crate::program::pull::programs::PullLevels;
use crate::program::{ProgramConfig, programs, run_program};
use crate::shared::{share_u32, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::thin::{self, Thin};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

algorithm! {
    /// Breadth-first search along out-edges: levels, and parents if asked for.
    #[derive(Eq)]
    pub struct Bfs = "bfs" {
        /// Vertex to start from.
        pub source: VertexId = 0 => Parameter::VERTEX.required().pulls();
        /// Find parents, too. For each reached vertex that is the in-neighbour one level up whose
        /// id is smallest; it costs a pass over the edges of all reached vertices.
        pub parents: bool = false => Parameter::FLAG;
        /// Edges of a path at most; vertices that are farther away count as unreachable. 0 is no bound.
        pub hops: u32 = 0 => Parameter::INTEGER;
        /// Method that finds the levels; the results are the same.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    citation: "S. Beamer, K. Asanović, D. Patterson, \"Direction-optimizing breadth-first search\", SC 2012";
    columns: &[
        Output::new("level", "uint32", "edges on a shortest path from the source; missing where unreachable"),
        Output::new("parent", "vertex", "the vertex before it on such a path, the one with the smallest id \
            if there are several; missing at the source and where unreachable").when("parents"),
    ];
    summary: &[
        Output::new("reached", "uint64", "vertices that the search reached"),
        Output::new("depth", "uint64", "the largest level"),
    ];
}

/// Levels of a search, in internal order.
#[derive(Debug, Clone)]
pub struct BfsOutput {
    /// Number of edges on a shortest path from the source; meaningful where `reached`.
    pub levels: Vec<u32>,
    /// Vertices that the search reached.
    pub reached: Bitmap,
    /// For each reached vertex except the source its parent; other entries mean nothing.
    pub parents: Option<Vec<VertexId>>,
    /// The vertex at which the search started.
    pub source: VertexId,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// Level of a vertex that is not reached; no path is that long.
const UNREACHED: u32 = programs::UNREACHED;

impl Algorithm for Bfs {
    type Output = BfsOutput;

    fn needs(&self, summary: &Summary) -> Needs {
        // Parents, and ranks of the users' ids while they are found.
        let parents = if self.parents { 8.0 } else { 0.0 };
        if self.variant == Variant::Direct {
            let needs = Needs::new(4.5 + parents, &[Direction::Out, Direction::In]);
            let against = (!self.parents).then_some(Direction::In);
            let (heads, state_bytes_fixed) = (Some(Direction::In), thin::STATE_BYTES);
            return Needs { heads, against, gathers: true, state_bytes_fixed, ..needs };
        }
        if self.variant == Variant::PullProgram {
            return pulling::needs(self, summary, 0.125);
        }
        if self.variant == Variant::Block {
            let mut needs = frontier_needs(&PerVertex(&self.frontier_program()), None, summary);
            needs.state_bytes_per_vertex += 0.125 + parents;
            return needs;
        }
        let mut needs = ProgramConfig::default().needs(&self.vertex_program());
        // What was reached, besides.
        needs.state_bytes_per_vertex += 0.125 + parents;
        needs.directions.extend(self.parents.then_some(Direction::In));
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<BfsOutput> {
        let (mut levels, mut reached, stats) = match self.variant {
            Variant::Direct => self.direct(graph, cx)?,
            Variant::Vertex => self.by_program(graph, cx)?,
            Variant::Block => self.by_blocks(graph, cx)?,
            Variant::PullProgram => {
                self.check_source(graph.num_vertices())?;
                return pulling::run(self, graph, cx);
            }
        };
        self.forget_far(&mut levels, &mut reached);
        let mut output = BfsOutput { levels, reached, parents: None, source: self.source, stats };
        if self.parents {
            let mut log = IterationLog::new(graph);
            output.parents = Some(parents(graph, cx, &output.levels, &[Direction::In])?);
            log.end("parents", graph.num_vertices() as u64);
            output.stats.append(log.finish());
        }
        Ok(output)
    }
}

impl Pulls for Bfs {
    type Program = PullLevels;

    fn program(&self) -> PullLevels {
        PullLevels { source: self.source }
    }

    fn assemble(&self, found: PulledResult<'_, u32>) -> Result<BfsOutput> {
        let reached = reached(&found.values);
        let (levels, source, stats) = (found.values, self.source, found.stats);
        Ok(BfsOutput { levels, reached, parents: None, source, stats })
    }
}

/// The vertices that have a level.
fn reached(levels: &[u32]) -> Bitmap {
    let mut reached = Bitmap::new(levels.len());
    for (word, levels) in reached.words_mut().iter_mut().zip(levels.chunks(64)) {
        let bits = levels.iter().enumerate();
        *word = bits.fold(0, |word, (bit, level)| word | u64::from(*level != UNREACHED) << bit);
    }
    reached
}

impl Bfs {
    fn check_source(&self, vertices: usize) -> Result<()> {
        if self.source as usize >= vertices {
            return Err(Error::UnknownVertex { id: self.source.to_string() });
        }
        Ok(())
    }

    /// The level behind which no vertex counts.
    fn last(&self) -> u32 {
        if self.hops == 0 { UNREACHED } else { self.hops }
    }

    /// Takes back the levels that are too far away; only the direct search stops there by itself.
    fn forget_far(&self, levels: &mut [u32], reached: &mut Bitmap) {
        let last = self.last();
        for (v, level) in levels.iter_mut().enumerate().filter(|(_, level)| **level > last) {
            *level = UNREACHED;
            reached.clear(v);
        }
    }

    fn vertex_program(&self) -> programs::Bfs {
        programs::Bfs { source: self.source }
    }

    fn frontier_program(&self) -> FrontierBfs {
        FrontierBfs { source: self.source }
    }

    /// As [`Self::by_program`], by a program on blocks.
    fn by_blocks(&self, graph: &Graph, cx: &Context) -> Result<(Vec<u32>, Bitmap, RunStats)> {
        let found = run_frontier(graph, &PerVertex(&self.frontier_program()), None, cx)?;
        let reached = reached(&found.values);
        Ok((found.values, reached, found.stats))
    }

    /// Levels, what was reached, and statistics.
    fn by_program(&self, graph: &Graph, cx: &Context) -> Result<(Vec<u32>, Bitmap, RunStats)> {
        let (levels, stats) =
            run_program(graph, &self.vertex_program(), &ProgramConfig::default(), cx)?;
        let reached = reached(&levels);
        Ok((levels, reached, stats))
    }

    /// As [`Self::by_program`], by scans and gathers in both directions.
    fn direct(&self, graph: &Graph, cx: &Context) -> Result<(Vec<u32>, Bitmap, RunStats)> {
        let n = graph.num_vertices();
        let mut levels = zeroed::<u32>(n, "levels")?;
        for_each_block_mut(cx, &mut levels, |_, block| {
            block.fill(UNREACHED);
            Ok(())
        })?;
        let Some(start) = levels.get_mut(self.source as usize) else {
            return Err(Error::UnknownVertex { id: self.source.to_string() });
        };
        *start = 0;
        let mut log = IterationLog::new(graph);
        let mut search = BfsSearch::new(graph, cx, share_u32(&mut levels), self.last())?;
        let mut frontier = VertexSet::new(n);
        frontier.insert(self.source);
        search.visited.set(self.source as usize);
        log.end("heads", 0);
        let mut thin = Thin::new(graph, &[Direction::Out], cx);
        while !frontier.is_empty() && search.level < search.last {
            if let Some(members) = thin.members(&frontier)? {
                frontier = search.thin(&mut thin, members, &mut log)?;
                continue;
            }
            search.level += 1;
            cx.progress().update("bfs", search.level.into(), 0);
            let size = frontier.count() as u64;
            let bottom_up = search.bottom_up_is_cheaper(&frontier)?;
            frontier = if bottom_up {
                search.bottom_up(&frontier)?
            } else {
                search.top_down(&frontier)?
            };
            search.open = search.open.saturating_sub(frontier.count());
            log.end(if bottom_up { "bottom-up" } else { "top-down" }, size);
        }
        let reached = search.visited.into_bitmap();
        Ok((levels, reached, log.finish()))
    }
}

/// Thin levels between two reports of progress.
const PROGRESS: u32 = 1024;

/// A search in progress.
struct BfsSearch<'a> {
    graph: &'a Graph,
    cx: &'a Context,
    levels: &'a [AtomicU32],
    visited: AtomicBitmap,
    heads: Arc<Heads>,
    level: u32,
    /// The level behind which no vertex counts.
    last: u32,
    /// Vertices behind this one have no in-edges.
    end: usize,
    /// Vertices before `end` that are not visited, at most.
    open: usize,
}

impl<'a> BfsSearch<'a> {
    fn new(graph: &'a Graph, cx: &'a Context, levels: &'a [AtomicU32], last: u32) -> Result<Self> {
        let (end, heads) = if graph.selective() {
            (graph.num_vertices(), Arc::default())
        } else {
            (graph.last_list(Direction::In)?, graph.heads(Direction::In, cx)?)
        };
        let visited = AtomicBitmap::new(graph.num_vertices());
        Ok(BfsSearch { graph, cx, levels, visited, heads, level: 0, last, end, open: end })
    }

    /// Compares what both kinds of step would cost, in nanoseconds.
    fn bottom_up_is_cheaper(&self, frontier: &VertexSet) -> Result<bool> {
        if self.graph.selective() {
            return Ok(false);
        }
        let costs = ReadCosts::of(self.graph, Direction::Out)?;
        let top_down = costs.visits(self.graph, Direction::Out, frontier, self.end)?;
        let open = self.open as f64;
        let missed = misses(&self.heads, self.end, frontier, |v| !self.visited.get(v));
        Ok(open * 3.0 + costs.some(open * missed) < top_down)
    }

    /// Goes down from a thin frontier; returns the first that is not thin.
    fn thin(
        &mut self,
        thin: &mut Thin<'_>,
        members: Vec<VertexId>,
        log: &mut IterationLog,
    ) -> Result<VertexSet> {
        let (levels, visited) = (self.levels, &mut self.visited);
        let (mut level, last, known) = (self.level, self.last, members.len() as u64);
        let taken = thin.steps(members, |thin, members, next| {
            if level >= last {
                return Ok(());
            }
            level += 1;
            if level.is_multiple_of(PROGRESS) {
                self.cx.progress().update("bfs", level.into(), 0);
            }
            thin.visit(Direction::Out, members, |_, list| {
                Ok(list.for_each(|u| {
                    if visited.insert(u as usize)
                        && let Some(slot) = levels.get(u as usize)
                    {
                        slot.store(level, Relaxed);
                        next.push(u);
                    }
                })?)
            })
        })?;
        self.level = level;
        let reached = taken.members + taken.frontier.len() as u64 - known;
        // Lossless: a number of vertices.
        self.open = self.open.saturating_sub(reached as usize);
        log.end_steps("top-down", taken.steps, taken.members);
        Ok(VertexSet::of(self.graph.num_vertices(), &taken.frontier))
    }

    /// Visits the unvisited neighbours of the frontier.
    fn top_down(&self, frontier: &VertexSet) -> Result<VertexSet> {
        let next = AtomicBitmap::new(frontier.universe());
        self.graph.gather(
            Direction::Out,
            frontier,
            self.cx,
            |_| (),
            |(), _, list| {
                list.for_each(|u| {
                    if self.visited.set(u as usize) {
                        self.reach(u as usize);
                        next.set(u as usize);
                    }
                })?;
                Ok(())
            },
        )?;
        Ok(next.into())
    }

    #[inline]
    fn reach(&self, v: usize) {
        if let Some(slot) = self.levels.get(v) {
            slot.store(self.level, Relaxed);
        }
    }

    /// Visits the unvisited vertices that have a neighbour in the frontier.
    fn bottom_up(&self, frontier: &VertexSet) -> Result<VertexSet> {
        let next = AtomicBitmap::new(frontier.universe());
        if let Some(lists) = self.graph.decoded(Direction::In) {
            // Lists are as near as their heads.
            map_blocks(self.cx, self.end, |range| {
                for word in range.start / 64..range.end.div_ceil(64) {
                    self.bottom_up_word(word, &next, |v| {
                        lists.neighbors(v).iter().any(|&u| frontier.contains(u))
                    });
                }
                Ok(())
            })?;
            return Ok(next.into());
        }
        let rest = AtomicBitmap::new(frontier.universe());
        map_blocks(self.cx, self.end, |range| {
            for word in range.start / 64..range.end.div_ceil(64) {
                let open = self.bottom_up_word(word, &next, |v| {
                    let heads = self.heads.pairs.get(v as usize);
                    heads.is_some_and(|pair| pair.iter().any(|&u| frontier.contains(u)))
                });
                let more = self.heads.more.words().get(word).copied().unwrap_or(0);
                rest.store_word(word, open & more);
            }
            Ok(())
        })?;
        let rest = VertexSet::from(rest);
        self.graph.gather(
            Direction::In,
            &rest,
            self.cx,
            |_| (),
            |(), v, list| {
                let mut hit = false;
                list.blocks(|block| {
                    hit = block.iter().any(|&u| frontier.contains(u));
                    if hit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
                if hit {
                    self.visited.set(v as usize);
                    self.reach(v as usize);
                    next.set(v as usize);
                }
                Ok(())
            },
        )?;
        Ok(next.into())
    }

    /// Reaches those of 64 vertices that are open and `hit`; returns the others that are open.
    #[inline]
    fn bottom_up_word(
        &self,
        word: usize,
        next: &AtomicBitmap,
        hit: impl Fn(VertexId) -> bool,
    ) -> u64 {
        let visited = self.visited.word(word);
        let base = word * 64;
        let mut open = !visited;
        if base + 64 > self.end {
            open &= (1u64 << (self.end - base)) - 1;
        }
        let mut hits = 0u64;
        let mut left = open;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            let v = base + bit as usize;
            // Lossless: vertices are below 2^32.
            if hit(v as VertexId) {
                hits |= 1 << bit;
                self.reach(v);
            }
        }
        self.visited.store_word(word, visited | hits);
        next.store_word(word, hits);
        open & !hits
    }
}

/// For each reached vertex the neighbour one level up with the smallest user id, by the lists of
/// these directions; a vertex of level 0, and one that is not reached, is its own parent.
pub(super) fn parents(
    graph: &Graph,
    cx: &Context,
    levels: &[u32],
    directions: &[Direction],
) -> Result<Vec<VertexId>> {
    let ranks = graph.id_ranks(cx)?;
    let rank = |v: VertexId| match &ranks {
        Some(ranks) => ranks.get(v as usize).copied().unwrap_or(u32::MAX),
        None => v,
    };
    let mut parents = zeroed::<u32>(levels.len(), "parents")?;
    for_each_block_mut(cx, &mut parents, |start, block| {
        // Internal ids are 32 bits.
        block.iter_mut().zip(start as u32..).for_each(|(parent, v)| *parent = v);
        Ok(())
    })?;
    let shared = share_u32(&mut parents);
    let visit = |(): &mut (), v: VertexId, list: &List<'_>| {
        let (Some(&level), Some(slot)) = (levels.get(v as usize), shared.get(v as usize)) else {
            return Ok(());
        };
        if level == UNREACHED || level == 0 {
            return Ok(());
        }
        let known = Some(slot.load(Relaxed)).filter(|&u| u != v);
        let mut best = known.map(|u| (rank(u), u));
        list.blocks(|block| {
            let mut found = false;
            for &u in block.iter().filter(|&&u| levels.get(u as usize) == Some(&(level - 1))) {
                let candidate = (rank(u), u);
                best = Some(best.map_or(candidate, |b| b.min(candidate)));
                found = true;
            }
            // Without ranks the first one is the smallest.
            if ranks.is_none() && found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if let Some((_, u)) = best {
            slot.store(u, Relaxed);
        }
        Ok(())
    };
    for &direction in directions {
        graph.scan(direction, cx, |_| (), visit)?;
    }
    Ok(parents)
}

impl From<BfsOutput> for Outcome {
    fn from(output: BfsOutput) -> Outcome {
        let reached = |level: &u32| if *level == UNREACHED { 0 } else { *level };
        let depth = output.levels.iter().map(reached).max().unwrap_or(0);
        let mut outcome = Outcome::default()
            .with_summary("reached", output.reached.count())
            .with_summary("depth", depth);
        if let Some(parents) = output.parents {
            let mut valid = output.reached.clone();
            valid.clear(output.source as usize);
            outcome.columns.push(Column::with_valid("parent", Values::Vertex(parents), valid));
        }
        outcome
            .columns
            .insert(0, Column::with_valid("level", Values::U32(output.levels), output.reached));
        outcome.stats = output.stats;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{bfs as oracle, sample};
    use crate::algo::run_named;
    use proptest::prelude::*;

    fn check(sample: &sample::Sample, source: u32) {
        let lists = sample.adjacency();
        let levels = oracle::levels(&lists, source);
        let parents = oracle::parents(&lists, &levels);
        for graph in sample.graphs() {
            for cx in sample::contexts() {
                for variant in [Variant::Direct, Variant::Vertex, Variant::Block] {
                    let config = Bfs { source, parents: true, variant, hops: 0 };
                    let output = config.run(&graph, &cx).unwrap();
                    let reached = |v: usize| output.reached.get(v);
                    let found = output.levels.iter().enumerate();
                    let found: Vec<_> = found.map(|(v, &l)| reached(v).then_some(l)).collect();
                    assert_eq!(found, levels);
                    let known = output.parents.unwrap();
                    for v in (0..sample.n).filter(|&v| reached(v) && v != source as usize) {
                        assert_eq!(Some(known[v]), parents[v]);
                    }
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(100)))]
        #[test]
        fn agrees_with_a_queue(sample in sample::graphs(60, 200), source: prop::sample::Index) {
            check(&sample, source.index(sample.n) as u32);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn stops_after_some_hops(sample in sample::graphs(60, 120), hops in 1..6u32) {
            let within = |level: Option<u32>| level.filter(|level| *level <= hops);
            let expected: Vec<_> =
                oracle::levels(&sample.adjacency(), 0).into_iter().map(within).collect();
            for variant in [Variant::Direct, Variant::Vertex, Variant::Block] {
                sample.compare(&expected, |graph, cx| {
                    let found = Bfs { hops, variant, ..Bfs::default() }.run(graph, cx).unwrap();
                    let level = |v: usize| found.reached.get(v).then(|| found.levels[v]);
                    (0..sample.n).map(level).collect()
                })?;
            }
        }
    }

    #[test]
    fn agrees_on_a_power_law_graph() {
        for sample in sample::power_laws(20_000, 120_000, 7) {
            check(&sample, 3);
        }
    }

    #[test]
    fn a_path_and_an_island() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)], false, None).unwrap();
        let cx = Context::new().with_threads(2);
        let outcome = run_named("bfs", &serde_json::json!({ "source": 1 }), &graph, &cx).unwrap();
        assert_eq!(outcome.summary["reached"], 4);
        assert_eq!(outcome.summary["depth"], 2);
        assert!(run_named("bfs", &serde_json::json!({ "source": 9 }), &graph, &cx).is_err());
        assert!(run_named("bfs", &serde_json::json!({ "sauce": 1 }), &graph, &cx).is_err());
    }
}
