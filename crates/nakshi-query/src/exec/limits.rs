//! Limits of a query, and the memory that its operators hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use nakshi_io::CancelToken;

use crate::error::{Class, QueryError, Result};
use crate::procedure::User;
use crate::value::{Row, weight_of};

/// Steps after which the clock and the cancel token are looked at.
const STEPS: u64 = 256;
/// Milliseconds between two questions to whoever runs the query.
const STOP: u64 = 25;

/// Limits of a query.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) cancel: CancelToken,
    stop: Option<fn() -> bool>,
    began: Instant,
    /// Milliseconds from the beginning to the next question to `stop`.
    next_stop: AtomicU64,
    pub(crate) deadline: Option<Instant>,
    /// Bytes that rows, groups and changes may take.
    pub(crate) memory: u64,
    /// Who asks the query.
    pub(crate) user: User,
    used: AtomicU64,
    steps: AtomicU64,
}

impl Limits {
    pub(crate) fn new(
        cancel: CancelToken,
        stop: Option<fn() -> bool>,
        deadline: Option<Instant>,
        memory: u64,
        user: User,
    ) -> Self {
        let (used, steps, next_stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(STOP));
        let began = Instant::now();
        Limits { cancel, stop, began, next_stop, deadline, memory, user, used, steps }
    }

    /// Returns true if whoever runs the query wants it to end.
    fn is_stopped(&self) -> bool {
        let Some(stop) = self.stop else { return false };
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next_stop.load(Relaxed) {
            return false;
        }
        self.next_stop.store(now.saturating_add(STOP), Relaxed);
        stop()
    }

    /// Bytes that may still be taken; `None` for no limit.
    pub(crate) fn left(&self) -> Option<u64> {
        let limited = self.memory != u64::MAX;
        limited.then(|| self.memory.saturating_sub(self.used.load(Relaxed)))
    }

    /// Fails if the query may not take so many bytes more.
    pub(crate) fn admit(&self, bytes: u64) -> Result<()> {
        match self.used.load(Relaxed).saturating_add(bytes) <= self.memory {
            true => Ok(()),
            false => Err(self.too_much()),
        }
    }

    pub(super) fn too_much(&self) -> QueryError {
        let most = self.memory;
        let message = format!("the query needs more than its {most} bytes of memory; give it more");
        QueryError::run(Class::Memory, "Memory", message)
    }

    /// Bytes of new values after which a batch of rows ends.
    pub(crate) fn of_batch(&self) -> u64 {
        self.memory / 8
    }

    /// Counts a step; looks at the clock now and then.
    pub(crate) fn step(&self) -> Result<()> {
        let steps = self.steps.fetch_add(1, Relaxed);
        if steps.is_multiple_of(STEPS) { self.check() } else { Ok(()) }
    }

    /// Fails if the query has to end.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.check().is_err() || self.is_stopped() {
            return Err(QueryError::run(Class::Cancelled, "Cancelled", "the query was cancelled"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let message = "the query has run past its deadline; give it more time";
            return Err(QueryError::run(Class::Deadline, "Deadline", message));
        }
        Ok(())
    }
}

/// Memory that an operator holds; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    limits: Arc<Limits>,
    bytes: u64,
}

impl Held {
    pub(crate) fn new(limits: &Arc<Limits>) -> Self {
        Held { limits: Arc::clone(limits), bytes: 0 }
    }

    /// Takes more bytes.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        let used = self.limits.used.fetch_add(bytes, Relaxed) + bytes;
        self.bytes += bytes;
        if used <= self.limits.memory { Ok(()) } else { Err(self.limits.too_much()) }
    }

    /// Takes more bytes if the query can spare them: if half of its memory is free then. Returns false if not.
    pub(crate) fn takes_spare(&mut self, bytes: u64) -> bool {
        let used = self.limits.used.load(Relaxed).saturating_add(bytes);
        let spare = used <= self.limits.memory / 2;
        if spare {
            self.limits.used.fetch_add(bytes, Relaxed);
            self.bytes += bytes;
        }
        spare
    }

    /// Takes the bytes of a row.
    pub(crate) fn take_row(&mut self, row: &Row) -> Result<()> {
        self.take(weight_of(row))
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes over what another part of the query holds.
    pub(super) fn take_over(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Frees all of it.
    pub(super) fn free(&mut self) {
        self.limits.used.fetch_sub(std::mem::take(&mut self.bytes), Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.free();
    }
}
