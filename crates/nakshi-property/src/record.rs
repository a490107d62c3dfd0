//! Edge records, and the queries on edges. A record is the edges of one type of a node, from files
//! and from the log, as one list.

use std::collections::HashSet;
use std::ops::Range;

use super::base::Shard;
use super::condition::Condition;
use super::conflict::Subject;
use super::graph::{EdgeData, PropertyGraph, RowRef};
use super::log::EdgeId;
use super::logstore::Fragment;
use super::query_order::QueryOrder;
use super::row::{EdgeRow, RowValues};
use super::state::RecordSources;
use super::timeline::LogEdge;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// The edges of one type of a node, in the order of their times; edges of the same time stay in the
/// order of insertion. Later commits do not change a record.
#[derive(Clone, Debug)]
pub struct EdgeRecord {
    graph: PropertyGraph,
    node: VertexId,
    ty: u64,
    /// Number of the shard of the node.
    shard: usize,
    /// Rows of the record in the file.
    rows: Range<u64>,
    /// Number of edges in `rows` that are not deleted.
    visible: u64,
    /// Changes of the record in the log.
    fragment: Option<Fragment>,
}

/// Location of an edge of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum EdgeLocation<'r> {
    Row(u64),
    Log(&'r LogEdge),
}

impl EdgeRecord {
    pub(super) fn new(
        graph: &PropertyGraph,
        node: VertexId,
        ty: u64,
        rows: Range<u64>,
        fragment: Option<Fragment>,
    ) -> Self {
        let hidden = fragment.as_ref().map_or(0, |fragment| {
            fragment.hidden_below(rows.end) - fragment.hidden_below(rows.start)
        });
        let visible = rows.end - rows.start - hidden;
        let shard = graph.state().base.dealing().shard(node);
        EdgeRecord { graph: graph.clone(), node, ty, shard, rows, visible, fragment }
    }

    /// Number of edges.
    pub fn len(&self) -> u64 {
        self.visible + self.fragment.as_ref().map_or(0, |fragment| fragment.edges.len() as u64)
    }

    /// Returns true if the record has no edges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The graph of the record.
    pub(super) fn graph(&self) -> &PropertyGraph {
        &self.graph
    }

    /// Internal id of the source.
    pub(super) fn node(&self) -> VertexId {
        self.node
    }

    /// Type of the edges.
    pub fn edge_type(&self) -> &str {
        self.graph.state().schema.type_name(self.ty)
    }

    /// The number of their type.
    pub(super) fn type_number(&self) -> u64 {
        self.ty
    }

    /// The identity of the `i`-th edge, by which it can be read, changed and deleted.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the record has no such edge; damage.
    pub fn edge_id(&self, i: u64) -> Result<EdgeId> {
        let place = self.place(i)?.ok_or_else(|| self.no_edge(i))?;
        let state = self.graph.state();
        Ok(EdgeId {
            source: state.external(self.node.into())?,
            edge_type: self.edge_type().to_owned(),
            destination: state.external(self.end(place)?)?,
            number: self.number(place)?,
        })
    }

    fn no_edge(&self, i: u64) -> Error {
        Error::Invalid(format!("there is no edge {i} in a record of {}", self.len()))
    }

    /// The number of an edge; 0 for one without a number.
    fn number(&self, place: EdgeLocation<'_>) -> Result<u64> {
        match place {
            EdgeLocation::Row(row) => self.graph.state().number_of(self.node, row),
            EdgeLocation::Log(edge) => Ok(edge.number),
        }
    }

