//! The reader of selected ranges: sorts and merges requests, reads pages, runs tasks.

use super::slice::{PageSlice, Pages};
use super::window::{PageLocation, RequestWindow, WindowPage};
use super::{GatherOptions, Request};
use crate::buffer::AlignedBuf;
use crate::cache::{Lookup, PageCache, Region};
use crate::fetch::{Fetched, Fetcher};
use crate::paged_file::PagedFile;
use crate::resident::SLACK;
use crate::stats::{IoStats, add};
use crate::{CancelToken, Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bit that marks the fetch of a request which bypasses the cache. The other bits are then the
/// index of the request, else the number of a run.
const BYPASS: u64 = 1 << 63;
/// Time for which a reader waits for a page that another worker reads, before it reads the page
/// itself: that worker may be in a long task, or be waiting for this one.
const FOREIGN_READ_TIMEOUT: Duration = Duration::from_millis(2);
/// Interval at which a reader checks if another worker's page has arrived.
const POLL_INTERVAL: Duration = Duration::from_micros(20);
/// Time for which a reader that has failed waits for its reads in flight.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// The user's task, which runs once per request, on its pages. Its errors are the caller's own.
pub type PageTask<'t, E = Error> = dyn FnMut(u64, &PageSlice<'_>) -> Result<(), E> + 't;

/// Reads selected ranges of a file through a page cache, for one worker.
///
/// Making a reader costs a ring, so keep it while the file is in use, also across iterations.
#[derive(Debug)]
pub struct CachedReader {
    cache: Arc<PageCache>,
    file: Arc<PagedFile>,
    fetcher: Fetcher,
    stats: Arc<IoStats>,
    options: GatherOptions,
    window: RequestWindow,
    regions: Vec<Arc<Region>>,
    /// Indices of the requests by offset.
    order: Vec<usize>,
    /// Memory for pages that got no frame.
    spare: Vec<AlignedBuf>,
    /// Runs of one page that another worker reads, with the time since when we wait.
    foreign: Vec<(usize, Instant)>,
    /// The slack of the bypassing request that is in flight.
    bypassing: Option<AlignedBuf>,
    /// The run that the next page may join.
    open_run: Option<usize>,
    /// Complete runs that the fetcher does not have yet.
    unsent: Vec<usize>,
    /// True while a gather runs; still true at the next gather if a task panicked.
    busy: bool,
}

impl CachedReader {
    /// Makes a reader of `file` through `cache`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if their page sizes differ; the errors of
    /// [`queue`](crate::StorageBackend::queue).
    pub fn new(
        cache: &Arc<PageCache>,
        file: &Arc<PagedFile>,
        options: &GatherOptions,
        stats: Arc<IoStats>,
    ) -> Result<Self> {
        cache.check_file(file)?;
        let mut options = options.clone();
        options.depth = options.depth.clamp(1, 4096);
        options.window = options.window.min(cache.frames() / 8).max(8);
        let mut fetcher = file.fetcher(options.depth, Arc::clone(&stats))?;
        fetcher.set_cancel(options.cancel.clone());
        if options.register {
            cache.announce(&mut fetcher);
        }
        Ok(Self {
            cache: Arc::clone(cache),
            file: Arc::clone(file),
            fetcher,
            stats,
            options,
            window: RequestWindow::default(),
            regions: Vec::new(),
            order: Vec::new(),
            spare: Vec::new(),
            foreign: Vec::new(),
            bypassing: None,
            open_run: None,
            unsent: Vec::new(),
            busy: false,
        })
    }

    /// Gives the reader another token that stops waiting calls, for its next gather.
    pub fn set_cancel(&mut self, cancel: Option<CancelToken>) {
        self.fetcher.set_cancel(cancel.clone());
        self.options.cancel = cancel;
    }

