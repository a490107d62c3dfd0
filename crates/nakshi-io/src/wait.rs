//! Waiting for a pipe.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Waits until `source` has bytes or has ended, for at most `patience`; says whether it has.
///
/// A named pipe that nobody has opened for writing yet has neither bytes nor an end.
///
/// # Errors
/// Those of `poll`.
pub fn wait_readable(source: &impl AsFd, patience: Duration) -> io::Result<bool> {
    let fd = source.as_fd().as_raw_fd();
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let patience = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives across the call, of a descriptor that is borrowed.
    match unsafe { libc::poll(&raw mut wanted, 1, patience) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}
