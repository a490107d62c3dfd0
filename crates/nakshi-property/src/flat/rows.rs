//! Queries on the rows of a file in the flat layout.

use std::ops::Range;
use std::sync::Arc;

use super::super::blob::Blob;
use super::super::condition::Predicate;
use super::super::row::EdgeRow;
use super::super::row::RowValues;
use super::super::row::common;
use super::delimiter::DelimitedProperties;
use super::directory::{FlatDirectory, ListLocations};
use super::list::PropertyLists;
use crate::compressed_text::CompressedText;
use nakshi_store::Result;

/// A pattern is searched only if it occurs at most this often for each row that is left; otherwise
/// reading the values of the rows is less work.
const OFTEN: u64 = 16;

/// Estimated nanoseconds of locating a hit, or of reading a value.
const PER_VALUE: u64 = 3000;

/// Edges that one extraction reads.
const BLOCK: u64 = 1 << 10;

/// Patterns, each with the number of times that it occurs.
type CountedPatterns = Vec<(u64, Vec<u8>)>;

/// The rows of a file, in groups of one text each.
#[derive(Debug)]
pub(crate) struct FlatRows {
    blob: Arc<Blob>,
    properties: DelimitedProperties,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<FlatRowGroup>,
}

#[derive(Debug)]
struct FlatRowGroup {
    text: CompressedText,
    digits: usize,
    places: ListLocations,
}

impl FlatRowGroup {
    fn lists<'r>(&'r self, properties: &'r DelimitedProperties) -> PropertyLists<'r> {
        PropertyLists { properties, text: &self.text, digits: self.digits }
    }

    /// Range of the list of a row.
    fn list(&self, row: u64) -> Result<Range<u64>> {
        match &self.places {
            ListLocations::Lists(offsets) => {
                let (from, until) = offsets.pair(self.text.blob(), row)?;
                Ok(from..until)
            }
            ListLocations::Records(parts) => parts.list(&self.text, row),
        }
    }

    /// The row whose list contains an offset.
    fn row_at(&self, offset: u64) -> Result<Option<u64>> {
        match &self.places {
            ListLocations::Lists(offsets) => {
                Ok(offsets.at_most(self.text.blob(), offset)?.checked_sub(1))
            }
            ListLocations::Records(parts) => parts.row_at(&self.text, offset),
        }
    }

    /// Rows whose lists contain a pattern, ascending.
    fn rows_with(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        let mut rows = Vec::new();
        for offset in self.text.search(pattern)? {
            rows.extend(self.row_at(offset)?);
        }
        rows.dedup();
        Ok(rows)
    }
}

