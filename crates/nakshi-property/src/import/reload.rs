//! Reload: the rows of an existing graph as a table.

use std::collections::BTreeMap;

use nakshi_io::CancelToken;

use super::super::bucket_set::BucketSet;
use super::super::graph::PropertyGraph;
use super::super::parts::EdgeLocation;
use super::super::record::EdgeRecord;
use super::super::rule::Rule;
use super::super::schema::encoded_number;
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
    /// Constraints and indexes.
    pub(super) rules: Vec<Rule>,
    /// Larger than the number of every edge; 0 if no edge has one.
    pub(super) next_edge: u64,
    /// Number of the last commit.
    pub(super) commit: u64,
    /// The buckets of which the nodes are loaded; `None` for all.
    pub(super) buckets: Option<BucketSet>,
}

impl Kept {
    pub(super) fn of(graph: &PropertyGraph, buckets: Option<&BucketSet>) -> Self {
        let inverses = graph.state().schema.inverses();
        let inverses = inverses.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let next = graph.state().log.next_edge;
        let next_edge = if next > 1 { next } else { 0 };
        let rules = graph.state().schema.rules().to_vec();
        Kept { inverses, rules, next_edge, commit: graph.commit(), buckets: buckets.cloned() }
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

/// Nodes of a graph so small that a share of it has all of them, and so the kind of their ids.
const FEW: u64 = 4096;

/// Reads the nodes of a graph as rows, or its edges: all, or those of some buckets.
pub(super) struct Reload {
    kind: TableKind,
    walk: Walk,
    buckets: Option<BucketSet>,
}

impl Reload {
    /// Starts the rows. If `properties` is empty, the properties keep the numbers that they have in
    /// the graph.
    pub(super) fn new(
        kind: TableKind,
        graph: &PropertyGraph,
        buckets: Option<&BucketSet>,
        properties: &mut InferredProperties,
        cancel: &CancelToken,
    ) -> Self {
        let specs = match kind {
            TableKind::Nodes => graph.state().schema.nodes.specs(),
            TableKind::Edges => graph.state().schema.edges.specs(),
        };
        specs.iter().for_each(|spec| properties.take(spec));
        Reload { kind, walk: Walk::new(graph).until(cancel), buckets: buckets.cloned() }
    }

    pub(super) fn next(&mut self, row: &mut SpooledRow) -> Result<bool> {
        match self.kind {
            TableKind::Nodes => self.node(row),
            TableKind::Edges => self.edge(row),
        }
    }

    fn node(&mut self, row: &mut SpooledRow) -> Result<bool> {
        while let Some(v) = self.walk.node() {
            let state = self.walk.graph().state();
            let id = state.external(v.into())?;
            let own = self.buckets.as_ref().is_none_or(|buckets| buckets.has(&id));
            if !own && state.num_nodes() > FEW {
                continue;
            }
            row.source = id.into_bytes();
            for (property, value) in state.values_of(v)?.into_iter().filter(|_| own) {
                InferredProperties::copy(property, &value, &mut row.values);
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn edge(&mut self, row: &mut SpooledRow) -> Result<bool> {
        while let Some((record, i)) = self.walk.edge(|_| true, |_| true)? {
            let state = record.graph().state();
            let gone = || Error::BadList("an edge record is shorter than it says");
            let place = record.place(i)?.ok_or_else(gone)?;
            let source = state.external(record.node().into())?;
            let target = state.external(place.end()?)?;
            let own = |buckets: &BucketSet| buckets.has(&source) || buckets.has(&target);
            if self.buckets.as_ref().is_none_or(own) {
                (row.source, row.target) = (source.into_bytes(), target.into_bytes());
                return Self::rest(record, &place, row).map(|()| true);
            }
        }
        Ok(false)
    }

    /// Adds type, time and properties of an edge to its row.
    fn rest(record: &EdgeRecord, place: &EdgeLocation<'_>, row: &mut SpooledRow) -> Result<()> {
        let state = record.graph().state();
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
        Ok(())
    }
}
