//! Choice of the backend that this system allows.

use super::files::FileTable;
use super::pread::PreadBackend;
use super::{OpenFiles, ReadQueue, StorageBackend};
use crate::Result;
use std::sync::{Arc, OnceLock};

/// Environment variable that selects the backend: `uring`, `pread`, or `auto` (the default), which
/// takes io_uring where it is allowed.
pub const BACKEND_VARIABLE: &str = "NAKSHI_IO";
/// Environment variable for direct I/O: `0` makes all reads buffered, as on a file system without
/// it.
pub const DIRECT_VARIABLE: &str = "NAKSHI_DIRECT";

/// Reads by io_uring where the system allows it, else by the thread pool; direct where the file
/// system can, else buffered. The backend logs each fallback once (`tracing::warn`) and keeps it in
/// [`notes`](OpenFiles::notes).
///
/// The environment variables `NAKSHI_IO` (`auto`, `uring`, `pread`) and
/// `NAKSHI_DIRECT` (`0`) restrict the choice.
#[derive(Debug)]
pub struct AutoBackend {
    files: Arc<FileTable>,
    #[cfg(target_os = "linux")]
    uring: Option<super::UringBackend>,
    pread: PreadBackend,
    /// Set when a ring was refused although earlier ones were granted.
    #[cfg(target_os = "linux")]
    fell_back: OnceLock<()>,
}

/// The choice of the default backend on this system, with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The chosen backend: "io_uring" or "pread".
    pub backend: &'static str,
    /// Refusals so far, a sentence each; empty if there was none. A refusal of direct reads is
    /// known only once files are opened.
    pub notes: Vec<String>,
}

impl Default for AutoBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl AutoBackend {
    /// Tests which backends this system allows.
    pub fn new() -> Self {
        let set = |name| std::env::var(name).unwrap_or_default();
        Self::with(&set(BACKEND_VARIABLE), set(DIRECT_VARIABLE) != "0")
    }

    /// Chooses by the values of the two environment variables.
    fn with(backend: &str, direct: bool) -> Self {
        let files = Arc::new(FileTable::new(direct));
        let pread = PreadBackend::over(Arc::clone(&files));
        #[cfg(target_os = "linux")]
        {
            let uring = match backend {
                "pread" => Err(crate::Error::unsupported(format!(
                    "io_uring: switched off by {BACKEND_VARIABLE}"
                ))),
                _ => super::UringBackend::over(Arc::clone(&files)),
            };
            if let Err(refusal) = &uring {
                let note = format!("reads go through a thread pool ({refusal})");
                match backend {
                    "pread" => tracing::debug!("{note}"),
                    _ => tracing::warn!("{note}"),
                }
                files.note(note);
            }
            Self { files, uring: uring.ok(), pread, fell_back: OnceLock::new() }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = backend;
            Self { files, pread }
        }
    }

    /// Describes the choice and its reasons.
    pub fn describe(&self) -> Detected {
        Detected { backend: self.name(), notes: self.files.notes() }
    }

    /// Makes a ring. If the system refuses it, logs the reason once and returns `None`.
    #[cfg(target_os = "linux")]
    fn ring(&self, depth: usize) -> Option<Box<dyn ReadQueue>> {
        if self.fell_back.get().is_some() {
            return None;
        }
        match self.uring.as_ref()?.uring_queue(depth) {
            Ok(queue) => Some(Box::new(queue)),
            Err(e) => {
                self.fell_back.get_or_init(|| {
                    let note = format!(
                        "reads go through a thread pool (a ring of {depth} was refused: {e})"
                    );
                    tracing::warn!("{note}");
                    self.files.note(note);
                });
                None
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn ring(&self, _depth: usize) -> Option<Box<dyn ReadQueue>> {
        None
    }
}

impl StorageBackend for AutoBackend {
    fn name(&self) -> &'static str {
        #[cfg(target_os = "linux")]
        if self.uring.is_some() && self.fell_back.get().is_none() {
            return "io_uring";
        }
        "pread"
    }

    fn files(&self) -> &dyn OpenFiles {
        self.files.as_ref()
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        match self.ring(depth) {
            Some(queue) => Ok(queue),
            None => Ok(Box::new(self.pread.pread_queue(depth))),
        }
    }
}

fn the_default() -> &'static Arc<AutoBackend> {
    static DEFAULT: OnceLock<Arc<AutoBackend>> = OnceLock::new();
    DEFAULT.get_or_init(|| Arc::new(AutoBackend::new()))
}

/// The backend for the files of this system, one per process: io_uring, or the
/// thread pool where the kernel or a container refuses io_uring.
pub fn default_backend() -> Arc<dyn StorageBackend> {
    Arc::clone(the_default()) as Arc<dyn StorageBackend>
}

/// Describes the choice of [`default_backend`] and its reasons.
pub fn detect() -> Detected {
    the_default().describe()
}
