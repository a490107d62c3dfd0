//! The log of a server, on disk as a journal, and in memory from its last snapshot on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeBounds;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi_io::CancelToken;
use nakshi_property::Journal;
use nakshi_store::Result;
use nakshi_store::files::Uuid;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{ErrorSubject, ErrorVerb, LogState, RaftLogReader, SnapshotMeta, Vote};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{Entry, LogId, StorageError, TypeConfig, apart, unable};

/// Bytes of entries that are sent to another server at once, unless a single one has more.
const BATCH: usize = 8 << 20;

pub(super) type Snapshot = SnapshotMeta<u64, openraft::BasicNode>;

/// Where the records of a log are kept.
pub(super) trait Records: Debug + Send {
    /// As [`Journal::append`].
    fn append(&mut self, records: Vec<Vec<u8>>) -> Result<()>;

    /// As [`Journal::replace`].
    fn replace(&mut self, records: Vec<Vec<u8>>) -> Result<()>;
}

impl Records for Journal {
    fn append(&mut self, records: Vec<Vec<u8>>) -> Result<()> {
        Journal::append(self, records)
    }

    fn replace(&mut self, records: Vec<Vec<u8>>) -> Result<()> {
        Journal::replace(self, records)
    }
}

/// A record of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Record {
    /// The server has voted.
    Vote(Vote<u64>),
    /// Entries at the end of the log.
    Entries(Vec<Entry>),
    /// The entries from this index on are gone: another leader has other ones.
    Truncated(u64),
    /// All entries up to this one are gone: every store has their commits.
    Purged(LogId),
    /// The store has what the entries up to this point say: all commits up to number `commit`.
    Snapshot { upto: Snapshot, commit: u64 },
    /// The server has lost what it knew: votes, and entries up to this index.
    Lost(u64),
    /// It has entries up to there again.
    Regained,
}

/// The state that the records of the journal lead to.
#[derive(Debug, Default)]
struct Known {
    vote: Option<Vote<u64>>,
    /// Entries by their index, with the bytes of their commits.
    entries: BTreeMap<u64, (Entry, usize)>,
    /// Bytes of the commits of all entries.
    bytes: usize,
    purged: Option<LogId>,
    snapshot: Option<(Snapshot, u64)>,
    lost: Option<u64>,
}

/// The log of this server.
#[derive(Clone, Debug)]
pub(crate) struct RaftLog(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    known: Mutex<Known>,
    /// The last entry that a snapshot stands for, and true when there will be no later snapshot.
    covered: watch::Sender<(Option<LogId>, bool)>,
    records: Mutex<Box<dyn Records>>,
}

/// Locks what no thread leaves half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytes_of(record: &Record) -> Result<Vec<u8>> {
    postcard::to_allocvec(record)
        .map_err(|_| nakshi_store::Error::Internal("a record of the log does not encode"))
}

/// Bytes of the commits of an entry.
fn size(entry: &Entry) -> usize {
    match &entry.payload {
        openraft::EntryPayload::Normal(proposal) => {
            proposal.commits.iter().map(|commit| commit.len()).sum()
        }
        _ => 0,
    }
}

