//! Runs a query on a graph.

use nakshi_io::CancelToken;
use nakshi_property::{Condition, EdgeData, PropertyGraph, QueryOrder, Value, tao};
use nakshi_store::ExternalId;

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::v1::query_request::Query;
use crate::v1::{self, Answer};
use crate::wire;

/// Rows that a short query returns at most.
const FEW: u64 = 256;

/// Returns true if a query takes some microseconds: it is answered by the thread that received it.
pub(crate) fn is_short(query: &Query) -> bool {
    match query {
        Query::NodeProperties(query) => query.ids.len() as u64 <= FEW,
        Query::RecordEdges(query) => query.end.saturating_sub(query.begin) <= FEW,
        Query::AssocRange(query) => query.limit <= FEW,
        Query::AssocTimeRange(query) => query.limit <= FEW,
        Query::Records(_) | Query::RecordRange(_) | Query::Object(_) | Query::AssocCount(_) => true,
        _ => false,
    }
}

/// What a query is called in metrics.
pub(crate) fn name(query: &Query) -> &'static str {
    match query {
        Query::NodeProperties(_) => "node_properties",
        Query::NodePart(_) => "node_part",
        Query::Nodes(_) => "nodes",
        Query::CountNodes(_) => "count_nodes",
        Query::Neighbors(_) => "neighbors",
        Query::Records(_) => "records",
        Query::RecordRange(_) => "record_range",
        Query::RecordEdges(_) => "record_edges",
        Query::Incoming(_) => "incoming",
        Query::Edge(_) => "edge",
        Query::Edges(_) => "edges",
        Query::CountEdges(_) => "count_edges",
        Query::Object(_) => "object",
        Query::AssocCount(_) => "assoc_count",
        Query::AssocRange(_) => "assoc_range",
        Query::AssocGet(_) => "assoc_get",
        Query::AssocTimeRange(_) => "assoc_time_range",
        Query::Schema(_) => "schema",
    }
}

/// Answers a query on a graph.
pub(crate) fn answer(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    cancel: &CancelToken,
) -> Result<Answer> {
    let mut answer = Answer { commit: graph.commit(), ..Answer::default() };
    match query {
        Query::NodeProperties(_) | Query::NodePart(_) | Query::Object(_) => {
            of_node(graph, query, limits, &mut answer)?;
        }
        Query::Nodes(_) | Query::CountNodes(_) | Query::Neighbors(_) => {
            of_nodes(graph, query, limits, &mut answer)?;
        }
        Query::Records(_) | Query::RecordRange(_) | Query::RecordEdges(_) => {
            of_record(graph, query, limits, &mut answer)?;
        }
        Query::Incoming(_) | Query::Edge(_) | Query::Edges(_) | Query::CountEdges(_) => {
            of_edges(graph, query, limits, &mut answer)?;
        }
        Query::AssocCount(_)
        | Query::AssocRange(_)
        | Query::AssocGet(_)
        | Query::AssocTimeRange(_) => of_tao(graph, query, limits, &mut answer)?,
        Query::Schema(query) => {
            let catalog = graph.catalog(query.exact, cancel)?;
            answer.schema = serde_json::to_string(&catalog)
                .map_err(|error| Error::parameter(error.to_string()))?;
        }
    }
    Ok(answer)
}

fn of_node(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    answer: &mut Answer,
) -> Result<()> {
    let told = |values: &[(&str, Value)]| v1::Properties { properties: wire::properties(values) };
    match query {
        Query::NodeProperties(query) => {
            limits.refuse_rows(query.ids.len() as u64)?;
            let ids = wire::of_ids(query.ids)?;
            let names: Option<Vec<&str>> =
                query.names.as_ref().map(|all| all.names.iter().map(String::as_str).collect());
            let found = match &ids[..] {
                [id] => vec![graph.get_node_property(id, names.as_deref())?],
                ids => graph.get_node_properties(ids, names.as_deref())?,
            };
            answer.properties = found.iter().map(|values| told(values)).collect();
        }
        Query::NodePart(query) => {
            let part = query.offset..query.offset.saturating_add(query.length);
            answer.part = graph.read_node_property(&wire::of_id(query.id)?, &query.name, part)?;
        }
        Query::Object(query) => {
            let found = tao::obj_get(graph, &wire::of_id(query.id)?)?;
            answer.properties = found.iter().map(|values| told(values)).collect();
        }
        _ => {}
    }
    Ok(())
}

