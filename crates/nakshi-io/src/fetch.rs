//! Verified reads of logical pages over a queue of physical reads.
//!
//! A [`Fetcher`] stands between a [`PagedFile`] and a [`ReadQueue`]. It splits a logical range over
//! the stripes, rounds it to the alignment of the device, repeats short reads, distinguishes
//! truncation from failure, pads the last page with zeros, and verifies every page before returning
//! it.

use crate::backend::{Completion, Read, ReadQueue};
use crate::buffer::AlignedBuf;
use crate::paged_file::PagedFile;
use crate::stats::{IoStats, add};
use crate::stripe::PhysicalExtent;
use crate::{CANCEL_POLL_INTERVAL, CancelToken, Error, Result};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Most attempts of a read that comes back short or interrupted.
const ATTEMPTS: u32 = 16;
/// Most bytes of one physical read. Longer reads are cut, so that they are spread over the queue
/// and stay far from the system's limits.
const MAX_READ: u64 = 1 << 20;
/// Most buffers of one physical read (the least `IOV_MAX` of today's systems).
const MAX_VECTORS: usize = 1024;

/// A finished fetch; it has the buffers also when the fetch failed.
pub(crate) struct Fetched {
    pub(crate) token: u64,
    pub(crate) bufs: Vec<AlignedBuf>,
    pub(crate) result: Result<()>,
}

/// One logical fetch in progress.
struct FetchSlot {
    token: u64,
    first_page: u64,
    /// Physical reads that have not come back.
    open: usize,
    parts: Vec<PartRead>,
    /// Lengths of the caller's buffers, if they had to be cut.
    shape: Vec<usize>,
    error: Option<Error>,
}

/// One physical read of a fetch.
struct PartRead {
    extent: PhysicalExtent,
    /// The caller's buffers, once the read is done (or while it goes through another buffer).
    bufs: Vec<AlignedBuf>,
    /// Bytes read before the extent for the alignment of the device; set if the read goes through a
    /// buffer of its own.
    bounce: Option<usize>,
    attempts: u32,
}

/// The reads of one worker from one file.
pub(crate) struct Fetcher {
    file: Arc<PagedFile>,
    queue: Box<dyn ReadQueue>,
    stats: Arc<IoStats>,
    slots: Vec<Option<FetchSlot>>,
    free: Vec<u32>,
    /// Physical reads that are not yet submitted.
    backlog: Vec<Read>,
    completions: Vec<Completion>,
    done: VecDeque<Fetched>,
    cancel: Option<CancelToken>,
    /// Logical fetches started and not yet returned.
    pending: usize,
}

impl Fetcher {
    pub(crate) fn new(
        file: Arc<PagedFile>,
        queue: Box<dyn ReadQueue>,
        stats: Arc<IoStats>,
    ) -> Self {
        Self {
            file,
            queue,
            stats,
            slots: Vec::new(),
            free: Vec::new(),
            backlog: Vec::new(),
            completions: Vec::new(),
            done: VecDeque::new(),
            cancel: None,
            pending: 0,
        }
    }

    pub(crate) fn set_cancel(&mut self, cancel: Option<CancelToken>) {
        self.cancel = cancel;
    }

    pub(crate) fn file(&self) -> &Arc<PagedFile> {
        &self.file
    }

    /// Announces memory that many fetches will read into.
    pub(crate) fn register(&mut self, buf: &AlignedBuf) {
        self.queue.register(buf);
    }

    /// Returns the number of fetches started and not yet returned by [`next`](Self::next).
    pub(crate) fn pending(&self) -> usize {
        self.pending
    }

