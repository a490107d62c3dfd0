//! Counters of input: bytes, requests, cache hits, and the used part of pages.

use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Counters that the readers of one job share. All accesses are relaxed, since the counters order
/// nothing.
#[derive(Debug, Default)]
pub struct IoStats {
    /// Bytes read from the device (whole pages).
    pub bytes_read: AtomicU64,
    /// Reads given to the device, after merging.
    pub requests: AtomicU64,
    /// Pages found in the set-associative cache.
    pub hits: AtomicU64,
    /// Pages that had to be read.
    pub misses: AtomicU64,
    /// Pages found in the pinned region.
    pub pinned_hits: AtomicU64,
    /// 64-byte units of evicted pages that a task had read.
    pub evicted_units_used: AtomicU64,
    /// All 64-byte units of evicted pages.
    pub evicted_units_total: AtomicU64,
    /// Nanoseconds that workers waited for the device, summed over workers.
    pub wait_ns: AtomicU64,
    trace: Option<Trace>,
}

/// One read of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedRead {
    /// Time of the request, since the counters were made.
    pub since: Duration,
    /// Number of the file; see [`PagedFile::key`](crate::PagedFile::key).
    pub file: u32,
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes, whole pages.
    pub bytes: u64,
}

#[derive(Debug)]
struct Trace {
    started: Instant,
    accesses: Mutex<Vec<TracedRead>>,
}

/// The values of [`IoStats`] at one moment, or a difference of two moments.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct IoSnapshot {
    /// Bytes read from the device (whole pages).
    pub bytes_read: u64,
    /// Reads given to the device, after merging.
    pub requests: u64,
    /// Pages found in the set-associative cache.
    pub hits: u64,
    /// Pages that had to be read.
    pub misses: u64,
    /// Pages found in the pinned region.
    pub pinned_hits: u64,
    /// 64-byte units of evicted pages that a task had read.
    pub evicted_units_used: u64,
    /// All 64-byte units of evicted pages.
    pub evicted_units_total: u64,
    /// Nanoseconds that workers waited for the device, summed over workers.
    pub wait_ns: u64,
}

impl IoStats {
    /// Makes counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes counters at zero that also record every read, in 32 bytes each.
    pub fn tracing() -> Self {
        let trace = Trace { started: Instant::now(), accesses: Mutex::default() };
        Self { trace: Some(trace), ..Self::default() }
    }

    /// Returns the reads recorded so far, in no particular order; none without
    /// [`IoStats::tracing`].
    pub fn accesses(&self) -> Vec<TracedRead> {
        let lock =
            |trace: &Trace| trace.accesses.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.trace.as_ref().map(lock).unwrap_or_default()
    }

    pub(crate) fn note(&self, file: u32, offset: u64, bytes: u64) {
        if let Some(trace) = &self.trace {
            let since = trace.started.elapsed();
            let mut accesses = trace.accesses.lock().unwrap_or_else(PoisonError::into_inner);
            accesses.push(TracedRead { since, file, offset, bytes });
        }
    }

    /// Returns the current values.
    pub fn snapshot(&self) -> IoSnapshot {
        IoSnapshot {
            bytes_read: self.bytes_read.load(Relaxed),
            requests: self.requests.load(Relaxed),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            pinned_hits: self.pinned_hits.load(Relaxed),
            evicted_units_used: self.evicted_units_used.load(Relaxed),
            evicted_units_total: self.evicted_units_total.load(Relaxed),
            wait_ns: self.wait_ns.load(Relaxed),
        }
    }

    /// Returns the differences from `before`, such as the figures of one iteration.
    pub fn since(&self, before: &IoSnapshot) -> IoSnapshot {
        self.snapshot() - *before
    }
}

impl Sub for IoSnapshot {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let less = u64::saturating_sub;
        Self {
            bytes_read: less(self.bytes_read, before.bytes_read),
            requests: less(self.requests, before.requests),
            hits: less(self.hits, before.hits),
            misses: less(self.misses, before.misses),
            pinned_hits: less(self.pinned_hits, before.pinned_hits),
            evicted_units_used: less(self.evicted_units_used, before.evicted_units_used),
            evicted_units_total: less(self.evicted_units_total, before.evicted_units_total),
            wait_ns: less(self.wait_ns, before.wait_ns),
        }
    }
}

/// Adds to a counter.
#[inline]
pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    if amount != 0 {
        counter.fetch_add(amount, Relaxed);
    }
}
