//! Writer of a fragment, and the freezing of a log.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::WriteFs;
use nakshi_io::{CancelToken, Salt, Striping};
use nakshi_store::files::Uuid;
use nakshi_store::{Error, ExternalId, FileEntry, Result, Sink, VertexId};

use super::super::PropertyLayout;
use super::super::entry::FragmentEntry;
use super::super::key_filter::KeyFilter;
use super::super::logstore::{LayerId, LogStore};
use super::super::packed::{Packed, width_of};
use super::super::packed_list::AscendingList;
use super::super::row::{EncodedEdge, RowKind, RowValues};
use super::super::row_set::RowSetBuilder;
use super::super::schema::encoded_number;
use super::super::value::ordered_int;
use super::super::writer::{EdgeWriter, NodeWriter, RowWriter};
use super::directory::{
    EndBlock, FragmentDirectory, FragmentSets, Hidden, edge_key, name_key, name_of,
};

/// Edges of a block of destinations.
const END_BLOCK: usize = 1 << 18;
/// Rows between two checks of the cancel token.
const ROWS: u64 = 1 << 12;

/// Creates the files of a fragment.
#[derive(Debug)]
pub(in super::super) struct FragmentFiles<'f> {
    pub(in super::super) fs: &'f Arc<dyn WriteFs>,
    pub(in super::super) dir: &'f Path,
    pub(in super::super) store: Uuid,
    pub(in super::super) page_size: u32,
    /// The generation of the manifest that names them first.
    pub(in super::super) generation: u64,
    /// Number of the fragment.
    pub(in super::super) id: LayerId,
    /// Number of the next file.
    pub(in super::super) next: u32,
    /// Bytes of values that are encoded at once.
    pub(in super::super) group: usize,
    pub(in super::super) cancel: &'f CancelToken,
}

impl FragmentFiles<'_> {
    /// Begins the file of a kind.
    pub(in super::super) fn sink(&mut self, kind: &str) -> Result<Sink> {
        let name = format!("fragment-{}.{}.{kind}", self.generation, self.id);
        let path = self.dir.join(&name);
        if std::fs::symlink_metadata(&path).is_ok() {
            // Left by an attempt that failed.
            self.fs.remove_file(&path)?;
        }
        let salt = Salt { store: self.store, file: self.next };
        self.next += 1;
        Sink::create(self.fs.as_ref(), name, Striping::single(path), self.page_size, salt)
    }

    /// Makes a file durable.
    pub(in super::super) fn finish(&self, sink: Sink) -> Result<FileEntry> {
        let sums = self.dir.join(format!("{}.sum", sink.name()));
        if std::fs::symlink_metadata(&sums).is_ok() {
            self.fs.remove_file(&sums)?;
        }
        sink.finish(self.fs.as_ref(), self.dir)
    }

    fn rows(&mut self, kind: RowKind, file: &str) -> Result<RowWriter> {
        let (sink, group) = (self.sink(file)?, self.group);
        // Columns of a fragment are not searchable: that would take much memory, and a fragment is small.
        RowWriter::create(PropertyLayout::Columns, kind, &[], sink, group, self.cancel)
    }
}

/// Writes the parts of a fragment: first its nodes, then its edges, each in their order.
#[derive(Debug)]
pub(in super::super) struct FragmentWriter<'f> {
    files: FragmentFiles<'f>,
    directory: FragmentDirectory,
    sets: FragmentSets,
    keys: KeyFilter,
    /// The changed nodes, the deleted ones, those whose older edges are deleted, and those of whose properties
    /// older layers have some.
    nodes: [RowSetBuilder; 4],
    node_rows: Option<NodeWriter>,
    node_file: Option<FileEntry>,
    name_file: Option<FileEntry>,
    names: u64,
    sources: RowSetBuilder,
    edge_rows: Option<EdgeWriter>,
    edges: u64,
    /// Destination and row of the edges that are not in a block of destinations yet.
    ends: Vec<(VertexId, u32)>,
    end_file: Option<Sink>,
}

impl<'f> FragmentWriter<'f> {
    /// Begins a fragment of at most `keys` new edges and new ids together.
    pub(in super::super) fn new(mut files: FragmentFiles<'f>, keys: u64) -> Result<Self> {
        let rows = files.rows(RowKind::Nodes, "nodes")?;
        Ok(FragmentWriter {
            files,
            directory: FragmentDirectory::default(),
            sets: FragmentSets::default(),
            keys: KeyFilter::for_keys(keys),
            nodes: Default::default(),
            node_rows: Some(NodeWriter::new(rows)),
            node_file: None,
            name_file: None,
            names: 0,
            sources: RowSetBuilder::default(),
            edge_rows: None,
            edges: 0,
            ends: Vec::new(),
            end_file: None,
        })
    }

