//! Selected reads through the cache: the right bytes, few reads, no frame lost.
#![allow(clippy::unwrap_used)]

use nakshi_io::{
    CachedFile, CachedReader, CancelToken, Error, FaultPlan, FaultyBackend, FileSpec,
    GatherOptions, IoStats, MemoryBackend, PageCache, PageHasher, PagedFile, Request, Salt,
    StorageBackend, Striping,
};
use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SALT: Salt = Salt { store: *b"a store's uuid..", file: 3 };

fn contents(len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50) as u8).collect()
}

/// A file in memory, seen through `plan`'s faults.
fn open(bytes: &[u8], page_size: u32, plan: FaultPlan) -> Arc<PagedFile> {
    open_aligned(bytes, page_size, 1, plan)
}

/// Like [`open`], on a device that wants its reads aligned.
fn open_aligned(bytes: &[u8], page_size: u32, align: u32, plan: FaultPlan) -> Arc<PagedFile> {
    let memory = MemoryBackend::aligned(align);
    memory.insert("file", bytes.to_vec());
    let hasher = PageHasher::new(&SALT);
    let sum = |(number, page): (usize, &[u8])| {
        let mut page = page.to_vec();
        page.resize(page_size as usize, 0);
        hasher.sum(number as u64, &page)
    };
    let spec = FileSpec {
        striping: Striping::single("file"),
        len: bytes.len() as u64,
        page_size,
        salt: SALT,
        checksums: bytes.chunks(page_size as usize).enumerate().map(sum).collect(),
    };
    let backend: Arc<dyn StorageBackend> = Arc::new(FaultyBackend::new(Arc::new(memory), plan));
    PagedFile::open(&backend, &spec).unwrap()
}

fn requests(ranges: &[Range<u64>]) -> Vec<Request> {
    ranges
        .iter()
        .enumerate()
        .map(|(at, range)| Request { range: range.clone(), token: at as u64 })
        .collect()
}

/// Gathers, and checks that every task ran once and saw its bytes.
fn gather(reader: &mut CachedReader, bytes: &[u8], requests: &[Request]) -> Result<(), Error> {
    let mut seen = vec![false; requests.len()];
    let mut scratch = Vec::new();
    let result = reader.gather(requests, &mut |token, slice| {
        let range = &requests[token as usize].range;
        let want = &bytes[range.start as usize..range.end as usize];
        assert_eq!(slice.segments().collect::<Vec<_>>().concat(), want);
        assert_eq!(slice.contiguous(&mut scratch), want);
        let slack = slice.with_slack(&mut scratch);
        assert_eq!(&slack.buf[slack.range.clone()], want);
        assert!(slack.buf.len() >= slack.range.end + nakshi_io::SLACK);
        assert!(!std::mem::replace(&mut seen[token as usize], true));
        Ok(())
    });
    if result.is_ok() {
        assert!(seen.iter().all(|seen| *seen));
    }
    result
}

#[test]
fn adjacent_pages_are_one_read() {
    let bytes = contents(100 * 512);
    let file = open(&bytes, 512, FaultPlan::default());
    let cache = PageCache::new(800 * 512, 512).unwrap();
    let ask = |gap, ranges: &[Range<u64>]| {
        let stats = Arc::new(IoStats::new());
        let options = GatherOptions { gap, ..GatherOptions::default() };
        let mut reader = CachedReader::new(&cache, &file, &options, Arc::clone(&stats)).unwrap();
        gather(&mut reader, &bytes, &requests(ranges)).unwrap();
        let seen = stats.snapshot();
        (seen.requests, seen.misses, seen.hits, seen.bytes_read)
    };
    // Figure 6 of the paper: two on one page, two on adjacent pages.
    assert_eq!(
        ask(0, &[0..10, 100..200, 5 * 512..5 * 512 + 9, 6 * 512..7 * 512]),
        (2, 3, 0, 3 * 512)
    );
    // Found, in part: pages 5 and 6 split the read.
    assert_eq!(ask(0, &[4 * 512..5 * 512, 5 * 512..8 * 512]), (2, 2, 2, 2 * 512));
    // A gap of two pages, bridged or not.
    assert_eq!(ask(0, &[20 * 512..20 * 512 + 1, 23 * 512..23 * 512 + 1]), (2, 2, 0, 2 * 512));
    assert_eq!(ask(2, &[30 * 512..30 * 512 + 1, 33 * 512..33 * 512 + 1]), (1, 4, 0, 4 * 512));
    assert_eq!(ask(1, &[40 * 512..40 * 512 + 1, 43 * 512..43 * 512 + 1]), (2, 2, 0, 2 * 512));
    // Nothing twice, whatever the order.
    assert_eq!(
        ask(0, &[53 * 512..54 * 512, 50 * 512..51 * 512, 50 * 512..53 * 512]),
        (1, 4, 0, 4 * 512)
    );
    assert_eq!(ask(0, &[7 * 512..7 * 512, 0..1]), (0, 0, 1, 0));
}