    /// Destination, time and properties of the edges at these places, 0 being the oldest; fewer where
    /// the record ends before.
    ///
    /// # Errors
    /// Damage.
    pub fn edges(&self, places: Range<u64>) -> Result<Vec<EdgeData<'_>>> {
        let end = places.end.min(self.len());
        self.graph.edges_data(self, places.start.min(end)..end)
    }

    pub(super) fn shard(&self) -> Result<&Shard> {
        self.graph.state().base.shard(self.shard)
    }

    /// Location of the `i`-th edge, 0 being the oldest; `None` behind the last edge.
    pub(super) fn place(&self, i: u64) -> Result<Option<EdgeLocation<'_>>> {
        if i >= self.len() {
            return Ok(None);
        }
        let Some(fragment) = &self.fragment else {
            return Ok(Some(EdgeLocation::Row(self.rows.start + i)));
        };
        // Binary search for the edges of the log before position `i`, by their positions in the
        // record.
        let (mut low, mut high) =
            (0, fragment.edges.len().min(usize::try_from(i).unwrap_or(usize::MAX)));
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(edge) = fragment.edges.get(middle) else { break };
            if self.place_of(fragment, middle, edge)? < i {
                low = middle + 1
            } else {
                high = middle
            }
        }
        if let Some(edge) = fragment.edges.get(low)
            && self.place_of(fragment, low, edge)? == i
        {
            return Ok(Some(EdgeLocation::Log(edge)));
        }
        Ok(Some(EdgeLocation::Row(fragment.visible(self.rows.start, i - low as u64))))
    }

    /// Position of the `j`-th edge of the log: behind all edges of the file that are not newer.
    fn place_of(&self, fragment: &Fragment, j: usize, edge: &LogEdge) -> Result<u64> {
        let older = match edge.time.checked_add(1) {
            Some(time) => self.rows_before(fragment, time)?,
            None => self.visible,
        };
        Ok(j as u64 + older)
    }

    /// Number of edges of the file, without deleted ones, that are older than `time`.
    fn rows_before(&self, fragment: &Fragment, time: i64) -> Result<u64> {
        let row = self.first_row(time)?;
        let hidden = fragment.hidden_below(row) - fragment.hidden_below(self.rows.start);
        Ok(row - self.rows.start - hidden)
    }

    /// First row that is not older than `time`.
    fn first_row(&self, time: i64) -> Result<u64> {
        let rows = &self.shard()?.edges.rows;
        let (mut low, mut high) = (self.rows.start, self.rows.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if rows.time(middle)? < time { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// Number of edges that are older than `time`.
    pub(super) fn before(&self, time: i64) -> Result<u64> {
        match &self.fragment {
            None => Ok(self.first_row(time)? - self.rows.start),
            Some(fragment) => {
                Ok(self.rows_before(fragment, time)? + fragment.edges.before(time) as u64)
            }
        }
    }

    /// Internal id of the destination of an edge.
    pub(super) fn end(&self, place: EdgeLocation<'_>) -> Result<u64> {
        match place {
            EdgeLocation::Row(row) => self.shard()?.edges.rows.end(row),
            EdgeLocation::Log(edge) => Ok(edge.end.into()),
        }
    }

    /// Internal ids of the destinations of the edges at `places`.
    pub(super) fn ends(&self, places: Range<u64>) -> Result<Vec<u64>> {
        if let Some(rows) = self.file_rows(&places) {
            return self.shard()?.edges.rows.ends(rows);
        }
        let places = places.map(|i| self.place(i)).filter_map(Result::transpose);
        places.map(|place| self.end(place?)).collect()
    }

    /// Rows of the file with the edges at `places`; `None` if the log has changed the record.
    pub(super) fn file_rows(&self, places: &Range<u64>) -> Option<Range<u64>> {
        let first = self.rows.start;
        self.fragment.is_none().then(|| first + places.start..first + places.end)
    }

    /// Time of an edge.
    pub(super) fn time(&self, place: EdgeLocation<'_>) -> Result<i64> {
        match place {
            EdgeLocation::Row(row) => self.shard()?.edges.rows.time(row),
            EdgeLocation::Log(edge) => Ok(edge.time),
        }
    }

    /// Hands every property of an edge to `f`.
    pub(super) fn each_value(
        &self,
        place: EdgeLocation<'_>,
        mut f: impl FnMut(u32, &[u8]),
    ) -> Result<()> {
        match place {
            EdgeLocation::Row(row) => self.shard()?.edges.rows.each(row, |property, value| {
                f(property, value);
                Ok(())
            }),
            EdgeLocation::Log(edge) => {
                RowValues(&edge.values).for_each(|(property, value)| f(property, value));
                Ok(())
            }
        }
    }
}

/// Queries on edges.
impl PropertyGraph {
    /// Destinations of the edges of a type, or of any, from a node, which meet all conditions. They
    /// come in the order of types and times, each once.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_node_ids`]; [`Error::NoNode`].
    pub fn get_neighbor_ids(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
    ) -> Result<Vec<ExternalId>> {
        self.find_neighbors(id, edge_type, properties, &QueryOrder::default())
    }

    /// As [`PropertyGraph::get_neighbor_ids`], in another order or only the first of them.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_neighbor_ids`]; [`Error::Invalid`] for an order by a property of lists.
    pub fn find_neighbors(
        &self,
        id: &ExternalId,
        edge_type: Option<&str>,
        properties: &[(&str, Condition)],
        order: &QueryOrder<'_>,
    ) -> Result<Vec<ExternalId>> {
        let wanted = self.state().schema.nodes.wanted(properties)?;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for record in self.edge_records(id, edge_type)? {
            for end in record.ends(0..record.len())? {
                let narrow = u32::try_from(end);
                let v = narrow.map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
                if seen.insert(end) && self.has(v, &wanted)? {
                    found.push(end);
                }
            }
        }
        if found.is_empty() {
            self.refuse_unknown_labels(properties)?;
        }
        self.ordered(found, order)
    }

    /// The edge record of a node and a type; empty if it has no such edges.
    ///
    /// # Errors
    /// [`Error::NoNode`]; damage.
    pub fn get_edge_record(&self, id: &ExternalId, edge_type: &str) -> Result<EdgeRecord> {
        let (node, ty) = (self.state().node(id)?, self.state().schema.known_type(edge_type)?);
        Ok(self.edge_record(node, ty, self.state().record(node, ty)?))
    }

    pub(super) fn edge_record(
        &self,
        node: VertexId,
        ty: u64,
        parts: RecordSources<'_>,
    ) -> EdgeRecord {
        EdgeRecord::new(self, node, ty, parts.0, parts.1.cloned())
    }

    /// The edge records of a node, one for each type of which it has edges.
    ///
    /// # Errors
    /// As [`PropertyGraph::get_edge_record`].
    pub fn get_edge_records(&self, id: &ExternalId) -> Result<Vec<EdgeRecord>> {
        self.edge_records(id, None)
    }

    fn edge_records(&self, id: &ExternalId, edge_type: Option<&str>) -> Result<Vec<EdgeRecord>> {
        if let Some(name) = edge_type {
            return Ok(vec![self.get_edge_record(id, name)?]);
        }
        self.records_of(self.state().node(id)?)
    }

    pub(super) fn records_of(&self, node: VertexId) -> Result<Vec<EdgeRecord>> {
        let records = self.state().records(node)?.into_iter();
        let records = records.map(|(ty, parts)| self.edge_record(node, ty, parts));
        Ok(records.filter(|record| !record.is_empty()).collect())
    }

    /// Positions of the edges of a record whose time is at least `t_lo` and less than `t_hi`;
    /// without a bound, from the first edge or to the last.
    ///
    /// # Errors
    /// Damage.
    pub fn get_edge_range(
        &self,
        record: &EdgeRecord,
        t_lo: Option<i64>,
        t_hi: Option<i64>,
    ) -> Result<Range<u64>> {
        let begin = t_lo.map_or(Ok(0), |time| record.before(time))?;
        let end = t_hi.map_or(Ok(record.len()), |time| record.before(time))?;
        Ok(begin..end.max(begin))
    }

    /// The edge at position `i` of a record, 0 being the oldest.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the record has no such edge; damage.
    pub fn get_edge_data<'r>(&self, record: &'r EdgeRecord, i: u64) -> Result<EdgeData<'r>> {
        let place = record.place(i)?.ok_or_else(|| record.no_edge(i))?;
        // Decoded by the record's own graph: in another commit, its numbers may have other
        // meanings.
        record.graph().edge_data(record, place)
    }

    /// An edge by its identity; `None` if there is none. It is looked for in the edge record of its
    /// source.
    ///
    /// # Errors
    /// [`Error::Invalid`] if several edges with these ends and this type have no number; damage.
    pub fn get_edge(&self, id: &EdgeId) -> Result<Option<EdgeData<'_>>> {
        let state = self.state();
        let ends = state.find(&id.source)?.zip(state.find(&id.destination)?);
        let Some(((node, end), ty)) = ends.zip(state.schema.edge_type(&id.edge_type)) else {
            return Ok(None);
        };
        state.note(Subject::Edge((node, ty, end)));
        let record = self.edge_record(node, ty, state.stored_record(node, ty)?);
        if let Some(edge) = state.log.edge(((node, ty, end), id.number)) {
            return self.edge_data(&record, EdgeLocation::Log(edge)).map(Some);
        }
        let (mut found, ends) = (Vec::new(), record.ends(0..record.len())?);
        for (i, _) in (0..).zip(ends).filter(|(_, other)| *other == u64::from(end)) {
            if let Some(place) = record.place(i)?
                && record.number(place)? == id.number
            {
                found.push(place);
            }
        }
        match found[..] {
            [] => Ok(None),
            [place] => self.edge_data(&record, place).map(Some),
            _ => Err(Error::Invalid(format!(
                "{} edges {id} have no numbers; read them from their edge record",
                found.len()
            ))),
        }
    }

    /// An edge of a record of this graph.
    pub(super) fn edge_data(
        &self,
        record: &EdgeRecord,
        place: EdgeLocation<'_>,
    ) -> Result<EdgeData<'_>> {
        let row = match place {
            EdgeLocation::Log(edge) => RowRef::Log(&edge.values),
            EdgeLocation::Row(row) => {
                let rows = &record.shard()?.edges.rows;
                if let Some(edge) = rows.edges(row..row + 1)?.and_then(|mut edges| edges.pop()) {
                    return self.edge_row(edge);
                }
                RowRef::File(rows, row)
            }
        };
        Ok(EdgeData {
            destination: self.state().external(record.end(place)?)?,
            timestamp: record.time(place)?,
            properties: self.values(&row, &self.state().schema.edges, None)?,
        })
    }

    /// The edges at `places` of a record of this graph; `places` must be within the record.
    pub(super) fn edges_data(
        &self,
        record: &EdgeRecord,
        places: Range<u64>,
    ) -> Result<Vec<EdgeData<'_>>> {
        if let Some(rows) = record.file_rows(&places)
            && let Some(edges) = record.shard()?.edges.rows.edges(rows)?
        {
            return edges.into_iter().map(|edge| self.edge_row(edge)).collect();
        }
        let places = places.map(|i| record.place(i)).filter_map(Result::transpose);
        places.map(|place| self.edge_data(record, place?)).collect()
    }

    fn edge_row(&self, edge: EdgeRow) -> Result<EdgeData<'_>> {
        Ok(EdgeData {
            destination: self.state().external(edge.end)?,
            timestamp: edge.time,
            properties: self.values(
                &RowRef::Log(&edge.values),
                &self.state().schema.edges,
                None,
            )?,
        })
    }
}
