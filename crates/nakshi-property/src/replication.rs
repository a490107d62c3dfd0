//! One store of several with the same commits: it makes them, or takes over those that another one has made.
//!
//! The store that makes commits *leads*. It appends each group to a [`CommitLog`] before it writes the group
//! to its own log, so its own log never has a commit that the others may not get. A store that no longer
//! leads forgets what it has submitted but not written, and follows.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use nakshi_io::CancelToken;

use super::commit_log::CommitLog;
use super::graph::PropertyGraph;
use super::log::decode_commit;
use super::property_store::{Core, PropertyStore, Writing};
use nakshi_store::{Error, Result};

impl PropertyStore {
    /// Has this handle make commits only while it leads, or follows another one.
    pub fn replicate(&self) {
        self.replicated.store(true, Release);
    }

    /// The state of writing, for a commit of this handle's own.
    pub(super) fn begin_own<'c>(
        &self,
        core: &'c mut Core,
        cancel: &CancelToken,
    ) -> Result<&'c mut Writing> {
        self.snapshot().entry().refuse_share(&self.path)?;
        let writing = self.begin(core, cancel)?;
        if self.replicated.load(Acquire) && writing.agreed.is_none() {
            return Err(Error::Deposed(self.path.clone()));
        }
        Ok(writing)
    }

    /// Has every later commit of this handle go to `log` first, until [`PropertyStore::step_down`]. All
    /// commits in that log must be in the store.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a share of a graph; as [`PropertyStore::start_writing`].
    pub fn lead(&self, log: Arc<dyn CommitLog>, cancel: &CancelToken) -> Result<()> {
        self.snapshot().entry().refuse_share(&self.path)?;
        self.replicate();
        let mut core = self.enter()?;
        self.begin(&mut core, cancel)?.agreed = Some(log);
        Ok(())
    }

    /// Forgets the commits that [`CommitLog::append`] has not confirmed, and makes no more commits until the
    /// handle leads or follows again. Threads that wait for one get [`Error::Deposed`]. The log must refuse
    /// to append by then.
    ///
    /// # Errors
    /// [`Error::Poisoned`] if an earlier write has failed; [`Error::Cancelled`].
    pub fn step_down(&self, cancel: &CancelToken) -> Result<()> {
        if let Some(writing) = &mut self.enter()?.writing {
            writing.deposed = true;
        }
        self.wake();
        let _alone = self.alone(cancel)?;
        let mut core = self.enter()?;
        while core.writing.as_ref().is_some_and(|writing| writing.busy) {
            core = self.done.wait(core).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(writing) = &core.writing else { return Ok(()) };
        if let Some(why) = writing.broken.clone() {
            return Err(Error::Poisoned { path: self.path.clone(), why });
        }
        self.deposed.store(writing.session, Release);
        self.end_writing(&mut core);
        drop(core);
        self.wake();
        Ok(())
    }

    /// Has this handle be no writer any more.
    pub(super) fn end_writing(&self, core: &mut Core) {
        core.writing = None;
        // The reader has not read the commits that this handle wrote.
        core.reader.forget();
        self.writes.store(false, Relaxed);
    }

    /// Makes a commit that another store has made, with the number and the encoded changes that a
    /// [`CommitLog`] got. Several may be made before [`PropertyStore::flush`] makes them durable. Returns the
    /// graph after the commit.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it does not follow on the last commit, or does not change what it has changed
    /// in the other store: the two differ then. As [`PropertyStore::submit`].
    pub fn follow(
        &self,
        commit: u64,
        encoded: &[u8],
        cancel: &CancelToken,
    ) -> Result<PropertyGraph> {
        let (mark, changes) = decode_commit(encoded)?;
        let mut core = self.writer(None, cancel)?;
        let writing = self.begin(&mut core, cancel)?;
        let differs = |what: &str| {
            let store = self.path.display();
            Error::Invalid(format!(
                "commit {commit} {what}: {store} is not the graph that it changes"
            ))
        };
        if commit != writing.tip.commit + 1 {
            return Err(differs(&format!("does not follow on commit {}", writing.tip.commit)));
        }
        let whole = writing.tip.base.entry().buckets.is_none();
        let made = writing.make(&changes, mark.as_ref(), &self.hasher);
        let after = PropertyGraph::of(writing.tip.clone());
        self.leave(core);
        match made? {
            0 if whole => Err(differs("changes nothing")),
            _ => Ok(after),
        }
    }
}
