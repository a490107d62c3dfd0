//! Consecutive lists, encoded separately from the files, so that several threads can encode.

use crate::codec::packed::Encoder;
use crate::codec::{self, BLOCK, raw};
use crate::column::NumberSlice;
use crate::heads::Heads;
use crate::{ColumnType, Encoding, Error, Result, VertexId, varint};

/// Encoded lists of ascending vertices, with their lengths, degrees, heads and values.
///
/// Made with [`crate::StoreBuilder::batch`], filled on any thread, appended with
/// [`crate::StoreBuilder::push_batch`] in vertex order.
#[derive(Debug)]
pub struct ListBatch {
    encoding: Encoding,
    vertices: u64,
    types: Vec<ColumnType>,
    /// First vertex with a list; lists before it belong to no batch.
    pub(super) first: u64,
    /// One more than the last vertex with a list; 0 if there is none.
    pub(super) next: u64,
    pub(super) lists: Vec<u8>,
    pub(super) lengths: Vec<u8>,
    pub(super) degrees: Vec<u8>,
    pub(super) heads: Vec<u8>,
    pub(super) columns: Vec<Vec<u8>>,
    pub(super) arcs: u64,
    pub(super) loops: u64,
    pub(super) max_degree: u64,
    pub(super) max_list_bytes: u64,
    open: Option<OpenList>,
}

/// A list that arrives in parts.
#[derive(Debug)]
struct OpenList {
    vertex: VertexId,
    degree: u64,
    seen: u64,
    last: VertexId,
    encoder: Encoder,
    /// Neighbours of an incomplete block.
    block: Vec<VertexId>,
    heads: Vec<VertexId>,
    /// Bytes of this list that were already taken out of `lists`.
    taken: u64,
    start: usize,
}

impl ListBatch {
    pub(super) fn new(encoding: Encoding, vertices: u64, types: Vec<ColumnType>) -> Self {
        let columns = types.iter().map(|_| Vec::new()).collect();
        Self {
            encoding,
            vertices,
            types,
            first: 0,
            next: 0,
            lists: Vec::new(),
            lengths: Vec::new(),
            degrees: Vec::new(),
            heads: Vec::new(),
            columns,
            arcs: 0,
            loops: 0,
            max_degree: 0,
            max_list_bytes: 0,
            open: None,
        }
    }

    /// Makes an empty batch for the same store.
    pub fn fresh(&self) -> Self {
        Self::new(self.encoding, self.vertices, self.types.clone())
    }

    /// Returns the approximate number of bytes of memory in use.
    pub fn memory(&self) -> usize {
        let columns: usize = self.columns.iter().map(Vec::len).sum();
        self.lists.len() + self.lengths.len() + self.degrees.len() + self.heads.len() + columns
    }

    /// Returns true if the batch has no lists.
    pub fn is_empty(&self) -> bool {
        self.next == 0
    }

    /// Returns true if a list in parts is not finished.
    pub(super) fn has_open_list(&self) -> bool {
        self.open.is_some()
    }

    /// Returns one more than the last vertex with a list; 0 if there is none.
    pub fn end(&self) -> u64 {
        self.next
    }

    /// Returns the number of list entries.
    pub fn arcs(&self) -> u64 {
        self.arcs
    }

