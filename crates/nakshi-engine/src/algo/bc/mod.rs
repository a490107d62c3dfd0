//! Betweenness centrality.
//!
//! U. Brandes, "A faster algorithm for betweenness centrality", J. Math. Sociology 25
//! (2001): from each source a breadth-first search counts shortest paths, and
//! dependencies flow back level by level. Both phases pull: a vertex sums over its own
//! list, in list order, what its neighbours one level away hold. So there are no atomic
//! additions, and the result is the same to the last bit for any number of threads.
//! A step from a level with few edges first marks the vertices that these reach, and only those read
//! their lists. A thin level hands its counts on along its own lists, in the same order of additions.
//!
//! State per vertex: its place in the order of visits (4 bytes and a bit), the number of shortest
//! paths as a double, which on the way back is replaced by (1 + dependency) / paths, all that the
//! level above needs, and the score as a double; five bits for sets.
//!
//! * [`levels`]: the vertices of a search in the order of visits;
//! * [`pairs`]: scores within an error that is asked for, by paths between random pairs.
//!
//! Scores follow NetworkX: ends do not count, and an undirected path counts once, not
//! once in each direction. Path counts are exact up to 2^53; beyond, scores carry the
//! rounding of doubles.

use super::reach::reach;
use super::sources::sample;
use super::{Algorithm, Declared, Output, Parameter, algorithm, choices};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::for_each_block_mut;
use crate::program::block::programs::{BlockDependencies, BlockPaths};
use crate::program::block::{block_needs, run_blocks};
use crate::shared::{SharedF64, share_f64};
use crate::stats::{IterationLog, RunStats};
use crate::thin::{self, Thin};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::ops::Range;

mod levels;
mod pairs;
use levels::Levels;
use pairs::{Counted, Within};

algorithm! {
    /// Betweenness centrality (Brandes) by unweighted shortest paths.
    ///
    /// With neither sources nor a sample nor an error every vertex is a source: exact, and expensive.
    pub struct Bc = "bc" {
        /// Vertices to start from. Scores are then the sum over the shortest paths from these only.
        pub sources: Vec<VertexId> = Vec::new() => Parameter::VERTICES;
        /// Draw this many at random instead. The sum is then scaled by vertices over sources, so that it
        /// estimates the one over all; 0 draws none.
        pub sample: u32 = 0 => Parameter::INTEGER;
        /// Draw shortest paths between pairs of vertices instead, as many as bring all normalised scores
        /// within this of their exact values, with probability 1 - delta. 0 draws none.
        pub epsilon: f64 = 0.0 => Parameter::NUMBER.at_least(0.0).below(1.0);
        /// Probability with which the error of any score may be larger than epsilon.
        pub delta: f64 = 0.1 => Parameter::NUMBER.above(0.0).below(1.0);
        /// Seed of the draw. The paths also depend on the layout of the store.
        pub seed: u64 = 0 => Parameter::INTEGER;
        /// Divide by the number of pairs of other vertices.
        pub normalized: bool = false => Parameter::FLAG;
        /// Method that finds the scores; they are the same, but for the rounding of doubles.
        pub variant: Variant = Variant::Direct => Parameter::choice(Variant::CHOICES);
    }
    method: "betweenness";
    citation: "U. Brandes, \"A faster algorithm for betweenness centrality\", J. Math. Sociology 25 (2001); \
        M. Riondato, E. Kornaropoulos, \"Fast approximation of betweenness centrality through sampling\", \
        Data Min. Knowl. Discov. 30 (2016)";
    columns: &[
        Output::new("betweenness", "float64", "the score; halved in an undirected graph, where each pair is \
            found from both of its ends"),
    ];
    summary: &[
        Output::new("sources", "uint64", "sources that were searched from, or pairs of vertices that were drawn"),
        Output::new("scale", "float64", "factor by which the sum over the sources was multiplied"),
        Output::new("depth", "uint64", "levels of the deepest search, or vertices of the longest path that was drawn"),
        Output::new("max", "float64", "the largest score"),
    ];
    raises: "more than one of sources, sample and epsilon, or epsilon with another variant.";
}

