//! Queries that find edges by their types and properties.

use super::base::Shard;
use super::condition::{Condition, Predicate};
use super::conflict::Subject;
use super::fragment::Fragment;
use super::graph::{EdgeData, PropertyGraph};
use super::import::TIME;
use super::layers::LayerChanges;
use super::logstore::{LayerId, LogStore};
use super::parts::EdgeLocation;
use super::query_order::{QueryOrder, ValueCounts};
use super::row_set::RowSet;
use super::segment::RowRef;
use super::value::{PropertyType, Scalar, Value};
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Estimated nanoseconds of finding the source and the type of an edge.
const PER_EDGE: u64 = 1000;

/// An edge that a query has found.
struct FoundEdge<'g> {
    source: VertexId,
    ty: u64,
    place: EdgeLocation<'g>,
}

impl PropertyGraph {
    /// Edges that meet all conditions: source, type, and the rest of each edge.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`].
    pub fn find_edges(
        &self,
        properties: &[(&str, Condition)],
    ) -> Result<Vec<(ExternalId, &str, EdgeData<'_>)>> {
        self.find_edges_of(None, properties, &QueryOrder::default())
    }

    /// As [`PropertyGraph::find_edges`], of a type only, in another order, or only the first of them.
    ///
    /// # Errors
    /// As [`PropertyGraph::find_edges`]; [`Error::Invalid`] for an unknown type, or an order by a
    /// property of lists.
    pub fn find_edges_of(
        &self,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<(ExternalId, &str, EdgeData<'_>)>> {
        let mut found = self.matching_edges(edge_type, properties)?;
        let known = &self.state().schema.edges;
        if let Some(name) = order.by {
            let by_time = name == TIME && known.find(name).is_err();
            let property = if by_time { None } else { Some(known.sortable(name)?) };
            found = order.sort(found, |edge| match property {
                Some(property) => self.edge_value(edge, property),
                None => self.encoded_time(edge).map(Some),
            })?;
        }
        order.cut(&mut found);
        let told = |edge: FoundEdge<'_>| {
            let state = self.state();
            let data = self.edge_data(edge.place)?;
            Ok((state.external(edge.source.into())?, state.schema.type_name(edge.ty), data))
        };
        found.into_iter().map(told).collect()
    }

    /// Number of edges of a type, or of any, that meet all conditions.
    ///
    /// # Errors
    /// As [`PropertyGraph::find_edges_of`].
    pub fn count_edges(
        &self,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
    ) -> Result<u64> {
        if edge_type.is_none() && properties.is_empty() && self.state().within.is_none() {
            return Ok(self.num_edges());
        }
        Ok(self.matching_edges(edge_type, properties)?.len() as u64)
    }

    /// Counts of the edges of a type, or of any, that meet all conditions, by the value of a property:
    /// as [`PropertyGraph::count_nodes_by`].
    ///
    /// # Errors
    /// As [`PropertyGraph::find_edges`].
    pub fn count_edges_by(
        &self,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
        by: &str,
    ) -> Result<Vec<(Value, u64)>> {
        let (property, spec) = self.state().schema.edges.find(by)?;
        let mut counts = ValueCounts::new(spec.ty.list);
        for edge in self.matching_edges(edge_type, properties)? {
            counts.add(self.edge_value(&edge, property)?);
        }
        self.decoded(counts, spec)
    }

