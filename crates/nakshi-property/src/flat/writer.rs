//! Rows become texts, a group at a time.

use nakshi_io::CancelToken;
use nakshi_succinct::Options;

use super::super::row::{Edge, GROUP, Values};
use super::super::value::plain_int;
use super::delimiter::Properties;
use super::directory::{FlatDirectory, FlatGroup};
use super::edges::PendingEdges;
use super::list::Pending;
use super::nodes;
use crate::PropertySpec;
use crate::compressed_text::{Extent, compress};
use nakshi_store::Result;
use nakshi_store::Sink;

/// A file of the flat layout under construction.
#[derive(Debug)]
pub(crate) struct Writer {
    sink: Sink,
    /// Bytes of text in a group, but for the last row.
    limit: usize,
    cancel: CancelToken,
    properties: Properties,
    groups: Vec<FlatGroup>,
    lists: Pending,
    /// Of an EdgeFile.
    edges: Option<PendingEdges>,
    memory: usize,
}

/// How the text of a NodeFile is compressed.
const NODES: Options =
    Options { sa_rate: 32, isa_rate: 32, psi: nakshi_succinct::Psi::Runs, psi_block: 64 };
/// How the text of an EdgeFile is compressed: it is read more than it is searched.
const EDGES: Options =
    Options { sa_rate: 128, isa_rate: 32, psi: nakshi_succinct::Psi::Runs, psi_block: 64 };

impl Writer {
    /// A NodeFile.
    pub(crate) fn nodes(
        sink: Sink,
        limit: usize,
        cancel: &CancelToken,
        specs: &[PropertySpec],
    ) -> Result<Self> {
        Ok(Writer {
            sink,
            limit,
            cancel: cancel.clone(),
            properties: Properties::of(specs)?,
            groups: Vec::new(),
            lists: Pending::default(),
            edges: None,
            memory: 0,
        })
    }

    /// An EdgeFile.
    pub(crate) fn edges(
        sink: Sink,
        limit: usize,
        cancel: &CancelToken,
        specs: &[PropertySpec],
    ) -> Result<Self> {
        let nodes = Self::nodes(sink, limit, cancel, specs)?;
        Ok(Writer { edges: Some(PendingEdges::default()), ..nodes })
    }

    /// The next row.
    pub(crate) fn push(&mut self, values: Values<'_>) -> Result<()> {
        self.memory += self.lists.push(&self.properties, values)?;
        if self.lists.len() == GROUP as usize || self.memory > self.limit {
            self.encode()?;
        }
        Ok(())
    }

    /// The next row of an EdgeFile.
    pub(crate) fn push_edge(&mut self, edge: &Edge<'_>) -> Result<()> {
        if let Some(edges) = &mut self.edges {
            edges.push(edge.node, edge.ty, plain_int(u64::from_be_bytes(edge.time)), edge.end);
            self.memory += 28;
        }
        self.push(edge.values)
    }

    /// Encodes the rows so far as a group.
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
        let text = Extent::of(self.sink.len(), &compressed);
        self.sink.append(&compressed)?;
        self.groups.push(FlatGroup { rows, text, digits, places });
        self.memory = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(Sink, FlatDirectory)> {
        if self.lists.len() > 0 {
            self.encode()?;
        }
        let Writer { sink, properties, groups, .. } = self;
        Ok((sink, FlatDirectory { properties: properties.into_ordered(), groups }))
    }
}
