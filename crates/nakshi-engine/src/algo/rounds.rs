//! Lists of sets that come in many rounds, most of them of a few vertices: what a peeling or a colouring
//! reads.
//!
//! A small round reads its lists on the calling thread, since a thread starts in the time of
//! thousands of entries. A large one is a gather by all workers.

use crate::context::Context;
use crate::error::Result;
use crate::gather::ListReader;
use crate::graph::Graph;
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};

/// Members of a small round at most.
const SMALL: usize = 4096;
/// Bytes of the lists of a small round at most.
const SMALL_BYTES: u64 = 256 << 10;
/// Lists that are requested at once.
const BATCH: usize = 1024;

/// Bytes a vertex of a round: two sets of vertices, and each vertex once as a member or as what
/// follows.
pub(super) const ROUND_BYTES: f64 = 4.0 + 0.75;

/// Reads the lists of one set after the other.
pub(super) struct Rounds<'g> {
    graph: &'g Graph,
    cx: &'g Context,
    readers: Vec<(Direction, ListReader<'g>)>,
    requests: Vec<(VertexId, u64)>,
}

impl<'g> Rounds<'g> {
    /// Rounds over the lists of these directions.
    ///
    /// # Errors
    /// Errors of setting up the reads.
    pub(super) fn new(graph: &'g Graph, directions: &[Direction], cx: &'g Context) -> Result<Self> {
        let reader = |&direction| Ok((direction, graph.reader(direction, cx)?));
        let readers = directions.iter().map(reader).collect::<Result<_>>()?;
        Ok(Rounds { graph, cx, readers, requests: Vec::new() })
    }

    /// Calls `follows(v, u)` for each entry `u` in a list of each `v` of the set, and returns the
    /// vertices for which it is true; it must be so once for a vertex.
    ///
    /// # Errors
    /// As [`Graph::gather`].
    pub(super) fn visit(
        &mut self,
        set: &[VertexId],
        follows: &(impl Fn(VertexId, VertexId) -> bool + Sync),
    ) -> Result<Vec<VertexId>> {
        self.cx.check()?;
        if self.is_small(set)? { self.small(set, follows) } else { self.large(set, follows) }
    }

    fn is_small(&self, set: &[VertexId]) -> Result<bool> {
        let mut bytes = 0;
        if set.len() > SMALL {
            return Ok(false);
        }
        for (direction, _) in &self.readers {
            for &v in set {
                bytes += self.graph.list_bytes(*direction, v)?;
            }
        }
        Ok(bytes <= SMALL_BYTES)
    }

    /// Calls `visit` for the lists of each member in one direction after the other.
    ///
    /// # Errors
    /// As [`Graph::gather`]; those of `visit`.
    pub(super) fn lists(
        &mut self,
        set: &[VertexId],
        visit: &(impl Fn(VertexId, &List<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        self.cx.check()?;
        if self.is_small(set)? {
            self.read(set, &mut |v, list| visit(v, list))
        } else {
            self.gather(set, visit)
        }
    }

    fn small(
        &mut self,
        set: &[VertexId],
        follows: &impl Fn(VertexId, VertexId) -> bool,
    ) -> Result<Vec<VertexId>> {
        let mut next = Vec::new();
        self.read(set, &mut |v, list| {
            Ok(list.for_each(|u| {
                if follows(v, u) {
                    next.push(u);
                }
            })?)
        })?;
        Ok(next)
    }

    fn large(
        &self,
        set: &[VertexId],
        follows: &(impl Fn(VertexId, VertexId) -> bool + Sync),
    ) -> Result<Vec<VertexId>> {
        let next = AtomicBitmap::new(self.graph.num_vertices());
        self.gather(set, &|v, list| {
            Ok(list.for_each(|u| {
                if follows(v, u) {
                    next.set(u as usize);
                }
            })?)
        })?;
        let next = VertexSet::from(next);
        let mut found = Vec::with_capacity(next.count());
        found.extend(next.iter());
        Ok(found)
    }

    /// Reads lists on the calling thread.
    fn read(
        &mut self,
        set: &[VertexId],
        visit: &mut dyn FnMut(VertexId, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        for (_, reader) in &mut self.readers {
            for batch in set.chunks(BATCH) {
                self.requests.clear();
                self.requests.extend(batch.iter().map(|&v| (v, 0)));
                reader.read(&self.requests, &mut |_, v, list| visit(v, list))?;
            }
        }
        Ok(())
    }

    /// Reads lists by all workers.
    fn gather(
        &self,
        set: &[VertexId],
        visit: &(impl Fn(VertexId, &List<'_>) -> Result<()> + Sync),
    ) -> Result<()> {
        let mut members = VertexSet::new(self.graph.num_vertices());
        for &v in set {
            members.insert(v);
        }
        for (direction, _) in &self.readers {
            self.graph.gather(
                *direction,
                &members,
                self.cx,
                |_| (),
                |(), v, list| visit(v, list),
            )?;
        }
        Ok(())
    }
}
