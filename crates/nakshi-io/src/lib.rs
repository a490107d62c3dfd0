//! Storage backends, page cache and checksummed page files for Nakshi.
//!
//! * [`backend`]: the sources of bytes (io_uring, `preadv`, memory, faults)
//! * [`PagedFile`]: an immutable, checksummed, possibly striped file
//! * [`BlockReader`]: large reads for scans; [`Resident`]: the whole file
//! * [`PageCache`], [`CachedReader`]: selected reads with tasks on cached pages; [`CachedFile`]:
//!   for threads that each wait for their own bytes
//! * [`IoStats`]: counters of reads, and of the used part of the pages read
//! * [`wait_readable`]: waiting for a pipe, with a time-out; [`StandardOutput`]: a pipe whose reader may
//!   be slow
//! * [`run_workers`], [`run_beside`]: the threads of one call, which either all start or do no work
//! * [`run_in_child`]: work in a child process, which can be killed at any time
//! * [`Size`], [`Cap`]: sizes in bytes as errors print them
//! * [`release_freed_memory`], [`merge_freed_memory_at_once`], [`prefer_huge_pages`]: ordinary memory
//!   and the system
//! * [`write`](mod@write): durable, atomic, fault-injected writing
//!
//! This is the only crate with system calls that need `unsafe`, and the seam at which every fault
//! test enters.

pub mod backend;
mod block_reader;
mod buffer;
mod cache;
mod cached_file;
mod cancel;
mod checksum;
mod child;
mod error;
mod fetch;
mod gather;
mod heap;
mod paged_file;
mod resident;
mod size;
mod stats;
mod stdout;
mod stripe;
mod team;
mod wait;
mod workers;
pub mod write;

pub use backend::{
    AutoBackend, Completion, Detected, FaultPlan, FaultyBackend, FileId, MemoryBackend, OpenFiles,
    PreadBackend, Read, ReadQueue, StorageBackend, default_backend, detect,
};
pub use block_reader::{Block, BlockReader, ReaderOptions};
pub use buffer::AlignedBuf;
pub use cache::PageCache;
pub use cached_file::CachedFile;
pub use cancel::{CANCEL_POLL_INTERVAL, CancelToken};
pub use checksum::{PageHasher, Salt, page_checksum};
pub use child::{ChildExit, run_in_child};
pub use error::{Error, Result};
pub use gather::{CachedReader, GatherOptions, PageSlice, Request, Slack};
pub use heap::{
    merge_freed_memory_at_once, prefer_huge_pages, release_freed_memory,
    return_freed_buffers_at_once,
};
pub use paged_file::{FileSpec, MAX_PAGE, MIN_PAGE, PagedFile};
pub use resident::{Resident, SLACK};
pub use size::{Cap, Size};
pub use stats::{IoSnapshot, IoStats, TracedRead};
pub use stdout::StandardOutput;
pub use stripe::Striping;
pub use wait::wait_readable;
pub use workers::{WorkerError, panicked, run_beside, run_workers, share_work, with_team};
