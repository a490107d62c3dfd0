//! Sets of vertices as bitmaps, plain and shared between workers.

use nakshi_store::VertexId;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fixed-size set of small integers, one bit each, in words that are plain or shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits<W> {
    words: Vec<W>,
    len: usize,
}

/// A set of small integers that one thread fills.
pub type Bitmap = Bits<u64>;

/// A [`Bitmap`] that workers fill at the same time.
pub type AtomicBitmap = Bits<AtomicU64>;

impl<W> Bits<W> {
    /// Size of the universe (not of the set).
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the universe is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The members of a word whose first bit has the number `base`.
fn members(base: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            base + bit
        })
    })
}

/// The word that flags make, up to 64 bytes of which each is 0 or not.
pub(crate) fn word_of(flags: &[u8]) -> u64 {
    // In each byte its lowest bit, or all but its highest one.
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let eights = flags.chunks(8).enumerate();
    eights.fold(0, |word, (k, flags)| {
        let mut eight = [0; 8];
        eight[..flags.len()].copy_from_slice(flags);
        let bytes = u64::from_le_bytes(eight);
        let ones = (((bytes & HIGH) + HIGH) | bytes) >> 7 & LOW;
        // Adds up the byte at place i times 2^i in the highest byte.
        word | (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k)
    })
}

fn words_for(len: usize) -> usize {
    len.div_ceil(64)
}

impl Bitmap {
    /// An empty set over `0..len`.
    pub fn new(len: usize) -> Self {
        #[cfg(test)]
        crate::work::add(words_for(len));
        Bitmap { words: vec![0; words_for(len)], len }
    }

    /// The set of all of `0..len`.
    pub fn full(len: usize) -> Self {
        let mut words = vec![u64::MAX; words_for(len)];
        if let Some(last) = words.last_mut()
            && !len.is_multiple_of(64)
        {
            *last = (1 << (len % 64)) - 1;
        }
        Bitmap { words, len }
    }

