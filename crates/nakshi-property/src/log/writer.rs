//! Writer of the log.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::{PoisonFile, WriteFile, WriteFs};

use super::file::{self, LogHeader, LogPlace, MOST};
use super::reader::LogReader;
use nakshi_store::{Error, Result};

/// A log file that grows. After its first failure it refuses every write.
#[derive(Debug)]
pub(in super::super) struct LogWriter {
    file: PoisonFile,
    header: LogHeader,
    /// Bytes up to which disk space is reserved.
    reserved: u64,
}

/// Least and most bytes that are reserved at once.
const LEAST: u64 = 256 << 10;
const MOST_RESERVED: u64 = 16 << 20;

/// Commits that one write makes durable (group commit).
#[derive(Debug, Default)]
pub(in super::super) struct CommitGroup {
    /// Number of each commit, and its encoded changes.
    commits: Vec<(u64, Vec<u8>)>,
}

impl CommitGroup {
    /// Adds a commit with its encoded changes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the commit is too large; the group stays as it was.
    pub(in super::super) fn push(&mut self, commit: u64, bytes: Vec<u8>) -> Result<()> {
        if bytes.len() > MOST {
            return Err(Error::Invalid(format!(
                "a commit of {} bytes is larger than 1 GiB; make several of it",
                bytes.len()
            )));
        }
        self.commits.push((commit, bytes));
        Ok(())
    }

    /// The commits: their numbers, and their encoded changes.
    pub(in super::super) fn commits(&self) -> &[(u64, Vec<u8>)] {
        &self.commits
    }

    /// Bytes of the changes in the group.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.commits.iter().map(|(_, changes)| changes.len() as u64).sum()
    }

    pub(in super::super) fn len(&self) -> usize {
        self.commits.len()
    }
}

impl LogWriter {
    /// Begins the log file behind all commits that `reader` has read.
    pub(in super::super) fn begin(fs: &Arc<dyn WriteFs>, reader: &LogReader) -> Result<Self> {
        let (number, previous) = reader.next();
        let place = LogPlace { generation: reader.generation(), number };
        let header = LogHeader::new(reader.store(), place, previous, reader.commit() + 1);
        Self::create(fs, reader.dir(), header)
    }

    /// Begins the next file, whose first commit follows on `commit`. All commits up to there must be
    /// durable.
    pub(in super::super) fn rotate(
        &self,
        fs: &Arc<dyn WriteFs>,
        dir: &Path,
        commit: u64,
    ) -> Result<Self> {
        let LogHeader { store, place, .. } = self.header;
        Self::create(fs, dir, LogHeader::new(store, place.next(), self.file.len(), commit + 1))
    }

    /// Removes what a failed [`LogWriter::rotate`] has left, so that this file may grow on.
    ///
    /// # Errors
    /// Errors of removing. The next file may then say that this one has ended.
    pub(in super::super) fn withdraw_next(&self, fs: &Arc<dyn WriteFs>, dir: &Path) -> Result<()> {
        let path = dir.join(self.header.place.next().name());
        if std::fs::symlink_metadata(&path).is_ok() {
            fs.remove_file(&path)?;
        }
        Ok(fs.sync_dir(dir)?)
    }

    pub(super) fn create(fs: &Arc<dyn WriteFs>, dir: &Path, header: LogHeader) -> Result<Self> {
        let path = dir.join(header.place.name());
        if std::fs::symlink_metadata(&path).is_ok() {
            // Its header was never written whole.
            fs.remove_file(&path)?;
        }
        let mut file = PoisonFile::new(fs.create(&path)?);
        file.append(&header.encode())?;
        file.sync()?;
        fs.sync_dir(dir)?;
        Ok(LogWriter { file, header, reserved: 0 })
    }

    /// Number of the file.
    pub(in super::super) fn number(&self) -> u64 {
        self.header.place.number
    }

    /// Makes a group durable.
    ///
    /// # Errors
    /// Errors of writing. The group may or may not be there after a crash then, and every later
    /// call fails with [`Error::Poisoned`].
    pub(in super::super) fn write(&mut self, group: &CommitGroup) -> Result<()> {
        let (mut bytes, durable) = (Vec::new(), self.file.len());
        for (commit, changes) in &group.commits {
            file::put_frame(&self.header, *commit, durable, changes, &mut bytes);
        }
        let end = durable + bytes.len() as u64;
        // A large group waits for the disk anyway, so its space is not reserved: that would write
        // it twice.
        if end > self.reserved && (bytes.len() as u64) < MOST_RESERVED {
            let more = end.next_multiple_of(LEAST) - durable + end.min(MOST_RESERVED);
            self.file.reserve(more)?;
            self.reserved = durable + more;
        }
        self.file.append(&bytes)?;
        Ok(self.file.sync_data()?)
    }
}
