//! A file of a store while it is written, with its page checksums and content hash.

use std::path::Path;

use nakshi_io::write::{SyncFile, WriteFs};
use nakshi_io::{Salt, Striping};

use crate::files::{describe, sums_name};
use crate::manifest::CONTENT_CRC;
use crate::{FileEntry, Result};

/// Bytes collected before they are hashed and passed on.
const BUFFER: usize = 64 << 10;

/// A file under construction.
pub struct Sink {
    name: String,
    file: SyncFile,
    hash: crc_fast::Digest,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink")
            .field("name", &self.name)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Sink {
    /// Creates the file `name` of a store.
    ///
    /// # Errors
    /// The errors of creating it.
    pub fn create(
        fs: &dyn WriteFs,
        name: String,
        striping: Striping,
        page_size: u32,
        salt: Salt,
    ) -> Result<Self> {
        let file = SyncFile::create(fs, striping, page_size, salt)?;
        Ok(Self { name, file, hash: crc_fast::Digest::new(CONTENT_CRC), buffer: Vec::new() })
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of bytes appended so far.
    #[expect(clippy::len_without_is_empty, reason = "a length in bytes, not a collection")]
    pub fn len(&self) -> u64 {
        self.file.len() + self.buffer.len() as u64
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Write errors.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        self.hash.update(bytes);
        Ok(self.file.append(bytes)?)
    }

    /// Appends `count` zero bytes.
    ///
    /// # Errors
    /// Write errors.
    pub fn zeros(&mut self, count: u64) -> Result<()> {
        let zeros = [0; 4096];
        let mut left = count;
        while left > 0 {
            let now = usize::try_from(left).unwrap_or(zeros.len()).min(zeros.len());
            self.append(zeros.get(..now).unwrap_or_default())?;
            left -= now as u64;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.hash.update(&self.buffer);
        self.file.append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Makes the file and its checksum table in `dir` durable.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish(mut self, fs: &dyn WriteFs, dir: &Path) -> Result<FileEntry> {
        self.flush()?;
        let written = self.file.finish()?;
        let (entry, sums) = describe(&self.name, &written, self.hash.finalize());
        write_small(fs, &dir.join(sums_name(&self.name)), &sums)?;
        Ok(entry)
    }
}

/// Writes a whole small file and makes it durable.
pub(crate) fn write_small(fs: &dyn WriteFs, path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = fs.create(path)?;
    file.append(bytes)?;
    Ok(file.sync()?)
}
