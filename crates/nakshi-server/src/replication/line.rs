//! The servers of a graph, as they ask each other.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire};
use std::time::Duration;

use openraft::error::{
    Infallible, InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, BasicNode, Vote};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tonic::{Code, Status};

use super::log::{RaftLog, Snapshot};
use super::replicated::{Part, Replicated};
use super::{Raft, TypeConfig, apart};
use crate::error::Error;

/// Pause before a server that was not reached is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// An answer of openraft on the other side; an error of the way there is a status.
pub(super) type Answered<A, E = Infallible> = Result<Result<A, RaftError<u64, E>>, Status>;

/// How far a server has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Index of the last entry of its log; `None` if it has none.
    pub(super) last: Option<u64>,
    /// Number of the last commit in its store.
    pub(super) commit: u64,
    /// True once it knows that all servers begin.
    pub(super) begun: bool,
    /// True while it does not have again what it has lost.
    pub(super) lost: bool,
    /// Its last vote.
    pub(super) vote: Vote<u64>,
    /// The last snapshot, and the number of the last commit before it.
    pub(super) snapshot: Option<(Snapshot, u64)>,
}

/// A server, as the others ask it.
#[tonic::async_trait]
pub(super) trait Line: Send + Sync + 'static {
    async fn append(
        &self,
        entries: AppendEntriesRequest<TypeConfig>,
    ) -> Answered<AppendEntriesResponse<u64>>;

    async fn vote(&self, request: VoteRequest<u64>) -> Answered<VoteResponse<u64>>;

    async fn install(
        &self,
        snapshot: InstallSnapshotRequest<TypeConfig>,
    ) -> Answered<InstallSnapshotResponse<u64>, InstallSnapshotError>;

    /// How far it has come.
    async fn hello(&self) -> Result<Hello, Status>;

    /// Number of the last commit, once a majority of the servers has confirmed that this one leads and its store
    /// has all that was acknowledged before this call.
    async fn newest(&self) -> Result<u64, Status>;

    /// Sends the commits of its store after number `since`.
    async fn commits(&self, since: u64, parts: mpsc::Sender<Part>) -> Result<(), Status>;
}

/// This server, as the others ask it.
#[derive(Clone)]
pub(super) struct Own {
    pub(super) raft: Raft,
    pub(super) log: RaftLog,
    pub(super) store: Arc<dyn Replicated>,
    /// False until it may listen to the others.
    pub(super) listens: Arc<AtomicBool>,
}

impl Own {
    /// Refuses to listen before it is known that this server has all that it has confirmed.
    fn refuse_before_begin(&self) -> Result<(), Status> {
        match self.listens.load(Acquire) {
            true => Ok(()),
            false => Err(Status::unavailable("this server starts for the first time")),
        }
    }
}

fn refused(error: nakshi_store::Error) -> Status {
    Error::from(error).into()
}

#[tonic::async_trait]
impl Line for Own {
    async fn append(
        &self,
        entries: AppendEntriesRequest<TypeConfig>,
    ) -> Answered<AppendEntriesResponse<u64>> {
        self.refuse_before_begin()?;
        Ok(self.raft.append_entries(entries).await)
    }

    async fn vote(&self, request: VoteRequest<u64>) -> Answered<VoteResponse<u64>> {
        self.refuse_before_begin()?;
        if self.log.lost_before().is_some() {
            return Err(Status::unavailable("this server has lost its votes"));
        }
        Ok(self.raft.vote(request).await)
    }

    async fn install(
        &self,
        snapshot: InstallSnapshotRequest<TypeConfig>,
    ) -> Answered<InstallSnapshotResponse<u64>, InstallSnapshotError> {
        self.refuse_before_begin()?;
        Ok(self.raft.install_snapshot(snapshot).await)
    }

