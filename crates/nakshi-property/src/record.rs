//! An edge record: the edges of one type of a node, those of files and those of the log as one list.

use std::ops::Range;

use super::base::Shard;
use super::graph::PropertyGraph;
use super::logstore::Fragment;
use super::row::Values;
use super::timeline::LogEdge;
use nakshi_store::{Result, VertexId};

/// The edges of one type of a node, in the order of their times; those of one time in the order in
/// which they came. It stays what it was when it was asked for, whatever is written later.
#[derive(Clone, Debug)]
pub struct EdgeRecord {
    graph: PropertyGraph,
    node: VertexId,
    ty: u64,
    /// In the file.
    rows: Range<u64>,
    /// Edges in `rows` that are not deleted.
    visible: u64,
    /// What the log says of the record.
    fragment: Option<Fragment>,
}

/// An edge of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'r> {
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
        EdgeRecord { graph: graph.clone(), node, ty, rows, visible, fragment }
    }

    /// Number of edges.
    pub fn len(&self) -> u64 {
        self.visible + self.fragment.as_ref().map_or(0, |fragment| fragment.edges.len() as u64)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The graph that it is of.
    pub(super) fn graph(&self) -> &PropertyGraph {
        &self.graph
    }

    /// The node that they begin at.
    pub(super) fn node(&self) -> VertexId {
        self.node
    }

    /// Their type.
    pub fn edge_type(&self) -> &str {
        self.graph.state().schema.type_name(self.ty)
    }

    pub(super) fn shard(&self) -> Result<&Shard> {
        Ok(self.graph.state().base.place(self.node)?.0)
    }

    /// The `i`-th edge, 0 being the oldest, if there are so many.
    pub(super) fn place(&self, i: u64) -> Result<Option<Place<'_>>> {
        if i >= self.len() {
            return Ok(None);
        }
        let Some(fragment) = &self.fragment else {
            return Ok(Some(Place::Row(self.rows.start + i)));
        };
        // Edges of the log that come before place i, by the places that they have themselves.
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
            return Ok(Some(Place::Log(edge)));
        }
        Ok(Some(Place::Row(fragment.visible(self.rows.start, i - low as u64))))
    }

    /// The place of the `j`-th edge of the log: behind all of files that are not newer.
    fn place_of(&self, fragment: &Fragment, j: usize, edge: &LogEdge) -> Result<u64> {
        let older = match edge.time.checked_add(1) {
            Some(time) => self.rows_before(fragment, time)?,
            None => self.visible,
        };
        Ok(j as u64 + older)
    }

    /// Edges of files, not deleted, that are older than `time`.
    fn rows_before(&self, fragment: &Fragment, time: i64) -> Result<u64> {
        let row = self.first_row(time)?;
        let hidden = fragment.hidden_below(row) - fragment.hidden_below(self.rows.start);
        Ok(row - self.rows.start - hidden)
    }

    /// The first row that is not older than `time`.
    fn first_row(&self, time: i64) -> Result<u64> {
        let rows = &self.shard()?.edges.rows;
        let (mut low, mut high) = (self.rows.start, self.rows.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if rows.time(middle)? < time { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    /// How many edges are older than `time`.
    pub(super) fn before(&self, time: i64) -> Result<u64> {
        match &self.fragment {
            None => Ok(self.first_row(time)? - self.rows.start),
            Some(fragment) => {
                Ok(self.rows_before(fragment, time)? + fragment.edges.before(time) as u64)
            }
        }
    }

    /// Destination of an edge.
    pub(super) fn end(&self, place: Place<'_>) -> Result<u64> {
        match place {
            Place::Row(row) => self.shard()?.edges.rows.end(row),
            Place::Log(edge) => Ok(edge.end.into()),
        }
    }

    /// Destinations of the edges at these places.
    pub(super) fn ends(&self, places: Range<u64>) -> Result<Vec<u64>> {
        if let Some(rows) = self.file_rows(&places) {
            return self.shard()?.edges.rows.ends(rows);
        }
        let places = places.map(|i| self.place(i)).filter_map(Result::transpose);
        places.map(|place| self.end(place?)).collect()
    }

    /// The rows of the edges at these places, if the log has nothing to say.
    pub(super) fn file_rows(&self, places: &Range<u64>) -> Option<Range<u64>> {
        let first = self.rows.start;
        self.fragment.is_none().then(|| first + places.start..first + places.end)
    }

    /// Time of an edge.
    pub(super) fn time(&self, place: Place<'_>) -> Result<i64> {
        match place {
            Place::Row(row) => self.shard()?.edges.rows.time(row),
            Place::Log(edge) => Ok(edge.time),
        }
    }

    /// Hands every property of an edge to `f`.
    pub(super) fn each_value(&self, place: Place<'_>, mut f: impl FnMut(u32, &[u8])) -> Result<()> {
        match place {
            Place::Row(row) => self.shard()?.edges.rows.each(row, |property, value| {
                f(property, value);
                Ok(())
            }),
            Place::Log(edge) => {
                Values(&edge.values).for_each(|(property, value)| f(property, value));
                Ok(())
            }
        }
    }
}