/// Pages of 512 bytes on a device with sectors of 4096 are read with the rest of their sectors.
/// Seen red with `Fetcher::start` taking every read as aligned (the device refuses), and with
/// `before` taken as 0 in `arrived` (corrupt).
#[test]
fn pages_smaller_than_sectors() {
    let bytes = contents(100 * 512 + 7);
    let file = open_aligned(&bytes, 512, 4096, FaultPlan { short: 0.2, ..FaultPlan::default() });
    let cache = PageCache::new(64 * 512, 512).unwrap();
    let stats = Arc::new(IoStats::new());
    let mut reader =
        CachedReader::new(&cache, &file, &GatherOptions::default(), Arc::clone(&stats)).unwrap();
    let list = requests(&[5000..5001, 0..700, 9000..20000, 40000..40001, 100 * 512..100 * 512 + 7]);
    gather(&mut reader, &bytes, &list).unwrap();
    assert!(*file.load(&CancelToken::new()).unwrap() == *bytes);
    let mut scan = file.reader(2, stats).unwrap();
    scan.submit(1000..30_000, 0).unwrap();
    assert_eq!(scan.next().unwrap().unwrap().bytes(), &bytes[1000..30_000]);
}

/// The smallest cache, one set of eight frames, at every page size: it serves lists longer than
/// itself, and two workers at once. A cache with one byte less is refused with the least size.
///
/// Seen red with `words` of the utilisation counters taken as one (pages above 4 KiB).
#[test]
fn one_set_of_pages_is_enough() {
    for shift in 9..=20 {
        let page = 1_u64 << shift;
        let capacity = 8 * page as usize;
        let refused = PageCache::new(capacity - 1, page as u32);
        let needed = capacity as u64;
        assert!(matches!(refused, Err(Error::Budget { needed: n, .. }) if n == needed));
        let bytes = contents(20 * page as usize + 77);
        let file = open(&bytes, page as u32, FaultPlan::default());
        let cache = PageCache::new(capacity, page as u32).unwrap();
        assert_eq!(cache.frames(), 8);
        let end = bytes.len() as u64;
        let lists = requests(&[
            page - 1..page + 1,
            0..12 * page + 3,
            3 * page..3 * page + 9,
            7 * page + 100..20 * page,
            end - 80..end,
            5 * page..6 * page,
        ]);
        let stats = Arc::new(IoStats::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let options = GatherOptions::default();
                    let mut reader =
                        CachedReader::new(&cache, &file, &options, Arc::clone(&stats)).unwrap();
                    (0..3).for_each(|_| gather(&mut reader, &bytes, &lists).unwrap());
                });
            }
        });
        // Every byte of a page that made room was used.
        let whole = open(&bytes[..20 * page as usize], page as u32, FaultPlan::default());
        let cache = PageCache::new(capacity, page as u32).unwrap();
        let stats = Arc::new(IoStats::new());
        let options = GatherOptions::default();
        let mut reader = CachedReader::new(&cache, &whole, &options, Arc::clone(&stats)).unwrap();
        let all: Vec<_> = (0..20).map(|at| at * page..(at + 1) * page).collect();
        (0..3).for_each(|_| gather(&mut reader, &bytes, &requests(&all)).unwrap());
        let seen = stats.snapshot();
        assert_eq!(seen.evicted_units_used, seen.evicted_units_total, "{page}");
        assert!(seen.evicted_units_total > 0);
    }
}

