//! Strong components of the part of a graph that fits in memory.
//!
//! R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1 (1972), with one
//! number a vertex as in D. Pearce, "A space-efficient algorithm for finding strongly connected
//! components", Inf. Process. Lett. 116 (2016), and without recursion.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::shared::{share_u32, zeroed};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Bytes of a member: itself, where its arcs are, its number, and two stacks.
const MEMBER_BYTES: u64 = 24;
/// Steps between two looks at the cancel token.
const CHECK_INTERVAL: usize = 1 << 14;

/// Bytes that the search takes with so many members and arcs.
pub(super) fn bytes(members: usize, arcs: u64) -> u64 {
    MEMBER_BYTES * members as u64 + 4 * arcs
}

/// Vertices whose component is not known, in parts that no component crosses.
pub(super) struct Parts<'a> {
    pub(super) open: VertexSet,
    /// The component of a vertex that is not open, the part of one that is.
    pub(super) labels: &'a [AtomicU32],
}

impl Parts<'_> {
    /// The part of an open vertex.
    #[inline]
    pub(super) fn part(&self, v: VertexId) -> u32 {
        self.labels.get(v as usize).map_or(0, |label| label.load(Relaxed))
    }

    /// True if `u` is an open vertex of `part`.
    #[inline]
    pub(super) fn joined(&self, part: u32, u: VertexId) -> bool {
        self.open.contains(u) && self.part(u) == part
    }
}

/// The arcs between vertices of the same part.
pub(super) struct Rest {
    members: Vec<VertexId>,
    /// For each member the first of its targets; one more at the end.
    starts: Vec<u32>,
    /// Members, by their numbers here.
    targets: Vec<u32>,
}

impl Rest {
    /// Reads the arcs of `parts`; `counts` has how many each open vertex has, and is used up.
    ///
    /// # Errors
    /// As [`Graph::gather`].
    pub(super) fn read(
        graph: &Graph,
        parts: &Parts<'_>,
        counts: &[AtomicU32],
        cx: &Context,
    ) -> Result<Self> {
        let members: Vec<VertexId> = parts.open.iter().collect();
        let mut starts = Vec::with_capacity(members.len() + 1);
        let mut end = 0u32;
        starts.push(0);
        for (number, &v) in (0..).zip(&members) {
            if let Some(slot) = counts.get(v as usize) {
                // The room for arcs is below 2^32 of them.
                end = end.saturating_add(slot.swap(number, Relaxed));
            }
            starts.push(end);
        }
        let mut targets = zeroed::<u32>(end as usize, "arcs between components")?;
        let shared = share_u32(&mut targets);
        let number = |v: VertexId| counts.get(v as usize).map_or(0, |slot| slot.load(Relaxed));
        graph.gather(
            Direction::Out,
            &parts.open,
            cx,
            |_| (),
            |(), v, list| {
                let start = starts.get(number(v) as usize).copied().unwrap_or(0);
                let mut places = shared.get(start as usize..).unwrap_or_default().iter();
                let part = parts.part(v);
                Ok(list.for_each(|u| {
                    if parts.joined(part, u)
                        && let Some(place) = places.next()
                    {
                        place.store(number(u), Relaxed);
                    }
                })?)
            },
        )?;
        Ok(Rest { members, starts, targets })
    }

    /// Labels each member with the smallest vertex of its component.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`], [`crate::Error::OutOfMemory`].
    pub(super) fn label(&self, labels: &[AtomicU32], cx: &Context) -> Result<()> {
        let count = self.members.len();
        let mut search = Search {
            rest: self,
            low: zeroed(count, "numbers of a search")?,
            roots: Bitmap::new(count),
            stack: Vec::with_capacity(count),
            path: Vec::new(),
            next: 1,
        };
        let mut steps = 0usize;
        for start in 0..count as u32 {
            if search.number(start) != 0 {
                continue;
            }
            search.enter(start);
            while search.step(labels) {
                steps += 1;
                if steps.is_multiple_of(CHECK_INTERVAL) {
                    cx.check()?;
                }
            }
        }
        Ok(())
    }
}

/// A depth-first search in progress.
struct Search<'a> {
    rest: &'a Rest,
    /// By member: 0 before it is visited, [`DONE`] when its component is known, else the smallest
    /// number that it is known to reach.
    low: Vec<u32>,
    /// Visited members that reach none before them, as far as is known.
    roots: Bitmap,
    stack: Vec<u32>,
    /// Members on the path from the start, each with its next arc.
    path: Vec<(u32, u32)>,
    next: u32,
}

/// Number of a member whose component is known.
const DONE: u32 = u32::MAX;

impl Search<'_> {
    #[inline]
    fn number(&self, member: u32) -> u32 {
        self.low.get(member as usize).copied().unwrap_or(DONE)
    }

    fn renumber(&mut self, member: u32, number: u32) {
        if let Some(slot) = self.low.get_mut(member as usize) {
            *slot = number;
        }
    }

    fn enter(&mut self, member: u32) {
        self.renumber(member, self.next);
        self.next += 1;
        self.roots.set(member as usize);
        self.stack.push(member);
        let first = self.rest.starts.get(member as usize).copied().unwrap_or(0);
        self.path.push((member, first));
    }

    /// Follows an arc, or goes back from a member without more; returns false at the end.
    fn step(&mut self, labels: &[AtomicU32]) -> bool {
        let Some(&(member, at)) = self.path.last() else { return false };
        let end = self.rest.starts.get(member as usize + 1).copied().unwrap_or(0);
        if at >= end {
            self.path.pop();
            if self.roots.get(member as usize) {
                self.close(member, labels);
            }
            return true;
        }
        let Some(&target) = self.rest.targets.get(at as usize) else { return false };
        let number = self.number(target);
        if number == 0 {
            // The arc is looked at again when the search comes back.
            self.enter(target);
            return true;
        }
        if number < self.number(member) {
            self.renumber(member, number);
            self.roots.clear(member as usize);
        }
        if let Some(top) = self.path.last_mut() {
            top.1 += 1;
        }
        true
    }

    /// Labels the component that was entered at `root`: what lies above it on the stack.
    fn close(&mut self, root: u32, labels: &[AtomicU32]) {
        let from = self.stack.iter().rposition(|&member| member == root).unwrap_or(0);
        let found: Vec<u32> = self.stack.split_off(from);
        let vertex = |member: u32| self.rest.members.get(member as usize).copied().unwrap_or(0);
        let name = found.iter().copied().min().map_or(0, vertex);
        for &member in &found {
            if let Some(slot) = labels.get(vertex(member) as usize) {
                slot.store(name, Relaxed);
            }
        }
        for member in found {
            self.renumber(member, DONE);
        }
    }
}
