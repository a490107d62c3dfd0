//! Selected reads through the page cache, with tasks that run on its pages.
//!
//! * [`CachedReader::gather`]: sort, merge, read, run (FlashGraph sections 3.1
//!   and 3.6)
//! * [`PageSlice`]: the bytes of one request, where they lie
//! * `window`: the pages and requests that are in work at one time

mod reader;
mod slice;
mod window;

pub use reader::CachedReader;
pub use slice::{PageSlice, Slack};

use crate::CancelToken;
use std::ops::Range;

/// One wanted range of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The bytes.
    pub range: Range<u64>,
    /// Given to the task.
    pub token: u64,
}

/// How a [`CachedReader`] reads.
#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// Reads in flight.
    pub depth: usize,
    /// Two requests are merged into one read when at most this many pages that
    /// nobody asked for lie between them; 0 merges the same and adjacent pages
    /// only (FlashGraph section 3.6).
    pub gap: u64,
    /// The most pages that this worker holds at one time; longer requests get
    /// memory of their own and bypass the cache. Never more than an eighth of
    /// the cache's frames (but at least 8).
    pub window: usize,
    /// The most bytes of a merged read.
    pub max_read: usize,
    /// Whether to register the cache's frames with the worker's ring: saves
    /// some CPU per read, but takes all of the cache's memory at once.
    pub register: bool,
    /// Stops waiting calls.
    pub cancel: Option<CancelToken>,
}

impl Default for GatherOptions {
    fn default() -> Self {
        Self { depth: 64, gap: 0, window: 1024, max_read: 256 << 10, register: false, cancel: None }
    }
}
