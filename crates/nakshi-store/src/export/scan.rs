//! All lists of a store in the order of the layout, with their weights.

use std::sync::Arc;

use nakshi_io::{BlockReader, IoStats};

use super::Source;
use crate::import::Progress;
use crate::{Column, ColumnSlice, Direction, Result, VertexId};

/// Bytes of lists that are read at once.
const CHUNK: u64 = 1 << 20;

/// One vertex's list.
pub(super) struct ListView<'l> {
    pub vertex: VertexId,
    pub neighbours: &'l [VertexId],
    /// Weights in the same order.
    pub weights: Option<ColumnSlice<'l>>,
}

/// Visits every list that is not empty; returns the number of list entries.
pub(super) fn for_each_list(
    source: &Source<'_>,
    mut visit: impl FnMut(ListView<'_>) -> Result<()>,
) -> Result<u64> {
    let adjacency = source.store.adjacency(Direction::Out)?;
    let stats = Arc::new(IoStats::default());
    let mut lists = adjacency.file().reader(1, Arc::clone(&stats))?;
    let mut weights = match &source.weight {
        Some(column) => Some((column, column.file().reader(1, stats)?)),
        None => None,
    };
    let vertices = source.store.num_vertices();
    let (mut from, mut entries, mut neighbours) = (0, 0, Vec::new());
    let total = Some(adjacency.arcs());
    while from < vertices {
        source.hooks.check()?;
        let mut to = from;
        let (mut start, mut end) = (0, 0);
        for (extent, vertex) in adjacency.extents(from..vertices).zip(from..) {
            if vertex == from {
                start = extent.start;
            } else if extent.end - start > CHUNK {
                break;
            }
            end = extent.end;
            to = vertex + 1;
        }
        let block = match end > start {
            true => fetch(&mut lists, start..end)?,
            false => None,
        };
        if let Some(block) = block {
            let values = match &mut weights {
                Some((column, reader)) => Some((*column, fetch_values(column, reader, from..to)?)),
                None => None,
            };
            for (extent, vertex) in adjacency.extents(from..to).zip(from..to) {
                let vertex = u32::try_from(vertex).unwrap_or(u32::MAX);
                let range = (extent.start - start) as usize..(extent.end - start) as usize;
                neighbours.clear();
                if range.is_empty() {
                    continue;
                }
                let list = adjacency
                    .list(block.slack(), range)
                    .map_err(|error| adjacency.blame(vertex, error))?;
                list.decode_into(&mut neighbours)
                    .map_err(|error| adjacency.blame(vertex, error))?;
                entries += neighbours.len() as u64;
                let weights = values.as_ref().map(|(column, values)| values.of(column, vertex));
                visit(ListView { vertex, neighbours: &neighbours, weights })?;
            }
        }
        from = to;
        source.hooks.tell(Progress { phase: "write", done: entries, total, edges: entries });
    }
    Ok(entries)
}

fn fetch(
    reader: &mut BlockReader,
    range: std::ops::Range<u64>,
) -> Result<Option<nakshi_io::Block>> {
    reader.submit(range, 0)?;
    Ok(reader.next()?)
}

/// The weights of consecutive vertices.
struct Values {
    block: Option<nakshi_io::Block>,
    start: u64,
}

fn fetch_values(
    column: &Column,
    reader: &mut BlockReader,
    vertices: std::ops::Range<u64>,
) -> Result<Values> {
    let narrow = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
    let start = column.extent(narrow(vertices.start)).start;
    let end = column.extent(narrow(vertices.end.saturating_sub(1))).end;
    let block = if end > start { fetch(reader, start..end)? } else { None };
    Ok(Values { block, start })
}

impl Values {
    fn of<'v>(&'v self, column: &Column, vertex: VertexId) -> ColumnSlice<'v> {
        let extent = column.extent(vertex);
        let bytes = self.block.as_ref().map(nakshi_io::Block::bytes).unwrap_or_default();
        let range = (extent.start - self.start) as usize..(extent.end - self.start) as usize;
        column.slice(bytes.get(range).unwrap_or_default())
    }
}

/// Whether a list entry of an undirected graph is the one of its edge's two that is written.
#[inline]
pub(super) fn is_written(directed: bool, vertex: VertexId, neighbour: VertexId) -> bool {
    directed || vertex <= neighbour
}
