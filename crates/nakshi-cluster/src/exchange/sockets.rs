//! Connections between the processes of a cluster: sockets of TCP, and of Unix on one machine, where they
//! take half the time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use timely_communication::allocator::zero_copy::stream::Stream;

use super::Alarm;
use super::channels::Closing;
use crate::{Error, Result};

/// First bytes on a connection; servers of other versions do not understand each other.
const HELLO: &str = concat!("nakshi-cluster ", env!("CARGO_PKG_VERSION"), "\n");
/// For so long a server waits before it tries a connection again.
const PAUSE: Duration = Duration::from_millis(20);
/// For so long one call lasts at most: the system would try for minutes.
const CALL: Duration = Duration::from_secs(1);

/// Who a server is and what it takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The server.
    pub server: usize,
    /// The run.
    pub job: u64,
    /// How often it was taken up again.
    pub epoch: u32,
}

/// For how long servers wait for each other.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// When they give up calling.
    pub until: Instant,
    /// For so long another one may be cut off later.
    pub silence: Duration,
    /// Ends the waiting.
    pub alarm: Alarm,
}

/// Where a server is called by others.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    /// For servers of this machine.
    #[cfg(target_os = "linux")]
    near: Option<UnixListener>,
}

impl Listener {
    /// At a port that the system chooses.
    ///
    /// # Errors
    /// Those of the sockets.
    pub fn bind(address: IpAddr) -> io::Result<Self> {
        let tcp = TcpListener::bind((address, 0))?;
        tcp.set_nonblocking(true)?;
        #[cfg(target_os = "linux")]
        let near = match near(tcp.local_addr()?) {
            Some(name) => Some(UnixListener::bind_addr(&name?)?),
            None => None,
        };
        #[cfg(target_os = "linux")]
        near.as_ref().map_or(Ok(()), |near| near.set_nonblocking(true))?;
        Ok(Listener {
            tcp,
            #[cfg(target_os = "linux")]
            near,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// A server that has called, if one has.
    fn accept(&self) -> io::Result<Option<Wire>> {
        let waiting = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(error),
        };
        #[cfg(target_os = "linux")]
        if let Some(near) = &self.near {
            let called = near.accept().map(|(socket, _)| Some(Wire::Unix(socket)));
            if let Some(wire) = called.or_else(waiting)? {
                return Ok(Some(wire));
            }
        }
        self.tcp.accept().map(|(socket, _)| Some(Wire::Tcp(socket))).or_else(waiting)
    }
}

/// The name in the system's table of sockets that goes with an address of this machine.
#[cfg(target_os = "linux")]
fn near(address: SocketAddr) -> Option<io::Result<std::os::unix::net::SocketAddr>> {
    let name = format!("nakshi-cluster-{}", address.port());
    let is_near = address.ip().is_loopback();
    is_near.then(|| std::os::unix::net::SocketAddr::from_abstract_name(name))
}

/// A connection between two servers.
#[derive(Debug)]
pub enum Wire {
    /// Between machines.
    Tcp(TcpStream),
    /// On one machine.
    Unix(UnixStream),
}

macro_rules! either {
    ($wire:expr, $socket:ident => $what:expr) => {
        match $wire {
            Wire::Tcp($socket) => $what,
            Wire::Unix($socket) => $what,
        }
    };
}

impl Wire {
    /// Calls a server.
    fn call(place: SocketAddr) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(name) = near(place)
            && let Ok(socket) = UnixStream::connect_addr(&name?)
        {
            return Ok(Wire::Unix(socket));
        }
        TcpStream::connect_timeout(&place, CALL).map(Wire::Tcp)
    }

    /// Another handle of it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Wire::Tcp(socket) => Wire::Tcp(socket.try_clone()?),
            Wire::Unix(socket) => Wire::Unix(socket.try_clone()?),
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        either!(self, socket => socket.shutdown(how))
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        either!(self, socket => socket.set_nonblocking(nonblocking))
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_read_timeout(timeout))
    }

    fn watchful(&self, silence: Duration) -> io::Result<()> {
        match self {
            Wire::Tcp(socket) => watchful(socket, silence),
            // Nothing lies between the two ends.
            Wire::Unix(_) => Ok(()),
        }
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, socket => socket.read(buffer))
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        either!(self, socket => socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        either!(self, socket => socket.flush())
    }
}

/// Makes a connection break once the other side has not answered for so long, as when a network is cut,
/// and sends small messages at once.
///
/// # Errors
/// Those of the socket.
pub(crate) fn watchful(socket: &TcpStream, silence: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let socket = socket2::SockRef::from(socket);
    let second = Duration::from_secs(1);
    let probes = socket2::TcpKeepalive::new().with_time(second).with_interval(second);
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(silence))?;
    Ok(())
}

