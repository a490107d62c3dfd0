//! The open files of the system backends: direct if possible, else buffered.
#![allow(unsafe_code)]

use super::{Alignment, FileId, OpenFiles};
use crate::error::At;
use crate::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A file open for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// True if reads bypass the system's page cache.
    pub(super) direct: bool,
    pub(super) alignment: Alignment,
}

/// The open files of a backend, and the notes about its fallbacks.
#[derive(Debug)]
pub(super) struct FileTable {
    files: RwLock<HashMap<FileId, Arc<OpenFile>>>,
    next: AtomicU64,
    /// True if files are opened for direct reads where possible.
    direct: bool,
    said: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl FileTable {
    pub(super) fn new(direct: bool) -> Self {
        Self {
            files: RwLock::default(),
            next: AtomicU64::new(0),
            direct,
            said: AtomicBool::new(false),
            notes: Mutex::default(),
        }
    }

    pub(super) fn get(&self, file: FileId) -> Result<Arc<OpenFile>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files
            .get(&file)
            .cloned()
            .ok_or_else(|| Error::unsupported("a read of a file that was closed"))
    }

    /// Keeps a sentence for reports.
    pub(super) fn note(&self, note: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    fn open_file(&self, path: &Path) -> Result<OpenFile> {
        let file = File::open(path).at("open", path)?;
        if !file.metadata().at("stat", path)?.is_file() {
            return Err(Error::unsupported(format!("{}: not a regular file", path.display())));
        }
        let refusal = match self.direct.then(|| open_direct(path)) {
            Some(Ok((file, alignment))) => {
                return Ok(OpenFile { file, path: path.to_owned(), direct: true, alignment });
            }
            Some(Err(refusal)) => refusal,
            None => "direct reads are switched off".to_owned(),
        };
        if !self.said.swap(true, Ordering::Relaxed) {
            let note = format!("{}: reads are buffered ({refusal})", path.display());
            tracing::warn!("{note}");
            self.note(note);
        }
        advise_random(&file);
        // Whole pages, so that what was read can be dropped again.
        let alignment = Alignment { offset: 1, memory: 1 };
        Ok(OpenFile { file, path: path.to_owned(), direct: false, alignment })
    }
}

impl OpenFiles for FileTable {
    fn open(&self, path: &Path) -> Result<FileId> {
        let file = self.open_file(path)?;
        let id = FileId(self.next.fetch_add(1, Ordering::Relaxed));
        self.files.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(file));
        Ok(id)
    }

    fn close(&self, file: FileId) {
        self.files.write().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    fn len(&self, file: FileId) -> Result<u64> {
        let open = self.get(file)?;
        Ok(open.file.metadata().at("stat", &open.path)?.len())
    }

    fn alignment(&self, file: FileId) -> Result<Alignment> {
        Ok(self.get(file)?.alignment)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl OpenFile {
    /// Drops the system's copy after a buffered read, so that a scan does not fill the page cache,
    /// which counts against the memory limit of a cgroup.
    pub(super) fn forget(&self, offset: u64, len: usize) {
        if !self.direct {
            drop_cached(&self.file, offset, len as u64);
        }
    }
}

/// Drops the system's cached pages of a range (of whole pages around it).
#[cfg(target_os = "linux")]
pub(crate) fn drop_cached(file: &File, offset: u64, len: u64) {
    if len == 0 {
        // A length of 0 would mean the whole file.
        return;
    }
    let from = offset / 4096 * 4096;
    let to = offset.saturating_add(len).next_multiple_of(4096);
    let (Ok(at), Ok(len)) = (libc::off_t::try_from(from), libc::off_t::try_from(to - from)) else {
        return;
    };
    // SAFETY: advice about an open descriptor; it touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), at, len, libc::POSIX_FADV_DONTNEED) };
}

/// Systems without such advice keep their caching (switched off at opening).
#[cfg(not(target_os = "linux"))]
pub(crate) fn drop_cached(_file: &File, _offset: u64, _len: u64) {}

#[cfg(target_os = "linux")]
fn advise_random(file: &File) {
    // No read-ahead: we read the bytes we need, and would not drop the others.
    // SAFETY: advice about an open descriptor; it touches no memory of ours.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
}

#[cfg(not(target_os = "linux"))]
fn advise_random(_file: &File) {}

/// Opens a file for direct reads, or returns the reason why that is impossible.
#[cfg(target_os = "linux")]
fn open_direct(path: &Path) -> Result<(File, Alignment), String> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
    let file = file.map_err(|e| format!("O_DIRECT is refused: {e}"))?;
    match announced_alignment(&file) {
        Some(Alignment { offset: 0, .. } | Alignment { memory: 0, .. }) => {
            Err("the file system does no direct I/O on this file".to_owned())
        }
        Some(alignment) if alignment.offset <= 4096 && alignment.memory <= 4096 => {
            // 512 is the least unit of buffers and pages here.
            Ok((file, Alignment { offset: alignment.offset.max(512), memory: alignment.memory }))
        }
        Some(alignment) => {
            Err(format!("direct reads need an alignment of {} bytes", alignment.offset))
        }
        None => probe_alignment(&file).map(|alignment| (file, alignment)),
    }
}

/// macOS has no `O_DIRECT`; `F_NOCACHE` keeps reads out of the cache and asks
/// for no alignment.
#[cfg(target_os = "macos")]
fn open_direct(path: &Path) -> Result<(File, Alignment), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    // SAFETY: a flag of an open descriptor; it touches no memory of ours.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_NOCACHE, 1) } == -1 {
        return Err(format!("F_NOCACHE is refused: {}", std::io::Error::last_os_error()));
    }
    Ok((file, Alignment { offset: 1, memory: 1 }))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn open_direct(_path: &Path) -> Result<(File, Alignment), String> {
    Err("direct reads are not known on this system".to_owned())
}

/// Asks the kernel for the alignment of direct reads (Linux 6.1 and later, not every file system);
/// zero means that the file has none.
#[cfg(target_os = "linux")]
fn announced_alignment(file: &File) -> Option<Alignment> {
    // SAFETY: all zeros is a valid `statx`, a struct of integers.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor, an empty C string (it stands for the descriptor itself), and a
    // struct of the size that the call fills.
    let failed = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut stat,
        )
    };
    let known = failed == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0;
    known.then_some(Alignment { offset: stat.stx_dio_offset_align, memory: stat.stx_dio_mem_align })
}

/// Tries the usual alignments where the kernel does not report one.
#[cfg(target_os = "linux")]
fn probe_alignment(file: &File) -> Result<Alignment, String> {
    use std::os::unix::fs::FileExt;
    let mut last = String::new();
    let mut buf = crate::AlignedBuf::zeroed(2 * 4096).map_err(|e| e.to_string())?;
    for align in [512u32, 4096] {
        let size = align as usize;
        let Some(target) = buf.get_mut(size..2 * size) else { continue };
        // Reads the second unit, if the file has one, so that the offset is tested too.
        match file.read_at(target, u64::from(align)) {
            Ok(_) => return Ok(Alignment { offset: align, memory: align }),
            Err(e) => last = format!("direct reads are refused: {e}"),
        }
    }
    Err(last)
}
