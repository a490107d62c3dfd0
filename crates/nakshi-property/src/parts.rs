//! The parts of an edge record: its edges in the files, in each layer and in the log.

use std::ops::Range;
use std::sync::Arc;

use super::schema::decoded_number;
use super::segment::{RowRef, SegmentRows};
use super::timeline::{LogEdge, Timeline};
use nakshi_store::{Error, Result};

/// The edges of a record in one place, oldest first.
#[derive(Clone, Debug)]
pub(super) struct RecordPart {
    pub(super) place: PartPlace,
    /// Positions of deleted edges, ascending; `None` without any.
    hidden: Option<Arc<Vec<u64>>>,
}

/// Where a part is.
#[derive(Clone, Debug)]
pub(super) enum PartPlace {
    /// Rows of the files of the last compaction.
    Files(Range<u64>),
    /// Rows of a fragment, which is the layer of this number.
    Layer(usize, Range<u64>),
    /// In memory: the layer of this number, or the log.
    Log(Option<usize>, Timeline),
}

/// All parts of a record, oldest first.
#[derive(Clone, Debug)]
pub(super) struct RecordParts {
    /// The part in the files of the last compaction; it may be empty.
    pub(super) first: RecordPart,
    pub(super) rest: Vec<RecordPart>,
}

impl Default for RecordParts {
    fn default() -> Self {
        RecordParts { first: RecordPart::new(PartPlace::Files(0..0), None), rest: Vec::new() }
    }
}

impl RecordPart {
    pub(super) fn new(place: PartPlace, hidden: Option<Arc<Vec<u64>>>) -> Self {
        RecordPart { place, hidden: hidden.filter(|hidden| !hidden.is_empty()) }
    }

    /// First row, and the number of edges, including deleted ones.
    fn rows(&self) -> (u64, u64) {
        match &self.place {
            PartPlace::Files(rows) | PartPlace::Layer(_, rows) => {
                (rows.start, rows.end - rows.start)
            }
            PartPlace::Log(_, edges) => (0, edges.len() as u64),
        }
    }

    fn hidden(&self) -> &[u64] {
        self.hidden.as_ref().map_or(&[], |hidden| hidden.as_slice())
    }

    /// True if none of its edges is deleted.
    pub(super) fn is_whole(&self) -> bool {
        self.hidden.is_none()
    }

    /// Number of edges that are not deleted.
    pub(super) fn len(&self) -> u64 {
        self.rows().1 - self.hidden().len() as u64
    }

    pub(super) fn hides(&self, position: u64) -> bool {
        self.hidden().binary_search(&position).is_ok()
    }

    /// Position of the `i`-th edge that is not deleted.
    pub(super) fn position(&self, i: u64) -> u64 {
        let hidden = self.hidden();
        let (mut low, mut high) = (0, hidden.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let position = hidden.get(middle).copied().unwrap_or(u64::MAX);
            // Edges before a deleted one that are not deleted.
            if position - middle as u64 <= i { low = middle + 1 } else { high = middle }
        }
        i + low as u64
    }

    /// Row of the `i`-th edge that is not deleted; its place in the timeline of a log.
    pub(super) fn row(&self, i: u64) -> u64 {
        self.rows().0 + self.position(i)
    }

    /// Positions of the edges that are not deleted, and their rows.
    pub(super) fn visible(&self) -> impl Iterator<Item = (u64, u64)> {
        let (start, len) = self.rows();
        (0..len).filter(|position| !self.hides(*position)).map(move |at| (at, start + at))
    }
}

impl RecordParts {
    /// All parts, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &RecordPart> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// The part of a number, oldest first.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&RecordPart> {
        match number.checked_sub(1) {
            None => Some(&self.first),
            Some(number) => self.rest.get(number),
        }
    }

    /// Number of edges.
    pub(super) fn len(&self) -> u64 {
        self.iter().map(RecordPart::len).sum()
    }
}

/// Location of an edge of a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum EdgeLocation<'r> {
    Row(&'r SegmentRows, u64),
    Log(&'r LogEdge),
}

impl EdgeLocation<'_> {
    /// Internal id of the destination.
    #[inline]
    pub(super) fn end(&self) -> Result<u64> {
        match self {
            EdgeLocation::Row(rows, row) => rows.end(*row),
            EdgeLocation::Log(edge) => Ok(edge.end.into()),
        }
    }

    /// Time of the edge.
    #[inline]
    pub(super) fn time(&self) -> Result<i64> {
        match self {
            EdgeLocation::Row(rows, row) => rows.time(*row),
            EdgeLocation::Log(edge) => Ok(edge.time),
        }
    }

    /// The properties of the edge.
    pub(super) fn values(&self) -> RowRef<'_> {
        match self {
            EdgeLocation::Row(rows, row) => RowRef::File(rows, *row),
            EdgeLocation::Log(edge) => RowRef::Log(&edge.values),
        }
    }

    /// The number of the edge, given the property that has the numbers of edges; 0 for one without.
    ///
    /// # Errors
    /// Damage.
    pub(super) fn number(&self, property: Option<u32>) -> Result<u64> {
        match (self, property) {
            (EdgeLocation::Log(edge), _) => Ok(edge.number),
            (EdgeLocation::Row(..), None) => Ok(0),
            (EdgeLocation::Row(rows, row), Some(property)) => {
                let mut bytes = Vec::new();
                match rows.get(*row, property, &mut bytes)? {
                    true => decoded_number(&bytes)
                        .ok_or(Error::BadList("the number of an edge is none")),
                    false => Ok(0),
                }
            }
        }
    }
}
