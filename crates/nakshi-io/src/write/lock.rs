//! Locks that keep out a second writer.
#![allow(unsafe_code)]

use crate::error::At;
use crate::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// An exclusive lock (`flock`) on a file, held until it is dropped or until the process ends,
/// however it ends.
///
/// A lock belongs to the process that took it. A forked child closes its copy of the descriptor at
/// once, so that it neither keeps others out nor releases the lock.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    /// Open as long as the lock is held. In a forked child its descriptor is already closed, or
    /// belongs to another file.
    file: ManuallyDrop<File>,
    process: u32,
    slot: Option<&'static AtomicI32>,
    remove: bool,
}

/// Descriptors of the locks that this process holds, which a forked child closes. A lock that finds
/// no free slot is released by its owner all the same; only if its owner is killed do its children
/// keep it.
static HELD: [AtomicI32; 1024] = [const { AtomicI32::new(NONE) }; 1024];
/// No descriptor.
const NONE: i32 = -1;

/// Closes the child's copies of the locks right after the fork.
extern "C" fn close_in_child() {
    for slot in &HELD {
        let fd = slot.swap(NONE, Ordering::Relaxed);
        if fd != NONE {
            // SAFETY: `close` may be called between `fork` and `exec`; no other thread runs here, and
            // the lock that owns the descriptor does not touch it in another process.
            unsafe { libc::close(fd) };
        }
    }
}

/// Adds a descriptor to those that forked children close.
fn held(fd: i32) -> Option<&'static AtomicI32> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler is a function of this library that touches atomics and closes files.
        if unsafe { libc::pthread_atfork(None, None, Some(close_in_child)) } != 0 {
            tracing::warn!("no memory to watch for forks; a forked child may keep a store locked");
        }
    });
    let free = |slot: &&AtomicI32| {
        slot.compare_exchange(NONE, fd, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    HELD.iter().find(free)
}

/// Returns true if a lock of this process is on the same file; false where the system has no `/proc`.
fn is_held_here(file: &File) -> bool {
    let Ok(wanted) = file.metadata() else { return false };
    HELD.iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|fd| *fd != NONE).any(|fd| {
        std::fs::metadata(format!("/proc/self/fd/{fd}"))
            .is_ok_and(|own| (own.dev(), own.ino()) == (wanted.dev(), wanted.ino()))
    })
}

impl FileLock {
    /// Takes the lock without waiting; creates the file if needed.
    ///
    /// # Errors
    /// [`Error::Locked`] if another handle holds it.
    pub fn acquire(path: &Path) -> Result<Self> {
        Self::take(path, false)
    }

    /// Takes the lock like [`acquire`](Self::acquire), with a lock file that is removed afterwards.
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
                    let here = is_held_here(&file);
                    return Err(Error::Locked { path: path.to_owned(), here });
                }
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", path, e)),
            }
            // If the holder removed the file while we opened it, we have the lock of a file that no
            // other process will find: start again.
            let same = match (file.metadata(), std::fs::metadata(path)) {
                (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
                _ => false,
            };
            if same {
                let (process, slot) = (std::process::id(), held(file.as_raw_fd()));
                let (path, file) = (path.to_owned(), ManuallyDrop::new(file));
                return Ok(Self { path, file, process, slot, remove });
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The lock belongs to the parent; the descriptor here was closed when this process
            // began.
            return;
        }
        if self.remove {
            // Removed while the lock is held, so that a waiting process notices.
            let _ = std::fs::remove_file(&self.path);
        }
        // Removed from the list before the descriptor is closed.
        self.slot.iter().for_each(|slot| slot.store(NONE, Ordering::Relaxed));
        // A child that has not closed its copy yet would keep a lock that is only closed here.
        let _ = self.file.unlock();
        // SAFETY: dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.file) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::RawFd;

    /// Forks a child that does nothing until it is told to end. It makes only calls that are
    /// allowed between `fork` and `exec`.
    fn idle_child(pipe: [RawFd; 2]) -> libc::pid_t {
        // SAFETY: the child reads from a pipe and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::close(pipe[1]);
                let mut byte = 0_u8;
                libc::read(pipe[0], (&raw mut byte).cast(), 1);
                libc::_exit(0);
            }
            child
        }
    }

    /// Seen red with a lock that is only closed, and no handler: the child keeps it.
    #[test]
    fn a_forked_child_keeps_no_lock() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let mut pipe = [0; 2];
        // SAFETY: two numbers are written.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let lock = FileLock::acquire(&path).unwrap();
        let child = idle_child(pipe);
        assert!(child > 0);
        // The child has not released the parent's lock.
        assert!(matches!(FileLock::acquire(&path), Err(Error::Locked { .. })));
        drop(lock);
        drop(FileLock::acquire(&path).unwrap());
        // SAFETY: plain numbers, and a location for one.
        unsafe {
            libc::close(pipe[1]);
            libc::close(pipe[0]);
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        }
    }

    /// Seen red without the handler: the descriptor of the lock is open in the child.
    #[test]
    fn a_forked_child_has_not_the_descriptor() {
        let home = tempfile::tempdir().unwrap();
        let lock = FileLock::acquire(&home.path().join("lock")).unwrap();
        let fd = lock.file.as_raw_fd();
        // SAFETY: the child asks about a descriptor and ends.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let open = libc::fcntl(fd, libc::F_GETFD) != -1;
                libc::_exit(i32::from(open));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            status
        };
        assert!(libc::WIFEXITED(status));
        assert_eq!(libc::WEXITSTATUS(status), 0);
        drop(lock);
    }
}
