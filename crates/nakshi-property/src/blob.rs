//! The bytes of a property file: verified, and read at any offset.

use std::path::PathBuf;
use std::sync::Arc;

use nakshi_io::{CachedFile, CancelToken, IoStats, PageCache, PagedFile, Request, Resident};

use nakshi_store::{Error, Result};

/// A file of a property segment, still compressed.
#[derive(Debug)]
pub(super) struct Blob {
    path: PathBuf,
    page_size: usize,
    bytes: Bytes,
}

/// Where the bytes of the file are.
#[derive(Debug)]
enum Bytes {
    Memory(Resident),
    /// On disk, behind a page cache.
    Disk(CachedFile),
}

impl Blob {
    /// Reads the whole file into memory.
    pub(super) fn load(file: &Arc<PagedFile>, cancel: &CancelToken) -> Result<Self> {
        Ok(Self::new(file, Bytes::Memory(file.load(cancel)?)))
    }

    /// Leaves the file on disk, behind a cache that it shares with other files.
    pub(super) fn cached(
        file: &Arc<PagedFile>,
        cache: &Arc<PageCache>,
        stats: &Arc<IoStats>,
    ) -> Result<Self> {
        Ok(Self::new(file, Bytes::Disk(CachedFile::new(cache, file, stats)?)))
    }

    fn new(file: &Arc<PagedFile>, bytes: Bytes) -> Self {
        let page_size = file.page_size() as usize;
        Self { path: file.path().to_path_buf(), page_size, bytes }
    }

    /// A blob of bytes that were never in a file.
    #[cfg(test)]
    pub(super) fn of(bytes: &[u8]) -> Result<Self> {
        let bytes = Bytes::Memory(Resident::from_bytes(bytes)?);
        Ok(Self { path: PathBuf::from("memory"), page_size: 4096, bytes })
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.bytes, Bytes::Memory(_))
    }

    /// Copies `len` bytes from `at` on into memory, wherever the rest is; `at` becomes offset 0.
    pub(super) fn part(&self, at: u64, len: u64) -> Result<Self> {
        let (from, to) = (at as usize, at.saturating_add(len) as usize);
        let bytes = self.with(from, to, Resident::from_bytes)??;
        Ok(Self { path: self.path.clone(), page_size: self.page_size, bytes: Bytes::Memory(bytes) })
    }

    /// The little-endian word of the eight bytes from `at` on. Bytes behind the end of the file are
    /// undefined.
    #[inline]
    pub(super) fn word(&self, at: usize) -> Result<u64> {
        match &self.bytes {
            Bytes::Memory(bytes) => {
                match bytes.with_slack().get(at..).and_then(<[u8]>::first_chunk) {
                    Some(word) => Ok(u64::from_le_bytes(*word)),
                    None => Err(self.beyond(at)),
                }
            }
            Bytes::Disk(file) => self.cached_word(file, at),
        }
    }

    fn cached_word(&self, file: &CachedFile, at: usize) -> Result<u64> {
        let (from, len) = (at as u64, file.file().len());
        if from > len {
            return Err(self.beyond(at));
        }
        Ok(file.with(from..len.min(from + 8), |bytes| {
            let mut word = [0; 8];
            word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        })?)
    }

    /// Returns the result of `read` on the bytes from `from` to `to`.
    #[inline]
    pub(super) fn with<R>(
        &self,
        from: usize,
        to: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        match &self.bytes {
            Bytes::Memory(bytes) => match bytes.get(from..to) {
                Some(bytes) => Ok(read(bytes)),
                None => Err(self.beyond(from)),
            },
            Bytes::Disk(file) => {
                if from > to || to as u64 > file.file().len() {
                    return Err(self.beyond(from));
                }
                Ok(file.with(from as u64..to as u64, read)?)
            }
        }
    }

    /// Hands many ranges of bytes to `read`, each with its number, in any order. Ranges on disk
    /// that lie close together are read by one long request.
    pub(super) fn with_many(
        &self,
        ranges: &[std::ops::Range<u64>],
        read: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let Bytes::Disk(file) = &self.bytes else {
            return ranges.iter().enumerate().try_for_each(|(number, range)| {
                self.with(range.start as usize, range.end as usize, |bytes| read(number, bytes))?
            });
        };
        let requests = ranges.iter().zip(0..);
        let requests: Vec<Request> =
            requests.map(|(range, token)| Request { range: range.clone(), token }).collect();
        let mut scratch = Vec::new();
        file.gather(&requests, &mut |token, bytes| {
            read(token as usize, bytes.contiguous(&mut scratch))
        })
    }

    /// The bytes from `from` to `to`; `None` if the file is on disk.
    pub(super) fn slice(&self, from: usize, to: usize) -> Option<&[u8]> {
        match &self.bytes {
            Bytes::Memory(bytes) => bytes.get(from..to),
            Bytes::Disk(_) => None,
        }
    }

    #[cold]
    fn beyond(&self, at: usize) -> Error {
        self.damaged(at, "an offset leads behind its end")
    }

    /// An error that names the page of `at`.
    #[cold]
    pub(super) fn damaged(&self, at: usize, what: &str) -> Error {
        let page = (at / self.page_size) as u64;
        Error::Corrupt { file: self.path.clone(), page, what: what.to_owned() }
    }
}
