//! A connection between two servers: a socket of TCP, or of Unix on one machine, where it takes half the
//! time.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection between two servers.
#[derive(Debug)]
pub enum PeerSocket {
    /// Between machines.
    Tcp(TcpStream),
    /// On one machine.
    Unix(UnixStream),
}

macro_rules! either {
    ($wire:expr, $socket:ident => $what:expr) => {
        match $wire {
            PeerSocket::Tcp($socket) => $what,
            PeerSocket::Unix($socket) => $what,
        }
    };
}

impl PeerSocket {
    /// Another handle of it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            PeerSocket::Tcp(socket) => PeerSocket::Tcp(socket.try_clone()?),
            PeerSocket::Unix(socket) => PeerSocket::Unix(socket.try_clone()?),
        })
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        either!(self, socket => socket.shutdown(how))
    }

    pub(super) fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        either!(self, socket => socket.set_nonblocking(nonblocking))
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, socket => socket.as_fd())
    }

    /// Sends small messages at once.
    pub(super) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            PeerSocket::Tcp(socket) => socket.set_nodelay(true),
            PeerSocket::Unix(_) => Ok(()),
        }
    }

    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, socket => socket.set_read_timeout(timeout))
    }

    pub(super) fn watchful(&self, peer_timeout: Duration) -> io::Result<()> {
        match self {
            PeerSocket::Tcp(socket) => watchful(socket, peer_timeout),
            // Nothing lies between the two ends.
            PeerSocket::Unix(_) => Ok(()),
        }
    }
}

impl Read for PeerSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        either!(self, socket => socket.read(buffer))
    }
}

impl Write for PeerSocket {
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
/// Errors of the socket.
pub(crate) fn watchful(socket: &TcpStream, peer_timeout: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let socket = socket2::SockRef::from(socket);
    let second = Duration::from_secs(1);
    let probes = socket2::TcpKeepalive::new().with_time(second).with_interval(second);
    socket.set_tcp_keepalive(&probes)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(peer_timeout))?;
    Ok(())
}
