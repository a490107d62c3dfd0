//! Lists and degrees of named vertices.

use super::answer::{NeighborLists, ReadLists, assemble, offsets};
use super::{Asked, BATCH, OpenLists, workers};
use crate::context::Context;
use crate::error::Result;
use crate::gather::lists_ahead;
use crate::parallel::{Tickets, map_ranges_on, run_workers};
use crate::shared::{Zero, share_u64, zeroed};
use crate::source::{Data, Side};
use nakshi_io::Request;
use nakshi_store::{Direction, Encoding, List, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Bytes of a list in which its degree is written.
const HEAD: u64 = 10;

impl OpenLists {
    /// The lists of `vertices` in their order; a vertex that occurs twice is answered twice. `names`
    /// writes what the caller wants for each neighbour into a slice of the same length.
    ///
    /// # Errors
    /// [`crate::Error::Budget`] if the lists are more than the budget leaves; of `names`; of reading;
    /// [`crate::Error::Cancelled`], [`crate::Error::Deadline`].
    pub fn neighbors<T: Zero>(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        cx: &Context,
        names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
    ) -> Result<NeighborLists<T>> {
        let side = self.graph.side(direction)?;
        match &side.data {
            Data::Memory(bytes) if side.weights.is_none() => {
                self.answer_in_memory((side, bytes.with_slack()), vertices, None, cx, names)
            }
            _ => self.lists_by_readers(Asked { direction, vertices, cx }, names),
        }
    }

    /// Number of neighbours of each of `vertices`; reads the beginnings of their lists only.
    ///
    /// # Errors
    /// As [`OpenLists::neighbors`].
    pub fn degrees(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        cx: &Context,
    ) -> Result<Vec<u64>> {
        let side = self.graph.side(direction)?;
        if side.encoding == Encoding::Raw {
            let length = |v: VertexId| {
                let extent = side.extent(v.into());
                (extent.end - extent.start) / 4
            };
            return Ok(vertices.iter().copied().map(length).collect());
        }
        let mut degrees = zeroed::<u64>(vertices.len(), "degrees")?;
        let found = share_u64(&mut degrees);
        match &side.data {
            Data::Memory(bytes) => {
                self.each_in_memory(side, bytes.with_slack(), vertices, cx, |at, list| {
                    if let Some(slot) = found.get(at) {
                        slot.store(list.degree(), Relaxed);
                    }
                    Ok(())
                })?;
            }
            Data::Decoded(lists) => {
                for (slot, &v) in found.iter().zip(vertices) {
                    slot.store(lists.list(v).degree(), Relaxed);
                }
            }
            Data::Ssd(_) if self.reads_all_degrees(direction, vertices.len()) => {
                let all = self.graph.degrees(direction, cx)?;
                for (slot, &v) in found.iter().zip(vertices) {
                    slot.store(all.get(v as usize).copied().unwrap_or(0).into(), Relaxed);
                }
            }
            Data::Ssd(_) => self.heads_of(Asked { direction, vertices, cx }, found)?,
        }
        Ok(degrees)
    }

    /// True if the degrees of all vertices take fewer bytes of the file and of memory than the pages on
    /// which so many lists begin.
    fn reads_all_degrees(&self, direction: Direction, requests: usize) -> bool {
        let Some(store) = self.graph.store() else { return false };
        let Ok(entry) = store.entry(direction) else { return false };
        let pages = (requests as u64).saturating_mul(store.manifest().page_size.into());
        let memory = store.num_vertices().saturating_mul(4).saturating_add(entry.degrees.len);
        memory <= pages && self.check_room(memory, "degrees").is_ok()
    }

    /// Reads degrees from the beginnings of lists on the SSD.
    fn heads_of(&self, asked: Asked<'_>, found: &[AtomicU64]) -> Result<()> {
        let Asked { direction, vertices, cx } = asked;
        let side = self.graph.side(direction)?;
        let order = super::by_place(vertices);
        let tickets = Tickets::new(vertices.len().div_ceil(BATCH));
        run_workers(workers(false, vertices.len(), cx), |_| {
            let mut scratch = Vec::new();
            let work = |reader: &mut crate::gather::ListReader<'_>| -> Result<()> {
                while let Some(ticket) = tickets.draw() {
                    cx.check()?;
                    let part = order.iter().skip(ticket * BATCH).take(BATCH);
                    let requests: Vec<Request> = part
                        .map(|&(v, token)| {
                            let extent = side.extent(v.into());
                            let end = extent.end.min(extent.start + HEAD);
                            Request { range: extent.start..end, token }
                        })
                        .collect();
                    reader.read_bytes(&requests, &mut |token, pages| {
                        // Lossless: a position in a slice.
                        let at = token as usize;
                        let Some((&v, slot)) = vertices.get(at).zip(found.get(at)) else {
                            return Ok(());
                        };
                        let extent = side.extent(v.into());
                        let len = usize::try_from(extent.end - extent.start).unwrap_or(usize::MAX);
                        let head = pages.contiguous(&mut scratch);
                        slot.store(List::degree_of(side.encoding, head, len)?, Relaxed);
                        Ok(())
                    })?;
                }
                Ok(())
            };
            tickets.settle(self.with_reader(direction, cx, work))
        })?;
        Ok(())
    }

    /// Visits lists that are in memory, fetching the beginnings of those to come.
    fn each_in_memory(
        &self,
        side: &Side,
        bytes: &[u8],
        vertices: &[VertexId],
        cx: &Context,
        visit: impl Fn(usize, &List<'_>) -> Result<()> + Sync,
    ) -> Result<()> {
        let count = vertices.len();
        map_ranges_on(
            workers(true, count, cx),
            cx,
            (count, BATCH),
            || (),
            |(), range| {
                let from = range.start;
                let part = vertices.get(range).unwrap_or_default();
                lists_ahead(side, bytes, part, |&v| v, |at, list| visit(from + at, list))
            },
        )?;
        Ok(())
    }

    /// Reads lists in the order of the file, then puts each in its place. Under a budget, where an answer
    /// may be most of it, each list goes to its place at once: the degrees are read first.
    fn lists_by_readers<T: Zero>(
        &self,
        asked: Asked<'_>,
        names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
    ) -> Result<NeighborLists<T>> {
        let weighted = self.needs.column.is_some();
        if self.room.is_some() && !weighted {
            return self.lists_in_place(asked, names);
        }
        let count = asked.vertices.len();
        let entry = (size_of::<VertexId>() + size_of::<T>()) as u64 + if weighted { 16 } else { 0 };
        let entries = AtomicU64::new(0);
        let parts = self.visit(asked, ReadLists::default, |part, at, list, weights| {
            let before = entries.fetch_add(list.degree(), Relaxed);
            let all = before.saturating_add(list.degree()).saturating_mul(entry);
            self.check_room(all.saturating_add(24 * count as u64), "this answer")?;
            part.begin(at);
            list.for_each(|v| part.targets.push(v))?;
            if weighted {
                let degree = usize::try_from(list.degree()).unwrap_or(usize::MAX);
                part.weights.extend((0..degree).map(|i| weights.get(i)));
            }
            Ok(())
        })?;
        assemble(parts, count, weighted, asked.cx, names)
    }

    /// Reads degrees, then decodes each list into its place.
    fn lists_in_place<T: Zero>(
        &self,
        asked: Asked<'_>,
        names: impl Fn(&[VertexId], &mut [T]) -> Result<()> + Sync,
    ) -> Result<NeighborLists<T>> {
        let Asked { direction, vertices, cx } = asked;
        let degrees = self.degrees(direction, vertices, cx)?;
        let (offsets, total) = offsets(vertices.len(), degrees.into_iter())?;
        let bytes = (total as u64).saturating_mul(size_of::<T>() as u64);
        self.check_room(bytes.saturating_add(64 * vertices.len() as u64), "this answer")?;
        let mut targets = zeroed::<T>(total, "neighbours")?;
        let (mut slots, mut rest) = (Vec::with_capacity(vertices.len()), targets.as_mut_slice());
        for ends in offsets.windows(2) {
            let length = ends.last().zip(ends.first()).map_or(0, |(to, from)| to - from);
            let length = usize::try_from(length).unwrap_or(0).min(rest.len());
            let (slot, after) = rest.split_at_mut(length);
            slots.push(Mutex::new(slot));
            rest = after;
        }
        self.visit(
            asked,
            || (),
            |(), at, list, _| {
                let Some(slot) = slots.get(at) else { return Ok(()) };
                let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
                decode(list, &mut slot, &names)
            },
        )?;
        drop(slots);
        Ok(NeighborLists { offsets, targets, weights: None })
    }
}

/// Decodes a list into `slots`, which are as many as its neighbours.
pub(super) fn decode<T>(
    list: &List<'_>,
    mut slots: &mut [T],
    names: &impl Fn(&[VertexId], &mut [T]) -> Result<()>,
) -> Result<()> {
    let mut failed = Ok(());
    list.blocks(|block| {
        let here = std::mem::take(&mut slots);
        let Some((front, rest)) = here.split_at_mut_checked(block.len()) else {
            return ControlFlow::Break(());
        };
        slots = rest;
        failed = names(block, front);
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed
}
