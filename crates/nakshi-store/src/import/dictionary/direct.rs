//! The dictionary of small integers: a counter for each id, at the rank of the id.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::small_ids::{Bits, PAGE, SmallIds, WORDS, bit, members, word};
use crate::Result;

/// The ids of a page, and their ranks.
struct Page {
    bits: Bits,
    /// Number of ids in the words before each.
    before: [u16; WORDS],
    /// Number of ids on the pages before.
    base: u32,
}

/// Ids below 2^32 that all workers have met, each with a slot.
///
/// A slot first counts the edge ends of its id. Once the layout is known, it holds the position of the
/// id in the layout.
#[derive(Default)]
pub(crate) struct Direct {
    pages: Vec<Option<Box<Page>>>,
    slots: Vec<AtomicU32>,
    /// Multiples of 2^32 of the counters that passed it, by rank.
    carried: Mutex<HashMap<u32, u64>>,
    /// Ranges of vertices that exist even without a page, disjoint and ascending.
    declared: Vec<Range<u64>>,
}

debug_by!(Direct, declared);

impl Direct {
    /// Returns the bytes of a slot.
    pub const SLOT: u64 = size_of::<AtomicU32>() as u64;

    /// Makes a slot for each of these ids; every id of the declared ranges is a vertex, too.
    pub fn new(mut ids: SmallIds, declared: Vec<Range<u64>>) -> Self {
        let declared = disjoint(declared);
        for range in &declared {
            let end = range.end.div_ceil(PAGE as u64).min(ids.pages.len() as u64);
            for number in range.start / PAGE as u64..end {
                let Some(Some(page)) = ids.pages.get_mut(number as usize) else { continue };
                let first = number * PAGE as u64;
                let part = range.start.max(first)..range.end.min(first + PAGE as u64);
                part.for_each(|id| page[word(id)] |= bit(id));
            }
        }
        let mut count = 0_u64;
        let mut rank = |page: Box<Bits>| {
            let (mut before, mut here) = ([0; WORDS], 0);
            for (slot, bits) in before.iter_mut().zip(page.iter()) {
                *slot = here;
                here += bits.count_ones() as u16;
            }
            let base = count as u32;
            count += u64::from(here);
            Box::new(Page { bits: *page, before, base })
        };
        let pages = ids.pages.into_iter().map(|page| page.map(&mut rank)).collect();
        let mut counters = vec![0; count as usize];
        nakshi_io::prefer_huge_pages(&mut counters);
        let slots = counters.into_iter().map(AtomicU32::new).collect();
        Self { pages, slots, carried: Mutex::default(), declared }
    }

    /// Returns the rank of an id, or a number beyond all ranks.
    #[inline]
    fn rank(&self, id: u32) -> u32 {
        let Some(Some(page)) = self.pages.get(id as usize / PAGE) else { return u32::MAX };
        let id = u64::from(id);
        let (at, mask) = (word(id), bit(id) - 1);
        page.base + u32::from(page.before[at]) + (page.bits[at] & mask).count_ones()
    }

    fn slot(&self, rank: u32) -> Option<&AtomicU32> {
        self.slots.get(rank as usize)
    }

    /// Counts so many edge ends at an id.
    pub fn count(&self, id: u32, ends: u32) {
        self.count_at(self.rank(id), ends);
    }

