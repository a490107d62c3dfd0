//! Group commit: one thread makes all waiting commits durable, with one fsync.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::log::LogWriter;
use super::property_store::{Core, PropertyStore};
use nakshi_store::{Error, Result};

/// The thread that writes a group waits up to this fraction (a divisor) of the last group's
/// duration for the writers of that group to commit again.
const GROUP_WAIT_SHARE: u32 = 2;
/// How long a thread that waits for fsync spins before it sleeps.
const SPIN_TIME: Duration = Duration::from_micros(300);

/// Guard of a thread that writes a group: if the thread panics, the writer is broken and all
/// waiting threads return.
struct Busy<'s>(&'s PropertyStore);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        if let Some(writing) = self.0.lock().writing.as_mut().filter(|writing| writing.busy) {
            writing.busy = false;
            writing.fail("a thread panicked while it wrote");
        }
        self.0.done.notify_all();
    }
}

/// Guard that keeps new commits waiting while it lives.
pub(super) struct Paused<'s>(&'s PropertyStore);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if let Some(writing) = &mut self.0.lock().writing {
            writing.paused = false;
        }
        self.0.done.notify_all();
    }
}

impl PropertyStore {
    /// Returns when commit number `commit` is durable. If no thread writes a group, this one does.
    ///
    /// # Errors
    /// Errors of writing. The commit may or may not be there when the store is opened again.
    pub fn wait(&self, commit: u64) -> Result<()> {
        self.wait_as(commit, u64::MAX)
    }

    /// As [`PropertyStore::wait`], for a commit of a session: if another server makes the commits since, the
    /// commit of that number may be another one.
    pub(super) fn wait_as(&self, commit: u64, session: u64) -> Result<()> {
        // Declared before the lock, so that it is dropped after the lock is released.
        let _busy = Busy(self);
        let mut core = self.enter()?;
        loop {
            if session <= self.deposed.load(Acquire) {
                return Err(Error::Deposed(self.path.clone()));
            }
            let Some(writing) = &mut core.writing else { return Ok(()) };
            if self.is_durable(commit) {
                return Ok(());
            }
            if writing.process != std::process::id() {
                return Err(Error::Locked(self.path.clone()));
            }
            writing.usable(&self.path)?;
            if writing.busy {
                drop(core);
                self.stay_awake(commit);
                core = self.lock();
                let sleep = core.writing.as_ref().is_some_and(|writing| {
                    writing.busy && !self.is_durable(commit) && writing.usable(&self.path).is_ok()
                });
                if !sleep {
                    continue;
                }
                core = self.done.wait(core).unwrap_or_else(PoisonError::into_inner);
            } else {
                core = self.write_group(core)?;
            }
        }
    }

    /// Returns true if commit number `commit` of this handle is durable.
    pub fn is_durable(&self, commit: u64) -> bool {
        self.durable.load(Acquire) >= commit
    }

    /// Number of the last commit that [`PropertyStore::snapshot`] has.
    pub fn last_commit(&self) -> u64 {
        self.published.load().commit()
    }

    /// Number of commits that were submitted and are not durable.
    fn undurable(&self) -> u64 {
        self.submitted.load(Acquire).saturating_sub(self.durable.load(Acquire))
    }

    /// Yields to other threads until a commit is durable, but at most [`SPIN_TIME`]: a fast fsync
    /// then costs no sleep and wake-up.
    fn stay_awake(&self, commit: u64) {
        let began = Instant::now();
        while !self.is_durable(commit) && began.elapsed() < SPIN_TIME {
            std::thread::yield_now();
        }
    }

    /// Writes all waiting commits as one group.
    fn write_group<'c>(&'c self, mut core: MutexGuard<'c, Core>) -> Result<MutexGuard<'c, Core>> {
        let Some(writing) = &mut core.writing else { return Ok(core) };
        writing.busy = true;
        let (before, took) = writing.last;
        let began = Instant::now();
        // Threads whose commits were in the last group are about to commit again, and need the lock.
        drop(core);
        while self.undurable() < before as u64 && began.elapsed() < took / GROUP_WAIT_SHARE {
            std::thread::yield_now();
        }
        core = self.lock();
        let Core { reader, writing } = &mut *core;
        let Some(writing) = writing else { return Ok(core) };
        let group = std::mem::take(&mut writing.waiting);
        let state = writing.tip.clone();
        let log = writing.log.take();
        let agreed = writing.agreed.clone();
        let position = log.is_none().then(|| reader.clone());
        drop(core);

        let began = Instant::now();
        let agreed = agreed.map_or(Ok(()), |agreed| agreed.append(group.commits()));
        let written = agreed.and_then(|()| match (log, position) {
            (Some(log), _) => Ok(log),
            (None, Some(position)) => LogWriter::begin(&self.fs, &position),
            (None, None) => Err(Error::Internal("a group without a place in the log")),
        });
        let written = written.and_then(|mut log| log.write(&group).map(|()| log));

        core = self.lock();
        let Core { reader, writing } = &mut *core;
        let Some(writing) = writing else { return Ok(core) };
        writing.busy = false;
        writing.last = (group.len(), began.elapsed());
        let result = match written {
            Ok(log) => {
                self.durable.store(state.commit, Release);
                writing.log = Some(log);
                reader.count(group.bytes());
                self.logged.store(reader.bytes(), Relaxed);
                self.publish(state);
                Ok(())
            }
            Err(error) => {
                match &error {
                    Error::Deposed(_) => writing.deposed = true,
                    error => writing.broken = Some(error.to_string()),
                }
                Err(error)
            }
        };
        self.done.notify_all();
        result.map(|()| core)
    }

    /// Keeps new commits waiting; returns when all submitted commits are durable.
    pub(super) fn pause(&self) -> Result<Paused<'_>> {
        let paused = Paused(self);
        if let Some(writing) = &mut self.lock().writing {
            writing.paused = true;
        }
        self.flush()?;
        Ok(paused)
    }

    /// Waits until all submitted commits are durable.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn flush(&self) -> Result<()> {
        let commit = self.enter()?.writing.as_ref().map_or(0, |writing| writing.tip.commit);
        self.wait(commit)
    }
}
