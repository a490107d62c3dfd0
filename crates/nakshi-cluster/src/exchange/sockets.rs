//! Calls between the processes of a cluster, and the greeting of whoever is called.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use super::AbortFlag;
use super::door::Arrivals;
use super::greeting::{ANSWER, GREETING_TIMEOUT, Identity, Peer, REFUSED, Transcript, foreign};
use super::peer_socket::PeerSocket;
use crate::token::{PROOF, Token};
use crate::{Error, Result};

/// Pause before a server tries a connection again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);
/// Longest duration of one call: the system would try for minutes.
const CALL_TIMEOUT: Duration = Duration::from_secs(1);

/// Time-outs of the connections between servers.
#[derive(Clone, Debug)]
pub struct ConnectLimits {
    /// Time at which servers give up calling.
    pub until: Instant,
    /// Time after which a silent peer is lost.
    pub peer_timeout: Duration,
    /// Ends the waiting.
    pub abort: AbortFlag,
}

/// The reason why a call has failed.
pub(crate) enum Unheard {
    /// Another call may succeed.
    Again(io::Error),
    /// No further call will succeed.
    Never(String),
    /// The run has ended.
    Ended(Error),
}

impl From<io::Error> for Unheard {
    fn from(error: io::Error) -> Self {
        Unheard::Again(error)
    }
}

impl From<Error> for Unheard {
    fn from(error: Error) -> Self {
        Unheard::Ended(error)
    }
}

/// Looks whether to go on with a call.
pub(crate) type Check<'c> = &'c dyn Fn() -> Result<()>;

/// Calls an address until somebody answers, a moment is over, or `check` ends it.
pub(crate) fn dial(
    place: SocketAddr,
    until: Instant,
    check: Check<'_>,
) -> std::result::Result<TcpStream, Unheard> {
    let socket = Socket::new(Domain::for_address(place), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    match socket.connect(&place.into()) {
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => loop {
            check()?;
            let mut places = [PollFd::new(&socket, PollFlags::OUT)];
            let interval = Timespec { tv_sec: 0, tv_nsec: RETRY_INTERVAL.subsec_nanos().into() };
            if poll(&mut places, Some(&interval)).is_ok_and(|ready| ready > 0) {
                socket.take_error()?.map_or(Ok(()), Err)?;
                break;
            }
            if Instant::now() >= until {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
        },
        called => called?,
    }
    socket.set_nonblocking(false)?;
    Ok(socket.into())
}

/// Sends the greeting of a caller with its proof; returns the transcript.
pub(crate) fn greet(
    wire: &mut PeerSocket,
    caller: Peer,
    token: &Token,
    check: Check<'_>,
) -> std::result::Result<Transcript, Unheard> {
    let call = Transcript::call(caller)?;
    wire.write_all(&call)?;
    let until = Instant::now() + GREETING_TIMEOUT;
    let mut answer = [0; ANSWER];
    let (mut found, mut read) = (0, Ok(()));
    while found < ANSWER && read.is_ok() {
        let rest = answer.get_mut(found..).unwrap_or_default();
        read = read_some(wire, rest, until, check).map(|more| found += more);
        if let Some(why) = foreign(answer.get(..found).unwrap_or_default()) {
            return Err(Unheard::Never(why));
        }
    }
    read?;
    let said = Transcript { call, answer };
    wire.write_all(&said.callers(&caller.key(token)))?;
    Ok(said)
}

/// Reads the proof and the identity of the called process.
pub(crate) fn hear<const N: usize>(
    wire: &mut PeerSocket,
    (said, key): (&Transcript, &Token),
    until: Instant,
    check: Check<'_>,
) -> std::result::Result<[u8; N], Unheard> {
    let mut proof = [0; PROOF];
    read_all(wire, &mut proof, until, check)?;
    if proof == REFUSED {
        let why = "it has another token: give the front-end and its workers the same one";
        return Err(Unheard::Never(why.into()));
    }
    let mut who = [0; N];
    read_all(wire, &mut who, until, check)?;
    if !said.is_listeners(key, &who, &proof) {
        return Err(Unheard::Never("it does not know the token".into()));
    }
    Ok(who)
}

fn read_all(
    wire: &mut PeerSocket,
    mut bytes: &mut [u8],
    until: Instant,
    check: Check<'_>,
) -> std::result::Result<(), Unheard> {
    while !bytes.is_empty() {
        let more = read_some(wire, bytes, until, check)?;
        bytes = bytes.get_mut(more..).unwrap_or_default();
    }
    Ok(())
}

/// Reads at least one byte.
fn read_some(
    wire: &mut PeerSocket,
    bytes: &mut [u8],
    until: Instant,
    check: Check<'_>,
) -> std::result::Result<usize, Unheard> {
    wire.set_read_timeout(Some(RETRY_INTERVAL))?;
    loop {
        match wire.read(bytes) {
            Ok(0) => {
                let why = io::Error::new(io::ErrorKind::UnexpectedEof, "it has hung up");
                return Err(why.into());
            }
            Ok(more) => return Ok(more),
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error.into()),
        }
        check()?;
        if Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it says nothing").into());
        }
    }
}

