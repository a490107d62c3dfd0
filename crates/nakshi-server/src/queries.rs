//! The queries of a property graph, asked of a server.

use std::ops::Range;

use nakshi_property::{Condition, EdgeId, IncomingEdge, QueryOrder, Value};
use nakshi_store::ExternalId;

use crate::error::{Error, ErrorKind, Result};
use crate::requests;
use crate::v1::query_request::Query;
use crate::v1::{self, Answer, QueryRequest};
use crate::wire;

/// Destination, time and properties of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Id of the destination.
    pub destination: ExternalId,
    /// Time, in the unit of the import: milliseconds for dates.
    pub timestamp: i64,
    /// Properties that are not null, by name.
    pub properties: Vec<(String, Value)>,
    /// Number of [`EdgeId`], if the edge is of a record.
    pub number: u64,
}

/// An edge with its source and type.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundEdge {
    /// Id of the source.
    pub source: ExternalId,
    /// Type of the edge.
    pub edge_type: String,
    /// The rest of it.
    pub edge: Edge,
}

/// The edges of one type of a node after one commit, which the server reads when they are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteRecord {
    /// Id of the node.
    pub source: ExternalId,
    /// Type of the edges.
    pub edge_type: String,
    /// Number of edges.
    pub len: u64,
    /// Number of the state, as the answers of the server have it.
    state: u64,
}

impl RemoteRecord {
    /// Returns true if the record has no edges.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Properties of a node, by name.
type Properties = Vec<(String, Value)>;

/// The queries of [`PropertyGraph`](nakshi_property::PropertyGraph), with its names and errors. Each
/// reads the newest state, but for those of a [`RemoteRecord`].
///
/// Errors of all methods are those of the query, and those of the way to the server:
/// [`ErrorKind::Unavailable`], [`ErrorKind::Overloaded`], [`ErrorKind::Deadline`],
/// [`ErrorKind::Denied`].
pub trait Queries {
    /// Asks one query.
    ///
    /// # Errors
    /// As all methods.
    fn ask(&self, request: QueryRequest) -> Result<Answer>;

    /// As `PropertyGraph::get_node_property`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownNode`]; [`ErrorKind::Parameter`] for an unknown property.
    fn get_node_property(&self, id: &ExternalId, names: Option<&[&str]>) -> Result<Properties> {
        let found = self.get_node_properties(std::slice::from_ref(id), names)?;
        found.into_iter().next().ok_or_else(|| wrong("properties"))
    }

    /// As `PropertyGraph::get_node_properties`.
    ///
    /// # Errors
    /// As [`Queries::get_node_property`].
    fn get_node_properties(
        &self,
        ids: &[ExternalId],
        names: Option<&[&str]>,
    ) -> Result<Vec<Properties>> {
        let answer = self.newest(requests::node_properties(ids, names))?;
        if answer.properties.len() != ids.len() {
            return Err(wrong("properties"));
        }
        answer.properties.into_iter().map(|one| wire::of_properties(one.properties)).collect()
    }

    /// As `PropertyGraph::read_node_property`.
    ///
    /// # Errors
    /// As [`Queries::get_node_property`].
    fn read_node_property(
        &self,
        id: &ExternalId,
        name: &str,
        part: Range<u64>,
    ) -> Result<Option<Vec<u8>>> {
        Ok(self.newest(requests::node_part(id, name, part))?.part)
    }

