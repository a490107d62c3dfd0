//! What a transaction has read and what later commits have written, as keys: two of them meet if they
//! have a key in common.
//!
//! The granularity: the properties of a node together, an edge record and a direction, an edge, an id
//! that no node has, the nodes with a value of a property, the nodes with a property, all nodes, the
//! edges of a type, and all edges.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::condition::Predicate;
use super::logstore::EdgeKey;
use super::row::{RowValues, SharedBytes};
use super::value;
use nakshi_store::{ExternalId, VertexId};

/// What is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject<'k> {
    /// An id that no node has, or had until now.
    Id(&'k ExternalId),
    /// Whether there is a node.
    Existence(VertexId),
    /// The properties of a node.
    Properties(VertexId),
    /// The edges of a source, type and destination.
    Edge(EdgeKey),
    /// The edges of one type from a node.
    Record(VertexId, u64),
    /// All edges from a node.
    Records(VertexId),
    /// All edges to a node.
    Incoming(VertexId),
    /// The nodes with this value, or this item, of a property.
    Value(u32, &'k [u8]),
    /// The nodes with a property.
    Property(u32),
    /// All nodes.
    Nodes,
    /// All edges of a type.
    EdgesOf(u64),
    /// All edges.
    Edges,
}

/// What the last bits of a key say of its subject, for messages.
const KIND_BITS: u64 = 0b111;
/// The subjects by these bits.
const KINDS: [&str; 8] = [
    "the id of a node",
    "whether a node exists",
    "the properties of a node",
    "an edge",
    "the edges from a node",
    "the edges to a node",
    "a search for nodes",
    "a search for edges",
];

impl Subject<'_> {
    fn kind(&self) -> u64 {
        match self {
            Subject::Id(_) => 0,
            Subject::Existence(_) => 1,
            Subject::Properties(_) => 2,
            Subject::Edge(_) => 3,
            Subject::Record(..) | Subject::Records(_) => 4,
            Subject::Incoming(_) => 5,
            Subject::Value(..) | Subject::Property(_) | Subject::Nodes => 6,
            Subject::EdgesOf(_) | Subject::Edges => 7,
        }
    }

    /// Returns true if a node that it is about has a number from `first` on.
    fn is_about(&self, first: u64) -> bool {
        match self {
            Subject::Existence(v)
            | Subject::Properties(v)
            | Subject::Record(v, _)
            | Subject::Records(v)
            | Subject::Incoming(v) => u64::from(*v) >= first,
            Subject::Edge((source, _, end)) => u64::from(*source.max(end)) >= first,
            _ => false,
        }
    }

    fn key(&self, state: &RandomState) -> u64 {
        (state.hash_one(self) & !KIND_BITS) | self.kind()
    }
}

/// Most keys of a transaction. One that reads more has read everything.
const MOST_READ: usize = 1 << 20;
/// Most searches of a transaction of which the conditions are kept. More meet a change by their keys.
const MOST_SEARCHES: usize = 256;

/// What a transaction has read.
#[derive(Debug)]
pub(super) struct ReadSet {
    state: RandomState,
    /// Nodes from this number on are the transaction's own.
    own: u64,
    keys: Mutex<ReadKeys>,
}

#[derive(Debug, Default)]
struct ReadKeys {
    keys: HashSet<u64, BuildHasherDefault<KeyHasher>>,
    everything: bool,
    /// The conditions of searches for nodes, of the first [`MOST_SEARCHES`].
    searches: Vec<Vec<(u32, Predicate)>>,
    /// True if there were more searches.
    more_searches: bool,
}

/// Keys are hashes already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        // The last bits are those of the kind, and few.
        self.0 = key.rotate_right(KIND_BITS.count_ones());
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl ReadSet {
    /// Nothing yet, of a graph whose nodes have numbers below `own`.
    pub(super) fn new(state: &RandomState, own: u64) -> Self {
        ReadSet { state: state.clone(), own, keys: Mutex::default() }
    }

    fn keys(&self) -> MutexGuard<'_, ReadKeys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, subject: Subject<'_>) {
        if subject.is_about(self.own) {
            return;
        }
        let mut read = self.keys();
        if read.keys.len() < MOST_READ {
            read.keys.insert(subject.key(&self.state));
        } else {
            *read = ReadKeys { everything: true, ..ReadKeys::default() };
        }
    }

    /// Notes a search for the nodes that meet all conditions.
    pub(super) fn note_search(&self, wanted: &[(u32, Predicate)]) {
        for (property, predicate) in wanted {
            self.note(match predicate {
                Predicate::Equal(value) | Predicate::Item(value) => {
                    Subject::Value(*property, value)
                }
                _ => Subject::Property(*property),
            });
        }
        // A new node without any of the properties is in the answer.
        if wanted.iter().all(|(_, predicate)| predicate.fits(None)) {
            self.note(Subject::Nodes);
        }
        let mut read = self.keys();
        match read.searches.len() < MOST_SEARCHES {
            true => read.searches.push(wanted.to_vec()),
            false => read.more_searches = true,
        }
    }
}

