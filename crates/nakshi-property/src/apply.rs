//! Application of changes to the state of a graph.

use std::sync::Arc;

use super::bucket_set::BucketSet;
use super::conflict::{Subject, WrittenRow};
use super::layers::{FILES, Layer, LayerChanges};
use super::log::{Change, Changes, EdgeId};
use super::logstore::{EdgeKey, LayerId, NodeChange, NumberedEdge};
use super::lookups::Lookups;
use super::nearest::unknown;
use super::parts::PartPlace;
use super::row::{REMOVED, RowKind, RowValues, SharedBytes};
use super::schema::{self, EncodedProperties, decoded_number};
use super::segment::SegmentRows;
use super::spec::LABELS;
use super::state::GraphState;
use super::timeline::LogEdge;
use super::value::Value;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// The properties that an update sets; with `merge` all others stay.
struct Update<'a> {
    properties: &'a [(String, Value)],
    merge: bool,
}

/// Time and properties of an edge that was removed.
type Removed = Option<(i64, Arc<[u8]>)>;

/// An edge that is not deleted.
enum FoundEdge {
    /// In an older layer: its position in the record there.
    Stored { layer: LayerId, position: u64, number: u64, time: i64, values: Arc<[u8]> },
    /// In the log, by its number.
    New(u64),
}

impl FoundEdge {
    fn number(&self) -> u64 {
        match self {
            FoundEdge::Stored { number, .. } | FoundEdge::New(number) => *number,
        }
    }
}

impl GraphState {
    /// Applies the changes of a commit from the log.
    pub(super) fn make(
        &mut self,
        commit: u64,
        changes: &mut Changes<'_>,
        lookups: &mut Lookups,
    ) -> Result<()> {
        while let Some(change) = changes.next()? {
            self.apply(&change, lookups)?;
        }
        self.commit = commit;
        Ok(())
    }

    /// Applies a change; returns true if it changed anything. After an error the state is unusable.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::NoNode`] for an impossible change; damage;
    /// [`Error::Cancelled`].
    pub(super) fn apply(&mut self, change: &Change, lookups: &mut Lookups) -> Result<bool> {
        lookups.cancel.check()?;
        if !self.concerns(change, lookups)? {
            return Ok(false);
        }
        match change {
            Change::AppendNode { id, properties } => self.append_node(id, properties, lookups),
            Change::UpdateNode { id, properties, merge } => {
                self.update_node(id, Update { properties, merge: *merge }, lookups)
            }
            Change::DeleteNode { id } => self.delete_node(id, lookups),
            Change::AppendEdge { source, edge_type, destination, timestamp, properties } => {
                let (source, end) = (self.node(source)?, self.node(destination)?);
                let ty = schema::edge_type(&mut self.schema, edge_type)?;
                let values =
                    schema::row(&schema::encode(&mut self.schema, RowKind::Edges, properties)?);
                self.put_edge(((source, ty, end), 0), *timestamp, &values.into(), lookups)?;
                Ok(true)
            }
            Change::DeleteEdge { source, edge_type, destination } => {
                let Some(key) = self.edge_key(source, edge_type, destination)? else {
                    return Ok(false);
                };
                Ok(self.drop_edge(key, lookups)?.is_some())
            }
            Change::ChangeType { source, edge_type, destination, new_type } => {
                let Some(key) = self.edge_key(source, edge_type, destination)? else {
                    return Ok(false);
                };
                let Some((time, values)) = self.drop_edge(key, lookups)? else { return Ok(false) };
                let ty = schema::edge_type(&mut self.schema, new_type)?;
                self.put_edge(((key.0, ty, key.2), 0), time, &values, lookups)?;
                Ok(true)
            }
            Change::CreateEdge { edge, timestamp, properties } => {
                self.create_edge(edge, *timestamp, properties, lookups)
            }
            Change::UpdateEdge { edge, properties, merge } => {
                self.update_edge(edge, Update { properties, merge: *merge }, lookups)
            }
            Change::RemoveEdge { edge } => self.remove_edge(edge, lookups),
            Change::ChangeLabels { id, add, remove } => {
                let labels = self.changed_labels(id, add, remove)?;
                let labels = match labels.is_empty() {
                    true => Value::Null,
                    false => Value::List(labels.into_iter().map(Value::String).collect()),
                };
                let properties = &[(LABELS.to_owned(), labels)];
                self.update_node(id, Update { properties, merge: true }, lookups)
            }
            Change::SetInverse { edge_type, inverse } => self.set_inverse(edge_type, inverse),
            Change::Declare { rule } => {
                Arc::make_mut(&mut self.schema).declare(rule)?;
                Ok(true)
            }
            Change::Drop { name } => Ok(Arc::make_mut(&mut self.schema).drop_rule(name)),
            Change::MoveBuckets { buckets, share, shares } => {
                let moved = &mut Arc::make_mut(&mut self.schema).moved;
                Ok(moved.record(buckets, *share, *shares, self.commit + 1))
            }
        }
    }

