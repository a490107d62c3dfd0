//! Nodes and edges by internal numbers, for the operators of a query language: a number is a look-up
//! less than an id, and it fits a register. Numbers mean the same until the next compaction.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::condition::{Condition, Predicate};
use super::conflict::Subject;
use super::graph::PropertyGraph;
use super::log::EdgeId;
use super::parts::EdgeLocation;
use super::record::EdgeRecord;
use super::schema::Properties;
use super::segment::{RowRef, SegmentRows};
use super::spec::PropertySpec;
use nakshi_store::{Error, Result, VertexId};
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};

/// Estimated nanoseconds of a search in changes, which have indexes of their own.
const CHANGED: u64 = 50_000;

/// An edge of a graph, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EdgeNumbers {
    /// Source of the edge.
    pub source: VertexId,
    /// Number of its type.
    pub edge_type: u64,
    /// Destination of the edge.
    pub destination: VertexId,
    /// Number that tells it apart from others with the same ends and type; see [`EdgeId`].
    pub number: u64,
    /// Place among the edges with the same ends, type and number, which only edges without a number have.
    pub twin: u32,
    /// Where it was found.
    pub place: EdgePlace,
}

/// Where an edge was in its record when it was found: a hint, by which its properties are found at once if it is
/// still there. All places are equal, so that edges are compared by what they are.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct EdgePlace(u64);

impl PartialEq for EdgePlace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for EdgePlace {}

impl PartialOrd for EdgePlace {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EdgePlace {
    fn cmp(&self, _: &Self) -> Ordering {
        Ordering::Equal
    }
}

impl Hash for EdgePlace {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PropertyGraph {
    /// Numbers of nodes that are not deleted, ascending from `from` on, at most `most`; with the number
    /// at which to go on, `None` behind the last node.
    pub fn numbers_from(&self, from: u64, most: usize) -> (Vec<VertexId>, Option<u64>) {
        let state = self.state();
        if from == 0 {
            state.note(Subject::Nodes);
        }
        let mut found = Vec::new();
        for v in from..state.numbered() {
            if found.len() >= most {
                return (found, Some(v));
            }
            found.extend(u32::try_from(v).ok().filter(|v| state.is_alive(*v)));
        }
        (found, None)
    }

    /// Numbers of the nodes that meet all conditions, ascending. No node meets a condition on a property
    /// that the graph does not have, or of which no value is possible.
    ///
    /// # Errors
    /// Damage.
    pub fn numbers_of(&self, properties: &[(&str, Condition)]) -> Result<Vec<VertexId>> {
        // A later commit that adds the property changes the schema, which is a conflict.
        let Some(wanted) = self.predicates(properties) else { return Ok(Vec::new()) };
        let narrow = |v| u32::try_from(v).map_err(|_| Error::BadList("a vertex id is too wide"));
        self.matching_known(&wanted)?.into_iter().map(narrow).collect()
    }

    /// The conditions as the files check them; `None` if nothing can meet them.
    fn predicates(&self, properties: &[(&str, Condition)]) -> Option<Vec<(u32, Predicate)>> {
        let one = |(name, condition): &(&str, Condition)| {
            let (number, spec) = self.state().schema.nodes.writable(name)?;
            Some((number, condition.predicate(spec.ty).ok()?))
        };
        properties.iter().map(one).collect()
    }

    /// Estimated nanoseconds of [`PropertyGraph::numbers_of`]. Takes little of them itself.
    ///
    /// # Errors
    /// Damage.
    pub fn cost_of_numbers(&self, properties: &[(&str, Condition)]) -> Result<u64> {
        let Some(wanted) = self.predicates(properties) else { return Ok(0) };
        let state = self.state();
        let shards = state.base.shards().iter();
        let cost = shards.map(|shard| shard.nodes.search_cost(&wanted)).sum::<Result<u64>>()?;
        let changed = !state.layers.is_empty() || !state.log.is_empty();
        Ok(cost + if changed { CHANGED } else { 0 })
    }

    /// Returns true if the graph is that of a transaction, which notes what is read.
    pub fn notes_reads(&self) -> bool {
        self.state().reads.is_some()
    }

    /// Hands each value of a node to `f`, with its property; also values of any type. They are
    /// encoded as [`Value::decode`](super::Value::decode) reads them. Returns false if the node is deleted.
    ///
    /// # Errors
    /// Those of `f`; damage.
    pub fn each_value<'g>(
        &'g self,
        v: VertexId,
        mut f: impl FnMut(&'g PropertySpec, &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let Some(row) = self.node_row(v)? else { return Ok(false) };
        each_of(&row, &self.state().schema.nodes, &mut f)?;
        Ok(true)
    }

    /// The encoded value of a property of a node, which [`PropertyGraph::property`] has found; `None` if it
    /// is null or the node is deleted.
    ///
    /// # Errors
    /// Damage.
    pub fn encoded_value(&self, v: VertexId, property: u32) -> Result<Option<Vec<u8>>> {
        self.encoded(v.into(), property)
    }

