//! Outcomes of commits by the ids of their clients, so that none is made twice.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// Most outcomes that are remembered. Older ones are looked up in the log.
const MOST: usize = 1 << 18;

/// Outcome of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A call makes it now.
    Running,
    /// It was made, or had nothing to change: its number, and how many changes changed something, if that is
    /// known.
    Made { commit: u64, changed: Option<u64> },
    /// It was not made, and must not be made any more.
    Refused,
}

#[derive(Debug, Default)]
struct Known {
    outcomes: HashMap<u128, Outcome>,
    /// The ids of what has ended, the oldest first.
    ended: VecDeque<u128>,
}

/// The outcomes of the last commits.
#[derive(Debug, Default)]
pub(crate) struct Outcomes(Mutex<Known>);

/// A commit that a call makes. Dropped without an outcome, it can be made again.
#[derive(Debug)]
pub(crate) struct Attempt<'o> {
    outcomes: &'o Outcomes,
    id: u128,
    ended: bool,
}

impl Outcomes {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to make a commit, or returns its outcome.
    pub(crate) fn begin(&self, id: u128) -> Result<Attempt<'_>, Outcome> {
        let mut known = self.known();
        if let Some(outcome) = known.outcomes.get(&id) {
            return Err(*outcome);
        }
        known.outcomes.insert(id, Outcome::Running);
        Ok(Attempt { outcomes: self, id, ended: false })
    }
}

impl Attempt<'_> {
    /// Remembers its outcome.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.ended = true;
        let mut known = self.outcomes.known();
        known.outcomes.insert(self.id, outcome);
        known.ended.push_back(self.id);
        if known.ended.len() > MOST
            && let Some(oldest) = known.ended.pop_front()
        {
            known.outcomes.remove(&oldest);
        }
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.outcomes.known().outcomes.remove(&self.id);
        }
    }
}

/// An id of a message; `None` if it is empty.
pub(crate) fn id_of(bytes: &[u8]) -> Result<Option<u128>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let wrong =
        |_| Error::parameter(format!("an id of a commit has 16 bytes, not {}", bytes.len()));
    Ok(Some(u128::from_le_bytes(bytes.try_into().map_err(wrong)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_made_once() {
        let outcomes = Outcomes::default();
        let attempt = outcomes.begin(7).unwrap();
        assert_eq!(outcomes.begin(7).err(), Some(Outcome::Running));
        // It failed: the client may repeat it.
        drop(attempt);
        let made = Outcome::Made { commit: 3, changed: Some(1) };
        outcomes.begin(7).unwrap().end(made);
        assert_eq!(outcomes.begin(7).err(), Some(made));
        outcomes.begin(8).unwrap().end(Outcome::Refused);
        assert_eq!(outcomes.begin(8).err(), Some(Outcome::Refused));
    }

    #[test]
    fn the_oldest_outcomes_are_forgotten() {
        let outcomes = Outcomes::default();
        for id in 0..MOST as u128 + 1 {
            outcomes.begin(id).unwrap().end(Outcome::Refused);
        }
        assert!(outcomes.begin(0).is_ok() && outcomes.begin(1).is_err());
    }
}
