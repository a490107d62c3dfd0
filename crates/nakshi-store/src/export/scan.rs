//! All lists of a store in the order of the layout, with their weights.

use super::source::ExportSource;
use crate::hooks::Progress;
use crate::stream::{ListStream, ListView};
use crate::{Direction, Result, VertexId};

/// Visits every list that is not empty; returns the number of list entries.
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
            // A chunk is megabytes of text, which compression takes its time for.
            source.hooks.check()?;
            visit(list)
        })?;
        source.hooks.tell(Progress { phase: "write", done: entries, total, edges: entries });
    }
    Ok(entries)
}

/// Whether a list entry of an undirected graph is the one of its edge's two that is written.
#[inline]
pub fn is_written(directed: bool, vertex: VertexId, neighbour: VertexId) -> bool {
    directed || vertex <= neighbour
}
