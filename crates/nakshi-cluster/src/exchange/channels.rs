//! Frames by the channels of timely dataflow (D. Murray et al., *Naiad*, SOSP 2013).
//!
//! The transport uses only timely's communication: threads that send and receive, buffers of a mebibyte
//! that many
//! small frames share, and frames as opaque bytes, so that nothing is serialised record by record. The
//! barrier is not its progress tracking, which took 2.7 times as long as plain sockets for a round
//! without frames, but a last word of every server to every other: channels keep the order of
//! frames. They have no backpressure: the session's batches bound what is under way.

use std::cell::Cell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use timely_bytes::arc::Bytes;
use timely_communication::allocator::ProcessBuilder;
use timely_communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely_communication::{Allocator, Bytesable, Hooks, Pull, Push};

use super::guarded::{Closing, Guarded};
use super::peer_socket::PeerSocket;
use super::{AbortFlag, Transport};
use crate::{Error, Result};

/// Longest sleep of a waiting server between two looks at the abort flag and the time-out.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A frame on its way, or the last message of a server in a round: its number alone.
enum Message {
    Leaving(Vec<u8>),
    Arrived(Bytes),
}

impl Message {
    fn last_word(server: usize) -> Self {
        // A partition has at most 2^16 servers.
        Message::Leaving((server as u32).to_le_bytes().to_vec())
    }

    /// The server whose last message this is; `None` for frames, which are longer.
    fn is_last_word(&self) -> Option<usize> {
        let number = <[u8; 4]>::try_from(self.bytes()).ok()?;
        Some(u32::from_le_bytes(number) as usize)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Message::Leaving(bytes) => bytes,
            Message::Arrived(bytes) => bytes,
        }
    }
}

impl Bytesable for Message {
    fn from_bytes(bytes: Bytes) -> Self {
        Message::Arrived(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        self.bytes().len()
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        // A buffer with room for as many bytes as were asked for.
        let _ = writer.write_all(self.bytes());
    }
}

/// A server's channels to all others, for the thread of the server: while it computes, threads of the
/// connections send and receive.
pub struct Channels {
    server: usize,
    /// `None` once the channels are closed.
    ends: Option<Endpoints>,
    /// Rounds that each server has ended, and those of this one: others may be one ahead.
    ended: Vec<u64>,
    abort: AbortFlag,
    timeout: Duration,
    closing: Arc<Closing>,
    /// Those of a process.
    sockets: Vec<PeerSocket>,
}

/// Timely's ends of the channels. The allocator goes last: when the connections end, what is still to be
/// sent
/// is closed before it panics for what was to be received.
struct Endpoints {
    /// Senders to each server.
    pushers: Vec<Box<dyn Push<Message>>>,
    puller: Box<dyn Pull<Message>>,
    allocator: Allocator,
}

/// Endpoint of a server among others that are threads of the same process; its thread takes it.
pub struct ThreadEndpoint {
    builder: ProcessBuilder,
    abort: AbortFlag,
    timeout: Duration,
}

impl ThreadEndpoint {
    /// The channels of the server whose thread this is.
    pub fn take(self) -> Channels {
        let allocator = Allocator::Process(self.builder.build());
        Channels::new(allocator, self.abort, self.timeout, Arc::default(), Vec::new())
    }
}

impl Channels {
    /// The places of `servers` servers that are threads of this process. `timeout` is for how long a
    /// round may last without a frame.
    pub fn threads(servers: usize, abort: &AbortFlag, timeout: Duration) -> Vec<ThreadEndpoint> {
        let builders = ProcessBuilder::new_typed_vector(servers, Hooks::default().refill, None);
        let endpoint = |builder| ThreadEndpoint { builder, abort: abort.clone(), timeout };
        builders.into_iter().map(endpoint).collect()
    }

