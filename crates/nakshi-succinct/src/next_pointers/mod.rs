//! Next pointers (Psi, the next-pointer array of Succinct): for the row of each suffix, the row of
//! the suffix that is one byte shorter. Contents:
//!
//! - [`NextPointers`]: a pointer, and the first row of a range whose pointer reaches a bound;
//! - `gamma`: gaps in Elias' gamma code, runs of ones in unary or by length;
//! - `elias_fano`: a block in the code of Elias and Fano;
//! - `write`: writes them from an array of pointers.
//!
//! Pointers ascend within the rows of one first byte. They are cut into blocks of equal numbers of
//! rows, regardless of first bytes. Where a pointer is below the one before it, its gap is taken
//! modulo the number of rows. A block is therefore found by a division, and ascends as a whole
//! until it is reduced. A block consists of its first pointer and the code of the others. The
//! directory has for each group of blocks the first pointers, the beginning of the group, and the
//! offsets of blocks in it. A search probes the directory, which is dense and stays in caches
//! longer than blocks; a pointer costs one access to the directory and one to its block.

use std::ops::Range;

use crate::bits;
use crate::layout::{GROUP, TextLayout};
use crate::{Error, Psi, Result, TextBytes};

mod block;
mod elias_fano;
mod gamma;
mod write;

use block::PointerBlock;
pub(crate) use write::{size, write};

const WRONG: Error = Error::corrupt("its next pointers do not decode");

/// Next pointers, on the bytes of a compressed text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextPointers<'a, B> {
    pub(crate) layout: &'a TextLayout,
    pub(crate) body: B,
    pub(crate) directory: B,
}

impl<B: TextBytes> NextPointers<'_, B> {
    /// Returns the next pointer of `row`, which is always a row.
    #[inline]
    pub(crate) fn get(&self, row: u64) -> Result<u64> {
        let (number, within) = self.place(row);
        let (first, block) = self.block(number)?;
        let distance = self.distance(block, within).ok_or(WRONG)?;
        Ok(self.reduce(first + distance))
    }

    /// Returns the first of `rows`, which all begin with the same byte, whose pointer is at least
    /// `bound`; the end of `rows` if there is none.
    pub(crate) fn lower_bound(&self, rows: Range<u64>, bound: u64) -> Result<u64> {
        if rows.is_empty() {
            return Ok(rows.end);
        }
        let size = u64::from(self.layout.header.options.psi_block);
        // the blocks whose first row is in the range; among them the first that reaches the bound
        let (begin, end) = (rows.start.div_ceil(size), rows.end.div_ceil(size));
        let groups = begin.div_ceil(GROUP)..end.div_ceil(GROUP);
        let group = partition(groups, |group| Ok(self.group_first(group)? < bound))?;
        let blocks = begin.max(group.saturating_sub(1) * GROUP)..end.min(group * GROUP);
        let low = partition(blocks, |block| Ok(self.block(block)?.0 < bound))?;
        if low * size == rows.start {
            return Ok(rows.start);
        }
        let number = low - 1;
        let from = number * size;
        let (first, block) = self.block(number)?;
        let mut reached = bound;
        if from < rows.start {
            // unreduced: the bytes before this one may have carried the block beyond the number of
            // rows
            let distance = self.distance(block, rows.start - from).ok_or(WRONG)?;
            let carried = first + distance - self.reduce(first + distance);
            reached += carried;
        }
        let behind = match reached.checked_sub(first) {
            None | Some(0) => 0,
            Some(distance) => self.reach(block, distance).ok_or(WRONG)?,
        };
        Ok((from + behind).clamp(rows.start, rows.end.min(from + size)))
    }

    /// Returns an error unless the blocks are contiguous.
    pub(crate) fn check(&self) -> Result<()> {
        let size = u64::from(self.layout.header.options.psi_block);
        let mut last = 0;
        for number in 0..self.layout.rows().div_ceil(size) {
            let at = self.begin(number)?;
            if at < last || at > self.layout.header.size.body_bits {
                return Err(Error::corrupt("its directory of next pointers is not ascending"));
            }
            last = at;
        }
        Ok(())
    }

    /// The block of a row and its index there.
    #[inline]
    fn place(&self, row: u64) -> (u64, u64) {
        let log = self.layout.header.options.psi_block.trailing_zeros();
        (row >> log, row & bits::mask(log))
    }

    /// The first pointer and the code of a block.
    #[inline]
    fn block(&self, number: u64) -> Result<(u64, PointerBlock<B>)> {
        let at = self.begin(number)?;
        let first = bits::get(self.body, at, self.layout.widths.row).ok_or(WRONG)?;
        let size = u64::from(self.layout.header.options.psi_block);
        let left = self.layout.rows().saturating_sub(number * size).min(size);
        let count = left.checked_sub(1).ok_or(WRONG)?;
        Ok((
            first,
            PointerBlock { body: self.body, at: at + u64::from(self.layout.widths.row), count },
        ))
    }

    /// The bit of the body at which a block begins.
    #[inline]
    fn begin(&self, number: u64) -> Result<u64> {
        let (group, within) = (number / GROUP, number % GROUP);
        let offset_bits = self.layout.widths.offset;
        let mut at = self.group(group) + u64::from(self.layout.widths.row);
        let begin = bits::get(self.directory, at, offset_bits).ok_or(WRONG)?;
        if within == 0 {
            return Ok(begin);
        }
        let place_bits = self.layout.header.size.place_bits;
        at += u64::from(offset_bits) + (within - 1) * u64::from(place_bits);
        Ok(begin + bits::get(self.directory, at, place_bits).ok_or(WRONG)?)
    }

    /// The bit of the directory at which a group begins.
    #[inline]
    fn group(&self, group: u64) -> u64 {
        let fixed = self.layout.widths.row + self.layout.widths.offset;
        group * (u64::from(fixed) + (GROUP - 1) * u64::from(self.layout.header.size.place_bits))
    }

    /// The first pointer of a group.
    #[inline]
    fn group_first(&self, group: u64) -> Result<u64> {
        bits::get(self.directory, self.group(group), self.layout.widths.row).ok_or(WRONG)
    }

    /// The distance of the pointer `behind` rows behind a block's first one from that pointer.
    #[inline]
    fn distance(&self, block: PointerBlock<B>, behind: u64) -> Option<u64> {
        if behind == 0 {
            return Some(0);
        }
        match self.layout.header.options.psi {
            Psi::EliasGamma => gamma::GapReader::<_, false>::new(block).distance(behind),
            Psi::EliasFano => elias_fano::distance(block, behind),
            Psi::Runs => gamma::GapReader::<_, true>::new(block).distance(behind),
        }
    }

    /// The number of rows behind a block's first one at which a pointer's distance is at least
    /// `distance` > 0; one more than there are if none is.
    fn reach(&self, block: PointerBlock<B>, distance: u64) -> Option<u64> {
        match self.layout.header.options.psi {
            Psi::EliasGamma => gamma::GapReader::<_, false>::new(block).reach(distance),
            Psi::EliasFano => elias_fano::reach(block, distance),
            Psi::Runs => gamma::GapReader::<_, true>::new(block).reach(distance),
        }
    }

    #[inline]
    fn reduce(&self, pointer: u64) -> u64 {
        if pointer < self.layout.rows() { pointer } else { pointer % self.layout.rows() }
    }
}

