//! One step of a search: from a set of vertices along their lists.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::Direction;

/// The vertices that lists of `frontier` in these directions lead to and that are not yet visited.
///
/// # Errors
/// As [`Graph::gather`].
pub(crate) fn reach(
    graph: &Graph,
    along: &[Direction],
    frontier: &VertexSet,
    visited: &Bitmap,
    cx: &Context,
) -> Result<VertexSet> {
    let next = AtomicBitmap::new(graph.num_vertices());
    for &direction in along {
        graph.gather(
            direction,
            frontier,
            cx,
            |_| (),
            |(), _, list| {
                Ok(list.for_each(|u| {
                    if !visited.get(u as usize) {
                        next.set(u as usize);
                    }
                })?)
            },
        )?;
    }
    Ok(next.into())
}
