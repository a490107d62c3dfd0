//! The charge of each list, and where the list lies.

use crate::error::Result;
use crate::graph::Graph;
use crate::vertex_set::Bitmap;
use nakshi_store::{Direction, VertexId};
use std::ops::Range;

/// Positions of the lists of a direction in their file.
pub(super) struct ListExtents<'g> {
    pub(super) graph: &'g Graph,
    pub(super) direction: Direction,
    pub(super) page_size: u64,
}

impl<'g> ListExtents<'g> {
    pub(super) fn new(graph: &'g Graph, direction: Direction) -> Self {
        let page_size = graph.store().map_or(4096, |store| u64::from(store.manifest().page_size));
        ListExtents { graph, direction, page_size }
    }

    pub(super) fn extent(&self, v: VertexId) -> Range<u64> {
        self.graph.extent(self.direction, v as usize)
    }

    pub(super) fn bytes(&self, v: VertexId) -> u64 {
        let extent = self.extent(v);
        extent.end - extent.start
    }

    /// The page in which the list of `v` begins.
    pub(super) fn page(&self, v: VertexId) -> u64 {
        self.extent(v).start / self.page_size
    }
}

/// Charges of lists, by one of two methods.
pub(super) trait Charges {
    /// Charges all lists outside `chosen`.
    fn all(&mut self, chosen: &Bitmap) -> Result<()>;

    /// Charges anew what changes by `news`, which are in `chosen` now.
    fn update(&mut self, chosen: &Bitmap, news: &[VertexId]) -> Result<()>;

    /// The charge of `v` for each of its bytes, of which there is at least one.
    fn rate(&self, v: VertexId) -> f64;
}
