//! Next pointers (Psi, the NPA of Succinct): for the row of a suffix the row of the suffix that
//! is one byte shorter. What is inside:
//!
//! - [`Pointers`]: a pointer, and the first row of a range whose pointer reaches a bound;
//! - `gamma`: gaps in Elias' gamma code, runs of ones in unary or by length;
//! - `elias_fano`: a block as a sequence of Elias and Fano;
//! - `write`: all of them from an array of pointers.
//!
//! Pointers ascend within the rows of one first byte. They are cut into blocks of as many rows
//! regardless of bytes, and where a pointer is below the one before it, its gap is taken modulo
//! the number of rows: so a block is found by dividing, and ascends as a whole before it is
//! reduced. The directory has for each block its first pointer and the bit where its code begins.

use std::ops::Range;

use crate::bits;
use crate::layout::Layout;
use crate::{Error, Psi, Result};

mod elias_fano;
mod gamma;
mod write;

pub(crate) use write::{body_bits, write};

const WRONG: Error = Error::corrupt("its next pointers do not decode");

/// Next pointers as they lie in a compressed text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointers<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) body: &'a [u8],
    pub(crate) directory: &'a [u8],
}

/// The code of a block: what stands for the pointers behind its first one, as distances from it.
#[derive(Clone, Copy)]
struct Block<'a> {
    body: &'a [u8],
    at: u64,
    /// Pointers behind the first one.
    count: u64,
}

impl<'a> Pointers<'a> {
    /// The pointer of `row`; always a row.
    #[inline]
    pub(crate) fn get(&self, row: u64) -> Result<u64> {
        let (number, within) = self.place(row);
        let (first, block) = self.block(number)?;
        let distance = self.distance(block, within).ok_or(WRONG)?;
        Ok(self.reduce(first + distance))
    }

    /// The first of `rows`, which all begin with the same byte, whose pointer is at least `bound`;
    /// the end of `rows` if there is none.
    pub(crate) fn lower_bound(&self, rows: Range<u64>, bound: u64) -> Result<u64> {
        if rows.is_empty() {
            return Ok(rows.end);
        }
        let size = u64::from(self.layout.options.psi_block);
        // blocks whose first row is in the range, and of those the first that reaches the bound
        let begin = rows.start.div_ceil(size);
        let (mut low, mut high) = (begin, rows.end.div_ceil(size));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first(middle)? < bound { low = middle + 1 } else { high = middle }
        }
        if low * size == rows.start {
            return Ok(rows.start);
        }
        let number = low - 1;
        let from = number * size;
        let (first, block) = self.block(number)?;
        let mut reached = bound;
        if from < rows.start {
            // not reduced, bytes before this one may have carried the block over the end of rows
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

    /// Whether blocks begin one behind another.
    pub(crate) fn check(&self) -> Result<()> {
        let size = u64::from(self.layout.options.psi_block);
        let mut last = 0;
        for number in 0..self.layout.rows.div_ceil(size) {
            let (first, block) = self.block(number)?;
            if first >= self.layout.rows || block.at < last || block.at > self.layout.body_bits {
                return Err(Error::corrupt("its directory of next pointers is not ascending"));
            }
            last = block.at;
        }
        Ok(())
    }

    /// Block of a row and place in it.
    #[inline]
    fn place(&self, row: u64) -> (u64, u64) {
        let log = self.layout.options.psi_block.trailing_zeros();
        (row >> log, row & bits::mask(log))
    }

    /// First pointer and code of a block.
    #[inline]
    fn block(&self, number: u64) -> Result<(u64, Block<'a>)> {
        let (row_bits, offset_bits) = (self.layout.row_bits, self.layout.offset_bits);
        let entry = number * u64::from(row_bits + offset_bits);
        let first = bits::get(self.directory, entry, row_bits).ok_or(WRONG)?;
        let at = bits::get(self.directory, entry + u64::from(row_bits), offset_bits);
        let size = u64::from(self.layout.options.psi_block);
        let left = self.layout.rows.saturating_sub(number * size).min(size);
        let count = left.checked_sub(1).ok_or(WRONG)?;
        Ok((first, Block { body: self.body, at: at.ok_or(WRONG)?, count }))
    }

    /// First pointer of a block.
    #[inline]
    fn first(&self, number: u64) -> Result<u64> {
        let (row_bits, offset_bits) = (self.layout.row_bits, self.layout.offset_bits);
        bits::get(self.directory, number * u64::from(row_bits + offset_bits), row_bits).ok_or(WRONG)
    }

    /// How far the pointer `behind` rows behind a block's first one is from it.
    #[inline]
    fn distance(&self, block: Block<'_>, behind: u64) -> Option<u64> {
        if behind == 0 {
            return Some(0);
        }
        match self.layout.options.psi {
            Psi::EliasGamma => gamma::Gaps::<false>::new(block).distance(behind),
            Psi::EliasFano => elias_fano::distance(block, behind),
            Psi::Runs => gamma::Gaps::<true>::new(block).distance(behind),
        }
    }

    /// How many rows behind a block's first one a pointer is at least `distance` > 0 from it; one
    /// more than there are if none is.
    fn reach(&self, block: Block<'_>, distance: u64) -> Option<u64> {
        match self.layout.options.psi {
            Psi::EliasGamma => gamma::Gaps::<false>::new(block).reach(distance),
            Psi::EliasFano => elias_fano::reach(block, distance),
            Psi::Runs => gamma::Gaps::<true>::new(block).reach(distance),
        }
    }

    #[inline]
    fn reduce(&self, pointer: u64) -> u64 {
        if pointer < self.layout.rows { pointer } else { pointer % self.layout.rows }
    }
}