    /// Returns true if `i` is in the set; `false` beyond the universe.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
    }

    /// Adds `i`; without effect beyond the universe.
    #[inline]
    pub fn set(&mut self, i: usize) {
        if i < self.len
            && let Some(w) = self.words.get_mut(i / 64)
        {
            *w |= 1 << (i % 64);
        }
    }

    /// Adds `from..to`, as far as it is in the universe.
    pub fn set_range(&mut self, from: usize, to: usize) {
        let to = to.min(self.len);
        let ends = from / 64..to.div_ceil(64);
        for (k, word) in self.words.iter_mut().enumerate().take(ends.end).skip(ends.start) {
            let low = from.saturating_sub(64 * k).min(64);
            let high = (to - 64 * k).min(64);
            if low < high {
                *word |= (u64::MAX >> (64 - high)) & (u64::MAX << low);
            }
        }
    }

    /// Removes `i`.
    #[inline]
    pub fn clear(&mut self, i: usize) {
        if let Some(w) = self.words.get_mut(i / 64) {
            *w &= !(1 << (i % 64));
        }
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The 64-bit words, bit `i % 64` of word `i / 64` for member `i`.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, for passes over whole blocks. Bits beyond the universe must stay 0.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Adds the members of `other`, a set over the same universe.
    pub(crate) fn unite(&mut self, other: &Bitmap) {
        self.words.iter_mut().zip(&other.words).for_each(|(w, o)| *w |= o);
    }

    /// Everything that is not in the set.
    pub(crate) fn complement(&self) -> Bitmap {
        let mut rest = Bitmap::full(self.len);
        rest.words.iter_mut().zip(&self.words).for_each(|(r, w)| *r &= !w);
        rest
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter_in(0, self.len)
    }

    /// The members in `from..to` in ascending order.
    pub fn iter_in(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        self.words_in(from, to).flat_map(|(base, word)| members(base, word))
    }

    /// Number of members in `from..to`.
    pub(crate) fn count_in(&self, from: usize, to: usize) -> usize {
        self.words_in(from, to).map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// The words that have bits of `from..to`, without other bits, each with the number of its first
    /// bit.
    #[inline]
    pub(crate) fn words_in(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (usize, u64)> + '_ {
        let to = to.min(self.len);
        let first = from / 64;
        let last = words_for(to).max(first);
        #[cfg(test)]
        crate::work::add(last - first);
        let words = self.words.get(first..last.min(self.words.len())).unwrap_or(&[]);
        words.iter().enumerate().map(move |(k, &word)| {
            let base = (first + k) * 64;
            let mut word = word;
            if base < from {
                word &= u64::MAX << (from - base);
            }
            if base + 64 > to {
                word &= (1u64 << (to - base)) - 1;
            }
            (base, word)
        })
    }
}

impl AtomicBitmap {
    /// An empty set over `0..len`.
    pub fn new(len: usize) -> Self {
        #[cfg(test)]
        crate::work::add(words_for(len));
        AtomicBitmap { words: (0..words_for(len)).map(|_| AtomicU64::new(0)).collect(), len }
    }

    /// Returns true if `i` is in the set.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words.get(i / 64).is_some_and(|w| w.load(Ordering::Relaxed) >> (i % 64) & 1 == 1)
    }

    /// Adds `i` and tells whether this call was the one that added it.
    #[inline]
    pub fn set(&self, i: usize) -> bool {
        let bit = 1u64 << (i % 64);
        match self.words.get(i / 64) {
            Some(w) if i < self.len => {
                w.load(Ordering::Relaxed) & bit == 0
                    && w.fetch_or(bit, Ordering::Relaxed) & bit == 0
            }
            _ => false,
        }
    }

    /// Adds `i`, for one thread alone, and tells whether it is new.
    #[inline]
    pub(crate) fn insert(&mut self, i: usize) -> bool {
        let bit = 1u64 << (i % 64);
        match self.words.get_mut(i / 64).map(AtomicU64::get_mut) {
            Some(word) if i < self.len && *word & bit == 0 => {
                *word |= bit;
                true
            }
            _ => false,
        }
    }

    /// Removes `i`, for one thread alone, and tells whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, i: usize) -> bool {
        let bit = 1u64 << (i % 64);
        let Some(word) = self.words.get_mut(i / 64).map(AtomicU64::get_mut) else { return false };
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// The members in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len()).flat_map(|k| members(64 * k, self.word(k)))
    }

    /// Stores a whole word (bits `64 k ..`); for passes in which one worker owns the block.
    #[inline]
    pub fn store_word(&self, k: usize, word: u64) {
        if let Some(w) = self.words.get(k) {
            w.store(word, Ordering::Relaxed);
        }
    }

    /// Adds the members of a word (bits `64 k ..`).
    #[inline]
    pub fn unite_word(&self, k: usize, word: u64) {
        if let Some(w) = self.words.get(k) {
            w.fetch_or(word, Ordering::Relaxed);
        }
    }

    /// A whole word (bits `64 k ..`).
    #[inline]
    pub fn word(&self, k: usize) -> u64 {
        self.words.get(k).map_or(0, |w| w.load(Ordering::Relaxed))
    }

    /// Removes all members.
    pub fn clear_all(&mut self) {
        for w in &mut self.words {
            *w.get_mut() = 0;
        }
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.load(Ordering::Relaxed).count_ones() as usize).sum()
    }

    /// A copy, as a plain bitmap.
    pub fn copied(&self) -> Bitmap {
        let words = self.words.iter().map(|w| w.load(Ordering::Relaxed)).collect();
        Bitmap { words, len: self.len }
    }

    /// The plain bitmap, without a copy.
    pub fn into_bitmap(self) -> Bitmap {
        Bitmap { words: self.words.into_iter().map(AtomicU64::into_inner).collect(), len: self.len }
    }

    /// The same set, open for sharing, without a copy.
    pub fn from_bitmap(bits: Bitmap) -> Self {
        AtomicBitmap { words: bits.words.into_iter().map(AtomicU64::new).collect(), len: bits.len }
    }
}

/// A set of vertices with its size at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VertexSet {
    bits: Bitmap,
    count: usize,
}

impl VertexSet {
    /// An empty set over `n` vertices.
    pub fn new(n: usize) -> Self {
        VertexSet { bits: Bitmap::new(n), count: 0 }
    }

    /// The set of all `n` vertices.
    pub fn full(n: usize) -> Self {
        VertexSet { bits: Bitmap::full(n), count: n }
    }

