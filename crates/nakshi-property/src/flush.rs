//! Commits that become durable although no thread waits for them.

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Release};

use super::log::Change;
use super::property_store::{PropertyStore, Ticket};
use nakshi_store::{Error, Result};

impl PropertyStore {
    /// Makes changes as one commit, and returns before it is durable. A thread makes it durable soon,
    /// whether anybody waits or not; [`PropertyStore::wait`] waits for that, and
    /// [`PropertyStore::is_durable`] says it. Returns the number of the commit, and how many changes
    /// changed something.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`]; an [`Error::Io`] if no thread can be started, and then the commit
    /// is durable with the next one.
    pub fn commit_async(self: &Arc<Self>, changes: &[Change]) -> Result<(u64, u64)> {
        let Ticket { commit, changed, .. } = self.submit(changes)?;
        self.flush_aside()?;
        Ok((commit, changed))
    }

    /// Has a thread make the waiting commits durable, unless one does already.
    pub(super) fn flush_aside(self: &Arc<Self>) -> Result<()> {
        if self.flushing.swap(true, AcqRel) {
            return Ok(());
        }
        let store = Arc::clone(self);
        let flush = move || {
            loop {
                // The threads that wait for their commits get the error.
                let failed = store.flush().is_err();
                store.flushing.store(false, Release);
                // A commit that came before the flag fell has started no thread.
                if failed || !store.has_waiting() || store.flushing.swap(true, AcqRel) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("nakshi-flush".into()).spawn(flush);
        thread.map(drop).map_err(|source| {
            self.flushing.store(false, Release);
            Error::Io { op: "start a thread for", path: self.path.clone(), source }
        })
    }

    fn has_waiting(&self) -> bool {
        self.lock().writing.as_ref().is_some_and(|writing| writing.waiting.len() > 0)
    }
}
