//! This server among those of its graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use nakshi_io::CancelToken;
use nakshi_property::{CommitLog, PropertyStore};
use nakshi_store::files::{new_uuid, parse_uuid, with_newest};
use openraft::{BasicNode, ChangeMembers, Config, RaftMetrics, SnapshotPolicy};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::watch;

use super::log::RaftLog;
use super::machine::{Leading, Machine, Replica};
use super::network::{Network, Others, ReplicaService, newest};
use super::{DIR, Leader, LogId, Proposal, Raft, Reply};
use crate::channel::Peers;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::KeptStates;
use crate::metrics::Standing;
use crate::placement::Placement;

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
/// Bytes of commits in an entry, unless a single commit has more.
const ENTRY: usize = 4 << 20;
/// Bytes that a message takes besides a single commit: other entries, and their heads.
const MESSAGE: usize = 32 << 20;
/// Interval at which a server asks for the others before its first start, and looks at itself afterwards.
pub(super) const LOOK: Duration = Duration::from_millis(200);
/// Time for a word from another server.
pub(super) const WORD: Duration = Duration::from_secs(1);

/// The servers of a graph, and which of them this one is.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// Host and port of each server, the same list on all of them; empty for one that was removed. Another one
    /// comes behind all others.
    pub servers: Vec<String>,
    /// Place of this server in the list, from 0.
    pub own: usize,
    /// How many servers have each share of the graph; all servers have the whole graph without it, and the
    /// first three always.
    pub replicas: Option<usize>,
    /// Bytes of commits above which the log of the servers, which is in memory as well, is cleared. A server
    /// that lags more behind takes the commits from the log of another store.
    pub kept_bytes: u64,
    /// Certificates of the authorities that the certificates of the others are trusted by, as PEM; the
    /// connections are plain without.
    pub ca: Option<PathBuf>,
}

impl GroupOptions {
    /// The number of this server, and all servers by their numbers, from 1.
    fn nodes(&self) -> Result<(u64, BTreeMap<u64, BasicNode>)> {
        let servers = self.servers.iter().map(|address| BasicNode::new(address.clone()));
        let mut nodes: BTreeMap<u64, BasicNode> = (1..).zip(servers).collect();
        nodes.retain(|_, node| !node.addr.is_empty());
        let own = self.own as u64 + 1;
        if !nodes.contains_key(&own) {
            let what = format!("this server is number {own} of {} servers", nodes.len());
            return Err(Error::parameter(what));
        }
        if nodes.len() < self.servers.len() && self.placement().shares() > 0 {
            let what = "a server of a graph that is dealt to servers is replaced, and not removed";
            return Err(Error::parameter(what));
        }
        Ok((own, nodes))
    }

    /// Number of servers, the first of the list, that have the whole graph and agree on the commits.
    pub fn whole(&self) -> usize {
        self.placement().whole()
    }

    /// Which server has which nodes.
    pub(crate) fn placement(&self) -> Placement {
        Placement::new(self.servers.len(), self.replicas)
    }
}

impl Default for GroupOptions {
    fn default() -> Self {
        GroupOptions { servers: Vec::new(), own: 0, replicas: None, kept_bytes: 64 << 20, ca: None }
    }
}

/// This server among those of its graph.
pub(crate) struct Group {
    /// `None` once it has left the others.
    runtime: Mutex<Option<Runtime>>,
    handle: Handle,
    raft: Raft,
    replica: Arc<Replica>,
    own: u64,
    servers: Vec<String>,
    /// The ways to the other servers, by number.
    others: Arc<Others>,
    store: Arc<PropertyStore>,
    service: ReplicaService,
    /// Most bytes of a message from another server.
    pub(crate) message_bytes: usize,
    /// Reason why this server has left the others.
    failed: Arc<Mutex<Option<String>>>,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Group");
        shown.field("servers", &self.servers).field("own", &self.own).finish_non_exhaustive()
    }
}

/// The log of all servers, as the store that leads appends to it.
struct Proposer {
    raft: Raft,
    leading: Leading,
    /// When this server leads now.
    leads: watch::Receiver<Option<Leading>>,
    handle: Handle,
    store: PathBuf,
}