#[test]
fn pinned_pages_are_never_read_again() {
    let bytes = contents(300 * 512 + 77);
    let file = open(&bytes, 512, FaultPlan::default());
    let cache = PageCache::new(8 * 512, 512).unwrap();
    cache.pin(&file, [300, 3, 4, 5, 3, 200], &CancelToken::new()).unwrap();
    assert_eq!(cache.pinned_bytes(), 5 * 512);
    let stats = Arc::new(IoStats::new());
    let mut reader =
        CachedReader::new(&cache, &file, &GatherOptions::default(), Arc::clone(&stats)).unwrap();
    let end = bytes.len() as u64;
    for _ in 0..3 {
        let list = requests(&[3 * 512..6 * 512, 200 * 512..201 * 512, 300 * 512..end]);
        gather(&mut reader, &bytes, &list).unwrap();
    }
    let seen = stats.snapshot();
    assert_eq!((seen.pinned_hits, seen.requests, seen.hits), (15, 0, 0));
    assert!(matches!(cache.pin(&file, [301], &CancelToken::new()), Err(Error::Unsupported { .. })));
}

fn any_requests(
    page_shift: u32,
    frames: usize,
    gap: u64,
    cuts: &[(f64, f64)],
    plan: FaultPlan,
) -> Result<(), Error> {
    let page = 1usize << page_shift;
    let bytes = contents(150 * page + 33);
    let file = open(&bytes, page as u32, plan);
    let cache = PageCache::new(frames * 8 * page, page as u32).unwrap();
    let options = GatherOptions { gap, depth: 4, max_read: 8 * page, ..GatherOptions::default() };
    let mut reader = CachedReader::new(&cache, &file, &options, Arc::new(IoStats::new())).unwrap();
    let len = bytes.len() as f64;
    let ranges: Vec<_> = cuts
        .iter()
        .map(|&(at, size)| {
            let start = (at * len) as u64;
            // Mostly short lists, now and then one of most of the file.
            start..(start + (size.powi(8) * len) as u64).min(bytes.len() as u64)
        })
        .collect();
    let mut list = requests(&ranges);
    gather(&mut reader, &bytes, &list)?;
    list.sort_by_key(|request| request.range.start);
    (0..).zip(&mut list).for_each(|(token, request)| request.token = token);
    gather(&mut reader, &bytes, &list)
}