impl Known {
    /// Adds a record of the log in a directory.
    fn add_encoded(&mut self, dir: &Path, record: &[u8]) -> Result<()> {
        let record = postcard::from_bytes(record).map_err(|error| {
            let (file, what) = (dir.to_path_buf(), format!("a record does not decode: {error}"));
            nakshi_store::Error::Corrupt { file, page: 0, what }
        })?;
        self.add(record);
        Ok(())
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Vote(vote) => self.vote = Some(vote),
            Record::Entries(entries) => {
                for entry in entries {
                    let size = size(&entry);
                    self.bytes += size;
                    let before = self.entries.insert(entry.log_id.index, (entry, size));
                    self.bytes -= before.map_or(0, |(_, size)| size);
                }
            }
            Record::Truncated(from) => self.forget(from..),
            Record::Purged(upto) => {
                self.forget(..=upto.index);
                self.purged = Some(upto);
            }
            Record::Snapshot { upto, commit } => self.snapshot = Some((upto, commit)),
            Record::Lost(upto) => self.lost = Some(upto),
            Record::Regained => self.lost = None,
        }
    }

    /// Forgets the entries of a range of indices.
    fn forget(&mut self, range: impl RangeBounds<u64>) {
        let gone: Vec<u64> = self.entries.range(range).map(|(index, _)| *index).collect();
        for index in gone {
            self.bytes -= self.entries.remove(&index).map_or(0, |(_, size)| size);
        }
    }

    /// The records that say the same.
    fn records(&self) -> Vec<Record> {
        let mut records: Vec<_> = self.lost.map(Record::Lost).into_iter().collect();
        records.extend(self.vote.map(Record::Vote));
        let snapshot = self.snapshot.clone();
        records.extend(snapshot.map(|(upto, commit)| Record::Snapshot { upto, commit }));
        records.extend(self.purged.map(Record::Purged));
        records
            .extend(self.entries.values().map(|(entry, _)| Record::Entries(vec![entry.clone()])));
        records
    }
}

impl RaftLog {
    /// Opens the log in a directory, which is made if it is not there.
    pub(super) fn open(dir: &Path, graph: Uuid, cancel: &CancelToken) -> Result<Self> {
        let failed = |error| nakshi_store::Error::io("create", dir, error);
        std::fs::create_dir_all(dir).map_err(failed)?;
        let fs = nakshi_io::write::default_fs();
        let mut known = Known::default();
        let journal =
            Journal::open(&fs, dir, graph, cancel, |record| known.add_encoded(dir, &record))?;
        Ok(Self::of(known, Box::new(journal)))
    }

    fn of(known: Known, records: Box<dyn Records>) -> Self {
        let covered = known.snapshot.as_ref().and_then(|(upto, _)| upto.last_log_id);
        let (covered, _) = watch::channel((covered, false));
        RaftLog(Arc::new(Inner { known: Mutex::new(known), covered, records: Mutex::new(records) }))
    }

    /// The log that records led to, whose later records go to `records`.
    #[cfg(test)]
    pub(super) fn read(dir: &Path, read: &[Vec<u8>], records: Box<dyn Records>) -> Result<Self> {
        let mut known = Known::default();
        read.iter().try_for_each(|record| known.add_encoded(dir, record))?;
        Ok(Self::of(known, records))
    }

    /// Bytes of the commits in it.
    pub(super) fn bytes(&self) -> u64 {
        lock(&self.0.known).bytes as u64
    }

    /// The last snapshot, and the number of the last commit before it.
    pub(super) fn snapshot(&self) -> Option<(Snapshot, u64)> {
        lock(&self.0.known).snapshot.clone()
    }

    /// Number of the last commit that may be in the store; `None` before the first start of all servers.
    pub(super) fn last_commit(&self) -> Option<u64> {
        let known = lock(&self.0.known);
        let (_, begun) = known.snapshot.as_ref()?;
        let proposed = known.entries.values().filter_map(|(entry, _)| match &entry.payload {
            openraft::EntryPayload::Normal(proposal) => Some(proposal.last()),
            _ => None,
        });
        Some(proposed.fold(*begun, u64::max))
    }

    /// Index of the last entry that this server may have confirmed and lost, until it has all of them again.
    pub(super) fn lost_before(&self) -> Option<u64> {
        lock(&self.0.known).lost
    }

    /// Remembers that entries up to an index were lost.
    pub(super) fn lose_before(&self, index: u64) -> Result<()> {
        self.write(Record::Lost(index))
    }

    /// Forgets that entries were lost.
    pub(super) fn regain(&self) -> Result<()> {
        self.write(Record::Regained)
    }

    /// Makes a snapshot known for ever.
    pub(super) fn set_snapshot(&self, upto: Snapshot, commit: u64) -> Result<()> {
        let covered = upto.last_log_id;
        self.write(Record::Snapshot { upto, commit })?;
        self.0.covered.send_modify(|(upto, _)| *upto = covered);
        Ok(())
    }

    /// Says that no snapshot will be taken any more.
    pub(super) fn end(&self) {
        self.0.covered.send_modify(|(_, over)| *over = true);
    }

