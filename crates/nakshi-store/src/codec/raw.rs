//! Raw lists: four bytes a neighbour, little endian, no header. The degree is the length over four.

use std::ops::ControlFlow;

use super::{BLOCK, Lanes, Term};
use crate::{Error, Result, VertexId};

/// Degree and header length of a list of `len` bytes.
#[inline]
pub(crate) fn header(len: usize) -> Result<(u64, usize)> {
    if !len.is_multiple_of(4) {
        return Err(Error::BadList("a raw list's length is no multiple of four"));
    }
    Ok(((len / 4) as u64, 0))
}

/// Appends the list.
pub(crate) fn encode(neighbours: &[VertexId], out: &mut Vec<u8>) {
    out.reserve(neighbours.len() * 4);
    for v in neighbours {
        out.extend_from_slice(&v.to_le_bytes());
    }
}

/// Hands out blocks; see [`crate::List::blocks`].
#[inline]
pub(crate) fn blocks(
    bytes: &[u8],
    end: usize,
    max: VertexId,
    mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>,
) -> Result<()> {
    let mut block = [0u32; BLOCK];
    let body = bytes.get(..end).ok_or(Error::BadList("it ends outside its buffer"))?;
    for chunk in body.chunks(BLOCK * 4) {
        let mut largest = 0;
        let mut count = 0;
        for (to, from) in block.iter_mut().zip(chunk.as_chunks::<4>().0) {
            *to = u32::from_le_bytes(*from);
            largest = largest.max(*to);
            count += 1;
        }
        if largest > max {
            return Err(Error::BadList("a neighbour is no vertex of the graph"));
        }
        if f(block.get(..count).unwrap_or_default()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Sum of values; see [`crate::List::sum`].
pub(crate) fn sum<T: Term>(bytes: &[u8], end: usize, max: VertexId, values: &[T]) -> Result<f64> {
    let mut lanes = Lanes::default();
    let mut known = true;
    blocks(bytes, end, max, |block| {
        for group in block.chunks(Lanes::WIDTH) {
            known &= lanes.add(group, values);
        }
        if known { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if known {
        Ok(lanes.total(0.0))
    } else {
        Err(Error::BadList("a neighbour is no vertex of the graph"))
    }
}
