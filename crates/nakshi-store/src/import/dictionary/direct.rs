//! The dictionary of small integers: an array with a counter for each id, with pages on demand.

use std::collections::HashMap;
use std::ops::Range;

/// Ids in a page of counters (16 KiB).
const PAGE: usize = 4096;
/// Flag of a vertex that was listed without an edge.
const LISTED: u32 = 1 << 31;
/// Counters carry into a side table before they reach the flag.
const CARRY: u32 = 1 << 30;

type Page = Box<[u32; PAGE]>;

/// Counters of the ids below a limit.
///
/// While edges are read, each worker has counters of its own, and a slot counts the edge ends of
/// its id. Then the counters of all workers are added up. Once the layout is known, a slot holds
/// the position of its id in the layout. Ids beyond the limit, or on pages for which there is no
/// memory, go to [`super::IntBatch`] instead. The division of ids between the two does not
/// affect the store.
#[derive(Default)]
pub(crate) struct Direct {
    pages: Vec<Option<Page>>,
    carried: HashMap<u64, u64>,
    /// Ranges of vertices that exist even without a page; disjoint and ascending once absorbed.
    declared: Vec<Range<u64>>,
    used: u64,
    allowed: u64,
    ceiling: u64,
    /// True once an id was refused for want of memory.
    full: bool,
}

debug_by!(Direct, used);

impl Direct {
    /// Makes counters that use up to `memory` bytes, and no more than [`Direct::allow`] grants.
    pub fn new(memory: u64) -> Self {
        Self { ceiling: memory, ..Self::default() }
    }

    /// Grants counters in proportion to the input, so that a few far-apart ids cost little.
    pub fn allow(&mut self, input_bytes: u64) {
        let allowed = input_bytes.saturating_mul(8).saturating_add(256 << 10).min(self.ceiling);
        self.allowed = self.allowed.max(allowed);
    }

    /// Returns true if this id is counted here; allocates its page if that is allowed.
    #[inline]
    pub fn admits(&mut self, id: u64) -> bool {
        let number = id / PAGE as u64;
        match self.pages.get(number as usize) {
            Some(Some(_)) => true,
            _ => self.make_page(number),
        }
    }

    #[cold]
    fn make_page(&mut self, number: u64) -> bool {
        let directory = number.saturating_add(1).saturating_mul(8).max(self.pages.len() as u64 * 8);
        let bytes = PAGE as u64 * 4;
        // The directory grows by doubling, and may take at most a fraction of the memory of its
        // pages.
        if number >= (1 << 32) / PAGE as u64
            || directory > self.allowed / 4
            || self.used + directory * 2 + bytes > self.allowed
        {
            self.full |= number < (1 << 32) / PAGE as u64 && self.allowed == self.ceiling;
            return false;
        }
        let number = number as usize;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        self.pages[number] = Some(Box::new([0; PAGE]));
        self.used += bytes;
        true
    }

    /// Returns true once an id below 2^32 was refused for want of memory.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the bytes in use.
    pub fn memory(&self) -> u64 {
        self.used + self.pages.len() as u64 * 8
    }

    /// Takes all counted ids away, and admits none any more.
    pub fn retire(&mut self) -> Self {
        let declared = std::mem::take(&mut self.declared);
        std::mem::replace(self, Self { declared, ..Self::default() })
    }

    /// Counts one edge end at an admitted id.
    #[inline]
    pub fn count(&mut self, id: u64) {
        if let Some(Some(page)) = self.pages.get_mut((id / PAGE as u64) as usize) {
            let slot = &mut page[(id % PAGE as u64) as usize];
            *slot += 1;
            if *slot & !LISTED >= CARRY {
                *slot -= CARRY;
                *self.carried.entry(id).or_default() += u64::from(CARRY);
            }
        }
    }

    /// Marks an admitted id as a vertex, even without an edge.
    pub fn list(&mut self, id: u64) {
        if let Some(slot) = self.slot_mut(id) {
            *slot |= LISTED;
        }
    }

    fn slot_mut(&mut self, id: u64) -> Option<&mut u32> {
        let page = self.pages.get_mut(usize::try_from(id / PAGE as u64).ok()?)?.as_mut()?;
        Some(&mut page[(id % PAGE as u64) as usize])
    }

    /// Adds another worker's counters to these.
    pub fn absorb(&mut self, other: Self) {
        if self.pages.len() < other.pages.len() {
            self.pages.resize_with(other.pages.len(), || None);
        }
        other.declared.into_iter().for_each(|range| self.declare(range));
        for (id, count) in other.carried {
            *self.carried.entry(id).or_default() += count;
        }
        for (number, page) in other.pages.into_iter().enumerate() {
            let Some(page) = page else { continue };
            let Some(mine) = &mut self.pages[number] else {
                self.pages[number] = Some(page);
                continue;
            };
            for (offset, (slot, more)) in mine.iter_mut().zip(page.iter()).enumerate() {
                let listed = (*slot | more) & LISTED;
                // The sum carries as soon as it reaches the flag.
                let mut sum = (*slot & !LISTED) + (more & !LISTED);
                if sum >= CARRY {
                    sum -= CARRY;
                    *self.carried.entry((number * PAGE + offset) as u64).or_default() +=
                        u64::from(CARRY);
                }
                *slot = sum | listed;
            }
        }
    }