/// A change of a node's properties.
#[derive(Debug)]
pub(super) struct WrittenRow {
    /// Values before and after, encoded as [`RowValues`]; `None` if there was no node.
    pub(super) before: Option<SharedBytes>,
    pub(super) after: Option<SharedBytes>,
    /// The properties that may have changed, of which alone there are values; `None` for all.
    pub(super) properties: Option<Vec<u32>>,
}

impl WrittenRow {
    /// Values, and items of values, before and after.
    fn values(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let rows = self.before.iter().chain(&self.after);
        rows.flat_map(|row| RowValues(row)).flat_map(|(property, value)| {
            // Bytes that are no list give items that no search wants.
            std::iter::once(value).chain(value::items(value)).map(move |value| (property, value))
        })
    }

    /// Returns true if the change puts the node into the answer of a search, or takes it out.
    fn changes_answer(&self, wanted: &[(u32, Predicate)]) -> bool {
        let changed = |property: &u32| {
            self.properties.as_ref().is_none_or(|properties| properties.contains(property))
        };
        // What other properties meet is the same before and after.
        let wanted = || wanted.iter().filter(|(property, _)| changed(property));
        let fits = |row: &Option<SharedBytes>| {
            row.as_ref().is_some_and(|row| {
                wanted().all(|(property, predicate)| {
                    let value = RowValues(row).find(|(other, _)| other == property);
                    predicate.fits(value.map(|(_, value)| value))
                })
            })
        };
        fits(&self.before) != fits(&self.after)
    }

    /// A key that a search of a transaction has noted, if the change gives a search another answer.
    fn first_in(&self, read: &ReadKeys, state: &RandomState) -> Option<u64> {
        let keys = self.values().flat_map(|(property, value)| {
            [Subject::Value(property, value), Subject::Property(property)]
        });
        let mut keys = keys.map(|subject| subject.key(state));
        let key = keys.find(|key| read.keys.contains(key))?;
        let changed =
            read.more_searches || read.searches.iter().any(|wanted| self.changes_answer(wanted));
        changed.then_some(key)
    }

    /// About as many keys as take the memory of this.
    fn weight(&self) -> usize {
        let rows = self.before.iter().chain(&self.after).map(|row| row.len());
        rows.sum::<usize>() / size_of::<u64>() + 8
    }
}

/// Keys and rows that the changes of a commit write.
#[derive(Debug)]
pub(super) struct WrittenKeys {
    state: RandomState,
    keys: Vec<u64>,
    /// Changes of nodes. Their values become keys when a transaction has searched for some, since a
    /// row may have many.
    rows: Vec<WrittenRow>,
}

impl WrittenKeys {
    pub(super) fn new(state: &RandomState) -> Self {
        WrittenKeys { state: state.clone(), keys: Vec::new(), rows: Vec::new() }
    }

    pub(super) fn note(&mut self, subject: Subject<'_>) {
        self.keys.push(subject.key(&self.state));
    }

    /// Notes a change of an edge.
    pub(super) fn note_edge(&mut self, key: EdgeKey) {
        let (source, ty, end) = key;
        self.note(Subject::Edge(key));
        self.note(Subject::Record(source, ty));
        self.note(Subject::Records(source));
        self.note(Subject::Incoming(end));
        self.note(Subject::EdgesOf(ty));
        self.note(Subject::Edges);
    }

    pub(super) fn note_row(&mut self, row: WrittenRow) {
        self.rows.push(row);
    }

    /// The first key that a transaction has read.
    fn first_in(&self, read: &ReadKeys) -> Option<u64> {
        let in_rows = || {
            let rows = self.rows.iter().filter(|_| !read.searches.is_empty());
            rows.into_iter().find_map(|row| row.first_in(read, &self.state))
        };
        self.keys.iter().copied().find(|key| read.keys.contains(key)).or_else(in_rows)
    }

    /// About as many keys as take the memory of this.
    fn weight(&self) -> usize {
        self.keys.len() + self.rows.iter().map(WrittenRow::weight).sum::<usize>() + 8
    }
}

/// Most keys of commits, or what takes as much memory, that are kept for running transactions.
const MOST_WRITTEN: usize = 1 << 20;

