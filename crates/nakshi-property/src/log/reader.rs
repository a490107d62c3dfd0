//! Reader of a store's log, from the beginning and from where it stopped.

use super::super::PropertyEntry;
use super::file::{self, Changes, Frame, HEADER, LogFile, LogPlace};
use nakshi_io::CancelToken;
use nakshi_store::files::{Uuid, parse_uuid};
use nakshi_store::{Error, Manifest, OpenLog, Result, Store};
use std::path::{Path, PathBuf};

/// Position of a reader in the log.
#[derive(Clone, Debug)]
pub(in super::super) struct LogReader {
    dir: PathBuf,
    store: Uuid,
    page_size: u32,
    /// The generation in the names of the files, and that of the manifest.
    generation: u64,
    manifest: u64,
    /// Number of the next file, and the next byte in it.
    number: u64,
    at: u64,
    /// True if that file was there.
    begun: bool,
    /// Number of the last commit that was read.
    commit: u64,
    /// Bytes of the changes that were read.
    bytes: u64,
    /// Last commit to read; none to read all.
    limit: Option<u64>,
    /// True for the files of a [`Journal`](super::Journal), which no manifest names.
    unnamed: bool,
}

impl LogReader {
    /// Starts at the beginning of the log of a manifest's files.
    pub(in super::super) fn new(dir: &Path, manifest: &Manifest) -> Result<Self> {
        let store = parse_uuid(&manifest.uuid)
            .ok_or_else(|| Error::Invalid("a uuid is not 32 hexadecimal digits".into()))?;
        let entry = PropertyEntry::of(manifest)?.unwrap_or_default();
        let begin = entry.log(manifest.generation);
        Ok(LogReader {
            dir: dir.to_path_buf(),
            store,
            page_size: manifest.page_size,
            generation: begin.generation,
            manifest: manifest.generation,
            number: begin.first,
            at: HEADER as u64,
            begun: false,
            commit: entry.stored_commit(),
            bytes: 0,
            limit: None,
            unnamed: false,
        })
    }

    /// Starts at the beginning of the log files of a generation that belong to a journal.
    pub(super) fn of_journal(dir: &Path, store: Uuid, generation: u64) -> Self {
        LogReader {
            dir: dir.to_path_buf(),
            store,
            page_size: 0,
            generation,
            manifest: generation,
            number: 0,
            at: HEADER as u64,
            begun: false,
            commit: 0,
            bytes: 0,
            limit: None,
            unnamed: true,
        }
    }

    /// Starts at the beginning of the first log file that is kept, whose commits the fragments may have.
    ///
    /// # Errors
    /// Errors of reading.
    pub(super) fn kept(dir: &Path, manifest: &Manifest, cancel: &CancelToken) -> Result<Self> {
        let mut reader = Self::new(dir, manifest)?;
        let entry = PropertyEntry::of(manifest)?.unwrap_or_default();
        let begin = entry.log(manifest.generation);
        if begin.kept < begin.first
            && let Some(file) = reader.file(begin.kept, cancel)?
        {
            (reader.number, reader.commit) = (begin.kept, file.header.first - 1);
        }
        Ok(reader)
    }

    /// A log file; `None` if there is none, or none that was begun.
    fn file(&self, number: u64, cancel: &CancelToken) -> Result<Option<LogFile>> {
        let place = LogPlace { generation: self.generation, number };
        if self.unnamed && !self.dir.join(place.name()).exists() {
            return Ok(None);
        }
        LogFile::read(&self.dir, &self.store, self.page_size, place, self.manifest, cancel)
    }

    /// The generation in the names of the log files.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// The generation of the manifest.
    pub(in super::super) fn manifest(&self) -> u64 {
        self.manifest
    }

    /// Another manifest names the files, fragments and log up to where it has read.
    pub(in super::super) fn moved_to(&mut self, manifest: u64) {
        self.manifest = manifest;
    }

    /// Number of the last commit that was read.
    pub(in super::super) fn commit(&self) -> u64 {
        self.commit
    }

    /// Bytes of the commits that were read.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Passes over the commits up to `commit`.
    pub(in super::super) fn read_until(&mut self, commit: u64, cancel: &CancelToken) -> Result<()> {
        self.limit = Some(commit);
        let done = self.read(cancel, |_, _| Ok(()));
        self.limit = None;
        done
    }

    /// Forgets its generation, so that the next read starts with the current manifest.
    pub(in super::super) fn forget(&mut self) {
        self.manifest = u64::MAX;
    }