    /// Adds the next changed node; `values` is `None` if it is deleted. It has no other properties if it is
    /// `whole`, and lost its older edges if it is `cut`.
    pub(in super::super) fn node(
        &mut self,
        v: VertexId,
        values: Option<RowValues<'_>>,
        whole: bool,
        cut: bool,
    ) -> Result<()> {
        let [nodes, deleted, cuts, partial] = &mut self.nodes;
        let row = nodes.len();
        if row.is_multiple_of(ROWS) {
            self.files.cancel.check()?;
        }
        nodes.push(v.into());
        if values.is_none() {
            deleted.push(v.into());
        }
        if cut {
            cuts.push(v.into());
        }
        if !whole {
            partial.push(v.into());
        }
        let done = Error::Internal("a node of a fragment after its edges");
        self.node_rows.as_mut().ok_or(done)?.push(row, values.unwrap_or(RowValues(&[])))
    }

    /// Completes the nodes, and begins the ids of the new ones, the first of which is `first`.
    pub(in super::super) fn names(
        &mut self,
        first: VertexId,
        names: impl Iterator<Item = Result<ExternalId>>,
    ) -> Result<()> {
        let Some(rows) = self.node_rows.take() else { return Ok(()) };
        let [nodes, deleted, cut, partial] = std::mem::take(&mut self.nodes);
        let (sink, directory) = rows.finish(nodes.len())?;
        self.node_file = Some(self.files.finish(sink)?);
        self.directory.nodes = directory;
        self.sets.nodes = nodes.finish();
        self.sets.deleted = deleted.finish();
        self.sets.cut = cut.finish();
        self.sets.partial = partial.finish();
        self.directory.first = first;
        let (mut writer, mut bytes) = (None, Vec::new());
        for name in names {
            let (kind, name) = name_of(&name?);
            let rows = match &mut writer {
                Some(rows) => rows,
                none => none.insert(NodeWriter::new(self.files.rows(RowKind::Nodes, "names")?)),
            };
            self.keys.insert(name_key(kind, &name));
            bytes.clear();
            RowValues::put(kind, &name, &mut bytes);
            rows.push(self.names, RowValues(&bytes))?;
            self.names += 1;
        }
        if let Some(writer) = writer {
            let (sink, directory) = writer.finish(self.names)?;
            self.name_file = Some(self.files.finish(sink)?);
            self.directory.names = Some(directory);
        }
        Ok(())
    }

    /// Notes that records of a source are changed; its edges follow.
    pub(in super::super) fn source(&mut self, source: VertexId) -> Result<()> {
        if self.sources.last() != Some(source.into()) {
            self.files.cancel.check()?;
            self.sources.push(source.into());
        }
        Ok(())
    }

    /// Adds the next edge of the last source, in the order of types, times and layers.
    pub(in super::super) fn edge(
        &mut self,
        ty: u64,
        (time, end): (i64, VertexId),
        values: RowValues<'_>,
    ) -> Result<()> {
        let rows = match &mut self.edge_rows {
            Some(rows) => rows,
            none => none.insert(EdgeWriter::new(self.files.rows(RowKind::Edges, "edges")?)),
        };
        rows.push(&EncodedEdge {
            node: self.sources.len().saturating_sub(1),
            ty,
            time: ordered_int(time).to_be_bytes(),
            end: end.into(),
            values,
        })?;
        if let Some(source) = self.sources.last() {
            // Sources are numbers of nodes.
            self.keys.insert(edge_key((source as VertexId, ty, end)));
        }
        let many = || Error::Unsupported("2^32 edges in a fragment".into());
        self.ends.push((end, u32::try_from(self.edges).map_err(|_| many())?));
        self.edges += 1;
        if self.ends.len() < END_BLOCK { Ok(()) } else { self.write_ends() }
    }

