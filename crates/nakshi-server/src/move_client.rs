//! A client that has buckets moved.

use nakshi_io::CancelToken;
use nakshi_property::BucketSet;
use tonic::{Status, Streaming};

use crate::client::Client;
use crate::connection::Connection;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::unless_cancelled;
use crate::v1::{HoldRequest, MoveBucketsReply, MoveBucketsRequest, Progress};

impl Client {
    /// Moves buckets to the servers of a share, while all servers answer; returns the number of the commit after
    /// which they are there. `tell` hears which server is at work, and how far it is.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for no bucket, or no such share; [`ErrorKind::Unsupported`] if all servers have the
    /// whole graph; [`ErrorKind::Denied`] for a token that is neither an admin's nor a server's;
    /// [`ErrorKind::Overloaded`] while others are moved; [`ErrorKind::Unavailable`] if a server of the share is
    /// away; errors of the disks. Nothing is lost then, and the same call goes on.
    pub fn move_buckets(
        &self,
        buckets: &BucketSet,
        to: u32,
        cancel: &CancelToken,
        tell: &dyn Fn(&str, Progress),
    ) -> Result<u64> {
        let request = MoveBucketsRequest { buckets: buckets.to_bytes(), to };
        self.repeated(|connection| {
            let (mut stub, request) = (connection.stub.clone(), request.clone());
            let call = async move { Ok(stub.move_buckets(request).await?.into_inner()) };
            let replies = self.wait(connection, unless_cancelled(cancel, call))?;
            let mut moved = None;
            self.each(connection, replies, cancel, |reply: MoveBucketsReply| {
                moved = moved.or(reply.commit);
                if let Some(progress) = reply.progress {
                    tell(&reply.server, progress);
                }
                true
            })?;
            let commit =
                moved.ok_or_else(|| Error::from(Status::unavailable("the server has ended")))?;
            self.note(commit);
            Ok(commit)
        })
    }

    /// Has the server hold some buckets; see the interface.
    pub(crate) fn hold(
        &self,
        request: &HoldRequest,
        cancel: &CancelToken,
        tell: &dyn Fn(Progress) -> bool,
    ) -> Result<()> {
        self.repeated(|connection| {
            let (mut stub, request) = (connection.stub.clone(), request.clone());
            let call = async move { Ok(stub.hold(request).await?.into_inner()) };
            let replies = self.wait(connection, unless_cancelled(cancel, call))?;
            self.each(connection, replies, cancel, |reply| reply.progress.is_none_or(tell))
        })
    }

    /// Hands each reply to `takes`, until that returns false.
    fn each<T>(
        &self,
        connection: &Connection,
        mut replies: Streaming<T>,
        cancel: &CancelToken,
        mut takes: impl FnMut(T) -> bool,
    ) -> Result<()> {
        loop {
            let next = unless_cancelled(cancel, replies.message());
            let Some(reply) = self.wait(connection, next)? else { return Ok(()) };
            if !takes(reply) {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
        }
    }
}