    /// The set of some of `n` vertices, each named once.
    pub(crate) fn of(n: usize, members: &[VertexId]) -> Self {
        let mut bits = Bitmap::new(n);
        members.iter().for_each(|&v| bits.set(v as usize));
        VertexSet { bits, count: members.len() }
    }

    /// Adds a vertex and tells whether it is new.
    pub fn insert(&mut self, v: VertexId) -> bool {
        let i = v as usize;
        let new = i < self.bits.len() && !self.bits.get(i);
        if new {
            self.bits.set(i);
            self.count += 1;
        }
        new
    }

    /// Removes a vertex.
    pub(crate) fn remove(&mut self, v: VertexId) {
        self.count -= usize::from(self.contains(v));
        self.bits.clear(v as usize);
    }

    /// Returns true if `v` is a member.
    #[inline]
    pub fn contains(&self, v: VertexId) -> bool {
        self.bits.get(v as usize)
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns true if there is no member.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The members that are not in `other`, a set over the same universe.
    pub(crate) fn without(self, other: &AtomicBitmap) -> Self {
        let mut bits = self.bits;
        bits.words_mut().iter_mut().enumerate().for_each(|(k, word)| *word &= !other.word(k));
        bits.into()
    }

    /// Size of the universe: the number of vertices of the graph.
    pub fn universe(&self) -> usize {
        self.bits.len()
    }

    /// The bits.
    pub fn bits(&self) -> &Bitmap {
        &self.bits
    }

    /// Gives the bits back, for reuse of their memory.
    pub fn into_bits(self) -> Bitmap {
        self.bits
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        // The universe has at most 2^32 members.
        self.bits.iter().map(|i| i as VertexId)
    }
}

impl From<Bitmap> for VertexSet {
    fn from(bits: Bitmap) -> Self {
        let count = bits.count();
        VertexSet { bits, count }
    }
}

impl From<AtomicBitmap> for VertexSet {
    fn from(bits: AtomicBitmap) -> Self {
        bits.into_bitmap().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_word_has_the_flags(flags in prop::collection::vec(0u8..=255, 0..65)) {
            let flags: Vec<u8> = flags.into_iter().map(|f| if f % 2 == 0 { 0 } else { f }).collect();
            let word = word_of(&flags);
            for bit in 0..64 {
                let flag = flags.get(bit).is_some_and(|flag| *flag != 0);
                prop_assert_eq!(word >> bit & 1 == 1, flag);
            }
        }

        #[test]
        fn a_range_is_its_members(len in 0usize..300, from in 0usize..320, to in 0usize..320) {
            let (mut at_once, mut one_by_one) = (Bitmap::new(len), Bitmap::new(len));
            at_once.set_range(from, to);
            (from..to).for_each(|i| one_by_one.set(i));
            prop_assert_eq!(at_once, one_by_one);
        }

        #[test]
        fn iter_in_equals_filter(len in 0usize..300, from in 0usize..320, to in 0usize..320, seed: u64) {
            let mut bits = Bitmap::new(len);
            for i in 0..len {
                if (seed.rotate_left(i as u32) ^ (i as u64 * 0x9E37_79B9)) & 3 == 0 {
                    bits.set(i);
                }
            }
            let (from, to) = (from.min(to), from.max(to));
            let got: Vec<usize> = bits.iter_in(from, to).collect();
            let expected: Vec<usize> = (from..to).filter(|&i| bits.get(i)).collect();
            prop_assert_eq!(bits.count_in(from, to), expected.len());
            prop_assert_eq!(got, expected);
            prop_assert_eq!(bits.iter().count(), bits.count());
            prop_assert_eq!(Bitmap::full(len).count(), len);
            let mut rest = bits.complement();
            prop_assert!((0..len).all(|i| rest.get(i) != bits.get(i)));
            prop_assert_eq!(rest.count() + bits.count(), len);
            rest.unite(&bits);
            prop_assert_eq!(rest, Bitmap::full(len));
        }
    }

    #[test]
    fn atomic_set_reports_first() {
        let bits = AtomicBitmap::new(70);
        assert!(bits.set(69));
        assert!(!bits.set(69));
        assert!(!bits.set(70));
        assert_eq!(bits.into_bitmap().iter().collect::<Vec<_>>(), vec![69]);
    }
}
