//! Changes since the files of a store were written: ZipG's LogStore (section 3.5), with pointers to
//! the fragments of nodes and records, and deletions.
//!
//! A log store is persistent: a copy costs little and shares everything that has not changed since.
//! Readers therefore keep the state of a commit while later commits are made.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use rpds::{HashTrieMapSync, RedBlackTreeMapSync, VectorSync};

use super::condition::Predicate;
use super::row::RowValues;
use super::timeline::{LogEdge, Timeline};
use super::value;
use nakshi_store::{ExternalId, VertexId};

/// State of a node that has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeChange {
    /// Its properties, encoded as [`RowValues`]; `None` if the node is deleted.
    pub(super) values: Option<Arc<[u8]>>,
    /// True if the edges that the node has in files are deleted.
    pub(super) cut: bool,
}

/// State of an edge record that has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragment {
    /// Deleted rows of the file, ascending.
    pub(super) hidden: Arc<Vec<u64>>,
    /// New edges, which are in no file.
    pub(super) edges: Timeline,
}

/// Source, type and destination of an edge.
pub(super) type EdgeKey = (VertexId, u64, VertexId);

/// An edge, and its number.
pub(super) type NumberedEdge = (EdgeKey, u64);

/// Branches of a node of the maps. A change copies one node of each level, with a reference count
/// for each branch; with the usual 64 branches that took half of the time of a commit.
const BRANCHES: u8 = 8;

/// All changes since the files were written.
#[derive(Clone, Debug)]
pub(super) struct LogStore {
    nodes: HashTrieMapSync<VertexId, NodeChange>,
    /// New nodes, whose ids are in no file.
    ids: HashTrieMapSync<ExternalId, VertexId>,
    names: VectorSync<ExternalId>,
    /// Changed records by source and type.
    records: RedBlackTreeMapSync<(VertexId, u64), Fragment>,
    /// Time and stamp of every new edge, by destination, source, type and number.
    ends: RedBlackTreeMapSync<(VertexId, VertexId, u64, u64), (i64, u64)>,
    stamp: u64,
    /// Larger than the number of every edge.
    pub(super) next_edge: u64,
    /// Nodes and edges added, less those deleted.
    pub(super) more_nodes: i64,
    pub(super) more_edges: i64,
    node_values: Arc<ValueIndex<VertexId>>,
    edge_values: Arc<ValueIndex<NumberedEdge>>,
}

impl Default for LogStore {
    fn default() -> Self {
        LogStore {
            nodes: HashTrieMapSync::new_sync_with_degree(BRANCHES),
            ids: HashTrieMapSync::new_sync_with_degree(BRANCHES),
            names: VectorSync::new_sync(),
            records: RedBlackTreeMapSync::new_sync(),
            ends: RedBlackTreeMapSync::new_sync(),
            stamp: 0,
            next_edge: 1,
            more_nodes: 0,
            more_edges: 0,
            node_values: Arc::default(),
            edge_values: Arc::default(),
        }
    }
}

impl LogStore {
    pub(super) fn node(&self, v: VertexId) -> Option<&NodeChange> {
        self.nodes.get(&v)
    }

    pub(super) fn set_node(&mut self, v: VertexId, change: NodeChange) {
        // What the node had before is in the index.
        let before = self.nodes.get(&v).and_then(|before| before.values.as_deref());
        let mut known = RowValues(before.unwrap_or_default()).peekable();
        for (property, value) in change.values.iter().flat_map(|values| RowValues(values)) {
            while known.next_if(|(other, _)| *other < property).is_some() {}
            if known.peek() != Some(&(property, value)) {
                self.node_values.insert(property, value, v);
            }
        }
        self.nodes.insert_mut(v, change);
    }

    /// The nodes that have changed.
    pub(super) fn changed_nodes(&self) -> impl Iterator<Item = (VertexId, &NodeChange)> {
        self.nodes.iter().map(|(v, change)| (*v, change))
    }

    /// The records that have changed, by source and type.
    pub(super) fn changed_records(&self) -> impl Iterator<Item = ((VertexId, u64), &Fragment)> {
        self.records.iter().map(|(of, fragment)| (*of, fragment))
    }

