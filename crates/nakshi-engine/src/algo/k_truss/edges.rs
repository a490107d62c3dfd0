//! The edges among some vertices, in memory, with a mark for each that is left.

use crate::both::both_lists;
use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::map_ranges;
use crate::shared::{share_u32, zeroed};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::VertexId;
use std::sync::atomic::Ordering::Relaxed;

/// Members whose edges a worker takes at a time.
const CHUNK: usize = 16;
/// Edges between two looks at the cancel token.
const CHECK_INTERVAL: usize = 1024;

/// Each edge is in the lists of both its ends, as an *arc*. A set of edges has a bit for each arc;
/// in arguments that of the arc from the smaller member counts.
pub(super) struct Edges {
    /// By member: the first arc; one more at the end.
    starts: Vec<u64>,
    /// Members, by descending degree, so that the larger of two has the shorter list.
    targets: Vec<u32>,
    /// Arcs of edges that are left.
    left: Bitmap,
}

/// Calls `keep` for the different neighbours of `v` in `members`, from its two lists.
fn neighbours(
    v: VertexId,
    (out, incoming): (&[VertexId], &[VertexId]),
    members: &VertexSet,
    mut keep: impl FnMut(VertexId),
) {
    let (mut out, mut incoming) = (out.iter().peekable(), incoming.iter().peekable());
    let mut last = v;
    loop {
        let from_out = match (out.peek(), incoming.peek()) {
            (Some(a), Some(b)) => a <= b,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return,
        };
        let next = if from_out { out.next() } else { incoming.next() };
        // Lists are ascending, so that equal ones follow each other; a self-loop may stand between.
        let Some(&u) = next.filter(|&&u| u != v && u != last && members.contains(u)) else {
            continue;
        };
        last = u;
        keep(u);
    }
}

