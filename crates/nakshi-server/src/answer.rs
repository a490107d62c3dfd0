//! Runs a query on a graph.

use nakshi_io::CancelToken;
use nakshi_property::{Condition, EdgeData, IncomingEdge, PropertyGraph, QueryOrder, Value, tao};
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

/// Name of a query in metrics.
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
        Query::Expand(_) => "expand",
        Query::Frontier(_) => "frontier",
    }
}

/// Answers a query on a graph.
pub(crate) fn answer(
    graph: &PropertyGraph,
    query: Query,
    limits: &Limits,
    cancel: &CancelToken,
) -> Result<Answer> {
    let on = On { graph, limits };
    let answer = match query {
        Query::NodeProperties(query) => on.node_properties(query),
        Query::NodePart(query) => on.node_part(query),
        Query::Nodes(query) => on.nodes(query),
        Query::CountNodes(query) => on.count_nodes(query),
        Query::Neighbors(query) => on.neighbors(query),
        Query::Records(query) => on.records(query),
        Query::RecordRange(query) => on.record_range(query),
        Query::RecordEdges(query) => on.record_edges(query),
        Query::Incoming(query) => on.incoming(query),
        Query::Edge(query) => on.edge(query),
        Query::Edges(query) => on.edges(query),
        Query::CountEdges(query) => on.count_edges(query),
        Query::Object(query) => on.object(query),
        Query::AssocCount(query) => on.assoc_count(query),
        Query::AssocRange(query) => on.assoc_range(query),
        Query::AssocGet(query) => on.assoc_get(query),
        Query::AssocTimeRange(query) => on.assoc_time_range(query),
        Query::Schema(query) => on.schema(query, cancel),
        Query::Expand(query) => on.expand(query, cancel),
        Query::Frontier(query) => on.frontier(query),
    };
    Ok(Answer { commit: graph.commit(), ..answer? })
}

/// A graph, and the limits of the answers on it.
struct On<'g> {
    graph: &'g PropertyGraph,
    limits: &'g Limits,
}

