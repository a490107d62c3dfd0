//! Commits under numbers that their callers choose, by which they find out whether a commit was made.

use nakshi_io::CancelToken;

use super::log::{Change, LogEntries};
use super::property_store::{PropertyStore, Ticket};
use nakshi_store::Result;

/// Entries of the log that are read at a time.
const ENTRIES: usize = 1024;

/// A commit in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundCommit {
    /// Its number.
    pub commit: u64,
    /// Number of its changes, of which some may have changed nothing.
    pub changes: u64,
}

impl PropertyStore {
    /// As [`PropertyStore::submit`], for a commit that [`PropertyStore::find_commit`] finds by `id`. Two
    /// commits must not have the same one; a random number has that property.
    ///
    /// # Errors
    /// As [`PropertyStore::submit`].
    pub fn submit_with(&self, changes: &[Change], id: u128) -> Result<Ticket<'_>> {
        self.submit_as(changes, Some(id), &CancelToken::new())
    }

    /// The commit with an id, of a transaction or of [`PropertyStore::submit_with`], among those after commit
    /// number `since`; `None` if there is none, or if none of its changes changed anything. It reads
    /// the log from there on.
    ///
    /// # Errors
    /// [`Error::Invalid`](nakshi_store::Error::Invalid) if the log no longer has all of these commits; errors
    /// of reading; [`Error::Cancelled`](nakshi_store::Error::Cancelled).
    pub fn find_commit(
        &self,
        id: u128,
        since: u64,
        cancel: &CancelToken,
    ) -> Result<Option<FoundCommit>> {
        let mut entries = LogEntries::open(self.path(), Some(since), cancel)?;
        loop {
            let some = entries.next(ENTRIES, cancel)?;
            if some.is_empty() {
                return Ok(None);
            }
            let made =
                some.iter().find(|entry| entry.transaction.is_some_and(|mark| mark.id == id));
            if let Some((entry, commit)) = made.and_then(|entry| Some((entry, entry.commit?))) {
                let changes = entry.changes.len() as u64;
                return Ok(Some(FoundCommit { commit, changes }));
            }
        }
    }
}
