//! Buckets: the first byte of each row's suffix. The rows of one byte are contiguous, in the order
//! of the bytes.

use std::ops::Range;

use crate::{Error, Result, TextBytes, bits};

const WRONG: Error = Error::corrupt("its table of bytes is not ascending");
/// Logarithm of the most entries of the jump table.
const JUMPS: u32 = 10;
/// Bits of the first row in a word; the byte is stored above them.
const ROW_BITS: u32 = 56;

/// The table of first bytes, in memory.
#[derive(Clone, Debug)]
pub(crate) struct Buckets {
    /// First row of each byte that occurs, and finally the number of rows.
    first: Vec<u32>,
    bytes: Vec<u8>,
    /// For each value of the rows' high bits, the last bucket that begins at or before the first
    /// row with that value.
    jumps: Vec<u8>,
    shift: u32,
}

impl Buckets {
    /// Makes the table from the number of occurrences of each byte.
    pub(crate) fn of_counts(counts: &[u64; 256]) -> Result<Self> {
        let mut first = Vec::with_capacity(257);
        let mut bytes = Vec::with_capacity(256);
        // row 0 is the empty suffix
        let mut row = 1;
        for (byte, &count) in (0..=u8::MAX).zip(counts) {
            if count > 0 {
                first.push(u32::try_from(row).map_err(|_| WRONG)?);
                bytes.push(byte);
                row += count;
            }
        }
        Self::new(first, bytes, row)
    }

    /// Makes the table from the words of [`Buckets::words`], for the given number of rows.
    pub(crate) fn of_words(section: impl TextBytes, rows: u64) -> Result<Self> {
        let mut first = Vec::with_capacity(257);
        let mut bytes: Vec<u8> = Vec::with_capacity(256);
        for word in (0..256).map_while(|number| section.word(8 * number)) {
            let (row, byte) = (word & bits::mask(ROW_BITS), (word >> ROW_BITS) as u8);
            if bytes.last().is_some_and(|last| *last >= byte) {
                return Err(WRONG);
            }
            first.push(u32::try_from(row).map_err(|_| WRONG)?);
            bytes.push(byte);
        }
        Self::new(first, bytes, rows)
    }

    fn new(mut first: Vec<u32>, bytes: Vec<u8>, rows: u64) -> Result<Self> {
        let end = u32::try_from(rows).map_err(|_| WRONG)?;
        first.push(end);
        if first.first() != Some(&1) || !first.is_sorted_by(|a, b| a < b) {
            return Err(WRONG);
        }
        let shift = bits::width_of(rows).saturating_sub(JUMPS);
        let mut jumps = Vec::with_capacity(1 << JUMPS);
        let mut bucket = 0;
        for row in (0..end).step_by(1 << shift) {
            while first.get(bucket + 1).is_some_and(|next| *next <= row) {
                bucket += 1;
            }
            jumps.push((bucket & 0xff) as u8);
        }
        Ok(Self { first, bytes, jumps, shift })
    }

    /// Returns a word for each byte that occurs: its first row, and above [`ROW_BITS`] bits the
    /// byte.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        let rows = self.first.iter().map(|row| u64::from(*row));
        rows.zip(&self.bytes).map(|(row, byte)| u64::from(*byte) << ROW_BITS | row)
    }

    /// Returns the number of distinct bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the first byte of the suffix of a row other than 0.
    #[inline]
    pub(crate) fn byte(&self, row: u64) -> Option<u8> {
        let mut bucket = usize::from(*self.jumps.get((row >> self.shift) as usize)?);
        while u64::from(*self.first.get(bucket + 1)?) <= row {
            bucket += 1;
        }
        self.bytes.get(bucket).copied()
    }

    /// Returns the rows of the suffixes that begin with `byte`.
    pub(crate) fn rows(&self, byte: u8) -> Range<u64> {
        let range = self.bytes.binary_search(&byte).ok().and_then(|bucket| {
            let (from, to) = (self.first.get(bucket)?, self.first.get(bucket + 1)?);
            Some(u64::from(*from)..u64::from(*to))
        });
        range.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// Seen red with a jump that names the bucket after the right one.
    #[test]
    fn every_row_has_its_byte() -> Result<()> {
        for scale in [1, 7, 1000] {
            let counts = std::array::from_fn(|byte| ((byte * byte) % 5 * scale) as u64);
            let buckets = Buckets::of_counts(&counts)?;
            let mut row = 1;
            for (byte, &count) in (0..=u8::MAX).zip(&counts) {
                let rows = if count == 0 { 0..0 } else { row..row + count };
                assert_eq!(buckets.rows(byte), rows);
                assert!(rows.into_iter().all(|row| buckets.byte(row) == Some(byte)));
                row += count;
            }
            assert_eq!(buckets.byte(row), None);
            let words: Vec<u64> = buckets.words().collect();
            let again = Buckets::of_words(section(&words).as_slice(), row)?;
            assert_eq!((again.first, again.bytes), (buckets.first, buckets.bytes));
        }
        Ok(())
    }

    /// Seen red with a byte that may occur twice.
    #[test]
    fn tables_that_do_not_ascend_are_refused() {
        let entry = |byte: u64, row: u64| byte << 56 | row;
        for words in [
            vec![entry(1, 2)],
            vec![entry(1, 1), entry(1, 3)],
            vec![entry(1, 1), entry(2, 1)],
            vec![entry(1, 1), entry(2, 9)],
        ] {
            assert!(Buckets::of_words(section(&words).as_slice(), 9).is_err(), "{words:x?}");
        }
        assert!(Buckets::of_words(section(&[]).as_slice(), 1).is_ok());
        assert!(Buckets::of_words(section(&[]).as_slice(), 2).is_err());
    }
}
