//! Calls between the servers of a graph.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{LogEntries, PropertyStore};
use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{AnyError, BasicNode, Vote};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use super::log::{RaftLog, Snapshot};
use super::v1::Envelope;
use super::v1::replica_client::ReplicaClient;
use super::v1::replica_server::Replica as Calls;
use super::{Raft, TypeConfig};
use crate::channel::{Bearer, Peers};
use crate::error::Error;

/// Version of the messages.
const VERSION: u32 = 1;
/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(1);
/// Pause before a server that was not reached is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// Commits with their numbers.
type Part = Vec<(u64, Vec<u8>)>;
type Stub = ReplicaClient<InterceptedService<Channel, Bearer>>;

fn sealed<T: Serialize>(graph: &[u8], message: &T) -> Result<Envelope, Status> {
    let message = postcard::to_allocvec(message);
    let message =
        message.map_err(|error| Status::internal(format!("it does not encode: {error}")))?;
    Ok(Envelope { graph: graph.to_vec(), version: VERSION, message })
}

fn opened<T: DeserializeOwned>(graph: &[u8], envelope: &Envelope) -> Result<T, Status> {
    if envelope.graph != graph {
        return Err(Status::failed_precondition(
            "this server has another graph; the stores of all servers must be copies of one store",
        ));
    }
    if envelope.version != VERSION {
        return Err(Status::failed_precondition(format!(
            "the servers have versions that do not understand each other ({} and {VERSION})",
            envelope.version
        )));
    }
    postcard::from_bytes(&envelope.message)
        .map_err(|error| Status::invalid_argument(format!("it does not decode: {error}")))
}

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

/// The answers of this server to the other ones.
#[derive(Clone)]
pub(crate) struct ReplicaService {
    pub(super) raft: Raft,
    pub(super) log: RaftLog,
    pub(super) graph: Arc<[u8]>,
    pub(super) store: Arc<PropertyStore>,
    /// False until the server may listen to the others.
    pub(super) listens: Arc<AtomicBool>,
}

impl ReplicaService {
    /// Refuses to listen before it is known that this server has all that it has confirmed.
    fn refuse_before_begin(&self) -> Result<(), Status> {
        match self.listens.load(Acquire) {
            true => Ok(()),
            false => Err(Status::unavailable("this server starts for the first time")),
        }
    }

    async fn answer<Q, F>(
        self,
        request: Request<Envelope>,
        work: impl FnOnce(Raft, Q) -> F,
    ) -> Result<Response<Envelope>, Status>
    where
        Q: DeserializeOwned,
        F: Future<Output: Serialize>,
    {
        let question = opened(&self.graph, request.get_ref())?;
        sealed(&self.graph, &work(self.raft, question).await).map(Response::new)
    }
}

#[tonic::async_trait]
impl Calls for ReplicaService {
    async fn append(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.refuse_before_begin()?;
        let work = |raft: Raft, question| async move { raft.append_entries(question).await };
        self.clone().answer::<AppendEntriesRequest<TypeConfig>, _>(request, work).await
    }

    async fn vote(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.refuse_before_begin()?;
        if self.log.lost_before().is_some() {
            return Err(Status::unavailable("this server has lost its votes"));
        }
        let work = |raft: Raft, question| async move { raft.vote(question).await };
        self.clone().answer::<VoteRequest<u64>, _>(request, work).await
    }

    async fn snapshot(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.refuse_before_begin()?;
        let work = |raft: Raft, question| async move { raft.install_snapshot(question).await };
        self.clone().answer::<InstallSnapshotRequest<TypeConfig>, _>(request, work).await
    }

    type CommitsStream = ReceiverStream<Result<Envelope, Status>>;

    async fn commits(
        &self,
        request: Request<Envelope>,
    ) -> Result<Response<Self::CommitsStream>, Status> {
        let since: u64 = opened(&self.graph, request.get_ref())?;
        let (send, parts) = mpsc::channel(1);
        let (graph, store) = (Arc::clone(&self.graph), Arc::clone(&self.store));
        tokio::task::spawn_blocking(move || {
            let cancel = CancelToken::new();
            let read = || {
                let mut entries = LogEntries::open(store.path(), Some(since), &cancel)?;
                loop {
                    let part: Part = entries.next_encoded(&cancel)?;
                    // The other server has gone if nobody takes it.
                    if part.is_empty() || send.blocking_send(sealed(&graph, &part)).is_err() {
                        return Ok(());
                    }
                }
            };
            if let Err(error) = read() {
                let error: nakshi_store::Error = error;
                let _ = send.blocking_send(Err(Error::from(error).into()));
            }
        });
        Ok(Response::new(ReceiverStream::new(parts)))
    }

    async fn newest(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        let newest = newest(&self.raft, &self.store).await;
        let newest = newest.ok_or_else(|| Status::unavailable("this server does not lead"))?;
        self.clone().answer(request, |_, (): ()| async move { newest }).await
    }

    async fn hello(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        let metrics = self.raft.metrics().borrow().clone();
        let hello = Hello {
            last: metrics.last_log_index,
            commit: self.store.last_commit(),
            begun: self.log.last_commit().is_some(),
            lost: self.log.lost_before().is_some(),
            vote: metrics.vote,
            snapshot: self.log.snapshot(),
        };
        self.clone().answer(request, |_, (): ()| async move { hello }).await
    }
}

