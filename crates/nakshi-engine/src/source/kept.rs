//! Chunks that stay in memory once they were read twice.
//!
//! A scan is larger than any page cache it is given, and a cache that evicts what was not
//! used for longest would have nothing of it when the next scan begins. So what the budget
//! leaves holds a fixed share of the chunks instead: every later pass finds that share of
//! its bytes in memory. The chosen chunks are spread evenly over the file, so that workers
//! decode kept chunks while the reads of the others are under way. A chunk is copied when it
//! is read for the second time: an algorithm that reads its lists once pays nothing.

use crate::vertex_set::{AtomicBitmap, Bitmap};
use nakshi_io::{AlignedBuf, Block, SLACK};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Memory beside the bytes of a kept chunk: what decoders may read behind them, and the
/// rounding of the allocation to pages.
const OVERHEAD: u64 = SLACK as u64 + 4096;

/// Which chunks of a side stay in memory.
#[derive(Debug)]
pub(crate) struct Keep {
    /// Memory, as a share of the bytes of lists and weights: 0 keeps nothing, and a little more
    /// than 1 everything.
    share: f64,
    now: Mutex<KeepState>,
}

#[derive(Debug)]
enum KeepState {
    /// No chunk was asked for yet.
    Unused,
    KeptChunks(Arc<KeptChunks>),
    /// The memory is used otherwise now.
    Released,
}

impl Keep {
    pub(crate) fn new(share: f64) -> Self {
        Keep { share, now: Mutex::new(KeepState::Unused) }
    }

    /// True if a run that may keep this share of lists and weights can go on with what is kept.
    pub(crate) fn serves(&self, share: f64) -> bool {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        self.share.to_bits() == share.to_bits() && !matches!(*now, KeepState::Released)
    }

    /// The kept chunks of a side whose chunks have these sizes, of lists and of weights; `None` if
    /// nothing is ever kept.
    pub(crate) fn kept(
        &self,
        sizes: impl FnOnce() -> Vec<(u64, Option<u64>)>,
    ) -> Option<Arc<KeptChunks>> {
        if self.share <= 0.0 {
            return None;
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match &*now {
            KeepState::Released => None,
            KeepState::KeptChunks(kept) => Some(Arc::clone(kept)),
            KeepState::Unused => {
                let kept = Arc::new(KeptChunks::new(&sizes(), self.share));
                *now = KeepState::KeptChunks(Arc::clone(&kept));
                Some(kept)
            }
        }
    }

    /// Gives the memory back and keeps nothing from now on.
    pub(crate) fn release(&self) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = KeepState::Released;
    }
}

type ChunkCells = Box<[OnceLock<AlignedBuf>]>;

/// The kept chunks of a side.
#[derive(Debug)]
pub(crate) struct KeptChunks {
    chosen: Bitmap,
    /// Chunks that were read before.
    seen: AtomicBitmap,
    lists: ChunkCells,
    /// The weights of the same chunks; empty without a column.
    weights: ChunkCells,
}

impl KeptChunks {
    /// Chooses among chunks of these sizes, of lists and of weights, so that they take `share` of
    /// the bytes.
    fn new(sizes: &[(u64, Option<u64>)], share: f64) -> Self {
        let count = sizes.len();
        let weighted = sizes.iter().any(|(_, weights)| weights.is_some());
        let mut chosen = Bitmap::new(count);
        let (mut seen, mut kept) = (0u64, 0u64);
        for (chunk, &(lists, weights)) in sizes.iter().enumerate() {
            let bytes = lists + weights.unwrap_or(0);
            seen += bytes;
            let taken = bytes + OVERHEAD * (1 + u64::from(weighted));
            if lists > 0 && (kept + taken) as f64 <= share * seen as f64 {
                kept += taken;
                chosen.set(chunk);
            }
        }
        let cells = |count| std::iter::repeat_with(OnceLock::new).take(count).collect();
        let weights = cells(if weighted { count } else { 0 });
        KeptChunks { chosen, seen: AtomicBitmap::new(count), lists: cells(count), weights }
    }

    /// The lists of a chunk and, if asked for, its weights; `None` unless all of it is here.
    pub(crate) fn get(&self, chunk: usize, weighted: bool) -> Option<(&[u8], &[u8])> {
        let lists = self.lists.get(chunk)?.get()?;
        let weights = if weighted { &**self.weights.get(chunk)?.get()? } else { &[] };
        Some((lists, weights))
    }

    /// Keeps what was read of a chunk, if it was chosen and is not read for the first time.
    pub(crate) fn put(&self, chunk: usize, lists: &Block, weights: Option<&Block>) {
        if !self.chosen.get(chunk) || self.seen.set(chunk) {
            return;
        }
        let put = |cells: &ChunkCells, block: &Block| {
            let missing = cells.get(chunk).filter(|cell| cell.get().is_none());
            // Without memory for it the chunk is read again, as all others are.
            if let Some((cell, bytes)) = missing.zip(copy(block)) {
                cell.get_or_init(|| bytes);
            }
        };
        put(&self.lists, lists);
        if let Some(weights) = weights {
            put(&self.weights, weights);
        }
    }
}

/// The bytes of a block and the slack behind them.
fn copy(block: &Block) -> Option<AlignedBuf> {
    let len = block.bytes().len() + SLACK;
    let mut kept = AlignedBuf::zeroed(len).ok()?;
    kept.get_mut(..len)?.copy_from_slice(block.slack().get(..len)?);
    Some(kept)
}