    /// Runs `task` once for every request, on the pages in the cache, in the
    /// order in which the pages arrive.
    ///
    /// Requests may come in any order and overlap; sorted requests save the sort. Requests on the
    /// same or adjacent pages are merged. The slice is valid during the task only.
    ///
    /// # Errors
    /// The first error of a read or of the task; tasks that have not run by then do not run.
    /// [`Error::Unsupported`] for a range beyond the file.
    pub fn gather<E: From<Error>>(
        &mut self,
        requests: &[Request],
        task: &mut PageTask<'_, E>,
    ) -> Result<(), E> {
        if self.busy {
            self.abort();
        }
        if self.fetcher.pending() > 0 {
            let what = "a reader whose device did not answer; make another";
            return Err(Error::unsupported(what).into());
        }
        self.busy = true;
        self.regions = self.cache.regions(self.file.key);
        let result = self.check(requests).map_err(E::from).and_then(|()| self.run(requests, task));
        if result.is_err() {
            self.abort();
        }
        self.busy = false;
        result
    }

    fn check(&mut self, requests: &[Request]) -> Result<()> {
        let len = self.file.len();
        if let Some(bad) =
            requests.iter().find(|r| r.range.start > r.range.end || r.range.end > len)
        {
            let what =
                format!("bytes {:?} of {}, which has {len}", bad.range, self.file.path().display());
            return Err(Error::unsupported(what));
        }
        self.order.clear();
        self.order.extend(0..requests.len());
        if !requests.is_sorted_by_key(|request| request.range.start) {
            self.order.sort_unstable_by_key(|&at| {
                (requests.get(at).map(|request| request.range.start), at)
            });
        }
        Ok(())
    }

    fn run<E: From<Error>>(
        &mut self,
        requests: &[Request],
        task: &mut PageTask<'_, E>,
    ) -> Result<(), E> {
        let mut next = 0;
        loop {
            let room = self.window.pages() <= self.options.window / 2 && self.bypassing.is_none();
            if room && next < self.order.len() {
                next = self.admit(requests, next, task)?;
            }
            let frontier = self.frontier(requests, next);
            self.run_ready(requests, frontier, task)?;
            self.look_at_foreign()?;
            if !self.window.ready.is_empty() {
                continue;
            }
            if self.fetcher.pending() > 0 {
                self.take(requests, true, task)?;
                while self.take(requests, false, task)? {}
            } else if !self.foreign.is_empty() {
                std::thread::sleep(POLL_INTERVAL);
            } else {
                // All admitted tasks have run.
                let (cache, spare) = (&self.cache, &mut self.spare);
                self.window.clear(&mut |place| release(cache, spare, place));
                if next == self.order.len() {
                    return Ok(());
                }
            }
        }
    }

    /// The first page of the next request.
    fn frontier(&self, requests: &[Request], next: usize) -> u64 {
        let request = self.order.get(next).and_then(|&at| requests.get(at));
        request.map_or(u64::MAX, |request| request.range.start / u64::from(self.file.page_size()))
    }

    /// Admits requests to the window until it is full, and starts their reads as one batch. Returns
    /// the index of the next request that is not admitted.
    fn admit<E: From<Error>>(
        &mut self,
        requests: &[Request],
        mut next: usize,
        task: &mut PageTask<'_, E>,
    ) -> Result<usize, E> {
        let page_size = u64::from(self.file.page_size());
        while let Some((at, request)) =
            self.order.get(next).and_then(|&at| Some((at, requests.get(at)?)))
        {
            let pages = request.range.start / page_size..request.range.end.div_ceil(page_size);
            let count = pages.end.saturating_sub(pages.start);
            if request.range.is_empty() {
                task(request.token, &PageSlice { pages: Pages::One(&[]), start: 0, len: 0 })?;
                next += 1;
                continue;
            }
            if count > self.options.window as u64 {
                self.bypass(at, request, page_size)?;
                next += 1;
                break;
            }
            if self.window.pages() > 0
                && self.window.pages() as u64 + count > self.options.window as u64
            {
                break;
            }
            // The pages of this request that earlier requests have brought in are consecutive and
            // come first, since requests are ordered by their starts.
            let missing =
                self.window.last_page().map_or(pages.start, |last| (last + 1).max(pages.start));
            if missing == pages.start {
                self.fill_gap(pages.start)?;
            }
            let first = self.window.find(pages.start);
            for page in missing..pages.end {
                self.add_page(page)?;
            }
            self.window.push_active(at, first..first + count);
            next += 1;
        }
        self.close_run();
        self.send()?;
        Ok(next)
    }

