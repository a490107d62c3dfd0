//! What a load did.

use std::collections::BTreeMap;

use super::super::entry::PropertyEntry;
use super::feed::{Amended, Tables};
use super::missing::{Missing, counted};
use super::options::{MissingNodes, ParallelEdges};
use super::parallel::ParallelOutcome;
use super::rows::types_of;

/// What [`load`](super::load) did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct LoadReport {
    /// Nodes in the store, those that only edges name too.
    pub nodes: u64,
    /// Edges in the store, each of parallel ones too.
    pub edges: u64,
    /// Pairs of a source and a destination with edges between them: the edges that algorithms see.
    pub pairs: u64,
    /// Rows of nodes that were read.
    pub node_rows: u64,
    /// Rows of edges that were read.
    pub edge_rows: u64,
    /// Nodes that were made of ends of edges, where tables of nodes do not have them.
    pub created: u64,
    /// Rows of edges that were left out, because no table of nodes has one of their ends.
    pub skipped: u64,
    /// Edges in the store beside an earlier one with the same source, type and destination.
    pub parallel: u64,
    /// Rows of edges that are equal to another row and so are no edge of their own.
    pub repeated: u64,
    /// Rows of edges that were replaced by a later one with the same source, type and destination.
    pub replaced: u64,
    /// Rows of edges that have no type and got the default one.
    pub untyped: u64,
    /// Rows of edges without a value in the column of times, which got the time 0.
    pub timeless: u64,
    /// Rows of edges whose time was rounded down to milliseconds.
    pub rounded: u64,
    /// Empty items of lists that were left out.
    pub empty_items: u64,
    /// Types of edges.
    pub edge_types: u64,
    /// Numbers of properties of nodes and of edges.
    pub properties: (u64, u64),
    /// Types of the properties of nodes, by name.
    pub node_properties: BTreeMap<String, String>,
    /// Types of the properties of edges, by name.
    pub edge_properties: BTreeMap<String, String>,
    /// Bytes of the property files.
    pub property_bytes: u64,
    /// Sentences on what was skipped, replaced or created.
    pub warnings: Vec<String>,
    /// Sentences on what was defaulted, and on parallel edges that were kept.
    pub notes: Vec<String>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl LoadReport {
    /// The report but for what is known once all files are written.
    pub(super) fn new(tables: &Tables, entry: &PropertyEntry) -> Self {
        let Amended { untyped, timeless, rounded } = tables.amended;
        let [nodes, edges] = tables.properties.each_ref().map(|known| known.empty_items);
        LoadReport {
            nodes: entry.nodes,
            edges: entry.edges,
            node_rows: tables.nodes,
            edge_rows: tables.edges,
            untyped,
            timeless,
            rounded,
            empty_items: nodes + edges,
            edge_types: entry.edge_types.len() as u64,
            properties: (entry.node_properties.len() as u64, entry.edge_properties.len() as u64),
            node_properties: types_of(&entry.node_properties),
            edge_properties: types_of(&entry.edge_properties),
            notes: tables.notes.clone(),
            ..LoadReport::default()
        }
    }

    /// Counts ends of edges that no table of nodes has, `described` with examples.
    pub(super) fn add_missing(&mut self, wanted: MissingNodes, missing: &Missing, described: &str) {
        if missing.edges == 0 {
            return;
        }
        match wanted {
            MissingNodes::Skip => {
                self.skipped = missing.edges;
                let edges = counted(missing.edges, "edge");
                self.warnings.push(format!("{edges} skipped: {described}"));
            }
            _ => {
                self.created = missing.nodes;
                let nodes = counted(missing.nodes, "node");
                self.warnings.push(format!("{nodes} created without properties: {described}"));
            }
        }
    }

    /// Counts parallel edges, `described` by examples.
    pub(super) fn add_parallel(
        &mut self,
        wanted: ParallelEdges,
        outcome: &ParallelOutcome,
        described: &str,
    ) {
        self.parallel = outcome.parallel;
        self.repeated = outcome.repeated;
        self.replaced = outcome.replaced;
        let ParallelOutcome { parallel, repeated, replaced, .. } = outcome;
        if *replaced > 0 {
            self.warnings.push(format!(
                "{} replaced by a later row of the same source, type and destination: {described}",
                counted(*replaced, "edge")
            ));
        }
        if *parallel > 0 {
            let other = if wanted == ParallelEdges::Keep { "" } else { " and other properties" };
            self.notes.push(format!(
                "{} parallel to another one, with the same source, type and destination{other}, kept: \
                 {described}; parallel_edges='replace' (--parallel-edges replace) keeps the last",
                counted(*parallel, "edge")
            ));
        }
        if *repeated > 0 {
            self.notes.push(format!(
                "{} of edges left out, equal to another row; parallel_edges='keep' (--parallel-edges \
                 keep) keeps them",
                counted(*repeated, "row")
            ));
        }
    }

    /// Says what was defaulted.
    pub(super) fn add_defaults(&mut self) {
        for (count, noun, what) in [
            (self.untyped, "row", "of edges without a type got the type 'edge'"),
            (self.timeless, "row", "of edges without a time got the time 0"),
            (self.rounded, "time", "of edges rounded down to milliseconds"),
            (self.empty_items, "empty item", "of lists left out"),
        ] {
            if count > 0 {
                self.notes.push(format!("{} {what}", counted(count, noun)));
            }
        }
    }
}
