//! Chunks that stay in memory once they were read twice.
//!
//! A scan is larger than any page cache it is given, and a cache that evicts what was not
//! used for longest would have nothing of it when the next scan begins. So what the budget
//! leaves holds a fixed share of the chunks instead: every later pass finds that share of
//! its bytes in memory. The chosen chunks are spread evenly over the file, so that workers
//! decode kept chunks while the reads of the others are under way. A chunk is copied when it
//! is read for the second time: an algorithm that reads its lists once pays nothing.

use super::{Side, chunks};
use crate::vertex_set::{AtomicBitmap, Bitmap};
use nakshi_io::{AlignedBuf, Block, SLACK};
use std::ops::Range;
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

    /// The kept chunks of `side`; `None` if the run keeps none.
    pub(crate) fn kept(&self, side: &Side) -> Option<Arc<KeptChunks>> {
        if self.share <= 0.0 {
            return None;
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        match &*now {
            KeepState::Released => None,
            KeepState::KeptChunks(kept) => Some(Arc::clone(kept)),
            KeepState::Unused => {
                let kept = Arc::new(KeptChunks::new(side, self.share));
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
    fn new(side: &Side, share: f64) -> Self {
        let count = side.chunk_starts().len().saturating_sub(1);
        let mut chosen = Bitmap::new(count);
        let (mut seen, mut kept) = (0u64, 0u64);
        for chunk in 0..count {
            let Some(span) = chunks::span(side, chunk) else { continue };
            let weights = side.weights.as_ref().map(|column| column.bytes(span.vertices));
            let bytes = |range: Range<u64>| range.end - range.start;
            let (lists, weights) = (bytes(span.bytes), weights.map_or(0, bytes));
            seen += lists + weights;
            let taken = lists + weights + OVERHEAD * (1 + u64::from(side.weights.is_some()));
            if lists > 0 && (kept + taken) as f64 <= share * seen as f64 {
                kept += taken;
                chosen.set(chunk);
            }
        }
        let cells = |count| std::iter::repeat_with(OnceLock::new).take(count).collect();
        let weights = cells(if side.weights.is_some() { count } else { 0 });
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