    /// Reads the pages between the open run and `page` too, if they are few and none of them is in
    /// memory.
    fn fill_gap(&mut self, page: u64) -> Result<()> {
        let Some(last) = self.window.last_page() else { return Ok(()) };
        let gap = page - last - 1;
        if gap == 0 || gap > self.options.gap || self.open_run.is_none() {
            return Ok(());
        }
        let start = self.open_run;
        for between in last + 1..page {
            self.add_page(between)?;
            if self.open_run != start {
                break;
            }
        }
        Ok(())
    }

    /// Appends the entry of a page that is in memory or has to be read.
    fn add_page(&mut self, page: u64) -> Result<()> {
        let adjacent = self.window.last_page().is_some_and(|last| last + 1 == page);
        let mut entry = WindowPage { page, place: PageLocation::Nowhere, users: 0, run: None };
        if let Some(region) = self.regions.iter().find(|region| region.get(page).is_some()) {
            add(&self.stats.pinned_hits, 1);
            entry.place = PageLocation::Region(Arc::clone(region));
            self.close_run();
            self.window.push_entry(entry);
            return Ok(());
        }
        match self.cache.lookup(self.file.key, page, &self.stats) {
            Lookup::Hit(pin) => {
                add(&self.stats.hits, 1);
                entry.place = PageLocation::Frame(pin);
                self.close_run();
            }
            Lookup::Loading => {
                // Another worker's read counts as a hit: it costs the device nothing.
                add(&self.stats.hits, 1);
                self.close_run();
                let run = self.window.push_run();
                self.window.extend_run(run);
                self.foreign.push((run, Instant::now()));
                entry.run = Some(run);
            }
            Lookup::Miss(claim) => {
                entry.place = PageLocation::Reading(claim);
                entry.run = Some(self.join_run(adjacent));
            }
            Lookup::Full => {
                let buf = self.spare_page()?;
                entry.place = PageLocation::Private(buf);
                entry.run = Some(self.join_run(adjacent));
            }
        }
        self.window.push_entry(entry);
        Ok(())
    }

    /// Returns the run for a page that must be read: the open run if the page fits, else a new one.
    fn join_run(&mut self, adjacent: bool) -> usize {
        add(&self.stats.misses, 1);
        let most = (self.options.max_read / self.file.page_size() as usize).max(1) as u64;
        let long = |run: usize| {
            self.window.run(run).is_none_or(|run| run.entries.end - run.entries.start >= most)
        };
        if !adjacent || self.open_run.is_some_and(long) {
            self.close_run();
        }
        let number = *self.open_run.get_or_insert_with(|| self.window.push_run());
        self.window.extend_run(number);
        number
    }

    fn close_run(&mut self) {
        self.unsent.extend(self.open_run.take());
    }

    /// Passes the closed runs to the fetcher, and submits them to the device as one batch.
    fn send(&mut self) -> Result<()> {
        for number in std::mem::take(&mut self.unsent) {
            let Some(entries) = self.window.run(number).map(|run| run.entries.clone()) else {
                continue;
            };
            let mut bufs =
                Vec::with_capacity(usize::try_from(entries.end - entries.start).unwrap_or(0));
            let mut first_page = 0;
            for at in entries.clone() {
                let Some(entry) = self.window.entry(at) else { continue };
                if at == entries.start {
                    first_page = entry.page;
                }
                match std::mem::replace(&mut entry.place, PageLocation::Nowhere) {
                    PageLocation::Reading(claim) => {
                        bufs.push(self.cache.buffer(&claim));
                        entry.place = PageLocation::Reading(claim);
                    }
                    PageLocation::Private(buf) => bufs.push(buf),
                    other => entry.place = other,
                }
            }
            self.fetcher.fetch(first_page, bufs, number as u64);
        }
        self.fetcher.flush()
    }

