//! A block of next pointers in the code of Elias (1974) and Fano (1971), each block with a width of
//! its own, as in partitioned indexes (Ottaviano and Venturini, SIGIR 2014).
//!
//! The coded number of a pointer is its distance from the block's first pointer, less its index in
//! the block. This number never decreases, and stays 0 throughout a run. The code is six bits of
//! width `l`, the low `l` bits of every number, and the high bits as unary gaps. The high bits of a
//! block have at most two zeros for each one, so a look-up counts over a few words and needs no
//! directory within the block.

use super::block::PointerBlock;
use crate::TextBytes;
use crate::bits::{self, WIDEST};

/// Bits of the width.
const HEADER: u32 = 6;

/// Most bits of the high part of a block of `count` numbers, plus one word.
fn longest(count: u64) -> u64 {
    3 * count + 65
}

/// See [`NextPointers::distance`](super::NextPointers).
#[inline]
pub(super) fn distance(block: PointerBlock<impl TextBytes>, behind: u64) -> Option<u64> {
    let width = width(block)?;
    let low_at = block.at + u64::from(HEADER);
    let high_at = low_at + block.count * u64::from(width);
    let number = behind.checked_sub(1)?;
    let low = bits::get(block.body, low_at + number * u64::from(width), width)?;
    let high = select(block.body, high_at, number, longest(block.count))? - number;
    Some((high << width | low) + behind)
}

/// See [`NextPointers::reach`](super::NextPointers).
pub(super) fn reach(block: PointerBlock<impl TextBytes>, target: u64) -> Option<u64> {
    let (mut low, mut high) = (1, block.count + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if distance(block, middle)? < target { low = middle + 1 } else { high = middle }
    }
    Some(low)
}

#[inline]
fn width(block: PointerBlock<impl TextBytes>) -> Option<u32> {
    // the width must be less than the bits of a word, since the high part is shifted by it
    let width = bits::get(block.body, block.at, HEADER)? as u32;
    (width < WIDEST - 16).then_some(width)
}

/// Number of bits before the one bit that has `rank` ones before it, counted from bit `from`;
/// `None` if it is not among the first `most` bits.
#[inline]
fn select(body: impl TextBytes, from: u64, rank: u64, most: u64) -> Option<u64> {
    let mut left = rank as u32;
    let mut at = 0;
    while at < most {
        // a word read at any bit is sure to hold only this many bits
        let word = bits::get(body, from + at, 56)?;
        let ones = word.count_ones();
        if left < ones {
            return Some(at + u64::from(bits::select(word, left)));
        }
        left -= ones;
        at += 56;
    }
    None
}

/// Writes gaps by calls of `emit`, which takes a number and its width.
pub(super) fn encode(gaps: &[u64], mut emit: impl FnMut(u64, u32)) {
    let count = gaps.len() as u64;
    let numbers = || {
        gaps.iter().scan(0, |sum, gap| {
            *sum += gap - 1;
            Some(*sum)
        })
    };
    let last: u64 = gaps.iter().map(|gap| gap - 1).sum();
    let width = last.checked_div(count).and_then(u64::checked_ilog2).unwrap_or(0);
    emit(u64::from(width), HEADER);
    numbers().for_each(|number| emit(number & bits::mask(width), width));
    let mut high = 0;
    for number in numbers() {
        let mut zeros = (number >> width) - high;
        high = number >> width;
        while zeros > 0 {
            let step = zeros.min(32);
            emit(0, step as u32);
            zeros -= step;
        }
        emit(1, 1);
    }
}