    /// Number of nodes whose ids are in no file.
    pub(super) fn new_ids(&self) -> usize {
        self.names.len()
    }

    pub(super) fn internal(&self, id: &ExternalId) -> Option<VertexId> {
        self.ids.get(id).copied()
    }

    /// The id of the `i`-th new node.
    pub(super) fn name(&self, i: usize) -> Option<&ExternalId> {
        self.names.get(i)
    }

    pub(super) fn add_id(&mut self, id: ExternalId, v: VertexId) {
        self.names.push_back_mut(id.clone());
        self.ids.insert_mut(id, v);
    }

    pub(super) fn record(&self, node: VertexId, ty: u64) -> Option<&Fragment> {
        // Most stores are read more often than they are changed.
        if self.records.is_empty() { None } else { self.records.get(&(node, ty)) }
    }

    /// The changed records of a node, by type.
    pub(super) fn records(&self, node: VertexId) -> impl Iterator<Item = (u64, &Fragment)> {
        let some =
            (!self.records.is_empty()).then(|| self.records.range((node, 0)..=(node, u64::MAX)));
        some.into_iter().flatten().map(|((_, ty), fragment)| (*ty, fragment))
    }

    /// Sources and types of the new edges that lead to `end`.
    pub(super) fn leading_to(&self, end: VertexId) -> impl Iterator<Item = (VertexId, u64)> {
        let range = (end, 0, 0, 0)..=(end, VertexId::MAX, u64::MAX, u64::MAX);
        self.ends.range(range).map(|((_, source, ty, _), _)| (*source, *ty))
    }

    pub(super) fn add_edge(&mut self, (key, number): NumberedEdge, time: i64, values: Arc<[u8]>) {
        for (property, value) in RowValues(&values) {
            self.edge_values.insert(property, value, (key, number));
        }
        let (source, ty, end) = key;
        let mut fragment = self.records.get(&(source, ty)).cloned().unwrap_or_default();
        fragment.edges.insert(LogEdge { time, stamp: self.stamp, end, number, values });
        self.records.insert_mut((source, ty), fragment);
        self.ends.insert_mut((end, source, ty, number), (time, self.stamp));
        self.stamp += 1;
    }

    /// A new edge.
    pub(super) fn edge(&self, ((source, ty, end), number): NumberedEdge) -> Option<&LogEdge> {
        let (time, stamp) = self.ends.get(&(end, source, ty, number))?;
        self.records.get(&(source, ty))?.edges.find(*time, *stamp)
    }

    /// The numbers of the new edges of a source, type and destination, ascending.
    pub(super) fn numbers(&self, (source, ty, end): EdgeKey) -> impl Iterator<Item = u64> {
        // Most stores are read more often than they are changed.
        let range = (end, source, ty, 0)..=(end, source, ty, u64::MAX);
        let some = (!self.ends.is_empty()).then(|| self.ends.range(range));
        some.into_iter().flatten().map(|((.., number), _)| *number)
    }

    /// Removes a new edge.
    pub(super) fn remove_edge(&mut self, edge: NumberedEdge) -> Option<LogEdge> {
        let ((source, ty, end), number) = edge;
        let (time, stamp) = self.ends.get(&(end, source, ty, number)).copied()?;
        self.ends.remove_mut(&(end, source, ty, number));
        let mut fragment = self.records.get(&(source, ty))?.clone();
        let edge = fragment.edges.remove(time, stamp);
        self.records.insert_mut((source, ty), fragment);
        edge
    }

    /// Deletes rows of the file from a record; none of them is deleted yet.
    pub(super) fn hide(&mut self, source: VertexId, ty: u64, rows: &[u64]) {
        let mut fragment = self.records.get(&(source, ty)).cloned().unwrap_or_default();
        let hidden = Arc::make_mut(&mut fragment.hidden);
        hidden.extend_from_slice(rows);
        hidden.sort_unstable();
        self.records.insert_mut((source, ty), fragment);
    }

