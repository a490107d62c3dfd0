//! Calls with many replies, which a thread makes one after the other.

use std::pin::Pin;
use std::time::Duration;

use nakshi_io::CancelToken;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::error::Result;

/// Replies that wait for their client.
pub(crate) const REPLIES: usize = 16;

/// Time in which something that came while the whole process stood still is found.
const STOOD: Duration = Duration::from_millis(100);

/// Waits some time for `next`, and returns `None` if nothing comes. A process that was stopped, with its machine or
/// alone, finds the time over when it goes on, and then looks once more for what has come.
pub(crate) async fn within<T>(time: Duration, next: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(next);
    match tokio::time::timeout(time, &mut next).await {
        Ok(found) => Some(found),
        Err(_) => tokio::time::timeout(STOOD, next).await.ok(),
    }
}

/// A stream of replies.
pub(crate) type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The replies of `work`, which runs in a thread of its own, and hands each to a function that returns false if
/// the client takes nothing for the time of `idle`. `stops` is cancelled if the client goes away meanwhile.
pub(crate) fn reply_by<T: Send + 'static>(
    idle: Duration,
    stops: CancelToken,
    work: impl FnOnce(&dyn Fn(T) -> bool) -> Result<()> + Send + 'static,
) -> Replies<T> {
    let (replies, told) = mpsc::channel(REPLIES);
    let here = tokio::runtime::Handle::current();
    let (done, ended) = oneshot::channel::<()>();
    let client = replies.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = client.closed() => stops.cancel(),
            _ = ended => {}
        }
    });
    tokio::task::spawn_blocking(move || {
        let _done = done;
        let takes = |reply| {
            let sent = tokio::time::timeout(idle, replies.send(Ok(reply)));
            here.block_on(sent).is_ok_and(|sent| sent.is_ok())
        };
        if let Err(error) = work(&takes) {
            // The client has gone if nobody takes it.
            let _ = replies.blocking_send(Err(error.into()));
        }
    });
    Box::pin(ReceiverStream::new(told))
}
