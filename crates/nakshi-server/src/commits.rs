//! Commits that are made, and durable soon, from the side of the server.

use std::sync::mpsc::sync_channel;
use std::time::Instant;

use nakshi_property::Ticket;

use crate::error::{Error, ErrorKind, Result};
use crate::outcomes::{Attempt, Outcome};
use crate::v1::commit_async_reply::Reply;
use crate::v1::{CommitReply, CommitRequest, Fault};

/// Most commits of a call that are not durable; the next one waits.
pub(crate) const IN_FLIGHT: usize = 256;

/// A commit that was made, and may not be durable yet.
pub(crate) enum Made<'s> {
    /// An earlier request has made it, and it is durable.
    Before(CommitReply),
    Now(Ticket<'s>, Option<Attempt<'s>>),
}

impl Made<'_> {
    fn reply(&self) -> CommitReply {
        match self {
            Made::Before(reply) => *reply,
            Made::Now(ticket, _) => {
                CommitReply { changed: Some(ticket.changed), commit: ticket.commit() }
            }
        }
    }

    /// Returns when it is durable.
    pub(crate) fn durable(self) -> Result<CommitReply> {
        let reply = self.reply();
        if let Made::Now(ticket, attempt) = self {
            ticket.wait()?;
            if let Some(attempt) = attempt {
                let CommitReply { changed, commit } = reply;
                attempt.end(Outcome::Made { commit, changed });
            }
        }
        Ok(reply)
    }
}

/// Makes the commits of a call, in the order in which `next` yields them, and tells their numbers within the call,
/// when they were asked for, and what becomes of them, until `next` yields no more. A thread waits until they are
/// durable, whether anybody takes the replies or not.
///
/// # Errors
/// Errors after which the client has to send the rest once more, to this server or to another one.
pub(crate) fn make_each<'s>(
    mut next: impl FnMut() -> Result<Option<CommitRequest>>,
    make: impl Fn(CommitRequest) -> Result<Made<'s>>,
    tell: impl Fn(u64, Instant, Result<Reply>) + Sync,
) -> Result<()> {
    let (made, waiting) = sync_channel::<(u64, Instant, Made<'s>)>(IN_FLIGHT);
    let tell = &tell;
    let wait = move || {
        let mut lost = Ok(());
        for (number, began, made) in waiting {
            match made.durable() {
                Err(error) if is_for_another_try(&error) => lost = lost.and(Err(error)),
                // After one that is lost, the client learns of none.
                durable if lost.is_ok() => tell(number, began, durable.map(Reply::Durable)),
                _ => {}
            }
        }
        lost
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("nakshi-commits".into());
        let waiter = thread.spawn_scoped(scope, wait).map_err(Error::no_thread)?;
        let mut ended = Ok(());
        for number in 0.. {
            let request = match next() {
                Ok(Some(request)) if !waiter.is_finished() => request,
                Ok(_) => break,
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            };
            let began = Instant::now();
            match make(request) {
                Ok(one) => {
                    if let Made::Now(..) = one {
                        tell(number, began, Ok(Reply::Made(one.reply())));
                    }
                    if made.send((number, began, one)).is_err() {
                        break;
                    }
                }
                Err(error) if is_for_another_try(&error) => {
                    ended = Err(error);
                    break;
                }
                Err(error) => tell(number, began, Err(error)),
            }
        }
        drop(made);
        let panicked = |_| Error::new(ErrorKind::Internal, "internal error: a call panicked");
        waiter.join().map_err(panicked)?.and(ended)
    })
}

/// The reply that tells of an error.
pub(crate) fn fault(error: &Error) -> Reply {
    Reply::Fault(Fault::from(error))
}

/// Returns true if this server or another one may make the commit later.
fn is_for_another_try(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Moved)
}