    /// Removes all changed records of a node, with their new edges.
    pub(super) fn remove_records(&mut self, node: VertexId) {
        let found: Vec<(u64, Vec<(VertexId, u64)>)> = self
            .records(node)
            .map(|(ty, fragment)| {
                (ty, fragment.edges.iter().map(|edge| (edge.end, edge.number)).collect())
            })
            .collect();
        for (ty, ends) in found {
            self.records.remove_mut(&(node, ty));
            for (end, number) in ends {
                self.ends.remove_mut(&(end, node, ty, number));
            }
        }
    }

    /// Changed nodes that may meet all conditions; others may be among them.
    pub(super) fn candidates(&self, wanted: &[(u32, Predicate)]) -> BTreeSet<VertexId> {
        let some = self.node_values.candidates(wanted);
        some.unwrap_or_else(|| self.nodes.keys().copied().collect())
    }

    /// New edges that may meet all conditions; others may be among them.
    pub(super) fn edge_candidates(&self, wanted: &[(u32, Predicate)]) -> BTreeSet<NumberedEdge> {
        let some = self.edge_values.candidates(wanted);
        let all = self.ends.keys();
        some.unwrap_or_else(|| {
            all.map(|(end, source, ty, number)| ((*source, *ty, *end), *number)).collect()
        })
    }
}

impl Fragment {
    /// Number of deleted rows below `row`.
    pub(super) fn hidden_below(&self, row: u64) -> u64 {
        self.hidden.partition_point(|hidden| *hidden < row) as u64
    }

    pub(super) fn hides(&self, row: u64) -> bool {
        self.hidden.binary_search(&row).is_ok()
    }

    /// The `i`-th row from `start` on that is not deleted.
    pub(super) fn visible(&self, start: u64, i: u64) -> u64 {
        let (mut low, mut high) = (0, self.hidden.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let row = self.hidden.get(middle).copied().unwrap_or(u64::MAX);
            // Rows before a deleted one that are not deleted.
            if row - start - middle as u64 <= i { low = middle + 1 } else { high = middle }
        }
        start + i + low as u64
    }
}

/// Partitions of a [`ValueIndex`], each with a lock.
const PARTS: usize = 16;

/// Index from values to everything that ever had them. All copies of a [`LogStore`] share the
/// index, and each compares the candidates with its own state.
#[derive(Debug)]
struct ValueIndex<K> {
    state: RandomState,
    parts: [Mutex<HashMap<u64, BTreeSet<K>>>; PARTS],
}

impl<K> Default for ValueIndex<K> {
    fn default() -> Self {
        Self { state: RandomState::new(), parts: Default::default() }
    }
}

impl<K: Ord + Copy> ValueIndex<K> {
    fn insert(&self, property: u32, value: &[u8], key: K) {
        self.with(property, value, |keys, hash| {
            keys.entry(hash).or_default().insert(key);
        });
        // The items of a list are indexed as well. Bytes that are no list give keys that no query
        // asks for.
        for item in value::items(value) {
            self.with(property, item, |keys, hash| {
                keys.entry(hash).or_default().insert(key);
            });
        }
    }

    /// Keys that may meet all conditions; `None` if none of them is an equality, because only those have
    /// an index.
    fn candidates(&self, wanted: &[(u32, Predicate)]) -> Option<BTreeSet<K>> {
        let known = wanted.iter().filter_map(|(property, wanted)| match wanted {
            Predicate::Equal(value) | Predicate::Item(value) => Some((*property, value)),
            _ => None,
        });
        let keys = known.map(|(property, value)| {
            self.with(property, value, |keys, hash| keys.get(&hash).cloned().unwrap_or_default())
        });
        keys.reduce(|a, b| a.intersection(&b).copied().collect())
    }

    fn with<T>(
        &self,
        property: u32,
        value: &[u8],
        f: impl FnOnce(&mut HashMap<u64, BTreeSet<K>>, u64) -> T,
    ) -> T {
        let hash = self.state.hash_one((property, value));
        let part = self.parts.get(hash as usize % PARTS).unwrap_or(&self.parts[0]);
        f(&mut part.lock().unwrap_or_else(PoisonError::into_inner), hash)
    }
}
