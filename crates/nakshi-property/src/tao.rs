//! The operations of TAO (Bronson et al., USENIX ATC 2013, section 3.4), as queries of ZipG
//! (section 4).
//!
//! Objects are nodes, associations are edges. As in TAO, lists begin with the newest edge, and both
//! bounds of a time range are included. ZipG's Algorithms 1 to 3 differ: they begin with the oldest
//! edge and read one too many.

use std::collections::HashSet;

use super::graph::{EdgeData, PropertyGraph};
use super::log::Change;
use super::property_store::PropertyStore;
use super::record::EdgeRecord;
use super::value::Value;
use nakshi_store::{ExternalId, Result};

/// All properties of an object; `None` if there is no such object.
///
/// # Errors
/// Damage.
pub fn obj_get<'g>(
    graph: &'g PropertyGraph,
    id: &ExternalId,
) -> Result<Option<Vec<(&'g str, Value)>>> {
    if !graph.has_node(id)? {
        return Ok(None);
    }
    graph.get_node_property(id, None).map(Some)
}

/// Number of associations of a type.
///
/// # Errors
/// [`Error::NoNode`](nakshi_store::Error::NoNode); damage.
pub fn assoc_count(graph: &PropertyGraph, id: &ExternalId, atype: &str) -> Result<u64> {
    Ok(graph.get_edge_record(id, atype)?.len())
}

/// At most `limit` associations from position `pos` on, 0 being the newest.
///
/// # Errors
/// As [`assoc_count`].
pub fn assoc_range<'g>(
    graph: &'g PropertyGraph,
    id: &ExternalId,
    atype: &str,
    pos: u64,
    limit: u64,
) -> Result<Vec<EdgeData<'g>>> {
    let record = graph.get_edge_record(id, atype)?;
    let end = record.len().saturating_sub(pos);
    newest(graph, &record, end.saturating_sub(limit), end)
}

/// Associations with the objects `id2s` whose time is from `low` to `high`.
///
/// # Errors
/// As [`assoc_count`].
pub fn assoc_get<'g>(
    graph: &'g PropertyGraph,
    id: &ExternalId,
    atype: &str,
    id2s: &[ExternalId],
    low: Option<i64>,
    high: Option<i64>,
) -> Result<Vec<EdgeData<'g>>> {
    let record = graph.get_edge_record(id, atype)?;
    let wanted = id2s.iter().map(|id| Ok(graph.internal(id)?.map(u64::from)));
    let wanted: HashSet<u64> = wanted.filter_map(Result::transpose).collect::<Result<_>>()?;
    let mut found = Vec::new();
    let places = between(graph, &record, low, high)?;
    let ends = record.ends(places.clone())?;
    for (i, _) in (places.start..).zip(ends).filter(|(_, end)| wanted.contains(end)) {
        if let Some(place) = record.place(i)? {
            found.push(graph.edge_data(place)?);
        }
    }
    found.reverse();
    Ok(found)
}

/// At most `limit` associations whose time is from `low` to `high`.
///
/// # Errors
/// As [`assoc_count`].
pub fn assoc_time_range<'g>(
    graph: &'g PropertyGraph,
    id: &ExternalId,
    atype: &str,
    high: Option<i64>,
    low: Option<i64>,
    limit: u64,
) -> Result<Vec<EdgeData<'g>>> {
    let record = graph.get_edge_record(id, atype)?;
    let range = between(graph, &record, low, high)?;
    newest(graph, &record, range.start.max(range.end.saturating_sub(limit)), range.end)
}

/// Positions of the edges whose time is from `low` to `high`.
fn between(
    graph: &PropertyGraph,
    record: &EdgeRecord,
    low: Option<i64>,
    high: Option<i64>,
) -> Result<std::ops::Range<u64>> {
    graph.get_edge_range(record, low, high.and_then(|high| high.checked_add(1)))
}

/// The edges at these positions, from the last to the first.
fn newest<'g>(
    graph: &'g PropertyGraph,
    record: &EdgeRecord,
    from: u64,
    to: u64,
) -> Result<Vec<EdgeData<'g>>> {
    let mut edges = graph.edges_data(record, from..to)?;
    edges.reverse();
    Ok(edges)
}

/// Adds an object.
///
/// # Errors
/// [`Error::Invalid`](nakshi_store::Error::Invalid) if there is an object with this id; as
/// [`PropertyStore::commit`].
pub fn obj_add(
    store: &PropertyStore,
    id: &ExternalId,
    properties: Vec<(String, Value)>,
) -> Result<()> {
    store.commit(&[Change::AppendNode { id: id.clone(), properties }]).map(|_| ())
}

/// Sets properties of an object; null removes a property, and all others stay.
///
/// # Errors
/// [`Error::NoNode`](nakshi_store::Error::NoNode); as [`PropertyStore::commit`].
pub fn obj_update(
    store: &PropertyStore,
    id: &ExternalId,
    properties: Vec<(String, Value)>,
) -> Result<()> {
    let change = Change::UpdateNode { id: id.clone(), properties, merge: true };
    store.commit(&[change]).map(|_| ())
}

/// Deletes an object with all associations from it and to it; false if there was none.
///
/// # Errors
/// As [`PropertyStore::commit`].
pub fn obj_delete(store: &PropertyStore, id: &ExternalId) -> Result<bool> {
    changed(store, Change::DeleteNode { id: id.clone() })
}

/// Commits a change; false if it changed nothing.
fn changed(store: &PropertyStore, change: Change) -> Result<bool> {
    Ok(store.commit(&[change])? > 0)
}

/// The source, type and destination of an association, as a change names them.
fn association(id: &ExternalId, atype: &str, id2: &ExternalId) -> (ExternalId, String, ExternalId) {
    (id.clone(), atype.to_owned(), id2.clone())
}

/// Adds an association, in place of one with the same ends and type. If the type has an inverse,
/// the association that leads back is added as well.
///
/// # Errors
/// [`Error::NoNode`](nakshi_store::Error::NoNode); as [`PropertyStore::commit`].
pub fn assoc_add(
    store: &PropertyStore,
    id: &ExternalId,
    atype: &str,
    id2: &ExternalId,
    timestamp: i64,
    properties: Vec<(String, Value)>,
) -> Result<()> {
    let (source, edge_type, destination) = association(id, atype, id2);
    let change = Change::AppendEdge { source, edge_type, destination, timestamp, properties };
    store.commit(&[change]).map(|_| ())
}

/// Deletes an association, and the one that leads back; false if there was none.
///
/// # Errors
/// As [`PropertyStore::commit`].
pub fn assoc_delete(
    store: &PropertyStore,
    id: &ExternalId,
    atype: &str,
    id2: &ExternalId,
) -> Result<bool> {
    let (source, edge_type, destination) = association(id, atype, id2);
    changed(store, Change::DeleteEdge { source, edge_type, destination })
}

/// Gives an association another type, and the one that leads back the inverse of that type; false
/// if there was none.
///
/// # Errors
/// As [`PropertyStore::commit`].
pub fn assoc_change_type(
    store: &PropertyStore,
    id: &ExternalId,
    atype: &str,
    id2: &ExternalId,
    new_type: &str,
) -> Result<bool> {
    let (source, edge_type, destination) = association(id, atype, id2);
    let new_type = new_type.to_owned();
    changed(store, Change::ChangeType { source, edge_type, destination, new_type })
}
