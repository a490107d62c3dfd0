//! Connections to servers, which the threads that wait for answers drive.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

use crate::channel::{Bearer, Peers};
use crate::error::{Error, ErrorKind, Result};
use crate::v1::graph_client::GraphClient;

/// Time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// Interval at which a server that has not answered yet is asked whether it lives, and the time for its word, if
/// there are other servers.
const PING: Duration = Duration::from_millis(500);
const HANGS: Duration = Duration::from_millis(1000);
/// Turns of the tasks of a connection until all that has arrived is read.
const LOOKS: usize = 16;

/// The calls of the interface, with the token.
pub(crate) type Stub = GraphClient<InterceptedService<Channel, Bearer>>;

/// A connection of one process. The threads that wait for an answer drive it; it has no thread itself.
pub(crate) struct Connection {
    /// Host and port of the server.
    pub(crate) address: String,
    pub(crate) runtime: Runtime,
    pub(crate) stub: Stub,
    pub(crate) process: u32,
    /// Numbers for new edges that nobody has taken yet.
    pub(crate) numbers: Mutex<Vec<u64>>,
    /// Threads that wait for answers.
    pub(crate) waiting: AtomicUsize,
}

/// A thread that waits for an answer.
pub(crate) struct Waiting<'c>(&'c AtomicUsize);

impl<'c> Waiting<'c> {
    pub(crate) fn begin(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Waiting(count)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.0.load(Relaxed) == 1
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Polls a future once.
pub(crate) async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

impl Connection {
    /// Connects to a server. If it is `watched`, it counts as away when it hangs.
    pub(crate) fn open(address: &str, peers: &Peers, watched: bool) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Error::new(ErrorKind::Storage, format!("cannot wait for answers: {error}"))
        })?;
        let (channel, token) = {
            let _here = runtime.enter();
            peers.channel(address, CONNECT, watched.then_some((PING, HANGS)))?
        };
        let stub =
            GraphClient::with_interceptor(channel, token).max_decoding_message_size(usize::MAX);
        Ok(Connection {
            address: address.to_owned(),
            runtime,
            stub,
            process: std::process::id(),
            numbers: Mutex::default(),
            waiting: AtomicUsize::new(0),
        })
    }
    /// The output of a future, if it comes without waiting for the server: what has arrived is read.
    pub(crate) fn look<F: Future>(&self, future: F) -> Option<F::Output> {
        self.runtime.block_on(async {
            tokio::pin!(future);
            for _ in 0..LOOKS {
                if let Poll::Ready(done) = poll_once(future.as_mut()).await {
                    return Some(done);
                }
                // The tasks of the connection run in between.
                tokio::task::yield_now().await;
            }
            None
        })
    }
}
