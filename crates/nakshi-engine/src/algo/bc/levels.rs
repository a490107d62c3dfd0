//! Which vertices are on which level of a search, in two bytes per vertex for all but
//! graphs that are nearly paths.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::VertexId;

/// Number of a vertex that has no level.
const NONE: u16 = u16::MAX;

/// The levels of one search; reused for the next.
pub(super) struct Levels {
    n: usize,
    depth: usize,
    /// Level of each vertex while there are fewer than 2^16 of them.
    numbers: Vec<u16>,
    /// Members of the further levels, in order, and where each level starts.
    order: Vec<VertexId>,
    starts: Vec<usize>,
}

impl Levels {
    pub(super) fn new(n: usize) -> Self {
        Levels { n, depth: 0, numbers: vec![NONE; n], order: Vec::new(), starts: Vec::new() }
    }

    pub(super) fn clear(&mut self, cx: &Context) -> Result<()> {
        self.depth = 0;
        self.order.clear();
        self.starts.clear();
        for_each_block_mut(cx, &mut self.numbers, |_, part| {
            part.fill(NONE);
            Ok(())
        })
    }

    /// Number of levels.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Appends a level.
    pub(super) fn push(&mut self, members: &VertexSet, cx: &Context) -> Result<()> {
        let level = u16::try_from(self.depth).ok().filter(|&level| level != NONE);
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
        for_each_block_mut(cx, &mut self.numbers, |start, part| {
            for v in bits.iter_in(start, start + part.len()) {
                if let Some(number) = part.get_mut(v - start) {
                    *number = level;
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
        // Below 2^16 - 1, as tested above.
        let level = level as u16;
        let set = AtomicBitmap::new(self.n);
        map_blocks(cx, self.n, |block| {
            let numbers = self.numbers.get(block.clone()).unwrap_or(&[]);
            for (k, chunk) in numbers.chunks(64).enumerate() {
                let bits = chunk
                    .iter()
                    .enumerate()
                    .fold(0u64, |word, (i, &number)| word | u64::from(number == level) << i);
                if bits != 0 {
                    set.store_word(block.start / 64 + k, bits);
                }
            }
            Ok(())
        })?;
        Ok(set.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vertex on each level, more of them than 16 bits can number.
    #[test]
    fn levels_beyond_16_bits() {
        let n = (1 << 16) + 100;
        let cx = Context::new().with_threads(2);
        let mut levels = Levels::new(n);
        for _ in 0..2 {
            for v in 0..n as VertexId {
                let mut one = VertexSet::new(n);
                one.insert(v);
                levels.push(&one, &cx).unwrap();
            }
            assert_eq!(levels.depth(), n);
            for level in [0, 1, 65_534, 65_535, 65_536, n - 1] {
                let members = levels.members(level, &cx).unwrap();
                assert_eq!(members.iter().collect::<Vec<_>>(), [level as VertexId], "{level}");
            }
            levels.clear(&cx).unwrap();
        }
    }
}
