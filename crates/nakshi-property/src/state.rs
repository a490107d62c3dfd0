//! State of a graph after a commit: files, layers of changes, and the newest changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nakshi_io::CancelToken;

use super::base::{Base, Shard};
use super::bucket_set::BucketSet;
use super::condition::Predicate;
use super::conflict::{ReadSet, Subject};
use super::entry::{FragmentEntry, PropertyEntry};
use super::fragment::{Fragment, FragmentOpening};
use super::layers::{FILES, Layer, LayerChanges};
use super::logstore::{EdgeKey, LayerId, LogStore, NodeChange, RecordChange};
use super::parts::{EdgeLocation, PartPlace, RecordPart, RecordParts};
use super::row_set::RowSet;
use super::schema::Schema;
use super::segment::{RowRef, SegmentRows};
use nakshi_store::{Error, ExternalId, Result, Store, VertexId};

/// Files, names and changes of a graph. Copies share what has not changed.
#[derive(Clone, Debug)]
pub(super) struct GraphState {
    pub(super) base: Arc<Base>,
    pub(super) schema: Arc<Schema>,
    /// Rows of edges in the files that fragments delete, by shard.
    pub(super) deleted: Arc<Vec<Arc<RowSet>>>,
    /// The changes between the files and the log, oldest first.
    pub(super) layers: Arc<Vec<Layer>>,
    /// The newest changes.
    pub(super) log: LogStore,
    /// Number of the last commit.
    pub(super) commit: u64,
    /// Notes what is read, for a transaction.
    pub(super) reads: Option<Arc<ReadSet>>,
    /// The buckets to whose nodes, and edges from them, searches are confined.
    pub(super) within: Option<Arc<BucketSet>>,
}

impl GraphState {
    /// The state of the files of the last compaction.
    pub(super) fn of_files(base: Arc<Base>) -> Self {
        let schema = Arc::new(Schema::of(base.entry()));
        let commit = base.entry().commit;
        let log = LogStore::behind(0, base.entry().next_edge, (0, 0));
        let none = base.shards().iter().map(|_| Arc::default()).collect();
        let (deleted, layers) = (Arc::new(none), Arc::default());
        GraphState { base, schema, deleted, layers, log, commit, reads: None, within: None }
    }

    /// The state of the files and fragments of a manifest's section. Fragments that `known` has are not
    /// opened again.
    ///
    /// # Errors
    /// Damage; errors of reading; [`Error::Cancelled`].
    pub(super) fn of_fragments(
        base: Arc<Base>,
        entry: &PropertyEntry,
        store: &Store,
        known: Option<&GraphState>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let mut state = GraphState::of_files(base);
        state.schema = Arc::new(Schema::of(entry));
        let Some(stored) = &entry.fragments else { return Ok(state) };
        let mut fragments = Vec::new();
        for one in &stored.list {
            fragments.push(match known.and_then(|known| known.fragment(one)) {
                Some(open) => open,
                None => Arc::new(Fragment::open(one, state.opening(store, cancel))?),
            });
        }
        let mut named = 0;
        let mut layers = Vec::new();
        for (i, fragment) in fragments.iter().enumerate() {
            let newer = fragments.get(i + 1..).unwrap_or_default();
            let late = fragment.entry().late.as_ref().map(|file| late(store, file, cancel));
            let own = late.transpose()?.unwrap_or_default();
            let deleted = newer.iter().fold(own, |set, other| hide(set, other, fragment.id(), 0));
            named += fragment.named();
            let changes = LayerChanges::Fragment(Arc::clone(fragment), Arc::new(deleted));
            layers.push(Layer { id: fragment.id(), changes });
        }
        let of_shard = |shard: u32| {
            let none = RowSet::default();
            Arc::new(fragments.iter().fold(none, |set, other| hide(set, other, FILES, shard)))
        };
        state.deleted = Arc::new((0..state.base.shards().len() as u32).map(of_shard).collect());
        state.layers = Arc::new(layers);
        let counts = (stored.more_nodes, stored.more_edges);
        state.log = LogStore::behind(named, entry.next_edge, counts);
        state.commit = stored.commit;
        Ok(state)
    }

