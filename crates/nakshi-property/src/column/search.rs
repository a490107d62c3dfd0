//! Searches of a column for rows whose values meet a condition, and what they cost.

use std::ops::Bound;

use super::{ColumnCodec, EncodedColumn, ValueCode, number};
use crate::blob::Blob;
use crate::condition::{Predicate, above, below};
use crate::packed::Packed;
use crate::row::common;
use crate::texts::Texts;
use nakshi_store::Result;

/// Estimated nanoseconds of comparing a text, of comparing the code of some row, which waits for memory, and of
/// returning a row or comparing a number.
const PER_TEXT: u64 = 50;
const PER_CODE: u64 = 25;
const PER_ROW: u64 = 6;
/// Rows of a value whose numbers a page of 4 KiB has, at three bits each, in the time that it takes to read it.
const ROWS_OF_PAGE: u64 = 8192;

impl EncodedColumn {
    /// Rows that match, ascending; `rows` is the number of rows of the group.
    pub(in super::super) fn find(
        &self,
        blob: &Blob,
        rows: u64,
        wanted: &Predicate,
    ) -> Result<Vec<u64>> {
        Ok(match wanted {
            Predicate::Null => complement(rows, &self.rows_with_values(blob, rows)?),
            Predicate::Not(one) => complement(rows, &self.find(blob, rows, one)?),
            Predicate::All(all) => {
                let mut found: Option<Vec<u64>> = None;
                for one in all {
                    let more = self.find(blob, rows, one)?;
                    found = Some(found.map_or_else(|| more.clone(), |found| common(&found, &more)));
                }
                found.unwrap_or_else(|| (0..rows).collect())
            }
            Predicate::Any(all) => {
                let mut found = Vec::new();
                for one in all {
                    found.extend(self.find(blob, rows, one)?);
                }
                found.sort_unstable();
                found.dedup();
                found
            }
            _ => self.find_values(blob, wanted)?,
        })
    }

    fn rows_with_values(&self, blob: &Blob, rows: u64) -> Result<Vec<u64>> {
        match &self.layout.present {
            None => Ok((0..rows).collect()),
            Some(present) => present.from(blob, 0)?.collect(),
        }
    }

    /// Rows whose value matches a predicate that null never matches, ascending.
    fn find_values(&self, blob: &Blob, wanted: &Predicate) -> Result<Vec<u64>> {
        let mut rows = Vec::new();
        match (&self.layout.order, wanted) {
            (Some(order), Predicate::Equal(value)) => {
                let bound = Bound::Included(value.clone());
                self.find_in_order(blob, order, &bound, &bound, &mut rows)?;
                return Ok(rows);
            }
            (Some(order), Predicate::Range(low, high)) => {
                self.find_in_order(blob, order, low, high, &mut rows)?;
                rows.sort_unstable();
                return Ok(rows);
            }
            _ => {}
        }
        match (&self.layout.values, wanted) {
            (ColumnCodec::Frame { least, bytes, distances }, Predicate::Equal(value)) => {
                let Some(wanted) = number(value).checked_sub(*least) else { return Ok(rows) };
                if value.len() != usize::from(*bytes) {
                    return Ok(rows);
                }
                for i in 0..distances.len() {
                    if distances.get(blob, i)? == wanted {
                        rows.push(self.row(blob, i)?);
                    }
                }
            }
            (ColumnCodec::Dictionary { distinct, .. }, Predicate::Equal(value)) => {
                if let Some(code) = self.code(blob, distinct, value)? {
                    self.rows_of(blob, code, &mut rows)?;
                }
            }
            (ColumnCodec::Dictionary { distinct, .. }, Predicate::Range(low, high)) => {
                let code = |code: u64, value: &mut Vec<u8>| {
                    distinct.get(blob, self.symbols.as_deref(), code, value)
                };
                let first = first_not(distinct.len(), code, |value| below(value, low))?;
                let end = first_not(distinct.len(), code, |value| !above(value, high))?;
                for code in first..end {
                    self.rows_of(blob, code, &mut rows)?;
                }
                rows.sort_unstable();
            }
            (ColumnCodec::Dictionary { distinct, .. }, _) => {
                for code in fitting(distinct.len(), wanted, |code, value| {
                    distinct.get(blob, self.symbols.as_deref(), code, value)
                })? {
                    self.rows_of(blob, code, &mut rows)?;
                }
                rows.sort_unstable();
            }
            (ColumnCodec::Searchable { .. }, Predicate::Equal(_) | Predicate::Contains(_)) => {
                for i in self.searched(blob, wanted)? {
                    rows.push(self.row(blob, i)?);
                }
            }
            _ => {
                for i in fitting(self.len(), wanted, |i, value| self.value(blob, i, value))? {
                    rows.push(self.row(blob, i)?);
                }
            }
        }
        Ok(rows)
    }

