//! Draws from a seed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nakshi_store::mix;

/// A sequence of draws, the same for the same seed (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub(super) struct Draw(Arc<Mutex<u64>>);

impl Draw {
    pub(super) fn of(seed: u64) -> Self {
        Draw(Arc::new(Mutex::new(seed)))
    }

    fn next(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(*state)
    }

    /// A sequence of its own.
    pub(super) fn fork(&self) -> Self {
        Self::of(self.next())
    }

    /// A number from `least` up to `most`.
    pub(super) fn from(&self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// True in `percent` of the draws.
    pub(super) fn chance(&self, percent: u64) -> bool {
        self.from(1, 100) <= percent
    }

    /// A time from `least` up to `most` milliseconds.
    pub(super) fn millis(&self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.from(least, most))
    }

    pub(super) fn one<'a, T>(&self, of: &'a [T]) -> &'a T {
        &of[self.from(0, of.len() as u64 - 1) as usize]
    }
}