/// The first of `numbers` for which `before` is false, if those for which it is true come first.
fn partition(numbers: Range<u64>, before: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (numbers.start, numbers.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
#[expect(clippy::redundant_closure, reason = "a generic function is for one lifetime only")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gaps of one and others, up to the largest possible.
    fn gaps() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![
            6 => Just(1),
            2 => 2..40u64,
            1 => (0..31u32, any::<u32>()).prop_map(|(bits, low)| 1 << bits | u64::from(low) & bits::mask(bits)),
        ];
        let run = (1..1023usize).prop_map(|count| vec![1; count]);
        let mixed = prop::collection::vec(gap, 0..200);
        (mixed.clone(), run, mixed).prop_map(|(a, b, c)| [a, b, c].concat())
    }

    /// Checks `distance` and `reach` of one code against sums of the gaps.
    fn check(
        gaps: &[u64],
        from: u64,
        encode: impl FnOnce(&[u64], &mut dyn FnMut(u64, u32)),
        distance: impl Fn(PointerBlock<&[u8]>, u64) -> Option<u64>,
        reach: impl Fn(PointerBlock<&[u8]>, u64) -> Option<u64>,
    ) {
        let mut body = vec![0; gaps.len() * 8 + 100];
        let mut at = from;
        encode(gaps, &mut |number, width| {
            bits::put(&mut body, at, width, number);
            at += u64::from(width);
        });
        body.truncate((at.div_ceil(8) + bits::SLACK) as usize);
        let block = PointerBlock { body: body.as_slice(), at: from, count: gaps.len() as u64 };
        let mut sum = 0;
        for (behind, gap) in (1..).zip(gaps) {
            assert_eq!(reach(block, sum + 1), Some(behind), "one more than {} gaps", behind - 1);
            sum += gap;
            assert_eq!(distance(block, behind), Some(sum), "{behind} gaps");
            assert_eq!(reach(block, sum), Some(behind), "all of {behind} gaps");
        }
        assert_eq!(reach(block, sum + 1), Some(gaps.len() as u64 + 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        /// Seen red with the gap behind a run read from bits that a word may not contain.
        #[test]
        fn every_code_leads_where_its_gaps_do(gaps in gaps(), from in 0..64u64) {
            check(&gaps, from, |gaps, emit| gamma::encode::<false>(gaps, emit),
                |block, behind| gamma::GapReader::<_, false>::new(block).distance(behind),
                |block, distance| gamma::GapReader::<_, false>::new(block).reach(distance));
            check(&gaps, from, |gaps, emit| gamma::encode::<true>(gaps, emit),
                |block, behind| gamma::GapReader::<_, true>::new(block).distance(behind),
                |block, distance| gamma::GapReader::<_, true>::new(block).reach(distance));
            check(&gaps, from, |gaps, emit| elias_fano::encode(gaps, emit),
                |block, behind| elias_fano::distance(block, behind),
                |block, distance| elias_fano::reach(block, distance));
        }
    }
}