    /// Declares every id of a range a vertex.
    pub fn declare(&mut self, range: Range<u64>) {
        if !self.declared.contains(&range) {
            self.declared.push(range);
        }
    }

    /// Makes declared ranges disjoint; called once after all [`Direct::absorb`].
    pub fn settle(&mut self) {
        self.declared.retain(|range| !range.is_empty());
        self.declared.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in self.declared.drain(..) {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        for range in &joined {
            let pages = range.start / PAGE as u64
                ..range.end.div_ceil(PAGE as u64).min(self.pages.len() as u64);
            for number in pages {
                let Some(Some(page)) = self.pages.get_mut(number as usize) else { continue };
                for (id, slot) in (number * PAGE as u64..).zip(page.iter_mut()) {
                    if range.contains(&id) {
                        *slot |= LISTED;
                    }
                }
            }
        }
        self.declared = joined;
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

    fn carried(&self, id: u64) -> u64 {
        if self.carried.is_empty() { 0 } else { self.carried.get(&id).copied().unwrap_or(0) }
    }

    /// Returns the vertices and their counts, ascending by id.
    pub fn vertices(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.vertices_from(0)
    }

    /// Returns the vertices from the page of `start` on, and their counts, ascending by id.
    pub fn vertices_from(&self, start: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let numbers = self.page_numbers();
        (numbers.start.max(start / PAGE as u64)..numbers.end).flat_map(move |number| {
            let page = self.pages.get(number as usize).and_then(Option::as_ref);
            let bare = page.is_none().then(|| self.declared_on(number).map(|id| (id, 0)));
            let counted = page.map(|page| {
                (number * PAGE as u64..).zip(page.iter()).filter_map(|(id, &slot)| {
                    let carried = self.carried(id);
                    (slot != 0 || carried != 0).then_some((id, u64::from(slot & !LISTED) + carried))
                })
            });
            bare.into_iter().flatten().chain(counted.into_iter().flatten())
        })
    }

    /// Replaces the counter of every vertex by the position that `place(id, edge ends)` returns;
    /// calls it in ascending order.
    pub fn replace(
        &mut self,
        mut place: impl FnMut(u64, u64) -> crate::Result<u32>,
    ) -> crate::Result<()> {
        for number in self.page_numbers() {
            let Some(Some(mut page)) = self.pages.get_mut(number as usize).map(Option::take) else {
                self.declared_on(number).try_for_each(|id| place(id, 0).map(drop))?;
                continue;
            };
            for (id, slot) in (number * PAGE as u64..).zip(page.iter_mut()) {
                let carried = self.carried(id);
                if *slot != 0 || carried != 0 {
                    *slot = place(id, u64::from(*slot & !LISTED) + carried)?;
                }
            }
            self.pages[number as usize] = Some(page);
        }
        Ok(())
    }

    /// Replaces the counter of an id by its rank, or by its position in the layout.
    pub fn set_place(&mut self, id: u64, place: u32) {
        if let Some(slot) = self.slot_mut(id) {
            *slot = place;
        }
    }

    /// Returns the number that was set at an id.
    #[inline]
    pub fn place(&self, id: u32) -> u32 {
        match self.pages.get(id as usize / PAGE) {
            Some(Some(page)) => page[id as usize % PAGE],
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_workers_and_carries() {
        let mut workers = [Direct::new(1 << 20), Direct::new(1 << 20)];
        for worker in &mut workers {
            worker.allow(1 << 20);
            assert!(worker.admits(5) && worker.admits(9000) && !worker.admits(1 << 40));
            worker.slot_mut(5).into_iter().for_each(|slot| *slot = CARRY - 2);
            (0..3).for_each(|_| worker.count(5));
            worker.list(9000);
        }
        let [mut all, other] = workers;
        all.absorb(other);
        all.declare(8191..8193);
        all.declare(20_000..20_002);
        all.settle();
        let expected = 2 * (u64::from(CARRY) + 1);
        assert_eq!(
            all.vertices().collect::<Vec<_>>(),
            [(5, expected), (8191, 0), (8192, 0), (9000, 0), (20_000, 0), (20_001, 0)]
        );
        all.set_place(5, 1);
        assert_eq!(all.place(5), 1);
    }

    #[test]
    fn memory_follows_the_input() {
        let mut direct = Direct::new(1 << 30);
        direct.allow(100);
        let admitted = (0..1000).filter(|i| direct.admits(i * 4096)).count();
        assert!(admitted > 2 && direct.used <= 1 << 19, "{admitted}");
        assert!(!direct.admits(u64::from(u32::MAX)));
    }
}