    /// As `PropertyGraph::find_nodes`.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for a condition that does not fit its property.
    fn find_nodes(
        &self,
        wanted: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<ExternalId>> {
        wire::of_ids(self.newest(requests::nodes(wanted, order)?)?.ids)
    }

    /// As `PropertyGraph::count_nodes`.
    ///
    /// # Errors
    /// As [`Queries::find_nodes`].
    fn count_nodes(&self, wanted: &[(&str, Condition)]) -> Result<u64> {
        let query = v1::CountNodes { r#where: wire::filters(wanted)?, by: None };
        self.newest(Query::CountNodes(query))?.count.ok_or_else(|| wrong("count"))
    }

    /// As `PropertyGraph::count_nodes_by`.
    ///
    /// # Errors
    /// As [`Queries::find_nodes`].
    fn count_nodes_by(&self, wanted: &[(&str, Condition)], by: &str) -> Result<Vec<(Value, u64)>> {
        let query = v1::CountNodes { r#where: wire::filters(wanted)?, by: Some(by.to_owned()) };
        counts(self.newest(Query::CountNodes(query))?)
    }

    /// As `PropertyGraph::find_neighbors`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownNode`]; as [`Queries::find_nodes`].
    fn find_neighbors(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
        wanted: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<ExternalId>> {
        wire::of_ids(self.newest(requests::neighbors(id, edge_type, wanted, order)?)?.ids)
    }

    /// As `PropertyGraph::expand`.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownNode`]; as [`Queries::find_nodes`].
    fn expand(
        &self,
        ids: &[ExternalId],
        edge_type: Option<&str>,
        hops: u32,
        wanted: &[(&str, Condition)],
        limit: Option<usize>,
    ) -> Result<Vec<(ExternalId, u32)>> {
        let answer = self.newest(requests::expand(ids, edge_type, hops, wanted, limit)?)?;
        if answer.distances.len() != answer.ids.len() {
            return Err(wrong("distances"));
        }
        Ok(wire::of_ids(answer.ids)?.into_iter().zip(answer.distances).collect())
    }

    /// The edge record of a node and a type; of all types of which it has edges without one. The server
    /// keeps the state for ten seconds after each read of its edges.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownNode`]; [`ErrorKind::Parameter`] for an unknown type.
    fn get_edge_records(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
    ) -> Result<Vec<RemoteRecord>> {
        let query = Some(requests::records(id, edge_type));
        let answer = self.ask(QueryRequest { keep: true, query, ..QueryRequest::default() })?;
        let state = answer.commit;
        let one = |record: v1::Record| RemoteRecord {
            source: id.clone(),
            edge_type: record.edge_type,
            len: record.edges,
            state,
        };
        Ok(answer.records.into_iter().map(one).collect())
    }

    /// As `PropertyGraph::get_edge_range`.
    ///
    /// # Errors
    /// [`ErrorKind::Gone`] if the state of the record is no longer kept.
    fn get_edge_range(
        &self,
        record: &RemoteRecord,
        low: Option<i64>,
        high: Option<i64>,
    ) -> Result<Range<u64>> {
        let query = requests::record_range(&record.source, &record.edge_type, low, high);
        let found = self.of_record(record, query)?.range.ok_or_else(|| wrong("range"))?;
        Ok(found.begin..found.end)
    }

    /// The edges at these places of a record, 0 being the oldest; fewer where the record ends before.
    ///
    /// # Errors
    /// As [`Queries::get_edge_range`].
    fn get_edges(&self, record: &RemoteRecord, places: Range<u64>) -> Result<Vec<Edge>> {
        let (id, edge_type) = (Some(wire::id(&record.source)), record.edge_type.clone());
        let (begin, end) = (places.start, places.end);
        let query = Query::RecordEdges(v1::RecordEdges { id, edge_type, begin, end });
        edges(self.of_record(record, query)?)
    }

    /// As `PropertyGraph::get_incoming_edges`.
    ///
    /// # Errors
    /// As [`Queries::get_edge_records`].
    fn get_incoming_edges(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
    ) -> Result<Vec<IncomingEdge>> {
        let answer = self.newest(requests::incoming(id, edge_type))?;
        let one = |edge: v1::Edge| {
            Ok(IncomingEdge {
                source: wire::of_id(edge.source)?,
                edge_type: edge.edge_type.unwrap_or_default(),
                timestamp: edge.timestamp,
                properties: wire::of_properties(edge.properties)?,
            })
        };
        answer.edges.into_iter().map(one).collect()
    }

    /// As `PropertyGraph::get_edge`.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] if several imported edges have these ends and this type.
    fn get_edge(&self, id: &EdgeId) -> Result<Option<Edge>> {
        Ok(edges(self.newest(Query::Edge(wire::edge_id(id)))?)?.into_iter().next())
    }

    /// As `PropertyGraph::find_edges_of`.
    ///
    /// # Errors
    /// As [`Queries::find_nodes`].
    fn find_edges(
        &self,
        edge_type: Option<&str>,
        wanted: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<FoundEdge>> {
        let one = |mut found: v1::Edge| {
            Ok(FoundEdge {
                source: wire::of_id(found.source.take())?,
                edge_type: found.edge_type.take().unwrap_or_default(),
                edge: edge(found)?,
            })
        };
        let answer = self.newest(requests::edges(edge_type, wanted, order)?)?;
        answer.edges.into_iter().map(one).collect()
    }

    /// As `PropertyGraph::count_edges`.
    ///
    /// # Errors
    /// As [`Queries::find_nodes`].
    fn count_edges(&self, edge_type: Option<&str>, wanted: &[(&str, Condition)]) -> Result<u64> {
        let query = v1::CountEdges {
            edge_type: edge_type.map(str::to_owned),
            r#where: wire::filters(wanted)?,
            by: None,
        };
        self.newest(Query::CountEdges(query))?.count.ok_or_else(|| wrong("count"))
    }

    /// As `PropertyGraph::count_edges_by`.
    ///
    /// # Errors
    /// As [`Queries::find_nodes`].
    fn count_edges_by(
        &self,
        edge_type: Option<&str>,
        wanted: &[(&str, Condition)],
        by: &str,
    ) -> Result<Vec<(Value, u64)>> {
        counts(self.newest(requests::count_edges(edge_type, wanted, Some(by))?)?)
    }

    /// TAO: all properties of an object; `None` if there is no such object.
    ///
    /// # Errors
    /// As all methods.
    fn obj_get(&self, id: &ExternalId) -> Result<Option<Properties>> {
        let answer = self.newest(Query::Object(v1::Object { id: Some(wire::id(id)) }))?;
        let found = answer.properties.into_iter().next();
        found.map(|found| wire::of_properties(found.properties)).transpose()
    }

    /// TAO: number of associations of a type.
    ///
    /// # Errors
    /// As [`Queries::get_edge_records`].
    fn assoc_count(&self, id: &ExternalId, edge_type: &str) -> Result<u64> {
        let (id, edge_type) = (Some(wire::id(id)), edge_type.to_owned());
        let answer = self.newest(Query::AssocCount(v1::AssocCount { id, edge_type }))?;
        answer.count.ok_or_else(|| wrong("count"))
    }

    /// TAO: at most `limit` associations from a place on, 0 being the newest.
    ///
    /// # Errors
    /// As [`Queries::assoc_count`].
    fn assoc_range(
        &self,
        id: &ExternalId,
        edge_type: &str,
        place: u64,
        limit: u64,
    ) -> Result<Vec<Edge>> {
        edges(self.newest(requests::assoc_range(id, edge_type, place, limit))?)
    }

    /// TAO: associations with some objects whose time is from `low` to `high`.
    ///
    /// # Errors
    /// As [`Queries::assoc_count`].
    fn assoc_get(
        &self,
        id: &ExternalId,
        edge_type: &str,
        others: &[ExternalId],
        low: Option<i64>,
        high: Option<i64>,
    ) -> Result<Vec<Edge>> {
        edges(self.newest(requests::assoc_get(id, edge_type, others, low, high))?)
    }

    /// TAO: at most `limit` associations whose time is from `low` to `high`, the newest first.
    ///
    /// # Errors
    /// As [`Queries::assoc_count`].
    fn assoc_time_range(
        &self,
        id: &ExternalId,
        edge_type: &str,
        high: Option<i64>,
        low: Option<i64>,
        limit: u64,
    ) -> Result<Vec<Edge>> {
        edges(self.newest(requests::assoc_time_range(id, edge_type, low, high, limit))?)
    }

    /// A [`Catalog`](nakshi_property::Catalog) as JSON. Values of a property are counted if at most
    /// `exact` have to be read for it, and else estimated.
    ///
    /// # Errors
    /// As all methods.
    fn catalog(&self, exact: u64) -> Result<String> {
        Ok(self.newest(requests::schema(exact))?.schema)
    }

    /// Asks a query of the newest state.
    #[doc(hidden)]
    fn newest(&self, query: Query) -> Result<Answer> {
        self.ask(QueryRequest { query: Some(query), ..QueryRequest::default() })
    }

    /// Asks a query of the state of a record.
    #[doc(hidden)]
    fn of_record(&self, record: &RemoteRecord, query: Query) -> Result<Answer> {
        self.ask(QueryRequest {
            commit: Some(record.state),
            query: Some(query),
            ..QueryRequest::default()
        })
    }
}

/// An answer without what was asked for.
fn wrong(what: &str) -> Error {
    let text = format!("the server answered without {what}; are both of the same version?");
    Error::new(ErrorKind::Internal, text)
}

fn edge(edge: v1::Edge) -> Result<Edge> {
    Ok(Edge {
        destination: wire::of_id(edge.destination)?,
        timestamp: edge.timestamp,
        properties: wire::of_properties(edge.properties)?,
        number: edge.number,
    })
}

fn edges(answer: Answer) -> Result<Vec<Edge>> {
    answer.edges.into_iter().map(edge).collect()
}

fn counts(answer: Answer) -> Result<Vec<(Value, u64)>> {
    answer.counts.into_iter().map(|one| Ok((wire::of_value(one.value)?, one.count))).collect()
}