impl std::fmt::Debug for Proposer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proposer").field("leading", &self.leading).finish_non_exhaustive()
    }
}

impl CommitLog for Proposer {
    fn append(&self, commits: &[(u64, Vec<u8>)]) -> nakshi_store::Result<()> {
        let mut rest = commits;
        while let Some((first, _)) = rest.first() {
            let mut bytes = 0;
            let fits = rest.iter().take_while(|(_, changes)| {
                bytes += changes.len();
                bytes <= ENTRY
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            let proposal = Proposal {
                leader: self.leading.0,
                session: self.leading.1,
                first: *first,
                commits: now.iter().map(|(_, changes)| Bytes::copy_from_slice(changes)).collect(),
            };
            self.propose(proposal)?;
            rest = later;
        }
        Ok(())
    }
}

impl Proposer {
    fn propose(&self, proposal: Proposal) -> nakshi_store::Result<()> {
        let mut leads = self.leads.clone();
        let agreed = self.handle.block_on(async {
            tokio::select! {
                written = self.raft.client_write(proposal) => {
                    written.is_ok_and(|reply| reply.data == Reply::Made)
                }
                _ = leads.wait_for(|leads| *leads != Some(self.leading)) => false,
            }
        });
        if agreed { Ok(()) } else { Err(nakshi_store::Error::Deposed(self.store.clone())) }
    }
}

/// Settings of a server, which does not want to lead yet if it has lost what it knew.
fn settings(has_lost: bool) -> Config {
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

/// Opens the log of a store's server, and returns it with the uuid of the graph.
fn open_log(store: &PropertyStore, cancel: &CancelToken) -> Result<(RaftLog, Arc<[u8]>)> {
    let uuid = with_newest(store.path(), |manifest| Ok(manifest.uuid))?;
    let graph = parse_uuid(&uuid).unwrap_or_default();
    let log = RaftLog::open(&store.path().join(DIR), graph, cancel)?;
    let commit = store.last_commit();
    let lost = log.lost_before().is_some();
    if !lost && log.last_commit().is_some_and(|last| last < commit) {
        let path = store.path().display();
        return Err(Error::parameter(format!(
            "{path} has commits that its servers have not made; remove {path}/servers, and the copies of the \
             store on other machines, to begin anew with this one"
        )));
    }
    Ok((log, Arc::from(graph)))
}

/// An error after which the log cannot go on.
pub(super) fn storage(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Storage, error.to_string())
}

/// The threads for the log.
fn runtime() -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("nakshi-log").enable_all();
    builder.build().map_err(Error::no_thread)
}

impl Group {
    /// Begins to take part. The other servers need not run, except at the very first start of all.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for a list without this server, or a store that is not a copy of the others';
    /// errors of the log, and of the store.
    pub(crate) fn start(
        store: &Arc<PropertyStore>,
        options: &GroupOptions,
        token: Option<String>,
        request_bytes: usize,
        kept: &Arc<KeptStates>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let servers = options.servers.clone();
        let (own, nodes) = options.nodes()?;
        store.replicate();
        store.start_writing(cancel)?;
        let (log, graph) = open_log(store, cancel)?;
        let network = Network {
            peers: Peers { ca: options.ca.clone(), token },
            addresses: servers.clone().into(),
            graph: Arc::clone(&graph),
            message_bytes: request_bytes.saturating_mul(2).saturating_add(MESSAGE),
        };
        let runtime = runtime()?;
        let others = {
            let _here = runtime.enter();
            let others = nodes.keys().filter(|id| **id != own);
            Arc::new(others.map(|id| (*id, network.peer(*id, ""))).collect::<Others>())
        };
        let handle = runtime.handle().clone();
        let voters = options.whole() as u64;
        let kept = (own > voters).then(|| Arc::clone(kept));
        let replica = Replica::new(store, &log, &others, &handle, cancel, kept);
        let machine = Machine(Arc::clone(&replica));
        let config = Arc::new(settings(log.lost_before().is_some()).validate().map_err(storage)?);
        let began = Raft::new(own, config, network.clone(), log.clone(), machine);
        let raft = runtime.block_on(began).map_err(storage)?;
        let (failed, listens) = (Arc::default(), Arc::<AtomicBool>::default());
        let service = ReplicaService {
            raft: raft.clone(),
            log: log.clone(),
            graph,
            store: Arc::clone(store),
            listens: Arc::clone(&listens),
        };
        let task = Task {
            raft: raft.clone(),
            replica: Arc::clone(&replica),
            log,
            kept: options.kept_bytes,
            store: Arc::clone(store),
            own,
            nodes,
            voters,
            listed: servers.len() as u64,
            failed: Arc::clone(&failed),
            listens,
            cancel: cancel.clone(),
        };
        runtime.spawn(task.run(Arc::clone(&others)));
        Ok(Group {
            runtime: Mutex::new(Some(runtime)),
            handle,
            raft,
            replica,
            own,
            servers,
            others,
            store: Arc::clone(store),
            service,
            message_bytes: network.message_bytes,
            failed,
        })
    }

