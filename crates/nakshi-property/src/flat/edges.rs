//! The EdgeFile: edge records, each with its times, its destinations and its lists (section 3.4).
//!
//! As in Figure 2, a record begins with a head: `$` and the source, `#` and the type, then the
//! number of edges, and the digits of a time, of a destination and of the end of a list, all in
//! decimal and each before a comma. Behind the head stand all times, then all destinations, then
//! the ends of all lists, each in so many digits, and then the lists. Ends of lists stand where the
//! paper has lengths, so that finding a list does not add up the lengths before it.
//!
//! A record that does not fit into a group continues in the next one with a head of its own. Each
//! such piece is a *part*.

use std::ops::Range;

use super::super::elias_fano::EliasFano;
use super::super::packed::Packed;
use super::delimiter::DelimitedProperties;
use super::directory::{ListLocations, RecordParts};
use super::list::{PendingLists, decimal, decimals, put_decimal};
use crate::compressed_text::CompressedText;
use nakshi_store::{Error, Result};

/// Bits that store a digit count, which is at most 20.
const WIDTH: u8 = 5;

/// The edges of a group that is not written yet.
#[derive(Debug, Default)]
pub(super) struct PendingEdges {
    /// Source, type and first row of each part.
    parts: Vec<(u64, u64, usize)>,
    times: Vec<i64>,
    ends: Vec<u64>,
}

/// A part of an edge record.
#[derive(Clone, Copy, Debug)]
struct RecordPart {
    first: u64,
    count: u64,
    /// Offset of its times.
    at: u64,
    digits: [u64; 3],
}

impl PendingEdges {
    /// Appends the next edge.
    pub(super) fn push(&mut self, node: u64, ty: u64, time: i64, end: u64) {
        if self.parts.last().is_none_or(|(n, t, _)| (*n, *t) != (node, ty)) {
            self.parts.push((node, ty, self.times.len()));
        }
        self.times.push(time);
        self.ends.push(end);
    }

    /// Appends all records to `text`. Returns the offset of the times of each part, and its digit
    /// counts.
    pub(super) fn lay_out(
        &self,
        lists: &PendingLists,
        properties: &DelimitedProperties,
        text: &mut Vec<u8>,
    ) -> Vec<(u64, u64)> {
        let mut lists = lists.write(properties);
        let mut laid = Vec::new();
        let next = self.parts.iter().skip(1).map(|(_, _, first)| *first).chain([self.times.len()]);
        for ((node, ty, first), next) in self.parts.iter().zip(next) {
            let times = self.times.get(*first..next).unwrap_or_default();
            let ends = self.ends.get(*first..next).unwrap_or_default();
            let (mut list_ends, mut own) = (Vec::new(), Vec::new());
            for list in lists.by_ref().take(times.len()) {
                own.extend_from_slice(&list);
                list_ends.push(own.len() as u64);
            }
            let widest = |width: Option<usize>| width.unwrap_or(1);
            let digits = [
                widest(times.iter().map(|time| time.to_string().len()).max()),
                widest(ends.iter().map(|end| decimals(*end)).max()),
                decimals(own.len() as u64),
            ];
            let [time, end, list] = digits;
            let head = format!("${node}#{ty},{},{time},{end},{list},", times.len());
            text.extend_from_slice(head.as_bytes());
            let packed = digits.iter().rev().fold(0, |all, some| all << WIDTH | *some as u64);
            laid.push((text.len() as u64, packed));
            for value in times {
                text.extend_from_slice(format!("{value:0time$}").as_bytes());
            }
            ends.iter().for_each(|value| put_decimal(*value, end, text));
            list_ends.iter().for_each(|value| put_decimal(*value, list, text));
            text.extend_from_slice(&own);
        }
        laid
    }