    /// Adds the list of `v`, which must be greater than all vertices before it. `neighbours` is
    /// ascending (duplicates allowed); `values` has one entry per column, each as long as
    /// `neighbours`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the order is wrong, an id is no vertex, or values do not fit.
    pub fn push(
        &mut self,
        v: VertexId,
        neighbours: &[VertexId],
        values: &[NumberSlice<'_>],
    ) -> Result<()> {
        let Some((&first, _)) = neighbours.split_first() else { return Ok(()) };
        self.check(v, first, neighbours)?;
        self.open_vertex(v)?;
        self.put_values(neighbours.len(), values)?;
        let start = self.lists.len();
        codec::encode(self.encoding, neighbours, &mut self.lists);
        let bytes = (self.lists.len() - start) as u64;
        self.loops += count_loops(v, neighbours);
        Heads::encode(neighbours, &mut self.heads);
        self.close_vertex(v, neighbours.len() as u64, bytes);
        Ok(())
    }

    /// Begins a list of `degree` > 0 neighbours that arrives in parts.
    ///
    /// # Errors
    /// Same as [`ListBatch::push`].
    pub fn start(&mut self, v: VertexId, degree: u64) -> Result<()> {
        if degree == 0 {
            return Err(Error::Invalid("a list in parts must not be empty".into()));
        }
        self.open_vertex(v)?;
        let start = self.lists.len();
        let encoder = match self.encoding {
            Encoding::Raw => Encoder::default(),
            Encoding::Packed => Encoder::start(degree, &mut self.lists),
        };
        let (block, heads) = (Vec::with_capacity(BLOCK), Vec::with_capacity(2));
        self.open = Some(OpenList {
            vertex: v,
            degree,
            seen: 0,
            last: 0,
            encoder,
            block,
            heads,
            taken: 0,
            start,
        });
        Ok(())
    }

    /// Adds the next neighbours of the open list, with their values.
    ///
    /// # Errors
    /// Same as [`ListBatch::push`].
    pub fn extend(&mut self, neighbours: &[VertexId], values: &[NumberSlice<'_>]) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Err(no_open_list()) };
        self.check(open.vertex, open.last, neighbours)?;
        self.put_values(neighbours.len(), values)?;
        open.seen += neighbours.len() as u64;
        open.last = neighbours.last().copied().unwrap_or(open.last);
        self.loops += count_loops(open.vertex, neighbours);
        let heads = 2usize.saturating_sub(open.heads.len());
        open.heads.extend(neighbours.iter().take(heads));
        match self.encoding {
            Encoding::Raw => raw::encode(neighbours, &mut self.lists),
            Encoding::Packed => {
                let mut rest = neighbours;
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(rest.len().min(BLOCK - open.block.len()));
                    open.block.extend_from_slice(now);
                    rest = later;
                    if open.block.len() == BLOCK {
                        open.encoder.block(&open.block, &mut self.lists);
                        open.block.clear();
                    }
                }
            }
        }
        self.open = Some(open);
        Ok(())
    }

    /// Ends the open list.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a different degree was announced.
    pub fn finish(&mut self) -> Result<()> {
        let Some(mut open) = self.open.take() else { return Err(no_open_list()) };
        if open.seen != open.degree {
            return Err(Error::Invalid(format!(
                "vertex {} was announced with {} neighbours and got {}",
                open.vertex, open.degree, open.seen
            )));
        }
        if !open.block.is_empty() {
            open.encoder.block(&open.block, &mut self.lists);
        }
        let bytes = open.taken + (self.lists.len() - open.start) as u64;
        Heads::encode(&open.heads, &mut self.heads);
        self.close_vertex(open.vertex, open.degree, bytes);
        Ok(())
    }

    /// Takes list and column bytes out, even those of an open list, so that memory stays bounded.
    pub(super) fn drain(
        &mut self,
        mut to: impl FnMut(Option<usize>, &[u8]) -> Result<()>,
    ) -> Result<()> {
        to(None, &self.lists)?;
        for (i, column) in self.columns.iter_mut().enumerate() {
            to(Some(i), column)?;
            column.clear();
        }
        if let Some(open) = &mut self.open {
            open.taken += (self.lists.len() - open.start) as u64;
            open.start = 0;
        }
        self.lists.clear();
        Ok(())
    }

    fn check(&self, v: VertexId, mut last: VertexId, neighbours: &[VertexId]) -> Result<()> {
        let mut ascending = true;
        for &u in neighbours {
            ascending &= last <= u;
            last = u;
        }
        if !ascending {
            return Err(Error::Invalid(format!("the neighbours of vertex {v} are not ascending")));
        }
        if u64::from(last) >= self.vertices && !neighbours.is_empty() {
            return Err(Error::Invalid(format!(
                "vertex {v} has neighbour {last}, but there are {} vertices",
                self.vertices
            )));
        }
        Ok(())
    }

    fn put_values(&mut self, count: usize, values: &[NumberSlice<'_>]) -> Result<()> {
        if values.len() != self.types.len() || values.iter().any(|v| v.len() != count) {
            return Err(Error::Invalid(format!(
                "{} columns of values for {} and {count} neighbours",
                values.len(),
                self.types.len()
            )));
        }
        for ((ty, out), values) in self.types.iter().zip(&mut self.columns).zip(values) {
            values.encode(*ty, out)?;
        }
        Ok(())
    }

    /// Adds empty entries for the vertices between the last list and that of `v`.
    fn open_vertex(&mut self, v: VertexId) -> Result<()> {
        let v = u64::from(v);
        if v >= self.vertices || v < self.next || self.open.is_some() {
            return Err(Error::Invalid(format!(
                "the list of vertex {v} comes out of order, or there is no such vertex"
            )));
        }
        if self.is_empty() {
            self.first = v;
        } else {
            for out in [&mut self.lengths, &mut self.degrees, &mut self.heads] {
                // a gap between two vertices of 32 bits fits the address space
                out.resize(out.len() + usize::try_from(v - self.next).unwrap_or(0), 0);
            }
        }
        Ok(())
    }

    fn close_vertex(&mut self, v: VertexId, degree: u64, bytes: u64) {
        varint::put(&mut self.lengths, bytes);
        varint::put(&mut self.degrees, degree);
        self.arcs += degree;
        self.max_degree = self.max_degree.max(degree);
        self.max_list_bytes = self.max_list_bytes.max(bytes);
        self.next = u64::from(v) + 1;
    }
}

fn no_open_list() -> Error {
    Error::Invalid("there is no open list".into())
}

/// Counts the entries of an ascending list that are `v` itself.
fn count_loops(v: VertexId, neighbours: &[VertexId]) -> u64 {
    let from = neighbours.partition_point(|u| *u < v);
    neighbours.iter().skip(from).take_while(|u| **u == v).count() as u64
}