    /// The calls of the other servers.
    pub(crate) fn service(&self) -> ReplicaService {
        self.service.clone()
    }

    /// When this server makes the commits, if it does.
    pub(crate) fn leading(&self) -> Option<Leading> {
        *self.replica.leads().borrow()
    }

    /// Returns true while this server makes the commits.
    pub(crate) fn leads(&self) -> bool {
        self.leading().is_some()
    }

    /// Host and port of the server that leads, if that is known.
    pub(crate) fn leader(&self) -> Option<String> {
        let leader = self.raft.metrics().borrow().current_leader?;
        self.servers.get(usize::try_from(leader).ok()?.checked_sub(1)?).cloned()
    }

    /// How far this server, and those that it leads, are in the log.
    pub(crate) fn standing(&self) -> Standing {
        let metrics = self.raft.metrics().borrow().clone();
        let last = metrics.last_log_index.unwrap_or_default();
        let index = |log_id: Option<LogId>| log_id.map_or(0, |log_id| log_id.index);
        let followers = metrics.replication.into_iter().flatten();
        let lags = followers.filter_map(|(id, matched)| {
            let other = self.others.get(&id)?;
            Some((other.address().to_owned(), last.saturating_sub(index(matched))))
        });
        Standing {
            leads: self.leads(),
            term: metrics.current_term,
            last,
            applied: index(metrics.last_applied),
            lags: lags.collect(),
        }
    }

    /// Host and port of this server, as the others know it.
    pub(crate) fn address(&self) -> &str {
        self.servers.get((self.own - 1) as usize).map_or("", String::as_str)
    }

    /// Host and port of all servers.
    pub(crate) fn servers(&self) -> Vec<String> {
        self.servers.iter().filter(|address| !address.is_empty()).cloned().collect()
    }

    /// Returns when a majority of the servers has confirmed that this one leads, and its store has all commits
    /// from before this call. For threads that may wait.
    ///
    /// # Errors
    /// [`ErrorKind::Moved`].
    pub(crate) fn confirm(&self) -> Result<()> {
        match self.handle.block_on(newest(&self.raft, &self.store)) {
            Some(_) if self.leads() => Ok(()),
            _ => Err(self.moved()),
        }
    }

    /// Returns true if this server leads, has led without a break since `leading`, and a majority confirms it:
    /// no other one has made commits since then. For threads that may wait.
    pub(crate) fn still_leads(&self, leading: Option<Leading>) -> bool {
        self.confirm().is_ok() && self.leading() == leading
    }

    /// Number of a commit that a state must have to have all that was acknowledged before this call: what the
    /// leader says, once a majority has confirmed it.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] while there is no leader, or none that has a majority.
    pub(crate) async fn newest(&self) -> Result<u64> {
        let none = || Error::new(ErrorKind::Unavailable, "no server can tell the last commit yet");
        let leader = self.raft.metrics().borrow().current_leader;
        match leader.and_then(|leader| self.others.get(&leader)) {
            Some(leader) => leader.newest(WORD).await.map_err(|_| none()),
            None => {
                let asked = newest(&self.raft, &self.store);
                tokio::time::timeout(WORD, asked).await.ok().flatten().ok_or_else(none)
            }
        }
    }

