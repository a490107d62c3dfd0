//! The budget of a job: its shares of memory and threads.

use crate::sort::radix::Record;
use crate::{Error, Result};

/// The least memory with which an import works, for any input.
pub const MINIMUM_MEMORY: u64 = 64 << 20;

/// Bytes that a job on a small graph may hold throughout within [`MINIMUM_MEMORY`]: a quarter of
/// the [reserve](RESERVE). Without this allowance, the least memory would not suffice for a graph
/// of two vertices.
const HELD: u64 = RESERVE / 4;

/// Returns the least memory of a job that holds `held` bytes throughout, such as an order of the
/// vertices, and otherwise works with `least`.
pub const fn least_memory(least: u64, held: u64) -> u64 {
    least.saturating_add(held.saturating_sub(HELD))
}

/// Least memory for each thread: blocks of text, the edges in them, and output that waits to be
/// written take up to 8 MiB, besides the tables that the threads share.
const THREAD_MEMORY: u64 = 16 << 20;

/// Memory kept back for uses that no phase counts: lists longer than expected, and freed memory
/// that the allocator keeps.
const RESERVE: u64 = 16 << 20;

/// Largest bucket that is sorted in memory, in records; larger buckets only cause more cache
/// misses.
const BUCKET: u64 = 2 << 20;

/// Memory and threads that a job may use.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes for the phases of the job.
    pub memory: u64,
    /// Number of threads, at least one.
    pub threads: usize,
}

impl Budget {
    /// Makes a budget from `given` bytes, of which `held` are taken throughout; 0 threads stand for
    /// those of the machine. From then on, the allocator keeps no large freed buffers.
    ///
    /// # Errors
    /// [`Error::Budget`] with the least memory that works.
    pub fn new(given: u64, held: u64, threads: usize) -> Result<Self> {
        Error::afford(least_memory(MINIMUM_MEMORY, held), Some(given))?;
        nakshi_io::return_freed_buffers_at_once();
        let given = given - held;
        let affordable = usize::try_from(given / THREAD_MEMORY).unwrap_or(usize::MAX);
        let memory = given - RESERVE.min(given / 4);
        Ok(Self { memory, threads: threads_of(threads).min(affordable) })
    }

    /// Returns the bytes of the buffers from which each thread writes arcs to their buckets, in so many
    /// directions.
    pub(crate) fn buffers(&self, directions: u64) -> u64 {
        self.memory / 4 / self.threads.max(1) as u64 / directions
    }

    /// Returns the number of records of a bucket. Every sorter holds one bucket as read and one as
    /// scratch, and about twice as much again in encoded lists that wait to be written.
    pub(crate) fn bucket<R: Record>(&self) -> u64 {
        let share = self.memory / 2 / self.threads.max(1) as u64;
        (share / (4 * 8 * R::WORDS as u64)).clamp(1 << 10, BUCKET)
    }
}

/// Returns `wanted`, or the number of threads of the machine for 0.
pub(crate) fn threads_of(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}