choices! {
    /// Methods of betweenness centrality.
    pub enum Variant {
        /// scans and gathers, with what is known about the algorithm
        Direct = "direct",
        /// two programs on blocks of vertices, one for each way
        Block = "block",
    }
}

/// Scores in internal order.
#[derive(Debug, Clone, Default)]
pub struct Betweenness {
    /// Score of each vertex.
    pub scores: Vec<f64>,
    /// Sources that were searched from.
    pub sources: u64,
    /// Factor by which the sum over the sources was multiplied.
    pub scale: f64,
    /// Levels of the deepest search.
    pub depth: u64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Betweenness> for Outcome {
    fn from(found: Betweenness) -> Self {
        let max = found.scores.iter().copied().fold(0.0, f64::max);
        Outcome::of(vec![Column::new("betweenness", Values::F64(found.scores))], found.stats)
            .with_summary("sources", found.sources)
            .with_summary("scale", found.scale)
            .with_summary("depth", found.depth)
            .with_summary("max", max)
    }
}

impl Algorithm for Bc {
    type Output = Betweenness;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.epsilon > 0.0 {
            return pairs::needs(summary);
        }
        if self.variant == Variant::Block {
            let needs = block_needs(&BlockPaths { source: 0 }, None, summary);
            // The way back keeps levels and paths; and there are the scores.
            let directions = vec![Direction::In, Direction::Out];
            return Needs { state_bytes_per_vertex: 12.0 + 16.0 + 8.0, directions, ..needs };
        }
        // Order of visits, paths, score, and six bitmaps.
        let needs = Needs::new(4.0 + 8.0 + 8.0 + 0.75, &[Direction::Out, Direction::In]);
        let state_bytes_fixed = thin::STATE_BYTES;
        let repeats = self.sources.len() != 1;
        Needs { repeats, gathers: true, against: Some(Direction::In), state_bytes_fixed, ..needs }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Betweenness> {
        self.check()?;
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        if let Some(bad) = self.sources.iter().find(|&&s| s as usize >= n) {
            return Err(Error::UnknownVertex { id: bad.to_string() });
        }
        if self.epsilon > 0.0 {
            return self.within_error(graph, log, cx);
        }
        let drawn = self.sources.is_empty() && self.sample > 0;
        let sources = match drawn {
            true => sample(graph, self.sample as usize, self.seed, cx)?,
            false => self.sources.clone(),
        };
        let count = if sources.is_empty() { n } else { sources.len() };
        let mut state = match self.variant {
            Variant::Direct => Some(BcState::new(n, count == 1)),
            Variant::Block => None,
        };
        let (mut scores, mut depth) = (vec![0.0; n], 0);
        for i in 0..count {
            // Without a list of sources all vertices are; there are at most 2^32.
            let source = sources.get(i).copied().unwrap_or(i as VertexId);
            let levels = match &mut state {
                Some(state) => {
                    let levels = state.search(graph, source, &mut log, cx)?;
                    state.flow_back(graph, &mut scores, &mut log, cx)?;
                    levels
                }
                None => by_blocks(graph, source, &mut scores, &mut log, cx)?,
            };
            depth = depth.max(levels);
            cx.progress().update("sources", i as u64 + 1, count as u64);
        }
        let scale = self.scale(graph, if drawn { count } else { n });
        if scale != 1.0 {
            scores.iter_mut().for_each(|s| *s *= scale);
        }
        let (sources, stats) = (count as u64, log.finish());
        Ok(Betweenness { scores, sources, scale, depth: depth as u64, stats })
    }
}

impl Bc {
    /// Scores by paths between pairs.
    fn within_error(
        &self,
        graph: &Graph,
        mut log: IterationLog<'_>,
        cx: &Context,
    ) -> Result<Betweenness> {
        if self.sample > 0 || !self.sources.is_empty() {
            let message = "it chooses the number of draws; leave out sources and sample";
            return Err(Error::parameter("epsilon", message));
        }
        if self.variant != Variant::Direct {
            let message = "it draws paths, which no program does; leave out variant";
            return Err(Error::parameter("epsilon", message));
        }
        let Bc { epsilon, delta, seed, .. } = *self;
        let within = Within { epsilon, delta, seed };
        let Counted { counts, draws, longest } = pairs::run(within, graph, &mut log, cx)?;
        let n = graph.num_vertices() as f64;
        // A draw stands for its share of all ordered pairs.
        let scale = self.scale(graph, 0) * n * (n - 1.0) / draws.max(1) as f64;
        let scores = counts.into_iter().map(|count| scale * count as f64).collect();
        let depth = u64::from(longest) + 1;
        Ok(Betweenness { scores, sources: draws, scale, depth, stats: log.finish() })
    }

