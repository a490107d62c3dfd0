//! A compressed text in a property file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_succinct::{Options, Succinct};
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use nakshi_store::{Error, Result};

/// Time between two looks at a cancel token while a text is compressed.
const PATIENCE: Duration = Duration::from_millis(50);

/// Where a compressed text lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// Compresses a text, on a thread that a cancelled caller leaves behind: sorting suffixes does not
/// stop half-way, and what it has needs no one.
pub(crate) fn compress(text: Vec<u8>, options: Options, cancel: &CancelToken) -> Result<Vec<u8>> {
    let (send, receive) = channel();
    let work = move || {
        let mut out = Vec::new();
        let done = nakshi_succinct::write(&text, &options, &mut out);
        // Nobody listens any more once the caller was cancelled.
        let _ = send.send(done.map(|()| out));
    };
    let thread = std::thread::Builder::new().name("nakshi-succinct".into());
    let cannot = |source| nakshi_io::Error::Threads { wanted: 2, started: 1, source };
    thread.spawn(work).map_err(cannot)?;
    loop {
        cancel.check()?;
        match receive.recv_timeout(PATIENCE) {
            Ok(done) => return done.map_err(|error| refused(&error)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Unsupported("a text that cannot be compressed".into()));
            }
        }
    }
}

fn refused(error: &nakshi_succinct::Error) -> Error {
    match error {
        nakshi_succinct::Error::OutOfMemory { needed } => {
            Error::Budget { needed: *needed, given: 0 }
        }
        other => Error::Unsupported(other.to_string()),
    }
}

impl Extent {
    /// Bytes that are appended to a file of `at`.
    pub(crate) fn of(at: u64, bytes: &[u8]) -> Self {
        Extent { at, len: bytes.len() as u64 }
    }

    /// The same bytes in a file into which they were copied at `base`.
    pub(crate) fn moved(self, base: u64) -> Self {
        Extent { at: self.at + base, ..self }
    }
}

/// The bytes of a compressed text in its file.
#[derive(Debug)]
struct Slice {
    blob: Arc<Blob>,
    from: usize,
    to: usize,
}

impl AsRef<[u8]> for Slice {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.blob.slice(self.from, self.to).unwrap_or_default()
    }
}

/// A compressed text.
#[derive(Debug)]
pub(crate) struct Text {
    blob: Arc<Blob>,
    at: usize,
    succinct: Succinct<Slice>,
}

impl Text {
    pub(crate) fn open(blob: &Arc<Blob>, extent: Extent) -> Result<Self> {
        let (from, len) = (extent.at as usize, extent.len as usize);
        let slice = Slice { blob: Arc::clone(blob), from, to: from.saturating_add(len) };
        let succinct = Succinct::open_lazily(slice).map_err(|error| wrong(blob, from, &error))?;
        Ok(Text { blob: Arc::clone(blob), at: from, succinct })
    }

    pub(crate) fn len(&self) -> u64 {
        self.succinct.len()
    }

    /// Whether the directories of the compressed text ascend.
    pub(crate) fn check(&self) -> Result<()> {
        let checked = Succinct::open(self.succinct.as_bytes());
        checked.map(drop).map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// The `len` bytes from `from` on, in place of what `out` has.
    pub(crate) fn read(&self, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if from.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(self.damaged("an offset leads behind its text"));
        }
        let extracted = self.succinct.extract(from, len as usize, out);
        extracted.map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// The bytes of ranges, one after another, in place of what `out` has.
    pub(crate) fn read_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if ranges.iter().any(|range| range.start > range.end || range.end > self.len()) {
            return Err(self.damaged("an offset leads behind its text"));
        }
        let extracted = self.succinct.extract_all(ranges, out);
        extracted.map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// How often a pattern occurs.
    pub(crate) fn count(&self, pattern: &[u8]) -> Result<u64> {
        self.succinct.count(pattern).map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// Where a pattern occurs, ascending.
    pub(crate) fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        self.succinct.search(pattern).map_err(|error| wrong(&self.blob, self.at, &error))
    }

    #[cold]
    pub(crate) fn damaged(&self, what: &str) -> Error {
        self.blob.damaged(self.at, what)
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }
}

/// The error of a query on a compressed text.
#[cold]
pub(crate) fn wrong(blob: &Blob, at: usize, error: &nakshi_succinct::Error) -> Error {
    match error {
        nakshi_succinct::Error::Corrupt { what } => blob.damaged(at, what),
        other => refused(other),
    }
}
