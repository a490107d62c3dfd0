//! Heads: the first two neighbours of every vertex, for memory.
//!
//! In a hub-first layout the heads are among the largest neighbours, and most searches end at them.
//! A direction-optimising traversal that reads heads first reads few lists.

use nakshi_io::{CancelToken, PagedFile};
use std::sync::Arc;

use crate::{Error, Result, VertexId, varint};

/// The first two neighbours of every vertex, eight bytes a vertex.
///
/// A vertex without neighbours has itself twice, and one with a single neighbour has that neighbour
/// twice. No id is a sentinel: a self-loop changes nothing in a search.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    pairs: Vec<[VertexId; 2]>,
}

impl Heads {
    /// Returns the pairs by vertex. Vertices at or beyond the length have no neighbours.
    pub fn pairs(&self) -> &[[VertexId; 2]] {
        &self.pairs
    }

    /// Returns the pairs and consumes the heads.
    pub fn into_pairs(self) -> Vec<[VertexId; 2]> {
        self.pairs
    }

    /// Returns the heads of `v`.
    #[inline]
    pub fn get(&self, v: VertexId) -> [VertexId; 2] {
        self.pairs.get(v as usize).copied().unwrap_or([v, v])
    }

    /// Returns the heap bytes.
    pub fn memory(&self) -> u64 {
        self.pairs.len() as u64 * 8
    }

    /// Reads `stored` pairs of a graph of `vertices` vertices.
    pub(crate) fn load(
        file: &Arc<PagedFile>,
        stored: u64,
        vertices: u64,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let bytes = file.load(cancel)?;
        let bad = || Error::BadList("the heads file does not decode");
        let mut pairs = Vec::new();
        let n = usize::try_from(stored).map_err(|_| bad())?;
        if n > bytes.len() {
            return Err(bad());
        }
        pairs.try_reserve_exact(n).map_err(|_| Error::Budget { needed: stored * 8, given: 0 })?;
        let mut at = 0;
        for v in (0..=VertexId::MAX).take(n) {
            if u64::from(v).is_multiple_of(varint::CANCEL_CHECK_INTERVAL) {
                cancel.check()?;
            }
            let first = match varint::get_mixed(&bytes, &mut at).ok_or_else(bad)? {
                0 => {
                    pairs.push([v, v]);
                    continue;
                }
                code => code - 1,
            };
            let second = match varint::get_mixed(&bytes, &mut at).ok_or_else(bad)? {
                0 => first,
                code => first.checked_add(code - 1).ok_or_else(bad)?,
            };
            if second >= vertices {
                return Err(bad());
            }
            let narrow = |id| u32::try_from(id).map_err(|_| bad());
            pairs.push([narrow(first)?, narrow(second)?]);
        }
        if at != bytes.len() {
            return Err(bad());
        }
        Ok(Self { pairs })
    }

    /// Appends the heads of one vertex: 0 if there are none, else the first plus one; then 0 if
    /// there is no second, else the gap plus one.
    pub(crate) fn encode(neighbours: &[VertexId], out: &mut Vec<u8>) {
        match *neighbours {
            [] => out.push(0),
            [first] => {
                varint::put(out, u64::from(first) + 1);
                out.push(0);
            }
            [first, second, ..] => {
                varint::put(out, u64::from(first) + 1);
                varint::put(out, u64::from(second.wrapping_sub(first)) + 1);
            }
        }
    }
}
