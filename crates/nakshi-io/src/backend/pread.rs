//! Reads by `preadv` in a pool of threads: works on every Unix, in every container.
#![allow(unsafe_code)]

use super::files::{FileTable, OpenFile};
use super::flight::Flight;
use super::{Completion, OpenFiles, Read, ReadQueue, StorageBackend, Timeout};
use crate::{AlignedBuf, Result};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The most threads of a pool: enough to keep a fast disk busy.
const THREADS: usize = 16;
/// An idle thread ends after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);
/// The most buffers of one system call (the least `IOV_MAX` of today's systems).
const VECTORS: usize = 1024;

/// Reads by `preadv` in a pool of up to 16 threads, which start when needed.
#[derive(Debug)]
pub struct PreadBackend {
    files: Arc<FileTable>,
    pool: Mutex<Arc<ThreadPool>>,
}

impl Default for PreadBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl PreadBackend {
    /// Makes a backend that reads past the page cache where the file system can.
    pub fn new() -> Self {
        Self::over(Arc::new(FileTable::new(true)))
    }

    /// Makes a backend that reads through the system's page cache and drops the pages it has read.
    pub fn buffered() -> Self {
        Self::over(Arc::new(FileTable::new(false)))
    }

    pub(super) fn over(files: Arc<FileTable>) -> Self {
        Self { files, pool: Mutex::default() }
    }

    pub(super) fn pread_queue(&self, depth: usize) -> PreadQueue {
        let mut pool = lock(&self.pool);
        if pool.process != std::process::id() {
            // The threads of the parent did not survive the fork, and one of them may have held the
            // lock: leak that pool.
            std::mem::forget(std::mem::take(&mut *pool));
        }
        PreadQueue {
            flight: Flight::new(Arc::clone(&self.files), depth.max(1)),
            pool: Arc::clone(&pool),
            done: Arc::default(),
        }
    }
}

impl StorageBackend for PreadBackend {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn files(&self) -> &dyn OpenFiles {
        self.files.as_ref()
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        Ok(Box::new(self.pread_queue(depth)))
    }
}

/// A pool of threads and its queue of reads.
#[derive(Debug)]
struct ThreadPool {
    process: u32,
    jobs: Mutex<JobQueue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct JobQueue {
    waiting: VecDeque<ReadJob>,
    threads: usize,
    idle: usize,
}

#[derive(Debug)]
struct ReadJob {
    file: Arc<OpenFile>,
    read: Read,
    done: Arc<CompletionList>,
}

/// The finished reads of one queue.
#[derive(Debug, Default)]
struct CompletionList {
    list: Mutex<Vec<Completion>>,
    wake: Condvar,
}

impl Default for ThreadPool {
    fn default() -> Self {
        Self { process: std::process::id(), jobs: Mutex::default(), wake: Condvar::new() }
    }
}

fn builder() -> Builder {
    let builder = Builder::new().name("nakshi-read".into());
    #[cfg(test)]
    if tests::REFUSED.get() {
        // A stack larger than any address space: the system refuses the thread itself.
        return builder.stack_size(1 << 50);
    }
    builder
}

impl ThreadPool {
    fn add(self: &Arc<Self>, new: impl Iterator<Item = ReadJob>) {
        let mut jobs = lock(&self.jobs);
        jobs.waiting.extend(new);
        let missing =
            jobs.waiting.len().saturating_sub(jobs.idle).min(THREADS - jobs.threads.min(THREADS));
        for _ in 0..missing {
            let pool = Arc::clone(self);
            if builder().spawn(move || pool.work()).is_err() {
                // The pool works with fewer threads, only slower.
                break;
            }
            jobs.threads += 1;
        }
        if jobs.threads == 0 {
            let all = std::mem::take(&mut jobs.waiting);
            drop(jobs);
            // The calling thread reads by itself.
            all.into_iter().for_each(ReadJob::run);
            return;
        }
        drop(jobs);
        self.wake.notify_all();
    }

