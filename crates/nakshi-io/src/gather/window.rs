//! The pages and requests that a gather has in progress.
//!
//! Requests come in the order of their offsets. Each is a [`PendingRequest`] over consecutive
//! [`WindowPage`]s, one per distinct page; requests on the same page share its entry. Pages that
//! must be read form [`PageRun`]s of adjacent pages, one read each. All three are numbered in
//! order, so that finished ones can be dropped at the front.

use crate::buffer::AlignedBuf;
use crate::cache::{Claim, FramePin, PageCache, Region};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Location of a page's bytes.
#[derive(Debug)]
pub(super) enum PageLocation {
    /// In a frame of the cache, which this window has pinned.
    Frame(FramePin),
    /// In a pinned region.
    Region(Arc<Region>),
    /// In memory outside the cache, since no frame was free.
    Private(AlignedBuf),
    /// Being read into a frame that this window claimed.
    Reading(Claim),
    /// Being read into memory outside the cache, or by another worker, or already given back.
    Nowhere,
}

/// One page of the window.
#[derive(Debug)]
pub(super) struct WindowPage {
    pub(super) page: u64,
    pub(super) place: PageLocation,
    /// Number of pending requests on this page.
    pub(super) users: u32,
    /// The run that brings the page; `None` once the page is ready.
    pub(super) run: Option<usize>,
}

/// A request whose task has not run.
#[derive(Debug, Clone)]
pub(super) struct PendingRequest {
    /// Index of the request in the caller's list.
    pub(super) request: usize,
    /// Numbers of its pages.
    pub(super) entries: Range<u64>,
    /// Number of its pages that are not ready.
    pub(super) waiting: u64,
}

/// Adjacent pages that arrive together.
#[derive(Debug)]
pub(super) struct PageRun {
    /// Numbers of its pages.
    pub(super) entries: Range<u64>,
    /// Numbers of the requests that may be on them.
    pub(super) actives: Range<u64>,
}

/// The pages, requests and runs in progress.
#[derive(Debug, Default)]
pub(super) struct RequestWindow {
    entries: VecDeque<WindowPage>,
    first_entry: u64,
    actives: VecDeque<Option<PendingRequest>>,
    first_active: u64,
    runs: Vec<Option<PageRun>>,
    free_runs: Vec<usize>,
    /// Numbers of the requests whose pages have all arrived.
    pub(super) ready: VecDeque<u64>,
}

impl RequestWindow {
    /// Returns the number of pages held or awaited, and of the pages between them.
    pub(super) fn pages(&self) -> usize {
        self.entries.len()
    }

    /// The number of the next entry to be appended.
    pub(super) fn next_entry(&self) -> u64 {
        self.first_entry + self.entries.len() as u64
    }

    /// The number of the next request to be appended.
    pub(super) fn next_active(&self) -> u64 {
        self.first_active + self.actives.len() as u64
    }

    /// The last page of the window.
    pub(super) fn last_page(&self) -> Option<u64> {
        self.entries.back().map(|entry| entry.page)
    }

    /// The number of the entry of `page`, or of the first page after it.
    pub(super) fn find(&self, page: u64) -> u64 {
        if self.last_page().is_none_or(|last| last < page) {
            return self.next_entry();
        }
        self.first_entry + self.entries.partition_point(|entry| entry.page < page) as u64
    }

    pub(super) fn entry(&mut self, number: u64) -> Option<&mut WindowPage> {
        self.entries.get_mut(usize::try_from(number.checked_sub(self.first_entry)?).ok()?)
    }

    /// Returns the bytes of a page that is ready.
    pub(super) fn bytes<'a>(&'a self, number: u64, cache: &'a PageCache) -> Option<&'a [u8]> {
        let entry =
            self.entries.get(usize::try_from(number.checked_sub(self.first_entry)?).ok()?)?;
        match &entry.place {
            PageLocation::Frame(pin) => Some(cache.bytes(pin)),
            PageLocation::Region(region) => region.get(entry.page),
            PageLocation::Private(buf) => Some(buf),
            PageLocation::Reading(_) | PageLocation::Nowhere => None,
        }
    }

    /// Records the bytes that a request reads of a page, for the cache's utilisation.
    pub(super) fn note_used(&self, number: u64, range: Range<usize>, cache: &PageCache) {
        let at = number.checked_sub(self.first_entry).and_then(|at| usize::try_from(at).ok());
        if let Some(WindowPage { place: PageLocation::Frame(pin), .. }) =
            at.and_then(|at| self.entries.get(at))
        {
            cache.note_used(pin, range);
        }
    }

