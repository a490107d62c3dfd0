//! The encodings of edge lists. The door of this layer:
//!
//! - `raw`: `u32` little endian, the reference and the fallback;
//! - `packed`: gaps in groups of eight, each group bit-packed at its own width;
//! - `simd`: the AVX2 twin of `packed`'s decoder, chosen once at run time.

mod lanes;
pub(crate) mod packed;
pub(crate) mod raw;
mod simd;

pub use lanes::BLOCK;
pub use packed::pack_bits;
pub(crate) use simd::Coded;
pub use simd::Term;

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
