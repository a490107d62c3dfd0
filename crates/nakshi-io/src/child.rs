//! Work in a child process, which can be killed at any time.
#![allow(unsafe_code)]

use crate::{CANCEL_POLL_INTERVAL, CancelToken, wait_readable};
use std::io::{self, Read, Write};
use std::time::Duration;

/// The way in which work in a child process ended.
#[derive(Debug)]
pub enum ChildExit {
    /// The work is done; this is its result.
    Done(Vec<u8>),
    /// The call was cancelled; the process has been killed.
    Cancelled,
    /// The process ended without a result; 0 stands for no signal.
    Died {
        /// The signal that ended it.
        signal: i32,
    },
}

/// Runs `work` in a forked copy of this process and returns its result. For functions of other
/// languages, which check no [`CancelToken`]. Changes that `work` makes in memory are not visible
/// in this process.
///
/// The child has the calling thread only. `work` may allocate, but must neither take locks that
/// other threads may hold nor use files or threads of this process. The child ends with this
/// process.
///
/// # Errors
/// A failure to start the process; `work` has not run then.
pub fn run_in_child(cancel: &CancelToken, work: impl FnOnce() -> Vec<u8>) -> io::Result<ChildExit> {
    let (mut results, sink) = io::pipe()?;
    // SAFETY: the child calls `work`, writes to the pipe and exits without returning, so nothing of
    // this process is dropped twice. The C library makes its allocator usable in the child.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error()),
        0 => child_of(sink, work),
        _ => drop(sink),
    }
    let mut child = ChildProcess { process: child, signal: None };
    let (mut bytes, mut wanted) = (Vec::new(), None);
    loop {
        if cancel.is_cancelled() {
            return Ok(ChildExit::Cancelled);
        }
        // Checked before the pipe is read: output that the child wrote before its end is in the
        // pipe then.
        let ended = child.has_ended();
        if !wait_readable(&results, if ended { Duration::ZERO } else { CANCEL_POLL_INTERVAL })? {
            if ended {
                return Ok(ChildExit::Died { signal: child.signal.unwrap_or(0) });
            }
            continue;
        }
        let mut piece = [0; 64 << 10];
        let read = results.read(&mut piece)?;
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if wanted.is_none()
            && let Some(length) = bytes.first_chunk::<8>()
        {
            wanted = Some(u64::from_le_bytes(*length));
        }
        if wanted.is_some_and(|wanted| bytes.len() as u64 == wanted + 8) {
            return Ok(ChildExit::Done(bytes.split_off(8)));
        }
        if read == 0 {
            child.wait(0);
            return Ok(ChildExit::Died { signal: child.signal.unwrap_or(0) });
        }
    }
}

/// Runs `work` in the child, sends its result, and ends the child.
fn child_of(mut sink: io::PipeWriter, work: impl FnOnce() -> Vec<u8>) -> ! {
    // SAFETY: plain system calls. Ctrl-C reaches the child too, and its parent decides what to do;
    // other signals end the child as they end a process without handlers.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let result = work();
        sink.write_all(&(result.len() as u64).to_le_bytes())?;
        sink.write_all(&result)
    }));
    // SAFETY: ends the child at once, without the exit handlers of the process.
    unsafe { libc::_exit(i32::from(!matches!(done, Ok(Ok(()))))) }
}

/// A child process that is killed and waited for when this is dropped.
struct ChildProcess {
    process: libc::pid_t,
    /// The signal that ended the process, or 0; `None` while it runs.
    signal: Option<i32>,
}

impl ChildProcess {
    fn has_ended(&mut self) -> bool {
        self.wait(libc::WNOHANG);
        self.signal.is_some()
    }

    fn wait(&mut self, options: libc::c_int) {
        while self.signal.is_none() {
            let mut status = 0;
            // SAFETY: a child of this process that nobody has waited for yet; the call writes one
            // integer.
            match unsafe { libc::waitpid(self.process, &raw mut status, options) } {
                0 => return,
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                // Another thread has waited for all children of the process.
                -1 => self.signal = Some(0),
                _ if libc::WIFSIGNALED(status) => self.signal = Some(libc::WTERMSIG(status)),
                _ => self.signal = Some(0),
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !self.has_ended() {
            // SAFETY: a child that has not been waited for, so its id is not reused yet.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
            self.wait(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn forever() -> Vec<u8> {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    #[test]
    fn results_come_back_whole() {
        for length in [0usize, 1, 7, 1 << 20] {
            let expected: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            match run_in_child(&CancelToken::new(), || expected.clone()).unwrap() {
                ChildExit::Done(found) => assert!(found == expected, "{length}"),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Seen red without the check of the token, and with a process that is not killed.
    #[test]
    fn cancelled_at_once_and_gone() {
        let cancel = CancelToken::new();
        let canceller = cancel.clone();
        let began = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            canceller.cancel();
            Instant::now()
        });
        assert!(matches!(run_in_child(&cancel, forever).unwrap(), ChildExit::Cancelled));
        assert!(began.join().unwrap().elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn a_process_that_dies_is_told() {
        let died = |work: fn() -> Vec<u8>| match run_in_child(&CancelToken::new(), work).unwrap() {
            ChildExit::Died { signal } => signal,
            other => panic!("{other:?}"),
        };
        // SAFETY: ends the child, which has nothing to lose.
        assert_eq!(died(|| unsafe { libc::_exit(3) }), 0);
        // SAFETY: as above.
        assert_eq!(
            died(|| unsafe { libc::raise(libc::SIGKILL) }.to_string().into()),
            libc::SIGKILL
        );
    }
}
