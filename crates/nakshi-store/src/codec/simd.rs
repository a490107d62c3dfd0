//! Decoding of packed lists: with AVX2 where the processor has it, else by the scalar twin, which
//! defines the result. The choice is made once per process.
//!
//! Eight gaps of `w` bits take exactly `w` bytes, so each half of them begins at a whole or half
//! byte. Two unaligned loads, one byte shuffle, one variable shift and one mask bring each gap into
//! a lane of its own, and three shifted additions compute the prefix sum. Only widths up to 25 (and
//! 32) exist, so that a gap and the bits before it fit its lane.
//!
//! [`blocks`] passes ids to a visitor in blocks; the whole loop with the caller's closure is
//! compiled for AVX2. [`sum`] keeps the ids in registers and adds their values. Lists are short in
//! power-law graphs, and each further loop over one costs a mispredicted branch.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use super::lanes::{BLOCK, GROUP, Lanes, bound};
use crate::VertexId;

/// A number that [`crate::List::sum`] can add.
pub trait Term: Copy + Into<f64> + Load {}
impl Term for f32 {}
impl Term for f64 {}

/// Capacity of a block, including the first neighbour before it and the lanes that the last store
/// of eight writes behind it.
const ROOM: usize = BLOCK + GROUP;

/// A block on the stack, uninitialised until it is decoded.
pub(super) struct Buffer {
    ids: MaybeUninit<[u32; ROOM]>,
    /// Number of ids written, from the front.
    written: usize,
}

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

/// The fault of a block that does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecodeFault {
    /// The bytes end too early.
    Short,
    /// A group's width is over 32, or 26 to 31.
    Width,
    /// A neighbour is at or above the bound.
    Vertex,
}

/// Decodes `count` <= 128 gaps at the cursor into `out[from..]`, with `from` 0 or 1.
trait Decode:
    Fn(&[u8], &mut BlockCursor, &mut Buffer, usize, usize) -> Result<(), DecodeFault>
{
}
impl<F: Fn(&[u8], &mut BlockCursor, &mut Buffer, usize, usize) -> Result<(), DecodeFault>> Decode
    for F
{
}

/// A packed list behind its header and first neighbour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded<'a> {
    pub(super) bytes: &'a [u8],
    /// End of the list in `bytes`.
    pub(super) end: usize,
    /// Beginning of the first block.
    pub(super) at: usize,
    /// Number of neighbours, above 0.
    pub(super) degree: u64,
    pub(super) first: VertexId,
    /// Largest id that may occur.
    pub(super) max: VertexId,
}

/// Returns true if this processor has AVX2.
#[inline]
fn has_avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Visits the blocks of a list.
#[inline]
pub(super) fn blocks(
    coded: &Coded<'_>,
    f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<(), DecodeFault> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return unsafe { avx2::blocks(coded, f) };
    }
    blocks_by(scalar, coded, f)
}

#[inline(always)]
fn blocks_by(
    decode: impl Decode,
    coded: &Coded<'_>,
    mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<(), DecodeFault> {
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
            return Err(DecodeFault::Short);
        }
        if cursor.largest > max {
            return Err(DecodeFault::Vertex);
        }
        left -= take as u64;
        if f(out.front(have + take)).is_break() || left == 0 {
            return Ok(());
        }
        have = 0;
    }
}

/// Returns the sum of `values` over the ids of a list.
#[inline]
pub(super) fn sum<T: Term>(coded: &Coded<'_>, values: &[T]) -> Result<f64, DecodeFault> {
    let Some(max) = bound(values, coded.max) else { return Err(DecodeFault::Vertex) };
    let coded = &Coded { max, ..*coded };
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected, and the bound is an index of `values`.
        let sum = unsafe { avx2::sum(coded, values) };
        if let Some(sum) = sum.transpose() {
            return sum;
        }
    }
    sum_scalar(coded, values)
}

/// Returns the sum of `values` over ids below `bound`, as [`sum`] does over the list that has them;
/// `None` if there are fewer values.
#[inline]
pub(super) fn sum_of_ids<T: Term>(ids: &[VertexId], bound: u64, values: &[T]) -> Option<f64> {
    if bound > values.len() as u64 {
        return None;
    }
    let (first, gaps) = ids.split_first()?;
    let first = values.get(*first as usize).map_or(0.0, |&value| value.into());
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return Some(unsafe { avx2::sum_of_gaps(first, gaps, values) });
    }
    Some(sum_of_gaps(first, gaps, values))
}

