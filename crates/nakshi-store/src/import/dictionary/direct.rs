//! The dictionary of small integers: an array of counters, one an id, with pages on demand.

use std::collections::HashMap;

/// Ids in a page of counters (16 KiB).
const PAGE: usize = 4096;
/// Set for a vertex that was listed without an edge.
const LISTED: u32 = 1 << 31;
/// Counters carry into a side table before they reach the flag.
const CARRY: u32 = 1 << 30;

type Page = Box<[u32; PAGE]>;

/// Counters of the ids below a limit.
///
/// While edges are read, each worker has its own and a slot counts the edge ends of its id; then
/// they are added up, and once the layout is known a slot holds the id's place in it. Ids
/// outside, or on pages that memory does not allow, go to an [`super::Interner`] instead; which
/// ids do makes no difference to what is built.
#[derive(Default)]
pub(crate) struct Direct {
    pages: Vec<Option<Page>>,
    carried: HashMap<u64, u64>,
    used: u64,
    allowed: u64,
    ceiling: u64,
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direct").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Direct {
    /// Uses up to `memory` bytes, and not more than [`Direct::allow`] says.
    pub fn new(memory: u64) -> Self {
        Self { ceiling: memory, ..Self::default() }
    }

    /// Allows counters in proportion to the input, so that a few far-apart ids cost little.
    pub fn allow(&mut self, input_bytes: u64) {
        let allowed = input_bytes.saturating_mul(8).saturating_add(256 << 10).min(self.ceiling);
        self.allowed = self.allowed.max(allowed);
    }

    /// Whether this id is counted here; makes room for it if it may.
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
        // The directory doubles, and may not cost more than a part of what it leads to.
        if number >= (1 << 32) / PAGE as u64
            || directory > self.allowed / 4
            || self.used + directory * 2 + bytes > self.allowed
        {
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

    /// Marks an admitted id as a vertex, edge or not.
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
                // A carry is owed as soon as there is no room for the flag.
                let mut sum = (*slot & !LISTED) + (more & !LISTED);
                if sum >= CARRY {
                    sum -= CARRY;
                    *self.carried.entry((number * PAGE + offset) as u64).or_default() += u64::from(CARRY);
                }
                *slot = sum | listed;
            }
        }
    }

    /// The vertices and their counts, ascending by id.
    pub fn vertices(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pages = (0_u64..).zip(&self.pages).filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages.flat_map(|(number, page)| (number * PAGE as u64..).zip(page.iter())).filter_map(|(id, &slot)| {
            let carried = if self.carried.is_empty() { 0 } else { self.carried.get(&id).copied().unwrap_or(0) };
            (slot != 0 || carried != 0).then_some((id, u64::from(slot & !LISTED) + carried))
        })
    }

    /// Replaces every vertex's counter by the place that `place(id, edge ends)` says, ascending.
    pub fn replace(&mut self, mut place: impl FnMut(u64, u64) -> crate::Result<u32>) -> crate::Result<()> {
        for (number, page) in (0_u64..).zip(&mut self.pages) {
            let Some(page) = page else { continue };
            for (id, slot) in (number * PAGE as u64..).zip(page.iter_mut()) {
                let carried = if self.carried.is_empty() { 0 } else { self.carried.get(&id).copied().unwrap_or(0) };
                if *slot != 0 || carried != 0 {
                    *slot = place(id, u64::from(*slot & !LISTED) + carried)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces an id's counter by its place.
    pub fn set_place(&mut self, id: u64, place: u32) {
        if let Some(slot) = self.slot_mut(id) {
            *slot = place;
        }
    }

    /// The place of an id that was set.
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
        let expected = 2 * (u64::from(CARRY) + 1);
        assert_eq!(all.vertices().collect::<Vec<_>>(), [(5, expected), (9000, 0)]);
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
