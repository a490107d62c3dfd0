//! Queries of ZipG (Table 1) on nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{CancelToken, IoSnapshot, IoStats};

use super::base::{Base, entry_of};
use super::bucket_set::BucketSet;
use super::condition::{Condition, Predicate};
use super::conflict::Subject;
use super::layers::LayerChanges;
use super::moved_buckets::MovedBuckets;
use super::nearest::unknown;
use super::query_order::{QueryOrder, ValueCounts};
use super::replay::replay;
use super::rule::Rule;
use super::schema::Properties;
use super::segment::{RowRef, SegmentRows};
use super::spec::LABELS;
use super::state::GraphState;
use super::value::{PropertyType, Scalar, Value};
use super::{PropertyEntry, PropertySpec, scratch};
use nakshi_store::sort::Spill;
use nakshi_store::{Error, ExternalId, Result, Store, VertexId};

/// Nodes whose labels are looked through for one that is like a mistyped label.
const LABELLED: u64 = 1 << 17;

/// A property graph in the state after one commit; later commits do not change it. Its files are in
/// memory as they are on disk, compressed, or stay on disk behind a cache. The changes since the
/// files were written are in memory.
///
/// Queries take `&self` and may run on any number of threads. A clone is cheap.
#[derive(Clone)]
pub struct PropertyGraph(Arc<GraphState>);

impl std::fmt::Debug for PropertyGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PropertyGraph").field("path", &self.0.base.path()).finish_non_exhaustive()
    }
}

/// Destination, time and properties of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeData<'g> {
    /// Id of the destination.
    pub destination: ExternalId,
    /// Time, in the unit of the import: milliseconds for dates.
    pub timestamp: i64,
    /// Properties that are not null, by name.
    pub properties: Vec<(&'g str, Value)>,
}

impl PropertyGraph {
    /// Opens the property files of a store, and reads its log up to the last commit. If `memory`
    /// has room for the files, or is `None`, they are read into memory and then closed. Otherwise
    /// they stay on disk, behind a cache of the remaining memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Budget`] if `memory` is less
    /// than the bytes that have to be in memory, such as ids and offsets; errors of reading, one of
    /// kind `NotFound` if a compaction has replaced the files since the store was opened.
    pub fn open(store: &Arc<Store>, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        Self::with_log(store, Base::open(store, memory, cancel)?, cancel)
    }

    /// As [`PropertyGraph::open`]; `stats` counts the reads, or traces them.
    ///
    /// # Errors
    /// As [`PropertyGraph::open`].
    pub fn open_counted(
        store: &Arc<Store>,
        memory: Option<u64>,
        stats: &Arc<IoStats>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        Self::with_log(store, Base::open_counted(store, memory, stats, cancel)?, cancel)
    }

    /// Counters of the reads since the files were opened; all zero if they are in memory.
    pub fn io(&self) -> IoSnapshot {
        self.0.base.io().snapshot()
    }

    /// Empties the cache of files on disk, so that the next reads go to the disk.
    pub fn clear_cache(&self) {
        self.0.base.clear_cache();
    }

    /// The store of the files, for its edge lists. A forked child opens it anew.
    ///
    /// # Errors
    /// Those of opening.
    pub fn store(&self) -> Result<Arc<Store>> {
        self.0.base.store()
    }

    /// A file for temporary data, beside the store if that can be.
    ///
    /// # Errors
    /// Those of creating it.
    pub fn spill(&self) -> Result<Spill> {
        scratch::spill(self.0.base.path())
    }

    /// Returns true for the state of a transaction, which may have changes that no commit has.
    pub fn is_of_transaction(&self) -> bool {
        self.0.reads.is_some()
    }

    /// Applies the log of a store to its files.
    pub(crate) fn with_log(store: &Arc<Store>, base: Base, cancel: &CancelToken) -> Result<Self> {
        let entry = entry_of(store)?;
        let state = GraphState::of_fragments(Arc::new(base), &entry, store, None, cancel)?;
        let (state, _) = replay(store, state, cancel)?;
        Ok(PropertyGraph::of(state))
    }

