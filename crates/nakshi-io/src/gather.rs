//! Selected reads through the page cache, with tasks that run on its pages.

use crate::buffer::AlignedBuf;
use crate::cache::PageCache;
use crate::fetch::Fetcher;
use crate::paged::PagedFile;
use crate::resident::SLACK;
use crate::stats::IoStats;
use crate::{CancelToken, Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// How a [`CachedReader`] reads.
#[derive(Debug, Clone)]
pub struct GatherOptions {
    /// Reads in flight.
    pub depth: usize,
    /// Two requests are merged into one read when at most this many pages that
    /// nobody asked for lie between them; 0 merges the same and adjacent pages
    /// only (FlashGraph section 3.6).
    pub gap: u64,
    /// Stops waiting calls.
    pub cancel: Option<CancelToken>,
}

impl Default for GatherOptions {
    fn default() -> Self {
        Self { depth: 32, gap: 0, cancel: None }
    }
}

/// One wanted range of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The bytes.
    pub range: Range<u64>,
    /// Given to the task.
    pub token: u64,
}

/// Reads selected ranges for one worker.
#[derive(Debug)]
pub struct CachedReader {
    fetcher: Fetcher,
}

impl CachedReader {
    /// A reader of `file` through `cache`, whose page sizes must agree.
    pub fn new(
        cache: &Arc<PageCache>,
        file: &Arc<PagedFile>,
        options: &GatherOptions,
        stats: Arc<IoStats>,
    ) -> Result<Self> {
        if cache.page_size() != file.page_size() {
            let what = format!(
                "a cache of {} byte pages for a file of {}",
                cache.page_size(),
                file.page_size()
            );
            return Err(Error::unsupported(what));
        }
        let mut fetcher = file.fetcher(options.depth.clamp(1, 4096), stats)?;
        fetcher.set_cancel(options.cancel.clone());
        Ok(Self { fetcher })
    }

    /// Runs `task` once for every request, on the pages in the cache, in the
    /// order in which the pages arrive.
    pub fn gather(
        &mut self,
        requests: &[Request],
        task: &mut dyn FnMut(u64, &PageSlice<'_>) -> Result<()>,
    ) -> Result<()> {
        let page = u64::from(self.fetcher.file().page_size());
        for request in requests {
            if request.range.end > self.fetcher.file().len()
                || request.range.start > request.range.end
            {
                return Err(Error::unsupported(format!(
                    "bytes {:?} beyond the file",
                    request.range
                )));
            }
            let first = request.range.start / page;
            let bytes = (request.range.end.div_ceil(page).max(first) - first) * page;
            let buf = AlignedBuf::zeroed(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            self.fetcher.fetch(first, vec![buf], 0);
            self.fetcher.flush()?;
            let Some(fetched) = self.fetcher.next(true)? else { continue };
            fetched.result?;
            let start = usize::try_from(request.range.start % page).unwrap_or(0);
            let len = usize::try_from(request.range.end - request.range.start).unwrap_or(0);
            let whole = fetched.bufs.first().map(|buf| &**buf).unwrap_or_default();
            let slice = PageSlice { pages: &[whole], start, len };
            task(request.token, &slice)?;
        }
        Ok(())
    }
}

/// The bytes of one request, in the pages of the cache.
#[derive(Debug)]
pub struct PageSlice<'a> {
    pages: &'a [&'a [u8]],
    start: usize,
    len: usize,
}

/// Contiguous bytes with readable bytes behind them.
#[derive(Debug)]
pub struct Slack<'a> {
    /// The bytes of the request at `range`, then at least [`SLACK`] more.
    pub buf: &'a [u8],
    /// Where the request's bytes are in `buf`.
    pub range: Range<usize>,
}

impl<'a> PageSlice<'a> {
    /// Bytes of the request.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the request was empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes in order, one slice per page that they lie on; nothing is copied.
    pub fn segments(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        let (mut skip, mut left) = (self.start, self.len);
        self.pages.iter().filter_map(move |page| {
            let from = skip.min(page.len());
            skip -= from;
            let bytes = page.get(from..).unwrap_or_default();
            let bytes = bytes.get(..left.min(bytes.len())).unwrap_or_default();
            left -= bytes.len();
            (!bytes.is_empty()).then_some(bytes)
        })
    }

    /// The bytes in one piece: in place if they lie on one page, else joined
    /// in `scratch`.
    pub fn contiguous<'s>(&'s self, scratch: &'s mut Vec<u8>) -> &'s [u8] {
        if let [page] = self.pages {
            return page.get(self.start..self.start + self.len).unwrap_or_default();
        }
        scratch.clear();
        self.segments().for_each(|bytes| scratch.extend_from_slice(bytes));
        scratch
    }

    /// The bytes in one piece with at least [`SLACK`] readable bytes behind
    /// them: in place if the page is long enough, else joined in `scratch`.
    pub fn with_slack<'s>(&'s self, scratch: &'s mut Vec<u8>) -> Slack<'s> {
        if let [page] = self.pages {
            let end = self.start + self.len;
            if page.len() >= end + SLACK {
                return Slack { buf: page, range: self.start..end };
            }
        }
        scratch.clear();
        self.segments().for_each(|bytes| scratch.extend_from_slice(bytes));
        let len = scratch.len();
        scratch.resize(len + SLACK, 0);
        Slack { buf: scratch, range: 0..len }
    }
}