/// Connects a server with all others, whose addresses are in the order of the servers: it calls those
/// before it and is called by those after it.
///
/// # Errors
/// [`Error::Lost`] for a server that does not answer in time, or that is of another version or run, and
/// when the alarm rings.
pub fn connect(
    listener: &Listener,
    addresses: &[String],
    me: Identity,
    waiting: &Waiting,
) -> Result<Vec<Option<Wire>>> {
    let mut sockets: Vec<Option<Wire>> = addresses.iter().map(|_| None).collect();
    for (server, address) in addresses.iter().enumerate().take(me.server) {
        let lost = |why: io::Error| Error::Lost { server, why: format!("{address}: {why}") };
        let mut socket = call(address, server, waiting)?;
        say(&mut socket, me).map_err(lost)?;
        let other = hear(&mut socket, server, waiting)?;
        expect(Identity { server, ..me }, other)?;
        if let Some(place) = sockets.get_mut(server) {
            *place = Some(socket);
        }
    }
    let missing = |sockets: &[Option<Wire>]| {
        (me.server + 1..sockets.len())
            .find(|server| sockets.get(*server).is_some_and(Option::is_none))
    };
    let failed = |why: io::Error| Error::Lost { server: me.server, why: why.to_string() };
    while let Some(server) = missing(&sockets) {
        match listener.accept() {
            Ok(Some(mut socket)) => {
                socket.set_nonblocking(false).map_err(failed)?;
                // Whoever calls and is no server of this run is not one of those waited for.
                let Ok(other) = hear(&mut socket, server, waiting) else { continue };
                let known = expect(Identity { server: other.server, ..me }, other).is_ok();
                let place = sockets.get_mut(other.server).filter(|place| place.is_none());
                if let Some(place) = place.filter(|_| known && other.server > me.server)
                    && say(&mut socket, me).is_ok()
                {
                    *place = Some(socket);
                }
            }
            Ok(None) => {
                waiting.alarm.check()?;
                if Instant::now() >= waiting.until {
                    return Err(Error::Lost { server, why: "it has not called in time".into() });
                }
                std::thread::sleep(PAUSE);
            }
            Err(error) => return Err(failed(error)),
        }
    }
    for socket in sockets.iter().flatten() {
        socket
            .watchful(waiting.silence)
            .and_then(|()| socket.set_read_timeout(None))
            .map_err(failed)?;
    }
    Ok(sockets)
}

fn call(address: &str, server: usize, waiting: &Waiting) -> Result<Wire> {
    loop {
        let place = address.to_socket_addrs().and_then(|mut places| {
            places.next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
        });
        match place.and_then(Wire::call) {
            Ok(socket) => return Ok(socket),
            Err(error) if Instant::now() >= waiting.until => {
                return Err(Error::Lost { server, why: format!("{address}: {error}") });
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
        waiting.alarm.check()?;
    }
}

fn say(socket: &mut Wire, me: Identity) -> io::Result<()> {
    let mut bytes = HELLO.as_bytes().to_vec();
    bytes.extend_from_slice(&(me.server as u64).to_le_bytes());
    bytes.extend_from_slice(&me.job.to_le_bytes());
    bytes.extend_from_slice(&me.epoch.to_le_bytes());
    socket.write_all(&bytes)
}

fn hear(socket: &mut Wire, server: usize, waiting: &Waiting) -> Result<Identity> {
    let lost = |why: String| Error::Lost { server, why };
    socket.set_read_timeout(Some(PAUSE)).map_err(|error| lost(error.to_string()))?;
    let mut bytes = [0; HELLO.len() + 20];
    let mut found = 0;
    while let Some(rest) = bytes.get_mut(found..).filter(|rest| !rest.is_empty()) {
        match socket.read(rest) {
            Ok(0) => return Err(lost("it has hung up".into())),
            Ok(more) => found += more,
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(lost(error.to_string())),
        }
        waiting.alarm.check()?;
        if Instant::now() >= waiting.until {
            return Err(lost("it says nothing".into()));
        }
    }
    let (hello, rest) = bytes.split_at(HELLO.len());
    if hello != HELLO.as_bytes() {
        let theirs = String::from_utf8_lossy(hello);
        let why = format!("it says {theirs:?} and not {HELLO:?}; install one version everywhere");
        return Err(lost(why));
    }
    let (numbers, epoch) = rest.split_at(16);
    let [server, job] = *numbers.as_chunks::<8>().0 else { return Err(lost("no numbers".into())) };
    let mut four = [0; 4];
    four.copy_from_slice(epoch);
    Ok(Identity {
        server: usize::try_from(u64::from_le_bytes(server)).unwrap_or(usize::MAX),
        job: u64::from_le_bytes(job),
        epoch: u32::from_le_bytes(four),
    })
}

/// Whether another call may go well: nothing has come yet, or a signal came first.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn expect(wanted: Identity, found: Identity) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    let why = format!("it is {found:?} and not {wanted:?}");
    Err(Error::Lost { server: wanted.server, why })
}

/// A connection to a server that rings the alarm when it breaks.
///
/// timely's threads panic then. Here the one that receives ends without a word, since the run ends with
/// an error, and the one that sends goes on into nothing: when it panics for another reason, its buffer
/// is written out on the way, and a second panic would end the process.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) socket: Wire,
    pub(super) server: usize,
    pub(super) alarm: Alarm,
    /// When all is said, the other side may hang up.
    pub(super) closing: Arc<Closing>,
}

