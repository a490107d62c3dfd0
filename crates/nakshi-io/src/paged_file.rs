//! Immutable files of checksummed pages.

use crate::backend::{Alignment, FileId, StorageBackend};
use crate::checksum::{PageHasher, Salt};
use crate::stripe::Striping;
use crate::{Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The smallest page size in bytes.
pub const MIN_PAGE: u32 = 512;
/// The largest page size in bytes.
pub const MAX_PAGE: u32 = 1 << 20;

/// The description that is needed to read and verify a file (the manifest keeps it).
#[derive(Debug, Clone)]
pub struct FileSpec {
    /// Location of the bytes.
    pub striping: Striping,
    /// Logical bytes.
    pub len: u64,
    /// Bytes per page: a power of two from 512 to 1 MiB.
    pub page_size: u32,
    /// Salt of the checksums.
    pub salt: Salt,
    /// One checksum per page; the last page is padded with zeros.
    pub checksums: Arc<[u32]>,
}

/// An immutable logical file whose every page is verified when it is read.
#[derive(Debug)]
pub struct PagedFile {
    pub(crate) backend: Arc<dyn StorageBackend>,
    pub(crate) parts: Vec<PhysicalFile>,
    pub(crate) spec: FileSpec,
    pub(crate) hasher: PageHasher,
    /// Number that tells files apart in a page cache; never reused in a process.
    pub(crate) key: u32,
}

/// A physical file of a [`PagedFile`].
#[derive(Debug)]
pub(crate) struct PhysicalFile {
    pub(crate) id: FileId,
    /// Bytes that the file must have.
    pub(crate) len: u64,
    pub(crate) alignment: Alignment,
}

impl PagedFile {
    /// Opens the physical files of `spec`. Reads no data.
    ///
    /// # Errors
    /// [`Error::Truncated`] if a file is too short, [`Error::Unsupported`] if the numbers of `spec`
    /// are invalid, [`Error::Io`].
    pub fn open(backend: &Arc<dyn StorageBackend>, spec: &FileSpec) -> Result<Arc<Self>> {
        check_page_size(spec.page_size)?;
        spec.striping.check(spec.page_size)?;
        let pages = spec.len.div_ceil(u64::from(spec.page_size));
        if spec.checksums.len() as u64 != pages {
            let what = format!("{} page checksums for {pages} pages", spec.checksums.len());
            return Err(Error::unsupported(what));
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut file = Self {
            backend: Arc::clone(backend),
            parts: Vec::new(),
            spec: spec.clone(),
            hasher: PageHasher::new(&spec.salt),
            key: NEXT.fetch_add(1, Ordering::Relaxed),
        };
        for (number, path) in spec.striping.paths.iter().enumerate() {
            let id = backend.files().open(path)?;
            let len = spec.striping.physical_len(number, spec.len);
            let alignment = backend.files().alignment(id);
            let found = backend.files().len(id);
            // Pushed before anything can fail, so that a drop closes the file.
            file.parts.push(PhysicalFile {
                id,
                len,
                alignment: Alignment { offset: 1, memory: 1 },
            });
            let (alignment, found) = (alignment?, found?);
            if let Some(part) = file.parts.last_mut() {
                part.alignment = alignment;
            }
            if found < len {
                return Err(Error::Truncated { file: path.clone(), expected: len, found });
            }
        }
        Ok(Arc::new(file))
    }

    /// Returns the number of logical bytes.
    pub fn len(&self) -> u64 {
        self.spec.len
    }

    /// Returns true if the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.spec.len == 0
    }

    /// Returns a number that no other file of this process has.
    pub fn key(&self) -> u32 {
        self.key
    }

    /// Returns the number of bytes per page.
    pub fn page_size(&self) -> u32 {
        self.spec.page_size
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u64 {
        self.spec.checksums.len() as u64
    }

    /// Returns the description with which the file was opened.
    pub fn spec(&self) -> &FileSpec {
        &self.spec
    }

    /// Returns the path of the (first) physical file, for messages.
    pub fn path(&self) -> &Path {
        self.spec.striping.paths.first().map_or(Path::new(""), |path| path.as_path())
    }

    /// Verifies whole pages, the first of which is page number `first`.
    pub(crate) fn verify(&self, first: u64, pages: &[u8]) -> Result<()> {
        for (number, page) in (first..).zip(pages.chunks(self.spec.page_size as usize)) {
            let known = usize::try_from(number).ok().and_then(|at| self.spec.checksums.get(at));
            if known != Some(&self.hasher.sum(number, page)) {
                return Err(Error::Corrupt { file: self.path().to_owned(), page: number });
            }
        }
        Ok(())
    }
}

impl Drop for PagedFile {
    fn drop(&mut self) {
        self.parts.iter().for_each(|part| self.backend.files().close(part.id));
    }
}

/// Returns an error unless `page_size` is a power of two from 512 to 1 MiB.
pub(crate) fn check_page_size(page_size: u32) -> Result<()> {
    if page_size.is_power_of_two() && (MIN_PAGE..=MAX_PAGE).contains(&page_size) {
        return Ok(());
    }
    let what = format!(
        "a page size of {page_size} bytes; take a power of two from {MIN_PAGE} to {MAX_PAGE}"
    );
    Err(Error::unsupported(what))
}
