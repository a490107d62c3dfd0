//! A log of records of any kind, in files of the write-ahead log: of what a group of servers has agreed on,
//! for example.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_io::write::WriteFs;

use super::file::{LogHeader, LogPlace};
use super::reader::LogReader;
use super::writer::{CommitGroup, LogWriter};
use nakshi_store::files::Uuid;
use nakshi_store::{Error, Result};

/// Records in a directory of their own, of which one handle may be open at a time.
///
/// The files are those of the write-ahead log, with records in place of commits; the generation grows
/// whenever the records are replaced. The lowest generation with a first file counts: the files of the
/// next one are removed unless those of this one have gone.
#[derive(Debug)]
pub struct Journal {
    fs: Arc<dyn WriteFs>,
    dir: PathBuf,
    owner: Uuid,
    generation: u64,
    writer: LogWriter,
    /// Number of the last record.
    last: u64,
}

/// The log files in a directory.
fn places(dir: &Path) -> Result<Vec<LogPlace>> {
    let failed = |source| Error::Io { op: "list", path: dir.to_path_buf(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        found.extend(entry.map_err(failed)?.file_name().to_str().and_then(LogPlace::of_name));
    }
    Ok(found)
}

impl Journal {
    /// Opens the journal in a directory, which must exist, and hands all records to `f`, the oldest first.
    /// `owner` tells it from the journals of others.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Truncated`] for durable bytes that are damaged or missing;
    /// [`Error::Foreign`] for the journal of another owner; errors of reading and writing, and of `f`.
    pub fn open(
        fs: &Arc<dyn WriteFs>,
        dir: &Path,
        owner: Uuid,
        cancel: &CancelToken,
        mut f: impl FnMut(Vec<u8>) -> Result<()>,
    ) -> Result<Self> {
        let files = places(dir)?;
        let first = files.iter().filter(|place| place.number == 0);
        let generation = first.map(|place| place.generation).min().unwrap_or(0);
        for other in files.iter().filter(|place| place.generation != generation) {
            fs.remove_file(&dir.join(other.name()))?;
        }
        let mut reader = LogReader::of_journal(dir, owner, generation);
        reader.read_frames(cancel, |file, frame| {
            let mut record = Vec::with_capacity(frame.bytes() as usize);
            file.bytes(frame.changes.clone(), &mut record)?;
            f(record)
        })?;
        let (writer, last) = (LogWriter::begin(fs, &reader)?, reader.commit());
        let (fs, dir) = (Arc::clone(fs), dir.to_path_buf());
        Ok(Journal { fs, dir, owner, generation, writer, last })
    }

    /// Appends records, which are durable when it returns: all of them, or after a crash only the first.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a record of over 1 GiB; errors of writing, after which every later call
    /// fails with [`Error::Poisoned`].
    pub fn append(&mut self, records: Vec<Vec<u8>>) -> Result<()> {
        let group = Self::group(self.last, records)?;
        self.writer.write(&group)?;
        self.last += group.len() as u64;
        Ok(())
    }

    fn group(after: u64, records: Vec<Vec<u8>>) -> Result<CommitGroup> {
        let mut group = CommitGroup::default();
        for (number, record) in (after + 1..).zip(records) {
            group.push(number, record)?;
        }
        Ok(group)
    }

    /// Puts records in the place of all that it has. After a crash there are the old ones or the new.
    ///
    /// # Errors
    /// As [`Journal::append`]; the old records stay then, unless removing them was begun.
    pub fn replace(&mut self, records: Vec<Vec<u8>>) -> Result<()> {
        let group = Self::group(0, records)?;
        let place = LogPlace { generation: self.generation + 1, number: 0 };
        let header = LogHeader::new(self.owner, place, 0, 1);
        let mut writer = LogWriter::create(&self.fs, &self.dir, header)?;
        writer.write(&group)?;
        let mut old = places(&self.dir)?;
        old.retain(|place| place.generation == self.generation);
        old.sort_unstable_by_key(|place| place.number);
        for (count, place) in old.iter().enumerate() {
            self.fs.remove_file(&self.dir.join(place.name()))?;
            if count == 0 {
                self.fs.sync_dir(&self.dir)?;
            }
        }
        (self.writer, self.generation) = (writer, place.generation);
        self.last = group.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWNER: Uuid = [7; 16];

    fn open(dir: &Path) -> (Journal, Vec<Vec<u8>>) {
        let fs = nakshi_io::write::default_fs();
        let mut found = Vec::new();
        let keep = |record| {
            found.push(record);
            Ok(())
        };
        let journal = Journal::open(&fs, dir, OWNER, &CancelToken::new(), keep).unwrap();
        (journal, found)
    }

    #[derive(Clone, Debug)]
    enum Step {
        Append(Vec<Vec<u8>>),
        Replace(Vec<Vec<u8>>),
        Reopen,
    }

    fn step() -> impl Strategy<Value = Step> {
        let records = || prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4);
        prop_oneof![
            3 => records().prop_map(Step::Append),
            1 => records().prop_map(Step::Replace),
            1 => Just(Step::Reopen),
        ]
    }

    proptest! {
        #[test]
        fn it_has_what_was_written(steps in prop::collection::vec(step(), 0..20)) {
            let dir = tempfile::tempdir().unwrap();
            let (mut journal, mut wanted) = open(dir.path());
            for step in steps.into_iter().chain([Step::Reopen]) {
                match step {
                    Step::Append(records) => {
                        journal.append(records.clone()).unwrap();
                        wanted.extend(records);
                    }
                    Step::Replace(records) => {
                        journal.replace(records.clone()).unwrap();
                        wanted = records;
                    }
                    Step::Reopen => {
                        drop(journal);
                        let found;
                        (journal, found) = open(dir.path());
                        prop_assert_eq!(&found, &wanted);
                    }
                }
            }
        }
    }

    #[test]
    fn a_replacement_that_was_cut_off_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (mut journal, _) = open(dir.path());
        journal.append(vec![vec![1], vec![2]]).unwrap();
        let copy = tempfile::tempdir().unwrap();
        let keep = |from: &Path, to: &Path| {
            for entry in std::fs::read_dir(from).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        };
        keep(dir.path(), copy.path());
        journal.replace(vec![vec![3]]).unwrap();
        drop(journal);
        assert_eq!(open(dir.path()).1, [vec![3]]);
        // The files of both generations are there.
        keep(dir.path(), copy.path());
        assert_eq!(open(copy.path()).1, [vec![1], vec![2]]);
        assert!(places(copy.path()).unwrap().iter().all(|place| place.generation == 0));
    }

    #[test]
    fn the_journal_of_another_owner_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path()).0.append(vec![vec![1]]).unwrap();
        let fs = nakshi_io::write::default_fs();
        let opened = Journal::open(&fs, dir.path(), [8; 16], &CancelToken::new(), |_| Ok(()));
        assert!(matches!(opened, Err(Error::Foreign { .. })));
    }
}