/// What commits have written since the oldest running transaction began.
#[derive(Debug, Default)]
pub(super) struct RecentWrites {
    /// The commits whose state running transactions read, each with the number of transactions.
    running: BTreeMap<u64, usize>,
    /// Keys and rows that commits have written, ascending by commit.
    written: VecDeque<(u64, WrittenKeys)>,
    /// About as many keys as take the memory of `written`.
    weight: usize,
    /// The keys of commits up to this one are forgotten.
    forgotten: u64,
}

impl RecentWrites {
    /// A transaction begins that reads the state after `commit`.
    pub(super) fn begin(&mut self, commit: u64) {
        *self.running.entry(commit).or_default() += 1;
    }

    /// A transaction that has read the state after `commit` ends.
    pub(super) fn end(&mut self, commit: u64) {
        if let Some(count) = self.running.get_mut(&commit) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(&commit);
            }
        }
        let oldest = self.running.keys().next().copied().unwrap_or(u64::MAX);
        while self.written.front().is_some_and(|(commit, _)| *commit <= oldest) {
            self.forget_one();
        }
    }

    /// Forgets the oldest commit, and returns its number.
    fn forget_one(&mut self) -> Option<u64> {
        let (commit, written) = self.written.pop_front()?;
        self.weight -= written.weight();
        Some(commit)
    }

    /// Returns true while commits have to say what they write.
    pub(super) fn wanted(&self) -> bool {
        !self.running.is_empty()
    }

    pub(super) fn add(&mut self, commit: u64, written: WrittenKeys) {
        self.weight += written.weight();
        self.written.push_back((commit, written));
        if self.weight > MOST_WRITTEN {
            while self.weight > MOST_WRITTEN / 2
                && let Some(commit) = self.forget_one()
            {
                self.forgotten = commit;
            }
        }
    }

    /// Compares what a transaction has read in the state after `commit` with what later commits have
    /// written.
    ///
    /// # Errors
    /// A message that says what has changed.
    pub(super) fn check(&self, commit: u64, reads: &ReadSet, tip: u64) -> Result<(), String> {
        let read = reads.keys();
        if tip > commit && read.everything {
            return Err(format!(
                "it has read more than {MOST_READ} nodes and edges, and commit {tip} has changed some"
            ));
        }
        if commit < self.forgotten {
            return Err(format!(
                "{} commits were made since it began, too many to compare with it",
                tip - commit
            ));
        }
        let later = self.written.iter().rev().take_while(|(later, _)| *later > commit);
        let first =
            |(later, written): &(u64, WrittenKeys)| Some((*later, written.first_in(&read)?));
        match later.into_iter().find_map(first) {
            None => Ok(()),
            Some((later, key)) => {
                let what = KINDS.get((key & KIND_BITS) as usize).copied().unwrap_or_default();
                Err(format!("commit {later} has changed {what} that it has read or written"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(state: &RandomState, subjects: &[Subject<'_>]) -> WrittenKeys {
        let mut keys = WrittenKeys::new(state);
        subjects.iter().for_each(|subject| keys.note(*subject));
        keys
    }

    /// Seen red with keys that are forgotten while a transaction needs them, and without
    /// `forgotten`.
    #[test]
    fn the_keys_of_later_commits_are_kept_for_whom_needs_them() {
        let state = RandomState::new();
        let mut recent = RecentWrites::default();
        let reads = ReadSet::new(&state, 100);
        reads.note(Subject::Properties(7));
        reads.note(Subject::Properties(100));
        recent.begin(10);
        recent.add(11, written(&state, &[Subject::Properties(100), Subject::Existence(7)]));
        assert_eq!(recent.check(10, &reads, 11), Ok(()));
        recent.begin(11);
        recent.add(12, written(&state, &[Subject::Properties(7)]));
        recent.end(10);
        let message = recent.check(11, &reads, 12).unwrap_err();
        assert!(message.contains("commit 12") && message.contains("properties"), "{message}");
        assert_eq!(recent.check(12, &reads, 12), Ok(()));
        for commit in 13..40 {
            let many = vec![Subject::Nodes; MOST_WRITTEN / 16];
            recent.add(commit, written(&state, &many));
        }
        assert!(recent.weight <= MOST_WRITTEN);
        assert!(recent.check(11, &reads, 39).unwrap_err().contains("28 commits"));
        recent.end(11);
        assert!(!recent.wanted() && recent.written.is_empty() && recent.weight == 0);
    }

    #[test]
    fn who_reads_too_much_has_read_everything() {
        let state = RandomState::new();
        let reads = ReadSet::new(&state, u64::MAX);
        (0..=MOST_READ as u32).for_each(|v| reads.note(Subject::Existence(v)));
        let recent = RecentWrites::default();
        assert_eq!(recent.check(5, &reads, 5), Ok(()));
        assert!(recent.check(5, &reads, 6).is_err());
    }
}
