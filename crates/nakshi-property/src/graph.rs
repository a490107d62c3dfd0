//! The queries of ZipG (Table 1) on a store.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{CancelToken, IoSnapshot, IoStats};

use super::base::Base;
use super::replay::replay;
use super::row::Values;
use super::schema::Properties;
use super::segment::Rows;
use super::state::{NodeRow, State};
use super::value::{PropertyType, Scalar, Value};
use super::wanted::{Condition, Wanted};
use super::{PropertyEntry, PropertySpec};
use nakshi_store::{Error, ExternalId, Result, Store, VertexId};

/// A property graph as one commit left it; later commits do not change it. Its files are in memory as
/// they are on disk, compressed, or on disk behind a cache; what was written since is in memory.
///
/// Queries take `&self` and may run on any number of threads. A copy is cheap.
#[derive(Clone)]
pub struct PropertyGraph(Arc<State>);

impl std::fmt::Debug for PropertyGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PropertyGraph").field("path", &self.0.base.path()).finish_non_exhaustive()
    }
}

/// All that an edge has beside source and type.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeData<'g> {
    /// The node that it leads to.
    pub destination: ExternalId,
    /// Its time, in milliseconds or whatever was imported.
    pub timestamp: i64,
    /// Its properties, without those that are null.
    pub properties: Vec<(&'g str, Value)>,
}

