//! Files of checksummed pages, while they are written.

use super::{PoisonFile, WriteFile, WriteFs};
use crate::checksum::PageHasher;
use crate::paged_file::{FileSpec, check_page_size};
use crate::stripe::Striping;
use crate::{Error, Result, Salt};
use std::path::Path;
use std::sync::Arc;

/// Bytes collected before they are passed to the system.
const BUFFER: usize = 1 << 20;

/// A logical file that is being written: appends bytes, computes the checksums of its pages, and
/// spreads them over stripes.
///
/// After the first failed write or fsync every call returns [`Error::Poisoned`]: a retried fsync
/// may report success although data are lost.
#[derive(Debug)]
pub struct SyncFile {
    files: Vec<PoisonFile>,
    striping: Striping,
    page_size: usize,
    salt: Salt,
    hasher: PageHasher,
    buffer: Vec<u8>,
    /// Bytes passed to the files.
    written: u64,
    checksums: Vec<u32>,
    poisoned: bool,
}

/// A finished file: everything that is needed to read it ([`FileSpec`]).
#[derive(Debug, Clone)]
pub struct FinishedFile {
    /// Logical bytes.
    pub len: u64,
    /// One checksum per page.
    pub checksums: Arc<[u32]>,
    /// Bytes per page.
    pub page_size: u32,
    /// Salt of the checksums.
    pub salt: Salt,
    /// Location of the bytes.
    pub striping: Striping,
}

impl FinishedFile {
    /// Returns the description for opening the file.
    pub fn spec(&self) -> FileSpec {
        FileSpec {
            striping: self.striping.clone(),
            len: self.len,
            page_size: self.page_size,
            salt: self.salt,
            checksums: Arc::clone(&self.checksums),
        }
    }
}

impl SyncFile {
    /// Creates the physical files, which must not exist.
    pub fn create(
        fs: &dyn WriteFs,
        striping: Striping,
        page_size: u32,
        salt: Salt,
    ) -> Result<Self> {
        check_page_size(page_size)?;
        striping.check(page_size)?;
        let files = striping
            .paths
            .iter()
            .map(|path| fs.create(path).map(PoisonFile::new))
            .collect::<Result<_>>()?;
        Ok(Self {
            files,
            striping,
            page_size: page_size as usize,
            salt,
            hasher: PageHasher::new(&salt),
            buffer: Vec::new(),
            written: 0,
            checksums: Vec::new(),
            poisoned: false,
        })
    }

    /// Returns the number of bytes appended so far, which is the offset of the next byte.
    pub fn len(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Returns true if no bytes were appended.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the path of the (first) physical file, for messages.
    pub fn path(&self) -> &Path {
        self.striping.paths.first().map_or(Path::new(""), |path| path.as_path())
    }

    /// Appends bytes.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.check()?;
        let chunk = BUFFER.max(self.page_size);
        while !bytes.is_empty() {
            let room = chunk - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == chunk {
                self.spill()?;
            }
        }
        Ok(())
    }

    /// Writes the rest and makes the files durable. The caller makes the directory entry durable
    /// ([`super::AtomicDir`]).
    pub fn finish(mut self) -> Result<FinishedFile> {
        self.check()?;
        let page = self.page_size;
        let rest = self.buffer.len() % page;
        let len = self.len();
        if rest != 0 {
            // The checksum of the last page covers its padding, which is not stored.
            let mut last = self.buffer.split_off(self.buffer.len() - rest);
            self.spill()?;
            let bytes = last.clone();
            last.resize(page, 0);
            let number = self.checksums.len() as u64;
            self.checksums.push(self.hasher.sum(number, &last));
            self.write_out(&bytes)?;
        } else {
            self.spill()?;
        }
        for file in &mut self.files {
            if let Err(error) = file.sync() {
                self.poisoned = true;
                return Err(error);
            }
        }
        Ok(FinishedFile {
            len,
            checksums: std::mem::take(&mut self.checksums).into(),
            page_size: u32::try_from(page)
                .map_err(|_| Error::unsupported("a page of more than 4 GiB"))?,
            salt: self.salt,
            striping: self.striping.clone(),
        })
    }

    fn check(&self) -> Result<()> {
        if self.poisoned { Err(Error::Poisoned { path: self.path().to_owned() }) } else { Ok(()) }
    }

    /// Hashes and writes the buffer, which holds whole pages.
    fn spill(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        for page in buffer.chunks(self.page_size) {
            let number = self.checksums.len() as u64;
            self.checksums.push(self.hasher.sum(number, page));
        }
        let result = self.write_out(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        result
    }

    fn write_out(&mut self, mut bytes: &[u8]) -> Result<()> {
        let start = self.written;
        let end = start + bytes.len() as u64;
        for extent in self.striping.extents(start..end) {
            let (now, later) =
                bytes.split_at(usize::try_from(extent.len).unwrap_or(usize::MAX).min(bytes.len()));
            bytes = later;
            let Some(file) = self.files.get_mut(extent.file) else { continue };
            if let Err(error) = file.append(now) {
                self.poisoned = true;
                return Err(error);
            }
        }
        self.written = end;
        Ok(())
    }
}