/// Calls `f` with the sum of `values` over each of the lists that begin at `starts` in `ids`, all but the last
/// place, which is the end; lists count from 0. The sums are those of [`sum_of_ids`].
#[inline]
pub(super) fn sum_each<T: Term>(
    starts: &[u32],
    ids: &[VertexId],
    values: &[T],
    f: impl FnMut(usize, f64),
) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return unsafe { avx2::sum_each(starts, ids, values, f) };
    }
    sum_each_by(sum_of_gaps, starts, ids, values, f);
}

#[inline(always)]
fn sum_each_by<T: Term>(
    sum: impl Fn(f64, &[VertexId], &[T]) -> f64,
    starts: &[u32],
    ids: &[VertexId],
    values: &[T],
    mut f: impl FnMut(usize, f64),
) {
    let Some((&first, ends)) = starts.split_first() else { return };
    let mut from = first as usize;
    for (at, &end) in ends.iter().enumerate() {
        let end = end as usize;
        let list = ids.get(from..end).unwrap_or_default();
        from = end;
        let sum = match list.split_first() {
            Some((&id, gaps)) => {
                let first = values.get(id as usize).map_or(0.0, |&value| value.into());
                sum(first, gaps, values)
            }
            None => 0.0,
        };
        f(at, sum);
    }
}

/// Calls `f` with the degree of each list and the sum of `values` over it, as of [`sum`]; an empty list is
/// `None`. `refuse` makes an error of a fault.
#[inline]
pub(super) fn sum_all<'a, T: Term, E>(
    lists: impl Iterator<Item = Result<Option<Coded<'a>>, E>>,
    values: &[T],
    f: impl FnMut(u64, f64),
    refuse: impl Fn(DecodeFault) -> E,
) -> Result<(), E> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return unsafe { avx2::sum_all(lists, values, f, refuse) };
    }
    sum_all_by(sum_scalar, lists, values, f, refuse)
}

#[inline(always)]
fn sum_all_by<'a, T: Term, E>(
    sum: impl Fn(&Coded<'_>, &[T]) -> Result<f64, DecodeFault>,
    lists: impl Iterator<Item = Result<Option<Coded<'a>>, E>>,
    values: &[T],
    mut f: impl FnMut(u64, f64),
    refuse: impl Fn(DecodeFault) -> E,
) -> Result<(), E> {
    for list in lists {
        let Some(coded) = list? else {
            f(0, 0.0);
            continue;
        };
        let Some(max) = bound(values, coded.max) else { return Err(refuse(DecodeFault::Vertex)) };
        match sum(&Coded { max, ..coded }, values) {
            Ok(sum) => f(coded.degree, sum),
            Err(fault) => return Err(refuse(fault)),
        }
    }
    Ok(())
}

/// The scalar twin of [`avx2::sum_of_gaps`], which defines the sum.
fn sum_of_gaps<T: Term>(first: f64, gaps: &[VertexId], values: &[T]) -> f64 {
    let (head, rest) = gaps.split_at(gaps.len().min(BLOCK - 1));
    let mut lanes = Lanes::default();
    lanes.add_block(head, values);
    lanes.add_block(rest, values);
    lanes.total(first)
}