    #[inline]
    fn count_at(&self, rank: u32, ends: u32) {
        let Some(slot) = self.slot(rank) else { return };
        if slot.fetch_add(ends, Relaxed).checked_add(ends).is_none() {
            let mut carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner);
            *carried.entry(rank).or_default() += 1 << 32;
        }
    }

    /// Counts an edge end at each of some ids, of which only ranks are left.
    pub fn count_each(&self, ids: &mut [u32]) {
        ids.iter_mut().for_each(|id| *id = self.rank(*id));
        // The processor fetches several slots at a time, but counts in one after the other.
        let slots = ids.iter().filter_map(|&rank| self.slot(rank));
        std::hint::black_box(slots.fold(0, |all, slot| all ^ slot.load(Relaxed)));
        ids.iter().for_each(|&rank| self.count_at(rank, 1));
    }

    /// Returns the numbers of the pages that contain vertices.
    fn page_numbers(&self) -> Range<u64> {
        let end = self.declared.last().map_or(0, |range| range.end.div_ceil(PAGE as u64));
        0..end.max(self.pages.len() as u64)
    }

    /// Returns the declared ids on a page that was not allocated.
    fn declared_on(&self, number: u64) -> impl Iterator<Item = u64> + '_ {
        let (start, end) = (number * PAGE as u64, (number + 1) * PAGE as u64);
        self.declared.iter().flat_map(move |range| range.start.max(start)..range.end.min(end))
    }

    /// Returns the vertices and their counts, ascending by id.
    pub fn vertices(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.vertices_from(0)
    }

    /// Returns the vertices from the page of `start` on, and their counts, ascending by id.
    pub fn vertices_from(&self, start: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let carried = self.carried.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.slots_from(start).map(move |(id, rank, slot)| {
            let more = if carried.is_empty() { None } else { carried.get(&rank) };
            let counted = slot.map_or(0, |slot| slot.load(Relaxed));
            (id, u64::from(counted) + more.copied().unwrap_or(0))
        })
    }

    /// Returns the vertices from the page of `start` on, ascending by id, with their ranks and slots; those
    /// that are only declared have no slot.
    fn slots_from(&self, start: u64) -> impl Iterator<Item = (u64, u32, Option<&AtomicU32>)> + '_ {
        let numbers = self.page_numbers();
        (numbers.start.max(start / PAGE as u64)..numbers.end).flat_map(move |number| {
            let page = self.pages.get(number as usize).and_then(Option::as_ref);
            let bare = page.is_none().then(|| self.declared_on(number));
            let bare = bare.into_iter().flatten().map(|id| (id, u32::MAX, None));
            let ranked = page.into_iter().flat_map(move |page| {
                let ids = members(&page.bits).map(move |at| number * PAGE as u64 + at);
                let ranks =
                    (page.base..).zip(self.slots.get(page.base as usize..).unwrap_or_default());
                ids.zip(ranks).map(|(id, (rank, slot))| (id, rank, Some(slot)))
            });
            bare.chain(ranked)
        })
    }

    /// Replaces the counter of every vertex by the position that `place(id, edge ends)` returns;
    /// calls it in ascending order.
    pub fn replace(&mut self, mut place: impl FnMut(u64, u64) -> Result<u32>) -> Result<()> {
        for ((id, ends), (_, _, slot)) in self.vertices().zip(self.slots_from(0)) {
            let place = place(id, ends)?;
            slot.into_iter().for_each(|slot| slot.store(place, Relaxed));
        }
        Ok(())
    }

    /// Replaces the counter of an id by its rank, or by its position in the layout.
    pub fn set_place(&mut self, id: u32, place: u32) {
        self.slot(self.rank(id)).into_iter().for_each(|slot| slot.store(place, Relaxed));
    }

    /// Returns the number that was set at an id.
    pub fn place(&self, id: u32) -> u32 {
        self.slot(self.rank(id)).map_or(0, |slot| slot.load(Relaxed))
    }

    /// Replaces both ids of each of some edges by the numbers that were set at them.
    pub fn places(&self, edges: &mut [(u32, u32, u64)]) {
        for (source, target, _) in edges.iter_mut() {
            (*source, *target) = (self.rank(*source), self.rank(*target));
        }
        // In a loop of its own, so that the processor fetches many slots at a time.
        let place = |rank: u32| self.slot(rank).map_or(0, |slot| slot.load(Relaxed));
        for (source, target, _) in edges {
            (*source, *target) = (place(*source), place(*target));
        }
    }
}

/// Returns ranges that cover the same ids, disjoint and ascending.
fn disjoint(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_carry_and_declared_ids_are_vertices() {
        let mut ids = SmallIds::new(1 << 20, 100);
        ids.allow(1 << 20);
        assert!(ids.admit(5) && ids.admit(9000) && !ids.admit(1 << 40));
        let mut direct = Direct::new(ids, vec![20_000..20_002, 8191..8193, 8192..8193]);
        for ends in [u32::MAX, 1] {
            direct.count(5, ends);
        }
        direct.count_each(&mut [5, 5]);
        let expected =
            [(5, (1 << 32) + 2), (8191, 0), (8192, 0), (9000, 0), (20_000, 0), (20_001, 0)];
        assert!(direct.vertices().eq(expected));
        assert!(direct.vertices_from(8192).eq(expected[2..].iter().copied()));
        direct.set_place(9000, 7);
        assert_eq!([5, 9000].map(|id| direct.place(id)), [2, 7]);
        let mut places = 10..;
        let mut seen = Vec::new();
        let place = |id, _| {
            seen.push(id);
            Ok(places.next().unwrap_or(0))
        };
        direct.replace(place).unwrap();
        assert_eq!(seen, expected.map(|(id, _)| id));
        assert_eq!([5, 8192, 9000].map(|id| direct.place(id)), [10, 12, 13]);
        let mut edges = [(5, 9000, 1), (8192, 5, 2)];
        direct.places(&mut edges);
        assert_eq!(edges, [(10, 13, 1), (12, 10, 2)]);
    }
}