    /// Reads all fragments, and hands `problem` a line for each fault.
    pub(crate) fn verify_fragments(
        &self,
        cancel: &CancelToken,
        problem: &mut dyn FnMut(String),
    ) -> Result<()> {
        for layer in self.0.layers.iter() {
            if let LayerChanges::Fragment(fragment, _) = &layer.changes {
                fragment.verify(self.0.numbered(), cancel, problem)?;
            }
        }
        Ok(())
    }

    pub(super) fn of(state: GraphState) -> Self {
        PropertyGraph(Arc::new(state))
    }

    pub(super) fn state(&self) -> &GraphState {
        &self.0
    }

    /// The state to change, which is copied first if anybody else holds it.
    pub(super) fn state_mut(&mut self) -> &mut GraphState {
        Arc::make_mut(&mut self.0)
    }

    /// The same state, in which searches find only nodes of some buckets, and edges from them.
    #[must_use]
    pub fn within(&self, buckets: BucketSet) -> Self {
        let within = Some(Arc::new(buckets));
        PropertyGraph::of(GraphState { within, ..self.state().clone() })
    }

    /// The property section of the manifest at the last compaction.
    pub fn entry(&self) -> &PropertyEntry {
        self.0.base.entry()
    }

    /// Bytes of memory that the files and fragments take, without the newest changes.
    pub fn memory(&self) -> u64 {
        let fragments = self.0.layers.iter().filter_map(|layer| match &layer.changes {
            LayerChanges::Fragment(fragment, _) => Some(fragment.memory()),
            LayerChanges::Log(_) => None,
        });
        self.0.base.memory() + fragments.sum::<u64>()
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> u64 {
        self.0.num_nodes()
    }

    /// Number of edges.
    pub fn num_edges(&self) -> u64 {
        self.0.num_edges()
    }

    /// Number of the commit, counted from the import on.
    pub fn commit(&self) -> u64 {
        self.0.commit
    }

    /// Names and types of the properties of nodes.
    pub fn node_properties(&self) -> Vec<&PropertySpec> {
        self.0.schema.nodes.visible().collect()
    }

    /// Names and types of the properties of edges.
    pub fn edge_properties(&self) -> Vec<&PropertySpec> {
        self.0.schema.edges.visible().collect()
    }

    /// Types of edges.
    pub fn edge_types(&self) -> &[String] {
        self.0.schema.types()
    }

    /// Buckets that are in other shares than the list of servers says.
    pub fn moved_buckets(&self) -> &MovedBuckets {
        &self.0.schema.moved
    }

    /// Constraints and indexes, in the order in which they were declared.
    pub fn rules(&self) -> &[Rule] {
        self.0.schema.rules()
    }

    /// Returns true if there is a node with this id.
    ///
    /// # Errors
    /// [`Error::BadList`] for a damaged dictionary.
    pub fn has_node(&self, id: &ExternalId) -> Result<bool> {
        Ok(self.0.find(id)?.is_some())
    }

    /// The internal id of a node; `None` if there is no such node.
    pub(super) fn internal(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        self.0.find(id)
    }

    pub(super) fn node_row(&self, v: VertexId) -> Result<Option<RowRef<'_>>> {
        self.0.note(Subject::Properties(v));
        self.stored_row(v)
    }

