//! Readers that wait for the next pass.
//!
//! A reader has a ring and buffers, which take longer to make than a short pass takes. So a worker of a
//! small graph lends its readers from those that earlier passes have left. Where none fits, one of another file makes room
//! for it, so that there are never more readers than some pass used at a time.

use crate::error::Result;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Readers that nobody uses, with the keys of their files.
#[derive(Debug)]
pub(crate) struct Idle<R>(Mutex<Vec<(u32, R)>>);

impl<R> Default for Idle<R> {
    fn default() -> Self {
        Idle(Mutex::default())
    }
}

impl<R> Idle<R> {
    fn readers(&self) -> MutexGuard<'_, Vec<(u32, R)>> {
        // The lock is held while a vector changes only, which leaves it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A reader of the file with this key.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn take(&self, key: u32, make: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut readers = self.readers();
        if let Some(place) = readers.iter().position(|(other, _)| *other == key) {
            return Ok(readers.swap_remove(place).1);
        }
        let other = readers.pop();
        drop(readers);
        drop(other);
        make()
    }

    /// Takes a reader back, which has no read in flight.
    pub(crate) fn put(&self, key: u32, reader: R) {
        self.readers().push((key, reader));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_come_back_for_their_file() {
        let idle = Idle::default();
        let made = std::cell::Cell::new(0);
        let take = |key| {
            let make = || {
                made.set(made.get() + 1);
                Ok((key, made.get()))
            };
            idle.take(key, make).unwrap()
        };
        let (first, second) = (take(7), take(7));
        idle.put(7, first);
        idle.put(7, second);
        assert_eq!(take(7).0, 7);
        assert_eq!(made.get(), 2);
        // A reader of another file takes the place of the one that is left.
        assert_eq!(take(8), (8, 3));
        assert!(idle.readers().is_empty());
    }
}