    async fn hello(&self) -> Result<Hello, Status> {
        let metrics = self.raft.metrics().borrow().clone();
        Ok(Hello {
            last: metrics.last_log_index,
            commit: self.store.last_commit(),
            begun: self.log.last_commit().is_some(),
            lost: self.log.lost_before().is_some(),
            vote: metrics.vote,
            snapshot: self.log.snapshot(),
        })
    }

    async fn newest(&self) -> Result<u64, Status> {
        let confirmed = self.raft.ensure_linearizable().await;
        confirmed.map_err(|_| Status::unavailable("this server does not lead"))?;
        Ok(self.store.last_commit())
    }

    async fn commits(&self, since: u64, parts: mpsc::Sender<Part>) -> Result<(), Status> {
        let store = Arc::clone(&self.store);
        let mut commits = apart(move || store.commits(since)).await.map_err(refused)?;
        loop {
            let part;
            (part, commits) = apart(move || Ok((commits()?, commits))).await.map_err(refused)?;
            // The other server has gone if nobody takes it.
            if part.is_empty() || parts.send(part).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Another server.
#[derive(Clone)]
pub(super) struct Other {
    pub(super) number: u64,
    /// Host and port.
    pub(super) address: String,
    pub(super) line: Arc<dyn Line>,
}

/// The other servers, by number.
pub(super) type Others = BTreeMap<u64, Other>;

/// Makes the way to a server from its number, and the address that the log has for it.
type Way = dyn Fn(u64, &str) -> Other + Send + Sync;

/// The ways to the other servers.
#[derive(Clone)]
pub(super) struct Ways(pub(super) Arc<Way>);

impl RaftNetworkFactory<TypeConfig> for Ways {
    type Network = Other;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Other {
        (self.0)(target, &node.addr)
    }
}

/// Waits for an answer for some time.
pub(super) async fn within<A>(
    time: Duration,
    answer: impl Future<Output = Result<A, Status>>,
) -> Result<A, Status> {
    let late = |_| Err(Status::deadline_exceeded("it did not answer in time"));
    tokio::time::timeout(time, answer).await.unwrap_or_else(late)
}

type CallError<E> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Other {
    /// As [`Line::hello`], if it answers in time.
    pub(super) async fn hello(&self, time: Duration) -> Result<Hello, Status> {
        within(time, self.line.hello()).await
    }

    /// As [`Line::newest`], if it answers in time.
    pub(super) async fn newest(&self, time: Duration) -> Result<u64, Status> {
        within(time, self.line.newest()).await
    }

    /// An error of the way to the other server, or of its refusal.
    fn lost<E: std::error::Error>(&self, what: impl Display, code: Code) -> CallError<E> {
        let error = AnyError::error(format!("{}: {what}", self.address));
        match code {
            Code::DeadlineExceeded | Code::Cancelled => {
                RPCError::Network(NetworkError::new(&error))
            }
            _ => RPCError::Unreachable(Unreachable::new(&error)),
        }
    }

    async fn answered<A, E: std::error::Error>(
        &self,
        option: &RPCOption,
        answer: impl Future<Output = Answered<A, E>>,
    ) -> Result<A, CallError<E>> {
        match within(option.hard_ttl(), answer).await {
            Ok(answer) => {
                answer.map_err(|error| RPCError::RemoteError(RemoteError::new(self.number, error)))
            }
            Err(status) => {
                tracing::debug!(address = self.address, "a server was not reached: {status}");
                Err(self.lost(status.message(), status.code()))
            }
        }
    }
}

impl RaftNetwork<TypeConfig> for Other {
    async fn append_entries(
        &mut self,
        entries: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError<Infallible>> {
        self.answered(&option, self.line.append(entries)).await
    }

    async fn install_snapshot(
        &mut self,
        snapshot: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, CallError<InstallSnapshotError>> {
        self.answered(&option, self.line.install(snapshot)).await
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        option: RPCOption,
    ) -> Result<VoteResponse<u64>, CallError<Infallible>> {
        self.answered(&option, self.line.vote(request)).await
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(PAUSE))
    }
}
