//! Ascending integers with random access, as Elias-Fano: each takes about two bits and the
//! logarithm of the mean gap. Equal neighbours are allowed.
//!
//! The lowest `l` bits of each number stand side by side. The rest is unary: number `i` sets bit
//! `(number >> l) + i`. The positions of every 64th set bit are stored, so that finding a set bit
//! counts the bits of a few words.

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::packed::{Packed, width_of};
use nakshi_store::Result;

/// Numbers between two stored positions.
const STEP: u64 = 64;
/// Words of unary bits that a search looks through before it halves.
const FEW: u64 = 16;

/// Location of such integers in a [`Blob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EliasFano {
    len: u64,
    low_bits: u8,
    low: Packed,
    /// First byte of the unary bits.
    high: u64,
    /// Words of 64 unary bits.
    words: u64,
    places: Packed,
}

impl EliasFano {
    /// Appends `values`, which must not descend.
    pub(super) fn write(values: &[u64], out: &mut Vec<u8>) -> EliasFano {
        let last = values.last().copied().unwrap_or(0);
        Self::write_all(values.len() as u64, last, values.iter().copied(), out)
    }

    /// Appends `len` values up to `last`, which must not descend.
    pub(super) fn write_all(
        len: u64,
        last: u64,
        values: impl Iterator<Item = u64> + Clone,
        out: &mut Vec<u8>,
    ) -> EliasFano {
        let low_bits = width_of(last.checked_div(len).unwrap_or(0)).saturating_sub(1);
        let low_mask = (1u64 << low_bits) - 1;
        let low = Packed::write(values.clone().map(|v| v & low_mask), low_bits, out);
        let bits = (last >> low_bits) + len + 1;
        let words = bits.div_ceil(64);
        let mut unary = vec![0u64; words as usize];
        let mut places = Vec::new();
        for (i, value) in (0..).zip(values) {
            let bit = (value >> low_bits) + i;
            if let Some(word) = unary.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
            if i % STEP == 0 {
                places.push(bit);
            }
        }
        let high = out.len() as u64;
        unary.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        let places = Packed::write(places, width_of(bits), out);
        EliasFano { len, low_bits, low, high, words, places }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The same integers in a file into which these bytes were copied at `base`.
    pub(super) fn moved(self, base: u64) -> Self {
        let (low, places) = (self.low.moved(base), self.places.moved(base));
        EliasFano { low, high: self.high + base, places, ..self }
    }

    /// Number `i`.
    #[inline]
    pub(super) fn get(&self, blob: &Blob, i: u64) -> Result<u64> {
        self.from(blob, i)?.next().unwrap_or_else(|| Err(self.ends_early(blob)))
    }

    /// Numbers `i` and `i + 1`, the beginning and the end of a range.
    #[inline]
    pub(super) fn pair(&self, blob: &Blob, i: u64) -> Result<(u64, u64)> {
        if i + 1 >= self.len {
            return Err(self.ends_early(blob));
        }
        let mut from = self.from(blob, i)?;
        Ok((from.advance()?, from.advance()?))
    }

    /// The numbers from `i` on.
    pub(super) fn from<'a>(&self, blob: &'a Blob, i: u64) -> Result<Iter<'a>> {
        let mut iter = Iter { of: *self, blob, i, word: 0, bits: 0 };
        if i >= self.len {
            return Ok(iter);
        }
        let place = self.places.get(blob, i / STEP)?;
        iter.word = place / 64;
        iter.bits = self.unary(blob, iter.word)? & (u64::MAX << (place % 64));
        let mut skip = i % STEP;
        loop {
            let ones = u64::from(iter.bits.count_ones());
            if skip < ones {
                break;
            }
            skip -= ones;
            iter.word += 1;
            iter.bits = self.unary(blob, iter.word)?;
        }
        iter.bits = without_first(iter.bits, skip);
        Ok(iter)
    }

    /// How many numbers are at most `value`.
    pub(super) fn at_most(&self, blob: &Blob, value: u64) -> Result<u64> {
        self.search(blob, value).map(|(count, _)| count)
    }

    /// The place of the last number that is `value`; `None` if none is.
    pub(super) fn find(&self, blob: &Blob, value: u64) -> Result<Option<u64>> {
        let (count, is_last) = self.search(blob, value)?;
        Ok(is_last.then(|| count - 1))
    }

    /// How many numbers are at most `value`, and whether the last of them is it.
    fn search(&self, blob: &Blob, value: u64) -> Result<(u64, bool)> {
        let part = value.checked_shr(self.low_bits.into()).unwrap_or(0);
        let rest = value & !part.checked_shl(self.low_bits.into()).unwrap_or(0);
        // The first step whose number has this high part, or a higher one.
        let (mut step, mut end) = (0, self.places.len());
        while step < end {
            let middle = step + (end - step) / 2;
            match self.places.get(blob, middle)?.wrapping_sub(middle * STEP) < part {
                true => step = middle + 1,
                false => end = middle,
            }
        }
        let first = match step.checked_sub(1) {
            None => Some(0),
            Some(before) => self.first_of(blob, part, before)?,
        };
        let Some(first) = first else {
            return self.bisect(blob, value, (step - 1) * STEP);
        };
        // Numbers with the same high part are set bits side by side.
        let mut is_last = false;
        for i in first..self.len.min(first + STEP) {
            let bit = part.wrapping_add(i);
            if self.unary(blob, bit / 64)? >> (bit % 64) & 1 == 0 {
                return Ok((i, is_last));
            }
            let low = self.low(blob, i)?;
            if low > rest {
                return Ok((i, is_last));
            }
            is_last = low == rest;
        }
        self.bisect(blob, value, self.len.min(first + STEP))
    }

    /// The first number with this high part or a higher one, which step `before` has not; `None` if it is far
    /// away.
    fn first_of(&self, blob: &Blob, part: u64, before: u64) -> Result<Option<u64>> {
        let place = self.places.get(blob, before)?;
        let (mut skip, mut word) = ((part - 1).wrapping_sub(place - before * STEP), place / 64);
        let mut clear = !self.unary(blob, word)? & (u64::MAX << (place % 64));
        for _ in 0..FEW {
            let count = u64::from(clear.count_ones());
            if skip < count {
                let bit = 64 * word + u64::from(without_first(clear, skip).trailing_zeros());
                return Ok(Some(bit - (part - 1)));
            }
            (skip, word) = (skip - count, word + 1);
            if word >= self.words {
                break;
            }
            clear = !self.unary(blob, word)?;
        }
        Ok(None)
    }

    /// As [`EliasFano::search`], if at least `low` numbers are at most `value`.
    fn bisect(&self, blob: &Blob, value: u64, mut low: u64) -> Result<(u64, bool)> {
        let mut high = self.len;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(blob, middle)? <= value { low = middle + 1 } else { high = middle }
        }
        let last = low.checked_sub(1).map(|last| self.get(blob, last)).transpose()?;
        Ok((low, last == Some(value)))
    }

    /// The lowest bits of number `i`.
    #[inline]
    fn low(&self, blob: &Blob, i: u64) -> Result<u64> {
        // Where the numbers lie close to each other, there are none.
        if self.low_bits == 0 { Ok(0) } else { self.low.get(blob, i) }
    }

    /// A word of the unary bits.
    #[inline]
    fn unary(&self, blob: &Blob, word: u64) -> Result<u64> {
        if word >= self.words {
            return Err(self.ends_early(blob));
        }
        blob.word((self.high + 8 * word) as usize)
    }

    #[cold]
    fn ends_early(&self, blob: &Blob) -> nakshi_store::Error {
        blob.damaged(self.high as usize, "ascending numbers end early")
    }
}

