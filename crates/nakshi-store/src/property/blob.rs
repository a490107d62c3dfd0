//! The bytes of a property file: verified, and read at any offset.

use std::path::PathBuf;

use nakshi_io::{CancelToken, PagedFile, Resident};
use std::sync::Arc;

use crate::{Error, Result};

/// A file of a property segment in memory, still compressed.
#[derive(Debug)]
pub(super) struct Blob {
    path: PathBuf,
    page_size: usize,
    bytes: Resident,
}

impl Blob {
    pub(super) fn load(file: &Arc<PagedFile>, cancel: &CancelToken) -> Result<Self> {
        let page_size = file.page_size() as usize;
        Ok(Self { path: file.path().to_path_buf(), page_size, bytes: file.load(cancel)? })
    }

    /// Bytes that were never in a file.
    #[cfg(test)]
    pub(super) fn of(bytes: &[u8]) -> Result<Self> {
        let bytes = Resident::from_bytes(bytes)?;
        Ok(Self { path: PathBuf::from("memory"), page_size: 4096, bytes })
    }

    /// Eight bytes from `at` on, little endian; what lies behind the end means nothing.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Result<u64> {
        match self.bytes.with_slack().get(at..).and_then(<[u8]>::first_chunk) {
            Some(word) => Ok(u64::from_le_bytes(*word)),
            None => Err(self.damaged(at, "an offset leads behind its end")),
        }
    }

    /// The bytes from `from` to `to`.
    #[inline]
    pub(super) fn slice(&self, from: usize, to: usize) -> Result<&[u8]> {
        match self.bytes.get(from..to) {
            Some(bytes) => Ok(bytes),
            None => Err(self.damaged(from, "an offset leads behind its end")),
        }
    }

    /// An error that names the page of `at`.
    #[cold]
    pub(super) fn damaged(&self, at: usize, what: &str) -> Error {
        let page = (at / self.page_size) as u64;
        Error::Corrupt { file: self.path.clone(), page, what: what.to_owned() }
    }
}
