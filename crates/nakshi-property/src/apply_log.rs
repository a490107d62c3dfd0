//! Application of the log entries of another store.

use nakshi_io::CancelToken;

use super::log::LogEntry;
use super::property_store::PropertyStore;
use nakshi_store::{Error, Result};

/// Commits after which [`PropertyStore::apply`] waits for the disk.
const WAIT: u64 = 256;

/// Report of [`PropertyStore::apply`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ApplyReport {
    /// Commits that were made.
    pub applied: u64,
    /// Entries whose commits the store has already.
    pub skipped: u64,
    /// Number of the last commit.
    pub commit: u64,
}

impl PropertyStore {
    /// Makes the commits of log entries, in their order, each durable when this returns. A store that had
    /// the commits before them then answers as the store that the entries are of, whatever the layouts of
    /// the two. Entries that the store has already are skipped, so a call can be repeated. An entry
    /// without a number is a new commit.
    ///
    /// # Errors
    /// [`Error::Invalid`] if commits are missing before an entry, or if the entry changes nothing, which
    /// means that the store has had other commits; errors of `entries`; as
    /// [`PropertyStore::commit`]; [`Error::Cancelled`]. Commits before the error stay.
    pub fn apply(
        &self,
        entries: impl IntoIterator<Item = Result<LogEntry>>,
        cancel: &CancelToken,
    ) -> Result<ApplyReport> {
        let mut report = ApplyReport::default();
        let done = entries.into_iter().try_for_each(|entry| {
            let entry = entry?;
            cancel.check()?;
            let made = self.apply_one(&entry, cancel)?;
            report.applied += u64::from(made);
            report.skipped += u64::from(!made);
            if made && report.applied.is_multiple_of(WAIT) { self.flush() } else { Ok(()) }
        });
        self.flush()?;
        report.commit = self.last_commit();
        done.map(|()| report)
    }

    /// Makes one commit; returns false if the store has it already.
    fn apply_one(&self, entry: &LogEntry, cancel: &CancelToken) -> Result<bool> {
        let mut core = self.writer(None, cancel)?;
        let writing = self.begin(&mut core, cancel)?;
        let last = writing.tip.commit;
        if entry.commit.is_some_and(|commit| commit <= last) {
            return Ok(false);
        }
        if let Some(commit) = entry.commit.filter(|commit| *commit > last + 1) {
            return Err(Error::Invalid(format!(
                "the store has the commits up to {last}, and the entry is commit {commit}; apply those \
                 in between first"
            )));
        }
        let changed = writing.make(&entry.changes, entry.transaction.as_ref(), &self.hasher)?;
        self.leave(core);
        match (changed, entry.commit) {
            (0, Some(commit)) => Err(Error::Invalid(format!(
                "commit {commit} changes nothing here, so this store has had other commits than the one \
                 that the entry is of"
            ))),
            (changed, _) => Ok(changed > 0),
        }
    }
}