    /// Prepares the state for a change, and returns true if the change concerns it: in a whole graph all do.
    /// A share takes the names of properties and types from the changes of other shares, too, so that all servers
    /// know them.
    fn concerns(&mut self, change: &Change, lookups: &mut Lookups) -> Result<bool> {
        let base = Arc::clone(&self.base);
        let Some(buckets) = &base.entry().buckets else { return Ok(true) };
        match change {
            Change::AppendNode { id, properties } | Change::UpdateNode { id, properties, .. } => {
                self.name(RowKind::Nodes, properties)?;
                Ok(buckets.has(id))
            }
            Change::ChangeLabels { id, add, .. } => {
                if !add.is_empty() {
                    let labels = add.iter().cloned().map(Value::String).collect();
                    self.name(RowKind::Nodes, &[(LABELS.to_owned(), Value::List(labels))])?;
                }
                Ok(buckets.has(id))
            }
            Change::AppendEdge { source, edge_type, destination, properties, .. } => {
                self.name_edge(edge_type, properties)?;
                self.ends(buckets, [source, destination], lookups)
            }
            Change::CreateEdge { edge, properties, .. } => {
                let EdgeId { source, edge_type, destination, number } = edge;
                self.name_edge(edge_type, properties)?;
                schema::number_edges(&mut self.schema);
                self.log.next_edge = self.log.next_edge.max(number + 1);
                self.ends(buckets, [source, destination], lookups)
            }
            Change::UpdateEdge { edge, properties, .. } => {
                self.name(RowKind::Edges, properties)?;
                Ok(buckets.has(&edge.source) || buckets.has(&edge.destination))
            }
            Change::ChangeType { source, destination, new_type, .. } => {
                self.name_edge(new_type, &[])?;
                Ok(buckets.has(source) || buckets.has(destination))
            }
            // Of other buckets, they find nothing to delete.
            Change::DeleteNode { .. } | Change::DeleteEdge { .. } | Change::RemoveEdge { .. } => {
                Ok(true)
            }
            Change::SetInverse { .. }
            | Change::Declare { .. }
            | Change::Drop { .. }
            | Change::MoveBuckets { .. } => Ok(true),
        }
    }

    fn name(&mut self, kind: RowKind, properties: &[(String, Value)]) -> Result<()> {
        schema::encode(&mut self.schema, kind, properties).map(|_| ())
    }

    fn name_edge(&mut self, edge_type: &str, properties: &[(String, Value)]) -> Result<()> {
        schema::edge_type(&mut self.schema, edge_type)?;
        self.name(RowKind::Edges, properties)
    }

    /// Returns true if an end of an edge is in the buckets. The other end is then there, too.
    fn ends(
        &mut self,
        buckets: &BucketSet,
        ends: [&ExternalId; 2],
        lookups: &mut Lookups,
    ) -> Result<bool> {
        let own = ends.map(|end| buckets.has(end));
        if own == [false, false] {
            return Ok(false);
        }
        for end in ends.into_iter().zip(own).filter_map(|(end, own)| (!own).then_some(end)) {
            if self.find(end)?.is_none() {
                self.append_node(end, &[], lookups)?;
            }
        }
        Ok(true)
    }

    fn set_inverse(&mut self, edge_type: &str, inverse: &str) -> Result<bool> {
        let ty = schema::edge_type(&mut self.schema, edge_type)?;
        let inverse = schema::edge_type(&mut self.schema, inverse)?;
        let schema = Arc::make_mut(&mut self.schema);
        for (ty, wanted) in [(ty, inverse), (inverse, ty)] {
            if let Some(other) = schema.inverse(ty).filter(|other| *other != wanted) {
                return Err(Error::Invalid(format!(
                    "the inverse of '{}' is '{}' already",
                    schema.type_name(ty),
                    schema.type_name(other)
                )));
            }
        }
        let new = schema.inverse(ty).is_none();
        schema.set_inverse(ty, inverse);
        Ok(new)
    }