    /// Reads a request of more pages than the window into memory of its own.
    fn bypass(&mut self, at: usize, request: &Request, page_size: u64) -> Result<()> {
        let first = request.range.start / page_size;
        let bytes = (request.range.end.div_ceil(page_size) - first).saturating_mul(page_size);
        let too_long = || Error::Budget { needed: bytes, given: 0 };
        let bytes = usize::try_from(bytes).map_err(|_| too_long())?;
        let mut buf = AlignedBuf::zeroed_huge(bytes.checked_add(SLACK).ok_or_else(too_long)?)?;
        self.bypassing = Some(buf.split_off(bytes));
        add(&self.stats.misses, bytes as u64 / page_size);
        self.fetcher.fetch(first, vec![buf], BYPASS | at as u64);
        Ok(())
    }

    /// Handles one finished fetch, if there is one; waits for it if `wait`.
    fn take<E: From<Error>>(
        &mut self,
        requests: &[Request],
        wait: bool,
        task: &mut PageTask<'_, E>,
    ) -> Result<bool, E> {
        let Some(fetched) = self.fetcher.next(wait)? else { return Ok(false) };
        if fetched.token & BYPASS == 0 {
            self.settle(fetched)?;
            return Ok(true);
        }
        let slack = self.bypassing.take();
        fetched.result?;
        let at = usize::try_from(fetched.token ^ BYPASS).unwrap_or(usize::MAX);
        if let (Some(request), Some(mut buf)) = (requests.get(at), fetched.bufs.into_iter().next())
        {
            // The slack spares the task a copy of the whole request.
            let _ = slack.map(|slack| buf.join(slack));
            let start = request.range.start % u64::from(self.file.page_size());
            let len = request.range.end - request.range.start;
            let (start, len) =
                (usize::try_from(start).unwrap_or(0), usize::try_from(len).unwrap_or(0));
            task(request.token, &PageSlice { pages: Pages::One(&buf), start, len })?;
        }
        Ok(true)
    }

    /// Handles a run that has come back. Its pages become readable for all workers, or, if the read
    /// failed, their frames are given back.
    fn settle(&mut self, fetched: Fetched) -> Result<()> {
        let number = usize::try_from(fetched.token).unwrap_or(usize::MAX);
        let entries = self.window.run(number).map_or(0..0, |run| run.entries.clone());
        for (at, buf) in entries.zip(fetched.bufs) {
            let Some(entry) = self.window.entry(at) else { continue };
            entry.place = match std::mem::replace(&mut entry.place, PageLocation::Nowhere) {
                PageLocation::Reading(claim) if fetched.result.is_ok() => {
                    PageLocation::Frame(self.cache.fill(claim, buf))
                }
                PageLocation::Reading(claim) => {
                    self.cache.abandon(claim, buf);
                    PageLocation::Nowhere
                }
                _ => PageLocation::Private(buf),
            };
        }
        fetched.result?;
        self.window.arrived(number);
        Ok(())
    }

    /// Checks the pages that other workers read.
    fn look_at_foreign(&mut self) -> Result<()> {
        let mut at = 0;
        while let Some(&(number, since)) = self.foreign.get(at) {
            let Some(place) = self.window.run(number).map(|run| run.entries.start) else { break };
            let Some(page) = self.window.entry(place).map(|entry| entry.page) else { break };
            let found = match self.cache.lookup(self.file.key, page, &self.stats) {
                Lookup::Hit(pin) => PageLocation::Frame(pin),
                // The other worker failed or is gone: read the page here.
                Lookup::Miss(claim) => PageLocation::Reading(claim),
                Lookup::Loading if since.elapsed() < FOREIGN_READ_TIMEOUT => {
                    at += 1;
                    continue;
                }
                Lookup::Loading | Lookup::Full => PageLocation::Private(self.spare_page()?),
            };
            self.foreign.swap_remove(at);
            let here = matches!(found, PageLocation::Frame(_));
            if let Some(entry) = self.window.entry(place) {
                entry.place = found;
            }
            if here {
                self.window.arrived(number);
            } else {
                add(&self.stats.misses, 1);
                self.unsent.push(number);
            }
        }
        if self.unsent.is_empty() { Ok(()) } else { self.send() }
    }

