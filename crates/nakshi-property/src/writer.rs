//! Writer of the files of a shard: rows in groups, each encoded when it is full.

use std::collections::{BTreeMap, BTreeSet};

use nakshi_io::CancelToken;

use super::blocks::{BlockDirectory, BlockWriter};
use super::column::{CodecChoice, ColumnBuilder};
use super::flat::{FlatDirectory, FlatWriter};
use super::packed::{Packed, width_of};
use super::packed_list::{AscendingList, NumberList};
use super::row::{EncodedEdge, GROUP, RowKind, RowValues};
use super::segment::{EdgeDirectory, GroupDirectory, NodeDirectory};
use super::{PropertyLayout, PropertySpec};
use nakshi_store::Sink;
use nakshi_store::{Error, Result};

/// Writer of a file of rows, by layout.
#[derive(Debug)]
pub(super) enum RowWriter {
    Columns(ColumnWriter),
    Flat(FlatWriter),
    Blocks(BlockWriter),
}

/// Directory of a file of rows; one field is set, by layout.
#[derive(Debug, Default)]
struct RowDirectory {
    groups: Vec<GroupDirectory>,
    flat: Option<FlatDirectory>,
    blocks: Option<BlockDirectory>,
}

impl RowWriter {
    /// Starts a file in `layout`, of nodes or of edges with the properties `specs`. A group has up to
    /// `limit` bytes of values.
    pub(super) fn create(
        layout: PropertyLayout,
        kind: RowKind,
        specs: &[PropertySpec],
        sink: Sink,
        limit: usize,
        cancel: &CancelToken,
    ) -> Result<Self> {
        Ok(match layout {
            PropertyLayout::Columns => {
                RowWriter::Columns(ColumnWriter::new(specs, sink, limit, cancel))
            }
            PropertyLayout::Zipg => {
                RowWriter::Flat(FlatWriter::create(sink, limit, cancel, kind, specs)?)
            }
            PropertyLayout::Blocks => RowWriter::Blocks(BlockWriter::new(sink, limit, cancel)),
        })
    }

    fn push(&mut self, values: RowValues<'_>) -> Result<()> {
        match self {
            RowWriter::Columns(rows) => rows.push(values),
            RowWriter::Flat(rows) => rows.push(values),
            RowWriter::Blocks(rows) => rows.push(values),
        }
    }

    fn push_edge(&mut self, edge: &EncodedEdge<'_>) -> Result<()> {
        match self {
            RowWriter::Columns(rows) => rows.push_edge(edge),
            RowWriter::Flat(rows) => rows.push_edge(edge),
            RowWriter::Blocks(rows) => rows.push_edge(edge),
        }
    }

    fn finish(self) -> Result<(Sink, RowDirectory)> {
        let mut directory = RowDirectory::default();
        let sink = match self {
            RowWriter::Columns(rows) => {
                let (sink, groups) = rows.finish()?;
                directory.groups = groups;
                sink
            }
            RowWriter::Flat(rows) => {
                let (sink, flat) = rows.finish()?;
                directory.flat = Some(flat);
                sink
            }
            RowWriter::Blocks(rows) => {
                let (sink, blocks) = rows.finish()?;
                directory.blocks = Some(blocks);
                sink
            }
        };
        Ok((sink, directory))
    }
}

/// Writer of a file of columns.
#[derive(Debug)]
pub(super) struct ColumnWriter {
    sink: Sink,
    /// Bytes of values up to which a group grows before it is encoded.
    limit: usize,
    cancel: CancelToken,
    /// Numbers of the searchable properties.
    searchable: BTreeSet<u32>,
    groups: Vec<GroupDirectory>,
    rows: u32,
    memory: usize,
    columns: BTreeMap<u32, ColumnBuilder>,
    ends: Vec<u64>,
    times: ColumnBuilder,
}

impl ColumnWriter {
    fn new(specs: &[PropertySpec], sink: Sink, limit: usize, cancel: &CancelToken) -> Self {
        let searchable = (0..).zip(specs).filter(|(_, spec)| spec.searchable);
        ColumnWriter {
            sink,
            limit,
            cancel: cancel.clone(),
            searchable: searchable.map(|(number, _)| number).collect(),
            groups: Vec::new(),
            rows: 0,
            memory: 0,
            columns: BTreeMap::new(),
            ends: Vec::new(),
            times: ColumnBuilder::default(),
        }
    }

    fn push(&mut self, values: RowValues<'_>) -> Result<()> {
        for (property, value) in values {
            self.columns.entry(property).or_default().push(self.rows, value);
            self.memory += value.len() + 12;
        }
        self.rows += 1;
        if self.rows == GROUP || self.memory > self.limit { self.encode() } else { Ok(()) }
    }