    /// Factor for sums over `sources` drawn (or over all vertices) of a graph.
    fn scale(&self, graph: &Graph, sources: usize) -> f64 {
        let n = graph.num_vertices() as f64;
        let mut scale = if graph.directed() { 1.0 } else { 0.5 };
        if sources > 0 {
            scale *= n / sources as f64;
        }
        if self.normalized && n > 2.0 {
            scale *= if graph.directed() { 1.0 } else { 2.0 } / ((n - 1.0) * (n - 2.0));
        }
        scale
    }
}

/// Adds the dependencies of a source to the scores by programs on blocks; returns the number of levels.
fn by_blocks(
    graph: &Graph,
    source: VertexId,
    scores: &mut [f64],
    log: &mut IterationLog,
    cx: &Context,
) -> Result<usize> {
    let found = run_blocks(graph, &BlockPaths { source }, None, cx)?;
    log.end("search", found.steps.into());
    let (levels, paths) = found.values;
    // The last step finds nothing.
    let depth = found.steps.saturating_sub(1);
    let program = BlockDependencies { levels, paths, depth };
    let found = run_blocks(graph, &program, None, cx)?;
    log.end("flow back", found.steps.into());
    for (score, dependency) in scores.iter_mut().zip(found.values) {
        *score += dependency;
    }
    Ok(depth as usize + 1)
}

struct BcState {
    levels: Levels,
    /// Numbers of the levels that were not thin, and their edges; along selected lists alone none are
    /// counted.
    edges: Vec<(usize, u64)>,
    /// Shortest paths from the source; on the way back (1 + dependency) / paths.
    paths: Vec<f64>,
    /// True if this source is the only one, so that the progress is that of its search.
    alone: bool,
}

/// A search on its way down.
struct Descent {
    visited: Bitmap,
    frontier: VertexSet,
    /// Edges of the frontier.
    near: u64,
    /// Edges of vertices that are not visited.
    left: u64,
}

impl BcState {
    fn new(n: usize, alone: bool) -> Self {
        BcState { levels: Levels::new(n), edges: Vec::new(), paths: vec![0.0; n], alone }
    }

    /// Levels and path counts from `source`; returns the number of levels.
    fn search(
        &mut self,
        graph: &Graph,
        source: VertexId,
        log: &mut IterationLog,
        cx: &Context,
    ) -> Result<usize> {
        let n = graph.num_vertices();
        self.levels.clear();
        self.edges.clear();
        for_each_block_mut(cx, &mut self.paths, |_, part| {
            part.fill(0.0);
            Ok(())
        })?;
        if let Some(one) = self.paths.get_mut(source as usize) {
            *one = 1.0;
        }
        let mut at = Descent {
            visited: Bitmap::new(n),
            frontier: VertexSet::of(n, &[source]),
            near: 1,
            left: graph.num_arcs(),
        };
        at.visited.set(source as usize);
        let mut thin = Thin::new(graph, &[Direction::Out], cx);
        while !at.frontier.is_empty() {
            if self.alone {
                cx.progress().update("search", graph.num_arcs() - at.left, graph.num_arcs());
            }
            match thin.members(&at.frontier)? {
                Some(members) => self.descend_thin(graph, &mut thin, members, &mut at, log)?,
                None => self.descend(graph, &mut at, log, cx)?,
            }
        }
        Ok(self.levels.depth())
    }

