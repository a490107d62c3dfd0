//! Gaps in Elias' gamma code ("Universal codeword sets", 1975): a number whose highest bit is the
//! `z`-th is coded as `z` zeros, a one, and its lower `z` bits. A gap of one is a single one bit.
//!
//! Two codes share a reader, because both consist of runs of gaps of one, each ended by a larger
//! gap. In the first code the gaps are adjacent, and the reader takes a run by counting ones. In
//! the second (`RUNS`) the length of the run plus one is itself a number, and the gap less one
//! follows, unless the block ends with the run.

use super::block::PointerBlock;
use crate::TextBytes;
use crate::bits::{self, WIDEST};

/// Most ones that one read of a word yields; a word read at any bit has one more bit.
const MOST_ONES: u32 = WIDEST - 1;
/// Most zeros of a number: gaps are below 2^31.
const MOST_ZEROS: u32 = 31;

/// Reads a block from its start.
pub(super) struct GapReader<B, const RUNS: bool> {
    body: B,
    at: u64,
    count: u64,
}

impl<B: TextBytes, const RUNS: bool> GapReader<B, RUNS> {
    #[inline]
    pub(super) fn new(block: PointerBlock<B>) -> Self {
        Self { body: block.body, at: block.at, count: block.count }
    }

    /// Returns a run of gaps of one and the gap that ends it, or 0 if the run may continue.
    /// Consumes at least one bit, so that reading ends on any bytes.
    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        if RUNS { self.next_run() } else { self.next_unary() }
    }

    #[inline]
    fn next_unary(&mut self) -> Option<(u64, u64)> {
        let word = bits::window(self.body, self.at)?;
        let ones = word.trailing_ones().min(MOST_ONES);
        let rest = word >> ones;
        let zeros = rest.trailing_zeros();
        if ones + 2 * zeros < WIDEST {
            self.at += u64::from(ones + 2 * zeros + 1);
            return Some((u64::from(ones), number(rest, zeros)));
        }
        self.at += u64::from(ones);
        Some((u64::from(ones), if ones > 0 { 0 } else { self.long()? }))
    }

    #[inline]
    fn next_run(&mut self) -> Option<(u64, u64)> {
        let word = bits::window(self.body, self.at)?;
        let run_zeros = word.trailing_zeros();
        let run_bits = 2 * run_zeros + 1;
        if run_bits < WIDEST {
            let run = number(word, run_zeros) - 1;
            let rest = word >> run_bits;
            let zeros = rest.trailing_zeros();
            if run_bits + 2 * zeros < WIDEST {
                self.at += u64::from(run_bits + 2 * zeros + 1);
                return Some((run, number(rest, zeros) + 1));
            }
            self.at += u64::from(run_bits);
            return Some((run, self.long_or_end()?));
        }
        let run = self.long()?.checked_sub(1)?;
        Some((run, self.long_or_end()?))
    }

    /// Reads a number of any length.
    #[inline(never)]
    fn long(&mut self) -> Option<u64> {
        let zeros = bits::window(self.body, self.at)?.trailing_zeros();
        if zeros > MOST_ZEROS {
            return None;
        }
        self.at += u64::from(zeros) + 1;
        let low = bits::get(self.body, self.at, zeros)?;
        self.at += u64::from(zeros);
        Some(1 << zeros | low)
    }

    /// Reads the gap behind a run; behind the last run of all there may be nothing but slack.
    #[inline(never)]
    fn long_or_end(&mut self) -> Option<u64> {
        if bits::window(self.body, self.at)?.trailing_zeros() > MOST_ZEROS {
            return Some(0);
        }
        Some(self.long()? + 1)
    }

    /// Returns the sum of the first `behind` > 0 gaps.
    #[inline]
    pub(super) fn distance(mut self, behind: u64) -> Option<u64> {
        let (mut sum, mut left) = (0u64, behind);
        loop {
            let (ones, gap) = self.next()?;
            if ones >= left {
                return Some(sum + left);
            }
            sum += ones + gap;
            left -= ones + u64::from(gap > 0);
            if left == 0 {
                return Some(sum);
            }
        }
    }

    /// Returns the number of gaps whose sum reaches `distance` > 0; one more than there are if the
    /// sum of all is less.
    pub(super) fn reach(mut self, distance: u64) -> Option<u64> {
        let (mut sum, mut rows) = (0u64, 0u64);
        while rows < self.count {
            let (ones, gap) = self.next()?;
            if ones >= distance - sum {
                return Some((rows + distance - sum).min(self.count + 1));
            }
            sum += ones + gap;
            rows += ones + u64::from(gap > 0);
            if sum >= distance {
                return Some(rows.min(self.count + 1));
            }
        }
        Some(self.count + 1)
    }
}

/// Returns the number that begins with `zeros` zeros and lies within the word.
#[inline]
fn number(word: u64, zeros: u32) -> u64 {
    1 << zeros | word >> zeros >> 1 & bits::mask(zeros)
}

/// Writes gaps by calls of `emit`, which takes a number and its width.
pub(super) fn encode<const RUNS: bool>(gaps: &[u64], mut emit: impl FnMut(u64, u32)) {
    let mut code = |number: u64| {
        let zeros = number.ilog2();
        emit(1 << zeros, zeros + 1);
        emit(number & bits::mask(zeros), zeros);
    };
    if !RUNS {
        gaps.iter().for_each(|gap| code(*gap));
        return;
    }
    let mut run = 0;
    for &gap in gaps {
        if gap == 1 {
            run += 1;
        } else {
            code(run + 1);
            code(gap - 1);
            run = 0;
        }
    }
    if run > 0 {
        code(run + 1);
    }
}