/// A word without its lowest `count` set bits, of which it has more (Vigna, "Broadword Implementation of
/// Rank/Select Queries", WEA 2008, algorithm 2).
#[inline]
fn without_first(word: u64, count: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let pairs = word - ((word >> 1) & (0x55 * ONES));
    let nibbles = (pairs & (0x33 * ONES)) + ((pairs >> 2) & (0x33 * ONES));
    // Byte i has the number of set bits up to its end.
    let sums = ((nibbles + (nibbles >> 4)) & (0x0f * ONES)).wrapping_mul(ONES);
    // The bytes whose ends are not beyond `count` bits: the high bit of each stays set.
    let whole = ((count * ONES) | (0x80 * ONES)).wrapping_sub(sums) & (0x80 * ONES);
    let shift = whole.count_ones() * 8;
    let before = (sums << 8).checked_shr(shift).unwrap_or(0) & 0xff;
    let mut rest = word & u64::MAX.checked_shl(shift).unwrap_or(0);
    for _ in before..count {
        rest &= rest.wrapping_sub(1);
    }
    rest
}

/// Iterator over numbers in their order.
pub(super) struct Iter<'a> {
    of: EliasFano,
    blob: &'a Blob,
    i: u64,
    word: u64,
    bits: u64,
}

impl Iter<'_> {
    #[inline]
    fn advance(&mut self) -> Result<u64> {
        while self.bits == 0 {
            self.word += 1;
            self.bits = self.of.unary(self.blob, self.word)?;
        }
        let bit = 64 * self.word + u64::from(self.bits.trailing_zeros());
        self.bits &= self.bits - 1;
        let high = bit.wrapping_sub(self.i);
        let low = self.of.low(self.blob, self.i)?;
        self.i += 1;
        Ok(high.checked_shl(self.of.low_bits.into()).unwrap_or(0) | low)
    }
}

