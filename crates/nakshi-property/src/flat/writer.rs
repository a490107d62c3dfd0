//! Writer of the flat layout, which turns rows into texts group by group.

use nakshi_io::CancelToken;
use nakshi_succinct::Options;

use super::super::row::{EncodedEdge, GROUP, RowKind, RowValues};
use super::super::value::plain_int;
use super::delimiter::DelimitedProperties;
use super::directory::{FlatDirectory, FlatGroup};
use super::edges::PendingEdges;
use super::list::PendingLists;
use super::nodes;
use crate::PropertySpec;
use crate::compressed_text::{TextExtent, compress};
use nakshi_store::Result;
use nakshi_store::Sink;

/// A file of the flat layout under construction.
#[derive(Debug)]
pub(crate) struct FlatWriter {
    sink: Sink,
    /// Bytes of text in a group, without its last row.
    limit: usize,
    cancel: CancelToken,
    properties: DelimitedProperties,
    groups: Vec<FlatGroup>,
    lists: PendingLists,
    /// The pending edges of an EdgeFile; none for a NodeFile.
    edges: Option<PendingEdges>,
    memory: usize,
}

/// Compression of the text of a NodeFile.
const NODES: Options =
    Options { sa_rate: 32, isa_rate: 32, psi: nakshi_succinct::Psi::Runs, psi_block: 64 };
/// Compression of the text of an EdgeFile, which is read more often than it is searched.
const EDGES: Options =
    Options { sa_rate: 128, isa_rate: 32, psi: nakshi_succinct::Psi::Runs, psi_block: 64 };

impl FlatWriter {
    /// Starts a NodeFile or an EdgeFile.
    pub(crate) fn create(
        sink: Sink,
        limit: usize,
        cancel: &CancelToken,
        kind: RowKind,
        specs: &[PropertySpec],
    ) -> Result<Self> {
        Ok(FlatWriter {
            sink,
            limit,
            cancel: cancel.clone(),
            properties: DelimitedProperties::of(specs)?,
            groups: Vec::new(),
            lists: PendingLists::default(),
            edges: (kind == RowKind::Edges).then(PendingEdges::default),
            memory: 0,
        })
    }

    /// Appends the next row.
    pub(crate) fn push(&mut self, values: RowValues<'_>) -> Result<()> {
        self.memory += self.lists.push(&self.properties, values)?;
        if self.lists.len() == GROUP as usize || self.memory > self.limit {
            self.encode()?;
        }
        Ok(())
    }

    /// Appends the next row of an EdgeFile.
    pub(crate) fn push_edge(&mut self, edge: &EncodedEdge<'_>) -> Result<()> {
        if let Some(edges) = &mut self.edges {
            edges.push(edge.node, edge.ty, plain_int(u64::from_be_bytes(edge.time)), edge.end);
            self.memory += 28;
        }
        self.push(edge.values)
    }

    /// Encodes the pending rows as a group.
    fn encode(&mut self) -> Result<()> {
        let lists = std::mem::take(&mut self.lists);
        let (mut text, base) = (Vec::new(), self.sink.len());
        let mut out = Vec::new();
        let (places, options) = match &mut self.edges {
            None => {
                let offsets = nodes::lay_out(&lists, &self.properties, &mut text);
                (nodes::places(&offsets, base, &mut out), NODES)
            }
            Some(edges) => {
                let edges = std::mem::take(edges);
                let laid = edges.lay_out(&lists, &self.properties, &mut text);
                (edges.places(&laid, base, &mut out), EDGES)
            }
        };
        // At most 10 digits and 2^20 rows.
        let (digits, rows) = (lists.digits() as u8, lists.len() as u32);
        drop(lists);
        self.sink.append(&out)?;
        let compressed = compress(text, options, &self.cancel)?;
        let text = TextExtent::of(self.sink.len(), &compressed);
        self.sink.append(&compressed)?;
        self.groups.push(FlatGroup { rows, text, digits, places });
        self.memory = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(Sink, FlatDirectory)> {
        if self.lists.len() > 0 {
            self.encode()?;
        }
        let FlatWriter { sink, properties, groups, .. } = self;
        Ok((sink, FlatDirectory { properties: properties.into_ordered(), groups }))
    }
}
