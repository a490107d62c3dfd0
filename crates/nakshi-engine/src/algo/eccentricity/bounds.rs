//! Bounds of eccentricities, which searches tighten until they meet.
//!
//! A search from a vertex of each component at once gives, for the vertex, its eccentricity, and
//! for the others bounds: the eccentricity of a vertex at distance d differs from it by at most d,
//! and is at least d.

use crate::algo::Algorithm;
use crate::algo::reach::search;
use crate::algo::scc::Scc;
use crate::algo::wcc::Wcc;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel::{map_blocks, parallel_for};
use crate::shared::{share_u32, share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes of state a vertex: component, two bounds, two distances, and what a search says of a
/// component.
pub(in crate::algo) const BYTES: f64 = 28.0 + 1.0;

/// Eccentricities that are asked for.
#[derive(Clone, Copy)]
pub(in crate::algo) enum Goal<'a> {
    /// Those of all open vertices.
    All,
    /// The largest of all, and the smallest of these vertices.
    Extremes(&'a Bitmap),
}

/// No search in this component.
const NONE: u64 = u64::MAX;

/// Eccentricities of a graph, as far as they are known.
pub(in crate::algo) struct Bounds<'g> {
    graph: &'g Graph,
    cx: &'g Context,
    /// Follow edges both ways.
    both: bool,
    /// The component of each vertex, named by one of its vertices.
    roots: Vec<VertexId>,
    /// The smallest and the largest eccentricity that each vertex can have.
    pub(in crate::algo) lower: Vec<u32>,
    upper: Vec<u32>,
    /// Distances from the source of the last search, and to it where edges have a direction.
    from: Vec<u32>,
    to: Vec<u32>,
    /// By root: the key of the next source, then the eccentricity of the last one.
    found: Vec<u64>,
    /// Vertices whose eccentricity is asked for and not known.
    open: VertexSet,
    /// The longest path that was found: its length and ends.
    pub(in crate::algo) longest: u32,
    pub(in crate::algo) ends: Option<(VertexId, VertexId)>,
    /// Searches that were run.
    pub(in crate::algo) searches: u32,
}

impl<'g> Bounds<'g> {
    /// Bounds for the vertices of `open`, before any search; also statistics of finding components.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if edges have a direction and the graph is not strongly connected.
    pub(in crate::algo) fn new(
        graph: &'g Graph,
        open: VertexSet,
        both: bool,
        cx: &'g Context,
    ) -> Result<(Self, RunStats)> {
        let n = graph.num_vertices();
        let (roots, stats) = if both {
            let found = Wcc::default().run(graph, cx)?;
            (found.components, found.stats)
        } else {
            let found = Scc {}.run(graph, cx)?;
            if found.count > 1 {
                let what = format!(
                    "eccentricities along directed edges where {} strongly connected components \
                    do not all reach each other; follow edges both ways, or take one component",
                    found.count
                );
                return Err(Error::Unsupported { what });
            }
            (found.components, found.stats)
        };
        let numbers = |what, wanted: bool| zeroed::<u32>(if wanted { n } else { 0 }, what);
        let mut bounds = Bounds {
            graph,
            cx,
            both,
            roots,
            lower: numbers("lower bounds", true)?,
            upper: numbers("upper bounds", true)?,
            from: numbers("distances", true)?,
            to: numbers("distances", !both)?,
            found: zeroed(n, "components")?,
            open,
            longest: 0,
            ends: (n > 0).then_some((0, 0)),
            searches: 0,
        };
        bounds.start();
        Ok((bounds, stats))
    }

    fn root(&self, v: usize) -> usize {
        self.roots.get(v).map_or(v, |&root| root as usize)
    }

    /// A path has fewer edges than its component has vertices.
    fn start(&mut self) {
        for &root in &self.roots {
            if let Some(size) = self.found.get_mut(root as usize) {
                *size += 1;
            }
        }
        for v in 0..self.roots.len() {
            // Sizes are those of vertices, at most 2^32.
            let most =
                self.found.get(self.root(v)).map_or(0, |&size| size.saturating_sub(1)) as u32;
            if let Some(upper) = self.upper.get_mut(v) {
                *upper = most;
            }
        }
    }

    /// Vertices of the largest component, or of all that are as large; only before the first
    /// search.
    pub(in crate::algo) fn largest(&self) -> Bitmap {
        let most = self.found.iter().max().copied();
        let mut members = Bitmap::new(self.roots.len());
        let is_large = |&v: &usize| self.found.get(self.root(v)).copied() == most;
        (0..self.roots.len()).filter(is_large).for_each(|v| members.set(v));
        members
    }

    /// Searches until what is asked for is known.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Cancelled`].
    pub(in crate::algo) fn tighten(
        &mut self,
        goal: Goal<'_>,
        log: &mut IterationLog<'_>,
    ) -> Result<()> {
        let wanted = self.open.count() as u64;
        self.close(goal)?;
        while !self.open.is_empty() {
            let sources = self.choose()?;
            self.searches += 1;
            let size = sources.count() as u64;
            self.measure(sources)?;
            self.note_longest();
            self.bound()?;
            self.close(goal)?;
            log.end("search", size);
            let known = wanted - self.open.count() as u64;
            self.cx.progress().update("eccentricities", known, wanted);
        }
        Ok(())
    }

    /// The smallest of the upper bounds of `members`.
    pub(in crate::algo) fn least(&self, members: &Bitmap) -> u32 {
        let upper = |v: usize| self.upper.get(v).copied();
        members.iter().filter_map(upper).min().unwrap_or(0)
    }

