//! Queries as messages, for [`Client::ask_each`](crate::Client::ask_each) and for the trait
//! [`Queries`](crate::Queries), whose methods say what each asks.

use nakshi_property::{Condition, EdgeId, QueryOrder};
use nakshi_store::ExternalId;

use crate::error::Result;
use crate::v1;
use crate::v1::query_request::Query;
use crate::wire;

fn ordered(order: &QueryOrder<'_>) -> v1::Order {
    v1::Order {
        by: order.by.map(str::to_owned),
        descending: order.descending,
        limit: order.limit.map(|limit| limit as u64),
    }
}

/// Properties of nodes; all of them if `names` is `None`.
pub fn node_properties(ids: &[ExternalId], names: Option<&[&str]>) -> Query {
    let names = names
        .map(|names| v1::Names { names: names.iter().map(|name| (*name).to_owned()).collect() });
    Query::NodeProperties(v1::NodeProperties { ids: ids.iter().map(wire::id).collect(), names })
}

/// Bytes of a string or of bytes.
pub fn node_part(id: &ExternalId, name: &str, part: std::ops::Range<u64>) -> Query {
    Query::NodePart(v1::NodePart {
        id: Some(wire::id(id)),
        name: name.to_owned(),
        offset: part.start,
        length: part.end.saturating_sub(part.start),
    })
}

/// Nodes that meet all conditions.
///
/// # Errors
/// [`ErrorKind::Parameter`](crate::ErrorKind::Parameter) for a condition of a newer version.
pub fn nodes(wanted: &[(&str, Condition)], order: &QueryOrder<'_>) -> Result<Query> {
    Ok(Query::Nodes(v1::Nodes { r#where: wire::filters(wanted)?, order: Some(ordered(order)) }))
}

/// Number of the nodes that meet all conditions, or their counts by a property.
///
/// # Errors
/// As [`nodes`].
pub fn count_nodes(wanted: &[(&str, Condition)], by: Option<&str>) -> Result<Query> {
    let (r#where, by) = (wire::filters(wanted)?, by.map(str::to_owned));
    Ok(Query::CountNodes(v1::CountNodes { r#where, by }))
}

/// Neighbours of a node that meet all conditions.
///
/// # Errors
/// As [`nodes`].
pub fn neighbors(
    id: &ExternalId,
    edge_type: Option<&str>,
    wanted: &[(&str, Condition)],
    order: &QueryOrder<'_>,
) -> Result<Query> {
    Ok(Query::Neighbors(v1::Neighbors {
        id: Some(wire::id(id)),
        edge_type: edge_type.map(str::to_owned),
        r#where: wire::filters(wanted)?,
        order: Some(ordered(order)),
    }))
}

/// Nodes at a distance of 1 to `hops` edges from some nodes that meet all conditions.
///
/// # Errors
/// As [`nodes`].
pub fn expand(
    ids: &[ExternalId],
    edge_type: Option<&str>,
    hops: u32,
    wanted: &[(&str, Condition)],
    limit: Option<usize>,
) -> Result<Query> {
    Ok(Query::Expand(v1::Expand {
        ids: ids.iter().map(wire::id).collect(),
        edge_type: edge_type.map(str::to_owned),
        hops,
        r#where: wire::filters(wanted)?,
        limit: limit.map(|limit| limit as u64),
    }))
}

/// Edge records of a node.
pub fn records(id: &ExternalId, edge_type: Option<&str>) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.map(str::to_owned));
    Query::Records(v1::Records { id, edge_type })
}

/// Places of the edges of a record with `low <= time < high`.
pub fn record_range(
    id: &ExternalId,
    edge_type: &str,
    low: Option<i64>,
    high: Option<i64>,
) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    Query::RecordRange(v1::RecordRange { id, edge_type, low, high })
}

/// Edges of a record.
pub fn record_edges(id: &ExternalId, edge_type: &str, places: std::ops::Range<u64>) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    let (begin, end) = (places.start, places.end);
    Query::RecordEdges(v1::RecordEdges { id, edge_type, begin, end })
}

/// Edges that lead to a node.
pub fn incoming(id: &ExternalId, edge_type: Option<&str>) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.map(str::to_owned));
    Query::Incoming(v1::Incoming { id, edge_type })
}

/// An edge by its identity.
pub fn edge(id: &EdgeId) -> Query {
    Query::Edge(wire::edge_id(id))
}

/// Edges that meet all conditions.
///
/// # Errors
/// As [`nodes`].
pub fn edges(
    edge_type: Option<&str>,
    wanted: &[(&str, Condition)],
    order: &QueryOrder<'_>,
) -> Result<Query> {
    Ok(Query::Edges(v1::Edges {
        edge_type: edge_type.map(str::to_owned),
        r#where: wire::filters(wanted)?,
        order: Some(ordered(order)),
    }))
}

/// Number of the edges that meet all conditions, or their counts by a property.
///
/// # Errors
/// As [`nodes`].
pub fn count_edges(
    edge_type: Option<&str>,
    wanted: &[(&str, Condition)],
    by: Option<&str>,
) -> Result<Query> {
    Ok(Query::CountEdges(v1::CountEdges {
        edge_type: edge_type.map(str::to_owned),
        r#where: wire::filters(wanted)?,
        by: by.map(str::to_owned),
    }))
}

/// TAO: an object.
pub fn object(id: &ExternalId) -> Query {
    Query::Object(v1::Object { id: Some(wire::id(id)) })
}

/// TAO: number of associations.
pub fn assoc_count(id: &ExternalId, edge_type: &str) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    Query::AssocCount(v1::AssocCount { id, edge_type })
}

/// TAO: associations from a place on.
pub fn assoc_range(id: &ExternalId, edge_type: &str, place: u64, limit: u64) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    Query::AssocRange(v1::AssocRange { id, edge_type, place, limit })
}

/// TAO: associations with some objects between two times.
pub fn assoc_get(
    id: &ExternalId,
    edge_type: &str,
    others: &[ExternalId],
    low: Option<i64>,
    high: Option<i64>,
) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    let others = others.iter().map(wire::id).collect();
    Query::AssocGet(v1::AssocGet { id, edge_type, others, low, high })
}

/// TAO: associations between two times.
pub fn assoc_time_range(
    id: &ExternalId,
    edge_type: &str,
    low: Option<i64>,
    high: Option<i64>,
    limit: u64,
) -> Query {
    let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
    Query::AssocTimeRange(v1::AssocTimeRange { id, edge_type, low, high, limit })
}

/// Labels, types of edges and properties.
pub fn schema(exact: u64) -> Query {
    Query::Schema(v1::Schema { exact })
}