    /// As [`PropertyGraph::encoded_value`]: replaces the contents of `out` by the value; false if there is none.
    ///
    /// # Errors
    /// Damage.
    pub fn read_encoded(&self, v: VertexId, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.node_row(v)?.map_or(Ok(false), |row| row.get(property, out))
    }

    /// The number of a type of edges by its name.
    pub fn edge_type_number(&self, name: &str) -> Option<u64> {
        self.state().schema.edge_type(name)
    }

    /// The name of a type of edges by its number.
    pub fn edge_type_name(&self, number: u64) -> &str {
        self.state().schema.type_name(number)
    }

    /// Number and specification of a property of nodes, or of edges, that may be set.
    pub fn property(&self, of_edges: bool, name: &str) -> Option<(u32, &PropertySpec)> {
        let schema = &self.state().schema;
        let known = if of_edges { &schema.edges } else { &schema.nodes };
        known.writable(name)
    }

    /// The edges of some types, or of all, from a node, in the order of types and times.
    ///
    /// # Errors
    /// Damage.
    pub fn edges_from(&self, v: VertexId, types: Option<&[u64]>) -> Result<Vec<EdgeNumbers>> {
        let mut found = Vec::new();
        for record in self.records_of_types(v, types)? {
            self.add_edges(&record, u64::MAX, None, &mut found)?;
        }
        Ok(found)
    }

    /// The first edges of each type from a node, at most `most` of a type, in the order of types and times.
    ///
    /// # Errors
    /// Damage.
    pub fn first_edges_from(&self, v: VertexId, most: u64) -> Result<Vec<EdgeNumbers>> {
        let mut found = Vec::new();
        for record in self.records_of(v)? {
            self.add_edges(&record, most, None, &mut found)?;
        }
        Ok(found)
    }

    /// The edges of some types, or of all, that lead to a node.
    ///
    /// # Errors
    /// Damage.
    pub fn edges_to(&self, v: VertexId, types: Option<&[u64]>) -> Result<Vec<EdgeNumbers>> {
        let mut found = Vec::new();
        for source in self.sources_of(v)? {
            self.add_all_between(source, types, v, &mut found)?;
        }
        Ok(found)
    }

    /// The edges of some types, or of all, from one node to another.
    ///
    /// # Errors
    /// Damage.
    pub fn edges_between(
        &self,
        source: VertexId,
        types: Option<&[u64]>,
        destination: VertexId,
    ) -> Result<Vec<EdgeNumbers>> {
        let mut found = Vec::new();
        self.add_all_between(source, types, destination, &mut found)?;
        Ok(found)
    }

