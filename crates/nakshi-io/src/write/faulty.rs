//! A file system that fails, tears a write or kills the process at the nth operation.
#![allow(unsafe_code)]

use super::{WriteFile, WriteFs};
use crate::{Error, Result};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The kinds of operations that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOp {
    /// Creating a file or directory.
    Create,
    /// Appending to a file.
    Write,
    /// Making a file or directory durable.
    Fsync,
    /// Renaming or publishing.
    Rename,
    /// Removing.
    Remove,
}

/// The fault at a counted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteAction {
    /// The operation fails with this `errno` and is not done (a write: half done).
    Fail(i32),
    /// The process is killed (SIGKILL) before the operation.
    Kill,
    /// The process is killed after half of the bytes of a write.
    Tear,
}

/// A fault to inject: the operation and the action.
///
/// As text `OP:N[+]:ACTION`, with `OP` one of `any`, `create`, `write`, `fsync`, `rename`,
/// `remove`; `N` counted from 0 among the operations of that kind (of any kind for `any`); `+` for
/// that one and all that follow; `ACTION` one of `eio`, `enospc`, `kill`, `tear`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteFault {
    /// Kind of operation; `None` for any.
    pub op: Option<WriteOp>,
    /// Number of the operation, counted from 0 among those of its kind.
    pub nth: u64,
    /// True if the operations that follow fail too.
    pub onwards: bool,
    /// The fault.
    pub action: WriteAction,
}

impl FromStr for WriteFault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refuse = || {
            Error::unsupported(format!(
                "the fault {text:?}; write OP:N[+]:ACTION, as in write:17:kill"
            ))
        };
        let mut parts = text.trim().split(':');
        let (Some(op), Some(nth), Some(action), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refuse());
        };
        let op = match op {
            "any" => None,
            "create" => Some(WriteOp::Create),
            "write" => Some(WriteOp::Write),
            "fsync" => Some(WriteOp::Fsync),
            "rename" => Some(WriteOp::Rename),
            "remove" => Some(WriteOp::Remove),
            _ => return Err(refuse()),
        };
        let action = match action {
            "eio" => WriteAction::Fail(libc::EIO),
            "enospc" => WriteAction::Fail(libc::ENOSPC),
            "kill" => WriteAction::Kill,
            "tear" => WriteAction::Tear,
            _ => return Err(refuse()),
        };
        let (number, onwards) = nth.strip_suffix('+').map_or((nth, false), |number| (number, true));
        Ok(Self { op, nth: number.parse().map_err(|_| refuse())?, onwards, action })
    }
}

/// A file system with faults. Operations are counted over all its files.
#[derive(Debug, Clone)]
pub struct FaultyFs {
    inner: Arc<dyn WriteFs>,
    state: Arc<WriteFaults>,
}

#[derive(Debug)]
struct WriteFaults {
    faults: Vec<WriteFault>,
    all: AtomicU64,
    /// Indexed by [`WriteOp`].
    counts: [AtomicU64; 5],
}

impl FaultyFs {
    /// Adds faults to the operations of `inner`.
    pub fn new(inner: Arc<dyn WriteFs>, faults: Vec<WriteFault>) -> Self {
        Self {
            inner,
            state: Arc::new(WriteFaults {
                faults,
                all: AtomicU64::new(0),
                counts: Default::default(),
            }),
        }
    }

    /// Returns the number of operations so far: the number of places for a fault in a job.
    pub fn operations(&self) -> u64 {
        self.state.all.load(Ordering::SeqCst)
    }
}

impl WriteFaults {
    /// Counts an operation; returns its fault, if any.
    fn next(&self, op: WriteOp) -> Option<WriteAction> {
        let all = self.all.fetch_add(1, Ordering::SeqCst);
        let own = match op {
            WriteOp::Create => 0,
            WriteOp::Write => 1,
            WriteOp::Fsync => 2,
            WriteOp::Rename => 3,
            WriteOp::Remove => 4,
        };
        let own = self.counts.get(own).map_or(0, |count| count.fetch_add(1, Ordering::SeqCst));
        let hit = |fault: &&WriteFault| {
            let number = if fault.op.is_none() { all } else { own };
            let named = fault.op.is_none_or(|named| named == op);
            named && (number == fault.nth || fault.onwards && number > fault.nth)
        };
        self.faults.iter().find(hit).map(|fault| fault.action)
    }

    /// Performs an operation other than a write: it passes, fails, or ends the process.
    fn pass(&self, op: WriteOp, name: &'static str, path: &Path) -> Result<()> {
        match self.next(op) {
            None => Ok(()),
            Some(WriteAction::Fail(errno)) => {
                Err(Error::io(name, path, std::io::Error::from_raw_os_error(errno)))
            }
            Some(WriteAction::Kill | WriteAction::Tear) => die(),
        }
    }
}

/// Ends the process as the kernel would, without any clean-up.
fn die() -> ! {
    // SAFETY: two numbers; the call does not return.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    std::process::abort()
}

impl WriteFs for FaultyFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        self.state.pass(WriteOp::Create, "create", path)?;
        Ok(Box::new(FaultyFile { inner: self.inner.create(path)?, state: Arc::clone(&self.state) }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.state.pass(WriteOp::Create, "create", path)?;
        self.inner.create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.state.pass(WriteOp::Rename, "rename to", to)?;
        self.inner.rename(from, to)
    }

    fn publish(&self, from: &Path, to: &Path) -> Result<()> {
        self.state.pass(WriteOp::Rename, "rename to", to)?;
        self.inner.publish(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        self.state.pass(WriteOp::Remove, "remove", path)?;
        self.inner.remove_file(path)
    }

    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        self.state.pass(WriteOp::Remove, "remove", path)?;
        self.inner.remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.state.pass(WriteOp::Fsync, "fsync", path)?;
        self.inner.sync_dir(path)
    }
}

#[derive(Debug)]
struct FaultyFile {
    inner: Box<dyn WriteFile>,
    state: Arc<WriteFaults>,
}

impl WriteFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(action) = self.state.next(WriteOp::Write) else { return self.inner.append(bytes) };
        if action == WriteAction::Kill {
            die();
        }
        let (half, rest) = bytes.split_at(bytes.len() / 2);
        self.inner.append(half)?;
        let WriteAction::Fail(errno) = action else { die() };
        Err(match Error::io("write", self.path(), std::io::Error::from_raw_os_error(errno)) {
            Error::NoSpace { path, .. } => Error::NoSpace { path, needed: rest.len() as u64 },
            other => other,
        })
    }

    fn sync(&mut self) -> Result<()> {
        self.state.pass(WriteOp::Fsync, "fsync", self.inner.path())?;
        self.inner.sync()
    }

    fn sync_data(&mut self) -> Result<()> {
        self.state.pass(WriteOp::Fsync, "fsync", self.inner.path())?;
        self.inner.sync_data()
    }

    fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.state.pass(WriteOp::Write, "write", self.inner.path())?;
        self.inner.reserve(bytes)
    }

    // Frees space only, and is not counted.
    fn punch(&mut self, offset: u64, len: u64) -> Result<bool> {
        self.inner.punch(offset, len)
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}
