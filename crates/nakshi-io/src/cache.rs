//! The page cache: set-associative frames, and a pinned region beside them.
//!
//! As in SAFS (FlashGraph section 3.1), pages hash to small sets, so that a look-up locks one set
//! and searches at most eight frames. Each set evicts by a clock. Frames are pinned while a task
//! may read them. A pin is an atomic count; a lock is held for a look-up alone, never during I/O.
#![allow(unsafe_code)]

use crate::buffer::{AlignedBuf, Slab};
use crate::fetch::{Fetched, Fetcher};
use crate::paged_file::{PagedFile, check_page_size};
use crate::stats::IoStats;
use crate::{CancelToken, Error, Result};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Frames per set.
const WAYS: usize = 8;
/// Bytes per unit of the utilisation counters: a cache line.
pub(crate) const UNIT: usize = 64;
/// Reads in flight while pages are pinned.
const PIN_DEPTH: usize = 16;
/// Bytes per read while pages are pinned.
const PIN_READ: usize = 256 << 10;

/// A set-associative page cache shared by the workers of a job, with a pinned
/// region beside it.
#[derive(Debug)]
pub struct PageCache {
    page_size: usize,
    slab: Arc<Slab>,
    sets: Vec<Mutex<Set>>,
    /// Number of tasks that read a frame, plus the worker that fills it.
    pins: Vec<AtomicU32>,
    /// Bit per 64-byte unit of a frame, set when a task has read the unit: `words` words per frame.
    used: Vec<AtomicU64>,
    words: usize,
    pinned: RwLock<HashMap<u32, Vec<Arc<Region>>>>,
}

/// Keys and states of the frames of one set; bit `i` is frame `i`.
#[derive(Debug, Default)]
struct Set {
    pages: [u64; WAYS],
    files: [u32; WAYS],
    valid: u8,
    loading: u8,
    referenced: u8,
    hand: u8,
}

/// The result of a look-up.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// Found; the frame is pinned.
    Hit(FramePin),
    /// Not there yet: another worker is reading the page.
    Loading,
    /// Not there; the caller now has to fill this frame.
    Miss(Claim),
    /// Not there, and every frame of its set is in use.
    Full,
}

/// A token for a frame, which the cache takes back: a [`FramePin`] or a [`Claim`].
///
/// The token is a number, since look-ups are too frequent for counted references. Dropping a token
/// would keep its frame in use as long as the cache lives; a drop therefore panics with debug
/// assertions, and is logged without them.
#[derive(Debug)]
#[must_use]
pub(crate) struct FrameToken<const CLAIM: bool>(u32);

/// Proof that a frame holds a page and must keep it. [`PageCache::unpin`] takes it back.
pub(crate) type FramePin = FrameToken<false>;

/// The duty to fill a frame. [`PageCache::fill`] or [`PageCache::abandon`] takes it back.
pub(crate) type Claim = FrameToken<true>;

impl<const CLAIM: bool> Drop for FrameToken<CLAIM> {
    fn drop(&mut self) {
        dropped(if CLAIM { "a claim" } else { "a pin" }, self.0);
    }
}

impl<const CLAIM: bool> FrameToken<CLAIM> {
    /// Consumes the token; returns its frame.
    fn given_back(self) -> u32 {
        let frame = self.0;
        std::mem::forget(self);
        frame
    }
}

impl Claim {
    /// Gives the frame up as long as the cache lives: a read into it never completed, so the device
    /// may still write to it.
    pub(crate) fn lose(self) {
        let frame = self.given_back();
        tracing::warn!("a read never came back; frame {frame} of the page cache is given up");
    }
}

#[cold]
fn dropped(what: &str, frame: u32) {
    tracing::error!("{what} of frame {frame} was dropped; the page cache lost the frame");
    debug_assert!(std::thread::panicking(), "{what} of frame {frame} was dropped");
}

/// A page that stays in its frame as long as this guard lives.
#[derive(Debug)]
pub(crate) struct Held<'c> {
    cache: &'c PageCache,
    /// Pinned until the guard is dropped.
    frame: u32,
}

