//! Whether edges exist.

use super::{Asked, OpenLists};
use crate::context::Context;
use crate::error::Result;
use nakshi_store::{Direction, List, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use crate::shared::{share_u8, zeroed};

impl OpenLists {
    /// For each pair of vertices, 1 if an edge leads from the first to the second, else 0. A search
    /// reads the out-list of the source up to the target; in an undirected graph the shorter list
    /// of the two.
    ///
    /// # Errors
    /// As [`OpenLists::neighbors`].
    pub fn has_edges(&self, pairs: &[(VertexId, VertexId)], cx: &Context) -> Result<Vec<u8>> {
        let mut found = zeroed::<u8>(pairs.len(), "answers")?;
        let shared = share_u8(&mut found);
        let length = |v| self.graph.list_bytes(Direction::Out, v).unwrap_or(u64::MAX);
        let undirected = !self.graph.directed();
        let asked: Vec<(VertexId, VertexId)> = pairs
            .iter()
            .map(|&(a, b)| if undirected && length(b) < length(a) { (b, a) } else { (a, b) })
            .collect();
        let owners: Vec<VertexId> = asked.iter().map(|pair| pair.0).collect();
        let lists = Asked { direction: Direction::Out, vertices: &owners, cx };
        self.visit(
            lists,
            || (),
            |(), at, list, _| {
                let Some((&(_, wanted), slot)) = asked.get(at).zip(shared.get(at)) else {
                    return Ok(());
                };
                slot.store(contains(list, wanted)?.into(), Relaxed);
                Ok(())
            },
        )?;
        Ok(found)
    }
}

/// Searches an ascending list for a vertex; decodes no block behind it.
fn contains(list: &List<'_>, wanted: VertexId) -> Result<bool> {
    let mut found = false;
    list.blocks(|block| {
        if block.last().is_some_and(|&last| last < wanted) {
            return ControlFlow::Continue(());
        }
        found = block.binary_search(&wanted).is_ok();
        ControlFlow::Break(())
    })?;
    Ok(found)
}
