//! A directory that appears whole or not at all.

use super::{FileLock, WriteFs, write_file};
use crate::error::At;
use crate::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that names the annexes of a directory under construction, each followed by a zero.
const ANNEXES: &str = "annexes";

/// A directory under construction.
///
/// It is built as the hidden sibling `.<name>.importing-<tag>` of its destination and renamed when
/// all of it is durable. A lock file `.<name>.importing.lock` beside it keeps out a second builder
/// of the same destination; the holder of the lock removes the leftovers of dead builders. Dropping
/// an unpublished directory removes it. Its [annexes](Self::annex) in other places are kept or
/// removed with it.
#[derive(Debug)]
pub struct AtomicDir {
    fs: Arc<dyn WriteFs>,
    dest: PathBuf,
    temp: PathBuf,
    annexes: Vec<PathBuf>,
    /// True once a list of annexes was written.
    listed: bool,
    published: bool,
    _lock: FileLock,
}

impl AtomicDir {
    /// Starts a directory that will become `dest`, which must not exist. `tag` (a UUID) makes the
    /// temporary name unique.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Locked`] if another builder has the same destination,
    /// [`Error::Io`].
    pub fn create(fs: Arc<dyn WriteFs>, dest: &Path, tag: &str) -> Result<Self> {
        let (parent, prefix) = place(dest)?;
        let lock = parent.join(with(&prefix, ".lock"));
        if std::fs::symlink_metadata(dest).is_ok() {
            // A builder that was killed as soon as it had published has left its lock.
            if lock.exists() {
                drop(FileLock::temporary(&lock));
            }
            return Err(Error::Exists { path: dest.to_owned() });
        }
        let lock = FileLock::temporary(&lock).map_err(|error| match error {
            // The caller knows the directory, not our lock file in it.
            Error::Io { source, .. } => Error::Io { op: "write to", path: parent.clone(), source },
            other => other,
        })?;
        // Checked again under the lock: another builder may just have finished.
        if std::fs::symlink_metadata(dest).is_ok() {
            return Err(Error::Exists { path: dest.to_owned() });
        }
        let leftover = with(&prefix, "-");
        for entry in std::fs::read_dir(&parent).at("list", &parent)? {
            let entry = entry.at("list", &parent)?;
            let name = entry.file_name();
            if let Some(tag) = name.as_bytes().strip_prefix(leftover.as_bytes()) {
                for annex in annexes_of(&entry.path(), tag)? {
                    fs.remove_dir_all(&annex)?;
                }
                fs.remove_dir_all(&entry.path())?;
            }
        }
        let temp = parent.join(with(&leftover, tag));
        fs.create_dir(&temp)?;
        let (dest, annexes) = (dest.to_owned(), Vec::new());
        Ok(Self { fs, dest, temp, annexes, listed: false, published: false, _lock: lock })
    }

    /// Creates directories in other places that belong to this one; called once. If the directory
    /// does not appear, they are removed, however the process ends. They must not exist; their
    /// paths are absolute and end in the tag.
    pub fn annex(&mut self, dirs: &[PathBuf]) -> Result<()> {
        let mut names = Vec::new();
        for dir in dirs {
            names.extend_from_slice(dir.as_os_str().as_bytes());
            names.push(0);
        }
        write_file(self.fs.as_ref(), &self.temp.join(ANNEXES), &names)?;
        self.listed = true;
        self.fs.sync_dir(&self.temp)?;
        for dir in dirs {
            self.fs.create_dir(dir)?;
            self.annexes.push(dir.clone());
        }
        Ok(())
    }

    /// Removes an annex that is not to be published.
    ///
    /// # Errors
    /// The errors of removing it.
    pub fn remove_annex(&mut self, dir: &Path) -> Result<()> {
        self.fs.remove_dir_all(dir)?;
        self.annexes.retain(|annex| annex != dir);
        Ok(())
    }

    /// Returns the path of the directory to write to.
    pub fn path(&self) -> &Path {
        &self.temp
    }

    /// Returns the destination.
    pub fn dest(&self) -> &Path {
        &self.dest
    }

    /// Makes the names durable, renames the directory to the destination, and makes the new name
    /// durable. All files must have been fsynced.
    ///
    /// If only the last step fails, the destination exists and is complete, but may be gone after a
    /// power cut.
    pub fn publish(mut self) -> Result<()> {
        for annex in &self.annexes {
            self.fs.sync_dir(annex)?;
            self.fs.sync_dir(annex.parent().unwrap_or(annex))?;
        }
        self.fs.sync_dir(&self.temp)?;
        self.fs.publish(&self.temp, &self.dest)?;
        self.published = true;
        if self.listed {
            // The list is of no use any more, and does no harm if it stays.
            let _ = std::fs::remove_file(self.dest.join(ANNEXES));
        }
        let (parent, _) = place(&self.dest)?;
        self.fs.sync_dir(&parent)
    }
}

impl Drop for AtomicDir {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        // The directory last, since its list knows where the annexes are.
        for dir in self.annexes.iter().chain([&self.temp]) {
            if let Err(error) = self.fs.remove_dir_all(dir) {
                tracing::warn!("temporary directory left behind: {error}");
            }
        }
    }
}

/// The annexes that a dead builder with this tag left. Other directories in its list are not
/// removed.
fn annexes_of(dir: &Path, tag: &[u8]) -> Result<Vec<PathBuf>> {
    let path = dir.join(ANNEXES);
    let names = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names.at("read", &path)?,
    };
    let paths = names.split(|byte| *byte == 0).map(|name| Path::new(OsStr::from_bytes(name)));
    let ours = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        path.is_absolute() && !tag.is_empty() && name.ends_with(tag) && path.is_dir()
    };
    Ok(paths.filter(ours).map(Path::to_owned).collect())
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
