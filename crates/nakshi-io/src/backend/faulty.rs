//! A backend that adds faults to another one, for tests of everything above it.

use super::{Completion, OpenFiles, Read, ReadQueue, StorageBackend, Timeout};
use crate::{AlignedBuf, Result};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The reads that fail, and their faults. Rates are probabilities from 0 to 1; the same seed and
/// the same order of reads give the same faults.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    /// Seed of all choices.
    pub seed: u64,
    /// Reads that fail with `EIO`.
    pub errors: f64,
    /// The read (counted from 0 over all queues) from which on every read
    /// fails with `EIO`: a device that is gone.
    pub gone_from: Option<u64>,
    /// The one read that fails with `EIO`.
    pub nth_error: Option<u64>,
    /// Reads that bring fewer bytes than asked for (a multiple of 512).
    pub short: f64,
    /// Reads of which the last sectors are zeros or come from elsewhere.
    pub torn: f64,
    /// Reads that are late by [`delay`](Self::delay).
    pub delays: f64,
    /// Length of the delay.
    pub delay: Duration,
    /// The most reads per second, over all queues.
    pub iops: Option<u32>,
}

impl Default for FaultPlan {
    /// No faults.
    fn default() -> Self {
        Self {
            seed: 0,
            errors: 0.0,
            gone_from: None,
            nth_error: None,
            short: 0.0,
            torn: 0.0,
            delays: 0.0,
            delay: Duration::from_millis(200),
            iops: None,
        }
    }
}

/// The outcome of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Error,
    Short,
    Torn,
}

#[derive(Debug)]
struct ReadFaults {
    plan: FaultPlan,
    count: AtomicU64,
    /// Earliest time at which the next read may finish under the limit of reads per second.
    next: Mutex<Option<Instant>>,
}

/// A backend whose reads fail as a [`FaultPlan`] says.
#[derive(Debug)]
pub struct FaultyBackend {
    inner: Arc<dyn StorageBackend>,
    state: Arc<ReadFaults>,
}

impl FaultyBackend {
    /// Adds faults to the reads of `inner`.
    pub fn new(inner: Arc<dyn StorageBackend>, plan: FaultPlan) -> Self {
        Self {
            inner,
            state: Arc::new(ReadFaults { plan, count: AtomicU64::new(0), next: Mutex::default() }),
        }
    }

    /// Reads that were started so far.
    pub fn reads(&self) -> u64 {
        self.state.count.load(Ordering::Relaxed)
    }
}

impl ReadFaults {
    /// A number from 0 to 1 that depends only on the seed, the read and `purpose`.
    fn chance(&self, read: u64, purpose: u64) -> f64 {
        let mut x = self.plan.seed ^ read.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (purpose << 56);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bits = u32::try_from((x ^ (x >> 31)) >> 32).unwrap_or(0);
        f64::from(bits) / f64::from(u32::MAX)
    }

    fn fate(&self, read: u64) -> Fate {
        let plan = &self.plan;
        if plan.gone_from.is_some_and(|from| read >= from) || plan.nth_error == Some(read) {
            return Fate::Error;
        }
        let chance = self.chance(read, 1);
        if chance < plan.errors {
            Fate::Error
        } else if chance < plan.errors + plan.short {
            Fate::Short
        } else if chance < plan.errors + plan.short + plan.torn {
            Fate::Torn
        } else {
            Fate::Good
        }
    }

    /// The moment before which this read must not finish.
    fn not_before(&self, read: u64) -> Instant {
        let now = Instant::now();
        let mut at = now;
        if self.chance(read, 2) < self.plan.delays {
            at += self.plan.delay;
        }
        if let Some(iops) = self.plan.iops {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = next.map_or(now, |next| next.max(now));
            *next = Some(slot + Duration::from_secs(1) / iops.max(1));
            at = at.max(slot);
        }
        at
    }
}

impl StorageBackend for FaultyBackend {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn files(&self) -> &dyn OpenFiles {
        self.inner.files()
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        let inner = self.inner.queue(depth)?;
        let state = Arc::clone(&self.state);
        Ok(Box::new(FaultyQueue { inner, state, fates: HashMap::new(), held: Vec::new(), next: 0 }))
    }
}

/// A read in flight, with its planned outcome.
struct Doomed {
    tag: u64,
    number: u64,
    fate: Fate,
    not_before: Instant,
}