    /// Completes the fragment, which deletes `hidden` edges of older layers. All its files are durable
    /// then. Returns the number of the next file, too.
    pub(in super::super) fn finish(
        mut self,
        level: u32,
        hidden: Vec<Hidden>,
    ) -> Result<(FragmentEntry, u32)> {
        let changed = self.sets.nodes.len();
        let added = self.edges;
        let (edges, ends) = self.finish_edges()?;
        self.directory.hidden = hidden;
        self.sets.keys = Some(self.keys);
        let broken = Error::Internal("the directory of a fragment is no JSON");
        let bytes = self.directory.write(&self.sets).map_err(|_| broken)?;
        let mut sink = self.files.sink("index")?;
        sink.append(&bytes)?;
        let index = self.files.finish(sink)?;
        let nodes = self.node_file.ok_or(Error::Internal("a fragment without nodes"))?;
        let FragmentFiles { fs, dir, id, next, .. } = self.files;
        fs.sync_dir(dir)?;
        let (names, named) = (self.name_file, self.names);
        let late = None;
        Ok((
            FragmentEntry {
                id,
                level,
                changed,
                named,
                added,
                nodes,
                names,
                edges,
                ends,
                index,
                late,
            },
            next,
        ))
    }

    fn finish_edges(&mut self) -> Result<(Option<FileEntry>, Option<FileEntry>)> {
        self.sets.sources = std::mem::take(&mut self.sources).finish();
        let Some(rows) = self.edge_rows.take() else { return Ok((None, None)) };
        let (sink, directory) = rows.finish(self.sets.sources.len())?;
        self.directory.edges = Some(directory);
        let edges = self.files.finish(sink)?;
        self.write_ends()?;
        let ends = self.end_file.take().map(|sink| self.files.finish(sink)).transpose()?;
        Ok((Some(edges), ends))
    }

    /// Writes the destinations of the last edges as a block.
    fn write_ends(&mut self) -> Result<()> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let mut sink = match self.end_file.take() {
            Some(sink) => sink,
            None => self.files.sink("ends")?,
        };
        self.ends.sort_unstable();
        let (mut distinct, mut starts) = (RowSetBuilder::default(), AscendingList::default());
        for (at, (end, _)) in (0..).zip(&self.ends) {
            if distinct.last() != Some((*end).into()) {
                distinct.push((*end).into());
                starts.push(at);
            }
        }
        starts.push(self.ends.len() as u64);
        let (mut bytes, at) = (Vec::new(), sink.len());
        let starts = starts.write(&mut bytes).moved(at);
        let rows = self.ends.iter().map(|(_, row)| u64::from(*row));
        let rows = Packed::write(rows, width_of(self.edges), &mut bytes).moved(at);
        sink.append(&bytes)?;
        self.directory.ends.push(EndBlock { starts, rows });
        self.sets.ends.push(distinct.finish());
        self.ends.clear();
        self.end_file = Some(sink);
        Ok(())
    }
}

/// Writes a log as a fragment. `number` is the property with the numbers of edges; `start_of` gives the
/// shard and the first row of an edge record in an older layer; `first` is the first new node.
///
/// # Errors
/// Errors of writing; [`Error::Cancelled`].
pub(in super::super) fn freeze(
    log: &LogStore,
    number: Option<u32>,
    first: VertexId,
    start_of: &dyn Fn(LayerId, VertexId, u64) -> Result<(u32, u64)>,
    files: FragmentFiles<'_>,
) -> Result<(FragmentEntry, u32)> {
    let edges: usize = log.changed_records().map(|(_, change)| change.edges.len()).sum();
    let keys = edges as u64 + log.names().count() as u64;
    let mut writer = FragmentWriter::new(files, keys)?;
    for (v, change) in log.changed_nodes() {
        writer.node(v, change.values.as_deref().map(RowValues), change.whole, change.cut)?;
    }
    writer.names(first, log.names().map(|id| Ok(id.clone())))?;
    let mut hidden: BTreeMap<(LayerId, u32), Vec<u64>> = BTreeMap::new();
    for ((source, ty), change) in log.changed_records() {
        writer.source(source)?;
        for edge in change.edges.iter() {
            let (at, values) = ((edge.time, edge.end), RowValues(&edge.values));
            match number.filter(|_| edge.number > 0) {
                None => writer.edge(ty, at, values)?,
                Some(property) => {
                    let bytes = encoded_number(edge.number);
                    let row = values.merged(&[(property, bytes.as_slice())], |_| false);
                    writer.edge(ty, at, RowValues(&row))?
                }
            };
        }
        for (layer, positions) in change.all_hidden() {
            let (shard, start) = start_of(*layer, source, ty)?;
            let rows = positions.iter().map(|position| start + position);
            hidden.entry((*layer, shard)).or_default().extend(rows);
        }
    }
    writer.finish(0, Hidden::of(hidden))
}
