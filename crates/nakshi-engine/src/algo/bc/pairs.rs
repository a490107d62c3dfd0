//! Betweenness by shortest paths between random pairs of vertices, within an error.
//!
//! M. Riondato, E. Kornaropoulos, "Fast approximation of betweenness centrality through sampling", Data
//! Min. Knowl. Discov. 30 (2016). Each draw takes two vertices and one of the shortest paths from one to
//! the other, all of these equally likely, and counts the vertices inside it. By the VC dimension of
//! shortest paths, so many draws are enough as depend on the logarithm of the vertices inside the longest
//! of them (Theorem 1 with c = 0.5), and not on the size of the graph. In an undirected graph that is
//! bounded by a search from one vertex of each component, in a directed one by the number of vertices.
//!
//! A path is searched from both ends, a level at a time on the side whose frontier has fewer edges
//! (M. Borassi, E. Natale, "KADABRA is an adaptive algorithm for betweenness via random
//! approximation", ESA 2016). The first level that meets the other side is finished; an edge between the
//! two is drawn by the number of paths over it, and so is each vertex on the ways back to the ends.
//!
//! State: a count, the component and the degrees of a vertex, and for each worker a number a vertex and 16
//! bytes for each vertex that it reaches. The counts are integers, so that they are the same for any number
//! of threads.

use super::super::Algorithm;
use super::super::sources::SplitMix;
use super::super::spanning_forest::{Forest, SpanningForest};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::parallel::{BLOCK, Tickets, share_work};
use crate::shared::{share_u64, zeroed};
use crate::stats::IterationLog;
use crate::thin::{self, Thin};
use nakshi_store::{Direction, VertexId, mix};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Draws that a worker takes at a time.
const BATCH: u64 = 16;
/// Edges whose lists are decoded at a time.
const EDGES: u64 = 64 << 10;
/// A level with a larger number of paths is divided by it: the choice between paths stays the same. Few in
/// tests, whose graphs are small.
const MANY: f64 = if cfg!(test) { 8.0 } else { 1e150 };

/// Memory and lists of a run.
pub(super) fn needs(summary: &Summary) -> Needs {
    let mut needs = SpanningForest {}.needs(summary);
    // Counts and components, and the degrees in both directions; or counts and scores.
    needs.state_bytes_per_vertex = needs.state_bytes_per_vertex.max(8.0 + 4.0 + 8.0);
    needs.worker_bytes_per_vertex = 4.0 + size_of::<Reached>() as f64;
    // A byte of a list may hold two entries of 4 bytes; and a worker of a directed graph has two readers.
    needs.worker_bytes_fixed = thin::STATE_BYTES + 4 * EDGES + 8 * summary.longest_list;
    Needs { repeats: true, gathers: true, ..needs }
}

/// The error of all normalised scores that is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within {
    pub(super) epsilon: f64,
    /// Probability that an error is larger.
    pub(super) delta: f64,
    /// Seed of the draws.
    pub(super) seed: u64,
}

/// Counts of the vertices inside shortest paths.
pub(super) struct Counted {
    /// One a vertex.
    pub(super) counts: Vec<u64>,
    /// Pairs of vertices that were drawn.
    pub(super) draws: u64,
    /// Edges of the longest path.
    pub(super) longest: u32,
}

/// Draws as many paths as the error asks for.
pub(super) fn run(
    within: Within,
    graph: &Graph,
    log: &mut IterationLog<'_>,
    cx: &Context,
) -> Result<Counted> {
    let n = graph.num_vertices();
    let mut counts = zeroed::<u64>(n, "counts of paths")?;
    if n < 3 {
        return Ok(Counted { counts, draws: 0, longest: 0 });
    }
    let Forest { parents: mut components, levels, .. } = SpanningForest {}.run(graph, cx)?;
    to_roots(&mut components, cx)?;
    let depth = levels.iter().copied().max().unwrap_or(0);
    drop(levels);
    log.end("forest", n as u64);
    let inside = if graph.directed() { n - 2 } else { (2 * depth as usize).saturating_sub(1) };
    let draws = draws(within, n, inside);
    let known = Known { degrees: Degrees::of(graph, cx)?, components };
    let shared = share_u64(&mut counts);
    let tickets = Tickets::new(usize::try_from(draws.div_ceil(BATCH)).unwrap_or(usize::MAX));
    let longest = share_work(cx.threads().min(tickets.total()), |worker| {
        let work = || {
            let mut search = Search::new(graph, &known, shared, cx)?;
            let mut longest = 0;
            while let Some(ticket) = tickets.draw() {
                cx.check()?;
                let first = ticket as u64 * BATCH;
                for draw in first..draws.min(first + BATCH) {
                    longest = longest.max(search.draw(mix(within.seed ^ mix(draw)))?);
                }
                if worker == 0 {
                    cx.progress().update("paths", first, draws);
                }
            }
            Ok(longest)
        };
        tickets.settle(work())
    })?;
    log.end("paths", draws);
    Ok(Counted { counts, draws, longest: longest.into_iter().max().unwrap_or(0) })
}

