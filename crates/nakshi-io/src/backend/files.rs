//! The open files of the system backends: direct if possible, else buffered.
#![allow(unsafe_code)]

use super::{Alignment, FileId};
use crate::error::At;
use crate::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// A file open for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Whether reads bypass the page cache.
    pub(super) direct: bool,
    pub(super) alignment: Alignment,
}

/// The files that a backend has open.
#[derive(Debug, Default)]
pub(super) struct FileTable {
    files: RwLock<HashMap<FileId, Arc<OpenFile>>>,
    next: AtomicU64,
}

impl FileTable {
    pub(super) fn open(&self, path: &Path) -> Result<FileId> {
        let file = open_file(path)?;
        let id = FileId(self.next.fetch_add(1, Ordering::Relaxed));
        self.files.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(file));
        Ok(id)
    }

    pub(super) fn close(&self, file: FileId) {
        self.files.write().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    pub(super) fn get(&self, file: FileId) -> Result<Arc<OpenFile>> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(&file).cloned().ok_or_else(|| Error::unsupported("a read of a file that was closed"))
    }

    pub(super) fn len(&self, file: FileId) -> Result<u64> {
        let open = self.get(file)?;
        Ok(open.file.metadata().at("stat", &open.path)?.len())
    }
}

fn open_file(path: &Path) -> Result<OpenFile> {
    let file = File::open(path).at("open", path)?;
    let meta = file.metadata().at("stat", path)?;
    if !meta.is_file() {
        return Err(Error::unsupported(format!("{}: not a regular file", path.display())));
    }
    Ok(OpenFile { file, path: path.to_owned(), direct: false, alignment: Alignment { offset: 1, memory: 1 } })
}
