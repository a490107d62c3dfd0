//! This server among those of its graph.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::PropertyStore;
use nakshi_store::files::{parse_uuid, with_newest};
use openraft::BasicNode;
use tokio::runtime::{Handle, Runtime};

use super::line::{Line, Ways};
use super::log::RaftLog;
use super::member::{Member, Seat, settings};
use super::network::{Network, ReplicaService};
use super::replicated::Served;
use super::{DIR, Leading, LogId, WORD};
use crate::channel::Peers;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::KeptStates;
use crate::metrics::Standing;
use crate::placement::Placement;

/// Pause before the leader is looked for once more.
const AGAIN: Duration = Duration::from_millis(50);
/// Bytes that a message takes besides a single commit: other entries, and their heads.
const MESSAGE: usize = 32 << 20;

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
    member: Member,
    number: u64,
    servers: Vec<String>,
    service: ReplicaService,
    /// Most bytes of a message from another server.
    pub(crate) message_bytes: usize,
}

impl std::fmt::Debug for Group {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Group");
        shown.field("servers", &self.servers).field("number", &self.number).finish_non_exhaustive()
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
        let (number, nodes) = options.nodes()?;
        store.replicate();
        store.start_writing(cancel)?;
        let (log, graph) = open_log(store, cancel)?;
        let network = Network {
            peers: Peers { ca: options.ca.clone(), token },
            addresses: servers.clone().into(),
            graph: Arc::clone(&graph),
            message_bytes: request_bytes.saturating_mul(2).saturating_add(MESSAGE),
        };
        let (message_bytes, runtime) = (network.message_bytes, runtime()?);
        let voters = options.whole() as u64;
        let kept = (number > voters).then(|| Arc::clone(kept));
        if let Some(kept) = &kept {
            kept.remember(store.snapshot());
        }
        let seat = Seat {
            number,
            nodes,
            voters,
            listed: servers.len() as u64,
            kept_bytes: options.kept_bytes,
            config: settings(log.lost_before().is_some()),
            log,
            store: Arc::new(Served { store: Arc::clone(store), kept, cancel: cancel.clone() }),
            ways: Ways(Arc::new(move |number, known| network.way(number, known))),
            cancel: cancel.clone(),
        };
        let member = runtime.block_on(Member::begin(seat))?;
        let service = ReplicaService { own: member.own.clone(), graph };
        let handle = runtime.handle().clone();
        let runtime = Mutex::new(Some(runtime));
        Ok(Group { runtime, handle, member, number, servers, service, message_bytes })
    }

    /// The calls of the other servers.
    pub(crate) fn service(&self) -> ReplicaService {
        self.service.clone()
    }

    /// When this server makes the commits, if it does.
    pub(crate) fn leading(&self) -> Option<Leading> {
        self.member.leading()
    }

    /// Returns true once this server takes part: at the very first start it waits for all others.
    pub(crate) fn takes_part(&self) -> bool {
        self.member.takes_part()
    }

    /// Returns true while this server makes the commits.
    pub(crate) fn leads(&self) -> bool {
        self.leading().is_some()
    }

    /// Host and port of the server that leads, if that is known.
    pub(crate) fn leader(&self) -> Option<String> {
        let leader = self.member.leader()?;
        self.servers.get(usize::try_from(leader).ok()?.checked_sub(1)?).cloned()
    }

    /// How far this server, and those that it leads, are in the log.
    pub(crate) fn standing(&self) -> Standing {
        let metrics = self.member.raft.metrics().borrow().clone();
        let last = metrics.last_log_index.unwrap_or_default();
        let index = |log_id: Option<LogId>| log_id.map_or(0, |log_id| log_id.index);
        let followers = metrics.replication.into_iter().flatten();
        let lags = followers.filter_map(|(id, matched)| {
            let other = self.member.others.get(&id)?;
            Some((other.address.clone(), last.saturating_sub(index(matched))))
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
        self.servers.get((self.number - 1) as usize).map_or("", String::as_str)
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
        match self.handle.block_on(self.member.own.newest()) {
            Ok(_) if self.leads() => Ok(()),
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
        self.member.newest().await
    }

    /// As [`Group::newest`], for threads that may wait: asks again for some time while there is no leader.
    ///
    /// # Errors
    /// As [`Group::newest`].
    pub(crate) fn newest_within(&self, time: Duration) -> Result<u64> {
        let began = Instant::now();
        self.handle.block_on(async {
            loop {
                match self.newest().await {
                    Err(_) if began.elapsed() < time => tokio::time::sleep(AGAIN).await,
                    found => return found,
                }
            }
        })
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
        self.member.failure()
    }

    /// Leaves the others, until the next start.
    pub(crate) fn stop(&self) -> Result<()> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = &runtime {
            // An error says that it has ended before.
            let _ = runtime.block_on(self.member.raft.shutdown());
        }
        let followed = self.member.replica.follow();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(WORD);
        }
        Ok(followed?)
    }
}
