//! Turns of the transactions that run alone.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long other commits wait for a transaction that runs alone.
pub(super) const ALONE: Duration = Duration::from_millis(100);

/// Transactions that run alone, in the order in which they asked for it.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug)]
struct Turn {
    /// The number that the next transaction gets.
    next: u64,
    /// The transaction whose turn it is, and since when.
    now: u64,
    since: Instant,
}

impl Turns {
    pub(super) fn new() -> Self {
        let turn = Turn { next: 0, now: 0, since: Instant::now() };
        Turns { state: Mutex::new(turn), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, Turn> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; returns its number. A turn passes on after [`ALONE`].
    pub(super) fn take(&self) -> u64 {
        let mut turn = self.state();
        let mine = turn.next;
        turn.next += 1;
        while turn.now != mine {
            let left = ALONE.saturating_sub(turn.since.elapsed());
            if left.is_zero() {
                turn.pass_on();
                self.changed.notify_all();
                continue;
            }
            let waited = self.changed.wait_timeout(turn, left);
            (turn, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        turn.since = Instant::now();
        mine
    }

    /// Ends a turn, if it has not passed on already.
    pub(super) fn end(&self, number: u64) {
        let mut turn = self.state();
        if turn.now == number {
            turn.pass_on();
            self.changed.notify_all();
        }
    }
}

impl Turn {
    fn pass_on(&mut self) {
        self.now += 1;
        self.since = Instant::now();
    }
}