    /// Fails for a change that names a type of edges, or a property to remove, that nothing has. Asked
    /// before a commit: the log of an older build may have such changes, which change nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`], which suggests the nearest name.
    pub(super) fn refuse_unknown(&self, change: &Change) -> Result<()> {
        match change {
            Change::DeleteEdge { edge_type, .. }
            | Change::ChangeType { edge_type, .. }
            | Change::UpdateEdge { edge: EdgeId { edge_type, .. }, .. }
            | Change::RemoveEdge { edge: EdgeId { edge_type, .. } } => {
                self.schema.known_type(edge_type).map(|_| ())
            }
            Change::UpdateNode { properties, .. } => {
                let nodes = &self.schema.nodes;
                let removed = properties.iter().filter(|(_, value)| value.is_null());
                let mut unknown = removed.filter(|(name, _)| nodes.writable(name).is_none());
                unknown.try_for_each(|(name, _)| nodes.find(name).map(|_| ()))
            }
            Change::Declare { .. } if self.base.entry().buckets.is_some() => {
                let what = "constraints and indexes of a graph that servers share";
                Err(Error::Unsupported(what.into()))
            }
            Change::MoveBuckets { share, shares, .. } if share >= shares => {
                Err(Error::Invalid(format!("there is no share {share} among {shares}")))
            }
            Change::Drop { name } => {
                let names = || self.schema.rules().iter().map(|rule| rule.name.as_str());
                match names().any(|known| known == name) {
                    true => Ok(()),
                    false => Err(unknown("is no constraint or index", name, names())),
                }
            }
            _ => Ok(()),
        }
    }

    /// Makes a change that is in no log yet; whether it changed anything.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a change of the type of parallel edges, of which the log would keep one;
    /// those of [`GraphState::apply`].
    pub(super) fn apply_new(&mut self, change: &Change, lookups: &mut Lookups) -> Result<bool> {
        if let Change::ChangeType { source, edge_type, destination, .. } = change
            && let Some(key) = self.edge_key(source, edge_type, destination)?
        {
            let count = self.count_edges(key, lookups)?;
            if count > 1 {
                return Err(Error::Invalid(format!(
                    "{source} and {destination} have {count} parallel edges of the type \
                     '{edge_type}', and change_type is for one; delete them, and append those of the \
                     new type"
                )));
            }
        }
        self.apply(change, lookups)
    }

    /// The number of edges of a source, type and destination.
    fn count_edges(&self, key: EdgeKey, lookups: &mut Lookups) -> Result<usize> {
        Ok(self.edges_between(key, lookups)?.len())
    }

    fn append_node(
        &mut self,
        id: &ExternalId,
        properties: &[(String, Value)],
        lookups: &mut Lookups,
    ) -> Result<bool> {
        let v = match self.number(id)? {
            Some(v) if self.is_alive(v) => {
                return Err(Error::Invalid(format!(
                    "the node {id} is there already; update it, or delete it first"
                )));
            }
            Some(v) => v,
            None => {
                let v = u32::try_from(self.numbered()).ok().filter(|v| *v < u32::MAX);
                let v = v.ok_or_else(|| Error::Unsupported("2^32 nodes in a store".into()))?;
                let ids = self.base.ids();
                if self.filed() > 0 && !ids.takes(id) {
                    return Err(Error::Invalid(format!(
                        "the ids of this store are {}, and '{id}' is not; import it anew with ids \
                         of one kind",
                        ids.kind_name()
                    )));
                }
                let id = ids.canonical(id);
                lookups.note(Subject::Id(&id));
                self.log.add_id(id, v);
                v
            }
        };
        let values = schema::encode(&mut self.schema, RowKind::Nodes, properties)?;
        lookups.note(Subject::Existence(v));
        let values = Some(shared_row(&values));
        self.set_row(v, NodeChange { values, whole: true, cut: true }, lookups)?;
        self.log.more_nodes += 1;
        Ok(true)
    }