    /// Numbers of the values that a search in their text finds.
    fn searched(&self, blob: &Blob, wanted: &Predicate) -> Result<Vec<u64>> {
        match (&self.searchable, wanted) {
            (Some(searchable), Predicate::Equal(value)) => searchable.equal(blob, value),
            (Some(searchable), Predicate::Contains(pattern)) => {
                searchable.containing(blob, pattern)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The code of a value in a dictionary of `distinct` values; `None` if no row has it.
    fn code(&self, blob: &Blob, distinct: &Texts, value: &[u8]) -> Result<Option<u64>> {
        match &self.distinct {
            Some(distinct) => Ok(distinct.find(value)),
            None => distinct.find(blob, self.symbols.as_deref(), value),
        }
    }

    /// Those of `rows` whose value matches.
    pub(in super::super) fn among(
        &self,
        blob: &Blob,
        rows: &[u64],
        wanted: &Predicate,
    ) -> Result<Vec<u64>> {
        let (mut found, mut value) = (Vec::new(), Vec::new());
        if let (ColumnCodec::Dictionary { distinct, .. }, Predicate::Equal(value)) =
            (&self.layout.values, wanted)
        {
            let Some(wanted) = self.code(blob, distinct, value)? else { return Ok(found) };
            for row in rows {
                if matches!(self.place(blob, *row)?, ValueCode::At(code) if code == wanted) {
                    found.push(*row);
                }
            }
            return Ok(found);
        }
        for row in rows {
            value.clear();
            let there = self.get(blob, *row, &mut value)?;
            if wanted.fits(there.then_some(value.as_slice())) {
                found.push(*row);
            }
        }
        Ok(found)
    }

    /// Estimated number of values that [`EncodedColumn::find`] reads.
    pub(in super::super) fn reads(&self, blob: &Blob, wanted: &Predicate) -> Result<u64> {
        let sorted = self.layout.order.is_some()
            || matches!(self.layout.values, ColumnCodec::Dictionary { .. });
        match (&self.layout.values, wanted, &self.searchable) {
            (_, Predicate::Equal(_) | Predicate::Null, _) => Ok(0),
            (_, Predicate::Range(..), _) if sorted => Ok(0),
            (_, Predicate::Not(one), _) => self.reads(blob, one),
            (_, Predicate::All(all) | Predicate::Any(all), _) => {
                all.iter().try_fold(0, |sum, one| Ok(self.reads(blob, one)?.saturating_add(sum)))
            }
            (_, Predicate::Contains(pattern), Some(searchable)) => {
                Ok(searchable.count(blob, pattern)?.min(self.len()))
            }
            (ColumnCodec::Dictionary { distinct, .. }, ..) => Ok(distinct.len()),
            _ => Ok(self.len()),
        }
    }

    /// Number of rows whose values are compared in the time in which a dictionary finds the rows of an average
    /// value, which lie side by side. On disk the codes of the compared rows may lie in as many pages, of which
    /// one has the numbers of thousands of rows with a value.
    pub(in super::super) fn compared(&self, blob: &Blob, wanted: &Predicate) -> u64 {
        let ColumnCodec::Dictionary { distinct, .. } = &self.layout.values else { return 0 };
        let found = self.len() / distinct.len().max(1);
        match wanted {
            _ if !blob.is_in_memory() => 2 + found / ROWS_OF_PAGE,
            Predicate::Equal(_) => found * PER_ROW / (PER_ROW + PER_CODE),
            _ => found * PER_ROW / (PER_ROW + PER_TEXT),
        }
    }

    /// Estimated nanoseconds of [`EncodedColumn::find`], from numbers of values alone.
    pub(in super::super) fn search_cost(&self, wanted: &Predicate) -> u64 {
        let len = self.len();
        match (&self.layout.values, wanted) {
            (_, Predicate::All(all) | Predicate::Any(all)) => {
                all.iter().map(|one| self.search_cost(one)).sum()
            }
            (_, Predicate::Not(one)) => self.search_cost(one) + len * PER_ROW,
            (_, Predicate::Null) => len * PER_ROW,
            (ColumnCodec::Dictionary { distinct, .. }, Predicate::Equal(_)) => {
                len / distinct.len().max(1) * PER_ROW
            }
            (ColumnCodec::Dictionary { distinct, .. }, _) => {
                distinct.len() * PER_TEXT + len / distinct.len().max(1) * PER_ROW
            }
            (ColumnCodec::Frame { .. }, Predicate::Equal(_)) if self.layout.order.is_none() => {
                len * PER_ROW
            }
            (_, Predicate::Equal(_)) => 0,
            (ColumnCodec::Searchable { .. }, Predicate::Contains(_)) => len * PER_ROW,
            // Half of the rows, for want of a count.
            (_, Predicate::Range(..)) if self.layout.order.is_some() => len / 2 * PER_ROW,
            _ => len * PER_TEXT,
        }
    }

    /// Appends the rows whose values are within bounds, in the order of the values.
    fn find_in_order(
        &self,
        blob: &Blob,
        order: &Packed,
        low: &Bound<Vec<u8>>,
        high: &Bound<Vec<u8>>,
        rows: &mut Vec<u64>,
    ) -> Result<()> {
        let get = |at: u64, value: &mut Vec<u8>| self.value(blob, order.get(blob, at)?, value);
        let mut value = Vec::new();
        for at in first_not(order.len(), get, |value| below(value, low))?..order.len() {
            let i = order.get(blob, at)?;
            self.value(blob, i, &mut value)?;
            if above(&value, high) {
                break;
            }
            rows.push(self.row(blob, i)?);
        }
        Ok(())
    }

    /// Appends the rows with value `code` of a dictionary.
    fn rows_of(&self, blob: &Blob, code: u64, rows: &mut Vec<u64>) -> Result<()> {
        let ColumnCodec::Dictionary { starts, places, .. } = &self.layout.values else {
            return Ok(());
        };
        let (from, to) = starts.pair(blob, code)?;
        let first = code.saturating_mul(self.len());
        for place in places.from(blob, from)?.take(to.saturating_sub(from) as usize) {
            rows.push(self.row(blob, place?.saturating_sub(first))?);
        }
        Ok(())
    }
}

/// Numbers of the matching ones among `count` values; `value` appends one to its second argument.
fn fitting(
    count: u64,
    wanted: &Predicate,
    value: impl Fn(u64, &mut Vec<u8>) -> Result<()>,
) -> Result<Vec<u64>> {
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    for i in 0..count {
        bytes.clear();
        value(i, &mut bytes)?;
        if wanted.fits(Some(bytes.as_slice())) {
            found.push(i);
        }
    }
    Ok(found)
}

/// The first of `count` sorted values that is not `before`; `value` appends one to its second argument.
fn first_not(
    count: u64,
    value: impl Fn(u64, &mut Vec<u8>) -> Result<()>,
    before: impl Fn(&[u8]) -> bool,
) -> Result<u64> {
    let (mut low, mut high, mut bytes) = (0, count, Vec::new());
    while low < high {
        let middle = low + (high - low) / 2;
        bytes.clear();
        value(middle, &mut bytes)?;
        if before(&bytes) { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

/// The rows below `rows` that are not in the ascending list `found`.
fn complement(rows: u64, found: &[u64]) -> Vec<u64> {
    let mut rest = found;
    let mut others = Vec::new();
    for row in 0..rows {
        match rest.split_first() {
            Some((first, more)) if *first == row => rest = more,
            _ => others.push(row),
        }
    }
    others
}
