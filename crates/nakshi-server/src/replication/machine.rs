//! Makes the commits of the log in the store.

use std::collections::VecDeque;
use std::future::Future;
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nakshi_io::CancelToken;
use nakshi_store::{Error, Result};
use openraft::storage::RaftStateMachine;
use openraft::{
    BasicNode, EntryPayload, ErrorSubject, ErrorVerb, RaftSnapshotBuilder, SnapshotMeta,
    StoredMembership,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tonic::{Code, Status};

use super::line::{Other, Others};
use super::log::{RaftLog, Snapshot};
use super::proposer::Proposer;
use super::replicated::{Part, Replicated};
use super::{
    Entry, LOOK, Leading, LogId, Proposal, Reply, StorageError, TypeConfig, WORD, apart, unable,
};

/// Pause between two looks at the store.
const MOMENT: Duration = Duration::from_millis(2);

type Membership = StoredMembership<u64, BasicNode>;

/// The store of a server, which leads or follows.
pub(super) struct Replica {
    store: Arc<dyn Replicated>,
    log: RaftLog,
    others: Arc<Others>,
    cancel: CancelToken,
    progress: Mutex<Progress>,
    /// As [`Progress::leads`], for the threads that append.
    leads: watch::Sender<Option<Leading>>,
}

#[derive(Debug, Default)]
struct Progress {
    applied: Option<LogId>,
    membership: Membership,
    /// Number of the last commit in the log so far.
    commit: u64,
    /// Number of the last commit before the last snapshot. The log does not have those up to it any more, so
    /// the store must take those that it lacks from other stores before it makes another one.
    owed: u64,
    /// When the store leads; `None` while it follows.
    leads: Option<Leading>,
    /// Commits of this leader that are in the log for ever, and perhaps not in the store yet.
    own: VecDeque<(u64, Bytes)>,
}

impl Replica {
    pub(super) fn new(
        store: &Arc<dyn Replicated>,
        log: &RaftLog,
        others: &Arc<Others>,
        cancel: &CancelToken,
    ) -> Arc<Self> {
        let mut progress = Progress { commit: store.last_commit(), ..Progress::default() };
        if let Some((snapshot, commit)) = log.snapshot() {
            (progress.applied, progress.membership) =
                (snapshot.last_log_id, snapshot.last_membership);
            (progress.commit, progress.owed) = (commit, commit);
        }
        let (leads, _) = watch::channel(None);
        Arc::new(Replica {
            store: Arc::clone(store),
            log: log.clone(),
            others: Arc::clone(others),
            cancel: cancel.clone(),
            progress: Mutex::new(progress),
            leads,
        })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers the commit at which all servers begin. The store may have later ones.
    pub(super) fn begin_at(&self, commit: u64) -> Result<()> {
        self.log.set_snapshot(Snapshot::default(), commit)?;
        self.progress().commit = commit;
        Ok(())
    }

    /// When the store leads; `None` while it follows.
    pub(super) fn leads(&self) -> watch::Receiver<Option<Leading>> {
        self.leads.subscribe()
    }

    /// Has the store lead. All entries of earlier terms must have been applied.
    pub(super) fn lead(&self, leading: Leading, log: Arc<Proposer>) -> Result<()> {
        let mut progress = self.progress();
        self.depose(&mut progress)?;
        self.store.lead(log)?;
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
        self.store.refuse_if_broken()
    }

    fn depose(&self, progress: &mut Progress) -> Result<()> {
        if progress.leads.is_none() {
            return Ok(());
        }
        // The thread that appends must return before the store can step down.
        self.leads.send_replace(None);
        self.store.step_down()?;
        progress.leads = None;
        let known = self.store.last_commit();
        for (commit, changes) in progress.own.drain(..).filter(|(commit, _)| *commit > known) {
            self.store.follow(commit, &changes)?;
        }
        self.store.flush()
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
                self.store.follow(commit, &changes)?;
                known = commit;
            }
        }
        *last = Some(known);
        Ok(())
    }

    /// Makes the commits that the log of the servers no longer has, from the logs of the other servers' stores.
    /// Waits for servers that are not reached, or lag themselves.
    async fn catch_up(self: &Arc<Self>) -> Result<()> {
        let owed = self.progress().owed;
        let mut told = Instant::now();
        while self.store.last_commit() < owed {
            let (mut refused, mut why) = (0, String::new());
            for other in self.others.values() {
                if let Err(status) = self.take_commits(other, owed).await? {
                    let away = matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded);
                    refused += usize::from(!away);
                    why = format!("{}: {}", other.address, status.message());
                }
            }
            let known = self.store.last_commit();
            if known >= owed {
                break;
            }
            if refused == self.others.len() {
                return Err(Error::Invalid(format!(
                    "{} has commits up to {known}, and the others' logs begin later ({why}); end this server, \
                     remove the store, and start it with --fetch",
                    self.store.path().display(),
                )));
            }
            self.cancel.check()?;
            if told.elapsed() > WORD * 5 {
                tracing::warn!("waits for another server with the commits up to {owed}: {why}");
                told = Instant::now();
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Makes the commits up to a number that another server's store has; returns the error of the way there.
    async fn take_commits(
        self: &Arc<Self>,
        other: &Other,
        last: u64,
    ) -> Result<std::result::Result<(), Status>> {
        let since = self.store.last_commit();
        if since >= last {
            return Ok(Ok(()));
        }
        tracing::info!(from = other.address, since, "catches up");
        let (send, mut parts) = mpsc::channel(1);
        let make = async {
            while let Some(part) = parts.recv().await {
                let replica = Arc::clone(self);
                apart(move || replica.make_upto(last, part)).await?;
            }
            Ok::<_, Error>(())
        };
        let (sent, made) = tokio::join!(other.line.commits(since, send), make);
        let replica = Arc::clone(self);
        apart(move || replica.store.flush()).await?;
        made.map(|()| sent)
    }

    /// Makes commits of another server's store up to a number.
    fn make_upto(&self, last: u64, part: Part) -> Result<()> {
        let mut part = part.into_iter().filter(|(commit, _)| *commit <= last);
        part.try_for_each(|(commit, changes)| self.store.follow(commit, &changes))
    }

    /// A point up to which the log is not needed any more, as the store has all of it.
    async fn take_snapshot(self: &Arc<Self>) -> Result<(Snapshot, u64)> {
        let (applied, membership, commit) = {
            let progress = self.progress();
            (progress.applied, progress.membership.clone(), progress.commit)
        };
        // A leader's last commits are in the log a moment before they are in its store.
        while self.store.last_commit() < commit {
            self.cancel.check()?;
            tokio::time::sleep(MOMENT).await;
        }
        let index = applied.map_or(0, |log_id| log_id.index);
        let snapshot = SnapshotMeta {
            last_log_id: applied,
            last_membership: membership,
            snapshot_id: format!("{index}-{commit}"),
        };
        let (replica, upto) = (Arc::clone(self), snapshot.clone());
        apart(move || replica.log.set_snapshot(upto, commit)).await?;
        Ok((snapshot, commit))
    }

    /// Goes on from a snapshot of another server.
    async fn take_over(self: &Arc<Self>, meta: Snapshot, commit: u64) -> Result<()> {
        let replica = Arc::clone(self);
        // Known for ever before the log is cleared: a server that ends meanwhile still owes the commits.
        apart(move || {
            replica.follow()?;
            replica.log.set_snapshot(meta.clone(), commit)?;
            let mut progress = replica.progress();
            (progress.applied, progress.membership) = (meta.last_log_id, meta.last_membership);
            (progress.commit, progress.owed) = (commit, commit);
            Ok(())
        })
        .await?;
        self.catch_up().await
    }
}

/// The store, as openraft calls it.
#[derive(Clone)]
pub(super) struct Machine(pub(super) Arc<Replica>);

fn whole((meta, commit): (Snapshot, u64)) -> openraft::Snapshot<TypeConfig> {
    let snapshot = Box::new(Cursor::new(commit.to_le_bytes().to_vec()));
    openraft::Snapshot { meta, snapshot }
}

/// Waits for something that the store does; an error ends the server.
async fn done<T>(
    verb: ErrorVerb,
    work: impl Future<Output = Result<T>>,
) -> Result<T, StorageError> {
    let failed = "the commits of the other servers cannot be made here";
    work.await.map_err(|error| unable(failed, (ErrorSubject::StateMachine, verb), &error))
}

impl RaftSnapshotBuilder<TypeConfig> for Machine {
    async fn build_snapshot(&mut self) -> Result<openraft::Snapshot<TypeConfig>, StorageError> {
        done(ErrorVerb::Read, self.0.take_snapshot()).await.map(whole)
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
        let (replica, entries) = (Arc::clone(&self.0), entries.into_iter().collect());
        let apply = async {
            self.0.catch_up().await?;
            apart(move || replica.apply(entries)).await
        };
        done(ErrorVerb::Write, apply).await
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
        let commit = snapshot.into_inner().try_into().map_or(u64::MAX, u64::from_le_bytes);
        let taken = done(ErrorVerb::Write, self.0.take_over(meta.clone(), commit)).await;
        // Nobody waits for the snapshot any more.
        taken.inspect_err(|_| self.0.log.end())
    }

    async fn get_current_snapshot(
        &mut self,
    ) -> Result<Option<openraft::Snapshot<TypeConfig>>, StorageError> {
        let snapshot = self.0.log.snapshot();
        // The first one has no entries yet.
        Ok(snapshot.filter(|(upto, _)| upto.last_log_id.is_some()).map(whole))
    }
}