    /// Prepares the read of the pages from `first_page` on that fill `bufs`,
    /// whose lengths are multiples of the page size. [`flush`](Self::flush)
    /// starts it.
    pub(crate) fn fetch(&mut self, first_page: u64, mut bufs: Vec<AlignedBuf>, token: u64) {
        let page = u64::from(self.file.page_size());
        let start = first_page.saturating_mul(page);
        let asked: usize = bufs.iter().map(AlignedBuf::len).sum();
        let end = start.saturating_add(asked as u64);
        self.pending += 1;
        self.stats.note(self.file.key, start, asked as u64);
        if asked == 0 {
            self.done.push_back(Fetched { token, bufs, result: Ok(()) });
            return;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let file = Arc::clone(&self.file);
        let mut slot = FetchSlot {
            token,
            first_page,
            open: 0,
            parts: Vec::new(),
            shape: Vec::new(),
            error: None,
        };
        if file.parts.len() > 1 || asked as u64 > MAX_READ {
            slot.shape.extend(bufs.iter().map(AlignedBuf::len));
        }
        for extent in file.spec.striping.extents(start..end).flat_map(cut) {
            let rest = split_bufs(&mut bufs, extent.len);
            let part = PartRead {
                extent,
                bufs: std::mem::replace(&mut bufs, rest),
                bounce: None,
                attempts: 0,
            };
            slot.parts.push(part);
        }
        let parts = slot.parts.len();
        slot.open = parts;
        if let Some(place) = self.slots.get_mut(number as usize) {
            *place = Some(slot);
        }
        for part in 0..parts {
            self.start(number, part);
        }
    }

    /// Submits the prepared reads as one batch, as far as the queue has space.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.backlog.is_empty() && self.queue.in_flight() < self.queue.depth() {
            self.queue.submit(&mut self.backlog)?;
        }
        Ok(())
    }

    /// Returns the next finished fetch; waits for it if `wait`. Returns `None` if nothing is
    /// pending or, without waiting, nothing has finished.
    pub(crate) fn next(&mut self, wait: bool) -> Result<Option<Fetched>> {
        loop {
            if let Some(fetched) = self.taken() {
                return Ok(Some(fetched));
            }
            if self.pending == 0 {
                return Ok(None);
            }
            self.flush()?;
            if let Some(cancel) = self.cancel.as_ref().filter(|_| wait) {
                cancel.check()?;
            }
            let timeout = if self.cancel.is_some() { Some(CANCEL_POLL_INTERVAL) } else { None };
            self.collect(usize::from(wait), timeout)?;
            if !wait && self.done.is_empty() {
                return Ok(None);
            }
        }
    }

    /// Returns the next finished fetch, waiting no longer than `timeout`.
    pub(crate) fn next_within(&mut self, timeout: Duration) -> Result<Option<Fetched>> {
        if self.done.is_empty() && self.pending > 0 {
            self.flush()?;
            self.collect(1, Some(timeout))?;
        }
        Ok(self.taken())
    }

    fn taken(&mut self) -> Option<Fetched> {
        let fetched = self.done.pop_front()?;
        self.pending -= 1;
        Some(fetched)
    }

    /// Takes completions. If `min` is 1, waits for some, at most for `timeout` if it is given.
    fn collect(&mut self, min: usize, timeout: Option<Duration>) -> Result<()> {
        let mut completions = std::mem::take(&mut self.completions);
        let result = if min == 0 {
            self.queue.complete(0, None, &mut completions)
        } else {
            // One wake-up for several reads of a deep queue: most reads stay in flight, so the
            // device has work meanwhile.
            let min = (self.queue.in_flight() / 4).clamp(1, 16);
            let start = Instant::now();
            let result = self.queue.complete(min, timeout, &mut completions);
            let waited = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.stats.wait_ns.fetch_add(waited, Relaxed);
            result
        };
        for completion in completions.drain(..) {
            self.arrived(completion);
        }
        self.completions = completions;
        // Submits the reads that waited for space in the queue, and those to be repeated.
        result.and_then(|()| self.flush())
    }

    /// Queues physical read number `part` of a slot.
    fn start(&mut self, number: u32, part: usize) {
        let file = Arc::clone(&self.file);
        let Some(Some(slot)) = self.slots.get_mut(number as usize) else { return };
        let Some(read) = slot.parts.get_mut(part) else { return };
        let Some(physical) = file.parts.get(read.extent.file) else { return };
        let tag = (u64::from(number) << 32) | part as u64;
        let align = u64::from(physical.alignment.offset.max(1));
        let memory = physical.alignment.memory.max(1) as usize;
        let aligned = read.extent.offset % align == 0
            && read.extent.len % align == 0
            && read.bufs.len() <= MAX_VECTORS
            && read.bufs.iter().all(|buf| {
                buf.address().addr() % memory == 0 && (buf.len() as u64).is_multiple_of(align)
            });
        let (offset, bufs) = if aligned {
            (read.extent.offset, std::mem::take(&mut read.bufs))
        } else {
            let from = read.extent.offset / align * align;
            let before = read.extent.offset - from;
            let len = (before + read.extent.len).next_multiple_of(align);
            match usize::try_from(len)
                .map_err(|_| Error::Budget { needed: len, given: 0 })
                .and_then(AlignedBuf::zeroed)
            {
                Ok(buf) => {
                    read.bounce = usize::try_from(before).ok();
                    (from, vec![buf])
                }
                Err(error) => {
                    slot.error.get_or_insert(error);
                    self.part_done(number);
                    return;
                }
            }
        };
        add(&self.stats.requests, 1);
        add(&self.stats.bytes_read, bufs.iter().map(|buf| buf.len() as u64).sum());
        self.backlog.push(Read { file: physical.id, offset, bufs, tag });
    }

    /// Handles one completion: the read is done, is repeated, or has failed.
    fn arrived(&mut self, completion: Completion) {
        let Completion { tag, mut bufs, result } = completion;
        let number = u32::try_from(tag >> 32).unwrap_or(u32::MAX);
        let part = (tag & u64::from(u32::MAX)) as usize;
        let file = Arc::clone(&self.file);
        let Some(Some(slot)) = self.slots.get_mut(number as usize) else { return };
        let Some(read) = slot.parts.get_mut(part) else { return };
        let Some(physical) = file.parts.get(read.extent.file) else { return };
        let before = read.bounce.unwrap_or(0);
        // The last page of the file may lack bytes, and then the read brings fewer.
        let there = physical.len.saturating_sub(read.extent.offset).min(read.extent.len);
        let enough = match &result {
            Ok(read_bytes) => (*read_bytes).saturating_sub(before) as u64 >= there,
            Err(_) => false,
        };
        if read.bounce.take().is_some() {
            copy_from(
                &mut read.bufs,
                bufs.first().and_then(|buf| buf.get(before..)).unwrap_or_default(),
            );
        } else {
            read.bufs = std::mem::take(&mut bufs);
        }
        if enough {
            clear_from(&mut read.bufs, there);
            self.part_done(number);
            return;
        }
        read.attempts += 1;
        let extent = read.extent;
        let again = match result {
            Ok(_) => {
                self.may_repeat(&extent, read_end(&extent, there), self.attempts(number, part))
            }
            Err(e) if is_transient(&e) => self.may_repeat(&extent, 0, self.attempts(number, part)),
            Err(e) => Err(Error::io("read", self.path_of(&extent), e)),
        };
        match again {
            Ok(()) => self.start(number, part),
            Err(error) => {
                if let Some(Some(slot)) = self.slots.get_mut(number as usize) {
                    slot.error.get_or_insert(error);
                }
                self.part_done(number);
            }
        }
    }

    fn attempts(&self, number: u32, part: usize) -> u32 {
        let slot = self.slots.get(number as usize).and_then(Option::as_ref);
        slot.and_then(|slot| slot.parts.get(part)).map_or(ATTEMPTS, |read| read.attempts)
    }

    fn path_of(&self, extent: &PhysicalExtent) -> std::path::PathBuf {
        self.file.spec.striping.paths.get(extent.file).cloned().unwrap_or_default()
    }

    /// Returns an error if a read that did not bring all bytes up to `needed` (an offset in the
    /// physical file) must not be repeated.
    fn may_repeat(&self, extent: &PhysicalExtent, needed: u64, attempts: u32) -> Result<()> {
        let Some(physical) = self.file.parts.get(extent.file) else { return Ok(()) };
        let found = self.file.backend.files().len(physical.id)?;
        if found < needed {
            return Err(Error::Truncated {
                file: self.path_of(extent),
                expected: physical.len,
                found,
            });
        }
        if attempts >= ATTEMPTS {
            let source = std::io::Error::new(
                ErrorKind::UnexpectedEof,
                "the device keeps returning fewer bytes",
            );
            return Err(Error::Io { op: "read", path: self.path_of(extent), source });
        }
        Ok(())
    }

    fn part_done(&mut self, number: u32) {
        let Some(Some(slot)) = self.slots.get_mut(number as usize) else { return };
        slot.open = slot.open.saturating_sub(1);
        if slot.open == 0 {
            self.finish(number);
        }
    }

    /// Finishes a fetch whose physical reads are all back: joins the buffers and verifies the
    /// pages.
    fn finish(&mut self, number: u32) {
        let Some(slot) = self.slots.get_mut(number as usize).and_then(Option::take) else { return };
        self.free.push(number);
        let FetchSlot { token, first_page, parts, shape, error, .. } = slot;
        let bufs = if shape.is_empty() {
            parts.into_iter().flat_map(|part| part.bufs).collect()
        } else {
            rejoin(parts.into_iter().flat_map(|part| part.bufs), &shape)
        };
        let result = error.map_or_else(|| self.verify(first_page, &bufs), Err);
        self.done.push_back(Fetched { token, bufs, result });
    }

    fn verify(&self, first_page: u64, bufs: &[AlignedBuf]) -> Result<()> {
        let mut page = first_page;
        for buf in bufs {
            self.file.verify(page, buf)?;
            page += buf.len() as u64 / u64::from(self.file.page_size());
        }
        Ok(())
    }
}

