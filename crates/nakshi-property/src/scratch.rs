//! Directories that go with the process that made them: topologies that were brought up to date. And files
//! without a name, for rows that do not fit into memory.
//!
//! A directory lies beside its store, or, where nothing can be written there, in the system's directory
//! for temporary files. Its owner holds a lock in it. A directory whose lock is free was left by a
//! process that was killed, and goes when the store is opened next.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nakshi_io::write::{FileLock, default_fs};
use nakshi_store::files::{hex, new_uuid};
use nakshi_store::sort::Spill;
use nakshi_store::{Error, Result, Store};

/// The lock of the owner.
const LOCK: &str = "owner.lock";
/// Names that are tried: another process may take a new directory for one that was left.
const TRIES: usize = 8;

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    process: u32,
    _lock: FileLock,
}

impl Scratch {
    /// Makes a directory for the topology of `store`.
    ///
    /// # Errors
    /// [`Error::Io`] where nothing can be created beside the store nor in the system's directory.
    pub(super) fn create(store: &Store) -> Result<Self> {
        let mut failed = None;
        for (parent, prefix) in places(store).into_iter().flatten() {
            for _ in 0..TRIES {
                match Self::try_create(&parent.join(format!("{prefix}{}", hex(&new_uuid())))) {
                    Ok(scratch) => return Ok(scratch),
                    Err(error) => failed = Some(error),
                }
            }
        }
        Err(failed.unwrap_or(Error::Internal("a store without a directory around it")))
    }

    fn try_create(path: &Path) -> Result<Self> {
        std::fs::create_dir(path).map_err(|error| Error::io("create", path, error))?;
        let lock = FileLock::acquire(&path.join(LOCK))?;
        Ok(Scratch { path: path.to_path_buf(), process: std::process::id(), _lock: lock })
    }

    /// The directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this process made it; a forked child leaves it to its parent.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.is_ours()
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!("temporary directory {} left behind: {error}", self.path.display());
        }
    }
}

/// Removes the directories of processes that were killed. What cannot be removed stays for the next
/// time.
pub(super) fn remove_leftovers(store: &Store) {
    for (parent, prefix) in places(store).into_iter().flatten() {
        let Ok(entries) = std::fs::read_dir(&parent) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let ours = name.to_str().is_some_and(|name| name.starts_with(&prefix));
            if !ours || !entry.file_type().is_ok_and(|ty| ty.is_dir()) {
                continue;
            }
            if let Ok(lock) = FileLock::acquire(&entry.path().join(LOCK)) {
                if let Err(error) = std::fs::remove_dir_all(entry.path()) {
                    let path = entry.path();
                    tracing::warn!("temporary directory {} left behind: {error}", path.display());
                }
                drop(lock);
            }
        }
    }
}

/// Makes a file for temporary data beside a store, or, where nothing can be written there, in the system's
/// directory for temporary files.
///
/// # Errors
/// Those of creating it.
pub(super) fn spill(store: &Path) -> Result<Spill> {
    let (fs, name) = (default_fs(), hex(&new_uuid()));
    beside(store, |folder| Spill::create(&*fs, folder, &name))
}

/// The same as a plain file, for another process.
///
/// # Errors
/// Those of creating it.
pub(super) fn unnamed(store: &Path) -> Result<File> {
    beside(store, create_unnamed)
}

/// Creates something in the folder of a store, or, where that fails, in the system's directory for temporary files.
fn beside<T>(store: &Path, create: impl Fn(&Path) -> Result<T>) -> Result<T> {
    let path = std::path::absolute(store).unwrap_or_else(|_| store.to_path_buf());
    match path.parent().map(&create) {
        Some(Ok(created)) => Ok(created),
        _ => create(&std::env::temp_dir()),
    }
}

/// Creates a file that only this process, and those that inherit it, can open.
fn create_unnamed(folder: &Path) -> Result<File> {
    let path = folder.join(format!(".nakshi-{}", hex(&new_uuid())));
    let mut options = File::options();
    options.read(true).write(true).create_new(true).mode(0o600);
    let file = options.open(&path).map_err(|error| Error::io("create", &path, error))?;
    std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, error))?;
    Ok(file)
}

/// Where directories of a store may lie, and how their names begin.
fn places(store: &Store) -> [Option<(PathBuf, String)>; 2] {
    let path = std::path::absolute(store.path()).unwrap_or_else(|_| store.path().to_path_buf());
    let beside = path.parent().zip(path.file_name()).map(|(parent, name)| {
        (parent.to_path_buf(), format!(".{}.current-", name.to_string_lossy()))
    });
    [beside, Some((std::env::temp_dir(), format!("nakshi-{}.current-", store.uuid())))]
}