    /// Records that all commits up to `commit` are known, of `bytes` in all.
    pub(in super::super) fn skip_to(&mut self, commit: u64, bytes: u64) {
        (self.commit, self.bytes) = (commit, bytes);
    }

    /// Adds bytes that this process has written itself.
    pub(in super::super) fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    pub(super) fn store(&self) -> Uuid {
        self.store
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of the next log file, and the valid bytes of the file before.
    pub(super) fn next(&self) -> (u64, u64) {
        if self.begun { (self.number + 1, self.at) } else { (self.number, 0) }
    }

    /// Hands every commit that was added since the last call to `f`. One piece of the log is in
    /// memory at a time, and `cancel` is checked for each.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Truncated`] if durable bytes are damaged or missing;
    /// [`Error::Foreign`] for the log of another store; an error of kind `NotFound` if a compaction
    /// has removed the log; [`Error::Cancelled`]; errors of `f`.
    pub(in super::super) fn read(
        &mut self,
        cancel: &CancelToken,
        mut f: impl FnMut(u64, &mut Changes<'_>) -> Result<()>,
    ) -> Result<()> {
        self.read_frames(cancel, |file, frame| f(frame.commit, &mut file.changes(frame)?))
    }

    /// As [`LogReader::read`], without a look into the frames.
    pub(super) fn read_frames(
        &mut self,
        cancel: &CancelToken,
        mut f: impl FnMut(&mut LogFile, &Frame) -> Result<()>,
    ) -> Result<()> {
        let Some(mut file) = self.file(self.number, cancel)? else { return Ok(()) };
        self.begun = true;
        loop {
            let next = self.file(self.number + 1, cancel)?;
            let until = next.as_ref().map(|next| next.header.previous);
            while let Some(frame) = file.next(self.at, until)? {
                if self.limit.is_some_and(|limit| frame.commit > limit) {
                    return Ok(());
                }
                if frame.commit != self.commit + 1 {
                    let (found, last) = (frame.commit, self.commit);
                    return Err(Error::Corrupt {
                        file: file.path().to_path_buf(),
                        page: self.at / u64::from(self.page_size.max(1)),
                        what: format!("commit {found} follows on commit {last}"),
                    });
                }
                f(&mut file, &frame)?;
                self.commit = frame.commit;
                self.bytes += frame.bytes();
                self.at = frame.changes.end;
            }
            let Some(next) = next else { return Ok(()) };
            if next.header.first != self.commit + 1 {
                return Err(Error::Corrupt {
                    file: next.path().to_path_buf(),
                    page: 0,
                    what: format!("it begins with commit {}", next.header.first),
                });
            }
            (self.number, self.at, file) = (self.number + 1, HEADER as u64, next);
        }
    }
}

/// Opens the log files of a manifest, after reading all commits in them once.
///
/// # Errors
/// As [`LogReader::read`].
pub(crate) fn logs(dir: &Path, manifest: &Manifest, cancel: &CancelToken) -> Result<Vec<OpenLog>> {
    let mut reader = LogReader::kept(dir, manifest, cancel)?;
    let first = reader.number;
    reader.read_until(u64::MAX, cancel)?;
    let mut found = Vec::new();
    let end = if reader.begun { reader.number + 1 } else { first };
    for number in first..end {
        let place = LogPlace { generation: reader.generation, number };
        let Some(file) = file::open(dir, place, manifest.generation)? else { break };
        let name = place.name();
        let path = dir.join(&name);
        let whole = file.metadata().map_err(|error| Error::io("read", &path, error))?.len();
        let len = if number == reader.number { reader.at } else { whole };
        found.push(OpenLog { name, path, file, len });
    }
    Ok(found)
}

/// Returns true if a store has commits in fragments or in its log. It reads up to the first of them.
///
/// # Errors
/// Those of reading the log; [`Error::Cancelled`].
pub fn has_changes(store: &Store, cancel: &CancelToken) -> Result<bool> {
    let entry = PropertyEntry::of(store.manifest())?;
    if entry.is_some_and(|entry| !entry.fragment_list().is_empty()) {
        return Ok(true);
    }
    let mut found = false;
    let done = LogReader::new(store.path(), store.manifest())?.read(cancel, |_, _| {
        found = true;
        // Ends the reading.
        Err(Error::Abandoned)
    });
    if found { Ok(true) } else { done.map(|()| false) }
}
