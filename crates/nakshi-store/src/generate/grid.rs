//! Grids and paths, the deepest of graphs.

use super::{Generator, PIECE};
use crate::random::Shuffle;

/// A grid whose vertices are joined to the next of their row and of their column; one row is a path.
///
/// Searches of it have as many levels as it has rows and columns, with few vertices each.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Number of vertices; the last row may be short.
    pub vertices: u64,
    /// Vertices of a row, at least one.
    pub width: u64,
    /// Seed by which ids are shuffled; `None` keeps them in the order of rows.
    pub shuffle: Option<u64>,
}

impl Grid {
    /// Makes a path.
    pub fn path(vertices: u64) -> Self {
        Self { vertices, width: vertices.max(1), shuffle: None }
    }

    /// Makes a grid that is as wide as it is high, or nearly so.
    pub fn square(vertices: u64) -> Self {
        let root = vertices.isqrt();
        let width = if root * root < vertices { root + 1 } else { root };
        Self { vertices, width: width.max(1), shuffle: None }
    }
}

impl Generator for Grid {
    fn pieces(&self) -> u64 {
        self.vertices.div_ceil(PIECE)
    }

    fn piece(&self, number: u64, edges: &mut Vec<[u64; 2]>) {
        let shuffle = self.shuffle.map(|seed| Shuffle::new(self.vertices, seed));
        let id = |v| shuffle.as_ref().map_or(v, |shuffle| shuffle.apply(v));
        for v in number * PIECE..((number + 1) * PIECE).min(self.vertices) {
            let right = ((v + 1) % self.width != 0).then_some(v + 1);
            let below = v.checked_add(self.width);
            for next in [right, below].into_iter().flatten().filter(|next| *next < self.vertices) {
                edges.push([id(v), id(next)]);
            }
        }
    }

    fn expected_edges(&self) -> u64 {
        let columns = self.vertices.saturating_sub(self.width);
        let rows = self.vertices - self.vertices.div_ceil(self.width.max(1));
        columns + rows
    }
}
