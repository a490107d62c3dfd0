//! A text in a property file that Succinct compresses.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_succinct::{Options, Succinct};
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use nakshi_store::{Error, Result};

/// Time between two checks of the cancel token while a text is compressed.
const CANCEL_INTERVAL: Duration = Duration::from_millis(50);

/// Offset and length of a compressed text in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TextExtent {
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// Compresses a text on another thread. A cancelled caller returns at once and leaves that thread
/// to finish alone, because sorting suffixes cannot be stopped half-way.
pub(crate) fn compress(text: Vec<u8>, options: Options, cancel: &CancelToken) -> Result<Vec<u8>> {
    let (send, receive) = channel();
    let work = move || {
        let mut out = Vec::new();
        let done = nakshi_succinct::write(&text, &options, &mut out);
        // Fails only if the caller was cancelled and has left.
        let _ = send.send(done.map(|()| out));
    };
    let thread = std::thread::Builder::new().name("nakshi-succinct".into());
    let cannot = |source| nakshi_io::Error::Threads { wanted: 2, started: 1, source };
    thread.spawn(work).map_err(cannot)?;
    loop {
        cancel.check()?;
        match receive.recv_timeout(CANCEL_INTERVAL) {
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

impl TextExtent {
    /// The extent of `bytes` that are appended at offset `at`.
    pub(crate) fn of(at: u64, bytes: &[u8]) -> Self {
        TextExtent { at, len: bytes.len() as u64 }
    }

    /// The same bytes in a file into which they were copied at `base`.
    pub(crate) fn moved(self, base: u64) -> Self {
        TextExtent { at: self.at + base, ..self }
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
pub(crate) struct CompressedText {
    blob: Arc<Blob>,
    at: usize,
    succinct: Succinct<Slice>,
}

impl CompressedText {
    pub(crate) fn open(blob: &Arc<Blob>, extent: TextExtent) -> Result<Self> {
        let (from, len) = (extent.at as usize, extent.len as usize);
        let slice = Slice { blob: Arc::clone(blob), from, to: from.saturating_add(len) };
        let succinct = Succinct::open_lazily(slice).map_err(|error| wrong(blob, from, &error))?;
        Ok(CompressedText { blob: Arc::clone(blob), at: from, succinct })
    }

    pub(crate) fn len(&self) -> u64 {
        self.succinct.len()
    }

    /// Checks that the directories of the compressed text ascend.
    pub(crate) fn check(&self) -> Result<()> {
        let checked = Succinct::open(self.succinct.as_bytes());
        checked.map(drop).map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// Replaces the contents of `out` by the `len` bytes from `from` on.
    pub(crate) fn read(&self, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if from.checked_add(len).is_none_or(|end| end > self.len()) {
            return Err(self.damaged("an offset leads behind its text"));
        }
        let extracted = self.succinct.extract(from, len as usize, out);
        extracted.map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// Replaces the contents of `out` by the bytes of `ranges`, one after another.
    pub(crate) fn read_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if ranges.iter().any(|range| range.start > range.end || range.end > self.len()) {
            return Err(self.damaged("an offset leads behind its text"));
        }
        let extracted = self.succinct.extract_all(ranges, out);
        extracted.map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// Number of occurrences of a pattern.
    pub(crate) fn count(&self, pattern: &[u8]) -> Result<u64> {
        self.succinct.count(pattern).map_err(|error| wrong(&self.blob, self.at, &error))
    }

    /// Offsets at which a pattern occurs, ascending.
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