    /// Those of a server whose process is connected with all others', by the sockets of
    /// [`super::sockets::connect`].
    ///
    /// # Errors
    /// [`Error::Failed`] if their threads cannot be started.
    pub fn sockets(
        server: usize,
        sockets: Vec<Option<PeerSocket>>,
        abort: &AbortFlag,
        timeout: Duration,
    ) -> Result<Self> {
        let failed = |why: String| Error::Lost { server, why };
        let closing = Arc::new(Closing::default());
        let known = sockets.iter().flatten().map(PeerSocket::try_clone);
        let known = known.collect::<std::io::Result<Vec<_>>>();
        let known = known.map_err(|error| failed(error.to_string()))?;
        let guarded = |(server, socket): (usize, Option<PeerSocket>)| {
            let (abort, closing) = (abort.clone(), Arc::clone(&closing));
            socket.map(|socket| Guarded { socket, server, abort, closing })
        };
        let sockets: Vec<_> = sockets.into_iter().enumerate().map(guarded).collect();
        let hooks = Hooks::default();
        let inner = ProcessBuilder::new_typed_vector(1, hooks.refill.clone(), None);
        let (builders, comms) =
            initialize_networking_from_sockets(inner, sockets, server, 1, hooks)
                .map_err(|error| refused(server, known.len(), &error))?;
        // Its threads end with the connections. To join them would be to panic with those whose
        // connection has broken, which sets the abort flag.
        std::mem::forget(comms);
        let builder = builders.into_iter().next();
        let builder = builder.ok_or_else(|| failed("it has no threads".into()))?;
        let allocator = Allocator::Tcp(builder.build());
        Ok(Channels::new(allocator, abort.clone(), timeout, closing, known))
    }

    fn new(
        mut allocator: Allocator,
        abort: AbortFlag,
        timeout: Duration,
        closing: Arc<Closing>,
        sockets: Vec<PeerSocket>,
    ) -> Self {
        let (server, servers) = (allocator.index(), allocator.peers());
        let (pushers, puller) = allocator.allocate(0);
        let ends = Some(Endpoints { pushers, puller, allocator });
        let ended = vec![0; servers];
        Channels { server, ends, ended, abort, timeout, closing, sockets }
    }

    /// Does something with the channels; timely panics when a connection has broken.
    fn with_ends<T>(&mut self, f: impl FnOnce(&mut Endpoints) -> T) -> Result<T> {
        let done = self.ends.as_mut().and_then(|ends| quietly(|| f(ends)));
        let why = "its connections have closed";
        let closed = || Error::Lost { server: self.server, why: why.into() };
        done.ok_or_else(|| self.abort.check().err().unwrap_or_else(closed))
    }

    /// Sends the last message of a round to every other server.
    fn end_round(&mut self) -> Result<()> {
        let me = self.server;
        // This server is one of all.
        if let Some(ended) = self.ended.get_mut(me) {
            *ended += 1;
        }
        self.with_ends(|ends| {
            let others = ends.pushers.iter_mut().enumerate().filter(|(to, _)| *to != me);
            for (_, pusher) in others {
                pusher.send(Message::last_word(me));
                pusher.done();
            }
            ends.allocator.release();
        })
    }

    /// The next frame of this round or of a later one; none if there is none now.
    fn next(&mut self) -> Result<Option<Message>> {
        while let Some(message) = self.with_ends(|ends| ends.puller.recv())? {
            let Some(server) = message.is_last_word() else { return Ok(Some(message)) };
            let stranger = || Error::damaged(server, "there is no such server");
            *self.ended.get_mut(server).ok_or_else(stranger)? += 1;
        }
        Ok(None)
    }

    /// Number of servers that have not ended the round that this one has.
    fn missing(&self) -> usize {
        let mine = self.ended.get(self.server).copied().unwrap_or_default();
        self.ended.iter().filter(|ended| **ended < mine).count()
    }

    /// Sleeps until something may have arrived; not for long.
    fn wait(&mut self) -> Result<()> {
        self.with_ends(|ends| {
            if ends.allocator.events().borrow().is_empty() {
                ends.allocator.await_events(Some(POLL_INTERVAL));
            }
            ends.allocator.receive();
            ends.allocator.events().borrow_mut().clear();
        })
    }

    /// Waits until all others have said all too, or have hung up.
    fn part(&mut self) -> Result<()> {
        self.closing.begun.store(true, Ordering::Release);
        let began = Instant::now();
        self.end_round()?;
        while self.missing() > self.closing.gone.load(Ordering::Acquire)
            && began.elapsed() < self.timeout
        {
            self.abort.check()?;
            self.wait()?;
            while self.next()?.is_some() {}
        }
        Ok(())
    }
}

impl Transport for Channels {
    fn server(&self) -> usize {
        self.server
    }

    fn servers(&self) -> usize {
        self.ended.len()
    }

    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<()> {
        let sent = self.with_ends(|ends| {
            let pusher = ends.pushers.get_mut(to)?;
            pusher.send(Message::Leaving(frame));
            pusher.done();
            ends.allocator.release();
            Some(())
        })?;
        sent.ok_or_else(|| Error::damaged(to, "there is no such server"))
    }

