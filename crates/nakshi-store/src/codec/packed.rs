//! Packed lists and how they are written: gaps in groups of eight, each group bit-packed at its own width.
//!
//! A list is its degree and first neighbour (LEB128), then the gaps in blocks: a width byte for
//! each group of eight, then the groups (docs/format.md, "Lists"). In a hub-first layout the
//! neighbours of a list begin dense and thin out. A width for every eight gaps follows them
//! closely, where one width for a whole block pays for its largest gap throughout. Eight gaps of
//! `w` bits take exactly `w` bytes, which a vector decoder reads without a branch. Blocks have 128
//! gaps, so that a kernel that has seen enough can stop early, and a giant list is written without
//! being in memory.
//!
//! Measured on Kron22 (4,194,302 vertices, 128,311,450 list entries), relabelled by descending
//! degree, bytes per list entry with headers:
//!
//! | Candidate | B/entry |
//! | --- | --- |
//! | Stream VByte (Lemire, Kurz, Rupp 2018), two control bits a gap | 1.746 |
//! | one width a block of 128 | 1.633 |
//! | the better of the two for each block of 128 | 1.556 |
//! | a width byte for 4 gaps / 8 / 16 / 32 | 1.549 / **1.434** / 1.437 / 1.479 |
//! | 8 gaps, width rounded to one of 16, two to a byte | 1.404 |
//!
//! Headers take 0.053 of it. Rounded widths would save 2 % and need a table for reading and
//! writing. `cargo run --release -p nakshi-store --example codec_speed -- STORE` prints size and
//! decoding rate of a real store: 1.6 to 1.8 billion entries/s a core on Kron22 (AVX2 on an AMD
//! EPYC of family 26, all lists in order, 2.4 million of them with a median degree of 5).

use super::lanes::{BLOCK, GROUP};
use crate::{VertexId, varint};

/// The encoder of one list, block by block, so that a giant list never has to be in memory.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    last: VertexId,
    started: bool,
}

impl Encoder {
    /// Writes the header of a list of `degree` > 0 neighbours.
    pub(crate) fn start(degree: u64, out: &mut Vec<u8>) -> Self {
        varint::put(out, degree);
        Self::default()
    }

    /// Appends the next block: exactly [`BLOCK`] neighbours, fewer only at the end of the list.
    pub(crate) fn block(&mut self, block: &[VertexId], out: &mut Vec<u8>) {
        let mut gaps = [0u32; BLOCK];
        let rest = if self.started {
            block
        } else {
            let Some((first, rest)) = block.split_first() else { return };
            varint::put(out, u64::from(*first));
            self.last = *first;
            self.started = true;
            rest
        };
        for (gap, &v) in gaps.iter_mut().zip(rest) {
            // callers check the order; a wrapped gap would still round trip
            *gap = v.wrapping_sub(self.last);
            self.last = v;
        }
        let gaps = gaps.get(..rest.len()).unwrap_or_default();
        for group in gaps.chunks(GROUP) {
            out.push(width(group));
        }
        for group in gaps.chunks(GROUP) {
            pack_bits(group.iter().map(|gap| u64::from(*gap)), width(group), out);
        }
    }
}

/// Returns the bits of the largest gap; above 25, the group is written as whole words, because an
/// eight-lane decoder reads 32 bits from the byte in which a gap begins.
fn width(group: &[u32]) -> u8 {
    let bits = 32 - group.iter().fold(0, |all, g| all | g).leading_zeros();
    if bits > 25 { 32 } else { (bits & 0xff) as u8 }
}

/// Appends `values` with `width` bits each, 64 at most, lowest bits first; fills the last byte with zeros.
pub fn pack_bits(values: impl IntoIterator<Item = u64>, width: u8, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u64, 0u32);
    // At most 32 bits at a time, beside the up to seven that wait.
    let mut put = |value: u64, width: u32| {
        word |= value << filled;
        filled += width;
        while filled >= 8 {
            out.push((word & 0xff) as u8);
            word >>= 8;
            filled -= 8;
        }
    };
    for value in values {
        match u32::from(width).checked_sub(32) {
            None => put(value, width.into()),
            Some(high) => {
                put(value & u64::from(u32::MAX), 32);
                put(value >> 32, high);
            }
        }
    }
    if filled > 0 {
        out.push((word & 0xff) as u8);
    }
}

/// Appends a whole list.
pub(crate) fn encode(neighbours: &[VertexId], out: &mut Vec<u8>) {
    if neighbours.is_empty() {
        return;
    }
    let mut encoder = Encoder::start(neighbours.len() as u64, out);
    for block in neighbours.chunks(BLOCK) {
        encoder.block(block, out);
    }
}
