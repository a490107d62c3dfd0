//! List index: the extent of each list, by an Elias-Fano sequence of ascending offsets.
//!
//! For `n` lists over `u` bytes, the low `l` bits of all offsets are adjacent, and the high bits
//! are unary gaps in a bit vector: about `l + 2` bits an offset with `l = log2(u / n)` (Elias 1974,
//! Fano 1971; Vigna, "Quasi-succinct indices", WSDM 2013). Every 64th offset is sampled (half a bit
//! an offset), so a look-up counts bits over a few words. Vertices behind the last nonempty list
//! cost nothing.

use std::ops::Range;

use crate::{Error, Result};

/// One bits between two samples.
const SAMPLE: u64 = 64;
/// Most low bits: with up to seven bits before them they fit a word.
const MAX_LOW: u32 = 57;
/// Bits between two samples beyond which the ones between them are listed. The lists take at most
/// an eighth of a byte a vertex, if every such stretch is just above this length.
const SPARSE: u64 = 4096;

/// Extents of `len` consecutive items of given sizes, with random and sequential access.
#[derive(Clone, Debug, Default)]
pub struct ListIndex {
    /// Number of items, including those behind the last nonempty one.
    len: u64,
    /// Number of items that are stored; the others are empty and lie at `total`.
    stored: u64,
    total: u64,
    low_bits: u32,
    /// Low bits, packed, with eight bytes of slack.
    low: Vec<u8>,
    high: Vec<u64>,
    /// Position in `high` of each 64th one bit, low 32 bits.
    samples: Vec<u32>,
    /// First samples whose positions reach 2^32, 2 * 2^32, ...
    wraps: Vec<u64>,
    /// Samples behind which 64 one bits are spread over more than [`SPARSE`] bits (giant lists),
    /// and for each of them the positions of these bits.
    sparse: Vec<u64>,
    sparse_ones: Vec<u64>,
}

/// The builder of a [`ListIndex`], which gets sizes in order.
#[derive(Debug)]
pub struct ListIndexBuilder {
    index: ListIndex,
    pushed: u64,
    at: u64,
    sum: u64,
}

impl ListIndexBuilder {
    /// Makes a builder for `len` items, of which the first `stored` will be pushed; `total` is
    /// their sum.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the address space is too small.
    pub fn new(len: u64, stored: u64, total: u64) -> Result<Self> {
        let stored = stored.min(len);
        let low_bits = if stored == 0 {
            0
        } else {
            (total / (stored + 1)).checked_ilog2().unwrap_or(0).min(MAX_LOW)
        };
        let ones = stored + 1;
        let high_bits = ones + (total >> low_bits) + 1;
        let words = |bits: u64| {
            usize::try_from(bits.div_ceil(64)).map_err(|_| {
                Error::Unsupported(format!("an index over {len} lists on this machine"))
            })
        };
        let low_total = ones
            .checked_mul(u64::from(low_bits))
            .ok_or_else(|| Error::Unsupported(format!("an index over {len} lists")))?;
        let index = ListIndex {
            len,
            stored,
            total,
            low_bits,
            // eight more bytes, so that every low value may be read as a word
            low: zeroed(words(low_total)? * 8 + 8)?,
            high: zeroed(words(high_bits)?)?,
            samples: Vec::with_capacity(words(ones)?),
            wraps: Vec::new(),
            sparse: Vec::new(),
            sparse_ones: Vec::new(),
        };
        let mut builder = Self { index, pushed: 0, at: 0, sum: 0 };
        builder.place();
        Ok(builder)
    }

    /// Stores offset number `pushed`, which is `sum`.
    #[inline]
    fn place(&mut self) {
        let index = &mut self.index;
        let position = (self.sum >> index.low_bits) + self.pushed;
        if let Some(word) = index.high.get_mut((position / 64) as usize) {
            *word |= 1 << (position % 64);
        }
        if self.pushed.is_multiple_of(SAMPLE) {
            while (index.wraps.len() as u64) < position >> 32 {
                index.wraps.push(index.samples.len() as u64);
            }
            index.samples.push((position & 0xffff_ffff) as u32);
        }
        if index.low_bits > 0 {
            let value = self.sum & ((1 << index.low_bits) - 1);
            let from = (self.at / 8) as usize;
            if let Some(bytes) = index.low.get_mut(from..).and_then(|b| b.first_chunk_mut()) {
                *bytes = (u64::from_le_bytes(*bytes) | value << (self.at % 8)).to_le_bytes();
            }
            self.at += u64::from(index.low_bits);
        }
    }

