//! The rows of a graph that is there already.

use super::super::graph::PropertyGraph;
use super::super::record::EdgeRecord;
use super::cell::Properties;
use super::header::Kind;
use super::rows::Row;
use crate::{Error, ExternalId, Result, VertexId};

/// Goes through all nodes, or through the edges of all nodes.
pub(super) struct Walk {
    kind: Kind,
    graph: PropertyGraph,
    /// The node that comes next.
    next: u64,
    /// The node whose edges are gone through, its records from the last on, and a place in the last.
    source: Vec<u8>,
    records: Vec<EdgeRecord>,
    place: u64,
}

impl Walk {
    /// Properties get the numbers that they have in the graph, if there are no others yet.
    pub(super) fn new(kind: Kind, graph: PropertyGraph, properties: &mut Properties) -> Self {
        let specs = match kind {
            Kind::Nodes => graph.node_properties(),
            Kind::Edges => graph.edge_properties(),
        };
        for spec in specs {
            // Names are unique, so that none has another type elsewhere.
            let _ = properties.number(&spec.name, Some(spec.ty));
        }
        Walk { kind, graph, next: 0, source: Vec::new(), records: Vec::new(), place: 0 }
    }

    pub(super) fn next(&mut self, row: &mut Row) -> Result<bool> {
        match self.kind {
            Kind::Nodes => self.node(row),
            Kind::Edges => self.edge(row),
        }
    }

    /// The next node that is there.
    fn alive(&mut self) -> Option<VertexId> {
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

    fn node(&mut self, row: &mut Row) -> Result<bool> {
        let Some(v) = self.alive() else { return Ok(false) };
        let state = self.graph.state();
        put_id(&state.external(v.into())?, &mut row.source);
        for (property, value) in state.values_of(v)? {
            Properties::copy(property, &value, &mut row.values);
        }
        Ok(true)
    }

    fn edge(&mut self, row: &mut Row) -> Result<bool> {
        while self.records.last().is_none_or(|record| self.place == record.len()) {
            self.place = 0;
            if self.records.pop().is_some() && !self.records.is_empty() {
                continue;
            }
            let Some(v) = self.alive() else { return Ok(false) };
            self.records = self.graph.records_of(v)?;
            self.records.reverse();
            self.source.clear();
            put_id(&self.graph.state().external(v.into())?, &mut self.source);
        }
        let Some(record) = self.records.last() else { return Ok(false) };
        let gone = || Error::BadList("an edge record is shorter than it says");
        let place = record.place(self.place)?.ok_or_else(gone)?;
        self.place += 1;
        row.source.extend_from_slice(&self.source);
        put_id(&self.graph.state().external(record.end(place)?)?, &mut row.target);
        row.ty.extend_from_slice(record.edge_type().as_bytes());
        row.time = record.time(place)?;
        record.each_value(place, |property, value| {
            Properties::copy(property, value, &mut row.values);
        })?;
        Ok(true)
    }
}

fn put_id(id: &ExternalId, out: &mut Vec<u8>) {
    match id {
        ExternalId::Bytes(bytes) => out.extend_from_slice(bytes),
        other => out.extend_from_slice(other.to_string().as_bytes()),
    }
}
