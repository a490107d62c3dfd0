//! Decoding one block of a packed list: with AVX2 where the processor has it, else by the scalar
//! twin, which is the definition. The choice is made once per process.
//!
//! Eight gaps of `w` bits take exactly `w` bytes, so four of them begin at a whole or half byte:
//! two unaligned loads, one byte shuffle, one variable shift and one mask bring each gap into a
//! lane of its own, and three shifted additions make the prefix sum. Only widths up to 25 (and
//! 32) exist, so that a gap and the bits before it fit its lane.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::sync::OnceLock;

use super::BLOCK;
use super::packed::GROUP;

/// Room for a block, for the first neighbour before it, and for what the last store of eight
/// lanes writes behind it.
const ROOM: usize = BLOCK + GROUP;

/// A block on the stack, not initialised before it is decoded.
pub(super) struct Buffer {
    ids: MaybeUninit<[u32; ROOM]>,
    /// Ids from the front that were written.
    written: usize,
}

/// Where the decoder stands in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// Next byte.
    pub(super) at: usize,
    /// Last neighbour.
    pub(super) last: u32,
    /// No neighbour of this block is larger.
    pub(super) largest: u32,
}

/// Why a block does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The bytes end too early.
    Short,
    /// A group's width is over 32, or 26 to 31.
    Width,
}

/// Decodes `count` <= 128 gaps at the cursor into `out[from..]`, with `from` 0 or 1.
pub(super) type Decode = fn(&[u8], &mut Cursor, &mut Buffer, usize, usize) -> Result<(), Fault>;

/// The fastest decoder of this processor.
#[inline]
pub(super) fn decoder() -> Decode {
    static CHOSEN: OnceLock<Decode> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return avx2::decode;
        }
        scalar
    })
}

impl Buffer {
    #[inline]
    pub(super) fn new() -> Self {
        Self { ids: MaybeUninit::uninit(), written: 0 }
    }

    /// Puts the first neighbour of a list at the front.
    #[inline]
    pub(super) fn put_first(&mut self, id: u32) {
        // SAFETY: ROOM > 0, so the first element is inside the array.
        unsafe { self.ids.as_mut_ptr().cast::<u32>().write(id) };
        self.written = self.written.max(1);
    }

    /// The first `len` ids, as far as they were written.
    #[inline]
    pub(super) fn front(&self, len: usize) -> &[u32] {
        // SAFETY: `written` never exceeds what was written from the front, nor ROOM.
        unsafe {
            std::slice::from_raw_parts(self.ids.as_ptr().cast::<u32>(), len.min(self.written))
        }
    }

    /// `count` ids from `from` on, for writing, zeroed if they were never written.
    fn slots(&mut self, from: usize, count: usize) -> &mut [u32] {
        let ids: *mut u32 = self.ids.as_mut_ptr().cast();
        let end = (from + count).min(ROOM);
        while self.written < end {
            // SAFETY: `written` < ROOM here.
            unsafe { ids.add(self.written).write(0) };
            self.written += 1;
        }
        // SAFETY: everything before `end` <= ROOM is written, and `self` is borrowed mutably.
        let all = unsafe { std::slice::from_raw_parts_mut(ids, end) };
        all.get_mut(from..).unwrap_or_default()
    }
}

/// The twin without intrinsics: what a block means.
pub(super) fn scalar(
    bytes: &[u8],
    cursor: &mut Cursor,
    out: &mut Buffer,
    from: usize,
    count: usize,
) -> Result<(), Fault> {
    let groups = count.div_ceil(GROUP);
    let data = cursor.at + groups;
    let widths = bytes.get(cursor.at..data).ok_or(Fault::Short)?;
    cursor.at = data;
    groups_scalar(bytes, widths, cursor, out.slots(from, count))
}

