//! Large uncached reads for scans.

use crate::buffer::AlignedBuf;
use crate::fetch::Fetcher;
use crate::paged_file::PagedFile;
use crate::resident::SLACK;
use crate::stats::IoStats;
use crate::{CancelToken, Error, Result};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Options of a [`BlockReader`].
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    /// Reads in flight.
    pub depth: usize,
    /// Longest range, in bytes, that needs no allocation; the memory of longer ranges is allocated
    /// and freed with their block.
    pub block: usize,
    /// Token that stops waiting calls.
    pub cancel: Option<CancelToken>,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { depth: 4, block: 256 << 10, cancel: None }
    }
}

impl ReaderOptions {
    /// Bytes of memory that a reader takes for a file with pages of
    /// `page_size` bytes, as long as no range is longer than `block` and the
    /// caller holds one block at a time.
    pub fn memory(&self, page_size: u32) -> usize {
        self.capacity(page_size)
            .unwrap_or(usize::MAX)
            .saturating_mul(self.depth.clamp(1, MAX_DEPTH) + 1)
    }

    /// Bytes per buffer, which has room for a partial page at either end and for the slack.
    fn capacity(&self, page_size: u32) -> Option<usize> {
        let page = page_size as usize;
        let len = self.block.checked_next_multiple_of(page)?.checked_add(2 * page + SLACK)?;
        len.checked_next_multiple_of(4096)
    }
}

/// Most reads in flight of one reader.
const MAX_DEPTH: usize = 1024;

/// Reads after which a reader registers its memory with its ring. Registration makes all of the
/// memory resident, which a short scan would not earn back.
const WORTHWHILE: usize = 32;

type BufferPool = Arc<Mutex<Vec<AlignedBuf>>>;

/// Streams ranges of a file for one worker: large reads, several in flight, past every cache.
/// Making a reader costs a ring and its buffers, so keep it while the file is being scanned, also
/// across iterations.
#[derive(Debug)]
pub struct BlockReader {
    fetcher: Fetcher,
    options: ReaderOptions,
    pool: BufferPool,
    /// Bytes of each pooled buffer.
    capacity: usize,
    waiting: VecDeque<(Range<u64>, u64)>,
    asked: Vec<Option<(Range<u64>, u64, AlignedBuf)>>,
    in_flight: usize,
    /// Reads started so far; counted until the memory is registered.
    reads: usize,
}

/// The verified bytes of one range. Dropping the block returns its buffer.
#[derive(Debug)]
pub struct Block {
    /// The token given to [`BlockReader::submit`].
    pub token: u64,
    /// The requested range of the file.
    pub range: Range<u64>,
    buf: Option<AlignedBuf>,
    start: usize,
    len: usize,
    pool: Option<BufferPool>,
}

impl Block {
    /// Returns the bytes of `range`.
    pub fn bytes(&self) -> &[u8] {
        self.memory().get(self.start..self.start + self.len).unwrap_or_default()
    }

    /// Returns the bytes of `range` and at least [`SLACK`] readable bytes after them.
    pub fn slack(&self) -> &[u8] {
        self.memory().get(self.start..).unwrap_or_default()
    }

    fn memory(&self) -> &[u8] {
        self.buf.as_deref().unwrap_or_default()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let (Some(pool), Some(buf)) = (&self.pool, self.buf.take()) {
            pool.lock().unwrap_or_else(PoisonError::into_inner).push(buf);
        }
    }
}

impl BlockReader {
    pub(crate) fn new(
        file: &Arc<PagedFile>,
        options: &ReaderOptions,
        stats: Arc<IoStats>,
    ) -> Result<Self> {
        let options = ReaderOptions { depth: options.depth.clamp(1, MAX_DEPTH), ..options.clone() };
        let mut fetcher = file.fetcher(options.depth, stats)?;
        fetcher.set_cancel(options.cancel.clone());
        let refuse = || Error::Budget { needed: options.block as u64, given: 0 };
        let capacity = options.capacity(file.page_size()).ok_or_else(refuse)?;
        // One more than may be in flight, for the block that the caller holds.
        let mut all =
            AlignedBuf::zeroed(capacity.checked_mul(options.depth + 1).ok_or_else(refuse)?)?;
        let mut pool = Vec::new();
        while all.len() >= capacity {
            let rest = all.split_off(capacity);
            pool.push(std::mem::replace(&mut all, rest));
        }
        let pool = Arc::new(Mutex::new(pool));
        Ok(Self {
            fetcher,
            options,
            pool,
            capacity,
            waiting: VecDeque::new(),
            asked: Vec::new(),
            in_flight: 0,
            reads: 0,
        })
    }