impl Held<'_> {
    /// Returns some bytes of the page and counts them as used.
    #[inline]
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.cache.note_used_of(self.frame, range.clone());
        self.cache.page(self.frame).get(range).unwrap_or_default()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.cache.unpin(FrameToken(self.frame));
    }
}

/// Pages of one file that stay in memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// Page numbers, ascending.
    pages: Vec<u64>,
    page_size: usize,
    memory: AlignedBuf,
}

impl Region {
    /// Returns the bytes of a page, if it is in the region.
    pub(crate) fn get(&self, page: u64) -> Option<&[u8]> {
        let at = self.pages.binary_search(&page).ok()? * self.page_size;
        self.memory.get(at..at + self.page_size)
    }
}

impl PageCache {
    /// Makes a cache of `capacity` bytes (rounded down to whole sets of eight pages) for files with
    /// pages of `page_size` bytes. Its tables take another 1 % with pages of 4 KiB.
    ///
    /// # Errors
    /// [`Error::Budget`] if `capacity` is less than one set.
    pub fn new(capacity: usize, page_size: u32) -> Result<Arc<Self>> {
        check_page_size(page_size)?;
        let page_size = page_size as usize;
        let sets = capacity / (page_size * WAYS);
        let frames = sets * WAYS;
        if sets == 0 || u32::try_from(frames).is_err() {
            return Err(Error::Budget {
                needed: (page_size * WAYS) as u64,
                given: capacity as u64,
            });
        }
        let words = page_size.div_ceil(UNIT * 64);
        Ok(Arc::new(Self {
            page_size,
            // Not in huge pages: pages hash all over the slab, and one touched frame would take two
            // megabytes.
            slab: Slab::map(frames * page_size, false)?,
            sets: (0..sets).map(|_| Mutex::default()).collect(),
            pins: (0..frames).map(|_| AtomicU32::new(0)).collect(),
            used: (0..frames * words).map(|_| AtomicU64::new(0)).collect(),
            words,
            pinned: RwLock::default(),
        }))
    }

    /// Returns the number of bytes per page.
    pub fn page_size(&self) -> u32 {
        u32::try_from(self.page_size).unwrap_or(u32::MAX)
    }

    /// Returns the number of frames of the set-associative part.
    pub fn frames(&self) -> usize {
        self.pins.len()
    }

    /// Returns the number of bytes of the pinned regions.
    pub fn pinned_bytes(&self) -> u64 {
        let pinned = self.pinned.read().unwrap_or_else(PoisonError::into_inner);
        pinned.values().flatten().map(|region| region.memory.len() as u64).sum()
    }

    /// Loads and verifies pages of `file` into a region beside the set-associative part, where they
    /// stay as long as the cache lives. Pages may come in any order; duplicates count once. Several
    /// calls add to each other's pages.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a page beyond the file or another page size; read errors.
    pub fn pin(
        &self,
        file: &Arc<PagedFile>,
        pages: impl IntoIterator<Item = u64>,
        cancel: &CancelToken,
    ) -> Result<()> {
        self.check_file(file)?;
        let mut pages: Vec<u64> = pages.into_iter().collect();
        pages.sort_unstable();
        pages.dedup();
        if let Some(page) = pages.last().filter(|page| **page >= file.pages()) {
            let what =
                format!("page {page} of {}, which has {}", file.path().display(), file.pages());
            return Err(Error::unsupported(what));
        }
        let memory = self.load_pages(file, &pages, cancel)?;
        let region = Arc::new(Region { pages, page_size: self.page_size, memory });
        let mut pinned = self.pinned.write().unwrap_or_else(PoisonError::into_inner);
        pinned.entry(file.key).or_default().push(region);
        Ok(())
    }

