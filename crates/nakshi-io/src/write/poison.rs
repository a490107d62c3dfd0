//! Files that refuse to continue after a failure.

use super::{WriteFile, WriteFs};
use crate::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file that refuses every call after its first failed write or fsync.
///
/// After a failed fsync the system may have dropped the data and report success for the next fsync,
/// so nothing that follows may be acknowledged.
#[derive(Debug)]
pub struct PoisonFile {
    inner: Box<dyn WriteFile>,
    poisoned: bool,
}

impl PoisonFile {
    /// Guards a file.
    pub fn new(inner: Box<dyn WriteFile>) -> Self {
        Self { inner, poisoned: false }
    }

    fn guard<T>(&mut self, act: impl FnOnce(&mut dyn WriteFile) -> Result<T>) -> Result<T> {
        if self.poisoned {
            return Err(Error::Poisoned { path: self.inner.path().to_owned() });
        }
        let result = act(&mut *self.inner);
        self.poisoned = result.is_err();
        result
    }
}

impl WriteFile for PoisonFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.guard(|file| file.append(bytes))
    }

    fn sync(&mut self) -> Result<()> {
        self.guard(|file| file.sync())
    }

    fn sync_data(&mut self) -> Result<()> {
        self.guard(|file| file.sync_data())
    }

    fn reserve(&mut self, bytes: u64) -> Result<()> {
        self.guard(|file| file.reserve(bytes))
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

/// Creates a file with `bytes` and makes its contents durable, but not its name: see
/// [`WriteFs::sync_dir`].
pub fn write_file(fs: &dyn WriteFs, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = PoisonFile::new(fs.create(path)?);
    file.append(bytes)?;
    file.sync()
}

/// Creates or replaces a small file in one step: after a crash, either the old or the new one is
/// there. Writes `.<name>.new` beside it, fsyncs, renames, fsyncs the directory.
pub fn replace_file(fs: &dyn WriteFs, path: &Path, bytes: &[u8]) -> Result<()> {
    let bad = || Error::unsupported(format!("{} as a name for a file", path.display()));
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(bad)?);
    name.push(".new");
    let new = path.with_file_name(name);
    if std::fs::symlink_metadata(&new).is_ok() {
        // Leftover of a writer that was killed.
        fs.remove_file(&new)?;
    }
    let result = write_file(fs, &new, bytes).and_then(|()| fs.rename(&new, path));
    if let Err(error) = result {
        let _ = fs.remove_file(&new);
        return Err(error);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs.sync_dir(&parent.map_or(PathBuf::from("."), Path::to_owned))
}
