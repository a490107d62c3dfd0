//! The fixed division of lists into chunks.

use crate::parallel::{BLOCK, block_of};
use nakshi_store::ListIndex;
use std::ops::Range;

/// Most bytes of lists per chunk of a scan.
pub(crate) const CHUNK_BYTES: u64 = 256 << 10;
/// Least bytes of lists per chunk, unless its vertices have fewer: a read costs as much as decoding these.
const LEAST_CHUNK: u64 = 32 << 10;
/// Chunks of a small graph, so that the last one does not leave the other threads idle for long.
const CHUNKS: u64 = 64;

/// Divides lists into chunks of at most [`CHUNK_BYTES`], less in a small graph, and at most the vertices of
/// a block; a longer list is a chunk of its own. Returns the first vertex of each chunk, then the number of
/// vertices.
pub(super) fn divide(index: &ListIndex) -> Vec<u64> {
    let n = index.len();
    let bytes = (index.total() / CHUNKS).next_power_of_two().clamp(LEAST_CHUNK, CHUNK_BYTES);
    let small = bytes < CHUNK_BYTES;
    let vertices = usize::try_from(n).unwrap_or(usize::MAX);
    // Lossless: within the constants of a block.
    let block = if small { block_of(vertices) } else { BLOCK } as u64;
    let mut starts = vec![0];
    let mut from = 0;
    while from < n {
        let limit = index.offset(from).saturating_add(bytes);
        // The last `to` in `from + 1 ..= from + block` whose offset is within the limit.
        let (mut low, mut high) = (from + 1, n.min(from + block));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if index.offset(middle) <= limit {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        from = low;
        starts.push(from);
    }
    starts
}

/// A chunk's vertices and bytes.
#[derive(Debug, Clone)]
pub(super) struct ChunkSpan {
    pub(super) vertices: Range<u64>,
    pub(super) bytes: Range<u64>,
}

/// The chunk of this number, of a division that begins chunks at `starts`.
pub(super) fn span(starts: &[u64], index: &ListIndex, chunk: usize) -> Option<ChunkSpan> {
    let &[from, to] = starts.get(chunk..chunk + 2)? else { return None };
    Some(ChunkSpan { vertices: from..to, bytes: index.offset(from)..index.offset(to) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_cover_all_vertices(sizes in prop::collection::vec(prop_oneof![0u64..2000, Just(300_000u64)], 0..400)) {
            let index = ListIndex::from_sizes(&sizes).unwrap();
            let starts = divide(&index);
            prop_assert_eq!(starts[0], 0);
            prop_assert_eq!(*starts.last().unwrap(), sizes.len() as u64);
            for pair in starts.windows(2) {
                prop_assert!(pair[0] < pair[1]);
                let bytes = index.offset(pair[1]) - index.offset(pair[0]);
                prop_assert!(bytes <= CHUNK_BYTES || pair[1] == pair[0] + 1);
            }
        }
    }
}
