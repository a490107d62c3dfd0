//! Queries on the rows of a file in the flat layout.

use std::ops::Range;
use std::sync::Arc;

use super::super::blob::Blob;
use super::super::row::EdgeRow;
use super::super::row::Values;
use super::super::row::common;
use super::super::wanted::Wanted;
use super::delimiter::Properties;
use super::directory::{FlatDirectory, Places};
use super::list::Lists;
use crate::compressed_text::Text;
use nakshi_store::Result;

/// Another pattern is looked for only if it occurs at most so often for every row that is left; to
/// read the value of the row is less work otherwise.
const OFTEN: u64 = 16;

/// Edges that are read at once.
const BLOCK: u64 = 1 << 10;

/// Rows in groups, each a text.
#[derive(Debug)]
pub(crate) struct Rows {
    blob: Arc<Blob>,
    properties: Properties,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    text: Text,
    digits: usize,
    places: Places,
}

impl Group {
    fn lists<'r>(&'r self, properties: &'r Properties) -> Lists<'r> {
        Lists { properties, text: &self.text, digits: self.digits }
    }

    /// Where the list of a row is.
    fn list(&self, row: u64) -> Result<Range<u64>> {
        match &self.places {
            Places::Lists(offsets) => {
                let (from, until) = offsets.pair(self.text.blob(), row)?;
                Ok(from..until)
            }
            Places::Records(parts) => parts.list(&self.text, row),
        }
    }

    /// The row in whose list an offset is.
    fn row_at(&self, offset: u64) -> Result<Option<u64>> {
        match &self.places {
            Places::Lists(offsets) => Ok(offsets.at_most(self.text.blob(), offset)?.checked_sub(1)),
            Places::Records(parts) => parts.row_at(&self.text, offset),
        }
    }

    /// The rows in whose lists a pattern occurs, ascending.
    fn rows_with(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        let mut rows = Vec::new();
        for offset in self.text.search(pattern)? {
            rows.extend(self.row_at(offset)?);
        }
        rows.dedup();
        Ok(rows)
    }
}

impl Rows {
    pub(crate) fn open(blob: Blob, directory: &FlatDirectory) -> Result<Self> {
        let (blob, mut starts) = (Arc::new(blob), vec![0]);
        let mut groups = Vec::new();
        for group in &directory.groups {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            if group.digits == 0 {
                return Err(blob.damaged(0, "a length has no digits"));
            }
            groups.push(Group {
                text: Text::open(&blob, group.text)?,
                digits: group.digits.into(),
                places: group.places,
            });
        }
        let properties = Properties::ordered(directory.properties.clone());
        Ok(Rows { blob, properties, starts, groups })
    }

    pub(crate) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(crate) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The group of a row, and the row in it.
    fn group(&self, row: u64) -> Option<(&Group, u64)> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.groups.get(number)?, row - self.starts.get(number)?))
    }

    /// Appends the value of a property to `out`; false if the row has none.
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

    /// The rows that have all these values, ascending: those where the text has them, as far as
    /// their lists bear it out.
    pub(crate) fn find(&self, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
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

    /// Rows of a group, which has `rows`, among which are all that have these values.
    fn candidates(&self, group: &Group, rows: u64, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        let lists = group.lists(&self.properties);
        let mut patterns = Vec::new();
        for (property, wanted) in wanted {
            let Some(rank) = self.properties.rank(*property) else { return Ok(Vec::new()) };
            let pattern = lists.pattern(rank, wanted);
            if pattern.is_empty() {
                continue;
            }
            let count = group.text.count(&pattern)?;
            if count == 0 {
                return Ok(Vec::new());
            }
            patterns.push((count, pattern));
        }
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

    /// Whether a row has all these values.
    fn has(&self, row: u64, wanted: &[(u32, Wanted)]) -> Result<bool> {
        let mut value = Vec::new();
        for (property, wanted) in wanted {
            value.clear();
            if !self.get(row, *property, &mut value)? || !wanted.fits(&value) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The internal id of the end of an edge.
    pub(crate) fn end(&self, row: u64) -> Result<u64> {
        match self.group(row) {
            Some((Group { text, places: Places::Records(parts), .. }, row)) => {
                let ends = parts.ends(text, row, 1)?;
                ends.first().copied().ok_or_else(|| self.none())
            }
            _ => Err(self.none()),
        }
    }

    /// The time of an edge.
    pub(crate) fn time(&self, row: u64) -> Result<i64> {
        match self.group(row) {
            Some((Group { text, places: Places::Records(parts), .. }, row)) => {
                parts.time(text, row)
            }
            _ => Err(self.none()),
        }
    }

    /// The internal ids of the ends of neighbouring edges.
    pub(crate) fn ends(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        let (mut ends, mut row) = (Vec::new(), rows.start);
        while row < rows.end {
            let Some((Group { text, places: Places::Records(parts), .. }, local)) = self.group(row)
            else {
                return Err(self.none());
            };
            let some = parts.ends(text, local, (rows.end - row).min(BLOCK))?;
            row += some.len().max(1) as u64;
            ends.extend(some);
        }
        Ok(ends)
    }

    /// Neighbouring edges; their lists lie side by side and are read at once.
    pub(crate) fn edges(&self, rows: Range<u64>) -> Result<Vec<EdgeRow>> {
        let (mut edges, mut row, mut read) = (Vec::new(), rows.start, Vec::new());
        while row < rows.end {
            let Some((group, local)) = self.group(row) else { return Err(self.none()) };
            let Places::Records(parts) = &group.places else { return Err(self.none()) };
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
                    Values::put(number, value, &mut values);
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

    /// Whether compressed texts are sound, and heads of edge records what source and type of their
    /// rows ask for. The lists are checked by whoever reads each row.
    pub(crate) fn verify(
        &self,
        of_row: &dyn Fn(u64) -> Result<(u64, u64)>,
        told: &mut dyn FnMut(String),
    ) -> Result<()> {
        for ((number, group), start) in self.groups.iter().enumerate().zip(&self.starts) {
            let checked = group.text.check().and_then(|()| match &group.places {
                Places::Lists(_) => Ok(()),
                Places::Records(parts) => parts.verify(&group.text, |row| of_row(start + row)),
            });
            if let Err(error) = checked {
                told(format!("group {number}: {error}"));
            }
        }
        Ok(())
    }
}
