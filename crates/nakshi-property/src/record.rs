//! Edge records, and the queries on edges. A record is the edges of one type of a node, from files,
//! fragments and the log, as one list.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ops::Range;

use super::condition::Condition;
use super::conflict::Subject;
use super::graph::{EdgeData, PropertyGraph};
use super::log::EdgeId;
use super::parts::{EdgeLocation, PartPlace, RecordPart, RecordParts};
use super::query_order::QueryOrder;
use super::row::EdgeRow;
use super::segment::{RowRef, SegmentRows};
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
    parts: RecordParts,
    len: u64,
}

impl EdgeRecord {
    pub(super) fn new(graph: &PropertyGraph, node: VertexId, ty: u64, parts: RecordParts) -> Self {
        let (len, shard) = (parts.len(), graph.state().base.dealing().shard(node));
        EdgeRecord { graph: graph.clone(), node, ty, shard, parts, len }
    }

    /// Number of edges.
    pub fn len(&self) -> u64 {
        self.len
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
            destination: state.external(place.end()?)?,
            number: place.number(state.schema.edge_number())?,
        })
    }

    /// The number of the `i`-th edge, as [`EdgeRecord::edge_id`] has it.
    ///
    /// # Errors
    /// As [`EdgeRecord::edge_id`].
    pub fn edge_number(&self, i: u64) -> Result<u64> {
        let place = self.place(i)?.ok_or_else(|| self.no_edge(i))?;
        place.number(self.graph.state().schema.edge_number())
    }

    fn no_edge(&self, i: u64) -> Error {
        Error::Invalid(format!("there is no edge {i} in a record of {}", self.len()))
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

    /// The rows of the edges in the files.
    fn filed(&self) -> Result<&SegmentRows> {
        Ok(&self.graph.state().base.shard(self.shard)?.edges.rows)
    }

    /// The `i`-th edge of a part.
    fn edge_of<'r>(&'r self, part: &'r RecordPart, i: u64) -> Result<EdgeLocation<'r>> {
        let row = part.row(i);
        Ok(match &part.place {
            PartPlace::Files(_) => EdgeLocation::Row(self.filed()?, row),
            PartPlace::Layer(number, _) => {
                EdgeLocation::Row(self.graph.state().edge_rows_of(*number)?, row)
            }
            PartPlace::Log(_, edges) => {
                let edge = usize::try_from(row).ok().and_then(|row| edges.get(row));
                EdgeLocation::Log(edge.ok_or(Error::BadList("an edge of a log is not there"))?)
            }
        })
    }

    /// Location of the `i`-th edge, 0 being the oldest; `None` behind the last edge.
    pub(super) fn place(&self, i: u64) -> Result<Option<EdgeLocation<'_>>> {
        if i >= self.len() {
            return Ok(None);
        }
        if self.parts.rest.is_empty() {
            return self.edge_of(&self.parts.first, i).map(Some);
        }
        Ok(self.places(i..i + 1)?.pop())
    }

    /// Locations of the edges at `places`, which must be within the record.
    pub(super) fn places(&self, places: Range<u64>) -> Result<Vec<EdgeLocation<'_>>> {
        if self.parts.rest.is_empty() {
            let first = &self.parts.first;
            return places.map(|i| self.edge_of(first, i)).collect();
        }
        let mut next = self.split(places.start)?;
        let mut heads = Vec::with_capacity(next.len());
        for (part, at) in self.parts.iter().zip(&next) {
            heads.push(self.head(part, *at)?);
        }
        let mut found = Vec::with_capacity((places.end - places.start) as usize);
        for _ in places {
            let times = heads.iter().enumerate();
            let times = times.filter_map(|(number, head)| Some((head.as_ref()?.0, number)));
            // The oldest edge, and among those of the same time that of the oldest layer.
            let Some((_, number)) = times.min() else { break };
            let (Some(part), Some(at)) = (self.parts.get(number), next.get_mut(number)) else {
                break;
            };
            *at += 1;
            let following = self.head(part, *at)?;
            if let Some(head) = heads.get_mut(number) {
                found.extend(std::mem::replace(head, following).map(|(_, edge)| edge));
            }
        }
        Ok(found)
    }

    /// Time and location of an edge of a part; `None` behind the last.
    fn head<'r>(&'r self, part: &'r RecordPart, i: u64) -> Result<Option<(i64, EdgeLocation<'r>)>> {
        if i >= part.len() {
            return Ok(None);
        }
        let edge = self.edge_of(part, i)?;
        Ok(Some((edge.time()?, edge)))
    }

    /// How many of the first `i` edges are in each part: a selection in sorted lists, which halves the
    /// longest of them in each step.
    fn split(&self, i: u64) -> Result<Vec<u64>> {
        let count = self.parts.rest.len() + 1;
        let mut low = vec![0; count];
        let mut high: Vec<u64> = self.parts.iter().map(RecordPart::len).collect();
        loop {
            let widths = low.iter().zip(&high).map(|(low, high)| high - low).enumerate();
            let widest = widths.max_by_key(|(_, width)| *width).filter(|(_, width)| *width > 0);
            let Some((number, width)) = widest else { return Ok(low) };
            let (Some(part), Some(from)) = (self.parts.get(number), low.get(number)) else {
                return Ok(low);
            };
            let middle = from + width / 2;
            let time = self.edge_of(part, middle)?.time()?;
            // Edges of each part before that one.
            let mut before = Vec::with_capacity(count);
            for (other, part) in self.parts.iter().enumerate() {
                let (from, to) = (low.get(other).copied(), high.get(other).copied());
                let range = from.unwrap_or(0)..to.unwrap_or(0);
                before.push(match other.cmp(&number) {
                    Ordering::Equal => middle,
                    // Edges of the same time come in the order of their layers.
                    Ordering::Less => self.first_of(part, range, |t| t > time)?,
                    Ordering::Greater => self.first_of(part, range, |t| t >= time)?,
                });
            }
            if before.iter().sum::<u64>() > i {
                high = before;
            } else {
                low = before;
                if low.iter().sum::<u64>() == i {
                    return Ok(low);
                }
                // The edge in the middle is among the first `i`.
                if let Some(low) = low.get_mut(number) {
                    *low += 1;
                }
            }
        }
    }

    /// The first edge of a part, among those in `range`, whose time is late enough; the end of the range
    /// if there is none.
    fn first_of(
        &self,
        part: &RecordPart,
        range: Range<u64>,
        late: impl Fn(i64) -> bool,
    ) -> Result<u64> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let time = self.edge_of(part, middle)?.time()?;
            if late(time) { high = middle } else { low = middle + 1 }
        }
        Ok(low)
    }

    /// Number of edges that are older than `time`.
    pub(super) fn before(&self, time: i64) -> Result<u64> {
        let of = |part: &RecordPart| self.first_of(part, 0..part.len(), |t| t >= time);
        self.parts.iter().map(of).sum()
    }

    /// Internal ids of the destinations of the edges at `places`, which must be within the record.
    pub(super) fn ends(&self, places: Range<u64>) -> Result<Vec<u64>> {
        if let Some(rows) = self.file_rows(&places) {
            return self.filed()?.ends(rows);
        }
        self.places(places)?.iter().map(EdgeLocation::end).collect()
    }

    /// Rows of the files with the edges at `places`; `None` if something has changed the record since.
    fn file_rows(&self, places: &Range<u64>) -> Option<Range<u64>> {
        let first = &self.parts.first;
        let whole = self.parts.rest.is_empty() && first.is_whole();
        whole.then(|| first.row(places.start)..first.row(places.end))
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

    pub(super) fn edge_record(&self, node: VertexId, ty: u64, parts: RecordParts) -> EdgeRecord {
        EdgeRecord::new(self, node, ty, parts)
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
        record.graph().edge_data(place)
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
            return self.edge_data(EdgeLocation::Log(edge)).map(Some);
        }
        let mut found = Vec::new();
        for place in record.places(0..record.len())? {
            if place.end()? == u64::from(end)
                && place.number(state.schema.edge_number())? == id.number
            {
                found.push(place);
            }
        }
        match found[..] {
            [] => Ok(None),
            [place] => self.edge_data(place).map(Some),
            _ => Err(Error::Invalid(format!(
                "{} edges {id} have no numbers; read them from their edge record",
                found.len()
            ))),
        }
    }

    /// Destination, time and properties of an edge of this graph.
    pub(super) fn edge_data(&self, edge: EdgeLocation<'_>) -> Result<EdgeData<'_>> {
        if let EdgeLocation::Row(rows, row) = edge
            && let Some(edge) = rows.edges(row..row + 1)?.and_then(|mut edges| edges.pop())
        {
            return self.edge_row(edge);
        }
        Ok(EdgeData {
            destination: self.state().external(edge.end()?)?,
            timestamp: edge.time()?,
            properties: self.values(&edge.values(), &self.state().schema.edges, None)?,
        })
    }

    /// The edges at `places` of a record of this graph; `places` must be within the record.
    pub(super) fn edges_data(
        &self,
        record: &EdgeRecord,
        places: Range<u64>,
    ) -> Result<Vec<EdgeData<'_>>> {
        if let Some(rows) = record.file_rows(&places)
            && let Some(edges) = record.filed()?.edges(rows)?
        {
            return edges.into_iter().map(|edge| self.edge_row(edge)).collect();
        }
        record.places(places)?.into_iter().map(|edge| self.edge_data(edge)).collect()
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