    pub(super) fn push_entry(&mut self, entry: WindowPage) {
        self.entries.push_back(entry);
    }

    /// Appends a request over `entries` and counts it as a user of each.
    pub(super) fn push_active(&mut self, request: usize, entries: Range<u64>) {
        let number = self.next_active();
        let mut waiting = 0;
        for at in entries.clone() {
            let Some(entry) = self.entry(at) else { continue };
            entry.users += 1;
            if let Some(run) = entry.run {
                waiting += 1;
                if let Some(Some(run)) = self.runs.get_mut(run) {
                    run.actives = run.actives.start.min(number)..number + 1;
                }
            }
        }
        if waiting == 0 {
            self.ready.push_back(number);
        }
        self.actives.push_back(Some(PendingRequest { request, entries, waiting }));
    }

    /// Starts a run at the next entry, for requests from the next one on.
    pub(super) fn push_run(&mut self) -> usize {
        let (entry, active) = (self.next_entry(), self.next_active());
        let run = Some(PageRun { entries: entry..entry, actives: active..active });
        match self.free_runs.pop() {
            Some(number) => {
                if let Some(place) = self.runs.get_mut(number) {
                    *place = run;
                }
                number
            }
            None => {
                self.runs.push(run);
                self.runs.len() - 1
            }
        }
    }

    /// Makes a run one entry longer.
    pub(super) fn extend_run(&mut self, number: usize) {
        if let Some(Some(run)) = self.runs.get_mut(number) {
            run.entries.end += 1;
        }
    }

    pub(super) fn run(&self, number: usize) -> Option<&PageRun> {
        self.runs.get(number)?.as_ref()
    }

    /// Marks the pages of an arrived run, whose locations the caller has set, as ready, and the
    /// requests that wait for no other page.
    pub(super) fn arrived(&mut self, number: usize) {
        let Some(run) = self.runs.get_mut(number).and_then(Option::take) else { return };
        self.free_runs.push(number);
        for at in run.entries.clone() {
            if let Some(entry) = self.entry(at) {
                entry.run = None;
            }
        }
        for at in run.actives {
            let Some(Some(active)) = self.active_mut(at) else { continue };
            let from = active.entries.start.max(run.entries.start);
            let to = active.entries.end.min(run.entries.end);
            let came = to.saturating_sub(from);
            active.waiting -= came;
            if came > 0 && active.waiting == 0 {
                self.ready.push_back(at);
            }
        }
    }

    fn active_mut(&mut self, number: u64) -> Option<&mut Option<PendingRequest>> {
        self.actives.get_mut(usize::try_from(number.checked_sub(self.first_active)?).ok()?)
    }

    /// A request by number.
    pub(super) fn active(&self, number: u64) -> Option<&PendingRequest> {
        self.actives.get(usize::try_from(number.checked_sub(self.first_active)?).ok()?)?.as_ref()
    }

    /// Ends a request whose task has run: passes to `release` the pages that no other request uses.
    /// Pages from `frontier` on stay, since the next request may want them.
    pub(super) fn finish(
        &mut self,
        number: u64,
        frontier: u64,
        release: &mut dyn FnMut(PageLocation),
    ) {
        let Some(active) = self.active_mut(number).and_then(Option::take) else { return };
        for at in active.entries {
            let Some(entry) = self.entry(at) else { continue };
            entry.users = entry.users.saturating_sub(1);
            if entry.users == 0 && entry.page < frontier {
                release(std::mem::replace(&mut entry.place, PageLocation::Nowhere));
            }
        }
        while self.actives.front().is_some_and(Option::is_none) {
            self.actives.pop_front();
            self.first_active += 1;
        }
        self.trim(frontier, release);
    }

    /// Drops the unused pages at the front.
    fn trim(&mut self, frontier: u64, release: &mut dyn FnMut(PageLocation)) {
        while self
            .entries
            .front()
            .is_some_and(|entry| entry.run.is_none() && entry.users == 0 && entry.page < frontier)
        {
            if let Some(entry) = self.entries.pop_front() {
                release(entry.place);
            }
            self.first_entry += 1;
        }
    }

    /// Releases everything after an error; reads of this worker that are in flight must have been
    /// taken back before.
    pub(super) fn clear(&mut self, release: &mut dyn FnMut(PageLocation)) {
        self.entries.drain(..).for_each(|entry| release(entry.place));
        *self = Self::default();
    }
}
