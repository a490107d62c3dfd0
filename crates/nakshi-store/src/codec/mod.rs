//! How an edge list is written as bytes. The door of this layer:
//!
//! - `raw`: `u32` little endian, the yardstick and the fallback;
//! - `packed`: gaps in groups of eight, each group bit-packed at its own width;
//! - `simd`: the AVX2 twin of `packed`'s decoder, chosen once at run time.

use crate::{Error, VertexId};

pub(crate) mod packed;
pub(crate) mod raw;
mod simd;

pub(crate) use simd::Coded;

/// Most neighbours handed out at once.
pub const BLOCK: usize = 128;

/// A number that [`crate::List::sum`] can add.
pub trait Term: Copy + Into<f64> + simd::Load {}
impl Term for f32 {}
impl Term for f64 {}

const NO_VERTEX: Error = Error::BadList("a neighbour is no vertex of the graph");

/// Largest id that may occur where none is above `max` and each needs a value; `None` without
/// values.
#[inline]
fn bound<T>(values: &[T], max: VertexId) -> Option<VertexId> {
    let last = values.len().checked_sub(1)?;
    Some(VertexId::try_from(last).map_or(max, |last| last.min(max)))
}

/// Eight partial sums, by position in a list.
#[derive(Clone, Copy, Debug, Default)]
struct Lanes([f64; Self::WIDTH]);

impl Lanes {
    const WIDTH: usize = 8;

    /// Adds the values of up to eight ids.
    #[inline]
    fn add<T: Term>(&mut self, ids: &[VertexId], values: &[T]) {
        for (lane, &id) in self.0.iter_mut().zip(ids) {
            *lane += values.get(id as usize).map_or(0.0, |&value| value.into());
        }
    }

    /// `first` and all partial sums.
    #[inline]
    fn total(self, first: f64) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        first + (((a + e) + (c + g)) + ((b + f) + (d + h)))
    }
}

/// How the edge lists of a store are written.
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
