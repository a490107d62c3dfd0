//! One edge list in memory.

use std::ops::{ControlFlow, Range};

use crate::codec::{self, BLOCK, Term};
use crate::{Encoding, Error, Result, VertexId};

/// One edge list, borrowed from the buffer that it was read into, or from [`crate::DecodedLists`].
///
/// Creating a list reads only its header; neighbours are decoded block by block onto the stack.
/// Every id passed to a visitor is below the bound given with [`List::bounded`], whatever the bytes
/// are, so a kernel can index its state even with hostile bytes.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    form: Form<'a>,
    degree: u64,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    /// The neighbours themselves, all of them below the number of vertices.
    Decoded(&'a [VertexId], u64),
    Encoded(Encoded<'a>),
}

#[derive(Clone, Copy, Debug)]
struct Encoded<'a> {
    encoding: Encoding,
    bytes: &'a [u8],
    /// End of the list in `bytes`; the bytes behind it may be read but never interpreted.
    end: usize,
    /// End of the header in `bytes`.
    body: usize,
    degree: u64,
    /// Largest id that may occur.
    max: VertexId,
}

impl<'a> Encoded<'a> {
    #[inline]
    fn blocks(&self, f: impl FnMut(&[VertexId]) -> ControlFlow<()>) -> Result<()> {
        match self.encoding {
            Encoding::Raw => codec::raw::blocks(self.bytes, self.end, self.max, f),
            Encoding::Packed if self.degree == 0 => Ok(()),
            Encoding::Packed => codec::blocks(&self.coded()?, f),
        }
    }

    #[inline]
    fn sum<T: Term>(&self, values: &[T]) -> Result<f64> {
        match self.encoding {
            Encoding::Raw => codec::raw::sum(self.bytes, self.end, self.max, values),
            Encoding::Packed => codec::sum(&self.coded()?, values),
        }
    }

    #[inline]
    fn coded(&self) -> Result<codec::Coded<'a>> {
        Ok(codec::Coded::new(self.bytes, self.end, (self.degree, self.body), self.max)?)
    }
}

impl<'a> List<'a> {
    /// Reads the header of the list at `range` of `buf`. Bytes of `buf` behind the range are slack:
    /// decoding is fastest with 32 or more of them, and correct without.
    ///
    /// # Errors
    /// [`Error::BadList`] if the header does not fit the range.
    #[inline]
    pub fn new(encoding: Encoding, buf: &'a [u8], range: Range<usize>) -> Result<Self> {
        // `ok_or` would make and drop an error for each valid list.
        let Some(len) = range.end.checked_sub(range.start) else {
            return Err(Error::BadList("its range is reversed"));
        };
        let Some(bytes) = buf.get(range.start..).filter(|b| b.len() >= len) else {
            return Err(Error::BadList("it ends outside its buffer"));
        };
        let (degree, body) = match encoding {
            Encoding::Raw => codec::raw::header(len)?,
            Encoding::Packed => codec::header(bytes, len)?,
        };
        let max = VertexId::MAX;
        Ok(Self {
            form: Form::Encoded(Encoded { encoding, bytes, end: len, body, degree, max }),
            degree,
        })
    }

    /// A list of ids that were decoded before, all of them below `vertices`.
    #[inline]
    pub(crate) fn decoded(ids: &'a [VertexId], vertices: u64) -> Self {
        Self { form: Form::Decoded(ids, vertices), degree: ids.len() as u64 }
    }

    /// Number of neighbours of a list of `len` bytes, of which `head` are the first, at least ten or all.
    ///
    /// # Errors
    /// [`Error::BadList`] if the header does not fit the length.
    pub fn degree_of(encoding: Encoding, head: &[u8], len: usize) -> Result<u64> {
        match encoding {
            Encoding::Raw => codec::raw::header(len).map(|header| header.0),
            Encoding::Packed => Ok(codec::header(head, len)?.0),
        }
    }

    /// Returns the same list with a bound: an id of `vertices` or more is then an error.
    #[inline]
    #[must_use]
    pub fn bounded(mut self, vertices: u64) -> Self {
        if let Form::Encoded(list) = &mut self.form {
            list.max = VertexId::try_from(vertices.saturating_sub(1)).unwrap_or(VertexId::MAX);
        }
        self
    }

    /// Returns the number of neighbours.
    #[inline]
    pub fn degree(&self) -> u64 {
        self.degree
    }

    /// Returns true if there are no neighbours.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.degree == 0
    }

    /// Returns the size in bytes, in the form that the list has here.
    #[inline]
    pub fn byte_len(&self) -> usize {
        match self.form {
            Form::Decoded(ids, _) => size_of_val(ids),
            Form::Encoded(list) => list.end,
        }
    }

    /// Visits the neighbours, ascending, in blocks of 1 to 128, until `f` breaks.
    ///
    /// # Errors
    /// [`Error::BadList`] if the bytes are no list; the blocks before the fault were visited.
    #[inline]
    pub fn blocks(&self, mut f: impl FnMut(&[VertexId]) -> ControlFlow<()>) -> Result<()> {
        match &self.form {
            Form::Decoded(ids, _) => {
                _ = ids.chunks(BLOCK).try_for_each(f);
                Ok(())
            }
            Form::Encoded(list) => list.blocks(&mut f),
        }
    }

    /// Calls `f` for each neighbour, ascending.
    ///
    /// # Errors
    /// Same as [`List::blocks`].
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(VertexId)) -> Result<()> {
        self.for_each_slice(|block| block.iter().for_each(|&v| f(v)))
    }

    /// Calls `f` for each block of neighbours.
    ///
    /// # Errors
    /// Same as [`List::blocks`].
    #[inline]
    pub fn for_each_slice(&self, mut f: impl FnMut(&[VertexId])) -> Result<()> {
        self.blocks(|block| {
            f(block);
            ControlFlow::Continue(())
        })
    }

    /// Returns the sum of `values[u]` over the neighbours `u`: a row of the product of the
    /// adjacency matrix with a vector. Decodes and adds without a visitor. The order of the
    /// additions depends on the list alone: eight partial sums by position.
    ///
    /// # Errors
    /// Same as [`List::blocks`]; also if `values` is too short for a neighbour.
    #[inline]
    pub fn sum<T: Term>(&self, values: &[T]) -> Result<f64> {
        if self.degree == 0 {
            return Ok(0.0);
        }
        match &self.form {
            Form::Decoded(ids, vertices) => codec::sum_of_ids(ids, *vertices, values),
            Form::Encoded(list) => list.sum(values),
        }
    }

    /// Replaces the content of `out` by all neighbours.
    ///
    /// # Errors
    /// Same as [`List::blocks`].
    pub fn decode_into(&self, out: &mut Vec<VertexId>) -> Result<()> {
        // the degree was checked against the number of bytes, so it cannot request much more memory
        out.clear();
        out.reserve(usize::try_from(self.degree).unwrap_or(0));
        self.for_each_slice(|block| out.extend_from_slice(block))
    }

    /// Writes the first neighbours, at most `k` and at most 128, to the front of `out`; returns
    /// their number. Decodes at most one block.
    ///
    /// # Errors
    /// Same as [`List::blocks`].
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