/// Number of the last commit, once a majority of the servers has confirmed that this one leads and its store
/// has all that was acknowledged before this call; `None` if they have not.
pub(super) async fn newest(raft: &Raft, store: &PropertyStore) -> Option<u64> {
    raft.ensure_linearizable().await.is_ok().then(|| store.last_commit())
}

/// Makes the connections to the other servers.
#[derive(Clone)]
pub(super) struct Network {
    pub(super) peers: Peers,
    /// Host and port of each server, of which the first has number 1.
    pub(super) addresses: Arc<[String]>,
    pub(super) graph: Arc<[u8]>,
    /// Most bytes of a message.
    pub(super) message_bytes: usize,
}

impl RaftNetworkFactory<TypeConfig> for Network {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        // The log has the addresses with which servers came; those of the list are newer.
        self.peer(target, &node.addr)
    }
}

impl Network {
    /// The way to another server, at `other` if the list does not have it.
    pub(super) fn peer(&self, target: u64, other: &str) -> Peer {
        let place = usize::try_from(target).ok().and_then(|number| number.checked_sub(1));
        let address = place.and_then(|place| self.addresses.get(place));
        let address = address.map_or(other, String::as_str).to_owned();
        let stub = self.peers.channel(&address, CONNECT, None).map(|(channel, token)| {
            ReplicaClient::with_interceptor(channel, token)
                .max_decoding_message_size(self.message_bytes)
                .max_encoding_message_size(usize::MAX)
        });
        let stub = stub.map_err(|error| error.message);
        Peer { target, address, stub, graph: Arc::clone(&self.graph) }
    }
}

/// The ways to the other servers, by number.
pub(super) type Others = BTreeMap<u64, Peer>;

/// The way to another server.
pub(super) struct Peer {
    target: u64,
    address: String,
    stub: Result<Stub, String>,
    graph: Arc<[u8]>,
}

type CallError<E> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Peer {
    /// Host and port of the other server.
    pub(super) fn address(&self) -> &str {
        &self.address
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

    async fn ask<Q, A, F>(
        &self,
        question: Q,
        time: Duration,
        send: impl FnOnce(Stub, Request<Envelope>) -> F,
    ) -> Result<A, Status>
    where
        Q: Serialize,
        A: DeserializeOwned,
        F: Future<Output = Result<Response<Envelope>, Status>>,
    {
        let stub = self.stub.clone().map_err(Status::unavailable)?;
        let mut request = Request::new(sealed(&self.graph, &question)?);
        request.set_timeout(time);
        opened(&self.graph, send(stub, request).await?.get_ref())
    }

    /// How far the other server has come.
    pub(super) async fn hello(&self, time: Duration) -> Result<Hello, Status> {
        self.ask((), time, |mut stub, request| async move { stub.hello(request).await }).await
    }

    /// As [`newest`], by the other server.
    pub(super) async fn newest(&self, time: Duration) -> Result<u64, Status> {
        self.ask((), time, |mut stub, request| async move { stub.newest(request).await }).await
    }

    /// Hands the commits of the other server after number `since` to `f`.
    pub(super) async fn commits(
        &self,
        since: u64,
        mut f: impl FnMut(u64, &[u8]) -> nakshi_store::Result<()>,
    ) -> Result<(), Error> {
        let mut stub = self.stub.clone().map_err(Status::unavailable)?;
        let mut parts = stub.commits(sealed(&self.graph, &since)?).await?.into_inner();
        while let Some(part) = parts.message().await? {
            let part: Part = opened(&self.graph, &part)?;
            part.iter().try_for_each(|(commit, changes)| f(*commit, changes))?;
        }
        Ok(())
    }

    async fn call<Q, A, E, F>(
        &self,
        question: Q,
        option: &RPCOption,
        send: impl FnOnce(Stub, Request<Envelope>) -> F,
    ) -> Result<A, CallError<E>>
    where
        Q: Serialize,
        A: DeserializeOwned,
        E: std::error::Error + DeserializeOwned,
        F: Future<Output = Result<Response<Envelope>, Status>>,
    {
        let answered: Result<Result<A, RaftError<u64, E>>, Status> =
            self.ask(question, option.hard_ttl(), send).await;
        match answered {
            Ok(answer) => {
                answer.map_err(|error| RPCError::RemoteError(RemoteError::new(self.target, error)))
            }
            Err(status) => {
                tracing::debug!(address = self.address, "a server was not reached: {status}");
                Err(self.lost(status.message(), status.code()))
            }
        }
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        question: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, CallError<openraft::error::Infallible>> {
        self.call(question, &option, |mut stub, request| async move { stub.append(request).await })
            .await
    }

    async fn install_snapshot(
        &mut self,
        question: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, CallError<InstallSnapshotError>> {
        self.call(
            question,
            &option,
            |mut stub, request| async move { stub.snapshot(request).await },
        )
        .await
    }

    async fn vote(
        &mut self,
        question: VoteRequest<u64>,
        option: RPCOption,
    ) -> Result<VoteResponse<u64>, CallError<openraft::error::Infallible>> {
        self.call(question, &option, |mut stub, request| async move { stub.vote(request).await })
            .await
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(PAUSE))
    }
}
