//! Streams of all lists of a direction, in the order of the layout, with the values of a column.

use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{Block, BlockReader, IoStats};

use crate::{Adjacency, AttributeColumn, ColumnSlice, Direction, Result, Store, VertexId};

/// Bytes of lists that are read at a time.
const CHUNK: u64 = 1 << 20;

/// One vertex's list.
pub struct ListView<'l> {
    /// The vertex.
    pub vertex: VertexId,
    /// Its neighbours, ascending.
    pub neighbours: &'l [VertexId],
    /// Values of the column, in the order of the neighbours.
    pub values: Option<ColumnSlice<'l>>,
}

/// The lists of one direction in chunks, which several threads may read at the same time.
pub struct ListStream<'s> {
    adjacency: &'s Adjacency,
    column: Option<&'s AttributeColumn>,
    /// First vertex of each chunk, then the number of vertices.
    starts: Vec<u64>,
}

impl<'s> ListStream<'s> {
    /// Makes a stream of the lists of `direction`, with the values of `column`.
    ///
    /// # Errors
    /// Same as [`Store::adjacency`].
    pub fn new(
        store: &'s Store,
        direction: Direction,
        column: Option<&'s AttributeColumn>,
    ) -> Result<Self> {
        let adjacency = store.adjacency(direction)?;
        let vertices = store.num_vertices();
        let (mut starts, mut start) = (vec![0], 0);
        for (extent, vertex) in adjacency.extents(0..vertices).zip(0..) {
            if extent.end - start > CHUNK && starts.last().is_some_and(|&first| first < vertex) {
                starts.push(vertex);
                start = extent.start;
            }
        }
        starts.push(vertices);
        Ok(Self { adjacency, column, starts })
    }

    /// Returns the number of chunks.
    pub fn chunks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The vertices of a chunk.
    pub fn vertices(&self, chunk: usize) -> Range<u64> {
        match self.starts.get(chunk..chunk.saturating_add(2)) {
            Some(&[from, to]) => from..to,
            _ => 0..0,
        }
    }

    /// Returns the number of list entries of all chunks.
    pub fn entries(&self) -> u64 {
        self.adjacency.arcs()
    }

    /// Makes a reader for one thread.
    ///
    /// # Errors
    /// The errors of opening files.
    pub fn reader(&self) -> Result<ChunkReader<'_>> {
        let stats = Arc::new(IoStats::default());
        let values = match self.column {
            Some(column) => Some((column, column.file().reader(1, Arc::clone(&stats))?)),
            None => None,
        };
        let lists = self.adjacency.file().reader(1, stats)?;
        Ok(ChunkReader { stream: self, lists, values, neighbours: Vec::new() })
    }
}

/// Reads chunks of a [`ListStream`].
pub struct ChunkReader<'s> {
    stream: &'s ListStream<'s>,
    lists: BlockReader,
    values: Option<(&'s AttributeColumn, BlockReader)>,
    neighbours: Vec<VertexId>,
}

impl ChunkReader<'_> {
    /// Visits every nonempty list of a chunk; returns the number of their entries.
    ///
    /// # Errors
    /// Damage, read errors, and those of `visit`.
    pub fn visit(
        &mut self,
        chunk: usize,
        mut visit: impl FnMut(ListView<'_>) -> Result<()>,
    ) -> Result<u64> {
        let Some(&[from, to]) = self.stream.starts.get(chunk..chunk + 2) else { return Ok(0) };
        let adjacency = self.stream.adjacency;
        let extent = |v: u64| adjacency.extents(v..v + 1).next().unwrap_or_default();
        let (start, end) = (extent(from).start, extent(to.saturating_sub(1)).end);
        if from == to || end <= start {
            return Ok(0);
        }
        let Some(block) = fetch(&mut self.lists, start..end)? else { return Ok(0) };
        let values = match &mut self.values {
            Some((column, reader)) => Some((*column, ChunkValues::new(column, reader, from..to)?)),
            None => None,
        };
        let mut entries = 0;
        for (extent, vertex) in adjacency.extents(from..to).zip(from..to) {
            let vertex = u32::try_from(vertex).unwrap_or(u32::MAX);
            let range = (extent.start - start) as usize..(extent.end - start) as usize;
            if range.is_empty() {
                continue;
            }
            self.neighbours.clear();
            adjacency
                .list(block.slack(), range)
                .and_then(|list| list.decode_into(&mut self.neighbours))
                .map_err(|error| adjacency.blame(vertex, error))?;
            entries += self.neighbours.len() as u64;
            let values = values.as_ref().map(|(column, values)| values.of(column, vertex));
            visit(ListView { vertex, neighbours: &self.neighbours, values })?;
        }
        Ok(entries)
    }
}

fn fetch(reader: &mut BlockReader, range: Range<u64>) -> Result<Option<Block>> {
    reader.submit(range, 0)?;
    Ok(reader.next()?)
}

/// The values of consecutive vertices.
struct ChunkValues {
    block: Option<Block>,
    start: u64,
}

impl ChunkValues {
    fn new(
        column: &AttributeColumn,
        reader: &mut BlockReader,
        vertices: Range<u64>,
    ) -> Result<Self> {
        let narrow = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
        let start = column.extent(narrow(vertices.start)).start;
        let end = column.extent(narrow(vertices.end.saturating_sub(1))).end;
        let block = if end > start { fetch(reader, start..end)? } else { None };
        Ok(Self { block, start })
    }

    fn of<'v>(&'v self, column: &AttributeColumn, vertex: VertexId) -> ColumnSlice<'v> {
        let extent = column.extent(vertex);
        let bytes = self.block.as_ref().map(Block::bytes).unwrap_or_default();
        let range = (extent.start - self.start) as usize..(extent.end - self.start) as usize;
        column.slice(bytes.get(range).unwrap_or_default())
    }
}