/// Decodes the groups that `widths` describe; the cursor stands at their data.
fn groups_scalar(
    bytes: &[u8],
    widths: &[u8],
    cursor: &mut Cursor,
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

/// Eight bytes from `at` on, little endian, zeros behind the end.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return u64::from_le_bytes(*whole);
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Buffer, Cursor, Fault, GROUP, groups_scalar};

    /// How to spread eight gaps of one width.
    #[repr(C, align(32))]
    struct Spread {
        shuffle: [u8; 32],
        shift: [u32; 8],
    }

    /// By width. Widths that do not exist have zeros; the caller refuses them.
    static SPREADS: [Spread; 33] = {
        let mut all = [const { Spread { shuffle: [0; 32], shift: [0; 8] } }; 33];
        let mut width = 0;
        while width <= 32 {
            let mut i = 0;
            while i < 8 {
                // the upper four begin at byte width / 2, in a lane of their own
                let bit = if i < 4 { i * width } else { (i - 4) * width + 4 * (width % 2) };
                if width <= 25 || width == 32 {
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

    static MASKS: [u32; 33] = {
        let mut all = [0; 33];
        let mut width = 0;
        while width <= 32 {
            all[width] = ((1u64 << width) - 1) as u32;
            width += 1;
        }
        all
    };

    /// Bytes that one group's two loads touch at most, from the group's first byte.
    const REACH: usize = 32;

    pub(super) fn decode(
        bytes: &[u8],
        cursor: &mut Cursor,
        out: &mut Buffer,
        from: usize,
        count: usize,
    ) -> Result<(), Fault> {
        // SAFETY: `decoder` hands this function out only where AVX2 was detected.
        unsafe { decode_avx2(bytes, cursor, out, from, count) }
    }

    #[target_feature(enable = "avx2")]
    fn decode_avx2(
        bytes: &[u8],
        cursor: &mut Cursor,
        out: &mut Buffer,
        from: usize,
        count: usize,
    ) -> Result<(), Fault> {
        let groups = count.div_ceil(GROUP);
        let mut at = cursor.at + groups;
        let Some(widths) = bytes.get(cursor.at..at) else { return Err(Fault::Short) };
        if from > 1 || groups * GROUP + from > super::ROOM {
            return Err(Fault::Short);
        }
        let ids: *mut u32 = out.ids.as_mut_ptr().cast();
        let mut carry = _mm256_set1_epi32(cursor.last.cast_signed());
        let mut largest = _mm256_set1_epi32(cursor.largest.cast_signed());
        let last_lane = _mm256_set1_epi32(7);
        let mut done = 0;
        for &width in widths {
            let w = usize::from(width);
            let (Some(spread), Some(mask)) = (SPREADS.get(w), MASKS.get(w)) else {
                return Err(Fault::Width);
            };
            if (26..32).contains(&width) {
                return Err(Fault::Width);
            }
            if at + REACH > bytes.len() {
                break;
            }
            // a short last group: gaps behind its end are whatever follows; they are cut off below
            // SAFETY: `at + REACH` <= `bytes.len()`.
            let sums = unsafe { group(bytes.as_ptr().add(at), w, spread, *mask) };
            let found = _mm256_add_epi32(sums, carry);
            carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(sums, last_lane));
            // SAFETY: `done + GROUP <= groups * GROUP`, which with `from` fits ROOM (checked above).
            unsafe { _mm256_storeu_si256(ids.add(from + done).cast(), found) };
            done += GROUP;
            if done > count {
                // a short group: only its own ids count
                done = count;
                let own = count % GROUP;
                at += (own * w).div_ceil(8);
                return finish(cursor, out, at, from, done, largest);
            }
            largest = _mm256_max_epu32(largest, found);
            at += w;
        }
        if done == count {
            return finish(cursor, out, at, from, done, largest);
        }
        // near the end of the buffer the twin takes over
        let rest = widths.get(done / GROUP..).unwrap_or_default();
        if done > 0 {
            finish(cursor, out, at, from, done, largest)?;
        } else {
            cursor.at = at;
        }
        groups_scalar(bytes, rest, cursor, out.slots(from + done, count - done))
    }

    /// The running sums of the eight gaps of `w` bits at `at`, without what came before them.
    ///
    /// # Safety
    /// `REACH` bytes are readable from `at` on, and `w` <= 32.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn group(at: *const u8, w: usize, spread: &Spread, mask: u32) -> __m256i {
        // SAFETY: the loads end at most at `at + 32 / 2 + 16`, which is REACH; the rows of the
        // table are 32 bytes each and aligned.
        let (packed, shuffle, shift) = unsafe {
            let low = _mm_loadu_si128(at.cast());
            let high = _mm_loadu_si128(at.add(w / 2).cast());
            (
                _mm256_set_m128i(high, low),
                _mm256_load_si256(spread.shuffle.as_ptr().cast()),
                _mm256_load_si256(spread.shift.as_ptr().cast()),
            )
        };
        let lanes = _mm256_srlv_epi32(_mm256_shuffle_epi8(packed, shuffle), shift);
        let gaps = _mm256_and_si256(lanes, _mm256_set1_epi32(mask.cast_signed()));
        let sums = _mm256_add_epi32(gaps, _mm256_slli_si256::<4>(gaps));
        let sums = _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums));
        let low_total = _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(sums, sums));
        _mm256_add_epi32(sums, low_total)
    }

    /// Writes the state back after `done` > 0 ids were decoded.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn finish(
        cursor: &mut Cursor,
        out: &mut Buffer,
        at: usize,
        from: usize,
        done: usize,
        largest: __m256i,
    ) -> Result<(), Fault> {
        out.written = out.written.max(from + done);
        let mut lanes = [0u32; 8];
        // SAFETY: the array has 32 bytes.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), largest) };
        let all = out.front(from + done);
        cursor.last = all.last().copied().unwrap_or(cursor.last);
        // of a short last group only its own ids count
        let tail = all.get(from + done / GROUP * GROUP..).unwrap_or_default();
        cursor.largest = lanes.iter().chain(tail).fold(0, |a, b| a.max(*b));
        cursor.at = at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Outcome = Result<(Cursor, Vec<u32>), Fault>;

    fn run(decode: Decode, bytes: &[u8], last: u32, from: usize, count: usize) -> Outcome {
        let mut out = Buffer::new();
        out.put_first(last);
        let mut cursor = Cursor { at: 0, last, largest: if from == 1 { last } else { 0 } };
        decode(bytes, &mut cursor, &mut out, from, count)?;
        Ok((cursor, out.front(from + count).get(from..).unwrap_or_default().to_vec()))
    }

    proptest! {
        /// Seen red with the carry between groups taken from lane 6 instead of 7, and with the
        /// largest id of a short last group left out.
        #[test]
        fn the_twins_agree_on_any_bytes(
            widths in prop::collection::vec(prop_oneof![9 => 0..26u8, 1 => 20..36u8], 16),
            data in prop::collection::vec(any::<u8>(), 0..600),
            last in any::<u32>(),
            from in 0..2usize,
            count in 1..=128usize,
        ) {
            let count = count.min(BLOCK - from);
            let groups = count.div_ceil(GROUP);
            let bytes: Vec<u8> = widths.into_iter().take(groups).chain(data).collect();
            let (fast, slow) = (run(decoder(), &bytes, last, from, count), run(scalar, &bytes, last, from, count));
            prop_assert_eq!(fast, slow);
        }
    }
}
