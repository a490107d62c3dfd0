//! The encodings of edge lists. The door of this layer:
//!
//! - `raw`: `u32` little endian, the reference and the fallback;
//! - `packed`: gaps in groups of eight, each group bit-packed at its own width;
//! - `coded`: the header and the faults of a packed list;
//! - `simd`: the decoder of packed lists, with an AVX2 twin that is chosen once at run time.

mod coded;
mod lanes;
pub(crate) mod packed;
pub(crate) mod raw;
mod simd;

pub(crate) use coded::{Coded, header};
pub use lanes::BLOCK;
pub use packed::pack_bits;
pub use simd::Term;

use std::ops::{ControlFlow, Range};

use crate::{Result, VertexId};

/// Visits the blocks of a packed list; see [`crate::List::blocks`].
#[inline]
pub(crate) fn blocks(
    coded: &Coded<'_>,
    f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<()> {
    Ok(simd::blocks(coded, f)?)
}

/// Returns the sum of values over a packed list; see [`crate::List::sum`].
#[inline]
pub(crate) fn sum<T: Term>(coded: &Coded<'_>, values: &[T]) -> Result<f64> {
    Ok(simd::sum(coded, values)?)
}

/// Calls `f` with the sum of values over each list; see [`crate::DecodedLists::sum_each`].
#[inline]
pub(crate) fn sum_each<T: Term>(
    starts: &[u32],
    ids: &[VertexId],
    values: &[T],
    f: impl FnMut(usize, f64),
) {
    simd::sum_each(starts, ids, values, f);
}

/// Calls `f` with the degree of each list and the sum of values over its neighbours, which are below
/// `vertices`: as of [`crate::List::sum`] one after the other, in less time for short lists.
///
/// # Errors
/// [`crate::Error::BadList`] if the bytes at an extent are no list, or `values` is too short.
#[inline]
pub fn sum_lists<T: Term>(
    encoding: Encoding,
    (buf, vertices): (&[u8], u64),
    extents: impl Iterator<Item = Range<usize>>,
    values: &[T],
    mut f: impl FnMut(u64, f64),
) -> Result<()> {
    let max = VertexId::try_from(vertices.saturating_sub(1)).unwrap_or(VertexId::MAX);
    match encoding {
        Encoding::Packed => Ok(simd::sum_lists((buf, max), extents, values, f)?),
        Encoding::Raw => {
            for extent in extents {
                let (degree, _) = raw::header(extent.len())?;
                let bytes = buf.get(extent.clone()).unwrap_or_default();
                f(
                    degree,
                    if degree == 0 { 0.0 } else { raw::sum(bytes, extent.len(), max, values)? },
                );
            }
            Ok(())
        }
    }
}

/// Returns the sum of values over ids below `bound`, at least one, in the order of additions of a packed
/// list of them.
///
/// # Errors
/// [`crate::Error::BadList`] if there are fewer values than `bound`.
#[inline]
pub(crate) fn sum_of_ids<T: Term>(ids: &[VertexId], bound: u64, values: &[T]) -> Result<f64> {
    // `ok_or` would make and drop an error for each list.
    match simd::sum_of_ids(ids, bound, values) {
        Some(sum) => Ok(sum),
        None => Err(lanes::NO_VERTEX),
    }
}

/// The encoding of a store's edge lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// `u32`, little endian.
    Raw,
    /// Bit-packed gaps.
    #[default]
    Packed,
}

/// Appends the encoding of a whole list to `out`. `neighbours` is ascending; duplicates are kept.
/// An empty list takes no bytes.
pub fn encode(encoding: Encoding, neighbours: &[u32], out: &mut Vec<u8>) {
    match encoding {
        Encoding::Raw => raw::encode(neighbours, out),
        Encoding::Packed => packed::encode(neighbours, out),
    }
}