    fn load_pages(
        &self,
        file: &Arc<PagedFile>,
        pages: &[u64],
        cancel: &CancelToken,
    ) -> Result<AlignedBuf> {
        let mut fetcher = file.fetcher(PIN_DEPTH, Arc::new(IoStats::new()))?;
        fetcher.set_cancel(Some(cancel.clone()));
        let most = (PIN_READ / self.page_size).max(1);
        let runs = pages.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(most));
        let needed =
            || Error::Budget { needed: (pages.len() as u64) * (self.page_size as u64), given: 0 };
        let mut rest =
            AlignedBuf::zeroed_huge(pages.len().checked_mul(self.page_size).ok_or_else(needed)?)?;
        let mut pieces: Vec<Option<AlignedBuf>> = Vec::new();
        let take = |pieces: &mut Vec<Option<AlignedBuf>>, fetched: Fetched| {
            let number = usize::try_from(fetched.token).unwrap_or(usize::MAX);
            if let Some(place) = pieces.get_mut(number) {
                *place = fetched.bufs.into_iter().next();
            }
            fetched.result
        };
        for run in runs {
            let tail = rest.split_off(run.len() * self.page_size);
            let piece = std::mem::replace(&mut rest, tail);
            fetcher.fetch(run.first().copied().unwrap_or(0), vec![piece], pieces.len() as u64);
            pieces.push(None);
            fetcher.flush()?;
            while fetcher.pending() >= PIN_DEPTH {
                fetcher.next(true)?.map_or(Ok(()), |fetched| take(&mut pieces, fetched))?;
            }
        }
        while let Some(fetched) = fetcher.next(true)? {
            take(&mut pieces, fetched)?;
        }
        let mut pieces = pieces.into_iter().flatten();
        let mut whole = pieces.next().unwrap_or(rest);
        for piece in pieces {
            whole
                .join(piece)
                .map_err(|_| Error::unsupported("memory of pinned pages in pieces"))?;
        }
        Ok(whole)
    }

    /// Returns an error unless `file` can be read through this cache.
    pub(crate) fn check_file(&self, file: &PagedFile) -> Result<()> {
        if self.page_size == file.page_size() as usize {
            return Ok(());
        }
        let (ours, theirs) = (self.page_size, file.page_size());
        Err(Error::unsupported(format!(
            "a cache of {ours} byte pages for a file of {theirs} byte pages"
        )))
    }

    /// The pinned regions of a file.
    pub(crate) fn regions(&self, file: u32) -> Vec<Arc<Region>> {
        let pinned = self.pinned.read().unwrap_or_else(PoisonError::into_inner);
        pinned.get(&file).cloned().unwrap_or_default()
    }

    fn set_of(&self, file: u32, page: u64) -> usize {
        let key = (page ^ (u64::from(file) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let key = (key ^ (key >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // The high half of the product distributes the keys evenly over any number of sets.
        let spread = u128::from(key ^ (key >> 32)) * self.sets.len() as u128;
        usize::try_from(spread >> 64).unwrap_or(0)
    }

    fn lock(&self, set: usize) -> Option<MutexGuard<'_, Set>> {
        Some(self.sets.get(set)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn pins_of(&self, frame: usize) -> &AtomicU32 {
        // The frame is one of this cache's own sets.
        &self.pins[frame]
    }

    /// Finds and pins a page, or claims a frame for it. An eviction is counted in `stats`.
    pub(crate) fn lookup(&self, file: u32, page: u64, stats: &IoStats) -> Lookup {
        let number = self.set_of(file, page);
        let Some(mut set) = self.lock(number) else { return Lookup::Full };
        if let Some(way) = set.find(file, page) {
            if set.loading >> way & 1 == 1 {
                return Lookup::Loading;
            }
            set.referenced |= 1 << way;
            let frame = number * WAYS + way;
            self.pins_of(frame).fetch_add(1, Ordering::Relaxed);
            return Lookup::Hit(FrameToken(frame as u32));
        }
        let first = number * WAYS;
        // Acquire: the tasks' reads of the frame happen before it is refilled.
        let Some(way) = set.victim(|way| self.pins_of(first + way).load(Ordering::Acquire) == 0)
        else {
            return Lookup::Full;
        };
        let frame = first + way;
        let evicted = set.valid >> way & 1 == 1;
        set.claim(way, file, page);
        self.pins_of(frame).store(1, Ordering::Relaxed);
        drop(set);
        if evicted {
            self.count_evicted(frame, stats);
        }
        Lookup::Miss(FrameToken(frame as u32))
    }

    /// The bits of a frame's used units.
    fn used_of(&self, frame: usize) -> &[AtomicU64] {
        self.used.get(frame * self.words..(frame + 1) * self.words).unwrap_or_default()
    }

    fn count_evicted(&self, frame: usize, stats: &IoStats) {
        let words = self.used_of(frame).iter();
        let used: u64 =
            words.map(|word| u64::from(word.swap(0, Ordering::Relaxed).count_ones())).sum();
        stats.evicted_units_used.fetch_add(used, Ordering::Relaxed);
        stats.evicted_units_total.fetch_add((self.page_size / UNIT) as u64, Ordering::Relaxed);
    }

    /// Returns the number of 64-byte units that tasks have read of the resident pages, and the
    /// number of all their units. [`IoStats`] has the same figures for evicted pages.
    pub fn resident_units(&self) -> (u64, u64) {
        let valid = |set: &Mutex<Set>| {
            set.lock().unwrap_or_else(PoisonError::into_inner).valid.count_ones()
        };
        // A frame without a page has no bits set.
        let used =
            self.used.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()));
        let pages = self.sets.iter().map(|set| u64::from(valid(set))).sum::<u64>();
        (used.sum(), pages * (self.page_size / UNIT) as u64)
    }

    /// Returns the memory of a claimed frame, to be read into. Called once per claim.
    pub(crate) fn buffer(&self, claim: &Claim) -> AlignedBuf {
        // SAFETY: the frame is marked as loading and pinned, so no look-up returns or claims it
        // before this claim is given back, together with the buffer.
        unsafe { self.slab.claim(claim.0 as usize * self.page_size, self.page_size) }
    }

    /// Marks a frame as filled: every task may read it from now on.
    pub(crate) fn fill(&self, claim: Claim, buf: AlignedBuf) -> FramePin {
        drop(buf);
        let frame = claim.given_back();
        let (number, way) = (frame as usize / WAYS, frame as usize % WAYS);
        if let Some(mut set) = self.lock(number) {
            set.loading &= !(1 << way);
            set.valid |= 1 << way;
        }
        FrameToken(frame)
    }

    /// Marks a frame as not filled.
    pub(crate) fn abandon(&self, claim: Claim, buf: AlignedBuf) {
        drop(buf);
        let frame = claim.given_back() as usize;
        let (number, way) = (frame / WAYS, frame % WAYS);
        if let Some(mut set) = self.lock(number) {
            set.loading &= !(1 << way);
            self.pins_of(frame).store(0, Ordering::Relaxed);
        }
    }

    /// Pins a page, if it is there, as long as the returned guard lives.
    #[inline]
    pub(crate) fn hold(&self, file: u32, page: u64) -> Option<Held<'_>> {
        let number = self.set_of(file, page);
        let mut set = self.lock(number)?;
        let way = set.find(file, page).filter(|way| set.loading >> way & 1 == 0)?;
        set.referenced |= 1 << way;
        let frame = number * WAYS + way;
        self.pins_of(frame).fetch_add(1, Ordering::Relaxed);
        Some(Held { cache: self, frame: frame as u32 })
    }

    /// Forgets every page that no task is reading, so that later reads come from the disk. The
    /// pinned regions stay.
    pub fn clear(&self) {
        for number in 0..self.sets.len() {
            let Some(mut set) = self.lock(number) else { continue };
            for way in 0..WAYS {
                let frame = number * WAYS + way;
                // Acquire: the tasks' reads of the frame happen before it is refilled.
                if self.pins_of(frame).load(Ordering::Acquire) == 0 {
                    set.valid &= !(1 << way);
                    set.referenced &= !(1 << way);
                    self.used_of(frame).iter().for_each(|word| word.store(0, Ordering::Relaxed));
                }
            }
        }
    }

    /// Returns the page in a pinned frame.
    pub(crate) fn bytes(&self, pin: &FramePin) -> &[u8] {
        self.page(pin.0)
    }

    /// Returns the page in a frame that the caller has pinned.
    fn page(&self, frame: u32) -> &[u8] {
        // SAFETY: the frame is filled and pinned, so nobody claims it for writing while the pin
        // lives; the slice does not outlive the task, after which the caller unpins.
        unsafe { self.slab.slice(frame as usize * self.page_size, self.page_size) }
    }

    /// Records that a task reads `range` of a frame's bytes.
    pub(crate) fn note_used(&self, pin: &FramePin, range: Range<usize>) {
        self.note_used_of(pin.0, range);
    }

    fn note_used_of(&self, frame: u32, range: Range<usize>) {
        let words = self.used.get(frame as usize * self.words..).unwrap_or_default();
        let (first, end) = (range.start / UNIT, range.end.div_ceil(UNIT));
        for (word, cell) in words.iter().enumerate().take(end.div_ceil(64)).skip(first / 64) {
            let from = first.max(word * 64) - word * 64;
            let to = end.min((word + 1) * 64) - word * 64;
            let mask = (u64::MAX << from) & (u64::MAX >> (64 - to));
            // Most reads repeat earlier ones: do not write to the cache line then.
            if cell.load(Ordering::Relaxed) & mask != mask {
                cell.fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    /// Ends a pin.
    pub(crate) fn unpin(&self, pin: FramePin) {
        // Release: the task's reads happen before the frame is refilled.
        self.pins_of(pin.given_back() as usize).fetch_sub(1, Ordering::Release);
    }

    /// Announces the memory of all frames to a worker's queue.
    pub(crate) fn announce(&self, fetcher: &mut Fetcher) {
        // SAFETY: an empty range, which overlaps nobody's.
        fetcher.register(&unsafe { self.slab.claim(0, 0) });
    }

    /// Returns the number of pins and claims of all frames.
    #[cfg(test)]
    pub(crate) fn pins(&self) -> u64 {
        self.pins.iter().map(|pins| u64::from(pins.load(Ordering::Relaxed))).sum()
    }
}

impl Set {
    /// Returns the frame that holds or awaits a page.
    fn find(&self, file: u32, page: u64) -> Option<usize> {
        let present = self.valid | self.loading;
        (0..WAYS).find(|&way| {
            present >> way & 1 == 1 && self.pages[way] == page && self.files[way] == file
        })
    }

    /// Moves the hand of the clock to the next frame that is unpinned and was not used since the
    /// hand last passed it.
    fn victim(&mut self, unpinned: impl Fn(usize) -> bool) -> Option<usize> {
        let present = self.valid | self.loading;
        if let Some(empty) = (0..WAYS).find(|&way| present >> way & 1 == 0) {
            return Some(empty);
        }
        // The second round finds no reference bit set, since the first has cleared them all.
        for _ in 0..2 * WAYS {
            let way = usize::from(self.hand);
            self.hand = (self.hand + 1) % WAYS as u8;
            if self.loading >> way & 1 == 1 || !unpinned(way) {
                continue;
            }
            if self.referenced >> way & 1 == 0 {
                return Some(way);
            }
            self.referenced &= !(1 << way);
        }
        None
    }

    fn claim(&mut self, way: usize, file: u32, page: u64) {
        self.pages[way] = page;
        self.files[way] = file;
        self.valid &= !(1 << way);
        self.loading |= 1 << way;
        self.referenced &= !(1 << way);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(cache: &PageCache, page: u64, stats: &IoStats) {
        match cache.lookup(0, page, stats) {
            Lookup::Hit(pin) => cache.unpin(pin),
            Lookup::Miss(claim) => {
                let mut buf = cache.buffer(&claim);
                buf.fill(page as u8);
                let pin = cache.fill(claim, buf);
                assert_eq!(cache.bytes(&pin)[0], page as u8);
                cache.unpin(pin);
            }
            other => panic!("{other:?}"),
        }
    }

    fn holds(cache: &PageCache, page: u64, stats: &IoStats) -> bool {
        match cache.lookup(0, page, stats) {
            Lookup::Hit(pin) => {
                cache.unpin(pin);
                true
            }
            Lookup::Miss(claim) => {
                let buf = cache.buffer(&claim);
                cache.abandon(claim, buf);
                false
            }
            other => panic!("{other:?}"),
        }
    }

    /// Seen red with the `referenced` test of the clock removed.
    #[test]
    fn a_page_that_is_used_again_survives_a_stream() {
        let (cache, stats) = (PageCache::new(8 * 4096, 4096).unwrap(), IoStats::new());
        for page in 0..8 {
            load(&cache, page, &stats);
        }
        for page in 100..130 {
            assert!(holds(&cache, 3, &stats), "lost before page {page}");
            load(&cache, page, &stats);
        }
        assert!(!holds(&cache, 0, &stats));
        assert_eq!(cache.pins(), 0);
    }

    #[test]
    fn pinned_and_loading_frames_stay() {
        let (cache, stats) = (PageCache::new(8 * 512, 512).unwrap(), IoStats::new());
        let (mut held, mut claims) = (Vec::new(), Vec::new());
        for page in 0..8 {
            let Lookup::Miss(claim) = cache.lookup(0, page, &stats) else { panic!() };
            if page % 2 == 0 {
                let buf = cache.buffer(&claim);
                held.push(cache.fill(claim, buf));
            } else {
                assert!(matches!(cache.lookup(0, page, &stats), Lookup::Loading));
                claims.push(claim);
            }
        }
        assert!(matches!(cache.lookup(0, 9, &stats), Lookup::Full));
        cache.unpin(held.remove(1));
        let Lookup::Miss(claim) = cache.lookup(0, 9, &stats) else { panic!() };
        claims.push(claim);
        assert!(matches!(cache.lookup(0, 2, &stats), Lookup::Full));
        // The same page number of another file is another page.
        assert!(matches!(cache.lookup(1, 0, &stats), Lookup::Full));
        let Lookup::Hit(pin) = cache.lookup(0, 0, &stats) else { panic!() };
        held.push(pin);
        held.into_iter().for_each(|pin| cache.unpin(pin));
        for claim in claims {
            let buf = cache.buffer(&claim);
            cache.abandon(claim, buf);
        }
        assert_eq!(cache.pins(), 0);
    }

    /// Seen red (the drop passes) with tokens that have no `Drop`.
    #[cfg(debug_assertions)]
    #[test]
    fn tokens_that_are_dropped_are_noticed() {
        let (cache, stats) = (PageCache::new(8 * 512, 512).unwrap(), IoStats::new());
        let noticed = |drops: &dyn Fn()| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(drops)).is_err()
        };
        assert!(noticed(&|| {
            let Lookup::Miss(claim) = cache.lookup(0, 0, &stats) else { return };
            drop(claim);
        }));
        load(&cache, 1, &stats);
        assert!(noticed(&|| {
            let Lookup::Hit(pin) = cache.lookup(0, 1, &stats) else { return };
            drop(pin);
        }));
        // A claim whose read never completed is given up explicitly.
        assert!(!noticed(&|| {
            let Lookup::Miss(claim) = cache.lookup(0, 2, &stats) else { panic!() };
            claim.lose();
        }));
        // During a panic, a dropped token starts no second panic.
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _found = cache.lookup(0, 1, &stats);
            panic!("planted");
        }));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"planted"));
        assert!(!noticed(&|| drop(cache.hold(0, 1))));
    }

    #[test]
    fn utilisation_counts_units_once() {
        let (cache, stats) = (PageCache::new(8 * 8192, 8192).unwrap(), IoStats::new());
        let Lookup::Miss(claim) = cache.lookup(0, 0, &stats) else { panic!() };
        let buf = cache.buffer(&claim);
        let pin = cache.fill(claim, buf);
        cache.note_used(&pin, 0..1);
        cache.note_used(&pin, 10..64);
        cache.note_used(&pin, 4000..4200);
        cache.note_used(&pin, 8191..8192);
        cache.unpin(pin);
        assert_eq!(cache.resident_units(), (1 + 4 + 1, 128));
        for page in 1..9 {
            load(&cache, page, &stats);
        }
        assert_eq!(cache.resident_units(), (0, 8 * 128));
        let seen = stats.snapshot();
        // 0; 62 to 65 (bytes 4000 to 4200); 127.
        assert_eq!((seen.evicted_units_used, seen.evicted_units_total), (1 + 4 + 1, 128));
    }

    #[test]
    fn too_small_is_an_error() {
        assert!(matches!(
            PageCache::new(4096, 4096),
            Err(Error::Budget { needed: 32768, given: 4096 })
        ));
    }
}