impl Guarded {
    fn broken(&self, why: &str) -> ! {
        self.alarm.ring(self.server, why);
        resume_unwind(Box::new("a connection broke"))
    }

    fn closing(&self) -> bool {
        self.closing.begun.load(Ordering::Acquire)
    }
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = self.socket.read(buffer);
        while read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            read = self.socket.read(buffer);
        }
        match read {
            Ok(0) | Err(_) if self.closing() => {
                self.closing.gone.fetch_add(1, Ordering::AcqRel);
                Ok(0)
            }
            Ok(0) => self.broken("it has hung up"),
            Err(error) => self.broken(&error.to_string()),
            Ok(read) => Ok(read),
        }
    }
}

impl Write for Guarded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.socket.write(bytes) {
            // Whoever calls does so again.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                if !self.closing() {
                    self.alarm.ring(self.server, error.to_string());
                }
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Stream for Guarded {
    fn try_clone(&self) -> io::Result<Self> {
        Ok(Guarded {
            socket: self.socket.try_clone()?,
            server: self.server,
            alarm: self.alarm.clone(),
            closing: Arc::clone(&self.closing),
        })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        // The other side may have hung up already; that it has too early is seen by who receives.
        self.socket.shutdown(how).or(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(2);

    fn waiting(silence: Duration) -> Waiting {
        Waiting { until: Instant::now() + silence, silence, alarm: Alarm::default() }
    }

    /// Three servers that connect, each as it believes to be.
    fn all(identities: [Identity; 3]) -> Vec<Result<Vec<Option<Wire>>>> {
        let listeners = [(); 3].map(|()| Listener::bind(IpAddr::from([127, 0, 0, 1])).unwrap());
        let address = |listener: &Listener| listener.address().unwrap().to_string();
        let addresses: Vec<_> = listeners.iter().map(address).collect();
        // Somebody who is no server calls first.
        let mut stranger = TcpStream::connect(&addresses[0]).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n and more than a server says").unwrap();
        std::thread::scope(|scope| {
            let servers: Vec<_> = listeners
                .iter()
                .zip(identities)
                .map(|(listener, me)| {
                    let addresses = &addresses;
                    scope.spawn(move || connect(listener, addresses, me, &waiting(PATIENCE)))
                })
                .collect();
            servers.into_iter().map(|server| server.join().unwrap()).collect()
        })
    }

    fn three(job: u64) -> [Identity; 3] {
        [0, 1, 2].map(|server| Identity { server, job, epoch: 1 })
    }

    #[test]
    fn all_servers_are_connected_and_strangers_are_not() {
        for (server, sockets) in all(three(7)).into_iter().enumerate() {
            let there: Vec<bool> = sockets.unwrap().iter().map(Option::is_some).collect();
            let expected: Vec<bool> = (0..3).map(|other| other != server).collect();
            assert_eq!(there, expected);
        }
    }

    /// A thread that panics with a buffer to be written out to a connection that has broken ends alone.
    /// Seen red, as the end of the process, with connections that panic when they are written to.
    #[test]
    fn buffers_of_threads_that_panic() {
        let (near, far) = UnixStream::pair().unwrap();
        let (alarm, closing) = (Alarm::default(), Arc::default());
        let guarded =
            Guarded { socket: Wire::Unix(near), server: 7, alarm: alarm.clone(), closing };
        let mut buffer = io::BufWriter::new(guarded);
        buffer.write_all(b"the last word").unwrap();
        drop(far);
        let thread = std::thread::spawn(move || {
            let _buffer = buffer;
            resume_unwind(Box::new("poisoned"))
        });
        assert!(thread.join().is_err());
        assert!(matches!(alarm.check(), Err(Error::Lost { server: 7, .. })));
    }

    /// A server of an earlier epoch, or of another run, takes part in nothing. Seen red with a greeting
    /// whose numbers are not compared.
    #[test]
    fn servers_of_other_runs_are_refused() {
        for odd in
            [Identity { server: 1, job: 7, epoch: 0 }, Identity { server: 1, job: 8, epoch: 1 }]
        {
            let [first, _, last] = three(7);
            let began = Instant::now();
            let results = all([first, odd, last]);
            assert!(results.iter().all(|result| matches!(result, Err(Error::Lost { .. }))));
            assert!(began.elapsed() < 5 * PATIENCE);
        }
    }
}
