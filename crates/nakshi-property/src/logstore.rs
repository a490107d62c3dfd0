//! The newest changes of a graph: ZipG's LogStore (section 3.5). When it is full it is frozen, and
//! becomes a fragment on disk.
//!
//! A log store is persistent: a copy costs little and shares everything that has not changed since.
//! Readers therefore keep the state of a commit while later commits are made.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use rpds::{HashTrieMapSync, RedBlackTreeMapSync, VectorSync};

use super::condition::Predicate;
use super::row::{REMOVED, RowValues, SharedBytes};
use super::timeline::{LogEdge, Timeline};
use super::value;
use super::vertex_map::VertexMap;
use nakshi_store::{ExternalId, Result, VertexId};

/// State of a node that has changed.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeChange {
    /// Its properties, encoded as [`RowValues`], with those that were taken away marked by
    /// [`REMOVED`](super::row::REMOVED); `None` if the node is deleted.
    pub(super) values: Option<SharedBytes>,
    /// True if the node has no other properties: older layers do not count.
    pub(super) whole: bool,
    /// True if the edges that the node has in older layers are deleted.
    pub(super) cut: bool,
}

/// Changes that a layer makes to an edge record.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordChange {
    /// Deleted edges of older layers: the layer, and their positions in its record, ascending.
    hidden: Vec<(LayerId, Arc<Vec<u64>>)>,
    /// New edges.
    pub(super) edges: Timeline,
}

/// Number of a layer of a graph: 0 for the files of the last compaction, and then in the order in which
/// the layers were frozen or merged.
pub(super) type LayerId = u64;

/// Source, type and destination of an edge.
pub(super) type EdgeKey = (VertexId, u64, VertexId);

/// An edge, and its number.
pub(super) type NumberedEdge = (EdgeKey, u64);

/// Branches of a node of the map of ids. A change copies one node of each level, with a reference count
/// for each branch; with the usual 64 branches that took half of the time of a commit.
const BRANCHES: u8 = 8;

/// Bytes of memory that a changed node, a new id and a new edge take, without their values: estimates, with
/// which the peaks of `docs/results/sustained.md` stay within the cap.
const PER_NODE: u64 = 240;
const PER_ID: u64 = 200;
const PER_EDGE: u64 = 420;
/// Bytes of memory that a value takes in the index of values, and a deleted edge of an older layer.
const PER_VALUE: u64 = 110;
const PER_HIDDEN: u64 = 60;

/// All changes since the log was last frozen.
#[derive(Clone, Debug)]
pub(super) struct LogStore {
    nodes: VertexMap<NodeChange>,
    /// New nodes, whose ids are in no older layer.
    ids: HashTrieMapSync<ExternalId, VertexId>,
    names: VectorSync<ExternalId>,
    /// Changed records by source and type.
    records: RedBlackTreeMapSync<(VertexId, u64), RecordChange>,
    /// Time and stamp of every new edge, by destination, source, type and number.
    ends: RedBlackTreeMapSync<(VertexId, VertexId, u64, u64), (i64, u64)>,
    stamp: u64,
    /// Larger than the number of every edge.
    pub(super) next_edge: u64,
    /// Nodes and edges added since the last compaction, less those deleted.
    pub(super) more_nodes: i64,
    pub(super) more_edges: i64,
    /// Number of ids in the fragments before.
    named: u64,
    /// Estimated bytes of memory.
    weight: u64,
    node_values: Arc<ValueIndex<VertexId>>,
    edge_values: Arc<ValueIndex<NumberedEdge>>,
}

impl Default for LogStore {
    fn default() -> Self {
        LogStore {
            nodes: VertexMap::default(),
            ids: HashTrieMapSync::new_sync_with_degree(BRANCHES),
            names: VectorSync::new_sync(),
            records: RedBlackTreeMapSync::new_sync(),
            ends: RedBlackTreeMapSync::new_sync(),
            stamp: 0,
            next_edge: 1,
            more_nodes: 0,
            more_edges: 0,
            named: 0,
            weight: 0,
            node_values: Arc::default(),
            edge_values: Arc::default(),
        }
    }
}