    /// Gives a node other properties, all of them.
    fn set_row(&mut self, v: VertexId, change: NodeChange, lookups: &mut Lookups) -> Result<()> {
        self.note_row(v, change.values.as_ref(), lookups)?;
        self.log_node(v, change);
        Ok(())
    }

    fn log_node(&mut self, v: VertexId, change: NodeChange) {
        let nodes = &self.schema.nodes;
        self.log.set_node(v, change, |property| nodes.is_list(property));
    }

    fn log_edge(&mut self, edge: NumberedEdge, time: i64, values: Arc<[u8]>) {
        let edges = &self.schema.edges;
        self.log.add_edge(edge, time, values, |property| edges.is_list(property));
        self.log.more_edges += 1;
    }

    /// Notes that the properties of a node, if it is there, become those of `row`, if it stays there.
    fn note_row(
        &self,
        v: VertexId,
        row: Option<&SharedBytes>,
        lookups: &mut Lookups,
    ) -> Result<()> {
        let Some(written) = &mut lookups.written else { return Ok(()) };
        let known = u64::from(v) < self.filed() || self.is_changed(v);
        let before = if known && self.is_alive(v) { Some(self.row_of(v)?) } else { None };
        let after = row.cloned();
        written.note(Subject::Properties(v));
        if before.is_some() != after.is_some() {
            written.note(Subject::Nodes);
        }
        written.note_row(WrittenRow { before, after, properties: None });
        Ok(())
    }

    /// Notes that some properties of a node become those of `values`, and others are `removed`.
    fn note_values(
        &self,
        v: VertexId,
        removed: &[u32],
        values: &EncodedProperties,
        lookups: &mut Lookups,
    ) -> Result<()> {
        let Some(written) = &mut lookups.written else { return Ok(()) };
        let set = values.iter().map(|(property, _)| *property);
        let properties: Vec<u32> = set.chain(removed.iter().copied()).collect();
        let (mut before, mut bytes) = (Vec::new(), Vec::new());
        if let Some(row) = self.row(v)? {
            for property in &properties {
                bytes.clear();
                if row.get(*property, &mut bytes)? {
                    RowValues::put(*property, &bytes, &mut before);
                }
            }
        }
        written.note(Subject::Properties(v));
        let (before, after) = (Some(before.as_slice().into()), Some(shared_row(values)));
        written.note_row(WrittenRow { before, after, properties: Some(properties) });
        Ok(())
    }

    fn update_node(
        &mut self,
        id: &ExternalId,
        Update { properties, merge }: Update<'_>,
        lookups: &mut Lookups,
    ) -> Result<bool> {
        let (v, NodeChange { values: before, whole, cut }) = self.node_to_change(id)?;
        let mut values = schema::encode(&mut self.schema, RowKind::Nodes, properties)?;
        if !merge {
            let values = Some(shared_row(&values));
            self.set_row(v, NodeChange { values, whole: true, cut }, lookups)?;
            return Ok(true);
        }
        // Only what changes: the rest stays where it is.
        let nulls = properties.iter().filter(|(_, value)| value.is_null());
        let known = nulls.filter_map(|(name, _)| self.schema.nodes.writable(name));
        let mut removed: Vec<u32> = known.map(|(property, _)| property).collect();
        removed.extend(self.schema.nodes.replaced_any(properties));
        self.note_values(v, &removed, &values, lookups)?;
        if !whole && !removed.is_empty() {
            let none = || SharedBytes::from([].as_slice());
            values.extend(removed.iter().map(|property| (property | REMOVED, none())));
            values.sort_by_key(|(property, _)| *property);
        }
        let replaced = |property: u32| {
            let property = property & !REMOVED;
            let mut set = values.iter().map(|(other, _)| other & !REMOVED);
            set.any(|other| other == property) || removed.contains(&property)
        };
        let row = RowValues(before.as_deref().unwrap_or_default()).merged(&values, replaced);
        let values = Some(SharedBytes::from(row.as_slice()));
        self.log_node(v, NodeChange { values, whole, cut });
        Ok(true)
    }

    /// All properties of a node, encoded; none if it is deleted.
    fn row_of(&self, v: VertexId) -> Result<SharedBytes> {
        Ok(shared_row(&self.values_of(v)?))
    }