    /// One level of a search.
    fn descend(
        &mut self,
        graph: &Graph,
        at: &mut Descent,
        log: &mut IterationLog,
        cx: &Context,
    ) -> Result<()> {
        let Descent { visited, frontier, near, left } = at;
        self.edges.push((self.levels.depth(), *near));
        self.levels.push(frontier.iter());
        let level = Level { members: frontier, values: share_f64(&mut self.paths) };
        let (next, edges) = if graph.selective() {
            (level.hand_on_paths(graph, visited, cx)?, 0)
        } else {
            // Candidates: what the frontier reaches, or all that is left, by their edges.
            let candidates = if is_small(*near, *left) {
                reach(graph, &[Direction::Out], frontier, visited, cx)?
            } else {
                visited.complement().into()
            };
            level.count_paths(graph, &candidates, cx)?
        };
        log.end("search", frontier.count() as u64);
        visited.unite(next.bits());
        (*near, *left) = (edges, left.saturating_sub(edges));
        *frontier = next;
        Ok(())
    }

    /// Levels from a thin one on.
    fn descend_thin(
        &mut self,
        graph: &Graph,
        thin: &mut Thin<'_>,
        members: Vec<VertexId>,
        at: &mut Descent,
        log: &mut IterationLog,
    ) -> Result<()> {
        let BcState { levels, paths, .. } = self;
        let Descent { visited, left, .. } = at;
        let taken = thin.steps(members, |thin, members, next| {
            levels.push(members.iter().copied());
            thin.visit_in_order(Direction::Out, members, |v, list| {
                let own = paths.get(v as usize).copied().unwrap_or(0.0);
                *left = left.saturating_sub(list.len() as u64);
                for &u in list.iter().filter(|&&u| !visited.get(u as usize)) {
                    if let Some(paths) = paths.get_mut(u as usize) {
                        if *paths == 0.0 {
                            next.push(u);
                        }
                        *paths += own;
                    }
                }
            })?;
            next.iter().for_each(|&u| visited.set(u as usize));
            Ok(())
        })?;
        log.end_steps("search", taken.steps, taken.members);
        at.near = bytes(graph, &taken.frontier)?;
        at.frontier = VertexSet::of(graph.num_vertices(), &taken.frontier);
        Ok(())
    }

    /// Adds the dependencies on each vertex to its score, from the last level up.
    fn flow_back(
        &mut self,
        graph: &Graph,
        scores: &mut [f64],
        log: &mut IterationLog,
        cx: &Context,
    ) -> Result<()> {
        let n = graph.num_vertices();
        let mut number = self.levels.depth();
        let Some(mut last) = self.levels.pop() else { return Ok(()) };
        let mut thin = Thin::new(graph, &[Direction::Out], cx);
        let mut below = VertexSet::of(n, self.levels.members(&last));
        let mut above = VertexSet::new(n);
        self.end_paths(below.bits(), cx)?;
        let (mut steps, mut visited) = (0, 0);
        number -= 1;
        // Not level 0: paths that start at the source do not lead through it.
        while number > 1 {
            number -= 1;
            let Some(place) = self.levels.pop() else { break };
            let members = self.levels.members(&place);
            if thin.takes(members)? {
                let level = Level { members: &below, values: share_f64(&mut self.paths) };
                level.depend_thin(&mut thin, members, share_f64(scores))?;
                steps += 1;
                visited += members.len() as u64;
            } else {
                log.end_steps("flow back", steps, visited);
                (steps, visited) = (0, 0);
                members.iter().for_each(|&v| _ = above.insert(v));
                self.depend(graph, (number, &last), (&below, &above), scores, cx)?;
                log.end("flow back", above.count() as u64);
                self.levels.members(&place).iter().for_each(|&v| above.remove(v));
            }
            self.levels.members(&last).iter().for_each(|&v| below.remove(v));
            self.levels.members(&place).iter().for_each(|&v| _ = below.insert(v));
            last = place;
        }
        log.end_steps("flow back", steps, visited);
        Ok(())
    }