    /// Adds the size of the next item.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more items than announced, or their sum is larger.
    #[inline]
    pub fn push(&mut self, size: u64) -> Result<()> {
        let sum = self.sum.checked_add(size).filter(|s| *s <= self.index.total);
        let Some(sum) = sum.filter(|_| self.pushed < self.index.stored) else {
            return Err(Error::Invalid(
                "more list lengths, or longer ones, than the manifest says".into(),
            ));
        };
        self.sum = sum;
        self.pushed += 1;
        self.place();
        Ok(())
    }

    /// Returns the finished index.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there were fewer items than announced, or their sum is smaller.
    pub fn finish(mut self) -> Result<ListIndex> {
        if self.pushed != self.index.stored || self.sum != self.index.total {
            return Err(Error::Invalid(
                "fewer list lengths, or shorter ones, than the manifest says".into(),
            ));
        }
        self.list_sparse();
        Ok(self.index)
    }

    /// Lists the one bits of sparse stretches, so that a look-up there does not count over them.
    fn list_sparse(&mut self) {
        let index = &mut self.index;
        for sample in 1..index.samples.len() as u64 {
            let (from, to) = (index.sampled(sample - 1), index.sampled(sample));
            if to - from <= SPARSE {
                continue;
            }
            let mut cursor = index.cursor((sample - 1) * SAMPLE);
            let ones: Vec<u64> = (0..SAMPLE).map(|_| cursor.next_one().unwrap_or(to)).collect();
            index.sparse.push(sample - 1);
            index.sparse_ones.extend_from_slice(&ones);
        }
    }
}

fn zeroed<T: Clone + Default>(count: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    let needed = count as u64 * size_of::<T>() as u64;
    v.try_reserve_exact(count).map_err(|_| Error::Budget { needed, given: 0 })?;
    v.resize(count, T::default());
    Ok(v)
}

impl ListIndex {
    /// Builds an index from sizes in memory.
    ///
    /// # Errors
    /// Same as [`ListIndexBuilder::new`].
    pub fn from_sizes(sizes: &[u64]) -> Result<Self> {
        let stored = sizes.iter().rposition(|s| *s > 0).map_or(0, |p| p + 1);
        let total = sizes
            .iter()
            .try_fold(0u64, |a, s| a.checked_add(*s))
            .ok_or_else(|| Error::Invalid("sizes exceed 64 bits".into()))?;
        let mut builder = ListIndexBuilder::new(sizes.len() as u64, stored as u64, total)?;
        for &size in sizes.iter().take(stored) {
            builder.push(size)?;
        }
        builder.finish()
    }

    /// Returns the number of items.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the sum of all sizes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of items up to and including the last nonempty one.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Returns the heap bytes.
    pub fn memory(&self) -> u64 {
        let words = self.high.len() + self.wraps.len() + self.sparse.len() + self.sparse_ones.len();
        words as u64 * 8 + self.low.len() as u64 + self.samples.len() as u64 * 4
    }

    /// Returns the extent of item `i`; an empty one, at the end, for items that do not exist.
    #[inline]
    pub fn extent(&self, i: u64) -> Range<u64> {
        if i >= self.stored {
            return self.total..self.total;
        }
        let mut cursor = self.cursor(i);
        let from = cursor.next_offset();
        from..cursor.next_offset()
    }

    /// Reads what the extents of some items are made of, so that the processor fetches it for all of
    /// them at once. An extent is a chain of reads, each at a place that the one before it names.
    #[inline]
    pub fn touch(&self, items: impl Iterator<Item = u64>) {
        let mut words = [0usize; SAMPLE as usize];
        let (mut count, mut read) = (0, 0);
        for (slot, item) in words.iter_mut().zip(items) {
            let item = item.min(self.stored);
            let low = (item.wrapping_mul(u64::from(self.low_bits)) / 8) as usize;
            read ^= self.low.get(low).copied().map_or(0, u64::from);
            *slot = (self.sampled(item / SAMPLE) / 64) as usize;
            count += 1;
        }
        for &word in words.iter().take(count) {
            read ^= self.high.get(word).copied().unwrap_or(0);
        }
        std::hint::black_box(read);
    }

    /// Returns the offset of item `i`; the total for items that do not exist.
    #[inline]
    pub fn offset(&self, i: u64) -> u64 {
        if i >= self.stored { self.total } else { self.cursor(i).next_offset() }
    }