/// Places and sizes of requests, as shares of the file.
fn cuts(count: Range<usize>) -> impl Strategy<Value = Vec<(f64, f64)>> {
    proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0), count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any requests over any window, also those that need more than all frames.
    /// Seen red with `missing` of `admit` computed without its `+ 1`.
    #[test]
    fn every_task_runs_once_on_its_bytes(
        page_shift in 9u32..13,
        frames in 1usize..20,
        gap in 0u64..4,
        cuts in cuts(0..200),
    ) {
        any_requests(page_shift, frames, gap, &cuts, FaultPlan::default()).unwrap();
    }

    /// Short reads are repeated, delays waited for, in any order of arrival.
    /// Seen red with `Window::arrived` counting the whole run for a request.
    #[test]
    fn short_and_late_reads_change_nothing(
        seed: u64,
        frames in 1usize..20,
        cuts in cuts(0..60),
    ) {
        let delay = std::time::Duration::from_micros(300);
        let plan = FaultPlan { seed, short: 0.3, delays: 0.3, delay, ..FaultPlan::default() };
        any_requests(9, frames, 1, &cuts, plan).unwrap();
    }

    /// Errors and torn pages become errors, never wrong bytes (`gather` asserts it).
    /// Seen red with `Fetcher::verify` returning Ok.
    #[test]
    fn errors_and_torn_pages_are_clean_errors(
        seed: u64,
        frames in 1usize..20,
        cuts in cuts(30..90),
    ) {
        let plan = FaultPlan { seed, errors: 0.1, torn: 0.1, ..FaultPlan::default() };
        match any_requests(9, frames, 1, &cuts, plan) {
            Ok(()) | Err(Error::Io { op: "read", .. } | Error::Corrupt { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Reads that failed give their frames back: the pages can be cached later.
/// Seen red with `PageCache::abandon` not clearing `loading`.
#[test]
fn failed_reads_give_their_frames_back() {
    let bytes = contents(100 * 512);
    let file = open(&bytes, 512, FaultPlan { seed: 3, errors: 0.02, ..FaultPlan::default() });
    let cache = PageCache::new(2000 * 512, 512).unwrap();
    let stats = Arc::new(IoStats::new());
    let options = GatherOptions { max_read: 512, ..GatherOptions::default() };
    let mut reader = CachedReader::new(&cache, &file, &options, Arc::clone(&stats)).unwrap();
    let list = requests(&[0..50 * 512, 50 * 512..100 * 512]);
    let failed = (0..1000).take_while(|_| gather(&mut reader, &bytes, &list).is_err()).count();
    assert!((1..1000).contains(&failed), "{failed} failed");
    let before = stats.snapshot();
    gather(&mut reader, &bytes, &list).unwrap();
    assert_eq!((stats.since(&before).misses, stats.since(&before).hits), (0, 100));
}

/// Workers that share a small cache, some of whose reads fail: all others get
/// their bytes. Seen red with `PageCache::lookup` not looking at `loading`.
#[test]
fn workers_share_frames_and_failures() {
    let bytes = contents(400 * 512);
    let delay = std::time::Duration::from_micros(100);
    let plan = FaultPlan { seed: 5, errors: 0.01, delays: 0.2, delay, ..FaultPlan::default() };
    let file = open(&bytes, 512, plan);
    let cache = PageCache::new(128 * 512, 512).unwrap();
    let (good, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for worker in 0..4u64 {
            let (bytes, file, cache, good, failed) = (&bytes, &file, &cache, &good, &failed);
            scope.spawn(move || {
                let mut reader = CachedReader::new(
                    cache,
                    file,
                    &GatherOptions::default(),
                    Arc::new(IoStats::new()),
                )
                .unwrap();
                for round in 0..200u64 {
                    let mut state = worker * 1000 + round;
                    let ranges: Vec<_> = (0..20)
                        .map(|_| {
                            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            let start = (state >> 33) % (399 * 512);
                            start..start + (state >> 20) % 700
                        })
                        .map(|range| range.start..range.end.min(400 * 512))
                        .collect();
                    match gather(&mut reader, bytes, &requests(&ranges)) {
                        Ok(()) => good.fetch_add(1, Ordering::Relaxed),
                        Err(Error::Io { .. }) => failed.fetch_add(1, Ordering::Relaxed),
                        Err(other) => panic!("{other}"),
                    };
                }
            });
        }
    });
    assert!(good.into_inner() > 100);
    assert!(failed.into_inner() > 10);
}

/// The error type of a caller, who must distinguish its tasks' errors from read errors.
#[derive(Debug)]
enum Failed {
    Task(&'static str),
    Reading,
}

impl From<Error> for Failed {
    fn from(_: Error) -> Self {
        Failed::Reading
    }
}

/// A task's error is returned as it is, and is no cancellation: callers had to return `Cancelled`
/// and to keep their own error aside before.
#[test]
fn a_task_that_fails_or_panics_leaves_the_cache_whole() {
    let bytes = contents(100 * 512);
    let file = open(&bytes, 512, FaultPlan::default());
    let cache = PageCache::new(64 * 512, 512).unwrap();
    let list = requests(&[0..600, 5000..5001, 9000..20000, 40000..40001]);
    let new = || {
        CachedReader::new(&cache, &file, &GatherOptions::default(), Arc::new(IoStats::new()))
            .unwrap()
    };
    for _ in 0..20 {
        let mut reader = new();
        assert!(matches!(
            reader.gather(&list, &mut |_, _| Err(Failed::Task("its own"))),
            Err(Failed::Task("its own"))
        ));
        gather(&mut reader, &bytes, &list).unwrap();
        let panics = std::panic::AssertUnwindSafe(|| {
            reader.gather::<Error>(&list, &mut |_, _| panic!("planted"))
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        gather(&mut reader, &bytes, &list).unwrap();
    }
    // No frame may still be kept: the whole cache can be filled at once.
    gather(&mut new(), &bytes, &requests(&[0..50 * 512, 50 * 512..100 * 512])).unwrap();
}

/// Every read is delayed by 200 ms, and the token is cancelled in the meantime.
/// Seen red with the cancel token not handed to the fetcher.
#[test]
fn cancelling_does_not_wait_for_the_device() {
    let bytes = contents(100 * 512);
    let delay = std::time::Duration::from_millis(200);
    let file = open(&bytes, 512, FaultPlan { delays: 1.0, delay, ..FaultPlan::default() });
    let cache = PageCache::new(64 * 512, 512).unwrap();
    let cancel = CancelToken::new();
    let options =
        GatherOptions { depth: 1, cancel: Some(cancel.clone()), ..GatherOptions::default() };
    let mut reader = CachedReader::new(&cache, &file, &options, Arc::new(IoStats::new())).unwrap();
    let ranges: Vec<_> = (0..50).map(|at| at * 1024..at * 1024 + 9).collect();
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            cancel.cancel();
        });
        let result = gather(&mut reader, &bytes, &requests(&ranges));
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    });
    // Alone, the reads would take ten seconds.
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Seen red with `clear` dropping pages that are held, and with the bytes at the start of the page.
#[test]
fn threads_read_one_file_each_for_itself() {
    let bytes = contents(300 * 512 + 77);
    let plan = FaultPlan { errors: 0.02, short: 0.1, ..FaultPlan::default() };
    let file = open(&bytes, 512, plan);
    let cache = PageCache::new(24 * 512, 512).unwrap();
    let stats = Arc::new(IoStats::new());
    let cached = CachedFile::new(&cache, &file, &stats).unwrap();
    let failures = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..3u64 {
            let (cached, cache, bytes, failures) = (&cached, &cache, &bytes, &failures);
            scope.spawn(move || {
                for round in 0..3000u64 {
                    // Each range twice, so that the second read may find it in the cache.
                    let draw = (worker * 3000 + round / 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    let from = (draw >> 20) % (bytes.len() as u64);
                    let to = (from + (draw >> 50) % 900).min(bytes.len() as u64);
                    let want = &bytes[from as usize..to as usize];
                    match cached.with(from..to, |found| found == want) {
                        Ok(equal) => assert!(equal, "bytes {from} to {to}"),
                        Err(_) => drop(failures.fetch_add(1, Ordering::Relaxed)),
                    }
                    if round % 500 == 0 {
                        cache.clear();
                    }
                }
            });
        }
    });
    assert!((1..900).contains(&failures.into_inner()));
    assert!(cached.with(5..bytes.len() as u64 + 1, <[u8]>::len).is_err());
    let seen = stats.snapshot();
    assert!(seen.hits > 0 && seen.misses > 0, "{seen:?}");
}

/// Seen red with `clear` that leaves pages valid.
#[test]
fn a_cleared_cache_is_cold() {
    let bytes = contents(20 * 512);
    let file = open(&bytes, 512, FaultPlan::default());
    let cache = PageCache::new(64 * 512, 512).unwrap();
    let stats = Arc::new(IoStats::new());
    let cached = CachedFile::new(&cache, &file, &stats).unwrap();
    for _ in 0..2 {
        let before = stats.snapshot();
        assert_eq!(cached.with(700..710, <[u8]>::len).unwrap(), 10);
        assert_eq!(cached.with(900..910, <[u8]>::len).unwrap(), 10);
        assert_eq!(cached.with(4..4, <[u8]>::len).unwrap(), 0);
        let seen = stats.since(&before);
        assert_eq!((seen.bytes_read, seen.requests, seen.hits, seen.misses), (512, 1, 1, 1));
        cache.clear();
        assert_eq!(cache.resident_units(), (0, 0));
    }
}
