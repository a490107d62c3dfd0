//! Numbers of any width in a byte string, lowest bit first. Reads may begin at any bit. Sections
//! end in eight bytes of slack ([`SLACK`]), so that every number in them can be read as a word.

use crate::TextBytes;

/// Number of zero bytes behind the last number.
pub(crate) const SLACK: u64 = 8;
/// Widest number that a word read at any bit contains.
pub(crate) const WIDEST: u32 = 57;

/// Width in bits of the numbers `0..=max`.
pub(crate) fn width_of(max: u64) -> u32 {
    u64::BITS - max.leading_zeros()
}

/// Bytes of a section of `bits` bits, with its slack, rounded up to whole words.
pub(crate) fn section(bits: u64) -> u64 {
    (bits.div_ceil(8) + SLACK).next_multiple_of(8)
}

/// A mask of the lowest `width` < 64 bits.
#[inline]
pub(crate) fn mask(width: u32) -> u64 {
    1u64.wrapping_shl(width).wrapping_sub(1)
}

/// The bits from `at` on: at least [`WIDEST`] of them, with zeros above.
#[inline]
pub(crate) fn window(bytes: impl TextBytes, at: u64) -> Option<u64> {
    Some(bytes.word((at / 8) as usize)? >> (at % 8))
}

/// The number of `width` <= [`WIDEST`] bits at bit `at`.
#[inline]
pub(crate) fn get(bytes: impl TextBytes, at: u64, width: u32) -> Option<u64> {
    Some(window(bytes, at)? & mask(width))
}

/// Writes a number of `width` <= [`WIDEST`] bits over zeros.
#[inline]
pub(crate) fn put(bytes: &mut [u8], at: u64, width: u32, value: u64) {
    debug_assert!(width <= WIDEST && value <= mask(width), "{value} does not fit {width} bits");
    let room = bytes.get_mut((at / 8) as usize..).and_then(|rest| rest.first_chunk_mut());
    if let Some(room) = room {
        *room = (u64::from_le_bytes(*room) | value << (at % 8)).to_le_bytes();
    }
}

/// A one in each byte.
pub(crate) const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte.
pub(crate) const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Position of the one bit that has `rank` one bits below it; 64 if there are fewer.
///
/// The ones of all bytes are counted in parallel (Vigna, "Broadword implementation of rank/select
/// queries", WEA 2008), because a portable build has no instruction for it.
#[inline]
pub(crate) fn select(word: u64, rank: u32) -> u32 {
    let pairs = word.wrapping_sub(word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333).wrapping_add(pairs >> 2 & 0x3333_3333_3333_3333);
    let bytes = fours.wrapping_add(fours >> 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // byte k holds the number of ones in bytes 0 to k
    let sums = bytes.wrapping_mul(ONES);
    if u64::from(rank) >= sums >> 56 {
        return 64;
    }
    // a byte whose sum is at most `rank` keeps its high bit
    let kept = ((u64::from(rank).wrapping_mul(ONES) | HIGHS).wrapping_sub(sums) & HIGHS) >> 7;
    let whole = (kept.wrapping_mul(ONES) >> 56) as u32 * 8;
    let before = (sums << 8 >> whole & 0xff) as u32;
    let mut byte = word >> whole & 0xff;
    for _ in before..rank {
        byte &= byte.wrapping_sub(1);
    }
    whole + byte.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Seen red with `put` shifting by one bit too many.
        #[test]
        fn numbers_come_back(
            numbers in prop::collection::vec((any::<u64>(), 0..=WIDEST), 0..200),
        ) {
            let bits = numbers.iter().map(|n| u64::from(n.1)).sum();
            let mut bytes = vec![0; section(bits) as usize];
            let mut at = 0;
            for &(value, width) in &numbers {
                put(&mut bytes, at, width, value & mask(width));
                at += u64::from(width);
            }
            at = 0;
            for &(value, width) in &numbers {
                prop_assert_eq!(get(bytes.as_slice(), at, width), Some(value & mask(width)));
                at += u64::from(width);
            }
        }

        /// Seen red with `whole` counting bytes whose sum is below `rank`, not at most it.
        #[test]
        fn select_finds_every_one(word in any::<u64>(), thin in any::<u64>()) {
            for word in [word, word & thin, word | thin, u64::MAX, 0, 1 << 63] {
                let ones = (0..64).filter(|k| word >> k & 1 == 1);
                for (rank, position) in (0..).zip(ones) {
                    prop_assert_eq!(select(word, rank), position);
                }
                prop_assert_eq!(select(word, word.count_ones()), 64);
            }
        }
    }

    #[test]
    fn widths_are_the_least_that_hold() {
        assert_eq!([0, 1, 2, 255, 256].map(width_of), [0, 1, 2, 8, 9]);
    }
}
