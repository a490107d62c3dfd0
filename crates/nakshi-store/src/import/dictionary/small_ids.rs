//! The small integers that a worker has met: a bitmap with pages on demand.

/// Ids of a page (half a KiB).
pub(super) const PAGE: usize = 4096;
/// Words of a page.
pub(super) const WORDS: usize = PAGE / 64;
/// Pages of ids that fit 32 bits.
const PAGES: u64 = (1 << 32) / PAGE as u64;

/// A bit for each id of a page.
pub(super) type Bits = [u64; WORDS];

/// A set of integers below 2^32.
///
/// Ids for which it has no memory go to [`super::IntBatch`] instead. The division of ids between the
/// two does not affect the store.
#[derive(Default)]
pub(crate) struct SmallIds {
    pub(super) pages: Vec<Option<Box<Bits>>>,
    count: u64,
    /// Most ids, since each takes a counter later.
    most: u64,
    used: u64,
    allowed: u64,
    ceiling: u64,
    /// True once an id was refused for want of memory.
    full: bool,
}

debug_by!(SmallIds, count);

impl SmallIds {
    /// Makes a set of at most so many ids that uses up to `memory` bytes, and no more than
    /// [`SmallIds::allow`] grants.
    pub fn new(memory: u64, most: u64) -> Self {
        Self { ceiling: memory, most, ..Self::default() }
    }

    /// Grants pages in proportion to the input, so that a few far-apart ids cost little.
    pub fn allow(&mut self, input_bytes: u64) {
        let allowed = input_bytes.saturating_mul(8).saturating_add(256 << 10).min(self.ceiling);
        self.allowed = self.allowed.max(allowed);
    }

    /// Adds an id, if that is allowed; returns true if it is in the set then.
    #[inline]
    pub fn admit(&mut self, id: u64) -> bool {
        match self.pages.get((id / PAGE as u64) as usize) {
            Some(Some(page)) if page[word(id)] & bit(id) != 0 => true,
            _ => self.add(id),
        }
    }

    fn add(&mut self, id: u64) -> bool {
        let number = id / PAGE as u64;
        if self.count >= self.most {
            // A set that has retired is not full again.
            self.full |= number < PAGES && self.most > 0;
            return false;
        }
        let there = self.pages.get(number as usize).is_some_and(Option::is_some);
        if !there && !self.make_page(number) {
            return false;
        }
        if let Some(Some(page)) = self.pages.get_mut(number as usize) {
            page[word(id)] |= bit(id);
            self.count += 1;
        }
        true
    }

    fn make_page(&mut self, number: u64) -> bool {
        let directory = number.saturating_add(1).saturating_mul(8).max(self.pages.len() as u64 * 8);
        let bytes = size_of::<Bits>() as u64;
        // The directory grows by doubling, and may take at most a fraction of the memory of its
        // pages.
        if number >= PAGES
            || directory > self.allowed / 4
            || self.used + directory * 2 + bytes > self.allowed
        {
            self.full |= number < PAGES && self.allowed == self.ceiling;
            return false;
        }
        let number = number as usize;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        self.pages[number] = Some(Box::new([0; WORDS]));
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

    /// Takes all ids away, and admits none any more.
    pub fn retire(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Adds the ids of another set to these, whatever is allowed.
    pub fn absorb(&mut self, other: &Self) {
        if self.pages.len() < other.pages.len() {
            self.pages.resize_with(other.pages.len(), || None);
        }
        for (mine, page) in self.pages.iter_mut().zip(&other.pages) {
            let Some(page) = page else { continue };
            let mine = mine.get_or_insert_with(|| Box::new([0; WORDS]));
            for (word, more) in mine.iter_mut().zip(page.iter()) {
                self.count += u64::from((more & !*word).count_ones());
                *word |= more;
            }
        }
    }

    /// Returns the number of ids.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Returns the ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let pages =
            (0_u64..).zip(&self.pages).filter_map(|(number, page)| Some((number, page.as_ref()?)));
        pages.flat_map(|(number, page)| members(page).map(move |at| number * PAGE as u64 + at))
    }
}

/// Returns the places of the ids of a page, ascending.
pub(super) fn members(page: &Bits) -> impl Iterator<Item = u64> + '_ {
    (0_u64..).zip(page).flat_map(|(word, &bits)| {
        let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
        let sets = std::iter::successors(Some(bits).filter(|bits| *bits != 0), rest);
        sets.map(move |bits| word * 64 + u64::from(bits.trailing_zeros()))
    })
}

/// Returns the word of an id in its page.
#[inline]
pub(super) fn word(id: u64) -> usize {
    id as usize % PAGE / 64
}

/// Returns the bit of an id in its word.
#[inline]
pub(super) fn bit(id: u64) -> u64 {
    1 << (id % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_the_input() {
        let mut ids = SmallIds::new(1 << 30, 1 << 20);
        ids.allow(100);
        let admitted = (0..1000).filter(|i| ids.admit(i * 4096)).count();
        assert!(admitted > 2 && ids.used <= 1 << 19, "{admitted}");
        assert!(!ids.admit(u64::from(u32::MAX)) && !ids.is_full());
    }

    #[test]
    fn no_more_ids_than_may_have_counters() {
        let mut ids = SmallIds::new(1 << 20, 3);
        ids.allow(1 << 20);
        let admitted: Vec<u64> =
            [7, 64, 7, 5000, 8, 64, 9].into_iter().filter(|&id| ids.admit(id)).collect();
        assert_eq!(admitted, [7, 64, 7, 5000, 64]);
        assert!(ids.is_full());
        assert!(ids.iter().eq([7, 64, 5000]));
        let mut all = SmallIds::new(1 << 20, 3);
        all.allow(1 << 20);
        assert!(all.admit(64) && all.admit(63));
        all.absorb(&ids);
        assert_eq!(all.len(), 4);
        assert!(all.iter().eq([7, 63, 64, 5000]));
        assert_eq!(ids.retire().len(), 3);
        assert!(!ids.admit(7) && ids.len() == 0 && !ids.is_full());
    }
}
