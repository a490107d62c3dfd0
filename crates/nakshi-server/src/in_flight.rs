//! Commits of a client that may not be durable yet, and the call that makes them.
//!
//! The requests of one call reach one process of a server, in their order. If the call is lost, the next one
//! first sends all commits again that have no last reply, in the same order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use crate::connection::{Connection, Stub};
use crate::error::{Error, ErrorKind, of_unknown_outcome};
use crate::v1::commit_async_reply::Reply;
use crate::v1::{CommitAsyncReply, CommitReply, CommitRequest};

/// The last word about a commit.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Nothing,
    Made(CommitReply),
    Durable(CommitReply),
    /// It was not made, or nobody knows.
    Failed(Error),
    /// The call has ended before, for this reason.
    Lost(Status),
}

impl Told {
    /// Returns true if nothing more comes from the present call.
    pub(crate) fn is_last(&self) -> bool {
        !matches!(self, Told::Nothing | Told::Made(_))
    }
}

/// A commit that may not be durable yet.
pub(crate) struct Pending {
    request: CommitRequest,
    /// Its number within the present call.
    place: AtomicU64,
    sent: AtomicBool,
    /// True if it may have been made, whatever the next error says.
    uncertain: AtomicBool,
    told: watch::Sender<Told>,
}

impl Pending {
    /// The words about it from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<Told> {
        self.told.subscribe()
    }

    fn fail(&self, error: Error) {
        let error = of_unknown_outcome(error, self.uncertain.load(Relaxed));
        self.told.send_replace(Told::Failed(error));
    }
}

struct Call {
    connection: Arc<Connection>,
    requests: mpsc::UnboundedSender<CommitRequest>,
    /// Number of requests so far.
    sent: u64,
}

impl Call {
    fn send(&mut self, pending: &Pending) {
        let again = pending.sent.swap(true, Relaxed);
        pending.uncertain.fetch_or(again, Relaxed);
        pending.place.store(self.sent, Relaxed);
        pending.told.send_replace(Told::Nothing);
        self.sent += 1;
        // A call that has ended tells that, and the next one sends it again.
        let _ = self.requests.send(CommitRequest { again, ..pending.request.clone() });
    }
}

#[derive(Default)]
struct Flying {
    /// Is there only while there are commits in flight, as it counts among the calls of the server.
    call: Option<Call>,
    /// Number of calls so far.
    calls: u64,
    /// In the order of their requests.
    unfinished: VecDeque<Arc<Pending>>,
}

/// The commits of one process in flight.
pub(crate) struct InFlight {
    process: u32,
    flying: Mutex<Flying>,
}

impl InFlight {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(InFlight { process: std::process::id(), flying: Mutex::default() })
    }

    fn flying(&self) -> MutexGuard<'_, Flying> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// The commits that are not durable, in the order of their requests.
    pub(crate) fn unfinished(&self) -> Vec<Arc<Pending>> {
        self.flying().unfinished.iter().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.flying().unfinished.is_empty()
    }

    /// Adds a commit after all others, and sends it if there is a call.
    pub(crate) fn add(&self, request: CommitRequest) -> Arc<Pending> {
        let pending = Arc::new(Pending {
            request,
            place: 0.into(),
            sent: false.into(),
            uncertain: false.into(),
            told: watch::Sender::new(Told::Nothing),
        });
        let mut flying = self.flying();
        if let Some(call) = &mut flying.call {
            call.send(&pending);
        }
        flying.unfinished.push_back(Arc::clone(&pending));
        pending
    }

    /// The connection of the present call. Without a call, one begins on `connection`, and sends all that is
    /// unfinished.
    pub(crate) fn connection(self: &Arc<Self>, connection: &Arc<Connection>) -> Arc<Connection> {
        let mut flying = self.flying();
        if let Some(call) = &flying.call {
            return Arc::clone(&call.connection);
        }
        if !flying.unfinished.is_empty() {
            let (requests, sent) = mpsc::unbounded_channel();
            let mut call = Call { connection: Arc::clone(connection), requests, sent: 0 };
            flying.unfinished.iter().for_each(|pending| call.send(pending));
            flying.call = Some(call);
            flying.calls += 1;
            let (me, number) = (Arc::downgrade(self), flying.calls);
            let stub = connection.stub.clone();
            connection.runtime.spawn(async move {
                let reason = replies(&me, number, stub, sent).await;
                if let Some(me) = me.upgrade() {
                    me.lose(number, &reason);
                }
            });
        }
        Arc::clone(connection)
    }

    /// Notes a reply to call `number`.
    fn note(&self, number: u64, reply: CommitAsyncReply) {
        let mut flying = self.flying();
        if flying.calls != number || flying.call.is_none() {
            return;
        }
        let found =
            flying.unfinished.binary_search_by_key(&reply.request, |one| one.place.load(Relaxed));
        let (Ok(at), Some(told)) = (found, reply.reply) else { return };
        if let Reply::Made(made) = told {
            flying.unfinished[at].uncertain.store(true, Relaxed);
            flying.unfinished[at].told.send_replace(Told::Made(made));
            return;
        }
        let Some(pending) = flying.unfinished.remove(at) else { return };
        match told {
            Reply::Fault(fault) => pending.fail(Error::from(fault)),
            Reply::Durable(reply) | Reply::Made(reply) => {
                pending.told.send_replace(Told::Durable(reply));
            }
        }
        flying.end_if_empty();
    }

    /// Notes that call `number` has ended.
    fn lose(&self, number: u64, reason: &Status) {
        let mut flying = self.flying();
        if flying.calls == number {
            flying.call = None;
            for pending in &flying.unfinished {
                pending.told.send_replace(Told::Lost(reason.clone()));
            }
        }
    }

    /// Gives up a commit, and all others that have no call, if no server can be reached.
    pub(crate) fn give_up(&self, given_up: &Arc<Pending>, error: &Error) {
        let mut flying = self.flying();
        let away = flying.call.is_none()
            && matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Moved);
        flying.unfinished.retain(|pending| {
            let stays = !away && !Arc::ptr_eq(pending, given_up);
            if !stays {
                pending.fail(error.clone());
            }
            stays
        });
        flying.end_if_empty();
    }

    /// Leaves a commit alone: it is not sent again.
    pub(crate) fn forget(&self, pending: &Arc<Pending>) {
        let mut flying = self.flying();
        flying.unfinished.retain(|one| !Arc::ptr_eq(one, pending));
        flying.end_if_empty();
    }
}

impl Flying {
    fn end_if_empty(&mut self) {
        if self.unfinished.is_empty() {
            self.call = None;
        }
    }
}

/// Makes call `number`, and notes its replies. Returns why it has ended.
async fn replies(
    flight: &Weak<InFlight>,
    number: u64,
    mut stub: Stub,
    sent: mpsc::UnboundedReceiver<CommitRequest>,
) -> Status {
    // Without a time limit: those who wait have one.
    let mut replies = match stub.commit_async(UnboundedReceiverStream::new(sent)).await {
        Ok(replies) => replies.into_inner(),
        Err(status) => return status,
    };
    loop {
        match replies.message().await {
            Ok(Some(reply)) => match flight.upgrade() {
                Some(flight) => flight.note(number, reply),
                None => return Status::cancelled("the client has gone"),
            },
            Ok(None) => return Status::unavailable("the server has ended the call"),
            Err(status) => return status,
        }
    }
}
