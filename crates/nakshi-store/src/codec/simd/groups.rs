//! Groups of eight gaps: with AVX2 where the processor has it, else by the scalar twin, which defines the
//! result.
//!
//! Eight gaps of `w` bits take exactly `w` bytes, so each half of them begins at a whole or half
//! byte. Two unaligned loads, one byte shuffle, one variable shift and one mask bring each gap into
//! a lane of its own, and three shifted additions compute the prefix sum. Only widths up to 25 (and
//! 32) exist, so that a gap and the bits before it fit its lane.

use crate::codec::coded::Fault;
use crate::codec::lanes::GROUP;

/// Position of the decoder in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockCursor {
    /// Next byte.
    pub(super) at: usize,
    /// Last neighbour.
    pub(super) last: u32,
    /// Largest neighbour of this block so far.
    pub(super) largest: u32,
}

/// Returns true if this processor has AVX2.
#[inline]
pub(super) fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Decodes the groups with the given `widths`; the cursor is at their data.
pub(super) fn groups_scalar(
    bytes: &[u8],
    widths: &[u8],
    cursor: &mut BlockCursor,
    slots: &mut [u32],
) -> Result<(), Fault> {
    let mut largest = cursor.largest;
    for (group, &width) in slots.chunks_mut(GROUP).zip(widths) {
        if width > 32 || (26..32).contains(&width) {
            return Err(Fault::Width);
        }
        let size = (group.len() * usize::from(width)).div_ceil(8);
        let packed = bytes.get(cursor.at..).filter(|p| p.len() >= size).ok_or(Fault::Short)?;
        cursor.at += size;
        let mask = (1u64 << width) - 1;
        for (i, slot) in group.iter_mut().enumerate() {
            let bit = i * usize::from(width);
            let gap = (word(packed, bit / 8) >> (bit % 8)) & mask;
            // `mask` has at most 32 bits
            cursor.last = cursor.last.wrapping_add((gap & 0xffff_ffff) as u32);
            largest = largest.max(cursor.last);
            *slot = cursor.last;
        }
    }
    cursor.largest = largest;
    Ok(())
}

