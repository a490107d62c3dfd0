//! Waiting for a pipe.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Waits until `source` has bytes or has ended, for at most `timeout`; returns true if it has.
///
/// A named pipe that no process has opened for writing yet has neither bytes nor an end.
///
/// # Errors
/// The errors of `poll`.
pub fn wait_readable(source: &impl AsFd, timeout: Duration) -> io::Result<bool> {
    let fd = source.as_fd().as_raw_fd();
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let timeout = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives across the call, with a borrowed descriptor.
    match unsafe { libc::poll(&raw mut wanted, 1, timeout) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}
