//! Samples of neighbours.
//!
//! A draw takes places of a list, not neighbours, so that a list is decoded up to the last place
//! that was drawn and no further. Lists hold gaps without points to skip to, so nothing before that
//! place can be left out; a list that is no longer than the sample is taken whole. Without
//! replacement the places come from R. Floyd's algorithm (Bentley and Floyd, "Programming pearls: a
//! sample of brilliance", CACM 30, 1987), which draws once for each.

use super::answer::{NeighborLists, ReadLists, assemble};
use super::{Asked, OpenLists};
use crate::context::Context;
use crate::error::Result;
use crate::shared::Zero;
use crate::source::Data;
use nakshi_store::layout::mix;
use nakshi_store::{BLOCK, Direction, List, VertexId};
use std::ops::ControlFlow;

/// How neighbours are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Neighbours of each vertex, at most.
    pub count: usize,
    /// Seed of the draws. They depend on it and on the position of a vertex in the request, not on
    /// threads or mode.
    pub seed: u64,
    /// Whether a neighbour may be drawn twice: each vertex that has any neighbour gets `count`.
    pub replace: bool,
}

impl Sampling {
    /// Draws places below `degree`, ascending, in a list for the vertex at position `at` of a request.
    pub fn places(&self, degree: u64, at: u64, places: &mut Vec<u64>) {
        places.clear();
        if degree == 0 {
            return;
        }
        let mut below = self.draws(at);
        let count = self.count as u64;
        if self.replace {
            places.extend((0..count).map(|_| below(degree)));
            places.sort_unstable();
            return;
        }
        // Floyd: place `last` stands in for a place that is there already.
        for last in degree.saturating_sub(count)..degree {
            let place = below(last + 1);
            match places.binary_search(&place) {
                Err(slot) => places.insert(slot, place),
                // `last` is larger than all that are there.
                Ok(_) => places.push(last),
            }
        }
    }

    /// The same places as bits, for a list that is one block, without replacement.
    pub(super) fn marks(&self, degree: u64, at: u64) -> u128 {
        let mut below = self.draws(at);
        let mut marks = 0u128;
        for last in degree.saturating_sub(self.count as u64)..degree {
            let place = below(last + 1);
            marks |= if marks >> place & 1 == 0 { 1 << place } else { 1 << last };
        }
        marks
    }

    /// Draws numbers below a bound for the vertex at position `at` of a request.
    fn draws(&self, at: u64) -> impl FnMut(u64) -> u64 {
        let mut state = mix(self.seed ^ mix(at));
        move |bound| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            // The high half of a product: its bias is below bound / 2^64.
            (u128::from(mix(state)).wrapping_mul(u128::from(bound)) >> 64) as u64
        }
    }

    /// Number of neighbours that are drawn from a list of `degree`.
    pub(super) fn length(&self, degree: u64) -> u64 {
        let count = self.count as u64;
        if self.replace && degree > 0 { count } else { count.min(degree) }
    }

    /// True if a list of `degree` is taken whole.
    pub(super) fn takes_all(&self, degree: u64) -> bool {
        degree <= self.count as u64 && !self.replace
    }
}

impl OpenLists {
    /// Some neighbours of each of `vertices`, in their order, ascending by place in the list; `names`
    /// as for [`OpenLists::neighbors`].
    ///
    /// # Errors
    /// As [`OpenLists::neighbors`].
    pub fn sample<T: Zero>(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        sampling: Sampling,
        cx: &Context,
        names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
    ) -> Result<NeighborLists<T>> {
        let drawn = (vertices.len() as u64).saturating_mul(sampling.count as u64);
        let entry = (size_of::<VertexId>() + size_of::<T>()) as u64;
        if sampling.replace {
            self.check_room(drawn.saturating_mul(entry), "this answer")?;
        }
        let side = self.graph.side(direction)?;
        if let Data::Memory(bytes) = &side.data {
            let lists = (side, bytes.with_slack());
            return self.answer_in_memory(lists, vertices, Some(sampling), cx, names);
        }
        let init = || (ReadLists::default(), Vec::new());
        let asked = Asked { direction, vertices, cx };
        let parts = self.visit(asked, init, |(part, places), at, list, _| {
            part.begin(at);
            let degree = list.degree();
            if sampling.takes_all(degree) {
                list.for_each(|v| part.targets.push(v))?;
            } else {
                draw(sampling, list, at as u64, places, &mut part.targets)?;
            }
            Ok(())
        })?;
        let parts = parts.into_iter().map(|(part, _)| part).collect();
        assemble(parts, vertices.len(), false, cx, names)
    }
}

/// Appends a sample of the list of the vertex at position `at` of a request to `out`.
pub(super) fn draw(
    sampling: Sampling,
    list: &List<'_>,
    at: u64,
    places: &mut Vec<u64>,
    out: &mut Vec<VertexId>,
) -> Result<()> {
    let degree = list.degree();
    if sampling.replace || degree > BLOCK as u64 {
        sampling.places(degree, at, places);
        return take(list, places, out);
    }
    let mut marks = sampling.marks(degree, at);
    list.blocks(|block| {
        while marks != 0 {
            out.extend(block.get(marks.trailing_zeros() as usize));
            marks &= marks - 1;
        }
        ControlFlow::Break(())
    })?;
    Ok(())
}

/// Appends the neighbours at ascending `places` of a list to `out`; decodes no block behind the last.
fn take(list: &List<'_>, places: &[u64], out: &mut Vec<VertexId>) -> Result<()> {
    let (mut from, mut left) = (0u64, places);
    if left.is_empty() {
        return Ok(());
    }
    list.blocks(|block| {
        let end = from + block.len() as u64;
        while let Some((&place, rest)) = left.split_first().filter(|(place, _)| **place < end) {
            // Lossless: below the length of a block.
            out.extend(block.get((place - from) as usize));
            left = rest;
        }
        from = end;
        if left.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(())
}
