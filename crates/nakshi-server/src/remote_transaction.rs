//! Transactions on a server.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use nakshi_property::Change;
use nakshi_store::files::new_uuid;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use crate::client::Client;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result, of_unknown_outcome};
use crate::parts;
use crate::queries::Queries;
use crate::v1::cypher_reply::Reply as OfCypher;
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply;
use crate::v1::{
    Answer, Begin, Changes, Commit, CypherReply, CypherRequest, QueryRequest, Step, StepReply,
};
use crate::wire;

/// The error of a transaction whose server went away before its commit.
fn lost(error: &Error) -> Error {
    let what = format!(
        "the transaction changed nothing: {}; run it again (transact does that)",
        error.message
    );
    Error::new(ErrorKind::Conflict, what)
}

/// The error of a reply that has no place in the interface.
pub(crate) fn unexpected() -> Error {
    Error::new(ErrorKind::Internal, "the server answered something else than was asked")
}

/// A transaction on a server, which commits if nothing that it has read or written has changed since it
/// began. Its queries see its own changes. Dropped without a commit, it changes nothing.
pub struct RemoteTransaction {
    client: Arc<Client>,
    connection: Arc<Connection>,
    /// Number of the commit whose state it reads.
    begun: u64,
    /// Number of changes that have changed something.
    changed: AtomicU64,
    /// `None` once it has ended.
    running: Mutex<Option<Running>>,
}

/// The call of a transaction.
pub(crate) struct Running {
    steps: mpsc::Sender<Step>,
    pub(crate) replies: Streaming<StepReply>,
}

impl std::fmt::Debug for RemoteTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteTransaction").field("client", &self.client).finish_non_exhaustive()
    }
}

impl Client {
    /// Begins a transaction. One that runs alone lets other commits wait, but at most 100 ms.
    ///
    /// # Errors
    /// As [`Client::commit`].
    pub fn transaction(self: &Arc<Self>, alone: bool) -> Result<RemoteTransaction> {
        self.repeated(|connection| {
            let mut stub = connection.stub.clone();
            let (steps, sent) = mpsc::channel(1);
            // Without a time limit, as the transaction ends when its user ends it.
            let call =
                async move { Ok(stub.transact(ReceiverStream::new(sent)).await?.into_inner()) };
            let replies = self.wait(connection, call)?;
            let mut transaction = RemoteTransaction {
                client: Arc::clone(self),
                connection: Arc::clone(connection),
                begun: 0,
                changed: 0.into(),
                running: Mutex::new(Some(Running { steps, replies })),
            };
            match transaction.step(Kind::Begin(Begin { alone }))? {
                Reply::Begun(begun) => {
                    transaction.begun = begun;
                    Ok(transaction)
                }
                _ => Err(unexpected()),
            }
        })
    }

    /// Number of the commit of a transaction that began after commit number `begun`, whose last step has failed. If
    /// the connection was lost, the client asks the server whether the commit was made.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if it was not made; as [`Client::commit`].
    pub(crate) fn outcome(&self, error: Error, id: &[u8], begun: u64) -> Result<u64> {
        if error.kind != ErrorKind::Unavailable {
            return Err(of_unknown_outcome(error, false));
        }
        match self.resolve(id, begun) {
            Ok(Some(commit)) => Ok(commit),
            Ok(None) => Err(lost(&error)),
            Err(_) => Err(of_unknown_outcome(error, true)),
        }
    }
}

impl RemoteTransaction {
    /// Makes a step and returns its reply; an answer with all its parts. A fault of the way to the server
    /// ends the transaction.
    fn step(&self, kind: Kind) -> Result<Reply> {
        let mut held = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (running, reply) = self.exchange(&mut held, kind)?;
        *held = Some(running);
        reply
    }

    /// Makes the last step. Returns the call as well, as more replies may come.
    pub(crate) fn last_step(&self, kind: Kind) -> Result<(Running, Reply)> {
        let mut held = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (running, reply) = self.exchange(&mut held, kind)?;
        Ok((running, reply?))
    }