impl Edges {
    /// Reads the edges among `members`; `place` has the number of each member, and `order` the
    /// members.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub(super) fn read(
        graph: &Graph,
        members: &VertexSet,
        place: &[u32],
        order: &[VertexId],
        cx: &Context,
    ) -> Result<Self> {
        let number = |v: VertexId| place.get(v as usize).copied().unwrap_or(0);
        let mut counts = zeroed::<u32>(order.len(), "degrees in a core")?;
        let shared = share_u32(&mut counts);
        both_lists(
            graph,
            members,
            cx,
            |_| (),
            |(), v, out, incoming| {
                let mut count = 0;
                neighbours(v, (out, incoming), members, |_| count += 1);
                if let Some(slot) = shared.get(number(v) as usize) {
                    slot.store(count, Relaxed);
                }
                Ok(())
            },
        )?;
        let mut starts = Vec::with_capacity(order.len() + 1);
        let mut end = 0u64;
        starts.push(0);
        for &count in &counts {
            end += u64::from(count);
            starts.push(end);
        }
        drop(counts);
        // Memory that does not hold them is told by `zeroed`.
        let arcs = usize::try_from(end).unwrap_or(usize::MAX);
        let mut targets = zeroed::<u32>(arcs, "edges of a core")?;
        let shared = share_u32(&mut targets);
        let scratch = |_| Vec::new();
        both_lists(graph, members, cx, scratch, |found: &mut Vec<u32>, v, out, incoming| {
            found.clear();
            neighbours(v, (out, incoming), members, |u| found.push(number(u)));
            found.sort_unstable();
            let start = starts.get(number(v) as usize).map_or(0, |&start| start as usize);
            let slots = shared.get(start..).unwrap_or_default();
            slots.iter().zip(found.iter()).for_each(|(slot, &u)| slot.store(u, Relaxed));
            Ok(())
        })?;
        let left = Bitmap::full(arcs);
        Ok(Edges { starts, targets, left })
    }

    fn members(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The first arc of a member, and its targets, ascending.
    #[inline]
    fn list(&self, u: u32) -> (usize, &[u32]) {
        let at = |u: usize| self.starts.get(u).map_or(0, |&start| start as usize);
        let (start, end) = (at(u as usize), at(u as usize + 1));
        (start, self.targets.get(start..end).unwrap_or_default())
    }

    /// The arc from `u` to `v`.
    fn arc(&self, u: u32, v: u32) -> Option<usize> {
        let (start, list) = self.list(u);
        list.binary_search(&v).ok().map(|place| start + place)
    }

    /// Number of edges that are left.
    pub(super) fn count(&self) -> usize {
        self.left.count() / 2
    }

    /// All edges.
    pub(super) fn all(&self) -> AtomicBitmap {
        AtomicBitmap::from_bitmap(Bitmap::full(self.targets.len()))
    }

    /// The edges of `some` that are in fewer than `least` triangles of edges that are left.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`].
    pub(super) fn weak(
        &self,
        some: &AtomicBitmap,
        least: u32,
        cx: &Context,
    ) -> Result<AtomicBitmap> {
        let weak = AtomicBitmap::new(self.targets.len());
        self.each(some, cx, |near, u, v| {
            if self.corners(near, v).take(least as usize).count() < least as usize {
                for arc in [self.arc(u, v), self.arc(v, u)].into_iter().flatten() {
                    weak.set(arc);
                }
            }
        })?;
        Ok(weak)
    }

    /// Takes edges away; returns those that are left and were in a triangle with one of them.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`].
    pub(super) fn take_away(&mut self, gone: &AtomicBitmap, cx: &Context) -> Result<AtomicBitmap> {
        let touched = AtomicBitmap::new(self.targets.len());
        self.each(gone, cx, |near, u, v| {
            for w in self.corners(near, v) {
                for end in [u, v] {
                    if let Some(arc) = self.arc(end.min(w), end.max(w)) {
                        touched.set(arc);
                    }
                }
            }
        })?;
        for (k, word) in self.left.words_mut().iter_mut().enumerate() {
            *word &= !gone.word(k);
            touched.store_word(k, touched.word(k) & *word);
        }
        Ok(touched)
    }

    /// The members of `near` to which `v` has an edge that is left.
    #[inline]
    fn corners<'a>(&'a self, near: &'a Bitmap, v: u32) -> impl Iterator<Item = u32> + 'a {
        let (start, list) = self.list(v);
        let joined =
            move |&(k, &w): &(usize, &u32)| near.get(w as usize) && self.left.get(start + k);
        list.iter().enumerate().filter(joined).map(|(_, &w)| w)
    }

    /// Calls `visit(near, u, v)` for each edge of `some` that is left, by its arc from the smaller
    /// member `u`; `near` are the members to which `u` has an edge that is left.
    fn each(
        &self,
        some: &AtomicBitmap,
        cx: &Context,
        visit: impl Fn(&Bitmap, u32, u32) + Sync,
    ) -> Result<()> {
        let members = self.members();
        map_ranges(
            cx,
            (members, CHUNK),
            || Bitmap::new(members),
            |near, mut range| {
                // Members are 32 bits.
                range.try_for_each(|u| self.each_of(some, u as u32, near, &visit, cx))
            },
        )?;
        Ok(())
    }

    /// As [`Edges::each`], for the edges of one member; `near` is empty before and after.
    fn each_of(
        &self,
        some: &AtomicBitmap,
        u: u32,
        near: &mut Bitmap,
        visit: &impl Fn(&Bitmap, u32, u32),
        cx: &Context,
    ) -> Result<()> {
        let (start, list) = self.list(u);
        let above = list.partition_point(|&v| v <= u);
        let wanted = |k: &usize| some.get(start + k) && self.left.get(start + k);
        let mut edges = (above..list.len()).filter(wanted).peekable();
        if edges.peek().is_none() {
            return Ok(());
        }
        let joined = |(k, _): &(usize, &u32)| self.left.get(start + k);
        list.iter().enumerate().filter(joined).for_each(|(_, &v)| near.set(v as usize));
        for (seen, &v) in edges.filter_map(|k| list.get(k)).enumerate() {
            if seen.is_multiple_of(CHECK_INTERVAL) {
                cx.check()?;
            }
            visit(near, u, v);
        }
        list.iter().for_each(|&v| near.clear(v as usize));
        Ok(())
    }

    /// Edges that are left at each member.
    pub(super) fn degrees(&self) -> Result<Vec<u32>> {
        let mut degrees = zeroed::<u32>(self.members(), "degrees in a truss")?;
        for (degree, ends) in degrees.iter_mut().zip(self.starts.windows(2)) {
            if let &[start, end] = ends {
                // A member has fewer edges than there are members.
                *degree = self.left.count_in(start as usize, end as usize) as u32;
            }
        }
        Ok(degrees)
    }
}
