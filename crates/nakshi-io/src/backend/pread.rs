//! Reads by `preadv` in a pool of threads: works on every Unix, in every container.

use super::files::FileTable;
use super::{Alignment, Completion, FileId, Read, ReadQueue, StorageBackend};
use crate::Result;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Reads by `preadv` in a pool of threads.
#[derive(Debug, Default)]
pub struct PreadBackend {
    files: Arc<FileTable>,
}

impl PreadBackend {
    /// A backend without files; threads start with the first read.
    pub fn new() -> Self {
        Self::default()
    }
}

impl StorageBackend for PreadBackend {
    fn name(&self) -> &'static str {
        "pread"
    }

    fn open(&self, path: &Path) -> Result<FileId> {
        self.files.open(path)
    }

    fn close(&self, file: FileId) {
        self.files.close(file);
    }

    fn len(&self, file: FileId) -> Result<u64> {
        self.files.len(file)
    }

    fn alignment(&self, file: FileId) -> Result<Alignment> {
        Ok(self.files.get(file)?.alignment)
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        Ok(Box::new(PreadQueue { files: Arc::clone(&self.files), depth: depth.max(1), done: Vec::new() }))
    }
}

struct PreadQueue {
    files: Arc<FileTable>,
    depth: usize,
    done: Vec<Completion>,
}

impl ReadQueue for PreadQueue {
    fn submit(&mut self, reads: &mut Vec<Read>) -> Result<()> {
        let room = self.depth.saturating_sub(self.done.len()).min(reads.len());
        for read in reads.drain(..room) {
            let open = self.files.get(read.file)?;
            let Read { mut bufs, mut offset, tag, .. } = read;
            let mut total = 0;
            let mut failed = None;
            for buf in &mut bufs {
                match open.file.read_at(buf, offset) {
                    Ok(0) => break,
                    Ok(n) => {
                        total += n;
                        offset += n as u64;
                        if n < buf.len() {
                            break;
                        }
                    }
                    Err(e) => {
                        failed = Some(e);
                        break;
                    }
                }
            }
            self.done.push(Completion { tag, bufs, result: failed.map_or(Ok(total), Err) });
        }
        Ok(())
    }

    fn complete(&mut self, _min: usize, _timeout: Option<Duration>, out: &mut Vec<Completion>) -> Result<()> {
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
