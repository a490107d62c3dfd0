//! Lists in the order in which they were asked for.

use super::BATCH;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::parallel::map_ranges_on;
use crate::shared::{Zero, zeroed};
use nakshi_store::VertexId;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The lists of some vertices, one behind the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NeighborLists<T> {
    /// The list of the `i`-th vertex is `targets[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<i64>,
    /// The neighbours.
    pub targets: Vec<T>,
    /// A weight for each neighbour, if the look-ups were opened with a column.
    pub weights: Option<Vec<f64>>,
}

/// Lists that one worker has read, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct ReadLists {
    pub(super) targets: Vec<VertexId>,
    pub(super) weights: Vec<f64>,
    /// Position of the vertex, and where its list begins in `targets`.
    spans: Vec<(usize, usize)>,
}

impl ReadLists {
    /// What comes from here on is the list of the vertex at position `at`.
    pub(super) fn begin(&mut self, at: usize) {
        self.spans.push((at, self.targets.len()));
    }

    /// The lists: the position of each vertex, and the range of its neighbours in `targets`.
    fn lists(&self) -> impl Iterator<Item = (usize, Range<usize>)> + '_ {
        let ends = self.spans.iter().skip(1).map(|span| span.1).chain([self.targets.len()]);
        self.spans.iter().zip(ends).map(|(&(at, from), to)| (at, from..to))
    }
}

/// Puts the lists of `count` vertices, which the workers have in `parts`, in order.
///
/// # Errors
/// Of `names`; [`Error::Cancelled`], [`Error::Deadline`]; [`Error::OutOfMemory`].
pub(super) fn assemble<T: Zero>(
    parts: Vec<ReadLists>,
    count: usize,
    weighted: bool,
    cx: &Context,
    names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
) -> Result<NeighborLists<T>> {
    let mut places: Vec<(usize, Range<usize>)> = vec![(0, 0..0); count];
    for (worker, part) in parts.iter().enumerate() {
        for (at, range) in part.lists() {
            if let Some(place) = places.get_mut(at) {
                *place = (worker, range);
            }
        }
    }
    let (offsets, total) = offsets(count, places.iter().map(|place| place.1.len() as u64))?;
    let mut targets = zeroed::<T>(total, "neighbours")?;
    let slices = blocks(&offsets, &mut targets);
    let threads = super::workers(true, count, cx);
    map_ranges_on(
        threads,
        cx,
        (count, BATCH),
        || (),
        |(), batch| {
            let Some(slice) = slices.get(batch.start / BATCH) else { return Ok(()) };
            let mut slice = slice.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = std::mem::take(&mut *slice);
            for (worker, range) in places.get(batch).unwrap_or_default() {
                let list = parts.get(*worker).and_then(|part| part.targets.get(range.clone()));
                let list = list.unwrap_or_default();
                let here = std::mem::take(&mut rest);
                let Some((front, after)) = here.split_at_mut_checked(list.len()) else { break };
                names(list, front)?;
                rest = after;
            }
            Ok(())
        },
    )?;
    let mut weights = Vec::new();
    if weighted {
        for (worker, range) in &places {
            let found = parts.get(*worker).and_then(|part| part.weights.get(range.clone()));
            weights.extend_from_slice(found.unwrap_or_default());
        }
    }
    Ok(NeighborLists { offsets, targets, weights: weighted.then_some(weights) })
}

/// Where each of `count` lists begins, and the number of all entries.
///
/// # Errors
/// [`Error::OutOfMemory`] for more entries than memory can have.
pub(super) fn offsets(count: usize, sizes: impl Iterator<Item = u64>) -> Result<(Vec<i64>, usize)> {
    let mut offsets = Vec::with_capacity(count + 1);
    let mut end = 0i64;
    offsets.push(end);
    let refuse = || Error::OutOfMemory { what: "neighbours", bytes: u64::MAX };
    for size in sizes {
        let size = i64::try_from(size).map_err(|_| refuse())?;
        end = end.checked_add(size).ok_or_else(refuse)?;
        offsets.push(end);
    }
    Ok((offsets, usize::try_from(end).map_err(|_| refuse())?))
}

/// The places of the lists of each batch of vertices, in `targets`.
pub(super) fn blocks<'t, T>(offsets: &[i64], targets: &'t mut [T]) -> Vec<Mutex<&'t mut [T]>> {
    let (mut blocks, mut rest, mut at) = (Vec::new(), targets, 0);
    let count = offsets.len().saturating_sub(1);
    for from in (0..count).step_by(BATCH) {
        let end = offsets.get(count.min(from + BATCH)).copied().unwrap_or(0);
        let end = usize::try_from(end).unwrap_or(0);
        let len = end.saturating_sub(at).min(rest.len());
        let (block, after) = rest.split_at_mut(len);
        blocks.push(Mutex::new(block));
        (rest, at) = (after, end);
    }
    blocks
}
