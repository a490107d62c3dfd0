//! Reload: the rows of an existing graph as a table.

use std::collections::BTreeMap;

use nakshi_io::CancelToken;

use super::super::bucket_set::BucketSet;
use super::super::graph::PropertyGraph;
use super::super::moved_buckets::MovedBuckets;
use super::super::parts::EdgeLocation;
use super::super::record::EdgeRecord;
use super::super::rule::Rule;
use super::super::schema::encoded_number;
use super::super::walk::Walk;
use super::cell::InferredProperties;
use super::header::TableKind;
use super::options::{LoadOptions, MissingNodes, ParallelEdges};
use super::table::{GraphRows, SpooledRow, Table, TableRows};
use nakshi_store::{Error, Result};

/// State of a graph that its rows do not show.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) inverses: BTreeMap<String, String>,
    /// Constraints and indexes.
    pub(super) rules: Vec<Rule>,
    /// Buckets that were moved to other shares.
    pub(super) moved: MovedBuckets,
    /// Larger than the number of every edge; 0 if no edge has one.
    pub(super) next_edge: u64,
    /// Number of the last commit.
    pub(super) commit: u64,
    /// The buckets of which the nodes are loaded; `None` for all.
    pub(super) buckets: Option<BucketSet>,
}

impl Kept {
    pub(super) fn of(graph: &PropertyGraph, buckets: Option<&BucketSet>) -> Self {
        let schema = &graph.state().schema;
        let inverses = schema.inverses().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let next = graph.state().log.next_edge;
        Kept {
            inverses,
            rules: schema.rules().to_vec(),
            moved: schema.moved.clone(),
            next_edge: if next > 1 { next } else { 0 },
            commit: graph.commit(),
            buckets: buckets.cloned(),
        }
    }
}

/// A table of the nodes of a graph, or of its edges, of some buckets only if there are any.
pub(super) fn table(graph: &PropertyGraph, buckets: Option<&BucketSet>) -> Vec<Table<'static>> {
    let (buckets, other) = (buckets.cloned(), BucketSet::default());
    vec![rows(GraphRows { graph: graph.clone(), buckets, other, lists_few: true })]
}

/// Tables of the nodes of two graphs, or of their edges: those of the buckets `own` of the first, and those of the
/// buckets `taken` of the second.
pub(super) fn tables(
    (graph, own): (&PropertyGraph, &BucketSet),
    (more, taken): (&PropertyGraph, &BucketSet),
) -> Vec<Table<'static>> {
    let of = |graph: &PropertyGraph, buckets: &BucketSet, other: &BucketSet, lists_few| {
        let (buckets, other) = (Some(buckets.clone()), other.clone());
        rows(GraphRows { graph: graph.clone(), buckets, other, lists_few })
    };
    vec![of(graph, own, taken, true), of(more, taken, own, false)]
}

fn rows(rows: GraphRows) -> Table<'static> {
    Table::new(None, TableRows::Graph(Box::new(rows)))
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
    other: BucketSet,
    lists_few: bool,
    numbers: Numbers,
}

/// The numbers in the new files of the properties of a graph.
struct Numbers {
    of: Vec<u32>,
    /// True if they are those of the graph.
    same: bool,
    /// Values of a row whose properties get other numbers.
    values: Vec<(u32, Vec<u8>)>,
}

impl Numbers {
    fn put(&mut self, property: u32, value: &[u8], row: &mut Vec<u8>) {
        if self.same {
            InferredProperties::copy(property, value, row);
        } else if let Some(property) = self.of.get(property as usize) {
            self.values.push((*property, value.to_vec()));
        }
    }

    /// Ends a row, whose values are ascending by property.
    fn end(&mut self, row: &mut Vec<u8>) {
        self.values.sort_by_key(|(property, _)| *property);
        for (property, value) in self.values.drain(..) {
            InferredProperties::copy(property, &value, row);
        }
    }

    /// Adds type, time and properties of an edge to its row.
    fn rest(
        &mut self,
        record: &EdgeRecord,
        place: &EdgeLocation<'_>,
        row: &mut SpooledRow,
    ) -> Result<()> {
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
                self.put(of, &bytes, &mut row.values);
            }
            self.put(property, value, &mut row.values);
            Ok(())
        })?;
        if let Some((of, bytes)) = number {
            self.put(of, &bytes, &mut row.values);
        }
        self.end(&mut row.values);
        Ok(())
    }
}

impl Reload {
    /// Starts the rows. If `properties` is empty, the properties keep the numbers that they have in
    /// the graph.
    pub(super) fn new(
        kind: TableKind,
        rows: GraphRows,
        properties: &mut InferredProperties,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let GraphRows { graph, buckets, other, lists_few } = rows;
        let specs = match kind {
            TableKind::Nodes => graph.state().schema.nodes.specs(),
            TableKind::Edges => graph.state().schema.edges.specs(),
        };
        let of = specs.iter().map(|spec| properties.take(spec)).collect::<Result<Vec<_>, _>>();
        let of = of.map_err(Error::Invalid)?;
        let same = (0..).zip(&of).all(|(old, new)| old == *new);
        let numbers = Numbers { of, same, values: Vec::new() };
        let walk = Walk::new(&graph).until(cancel);
        Ok(Reload { kind, walk, buckets, other, lists_few, numbers })
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
            let few = || self.lists_few && state.num_nodes() <= FEW && !self.other.has(&id);
            if !own && !few() {
                continue;
            }
            row.source = id.into_bytes();
            for (property, value) in state.values_of(v)?.into_iter().filter(|_| own) {
                self.numbers.put(property, &value, &mut row.values);
            }
            self.numbers.end(&mut row.values);
            return Ok(true);
        }
        Ok(false)
    }

    fn edge(&mut self, row: &mut SpooledRow) -> Result<bool> {
        let Reload { walk, buckets, other, numbers, .. } = self;
        while let Some((record, i)) = walk.edge(|_| true, |_| true)? {
            let state = record.graph().state();
            let gone = || Error::BadList("an edge record is shorter than it says");
            let place = record.place(i)?.ok_or_else(gone)?;
            let source = state.external(record.node().into())?;
            let target = state.external(place.end()?)?;
            // An edge between two tables is in that of its source, whose edges keep their order so.
            let takes =
                |own: &BucketSet| own.has(&source) || (own.has(&target) && !other.has(&source));
            if buckets.as_ref().is_none_or(takes) {
                (row.source, row.target) = (source.into_bytes(), target.into_bytes());
                return numbers.rest(record, &place, row).map(|()| true);
            }
        }
        Ok(false)
    }
}