    /// Appends the positions of the parts to `out`, before which the file has `base` bytes.
    pub(super) fn places(
        &self,
        laid: &[(u64, u64)],
        base: u64,
        out: &mut Vec<u8>,
    ) -> ListLocations {
        let rows = self.parts.iter().map(|(_, _, first)| *first as u64);
        let rows: Vec<u64> = rows.chain([self.times.len() as u64]).collect();
        let times: Vec<u64> = laid.iter().map(|(at, _)| *at).collect();
        let digits = laid.iter().map(|(_, digits)| *digits);
        ListLocations::Records(RecordParts {
            rows: EliasFano::write(&rows, out).moved(base),
            times: EliasFano::write(&times, out).moved(base),
            digits: Packed::write(digits, 3 * WIDTH, out).moved(base),
        })
    }
}

/// An edge without its properties: time, destination, and the range of its list.
#[derive(Clone, Debug)]
pub(super) struct FlatEdge {
    pub(super) time: i64,
    pub(super) end: u64,
    pub(super) list: Range<u64>,
}

/// Columns of numbers in a part.
const TIME: usize = 0;
const END: usize = 1;
const LIST: usize = 2;

impl RecordPart {
    fn width(&self, of: usize) -> u64 {
        self.digits.get(of).copied().unwrap_or(0)
    }

    /// Range of the numbers of column `of` for `count` edges from `i` on.
    fn range(&self, of: usize, i: u64, count: u64) -> Range<u64> {
        let before: u64 = (0..of).map(|of| self.count * self.width(of)).sum();
        let from = self.at + before + i * self.width(of);
        from..from + count * self.width(of)
    }

    fn times(&self, i: u64, count: u64) -> Range<u64> {
        self.range(TIME, i, count)
    }

    fn ends(&self, i: u64, count: u64) -> Range<u64> {
        self.range(END, i, count)
    }

    /// Range of the list ends, from the end of the list before on if there is one.
    fn list_ends(&self, i: u64, count: u64) -> Range<u64> {
        let before = i.min(1);
        self.range(LIST, i - before, count + before)
    }

    /// Offset of the first list.
    fn begin(&self) -> u64 {
        self.range(LIST, self.count, 0).end
    }

    fn numbers<'a>(&self, digits: &'a [u8], of: usize) -> impl Iterator<Item = &'a [u8]> {
        digits.chunks_exact((self.width(of) as usize).max(1))
    }

    /// Ranges of the lists of edges from `i` on; `read` is the text at [`RecordPart::list_ends`].
    fn lists(&self, text: &CompressedText, i: u64, read: &[u8]) -> Result<Vec<Range<u64>>> {
        let mut ends = self.numbers(read, LIST).map(decimal);
        let mut from = if i == 0 { Some(0) } else { ends.next().flatten() };
        let mut lists = Vec::new();
        for until in ends {
            match from.zip(until) {
                Some((from, until)) if from <= until && until <= text.len() => {
                    lists.push(self.begin() + from..self.begin() + until);
                }
                _ => return Err(wrong(text)),
            }
            from = until;
        }
        Ok(lists)
    }
}

