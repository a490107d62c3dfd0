//! A connection that rings the alarm when it breaks.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use timely_communication::allocator::zero_copy::stream::Stream;

use super::AbortFlag;
use super::peer_socket::PeerSocket;

/// Counts the connections that other servers have closed after the last round.
#[derive(Debug, Default)]
pub(super) struct Closing {
    /// Set when this server has sent everything: others may hang up.
    pub(super) begun: AtomicBool,
    /// Number of servers that have hung up.
    pub(super) gone: AtomicUsize,
}

/// A connection to a server that sets the abort flag when it breaks.
///
/// timely's threads panic then. Here the one that receives ends without a word, since the run ends with
/// an error, and the one that sends goes on into nothing: when it panics for another reason, its buffer
/// is written out on the way, and a second panic would end the process.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) socket: PeerSocket,
    pub(super) server: usize,
    pub(super) abort: AbortFlag,
    /// When all is said, the other side may hang up.
    pub(super) closing: Arc<Closing>,
}

impl Guarded {
    fn broken(&self, why: &str) -> ! {
        self.abort.raise(self.server, why);
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
                    self.abort.raise(self.server, error.to_string());
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
            abort: self.abort.clone(),
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
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::Error;

    /// A thread that panics with a buffer to be written out to a connection that has broken ends alone.
    /// Seen red, as the end of the process, with connections that panic when they are written to.
    #[test]
    fn buffers_of_threads_that_panic() {
        let (near, far) = UnixStream::pair().unwrap();
        let (abort, closing) = (AbortFlag::default(), Arc::default());
        let guarded =
            Guarded { socket: PeerSocket::Unix(near), server: 7, abort: abort.clone(), closing };
        let mut buffer = io::BufWriter::new(guarded);
        buffer.write_all(b"the last word").unwrap();
        drop(far);
        let thread = std::thread::spawn(move || {
            let _buffer = buffer;
            resume_unwind(Box::new("poisoned"))
        });
        assert!(thread.join().is_err());
        assert!(matches!(abort.check(), Err(Error::Lost { server: 7, .. })));
    }
}