/// The scalar twin of [`avx2::sum`], which defines the sum.
#[cold]
fn sum_scalar<T: Term>(coded: &Coded<'_>, values: &[T]) -> Result<f64, DecodeFault> {
    let mut lanes = Lanes::default();
    let first = values.get(coded.first as usize).map_or(0.0, |&value| value.into());
    let mut skip = 1;
    blocks_by(scalar, coded, |block| {
        let gaps = block.get(skip..).unwrap_or_default();
        skip = 0;
        lanes.add_block(gaps, values);
        ControlFlow::Continue(())
    })?;
    Ok(lanes.total(first))
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

/// The conversion of a [`Term`] to a vector register.
pub trait Load: Copy {
    /// Converts four values to doubles.
    ///
    /// # Safety
    /// The processor has AVX2.
    // SAFETY: the implementations use only AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn widen(a: Self, b: Self, c: Self, d: Self) -> std::arch::x86_64::__m256d;
}

/// The scalar twin of [`avx2::decode`], which defines the decoding of a block.
pub(super) fn scalar(
    bytes: &[u8],
    cursor: &mut BlockCursor,
    out: &mut Buffer,
    from: usize,
    count: usize,
) -> Result<(), DecodeFault> {
    let groups = count.div_ceil(GROUP);
    let data = cursor.at + groups;
    let widths = bytes.get(cursor.at..data).ok_or(DecodeFault::Short)?;
    cursor.at = data;
    groups_scalar(bytes, widths, cursor, out.slots(from, count))
}

/// Decodes the groups with the given `widths`; the cursor is at their data.
fn groups_scalar(
    bytes: &[u8],
    widths: &[u8],
    cursor: &mut BlockCursor,
    slots: &mut [u32],
) -> Result<(), DecodeFault> {
    let mut largest = cursor.largest;
    for (group, &width) in slots.chunks_mut(GROUP).zip(widths) {
        if width > 32 || (26..32).contains(&width) {
            return Err(DecodeFault::Width);
        }
        let size = (group.len() * usize::from(width)).div_ceil(8);
        let packed =
            bytes.get(cursor.at..).filter(|p| p.len() >= size).ok_or(DecodeFault::Short)?;
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
mod avx2 {
    use std::arch::x86_64::*;

    use std::ops::ControlFlow;

    use super::{
        BLOCK, BlockCursor, Buffer, Coded, DecodeFault, GROUP, Load, Term, blocks_by, sum_all_by,
        sum_each_by,
    };
    use crate::VertexId;

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

    #[target_feature(enable = "avx2")]
    pub(super) fn blocks(
        coded: &Coded<'_>,
        f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
    ) -> Result<(), DecodeFault> {
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
    ) -> Result<(), DecodeFault> {
        let Some(widths) = widths(bytes, cursor.at, count) else {
            return super::scalar(bytes, cursor, out, from, count);
        };
        if from > 1 || widths.len() * GROUP + from > super::ROOM {
            return Err(DecodeFault::Short);
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

    /// Returns the widths of the next `count` gaps if all of them exist and their groups can be
    /// read whole; otherwise the scalar twin finds the fault.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn widths(bytes: &[u8], at: usize, count: usize) -> Option<&[u8]> {
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
    struct GroupDecoder<'a> {
        bytes: &'a [u8],
        /// Offset of the next group.
        at: usize,
        /// The last id, in all lanes.
        carry: __m256i,
        /// Largest ids so far; the largest lane is their maximum.
        largest: __m256i,
    }

    impl<'a> GroupDecoder<'a> {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn new(bytes: &'a [u8], at: usize, last: VertexId) -> Self {
            let last = _mm256_set1_epi32(last.cast_signed());
            Self { bytes, at, carry: last, largest: last }
        }

        /// Decodes the ids of a group of eight.
        ///
        /// # Safety
        /// The width is one that [`widths`] returned for this position.
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn whole(&mut self, width: u8) -> __m256i {
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
        unsafe fn short(&mut self, width: u8, own: usize) -> (__m256i, __m256i) {
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
        fn cursor(&self) -> BlockCursor {
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

    /// Returns the sum of `values` over a list; `None`, for the scalar twin, if the buffer ends too
    /// soon behind the list or a width is wrong.
    ///
    /// # Safety
    /// The list's bound is an index of `values`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn sum<T: Term>(
        coded: &Coded<'_>,
        values: &[T],
    ) -> Result<Option<f64>, DecodeFault> {
        let first = values.get(coded.first as usize).map_or(0.0, |&value| value.into());
        let &Coded { bytes, end, at, degree, max, .. } = coded;
        let bound = _mm256_set1_epi32(max.cast_signed());
        let mut stream = GroupDecoder::new(bytes, at, coded.first);
        let (mut low, mut high) = (_mm256_setzero_pd(), _mm256_setzero_pd());
        let (mut left, mut room) = (degree.saturating_sub(1), BLOCK - 1);
        while left > 0 {
            let count = room.min(usize::try_from(left).unwrap_or(BLOCK));
            room = BLOCK;
            left -= count as u64;
            let Some(widths) = widths(bytes, stream.at, count) else { return Ok(None) };
            stream.at += widths.len();
            let (whole, short) = widths.split_at(count / GROUP);
            // SAFETY: `widths` has checked the groups; no id that is looked up is above the bound,
            // which is an index of `values`.
            unsafe {
                for &width in whole {
                    let ids = stream.whole(width);
                    let (a, b) = load(values, _mm256_min_epu32(ids, bound));
                    low = _mm256_add_pd(low, a);
                    high = _mm256_add_pd(high, b);
                }
                if let Some(&width) = short.first() {
                    let (ids, mine) = stream.short(width, count % GROUP);
                    let (a, b) = load(values, _mm256_min_epu32(ids, bound));
                    let (front, back) = wide_lanes(mine);
                    low = _mm256_add_pd(low, _mm256_and_pd(a, front));
                    high = _mm256_add_pd(high, _mm256_and_pd(b, back));
                }
            }
        }
        if stream.at > end {
            return Err(DecodeFault::Short);
        }
        // A lane that exceeded the bound once stays above it.
        let within = _mm256_cmpeq_epi32(_mm256_max_epu32(stream.largest, bound), bound);
        if _mm256_movemask_epi8(within) != -1 {
            return Err(DecodeFault::Vertex);
        }
        Ok(Some(total(first, low, high)))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn sum_all<'a, T: Term, E>(
        lists: impl Iterator<Item = Result<Option<Coded<'a>>, E>>,
        values: &[T],
        f: impl FnMut(u64, f64),
        refuse: impl Fn(DecodeFault) -> E,
    ) -> Result<(), E> {
        let sum = |coded: &Coded<'_>, values: &[T]| {
            // SAFETY: the bound of a list is an index of the values.
            match unsafe { sum(coded, values) } {
                Ok(Some(sum)) => Ok(sum),
                Ok(None) => super::sum_scalar(coded, values),
                Err(fault) => Err(fault),
            }
        };
        sum_all_by(sum, lists, values, f, refuse)
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn sum_each<T: Term>(
        starts: &[u32],
        ids: &[VertexId],
        values: &[T],
        f: impl FnMut(usize, f64),
    ) {
        let sum = |first: f64, gaps: &[VertexId], values: &[T]| sum_of_gaps(first, gaps, values);
        sum_each_by(sum, starts, ids, values, f);
    }

    /// Returns `first` and the sum of the values of the ids behind the first; an id without a value counts
    /// as the last that has one.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sum_of_gaps<T: Term>(first: f64, gaps: &[VertexId], values: &[T]) -> f64 {
        let Some(last) = values.len().checked_sub(1) else { return first };
        let last = _mm256_set1_epi32(u32::try_from(last).unwrap_or(u32::MAX).cast_signed());
        let (mut low, mut high) = (_mm256_setzero_pd(), _mm256_setzero_pd());
        let (head, rest) = gaps.split_at(gaps.len().min(BLOCK - 1));
        for part in [head, rest] {
            let (groups, short) = part.as_chunks::<GROUP>();
            // SAFETY: a group has 32 bytes, of a short one the others are masked, and no id that is looked
            // up is above the last place of the values.
            unsafe {
                for group in groups {
                    let ids = _mm256_loadu_si256(group.as_ptr().cast());
                    let (a, b) = load(values, _mm256_min_epu32(ids, last));
                    low = _mm256_add_pd(low, a);
                    high = _mm256_add_pd(high, b);
                }
                if !short.is_empty() {
                    let mine = first_lanes(short.len());
                    let ids = _mm256_maskload_epi32(short.as_ptr().cast(), mine);
                    let (a, b) = load(values, _mm256_min_epu32(ids, last));
                    let (front, back) = wide_lanes(mine);
                    low = _mm256_add_pd(low, _mm256_and_pd(a, front));
                    high = _mm256_add_pd(high, _mm256_and_pd(b, back));
                }
            }
        }
        total(first, low, high)
    }

    /// A mask of the first `own` lanes of eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn first_lanes(own: usize) -> __m256i {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        // Lossless: below eight.
        _mm256_cmpgt_epi32(_mm256_set1_epi32(own as i32), lanes)
    }

    /// A mask of eight lanes for two vectors of four doubles.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn wide_lanes(mine: __m256i) -> (__m256d, __m256d) {
        let front = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mine));
        let back = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(mine));
        (_mm256_castsi256_pd(front), _mm256_castsi256_pd(back))
    }

    /// [`Lanes::total`] of partial sums in two registers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(first: f64, low: __m256d, high: __m256d) -> f64 {
        let fours = _mm256_add_pd(low, high);
        let halves = (_mm256_castpd256_pd128(fours), _mm256_extractf128_pd::<1>(fours));
        let pair = _mm_add_pd(halves.0, halves.1);
        first + _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }

    /// Looks up the values of eight ids.
    ///
    /// # Safety
    /// All ids are indexes of `values`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load<T: Term>(values: &[T], ids: __m256i) -> (__m256d, __m256d) {
        let (front, back) = (_mm256_castsi256_si128(ids), _mm256_extracti128_si256::<1>(ids));
        // Two ids at a time: extracting one from a vector costs as much as a look-up.
        let pairs = [
            _mm_cvtsi128_si64(front),
            _mm_extract_epi64::<1>(front),
            _mm_cvtsi128_si64(back),
            _mm_extract_epi64::<1>(back),
        ];
        let [ab, cd, ef, gh] = pairs.map(i64::cast_unsigned);
        // SAFETY: the caller promises the indexes; AVX2 is there.
        unsafe {
            let a = *values.get_unchecked((ab & 0xffff_ffff) as usize);
            let b = *values.get_unchecked((ab >> 32) as usize);
            let c = *values.get_unchecked((cd & 0xffff_ffff) as usize);
            let d = *values.get_unchecked((cd >> 32) as usize);
            let e = *values.get_unchecked((ef & 0xffff_ffff) as usize);
            let f = *values.get_unchecked((ef >> 32) as usize);
            let g = *values.get_unchecked((gh & 0xffff_ffff) as usize);
            let h = *values.get_unchecked((gh >> 32) as usize);
            (T::widen(a, b, c, d), T::widen(e, f, g, h))
        }
    }

    impl Load for f32 {
        // SAFETY: needs only AVX2, as the trait says.
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn widen(a: f32, b: f32, c: f32, d: f32) -> __m256d {
            _mm256_cvtps_pd(_mm_setr_ps(a, b, c, d))
        }
    }

    impl Load for f64 {
        // SAFETY: needs only AVX2, as the trait says.
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn widen(a: f64, b: f64, c: f64, d: f64) -> __m256d {
            _mm256_setr_pd(a, b, c, d)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Outcome = Result<(BlockCursor, Vec<u32>), DecodeFault>;

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

        /// Seen red with the mask of a short last group left out, and with the carry behind the
        /// short group of a first block taken from lane 7.
        #[test]
        fn sums_are_those_of_the_twin(
            ids in prop::collection::btree_set(0..5000u32, 1..400),
            cut in 0..40usize,
            slack in 0..64usize,
        ) {
            let ids: Vec<u32> = ids.into_iter().collect();
            let mut bytes = Vec::new();
            crate::codec::packed::encode(&ids, &mut bytes);
            // Some lists are cut short.
            let end = if cut < 3 { bytes.len().saturating_sub(cut) } else { bytes.len() };
            bytes.truncate(end);
            bytes.resize(end + slack, 0xa5);
            let values: Vec<f32> = (0..4990).map(|v| 1.0 / (v as f32 + 0.7)).collect();
            let Ok((degree, body)) = crate::codec::packed::header(&bytes, end) else { return Ok(()) };
            let mut at = body;
            // The cut may lie inside the first id; callers refuse such a list before they sum.
            let Some(first) = crate::varint::get(&bytes, &mut at) else { return Ok(()) };
            let first = first as u32;
            let coded = Coded { bytes: &bytes, end, at, degree, first, max: 4999 };
            let fast = sum(&coded, &values);
            let slow = sum_scalar(&Coded { max: 4989, ..coded }, &values);
            // In a list with two faults, the twins may find different ones.
            let bits = |sum: Result<f64, DecodeFault>| sum.ok().map(f64::to_bits);
            prop_assert_eq!(bits(fast), bits(slow));
            let wide: Vec<f64> = values.iter().map(|&v| v.into()).collect();
            let fast = sum(&coded, &wide);
            prop_assert_eq!(bits(fast), bits(slow));
            prop_assert_eq!(sum_of_ids(&ids, 4991, &wide), None);
            if cut >= 3 && slow.is_ok() {
                prop_assert_eq!(sum_of_ids(&ids, 4990, &wide).map(f64::to_bits), bits(slow));
            }
            if end == bytes.len() - slack && slow.is_ok() {
                let exact: f64 = ids.iter().map(|&v| wide[v as usize]).sum();
                prop_assert!((slow.unwrap() - exact).abs() < 1e-9 * exact);
            }
        }
    }
}