fn signed(digits: &[u8]) -> Option<i64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl RecordParts {
    fn part(&self, text: &CompressedText, number: u64) -> Result<RecordPart> {
        let blob = text.blob();
        let (first, next) = self.rows.pair(blob, number)?;
        let at = self.times.get(blob, number)?;
        let digits = self.digits.get(blob, number)?;
        let digits = [0, 1, 2].map(|i| digits >> (i * WIDTH) & ((1 << WIDTH) - 1));
        if first > next || next > u32::MAX.into() || at > text.len() {
            return Err(wrong(text));
        }
        Ok(RecordPart { first, count: next - first, at, digits })
    }

    /// The part that has a row, and the position of the row in it.
    fn of_row(&self, text: &CompressedText, row: u64) -> Result<(RecordPart, u64)> {
        let number = self.rows.at_most(text.blob(), row)?.checked_sub(1);
        let none = || text.damaged("an edge is asked for that it has not");
        let part = self.part(text, number.ok_or_else(none)?)?;
        let i = row.checked_sub(part.first).filter(|i| *i < part.count);
        Ok((part, i.ok_or_else(none)?))
    }

    /// The time of a row.
    pub(super) fn time(&self, text: &CompressedText, row: u64) -> Result<i64> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.times(i, 1)], &mut read)?;
        signed(&read).ok_or_else(|| wrong(text))
    }

    /// The destinations of up to `most` rows of a record, as far as its part goes.
    pub(super) fn ends(&self, text: &CompressedText, row: u64, most: u64) -> Result<Vec<u64>> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.ends(i, most.min(part.count - i))], &mut read)?;
        let ends = part.numbers(&read, END);
        ends.map(decimal).collect::<Option<_>>().ok_or_else(|| wrong(text))
    }

    /// Range of the list of a row.
    pub(super) fn list(&self, text: &CompressedText, row: u64) -> Result<Range<u64>> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.list_ends(i, 1)], &mut read)?;
        let lists = part.lists(text, i, &read)?;
        lists.first().cloned().ok_or_else(|| wrong(text))
    }

    /// Times, destinations and lists of up to `most` rows of a record, as far as its part goes. One
    /// extraction reads all numbers side by side.
    pub(super) fn edges(
        &self,
        text: &CompressedText,
        row: u64,
        most: u64,
    ) -> Result<Vec<FlatEdge>> {
        let (part, i) = self.of_row(text, row)?;
        let count = most.min(part.count - i);
        let mut read = Vec::new();
        let ranges = [part.times(i, count), part.ends(i, count), part.list_ends(i, count)];
        text.read_all(&ranges, &mut read)?;
        let [times, ends, _] = ranges.map(|range| (range.end - range.start) as usize);
        let (times, rest) = read.split_at_checked(times).unwrap_or_default();
        let (ends, list_ends) = rest.split_at_checked(ends).unwrap_or_default();
        let numbers = part.numbers(times, TIME).zip(part.numbers(ends, END));
        let lists = part.lists(text, i, list_ends)?;
        let places = numbers.zip(lists).map(|((time, end), list)| {
            Some(FlatEdge { time: signed(time)?, end: decimal(end)?, list })
        });
        places.collect::<Option<_>>().ok_or_else(|| wrong(text))
    }

    /// The row whose list contains an offset; `None` if no list does.
    pub(super) fn row_at(&self, text: &CompressedText, offset: u64) -> Result<Option<u64>> {
        let Some(number) = self.times.at_most(text.blob(), offset)?.checked_sub(1) else {
            return Ok(None);
        };
        let part = self.part(text, number)?;
        if offset < part.begin() {
            return Ok(None);
        }
        let (mut low, mut high) = (0, part.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let list = self.list(text, part.first + middle)?;
            if list.end <= offset { low = middle + 1 } else { high = middle }
        }
        Ok((low < part.count).then_some(part.first + low))
    }

    /// Checks that every part has the head that follows from the source and type of its rows and
    /// from its digits.
    pub(super) fn verify(
        &self,
        text: &CompressedText,
        of_row: impl Fn(u64) -> Result<(u64, u64)>,
    ) -> Result<()> {
        let (mut read, mut before) = (Vec::new(), 0);
        for number in 0..self.rows.len().saturating_sub(1) {
            let part = self.part(text, number)?;
            text.read(before, part.at.saturating_sub(before), &mut read)?;
            let ((node, ty), [time, end, list]) = (of_row(part.first)?, part.digits);
            let head = format!("${node}#{ty},{},{time},{end},{list},", part.count);
            if read != head.as_bytes() {
                return Err(text.damaged("an edge record has another head than its directory says"));
            }
            before = match part.count.checked_sub(1) {
                Some(last) => self.list(text, part.first + last)?.end,
                None => part.at,
            };
        }
        if before != text.len() {
            return Err(text.damaged("its edge records do not end where it does"));
        }
        Ok(())
    }
}

#[cold]
fn wrong(text: &CompressedText) -> Error {
    text.damaged("an edge record is not what its head says")
}
