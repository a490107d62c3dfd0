//! A graph on several servers: one log, on which a majority of them agrees (Ongaro and Ousterhout, "In Search
//! of an Understandable Consensus Algorithm", ATC 2014), by openraft.
//!
//! Every server has the log, and a whole copy of the graph. One server at a time leads: it makes all
//! commits, in transactions if clients want, and has each group of them in the log before it writes the group
//! to its store. The others follow: they make the commits of the log in their order. So all stores are the
//! same after the same commit.
//!
//! An entry names the leader that made its commits ([`Proposal::leader`]). Every server refuses an entry that
//! was made under another leader than the one that put it in the log, or that does not follow on the last
//! commit: a server that was deposed, and leads again, cannot slip in what it made before.
//!
//! - `log` keeps the log in a [`Journal`](nakshi_property::Journal)
//! - `proposer` is that log, as the store that leads appends to it
//! - `replicated` is the store, as the log changes it
//! - `line` is what the servers ask of each other
//! - `machine` makes the commits of the log in the store, or lets the leader do so
//! - `member` is a server among the others: it has the store lead or follow
//! - `begin` is the first start of all servers, and the start of one that has lost its log
//! - `network` carries what the servers ask over connections
//! - `group` starts all this
//! - `simulation` runs several servers in one thread, on disks, lines and clocks that fail, for tests

mod begin;
mod group;
mod line;
mod log;
mod machine;
mod member;
mod network;
mod proposer;
mod replicated;
#[cfg(test)]
mod simulation;

pub(crate) use group::Group;
pub use group::GroupOptions;

use std::io::Cursor;
use std::time::Duration;

use bytes::Bytes;
use openraft::{BasicNode, CommittedLeaderId, ErrorSubject, ErrorVerb};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Handle, RuntimeFlavor};

/// The messages between servers, generated from `proto/nakshi/replica/v1/replica.proto`.
#[allow(missing_docs, clippy::all)]
pub(crate) mod v1 {
    tonic::include_proto!("nakshi.replica.v1");
}

openraft::declare_raft_types!(
    /// The types of the log.
    pub(crate) TypeConfig:
        D = Proposal,
        R = Reply,
        NodeId = u64,
        Node = BasicNode,
        SnapshotData = Cursor<Vec<u8>>,
);

/// Directory of the log in that of the store.
const DIR: &str = "servers/log";

/// Interval at which a server asks for the others before its first start, and looks at itself afterwards.
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// Time for a word from another server.
pub(crate) const WORD: Duration = Duration::from_secs(1);

/// A term and its leader.
pub(crate) type Leader = CommittedLeaderId<u64>;
/// A time in which a store leads: the term, and the session.
pub(crate) type Leading = (Leader, u64);
pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Entry = openraft::Entry<TypeConfig>;
pub(crate) type StorageError = openraft::StorageError<u64>;
pub(crate) type Raft = openraft::Raft<TypeConfig>;

/// Commits of a leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proposal {
    /// The leader, when it made them.
    pub(crate) leader: Leader,
    /// Differs for each time at which a server began to lead, which can be twice in a term.
    pub(crate) session: u64,
    /// Number of the first.
    pub(crate) first: u64,
    /// The changes of each, as in the log of a store.
    pub(crate) commits: Vec<Bytes>,
}

impl Proposal {
    /// Number of the last commit.
    fn last(&self) -> u64 {
        (self.first + self.commits.len() as u64).saturating_sub(1)
    }
}

/// The outcome of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// All servers make the commits.
    Made,
    /// No server makes them.
    Refused,
}

/// Runs something that waits for the disk in a thread of its own; where there is one thread for all, in that.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> nakshi_store::Result<T> + Send + 'static,
) -> nakshi_store::Result<T> {
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return work();
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(nakshi_store::Error::Internal("a thread panicked")))
}

/// An error after which the server cannot go on; `failed` says in its log what it cannot do.
fn unable(
    failed: &'static str,
    (subject, verb): (ErrorSubject<u64>, ErrorVerb),
    error: &nakshi_store::Error,
) -> StorageError {
    tracing::error!("{failed}: {error}");
    let error = openraft::AnyError::error(error.to_string());
    openraft::StorageIOError::new(subject, verb, error).into()
}