    /// An open vertex of each component: by turns one that may lie far out and one that may be
    /// central.
    fn choose(&mut self) -> Result<VertexSet> {
        let outer = self.searches.is_multiple_of(2);
        self.found.fill(0);
        let found = share_u64(&mut self.found);
        let (roots, lower, upper) = (&self.roots, &self.lower, &self.upper);
        let open = &self.open;
        parallel_for(self.cx, roots.len(), |range| {
            for v in open.bits().iter_in(range.start, range.end) {
                let bound = if outer { upper.get(v).copied() } else { lower.get(v).map(|b| !b) };
                // Of several the first, which in most layouts has most neighbours.
                let key = u64::from(bound.unwrap_or(0)) << 32 | u64::from(!(v as u32));
                let root = roots.get(v).map_or(v, |&root| root as usize);
                if let Some(slot) = found.get(root) {
                    slot.fetch_max(key, Relaxed);
                }
            }
            Ok(())
        })?;
        let mut sources = VertexSet::new(self.roots.len());
        for slot in &mut self.found {
            // A key has a vertex, so that it is never 0 but for the last of 2^32 vertices with
            // bound 0, which is known.
            if *slot == 0 {
                *slot = NONE;
            } else {
                // Lossless: the lower half.
                sources.insert(!(*slot as u32));
                *slot = 0;
            }
        }
        Ok(sources)
    }

    /// Distances from the sources, and to them; the eccentricity of each.
    fn measure(&mut self, sources: VertexSet) -> Result<()> {
        let Bounds { graph, cx, both, roots, from, to, found, .. } = self;
        let all = graph.all_lists();
        let directed = (&[Direction::Out][..], &[Direction::In][..]);
        let (from, to, found) = (share_u32(from), share_u32(to), share_u64(found));
        let forward = if *both { (all, all) } else { directed };
        record(cx, roots, sources.bits(), 0, from, Some(found))?;
        search(graph, forward, sources.clone(), cx, |depth, reached| {
            record(cx, roots, reached.bits(), depth, from, Some(found))
        })?;
        if !*both {
            record(cx, roots, sources.bits(), 0, to, None)?;
            search(graph, (directed.1, directed.0), sources, cx, |depth, reached| {
                record(cx, roots, reached.bits(), depth, to, None)
            })?;
        }
        Ok(())
    }

    /// Takes over a path that is longer than all before.
    fn note_longest(&mut self) {
        let known = (0..).zip(&self.found).filter(|(_, far)| **far != NONE);
        // The first of the largest.
        let Some((root, far)) = known.max_by_key(|&(root, far)| (*far, std::cmp::Reverse(root)))
        else {
            return;
        };
        // Distances are below the number of vertices.
        let (root, far): (u32, u32) = (root, *far as u32);
        if far <= self.longest && self.searches > 1 {
            return;
        }
        let at = |distance: u32| {
            let mut members = (0u32..).zip(self.roots.iter().zip(&self.from));
            members.find(|&(_, (r, d))| *r == root && *d == distance).map(|(v, _)| v)
        };
        self.longest = far;
        self.ends = at(0).zip(at(far));
    }

    /// Tightens the bounds of the open vertices whose component was searched.
    fn bound(&mut self) -> Result<()> {
        let Bounds { cx, both, roots, lower, upper, from, to, found, open, .. } = self;
        let (lower, upper) = (share_u32(lower), share_u32(upper));
        let back: &[u32] = if *both { from } else { to };
        parallel_for(cx, roots.len(), |range| {
            for v in open.bits().iter_in(range.start, range.end) {
                let root = roots.get(v).map_or(v, |&root| root as usize);
                let far = found.get(root).copied().filter(|&far| far != NONE);
                let (Some(far), Some(&from), Some(&to)) = (far, from.get(v), back.get(v)) else {
                    continue;
                };
                // Distances are below the number of vertices.
                let far = far as u32;
                if let (Some(lower), Some(upper)) = (lower.get(v), upper.get(v)) {
                    lower.fetch_max(to.max(far.saturating_sub(from)), Relaxed);
                    upper.fetch_min(far.saturating_add(to), Relaxed);
                }
            }
            Ok(())
        })
    }

    /// Closes the vertices that are known, or needless for the goal.
    fn close(&mut self, goal: Goal<'_>) -> Result<()> {
        let done = AtomicBitmap::new(self.roots.len());
        let radius = match goal {
            Goal::All => 0,
            Goal::Extremes(central) => self.least(central),
        };
        // It is no end of a longer path, and no centre that is nearer to all.
        let needless = |lower: u32, upper: u32, v: usize| match goal {
            Goal::All => false,
            Goal::Extremes(central) => {
                upper <= self.longest && (!central.get(v) || lower >= radius)
            }
        };
        map_blocks(self.cx, self.roots.len(), |range| {
            for v in self.open.bits().iter_in(range.start, range.end) {
                let (Some(&lower), Some(&upper)) = (self.lower.get(v), self.upper.get(v)) else {
                    continue;
                };
                if lower == upper || needless(lower, upper, v) {
                    done.set(v);
                }
            }
            Ok(())
        })?;
        self.open = std::mem::take(&mut self.open).without(&done);
        Ok(())
    }
}

/// Notes the distance of a level, and in `found` that its components reach as far.
fn record(
    cx: &Context,
    roots: &[VertexId],
    level: &Bitmap,
    depth: u32,
    distances: &[AtomicU32],
    found: Option<&[AtomicU64]>,
) -> Result<()> {
    parallel_for(cx, roots.len(), |range| {
        for v in level.iter_in(range.start, range.end) {
            if let Some(slot) = distances.get(v) {
                slot.store(depth, Relaxed);
            }
            let root = roots.get(v).map_or(v, |&root| root as usize);
            if let Some(slot) = found.and_then(|found| found.get(root)) {
                slot.store(depth.into(), Relaxed);
            }
        }
        Ok(())
    })
}