    fn push_edge(&mut self, edge: &EncodedEdge<'_>) -> Result<()> {
        self.ends.push(edge.end);
        self.times.push(self.rows, &edge.time);
        self.memory += 28;
        self.push(edge.values)
    }

    /// Encodes the pending rows as a group.
    fn encode(&mut self) -> Result<()> {
        let (mut group, mut bytes) = (GroupDirectory::default(), Vec::new());
        group.rows = self.rows;
        for (property, column) in std::mem::take(&mut self.columns) {
            let codec = match self.searchable.contains(&property) {
                true => CodecChoice::Searchable,
                false => CodecChoice::Smallest,
            };
            let layout = column.write(self.rows, codec, &self.cancel, &mut bytes)?;
            let layout = layout.moved(self.sink.len());
            group.columns.insert(property, layout);
            self.drain(&mut bytes)?;
        }
        if !self.times.is_empty() {
            let most = self.ends.iter().copied().max().unwrap_or(0);
            let ends = Packed::write(self.ends.drain(..), width_of(most), &mut bytes);
            group.ends = Some(ends.moved(self.sink.len()));
            self.drain(&mut bytes)?;
            let times = std::mem::take(&mut self.times);
            let layout = times.write(self.rows, CodecChoice::Numbers, &self.cancel, &mut bytes)?;
            let layout = layout.moved(self.sink.len());
            group.times = Some(layout);
            self.drain(&mut bytes)?;
        }
        self.groups.push(group);
        (self.rows, self.memory) = (0, 0);
        Ok(())
    }

    fn drain(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.sink.append(bytes)?;
        bytes.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(Sink, Vec<GroupDirectory>)> {
        if self.rows > 0 {
            self.encode()?;
        }
        Ok((self.sink, self.groups))
    }
}

/// Writer of the node file of a shard.
#[derive(Debug)]
pub(super) struct NodeWriter {
    rows: RowWriter,
    next: u64,
}

impl NodeWriter {
    pub(super) fn new(rows: RowWriter) -> Self {
        NodeWriter { rows, next: 0 }
    }

    /// Appends the properties of `node`, which must be higher than all nodes before.
    pub(super) fn push(&mut self, node: u64, values: RowValues<'_>) -> Result<()> {
        while self.next < node {
            self.rows.push(RowValues(&[]))?;
            self.next += 1;
        }
        self.next += 1;
        self.rows.push(values)
    }

    pub(super) fn finish(mut self, nodes: u64) -> Result<(Sink, NodeDirectory)> {
        if self.next > nodes {
            return Err(Error::Invalid(format!("node {} in a shard of {nodes}", self.next - 1)));
        }
        while self.next < nodes {
            self.rows.push(RowValues(&[]))?;
            self.next += 1;
        }
        let (sink, RowDirectory { groups, flat, blocks }) = self.rows.finish()?;
        Ok((sink, NodeDirectory { groups, flat, blocks }))
    }
}

/// Writer of the edge file of a shard.
#[derive(Debug)]
pub(super) struct EdgeWriter {
    rows: RowWriter,
    edges: u64,
    /// First record of each node so far.
    nodes: AscendingList,
    types: NumberList,
    records: AscendingList,
}

impl EdgeWriter {
    pub(super) fn new(rows: RowWriter) -> Self {
        let (nodes, records) = (AscendingList::default(), AscendingList::default());
        EdgeWriter { rows, edges: 0, nodes, types: NumberList::default(), records }
    }

    /// Appends the next edge, in the order of nodes, types, times and insertion.
    pub(super) fn push(&mut self, edge: &EncodedEdge<'_>) -> Result<()> {
        let first = self.nodes.len() <= edge.node;
        while self.nodes.len() <= edge.node {
            self.nodes.push(self.types.len());
        }
        if first || self.types.last() != Some(edge.ty) {
            self.types.push(edge.ty);
            self.records.push(self.edges);
        }
        self.edges += 1;
        self.rows.push_edge(edge)
    }

    pub(super) fn finish(mut self, nodes: u64) -> Result<(Sink, EdgeDirectory)> {
        if self.nodes.len() > nodes {
            return Err(Error::Invalid(format!("an edge of node {}", self.nodes.len() - 1)));
        }
        while self.nodes.len() <= nodes {
            self.nodes.push(self.types.len());
        }
        self.records.push(self.edges);
        let (mut sink, RowDirectory { groups, flat, blocks }) = self.rows.finish()?;
        let (mut bytes, at) = (Vec::new(), sink.len());
        let directory = EdgeDirectory {
            nodes: self.nodes.write(&mut bytes).moved(at),
            types: self.types.write(&mut bytes).moved(at),
            records: self.records.write(&mut bytes).moved(at),
            groups,
            flat,
            blocks,
        };
        sink.append(&bytes)?;
        Ok((sink, directory))
    }
}
