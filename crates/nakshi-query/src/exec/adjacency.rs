//! The edges at nodes that a query visits again and again.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;
use rustc_hash::FxHashMap;

use super::context::Context;
use super::expand::{edges_at, types};
use super::limits::Held;
use crate::error::Result;
use crate::ir::EdgePattern;

/// Most edges that are kept: 48 MiB.
const MOST_EDGES: usize = 1 << 20;

/// The edges at nodes that fit the pattern of an edge. A query that changes nothing keeps them, as far as
/// its memory allows.
pub(super) struct Adjacency {
    edge: EdgePattern,
    /// Numbers of the types that are wanted; `None` for all.
    types: Option<Vec<u64>>,
    kept: FxHashMap<u32, Arc<[EdgeNumbers]>>,
    /// Edges that may still be kept.
    room: usize,
    held: Held,
}

impl Adjacency {
    pub(super) fn new(cx: &Context, edge: &EdgePattern) -> Self {
        let room = if cx.writer.is_none() { MOST_EDGES } else { 0 };
        let (types, held) = (types(&cx.view, edge), Held::new(&cx.limits));
        Adjacency { edge: edge.clone(), types, kept: FxHashMap::default(), room, held }
    }

    /// The edges of an operator that visits them for several rows; `known` is `None` before the first. A query that
    /// changes the graph has them anew for each row.
    pub(super) fn for_rows<'k>(
        known: &'k mut Option<Adjacency>,
        cx: &Context,
        edge: &EdgePattern,
    ) -> &'k mut Self {
        if cx.writer.is_some() {
            *known = None;
        }
        known.get_or_insert_with(|| Adjacency::new(cx, edge))
    }

    /// The edges at a node; an edge from the node to itself is there once.
    pub(super) fn at(&mut self, cx: &Context, v: u32) -> Result<Arc<[EdgeNumbers]>> {
        if let Some(known) = self.kept.get(&v) {
            return Ok(Arc::clone(known));
        }
        let edges = edges_at(&cx.view, v, self.edge.direction, self.types.as_deref())?;
        let edges: Arc<[EdgeNumbers]> = edges.into();
        // An entry of the table takes about as much as an edge.
        let bytes = size_of::<EdgeNumbers>() * (edges.len() + 1);
        if edges.len() < self.room && self.held.takes_spare(bytes as u64) {
            self.room -= edges.len() + 1;
            self.kept.insert(v, Arc::clone(&edges));
        }
        Ok(edges)
    }

    /// Numbers of the types that are wanted; `None` for all.
    pub(super) fn types(&self) -> Option<&[u64]> {
        self.types.as_deref()
    }
}
