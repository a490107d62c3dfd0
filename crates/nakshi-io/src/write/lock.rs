//! One writer at a time.

use crate::error::At;
use crate::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An exclusive lock (`flock`) on a file, held until dropped or until the
/// process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    /// Held for its lock.
    _file: File,
    remove: bool,
}

impl FileLock {
    /// Takes the lock without waiting; creates the file if needed.
    ///
    /// # Errors
    /// [`Error::Locked`] if another handle holds it.
    pub fn acquire(path: &Path) -> Result<Self> {
        Self::take(path, false)
    }

    /// Like [`acquire`](Self::acquire), for a lock file that is removed again.
    pub fn temporary(path: &Path) -> Result<Self> {
        Self::take(path, true)
    }

    fn take(path: &Path, remove: bool) -> Result<Self> {
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .at("open", path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Locked { path: path.to_owned() });
                }
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", path, e)),
            }
            // A holder that removed the file while we opened it left us with
            // the lock of a file that nobody else will find: start again.
            let same = match (file.metadata(), std::fs::metadata(path)) {
                (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
                _ => false,
            };
            if same {
                return Ok(Self { path: path.to_owned(), _file: file, remove });
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.remove {
            // Removed while it is held, so that a waiting taker notices.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
