//! A set of vertices that workers fill and empty at the same time.

use crate::VertexId;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bitmap with a summary above it, so that a sparse set is found without reading all of it.
///
/// This is also what a multicast without data shrinks to: an activation carries nothing but
/// its destination, so its bundle is one bit per vertex (section 3.4.1).
///
/// A *block* is a run of words; bit `b` of the summary is set if block `b` may have members.
/// Orders are relaxed: whoever fills the set and whoever empties it are separated by a
/// barrier of the team, except for [`Frontier::take_word`], where the swap alone decides
/// which worker gets the members.
#[derive(Debug)]
pub(super) struct Frontier {
    words: Vec<AtomicU64>,
    summary: Vec<AtomicU64>,
    vertices: usize,
    /// Words per block, as a power of two.
    block_bits: u32,
}

fn zeros(len: usize) -> Vec<AtomicU64> {
    (0..len).map(|_| AtomicU64::new(0)).collect()
}

impl Frontier {
    /// An empty set over `0..vertices`, in blocks of `2^range_bits` vertices at most.
    pub(super) fn new(vertices: usize, range_bits: u32) -> Self {
        let words = vertices.div_ceil(64);
        let block_bits = range_bits.clamp(6, 12) - 6;
        let blocks = words.div_ceil(1 << block_bits);
        Frontier { words: zeros(words), summary: zeros(blocks.div_ceil(64)), vertices, block_bits }
    }

    /// Words per block.
    pub(super) fn words_per_block(&self) -> usize {
        1 << self.block_bits
    }

    /// Adds a vertex and tells whether this call was the one that added it;
    /// `None` if there is no such vertex.
    #[inline]
    pub(super) fn insert(&self, vertex: VertexId) -> Option<bool> {
        let index = vertex as usize / 64;
        let bit = 1u64 << (vertex % 64);
        let word = self.words.get(index).filter(|_| (vertex as usize) < self.vertices)?;
        if word.load(Ordering::Relaxed) & bit != 0 {
            return Some(false);
        }
        let old = word.fetch_or(bit, Ordering::Relaxed);
        if old == 0 {
            self.mark(index >> self.block_bits);
        }
        Some(old & bit == 0)
    }

    fn mark(&self, block: usize) {
        let bit = 1u64 << (block % 64);
        if let Some(word) = self.summary.get(block / 64)
            && word.load(Ordering::Relaxed) & bit == 0
        {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Adds all vertices.
    pub(super) fn fill(&self) {
        for (k, word) in self.words.iter().enumerate() {
            let left = self.vertices - k * 64;
            word.store(if left >= 64 { u64::MAX } else { (1 << left) - 1 }, Ordering::Relaxed);
            self.mark(k >> self.block_bits);
        }
    }

    /// Takes the members of word `index` out of the set: each member goes to one caller only.
    #[inline]
    pub(super) fn take_word(&self, index: usize) -> u64 {
        match self.words.get(index) {
            Some(word) if word.load(Ordering::Relaxed) != 0 => word.swap(0, Ordering::Relaxed),
            _ => 0,
        }
    }

    /// Takes one vertex out of the set and tells whether it was a member.
    pub(super) fn take(&self, vertex: VertexId) -> bool {
        let bit = 1u64 << (vertex % 64);
        self.words
            .get(vertex as usize / 64)
            .is_some_and(|w| w.fetch_and(!bit, Ordering::Relaxed) & bit != 0)
    }

    /// Hands the blocks that may have members to `visit`, ascending, and clears the summary;
    /// the members themselves stay until they are taken.
    pub(super) fn take_blocks(&self, mut visit: impl FnMut(usize)) {
        for (k, word) in self.summary.iter().enumerate() {
            let mut bits = word.swap(0, Ordering::Relaxed);
            while bits != 0 {
                visit(k * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Bytes of a set over `vertices`.
    pub(super) fn bytes(vertices: u64) -> u64 {
        vertices / 8 + vertices / 512
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_once() {
        let set = Frontier::new(100_000, 12);
        for v in [0u32, 63, 64, 4095, 4096, 99_999, 64] {
            set.insert(v);
        }
        assert_eq!(set.insert(0), Some(false));
        assert_eq!(set.insert(100_000), None);
        let mut found = Vec::new();
        set.take_blocks(|b| {
            for k in b * set.words_per_block()..(b + 1) * set.words_per_block() {
                let mut bits = set.take_word(k);
                while bits != 0 {
                    found.push(k * 64 + bits.trailing_zeros() as usize);
                    bits &= bits - 1;
                }
            }
        });
        assert_eq!(found, [0, 63, 64, 4095, 4096, 99_999]);
        set.take_blocks(|_| panic!("the summary was taken"));
        assert_eq!(set.insert(63), Some(true));
        assert!(set.take(63) && !set.take(63));
    }

    #[test]
    fn full_has_all() {
        for n in [0usize, 1, 63, 64, 65, 5000] {
            let set = Frontier::new(n, 6);
            set.fill();
            let mut count = 0;
            set.take_blocks(|b| {
                for k in b * set.words_per_block()..(b + 1) * set.words_per_block() {
                    count += set.take_word(k).count_ones() as usize;
                }
            });
            assert_eq!(count, n);
        }
    }
}
