//! How memory and threads are shared out.

use crate::sort::radix::Record;
use crate::{Error, Result};

/// The least memory with which an import works, whatever the input.
pub const MINIMUM_MEMORY: u64 = 64 << 20;

/// Bytes that a job on a small graph may hold all the time within [`MINIMUM_MEMORY`], a quarter of the
/// [reserve](RESERVE): else the least memory would be too little for a graph of two vertices.
const HELD: u64 = RESERVE / 4;

/// The least memory of a job that holds `held` bytes all the time, such as an order of the vertices,
/// and works with `least` otherwise.
pub const fn least_memory(least: u64, held: u64) -> u64 {
    least.saturating_add(held.saturating_sub(HELD))
}

/// Memory for each thread at least: blocks of text, the edges in them, and what waits to be written
/// take up to 8 MiB, beside the tables that the threads share.
const THREAD_MEMORY: u64 = 16 << 20;

/// What is kept back for that which no phase counts: lists that are longer than expected, the
/// allocator's leftovers.
const RESERVE: u64 = 16 << 20;

/// Largest bucket that is sorted in memory, in records; larger ones only miss the caches.
const BUCKET: u64 = 2 << 20;

/// What a job may use.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes for its phases.
    pub memory: u64,
    /// Threads; one at least.
    pub threads: usize,
}

impl Budget {
    /// Of `given` bytes, of which `held` are taken all the time; 0 threads are those of the machine.
    ///
    /// # Errors
    /// [`Error::Budget`] with the least memory that works.
    pub fn new(given: u64, held: u64, threads: usize) -> Result<Self> {
        Error::afford(least_memory(MINIMUM_MEMORY, held), Some(given))?;
        let given = given - held;
        let affordable = usize::try_from(given / THREAD_MEMORY).unwrap_or(usize::MAX);
        let memory = given - RESERVE.min(given / 4);
        Ok(Self { memory, threads: threads_of(threads).min(affordable) })
    }

    /// Records of a bucket: every sorter holds one as read and one as scratch, and about as much
    /// again twice in lists that were encoded and wait to be written.
    pub(crate) fn bucket<R: Record>(&self) -> u64 {
        let share = self.memory / 2 / self.threads.max(1) as u64;
        (share / (4 * 8 * R::WORDS as u64)).clamp(1 << 10, BUCKET)
    }
}

/// The threads of the machine for 0.
pub(crate) fn threads_of(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}