    /// As [`PropertyGraph::node_row`], for a search that is noted as a whole.
    fn stored_row(&self, v: VertexId) -> Result<Option<RowRef<'_>>> {
        self.0.row(v)
    }

    /// The values of some properties of a node, null where it has none; all that it has if `names`
    /// is `None`.
    ///
    /// # Errors
    /// [`Error::NoNode`]; [`Error::Invalid`] for an unknown property; damage.
    pub fn get_node_property(
        &self,
        id: &ExternalId,
        names: Option<&[&str]>,
    ) -> Result<Vec<(&str, Value)>> {
        let row = self.node_row(self.0.node(id)?)?;
        self.values(&row.ok_or_else(|| self.0.base.no_node(id))?, &self.0.schema.nodes, names)
    }

    /// The values of properties of many nodes, for each as by [`PropertyGraph::get_node_property`].
    /// Blocks that lie close together on disk are read at once.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_property`].
    pub fn get_node_properties(
        &self,
        ids: &[ExternalId],
        names: Option<&[&str]>,
    ) -> Result<Vec<Vec<(&str, Value)>>> {
        let known = &self.0.schema.nodes;
        let mut found: Vec<Vec<_>> = ids.iter().map(|_| Vec::new()).collect();
        let mut blocks = BTreeMap::<usize, (Vec<usize>, Vec<u64>)>::new();
        let dealing = self.0.base.dealing();
        for ((i, id), found) in ids.iter().enumerate().zip(&mut found) {
            let v = self.0.node(id)?;
            match self.node_row(v)?.ok_or_else(|| self.0.base.no_node(id))? {
                RowRef::File(SegmentRows::Blocks(_), row) => {
                    let (places, rows) = blocks.entry(dealing.shard(v)).or_default();
                    places.push(i);
                    rows.push(row);
                }
                row => *found = self.values(&row, known, names)?,
            }
        }
        for (shard, (places, rows)) in blocks {
            let nodes = self.0.base.shards().get(shard).map(|shard| &shard.nodes);
            let Some(SegmentRows::Blocks(nodes)) = nodes else { continue };
            nodes.each_of(&rows, |number, values| {
                if let Some(found) = places.get(number).and_then(|place| found.get_mut(*place)) {
                    *found = self.values(&RowRef::Log(values.0), known, names)?;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// The bytes `part` of a node's string or bytes, as far as the value goes; `None` if it is
    /// null. In [`PropertyLayout::Blocks`] the rest of a long value is not read.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_property`]; [`Error::Invalid`] for a property of another type.
    ///
    /// [`PropertyLayout::Blocks`]: super::PropertyLayout::Blocks
    pub fn read_node_property(
        &self,
        id: &ExternalId,
        name: &str,
        part: Range<u64>,
    ) -> Result<Option<Vec<u8>>> {
        let (property, spec) = self.0.schema.nodes.find(name)?;
        if spec.ty.list || !matches!(spec.ty.scalar, Scalar::String | Scalar::Bytes) {
            return Err(Error::Invalid(format!(
                "'{name}' is {}, and only strings and bytes can be read in part",
                spec.ty
            )));
        }
        let row = self.node_row(self.0.node(id)?)?.ok_or_else(|| self.0.base.no_node(id))?;
        if let RowRef::File(SegmentRows::Blocks(blocks), row) = row {
            return blocks.part(row, property, part);
        }
        let mut value = Vec::new();
        let there = row.get(property, &mut value)?;
        let at = |offset: u64| (offset as usize).min(value.len());
        let part = value.get(at(part.start)..at(part.end)).unwrap_or_default();
        Ok(there.then(|| part.to_vec()))
    }

    /// All properties of a node; none if it is deleted.
    pub(super) fn node_values(&self, v: VertexId) -> Result<Vec<(&str, Value)>> {
        match self.node_row(v)? {
            Some(row) => self.values(&row, &self.0.schema.nodes, None),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn values<'g>(
        &'g self,
        row: &RowRef<'_>,
        known: &'g Properties,
        names: Option<&[&str]>,
    ) -> Result<Vec<(&'g str, Value)>> {
        let specs = known.specs();
        let mut found = Vec::with_capacity(names.map_or(specs.len(), <[&str]>::len));
        let Some(names) = names else {
            row.each(|property, bytes| {
                if let Some(spec) = known.get(property).filter(|spec| !spec.is_hidden()) {
                    found.push((spec.name.as_str(), self.decode(spec.ty, bytes)?));
                }
                Ok(())
            })?;
            return Ok(found);
        };
        let mut bytes = Vec::new();
        for name in names {
            let (property, spec) = known.find(name)?;
            bytes.clear();
            let value = match row.get(property, &mut bytes)? {
                true => self.decode(spec.ty, &bytes)?,
                false => Value::Null,
            };
            found.push((spec.name.as_str(), value));
        }
        Ok(found)
    }

    fn decode(&self, ty: PropertyType, bytes: &[u8]) -> Result<Value> {
        Value::decode(ty, bytes).ok_or_else(|| Error::Corrupt {
            file: self.0.base.path().to_path_buf(),
            page: 0,
            what: format!("a value is no {ty}"),
        })
    }

    /// Nodes that meet all conditions, ascending by internal id; all nodes if there is no
    /// condition.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, a value of another type, or substrings of a type
    /// that is no text; damage.
    pub fn get_node_ids(&self, properties: &[(&str, Condition)]) -> Result<Vec<ExternalId>> {
        self.find_nodes(properties, &QueryOrder::default())
    }

    /// Nodes that meet all conditions, as [`PropertyGraph::get_node_ids`], in another order or only
    /// the first of them.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`]; [`Error::Invalid`] for an order by a property of lists.
    pub fn find_nodes(
        &self,
        properties: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<ExternalId>> {
        self.ordered(self.matching(properties)?, order)
    }

    /// The ids of nodes, in an order of their own or only the first of them.
    pub(super) fn ordered(
        &self,
        mut found: Vec<u64>,
        order: &QueryOrder<'_>,
    ) -> Result<Vec<ExternalId>> {
        if let Some(name) = order.by {
            let property = self.0.schema.nodes.sortable(name)?;
            found = order.sort(found, |v| self.encoded(*v, property))?;
        }
        order.cut(&mut found);
        found.into_iter().map(|v| self.0.external(v)).collect()
    }

    /// Number of nodes that meet all conditions.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`].
    pub fn count_nodes(&self, properties: &[(&str, Condition)]) -> Result<u64> {
        Ok(self.matching(properties)?.len() as u64)
    }

    /// Counts of the nodes that meet all conditions, by the value of a property: the most frequent
    /// first, ties by value. Nodes without the property count as null, and a node with a list counts
    /// once for each item.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`].
    pub fn count_nodes_by(
        &self,
        properties: &[(&str, Condition)],
        by: &str,
    ) -> Result<Vec<(Value, u64)>> {
        let (property, spec) = self.0.schema.nodes.find(by)?;
        let mut counts = ValueCounts::new(spec.ty.list);
        for v in self.matching(properties)? {
            counts.add(self.encoded(v, property)?);
        }
        self.decoded(counts, spec)
    }

    /// Decodes the values of counts by a property.
    pub(super) fn decoded(
        &self,
        counts: ValueCounts,
        spec: &PropertySpec,
    ) -> Result<Vec<(Value, u64)>> {
        let of = PropertyType::of(spec.ty.scalar);
        let decode = |(value, count): (Option<Vec<u8>>, u64)| {
            Ok((value.map_or(Ok(Value::Null), |bytes| self.decode(of, &bytes))?, count))
        };
        counts.finish().into_iter().map(decode).collect()
    }

    /// The encoded value of a node's property.
    pub(super) fn encoded(&self, v: u64, property: u32) -> Result<Option<Vec<u8>>> {
        let v = u32::try_from(v).map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
        let mut bytes = Vec::new();
        Ok(self.read_encoded(v, property, &mut bytes)?.then_some(bytes))
    }

    /// Internal ids of the nodes that meet all conditions, ascending.
    fn matching(&self, properties: &[(&str, Condition)]) -> Result<Vec<u64>> {
        let wanted = self.0.schema.nodes.wanted(properties)?;
        let found = self.matching_known(&wanted)?;
        if found.is_empty() {
            self.refuse_unknown_labels(properties)?;
        }
        Ok(found)
    }

    /// As [`PropertyGraph::matching`], for conditions that are encoded.
    pub(super) fn matching_known(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        self.0.note_search(wanted);
        let state = &self.0;
        let mut found = match wanted.is_empty() {
            true => (0..state.filed()).collect(),
            false => self.find_in_files(wanted)?,
        };
        if !state.layers.is_empty() || !state.log.is_empty() {
            let changed = self.changed_candidates(wanted, &found)?;
            found.retain(|v| u32::try_from(*v).is_ok_and(|v| !state.is_changed(v)));
            for v in changed {
                if let Some(row) = self.stored_row(v)?
                    && row.has(wanted)?
                {
                    found.push(v.into());
                }
            }
        }
        state.confine(&mut found, |v| *v)?;
        // Stable, which merges the ascending nodes of shards.
        found.sort();
        Ok(found)
    }

    /// Changed nodes that may meet all conditions; others may be among them. `filed` are the nodes that meet
    /// them in the files. A layer has only some properties of a node, so that the layers are asked for one
    /// condition, and the nodes are compared with all of them afterwards.
    fn changed_candidates(
        &self,
        wanted: &[(u32, Predicate)],
        filed: &[u64],
    ) -> Result<BTreeSet<VertexId>> {
        let state = &self.0;
        // Most nodes share an item, such as a label, with more others than a value.
        let rank = |(_, one): &&(u32, Predicate)| match one {
            Predicate::Equal(_) => 0,
            Predicate::Item(_) => 1,
            _ => 2,
        };
        let some = wanted.iter().filter(|(_, one)| !one.fits(None)).min_by_key(rank);
        let Some(some) = some.map(std::slice::from_ref) else {
            return Ok(state.changed_nodes().into_iter().collect());
        };
        let by_one;
        let filed = match wanted.len() {
            1 => filed,
            _ => {
                by_one = self.find_in_files(some)?;
                &by_one
            }
        };
        let narrow = filed.iter().filter_map(|v| VertexId::try_from(*v).ok());
        let mut found: BTreeSet<_> = narrow.filter(|v| state.is_changed(*v)).collect();
        for layer in state.layers.iter() {
            found.extend(layer.candidates(some)?);
        }
        let new = state.log.candidates(some).into_iter();
        found.extend(new.filter(|v| state.log.node(*v).is_some()));
        Ok(found)
    }

    /// Returns true if a node has, or has had since the last compaction, a value that meets all conditions.
    fn knows(&self, wanted: &[(u32, Predicate)]) -> Result<bool> {
        if !self.find_in_files(wanted)?.is_empty() || !self.0.log.candidates(wanted).is_empty() {
            return Ok(true);
        }
        for layer in self.0.layers.iter() {
            if !layer.candidates(wanted)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if a label is asked for that no node has in the files or has had since they were written.
    ///
    /// # Errors
    /// [`Error::Invalid`], which suggests the nearest label; damage.
    pub(super) fn refuse_unknown_labels(&self, properties: &[(&str, Condition)]) -> Result<()> {
        // Other servers may have nodes with the label.
        let whole = self.entry().buckets.is_none();
        for one in properties.iter().filter(|(name, _)| whole && *name == LABELS) {
            let Condition::Is(Value::String(label)) = &one.1 else { continue };
            let wanted = self.0.schema.nodes.wanted(std::slice::from_ref(one))?;
            if !self.knows(&wanted)? {
                let known = self.labels()?;
                return Err(unknown("is no label", label, known.iter().map(String::as_str)));
            }
        }
        Ok(())
    }

    /// Labels of the first [`LABELLED`] nodes.
    fn labels(&self) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for v in 0..u32::try_from(self.0.numbered().min(LABELLED)).unwrap_or(u32::MAX) {
            let Some(row) = self.stored_row(v)? else { continue };
            for (_, value) in self.values(&row, &self.0.schema.nodes, Some(&[LABELS]))? {
                let Value::List(items) = value else { continue };
                found.extend(items.into_iter().filter_map(|item| match item {
                    Value::String(label) => Some(label),
                    _ => None,
                }));
            }
        }
        Ok(found)
    }

    fn find_in_files(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let base = &self.0.base;
        let cost = base.shards().iter().map(|shard| shard.nodes.search_cost(wanted));
        let cost = cost.sum::<Result<u64>>()?;
        let found = base.search(cost, |number, shard| {
            let mut rows = shard.nodes.find(wanted)?;
            base.name_nodes(number, &mut rows)?;
            Ok(rows)
        })?;
        Ok(found.concat())
    }

    pub(super) fn has(&self, v: VertexId, wanted: &[(u32, Predicate)]) -> Result<bool> {
        if wanted.is_empty() {
            return Ok(true);
        }
        let Some(row) = self.node_row(v)? else { return Ok(false) };
        row.has(wanted)
    }

    /// Parses a value of a node property; see [`Value::parse`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, or a text that is no value of its type.
    pub fn parse(&self, name: &str, text: &str) -> Result<Value> {
        self.0.schema.nodes.parse(name, text)
    }

    /// As [`PropertyGraph::parse`], of an edge property.
    ///
    /// # Errors
    /// As [`PropertyGraph::parse`].
    pub fn parse_of_edge(&self, name: &str, text: &str) -> Result<Value> {
        self.0.schema.edges.parse(name, text)
    }
}
