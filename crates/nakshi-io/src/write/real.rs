//! Writing through the operating system, without filling its page cache.
#![allow(unsafe_code)]

use super::{WriteFile, WriteFs};
use crate::backend::files::drop_cached;
use crate::error::At;
use crate::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Distance in bytes between write-backs. After each window, the one before is sent to the device
/// and dropped from the system's page cache. At most two windows of a file are dirty, so writing
/// stays within the memory limit of a cgroup, and no writer is throttled because of another's dirty
/// pages.
const WINDOW: u64 = 8 << 20;

/// Writes through the operating system.
#[derive(Debug, Default, Clone)]
pub struct RealFs(());

impl RealFs {
    /// Makes the file system of this process.
    pub fn new() -> Self {
        Self(())
    }
}

impl WriteFs for RealFs {
    fn create(&self, path: &Path) -> Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path).at("create", path)?;
        Ok(Box::new(RealFile { file, path: path.to_owned(), len: 0, started: 0, dropped: 0 }))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        fs::create_dir(path).at("create", path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).at("rename to", to)
    }

    fn publish(&self, from: &Path, to: &Path) -> Result<()> {
        match rename_new(from, to) {
            Some(result) => result.at("rename to", to),
            // Not atomic against a program that creates `to` in between; two builders are kept
            // apart by their lock.
            None if fs::symlink_metadata(to).is_ok() => Err(Error::Exists { path: to.to_owned() }),
            None => fs::rename(from, to).at("rename to", to),
        }
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        fs::remove_file(path).at("remove", path)
    }

    fn remove_dir_all(&self, path: &Path) -> Result<()> {
        fs::remove_dir_all(path).at("remove", path)
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        File::open(path).and_then(|dir| dir.sync_all()).at("fsync", path)
    }
}

/// Renames to a name that must not exist, in one step; `None` where the system
/// or the file system has no such step.
#[cfg(all(target_os = "linux", any(target_env = "gnu", target_env = "musl")))]
fn rename_new(from: &Path, to: &Path) -> Option<std::io::Result<()>> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (Ok(from), Ok(to)) = (text(from), text(to)) else {
        return Some(Err(ErrorKind::InvalidFilename.into()));
    };
    // SAFETY: two C strings that outlive the call.
    let result = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if result == 0 {
        return Some(Ok(()));
    }
    let error = std::io::Error::last_os_error();
    let unknown = matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL));
    (!unknown).then_some(Err(error))
}

#[cfg(not(all(target_os = "linux", any(target_env = "gnu", target_env = "musl"))))]
fn rename_new(_from: &Path, _to: &Path) -> Option<std::io::Result<()>> {
    None
}

#[derive(Debug)]
struct RealFile {
    file: File,
    path: PathBuf,
    len: u64,
    /// The device has been told to write everything before this offset.
    started: u64,
    /// Everything before this offset is written and dropped from the page cache.
    dropped: u64,
}

impl RealFile {
    /// Keeps the dirty part of the file small.
    fn trickle(&mut self) -> Result<()> {
        while self.len - self.started >= WINDOW {
            // Waits for the window before last, and starts the last one: the device writes one
            // while the next is being filled.
            write_back(&self.file, self.dropped, self.started - self.dropped, true)
                .at("write", &self.path)?;
            drop_cached(&self.file, self.dropped, self.started - self.dropped);
            self.dropped = self.started;
            self.started += WINDOW;
            write_back(&self.file, self.dropped, WINDOW, false).at("write", &self.path)?;
        }
        Ok(())
    }
}

/// Sends a range to the device, and waits for it if `wait`.
#[cfg(target_os = "linux")]
fn write_back(file: &File, offset: u64, len: u64, wait: bool) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let (Ok(offset), Ok(len)) = (libc::off64_t::try_from(offset), libc::off64_t::try_from(len))
    else {
        return Ok(());
    };
    if len == 0 {
        return Ok(());
    }
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let flags = if wait { all } else { libc::SYNC_FILE_RANGE_WRITE };
    // SAFETY: an open descriptor and plain numbers.
    if unsafe { libc::sync_file_range(file.as_raw_fd(), offset, len, flags) } == 0 {
        return Ok(());
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        // These pages are lost, and a later fsync may not report it.
        Some(libc::EIO | libc::ENOSPC | libc::EDQUOT) => Err(error),
        // Not supported by this file system; the call is only an optimisation.
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn write_back(_file: &File, _offset: u64, _len: u64, _wait: bool) -> std::io::Result<()> {
    Ok(())
}

/// Makes a hole in a file; returns false where the file system has no such call.
#[cfg(target_os = "linux")]
fn punch(file: &File, offset: u64, len: u64) -> std::io::Result<bool> {
    use std::os::fd::AsRawFd;
    let (Ok(offset), Ok(len)) = (libc::off64_t::try_from(offset), libc::off64_t::try_from(len))
    else {
        return Ok(false);
    };
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: an open descriptor and plain numbers.
    if unsafe { libc::fallocate64(file.as_raw_fd(), mode, offset, len) } == 0 {
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EIO) => Err(error),
        // Not supported here, or not now: the call only frees space early.
        _ => Ok(false),
    }
}

