//! The time that a plan takes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Nanoseconds of the last whole run of a plan, or of one that was given up; the most before the first.
#[derive(Debug)]
pub(crate) struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Self {
        Pace(u64::MAX.into())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Pace {
    /// Notes a run.
    pub(crate) fn note(&self, took: Duration) {
        self.0.store(nanoseconds(took), Relaxed);
    }

    /// Returns true if the plan took at most this time.
    pub(crate) fn is_within(&self, time: Duration) -> bool {
        self.0.load(Relaxed) <= nanoseconds(time)
    }
}
