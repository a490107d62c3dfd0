//! The rows of a graph that is there already.

use std::collections::BTreeMap;

use super::super::graph::PropertyGraph;
use super::super::walk::{Walk, id_bytes};
use super::cell::Properties;
use super::header::Kind;
use super::options::LoadOptions;
use super::table::{Row, Rows, Table};
use nakshi_store::import::Duplicates;
use nakshi_store::{Error, Result};

/// What a graph has beside its rows.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) inverses: BTreeMap<String, String>,
    /// Number of the last commit.
    pub(super) commit: u64,
}

impl Kept {
    pub(super) fn of(graph: &PropertyGraph) -> Self {
        let inverses = graph.state().schema.inverses();
        let inverses = inverses.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        Kept { inverses, commit: graph.commit() }
    }
}

/// Its nodes, or its edges, as the only table.
pub(super) fn table(graph: &PropertyGraph) -> Vec<Table<'static>> {
    vec![Table { name: None, rows: Rows::Graph(graph.clone()) }]
}

/// `options` for a graph, whose files keep their layout.
pub(super) fn options(graph: &PropertyGraph, options: &LoadOptions) -> LoadOptions {
    LoadOptions {
        duplicates: Duplicates::Keep,
        shards: graph.entry().shards,
        properties: graph.entry().layout,
        ..options.clone()
    }
}

/// Reads all nodes of a graph as rows, or all edges.
pub(super) struct Again {
    kind: Kind,
    walk: Walk,
}

impl Again {
    /// Properties get the numbers that they have in the graph, if there are no others yet.
    pub(super) fn new(kind: Kind, graph: &PropertyGraph, properties: &mut Properties) -> Self {
        let specs = match kind {
            Kind::Nodes => graph.node_properties(),
            Kind::Edges => graph.edge_properties(),
        };
        specs.iter().for_each(|spec| properties.take(spec));
        Again { kind, walk: Walk::new(graph) }
    }

    pub(super) fn next(&mut self, row: &mut Row) -> Result<bool> {
        match self.kind {
            Kind::Nodes => self.node(row),
            Kind::Edges => self.edge(row),
        }
    }

    fn node(&mut self, row: &mut Row) -> Result<bool> {
        let Some(v) = self.walk.node() else { return Ok(false) };
        let state = self.walk.graph().state();
        row.source = id_bytes(state.external(v.into())?);
        for (property, value) in state.values_of(v)? {
            Properties::copy(property, &value, &mut row.values);
        }
        Ok(true)
    }

    fn edge(&mut self, row: &mut Row) -> Result<bool> {
        let Some((record, i)) = self.walk.edge(|_| true, |_| true)? else { return Ok(false) };
        let state = record.graph().state();
        let gone = || Error::BadList("an edge record is shorter than it says");
        let place = record.place(i)?.ok_or_else(gone)?;
        row.source = id_bytes(state.external(record.node().into())?);
        row.target = id_bytes(state.external(record.end(place)?)?);
        row.ty.extend_from_slice(record.edge_type().as_bytes());
        row.time = record.time(place)?;
        record.each_value(place, |property, value| {
            Properties::copy(property, value, &mut row.values);
        })?;
        Ok(true)
    }
}