#[cfg(not(target_os = "linux"))]
fn punch(_file: &File, _offset: u64, _len: u64) -> std::io::Result<bool> {
    Ok(false)
}

impl WriteFile for RealFile {
    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            // Appended by windows, so that a huge append does not fill the page cache either.
            let part = bytes
                .get(..usize::try_from(WINDOW).unwrap_or(usize::MAX).min(bytes.len()))
                .unwrap_or(bytes);
            let written = match self.file.write(part) {
                Ok(0) => Err(ErrorKind::WriteZero.into()),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                other => other,
            };
            let written = written.at("write", &self.path).map_err(|error| match error {
                Error::NoSpace { path, .. } => Error::NoSpace { path, needed: bytes.len() as u64 },
                other => other,
            })?;
            self.len += written as u64;
            bytes = bytes.get(written..).unwrap_or_default();
            self.trickle()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_all().at("fsync", &self.path)?;
        drop_cached(&self.file, self.dropped, self.len - self.dropped);
        self.dropped = self.len / WINDOW * WINDOW;
        self.started = self.dropped;
        Ok(())
    }

    fn sync_data(&mut self) -> Result<()> {
        self.file.sync_data().at("fsync", &self.path)
    }

    fn reserve(&mut self, bytes: u64) -> Result<()> {
        let zeros = vec![0; usize::try_from(WINDOW.min(bytes)).unwrap_or(0)];
        let mut done = 0;
        while done < bytes {
            let left = usize::try_from(bytes - done).unwrap_or(usize::MAX);
            let part = zeros.get(..zeros.len().min(left)).unwrap_or_default();
            self.file.write_all_at(part, self.len + done).at("write", &self.path)?;
            done += part.len() as u64;
        }
        self.file.sync_all().at("fsync", &self.path)
    }

    fn punch(&mut self, offset: u64, len: u64) -> Result<bool> {
        punch(&self.file, offset, len).at("free", &self.path)
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::write::SyncFile;
    use crate::{CancelToken, PagedFile, PreadBackend, Salt, StorageBackend, Striping};
    use std::process::Command;
    use std::sync::Arc;

    /// Neither writing nor buffered reading may fill the page cache, which counts against a
    /// cgroup's memory limit. Seen red with `OpenFile::forget` and with `RealFile::trickle` left
    /// empty.
    #[test]
    fn the_page_cache_stays_small() {
        let home = tempfile::tempdir().unwrap();
        if on_tmpfs(home.path()) {
            return;
        }
        let path = home.path().join("file");
        let bytes = vec![7; 1 << 20];
        let mut file = SyncFile::create(
            &RealFs::new(),
            Striping::single(&path),
            4096,
            Salt { store: [1; 16], file: 1 },
        )
        .unwrap();
        for _ in 0..64 {
            file.append(&bytes).unwrap();
            assert!(cached_bytes(&path) <= 20 << 20, "{} bytes while writing", cached_bytes(&path));
        }
        let written = file.finish().unwrap();
        assert!(cached_bytes(&path) <= 1 << 20, "{} bytes after writing", cached_bytes(&path));
        let backend: Arc<dyn StorageBackend> = Arc::new(PreadBackend::buffered());
        PagedFile::open(&backend, &written.spec()).unwrap().load(&CancelToken::new()).unwrap();
        assert!(cached_bytes(&path) <= 1 << 20, "{} bytes after reading", cached_bytes(&path));
    }

    fn on_tmpfs(path: &Path) -> bool {
        let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(path).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("tmpfs"))
    }

    /// Returns the number of bytes of a file that are in the system's page cache.
    fn cached_bytes(path: &Path) -> usize {
        use std::os::fd::AsRawFd;
        let file = std::fs::File::open(path).unwrap();
        let len = file.metadata().unwrap().len() as usize;
        if len == 0 {
            return 0;
        }
        let mut pages = vec![0u8; len.div_ceil(4096)];
        // SAFETY: a shared read-only mapping that is never dereferenced, only asked about, and
        // unmapped; `pages` has a byte for each of its pages.
        unsafe {
            let map = libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::mincore(map, len, pages.as_mut_ptr()), 0);
            libc::munmap(map, len);
        }
        pages.iter().filter(|page| **page & 1 == 1).count() * 4096
    }
}