/// Returns true if a failed read may be tried again unchanged. A ring cancels reads whose thread
/// has ended.
fn is_transient(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::ECANCELED))
}

/// Cuts an extent into reads of at most [`MAX_READ`] bytes.
fn cut(extent: PhysicalExtent) -> impl Iterator<Item = PhysicalExtent> {
    (0..extent.len.div_ceil(MAX_READ)).map(move |number| {
        let skip = number * MAX_READ;
        PhysicalExtent {
            offset: extent.offset + skip,
            len: (extent.len - skip).min(MAX_READ),
            ..extent
        }
    })
}

/// The offset in the physical file up to which a read must bring bytes.
fn read_end(extent: &PhysicalExtent, there: u64) -> u64 {
    extent.offset.saturating_add(there)
}

/// Keeps the first `len` bytes in `bufs` and returns the rest.
fn split_bufs(bufs: &mut Vec<AlignedBuf>, len: u64) -> Vec<AlignedBuf> {
    let mut left = len;
    for at in 0..bufs.len() {
        let Some(buf) = bufs.get_mut(at) else { break };
        let size = buf.len() as u64;
        if size <= left {
            left -= size;
            continue;
        }
        let tail = buf.split_off(usize::try_from(left).unwrap_or(usize::MAX));
        let keep = if left == 0 { at } else { at + 1 };
        let mut rest = bufs.split_off(keep);
        if left == 0 {
            rest.remove(0);
        }
        rest.insert(0, tail);
        return rest;
    }
    Vec::new()
}

