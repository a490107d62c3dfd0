//! The workers of one run and the barrier between its steps.

use crate::error::{Error, Result};
use nakshi_io::{panicked, run_workers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A barrier that a failing worker can break, so that nobody waits for it for ever.
#[derive(Debug)]
pub(super) struct Team {
    size: usize,
    state: Mutex<BarrierState>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct BarrierState {
    arrived: usize,
    generation: u64,
    broken: bool,
}

/// Breaks the barrier when a worker leaves early, by an error or by a panic.
struct Leaving<'a> {
    team: &'a Team,
    finished: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.team.break_up();
        }
    }
}

impl Team {
    /// A team of `size` workers, at least one.
    pub(super) fn new(size: usize) -> Self {
        Team { size: size.max(1), state: Mutex::default(), released: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BarrierState> {
        // The lock is held over plain assignments only, which cannot leave them half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn break_up(&self) {
        self.lock().broken = true;
        self.released.notify_all();
    }

    /// Waits until all workers have arrived. The last one runs `alone` before anybody goes on:
    /// what it writes is seen by all, and what they wrote before is seen by it.
    ///
    /// # Errors
    /// Errors of `alone`; [`Error::Abandoned`] if another worker has failed.
    pub(super) fn sync(&self, alone: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        if state.broken {
            return Err(Error::Abandoned);
        }
        state.arrived += 1;
        if state.arrived == self.size {
            drop(state);
            alone()?;
            let mut state = self.lock();
            state.arrived = 0;
            state.generation += 1;
            self.released.notify_all();
            return Ok(());
        }
        let generation = state.generation;
        while state.generation == generation && !state.broken {
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.generation == generation { Err(Error::Abandoned) } else { Ok(()) }
    }

    /// Runs `work(worker)` on every worker; worker 0 is the calling thread. All workers must
    /// pass the same barriers.
    ///
    /// # Errors
    /// As [`run_workers`].
    pub(super) fn run<W, F>(&self, work: F) -> Result<Vec<W>>
    where
        W: Send,
        F: Fn(usize) -> Result<W> + Sync,
    {
        run_workers(self.size, |worker| {
            let mut leaving = Leaving { team: self, finished: false };
            let result = work(worker);
            leaving.finished = result.is_ok();
            result
        })
    }
}

/// Runs `f`, and makes an error of a panic in it.
pub(super) fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(panicked(panic).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn the_last_one_acts_alone() {
        let team = Team::new(4);
        let (inside, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
        team.run(|_| {
            for turn in 0..100 {
                inside.fetch_add(1, Ordering::Relaxed);
                team.sync(|| {
                    assert_eq!(inside.swap(0, Ordering::Relaxed), 4);
                    turns.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                })?;
                assert_eq!(turns.load(Ordering::Relaxed), turn + 1);
                team.sync(|| Ok(()))?;
            }
            Ok(())
        })
        .unwrap();
    }

    /// Seen red (it hangs) with a guard that does not break the barrier.
    #[test]
    fn nobody_waits_for_the_dead() {
        for victim in 0..3 {
            let team = Team::new(3);
            let result = team.run(|worker| {
                assert!(worker != victim, "planted");
                team.sync(|| Ok(()))
            });
            assert!(
                matches!(result, Err(Error::Panicked { message }) if message.contains("planted"))
            );
        }
        let team = Team::new(3);
        let result = team.run(|_| team.sync(|| Err(Error::parameter("x", "planted"))));
        assert!(matches!(result, Err(Error::Parameter { .. })));
    }
}