    fn add_all_between(
        &self,
        source: VertexId,
        types: Option<&[u64]>,
        destination: VertexId,
        found: &mut Vec<EdgeNumbers>,
    ) -> Result<()> {
        match types {
            Some(types) => {
                for ty in types {
                    self.add_edges_between((source, *ty, destination), found)?;
                }
            }
            None => {
                for record in self.records_of(source)? {
                    self.add_edges(&record, u64::MAX, Some(destination), found)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the edges of a type from one node to another.
    fn add_edges_between(
        &self,
        (source, ty, to): (VertexId, u64, VertexId),
        found: &mut Vec<EdgeNumbers>,
    ) -> Result<()> {
        let state = self.state();
        if let Some((shard, rows)) = state.untouched_record(source, ty)? {
            return self.add_ends(&shard.edges.rows, rows, (source, ty, to), found);
        }
        let parts = state.record(source, ty)?;
        if !parts.rest.is_empty() {
            let record = self.edge_record(source, ty, parts);
            return self.add_edges(&record, u64::MAX, Some(to), found);
        }
        let rows = &state.base.shard_of(source)?.edges.rows;
        let visible = parts.first.visible().map(|(_, row)| row);
        self.add_ends(rows, visible, (source, ty, to), found)
    }

    /// Adds those of some rows of a record that lead to a node.
    fn add_ends(
        &self,
        rows: &SegmentRows,
        visible: impl Iterator<Item = u64>,
        (source, edge_type, to): (VertexId, u64, VertexId),
        found: &mut Vec<EdgeNumbers>,
    ) -> Result<()> {
        let (numbers, first) = (self.state().schema.edge_number(), found.len());
        for (place, row) in (0..).zip(visible) {
            if rows.end(row)? == u64::from(to) {
                let number = EdgeLocation::Row(rows, row).number(numbers)?;
                let place = EdgePlace(place);
                let edge =
                    EdgeNumbers { source, edge_type, destination: to, number, twin: 0, place };
                found.push(edge);
            }
        }
        number_twins(found.get_mut(first..).unwrap_or_default());
        Ok(())
    }

    fn records_of_types(&self, v: VertexId, types: Option<&[u64]>) -> Result<Vec<EdgeRecord>> {
        let Some(types) = types else { return self.records_of(v) };
        let record = |ty: &u64| Ok(self.edge_record(v, *ty, self.state().record(v, *ty)?));
        types.iter().map(record).collect()
    }

    /// Adds the first edges of a record, or those of them that lead to a node.
    fn add_edges(
        &self,
        record: &EdgeRecord,
        most: u64,
        to: Option<VertexId>,
        found: &mut Vec<EdgeNumbers>,
    ) -> Result<()> {
        let have_numbers = self.state().schema.edge_number().is_some();
        let first = found.len();
        for (i, end) in (0..).zip(record.ends(0..record.len().min(most))?) {
            let end = u32::try_from(end).map_err(|_| Error::BadList("a vertex id is too wide"))?;
            if to.is_some_and(|to| to != end) {
                continue;
            }
            let number = if have_numbers { record.edge_number(i)? } else { 0 };
            let (source, edge_type) = (record.node(), record.type_number());
            let place = EdgePlace(i);
            found.push(EdgeNumbers { source, edge_type, destination: end, number, twin: 0, place });
        }
        number_twins(found.get_mut(first..).unwrap_or_default());
        Ok(())
    }

    /// Hands each value of an edge to `f`, as [`PropertyGraph::each_value`] does of a node. Returns false if
    /// there is no such edge.
    ///
    /// # Errors
    /// Those of `f`; damage.
    pub fn each_edge_value<'g>(
        &'g self,
        edge: &EdgeNumbers,
        mut f: impl FnMut(&'g PropertySpec, &[u8]) -> Result<()>,
    ) -> Result<bool> {
        let known = &self.state().schema.edges;
        Ok(self.with_edge(edge, |values| each_of(values, known, &mut f))?.is_some())
    }

    /// The encoded value of a property of an edge, which [`PropertyGraph::property`] has found; `None` if it
    /// is null or there is no such edge.
    ///
    /// # Errors
    /// Damage.
    pub fn encoded_edge_value(&self, edge: &EdgeNumbers, property: u32) -> Result<Option<Vec<u8>>> {
        let found = self.with_edge(edge, |values| {
            let mut out = Vec::new();
            Ok(values.get(property, &mut out)?.then_some(out))
        });
        Ok(found?.flatten())
    }

    /// The result of `f` for the values of an edge; `None` if there is no such edge.
    fn with_edge<T>(
        &self,
        edge: &EdgeNumbers,
        f: impl FnOnce(&RowRef<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let state = self.state();
        let (source, ty, end) = (edge.source, edge.edge_type, edge.destination);
        state.note(Subject::Edge((source, ty, end)));
        if let Some(found) = state.log.edge(((source, ty, end), edge.number)) {
            return f(&RowRef::Log(&found.values)).map(Some);
        }
        let record = self.edge_record(source, ty, state.stored_record(source, ty)?);
        if let Some(place) = self.still_at(&record, edge)? {
            return f(&place.values()).map(Some);
        }
        let mut twins = edge.twin;
        for (i, other) in (0..).zip(record.ends(0..record.len())?) {
            if other != u64::from(end) {
                continue;
            }
            let Some(place) = record.place(i)? else { continue };
            if place.number(state.schema.edge_number())? != edge.number {
                continue;
            }
            if twins == 0 {
                return f(&place.values()).map(Some);
            }
            twins -= 1;
        }
        Ok(None)
    }

    /// The location of an edge, if it is where it was found.
    fn still_at<'r>(
        &self,
        record: &'r EdgeRecord,
        edge: &EdgeNumbers,
    ) -> Result<Option<EdgeLocation<'r>>> {
        if edge.twin != 0 {
            return Ok(None);
        }
        let Some(place) = record.place(edge.place.0)? else { return Ok(None) };
        let is = place.end()? == u64::from(edge.destination)
            && place.number(self.state().schema.edge_number())? == edge.number;
        Ok(is.then_some(place))
    }

    /// The identity of an edge, by which changes name it.
    ///
    /// # Errors
    /// Damage.
    pub fn edge_identity(&self, edge: &EdgeNumbers) -> Result<EdgeId> {
        let state = self.state();
        Ok(EdgeId {
            source: state.external(edge.source.into())?,
            edge_type: state.schema.type_name(edge.edge_type).to_owned(),
            destination: state.external(edge.destination.into())?,
            number: edge.number,
        })
    }
}

/// Numbers the edges of one record that have the same end and no number of their own.
fn number_twins(edges: &mut [EdgeNumbers]) {
    // Edges of one time are sorted by their ends.
    if edges.is_sorted_by(|edge, next| edge.destination < next.destination)
        || edges.iter().all(|edge| edge.number != 0)
    {
        return;
    }
    let mut seen = FxHashMap::with_capacity_and_hasher(edges.len(), FxBuildHasher);
    for edge in edges.iter_mut().filter(|edge| edge.number == 0) {
        let twins = seen.entry(edge.destination).or_insert(0_u32);
        edge.twin = *twins;
        *twins = twins.saturating_add(1);
    }
}

fn each_of<'g>(
    row: &RowRef<'_>,
    known: &'g Properties,
    f: &mut impl FnMut(&'g PropertySpec, &[u8]) -> Result<()>,
) -> Result<()> {
    row.each(|property, bytes| match known.get(property) {
        Some(spec) if !spec.is_hidden() || spec.any_of().is_some() => f(spec, bytes),
        _ => Ok(()),
    })
}