/// Connects a server with all others, whose addresses are in the order of the servers: it calls those
/// before it and is called by those after it. All know the key of the run, which `token` gives.
///
/// # Errors
/// [`Error::Lost`] for a server that does not answer in time, or that is of another version or run, and
/// when the abort flag is set.
pub fn connect(
    arrivals: &Arrivals,
    addresses: &[String],
    me: Identity,
    token: &Token,
    waiting: &ConnectLimits,
) -> Result<Vec<Option<PeerSocket>>> {
    let mut sockets: Vec<Option<PeerSocket>> = addresses.iter().map(|_| None).collect();
    for (server, address) in addresses.iter().enumerate().take(me.server) {
        let socket = call((server, address), me, token, waiting)?;
        if let Some(place) = sockets.get_mut(server) {
            *place = Some(socket);
        }
    }
    let missing = |sockets: &[Option<PeerSocket>]| {
        (me.server + 1..sockets.len())
            .find(|server| sockets.get(*server).is_some_and(Option::is_none))
    };
    let failed = |why: io::Error| Error::Lost { server: me.server, why: why.to_string() };
    let key = token.of_run(me.job);
    while let Some(server) = missing(&sockets) {
        if let Some(mut arrived) = arrivals.server(me, RETRY_INTERVAL) {
            let proof = arrived.said.listeners(&key, &me.bytes());
            let told = [&proof[..], &me.bytes()].concat();
            if arrived.who.server > me.server
                && let Some(place) = sockets.get_mut(arrived.who.server)
                && arrived.wire.write_all(&told).is_ok()
            {
                // One that was there has given up, and calls again.
                *place = Some(arrived.wire);
            }
            continue;
        }
        waiting.abort.check()?;
        if Instant::now() >= waiting.until {
            return Err(Error::Lost { server, why: "it has not called in time".into() });
        }
    }
    for socket in sockets.iter().flatten() {
        socket
            .watchful(waiting.peer_timeout)
            .and_then(|()| socket.set_read_timeout(None))
            .map_err(failed)?;
    }
    Ok(sockets)
}

/// Calls a server until it is there and takes part in the run.
fn call(
    (server, address): (usize, &str),
    me: Identity,
    token: &Token,
    waiting: &ConnectLimits,
) -> Result<PeerSocket> {
    let lost = |why: String| Error::Lost { server, why: format!("{address}: {why}") };
    for attempt in 0_u32.. {
        let error = match call_once(address, attempt, me, token, waiting) {
            Ok((wire, other)) => {
                expect(Identity { server, ..me }, other)?;
                return Ok(wire);
            }
            Err(Unheard::Ended(error)) => return Err(error),
            Err(Unheard::Never(why)) => return Err(lost(why)),
            Err(Unheard::Again(error)) => error,
        };
        if Instant::now() >= waiting.until {
            return Err(lost(error.to_string()));
        }
        std::thread::sleep(RETRY_INTERVAL);
        waiting.abort.check()?;
    }
    Err(lost("it does not answer".into()))
}

