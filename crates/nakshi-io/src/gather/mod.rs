//! Selected reads through the page cache, with tasks that run on its pages.
//!
//! * [`CachedReader::gather`]: sort, merge, read, run (FlashGraph sections 3.1
//!   and 3.6)
//! * [`PageSlice`]: the bytes of one request, where they lie
//! * `window`: the pages and requests in progress

mod reader;
mod slice;
mod window;

pub use reader::CachedReader;
pub use slice::{PageSlice, Slack};

use crate::CancelToken;
use std::ops::Range;

/// A requested range of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The bytes.
    pub range: Range<u64>,
    /// Passed to the task.
    pub token: u64,
}

/// Options of a [`CachedReader`].
#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// Reads in flight.
    pub depth: usize,
    /// Two requests are merged into one read if at most this many unrequested pages lie between
    /// them; 0 merges only requests on the same or adjacent pages (FlashGraph section 3.6).
    pub gap: u64,
    /// Most pages that this worker holds at one time; a longer request bypasses the cache and gets
    /// memory of its own. Never more than an eighth of the cache's frames (but at least 8).
    pub window: usize,
    /// Most bytes of a merged read.
    pub max_read: usize,
    /// True to register the cache's frames with the worker's ring. Registration saves some CPU time
    /// per read, but makes all of the cache's memory resident at once.
    pub register: bool,
    /// Token that stops waiting calls.
    pub cancel: Option<CancelToken>,
}

impl Default for GatherOptions {
    fn default() -> Self {
        Self { depth: 64, gap: 0, window: 1024, max_read: 256 << 10, register: false, cancel: None }
    }
}
