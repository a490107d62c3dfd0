//! Makes the commits of the log in the store.

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nakshi_io::CancelToken;
use nakshi_property::{CommitLog, PropertyStore};
use nakshi_store::{Error, Result};
use openraft::storage::RaftStateMachine;
use openraft::{
    BasicNode, EntryPayload, ErrorSubject, ErrorVerb, RaftSnapshotBuilder, SnapshotMeta,
    StoredMembership,
};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::log::{RaftLog, Snapshot};
use super::network::Others;
use super::{Entry, Leader, LogId, Proposal, Reply, StorageError, TypeConfig, aside};
use crate::limits::KeptStates;

/// Pause between two looks at the store.
const MOMENT: Duration = Duration::from_millis(2);

type Membership = StoredMembership<u64, BasicNode>;

/// The store of a server, which leads or follows.
pub(super) struct Replica {
    store: Arc<PropertyStore>,
    log: RaftLog,
    others: Arc<Others>,
    /// Waits for the others' answers.
    handle: Handle,
    cancel: CancelToken,
    progress: Mutex<Progress>,
    /// Where states after commits are kept for other servers, if this one has a share of the graph.
    kept: Option<Arc<KeptStates>>,
    /// As [`Progress::leads`], for the threads that append.
    leads: watch::Sender<Option<Leading>>,
}

/// A time in which a store leads: the term, and the session.
pub(crate) type Leading = (Leader, u64);

#[derive(Debug, Default)]
struct Progress {
    applied: Option<LogId>,
    membership: Membership,
    /// Number of the last commit in the log so far.
    commit: u64,
    /// When the store leads; `None` while it follows.
    leads: Option<Leading>,
    /// Commits of this leader that are in the log for ever, and perhaps not in the store yet.
    own: VecDeque<(u64, Bytes)>,
}