    /// Sets the token that stops waiting calls from now on.
    pub fn set_cancel(&mut self, cancel: Option<CancelToken>) {
        self.fetcher.set_cancel(cancel);
    }

    /// Requests a range of the file's bytes. Up to `depth` reads are in flight; further ones are
    /// queued.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the range is not within the file.
    pub fn submit(&mut self, range: Range<u64>, token: u64) -> Result<()> {
        if range.start > range.end || range.end > self.fetcher.file().len() {
            let file = self.fetcher.file();
            let what =
                format!("bytes {range:?} of {}, which has {}", file.path().display(), file.len());
            return Err(Error::unsupported(what));
        }
        self.waiting.push_back((range, token));
        self.start()
    }

    /// Returns the number of ranges requested and not yet returned.
    pub fn pending(&self) -> usize {
        self.waiting.len() + self.in_flight
    }

    /// Waits for the next block, in the order of arrival, and returns it. Returns `None` when no
    /// request is pending.
    ///
    /// # Errors
    /// The first error of a read ends the scan: [`Error::Io`], [`Error::Corrupt`],
    /// [`Error::Truncated`], [`Error::Cancelled`].
    #[allow(clippy::should_implement_trait)] // Errors differ from the end.
    pub fn next(&mut self) -> Result<Option<Block>> {
        self.start()?;
        let Some(fetched) = self.fetcher.next(true)? else { return Ok(None) };
        self.in_flight -= 1;
        let number = usize::try_from(fetched.token).unwrap_or(usize::MAX);
        let asked = self.asked.get_mut(number).and_then(Option::take);
        let buf = fetched.bufs.into_iter().next();
        let (Some((range, token, tail)), Some(mut buf)) = (asked, buf) else {
            return Err(Error::unsupported("a completion that nobody asked for"));
        };
        let joined = buf.join(tail);
        let page = u64::from(self.fetcher.file().page_size());
        let pooled = buf.len() == self.capacity;
        let block = Block {
            token,
            start: usize::try_from(range.start % page).unwrap_or(0),
            len: usize::try_from(range.end - range.start).unwrap_or(0),
            range,
            buf: Some(buf),
            pool: pooled.then(|| Arc::clone(&self.pool)),
        };
        if joined.is_err() {
            return Err(Error::unsupported("a buffer that came back in pieces"));
        }
        fetched.result?;
        Ok(Some(block))
    }

    fn start(&mut self) -> Result<()> {
        let page = u64::from(self.fetcher.file().page_size());
        while self.in_flight < self.options.depth {
            let Some((range, token)) = self.waiting.pop_front() else { break };
            let first = range.start / page;
            let pages = if range.is_empty() { 0 } else { range.end.div_ceil(page) - first };
            let bytes = usize::try_from(pages * page)
                .map_err(|_| Error::Budget { needed: pages * page, given: 0 })?;
            let mut buf = self.buffer(bytes)?;
            self.reads += 1;
            if self.reads == WORTHWHILE && buf.len() == self.capacity {
                self.fetcher.register(&buf);
            }
            let tail = buf.split_off(bytes);
            let number = self.asked.iter().position(Option::is_none).unwrap_or(self.asked.len());
            if number == self.asked.len() {
                self.asked.push(None);
            }
            if let Some(place) = self.asked.get_mut(number) {
                *place = Some((range, token, tail));
            }
            self.fetcher.fetch(first, vec![buf], number as u64);
            self.in_flight += 1;
        }
        self.fetcher.flush()
    }

    fn buffer(&self, bytes: usize) -> Result<AlignedBuf> {
        let needed = bytes.saturating_add(SLACK);
        if needed <= self.capacity {
            if let Some(buf) = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop() {
                return Ok(buf);
            }
            // The caller holds more blocks than planned, so it pays for more memory.
            return AlignedBuf::zeroed(self.capacity);
        }
        // Never the length of a pooled buffer, so that the pool stays uniform.
        AlignedBuf::zeroed(needed.max(self.capacity + 512))
    }
}

impl PagedFile {
    /// Makes a reader for scans by one worker, with up to `depth` reads in flight and blocks of up
    /// to 256 KiB without allocation.
    pub fn reader(self: &Arc<Self>, depth: usize, stats: Arc<IoStats>) -> Result<BlockReader> {
        self.reader_with(&ReaderOptions { depth, ..ReaderOptions::default() }, stats)
    }

    /// Makes a [`reader`](Self::reader) with the given options.
    pub fn reader_with(
        self: &Arc<Self>,
        options: &ReaderOptions,
        stats: Arc<IoStats>,
    ) -> Result<BlockReader> {
        BlockReader::new(self, options, stats)
    }
}
