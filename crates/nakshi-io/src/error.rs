//! Errors below the store, in terms on which a caller can act.

use std::path::{Path, PathBuf};

use crate::size::{Cap, Size};

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of storage: the failure, its place, and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused or failed an operation.
    #[error("{op} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb ("open", "read", "fsync").
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A page does not have the contents that were written: damage on the
    /// device, or a file that was replaced or edited.
    #[error(
        "{}: page {page} is corrupt (its checksum does not match); restore the store from a copy or import it again",
        file.display()
    )]
    Corrupt {
        /// The (first physical) file.
        file: PathBuf,
        /// The page number, counted in the pages of the logical file.
        page: u64,
    },
    /// A file is shorter than its description says.
    #[error(
        "{}: truncated, {found} of {expected} bytes are there; restore the store from a copy or import it again",
        file.display()
    )]
    Truncated {
        /// The file.
        file: PathBuf,
        /// Number of bytes that should be there.
        expected: u64,
        /// Number of bytes that are there.
        found: u64,
    },
    /// The memory given is less than the least that works.
    #[error("needs {} of memory, {} were given; try {}", Size(*needed), Size(*given), Cap(*needed))]
    Budget {
        /// The least number of bytes that works.
        needed: u64,
        /// The number of bytes that was given.
        given: u64,
    },
    /// The device or quota is full.
    #[error("{}: no space left; free at least {needed} bytes there or write elsewhere", path.display())]
    NoSpace {
        /// The file being written.
        path: PathBuf,
        /// Number of bytes that could not be written (at least).
        needed: u64,
    },
    /// Another process or another handle holds the lock.
    #[error("{}: locked by {}", path.display(), holder(*here))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// True if a handle of this process holds it.
        here: bool,
    },
    /// The destination exists and must not be replaced.
    #[error("{}: already exists; remove it or choose another name", path.display())]
    Exists {
        /// The destination.
        path: PathBuf,
    },
    /// An earlier write or fsync of this file failed, so nothing that follows may be acknowledged:
    /// a retried fsync may report success although data are lost.
    #[error("{}: an earlier write or fsync failed; abandon this file and start again", path.display())]
    Poisoned {
        /// The file.
        path: PathBuf,
    },
    /// The caller's token was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The system does not start as many threads as a call needs. No thread has done any work.
    #[error(
        "only {started} of {wanted} threads could be started ({source}); use fewer (--threads), or raise the limit on processes (pids.max of the cgroup, ulimit -u)"
    )]
    Threads {
        /// Number of threads that the call needs, the calling one included.
        wanted: usize,
        /// Number of threads that were there, the calling one included.
        started: usize,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A worker of this crate or a closure of the caller panicked.
    #[error("a worker panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// Another worker of the same call has failed; its error is the one to report.
    #[error("abandoned, because another worker has failed")]
    Abandoned,
    /// The request is outside what this build, system or format can do.
    #[error("unsupported: {what}")]
    Unsupported {
        /// Reason, and what to do instead.
        what: String,
    },
}

/// The holder of a lock, and the remedy.
fn holder(here: bool) -> &'static str {
    match here {
        true => "another handle of this process; close that one first",
        false => "another process; wait for it to end, or stop it",
    }
}

impl Error {
    /// Makes an [`Error::Io`]; "no space" and "already exists" become their own variants.
    pub fn io(op: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Self::NoSpace { path, needed: 4096 },
            Some(libc::EEXIST | libc::ENOTEMPTY) if op != "remove" => Self::Exists { path },
            _ => Self::Io { op, path, source },
        }
    }

    /// Makes an [`Error::Unsupported`] with its explanation.
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into() }
    }

    /// Returns the file or directory in which the error occurred, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::NoSpace { path, .. }
            | Self::Locked { path, .. }
            | Self::Exists { path }
            | Self::Poisoned { path } => Some(path),
            Self::Corrupt { file, .. } | Self::Truncated { file, .. } => Some(file),
            _ => None,
        }
    }
}

/// Attaches operation and path to a system error.
pub(crate) trait At<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for std::io::Result<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T> {
        self.map_err(|e| Error::io(op, path, e))
    }
}
