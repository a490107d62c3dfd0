//! Which vertices are on which level of a search, in one byte per vertex for all but the
//! deepest graphs.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::VertexId;

/// Byte of a vertex that has no level.
const NONE: u8 = u8::MAX;

/// The levels of one search; reused for the next.
pub(super) struct Levels {
    n: usize,
    depth: usize,
    /// Level of each vertex while there are at most 255 of them.
    bytes: Vec<u8>,
    /// Members of the levels from 255 on, in order, and where each level starts.
    order: Vec<VertexId>,
    starts: Vec<usize>,
}

impl Levels {
    pub(super) fn new(n: usize) -> Self {
        Levels { n, depth: 0, bytes: vec![NONE; n], order: Vec::new(), starts: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.depth = 0;
        self.bytes.fill(NONE);
        self.order.clear();
        self.starts.clear();
    }

    /// Number of levels.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Appends a level.
    pub(super) fn push(&mut self, members: &VertexSet, cx: &Context) -> Result<()> {
        let level = u8::try_from(self.depth).ok().filter(|&level| level != NONE);
        self.depth += 1;
        let Some(level) = level else {
            self.starts.push(self.order.len());
            let bytes = 4 * members.count() as u64;
            self.order
                .try_reserve(members.count())
                .map_err(|_| Error::OutOfMemory { what: "levels of a deep search", bytes })?;
            self.order.extend(members.iter());
            return Ok(());
        };
        let bits = members.bits();
        for_each_block_mut(cx, &mut self.bytes, |start, part| {
            for v in bits.iter_in(start, start + part.len()) {
                if let Some(byte) = part.get_mut(v - start) {
                    *byte = level;
                }
            }
            Ok(())
        })
    }

    /// The members of a level.
    pub(super) fn members(&self, level: usize, cx: &Context) -> Result<VertexSet> {
        if let Some(k) = level.checked_sub(usize::from(NONE)) {
            let mut set = VertexSet::new(self.n);
            let from = self.starts.get(k).copied().unwrap_or(0);
            let to = self.starts.get(k + 1).copied().unwrap_or(self.order.len());
            for &v in self.order.get(from..to).unwrap_or(&[]) {
                set.insert(v);
            }
            return Ok(set);
        }
        // Below 255, as tested above.
        let level = level as u8;
        let set = AtomicBitmap::new(self.n);
        map_blocks(cx, self.n, |block| {
            let bytes = self.bytes.get(block.clone()).unwrap_or(&[]);
            for (k, chunk) in bytes.chunks(64).enumerate() {
                let bits = chunk
                    .iter()
                    .enumerate()
                    .fold(0u64, |word, (i, &byte)| word | u64::from(byte == level) << i);
                if bits != 0 {
                    set.store_word(block.start / 64 + k, bits);
                }
            }
            Ok(())
        })?;
        Ok(set.into())
    }
}
