//! Calls between the servers of a graph, over gRPC.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use openraft::error::InstallSnapshotError;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::TypeConfig;
use super::line::{Answered, Hello, Line, Other, Own};
use super::replicated::Part;
use super::v1::Envelope;
use super::v1::replica_client::ReplicaClient;
use super::v1::replica_server::Replica as Calls;
use crate::channel::{Bearer, Peers};

/// Version of the messages.
const VERSION: u32 = 1;
/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(1);
/// Interval at which a server that does not answer is asked whether it lives, and the time for its word: a
/// host that is gone answers nothing, not even that a connection is closed.
pub(super) const WATCHED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(2));

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

/// The answers of this server to the other ones.
#[derive(Clone)]
pub(crate) struct ReplicaService {
    pub(super) own: Own,
    pub(super) graph: Arc<[u8]>,
}

impl ReplicaService {
    async fn answer<Q, A, F>(
        self,
        request: Request<Envelope>,
        work: impl FnOnce(Own, Q) -> F,
    ) -> Result<Response<Envelope>, Status>
    where
        Q: DeserializeOwned,
        A: Serialize,
        F: Future<Output = Result<A, Status>>,
    {
        let question = opened(&self.graph, request.get_ref())?;
        sealed(&self.graph, &work(self.own, question).await?).map(Response::new)
    }
}

#[tonic::async_trait]
impl Calls for ReplicaService {
    async fn append(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.clone().answer(request, |own, entries| async move { own.append(entries).await }).await
    }

    async fn vote(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.clone().answer(request, |own, vote| async move { own.vote(vote).await }).await
    }

    async fn snapshot(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.clone().answer(request, |own, upto| async move { own.install(upto).await }).await
    }

    type CommitsStream = ReceiverStream<Result<Envelope, Status>>;

    async fn commits(
        &self,
        request: Request<Envelope>,
    ) -> Result<Response<Self::CommitsStream>, Status> {
        let since: u64 = opened(&self.graph, request.get_ref())?;
        let (send, envelopes) = mpsc::channel(1);
        let (graph, own) = (Arc::clone(&self.graph), self.own.clone());
        tokio::spawn(async move {
            let (taken, mut parts) = mpsc::channel::<Part>(1);
            let forward = async {
                while let Some(part) = parts.recv().await {
                    if send.send(sealed(&graph, &part)).await.is_err() {
                        break;
                    }
                }
                drop(parts);
            };
            let (read, ()) = tokio::join!(own.commits(since, taken), forward);
            if let Err(status) = read {
                let _ = send.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(envelopes)))
    }

    async fn newest(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.clone().answer(request, |own, (): ()| async move { own.newest().await }).await
    }

    async fn hello(&self, request: Request<Envelope>) -> Result<Response<Envelope>, Status> {
        self.clone().answer(request, |own, (): ()| async move { own.hello().await }).await
    }
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

impl Network {
    /// The way to another server. The log has the address with which it came; that of the list is newer.
    pub(super) fn way(&self, number: u64, known: &str) -> Other {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let address = place.and_then(|place| self.addresses.get(place));
        let address = address.map_or(known, String::as_str).to_owned();
        let stub = self.peers.channel(&address, CONNECT, Some(WATCHED)).map(|(channel, token)| {
            ReplicaClient::with_interceptor(channel, token)
                .max_decoding_message_size(self.message_bytes)
                .max_encoding_message_size(usize::MAX)
        });
        let stub = stub.map_err(|error| error.message);
        let line = Arc::new(Peer { stub, graph: Arc::clone(&self.graph) });
        Other { number, address, line }
    }
}

/// Another server, over a connection.
struct Peer {
    stub: Result<Stub, String>,
    graph: Arc<[u8]>,
}

impl Peer {
    async fn ask<Q, A, F>(
        &self,
        question: Q,
        send: impl FnOnce(Stub, Envelope) -> F,
    ) -> Result<A, Status>
    where
        Q: Serialize,
        A: DeserializeOwned,
        F: Future<Output = Result<Response<Envelope>, Status>>,
    {
        let stub = self.stub.clone().map_err(Status::unavailable)?;
        let question = sealed(&self.graph, &question)?;
        opened(&self.graph, send(stub, question).await?.get_ref())
    }
}

#[tonic::async_trait]
impl Line for Peer {
    async fn append(
        &self,
        entries: AppendEntriesRequest<TypeConfig>,
    ) -> Answered<AppendEntriesResponse<u64>> {
        self.ask(entries, |mut stub, entries| async move { stub.append(entries).await }).await
    }

    async fn vote(&self, request: VoteRequest<u64>) -> Answered<VoteResponse<u64>> {
        self.ask(request, |mut stub, request| async move { stub.vote(request).await }).await
    }

    async fn install(
        &self,
        snapshot: InstallSnapshotRequest<TypeConfig>,
    ) -> Answered<InstallSnapshotResponse<u64>, InstallSnapshotError> {
        self.ask(snapshot, |mut stub, upto| async move { stub.snapshot(upto).await }).await
    }

    async fn hello(&self) -> Result<Hello, Status> {
        self.ask((), |mut stub, request| async move { stub.hello(request).await }).await
    }

    async fn newest(&self) -> Result<u64, Status> {
        self.ask((), |mut stub, request| async move { stub.newest(request).await }).await
    }

    async fn commits(&self, since: u64, parts: mpsc::Sender<Part>) -> Result<(), Status> {
        let mut stub = self.stub.clone().map_err(Status::unavailable)?;
        let mut sent = stub.commits(sealed(&self.graph, &since)?).await?.into_inner();
        while let Some(part) = sent.message().await? {
            if parts.send(opened(&self.graph, &part)?).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}
