//! Reload: the rows of an existing graph as a table.

use std::collections::BTreeMap;

use nakshi_io::CancelToken;

use super::super::graph::PropertyGraph;
use super::super::parts::EdgeLocation;
use super::super::schema::encoded_number;
use super::super::shard_map::id_bytes;
use super::super::walk::Walk;
use super::cell::InferredProperties;
use super::header::TableKind;
use super::options::{LoadOptions, MissingNodes, ParallelEdges};
use super::table::{SpooledRow, Table, TableRows};
use nakshi_store::{Error, Result};

/// State of a graph that its rows do not show.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) inverses: BTreeMap<String, String>,
    /// Larger than the number of every edge; 0 if no edge has one.
    pub(super) next_edge: u64,
    /// Number of the last commit.
    pub(super) commit: u64,
}

impl Kept {
    pub(super) fn of(graph: &PropertyGraph) -> Self {
        let inverses = graph.state().schema.inverses();
        let inverses = inverses.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let next = graph.state().log.next_edge;
        Kept { inverses, next_edge: if next > 1 { next } else { 0 }, commit: graph.commit() }
    }
}

/// A table of the nodes of a graph, or of its edges.
pub(super) fn table(graph: &PropertyGraph) -> Vec<Table<'static>> {
    vec![Table::new(None, TableRows::Graph(graph.clone()))]
}

/// `options` with the layout of the graph's files, and their number of shards unless `options` has one.
pub(super) fn options(graph: &PropertyGraph, options: &LoadOptions) -> LoadOptions {
    LoadOptions {
        parallel_edges: ParallelEdges::Keep,
        missing_nodes: MissingNodes::Create,
        allow_empty: true,
        shards: options.shards.or(Some(graph.entry().shards)),
        properties: graph.entry().layout,
        ..options.clone()
    }
}

/// Reads all nodes of a graph as rows, or all edges.
pub(super) struct Reload {
    kind: TableKind,
    walk: Walk,
}

impl Reload {
    /// Starts the rows. If `properties` is empty, the properties keep the numbers that they have in
    /// the graph.
    pub(super) fn new(
        kind: TableKind,
        graph: &PropertyGraph,
        properties: &mut InferredProperties,
        cancel: &CancelToken,
    ) -> Self {
        let specs = match kind {
            TableKind::Nodes => graph.state().schema.nodes.specs(),
            TableKind::Edges => graph.state().schema.edges.specs(),
        };
        specs.iter().for_each(|spec| properties.take(spec));
        Reload { kind, walk: Walk::new(graph).until(cancel) }
    }

    pub(super) fn next(&mut self, row: &mut SpooledRow) -> Result<bool> {
        match self.kind {
            TableKind::Nodes => self.node(row),
            TableKind::Edges => self.edge(row),
        }
    }

    fn node(&mut self, row: &mut SpooledRow) -> Result<bool> {
        let Some(v) = self.walk.node() else { return Ok(false) };
        let state = self.walk.graph().state();
        row.source = id_bytes(state.external(v.into())?);
        for (property, value) in state.values_of(v)? {
            InferredProperties::copy(property, &value, &mut row.values);
        }
        Ok(true)
    }

    fn edge(&mut self, row: &mut SpooledRow) -> Result<bool> {
        let Some((record, i)) = self.walk.edge(|_| true, |_| true)? else { return Ok(false) };
        let state = record.graph().state();
        let gone = || Error::BadList("an edge record is shorter than it says");
        let place = record.place(i)?.ok_or_else(gone)?;
        row.source = id_bytes(state.external(record.node().into())?);
        row.target = id_bytes(state.external(place.end()?)?);
        row.ty.extend_from_slice(record.edge_type().as_bytes());
        row.time = place.time()?;
        let mut number = match place {
            EdgeLocation::Log(edge) if edge.number > 0 => {
                state.schema.edge_number().map(|property| (property, encoded_number(edge.number)))
            }
            // The number of an edge of a file is one of its properties.
            _ => None,
        };
        // Ascending by property, as a row is.
        place.values().each(|property, value| {
            if let Some((of, bytes)) = number.take_if(|(of, _)| *of < property) {
                InferredProperties::copy(of, &bytes, &mut row.values);
            }
            InferredProperties::copy(property, value, &mut row.values);
            Ok(())
        })?;
        if let Some((of, bytes)) = number {
            InferredProperties::copy(of, &bytes, &mut row.values);
        }
        Ok(true)
    }
}
