//! Commits that are made, and durable soon, from the side of the client.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi_property::Change;
use nakshi_store::files::new_uuid;

use crate::client::Client;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::in_flight::{InFlight, Pending, Told};
use crate::remote_transaction::{RemoteTransaction, Running, unexpected};
use crate::v1::step::Step as Kind;
use crate::v1::step_reply::Reply;
use crate::v1::{Commit, CommitReply, StepReply};

/// A commit of a server that may not be durable yet; see [`Client::commit_async`].
pub struct RemoteCommit {
    client: Arc<Client>,
    known: Mutex<CommitReply>,
    way: Way,
}

/// The way to learn that a commit is durable.
enum Way {
    Pending(Arc<InFlight>, Arc<Pending>),
    Transaction(Box<Ending>),
    Known,
}

/// The end of a transaction.
struct Ending {
    connection: Arc<Connection>,
    id: Vec<u8>,
    begun: u64,
    state: Mutex<Ended>,
}

enum Ended {
    /// The server has not told yet.
    NotYet(Running),
    Durable,
    Failed(Error),
}

impl std::fmt::Debug for RemoteCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteCommit").field("known", &self.known()).finish_non_exhaustive()
    }
}

impl Client {
    /// Makes changes as one commit, and returns before it is durable. The server makes it durable soon, whether
    /// anybody waits or not, and after the commits that this client has submitted before;
    /// [`RemoteCommit::wait`] waits for that.
    ///
    /// If the server is lost before, this and later calls send the commit once more, before any other one. It is
    /// still made once.
    ///
    /// # Errors
    /// As [`Client::commit`].
    pub fn commit_async(self: &Arc<Self>, changes: &[Change]) -> Result<RemoteCommit> {
        let (flight, request) = (self.in_flight(), self.commit_request(changes));
        let pending = flight.add(request.clone());
        let (known, way) = match self.until(&flight, &pending, false) {
            Ok(reply) => (reply, Way::Pending(flight, pending)),
            // A server of an older version makes commits durable at once.
            Err(error) if error.kind == ErrorKind::Unsupported => {
                (self.make(&request)?, Way::Known)
            }
            Err(error) => {
                flight.forget(&pending);
                return Err(error);
            }
        };
        Ok(RemoteCommit { client: Arc::clone(self), known: Mutex::new(known), way })
    }

    /// Waits until all commits of [`Client::commit_async`] are durable, or have failed.
    pub fn finish(&self) {
        let flight = self.in_flight();
        for pending in flight.unfinished() {
            let durable = self.until(&flight, &pending, true);
            if matches!(&durable, Err(error) if is_passing(error)) {
                return;
            }
        }
    }
}

/// Returns true for an error of the wait, and not of the commit.
fn is_passing(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Deadline)
}

impl RemoteTransaction {
    /// As [`RemoteTransaction::commit`], but returns before the commit is durable; see
    /// [`Client::commit_async`].
    ///
    /// # Errors
    /// As [`RemoteTransaction::commit`].
    pub fn commit_async(&self) -> Result<RemoteCommit> {
        let id = new_uuid().to_vec();
        let ended = self.last_step(Kind::Commit(Commit { id: id.clone(), early: true }));
        let client = Arc::clone(self.client());
        let changed = Some(self.changed());
        let (commit, way) = match ended {
            Ok((running, Reply::Committed(commit))) => {
                let state = Mutex::new(Ended::NotYet(running));
                let connection = Arc::clone(self.connection());
                let ending = Ending { connection, id, begun: self.begun(), state };
                (commit, Way::Transaction(Box::new(ending)))
            }
            Ok(_) => return Err(unexpected()),
            Err(error) => (client.outcome(error, &id, self.begun())?, Way::Known),
        };
        Ok(RemoteCommit { client, known: Mutex::new(CommitReply { changed, commit }), way })
    }
}

impl RemoteCommit {
    fn known(&self) -> MutexGuard<'_, CommitReply> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of the commit. It is another one later if its server was lost, and the commit made again.
    pub fn number(&self) -> u64 {
        self.known().commit
    }

    /// Number of its changes that changed something; `None` if its server was lost after it had made several.
    pub fn changed(&self) -> Option<u64> {
        self.known().changed
    }

    /// Returns when the commit is durable.
    ///
    /// # Errors
    /// As [`Client::commit`]. The commit of a transaction whose server was lost before is a
    /// [`ErrorKind::Conflict`]: it changed nothing. After [`ErrorKind::Deadline`], it can be waited for again.
    pub fn wait(&self) -> Result<()> {
        match &self.way {
            Way::Known => Ok(()),
            Way::Pending(flight, pending) => {
                if !flight.is_ours() {
                    return Err(foreign());
                }
                let reply = self.client.until(flight, pending, true)?;
                self.became(reply);
                Ok(())
            }
            Way::Transaction(ending) => {
                if ending.connection.process != std::process::id() {
                    return Err(foreign());
                }
                let mut state = ending.state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Ended::NotYet(running) = &mut *state {
                    let told = self.client.wait(&ending.connection, running.replies.message());
                    if matches!(&told, Err(error) if is_passing(error)) {
                        return told.map(drop);
                    }
                    *state = self.ended(ending, told);
                }
                match &*state {
                    Ended::Failed(error) => Err(error.clone()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Returns true if the commit is durable, without waiting for the server.
    pub fn is_durable(&self) -> bool {
        match &self.way {
            Way::Known => true,
            Way::Pending(flight, pending) => {
                let mut told = pending.watch();
                if flight.is_ours() && !told.borrow().is_last() {
                    let connection = self.client.connection().map(|one| flight.connection(&one));
                    if let Ok(connection) = connection {
                        connection.look(told.wait_for(Told::is_last));
                    }
                }
                let Told::Durable(reply) = &*told.borrow() else { return false };
                self.became(*reply);
                true
            }
            Way::Transaction(ending) => {
                let Ok(mut state) = ending.state.try_lock() else { return false };
                if let Ended::NotYet(running) = &mut *state {
                    let ours = ending.connection.process == std::process::id();
                    let told =
                        ours.then(|| ending.connection.look(running.replies.message())).flatten();
                    match told {
                        Some(Ok(told)) => *state = self.ended(ending, Ok(told)),
                        // `wait` asks the server again.
                        Some(Err(_)) | None => return false,
                    }
                }
                matches!(&*state, Ended::Durable)
            }
        }
    }

    /// Notes that it is durable.
    fn became(&self, reply: CommitReply) {
        self.client.seen.fetch_max(reply.commit, Relaxed);
        *self.known() = reply;
    }

    /// The end of a transaction, by the last reply to it.
    fn ended(&self, ending: &Ending, told: Result<Option<StepReply>>) -> Ended {
        let error = match told.map(|reply| reply.and_then(|reply| reply.reply)) {
            // A server of an older version has told that before.
            Ok(Some(Reply::Durable(_)) | None) => None,
            Ok(Some(Reply::Fault(fault))) => Some(Error::from(fault)),
            Ok(Some(_)) => Some(unexpected()),
            Err(error) => Some(error),
        };
        let commit = match error {
            None => Ok(self.number()),
            Some(error) => self.client.outcome(error, &ending.id, ending.begun),
        };
        match commit {
            Ok(commit) => {
                self.became(CommitReply { commit, changed: self.changed() });
                Ended::Durable
            }
            Err(error) => Ended::Failed(error),
        }
    }
}

fn foreign() -> Error {
    Error::parameter("the commit is of the process that made it")
}