fn call_once(
    address: &str,
    attempt: u32,
    me: Identity,
    token: &Token,
    waiting: &ConnectLimits,
) -> std::result::Result<(PeerSocket, Identity), Unheard> {
    let check = || waiting.abort.check();
    let none = || io::Error::from(io::ErrorKind::AddrNotAvailable);
    let place = address.to_socket_addrs()?.next().ok_or_else(none)?;
    // Anybody on this machine may have taken the name of a Unix socket: every second call is by TCP.
    let mut wire = match near(place).filter(|_| attempt.is_multiple_of(2)) {
        Some(wire) => wire,
        None => PeerSocket::Tcp(dial(place, Instant::now() + CALL_TIMEOUT, &check)?),
    };
    wire.set_nodelay()?;
    let caller = Peer::Server(me);
    let said = greet(&mut wire, caller, token, &check)?;
    let who = hear(&mut wire, (&said, &caller.key(token)), waiting.until, &check)?;
    Ok((wire, Identity::of(&who)))
}

/// A connection to a server of this machine, which is twice as fast as by TCP.
fn near(place: SocketAddr) -> Option<PeerSocket> {
    #[cfg(target_os = "linux")]
    return UnixStream::connect_addr(&super::door::near(place)?.ok()?).ok().map(PeerSocket::Unix);
    #[cfg(not(target_os = "linux"))]
    None
}

/// Returns true if another read may succeed: nothing has come yet, or a signal came first.
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::AtomicBool;

    use super::super::door::{Door, Keeping};
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(2);

    fn waiting(peer_timeout: Duration) -> ConnectLimits {
        ConnectLimits {
            until: Instant::now() + peer_timeout,
            peer_timeout,
            abort: AbortFlag::default(),
        }
    }

    fn token(secret: &str) -> Token {
        Token::new(secret.as_bytes()).unwrap()
    }

    /// Three servers that connect, each as it believes to be, among strangers.
    fn all(identities: [Identity; 3], secrets: [&str; 3]) -> Vec<Result<Vec<Option<PeerSocket>>>> {
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = listeners.each_ref().map(|one| one.local_addr().unwrap().to_string());
        let (overs, all) = ([const { AtomicBool::new(false) }; 3], [0, 1, 2]);
        let doors = all.map(|k| Door::open(&listeners[k], &token(secrets[k])).unwrap());
        // Strangers are first: those that say nothing, and one that says the wrong thing.
        let mut strangers: Vec<_> =
            (0..600).map(|k| TcpStream::connect(&addresses[k % 3]).unwrap()).collect();
        let text = b"GET / HTTP/1.1\r\n\r\n and more than a server says";
        strangers[0].write_all(text).unwrap();
        let one = |k: usize| {
            let (door, token) = (&doors[k], token(secrets[k]));
            connect(door.arrivals(), &addresses, identities[k], &token, &waiting(TIMEOUT))
        };
        let one = &one;
        std::thread::scope(|scope| {
            let _kept = all.map(|k| Keeping::begin(&doors[k], &overs[k], scope).unwrap());
            let servers = all.map(|k| scope.spawn(move || one(k)));
            servers.into_iter().map(|server| server.join().unwrap()).collect()
        })
    }

    const SECRET: &str = "a secret of servers";

    fn three(job: u64) -> [Identity; 3] {
        [0, 1, 2].map(|server| Identity { server, job, epoch: 1 })
    }

    /// Strangers delay nobody. Seen red with strangers that keep their places until they
    /// hang up.
    #[test]
    fn all_servers_are_connected_and_strangers_are_not() {
        let began = Instant::now();
        for (server, sockets) in all(three(7), [SECRET; 3]).into_iter().enumerate() {
            let there: Vec<bool> = sockets.unwrap().iter().map(Option::is_some).collect();
            let expected: Vec<bool> = (0..3).map(|other| other != server).collect();
            assert_eq!(there, expected);
        }
        assert!(began.elapsed() < GREETING_TIMEOUT);
    }

    /// A server with another token is told so, and takes part in nothing.
    #[test]
    fn servers_with_another_token_are_refused() {
        let results = all(three(7), [SECRET, SECRET, "another secret of it"]);
        assert!(results.iter().all(Result::is_err));
        let why = results.into_iter().last().unwrap().unwrap_err().to_string();
        assert!(why.contains("another token"), "{why}");
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
            let results = all([first, odd, last], [SECRET; 3]);
            assert!(results.iter().all(|result| matches!(result, Err(Error::Lost { .. }))));
            assert!(began.elapsed() < 5 * TIMEOUT);
        }
    }
}
