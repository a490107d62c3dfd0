//! Visits of all lists of a store in the order of the layout, with their weights.

use super::source::ExportSource;
use crate::hooks::Progress;
use crate::stream::{ListStream, ListView};
use crate::{Direction, Result, VertexId};

/// Visits every nonempty list; returns the number of list entries.
pub fn for_each_list(
    source: &ExportSource<'_>,
    mut visit: impl FnMut(ListView<'_>) -> Result<()>,
) -> Result<u64> {
    let stream = ListStream::new(source.store, Direction::Out, source.weight.as_ref())?;
    let (mut reader, mut entries) = (stream.reader()?, 0);
    let total = Some(stream.entries());
    for chunk in 0..stream.chunks() {
        source.hooks.check()?;
        entries += reader.visit(chunk, |list| {
            // A chunk becomes megabytes of text, whose compression takes a while.
            source.hooks.check()?;
            visit(list)
        })?;
        source.hooks.tell(Progress { phase: "write", done: entries, total, edges: entries });
    }
    Ok(entries)
}

/// Returns true for the one of the two list entries of an undirected edge that is written, and for
/// every entry of a directed graph.
#[inline]
pub fn is_written(directed: bool, vertex: VertexId, neighbour: VertexId) -> bool {
    directed || vertex <= neighbour
}
