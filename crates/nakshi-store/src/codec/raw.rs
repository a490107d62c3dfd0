//! Raw lists: four bytes a neighbour, little endian, no header. The degree is the length divided by
//! four.

use std::ops::ControlFlow;

use super::Term;
use super::lanes::{BLOCK, Lanes, NO_VERTEX, bound};
use crate::{Error, Result, VertexId};

/// Returns the degree and the header length of a list of `len` bytes.
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

/// Visits the blocks of a list; see [`crate::List::blocks`].
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
            return Err(NO_VERTEX);
        }
        if f(block.get(..count).unwrap_or_default()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the sum of values over a list that is not empty; see [`crate::List::sum`].
pub(crate) fn sum<T: Term>(bytes: &[u8], end: usize, max: VertexId, values: &[T]) -> Result<f64> {
    let Some(max) = bound(values, max) else { return Err(NO_VERTEX) };
    let mut lanes = Lanes::default();
    let mut first = None;
    blocks(bytes, end, max, |block| {
        let skip = usize::from(first.is_none());
        let head = block.first().and_then(|&id| values.get(id as usize));
        first = first.or(head.map(|&value| value.into()));
        lanes.add_block(block.get(skip..).unwrap_or_default(), values);
        ControlFlow::Continue(())
    })?;
    Ok(lanes.total(first.unwrap_or(0.0)))
}
