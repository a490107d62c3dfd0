//! Iteration over all nodes and all edges of a graph.

use nakshi_io::CancelToken;

use super::conflict::Subject;
use super::graph::{EdgeData, PropertyGraph};
use super::record::EdgeRecord;
use super::value::Value;
use nakshi_store::{ExternalId, Result, VertexId};

/// Edges that are read at once.
const EDGES: u64 = 256;

/// Iterates over the nodes of a graph, or over the edges of its nodes.
#[derive(Debug)]
pub(super) struct Walk {
    graph: PropertyGraph,
    /// The next node.
    next: u64,
    /// Remaining records of the last node, the next at the end, and the position in that record.
    records: Vec<EdgeRecord>,
    place: u64,
    /// Checked for each node, since millions in a row may have no edges.
    cancel: CancelToken,
}

impl Walk {
    pub(super) fn new(graph: &PropertyGraph) -> Self {
        graph.state().note(Subject::Nodes);
        graph.state().note(Subject::Edges);
        let cancel = CancelToken::new();
        Walk { graph: graph.clone(), next: 0, records: Vec::new(), place: 0, cancel }
    }

    /// The same walk, whose search for the next edge ends with [`Error::Cancelled`] by a token.
    ///
    /// [`Error::Cancelled`]: nakshi_store::Error::Cancelled
    pub(super) fn until(mut self, cancel: &CancelToken) -> Self {
        self.cancel.clone_from(cancel);
        self
    }

    pub(super) fn graph(&self) -> &PropertyGraph {
        &self.graph
    }

    /// The next node that is not deleted.
    pub(super) fn node(&mut self) -> Option<VertexId> {
        let state = self.graph.state();
        while self.next < state.numbered() {
            let v = u32::try_from(self.next).ok()?;
            self.next += 1;
            if state.is_alive(v) {
                return Some(v);
            }
        }
        None
    }

    /// The record of the next edge, and its position there; only from nodes and records that are
    /// wanted.
    pub(super) fn edge(
        &mut self,
        node_wanted: impl Fn(VertexId) -> bool,
        wanted: impl Fn(&EdgeRecord) -> bool,
    ) -> Result<Option<(&EdgeRecord, u64)>> {
        while self.records.last().is_none_or(|record| self.place == record.len()) {
            self.place = 0;
            if self.records.pop().is_some() {
                continue;
            }
            self.cancel.check()?;
            let Some(v) = self.node() else { return Ok(None) };
            if node_wanted(v) {
                self.records = self.graph.records_of(v)?;
                self.records.retain(&wanted);
                self.records.reverse();
            }
        }
        self.place += 1;
        Ok(self.records.last().map(|record| (record, self.place - 1)))
    }
}

impl PropertyGraph {
    /// Hands the id of every node to `f`.
    ///
    /// # Errors
    /// Errors of `f`; damage.
    pub(crate) fn for_each_id(&self, mut f: impl FnMut(ExternalId) -> Result<()>) -> Result<()> {
        let mut walk = Walk::new(self);
        while let Some(v) = walk.node() {
            f(self.state().external(v.into())?)?;
        }
        Ok(())
    }

    /// Hands the id and the properties of every node to `f`.
    ///
    /// # Errors
    /// As [`PropertyGraph::for_each_id`].
    pub(crate) fn for_each_node(
        &self,
        mut f: impl FnMut(&ExternalId, Vec<(&str, Value)>) -> Result<()>,
    ) -> Result<()> {
        let mut walk = Walk::new(self);
        while let Some(v) = walk.node() {
            f(&self.state().external(v.into())?, self.node_values(v)?)?;
        }
        Ok(())
    }

    /// Hands source, type and the rest of every edge to `f`, in the order of nodes, types and
    /// times.
    ///
    /// # Errors
    /// As [`PropertyGraph::for_each_id`].
    pub(crate) fn for_each_edge(
        &self,
        mut f: impl FnMut(&ExternalId, &str, EdgeData<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut walk = Walk::new(self);
        while let Some(v) = walk.node() {
            let id = self.state().external(v.into())?;
            for record in self.records_of(v)? {
                let mut begin = 0;
                while begin < record.len() {
                    let end = record.len().min(begin + EDGES);
                    for edge in self.edges_data(&record, begin..end)? {
                        f(&id, record.edge_type(), edge)?;
                    }
                    begin = end;
                }
            }
        }
        Ok(())
    }
}
