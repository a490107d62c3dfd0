//! The vertices of a graph and the directions of its edges.

use serde::{Deserialize, Serialize};

/// Dense internal id of a vertex, in layout order.
pub type VertexId = u32;

/// The direction of edge lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Targets of a vertex's edges; all neighbours if the graph is undirected.
    Out,
    /// Sources of the edges that end in a vertex.
    In,
}

impl Direction {
    /// Returns the other direction.
    #[must_use]
    pub fn reverse(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}