/// Replaces each parent in a forest by the root of its tree. Every vertex on a way to a root is led there at
/// once, so that a deep tree takes no longer than a flat one.
fn to_roots(parents: &mut [VertexId], cx: &Context) -> Result<()> {
    let parent = |parents: &[VertexId], v: VertexId| parents.get(v as usize).copied().unwrap_or(v);
    // Internal ids are 32 bits.
    for v in 0..parents.len() as VertexId {
        if (v as usize).is_multiple_of(BLOCK) {
            cx.check()?;
        }
        let mut root = v;
        while parent(parents, root) != root {
            root = parent(parents, root);
        }
        let mut at = v;
        while parent(parents, at) != root {
            let next = parent(parents, at);
            if let Some(slot) = parents.get_mut(at as usize) {
                *slot = root;
            }
            at = next;
        }
    }
    Ok(())
}

/// Draws for a graph of `n` vertices, of which `inside` are inside the longest shortest path.
pub(super) fn draws(within: Within, n: usize, inside: usize) -> u64 {
    // The theorem divides by all pairs of vertices, a normalised score by those of other vertices.
    let epsilon = within.epsilon * (n as f64 - 2.0) / n as f64;
    let dimension = f64::from(inside.max(1).ilog2()) + 1.0;
    (0.5 / (epsilon * epsilon) * (dimension - within.delta.ln())).ceil() as u64
}

/// Facts about vertices for all searches.
struct Known {
    degrees: Degrees,
    /// The component of each vertex, without regard to direction.
    components: Vec<VertexId>,
}

/// Lengths of the lists along which each side goes ahead.
struct Degrees {
    out: Vec<u32>,
    /// Empty in an undirected graph, whose lists are the same.
    incoming: Vec<u32>,
}

impl Degrees {
    fn of(graph: &Graph, cx: &Context) -> Result<Self> {
        let out = graph.degrees(Direction::Out, cx)?;
        let incoming = match graph.directed() {
            true => graph.degrees(Direction::In, cx)?,
            false => Vec::new(),
        };
        Ok(Degrees { out, incoming })
    }

    fn get(&self, side: usize, v: VertexId) -> u64 {
        let lists = if side == 0 || self.incoming.is_empty() { &self.out } else { &self.incoming };
        lists.get(v as usize).copied().unwrap_or(0).into()
    }
}

/// A vertex that a side has reached.
#[derive(Debug, Clone, Copy)]
struct Reached {
    /// Shortest paths from the end of the side, up to a factor that all of a level share.
    paths: f64,
    vertex: VertexId,
    /// Twice the level, plus the side.
    level: u32,
}

/// The search of one worker, from both ends of a pair.
struct Search<'g> {
    known: &'g Known,
    counts: &'g [AtomicU64],
    thin: Thin<'g>,
    /// The place of each vertex in `reached`, plus 1; 0 if it is not there.
    places: Vec<u32>,
    /// Vertices that either side has reached, each once.
    reached: Vec<Reached>,
    /// Members of a frontier whose lists are read at once.
    members: Vec<VertexId>,
}

/// The direction of the lists along which each side goes ahead.
const AHEAD: [Direction; 2] = [Direction::Out, Direction::In];

impl<'g> Search<'g> {
    fn new(
        graph: &'g Graph,
        known: &'g Known,
        counts: &'g [AtomicU64],
        cx: &'g Context,
    ) -> Result<Self> {
        let n = graph.num_vertices();
        let mut reached = Vec::new();
        let bytes = (n * size_of::<Reached>()) as u64;
        let refuse = |_| Error::OutOfMemory { what: "reached vertices", bytes };
        reached.try_reserve_exact(n).map_err(refuse)?;
        Ok(Search {
            known,
            counts,
            thin: Thin::new(graph, &AHEAD, cx),
            places: zeroed(n, "places of reached vertices")?,
            reached,
            members: Vec::new(),
        })
    }

    /// Draws a pair and a path, and counts the vertices inside it. Returns its number of edges; 0 without a
    /// path.
    fn draw(&mut self, seed: u64) -> Result<u32> {
        let mut random = SplitMix(seed);
        let n = self.places.len() as u64;
        let from = random.below(n);
        let to = (from + 1 + random.below(n - 1)) % n;
        let component = |v: u64| self.known.components.get(v as usize);
        if component(from) != component(to) {
            return Ok(0);
        }
        // Internal ids are 32 bits.
        let found = self.search([from as VertexId, to as VertexId], &mut random);
        for one in self.reached.drain(..) {
            if let Some(place) = self.places.get_mut(one.vertex as usize) {
                *place = 0;
            }
        }
        found
    }

    fn search(&mut self, ends: [VertexId; 2], random: &mut SplitMix) -> Result<u32> {
        let mut frontiers = [0..1, 1..2];
        for (side, vertex) in (0..).zip(ends) {
            if let Some(place) = self.places.get_mut(vertex as usize) {
                enter(&mut self.reached, place, Reached { paths: 1.0, vertex, level: side });
            }
        }
        loop {
            let costs = [self.edges(0, &frontiers[0]), self.edges(1, &frontiers[1])];
            let side = usize::from(costs[1] < costs[0]);
            let begin = self.reached.len();
            let met = self.expand(side, frontiers[side].clone(), random)?;
            if let Some((near, far)) = met {
                let edges = self.back(side, near, random)? + self.back(1 - side, far, random)? + 1;
                return Ok(edges);
            }
            frontiers[side] = begin..self.reached.len();
            if frontiers[side].is_empty() {
                return Ok(0);
            }
        }
    }