/// Undoes the cuts of [`split_bufs`]: buffers of the lengths in `shape`.
fn rejoin(pieces: impl Iterator<Item = AlignedBuf>, shape: &[usize]) -> Vec<AlignedBuf> {
    let mut bufs: Vec<AlignedBuf> = Vec::with_capacity(shape.len());
    for piece in pieces {
        let unfinished = bufs.len().checked_sub(1).and_then(|at| shape.get(at));
        match bufs.last_mut() {
            Some(last) if unfinished.is_some_and(|want| last.len() < *want) => {
                if let Err(piece) = last.join(piece) {
                    bufs.push(piece);
                }
            }
            _ => bufs.push(piece),
        }
    }
    bufs
}

fn copy_from(bufs: &mut [AlignedBuf], mut bytes: &[u8]) {
    for buf in bufs {
        let (now, later) = bytes.split_at(buf.len().min(bytes.len()));
        if let Some(to) = buf.get_mut(..now.len()) {
            to.copy_from_slice(now);
        }
        bytes = later;
    }
}

/// Zeros everything in `bufs` from byte `from` on.
fn clear_from(bufs: &mut [AlignedBuf], from: u64) {
    let mut skip = usize::try_from(from).unwrap_or(usize::MAX);
    for buf in bufs {
        let len = buf.len();
        if let Some(tail) = buf.get_mut(skip.min(len)..) {
            tail.fill(0);
        }
        skip = skip.saturating_sub(len);
    }
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher")
            .field("file", &self.file.path())
            .field("pending", &self.pending)
            .finish()
    }
}

impl PagedFile {
    pub(crate) fn fetcher(self: &Arc<Self>, depth: usize, stats: Arc<IoStats>) -> Result<Fetcher> {
        let queue = self.backend.queue(depth)?;
        Ok(Fetcher::new(Arc::clone(self), queue, stats))
    }
}
