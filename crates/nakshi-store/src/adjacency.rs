//! The edge lists of one direction.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::index::{Extents, ListIndex};
use crate::{Encoding, List, Result};

/// Dense internal id of a vertex, in layout order.
pub type VertexId = u32;

/// Which edge lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Targets of a vertex's edges; all neighbours if the graph is undirected.
    Out,
    /// Sources of the edges that end in a vertex.
    In,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

/// The edge lists of one direction: index in memory, lists on disk.
#[derive(Debug)]
pub struct Adjacency {
    pub(crate) index: ListIndex,
    pub(crate) encoding: Encoding,
    pub(crate) vertices: u64,
    pub(crate) arcs: u64,
    pub(crate) max_degree: u64,
    pub(crate) max_list_bytes: u64,
}

impl Adjacency {
    /// Where the list of `v` lies in the file of lists.
    #[inline]
    pub fn extent(&self, v: VertexId) -> Range<u64> {
        self.index.extent(u64::from(v))
    }

    /// Extents of consecutive vertices, fast.
    pub fn extents(&self, vertices: Range<u64>) -> Extents<'_> {
        self.index.extents(vertices)
    }

    /// The index itself.
    pub fn index(&self) -> &ListIndex {
        &self.index
    }

    /// How the lists are encoded.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Number of list entries.
    pub fn arcs(&self) -> u64 {
        self.arcs
    }

    /// Largest degree.
    pub fn max_degree(&self) -> u64 {
        self.max_degree
    }

    /// Longest encoded list in bytes.
    pub fn max_list_bytes(&self) -> u64 {
        self.max_list_bytes
    }

    /// The list at `range` of `buf`, whose ids are below the number of vertices.
    ///
    /// # Errors
    /// As [`List::new`].
    #[inline]
    pub fn list<'a>(&self, buf: &'a [u8], range: Range<usize>) -> Result<List<'a>> {
        Ok(List::new(self.encoding, buf, range)?.bounded(self.vertices))
    }
}