    /// Refuses what only the server that leads may do.
    ///
    /// # Errors
    /// [`ErrorKind::Moved`], with the address of that server.
    pub(crate) fn refuse_unless_leading(&self) -> Result<()> {
        if self.leads() { Ok(()) } else { Err(self.moved()) }
    }

    fn moved(&self) -> Error {
        // Until it knows that it leads, a server that was elected names nobody.
        let leader = self.leader().filter(|leader| leader != self.address());
        let what = match &leader {
            Some(leader) => format!("{leader} makes the commits; ask that server"),
            None => "the servers are electing the one that makes the commits; ask again".to_owned(),
        };
        Error { leader, ..Error::new(ErrorKind::Moved, what) }
    }

    /// Reason why this server has left the others.
    pub(crate) fn failure(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Leaves the others, until the next start.
    pub(crate) fn stop(&self) -> Result<()> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = &runtime {
            // An error says that it has ended before.
            let _ = runtime.block_on(self.raft.shutdown());
        }
        let followed = self.replica.follow();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(WORD);
        }
        Ok(followed?)
    }
}

/// The task of a server beside its calls: the first start, elections, and clearing the log.
pub(super) struct Task {
    pub(super) raft: Raft,
    pub(super) replica: Arc<Replica>,
    pub(super) log: RaftLog,
    /// Bytes of entries above which the log is cleared.
    kept: u64,
    pub(super) store: Arc<PropertyStore>,
    pub(super) own: u64,
    /// All servers, of which those up to number `voters` have the whole graph, vote and can lead.
    pub(super) nodes: BTreeMap<u64, BasicNode>,
    pub(super) voters: u64,
    /// Number of servers in the list, those that were removed among them.
    listed: u64,
    failed: Arc<Mutex<Option<String>>>,
    /// Set when the others may be listened to.
    pub(super) listens: Arc<AtomicBool>,
    pub(super) cancel: CancelToken,
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
        let mut asked = 0;
        loop {
            let now = metrics.borrow_and_update().clone();
            match now.running_state {
                Ok(()) => {}
                Err(openraft::error::Fatal::Stopped) => return Ok(()),
                Err(error) => return Err(storage(error)),
            }
            let term = Leader::new(now.vote.leader_id().term, self.own);
            let elected = now.state.is_leader() && now.vote.leader_id().node_id == self.own;
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
            if let Some(snapshot) = now.snapshot.filter(|snapshot| Some(*snapshot) > now.purged) {
                let _ = self.raft.trigger().purge_log(snapshot.index).await;
            }
            self.take_part_again(now.last_log_index).await?;
            let last = now.last_applied.map_or(0, |log_id| log_id.index);
            if self.log.bytes() > self.kept && last > asked {
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
        let new = self.nodes.range(..=self.voters).map(|(id, _)| *id);
        let new = new.filter(|id| !voters.contains(id)).find(follows);
        let removed = known.iter().find(|id| **id <= self.listed && !self.nodes.contains_key(id));
        let change = if let Some((id, node)) = self.nodes.iter().find(|(id, _)| !known.contains(id))
        {
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
        let proposer = Arc::new(Proposer {
            raft: self.raft.clone(),
            leading,
            leads: self.replica.leads(),
            handle: Handle::current(),
            store: self.store.path().to_path_buf(),
        });
        self.aside(move |replica| replica.lead(leading, proposer)).await?;
        tracing::info!(term = term.term, "leads");
        Ok(())
    }

    pub(super) async fn aside(
        &self,
        work: impl FnOnce(&Replica) -> nakshi_store::Result<()> + Send + 'static,
    ) -> Result<()> {
        let replica = Arc::clone(&self.replica);
        let panicked = |_| Error::new(ErrorKind::Internal, "internal error: a thread panicked");
        Ok(tokio::task::spawn_blocking(move || work(&replica)).await.map_err(panicked)??)
    }
}
