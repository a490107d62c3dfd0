//! The reads in flight of a queue whose reads the system performs.

use super::Read;
use super::files::{FileTable, OpenFile};
use crate::{Error, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The reads in flight of one queue, in the process that made the queue.
pub(super) struct Flight {
    files: Arc<FileTable>,
    process: u32,
    /// The most reads that may be in flight.
    pub(super) depth: usize,
    /// Number of reads that were started and not yet returned.
    pub(super) reads: usize,
}

impl Flight {
    pub(super) fn new(files: Arc<FileTable>, depth: usize) -> Self {
        Self { files, process: std::process::id(), depth, reads: 0 }
    }

    /// Returns true in a process that was forked after the queue was made.
    pub(super) fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    fn check(&self) -> Result<()> {
        if self.is_forked() {
            let what =
                "a reader that was made before a fork; open the file again in the child process";
            return Err(Error::unsupported(what));
        }
        Ok(())
    }

    /// Takes as many reads from the front of `reads` as the depth allows, each with its file. The
    /// caller counts them as [`reads`](Self::reads) once they are started.
    pub(super) fn admit(&self, reads: &mut Vec<Read>) -> Result<Vec<(Read, Arc<OpenFile>)>> {
        self.check()?;
        let room = self.depth.saturating_sub(self.reads).min(reads.len());
        let files = reads.iter().take(room).map(|read| self.files.get(read.file));
        let files = files.collect::<Result<Vec<_>>>()?;
        Ok(reads.drain(..room).zip(files).collect())
    }

    /// Returns the number of completions to wait for, at most those in flight, and the deadline.
    pub(super) fn goal(
        &self,
        min: usize,
        timeout: Option<Duration>,
    ) -> Result<(usize, Option<Instant>)> {
        self.check()?;
        Ok((min.min(self.reads), timeout.map(|timeout| Instant::now() + timeout)))
    }
}
