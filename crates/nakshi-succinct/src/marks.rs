//! Marks: the rows whose text positions are kept.
//!
//! Rows are grouped in blocks of 256. A block is the ascending list of the low bytes of its marked
//! rows, and a directory tells where each list begins. At a rate of 32 that takes 0.38 bits a row,
//! where a bit vector with counts takes 1.06, so a look-up also touches less memory.

use crate::bits::{self, HIGHS, ONES};
use crate::{Error, Result, TextBytes};

/// Rows of a block.
const BLOCK: u64 = 256;
/// Bits of an entry of the directory.
const ENTRY: u64 = 32;
const WRONG: Error = Error::corrupt("its directory of sampled rows is not ascending");

/// Bytes of the directory.
pub(crate) fn directory_bytes(rows: u64) -> u64 {
    bits::section((rows.div_ceil(BLOCK) + 1) * ENTRY)
}

/// Marked rows, on the bytes of a compressed text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<B> {
    pub(crate) directory: B,
    pub(crate) lows: B,
}

impl<B: TextBytes> Marks<B> {
    /// Returns the number of marked rows before `row` if `row` is marked, else `None`.
    #[inline]
    pub(crate) fn rank(&self, row: u64) -> Result<Option<u64>> {
        let both = bits::window(self.directory, row / BLOCK * ENTRY).ok_or(WRONG)?;
        let (from, to) = (both & bits::mask(32), both >> 32);
        // a block holds each byte at most once
        if to.wrapping_sub(from) > BLOCK {
            return Err(WRONG);
        }
        let wanted = (row % BLOCK).wrapping_mul(ONES);
        let mut at = from;
        while at < to {
            let different = self.lows.word(at as usize).ok_or(WRONG)? ^ wanted;
            // the lowest zero byte has its high bit set; bytes above it may have it set by a carry
            let zeros = different.wrapping_sub(ONES) & !different & HIGHS;
            if zeros != 0 {
                let found = at + u64::from(zeros.trailing_zeros() / 8);
                return Ok((found < to).then_some(found));
            }
            at += 8;
        }
        Ok(None)
    }

    /// Returns an error unless the lists of `rows` rows are contiguous and hold `count` rows in
    /// all.
    pub(crate) fn check(&self, rows: u64, count: u64) -> Result<()> {
        let mut last = 0;
        for block in 0..=rows.div_ceil(BLOCK) {
            let from = bits::get(self.directory, block * ENTRY, 32).ok_or(WRONG)?;
            if from < last || from - last > BLOCK || (block == 0 && from != 0) {
                return Err(WRONG);
            }
            last = from;
        }
        if last == count { Ok(()) } else { Err(WRONG) }
    }
}

/// Writes marks in order of rows, over zeros.
pub(crate) struct MarksWriter<'a> {
    directory: &'a mut [u8],
    lows: &'a mut [u8],
    /// Number of entries of the directory that are written.
    entries: u64,
    marked: u64,
}

impl<'a> MarksWriter<'a> {
    pub(crate) fn new(directory: &'a mut [u8], lows: &'a mut [u8]) -> Self {
        Self { directory, lows, entries: 0, marked: 0 }
    }

    /// Marks `row`; returns the number of marked rows before it.
    pub(crate) fn mark(&mut self, row: u64) -> u64 {
        self.begin_until(row / BLOCK + 1);
        bits::put(self.lows, self.marked * 8, 8, row % BLOCK);
        self.marked += 1;
        self.marked - 1
    }

    /// Completes the directory of `rows` rows.
    pub(crate) fn finish(mut self, rows: u64) {
        self.begin_until(rows.div_ceil(BLOCK) + 1);
    }

    fn begin_until(&mut self, entries: u64) {
        while self.entries < entries {
            bits::put(self.directory, self.entries * ENTRY, 32, self.marked);
            self.entries += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Seen red with `found < to` left out, so that a look-up reads into the next list.
        #[test]
        fn ranks_are_those_of_a_set(
            rows in 1..3000u64,
            marked in prop_oneof![
                prop::collection::btree_set(0..3000u64, 0..200),
                (0..3000u64, 0..700u64).prop_map(|(from, count)| (from..from + count).collect()),
            ],
        ) {
            let marked: BTreeSet<u64> = marked.into_iter().filter(|row| *row < rows).collect();
            let mut directory = vec![0; directory_bytes(rows) as usize];
            let mut lows = vec![0; bits::section(marked.len() as u64 * 8) as usize];
            let mut writer = MarksWriter::new(&mut directory, &mut lows);
            for (rank, &row) in (0..).zip(&marked) {
                prop_assert_eq!(writer.mark(row), rank);
            }
            writer.finish(rows);
            let marks = Marks { directory: directory.as_slice(), lows: lows.as_slice() };
            prop_assert_eq!(marks.check(rows, marked.len() as u64), Ok(()));
            for row in 0..rows {
                let rank = marked.contains(&row).then(|| marked.range(..row).count() as u64);
                prop_assert_eq!(marks.rank(row), Ok(rank), "row {}", row);
            }
        }
    }
}