    /// Takes the call, and makes a step of it.
    fn exchange(&self, held: &mut Option<Running>, kind: Kind) -> Result<(Running, Result<Reply>)> {
        let ended = || Error::parameter("the transaction has ended; begin another one");
        let mut running = held.take().ok_or_else(ended)?;
        let goes_on = matches!(kind, Kind::Query(_) | Kind::Change(_) | Kind::Cypher(_));
        if self.connection.process != std::process::id() {
            return Err(Error::parameter("the transaction is of the process that began it"));
        }
        let call = async move {
            let gone = || Status::unavailable("the connection was lost");
            let sent = running.steps.send(Step { step: Some(kind) }).await;
            // The reply says why nobody takes the step.
            let mut reply = next(&mut running.replies).await?;
            sent.map_err(|_| gone()).or_else(|status| match &reply {
                Reply::Fault(_) => Ok(()),
                _ => Err(status),
            })?;
            while let Reply::Answer(answer) = &mut reply
                && answer.more
            {
                match next(&mut running.replies).await? {
                    Reply::Answer(part) => parts::join(answer, part),
                    _ => return Err(parts::cut_off()),
                }
            }
            Ok((running, reply))
        };
        let (running, reply) = match self.client.wait(&self.connection, call) {
            Err(error) if error.kind == ErrorKind::Unavailable && goes_on => {
                return Err(lost(&error));
            }
            replied => replied?,
        };
        let reply = match reply {
            Reply::Fault(fault) => match Error::from(fault) {
                // The server ends.
                error if error.kind == ErrorKind::Unavailable && goes_on => Err(lost(&error)),
                error => Err(error),
            },
            reply => Ok(reply),
        };
        Ok((running, reply))
    }

    /// Makes changes that only this transaction sees until it commits. Returns how many changed something.
    ///
    /// # Errors
    /// As [`Transaction::apply`](nakshi_property::Transaction::apply).
    pub fn apply(&self, changes: &[Change]) -> Result<u64> {
        let changes = Changes { changes: wire::changes(changes) };
        match self.step(Kind::Change(changes))? {
            Reply::Changed(changed) => {
                self.changed.fetch_add(changed, Relaxed);
                Ok(changed)
            }
            _ => Err(unexpected()),
        }
    }

    /// Runs a query in Cypher, which sees the changes of the transaction and is part of it. `take` gets its
    /// replies, one after the other, of which a summary or a fault is the last.
    ///
    /// # Errors
    /// Those of the way to the server; those of `take` are the result.
    pub(crate) fn run_cypher<E>(
        &self,
        request: CypherRequest,
        mut take: impl FnMut(CypherReply) -> Result<(), E>,
    ) -> Result<Result<(), E>> {
        let mut held = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut running, mut reply) = self.exchange(&mut held, Kind::Cypher(request))?;
        let ended = loop {
            let told = match reply {
                Ok(Reply::Cypher(told)) => told,
                Ok(Reply::Fault(fault)) => break Err(fault.into()),
                Ok(_) => return Err(unexpected()),
                Err(error) => break Err(error),
            };
            let last = matches!(told.reply, Some(OfCypher::Summary(_) | OfCypher::Fault(_)));
            if matches!(&told.reply, Some(OfCypher::Summary(told)) if told.r#type != "r") {
                self.changed.fetch_add(1, Relaxed);
            }
            let taken = take(told);
            if last {
                break Ok(taken);
            }
            if taken.is_err() {
                // The rest of the replies is not read, and the transaction ends.
                return Ok(taken);
            }
            let more = self.client.wait(&self.connection, next(&mut running.replies));
            reply = Ok(more.map_err(|error| lost(&error))?);
        };
        *held = Some(running);
        ended
    }

    /// Commits. Returns the number of the commit, or of the state that was read if nothing was changed.
    /// If the connection is lost, the client asks the server whether the commit was made.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`], and then nothing is changed; as [`Client::commit`].
    pub fn commit(&self) -> Result<u64> {
        let id = new_uuid().to_vec();
        match self.last_step(Kind::Commit(Commit { id: id.clone(), early: false })) {
            Ok((_, Reply::Committed(commit))) => {
                self.client.seen.fetch_max(commit, Relaxed);
                Ok(commit)
            }
            Ok(_) => Err(unexpected()),
            Err(error) => self.client.outcome(error, &id, self.begun),
        }
    }

    /// Ends the transaction without its changes.
    pub fn roll_back(&self) {
        let mut held = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if held.take().is_some() && self.connection.process == std::process::id() {
            // The end of the call reaches the server now, and not with the next call.
            self.connection.runtime.block_on(tokio::task::yield_now());
        }
    }

    /// Returns true once it was committed or rolled back, or its connection was lost.
    pub fn has_ended(&self) -> bool {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Number of the commit whose state it reads.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Number of changes that have changed something.
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Relaxed)
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The client that began it.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for RemoteTransaction {
    fn drop(&mut self) {
        self.roll_back();
    }
}

impl Queries for RemoteTransaction {
    fn ask(&self, request: QueryRequest) -> Result<Answer> {
        match self.step(Kind::Query(request))? {
            Reply::Answer(answer) => Ok(answer),
            _ => Err(unexpected()),
        }
    }
}

/// The next reply of a transaction.
async fn next(replies: &mut Streaming<StepReply>) -> Result<Reply, Status> {
    let reply = replies.message().await?.and_then(|reply| reply.reply);
    reply.ok_or_else(|| Status::unavailable("the transaction has ended on the server"))
}