    /// Returns the extents of items `range` in order, at about a nanosecond each.
    pub fn extents(&self, range: Range<u64>) -> Extents<'_> {
        let end = range.end.min(self.len);
        let from = range.start.min(end);
        let mut cursor = self.cursor(from.min(self.stored));
        let at = cursor.next_offset();
        Extents { cursor, at, next: from, stored: self.stored, end }
    }

    /// Returns the position in `high` of the one bit with number `sample * 64`.
    #[inline]
    fn sampled(&self, sample: u64) -> u64 {
        let low = self.samples.get(sample as usize).copied().map_or(0, u64::from);
        if self.wraps.is_empty() {
            return low;
        }
        low + ((self.wraps.iter().take_while(|w| **w <= sample).count() as u64) << 32)
    }

    /// Returns a cursor whose next offset is that of item `i` <= `stored`.
    #[inline]
    fn cursor(&self, i: u64) -> OffsetCursor<'_> {
        let sample = i / SAMPLE;
        let mut position = self.sampled(sample);
        let mut skip = (i % SAMPLE) as u32;
        if skip > 0
            && !self.sparse.is_empty()
            && self.sampled(sample + 1).saturating_sub(position) > SPARSE
            && let Ok(at) = self.sparse.binary_search(&sample)
        {
            let listed = self.sparse_ones.get(at * 64 + skip as usize);
            position = listed.copied().unwrap_or(position);
            skip = 0;
        }
        let mut word = (position / 64) as usize;
        let mut bits = self.high.get(word).copied().unwrap_or(0) & (u64::MAX << (position % 64));
        while skip > 0 {
            let (kept, counted) = drop_ones(bits, skip);
            bits = kept;
            if bits != 0 || counted == skip {
                break;
            }
            skip -= counted;
            word += 1;
            match self.high.get(word) {
                Some(w) => bits = *w,
                None => break,
            }
        }
        OffsetCursor { index: self, word, bits, i }
    }
}

#[derive(Clone, Debug)]
struct OffsetCursor<'a> {
    index: &'a ListIndex,
    word: usize,
    /// One bits of `high[word]` that are not yet passed.
    bits: u64,
    /// The item of the next offset.
    i: u64,
}

impl OffsetCursor<'_> {
    /// Returns the position in `high` of the next one bit. Nothing here can overflow; wrapping
    /// arithmetic saves the checks.
    #[inline]
    fn next_one(&mut self) -> Option<u64> {
        while self.bits == 0 {
            self.word = self.word.wrapping_add(1);
            self.bits = *self.index.high.get(self.word)?;
        }
        let position = (self.word as u64).wrapping_mul(64) | u64::from(self.bits.trailing_zeros());
        self.bits &= self.bits.wrapping_sub(1);
        Some(position)
    }

    /// Passes over `count` offsets.
    #[inline]
    fn skip(&mut self, count: u64) {
        for _ in 0..count {
            self.next_one();
        }
        self.i = self.i.wrapping_add(count);
    }

    #[inline]
    fn next_offset(&mut self) -> u64 {
        let Some(position) = self.next_one() else { return self.index.total };
        let width = self.index.low_bits;
        let at = self.i.wrapping_mul(u64::from(width));
        let bytes = self.index.low.get((at / 8) as usize..).and_then(|b| b.first_chunk());
        let mask = (1u64 << width).wrapping_sub(1);
        let low = bytes.map_or(0, |b| u64::from_le_bytes(*b)) >> (at % 8) & mask;
        let high = position.wrapping_sub(self.i);
        self.i = self.i.wrapping_add(1);
        high << width | low
    }
}

