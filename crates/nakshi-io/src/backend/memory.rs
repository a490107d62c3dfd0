//! Files that are vectors: for tests and for graphs that never touch a disk.

use super::{Alignment, Completion, FileId, OpenFiles, Read, ReadQueue, StorageBackend, Timeout};
use crate::{AlignedBuf, Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Contents = Arc<Mutex<Arc<Vec<u8>>>>;

#[derive(Debug, Default)]
struct MemoryFiles {
    named: HashMap<PathBuf, Contents>,
    open: HashMap<FileId, Contents>,
    next: u64,
}

/// A backend whose files are vectors in memory. Clones share the files.
#[derive(Debug, Clone)]
pub struct MemoryBackend {
    files: Arc<Mutex<MemoryFiles>>,
    align: u32,
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryBackend {
    /// A backend without files.
    pub fn new() -> Self {
        Self::aligned(1)
    }

    /// A backend that refuses reads whose offset or length is not a multiple
    /// of `align` bytes, like a device with such sectors.
    pub fn aligned(align: u32) -> Self {
        Self { files: Arc::default(), align: align.max(1) }
    }

    /// Creates or replaces the file `path`. Handles that are open see the new
    /// contents from their next read on.
    pub fn insert(&self, path: impl Into<PathBuf>, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        let mut files = self.lock();
        let contents = files.named.entry(path.into()).or_default();
        *contents.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    fn lock(&self) -> MutexGuard<'_, MemoryFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contents(&self, file: FileId) -> Result<Arc<Vec<u8>>> {
        let files = self.lock();
        let contents = files.open.get(&file);
        let contents =
            contents.ok_or_else(|| Error::unsupported("a read of a file that was closed"))?;
        Ok(Arc::clone(&contents.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl StorageBackend for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn files(&self) -> &dyn OpenFiles {
        self
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        Ok(Box::new(MemoryQueue { backend: self.clone(), depth: depth.max(1), done: Vec::new() }))
    }
}

impl OpenFiles for MemoryBackend {
    fn open(&self, path: &Path) -> Result<FileId> {
        let mut files = self.lock();
        let contents = files.named.get(path).cloned();
        let contents =
            contents.ok_or_else(|| Error::io("open", path, std::io::ErrorKind::NotFound.into()))?;
        let id = FileId(files.next);
        files.next += 1;
        files.open.insert(id, contents);
        Ok(id)
    }

    fn close(&self, file: FileId) {
        self.lock().open.remove(&file);
    }

    fn len(&self, file: FileId) -> Result<u64> {
        Ok(self.contents(file)?.len() as u64)
    }

    fn alignment(&self, _file: FileId) -> Result<Alignment> {
        Ok(Alignment { offset: self.align, memory: 1 })
    }
}

struct MemoryQueue {
    backend: MemoryBackend,
    depth: usize,
    done: Vec<Completion>,
}

impl ReadQueue for MemoryQueue {
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()> {
        let room = self.depth.saturating_sub(self.done.len()).min(reads.len());
        for Read { file, offset, mut bufs, tag } in reads.drain(..room) {
            let align = u64::from(self.backend.align);
            let len: usize = bufs.iter().map(AlignedBuf::len).sum();
            if !offset.is_multiple_of(align) || !(len as u64).is_multiple_of(align) {
                let result = Err(std::io::Error::from_raw_os_error(libc::EINVAL));
                self.done.push(Completion { tag, bufs, result });
                continue;
            }
            let contents = self.backend.contents(file)?;
            let from = usize::try_from(offset).unwrap_or(usize::MAX).min(contents.len());
            let mut rest = contents.get(from..).unwrap_or_default();
            let found = rest.len();
            for buf in &mut bufs {
                let (now, later) = rest.split_at(buf.len().min(rest.len()));
                buf.iter_mut().zip(now).for_each(|(to, from)| *to = *from);
                rest = later;
            }
            self.done.push(Completion { tag, bufs, result: Ok(found - rest.len()) });
        }
        Ok(())
    }

    fn complete(
        &mut self,
        _min: usize,
        _timeout: Timeout,
        out: &mut Vec<Completion>,
    ) -> Result<()> {
        out.append(&mut self.done);
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.done.len()
    }

    fn depth(&self) -> usize {
        self.depth
    }
}
