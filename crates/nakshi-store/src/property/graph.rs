//! The queries of ZipG (Table 1) on a store.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;

use super::blob::Blob;
use super::column::Wanted;
use super::entry::{PropertyEntry, PropertySpec, SegmentDirectory};
use super::flat::FlatEdge;
use super::segment::{Edges, Rows};
use super::value::{PropertyType, Value};
use super::writer::Values;
use crate::ids::ResidentIds;
use crate::{Error, ExternalId, FileEntry, Result, Store, VertexId};

/// A store with properties, its property files in memory as they are on disk: compressed.
///
/// Queries take `&self` and may run on any number of threads.
pub struct PropertyGraph {
    path: PathBuf,
    entry: PropertyEntry,
    ids: ResidentIds,
    node_properties: Names,
    edge_properties: Names,
    types: HashMap<String, u64>,
    shards: Vec<Shard>,
}

impl std::fmt::Debug for PropertyGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PropertyGraph").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Properties by name.
struct Names(HashMap<String, u32>);

pub(super) struct Shard {
    pub(super) nodes: Rows,
    pub(super) edges: Edges,
}

/// The edges of one type of a node, in the order of their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeRecord {
    node: VertexId,
    ty: u64,
    rows: Range<u64>,
}

impl EdgeRecord {
    /// Number of edges.
    pub fn len(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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

impl PropertyGraph {
    /// Loads the property files of a store, which is not needed any more then.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Budget`] if `memory` is less
    /// than they take; those of reading.
    pub fn open(store: &Store, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        let entry = store.manifest().property.clone().ok_or_else(|| {
            Error::Unsupported(format!(
                "{} has no properties; import tables of nodes and edges with properties",
                store.path().display()
            ))
        })?;
        let bytes: u64 = entry.files().map(|file| file.len).sum();
        Error::afford(bytes + Self::ids_bytes(store), memory)?;
        let directory = entry.segments.directory.as_ref();
        let directory =
            directory.ok_or_else(|| lacks(store.path(), "the directory of its properties"))?;
        let directory: SegmentDirectory = {
            let file = store.file(directory)?;
            let bytes = file.load(cancel)?;
            serde_json::from_slice(&bytes).map_err(|error| Error::Corrupt {
                file: file.path().to_path_buf(),
                page: 0,
                what: format!("it does not parse: {error}"),
            })?
        };
        let blob = |file: Option<&FileEntry>| {
            let file = file.ok_or_else(|| lacks(store.path(), "a property file"))?;
            Blob::load(&store.file(file)?, cancel)
        };
        let mut shards = Vec::new();
        for (number, shard) in directory.shards.iter().enumerate() {
            shards.push(Shard {
                nodes: Rows::open(
                    blob(entry.segments.nodes.get(number))?,
                    &shard.nodes.groups,
                    shard.nodes.flat.as_ref(),
                )?,
                edges: Edges::open(blob(entry.segments.edges.get(number))?, &shard.edges)?,
            });
        }
        if shards.len() as u64 != u64::from(entry.shards) || shards.is_empty() {
            return Err(lacks(store.path(), "a shard"));
        }
        Ok(PropertyGraph {
            ids: ResidentIds::load(&store.ids()?, cancel)?,
            node_properties: Names::of(&entry.node_properties),
            edge_properties: Names::of(&entry.edge_properties),
            types: (0..).zip(&entry.edge_types).map(|(i, name)| (name.clone(), i)).collect(),
            path: store.path().to_path_buf(),
            entry,
            shards,
        })
    }

    fn ids_bytes(store: &Store) -> u64 {
        let ids = &store.manifest().ids;
        let files = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
        files.into_iter().flatten().map(|file| file.len).sum()
    }

    pub(super) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// What it holds.
    pub fn entry(&self) -> &PropertyEntry {
        &self.entry
    }

    /// Whether there is a node with this id.
    ///
    /// # Errors
    /// [`Error::BadList`] for a damaged dictionary.
    pub fn has_node(&self, id: &ExternalId) -> Result<bool> {
        Ok(self.ids.internal(id)?.is_some())
    }

    fn node(&self, id: &ExternalId) -> Result<VertexId> {
        let none = || Error::NoNode { id: id.to_string(), path: self.path.clone() };
        self.ids.internal(id)?.ok_or_else(none)
    }

    fn place(&self, v: VertexId) -> Result<(&Shard, u64)> {
        // At least one shard.
        let shards = self.shards.len() as u32;
        let shard = self.shards.get((v % shards) as usize);
        Ok((shard.ok_or_else(|| lacks(&self.path, "a shard"))?, u64::from(v / shards)))
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
        let (shard, row) = self.place(self.node(id)?)?;
        self.values(&shard.nodes, row, &self.node_properties, &self.entry.node_properties, names)
    }

    fn values<'g>(
        &self,
        rows: &Rows,
        row: u64,
        known: &Names,
        specs: &'g [PropertySpec],
        names: Option<&[&str]>,
    ) -> Result<Vec<(&'g str, Value)>> {
        let mut found = Vec::with_capacity(names.map_or(specs.len(), <[&str]>::len));
        let Some(names) = names else {
            rows.each(row, |property, bytes| {
                if let Some(spec) = specs.get(property as usize) {
                    found.push((spec.name.as_str(), decode(rows, spec.ty, bytes)?));
                }
                Ok(())
            })?;
            return Ok(found);
        };
        let mut bytes = Vec::new();
        for name in names {
            let (property, spec) = known.find(name, specs)?;
            bytes.clear();
            let value = match rows.get(row, property, &mut bytes)? {
                true => decode(rows, spec.ty, &bytes)?,
                false => Value::Null,
            };
            found.push((spec.name.as_str(), value));
        }
        Ok(found)
    }

    /// The nodes that have all these values, ascending by their place in the store; all nodes if
    /// nothing is asked for. A list has a value if one of its items is equal.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, or a value of another type; damage.
    pub fn get_node_ids(&self, properties: &[(&str, Value)]) -> Result<Vec<ExternalId>> {
        let wanted = self.node_properties.wanted(properties, &self.entry.node_properties)?;
        let shards = self.shards.len() as u64;
        let mut found = Vec::new();
        for (number, shard) in (0..).zip(&self.shards) {
            let rows = match wanted.is_empty() {
                true => (0..shard.nodes.len()).collect(),
                false => shard.nodes.find(&wanted)?,
            };
            found.extend(rows.into_iter().map(|row| row * shards + number));
        }
        found.sort_unstable();
        found.into_iter().map(|v| self.external(v)).collect()
    }

    fn external(&self, v: u64) -> Result<ExternalId> {
        let v = u32::try_from(v).map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
        self.ids.external(v)
    }

    /// The nodes that edges of a type, or of any, lead to from a node, and that have all these
    /// values. In the order of types and times, each once.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`]; [`Error::NoNode`].
    pub fn get_neighbor_ids(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
        properties: &[(&str, Value)],
    ) -> Result<Vec<ExternalId>> {
        let wanted = self.node_properties.wanted(properties, &self.entry.node_properties)?;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for record in self.records(id, edge_type)? {
            let (shard, _) = self.place(record.node)?;
            for end in shard.edges.rows.ends(record.rows)? {
                if seen.insert(end) && self.has(end, &wanted)? {
                    found.push(self.external(end)?);
                }
            }
        }
        Ok(found)
    }

    fn has(&self, v: u64, wanted: &[(u32, Wanted)]) -> Result<bool> {
        let v = u32::try_from(v).map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
        let (shard, row) = self.place(v)?;
        let mut bytes = Vec::new();
        for (property, wanted) in wanted {
            bytes.clear();
            if !shard.nodes.get(row, *property, &mut bytes)? || !wanted.fits(&bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The edge record of a node and a type; empty if it has no such edges.
    ///
    /// # Errors
    /// [`Error::NoNode`]; damage.
    pub fn get_edge_record(&self, id: &ExternalId, edge_type: &str) -> Result<EdgeRecord> {
        let node = self.node(id)?;
        let Some(ty) = self.types.get(edge_type).copied() else {
            return Ok(EdgeRecord { node, ty: u64::MAX, rows: 0..0 });
        };
        let (shard, number) = self.place(node)?;
        Ok(EdgeRecord { node, ty, rows: shard.edges.record(number, ty)? })
    }

    /// The edge records of a node, one for each type of which it has edges.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_edge_record`].
    pub fn get_edge_records(&self, id: &ExternalId) -> Result<Vec<EdgeRecord>> {
        self.records(id, None)
    }

    fn records(&self, id: &ExternalId, edge_type: Option<&str>) -> Result<Vec<EdgeRecord>> {
        if let Some(name) = edge_type {
            return Ok(vec![self.get_edge_record(id, name)?]);
        }
        let node = self.node(id)?;
        let (shard, number) = self.place(node)?;
        let records = shard.edges.records(number)?;
        Ok(records.into_iter().map(|(ty, rows)| EdgeRecord { node, ty, rows }).collect())
    }

    /// The type of a record's edges.
    pub fn edge_type(&self, record: &EdgeRecord) -> &str {
        self.edge_type_of(record.ty)
    }

    fn edge_type_of(&self, ty: u64) -> &str {
        self.entry.edge_types.get(ty as usize).map_or("", String::as_str)
    }

    /// The edges of a record whose time is at least `t_lo` and less than `t_hi`, as the first and
    /// the end of their places in it; without a bound, from the first or to the last.
    ///
    /// # Errors
    /// Damage.
    pub fn get_edge_range(
        &self,
        record: &EdgeRecord,
        t_lo: Option<i64>,
        t_hi: Option<i64>,
    ) -> Result<Range<u64>> {
        let begin = t_lo.map_or(Ok(0), |time| self.before(record, time))?;
        let end = t_hi.map_or(Ok(record.len()), |time| self.before(record, time))?;
        Ok(begin..end.max(begin))
    }

    /// How many edges of a record are older than `time`.
    pub(super) fn before(&self, record: &EdgeRecord, time: i64) -> Result<u64> {
        let (mut low, mut high) = (0, record.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time(record, middle)? < time { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// The time of the edge at place `i` of a record.
    fn time(&self, record: &EdgeRecord, i: u64) -> Result<i64> {
        let (shard, _) = self.place(record.node)?;
        shard.edges.rows.time(record.rows.start + i)
    }

    /// The internal ids of the destinations of the edges at these places.
    pub(super) fn ends(&self, record: &EdgeRecord, places: Range<u64>) -> Result<Vec<u64>> {
        let (shard, _) = self.place(record.node)?;
        let first = record.rows.start;
        shard.edges.rows.ends(first + places.start..first + places.end)
    }

    /// The internal id of a node, if it is there.
    pub(super) fn internal(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        self.ids.internal(id)
    }

    /// The edge at place `i` of a record, 0 being the oldest.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the record has no such place; damage.
    pub fn get_edge_data(&self, record: &EdgeRecord, i: u64) -> Result<EdgeData<'_>> {
        if i >= record.len() {
            return Err(Error::Invalid(format!(
                "there is no edge {i} in a record of {}",
                record.len()
            )));
        }
        let (shard, _) = self.place(record.node)?;
        if let Rows::Flat(_) = &shard.edges.rows {
            let edge = self.edge_data(record, i..i + 1)?.pop();
            return edge.ok_or_else(|| lacks(&self.path, "an edge"));
        }
        let (rows, row) = (&shard.edges.rows, record.rows.start + i);
        let specs = &self.entry.edge_properties;
        Ok(EdgeData {
            destination: self.external(rows.end(row)?)?,
            timestamp: rows.time(row)?,
            properties: self.values(rows, row, &self.edge_properties, specs, None)?,
        })
    }

    /// The edges at these places, which the record has.
    pub(super) fn edge_data(
        &self,
        record: &EdgeRecord,
        mut places: Range<u64>,
    ) -> Result<Vec<EdgeData<'_>>> {
        let (shard, _) = self.place(record.node)?;
        let Rows::Flat(flat) = &shard.edges.rows else {
            return places.try_fold(Vec::new(), |mut edges, i| {
                edges.push(self.get_edge_data(record, i)?);
                Ok(edges)
            });
        };
        let first = record.rows.start;
        let edge = |edge: FlatEdge| {
            let specs = &self.entry.edge_properties;
            let values = Values(&edge.values).filter_map(|(number, bytes)| {
                let spec = specs.get(number as usize)?;
                let value = decode(&shard.edges.rows, spec.ty, bytes);
                Some(value.map(|value| (spec.name.as_str(), value)))
            });
            Ok(EdgeData {
                destination: self.external(edge.end)?,
                timestamp: edge.time,
                properties: values.collect::<Result<_>>()?,
            })
        };
        flat.edges(first + places.start..first + places.end)?.into_iter().map(edge).collect()
    }

    /// The value of a node property that a text stands for; see [`Value::parse`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown property, or a text that is no value of it.
    pub fn parse(&self, name: &str, text: &str) -> Result<Value> {
        let (_, spec) = self.node_properties.find(name, &self.entry.node_properties)?;
        let of = PropertyType::of(spec.ty.scalar);
        Value::parse(of, text.as_bytes())
            .map_err(|error| Error::Invalid(format!("property '{name}': {error}")))
    }

    /// The edges that have all these values: source, type, and the rest.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`].
    pub fn find_edges(
        &self,
        properties: &[(&str, Value)],
    ) -> Result<Vec<(ExternalId, &str, EdgeData<'_>)>> {
        let wanted = self.edge_properties.wanted(properties, &self.entry.edge_properties)?;
        let shards = self.shards.len() as u64;
        let mut found = Vec::new();
        for (number, shard) in (0..).zip(&self.shards) {
            for row in shard.edges.rows.find(&wanted)? {
                let (node, ty) = shard.edges.of_row(row)?;
                let v = node * shards + number;
                let node = u32::try_from(v).unwrap_or(u32::MAX);
                let record = EdgeRecord { node, ty, rows: row..row + 1 };
                let data = self.get_edge_data(&record, 0)?;
                found.push((self.external(v)?, self.edge_type_of(ty), data));
            }
        }
        Ok(found)
    }
}

impl Names {
    fn of(specs: &[PropertySpec]) -> Self {
        Names((0..).zip(specs).map(|(i, spec)| (spec.name.clone(), i)).collect())
    }

    fn find<'s>(&self, name: &str, specs: &'s [PropertySpec]) -> Result<(u32, &'s PropertySpec)> {
        let number = self.0.get(name).copied();
        let spec = number.and_then(|number| Some((number, specs.get(number as usize)?)));
        spec.ok_or_else(|| {
            let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Error::Invalid(format!("there is no property '{name}' (there are: {known})"))
        })
    }

    /// What is asked for, by number.
    fn wanted(
        &self,
        properties: &[(&str, Value)],
        specs: &[PropertySpec],
    ) -> Result<Vec<(u32, Wanted)>> {
        let wanted = |(name, value): &(&str, Value)| {
            let (property, PropertySpec { ty, .. }) = self.find(name, specs)?;
            let (mut bytes, item) = (Vec::new(), ty.list && !matches!(value, Value::List(_)));
            let of = if item { PropertyType::of(ty.scalar) } else { *ty };
            if !value.encode(of, &mut bytes)? {
                return Err(Error::Invalid(format!(
                    "property '{name}': null is not searched for; ask for a value"
                )));
            }
            Ok((property, if item { Wanted::Item(bytes) } else { Wanted::Equal(bytes) }))
        };
        properties.iter().map(wanted).collect()
    }
}

fn decode(rows: &Rows, ty: PropertyType, bytes: &[u8]) -> Result<Value> {
    let value = Value::decode(ty, bytes);
    value.ok_or_else(|| rows.blob().damaged(0, "a value does not decode"))
}

fn lacks(path: &Path, what: &str) -> Error {
    Error::NotAStore { path: path.to_path_buf(), what: format!("it lacks {what}") }
}