    /// Adds the dependencies on the members of level `number`, from those `below`, whose place is `last`.
    fn depend(
        &mut self,
        graph: &Graph,
        (number, last): (usize, &Range<usize>),
        (below, members): (&VertexSet, &VertexSet),
        scores: &mut [f64],
        cx: &Context,
    ) -> Result<()> {
        let near = match self.edges_of(number + 1) {
            Some(edges) => edges,
            None => bytes(graph, self.levels.members(last))?,
        };
        let far = self.edges_of(number).unwrap_or(0);
        let marked;
        let above = if !graph.selective() && is_small(near, far) {
            let mut others = members.bits().complement();
            marked = reach(graph, &[Direction::In], below, &others, cx)?;
            others.unite(marked.bits());
            self.end_paths(&others.complement(), cx)?;
            &marked
        } else {
            members
        };
        let level = Level { members: below, values: share_f64(&mut self.paths) };
        level.depend(graph, above, share_f64(scores), cx)
    }

    /// Edges of a level, if they were counted; forgets those of the levels below it.
    fn edges_of(&mut self, number: usize) -> Option<u64> {
        while self.edges.pop_if(|(level, _)| *level > number).is_some() {}
        self.edges.last().filter(|(level, _)| *level == number).map(|(_, edges)| *edges)
    }

    /// Prepares the way back for vertices on which no dependency rests: (1 + 0) / paths.
    fn end_paths(&mut self, ends: &Bitmap, cx: &Context) -> Result<()> {
        for_each_block_mut(cx, &mut self.paths, |start, part| {
            for v in ends.iter_in(start, start + part.len()) {
                if let Some(paths) = part.get_mut(v - start) {
                    *paths = 1.0 / *paths;
                }
            }
            Ok(())
        })
    }
}

/// Bytes of the lists of some vertices, which stand for their edges where these are not counted.
fn bytes(graph: &Graph, members: &[VertexId]) -> Result<u64> {
    members.iter().map(|&v| graph.list_bytes(Direction::Out, v)).sum()
}

/// Returns true if marking what `near` edges reach is cheap beside reading `far` edges.
fn is_small(near: u64, far: u64) -> bool {
    near < far / 8
}

/// One level and what its members hold.
struct Level<'a> {
    members: &'a VertexSet,
    values: &'a [SharedF64],
}