    /// How fragments are opened: in memory, or behind the cache of the files.
    pub(super) fn opening<'o>(
        &'o self,
        store: &'o Store,
        cancel: &'o CancelToken,
    ) -> FragmentOpening<'o> {
        let (cache, room) = (self.base.fragment_cache(), self.base.fragment_room());
        FragmentOpening { store, cache, room, stats: self.base.io_counters(), cancel }
    }

    /// The open fragment of an entry, if the state has it.
    fn fragment(&self, entry: &FragmentEntry) -> Option<Arc<Fragment>> {
        self.layers.iter().find_map(|layer| match &layer.changes {
            LayerChanges::Fragment(fragment, _) if fragment.entry() == entry => {
                Some(Arc::clone(fragment))
            }
            _ => None,
        })
    }

    /// Notes that something is read, if a transaction wants to know.
    #[inline]
    pub(super) fn note(&self, subject: Subject<'_>) {
        if let Some(reads) = &self.reads {
            reads.note(subject);
        }
    }

    /// Notes a search for the nodes that meet all conditions.
    pub(super) fn note_search(&self, wanted: &[(u32, Predicate)]) {
        if let Some(reads) = &self.reads {
            reads.note_search(wanted);
        }
    }

    /// Leaves those that a search is confined to, given the node of each.
    pub(super) fn confine<T>(&self, found: &mut Vec<T>, node: impl Fn(&T) -> u64) -> Result<()> {
        let Some(buckets) = &self.within else { return Ok(()) };
        let mut own = Vec::with_capacity(found.len());
        for one in found.drain(..) {
            if buckets.has(&self.external(node(&one))?) {
                own.push(one);
            }
        }
        *found = own;
        Ok(())
    }

    /// Number of nodes in files, including deleted ones.
    pub(super) fn filed(&self) -> u64 {
        self.base.entry().nodes
    }

    /// Number of all nodes, including deleted ones.
    pub(super) fn numbered(&self) -> u64 {
        self.filed() + self.log.named()
    }

    /// The number of an id, even if its node is deleted.
    pub(super) fn number(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        if let Some(v) = self.base.ids().internal(id)? {
            return Ok(Some(v));
        }
        if self.log.named() == 0 && self.reads.is_none() {
            return Ok(None);
        }
        let id = self.base.ids().canonical(id);
        let mut found = self.log.internal(&id);
        for layer in self.layers.iter().rev() {
            if found.is_some() {
                break;
            }
            found = layer.number(&id)?;
        }
        if found.is_none() {
            self.note(Subject::Id(&id));
        }
        Ok(found)
    }

    #[inline]
    pub(super) fn is_alive(&self, v: VertexId) -> bool {
        self.stays(v, self.log.node(v))
    }

    /// Returns true if a node is there, given its change in the log.
    #[inline]
    fn stays(&self, v: VertexId, change: Option<&NodeChange>) -> bool {
        match change {
            Some(change) => change.values.is_some(),
            None => self.layers.iter().rev().find_map(|layer| layer.alive(v)).unwrap_or(true),
        }
    }

    /// The number of a node and its change in the log; what has not changed is the default.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub(super) fn node_to_change(&self, id: &ExternalId) -> Result<(VertexId, NodeChange)> {
        let v = self.number(id)?.ok_or_else(|| self.base.no_node(id))?;
        let change = self.log.node(v);
        match self.stays(v, change) {
            true => Ok((v, change.cloned().unwrap_or_default())),
            false => Err(self.base.no_node(id)),
        }
    }

    /// The number of a node; `None` if there is no such node, or if it is deleted.
    pub(super) fn find(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        let found = self.number(id)?;
        found.iter().for_each(|v| self.note(Subject::Existence(*v)));
        Ok(found.filter(|v| self.is_alive(*v)))
    }

    /// As [`GraphState::find`], with an error in place of `None`.
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub(super) fn node(&self, id: &ExternalId) -> Result<VertexId> {
        self.find(id)?.ok_or_else(|| self.base.no_node(id))
    }

    pub(super) fn external(&self, v: u64) -> Result<ExternalId> {
        let wide = || Error::BadList("a vertex id does not fit 32 bits");
        let narrow = u32::try_from(v).map_err(|_| wide())?;
        let Some(i) = v.checked_sub(self.filed()) else {
            return self.base.ids().external(narrow);
        };
        if let Some(name) = self.log.name(i) {
            return Ok(name.clone());
        }
        for layer in self.layers.iter().rev() {
            let found = match &layer.changes {
                LayerChanges::Log(log) => log.name(i).cloned(),
                LayerChanges::Fragment(fragment, _) => fragment.name(narrow)?,
            };
            if let Some(name) = found {
                return Ok(name);
            }
        }
        Err(Error::BadList("an edge leads to a node that is not there"))
    }

    /// Returns true if the log or a layer changes a node.
    pub(super) fn is_changed(&self, v: VertexId) -> bool {
        self.log.node(v).is_some() || self.layers.iter().any(|layer| layer.alive(v).is_some())
    }

    /// Location of the properties of a node; `None` if the node is deleted.
    pub(super) fn row(&self, v: VertexId) -> Result<Option<RowRef<'_>>> {
        let change = self.log.node(v);
        if self.layers.is_empty() && change.is_none() {
            let (shard, row) = self.base.place(v)?;
            return Ok(Some(RowRef::File(&shard.nodes, row)));
        }
        let mut rows = Vec::new();
        let changed = change.map(|change| of_log(change, &mut rows));
        let mut done = changed;
        for layer in self.layers.iter().rev() {
            if done.is_some_and(|done| done) {
                break;
            }
            let whole = match &layer.changes {
                LayerChanges::Log(log) => log.node(v).map(|change| of_log(change, &mut rows)),
                LayerChanges::Fragment(fragment, _) => fragment.row(v).map(|row| {
                    let alive = fragment.alive(v) == Some(true);
                    rows.extend(alive.then(|| RowRef::File(fragment.rows(), row)));
                    !alive || fragment.is_whole(v)
                }),
            };
            done = whole.or(done);
        }
        if !done.is_some_and(|done| done) {
            let (shard, row) = self.base.place(v)?;
            rows.push(RowRef::File(&shard.nodes, row));
        }
        Ok(match rows.len() {
            0 | 1 => rows.pop(),
            _ => Some(RowRef::Layers(rows)),
        })
    }

    /// The number of the first layer whose edges of a node are not deleted by a newer one, and whether
    /// that holds for those of the files too.
    #[inline]
    pub(super) fn edges_from(&self, v: VertexId) -> (usize, bool) {
        if self.log.node(v).is_some_and(|change| change.cut) {
            return (self.layers.len(), false);
        }
        match self.layers.iter().rposition(|layer| layer.cuts(v)) {
            Some(layer) => (layer, false),
            None => (0, u64::from(v) < self.filed()),
        }
    }

    /// Returns true if the files have edges of a node that are not all deleted.
    pub(super) fn has_file_edges(&self, v: VertexId) -> bool {
        self.edges_from(v).1
    }

    /// The logs in memory behind the first `layers` layers, oldest first.
    fn logs_behind(&self, layers: usize) -> impl Iterator<Item = &LogStore> {
        let newer = self.layers.get(layers..).unwrap_or_default();
        let frozen = newer.iter().filter_map(|layer| match &layer.changes {
            LayerChanges::Log(log) => Some(log.as_ref()),
            LayerChanges::Fragment(..) => None,
        });
        frozen.chain(std::iter::once(&self.log))
    }

    /// Positions of the edges of a record in a layer that are deleted: rows of `deleted`, and what the
    /// logs behind the first `layers` layers delete.
    #[inline]
    fn hidden(
        &self,
        (layer, layers): (LayerId, usize),
        (v, ty): (VertexId, u64),
        deleted: Option<(&RowSet, &Range<u64>)>,
    ) -> Option<Arc<Vec<u64>>> {
        let stored = deleted.filter(|(set, _)| !set.is_empty());
        let mut all = stored.map(|(set, rows)| set.within(rows)).unwrap_or_default();
        let mut only = None;
        let records = self.logs_behind(layers).filter_map(|log| log.record(v, ty));
        for hidden in records.filter_map(|change| change.hidden(layer)) {
            if all.is_empty() && only.is_none() {
                only = Some(hidden);
                continue;
            }
            all.extend(only.take().into_iter().flat_map(|only| only.iter().copied()));
            all.extend(hidden.iter().copied());
        }
        if let Some(only) = only {
            return Some(Arc::clone(only));
        }
        all.sort_unstable();
        (!all.is_empty()).then(|| Arc::new(all))
    }

    /// The part of a record in the files.
    #[inline]
    fn filed_part(&self, v: VertexId, ty: u64, shard: usize, rows: Range<u64>) -> RecordPart {
        let deleted = self.deleted.get(shard).map(|set| (set.as_ref(), &rows));
        let hidden = self.hidden((FILES, 0), (v, ty), deleted);
        RecordPart::new(PartPlace::Files(rows), hidden)
    }

    /// The part of a record in a layer; `None` if the layer has none of its edges.
    fn layer_part(
        &self,
        number: usize,
        layer: &Layer,
        (v, ty): (VertexId, u64),
    ) -> Result<Option<RecordPart>> {
        Ok(match &layer.changes {
            LayerChanges::Log(log) => {
                let change = log.record(v, ty).filter(|change| change.edges.len() > 0);
                change.map(|change| self.frozen_part(number, layer.id, (v, ty), change))
            }
            LayerChanges::Fragment(fragment, deleted) => {
                let rows = fragment.record(v, ty)?;
                let some = !rows.is_empty();
                some.then(|| self.fragment_part(number, layer.id, (v, ty), deleted, rows))
            }
        })
    }

    fn frozen_part(
        &self,
        number: usize,
        id: LayerId,
        of: (VertexId, u64),
        change: &RecordChange,
    ) -> RecordPart {
        let hidden = self.hidden((id, number + 1), of, None);
        RecordPart::new(PartPlace::Log(Some(number), change.edges.clone()), hidden)
    }

    fn fragment_part(
        &self,
        number: usize,
        id: LayerId,
        of: (VertexId, u64),
        deleted: &RowSet,
        rows: Range<u64>,
    ) -> RecordPart {
        let hidden = self.hidden((id, number + 1), of, Some((deleted, &rows)));
        RecordPart::new(PartPlace::Layer(number, rows), hidden)
    }

    /// The part of a record in the log.
    fn log_part(change: &RecordChange) -> Option<RecordPart> {
        let edges = change.edges.clone();
        (edges.len() > 0).then(|| RecordPart::new(PartPlace::Log(None, edges), None))
    }

    pub(super) fn record(&self, v: VertexId, ty: u64) -> Result<RecordParts> {
        self.note(Subject::Record(v, ty));
        self.stored_record(v, ty)
    }

    /// The shard of a node and the rows of a record, if nothing has changed since the files were written; `None` if
    /// it has.
    #[inline]
    pub(super) fn untouched_record(
        &self,
        v: VertexId,
        ty: u64,
    ) -> Result<Option<(&Shard, Range<u64>)>> {
        if !self.layers.is_empty() || !self.log.is_empty() || u64::from(v) >= self.filed() {
            return Ok(None);
        }
        self.note(Subject::Record(v, ty));
        let (shard, row) = self.base.place(v)?;
        Ok(Some((shard, shard.edges.record(row, ty)?)))
    }

    /// As [`GraphState::record`], for a read that is noted by its edge.
    pub(super) fn stored_record(&self, v: VertexId, ty: u64) -> Result<RecordParts> {
        self.parts_where(v, ty, |_| true)
    }

    /// The parts of a record that may have an edge to a destination; fragments without it are not read.
    pub(super) fn parts_with(&self, edge: EdgeKey) -> Result<RecordParts> {
        let (v, ty, _) = edge;
        self.note(Subject::Record(v, ty));
        self.parts_where(v, ty, |layer| layer.may_have_edge(edge))
    }

    #[inline]
    fn parts_where(
        &self,
        v: VertexId,
        ty: u64,
        wanted: impl Fn(&Layer) -> bool,
    ) -> Result<RecordParts> {
        let mut parts = RecordParts::default();
        let (from, files) = self.edges_from(v);
        if files {
            let (shard, row) = self.base.dealing().place(v);
            let rows = self.base.shard(shard)?.edges.record(row, ty)?;
            if !rows.is_empty() {
                parts.first = self.filed_part(v, ty, shard, rows);
            }
        }
        for (number, layer) in self.layers.iter().enumerate().skip(from) {
            if wanted(layer) {
                parts.rest.extend(self.layer_part(number, layer, (v, ty))?);
            }
        }
        parts.rest.extend(self.log.record(v, ty).and_then(Self::log_part));
        Ok(parts)
    }

    /// All records of a node, ascending by type. A record may have lost all of its edges.
    pub(super) fn records(&self, v: VertexId) -> Result<Vec<(u64, RecordParts)>> {
        self.note(Subject::Records(v));
        let (from, files) = self.edges_from(v);
        let mut filed = Vec::new();
        if files {
            let (shard, row) = self.base.dealing().place(v);
            for (ty, rows) in self.base.shard(shard)?.edges.records(row)? {
                let first = self.filed_part(v, ty, shard, rows);
                filed.push((ty, RecordParts { first, rest: Vec::new() }));
            }
        }
        if from == self.layers.len() && self.log.records(v).next().is_none() {
            return Ok(filed);
        }
        let mut found: BTreeMap<u64, RecordParts> = filed.into_iter().collect();
        for (number, layer) in self.layers.iter().enumerate().skip(from) {
            match &layer.changes {
                LayerChanges::Log(log) => {
                    for (ty, change) in log.records(v).filter(|(_, one)| one.edges.len() > 0) {
                        let part = self.frozen_part(number, layer.id, (v, ty), change);
                        found.entry(ty).or_default().rest.push(part);
                    }
                }
                LayerChanges::Fragment(fragment, deleted) => {
                    for (ty, rows) in fragment.records(v)? {
                        let part = self.fragment_part(number, layer.id, (v, ty), deleted, rows);
                        found.entry(ty).or_default().rest.push(part);
                    }
                }
            }
        }
        for (ty, change) in self.log.records(v) {
            found.entry(ty).or_default().rest.extend(Self::log_part(change));
        }
        Ok(found.into_iter().collect())
    }

    /// The file with the rows of a part of a record of a node; `None` for a part in memory.
    pub(super) fn rows_of(&self, v: VertexId, part: &RecordPart) -> Result<Option<&SegmentRows>> {
        match &part.place {
            PartPlace::Files(_) => Ok(Some(&self.base.shard_of(v)?.edges.rows)),
            PartPlace::Layer(number, _) => self.edge_rows_of(*number).map(Some),
            PartPlace::Log(..) => Ok(None),
        }
    }

    /// The edges of a fragment, given by the number of its layer.
    pub(super) fn edge_rows_of(&self, number: usize) -> Result<&SegmentRows> {
        let rows = match self.layers.get(number).map(|layer| &layer.changes) {
            Some(LayerChanges::Fragment(fragment, _)) => fragment.edge_rows(),
            _ => None,
        };
        rows.ok_or(Error::BadList("an edge of a layer that has none"))
    }

    /// Hands destination, rows and row of every edge of a record to `f`; of an edge in memory its properties
    /// instead of rows.
    pub(super) fn each_edge(
        &self,
        v: VertexId,
        parts: &RecordParts,
        mut f: impl FnMut(VertexId, RowRef<'_>) -> Result<()>,
    ) -> Result<()> {
        for part in parts.iter() {
            if let PartPlace::Log(_, edges) = &part.place {
                for (_, at) in part.visible() {
                    let edge = usize::try_from(at).ok().and_then(|at| edges.get(at));
                    edge.map_or(Ok(()), |edge| f(edge.end, RowRef::Log(&edge.values)))?;
                }
            } else if let Some(rows) = self.rows_of(v, part)? {
                for (_, row) in part.visible() {
                    let end = VertexId::try_from(rows.end(row)?);
                    let end =
                        end.map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
                    f(end, RowRef::File(rows, row))?;
                }
            }
        }
        Ok(())
    }

    /// The nodes that the edges of a record lead to.
    pub(super) fn ends_of(&self, v: VertexId, parts: &RecordParts) -> Result<Vec<VertexId>> {
        let mut found = Vec::new();
        self.each_edge(v, parts, |end, _| {
            found.push(end);
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns true if an edge of the files is not deleted.
    pub(super) fn shows_filed(
        &self,
        shard: usize,
        of: &Shard,
        (v, ty): (VertexId, u64),
        row: u64,
    ) -> Result<bool> {
        let stored = self.deleted.get(shard).is_some_and(|set| set.contains(row));
        if stored || !self.has_file_edges(v) {
            return Ok(false);
        }
        let start =
            || -> Result<u64> { Ok(of.edges.record(self.base.dealing().place(v).1, ty)?.start) };
        self.shows(FILES, 0, (v, ty), row, start)
    }

    /// Returns true if an edge of a fragment is not deleted.
    pub(super) fn shows_in(
        &self,
        number: usize,
        fragment: &Fragment,
        deleted: &RowSet,
        (v, ty): (VertexId, u64),
        row: u64,
    ) -> Result<bool> {
        if deleted.contains(row) || self.edges_from(v).0 > number {
            return Ok(false);
        }
        let start = || -> Result<u64> { Ok(fragment.record(v, ty)?.start) };
        self.shows(fragment.id(), number + 1, (v, ty), row, start)
    }

    /// Returns true if an edge of a frozen log, given by its position in its record, is not deleted.
    pub(super) fn shows_frozen(
        &self,
        (number, id): (usize, LayerId),
        of: (VertexId, u64),
        position: u64,
    ) -> Result<bool> {
        if self.edges_from(of.0).0 > number {
            return Ok(false);
        }
        self.shows(id, number + 1, of, position, || Ok(0))
    }

    /// Returns true if no log behind the first `layers` layers deletes an edge.
    fn shows(
        &self,
        layer: LayerId,
        layers: usize,
        (v, ty): (VertexId, u64),
        row: u64,
        start: impl Fn() -> Result<u64>,
    ) -> Result<bool> {
        for log in self.logs_behind(layers) {
            let hidden = log.record(v, ty).and_then(|change| change.hidden(layer));
            if let Some(hidden) = hidden
                && hidden.binary_search(&(row - start()?)).is_ok()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sources and types of the edges of layers and log that lead to a node; some may be deleted.
    pub(super) fn leading_to(&self, end: VertexId) -> Result<Vec<(VertexId, u64)>> {
        let mut found: Vec<(VertexId, u64)> = self.log.leading_to(end).collect();
        for layer in self.layers.iter() {
            found.extend(layer.leading_to(end)?);
        }
        Ok(found)
    }

    /// The nodes that the log or a layer changes, ascending.
    pub(super) fn changed_nodes(&self) -> Vec<VertexId> {
        let layers = self.layers.iter().flat_map(Layer::changed_nodes);
        let mut found: Vec<_> = layers.chain(self.log.changed_nodes().map(|(v, _)| v)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Number of edges that layers and log have, and of those that they delete.
    pub(super) fn changed_edges(&self) -> u64 {
        let stored = self.layers.iter().map(|layer| match &layer.changes {
            LayerChanges::Fragment(fragment, deleted) => fragment.entry().added + deleted.len(),
            LayerChanges::Log(_) => 0,
        });
        let hidden = self.deleted.iter().map(|deleted| deleted.len());
        let logs = self.logs_behind(0).flat_map(LogStore::changed_records).map(|(_, change)| {
            let hidden = change.all_hidden().iter().map(|(_, hidden)| hidden.len() as u64);
            change.edges.len() as u64 + hidden.sum::<u64>()
        });
        stored.chain(hidden).chain(logs).sum()
    }

    /// Hands every edge of the layers and the log, with source and type, to `f`.
    pub(super) fn each_new_edge<'s>(
        &'s self,
        mut f: impl FnMut(VertexId, u64, EdgeLocation<'s>) -> Result<()>,
    ) -> Result<()> {
        for (number, layer) in self.layers.iter().enumerate() {
            match &layer.changes {
                LayerChanges::Log(log) => {
                    for ((v, ty), change) in log.changed_records() {
                        for (position, edge) in (0..).zip(change.edges.iter()) {
                            if self.shows_frozen((number, layer.id), (v, ty), position)? {
                                f(v, ty, EdgeLocation::Log(edge))?;
                            }
                        }
                    }
                }
                LayerChanges::Fragment(fragment, deleted) => {
                    self.each_edge_in(number, fragment, deleted, &mut f)?;
                }
            }
        }
        for ((v, ty), change) in self.log.changed_records() {
            for edge in change.edges.iter() {
                f(v, ty, EdgeLocation::Log(edge))?;
            }
        }
        Ok(())
    }

    /// Hands every edge of a fragment, given with the number of its layer, to `f`.
    pub(super) fn each_edge_in<'s>(
        &'s self,
        number: usize,
        fragment: &'s Fragment,
        deleted: &RowSet,
        f: &mut dyn FnMut(VertexId, u64, EdgeLocation<'s>) -> Result<()>,
    ) -> Result<()> {
        let Some(rows) = fragment.edge_rows() else { return Ok(()) };
        // By records: finding the record of a row is a search.
        for v in fragment.sources().iter().filter_map(|v| VertexId::try_from(v).ok()) {
            if self.edges_from(v).0 > number {
                continue;
            }
            for (ty, own) in fragment.records(v)? {
                let part = self.fragment_part(number, fragment.id(), (v, ty), deleted, own);
                for (_, row) in part.visible() {
                    f(v, ty, EdgeLocation::Row(rows, row))?;
                }
            }
        }
        Ok(())
    }

    /// Hands every edge of the files that is deleted, with its type, to `f`.
    pub(super) fn each_deleted_edge(
        &self,
        f: &mut dyn FnMut(&SegmentRows, u64, u64) -> Result<()>,
    ) -> Result<()> {
        let filed = |v: &VertexId| u64::from(*v) < self.filed();
        for v in self.changed_nodes().into_iter().filter(filed) {
            if !self.has_file_edges(v) {
                let (shard, node) = self.base.place(v)?;
                for (ty, rows) in shard.edges.records(node)? {
                    rows.into_iter().try_for_each(|row| f(&shard.edges.rows, row, ty))?;
                }
            }
        }
        for (number, (shard, deleted)) in
            self.base.shards().iter().zip(self.deleted.iter()).enumerate()
        {
            for row in deleted.iter() {
                let (node, ty) = shard.edges.of_row(row)?;
                if self.has_file_edges(self.base.node_at(number, node)?) {
                    f(&shard.edges.rows, row, ty)?;
                }
            }
        }
        for log in self.logs_behind(0) {
            for ((v, ty), change) in log.changed_records() {
                let Some(hidden) = change.hidden(FILES).filter(|_| self.has_file_edges(v)) else {
                    continue;
                };
                let (shard, node) = self.base.place(v)?;
                let start = shard.edges.record(node, ty)?.start;
                hidden.iter().try_for_each(|at| f(&shard.edges.rows, start + at, ty))?;
            }
        }
        Ok(())
    }

    /// Number of nodes.
    pub(super) fn num_nodes(&self) -> u64 {
        self.note(Subject::Nodes);
        self.filed().saturating_add_signed(self.log.more_nodes)
    }

    /// Number of edges.
    pub(super) fn num_edges(&self) -> u64 {
        self.note(Subject::Edges);
        self.base.entry().edges.saturating_add_signed(self.log.more_edges)
    }
}

/// Adds the row of a changed node; returns true if the rows of older layers do not count.
fn of_log<'s>(change: &'s NodeChange, rows: &mut Vec<RowRef<'s>>) -> bool {
    rows.extend(change.values.as_deref().map(RowRef::Log));
    change.whole || change.values.is_none()
}

/// A set of deleted rows, and those of a layer that another fragment deletes.
fn hide(set: RowSet, other: &Fragment, layer: LayerId, shard: u32) -> RowSet {
    let of = other.hidden().iter().filter(|one| (one.layer, one.shard) == (layer, shard));
    of.fold(set, |set, one| set.with(&one.rows.iter().collect::<Vec<_>>()))
}

/// The rows of a fragment that were deleted while it was merged.
fn late(store: &Store, file: &nakshi_store::FileEntry, cancel: &CancelToken) -> Result<RowSet> {
    let file = store.file(file)?;
    let bytes = file.load(cancel)?;
    RowSet::read(&mut &bytes[..]).ok_or_else(|| Error::Corrupt {
        file: file.path().to_path_buf(),
        page: 0,
        what: "it is no set of rows".into(),
    })
}