    /// All properties of a node, which must exist.
    pub(super) fn values_of(&self, v: VertexId) -> Result<EncodedProperties> {
        let mut found = EncodedProperties::new();
        if let Some(row) = self.row(v)? {
            row.each(|property, value| {
                found.push((property, SharedBytes::from(value)));
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Source, type and destination of an edge as numbers; `None` if one of them is unknown.
    fn edge_key(
        &self,
        source: &ExternalId,
        edge_type: &str,
        destination: &ExternalId,
    ) -> Result<Option<EdgeKey>> {
        let (source, end) = (self.find(source)?, self.find(destination)?);
        let ty = self.schema.edge_type(edge_type);
        Ok(source.zip(ty).zip(end).map(|((source, ty), end)| (source, ty, end)))
    }

    /// Adds an edge, in place of all others with its ends and type if it has no number; and the edge that
    /// leads back if its type has an inverse.
    fn put_edge(
        &mut self,
        (key, number): NumberedEdge,
        time: i64,
        values: &Arc<[u8]>,
        lookups: &mut Lookups,
    ) -> Result<()> {
        for key in self.with_inverse(key) {
            if number == 0 {
                self.remove_edges(key, lookups)?;
            }
            lookups.note_edge(key);
            self.log_edge((key, number), time, Arc::clone(values));
        }
        Ok(())
    }

    /// Removes an edge, and the edge that leads back; returns time and properties of the first.
    fn drop_edge(&mut self, key: EdgeKey, lookups: &mut Lookups) -> Result<Removed> {
        let mut removed = None;
        for one in self.with_inverse(key) {
            let found = self.remove_edges(one, lookups)?;
            if one == key {
                removed = found;
            }
        }
        Ok(removed)
    }

    fn with_inverse(&self, key: EdgeKey) -> impl Iterator<Item = EdgeKey> + use<> {
        let (source, ty, end) = key;
        let inverse = self.schema.inverse(ty).map(|inverse| (end, inverse, source));
        std::iter::once(key).chain(inverse.filter(|inverse| *inverse != key))
    }

    /// The edges of a source, type and destination that are not deleted, oldest layer first.
    fn edges_between(&self, key: EdgeKey, lookups: &mut Lookups) -> Result<Vec<FoundEdge>> {
        let mut found = Vec::new();
        for part in self.parts_with(key)?.iter() {
            match &part.place {
                PartPlace::Files(rows) => {
                    if rows.is_empty() {
                        continue;
                    }
                    let file = &self.base.shard_of(key.0)?.edges.rows;
                    for position in lookups.positions(key, part, file)? {
                        found.push(self.filed_edge(
                            FILES,
                            file,
                            position,
                            rows.start + position,
                        )?);
                    }
                }
                PartPlace::Layer(number, rows) => {
                    let layer = self.layers.get(*number);
                    let Some(Layer { id, changes: LayerChanges::Fragment(fragment, _) }) = layer
                    else {
                        continue;
                    };
                    let file = self.edge_rows_of(*number)?;
                    let positions = fragment.positions(key)?.into_iter();
                    for position in positions.filter(|position| !part.hides(*position)) {
                        found.push(self.filed_edge(*id, file, position, rows.start + position)?);
                    }
                }
                PartPlace::Log(Some(number), _) => {
                    let layer = self.layers.get(*number);
                    let Some(Layer { id, changes: LayerChanges::Log(log) }) = layer else {
                        continue;
                    };
                    for number in log.numbers(key) {
                        let Some(position) = log.position((key, number)) else { continue };
                        if let Some(edge) =
                            log.edge((key, number)).filter(|_| !part.hides(position))
                        {
                            let (time, values) = (edge.time, Arc::clone(&edge.values));
                            found.push(FoundEdge::Stored {
                                layer: *id,
                                position,
                                number,
                                time,
                                values,
                            });
                        }
                    }
                }
                PartPlace::Log(None, _) => {}
            }
        }
        found.extend(self.log.numbers(key).map(FoundEdge::New));
        Ok(found)
    }

    /// An edge of a file, with its properties.
    fn filed_edge(
        &self,
        layer: LayerId,
        file: &SegmentRows,
        position: u64,
        row: u64,
    ) -> Result<FoundEdge> {
        let (property, mut values) = (self.schema.edge_number(), Vec::new());
        let mut number = 0;
        file.each(row, |of, value| {
            if Some(of) == property {
                let none = || Error::BadList("the number of an edge is none");
                number = decoded_number(value).ok_or_else(none)?;
            } else {
                RowValues::put(of, value, &mut values);
            }
            Ok(())
        })?;
        let (time, values) = (file.time(row)?, values.into());
        Ok(FoundEdge::Stored { layer, position, number, time, values })
    }

    /// Removes an edge that is there; returns its time and its properties.
    fn take_edge(&mut self, key: EdgeKey, edge: FoundEdge, lookups: &mut Lookups) -> Removed {
        lookups.note_edge(key);
        match edge {
            FoundEdge::Stored { layer, position, time, values, .. } => {
                self.log.hide(key.0, key.1, layer, position);
                self.log.more_edges -= 1;
                Some((time, values))
            }
            FoundEdge::New(number) => {
                let LogEdge { time, values, .. } = self.log.remove_edge((key, number))?;
                self.log.more_edges -= 1;
                Some((time, values))
            }
        }
    }

    /// Removes all edges of a source, type and destination; returns time and properties of the
    /// newest.
    fn remove_edges(&mut self, key: EdgeKey, lookups: &mut Lookups) -> Result<Removed> {
        let mut last: Removed = None;
        for edge in self.edges_between(key, lookups)? {
            let removed = self.take_edge(key, edge, lookups);
            // Of the same time, the edge of the newest layer is the newest.
            let older =
                |(time, _): &(i64, _)| last.as_ref().is_none_or(|(before, _)| before <= time);
            if removed.as_ref().is_some_and(older) {
                last = removed;
            }
        }
        Ok(last)
    }

    /// Removes one edge; returns its time and its properties, and `None` if there is no such edge.
    ///
    /// # Errors
    /// [`Error::Invalid`] if several edges have no number.
    fn remove_one(&mut self, edge: NumberedEdge, lookups: &mut Lookups) -> Result<Removed> {
        let (key, wanted) = edge;
        if self.log.edge(edge).is_some() {
            return Ok(self.take_edge(key, FoundEdge::New(wanted), lookups));
        }
        let mut found = self.edges_between(key, lookups)?;
        found.retain(|edge| edge.number() == wanted);
        if found.len() > 1 {
            return Err(Error::Invalid(format!(
                "{} parallel edges have these ends and this type and no numbers; delete them, and \
                 create them anew",
                found.len()
            )));
        }
        Ok(found.pop().and_then(|edge| self.take_edge(key, edge, lookups)))
    }

    fn create_edge(
        &mut self,
        edge: &EdgeId,
        time: i64,
        properties: &[(String, Value)],
        lookups: &mut Lookups,
    ) -> Result<bool> {
        let (source, end) = (self.node(&edge.source)?, self.node(&edge.destination)?);
        let ty = schema::edge_type(&mut self.schema, &edge.edge_type)?;
        let (key, number) = ((source, ty, end), edge.number);
        if number == 0 || number > i64::MAX.cast_unsigned() {
            return Err(Error::Invalid(format!("an edge cannot have the number {number}")));
        }
        if number < self.log.next_edge && self.has_number((key, number), lookups)? {
            return Err(Error::Invalid(format!(
                "{} and {} have an edge of the type '{}' with the number {number} already",
                edge.source, edge.destination, edge.edge_type
            )));
        }
        schema::number_edges(&mut self.schema);
        let values = schema::row(&schema::encode(&mut self.schema, RowKind::Edges, properties)?);
        self.put_edge((key, number), time, &values.into(), lookups)?;
        self.log.next_edge = self.log.next_edge.max(number + 1);
        Ok(true)
    }

    fn has_number(&self, (key, number): NumberedEdge, lookups: &mut Lookups) -> Result<bool> {
        Ok(self.edges_between(key, lookups)?.iter().any(|edge| edge.number() == number))
    }

    fn update_edge(
        &mut self,
        edge: &EdgeId,
        Update { properties, merge }: Update<'_>,
        lookups: &mut Lookups,
    ) -> Result<bool> {
        let key = self.edge_key(&edge.source, &edge.edge_type, &edge.destination)?;
        let new = schema::encode(&mut self.schema, RowKind::Edges, properties)?;
        let edges = &self.schema.edges;
        let named = properties.iter().filter_map(|(name, _)| edges.writable(name));
        let mut named: Vec<u32> = named.map(|(number, _)| number).collect();
        named.extend(edges.replaced_any(properties));
        let mut found = false;
        let both: Vec<EdgeKey> = key.into_iter().flat_map(|key| self.with_inverse(key)).collect();
        for key in both {
            let Some((time, before)) = self.remove_one((key, edge.number), lookups)? else {
                continue;
            };
            found = true;
            let mut values = new.clone();
            if merge {
                let kept = RowValues(&before).filter(|(property, _)| !named.contains(property));
                values.extend(kept.map(|(property, value)| (property, SharedBytes::from(value))));
                values.sort_by_key(|(property, _)| *property);
            }
            self.log_edge((key, edge.number), time, schema::row(&values).into());
        }
        if !found {
            return Err(Error::Invalid(format!("there is no edge {edge}")));
        }
        Ok(true)
    }

    /// Removes an edge, and the edge that leads back.
    fn remove_edge(&mut self, edge: &EdgeId, lookups: &mut Lookups) -> Result<bool> {
        let Some(key) = self.edge_key(&edge.source, &edge.edge_type, &edge.destination)? else {
            return Ok(false);
        };
        let mut found = false;
        for key in self.with_inverse(key) {
            found |= self.remove_one((key, edge.number), lookups)?.is_some();
        }
        Ok(found)
    }

    /// The labels of a node.
    pub(super) fn labels_of(&self, v: VertexId) -> Result<Vec<String>> {
        let Some((number, spec)) = self.schema.nodes.writable(LABELS) else {
            return Ok(Vec::new());
        };
        let mut bytes = Vec::new();
        let there = self.row(v)?.map_or(Ok(false), |row| row.get(number, &mut bytes))?;
        match there.then(|| Value::decode(spec.ty, &bytes)).flatten() {
            Some(Value::List(labels)) => Ok(labels
                .into_iter()
                .filter_map(|label| match label {
                    Value::String(label) => Some(label),
                    _ => None,
                })
                .collect()),
            _ => Ok(Vec::new()),
        }
    }

    /// The labels of a node after a change of them.
    fn changed_labels(
        &self,
        id: &ExternalId,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>> {
        let mut labels = self.labels_of(self.node(id)?)?;
        labels.retain(|label| !remove.contains(label));
        for label in add {
            if label.is_empty() {
                return Err(Error::Invalid("a label is empty".into()));
            }
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        Ok(labels)
    }

    fn delete_node(&mut self, id: &ExternalId, lookups: &mut Lookups) -> Result<bool> {
        let Some(v) = self.find(id)? else { return Ok(false) };
        // Edges to the node are removed first, while the node's own records still show its loops.
        let mut sources: Vec<EdgeKey> =
            self.leading_to(v)?.into_iter().map(|(source, ty)| (source, ty, v)).collect();
        if u64::from(v) < self.filed() {
            for source in lookups.sources(v)? {
                lookups.cancel.check()?;
                if self.has_file_edges(source) {
                    let types = self
                        .base
                        .place(source)
                        .and_then(|(shard, number)| shard.edges.records(number))?;
                    sources.extend(types.into_iter().map(|(ty, _)| (source, ty, v)));
                }
            }
        }
        sources.sort_unstable();
        sources.dedup();
        for key in sources {
            lookups.cancel.check()?;
            self.remove_edges(key, lookups)?;
        }
        let own: i64 = self.records(v)?.iter().map(|(_, parts)| parts.len() as i64).sum();
        self.note_deletion(v, lookups)?;
        self.log.remove_records(v);
        self.log_node(v, NodeChange { values: None, whole: true, cut: true });
        self.log.more_edges -= own;
        self.log.more_nodes -= 1;
        Ok(true)
    }

    /// Notes that a node is deleted with its edges.
    fn note_deletion(&self, v: VertexId, lookups: &mut Lookups) -> Result<()> {
        if lookups.written.is_none() {
            return Ok(());
        }
        self.note_row(v, None, lookups)?;
        lookups.note(Subject::Existence(v));
        lookups.note(Subject::Records(v));
        for (ty, parts) in self.records(v)? {
            for end in self.ends_of(v, &parts)? {
                lookups.note_edge((v, ty, end));
            }
        }
        Ok(())
    }
}

/// The row of a node with these properties.
fn shared_row(values: &EncodedProperties) -> SharedBytes {
    SharedBytes::from(schema::row(values).as_slice())
}