impl Replica {
    pub(super) fn new(
        store: &Arc<PropertyStore>,
        log: &RaftLog,
        others: &Arc<Others>,
        handle: &Handle,
        cancel: &CancelToken,
        kept: Option<Arc<KeptStates>>,
    ) -> Arc<Self> {
        let mut progress = Progress { commit: store.last_commit(), ..Progress::default() };
        if let Some((snapshot, commit)) = log.snapshot() {
            (progress.applied, progress.membership) =
                (snapshot.last_log_id, snapshot.last_membership);
            progress.commit = commit;
        }
        if let Some(kept) = &kept {
            kept.remember(store.snapshot());
        }
        let (leads, _) = watch::channel(None);
        Arc::new(Replica {
            store: Arc::clone(store),
            log: log.clone(),
            others: Arc::clone(others),
            handle: handle.clone(),
            cancel: cancel.clone(),
            progress: Mutex::new(progress),
            kept,
            leads,
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the commit at which all servers begin.
    pub(super) fn begin_at(&self, commit: u64) -> Result<()> {
        self.log.set_snapshot(Snapshot::default(), commit)
    }

    /// When the store leads; `None` while it follows.
    pub(super) fn leads(&self) -> watch::Receiver<Option<Leading>> {
        self.leads.subscribe()
    }

    /// Has the store lead. All entries of earlier terms must have been applied.
    pub(super) fn lead(&self, leading: Leading, log: Arc<dyn CommitLog>) -> Result<()> {
        let mut progress = self.progress();
        self.depose(&mut progress)?;
        self.store.lead(log, &self.cancel)?;
        progress.leads = Some(leading);
        self.leads.send_replace(Some(leading));
        Ok(())
    }

    /// Has the store follow.
    pub(super) fn follow(&self) -> Result<()> {
        self.depose(&mut self.progress())
    }

    /// Returns the error of an earlier write, if one has failed.
    pub(super) fn refuse_if_broken(&self) -> Result<()> {
        match self.store.start_writing(&self.cancel) {
            Err(error @ Error::Poisoned { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    fn depose(&self, progress: &mut Progress) -> Result<()> {
        if progress.leads.is_none() {
            return Ok(());
        }
        // The thread that appends must return before the store can step down.
        self.leads.send_replace(None);
        self.store.step_down(&self.cancel)?;
        progress.leads = None;
        let known = self.store.last_commit();
        for (commit, changes) in progress.own.drain(..).filter(|(commit, _)| *commit > known) {
            self.follow_commit(commit, &changes)?;
        }
        self.store.flush()
    }

    /// Makes a commit of another leader.
    fn follow_commit(&self, commit: u64, changes: &[u8]) -> Result<()> {
        let after = self.store.follow(commit, changes, &self.cancel)?;
        if let Some(kept) = &self.kept {
            kept.remember(after);
        }
        Ok(())
    }

    /// Applies entries on which the servers have agreed.
    fn apply(&self, entries: Vec<Entry>) -> Result<Vec<Reply>> {
        let mut progress = self.progress();
        let (mut replies, mut followed) = (Vec::with_capacity(entries.len()), None);
        for entry in entries {
            let log_id = entry.log_id;
            let mut reply = Reply::Made;
            match entry.payload {
                EntryPayload::Blank => {}
                EntryPayload::Membership(membership) => {
                    progress.membership = StoredMembership::new(Some(log_id), membership);
                }
                EntryPayload::Normal(proposal)
                    if proposal.leader != log_id.leader_id
                        || proposal.first != progress.commit + 1 =>
                {
                    reply = Reply::Refused;
                }
                EntryPayload::Normal(proposal) => {
                    progress.commit = proposal.last();
                    if progress.leads == Some((proposal.leader, proposal.session)) {
                        let known = self.store.last_commit();
                        progress.own.retain(|(commit, _)| *commit > known);
                        progress.own.extend((proposal.first..).zip(proposal.commits));
                    } else {
                        self.depose(&mut progress)?;
                        self.make(proposal, &mut followed)?;
                    }
                }
            }
            replies.push(reply);
            progress.applied = Some(log_id);
        }
        if followed.is_some() {
            self.store.flush()?;
        }
        Ok(replies)
    }

    /// Makes the commits of another leader, or of this server before it was started; `last` is the last one.
    fn make(&self, proposal: Proposal, last: &mut Option<u64>) -> Result<()> {
        let mut known = last.unwrap_or_else(|| self.store.last_commit());
        for (commit, changes) in (proposal.first..).zip(proposal.commits) {
            if commit > known {
                self.follow_commit(commit, &changes)?;
                known = commit;
            }
        }
        *last = Some(known);
        Ok(())
    }

    /// Makes the commits up to a number that the log of the servers no longer has, from the log of another
    /// server's store.
    fn catch_up(&self, commit: u64) -> Result<()> {
        let mut why = String::new();
        for other in self.others.values() {
            let since = self.store.last_commit();
            if since >= commit {
                return Ok(());
            }
            tracing::info!(from = other.address(), since, "catches up");
            let make = |next: u64, changes: &[u8]| match next <= commit {
                true => self.follow_commit(next, changes),
                false => Ok(()),
            };
            let done = self.handle.block_on(other.commits(since, make));
            self.store.flush()?;
            if let Err(error) = done {
                why = format!("{}: {error}", other.address());
            }
        }
        let known = self.store.last_commit();
        if known >= commit {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "{} has commits up to {known}, and the others' logs begin later ({why}); end this server, and put a \
             copy (nakshi backup) of another server's store in its place",
            self.store.path().display(),
        )))
    }

    /// A point up to which the log is not needed any more, as the store has all of it.
    fn take_snapshot(&self) -> Result<(Snapshot, u64)> {
        let (applied, membership, commit) = {
            let progress = self.progress();
            (progress.applied, progress.membership.clone(), progress.commit)
        };
        // A leader's last commits are in the log a moment before they are in its store.
        while self.store.last_commit() < commit {
            self.cancel.check()?;
            std::thread::sleep(MOMENT);
        }
        let index = applied.map_or(0, |log_id| log_id.index);
        let snapshot = SnapshotMeta {
            last_log_id: applied,
            last_membership: membership,
            snapshot_id: format!("{index}-{commit}"),
        };
        self.log.set_snapshot(snapshot.clone(), commit)?;
        Ok((snapshot, commit))
    }
}

/// The store, as openraft calls it.
#[derive(Clone)]
pub(super) struct Machine(pub(super) Arc<Replica>);

fn whole((meta, commit): (Snapshot, u64)) -> openraft::Snapshot<TypeConfig> {
    let snapshot = Box::new(Cursor::new(commit.to_le_bytes().to_vec()));
    openraft::Snapshot { meta, snapshot }
}

impl Machine {
    /// Runs something that waits for the store in a thread of its own.
    async fn with_store<T: Send + 'static>(
        &self,
        verb: ErrorVerb,
        work: impl FnOnce(&Replica) -> Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let replica = Arc::clone(&self.0);
        let failed = "the commits of the other servers cannot be made here";
        aside(failed, (ErrorSubject::StateMachine, verb), move || work(&replica)).await
    }
}

impl RaftSnapshotBuilder<TypeConfig> for Machine {
    async fn build_snapshot(&mut self) -> Result<openraft::Snapshot<TypeConfig>, StorageError> {
        self.with_store(ErrorVerb::Read, |replica| replica.take_snapshot().map(whole)).await
    }
}

impl RaftStateMachine<TypeConfig> for Machine {
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), StorageError> {
        let progress = self.0.progress();
        Ok((progress.applied, progress.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Reply>, StorageError>
    where
        I: IntoIterator<Item = Entry> + Send,
        I::IntoIter: Send,
    {
        let entries = entries.into_iter().collect();
        self.with_store(ErrorVerb::Write, |replica| replica.apply(entries)).await
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<Cursor<Vec<u8>>>, StorageError> {
        Ok(Box::default())
    }

    async fn install_snapshot(
        &mut self,
        meta: &Snapshot,
        snapshot: Box<Cursor<Vec<u8>>>,
    ) -> Result<(), StorageError> {
        let meta = meta.clone();
        let commit = snapshot.into_inner().try_into().map_or(u64::MAX, u64::from_le_bytes);
        let work = move |replica: &Replica| {
            let mut progress = replica.progress();
            replica.depose(&mut progress)?;
            replica.catch_up(commit)?;
            replica.log.set_snapshot(meta.clone(), commit)?;
            (progress.applied, progress.membership) = (meta.last_log_id, meta.last_membership);
            progress.commit = commit;
            Ok(())
        };
        self.with_store(ErrorVerb::Write, work).await
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> Result<Option<openraft::Snapshot<TypeConfig>>, StorageError> {
        let snapshot = self.0.log.snapshot();
        // The first one has no entries yet.
        Ok(snapshot.filter(|(upto, _)| upto.last_log_id.is_some()).map(whole))
    }
}