    fn work(&self) {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                drop(jobs);
                job.run();
                jobs = lock(&self.jobs);
                continue;
            }
            jobs.idle += 1;
            let (woken, waited) =
                self.wake.wait_timeout(jobs, IDLE_TIMEOUT).unwrap_or_else(PoisonError::into_inner);
            jobs = woken;
            jobs.idle -= 1;
            if waited.timed_out() && jobs.waiting.is_empty() {
                jobs.threads -= 1;
                return;
            }
        }
    }
}

impl ReadJob {
    fn run(self) {
        let ReadJob { file, read, done } = self;
        let Read { offset, mut bufs, tag, .. } = read;
        let result = read_vectored(&file, offset, &mut bufs);
        if let Ok(len) = result {
            file.forget(offset, len);
        }
        lock(&done.list).push(Completion { tag, bufs, result });
        done.wake.notify_one();
    }
}

/// Fills the buffers from `offset` on; stops at the end of the file.
fn read_vectored(file: &OpenFile, mut offset: u64, bufs: &mut [AlignedBuf]) -> io::Result<usize> {
    let mut total = 0;
    for group in bufs.chunks_mut(VECTORS) {
        let asked: usize = group.iter().map(AlignedBuf::len).sum();
        let vectors: Vec<libc::iovec> = group
            .iter()
            .map(|buf| libc::iovec { iov_base: buf.address().cast(), iov_len: buf.len() })
            .collect();
        let at = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let count =
            libc::c_int::try_from(vectors.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let found = loop {
            // SAFETY: each vector is the memory of a buffer that is borrowed
            // mutably here, of just that length.
            let found = unsafe { libc::preadv(file.file.as_raw_fd(), vectors.as_ptr(), count, at) };
            match usize::try_from(found) {
                Ok(found) => break found,
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        };
        total += found;
        offset += found as u64;
        if found < asked {
            break;
        }
    }
    Ok(total)
}

/// A worker's queue into the pool.
pub(super) struct PreadQueue {
    flight: Flight,
    pool: Arc<ThreadPool>,
    done: Arc<CompletionList>,
}

impl ReadQueue for PreadQueue {
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()> {
        let admitted = self.flight.admit(reads)?;
        let count = admitted.len();
        let done = &self.done;
        let jobs = admitted.into_iter();
        self.pool.add(jobs.map(|(read, file)| ReadJob { file, read, done: Arc::clone(done) }));
        self.flight.reads += count;
        Ok(())
    }

    fn complete(&mut self, min: usize, timeout: Timeout, out: &mut Vec<Completion>) -> Result<()> {
        let (min, deadline) = self.flight.goal(min, timeout)?;
        let mut list = lock(&self.done.list);
        while list.len() < min {
            let Some(deadline) = deadline else {
                list = self.done.wake.wait(list).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (list, _) =
                self.done.wake.wait_timeout(list, left).unwrap_or_else(PoisonError::into_inner);
        }
        self.flight.reads -= list.len();
        out.append(&mut list);
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.flight.reads
    }

    fn depth(&self) -> usize {
        self.flight.depth
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// True if the system shall refuse threads to calls of this thread.
        pub(super) static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Seen red (an error) with a pool that cannot read without threads.
    #[test]
    fn reads_without_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..64 << 10).map(|at: u32| (at / 512) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let backend = PreadBackend::buffered();
        let file = backend.files().open(&path).unwrap();
        let mut queue = backend.queue(8).unwrap();
        for refused in [true, false, true] {
            REFUSED.set(refused);
            let read = |tag: u64| {
                let bufs = vec![AlignedBuf::zeroed(4096).unwrap()];
                Read { file, offset: tag * 4096, bufs, tag }
            };
            let mut reads: Vec<Read> = (0..8).map(read).collect();
            queue.submit(&mut reads).unwrap();
            let mut done = Vec::new();
            queue.complete(8, None, &mut done).unwrap();
            assert_eq!(done.len(), 8);
            for Completion { tag, bufs, result } in done {
                assert_eq!(result.unwrap(), 4096);
                let from = tag as usize * 4096;
                assert_eq!(bufs[0][..], bytes[from..from + 4096]);
            }
        }
        REFUSED.set(false);
    }
}
