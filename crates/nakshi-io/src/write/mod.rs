//! Durable writing: the one output seam of Nakshi.
//!
//! * [`WriteFs`], [`WriteFile`]: the few operations that change a disk
//! * [`RealFs`]: the operating system, without filling its page cache
//! * [`FaultyFs`]: fails, tears or kills at the nth operation
//! * [`SyncFile`]: a (striped) file with page checksums, poisoned by its first failure
//! * [`PoisonFile`], [`write_file`], [`replace_file`]: small files
//! * [`AtomicDir`]: a directory that appears whole or not at all
//! * [`FileLock`]: keeps out a second writer
//! * [`free_space`]: the room of a file system

mod dir;
mod faulty;
mod lock;
mod poison;
mod real;
mod room;
mod sync_file;

pub use dir::AtomicDir;
pub use faulty::{FaultyFs, WriteAction, WriteFault, WriteOp};
pub use lock::FileLock;
pub use poison::{PoisonFile, replace_file, write_file};
pub use real::RealFs;
pub use room::free_space;
pub use sync_file::{FinishedFile, SyncFile};

use crate::Result;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// The operations that change a file system.
pub trait WriteFs: Send + Sync + Debug {
    /// Creates a file that must not exist, for appending.
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>>;
    /// Creates a directory that must not exist.
    fn create_dir(&self, path: &Path) -> Result<()>;
    /// Renames a file, replacing one of the new name: the commit of a manifest.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Renames a file or directory to a name that must not exist.
    fn publish(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> Result<()>;
    /// Removes a directory and all that is in it.
    fn remove_dir_all(&self, path: &Path) -> Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<()>;
}

/// A file that grows at its end.
pub trait WriteFile: Send + Debug {
    /// Writes all of `bytes` at the end of the file.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;
    /// Makes the appended bytes durable.
    fn sync(&mut self) -> Result<()>;
    /// Makes the appended bytes durable like [`sync`](Self::sync), but not metadata such as times:
    /// for a log.
    fn sync_data(&mut self) -> Result<()> {
        self.sync()
    }
    /// Writes zeros behind the end and makes them durable, so that later appends change data only;
    /// [`sync_data`](Self::sync_data) is two to three times faster then.
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        let _ = bytes;
        Ok(())
    }
    /// Gives the space of a range back to the disk, which then reads as zeros; returns false where
    /// the file system has no such call.
    fn punch(&mut self, offset: u64, len: u64) -> Result<bool> {
        let _ = (offset, len);
        Ok(false)
    }
    /// Returns the number of bytes appended so far.
    fn len(&self) -> u64;
    /// Returns true if no bytes were appended.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the file's path.
    fn path(&self) -> &Path;
}

/// Environment variable with the faults to inject into all writing of this process, separated by
/// commas (see [`WriteFault`]): a hook for tests that kill whole programs or make them fail.
pub const FAULT_VARIABLE: &str = "NAKSHI_FAULT";

/// Returns the operating system's file system, with the faults of the environment variable
/// `NAKSHI_FAULT` if it is set (a test hook).
pub fn default_fs() -> Arc<dyn WriteFs> {
    let real: Arc<dyn WriteFs> = Arc::new(RealFs::new());
    let Ok(text) = std::env::var(FAULT_VARIABLE) else { return real };
    if text.trim().is_empty() {
        return real;
    }
    let faults = text.split(',').map(str::parse).collect::<Result<Vec<WriteFault>>>();
    let faults = faults.unwrap_or_else(|error| {
        // A test that mistypes its faults would otherwise pass for no reason.
        tracing::error!("{FAULT_VARIABLE}: {error}; all writing will fail");
        vec![WriteFault {
            op: None,
            nth: 0,
            onwards: true,
            action: WriteAction::Fail(libc::EINVAL),
        }]
    });
    Arc::new(FaultyFs::new(real, faults))
}
