//! A server among those of its graph: what it proposes, and its task beside the calls.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex, PoisonError};

use nakshi_io::CancelToken;
use nakshi_store::files::new_uuid;
use openraft::{BasicNode, ChangeMembers, Config, RaftMetrics, SnapshotPolicy};

use super::line::{Line, Others, Own, Ways, within};
use super::log::RaftLog;
use super::machine::{Machine, Replica};
use super::proposer::Proposer;
use super::replicated::Replicated;
use super::{LOOK, Leader, Leading, LogId, Raft, WORD, apart};
use crate::error::{Error, ErrorKind, Result};

/// Interval of a leader's heartbeats, and the least and the longest time without one after which another
/// server wants to lead, in milliseconds.
const HEARTBEAT: u64 = 100;
const ELECTION: (u64, u64) = (500, 1000);
/// Milliseconds without a majority after which a leader answers those who wait, so that they ask another one.
const SILENCE: u64 = 2 * ELECTION.1;
/// Milliseconds for a server to take commits from the log of another store.
const CATCHING_UP: u64 = 600_000;
/// Entries that a server may lag behind when it begins to vote.
const NEAR: u64 = 100;
/// Settings of a server, which does not want to lead yet if it has lost what it knew.
pub(super) fn settings(has_lost: bool) -> Config {
    Config {
        enable_elect: !has_lost,
        cluster_name: "nakshi".to_owned(),
        heartbeat_interval: HEARTBEAT,
        election_timeout_min: ELECTION.0,
        election_timeout_max: ELECTION.1,
        // By bytes, in `look_after`.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: u64::MAX,
        install_snapshot_timeout: CATCHING_UP,
        ..Config::default()
    }
}

/// An error after which the log cannot go on.
pub(super) fn storage(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Storage, error.to_string())
}

/// All that a server needs to take part.
pub(super) struct Seat {
    /// Number of this server.
    pub(super) number: u64,
    /// All servers, of which those up to number `voters` have the whole graph, vote and can lead.
    pub(super) nodes: BTreeMap<u64, BasicNode>,
    pub(super) voters: u64,
    /// Number of servers in the list, those that were removed among them.
    pub(super) listed: u64,
    /// Bytes of entries above which the log is cleared.
    pub(super) kept_bytes: u64,
    pub(super) config: Config,
    pub(super) log: RaftLog,
    pub(super) store: Arc<dyn Replicated>,
    pub(super) ways: Ways,
    pub(super) cancel: CancelToken,
}

/// This server among those of its graph, in the runtime in which it began to take part.
pub(super) struct Member {
    pub(super) raft: Raft,
    pub(super) replica: Arc<Replica>,
    pub(super) others: Arc<Others>,
    /// As the others ask it.
    pub(super) own: Own,
    /// Reason why this server has left the others.
    failed: Arc<Mutex<Option<String>>>,
}

impl Member {
    /// Begins to take part.
    pub(super) async fn begin(seat: Seat) -> Result<Self> {
        let Seat { number, ref nodes, ref log, ref store, ref ways, .. } = seat;
        let others = nodes.iter().filter(|(id, _)| **id != number);
        let others = others.map(|(id, node)| (*id, (ways.0)(*id, &node.addr)));
        let others = Arc::new(others.collect::<Others>());
        let replica = Replica::new(store, log, &others, &seat.cancel);
        let config = Arc::new(seat.config.clone().validate().map_err(storage)?);
        let machine = Machine(Arc::clone(&replica));
        let raft = Raft::new(number, config, ways.clone(), log.clone(), machine);
        let raft = raft.await.map_err(storage)?;
        let (failed, listens) = (Arc::default(), Arc::<AtomicBool>::default());
        let own = Own {
            raft: raft.clone(),
            log: log.clone(),
            store: Arc::clone(store),
            listens: Arc::clone(&listens),
        };
        let task = Task {
            raft: raft.clone(),
            replica: Arc::clone(&replica),
            failed: Arc::clone(&failed),
            listens,
            seat,
        };
        tokio::spawn(task.run(Arc::clone(&others)));
        Ok(Member { raft, replica, others, own, failed })
    }

    /// When this server makes the commits, if it does.
    pub(super) fn leading(&self) -> Option<Leading> {
        *self.replica.leads().borrow()
    }

    /// Returns true once it listens to the others: at the very first start it waits for all of them.
    pub(super) fn takes_part(&self) -> bool {
        self.own.listens.load(Acquire)
    }

    /// Number of the server that leads, if that is known.
    pub(super) fn leader(&self) -> Option<u64> {
        self.raft.metrics().borrow().current_leader
    }

    /// Number of a commit that a state must have to have all that was acknowledged before this call: what the
    /// leader says, once a majority has confirmed it.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] while there is no leader, or none that has a majority.
    pub(super) async fn newest(&self) -> Result<u64> {
        let newest = match self.leader().and_then(|leader| self.others.get(&leader)) {
            Some(leader) => leader.newest(WORD).await,
            None => within(WORD, self.own.newest()).await,
        };
        let none = |_| Error::new(ErrorKind::Unavailable, "no server can tell the last commit yet");
        newest.map_err(none)
    }

