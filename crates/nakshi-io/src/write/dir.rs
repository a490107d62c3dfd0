//! A directory that appears whole or not at all.

use super::{FileLock, WriteFs};
use crate::error::At;
use crate::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory under construction.
///
/// It is built as the hidden sibling `.<name>.importing-<tag>` of its
/// destination and renamed when all of it is durable. A lock file
/// `.<name>.importing.lock` beside it keeps a second builder of the same
/// destination out; whoever holds it removes what dead builders left. Dropping
/// it unpublished removes it.
#[derive(Debug)]
pub struct AtomicDir {
    fs: Arc<dyn WriteFs>,
    dest: PathBuf,
    temp: PathBuf,
    published: bool,
    _lock: FileLock,
}

impl AtomicDir {
    /// Starts a directory that will become `dest`, which must not exist. `tag`
    /// (a UUID) makes the temporary name unique.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Locked`] if `dest` is being built by
    /// another, [`Error::Io`].
    pub fn create(fs: Arc<dyn WriteFs>, dest: &Path, tag: &str) -> Result<Self> {
        let (parent, prefix) = place(dest)?;
        if std::fs::symlink_metadata(dest).is_ok() {
            return Err(Error::Exists { path: dest.to_owned() });
        }
        let lock =
            FileLock::temporary(&parent.join(with(&prefix, ".lock"))).map_err(
                |error| match error {
                    // The reader knows the directory, not our lock file in it.
                    Error::Io { source, .. } => {
                        Error::Io { op: "write to", path: parent.clone(), source }
                    }
                    other => other,
                },
            )?;
        // Again under the lock: another builder may just have finished.
        if std::fs::symlink_metadata(dest).is_ok() {
            return Err(Error::Exists { path: dest.to_owned() });
        }
        let leftover = with(&prefix, "-");
        for entry in std::fs::read_dir(&parent).at("list", &parent)? {
            let entry = entry.at("list", &parent)?;
            if entry.file_name().as_encoded_bytes().starts_with(leftover.as_encoded_bytes()) {
                fs.remove_dir_all(&entry.path())?;
            }
        }
        let temp = parent.join(with(&leftover, tag));
        fs.create_dir(&temp)?;
        Ok(Self { fs, dest: dest.to_owned(), temp, published: false, _lock: lock })
    }

    /// The directory to write to.
    pub fn path(&self) -> &Path {
        &self.temp
    }

    /// The directory that it will become.
    pub fn dest(&self) -> &Path {
        &self.dest
    }

    /// Makes the names durable, renames to the destination, and makes that
    /// durable. All files must have been fsynced.
    ///
    /// If only the very last step fails, the destination is there and complete,
    /// but may be gone after a power cut.
    pub fn publish(mut self) -> Result<()> {
        self.fs.sync_dir(&self.temp)?;
        self.fs.publish(&self.temp, &self.dest)?;
        self.published = true;
        let (parent, _) = place(&self.dest)?;
        self.fs.sync_dir(&parent)
    }
}

impl Drop for AtomicDir {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        if let Err(error) = self.fs.remove_dir_all(&self.temp) {
            tracing::warn!("temporary directory left behind: {error}");
        }
    }
}

/// The parent of `dest` and the prefix of the names used while building.
fn place(dest: &Path) -> Result<(PathBuf, OsString)> {
    let name = dest.file_name();
    let name = name.ok_or_else(|| {
        Error::unsupported(format!("{} as a name for a directory", dest.display()))
    })?;
    let parent = match dest.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".importing");
    Ok((parent, prefix))
}

fn with(prefix: &OsString, suffix: &str) -> OsString {
    let mut name = prefix.clone();
    name.push(suffix);
    name
}
