//! Lists in memory: each is found once, then decoded into its place in the answer.

use super::answer::{NeighborLists, blocks, offsets};
use super::lists::decode;
use super::sample::{Sampling, draw};
use super::{BATCH, OpenLists, workers};
use crate::context::Context;
use crate::error::Result;
use crate::gather::AHEAD;
use crate::parallel::map_ranges_on;
use crate::shared::{Zero, prefetch, zeroed};
use crate::source::{Side, within};
use nakshi_store::VertexId;
use std::ops::Range;
use std::sync::PoisonError;

/// Bytes that the processor fetches at once.
const LINE: usize = 64;
/// Neighbours of short lists that are named together: the processor then fetches the names of several
/// lists at once.
const TOGETHER: usize = 4096;

/// The place of a list in memory, and its number of neighbours.
#[derive(Debug, Clone)]
struct Found {
    bytes: Range<usize>,
    degree: u64,
}

/// Neighbours that wait for their names, and the places in the answer that are still to be written.
struct Waiting<'s, T> {
    places: Vec<u64>,
    vertices: Vec<VertexId>,
    slots: &'s mut [T],
}

impl OpenLists {
    /// The lists of `vertices`, or a sample of each; `names` as for [`OpenLists::neighbors`].
    ///
    /// # Errors
    /// As [`OpenLists::neighbors`].
    pub(super) fn answer_in_memory<T: Zero>(
        &self,
        (side, lists): (&Side, &[u8]),
        vertices: &[VertexId],
        sampling: Option<Sampling>,
        cx: &Context,
        names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
    ) -> Result<NeighborLists<T>> {
        let found = find(side, lists, vertices, cx)?;
        let length = |list: &Found| sampling.map_or(list.degree, |drawn| drawn.length(list.degree));
        let (offsets, total) = offsets(vertices.len(), found.iter().flatten().map(length))?;
        let bytes = (total as u64).saturating_mul(size_of::<T>() as u64);
        let beside = (size_of::<Found>() + size_of::<i64>()) as u64 * vertices.len() as u64;
        self.check_room(bytes.saturating_add(beside), "this answer")?;
        let mut targets = zeroed::<T>(total, "neighbours")?;
        let blocks = blocks(&offsets, &mut targets);
        let (count, init) = (vertices.len(), || (Vec::new(), Vec::new()));
        map_ranges_on(workers(true, count, cx), cx, (count, BATCH), init, |waiting, range| {
            let batch = range.start / BATCH;
            let Some((block, part)) = blocks.get(batch).zip(found.get(batch)) else {
                return Ok(());
            };
            let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
            let (places, vertices) = std::mem::take(waiting);
            let mut here = Waiting { places, vertices, slots: std::mem::take(&mut *block) };
            here.write(side, lists, part, (range.start, sampling), &names)?;
            *waiting = (here.places, here.vertices);
            Ok(())
        })?;
        Ok(NeighborLists { offsets, targets, weights: None })
    }
}

impl<T> Waiting<'_, T> {
    /// Writes the names of the lists at `found`, the first of which is at position `from` of the
    /// request.
    fn write(
        &mut self,
        side: &Side,
        lists: &[u8],
        found: &[Found],
        (from, sampling): (usize, Option<Sampling>),
        names: &impl Fn(&[VertexId], &mut [T]) -> Result<()>,
    ) -> Result<()> {
        for (at, part) in (from..).step_by(AHEAD).zip(found.chunks(AHEAD)) {
            for Found { bytes, .. } in part {
                prefetch(lists, bytes.start);
                prefetch(lists, bytes.start.saturating_add(LINE));
            }
            for (at, Found { bytes, degree }) in (at..).zip(part) {
                let list = side.list(lists, bytes.clone())?;
                match sampling.filter(|drawn| !drawn.takes_all(*degree)) {
                    Some(drawn) => {
                        draw(drawn, &list, at as u64, &mut self.places, &mut self.vertices)?;
                    }
                    None if *degree > TOGETHER as u64 => {
                        self.name(names)?;
                        let slots = self.next(usize::try_from(*degree).unwrap_or(usize::MAX));
                        decode(&list, slots, names)?;
                    }
                    None => list.for_each(|v| self.vertices.push(v))?,
                }
                if self.vertices.len() > TOGETHER {
                    self.name(names)?;
                }
            }
        }
        self.name(names)
    }

    /// Names what waits.
    fn name(&mut self, names: &impl Fn(&[VertexId], &mut [T]) -> Result<()>) -> Result<()> {
        let vertices = std::mem::take(&mut self.vertices);
        let slots = self.next(vertices.len());
        names(vertices.get(..slots.len()).unwrap_or_default(), slots)?;
        self.vertices = vertices;
        self.vertices.clear();
        Ok(())
    }
}

impl<'s, T> Waiting<'s, T> {
    /// The next `count` places of the answer.
    fn next(&mut self, count: usize) -> &'s mut [T] {
        let slots = std::mem::take(&mut self.slots);
        let (next, rest) = slots.split_at_mut(count.min(slots.len()));
        self.slots = rest;
        next
    }
}

/// Finds the lists of `vertices` and reads their degrees; in batches.
fn find(side: &Side, lists: &[u8], vertices: &[VertexId], cx: &Context) -> Result<Vec<Vec<Found>>> {
    let count = vertices.len();
    map_ranges_on(
        workers(true, count, cx),
        cx,
        (count, BATCH),
        || (),
        |(), range| {
            let part = vertices.get(range).unwrap_or_default();
            let mut found = Vec::with_capacity(part.len());
            for some in part.chunks(AHEAD) {
                side.index.touch(some.iter().map(|&v| v.into()));
                let first = found.len();
                for &v in some {
                    let bytes = within(&side.extent(v.into()), 0)?;
                    prefetch(lists, bytes.start);
                    found.push(Found { bytes, degree: 0 });
                }
                for list in found.iter_mut().skip(first) {
                    list.degree = side.list(lists, list.bytes.clone())?.degree();
                }
            }
            Ok(found)
        },
    )
}