    /// Runs the tasks of the requests whose pages have all arrived.
    fn run_ready<E: From<Error>>(
        &mut self,
        requests: &[Request],
        frontier: u64,
        task: &mut PageTask<'_, E>,
    ) -> Result<(), E> {
        let page_size = self.file.page_size() as usize;
        while let Some(number) = self.window.ready.pop_front() {
            let Some(active) = self.window.active(number) else { continue };
            let Some(request) = requests.get(active.request) else { continue };
            let entries = active.entries.clone();
            let start = usize::try_from(request.range.start % page_size as u64).unwrap_or(0);
            let len = usize::try_from(request.range.end - request.range.start).unwrap_or(0);
            let mut skip = start;
            let mut left = len;
            for at in entries.clone() {
                let part = left.min(page_size - skip);
                self.window.note_used(at, skip..skip + part, &self.cache);
                left -= part;
                skip = 0;
            }
            let pages = if entries.end - entries.start == 1 {
                Pages::One(self.window.bytes(entries.start, &self.cache).unwrap_or_default())
            } else {
                Pages::Many(&self.window, entries.start, &self.cache)
            };
            task(request.token, &PageSlice { pages, start, len })?;
            let (cache, spare) = (&self.cache, &mut self.spare);
            self.window.finish(number, frontier, &mut |place| release(cache, spare, place));
        }
        Ok(())
    }

    fn spare_page(&mut self) -> Result<AlignedBuf> {
        if let Some(buf) = self.spare.pop() {
            return Ok(buf);
        }
        let page = self.file.page_size() as usize;
        let mut many = AlignedBuf::zeroed(page.max(64 << 10))?;
        while many.len() > page {
            let rest = many.split_off(page);
            self.spare.push(std::mem::replace(&mut many, rest));
        }
        Ok(many)
    }

    /// Cleans up after an error: takes back the reads in flight, so that no frame stays claimed,
    /// and releases all pages.
    fn abort(&mut self) {
        self.close_run();
        // Reads that never started: their frames are given back unread.
        for number in std::mem::take(&mut self.unsent) {
            let entries = self.window.run(number).map_or(0..0, |run| run.entries.clone());
            for at in entries {
                let Some(entry) = self.window.entry(at) else { continue };
                if let PageLocation::Reading(claim) =
                    std::mem::replace(&mut entry.place, PageLocation::Nowhere)
                {
                    let buf = self.cache.buffer(&claim);
                    self.cache.abandon(claim, buf);
                }
            }
        }
        let cancel = self.options.cancel.clone();
        self.fetcher.set_cancel(None);
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        while self.fetcher.pending() > 0 && Instant::now() < deadline {
            match self.fetcher.next_within(Duration::from_millis(50)) {
                Ok(Some(fetched)) if fetched.token & BYPASS == 0 => drop(self.settle(fetched)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        self.fetcher.set_cancel(cancel);
        self.foreign.clear();
        self.bypassing = None;
        let (cache, spare) = (&self.cache, &mut self.spare);
        self.window.clear(&mut |place| release(cache, spare, place));
    }
}

/// Gives back the frame or the memory of a page.
fn release(cache: &PageCache, spare: &mut Vec<AlignedBuf>, place: PageLocation) {
    match place {
        PageLocation::Frame(pin) => cache.unpin(pin),
        PageLocation::Private(buf) => spare.push(buf),
        // The read never completed.
        PageLocation::Reading(claim) => claim.lose(),
        PageLocation::Region(_) | PageLocation::Nowhere => {}
    }
}

impl Drop for CachedReader {
    fn drop(&mut self) {
        // A task has panicked: no frame may stay claimed.
        if self.busy {
            self.abort();
        }
    }
}
