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
    wait(source, libc::POLLIN, timeout)
}

/// Waits until `sink` takes bytes, or will never take any, for at most `timeout`; returns true if so.
///
/// # Errors
/// The errors of `poll`.
pub(crate) fn wait_writable(sink: &impl AsFd, timeout: Duration) -> io::Result<bool> {
    wait(sink, libc::POLLOUT, timeout)
}

fn wait(file: &impl AsFd, events: libc::c_short, timeout: Duration) -> io::Result<bool> {
    let mut wanted = libc::pollfd { fd: file.as_fd().as_raw_fd(), events, revents: 0 };
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
