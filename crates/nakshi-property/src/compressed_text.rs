//! A text in a property file that Succinct compresses.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_succinct::{Options, ParsedHeader, TextBytes};
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

/// The bytes of a compressed text in a file on disk, read through the cache.
#[derive(Clone, Copy)]
struct CachedBytes<'t> {
    blob: &'t Blob,
    from: usize,
    to: usize,
    /// The error of the first read that has failed.
    failed: &'t Cell<Option<Error>>,
}

impl TextBytes for CachedBytes<'_> {
    fn part(self, range: Range<usize>) -> Self {
        let at = |offset: usize| self.from.saturating_add(offset).min(self.to);
        CachedBytes { from: at(range.start), to: at(range.end), ..self }
    }

    fn word(self, at: usize) -> Option<u64> {
        let from = self.from.checked_add(at)?;
        if from.checked_add(8).is_none_or(|end| end > self.to) {
            return None;
        }
        let failed = |error| self.failed.set(self.failed.take().or(Some(error)));
        self.blob.word(from).map_err(failed).ok()
    }
}

/// Evaluates an expression on the bytes of a text, which have one type in memory and one on disk.
macro_rules! on_bytes {
    ($blob:expr, $range:expr, $bytes:ident => $query:expr) => {{
        let (blob, from, to): (&Blob, usize, usize) = ($blob, $range.start, $range.end);
        let failed = Cell::new(None);
        let answer = match blob.slice(from, to) {
            Some($bytes) => $query,
            None => {
                let $bytes = CachedBytes { blob, from, to, failed: &failed };
                $query
            }
        };
        answer.map_err(|error| failed.take().unwrap_or_else(|| wrong(blob, from, &error)))
    }};
}

/// A compressed text, in memory or on disk.
#[derive(Debug)]
pub(crate) struct CompressedText {
    blob: Arc<Blob>,
    range: Range<usize>,
    header: ParsedHeader,
}

impl CompressedText {
    /// Bytes of memory that an open text takes beside its file.
    pub(crate) const BYTES: u64 = 4 << 10;

    pub(crate) fn open(blob: &Arc<Blob>, extent: TextExtent) -> Result<Self> {
        let from = extent.at as usize;
        let range = from..from.saturating_add(extent.len as usize);
        let header = on_bytes!(blob, &range, bytes => ParsedHeader::read(bytes, extent.len))?;
        Ok(CompressedText { blob: Arc::clone(blob), range, header })
    }

    pub(crate) fn len(&self) -> u64 {
        self.header.text_len()
    }

    /// Checks that the directories of the compressed text ascend.
    pub(crate) fn check(&self) -> Result<()> {
        on_bytes!(&self.blob, &self.range, bytes => self.header.view(bytes).check())
    }

    /// Replaces the contents of `out` by the `len` bytes from `from` on.
    pub(crate) fn read(&self, from: u64, len: u64, out: &mut Vec<u8>) -> Result<()> {
        // A length that wraps becomes a range that ends before it begins, which is refused.
        let range = from..from.wrapping_add(len);
        self.read_all(std::slice::from_ref(&range), out)
    }

    /// Replaces the contents of `out` by the bytes of `ranges`, one after another.
    pub(crate) fn read_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if ranges.iter().any(|range| range.start > range.end || range.end > self.len()) {
            return Err(self.damaged("an offset leads behind its text"));
        }
        on_bytes!(&self.blob, &self.range, bytes => {
            self.header.view(bytes).extract_all(ranges, out)
        })
    }

    /// Number of occurrences of a pattern.
    pub(crate) fn count(&self, pattern: &[u8]) -> Result<u64> {
        on_bytes!(&self.blob, &self.range, bytes => self.header.view(bytes).count(pattern))
    }

    /// Offsets at which a pattern occurs, ascending.
    pub(crate) fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        on_bytes!(&self.blob, &self.range, bytes => self.header.view(bytes).search(pattern))
    }

    #[cold]
    pub(crate) fn damaged(&self, what: &str) -> Error {
        self.blob.damaged(self.range.start, what)
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