struct FaultyQueue {
    inner: Box<dyn ReadQueue>,
    state: Arc<ReadFaults>,
    /// Reads in the inner queue, by their tags there.
    fates: HashMap<u64, Doomed>,
    /// Finished reads that are held back until their time.
    held: Vec<(Instant, Completion)>,
    next: u64,
}

impl FaultyQueue {
    fn take_in(&mut self, timeout: Timeout, min: usize) -> Result<()> {
        let mut done = Vec::new();
        self.inner.complete(min, timeout, &mut done)?;
        for mut completion in done {
            let Some(doomed) = self.fates.remove(&completion.tag) else { continue };
            completion.tag = doomed.tag;
            self.spoil(&doomed, &mut completion);
            self.held.push((doomed.not_before, completion));
        }
        Ok(())
    }

    fn spoil(&self, doomed: &Doomed, completion: &mut Completion) {
        let Ok(len) = completion.result else { return };
        let sectors = len / 512;
        let chosen = (self.state.chance(doomed.number, 3) * sectors as f64) as usize;
        let keep = chosen.min(sectors.saturating_sub(1)) * 512;
        match doomed.fate {
            Fate::Good => {}
            Fate::Error => completion.result = Err(io::Error::from_raw_os_error(libc::EIO)),
            Fate::Short => completion.result = Ok(keep),
            Fate::Torn => {
                let zeros = self.state.chance(doomed.number, 4) < 0.5;
                tear(&mut completion.bufs, keep, zeros);
            }
        }
        // Overwrites bytes that the caller must not use, so that a test notices their use.
        if matches!(doomed.fate, Fate::Error | Fate::Short) {
            let from = if doomed.fate == Fate::Short { keep } else { 0 };
            overwrite(&mut completion.bufs, from, |_| 0xdb);
        }
    }
}

/// Replaces everything from byte `from` on with zeros or shuffled bytes.
fn tear(bufs: &mut [AlignedBuf], from: usize, zeros: bool) {
    if zeros {
        overwrite(bufs, from, |_| 0);
    } else {
        overwrite(bufs, from, |byte| byte.rotate_left(3) ^ 0x5a);
    }
}

fn overwrite(bufs: &mut [AlignedBuf], from: usize, with: impl Fn(u8) -> u8) {
    let mut skip = from;
    for buf in bufs {
        let len = buf.len();
        if let Some(tail) = buf.get_mut(skip.min(len)..) {
            tail.iter_mut().for_each(|byte| *byte = with(*byte));
        }
        skip = skip.saturating_sub(len);
    }
}

impl ReadQueue for FaultyQueue {
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()> {
        let room = self.depth().saturating_sub(self.in_flight()).min(reads.len());
        let mut batch: Vec<Read> = reads.drain(..room).collect();
        for read in &mut batch {
            let number = self.state.count.fetch_add(1, Ordering::Relaxed);
            let doomed = Doomed {
                tag: read.tag,
                number,
                fate: self.state.fate(number),
                not_before: self.state.not_before(number),
            };
            read.tag = self.next;
            self.fates.insert(self.next, doomed);
            self.next += 1;
        }
        self.inner.submit(&mut batch)
    }

    fn complete(&mut self, min: usize, timeout: Timeout, out: &mut Vec<Completion>) -> Result<()> {
        let min = min.min(self.in_flight());
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut count = 0;
        loop {
            self.take_in(Some(Duration::ZERO), 0)?;
            let now = Instant::now();
            for at in (0..self.held.len()).rev() {
                if self.held.get(at).is_some_and(|(not_before, _)| *not_before <= now) {
                    out.push(self.held.swap_remove(at).1);
                    count += 1;
                }
            }
            if count >= min || deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(());
            }
            let soonest = self.held.iter().map(|(not_before, _)| *not_before).chain(deadline).min();
            let pause = soonest.map(|soonest| soonest.saturating_duration_since(now));
            if self.inner.in_flight() > 0 {
                self.take_in(pause, 1)?;
            } else if let Some(pause) = pause {
                std::thread::sleep(pause);
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.held.len()
    }

    fn depth(&self) -> usize {
        self.inner.depth()
    }

    fn register(&mut self, buf: &AlignedBuf) {
        self.inner.register(buf);
    }
}