impl Level<'_> {
    /// Sum of the values of the members in `list`, in list order.
    #[inline]
    fn sum(&self, list: &List<'_>) -> Result<f64> {
        let mut sum = 0.0;
        list.for_each(|u| {
            if self.members.contains(u) {
                sum += self.values.get(u as usize).map_or(0.0, SharedF64::get);
            }
        })?;
        Ok(sum)
    }

    /// The `candidates` next to this level, with their path counts, and their edges.
    fn count_paths(
        &self,
        graph: &Graph,
        candidates: &VertexSet,
        cx: &Context,
    ) -> Result<(VertexSet, u64)> {
        let next = AtomicBitmap::new(graph.num_vertices());
        let edges = graph.gather(
            Direction::In,
            candidates,
            cx,
            |_| 0u64,
            |edges, v, list| {
                let paths = self.sum(list)?;
                if paths > 0.0
                    && let Some(slot) = self.values.get(v as usize)
                {
                    slot.set(paths);
                    next.set(v as usize);
                    *edges += list.degree();
                }
                Ok(())
            },
        )?;
        Ok((next.into(), edges.into_iter().sum()))
    }

    /// The vertices next to this level, with their path counts, found along its lists alone.
    /// Counts above 2^53 are rounded in the order of the schedule.
    fn hand_on_paths(&self, graph: &Graph, visited: &Bitmap, cx: &Context) -> Result<VertexSet> {
        let next = AtomicBitmap::new(graph.num_vertices());
        graph.gather(
            Direction::Out,
            self.members,
            cx,
            |_| (),
            |(), v, list| {
                let paths = self.values.get(v as usize).map_or(0.0, SharedF64::get);
                Ok(list.for_each(|u| {
                    if !visited.get(u as usize)
                        && let Some(slot) = self.values.get(u as usize)
                    {
                        slot.add(paths);
                        next.set(u as usize);
                    }
                })?)
            },
        )?;
        Ok(next.into())
    }

    /// Dependencies of `above`, the level before this one.
    fn depend(
        &self,
        graph: &Graph,
        above: &VertexSet,
        scores: &[SharedF64],
        cx: &Context,
    ) -> Result<()> {
        graph.gather(
            Direction::Out,
            above,
            cx,
            |_| (),
            |(), v, list| self.depend_one(v, list, scores),
        )?;
        Ok(())
    }

    /// Dependencies of the level before this one, if it is thin.
    fn depend_thin(
        &self,
        thin: &mut Thin<'_>,
        above: &[VertexId],
        scores: &[SharedF64],
    ) -> Result<()> {
        thin.visit(Direction::Out, above, |v, list| self.depend_one(v, list, scores))
    }

    /// Dependency of a vertex of the level before this one.
    fn depend_one(&self, v: VertexId, list: &List<'_>, scores: &[SharedF64]) -> Result<()> {
        let share = self.sum(list)?;
        let slots = (self.values.get(v as usize), scores.get(v as usize));
        if let (Some(value), Some(score)) = slots {
            let paths = value.get();
            let dependency = paths * share;
            score.set(score.get() + dependency);
            value.set((1.0 + dependency) / paths);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::bc as oracle;
    use crate::algo::oracle::sample::{Sample, cases, graphs};
    use proptest::prelude::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= 1e-9 * (1.0 + y.abs()))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(30)))]
        #[test]
        fn equals_the_oracle(sample in graphs(30, 120), some: u32, normalized: bool) {
            let n = sample.n as u32;
            let all: Vec<u32> = (0..n).collect();
            let half = if sample.directed { 1.0 } else { 0.5 };
            let norm = if normalized && n > 2 {
                f64::from((n - 1) * (n - 2)) * half
            } else {
                1.0
            };
            for sources in [vec![], vec![some % n], vec![some % n, (some / 7) % n]] {
                let from = if sources.is_empty() { &all } else { &sources };
                let mut expected = oracle::betweenness(&sample.adjacency(), from);
                expected.iter_mut().for_each(|s| *s *= half / norm);
                let config = Bc { sources: sources.clone(), normalized, ..Bc::default() };
                let run = |(graph, cx): &_| config.run(graph, cx).unwrap().scores;
                let results: Vec<_> = sample.settings().iter().map(run).collect();
                prop_assert!(close(&results[0], &expected));
                // The same to the last bit in every mode, for any number of threads.
                prop_assert!(results.iter().all(|scores| *scores == results[0]));
                let config = Bc { variant: Variant::Block, ..config.clone() };
                for graph in [sample.graph(), sample.graph_decoded(), sample.graph_on_ssd()] {
                    let cx = Context::new().with_threads(2);
                    prop_assert!(close(&config.run(&graph, &cx).unwrap().scores, &expected));
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(10)))]
        #[test]
        fn keeps_to_the_error(sample in graphs(60, 150), seed in 0u64..100) {
            let exact = Bc { normalized: true, ..Bc::default() };
            let near = Bc { epsilon: 0.05, delta: 1e-6, seed, ..exact.clone() };
            let settings = sample.settings();
            let (graph, cx) = &settings[0];
            let exact = exact.run(graph, cx).unwrap();
            let first = near.run(graph, cx).unwrap();
            for (a, b) in first.scores.iter().zip(&exact.scores) {
                prop_assert!((a - b).abs() <= 0.05, "{} {}", a, b);
            }
            // The same in every mode, for any number of threads.
            for (graph, cx) in &settings {
                let found = near.run(graph, cx).unwrap();
                prop_assert_eq!(&found.scores, &first.scores);
                prop_assert_eq!((found.sources, found.depth), (first.sources, first.depth));
            }
        }
    }

    #[test]
    fn all_shortest_paths_are_drawn_alike() {
        // From one corner of a grid to the other there are 70 paths; the middle has 36 of them.
        let down = (0..20u32).map(|v| (v, v + 5));
        let along = (0..25u32).filter(|v| v % 5 < 4).map(|v| (v, v + 1));
        let edges: Vec<_> = down.chain(along).collect();
        for directed in [false, true] {
            let sample = Sample { n: 25, edges: edges.clone(), directed };
            let (graph, cx) = (sample.graph(), Context::new());
            let exact = Bc { normalized: true, ..Bc::default() };
            let near = Bc { epsilon: 0.01, delta: 1e-6, ..exact.clone() };
            let (near, exact) = (near.run(&graph, &cx).unwrap(), exact.run(&graph, &cx).unwrap());
            for (a, b) in near.scores.iter().zip(&exact.scores) {
                assert!((a - b).abs() <= 0.01, "{a} {b}");
            }
            assert_eq!(near.depth, 9);
        }
    }

    #[test]
    fn draws_grow_with_the_longest_path_alone() {
        let within = Within { epsilon: 0.1, delta: 0.5, seed: 0 };
        // 0.5 / 0.01 * (3 + 1 + ln 2), and what leaving out the ends of pairs adds.
        assert_eq!(pairs::draws(within, 1 << 30, 15), 235);
        assert_eq!(pairs::draws(within, 1 << 30, 16), 285);
        assert_eq!(pairs::draws(within, 4, 2), (4.0 * 50.0 * (2.0 + 2f64.ln())).ceil() as u64);
    }

    #[test]
    fn an_error_leaves_no_other_choice_of_sources() {
        let graph = Graph::from_edges(3, &[(0, 1), (1, 2)], false, None).unwrap();
        let run = |config: Bc| config.run(&graph, &Context::new()).unwrap_err().to_string();
        let config = Bc { epsilon: 0.1, ..Bc::default() };
        assert!(run(Bc { sample: 2, ..config.clone() }).contains("leave out"));
        assert!(run(Bc { sources: vec![0], ..config.clone() }).contains("leave out"));
        assert!(run(Bc { variant: Variant::Block, ..config.clone() }).contains("variant"));
        assert!(run(Bc { delta: 0.0, ..config }).contains("delta"));
    }

    /// Chains on a dense core have so few edges that a step marks what they reach.
    #[test]
    fn chains_on_a_core() {
        let mut edges = Vec::new();
        for v in 0..30u32 {
            edges.extend((0..v).filter(|u| (u + v) % 3 > 0).map(|u| (u, v)));
        }
        edges.extend([(3, 30), (7, 30), (30, 31), (31, 32), (8, 33), (33, 32), (32, 34)]);
        for directed in [false, true] {
            let sample = Sample { n: 35, edges: edges.clone(), directed };
            let mut expected = oracle::betweenness(&sample.adjacency(), &[0]);
            expected.iter_mut().for_each(|s| *s *= if directed { 1.0 } else { 0.5 });
            for (graph, cx) in sample.settings() {
                let found = Bc { sources: vec![0], ..Bc::default() }.run(&graph, &cx).unwrap();
                assert!(close(&found.scores, &expected), "{directed}");
            }
        }
    }

    #[test]
    fn a_sample_of_all_vertices_is_exact() {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)];
        let graph = Graph::from_edges(5, &edges, false, None).unwrap();
        let cx = Context::new();
        let exact = Bc::default().run(&graph, &cx).unwrap();
        let drawn = Bc { sample: 5, seed: 9, ..Bc::default() }.run(&graph, &cx).unwrap();
        assert_eq!(exact.scores, drawn.scores);
        let two = Bc { sample: 2, ..Bc::default() }.run(&graph, &cx).unwrap();
        assert_eq!((two.sources, two.scale), (2, 1.25));
    }

    /// On a path each inner vertex is between all
    /// vertices on its two sides.
    #[test]
    fn a_path_of_a_thousand_levels() {
        let n = 1000u32;
        let edges: Vec<(u32, u32)> = (1..n).map(|v| (v - 1, v)).collect();
        let graph = Graph::from_edges(n as usize, &edges, false, None).unwrap();
        let cx = Context::new().with_threads(2);
        let found = Bc { sources: vec![0, n - 1], ..Bc::default() }.run(&graph, &cx).unwrap();
        assert_eq!(found.depth, u64::from(n));
        for (v, &score) in found.scores.iter().enumerate() {
            let inner = v > 0 && v + 1 < n as usize;
            assert_eq!(score, if inner { f64::from(n - 1) / 2.0 } else { 0.0 }, "{v}");
        }
    }
}
