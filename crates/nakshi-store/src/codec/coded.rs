//! A packed list behind its header and first neighbour, and the faults that its bytes may have.

use super::lanes::{GROUP, NO_VERTEX};
use crate::{Error, VertexId, varint};

/// The fault of bytes that are no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The bytes end too early.
    Short,
    /// The degree does not fit the length.
    Degree,
    /// A group's width is over 32, or 26 to 31.
    Width,
    /// A neighbour is at or above the bound.
    Vertex,
}

impl From<Fault> for Error {
    #[cold]
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Short => Error::BadList("it ends before its degree is reached"),
            Fault::Degree => Error::BadList("its degree does not fit its length"),
            Fault::Width => Error::BadList("a group of gaps has a width that does not exist"),
            Fault::Vertex => NO_VERTEX,
        }
    }
}

/// Returns the degree and the header length. The degree is checked against the length: each group
/// of eight takes at least a byte, so a hostile degree cannot request unbounded memory.
#[inline]
pub(crate) fn header(bytes: &[u8], len: usize) -> Result<(u64, usize), Fault> {
    if len == 0 {
        return Ok((0, 0));
    }
    let mut at = 0;
    let Some(degree) = varint::get(bytes, &mut at) else { return Err(Fault::Short) };
    if degree == 0
        || at >= len
        || degree.saturating_sub(1).div_ceil(GROUP as u64) > (len - at) as u64
    {
        return Err(Fault::Degree);
    }
    Ok((degree, at))
}

/// A packed list behind its header and first neighbour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coded<'a> {
    pub(super) bytes: &'a [u8],
    /// End of the list in `bytes`.
    pub(super) end: usize,
    /// Beginning of the first block.
    pub(super) at: usize,
    /// Number of neighbours, above 0.
    pub(super) degree: u64,
    pub(super) first: VertexId,
    /// Largest id that may occur.
    pub(super) max: VertexId,
}

impl<'a> Coded<'a> {
    /// The list of `degree` > 0 neighbours at the front of `bytes`, up to `end`, whose header ends at `body`.
    #[inline]
    pub(crate) fn new(
        bytes: &'a [u8],
        end: usize,
        (degree, body): (u64, usize),
        max: VertexId,
    ) -> Result<Self, Fault> {
        let mut at = body;
        let first = varint::get_mixed(bytes, &mut at).and_then(|v| u32::try_from(v).ok());
        let Some(first) = first else { return Err(Fault::Short) };
        Ok(Coded { bytes, end, at, degree, first, max })
    }
}