    /// Reason why this server has left the others.
    pub(super) fn failure(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The task of a server beside its calls: the first start, elections, and clearing the log.
pub(super) struct Task {
    pub(super) raft: Raft,
    replica: Arc<Replica>,
    failed: Arc<Mutex<Option<String>>>,
    /// Set when the others may be listened to.
    pub(super) listens: Arc<AtomicBool>,
    pub(super) seat: Seat,
}

impl Task {
    async fn run(self, others: Arc<Others>) {
        let ended = match self.begin(&others).await {
            Ok(()) => self.look_after().await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::error!(message = error.message.as_str(), "left the other servers");
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.message);
        }
    }

    /// Has the store lead when this server is elected, and follow when it is not any more; clears the log.
    async fn look_after(&self) -> Result<()> {
        let mut metrics = self.raft.metrics();
        let (mut asked, mut cleared) = (0, None);
        loop {
            let now = metrics.borrow_and_update().clone();
            match now.running_state {
                Ok(()) => {}
                Err(openraft::error::Fatal::Stopped) => return Ok(()),
                Err(error) => return Err(storage(error)),
            }
            let term = Leader::new(now.vote.leader_id().term, self.seat.number);
            let elected = now.state.is_leader() && now.vote.leader_id().node_id == self.seat.number;
            let leads = *self.replica.leads().borrow();
            // The others may have elected another server already.
            let alone = now.millis_since_quorum_ack.is_none_or(|silence| silence > SILENCE);
            if elected && !alone && leads.is_none_or(|(of, _)| of != term) {
                let confirmed = tokio::time::timeout(WORD, self.raft.ensure_linearizable()).await;
                if confirmed.is_ok_and(|confirmed| confirmed.is_ok()) {
                    self.lead(term).await?;
                }
            } else if (!elected || alone) && leads.is_some() {
                self.aside(Replica::follow).await?;
                tracing::info!(elected, "leads no more");
            }
            if leads.is_some() {
                self.change_members(&now).await;
                // A leader whose disk fails makes way for another server.
                self.aside(Replica::refuse_if_broken).await?;
            }
            // Asked once, openraft clears the log when nobody reads it; each time changes its metrics.
            if let Some(snapshot) = now.snapshot.filter(|snapshot| Some(*snapshot) > cleared) {
                cleared = Some(snapshot);
                let _ = self.raft.trigger().purge_log(snapshot.index).await;
            }
            self.take_part_again(now.last_log_index).await?;
            let last = now.last_applied.map_or(0, |log_id| log_id.index);
            if self.seat.log.bytes() > self.seat.kept_bytes && last > asked {
                asked = last;
                let _ = self.raft.trigger().snapshot().await;
            }
            let changed = tokio::time::timeout(LOOK, metrics.changed()).await;
            if matches!(changed, Ok(Err(_))) && metrics.borrow().running_state.is_ok() {
                return Err(storage("internal error: the thread of the log panicked"));
            }
        }
    }

    /// Has all servers of the list follow, those that shall vote vote once they do not lag behind, and those that
    /// were removed from the list do neither: one change at a time.
    async fn change_members(&self, now: &RaftMetrics<u64, BasicNode>) {
        let members = now.membership_config.membership();
        let voters: BTreeSet<u64> = members.voter_ids().collect();
        let known: BTreeSet<u64> = members.nodes().map(|(id, _)| *id).collect();
        let last = now.last_log_index.unwrap_or_default();
        let follows = |id: &u64| {
            let matched = now.replication.as_ref().and_then(|all| all.get(id).copied().flatten());
            matched.is_some_and(|log_id: LogId| log_id.index + NEAR >= last)
        };
        let new = self.seat.nodes.range(..=self.seat.voters).map(|(id, _)| *id);
        let new = new.filter(|id| !voters.contains(id)).find(follows);
        let removed =
            known.iter().find(|id| **id <= self.seat.listed && !self.seat.nodes.contains_key(id));
        let change =
            if let Some((id, node)) = self.seat.nodes.iter().find(|(id, _)| !known.contains(id)) {
                ChangeMembers::AddNodes([(*id, node.clone())].into())
            } else if let Some(id) = new {
                ChangeMembers::AddVoterIds([id].into())
            } else if let Some(id) = removed.copied() {
                match voters.contains(&id) {
                    true => ChangeMembers::RemoveVoters([id].into()),
                    false => ChangeMembers::RemoveNodes([id].into()),
                }
            } else {
                return;
            };
        tracing::info!(?change, "changes the servers");
        // If this server leads no more, the next one does it.
        let changed = self.raft.change_membership(change, false);
        let _ = tokio::time::timeout(WORD, changed).await;
    }

    async fn lead(&self, term: Leader) -> Result<()> {
        let session = u64::from_le_bytes(*new_uuid().first_chunk().unwrap_or(&[0; 8]));
        let leading = (term, session);
        let (leads, path) = (self.replica.leads(), self.seat.store.path());
        let proposer = Arc::new(Proposer::new(&self.raft, leading, leads, path));
        self.aside(move |replica| replica.lead(leading, proposer)).await?;
        tracing::info!(term = term.term, "leads");
        Ok(())
    }

    pub(super) async fn aside(
        &self,
        work: impl FnOnce(&Replica) -> nakshi_store::Result<()> + Send + 'static,
    ) -> Result<()> {
        let replica = Arc::clone(&self.replica);
        Ok(apart(move || work(&replica)).await?)
    }
}