    /// Edges of a frontier.
    fn edges(&self, side: usize, frontier: &Range<usize>) -> u64 {
        let members = self.reached.get(frontier.clone()).unwrap_or_default().iter();
        members.map(|one| self.known.degrees.get(side, one.vertex)).sum()
    }

    /// Goes one level further on a side. Returns an edge to the other side, if there are any, drawn by the
    /// number of paths over it.
    fn expand(
        &mut self,
        side: usize,
        frontier: Range<usize>,
        random: &mut SplitMix,
    ) -> Result<Option<(VertexId, VertexId)>> {
        let begin = self.reached.len();
        let mut met = Choice::default();
        let mut at = frontier.start;
        while at < frontier.end {
            at += self.batch(side, at..frontier.end);
            let Search { thin, places, reached, members, .. } = self;
            thin.visit_in_order(AHEAD[side], members, |v, list| {
                let Some(here) = found(places, reached, v).copied() else { return };
                let level = here.level + 2;
                for &u in list {
                    let Some(place) = places.get_mut(u as usize) else { continue };
                    if *place == 0 {
                        enter(reached, place, Reached { paths: here.paths, vertex: u, level });
                    } else if let Some(there) = reached.get_mut(*place as usize - 1) {
                        if there.level == level {
                            there.paths += here.paths;
                        } else if (there.level ^ level) & 1 == 1 {
                            met.offer((v, u), here.paths * there.paths, random);
                        }
                    }
                }
            })?;
        }
        let next = self.reached.get_mut(begin..).unwrap_or_default();
        if next.iter().any(|one| one.paths > MANY) {
            next.iter_mut().for_each(|one| one.paths /= MANY);
        }
        Ok(met.chosen)
    }

    /// Makes `members` of the frontier's first vertices, whose lists are read at once; returns how many.
    fn batch(&mut self, side: usize, frontier: Range<usize>) -> usize {
        self.members.clear();
        let mut edges = 0;
        for one in self.reached.get(frontier).unwrap_or_default() {
            edges += self.known.degrees.get(side, one.vertex);
            if edges > EDGES && !self.members.is_empty() {
                break;
            }
            self.members.push(one.vertex);
        }
        self.members.len()
    }

    /// Counts the vertices from `v` back to the end of its side, but for that end; returns how many.
    fn back(&mut self, side: usize, mut v: VertexId, random: &mut SplitMix) -> Result<u32> {
        let mut steps = 0;
        loop {
            let here = found(&self.places, &self.reached, v).copied();
            let Some(before) = here.and_then(|one| one.level.checked_sub(2)) else {
                return Ok(steps);
            };
            if let Some(count) = self.counts.get(v as usize) {
                count.fetch_add(1, Relaxed);
            }
            steps += 1;
            let mut choice = Choice::default();
            let Search { thin, places, reached, .. } = self;
            thin.visit_in_order(AHEAD[1 - side], &[v], |_, list| {
                for &u in list {
                    if let Some(one) = found(places, reached, u).filter(|one| one.level == before) {
                        choice.offer(u, one.paths, random);
                    }
                }
            })?;
            let Some(next) = choice.chosen else { return Ok(steps) };
            v = next;
        }
    }
}

/// Adds a vertex to those that are reached, and notes its place.
fn enter(reached: &mut Vec<Reached>, place: &mut u32, one: Reached) {
    reached.push(one);
    // Lossless: no more than vertices.
    *place = reached.len() as u32;
}

fn found<'a>(places: &[u32], reached: &'a [Reached], v: VertexId) -> Option<&'a Reached> {
    let place = places.get(v as usize)?.checked_sub(1)?;
    reached.get(place as usize)
}

/// One of the offers, each with a probability in proportion to its weight (A. Chao, "A general purpose
/// unequal probability sampling plan", Biometrika 69, 1982, for a sample of one).
struct Choice<T> {
    chosen: Option<T>,
    total: f64,
}

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Choice { chosen: None, total: 0.0 }
    }
}

impl<T> Choice<T> {
    fn offer(&mut self, offer: T, weight: f64, random: &mut SplitMix) {
        self.total += weight;
        if self.chosen.is_none() || random.unit() * self.total < weight {
            self.chosen = Some(offer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk from each vertex would take 2 * 10^10 steps.
    #[test]
    fn roots_of_a_deep_tree_take_no_walk_from_each_vertex() {
        let n = 200_000;
        // The root is 0, and the path from it goes down from the largest vertex to 1.
        let mut parents: Vec<VertexId> = (0..n).map(|v| (v + 1) % n).collect();
        parents[0] = 0;
        to_roots(&mut parents, &Context::new()).unwrap();
        assert!(parents.iter().all(|&root| root == 0));
    }
}
