//! The door of a worker: callers wait here until they have proved the secret, and delay nobody.
//!
//! One thread accepts and greets, over sockets that do not block. A stranger has [`GREETING_TIMEOUT`] to prove
//! that it knows the secret and takes a few hundred bytes until then; where there are too many of
//! them the one that has waited longest is dropped.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};

use super::greeting::{GREETING_TIMEOUT, Greeting, GreetingStep, Identity, Peer, Transcript};
use super::peer_socket::PeerSocket;
use crate::Result;
use crate::token::Token;

/// Interval at which the thread looks whether it shall end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Most strangers at a time, where the process may have files enough: an eighth of them.
const STRANGERS: u64 = 128;
const FEWEST: u64 = 4;
/// Connections that the system accepts beforehand.
const BACKLOG: i32 = 1024;
/// Front-ends that wait for their turn.
const FRONT_ENDS: usize = 16;
/// Longest wait of a server for this one to take part in its run, and the most such servers.
const HELD_TIMEOUT: Duration = Duration::from_secs(30);
const SERVERS: usize = 1 << 16;

/// Callers that have proved the secret.
#[derive(Debug, Default)]
pub struct Arrivals {
    here: Mutex<Here>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Here {
    front_ends: VecDeque<TcpStream>,
    servers: VecDeque<Arrived>,
}

/// A server that has called, and is not told yet who was called.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) wire: PeerSocket,
    pub(super) who: Identity,
    pub(super) said: Box<Transcript>,
    at: Instant,
}

impl Arrivals {
    fn here(&self) -> MutexGuard<'_, Here> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The front-end that has waited longest; none if there is none for a while.
    pub(crate) fn front_end(&self, timeout: Duration) -> Option<TcpStream> {
        let none = |here: &mut Here| here.front_ends.is_empty();
        let waited = self.changed.wait_timeout_while(self.here(), timeout, none);
        waited.unwrap_or_else(PoisonError::into_inner).0.front_ends.pop_front()
    }

    /// A server of the run of `me` that has called, the newest first: one that calls again has given up its
    /// earlier call. None if there is none for a while. Those of earlier epochs are sent away.
    pub(super) fn server(&self, me: Identity, timeout: Duration) -> Option<Arrived> {
        let of_run = |who: Identity| who.job == me.job && who.epoch == me.epoch;
        let none = |here: &mut Here| !here.servers.iter().any(|one| of_run(one.who));
        let waited = self.changed.wait_timeout_while(self.here(), timeout, none);
        let mut here = waited.unwrap_or_else(PoisonError::into_inner).0;
        here.servers.retain(|one| one.who.job != me.job || one.who.epoch >= me.epoch);
        let at = here.servers.iter().rposition(|one| of_run(one.who))?;
        here.servers.remove(at)
    }

    fn add(&self, caller: Peer, wire: PeerSocket, said: Box<Transcript>) {
        let mut here = self.here();
        match (caller, wire) {
            (Peer::FrontEnd, PeerSocket::Tcp(socket)) => {
                here.front_ends.push_back(socket);
                if here.front_ends.len() > FRONT_ENDS {
                    here.front_ends.pop_front();
                }
            }
            // Front-ends call by TCP.
            (Peer::FrontEnd, PeerSocket::Unix(_)) => {}
            (Peer::Server(who), wire) => {
                here.servers.retain(|one| one.at.elapsed() < HELD_TIMEOUT);
                here.servers.push_back(Arrived { wire, who, said, at: Instant::now() });
                if here.servers.len() > SERVERS {
                    here.servers.pop_front();
                }
            }
        }
        self.changed.notify_all();
    }
}

/// The listening sockets of a worker.
#[derive(Debug)]
pub struct Door {
    tcp: TcpListener,
    /// Listener for servers of this machine.
    #[cfg(target_os = "linux")]
    near: Option<UnixListener>,
    token: Token,
    arrivals: Arrivals,
    /// Most strangers at a time.
    most: usize,
}

/// A caller that has not proved the secret yet.
struct Stranger {
    wire: PeerSocket,
    came: Instant,
    greeting: Greeting,
}

impl Door {
    /// Opens the door at a listening socket.
    ///
    /// # Errors
    /// Errors of the sockets.
    pub fn open(listener: &TcpListener, token: &Token) -> io::Result<Self> {
        let tcp = listener.try_clone()?;
        tcp.set_nonblocking(true)?;
        socket2::SockRef::from(&tcp).listen(BACKLOG)?;
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // Between two small numbers.
        let most = (files / 8).clamp(FEWEST, STRANGERS) as usize;
        Ok(Door {
            #[cfg(target_os = "linux")]
            near: listen_near(tcp.local_addr()?),
            tcp,
            token: token.clone(),
            arrivals: Arrivals::default(),
            most,
        })
    }

    /// Address at which the worker listens.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// The callers that are known.
    pub fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// Accepts and greets until it is over.
    pub fn keep(&self, over: &AtomicBool) {
        let mut strangers: VecDeque<Stranger> = VecDeque::new();
        while !over.load(Ordering::Acquire) {
            let heard = self.wait(&strangers);
            let mut waiting = VecDeque::with_capacity(strangers.len());
            for (k, stranger) in strangers.drain(..).enumerate() {
                if heard.get(k).is_some_and(|heard| *heard) {
                    waiting.extend(self.hear(stranger));
                } else if stranger.came.elapsed() < GREETING_TIMEOUT {
                    waiting.push_back(stranger);
                }
            }
            strangers = waiting;
            self.accept(&mut strangers);
        }
    }