/// Returns eight bytes from `at` on, little endian, with zeros behind the end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return u64::from_le_bytes(*whole);
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::*;

    use super::BlockCursor;
    use crate::VertexId;
    use crate::codec::lanes::{BLOCK, GROUP};

    /// The vectors that unpack eight gaps of one width.
    #[repr(C, align(32))]
    struct UnpackPattern {
        shuffle: [u8; 32],
        shift: [u32; 8],
        mask: [u32; 8],
    }

    /// Indexed by width. Rows of widths that do not exist are zero; the caller refuses them.
    static UNPACK_PATTERNS: [UnpackPattern; 33] = {
        let mut all =
            [const { UnpackPattern { shuffle: [0; 32], shift: [0; 8], mask: [0; 8] } }; 33];
        let mut width = 0;
        while width <= 32 {
            let mut i = 0;
            while i < 8 {
                // the upper four gaps begin at byte width / 2, in a 128-bit lane of their own
                let bit = if i < 4 { i * width } else { (i - 4) * width + 4 * (width % 2) };
                if width <= 25 || width == 32 {
                    all[width].mask[i] = ((1u64 << width) - 1) as u32;
                    all[width].shift[i] = (bit % 8) as u32;
                    let mut byte = 0;
                    while byte < 4 {
                        all[width].shuffle[i * 4 + byte] = (bit / 8 + byte) as u8;
                        byte += 1;
                    }
                }
                i += 1;
            }
            width += 1;
        }
        all
    };

    /// Most bytes from a group's first byte on that the two loads touch.
    const REACH: usize = 32;

    /// Returns the widths of the next `count` gaps if all of them exist and their groups can be
    /// read whole; otherwise the scalar twin finds the fault.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::codec::simd) fn widths(bytes: &[u8], at: usize, count: usize) -> Option<&[u8]> {
        let groups = count.div_ceil(GROUP);
        // No closures here: they would be compiled without AVX2 and called.
        let row: &[u8; BLOCK / GROUP] = bytes.get(at..)?.first_chunk()?;
        // SAFETY: the row has 16 bytes.
        let all = unsafe { _mm_loadu_si128(row.as_ptr().cast()) };
        let places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        // Lossless: at most 16.
        let own = _mm_and_si128(all, _mm_cmpgt_epi8(_mm_set1_epi8(groups as i8), places));
        let too_wide = _mm_cmpeq_epi8(_mm_max_epu8(own, _mm_set1_epi8(33)), own);
        let above_25 = _mm_sub_epi8(own, _mm_set1_epi8(26));
        let unused = _mm_cmpeq_epi8(_mm_min_epu8(above_25, _mm_set1_epi8(5)), above_25);
        let wrong = _mm_movemask_epi8(_mm_or_si128(too_wide, unused));
        // A group of eight gaps of `w` bits takes `w` bytes.
        let sums = _mm_sad_epu8(own, _mm_setzero_si128());
        let sum = _mm_cvtsi128_si32(sums) + _mm_extract_epi32::<2>(sums);
        let end = at + groups + sum.cast_unsigned() as usize + REACH;
        if wrong != 0 || end > bytes.len() { None } else { row.get(..groups) }
    }

    /// Position of a decoder in the groups of a list.
    pub(in crate::codec::simd) struct GroupDecoder<'a> {
        bytes: &'a [u8],
        /// Offset of the next group.
        pub(in crate::codec::simd) at: usize,
        /// The last id, in all lanes.
        carry: __m256i,
        /// Largest ids so far; the largest lane is their maximum.
        pub(in crate::codec::simd) largest: __m256i,
    }

    impl<'a> GroupDecoder<'a> {
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::codec::simd) fn new(bytes: &'a [u8], at: usize, last: VertexId) -> Self {
            let last = _mm256_set1_epi32(last.cast_signed());
            Self { bytes, at, carry: last, largest: last }
        }

        /// Decodes the ids of a group of eight.
        ///
        /// # Safety
        /// The width is one that [`widths`] returned for this position.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::codec::simd) unsafe fn whole(&mut self, width: u8) -> __m256i {
            // SAFETY: promised by the caller.
            let sums = unsafe { self.sums(width) };
            let ids = _mm256_add_epi32(sums, self.carry);
            let last = _mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(7));
            self.carry = _mm256_add_epi32(self.carry, last);
            self.largest = _mm256_max_epu32(self.largest, ids);
            self.at += usize::from(width);
            ids
        }

        /// Decodes the ids of a group of `own` < 8, with zeros behind them; also returns a mask of
        /// their lanes.
        ///
        /// # Safety
        /// As [`Self::whole`].
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::codec::simd) unsafe fn short(
            &mut self,
            width: u8,
            own: usize,
        ) -> (__m256i, __m256i) {
            // SAFETY: promised by the caller.
            let sums = unsafe { self.sums(width) };
            // The other lanes hold bits of whatever follows.
            let mine = first_lanes(own);
            let ids = _mm256_and_si256(_mm256_add_epi32(sums, self.carry), mine);
            self.carry = _mm256_permutevar8x32_epi32(ids, _mm256_set1_epi32(own as i32 - 1));
            self.largest = _mm256_max_epu32(self.largest, ids);
            self.at += (own * usize::from(width)).div_ceil(8);
            (ids, mine)
        }

        /// Returns the running sums of the eight gaps of the next group, without the ids before
        /// them.
        ///
        /// # Safety
        /// As [`Self::whole`].
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn sums(&self, width: u8) -> __m256i {
            // SAFETY: `width` <= 32 is a row of the table, whose parts are aligned; the loads end
            // at most at `at + 32 / 2 + 16`, which is REACH, and that many bytes can be read.
            let (packed, shuffle, shift, mask) = unsafe {
                let at = self.bytes.as_ptr().add(self.at);
                let row = UNPACK_PATTERNS.get_unchecked(usize::from(width));
                let low = _mm_loadu_si128(at.cast());
                let high = _mm_loadu_si128(at.add(usize::from(width) / 2).cast());
                (
                    _mm256_set_m128i(high, low),
                    _mm256_load_si256(row.shuffle.as_ptr().cast()),
                    _mm256_load_si256(row.shift.as_ptr().cast()),
                    _mm256_load_si256(row.mask.as_ptr().cast()),
                )
            };
            let lanes = _mm256_srlv_epi32(_mm256_shuffle_epi8(packed, shuffle), shift);
            let gaps = _mm256_and_si256(lanes, mask);
            let sums = _mm256_add_epi32(gaps, _mm256_slli_si256::<4>(gaps));
            let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
            let low_total =
                _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(sums, sums));
            _mm256_add_epi32(sums, low_total)
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::codec::simd) fn cursor(&self) -> BlockCursor {
            let half = _mm_max_epu32(
                _mm256_castsi256_si128(self.largest),
                _mm256_extracti128_si256::<1>(self.largest),
            );
            let half = _mm_max_epu32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
            let half = _mm_max_epu32(half, _mm_shuffle_epi32::<0b10_11_00_01>(half));
            BlockCursor {
                at: self.at,
                last: _mm256_cvtsi256_si32(self.carry).cast_unsigned(),
                largest: _mm_cvtsi128_si32(half).cast_unsigned(),
            }
        }
    }

    /// A mask of the first `own` lanes of eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(in crate::codec::simd) fn first_lanes(own: usize) -> __m256i {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        // Lossless: below eight.
        _mm256_cmpgt_epi32(_mm256_set1_epi32(own as i32), lanes)
    }
}