/// A one in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Returns `bits` without its lowest `skip` ones, and the number of ones removed.
///
/// Counts the ones of all bytes in parallel (Knuth, The Art of Computer Programming 4A, section
/// 7.1.3), because a portable build has no instruction for it.
#[inline]
fn drop_ones(bits: u64, skip: u32) -> (u64, u32) {
    let pairs = bits.wrapping_sub(bits >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333).wrapping_add(pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = fours.wrapping_add(fours >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // byte k holds the number of ones in bytes 0 to k
    let sums = bytes.wrapping_mul(ONES);
    let all = (sums >> 56) as u32;
    if all <= skip {
        return (0, all);
    }
    let whole = at_most(sums, u64::from(skip)) * 8;
    let left = u64::from(skip).wrapping_sub(sums << 8 >> whole & 0xff);
    // the same within the byte with the first one that stays: bit k of that byte alone in byte k
    let spread = (bits >> whole & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201;
    let sums = (spread.wrapping_add(0x7f * ONES) >> 7 & ONES).wrapping_mul(ONES);
    (bits & u64::MAX << (whole + at_most(sums, left)), skip)
}

/// Returns how many of the eight ascending bytes of `sums`, each below 128, are at most `bound` <
/// 128.
#[inline]
fn at_most(sums: u64, bound: u64) -> u64 {
    // a byte that is at most `bound` keeps its high bit
    let highs = 0x80 * ONES;
    let kept = ((bound.wrapping_mul(ONES) | highs).wrapping_sub(sums) & highs) >> 7;
    kept.wrapping_mul(ONES) >> 56
}

/// An iterator over consecutive extents; see [`ListIndex::extents`].
#[derive(Clone, Debug)]
pub struct Extents<'a> {
    cursor: OffsetCursor<'a>,
    at: u64,
    next: u64,
    stored: u64,
    end: u64,
}

impl Iterator for Extents<'_> {
    type Item = Range<u64>;

    #[inline]
    fn next(&mut self) -> Option<Range<u64>> {
        if self.next >= self.end {
            return None;
        }
        let from = self.at;
        if self.next < self.stored {
            self.at = self.cursor.next_offset();
        }
        self.next = self.next.wrapping_add(1);
        Some(from..self.at)
    }

    /// Passes over `n` extents, without their low bits, and returns the next one.
    #[inline(always)]
    fn nth(&mut self, n: usize) -> Option<Range<u64>> {
        if let Some(others) = (n as u64).checked_sub(1) {
            self.cursor.skip(self.stored.saturating_sub(self.next).min(others));
            self.next = self.next.saturating_add(others).min(self.end);
            if self.next >= self.stored {
                self.at = self.cursor.index.total;
            }
            self.next();
        }
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Extents<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(sizes: &[u64]) {
        let index = ListIndex::from_sizes(sizes).expect("small");
        let mut at = 0;
        let expected: Vec<_> = sizes
            .iter()
            .map(|s| {
                at += s;
                at - s..at
            })
            .collect();
        for (i, e) in expected.iter().enumerate() {
            assert_eq!(index.extent(i as u64), *e, "item {i} of {sizes:?}");
            assert_eq!(index.offset(i as u64), e.start);
        }
        let n = sizes.len() as u64;
        assert_eq!(index.extents(0..n).collect::<Vec<_>>(), expected);
        for step in [2, 3, 65] {
            let each: Vec<_> = index.extents(0..n).step_by(step).collect();
            assert_eq!(each, expected.iter().step_by(step).cloned().collect::<Vec<_>>());
            let mut rest = index.extents(1..n);
            let some: Vec<_> = std::iter::from_fn(|| rest.nth(step)).collect();
            let after = expected.iter().skip(1).skip(step).step_by(step + 1);
            assert_eq!(some, after.cloned().collect::<Vec<_>>());
        }
        for from in [n / 3, n / 2, n] {
            let tail: Vec<_> = index.extents(from..n + 7).collect();
            assert_eq!(tail, expected.get(from as usize..).expect("in range"));
        }
        assert_eq!(index.extent(n + 3), at..at);
    }

    proptest! {
        #[test]
        fn agrees_with_a_vec(
            sizes in prop::collection::vec(prop_oneof![3 => 0..4u64, 3 => 0..200u64, 1 => 0..100_000u64, 1 => Just(0)], 0..600),
            zeros in 0..300usize,
        ) {
            let mut sizes = sizes;
            sizes.resize(sizes.len() + zeros, 0);
            check(&sizes);
        }
    }

    #[test]
    fn dropping_ones_drops_the_lowest() {
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..1000 {
            bits = bits.rotate_left(13).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ bits >> 7;
            for word in [bits, bits & bits >> 9, bits | bits << 5, u64::MAX, 1 << 63, 1] {
                for skip in 0..=64u32 {
                    let mut expected = word;
                    (0..skip).for_each(|_| expected &= expected.wrapping_sub(1));
                    assert_eq!(
                        drop_ones(word, skip),
                        (expected, skip.min(word.count_ones())),
                        "{word:x} {skip}"
                    );
                }
            }
        }
    }

    #[test]
    fn giant_lists_among_small_ones() {
        let sizes: Vec<u64> =
            (0..1000).map(|i| if i % 90 == 3 { 700_000 } else { i % 5 }).collect();
        check(&sizes);
        let falling: Vec<u64> = (1..3000u64).map(|i| 3_000_000 / (i * i) + 1).collect();
        check(&falling);
    }

    #[test]
    fn offsets_beyond_32_bits() {
        check(&[1 << 40, 0, 5, 1 << 50, 3]);
        check(&[0; 300]);
        check(&[]);
    }

    #[test]
    fn lengths_that_do_not_add_up_are_refused() {
        let mut b = ListIndexBuilder::new(3, 2, 10).expect("small");
        b.push(4).expect("fits");
        assert!(b.push(7).is_err());
        assert!(ListIndexBuilder::new(3, 2, 10).expect("small").finish().is_err());
    }
}
