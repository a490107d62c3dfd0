//! Packed lists: gaps in groups of eight, each group bit-packed at its own width.

use std::ops::ControlFlow;

use super::{BLOCK, simd};
use crate::varint;
use crate::{Error, Result, VertexId};

/// Gaps that share one width.
pub(crate) const GROUP: usize = 8;
const SHORT: Error = Error::BadList("it ends before its degree is reached");

/// Degree and header length. The degree is checked against the length: each group of eight
/// takes a byte at least, so a hostile degree cannot ask for unbounded memory.
#[inline]
pub(crate) fn header(bytes: &[u8], len: usize) -> Result<(u64, usize)> {
    if len == 0 {
        return Ok((0, 0));
    }
    let mut at = 0;
    let degree = varint::get(bytes, &mut at).ok_or(SHORT)?;
    if degree == 0
        || at >= len
        || degree.saturating_sub(1).div_ceil(GROUP as u64) > (len - at) as u64
    {
        return Err(Error::BadList("its degree does not fit its length"));
    }
    Ok((degree, at))
}

/// Encodes one list, block by block, so that a giant list never has to be in memory.
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
            pack(group, width(group), out);
        }
    }
}

/// Bits that the largest gap takes; above 25 the group is written as whole words, because an
/// eight-lane decoder reads 32 bits from the byte where a gap begins.
fn width(group: &[u32]) -> u8 {
    let bits = 32 - group.iter().fold(0, |all, g| all | g).leading_zeros();
    if bits > 25 { 32 } else { (bits & 0xff) as u8 }
}

fn pack(group: &[u32], width: u8, out: &mut Vec<u8>) {
    let (mut word, mut filled) = (0u64, 0u32);
    for &gap in group {
        word |= u64::from(gap) << filled;
        filled += u32::from(width);
        while filled >= 8 {
            out.push((word & 0xff) as u8);
            word >>= 8;
            filled -= 8;
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

/// Hands out blocks; see [`crate::List::blocks`].
#[inline]
pub(crate) fn blocks(
    bytes: &[u8],
    end: usize,
    body: usize,
    degree: u64,
    max: VertexId,
    mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<()> {
    if degree == 0 {
        return Ok(());
    }
    let mut at = body;
    let first = varint::get(bytes, &mut at).and_then(|v| u32::try_from(v).ok()).ok_or(SHORT)?;
    let decode = simd::decoder();
    let mut out = simd::Buffer::new();
    out.put_first(first);
    let mut cursor = simd::Cursor { at, last: first, largest: first };
    let (mut have, mut left) = (1, degree - 1);
    loop {
        let take = (BLOCK - have).min(usize::try_from(left).unwrap_or(BLOCK));
        if take > 0 {
            decode(bytes, &mut cursor, &mut out, have, take).map_err(fault)?;
        }
        if cursor.at > end {
            return Err(SHORT);
        }
        if cursor.largest > max {
            return Err(Error::BadList("a neighbour is no vertex of the graph"));
        }
        left -= take as u64;
        if f(out.front(have + take)).is_break() || left == 0 {
            return Ok(());
        }
        have = 0;
    }
}

#[cold]
fn fault(fault: simd::Fault) -> Error {
    match fault {
        simd::Fault::Short => SHORT,
        simd::Fault::Width => Error::BadList("a group of gaps has a width that does not exist"),
    }
}
