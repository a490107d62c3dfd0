//! A file that any number of threads read through one page cache; each waits for its own bytes.

use crate::cache::PageCache;
use crate::gather::{CachedReader, GatherOptions, PageSlice, Request};
use crate::paged_file::PagedFile;
use crate::stats::{IoStats, add};
use crate::{Error, Result};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads in flight for one thread.
const DEPTH: usize = 32;

/// A file behind a page cache. A cached page costs a look-up; the first thread that wants another
/// page reads it.
#[derive(Debug)]
pub struct CachedFile {
    cache: Arc<PageCache>,
    file: Arc<PagedFile>,
    stats: Arc<IoStats>,
    /// Readers that no thread is using.
    idle: Mutex<Vec<CachedReader>>,
}

impl CachedFile {
    /// Reads `file` through `cache`, which other files may share.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if their page sizes differ.
    pub fn new(
        cache: &Arc<PageCache>,
        file: &Arc<PagedFile>,
        stats: &Arc<IoStats>,
    ) -> Result<Self> {
        cache.check_file(file)?;
        Ok(CachedFile {
            cache: Arc::clone(cache),
            file: Arc::clone(file),
            stats: Arc::clone(stats),
            idle: Mutex::default(),
        })
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<PagedFile> {
        &self.file
    }

    /// Runs `task` on the bytes of `range`: in place if they lie on one page, else joined in a
    /// buffer.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a range beyond the file; read errors.
    pub fn with<R>(&self, range: Range<u64>, task: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let page = u64::from(self.file.page_size());
        let number = range.start / page;
        if range.start < range.end
            && range.end <= self.file.len().min((number + 1) * page)
            && let Some(held) = self.cache.hold(self.file.key(), number)
        {
            add(&self.stats.hits, 1);
            // The offset is less than a page.
            let at = |offset: u64| (offset - number * page) as usize;
            return Ok(task(held.bytes(at(range.start)..at(range.end))));
        }
        let (mut task, mut result, mut scratch) = (Some(task), None, Vec::new());
        self.gather::<Error>(&[Request { range, token: 0 }], &mut |_, bytes| {
            result = task.take().map(|task| task(bytes.contiguous(&mut scratch)));
            Ok(())
        })?;
        result.ok_or(Error::unsupported("a read that nobody answered"))
    }

    /// Runs `task` once for every request, in the order in which their pages arrive; see
    /// [`CachedReader::gather`].
    ///
    /// # Errors
    /// Same as [`CachedReader::gather`].
    pub fn gather<E: From<Error>>(
        &self,
        requests: &[Request],
        task: &mut dyn FnMut(u64, &PageSlice<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = idle().pop();
        let mut reader = match reader {
            Some(reader) => reader,
            None => {
                let options = GatherOptions { depth: DEPTH, ..GatherOptions::default() };
                CachedReader::new(&self.cache, &self.file, &options, Arc::clone(&self.stats))?
            }
        };
        // A reader that failed may wait for a device without end, so it is dropped and the next
        // call makes another.
        reader.gather(requests, task)?;
        idle().push(reader);
        Ok(())
    }
}
