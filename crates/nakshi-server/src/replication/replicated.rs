//! The store of a server, as the log of the servers changes it.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{LogEntries, PropertyStore};
use nakshi_store::{Error, Result};

use super::proposer::Proposer;
use crate::limits::KeptStates;

/// Commits with their numbers and their encoded changes.
pub(super) type Part = Vec<(u64, Vec<u8>)>;

/// Returns the next commits, and none at the end.
pub(super) type Commits = Box<dyn FnMut() -> Result<Part> + Send>;

/// A store that leads or follows. Its calls may wait for a disk.
pub(super) trait Replicated: Send + Sync + 'static {
    /// The directory.
    fn path(&self) -> &Path;

    /// Number of the last commit.
    fn last_commit(&self) -> u64;

    /// As [`PropertyStore::lead`].
    fn lead(&self, log: Arc<Proposer>) -> Result<()>;

    /// As [`PropertyStore::step_down`].
    fn step_down(&self) -> Result<()>;

    /// As [`PropertyStore::follow`].
    fn follow(&self, commit: u64, changes: &[u8]) -> Result<()>;

    /// Makes the commits durable.
    fn flush(&self) -> Result<()>;

    /// Returns the error of an earlier write, if one has failed.
    fn refuse_if_broken(&self) -> Result<()>;

    /// The commits after a number, as its own log has them.
    fn commits(&self, since: u64) -> Result<Commits>;
}

/// The store that this server serves.
pub(super) struct Served {
    pub(super) store: Arc<PropertyStore>,
    /// Where states after commits are kept for other servers, if this one has a share of the graph.
    pub(super) kept: Option<Arc<KeptStates>>,
    pub(super) cancel: CancelToken,
}

impl Replicated for Served {
    fn path(&self) -> &Path {
        self.store.path()
    }

    fn last_commit(&self) -> u64 {
        self.store.last_commit()
    }

    fn lead(&self, log: Arc<Proposer>) -> Result<()> {
        self.store.lead(log, &self.cancel)
    }

    fn step_down(&self) -> Result<()> {
        self.store.step_down(&self.cancel)
    }

    fn follow(&self, commit: u64, changes: &[u8]) -> Result<()> {
        let after = self.store.follow(commit, changes, &self.cancel)?;
        if let Some(kept) = &self.kept {
            kept.remember(after);
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.store.flush()
    }

    fn refuse_if_broken(&self) -> Result<()> {
        match self.store.start_writing(&self.cancel) {
            Err(error @ Error::Poisoned { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    fn commits(&self, since: u64) -> Result<Commits> {
        let cancel = CancelToken::new();
        let mut entries = LogEntries::open(self.path(), Some(since), &cancel)?;
        Ok(Box::new(move || entries.next_encoded(&cancel)))
    }
}