impl FlatRows {
    pub(crate) fn open(blob: Blob, directory: &FlatDirectory) -> Result<Self> {
        let (blob, mut starts) = (Arc::new(blob), vec![0]);
        let mut groups = Vec::new();
        for group in &directory.groups {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            if group.digits == 0 {
                return Err(blob.damaged(0, "a length has no digits"));
            }
            groups.push(FlatRowGroup {
                text: CompressedText::open(&blob, group.text)?,
                digits: group.digits.into(),
                places: group.places,
            });
        }
        let properties = DelimitedProperties::ordered(directory.properties.clone());
        Ok(FlatRows { blob, properties, starts, groups })
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(crate) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The group of a row, and the number of the row in it.
    fn group(&self, row: u64) -> Option<(&FlatRowGroup, u64)> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.groups.get(number)?, row - self.starts.get(number)?))
    }

    /// Appends the value of a property to `out`; false if it is null.
    pub(crate) fn get(&self, row: u64, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match (self.group(row), self.properties.rank(property)) {
            (Some((group, row)), Some(rank)) => {
                group.lists(&self.properties).get(group.list(row)?, rank, out)
            }
            _ => Ok(false),
        }
    }

    /// Hands every value of a row to `f`.
    pub(crate) fn each(&self, row: u64, f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        match self.group(row) {
            Some((group, row)) => group.lists(&self.properties).each(group.list(row)?, f),
            None => Ok(()),
        }
    }

    /// Rows that meet all conditions, ascending: the text is searched for patterns, and the lists
    /// of the hits are then compared.
    pub(crate) fn find(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for (group, bounds) in self.groups.iter().zip(self.starts.windows(2)) {
            let &[start, end] = bounds else { continue };
            for row in self.candidates(group, end - start, wanted)? {
                if self.has(start + row, wanted)? {
                    found.push(start + row);
                }
            }
        }
        Ok(found)
    }

    /// Candidates of a group of `rows` rows: all rows that meet the conditions are among them.
    fn candidates(
        &self,
        group: &FlatRowGroup,
        rows: u64,
        wanted: &[(u32, Predicate)],
    ) -> Result<Vec<u64>> {
        let Some(mut patterns) = self.patterns(group, wanted)? else { return Ok(Vec::new()) };
        patterns.sort_unstable();
        let mut patterns = patterns.into_iter();
        let mut rows = match patterns.next() {
            Some((count, rarest)) if count <= OFTEN * rows => group.rows_with(&rarest)?,
            _ if wanted.is_empty() => return Ok(Vec::new()),
            _ => return Ok((0..rows).collect()),
        };
        for (count, pattern) in patterns {
            if count > OFTEN * rows.len() as u64 {
                break;
            }
            rows = common(&rows, &group.rows_with(&pattern)?);
        }
        Ok(rows)
    }

    /// Patterns of the conditions, each with the number of times that it occurs in a group; `None` if
    /// no row of the group can meet all conditions.
    fn patterns(
        &self,
        group: &FlatRowGroup,
        wanted: &[(u32, Predicate)],
    ) -> Result<Option<CountedPatterns>> {
        let lists = group.lists(&self.properties);
        let mut patterns = Vec::new();
        for (property, wanted) in wanted {
            let Some(rank) = self.properties.rank(*property) else {
                // All rows of the file are null.
                if wanted.fits(None) {
                    continue;
                }
                return Ok(None);
            };
            let pattern = lists.pattern(rank, wanted);
            if pattern.is_empty() {
                continue;
            }
            let count = group.text.count(&pattern)?;
            if count == 0 {
                return Ok(None);
            }
            patterns.push((count, pattern));
        }
        Ok(Some(patterns))
    }

    /// Estimated nanoseconds of [`FlatRows::find`]: of locating the hits of the rarest pattern and
    /// reading their values, or of reading the values of all rows.
    pub(crate) fn search_cost(&self, wanted: &[(u32, Predicate)]) -> Result<u64> {
        let mut cost = 0;
        for (group, bounds) in self.groups.iter().zip(self.starts.windows(2)) {
            let &[start, end] = bounds else { continue };
            let Some(patterns) = self.patterns(group, wanted)? else { continue };
            let hits = patterns.iter().map(|(count, _)| *count).min().unwrap_or(u64::MAX);
            cost += hits.min(end - start) * PER_VALUE;
        }
        Ok(cost)
    }

    /// Returns true if a row meets all conditions.
    fn has(&self, row: u64, wanted: &[(u32, Predicate)]) -> Result<bool> {
        let mut value = Vec::new();
        for (property, wanted) in wanted {
            value.clear();
            let there = self.get(row, *property, &mut value)?;
            if !wanted.fits(there.then_some(value.as_slice())) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The internal id of the destination of an edge.
    pub(crate) fn end(&self, row: u64) -> Result<u64> {
        match self.group(row) {
            Some((FlatRowGroup { text, places: ListLocations::Records(parts), .. }, row)) => {
                let ends = parts.ends(text, row, 1)?;
                ends.first().copied().ok_or_else(|| self.none())
            }
            _ => Err(self.none()),
        }
    }

    /// The time of an edge.
    pub(crate) fn time(&self, row: u64) -> Result<i64> {
        match self.group(row) {
            Some((FlatRowGroup { text, places: ListLocations::Records(parts), .. }, row)) => {
                parts.time(text, row)
            }
            _ => Err(self.none()),
        }
    }

    /// The internal ids of the destinations of neighbouring edges.
    pub(crate) fn ends(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        let (mut ends, mut row) = (Vec::new(), rows.start);
        while row < rows.end {
            let Some((FlatRowGroup { text, places: ListLocations::Records(parts), .. }, local)) =
                self.group(row)
            else {
                return Err(self.none());
            };
            let some = parts.ends(text, local, (rows.end - row).min(BLOCK))?;
            row += some.len().max(1) as u64;
            ends.extend(some);
        }
        Ok(ends)
    }

    /// Neighbouring edges with their properties; their lists lie side by side and are read at once.
    pub(crate) fn edges(&self, rows: Range<u64>) -> Result<Vec<EdgeRow>> {
        let (mut edges, mut row, mut read) = (Vec::new(), rows.start, Vec::new());
        while row < rows.end {
            let Some((group, local)) = self.group(row) else { return Err(self.none()) };
            let ListLocations::Records(parts) = &group.places else { return Err(self.none()) };
            let places = parts.edges(&group.text, local, (rows.end - row).min(BLOCK))?;
            let (Some(first), Some(last)) = (places.first(), places.last()) else {
                return Err(self.none());
            };
            let from = first.list.start;
            group.text.read(from, last.list.end.saturating_sub(from), &mut read)?;
            for place in &places {
                let at = |offset: u64| offset.saturating_sub(from) as usize;
                let list = read.get(at(place.list.start)..at(place.list.end)).unwrap_or_default();
                let mut values = Vec::new();
                group.lists(&self.properties).each_of(list, |number, value| {
                    RowValues::put(number, value, &mut values);
                    Ok(())
                })?;
                edges.push(EdgeRow { time: place.time, end: place.end, values });
            }
            row += places.len() as u64;
        }
        Ok(edges)
    }

    #[cold]
    fn none(&self) -> nakshi_store::Error {
        self.blob.damaged(0, "an edge is asked for that it has not")
    }

    /// Checks the compressed texts, and that the heads of edge records have the source and the type
    /// of their rows. Reading each row checks the lists.
    pub(crate) fn verify(
        &self,
        of_row: &dyn Fn(u64) -> Result<(u64, u64)>,
        told: &mut dyn FnMut(String),
    ) -> Result<()> {
        for ((number, group), start) in self.groups.iter().enumerate().zip(&self.starts) {
            let checked = group.text.check().and_then(|()| match &group.places {
                ListLocations::Lists(_) => Ok(()),
                ListLocations::Records(parts) => {
                    parts.verify(&group.text, |row| of_row(start + row))
                }
            });
            if let Err(error) = checked {
                told(format!("group {number}: {error}"));
            }
        }
        Ok(())
    }
}