impl LogStore {
    /// An empty log behind layers with `named` new ids.
    pub(super) fn behind(
        named: u64,
        next_edge: u64,
        (more_nodes, more_edges): (i64, i64),
    ) -> LogStore {
        let next_edge = next_edge.max(1);
        LogStore { named, next_edge, more_nodes, more_edges, ..LogStore::default() }
    }

    /// The empty log that follows when this one is frozen.
    pub(super) fn next(&self) -> LogStore {
        let named = self.named + self.names.len() as u64;
        let counts = (self.more_nodes, self.more_edges);
        LogStore { stamp: self.stamp, ..LogStore::behind(named, self.next_edge, counts) }
    }

    /// Returns true if nothing has changed.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.records.is_empty()
    }

    /// Estimated bytes of memory.
    pub(super) fn weight(&self) -> u64 {
        self.weight
    }

    /// Number of new ids in this log and the layers before.
    pub(super) fn named(&self) -> u64 {
        self.named + self.names.len() as u64
    }

    /// Number of new ids in the layers before.
    pub(super) fn named_before(&self) -> u64 {
        self.named
    }

    #[inline]
    pub(super) fn node(&self, v: VertexId) -> Option<&NodeChange> {
        // Most stores are read more often than they are changed.
        if self.nodes.is_empty() { None } else { self.nodes.get(v) }
    }

    /// Changes a node. `is_list` tells properties with lists, whose items are indexed, too.
    pub(super) fn set_node(
        &mut self,
        v: VertexId,
        change: NodeChange,
        is_list: impl Fn(u32) -> bool,
    ) {
        let before = self.nodes.insert(v, change.clone());
        // What the node had before is in the index.
        let row = before.as_ref().and_then(|before| before.values.as_deref());
        let mut known = RowValues(row.unwrap_or_default()).peekable();
        let mut added = 0;
        let new = change.values.iter().flat_map(|values| RowValues(values));
        for (property, value) in new.filter(|(property, _)| property & REMOVED == 0) {
            while known.next_if(|(other, _)| *other < property).is_some() {}
            if known.peek() != Some(&(property, value)) {
                self.node_values.insert((property, is_list(property)), value, v);
                added += PER_VALUE;
            }
        }
        let len = |change: &NodeChange| change.values.as_ref().map_or(0, |row| row.len() as u64);
        added += match &before {
            Some(before) => len(&change).saturating_sub(len(before)),
            None => PER_NODE + len(&change),
        };
        self.weight += added;
    }

    /// The nodes that have changed, ascending.
    pub(super) fn changed_nodes(&self) -> impl Iterator<Item = (VertexId, &NodeChange)> {
        self.nodes.iter()
    }

    /// The records that have changed, by source and type.
    pub(super) fn changed_records(&self) -> impl Iterator<Item = ((VertexId, u64), &RecordChange)> {
        self.records.iter().map(|(of, change)| (*of, change))
    }

    pub(super) fn internal(&self, id: &ExternalId) -> Option<VertexId> {
        self.ids.get(id).copied()
    }

    /// The id of the `i`-th new node, counted from the last compaction on.
    pub(super) fn name(&self, i: u64) -> Option<&ExternalId> {
        self.names.get(usize::try_from(i.checked_sub(self.named)?).ok()?)
    }

    /// The ids of the new nodes, by their numbers.
    pub(super) fn names(&self) -> impl Iterator<Item = &ExternalId> {
        self.names.iter()
    }

    pub(super) fn add_id(&mut self, id: ExternalId, v: VertexId) {
        let len = match &id {
            ExternalId::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        };
        self.weight += PER_ID + 2 * len;
        self.names.push_back_mut(id.clone());
        self.ids.insert_mut(id, v);
    }

    #[inline]
    pub(super) fn record(&self, node: VertexId, ty: u64) -> Option<&RecordChange> {
        if self.records.is_empty() { None } else { self.records.get(&(node, ty)) }
    }

    /// The changed records of a node, by type.
    pub(super) fn records(&self, node: VertexId) -> impl Iterator<Item = (u64, &RecordChange)> {
        let some =
            (!self.records.is_empty()).then(|| self.records.range((node, 0)..=(node, u64::MAX)));
        some.into_iter().flatten().map(|((_, ty), change)| (*ty, change))
    }

    /// Sources and types of the new edges that lead to `end`.
    pub(super) fn leading_to(&self, end: VertexId) -> impl Iterator<Item = (VertexId, u64)> {
        let range = (end, 0, 0, 0)..=(end, VertexId::MAX, u64::MAX, u64::MAX);
        self.ends.range(range).map(|((_, source, ty, _), _)| (*source, *ty))
    }

    /// Adds an edge. `is_list` is as for [`LogStore::set_node`].
    pub(super) fn add_edge(
        &mut self,
        (key, number): NumberedEdge,
        time: i64,
        values: Arc<[u8]>,
        is_list: impl Fn(u32) -> bool,
    ) {
        self.weight += PER_EDGE + values.len() as u64;
        for (property, value) in RowValues(&values) {
            self.edge_values.insert((property, is_list(property)), value, (key, number));
            self.weight += PER_VALUE;
        }
        let (source, ty, end) = key;
        let mut change = self.records.get(&(source, ty)).cloned().unwrap_or_default();
        change.edges.insert(LogEdge { time, stamp: self.stamp, end, number, values });
        self.records.insert_mut((source, ty), change);
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
        let mut change = self.records.get(&(source, ty))?.clone();
        let edge = change.edges.remove(time, stamp);
        self.records.insert_mut((source, ty), change);
        edge
    }

    /// Position of a new edge in its record.
    pub(super) fn position(&self, ((source, ty, end), number): NumberedEdge) -> Option<u64> {
        let (time, stamp) = self.ends.get(&(end, source, ty, number))?;
        self.records.get(&(source, ty))?.edges.position(*time, *stamp)
    }

    /// Deletes an edge of an older layer, given by its position in the record there; it is not deleted
    /// yet.
    pub(super) fn hide(&mut self, source: VertexId, ty: u64, layer: LayerId, position: u64) {
        self.weight += PER_HIDDEN;
        let mut change = self.records.get(&(source, ty)).cloned().unwrap_or_default();
        match change.hidden.iter_mut().find(|(of, _)| *of == layer) {
            None => change.hidden.push((layer, Arc::new(vec![position]))),
            Some((_, hidden)) => {
                let hidden = Arc::make_mut(hidden);
                let at = hidden.partition_point(|other| *other < position);
                hidden.insert(at, position);
            }
        }
        self.records.insert_mut((source, ty), change);
    }

    /// Replaces the deletions of edges of a layer by those of edges of another: `moved` has, for the
    /// position of an edge in its record, the position in the record of the other layer.
    ///
    /// # Errors
    /// Those of `moved`.
    pub(super) fn move_hidden(
        &mut self,
        layers: &[LayerId],
        to: LayerId,
        mut moved: impl FnMut(LayerId, VertexId, u64, u64) -> Result<Option<u64>>,
    ) -> Result<()> {
        let of = |change: &RecordChange| change.hidden.iter().any(|(id, _)| layers.contains(id));
        let some: Vec<(VertexId, u64)> =
            self.records.iter().filter(|(_, change)| of(change)).map(|(key, _)| *key).collect();
        for (source, ty) in some {
            let Some(mut change) = self.records.get(&(source, ty)).cloned() else { continue };
            let (mut kept, mut new) = (Vec::new(), Vec::new());
            for (id, hidden) in change.hidden {
                if !layers.contains(&id) {
                    kept.push((id, hidden));
                    continue;
                }
                for position in hidden.iter() {
                    new.extend(moved(id, source, ty, *position)?);
                }
            }
            if !new.is_empty() {
                new.sort_unstable();
                kept.push((to, Arc::new(new)));
            }
            change.hidden = kept;
            self.records.insert_mut((source, ty), change);
        }
        Ok(())
    }

    /// Removes all changed records of a node, with their new edges.
    pub(super) fn remove_records(&mut self, node: VertexId) {
        let found: Vec<(u64, Vec<(VertexId, u64)>)> = self
            .records(node)
            .map(|(ty, change)| {
                (ty, change.edges.iter().map(|edge| (edge.end, edge.number)).collect())
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
        some.unwrap_or_else(|| self.nodes.iter().map(|(v, _)| v).collect())
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

impl RecordChange {
    /// Positions of deleted edges in the record of an older layer, ascending.
    pub(super) fn hidden(&self, layer: LayerId) -> Option<&Arc<Vec<u64>>> {
        self.hidden.iter().find(|(of, _)| *of == layer).map(|(_, hidden)| hidden)
    }

    /// All deletions of edges in older layers.
    pub(super) fn all_hidden(&self) -> &[(LayerId, Arc<Vec<u64>>)] {
        &self.hidden
    }
}

/// Partitions of a [`ValueIndex`], each with a lock.
const PARTS: usize = 16;

/// Index from values to everything that ever had them. All copies of a [`LogStore`] share the
/// index, and each compares the candidates with its own state.
#[derive(Debug)]
struct ValueIndex<K> {
    state: RandomState,
    parts: [Mutex<HashMap<u64, ValueKeys<K>>>; PARTS],
}

/// The keys that had a value. Most values have one, for which a set would allocate room for eleven.
#[derive(Clone, Debug)]
enum ValueKeys<K> {
    One(K),
    Many(BTreeSet<K>),
}

impl<K: Ord + Copy> ValueKeys<K> {
    fn insert(&mut self, key: K) {
        match self {
            ValueKeys::One(one) if *one == key => {}
            ValueKeys::One(one) => *self = ValueKeys::Many(BTreeSet::from([*one, key])),
            ValueKeys::Many(keys) => {
                keys.insert(key);
            }
        }
    }

    fn to_set(&self) -> BTreeSet<K> {
        match self {
            ValueKeys::One(one) => BTreeSet::from([*one]),
            ValueKeys::Many(keys) => keys.clone(),
        }
    }
}

impl<K> Default for ValueIndex<K> {
    fn default() -> Self {
        Self { state: RandomState::new(), parts: Default::default() }
    }
}

impl<K: Ord + Copy> ValueIndex<K> {
    fn insert(&self, (property, is_list): (u32, bool), value: &[u8], key: K) {
        let add = |keys: &mut HashMap<u64, ValueKeys<K>>, hash| match keys.entry(hash) {
            Entry::Vacant(free) => {
                free.insert(ValueKeys::One(key));
            }
            Entry::Occupied(mut known) => known.get_mut().insert(key),
        };
        self.with(property, value, add);
        // The bytes of a number can be read as a list of some items, too.
        if is_list {
            value::items(value).for_each(|item| self.with(property, item, add));
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
            self.with(property, value, |keys, hash| {
                keys.get(&hash).map(ValueKeys::to_set).unwrap_or_default()
            })
        });
        keys.reduce(|a, b| a.intersection(&b).copied().collect())
    }

    fn with<T>(
        &self,
        property: u32,
        value: &[u8],
        f: impl FnOnce(&mut HashMap<u64, ValueKeys<K>>, u64) -> T,
    ) -> T {
        let hash = self.state.hash_one((property, value));
        let part = self.parts.get(hash as usize % PARTS).unwrap_or(&self.parts[0]);
        f(&mut part.lock().unwrap_or_else(PoisonError::into_inner), hash)
    }
}