fn of_nodes(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    answer: &mut Answer,
) -> Result<()> {
    match query {
        Query::Nodes(query) => {
            let wanted = wire::of_filters(query.r#where)?;
            let order = query.order.unwrap_or_default();
            let found = graph.find_nodes(&borrowed(&wanted), &ordered(&order, limits))?;
            answer.ids = ids(found, limits)?;
        }
        Query::CountNodes(query) => {
            let wanted = wire::of_filters(query.r#where)?;
            match &query.by {
                None => answer.count = Some(graph.count_nodes(&borrowed(&wanted))?),
                Some(by) => {
                    answer.counts = counts(graph.count_nodes_by(&borrowed(&wanted), by)?, limits)?;
                }
            }
        }
        Query::Neighbors(query) => {
            let wanted = wire::of_filters(query.r#where)?;
            let (id, order) = (wire::of_id(query.id)?, query.order.unwrap_or_default());
            let found = graph.find_neighbors(
                &id,
                query.edge_type.as_deref(),
                &borrowed(&wanted),
                &ordered(&order, limits),
            )?;
            answer.ids = ids(found, limits)?;
        }
        _ => {}
    }
    Ok(())
}

fn of_record(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    answer: &mut Answer,
) -> Result<()> {
    match query {
        Query::Records(query) => {
            let id = wire::of_id(query.id)?;
            let found = match query.edge_type {
                Some(edge_type) => vec![graph.get_edge_record(&id, &edge_type)?],
                None => graph.get_edge_records(&id)?,
            };
            let told = found.iter().map(|record| v1::Record {
                edge_type: record.edge_type().to_owned(),
                edges: record.len(),
            });
            answer.records = told.collect();
        }
        Query::RecordRange(query) => {
            let record = graph.get_edge_record(&wire::of_id(query.id)?, &query.edge_type)?;
            let found = graph.get_edge_range(&record, query.low, query.high)?;
            answer.range = Some(v1::Places { begin: found.start, end: found.end });
        }
        Query::RecordEdges(query) => {
            let record = graph.get_edge_record(&wire::of_id(query.id)?, &query.edge_type)?;
            let places = query.begin..query.end.min(record.len());
            limits.refuse_rows(places.end.saturating_sub(places.start))?;
            for (place, data) in places.clone().zip(record.edges(places)?) {
                let number = record.edge_id(place)?.number;
                answer.edges.push(v1::Edge { number, ..edge(&data) });
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_edges(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    answer: &mut Answer,
) -> Result<()> {
    match query {
        Query::Incoming(query) => {
            let id = wire::of_id(query.id)?;
            let found = graph.get_incoming_edges(&id, query.edge_type.as_deref())?;
            limits.refuse_rows(found.len() as u64)?;
            let told = found.into_iter().map(|one| v1::Edge {
                source: Some(wire::id(&one.source)),
                edge_type: Some(one.edge_type),
                timestamp: one.timestamp,
                properties: wire::properties(&one.properties),
                ..v1::Edge::default()
            });
            answer.edges = told.collect();
        }
        Query::Edge(query) => {
            let id = wire::of_edge_id(Some(query))?;
            let found = graph.get_edge(&id)?;
            answer.edges = found.iter().map(edge).collect();
        }
        Query::Edges(query) => {
            let wanted = wire::of_filters(query.r#where)?;
            let order = query.order.unwrap_or_default();
            let edge_type = query.edge_type.as_deref();
            let found =
                graph.find_edges_of(edge_type, &borrowed(&wanted), &ordered(&order, limits))?;
            limits.refuse_rows(found.len() as u64)?;
            let told = found.iter().map(|(source, edge_type, data)| v1::Edge {
                source: Some(wire::id(source)),
                edge_type: Some((*edge_type).to_owned()),
                ..edge(data)
            });
            answer.edges = told.collect();
        }
        Query::CountEdges(query) => {
            let wanted = wire::of_filters(query.r#where)?;
            let (edge_type, wanted) = (query.edge_type.as_deref(), borrowed(&wanted));
            match &query.by {
                None => answer.count = Some(graph.count_edges(edge_type, &wanted)?),
                Some(by) => {
                    answer.counts = counts(graph.count_edges_by(edge_type, &wanted, by)?, limits)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn of_tao(graph: &PropertyGraph, query: Query, limits: &Limits, answer: &mut Answer) -> Result<()> {
    let most = (limits.rows as u64).saturating_add(1);
    let found = match query {
        Query::AssocCount(query) => {
            let count = tao::assoc_count(graph, &wire::of_id(query.id)?, &query.edge_type)?;
            answer.count = Some(count);
            return Ok(());
        }
        Query::AssocRange(query) => {
            let (id, limit) = (wire::of_id(query.id)?, query.limit.min(most));
            tao::assoc_range(graph, &id, &query.edge_type, query.place, limit)?
        }
        Query::AssocGet(query) => {
            let (id, others) = (wire::of_id(query.id)?, wire::of_ids(query.others)?);
            tao::assoc_get(graph, &id, &query.edge_type, &others, query.low, query.high)?
        }
        Query::AssocTimeRange(query) => {
            let (id, limit) = (wire::of_id(query.id)?, query.limit.min(most));
            let (high, low) = (query.high, query.low);
            tao::assoc_time_range(graph, &id, &query.edge_type, high, low, limit)?
        }
        _ => return Ok(()),
    };
    limits.refuse_rows(found.len() as u64)?;
    answer.edges = found.iter().map(edge).collect();
    Ok(())
}

fn borrowed(wanted: &[(String, Condition)]) -> Vec<(&str, Condition)> {
    wanted.iter().map(|(name, condition)| (name.as_str(), condition.clone())).collect()
}

/// The order that was asked for, with at most one row more than the limit.
fn ordered<'o>(order: &'o v1::Order, limits: &Limits) -> QueryOrder<'o> {
    let most = limits.rows.saturating_add(1);
    let limit = order.limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(most));
    QueryOrder {
        by: order.by.as_deref(),
        descending: order.descending,
        limit: Some(limit.min(most)),
    }
}

fn ids(found: Vec<ExternalId>, limits: &Limits) -> Result<Vec<v1::Id>> {
    limits.refuse_rows(found.len() as u64)?;
    Ok(found.iter().map(wire::id).collect())
}

fn counts(found: Vec<(Value, u64)>, limits: &Limits) -> Result<Vec<v1::Count>> {
    limits.refuse_rows(found.len() as u64)?;
    let one = |(value, count): &(Value, u64)| v1::Count {
        value: Some(wire::value(value)),
        count: *count,
    };
    Ok(found.iter().map(one).collect())
}

fn edge(data: &EdgeData<'_>) -> v1::Edge {
    v1::Edge {
        destination: Some(wire::id(&data.destination)),
        timestamp: data.timestamp,
        properties: wire::properties(&data.properties),
        ..v1::Edge::default()
    }
}