impl Iterator for Iter<'_> {
    type Item = Result<u64>;

    #[inline]
    fn next(&mut self) -> Option<Result<u64>> {
        (self.i < self.of.len).then(|| self.advance())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_left_out(word in any::<u64>(), sparse in any::<u64>(), count in 0..64u64) {
            for word in [word, word & sparse, word | sparse, u64::MAX] {
                let count = count.min(u64::from(word.count_ones()).saturating_sub(1));
                let slow = (0..count).fold(word, |rest, _| rest & rest.wrapping_sub(1));
                prop_assert_eq!(without_first(word, count), slow);
            }
        }

        /// Seen red with a search that skips one set bit too few, and with the positions of every
        /// 63rd number.
        #[test]
        fn numbers_are_found(gaps in prop::collection::vec(prop_oneof![3 => 0..4u64, 1 => 0..1u64 << 40], 0..400), before in 0..9usize) {
            let values: Vec<u64> = gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) }).collect();
            let mut bytes = Vec::new();
            let monotone = EliasFano::write(&values, &mut bytes).moved(before as u64);
            let bytes = [vec![0xff; before], bytes].concat();
            let blob = Blob::of(&bytes).unwrap();
            for (i, value) in (0..).zip(&values) {
                prop_assert_eq!(monotone.get(&blob, i).unwrap(), *value);
                let expected = values.iter().filter(|v| *v <= value).count() as u64;
                prop_assert_eq!(monotone.at_most(&blob, *value).unwrap(), expected);
                prop_assert_eq!(monotone.find(&blob, *value).unwrap(), Some(expected - 1));
                for value in [value.saturating_sub(1), value + 1, value + 70, 2 * value] {
                    let expected = values.partition_point(|v| *v <= value) as u64;
                    prop_assert_eq!(monotone.at_most(&blob, value).unwrap(), expected);
                    let last = values.iter().rposition(|v| *v == value).map(|last| last as u64);
                    prop_assert_eq!(monotone.find(&blob, value).unwrap(), last);
                }
            }
            let middle = values.len() / 2;
            let rest: Vec<u64> = monotone.from(&blob, middle as u64).unwrap().map(|v| v.unwrap()).collect();
            prop_assert_eq!(&rest[..], &values[middle..]);
            prop_assert!(monotone.get(&blob, values.len() as u64).is_err());
        }
    }
}