impl On<'_> {
    fn node_properties(&self, query: v1::NodeProperties) -> Result<Answer> {
        self.limits.refuse_rows(query.ids.len() as u64)?;
        let ids = wire::of_ids(query.ids)?;
        let names: Option<Vec<&str>> =
            query.names.as_ref().map(|all| all.names.iter().map(String::as_str).collect());
        let found = match &ids[..] {
            [id] => vec![self.graph.get_node_property(id, names.as_deref())?],
            ids => self.graph.get_node_properties(ids, names.as_deref())?,
        };
        let properties = found.iter().map(|values| properties(values)).collect();
        Ok(Answer { properties, ..Answer::default() })
    }

    fn node_part(&self, query: v1::NodePart) -> Result<Answer> {
        let part = query.offset..query.offset.saturating_add(query.length);
        let part = self.graph.read_node_property(&wire::of_id(query.id)?, &query.name, part)?;
        Ok(Answer { part, ..Answer::default() })
    }

    fn nodes(&self, query: v1::Nodes) -> Result<Answer> {
        let wanted = wire::of_filters(query.r#where)?;
        let order = query.order.unwrap_or_default();
        self.ids(self.graph.find_nodes(&Condition::borrowed(&wanted), &self.ordered(&order))?)
    }

    fn count_nodes(&self, query: v1::CountNodes) -> Result<Answer> {
        let wanted = wire::of_filters(query.r#where)?;
        let wanted = Condition::borrowed(&wanted);
        match &query.by {
            None => Ok(count(self.graph.count_nodes(&wanted)?)),
            Some(by) => self.counts(&self.graph.count_nodes_by(&wanted, by)?),
        }
    }

    fn neighbors(&self, query: v1::Neighbors) -> Result<Answer> {
        let wanted = wire::of_filters(query.r#where)?;
        let (wanted, edge_type) = (Condition::borrowed(&wanted), query.edge_type.as_deref());
        let (id, order) = (wire::of_id(query.id)?, query.order.unwrap_or_default());
        self.ids(self.graph.find_neighbors(&id, edge_type, &wanted, &self.ordered(&order))?)
    }

    fn records(&self, query: v1::Records) -> Result<Answer> {
        let id = wire::of_id(query.id)?;
        let found = match query.edge_type {
            Some(edge_type) => vec![self.graph.get_edge_record(&id, &edge_type)?],
            None => self.graph.get_edge_records(&id)?,
        };
        let told = found.iter().map(|record| v1::Record {
            edge_type: record.edge_type().to_owned(),
            edges: record.len(),
        });
        Ok(Answer { records: told.collect(), ..Answer::default() })
    }

    fn record_range(&self, query: v1::RecordRange) -> Result<Answer> {
        let record = self.graph.get_edge_record(&wire::of_id(query.id)?, &query.edge_type)?;
        let found = self.graph.get_edge_range(&record, query.low, query.high)?;
        let range = Some(v1::Places { begin: found.start, end: found.end });
        Ok(Answer { range, ..Answer::default() })
    }

    fn record_edges(&self, query: v1::RecordEdges) -> Result<Answer> {
        let record = self.graph.get_edge_record(&wire::of_id(query.id)?, &query.edge_type)?;
        let places = query.begin..query.end.min(record.len());
        self.limits.refuse_rows(places.end.saturating_sub(places.start))?;
        let found = places.clone().zip(record.edges(places)?);
        let one = |(place, data): (u64, EdgeData<'_>)| {
            Ok(v1::Edge { number: record.edge_number(place)?, ..edge(&data) })
        };
        let edges = found.map(one).collect::<Result<_>>()?;
        Ok(Answer { edges, ..Answer::default() })
    }

    fn incoming(&self, query: v1::Incoming) -> Result<Answer> {
        let id = wire::of_id(query.id)?;
        let found = self.graph.get_incoming_edges(&id, query.edge_type.as_deref())?;
        let one = |one: &IncomingEdge| v1::Edge {
            source: Some(wire::id(&one.source)),
            edge_type: Some(one.edge_type.clone()),
            timestamp: one.timestamp,
            properties: wire::properties(&one.properties),
            ..v1::Edge::default()
        };
        self.told(&found, one)
    }

    fn edge(&self, query: v1::EdgeId) -> Result<Answer> {
        let found = self.graph.get_edge(&wire::of_edge_id(Some(query))?)?;
        Ok(Answer { edges: found.iter().map(edge).collect(), ..Answer::default() })
    }

    fn edges(&self, query: v1::Edges) -> Result<Answer> {
        let wanted = wire::of_filters(query.r#where)?;
        let (wanted, edge_type) = (Condition::borrowed(&wanted), query.edge_type.as_deref());
        let order = query.order.unwrap_or_default();
        let found = self.graph.find_edges_of(edge_type, &wanted, &self.ordered(&order))?;
        self.told(&found, |(source, edge_type, data)| v1::Edge {
            source: Some(wire::id(source)),
            edge_type: Some((*edge_type).to_owned()),
            ..edge(data)
        })
    }

    fn count_edges(&self, query: v1::CountEdges) -> Result<Answer> {
        let wanted = wire::of_filters(query.r#where)?;
        let (wanted, edge_type) = (Condition::borrowed(&wanted), query.edge_type.as_deref());
        match &query.by {
            None => Ok(count(self.graph.count_edges(edge_type, &wanted)?)),
            Some(by) => self.counts(&self.graph.count_edges_by(edge_type, &wanted, by)?),
        }
    }

    fn object(&self, query: v1::Object) -> Result<Answer> {
        let found = tao::obj_get(self.graph, &wire::of_id(query.id)?)?;
        let properties = found.iter().map(|values| properties(values)).collect();
        Ok(Answer { properties, ..Answer::default() })
    }

    fn assoc_count(&self, query: v1::AssocCount) -> Result<Answer> {
        Ok(count(tao::assoc_count(self.graph, &wire::of_id(query.id)?, &query.edge_type)?))
    }

    fn assoc_range(&self, query: v1::AssocRange) -> Result<Answer> {
        let (id, limit) = (wire::of_id(query.id)?, query.limit.min(self.most()));
        let found = tao::assoc_range(self.graph, &id, &query.edge_type, query.place, limit)?;
        self.told(&found, edge)
    }

    fn assoc_get(&self, query: v1::AssocGet) -> Result<Answer> {
        let (id, others) = (wire::of_id(query.id)?, wire::of_ids(query.others)?);
        let (low, high) = (query.low, query.high);
        self.told(&tao::assoc_get(self.graph, &id, &query.edge_type, &others, low, high)?, edge)
    }

    fn assoc_time_range(&self, query: v1::AssocTimeRange) -> Result<Answer> {
        let (id, limit) = (wire::of_id(query.id)?, query.limit.min(self.most()));
        let (low, high) = (query.low, query.high);
        let found = tao::assoc_time_range(self.graph, &id, &query.edge_type, high, low, limit)?;
        self.told(&found, edge)
    }

    fn expand(&self, query: v1::Expand, cancel: &CancelToken) -> Result<Answer> {
        let (ids, wanted) = (wire::of_ids(query.ids)?, wire::of_filters(query.r#where)?);
        let (wanted, edge_type) = (Condition::borrowed(&wanted), query.edge_type.as_deref());
        let limit = query.limit.unwrap_or(u64::MAX).min(self.most());
        let limit = usize::try_from(limit).ok();
        let found = self.graph.expand(&ids, edge_type, query.hops, &wanted, limit, cancel)?;
        let distances = found.iter().map(|(_, distance)| *distance).collect();
        let ids = self.ids(found.into_iter().map(|(id, _)| id).collect())?;
        Ok(Answer { distances, ..ids })
    }

    fn frontier(&self, query: v1::Frontier) -> Result<Answer> {
        let (ids, wanted) = (wire::of_ids(query.ids)?, wire::of_filters(query.r#where)?);
        let (wanted, edge_type) = (Condition::borrowed(&wanted), query.edge_type.as_deref());
        let found = self.graph.frontier(&ids, edge_type, &wanted, query.reach)?;
        self.limits.refuse_rows(found.reached.len() as u64)?;
        let reached = found.reached.iter().map(wire::id).collect();
        let ids = if query.select { self.ids(found.matching)? } else { Answer::default() };
        Ok(Answer { reached, ..ids })
    }

    fn schema(&self, query: v1::Schema, cancel: &CancelToken) -> Result<Answer> {
        let catalog = self.graph.catalog(query.exact, cancel)?;
        let schema =
            serde_json::to_string(&catalog).map_err(|error| Error::parameter(error.to_string()))?;
        Ok(Answer { schema, ..Answer::default() })
    }

    /// Rows that a query is asked for at most: one more than an answer may have, which shows.
    fn most(&self) -> u64 {
        (self.limits.rows as u64).saturating_add(1)
    }

    /// The order that was asked for, with at most one row more than the limit.
    fn ordered<'o>(&self, order: &'o v1::Order) -> QueryOrder<'o> {
        let limit = order.limit.unwrap_or(u64::MAX).min(self.most());
        QueryOrder {
            by: order.by.as_deref(),
            descending: order.descending,
            limit: Some(usize::try_from(limit).unwrap_or(usize::MAX)),
        }
    }

    fn ids(&self, found: Vec<ExternalId>) -> Result<Answer> {
        self.limits.refuse_rows(found.len() as u64)?;
        Ok(Answer { ids: found.iter().map(wire::id).collect(), ..Answer::default() })
    }

    fn counts(&self, found: &[(Value, u64)]) -> Result<Answer> {
        self.limits.refuse_rows(found.len() as u64)?;
        let one = |(value, count): &(Value, u64)| v1::Count {
            value: Some(wire::value(value)),
            count: *count,
        };
        Ok(Answer { counts: found.iter().map(one).collect(), ..Answer::default() })
    }

    /// Edges as rows.
    fn told<T>(&self, found: &[T], one: impl Fn(&T) -> v1::Edge) -> Result<Answer> {
        self.limits.refuse_rows(found.len() as u64)?;
        Ok(Answer { edges: found.iter().map(one).collect(), ..Answer::default() })
    }
}

fn count(count: u64) -> Answer {
    Answer { count: Some(count), ..Answer::default() }
}

fn properties(values: &[(&str, Value)]) -> v1::Properties {
    v1::Properties { properties: wire::properties(values) }
}

fn edge(data: &EdgeData<'_>) -> v1::Edge {
    v1::Edge {
        destination: Some(wire::id(&data.destination)),
        timestamp: data.timestamp,
        properties: wire::properties(&data.properties),
        ..v1::Edge::default()
    }
}
