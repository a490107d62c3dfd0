//! The storage backends: the one input seam of Nakshi.
//!
//! * [`StorageBackend`], [`ReadQueue`]: a batch of extents in, completions out;
//!   every fault test enters here
//! * [`OpenFiles`]: open, close, length, alignment
//! * `files`: opening with `O_DIRECT`, or buffered where that is refused
//! * `flight`: the reads in flight of a queue, and its time-outs
//! * [`UringBackend`] (Linux): a ring per queue, registered buffers
//! * [`PreadBackend`]: a thread pool; works everywhere
//! * [`MemoryBackend`]: files that are vectors
//! * [`FaultyBackend`]: another backend with seeded faults
//! * [`AutoBackend`], [`default_backend`], [`detect`]: the best backend that this system allows

mod choice;
mod faulty;
pub(crate) mod files;
mod flight;
mod memory;
mod pread;
#[cfg(target_os = "linux")]
mod uring;

pub use choice::{AutoBackend, Detected, default_backend, detect};
pub use faulty::{FaultPlan, FaultyBackend};
pub use memory::MemoryBackend;
pub use pread::PreadBackend;
#[cfg(target_os = "linux")]
pub use uring::UringBackend;

use crate::{AlignedBuf, Result};
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

/// An open file of one backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// The alignment that a file requires of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// Offsets and lengths of reads must be multiples of this many bytes.
    pub offset: u32,
    /// Buffers must start at multiples of this many bytes.
    pub memory: u32,
}

/// A source of files. Read-only; writing is [`crate::write`].
pub trait StorageBackend: Send + Sync + Debug {
    /// A short name for reports ("io_uring", "pread", "memory").
    fn name(&self) -> &'static str;

    /// Returns the open files.
    fn files(&self) -> &dyn OpenFiles;

    /// Makes a queue for one worker, with at most `depth` (at least 1) reads in flight.
    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>>;
}

/// The open files of a backend: the same for all ways to read them.
pub trait OpenFiles: Send + Sync + Debug {
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> Result<FileId>;

    /// Closes a file; reads in flight finish first. Unknown ids are ignored.
    fn close(&self, file: FileId);

    /// Returns the current number of bytes of the file, which may have been truncated since it was
    /// opened.
    fn len(&self, file: FileId) -> Result<u64>;

    /// Returns the alignment that the file requires of reads.
    fn alignment(&self, file: FileId) -> Result<Alignment>;

    /// Describes the fallbacks in use, a sentence each, for reports.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// One read: bytes from `offset` on fill `bufs` in order.
#[derive(Debug)]
pub struct Read {
    /// The file.
    pub file: FileId,
    /// Offset in the file in bytes; aligned as [`OpenFiles::alignment`] asks.
    pub offset: u64,
    /// Buffers for the bytes, usually one; the queue owns them until the read completes.
    pub bufs: Vec<AlignedBuf>,
    /// Returned with the completion.
    pub tag: u64,
}

impl Read {
    /// Bytes asked for.
    pub fn len(&self) -> usize {
        self.bufs.iter().map(AlignedBuf::len).sum()
    }

    /// Returns true if the read asks for 0 bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A finished read.
#[derive(Debug)]
pub struct Completion {
    /// The tag of the read.
    pub tag: u64,
    /// The buffers of the read.
    pub bufs: Vec<AlignedBuf>,
    /// Bytes read, which may be fewer than asked for (at the end of the file, or when the system
    /// returns early), or the error.
    pub result: std::io::Result<usize>,
}

/// How long a call waits; `None` waits for as long as it takes.
type Timeout = Option<Duration>;

/// The reads of one worker: takes batches of reads and returns completions in any order.
///
/// A queue may move to another thread between calls, best when it is idle.
/// Dropping it waits for the reads in flight.
pub trait ReadQueue: Send {
    /// Starts as many reads from the front of `reads` as the depth allows, with one system call,
    /// and removes them from `reads`.
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()>;

    /// Waits until at least `min` of the reads in flight have finished, or until `timeout` has
    /// passed, and appends all finished reads to `out`.
    fn complete(&mut self, min: usize, timeout: Timeout, out: &mut Vec<Completion>) -> Result<()>;

    /// Reads that were started and not yet returned by `complete`.
    fn in_flight(&self) -> usize;

    /// The most reads that may be in flight.
    fn depth(&self) -> usize;

    /// Announces that many reads will go into the memory of `buf`, so that the queue can register
    /// that memory with the system once. Only a hint.
    fn register(&mut self, buf: &AlignedBuf) {
        let _ = buf;
    }
}