/// The bytes of the properties of a node or an edge.
pub(super) enum Row<'r> {
    File(&'r Rows, u64),
    Log(&'r [u8]),
}

impl PropertyGraph {
    /// Opens the property files of a store, and reads its log up to the last commit. If `memory` has
    /// room for the files, they are read whole and not needed any more; else they stay on disk, behind a
    /// cache that takes what is left of it. Without `memory` there is room.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Budget`] if `memory` is less
    /// than what has to be in memory: ids and places, and all files in [`PropertyLayout::Zipg`]; those
    /// of reading, one of kind `NotFound` if a compaction has replaced the files since the store was
    /// opened.
    ///
    /// [`PropertyLayout::Zipg`]: super::PropertyLayout::Zipg
    pub fn open(store: &Arc<Store>, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        Self::with_log(store, Base::open(store, memory, cancel)?, cancel)
    }

    /// As [`PropertyGraph::open`], with reads counted, or traced, in `stats`.
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

    /// What was read from disk since the files were opened; nothing if they are in memory.
    pub fn io(&self) -> IoSnapshot {
        self.0.base.io().snapshot()
    }

    /// Forgets what the cache of files on disk has, so that the next reads are cold.
    pub fn clear_cache(&self) {
        self.0.base.clear_cache();
    }

    /// The files of a store and its log.
    pub(crate) fn with_log(store: &Arc<Store>, base: Base, cancel: &CancelToken) -> Result<Self> {
        let (state, _) = replay(store, State::new(Arc::new(base)), cancel)?;
        Ok(PropertyGraph::of(state))
    }

    pub(super) fn of(state: State) -> Self {
        PropertyGraph(Arc::new(state))
    }

    pub(super) fn state(&self) -> &State {
        &self.0
    }

    /// What the files hold.
    pub fn entry(&self) -> &PropertyEntry {
        self.0.base.entry()
    }

    /// Bytes of memory that the files take; what has changed since comes on top.
    pub fn memory(&self) -> u64 {
        self.0.base.memory()
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
    pub fn node_properties(&self) -> &[PropertySpec] {
        self.0.schema.nodes.specs()
    }

    /// Names and types of the properties of edges.
    pub fn edge_properties(&self) -> &[PropertySpec] {
        self.0.schema.edges.specs()
    }

    /// Types of edges.
    pub fn edge_types(&self) -> &[String] {
        self.0.schema.types()
    }

    /// Whether there is a node with this id.
    ///
    /// # Errors
    /// [`Error::BadList`] for a damaged dictionary.
    pub fn has_node(&self, id: &ExternalId) -> Result<bool> {
        Ok(self.0.find(id)?.is_some())
    }

    /// The internal id of a node, if it is there.
    pub(super) fn internal(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        self.0.find(id)
    }

    fn node_row(&self, v: VertexId) -> Result<Option<Row<'_>>> {
        Ok(match self.0.row(v) {
            None => None,
            Some(NodeRow::Log(values)) => Some(Row::Log(values)),
            Some(NodeRow::File) => {
                let (shard, row) = self.0.base.place(v)?;
                Some(Row::File(&shard.nodes, row))
            }
        })
    }

    /// The values of properties of a node, null where it has none. Without names, all that it has.
    ///
    /// # Errors
    /// [`Error::NoNode`]; [`Error::Invalid`] if there is no such property; damage.
    pub fn get_node_property(
        &self,
        id: &ExternalId,
        names: Option<&[&str]>,
    ) -> Result<Vec<(&str, Value)>> {
        let row = self.node_row(self.0.node(id)?)?;
        self.values(&row.ok_or_else(|| self.0.base.no_node(id))?, &self.0.schema.nodes, names)
    }

    /// The values of properties of many nodes, as [`PropertyGraph::get_node_property`] has them of each.
    /// Of files that are not in memory, what lies close together is read at once.
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
        let mut blocks = BTreeMap::<u32, (Vec<usize>, Vec<u64>)>::new();
        let shards = self.0.base.shards().len() as u32;
        for ((i, id), found) in ids.iter().enumerate().zip(&mut found) {
            let v = self.0.node(id)?;
            match self.node_row(v)?.ok_or_else(|| self.0.base.no_node(id))? {
                Row::File(Rows::Blocks(_), row) => {
                    let (places, rows) = blocks.entry(v % shards).or_default();
                    places.push(i);
                    rows.push(row);
                }
                row => *found = self.values(&row, known, names)?,
            }
        }
        for (shard, (places, rows)) in blocks {
            let nodes = self.0.base.shards().get(shard as usize).map(|shard| &shard.nodes);
            let Some(Rows::Blocks(nodes)) = nodes else { continue };
            nodes.each_of(&rows, |number, values| {
                if let Some(found) = places.get(number).and_then(|place| found.get_mut(*place)) {
                    *found = self.values(&Row::Log(values.0), known, names)?;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }

    /// Some bytes of a node's property, which is a string or bytes: those of `part` that there are, or
    /// nothing if it is null. A long value in [`PropertyLayout::Blocks`] is not read whole.
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
        let row = self.node_row(self.0.node(id)?)?;
        let mut bytes = Vec::new();
        let there = match row.ok_or_else(|| self.0.base.no_node(id))? {
            Row::File(rows, row) => rows.get_part(row, property, part, &mut bytes)?,
            row => {
                let mut value = Vec::new();
                let there = row.get(property, &mut value)?;
                let at = |offset: u64| (offset as usize).min(value.len());
                bytes
                    .extend_from_slice(value.get(at(part.start)..at(part.end)).unwrap_or_default());
                there
            }
        };
        Ok(there.then_some(bytes))
    }

    /// All that a node has, which is there.
    pub(super) fn node_values(&self, v: VertexId) -> Result<Vec<(&str, Value)>> {
        match self.node_row(v)? {
            Some(row) => self.values(&row, &self.0.schema.nodes, None),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn values<'g>(
        &'g self,
        row: &Row<'_>,
        known: &'g Properties,
        names: Option<&[&str]>,
    ) -> Result<Vec<(&'g str, Value)>> {
        let specs = known.specs();
        let mut found = Vec::with_capacity(names.map_or(specs.len(), <[&str]>::len));
        let Some(names) = names else {
            row.each(|property, bytes| {
                if let Some(spec) = known.get(property) {
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

    /// The nodes that meet all these conditions, ascending by their place in the store; all nodes if
    /// nothing is asked for.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, a value of another type, or substrings of what is
    /// no text; damage.
    pub fn get_node_ids(&self, properties: &[(&str, Condition)]) -> Result<Vec<ExternalId>> {
        let wanted = self.0.schema.nodes.wanted(properties)?;
        let log = &self.0.log;
        let mut found = match wanted.is_empty() {
            true => (0..self.0.filed()).collect(),
            false => self.find_in_files(&wanted)?,
        };
        // Whatever has changed is asked anew.
        found.retain(|v| u32::try_from(*v).is_ok_and(|v| log.node(v).is_none()));
        for v in log.candidates(&wanted) {
            if log.node(v).is_some() && self.0.is_alive(v) && self.has(v, &wanted)? {
                found.push(v.into());
            }
        }
        found.sort_unstable();
        found.into_iter().map(|v| self.0.external(v)).collect()
    }

    fn find_in_files(&self, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        let shards = self.0.base.shards();
        let mut found = Vec::new();
        for (number, shard) in (0..).zip(shards) {
            let rows = shard.nodes.find(wanted)?;
            found.extend(rows.into_iter().map(|row| row * shards.len() as u64 + number));
        }
        Ok(found)
    }

    pub(super) fn has(&self, v: VertexId, wanted: &[(u32, Wanted)]) -> Result<bool> {
        if wanted.is_empty() {
            return Ok(true);
        }
        let Some(row) = self.node_row(v)? else { return Ok(false) };
        row.has(wanted)
    }

    /// The value of a node property that a text stands for; see [`Value::parse`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, or a text that is no value of it.
    pub fn parse(&self, name: &str, text: &str) -> Result<Value> {
        let (_, spec) = self.0.schema.nodes.find(name)?;
        let of = PropertyType::of(spec.ty.scalar);
        Value::parse(of, text.as_bytes())
            .map_err(|error| Error::Invalid(format!("property '{name}': {error}")))
    }
}

impl Row<'_> {
    /// Appends the value of a property; false if there is none.
    fn get(&self, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            Row::File(rows, row) => rows.get(*row, property, out),
            Row::Log(values) => {
                let found = Values(values).find(|(number, _)| *number == property);
                found.iter().for_each(|(_, value)| out.extend_from_slice(value));
                Ok(found.is_some())
            }
        }
    }

    fn each(&self, mut f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            Row::File(rows, row) => rows.each(*row, f),
            Row::Log(values) => Values(values).try_for_each(|(property, value)| f(property, value)),
        }
    }

    pub(super) fn has(&self, wanted: &[(u32, Wanted)]) -> Result<bool> {
        let mut bytes = Vec::new();
        for (property, wanted) in wanted {
            bytes.clear();
            if !self.get(*property, &mut bytes)? || !wanted.fits(&bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
