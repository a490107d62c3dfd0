//! The EdgeFile: edge records, each with its times, its destinations and its lists (section 3.4).
//!
//! As in Figure 2: `$` and the source, `#` and the type, then the number of edges, and the digits of
//! a time, of a destination and of the end of a list, all in decimal and each before a comma; then
//! times, destinations and ends of lists, each in so many digits; then the lists. Ends of lists
//! stand where the paper has their lengths, so that no list has to add up those before it.
//!
//! A record that is longer than a group goes on in the next one with a head of its own: a *part*.

use std::ops::Range;

use super::super::monotone::Monotone;
use super::super::packed::Packed;
use super::delimiter::Properties;
use super::directory::{Parts, Places};
use super::list::{Pending, decimal, decimals, put_decimal};
use crate::compressed_text::Text;
use nakshi_store::{Error, Result};

/// Bits of a number of digits; 20 is the most.
const WIDTH: u8 = 5;

/// Edges that wait to be written.
#[derive(Debug, Default)]
pub(super) struct PendingEdges {
    /// Source, type and first row of each part.
    parts: Vec<(u64, u64, usize)>,
    times: Vec<i64>,
    ends: Vec<u64>,
}

/// One part.
#[derive(Clone, Copy, Debug)]
struct Part {
    first: u64,
    count: u64,
    /// Where its times begin.
    at: u64,
    digits: [u64; 3],
}

impl PendingEdges {
    /// The next edge.
    pub(super) fn push(&mut self, node: u64, ty: u64, time: i64, end: u64) {
        if self.parts.last().is_none_or(|(n, t, _)| (*n, *t) != (node, ty)) {
            self.parts.push((node, ty, self.times.len()));
        }
        self.times.push(time);
        self.ends.push(end);
    }

    /// Appends all records to `text`; where the times of each begin, and its digits.
    pub(super) fn lay_out(
        &self,
        lists: &Pending,
        properties: &Properties,
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

    /// Appends where parts are to a file that has `base` bytes before `out`.
    pub(super) fn places(&self, laid: &[(u64, u64)], base: u64, out: &mut Vec<u8>) -> Places {
        let rows = self.parts.iter().map(|(_, _, first)| *first as u64);
        let rows: Vec<u64> = rows.chain([self.times.len() as u64]).collect();
        let times: Vec<u64> = laid.iter().map(|(at, _)| *at).collect();
        let digits = laid.iter().map(|(_, digits)| *digits);
        Places::Records(Parts {
            rows: Monotone::write(&rows, out).moved(base),
            times: Monotone::write(&times, out).moved(base),
            digits: Packed::write(digits, 3 * WIDTH, out).moved(base),
        })
    }
}

/// What is known of an edge before its list is read.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) time: i64,
    pub(super) end: u64,
    pub(super) list: Range<u64>,
}

/// Which of the numbers of an edge.
const TIME: usize = 0;
const END: usize = 1;
const LIST: usize = 2;

impl Part {
    fn width(&self, of: usize) -> u64 {
        self.digits.get(of).copied().unwrap_or(0)
    }

    /// Where the numbers of one kind are, of `count` edges from `i` on.
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

    /// With the end of the list before, if there is one.
    fn list_ends(&self, i: u64, count: u64) -> Range<u64> {
        let before = i.min(1);
        self.range(LIST, i - before, count + before)
    }

    /// Where the first list begins.
    fn begin(&self) -> u64 {
        self.range(LIST, self.count, 0).end
    }

    fn numbers<'a>(&self, digits: &'a [u8], of: usize) -> impl Iterator<Item = &'a [u8]> {
        digits.chunks_exact((self.width(of) as usize).max(1))
    }

    /// The lists of edges from `i` on, by what is at [`Part::list_ends`].
    fn lists(&self, text: &Text, i: u64, read: &[u8]) -> Result<Vec<Range<u64>>> {
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

impl Parts {
    fn part(&self, text: &Text, number: u64) -> Result<Part> {
        let blob = text.blob();
        let (first, next) = self.rows.pair(blob, number)?;
        let at = self.times.get(blob, number)?;
        let digits = self.digits.get(blob, number)?;
        let digits = [0, 1, 2].map(|i| digits >> (i * WIDTH) & ((1 << WIDTH) - 1));
        if first > next || next > u32::MAX.into() || at > text.len() {
            return Err(wrong(text));
        }
        Ok(Part { first, count: next - first, at, digits })
    }

    /// The part of a row, and the place of the row in it.
    fn of_row(&self, text: &Text, row: u64) -> Result<(Part, u64)> {
        let number = self.rows.at_most(text.blob(), row)?.checked_sub(1);
        let none = || text.damaged("an edge is asked for that it has not");
        let part = self.part(text, number.ok_or_else(none)?)?;
        let i = row.checked_sub(part.first).filter(|i| *i < part.count);
        Ok((part, i.ok_or_else(none)?))
    }

    /// The time of a row.
    pub(super) fn time(&self, text: &Text, row: u64) -> Result<i64> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.times(i, 1)], &mut read)?;
        signed(&read).ok_or_else(|| wrong(text))
    }

    /// The destinations of up to `most` rows of a record, or of its part.
    pub(super) fn ends(&self, text: &Text, row: u64, most: u64) -> Result<Vec<u64>> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.ends(i, most.min(part.count - i))], &mut read)?;
        let ends = part.numbers(&read, END);
        ends.map(decimal).collect::<Option<_>>().ok_or_else(|| wrong(text))
    }

    /// Where the list of a row is.
    pub(super) fn list(&self, text: &Text, row: u64) -> Result<Range<u64>> {
        let (part, i) = self.of_row(text, row)?;
        let mut read = Vec::new();
        text.read_all(&[part.list_ends(i, 1)], &mut read)?;
        let lists = part.lists(text, i, &read)?;
        lists.first().cloned().ok_or_else(|| wrong(text))
    }

    /// Times, destinations and lists of up to `most` rows of a record, or of its part: the walks
    /// to all numbers go side by side.
    pub(super) fn edges(&self, text: &Text, row: u64, most: u64) -> Result<Vec<Place>> {
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
            Some(Place { time: signed(time)?, end: decimal(end)?, list })
        });
        places.collect::<Option<_>>().ok_or_else(|| wrong(text))
    }

    /// The row in whose list an offset is; none if it is in no list.
    pub(super) fn row_at(&self, text: &Text, offset: u64) -> Result<Option<u64>> {
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

    /// Whether every part has the head that source and type of its rows and its digits ask for.
    pub(super) fn verify(
        &self,
        text: &Text,
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
fn wrong(text: &Text) -> Error {
    text.damaged("an edge record is not what its head says")
}
