//! Lists of some vertices in arrays.

use crate::error::Result;
use crate::{List, VertexId, Weights};
use std::ops::ControlFlow;

/// Entries of lists after which a block is full, unless a single list has more: they stay in the cache while
/// the program reads them.
const ENTRIES: usize = 8 << 10;
/// Vertices of a block at most.
pub(super) const VERTICES: usize = 4 << 10;

/// Vertices with their lists.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    vertices: &'a [VertexId],
    offsets: &'a [u32],
    neighbors: &'a [VertexId],
    weights: &'a [f64],
}

impl<'a> Block<'a> {
    /// Vertices whose lists begin at `offsets` in these arrays: one offset more than vertices, ascending, of
    /// which the last is the length of the lists. `None` if the lengths do not fit.
    pub fn new(
        vertices: &'a [VertexId],
        offsets: &'a [u32],
        neighbors: &'a [VertexId],
        weights: &'a [f64],
    ) -> Option<Self> {
        let last = *offsets.last()? as usize;
        let fits = offsets.len() == vertices.len() + 1
            && last == neighbors.len()
            && (weights.is_empty() || weights.len() == last)
            && offsets.is_sorted();
        fits.then_some(Block { vertices, offsets, neighbors, weights })
    }

    /// The vertices, ascending.
    pub fn vertices(&self) -> &'a [VertexId] {
        self.vertices
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Returns true if the block has no vertices.
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The beginning of each list in [`Block::neighbors`], and the end of the last one: one more than vertices.
    pub fn offsets(&self) -> &'a [u32] {
        self.offsets
    }

    /// The entries of all lists.
    pub fn neighbors(&self) -> &'a [VertexId] {
        self.neighbors
    }

    /// The weights of all entries; empty without weights.
    pub fn weights(&self) -> &'a [f64] {
        self.weights
    }

    /// The lists, one for each vertex.
    #[inline]
    pub fn lists(&self) -> impl ExactSizeIterator<Item = &'a [VertexId]> + use<'a> {
        let (offsets, neighbors) = (self.offsets, self.neighbors);
        // Offsets ascend, and the last one is the length.
        (1..offsets.len()).map(move |i| &neighbors[offsets[i - 1] as usize..offsets[i] as usize])
    }

    /// The weights of each list; empty slices without weights.
    #[inline]
    pub fn list_weights(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + use<'a> {
        let (offsets, weights) = (self.offsets, self.weights);
        let all = if weights.is_empty() { 0 } else { usize::MAX };
        let at = move |i: usize| (offsets[i] as usize).min(all);
        (1..offsets.len()).map(move |i| &weights[at(i - 1)..at(i)])
    }
}

/// Collects lists into blocks; a worker's own.
#[derive(Debug)]
pub struct Lists {
    vertices: Vec<VertexId>,
    offsets: Vec<u32>,
    neighbors: Vec<VertexId>,
    weights: Vec<f64>,
}

impl Default for Lists {
    fn default() -> Self {
        Lists {
            vertices: Vec::with_capacity(VERTICES),
            offsets: vec![0],
            neighbors: Vec::with_capacity(2 * ENTRIES),
            weights: Vec::new(),
        }
    }
}

impl Lists {
    /// Adds the list of a vertex.
    ///
    /// # Errors
    /// Errors of decoding it.
    #[inline]
    pub fn push(
        &mut self,
        vertex: VertexId,
        list: &List<'_>,
        weights: Option<&Weights<'_>>,
    ) -> Result<()> {
        list.blocks(|part| {
            self.neighbors.extend_from_slice(part);
            ControlFlow::Continue(())
        })?;
        if let Some(weights) = weights {
            self.weights.extend((0..weights.len()).map(|i| weights.get(i)));
        }
        self.end(vertex);
        Ok(())
    }

    /// Adds a decoded list of a vertex, with weights or without.
    #[inline]
    pub fn push_entries(
        &mut self,
        vertex: VertexId,
        entries: impl Iterator<Item = VertexId>,
        weights: &[f64],
    ) {
        self.neighbors.extend(entries);
        self.weights.extend_from_slice(weights);
        self.end(vertex);
    }

    #[inline]
    fn end(&mut self, vertex: VertexId) {
        self.vertices.push(vertex);
        // A list has fewer than 2^32 entries, and a block no more than that besides.
        self.offsets.push(self.neighbors.len() as u32);
    }

    /// Returns true if the program should see the block before the next list is added.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.neighbors.len() >= ENTRIES || self.vertices.len() >= VERTICES
    }

    /// The block so far.
    pub fn block(&self) -> Block<'_> {
        let Lists { vertices, offsets, neighbors, weights } = self;
        Block { vertices, offsets, neighbors, weights }
    }

    /// Forgets the lists.
    pub fn clear(&mut self) {
        self.vertices.clear();
        self.offsets.truncate(1);
        self.neighbors.clear();
        self.weights.clear();
    }
}
