//! Blocks of a list's ids for a visitor: the whole loop with the caller's closure is compiled for AVX2.

use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use super::groups::{BlockCursor, groups_scalar, has_avx2};
use crate::VertexId;
use crate::codec::coded::{Coded, Fault};
use crate::codec::lanes::{BLOCK, GROUP};

/// Capacity of a block, including the first neighbour before it and the lanes that the last store
/// of eight writes behind it.
const ROOM: usize = BLOCK + GROUP;

/// A block on the stack, uninitialised until it is decoded.
pub(super) struct Buffer {
    ids: MaybeUninit<[u32; ROOM]>,
    /// Number of ids written, from the front.
    written: usize,
}

/// Decodes `count` <= 128 gaps at the cursor into `out[from..]`, with `from` 0 or 1.
pub(super) trait Decode:
    Fn(&[u8], &mut BlockCursor, &mut Buffer, usize, usize) -> Result<(), Fault>
{
}

impl<F: Fn(&[u8], &mut BlockCursor, &mut Buffer, usize, usize) -> Result<(), Fault>> Decode for F {}

/// Visits the blocks of a list.
#[inline]
pub(crate) fn blocks(
    coded: &Coded<'_>,
    f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<(), Fault> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return unsafe { avx2::blocks(coded, f) };
    }
    blocks_by(scalar, coded, f)
}

#[inline(always)]
pub(super) fn blocks_by(
    decode: impl Decode,
    coded: &Coded<'_>,
    mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<(), Fault> {
    let &Coded { bytes, end, at, degree, first, max } = coded;
    let mut out = Buffer::new();
    let mut cursor = BlockCursor { at, last: first, largest: first };
    out.put_first(first);
    let (mut have, mut left) = (1, degree.saturating_sub(1));
    loop {
        let take = (BLOCK - have).min(usize::try_from(left).unwrap_or(BLOCK));
        if take > 0 {
            decode(bytes, &mut cursor, &mut out, have, take)?;
        }
        if cursor.at > end {
            return Err(Fault::Short);
        }
        if cursor.largest > max {
            return Err(Fault::Vertex);
        }
        left -= take as u64;
        if f(out.front(have + take)).is_break() || left == 0 {
            return Ok(());
        }
        have = 0;
    }
}

impl Buffer {
    #[inline]
    pub(super) fn new() -> Self {
        // A number that the compiler does not know: it makes a constant of the whole buffer otherwise,
        // and fills the buffer with zeros for each list.
        Self { ids: MaybeUninit::uninit(), written: std::hint::black_box(0) }
    }

    /// Puts the first neighbour of a list at the front.
    #[inline]
    pub(super) fn put_first(&mut self, id: u32) {
        // SAFETY: ROOM > 0, so the first element is inside the array.
        unsafe { self.ids.as_mut_ptr().cast::<u32>().write(id) };
        self.written = self.written.max(1);
    }

    /// Returns the first `len` ids, as far as they were written.
    #[inline]
    pub(super) fn front(&self, len: usize) -> &[u32] {
        // SAFETY: `written` exceeds neither the number of ids written from the front nor ROOM.
        unsafe {
            std::slice::from_raw_parts(self.ids.as_ptr().cast::<u32>(), len.min(self.written))
        }
    }

    /// Returns `count` ids from `from` on for writing, zeroed if they were never written.
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

/// The scalar twin of [`avx2::decode`], which defines the decoding of a block.
pub(super) fn scalar(
    bytes: &[u8],
    cursor: &mut BlockCursor,
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

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::ops::ControlFlow;

    use super::{Buffer, blocks_by};
    use crate::VertexId;
    use crate::codec::coded::{Coded, Fault};
    use crate::codec::lanes::GROUP;
    use crate::codec::simd::groups::BlockCursor;
    use crate::codec::simd::groups::avx2::{GroupDecoder, widths};

    #[target_feature(enable = "avx2")]
    pub(super) fn blocks(
        coded: &Coded<'_>,
        f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
    ) -> Result<(), Fault> {
        let decode = |bytes: &[u8], cursor: &mut BlockCursor, out: &mut Buffer, from, count| {
            decode(bytes, cursor, out, from, count)
        };
        blocks_by(decode, coded, f)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn decode(
        bytes: &[u8],
        cursor: &mut BlockCursor,
        out: &mut Buffer,
        from: usize,
        count: usize,
    ) -> Result<(), Fault> {
        let Some(widths) = widths(bytes, cursor.at, count) else {
            return super::scalar(bytes, cursor, out, from, count);
        };
        if from > 1 || widths.len() * GROUP + from > super::ROOM {
            return Err(Fault::Short);
        }
        let mut stream = GroupDecoder::new(bytes, cursor.at, cursor.last);
        stream.largest = _mm256_set1_epi32(cursor.largest.cast_signed());
        stream.at += widths.len();
        let mut to: *mut u32 = out.ids.as_mut_ptr().cast();
        let (whole, short) = widths.split_at(count / GROUP);
        // SAFETY: `widths` has checked the groups; their ids, including those behind the end of a
        // short group, fit ROOM behind `from` (checked above).
        unsafe {
            to = to.add(from);
            for &width in whole {
                _mm256_storeu_si256(to.cast(), stream.whole(width));
                to = to.add(GROUP);
            }
            if let Some(&width) = short.first() {
                _mm256_storeu_si256(to.cast(), stream.short(width, count % GROUP).0);
            }
        }
        out.written = out.written.max(from + count);
        *cursor = stream.cursor();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Outcome = Result<(BlockCursor, Vec<u32>), Fault>;

    fn run(decode: impl Decode, bytes: &[u8], last: u32, from: usize, count: usize) -> Outcome {
        let mut out = Buffer::new();
        out.put_first(last);
        let mut cursor = BlockCursor { at: 0, last, largest: if from == 1 { last } else { 0 } };
        decode(bytes, &mut cursor, &mut out, from, count)?;
        Ok((cursor, out.front(from + count).get(from..).unwrap_or_default().to_vec()))
    }

    proptest! {
        // Fewer cases under an interpreter.
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]
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
            let slow = run(scalar, &bytes, last, from, count);
            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                let decode = |bytes: &[u8], cursor: &mut BlockCursor, out: &mut Buffer, from, count| {
                    // SAFETY: AVX2 was detected.
                    unsafe { avx2::decode(bytes, cursor, out, from, count) }
                };
                prop_assert_eq!(run(decode, &bytes, last, from, count), slow);
            }
        }
    }
}
