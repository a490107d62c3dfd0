//! One encoded edge list in memory.

use std::ops::{ControlFlow, Range};

use crate::codec::{self, BLOCK, Term};
use crate::{Encoding, Error, Result, VertexId};

/// One encoded edge list, borrowed from the buffer that it was read into.
///
/// Creating one reads only the header; neighbours are decoded block by block onto the stack.
/// Every id handed out is below the bound given with [`List::bounded`], whatever the bytes say,
/// so that a kernel can index its state without fear of hostile bytes.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    encoding: Encoding,
    bytes: &'a [u8],
    /// Where the list ends in `bytes`; what follows may be read but never interpreted.
    end: usize,
    /// Where the header ends in `bytes`.
    body: usize,
    degree: u64,
    /// Largest id that may occur.
    max: VertexId,
}

impl<'a> List<'a> {
    /// The list at `range` of `buf`. Bytes of `buf` behind the range are slack: decoding is
    /// fastest with 32 or more of them, and right without.
    ///
    /// # Errors
    /// [`Error::BadList`] if the header does not fit the range.
    #[inline]
    pub fn new(encoding: Encoding, buf: &'a [u8], range: Range<usize>) -> Result<Self> {
        // `ok_or` would make and drop an error for each good list.
        let Some(len) = range.end.checked_sub(range.start) else {
            return Err(Error::BadList("its range is reversed"));
        };
        let Some(bytes) = buf.get(range.start..).filter(|b| b.len() >= len) else {
            return Err(Error::BadList("it ends outside its buffer"));
        };
        let (degree, body) = match encoding {
            Encoding::Raw => codec::raw::header(len)?,
            Encoding::Packed => codec::packed::header(bytes, len)?,
        };
        Ok(Self { encoding, bytes, end: len, body, degree, max: VertexId::MAX })
    }

    /// The same list, in which an id of `vertices` or more is an error.
    #[inline]
    #[must_use]
    pub fn bounded(mut self, vertices: u64) -> Self {
        self.max = VertexId::try_from(vertices.saturating_sub(1)).unwrap_or(VertexId::MAX);
        self
    }

    /// Number of neighbours.
    #[inline]
    pub fn degree(&self) -> u64 {
        self.degree
    }

    /// Whether there are no neighbours.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.degree == 0
    }

    /// Encoded size in bytes.
    #[inline]
    pub fn byte_len(&self) -> usize {
        self.end
    }

    /// Hands out the neighbours, ascending, in blocks of 1 to 128 on the stack, until `f` breaks.
    ///
    /// # Errors
    /// [`Error::BadList`] if the bytes are no list; blocks before the fault were handed out.
    #[inline]
    pub fn blocks(&self, f: impl FnMut(&[VertexId]) -> ControlFlow<()>) -> Result<()> {
        match self.encoding {
            Encoding::Raw => codec::raw::blocks(self.bytes, self.end, self.max, f),
            Encoding::Packed if self.degree == 0 => Ok(()),
            Encoding::Packed => codec::packed::blocks(&self.coded()?, f),
        }
    }

    #[inline]
    fn coded(&self) -> Result<codec::Coded<'a>> {
        codec::packed::coded(self.bytes, self.end, self.body, self.degree, self.max)
    }

    /// Calls `f` for each neighbour, ascending.
    ///
    /// # Errors
    /// As [`List::blocks`].
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(VertexId)) -> Result<()> {
        self.blocks(|block| {
            for &v in block {
                f(v);
            }
            ControlFlow::Continue(())
        })
    }

    /// Sum of `values[u]` over the neighbours `u`: a row of the product of the adjacency matrix
    /// with a vector. Decodes and adds without handing blocks out. The order of the additions
    /// depends on the list alone: eight partial sums by position.
    ///
    /// # Errors
    /// As [`List::blocks`]; also if `values` is too short for a neighbour.
    #[inline]
    pub fn sum<T: Term>(&self, values: &[T]) -> Result<f64> {
        if self.degree == 0 {
            return Ok(0.0);
        }
        match self.encoding {
            Encoding::Raw => codec::raw::sum(self.bytes, self.end, self.max, values),
            Encoding::Packed => codec::packed::sum(&self.coded()?, values),
        }
    }

    /// Replaces the content of `out` by all neighbours.
    ///
    /// # Errors
    /// As [`List::blocks`].
    pub fn decode_into(&self, out: &mut Vec<VertexId>) -> Result<()> {
        // the degree was checked against the bytes that are there, so it cannot ask for much more
        out.clear();
        out.reserve(usize::try_from(self.degree).unwrap_or(0));
        self.blocks(|block| {
            out.extend_from_slice(block);
            ControlFlow::Continue(())
        })
    }

    /// The first neighbours, at most `k` and at most 128, written to the front of `out`; returns
    /// how many there are. Decodes one block at most.
    ///
    /// # Errors
    /// As [`List::blocks`].
    pub fn first(&self, k: usize, out: &mut [VertexId; BLOCK]) -> Result<usize> {
        let mut found = 0;
        self.blocks(|block| {
            found = block.len().min(k);
            for (to, from) in out.iter_mut().zip(block.iter().take(found)) {
                *to = *from;
            }
            ControlFlow::Break(())
        })?;
        Ok(found)
    }
}