    /// Makes a record durable.
    fn write(&self, record: Record) -> Result<()> {
        let mut kept = lock(&self.0.records);
        kept.append(vec![bytes_of(&record)?])?;
        lock(&self.0.known).add(record);
        Ok(())
    }

    /// Forgets the entries up to one, on disk as well.
    fn purge_to(&self, upto: LogId) -> Result<()> {
        let mut kept = lock(&self.0.records);
        let records = {
            let mut known = lock(&self.0.known);
            known.add(Record::Purged(upto));
            known.records()
        };
        kept.replace(records.iter().map(bytes_of).collect::<Result<_>>()?)
    }

    /// Changes the log in a thread that may wait for the disk.
    async fn change(
        &self,
        part: (ErrorSubject<u64>, ErrorVerb),
        work: impl FnOnce(&Self) -> Result<()> + Send + 'static,
    ) -> Result<(), StorageError> {
        let log = self.clone();
        let done = apart(move || work(&log)).await;
        done.map_err(|error| unable("the log of the servers cannot be written", part, &error))
    }
}

impl RaftLogReader<TypeConfig> for RaftLog {
    async fn try_get_log_entries<B: RangeBounds<u64> + Clone + Debug + Send>(
        &mut self,
        range: B,
    ) -> Result<Vec<Entry>, StorageError> {
        let known = lock(&self.0.known);
        Ok(known.entries.range(range).map(|(_, (entry, _))| entry.clone()).collect())
    }

    async fn limited_get_log_entries(
        &mut self,
        start: u64,
        end: u64,
    ) -> Result<Vec<Entry>, StorageError> {
        let (known, mut taken) = (lock(&self.0.known), 0);
        let mut found = Vec::new();
        for (entry, size) in known.entries.range(start..end).map(|(_, entry)| entry) {
            taken += size;
            if taken > BATCH && !found.is_empty() {
                break;
            }
            found.push(entry.clone());
        }
        Ok(found)
    }
}

impl RaftLogStorage<TypeConfig> for RaftLog {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, StorageError> {
        let known = lock(&self.0.known);
        let last = known.entries.last_key_value().map(|(_, (entry, _))| entry.log_id);
        Ok(LogState { last_purged_log_id: known.purged, last_log_id: last.or(known.purged) })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<u64>) -> Result<(), StorageError> {
        let record = Record::Vote(*vote);
        self.change((ErrorSubject::Vote, ErrorVerb::Write), |log| log.write(record)).await
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<u64>>, StorageError> {
        Ok(lock(&self.0.known).vote)
    }

    async fn append<I>(
        &mut self,
        entries: I,
        callback: LogFlushed<TypeConfig>,
    ) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + Send,
        I::IntoIter: Send,
    {
        // Only one is written at a time, so the next call waits.
        let record = Record::Entries(entries.into_iter().collect());
        self.change((ErrorSubject::Logs, ErrorVerb::Write), |log| log.write(record)).await?;
        callback.log_io_completed(Ok(()));
        Ok(())
    }

    async fn truncate(&mut self, log_id: LogId) -> Result<(), StorageError> {
        let record = Record::Truncated(log_id.index);
        self.change((ErrorSubject::Logs, ErrorVerb::Delete), |log| log.write(record)).await
    }

    async fn purge(&mut self, log_id: LogId) -> Result<(), StorageError> {
        // openraft asks for this while another thread takes a snapshot over. The entries must be there until
        // the snapshot is known for ever.
        let mut covered = self.0.covered.subscribe();
        let known = covered.wait_for(|(upto, over)| *over || *upto >= Some(log_id)).await;
        if known.is_ok_and(|known| known.1) {
            let error = nakshi_store::Error::Invalid("the snapshot was not taken over".to_owned());
            let part = (ErrorSubject::Logs, ErrorVerb::Delete);
            return Err(unable("the log of the servers cannot be cleared", part, &error));
        }
        self.change((ErrorSubject::Logs, ErrorVerb::Delete), move |log| log.purge_to(log_id)).await
    }
}
