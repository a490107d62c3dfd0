//! Sums of values over the ids of lists, which stay in registers. Lists are short in power-law graphs, and
//! each further loop over one costs a mispredicted branch.

use std::ops::{ControlFlow, Range};

use super::blocks::{blocks_by, scalar};
use super::groups::has_avx2;
use crate::VertexId;
use crate::codec::coded::{Coded, Fault, header};
use crate::codec::lanes::{BLOCK, Lanes, bound};

/// A number that [`crate::List::sum`] can add.
pub trait Term: Copy + Into<f64> + Load {}
impl Term for f32 {}
impl Term for f64 {}

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

/// Returns the sum of `values` over the ids of a list.
#[inline]
pub(crate) fn sum<T: Term>(coded: &Coded<'_>, values: &[T]) -> Result<f64, Fault> {
    let Some(max) = bound(values, coded.max) else { return Err(Fault::Vertex) };
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
pub(crate) fn sum_of_ids<T: Term>(ids: &[VertexId], bound: u64, values: &[T]) -> Option<f64> {
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
pub(crate) fn sum_each<T: Term>(
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

/// Calls `f` with the degree of each list at `extents` of `buf`, whose ids are at most `max`, and the sum of
/// `values` over it, as of [`sum`].
#[inline]
pub(crate) fn sum_lists<T: Term>(
    (buf, max): (&[u8], VertexId),
    extents: impl Iterator<Item = Range<usize>>,
    values: &[T],
    f: impl FnMut(u64, f64),
) -> Result<(), Fault> {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        // SAFETY: AVX2 was detected.
        return unsafe { avx2::sum_lists((buf, max), extents, values, f) };
    }
    sum_lists_by(sum_scalar, (buf, max), extents, values, f)
}

#[inline(always)]
fn sum_lists_by<T: Term>(
    sum: impl Fn(&Coded<'_>, &[T]) -> Result<f64, Fault>,
    (buf, max): (&[u8], VertexId),
    extents: impl Iterator<Item = Range<usize>>,
    values: &[T],
    mut f: impl FnMut(u64, f64),
) -> Result<(), Fault> {
    let bound = bound(values, max);
    for extent in extents {
        if extent.is_empty() {
            f(0, 0.0);
            continue;
        }
        let Some(max) = bound else { return Err(Fault::Vertex) };
        let (bytes, end) = (buf.get(extent.start..).unwrap_or_default(), extent.len());
        let front = header(bytes, end)?;
        f(front.0, sum(&Coded::new(bytes, end, front, max)?, values)?);
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
fn sum_scalar<T: Term>(coded: &Coded<'_>, values: &[T]) -> Result<f64, Fault> {
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

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::ops::Range;

    use super::{Load, Term, sum_each_by, sum_lists_by};
    use crate::VertexId;
    use crate::codec::coded::{Coded, Fault};
    use crate::codec::lanes::{BLOCK, GROUP};
    use crate::codec::simd::groups::avx2::{GroupDecoder, first_lanes, widths};

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
    ) -> Result<Option<f64>, Fault> {
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
            return Err(Fault::Short);
        }
        // A lane that exceeded the bound once stays above it.
        let within = _mm256_cmpeq_epi32(_mm256_max_epu32(stream.largest, bound), bound);
        if _mm256_movemask_epi8(within) != -1 {
            return Err(Fault::Vertex);
        }
        Ok(Some(total(first, low, high)))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn sum_lists<T: Term>(
        lists: (&[u8], VertexId),
        extents: impl Iterator<Item = Range<usize>>,
        values: &[T],
        f: impl FnMut(u64, f64),
    ) -> Result<(), Fault> {
        let sum = |coded: &Coded<'_>, values: &[T]| {
            // SAFETY: the bound of a list is an index of the values.
            match unsafe { sum(coded, values) } {
                Ok(Some(sum)) => Ok(sum),
                Ok(None) => super::sum_scalar(coded, values),
                Err(fault) => Err(fault),
            }
        };
        sum_lists_by(sum, lists, extents, values, f)
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
    use crate::codec::coded::header;
    use proptest::prelude::*;

    proptest! {
        // Fewer cases under an interpreter.
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 3 } else { 256 }))]
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
            // The cut may lie inside the header or the first id.
            let Ok(front) = header(&bytes, end) else { return Ok(()) };
            let Ok(coded) = Coded::new(&bytes, end, front, 4999) else { return Ok(()) };
            let fast = sum(&coded, &values);
            let slow = sum_scalar(&Coded { max: 4989, ..coded }, &values);
            // In a list with two faults, the twins may find different ones.
            let bits = |sum: Result<f64, Fault>| sum.ok().map(f64::to_bits);
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