    /// Edges that meet all conditions: those of the files in the order of their rows, then new ones.
    fn matching_edges(
        &self,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
    ) -> Result<Vec<FoundEdge<'_>>> {
        let schema = &self.state().schema;
        let wanted = schema.edges.wanted(properties)?;
        let ty = edge_type.map(|name| schema.known_type(name)).transpose()?;
        self.matching_known_edges(ty, &wanted)
    }

    /// Returns true if an edge of a type has none of these columns.
    pub(super) fn any_edge_lacks(&self, ty: u64, columns: &[u32]) -> Result<bool> {
        let wanted: Vec<_> = columns.iter().map(|column| (*column, Predicate::Null)).collect();
        Ok(!self.matching_known_edges(Some(ty), &wanted)?.is_empty())
    }

    /// As [`PropertyGraph::matching_edges`], for a number of a type and conditions that are encoded.
    fn matching_known_edges(
        &self,
        ty: Option<u64>,
        wanted: &[(u32, Predicate)],
    ) -> Result<Vec<FoundEdge<'_>>> {
        let state = self.state();
        state.note(ty.map_or(Subject::Edges, Subject::EdgesOf));
        let base = &state.base;
        let rows = || base.shards().iter().map(|shard| &shard.edges.rows);
        let cost = match wanted.is_empty() {
            true => rows().map(|rows| rows.len() * PER_EDGE).sum(),
            false => rows().map(|rows| rows.search_cost(wanted)).sum::<Result<u64>>()?,
        };
        let found = base.search(cost, |number, shard| self.edges_in(number, shard, ty, wanted))?;
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        // Stable, which merges the edges of shards by their sources.
        found.sort_by_key(|edge| edge.source);
        for (number, layer) in state.layers.iter().enumerate() {
            match &layer.changes {
                LayerChanges::Fragment(fragment, deleted) => {
                    let of = (number, fragment.as_ref(), deleted.as_ref());
                    self.add_fragment_edges(of, ty, wanted, &mut found)?;
                }
                LayerChanges::Log(log) => {
                    self.add_new_edges(log, Some((number, layer.id)), ty, wanted, &mut found)?;
                }
            }
        }
        self.add_new_edges(&state.log, None, ty, wanted, &mut found)?;
        state.confine(&mut found, |edge| edge.source.into())?;
        Ok(found)
    }

    /// Edges of a shard that meet all conditions, in the order of their rows.
    fn edges_in<'g>(
        &self,
        number: usize,
        shard: &'g Shard,
        ty: Option<u64>,
        wanted: &[(u32, Predicate)],
    ) -> Result<Vec<FoundEdge<'g>>> {
        let state = self.state();
        let rows = match wanted.is_empty() {
            true => (0..shard.edges.rows.len()).collect(),
            false => shard.edges.rows.find(wanted)?,
        };
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            records.push(shard.edges.of_row(*row)?);
        }
        let mut nodes: Vec<u64> = records.iter().map(|(node, _)| *node).collect();
        state.base.name_nodes(number, &mut nodes)?;
        let mut found = Vec::new();
        for ((row, (_, of)), source) in rows.into_iter().zip(records).zip(nodes) {
            let source = u32::try_from(source).unwrap_or(u32::MAX);
            if ty.is_none_or(|ty| ty == of)
                && state.shows_filed(number, shard, (source, of), row)?
            {
                let place = EdgeLocation::Row(&shard.edges.rows, row);
                found.push(FoundEdge { source, ty: of, place });
            }
        }
        Ok(found)
    }

    /// Adds the edges of a fragment that meet all conditions, in the order of their rows.
    fn add_fragment_edges<'g>(
        &'g self,
        (number, fragment, deleted): (usize, &'g Fragment, &RowSet),
        ty: Option<u64>,
        wanted: &[(u32, Predicate)],
        found: &mut Vec<FoundEdge<'g>>,
    ) -> Result<()> {
        let Some(edges) = fragment.edge_rows() else { return Ok(()) };
        if wanted.is_empty() {
            return self.state().each_edge_in(
                number,
                fragment,
                deleted,
                &mut |source, of, place| {
                    found.extend(ty.is_none_or(|ty| ty == of).then_some(FoundEdge {
                        source,
                        ty: of,
                        place,
                    }));
                    Ok(())
                },
            );
        }
        for row in edges.find(wanted)? {
            let (source, of) = fragment.of_row(row)?;
            if ty.is_none_or(|ty| ty == of)
                && self.state().shows_in(number, fragment, deleted, (source, of), row)?
            {
                found.push(FoundEdge { source, ty: of, place: EdgeLocation::Row(edges, row) });
            }
        }
        Ok(())
    }

    /// Adds the edges of a log that meet all conditions; `layer` is number and id of a frozen one.
    fn add_new_edges<'g>(
        &'g self,
        log: &'g LogStore,
        layer: Option<(usize, LayerId)>,
        ty: Option<u64>,
        wanted: &[(u32, Predicate)],
        found: &mut Vec<FoundEdge<'g>>,
    ) -> Result<()> {
        for (key, number) in log.edge_candidates(wanted) {
            let Some(edge) = log.edge((key, number)) else { continue };
            if !(ty.is_none_or(|ty| ty == key.1) && RowRef::Log(&edge.values).has(wanted)?) {
                continue;
            }
            let shown = match (layer, log.position((key, number))) {
                (Some(layer), Some(position)) => {
                    self.state().shows_frozen(layer, (key.0, key.1), position)?
                }
                _ => true,
            };
            if shown {
                found.push(FoundEdge { source: key.0, ty: key.1, place: EdgeLocation::Log(edge) });
            }
        }
        Ok(())
    }

    /// The encoded value of an edge's property.
    fn edge_value(&self, edge: &FoundEdge<'_>, property: u32) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let there = edge.place.values().get(property, &mut bytes)?;
        Ok(there.then_some(bytes))
    }

    /// The time of an edge as the bytes of an integer property, which sort as it does.
    fn encoded_time(&self, edge: &FoundEdge<'_>) -> Result<Vec<u8>> {
        let time = edge.place.time()?;
        let mut bytes = Vec::new();
        match Value::Int(time).encode(PropertyType::of(Scalar::Int), &mut bytes)? {
            true => Ok(bytes),
            false => Err(Error::Internal("a time is null")),
        }
    }
}
