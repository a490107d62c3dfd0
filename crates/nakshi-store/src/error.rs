//! The one error type of this crate.

use std::path::{Path, PathBuf};

use nakshi_io::{Cap, Size};

/// An error of building, opening, reading or checking a store.
///
/// Every message is one line: the fault, its place, and the remedy.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("cannot {op} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb.
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Bytes on disk are not what was written.
    #[error("{} is corrupt at page {page}: {what}; restore it from a copy or import again", file.display())]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// The page of that file, counted from 0.
        page: u64,
        /// Description of the mismatch.
        what: String,
    },
    /// A file is shorter (or longer) than its manifest says.
    #[error("{} has {found} bytes instead of {expected}; restore it from a copy or import again", file.display())]
    Truncated {
        /// The damaged file.
        file: PathBuf,
        /// Bytes that the manifest promises.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// An encoded edge list does not decode. Carries no file, because a list is decoded from
    /// memory; [`crate::Adjacency::blame`] turns it into [`Error::Corrupt`].
    #[error("an edge list does not decode: {0}; run `nakshi check` on its store")]
    BadList(&'static str),
    /// The store was written in a format that this version does not read.
    #[error("{} has format version {found}, this version reads up to {supported}; use a newer nakshi", path.display())]
    Incompatible {
        /// The manifest.
        path: PathBuf,
        /// The version in the file.
        found: u32,
        /// The newest version that this build reads.
        supported: u32,
    },
    /// A file belongs to another store.
    #[error("{} belongs to another store ({what}); put the right file back", path.display())]
    Foreign {
        /// The file that does not belong.
        path: PathBuf,
        /// The difference between the two stores.
        what: String,
    },
    /// The path holds no store.
    #[error("{} is not a nakshi store: {what}", path.display())]
    NotAStore {
        /// The path that was opened.
        path: PathBuf,
        /// The missing part.
        what: String,
    },
    /// The destination already exists.
    #[error("{} exists already; choose another name or remove it first", .0.display())]
    Exists(PathBuf),
    /// Another process is writing here.
    #[error("{} is being written by another process; wait for it or stop it", .0.display())]
    Locked(PathBuf),
    /// Another handle of this process writes here.
    #[error("{} is being written by another handle of this process; close that one first", .0.display())]
    LockedHere(PathBuf),
    /// Something that this version cannot represent.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// An input does not have the expected form.
    #[error("{}:{line}: {what}", file.display())]
    Input {
        /// The input file (`-` for standard input).
        file: PathBuf,
        /// The line, counted from 1, or the row, or the byte, as `what` says.
        line: u64,
        /// The fault and the remedy.
        what: String,
    },
    /// A file that an import was given is not there.
    #[error("cannot import {}: No such file or directory; check the path", .0.display())]
    NoInput(PathBuf),
    /// An import read no edge, and its caller expected some.
    #[error(
        "no edge was read from {from}; check the format, the separator and the header, or allow an \
         empty graph (--allow-empty, allow_empty=True)"
    )]
    NoEdges {
        /// The inputs.
        from: String,
    },
    /// A caller's argument is out of its domain.
    #[error("{0}")]
    Invalid(String),
    /// The store has no attribute column of that name.
    #[error("the store has no column '{name}' (it has: {known}); import with it or choose another")]
    NoColumn {
        /// The name that was asked for.
        name: String,
        /// The names of its columns, separated by commas.
        known: String,
    },
    /// The graph has no node with that id.
    #[error("there is no node {id} in {}", path.display())]
    NoNode {
        /// The id that was asked for.
        id: String,
        /// The store.
        path: PathBuf,
    },
    /// The memory budget is too small.
    #[error("needs {} of memory, {} were given; try {}", Size(*needed), Size(*given), Cap(*needed))]
    Budget {
        /// The smallest budget that works.
        needed: u64,
        /// The budget that was given.
        given: u64,
    },
    /// The disk has too little room for the temporary files of an import.
    #[error(
        "the import needs about {} of temporary space in {}, {} are free; free some, or name a \
         directory on another disk (--scratch, scratch=)",
        Size(*needed),
        path.display(),
        Size(*free)
    )]
    Scratch {
        /// Bytes that are still to be written, by an estimate.
        needed: u64,
        /// Bytes that the file system has left.
        free: u64,
        /// The directory.
        path: PathBuf,
    },
    /// An earlier write to the store failed, so no further commit is acknowledged through this
    /// handle. Opening the store again shows which of the last commits are on disk.
    #[error("{} takes no changes since writing failed ({why}); open it anew", path.display())]
    Poisoned {
        /// The store, or the file.
        path: PathBuf,
        /// The operation that failed.
        why: String,
    },
    /// A change would break a constraint that the graph keeps. Nothing was changed.
    #[error("{0}")]
    Constraint(String),
    /// A transaction has read or written what another commit has changed since. It changed nothing, and
    /// may run again.
    #[error("{0}")]
    Conflict(String),
    /// Another server has become the one that makes the commits of a replicated graph. What was being
    /// committed may have been made or not.
    #[error("another server makes the commits of {} now; ask it whether this one was made", .0.display())]
    Deposed(PathBuf),
    /// An invariant of this crate does not hold.
    #[error("internal error: {0}; please report it")]
    Internal(&'static str),
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Another worker of the same call has failed; its error is the one to report.
    #[error("abandoned, because another worker has failed")]
    Abandoned,
    /// A worker panicked.
    #[error("a worker panicked: {message}; this is a fault of nakshi, please report it")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// Another error of the storage layer, such as no space.
    #[error(transparent)]
    Storage(nakshi_io::Error),
}

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Wraps a system error with its operation and path. A write to standard output that the caller
    /// has cancelled is [`Error::Cancelled`].
    pub fn io(op: &'static str, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        let inner = source.get_ref().and_then(|inner| inner.downcast_ref::<nakshi_io::Error>());
        if matches!(inner, Some(nakshi_io::Error::Cancelled)) {
            return Self::Cancelled;
        }
        Self::Io { op, path: path.as_ref().to_path_buf(), source }
    }

    /// # Errors
    /// [`Error::Budget`] if `needed` exceeds `given`.
    pub fn afford(needed: u64, given: Option<u64>) -> Result<()> {
        match given {
            Some(given) if given < needed => Err(Self::Budget { needed, given }),
            _ => Ok(()),
        }
    }
}

impl nakshi_io::WorkerError for Error {
    fn echo(&self) -> u8 {
        match self {
            Self::Abandoned => 2,
            Self::Cancelled => 1,
            _ => 0,
        }
    }
}

impl From<nakshi_io::Error> for Error {
    fn from(error: nakshi_io::Error) -> Self {
        use nakshi_io::Error as Io;
        match error {
            Io::Io { op, path, source } => Self::Io { op, path, source },
            Io::Corrupt { file, page } => {
                Self::Corrupt { file, page, what: "its checksum does not match".into() }
            }
            Io::Truncated { file, expected, found } => Self::Truncated { file, expected, found },
            Io::Budget { needed, given } => Self::Budget { needed, given },
            Io::Exists { path } => Self::Exists(path),
            Io::Locked { path, here: false } => Self::Locked(path),
            Io::Locked { path, here: true } => Self::LockedHere(path),
            Io::Cancelled => Self::Cancelled,
            Io::Abandoned => Self::Abandoned,
            Io::Panicked { message } => Self::Panicked { message },
            Io::Poisoned { path } => {
                Self::Poisoned { path, why: "an earlier write or fsync of this file".into() }
            }
            Io::Unsupported { what } => Self::Unsupported(what),
            other => Self::Storage(other),
        }
    }
}
