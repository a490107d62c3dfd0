//! Reading the log of a store, once or again and again.

use super::super::PropertyEntry;
use super::file::{self, HEADER, LogFile};
use super::op::{self, Change};
use nakshi_store::files::{Uuid, parse_uuid};
use nakshi_store::{Error, Manifest, Result};
use std::path::{Path, PathBuf};

/// Where a reader of the log has got to.
#[derive(Clone, Debug)]
pub(in super::super) struct LogReader {
    dir: PathBuf,
    store: Uuid,
    page_size: u32,
    generation: u64,
    /// The file that is read next, and from which byte on.
    number: u64,
    at: u64,
    /// Whether that file is there.
    begun: bool,
    /// The last commit.
    commit: u64,
    /// Bytes of changes.
    bytes: u64,
    /// The last commit that is wanted.
    limit: Option<u64>,
}

impl LogReader {
    /// At the beginning of the log of a manifest's files.
    pub(in super::super) fn new(dir: &Path, manifest: &Manifest) -> Result<Self> {
        let store = parse_uuid(&manifest.uuid)
            .ok_or_else(|| Error::Invalid("a uuid is not 32 hexadecimal digits".into()))?;
        Ok(LogReader {
            dir: dir.to_path_buf(),
            store,
            page_size: manifest.page_size,
            generation: manifest.generation,
            number: 0,
            at: HEADER as u64,
            begun: false,
            commit: PropertyEntry::of(manifest)?.map_or(0, |entry| entry.commit),
            bytes: 0,
            limit: None,
        })
    }

    pub(in super::super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Number of the last commit that was read.
    pub(in super::super) fn commit(&self) -> u64 {
        self.commit
    }

    /// Bytes of the commits that were read.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Passes over the commits up to one.
    pub(in super::super) fn read_until(&mut self, commit: u64) -> Result<()> {
        self.limit = Some(commit);
        let done = self.read(|_, _| Ok(()));
        self.limit = None;
        done
    }

    /// Says that what was written so far is known.
    pub(in super::super) fn skip_to(&mut self, commit: u64, bytes: u64) {
        (self.commit, self.bytes) = (commit, bytes);
    }

    /// Counts bytes that this process has written itself.
    pub(in super::super) fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    pub(super) fn store(&self) -> Uuid {
        self.store
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The number of the file that comes next, and how much of the one before counts.
    pub(super) fn next(&self) -> (u64, u64) {
        if self.begun { (self.number + 1, self.at) } else { (self.number, 0) }
    }

    /// Hands every commit that has come since the last call to `f`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Truncated`] if something that was durable is not there any more;
    /// [`Error::Foreign`] for the log of another store; one of kind `NotFound` if a compaction has removed
    /// the log; those of `f`.
    pub(in super::super) fn read(
        &mut self,
        mut f: impl FnMut(u64, Vec<Change>) -> Result<()>,
    ) -> Result<()> {
        let read =
            |number| LogFile::read(&self.dir, &self.store, self.page_size, self.generation, number);
        let Some(mut file) = read(self.number)? else { return Ok(()) };
        self.begun = true;
        loop {
            let next = read(self.number + 1)?;
            let until = next.as_ref().map(|next| next.header.previous);
            let at = usize::try_from(self.at).unwrap_or(usize::MAX);
            for frame in file.frames(at, until)? {
                if self.limit.is_some_and(|limit| frame.commit > limit) {
                    return Ok(());
                }
                let corrupt = |what: String| Error::Corrupt {
                    file: file.path().to_path_buf(),
                    page: self.at / u64::from(self.page_size.max(1)),
                    what,
                };
                if frame.commit != self.commit + 1 {
                    let (found, last) = (frame.commit, self.commit);
                    return Err(corrupt(format!("commit {found} follows on commit {last}")));
                }
                let changes = op::decode(frame.changes).map_err(|what| corrupt(what.into()))?;
                f(frame.commit, changes)?;
                self.commit = frame.commit;
                self.bytes += frame.changes.len() as u64;
                self.at = frame.end as u64;
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

/// Names and bytes of the log files of a manifest, as they are at this moment: the last one may grow.
///
/// # Errors
/// Those of reading, one of kind `NotFound` if a compaction has removed them.
pub(crate) fn logs(dir: &Path, manifest: &Manifest) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    while let Some(bytes) = file::bytes(dir, manifest.generation, found.len() as u64)? {
        found.push((file::name(manifest.generation, found.len() as u64), bytes));
    }
    Ok(found)
}
