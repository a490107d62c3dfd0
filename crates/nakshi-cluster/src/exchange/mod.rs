//! Rounds in which servers send each other frames.
//!
//! A [`Session`] numbers the frames of a round and ends it when all of them have arrived, each once:
//! what is late, double or damaged does not count, and what is missing is an error. A [`Transport`]
//! carries them: [`channels`] over threads or sockets by timely's communication, [`simulated`] in tests,
//! with faults. The [`door`] is where a worker is called, and the greeting there tells strangers from
//! front-ends and servers.

mod abort_flag;
pub mod channels;
pub mod door;
mod frame;
pub(crate) mod greeting;
mod guarded;
mod peer_socket;
mod session;
pub mod simulated;
pub mod sockets;

pub use abort_flag::AbortFlag;
pub use greeting::Identity;
pub use peer_socket::PeerSocket;
pub(crate) use peer_socket::watchful;
pub use session::{Batch, Counters, Session, Sink};

use crate::Result;

/// Bytes of a frame, about.
pub(crate) const FRAME: usize = 256 << 10;
/// Bytes of all frames of a batch, about.
pub(crate) const BATCH: usize = 8 << 20;

/// Carrier of frames between servers.
pub trait Transport {
    /// Number of this server.
    fn server(&self) -> usize;

    /// Number of servers.
    fn servers(&self) -> usize;

    /// Sends a frame to another server, or keeps it to be sent.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    fn send(&mut self, to: usize, frame: Vec<u8>) -> Result<()>;

    /// Hands over what has arrived until all that was sent in the round by any server has, as far as
    /// the transport can tell.
    ///
    /// # Errors
    /// [`crate::Error::Lost`]; those of `arrived`.
    fn finish(&mut self, arrived: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}