    /// Sleeps until something happens, not for long; which strangers there is something of.
    fn wait(&self, strangers: &VecDeque<Stranger>) -> Vec<bool> {
        let new = |socket| PollFd::from_borrowed_fd(socket, PollFlags::IN);
        let mut places: Vec<_> = strangers.iter().map(|one| new(one.wire.as_fd())).collect();
        places.push(new(std::os::fd::AsFd::as_fd(&self.tcp)));
        #[cfg(target_os = "linux")]
        places.extend(self.near.as_ref().map(|near| new(std::os::fd::AsFd::as_fd(near))));
        let timeout = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        if poll(&mut places, Some(&timeout)).is_err() {
            // A signal, or no memory: the next look is soon, but not at once.
            std::thread::sleep(Duration::from_millis(1));
            return Vec::new();
        }
        places.iter().take(strangers.len()).map(|place| !place.revents().is_empty()).collect()
    }

    /// Lets in who has called since, at most as many as may wait.
    fn accept(&self, strangers: &mut VecDeque<Stranger>) {
        for _ in 0..self.most {
            match self.next() {
                Ok(Some(wire)) => {
                    let ready = wire.set_nonblocking(true).and_then(|()| wire.set_nodelay());
                    if ready.is_err() {
                        continue;
                    }
                    let came = Instant::now();
                    // Most have said something by now.
                    strangers.extend(self.hear(Stranger { wire, came, greeting: Greeting::new() }));
                    if strangers.len() > self.most {
                        strangers.pop_front();
                    }
                }
                Ok(None) => return,
                // The caller has gone again.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    // No file or memory for it: the oldest stranger gives its own. What has called keeps
                    // waiting, so that poll would not sleep.
                    strangers.pop_front();
                    std::thread::sleep(POLL_INTERVAL);
                    return;
                }
            }
        }
    }

    /// The next caller, if there is one.
    fn next(&self) -> io::Result<Option<PeerSocket>> {
        let waiting = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        };
        #[cfg(target_os = "linux")]
        if let Some(near) = &self.near {
            let called = near.accept().map(|(socket, _)| Some(PeerSocket::Unix(socket)));
            if let Some(wire) = called.or_else(waiting)? {
                return Ok(Some(wire));
            }
        }
        self.tcp.accept().map(|(socket, _)| Some(PeerSocket::Tcp(socket))).or_else(waiting)
    }

    /// Takes what a stranger has sent; none if it is known now, or dropped.
    fn hear(&self, mut stranger: Stranger) -> Option<Stranger> {
        loop {
            let Stranger { wire, greeting, .. } = &mut stranger;
            let more = match wire.read(greeting.free()) {
                Ok(0) => return None,
                Ok(more) => more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(stranger),
                Err(_) => return None,
            };
            // Without random numbers nobody can be known. Who does not take what it is sent, which fits
            // the buffer of a new socket, is dropped.
            match greeting.take(more, &self.token).ok()? {
                GreetingStep::Wait => {}
                GreetingStep::Answer(answer) => wire.write_all(&answer).ok()?,
                GreetingStep::Refuse(last) => return wire.write_all(&last).ok().and(None),
                GreetingStep::Known(caller, said) => {
                    let _ = self.known(caller, said, stranger.wire);
                    return None;
                }
            }
        }
    }

    fn known(&self, caller: Peer, said: Box<Transcript>, mut wire: PeerSocket) -> io::Result<()> {
        wire.set_nonblocking(false)?;
        if caller == Peer::FrontEnd {
            wire.write_all(&said.listeners(&self.token, &[]))?;
        }
        self.arrivals.add(caller, wire, said);
        Ok(())
    }
}

/// Listens beside an address of this machine. Where the name is taken, servers call by TCP.
#[cfg(target_os = "linux")]
fn listen_near(address: SocketAddr) -> Option<UnixListener> {
    let near = UnixListener::bind_addr(&near(address)?.ok()?).ok()?;
    near.set_nonblocking(true).ok()?;
    Some(near)
}

/// The name in the system's table of sockets that goes with an address of this machine.
#[cfg(target_os = "linux")]
pub(super) fn near(address: SocketAddr) -> Option<io::Result<std::os::unix::net::SocketAddr>> {
    use std::os::linux::net::SocketAddrExt;
    let name = format!("nakshi-cluster-{address}");
    let is_near = address.ip().is_loopback();
    is_near.then(|| std::os::unix::net::SocketAddr::from_abstract_name(name))
}

/// The thread of a door, which ends with this.
#[derive(Debug)]
pub struct Keeping<'d> {
    over: &'d AtomicBool,
}

impl<'d> Keeping<'d> {
    /// Keeps a door in a thread of its own.
    ///
    /// # Errors
    /// [`nakshi_io::Error::Threads`], as an error of the engine.
    pub fn begin<'s>(
        door: &'d Door,
        over: &'d AtomicBool,
        scope: &'s std::thread::Scope<'s, 'd>,
    ) -> Result<Self> {
        let thread = std::thread::Builder::new().name("nakshi-door".into());
        let refused = |source| nakshi_io::Error::Threads { wanted: 2, started: 1, source };
        thread.spawn_scoped(scope, || door.keep(over)).map_err(refused)?;
        Ok(Keeping { over })
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}