    fn finish(&mut self, arrived: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.end_round()?;
        let mut heard = Instant::now();
        loop {
            // What has come after the last word of its server is of the next round.
            while let Some(message) = self.next()? {
                arrived(message.bytes())?;
                heard = Instant::now();
            }
            if self.missing() == 0 {
                return Ok(());
            }
            self.abort.check()?;
            if heard.elapsed() > self.timeout {
                let why = format!("nothing was heard for {:.0} s", self.timeout.as_secs_f64());
                return Err(Error::Lost { server: self.server, why });
            }
            self.wait()?;
        }
    }
}

impl Drop for Channels {
    fn drop(&mut self) {
        if self.abort.check().is_ok() {
            // Somebody who is lost now is missed by nobody.
            let _ = self.part();
        }
        if self.abort.check().is_err() {
            for socket in &self.sockets {
                // Ends its threads; one that is broken has ended already.
                let _ = socket.shutdown(std::net::Shutdown::Both);
            }
        }
        let ends = self.ends.take();
        quietly(|| drop(ends));
    }
}

/// Why a server cannot talk to others over so many connections.
fn refused(server: usize, connections: usize, error: &std::io::Error) -> Error {
    let why = match error.kind() {
        // Not a lost server: another in its place would meet the same limit.
        std::io::ErrorKind::WouldBlock => format!(
            "the {} threads of its connections could not all be started ({error}); use fewer \
             servers, or raise the limit on processes (pids.max of the cgroup, ulimit -u)",
            2 * connections
        ),
        _ => format!("its connections cannot be used: {error}"),
    };
    Error::Failed { server, why }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Returns true on timely's threads and in calls of timely, which panic when a connection breaks.
pub(crate) fn is_quiet() -> bool {
    let thread = std::thread::current();
    QUIET.get() || thread.name().is_some_and(|name| name.starts_with("timely:"))
}

/// Result of `f`; `None` if it panics.
fn quietly<T>(f: impl FnOnce() -> T) -> Option<T> {
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(f)).ok();
    QUIET.set(false);
    done
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::exchange::FRAME;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Connections between all of so many servers, by server.
    fn connections(servers: usize) -> Vec<Vec<Option<PeerSocket>>> {
        let mut all: Vec<Vec<Option<PeerSocket>>> =
            (0..servers).map(|_| (0..servers).map(|_| None).collect()).collect();
        for (from, to) in (0..servers).flat_map(|to| (0..to).map(move |from| (from, to))) {
            let (near, far) = UnixStream::pair().unwrap();
            all[from][to] = Some(PeerSocket::Unix(near));
            all[to][from] = Some(PeerSocket::Unix(far));
        }
        all
    }

    /// A server that sends and never stops, until one is lost.
    fn endless(server: usize, sockets: Vec<Option<PeerSocket>>, abort: &AbortFlag) -> Error {
        let mut channels = Channels::sockets(server, sockets, abort, TIMEOUT).unwrap();
        loop {
            for to in (0..channels.servers()).filter(|to| *to != server) {
                for len in [FRAME, 100, 10_000] {
                    if let Err(error) = channels.send(to, vec![0; len]) {
                        return error;
                    }
                }
            }
            if let Err(error) = channels.finish(&mut |_| Ok(())) {
                return error;
            }
        }
    }

    /// Connections break, one or all at once, while much is on its way: every server ends with an error,
    /// and the process lives.
    #[test]
    fn connections_that_break() {
        crate::worker::quiet_threads();
        for round in 0..200_u64 {
            std::thread::scope(|scope| {
                let servers = connections(4).into_iter().enumerate().map(|(server, sockets)| {
                    let known: Vec<_> =
                        sockets.iter().flatten().map(|wire| wire.try_clone().unwrap()).collect();
                    let abort = AbortFlag::default();
                    let theirs = abort.clone();
                    let runs = scope.spawn(move || endless(server, sockets, &theirs));
                    (known, abort, runs)
                });
                let servers: Vec<_> = servers.collect();
                std::thread::sleep(Duration::from_micros(500 + 37 * round));
                let lost = if round % 2 == 0 { 1 } else { 3 };
                for (known, abort, _) in servers.iter().take(lost) {
                    abort.raise(9, "it is lost");
                    for wire in known {
                        let _ = wire.shutdown(std::net::Shutdown::Both);
                    }
                }
                for (.., runs) in servers {
                    assert!(matches!(runs.join().unwrap(), Error::Lost { .. }));
                }
            });
        }
    }
}
