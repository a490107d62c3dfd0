//! The queries of Graph Search (ZipG, Table 4).

use super::condition::Condition;
use super::graph::{EdgeData, PropertyGraph};
use super::tao;
use nakshi_store::{ExternalId, Result};

/// GS1: all friends of a node.
///
/// # Errors
/// [`Error::NoNode`](nakshi_store::Error::NoNode); damage.
pub fn friends(graph: &PropertyGraph, id: &ExternalId) -> Result<Vec<ExternalId>> {
    graph.get_neighbor_ids(id, None, &[])
}

/// GS2: the friends of a node that meet all conditions.
///
/// # Errors
/// As [`friends`]; unknown properties, and values of another type.
pub fn friends_with(
    graph: &PropertyGraph,
    id: &ExternalId,
    properties: &[(&str, Condition)],
) -> Result<Vec<ExternalId>> {
    graph.get_neighbor_ids(id, None, properties)
}

/// GS3: the nodes that meet all conditions.
///
/// # Errors
/// Unknown properties, and values of another type; damage.
pub fn find(graph: &PropertyGraph, properties: &[(&str, Condition)]) -> Result<Vec<ExternalId>> {
    graph.get_node_ids(properties)
}

/// GS4: the friends of a node by one type of edges.
///
/// # Errors
/// As [`friends`].
pub fn friends_by(
    graph: &PropertyGraph,
    id: &ExternalId,
    edge_type: &str,
) -> Result<Vec<ExternalId>> {
    graph.get_neighbor_ids(id, Some(edge_type), &[])
}

/// GS5: the edges of one type of a node with all data, newest first.
///
/// # Errors
/// As [`friends`].
pub fn friends_data<'g>(
    graph: &'g PropertyGraph,
    id: &ExternalId,
    edge_type: &str,
) -> Result<Vec<EdgeData<'g>>> {
    tao::assoc_range(graph, id, edge_type, 0, u64::MAX)
}
