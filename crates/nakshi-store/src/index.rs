//! Where each list lies: an Elias-Fano sequence of ascending offsets.
//!
//! For `n` lists over `u` bytes, the low `l` bits of each offset stand side by side and the high
//! bits are unary gaps in a bit vector, about `l + 2` bits an offset with `l = log2(u / n)`
//! (Elias 1974, Fano 1971; Vigna, "Quasi-succinct indices", WSDM 2013). Every 64th one is
//! sampled (half a bit an offset), so a look-up counts bits over a few words. Vertices behind
//! the last non-empty list cost nothing.

use std::ops::Range;

use crate::{Error, Result};

/// Ones between two samples.
const SAMPLE: u64 = 64;

/// Extents of `len` consecutive items of given sizes, random access and sequential.
#[derive(Clone, Debug, Default)]
pub struct ListIndex {
    /// Items, including those behind the last non-empty one.
    len: u64,
    /// Items that are stored; the rest are empty and lie at `total`.
    stored: u64,
    total: u64,
    low_bits: u32,
    low: Vec<u64>,
    high: Vec<u64>,
    /// Position in `high` of each 64th one, low 32 bits.
    samples: Vec<u32>,
    /// First sample whose position reaches 2^32, 2 * 2^32, ...
    wraps: Vec<u64>,
}

/// Builds a [`ListIndex`] from sizes in order.
#[derive(Debug)]
pub struct ListIndexBuilder {
    index: ListIndex,
    pushed: u64,
    at: u64,
    sum: u64,
}

impl ListIndexBuilder {
    /// For `len` items, of which the first `stored` will be pushed, `total` in sum.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the address space is too small.
    pub fn new(len: u64, stored: u64, total: u64) -> Result<Self> {
        let stored = stored.min(len);
        let low_bits =
            if stored == 0 { 0 } else { (total / (stored + 1)).checked_ilog2().unwrap_or(0) };
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
            // one word more, so that a low value may be read as two words
            low: zeroed(words(low_total)? + 1)?,
            high: zeroed(words(high_bits)?)?,
            samples: Vec::with_capacity(words(ones)?),
            wraps: Vec::new(),
        };
        let mut builder = Self { index, pushed: 0, at: 0, sum: 0 };
        builder.place();
        Ok(builder)
    }

    /// Sets the bits of offset `sum`, the `pushed`-th.
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
            let shift = (self.at % 64) as u32;
            let word = (self.at / 64) as usize;
            if let Some(slot) = index.low.get_mut(word) {
                *slot |= value << shift;
            }
            if shift + index.low_bits > 64
                && let Some(slot) = index.low.get_mut(word + 1)
            {
                *slot |= value >> (64 - shift);
            }
            self.at += u64::from(index.low_bits);
        }
    }

    /// The next item's size.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more items, or more in sum, than announced.
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

    /// The finished index.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there were fewer items, or less in sum, than announced.
    pub fn finish(self) -> Result<ListIndex> {
        if self.pushed != self.index.stored || self.sum != self.index.total {
            return Err(Error::Invalid(
                "fewer list lengths, or shorter ones, than the manifest says".into(),
            ));
        }
        Ok(self.index)
    }
}

fn zeroed(words: usize) -> Result<Vec<u64>> {
    let mut v = Vec::new();
    v.try_reserve_exact(words).map_err(|_| Error::Budget { needed: words as u64 * 8, given: 0 })?;
    v.resize(words, 0);
    Ok(v)
}

impl ListIndex {
    /// From sizes in memory.
    ///
    /// # Errors
    /// As [`ListIndexBuilder::new`].
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

    /// Number of items.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Sum of all sizes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Items up to and including the last that is not empty.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// Heap bytes.
    pub fn memory(&self) -> u64 {
        (self.low.len() as u64 + self.high.len() as u64 + self.wraps.len() as u64) * 8
            + self.samples.len() as u64 * 4
    }

    /// Extent of item `i`; empty, at the end, for items that do not exist.
    #[inline]
    pub fn extent(&self, i: u64) -> Range<u64> {
        if i >= self.stored {
            return self.total..self.total;
        }
        let mut cursor = self.cursor(i);
        let from = cursor.next_offset();
        from..cursor.next_offset()
    }

    /// Offset of item `i`; the total for items that do not exist.
    #[inline]
    pub fn offset(&self, i: u64) -> u64 {
        if i >= self.stored { self.total } else { self.cursor(i).next_offset() }
    }

    /// Extents of items `range`, in order, at about a nanosecond each.
    pub fn extents(&self, range: Range<u64>) -> Extents<'_> {
        let end = range.end.min(self.len);
        let from = range.start.min(end);
        let mut cursor = self.cursor(from.min(self.stored));
        let at = cursor.next_offset();
        Extents { cursor, at, next: from, stored: self.stored, end }
    }

    /// A cursor whose next offset is that of item `i` <= `stored`.
    #[inline]
    fn cursor(&self, i: u64) -> Cursor<'_> {
        let sample = i / SAMPLE;
        let wraps = self.wraps.iter().take_while(|w| **w <= sample).count() as u64;
        let position =
            u64::from(self.samples.get(sample as usize).copied().unwrap_or(0)) + (wraps << 32);
        let mut word = (position / 64) as usize;
        let mut bits = self.high.get(word).copied().unwrap_or(0) & (u64::MAX << (position % 64));
        let mut skip = (i % SAMPLE) as u32;
        loop {
            let ones = bits.count_ones();
            if skip < ones {
                break;
            }
            skip -= ones;
            word += 1;
            match self.high.get(word) {
                Some(w) => bits = *w,
                None => break,
            }
        }
        for _ in 0..skip {
            bits &= bits.wrapping_sub(1);
        }
        Cursor { index: self, word, bits, i }
    }
}

#[derive(Clone, Debug)]
struct Cursor<'a> {
    index: &'a ListIndex,
    word: usize,
    /// Ones of `high[word]` not yet passed.
    bits: u64,
    /// The item whose offset comes next.
    i: u64,
}

impl Cursor<'_> {
    #[inline]
    fn next_offset(&mut self) -> u64 {
        while self.bits == 0 {
            self.word += 1;
            match self.index.high.get(self.word) {
                Some(w) => self.bits = *w,
                None => return self.index.total,
            }
        }
        let position = self.word as u64 * 64 + u64::from(self.bits.trailing_zeros());
        self.bits &= self.bits - 1;
        let high = position - self.i;
        let offset = (high << self.index.low_bits) | self.low();
        self.i += 1;
        offset
    }

    #[inline]
    fn low(&self) -> u64 {
        let width = self.index.low_bits;
        if width == 0 {
            return 0;
        }
        let at = self.i * u64::from(width);
        let (word, shift) = ((at / 64) as usize, (at % 64) as u32);
        let pair = |k: usize| u128::from(self.index.low.get(k).copied().unwrap_or(0));
        let both = pair(word) | pair(word + 1) << 64;
        ((both >> shift) as u64) & ((1 << width) - 1)
    }
}

/// Iterator over consecutive extents; see [`ListIndex::extents`].
#[derive(Clone, Debug)]
pub struct Extents<'a> {
    cursor: Cursor<'a>,
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
        self.next += 1;
        Some(from..self.at)
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
