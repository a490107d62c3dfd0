//! Queries on one compressed text, wherever its bytes lie.

use std::ops::Range;

use crate::buckets::Buckets;
use crate::error::{grow, reserve};
use crate::layout::TextLayout;
use crate::marks::Marks;
use crate::next_pointers::NextPointers;
use crate::options::samples;
use crate::{Error, Result, TextBytes, bits};

/// Number of interleaved walks, whose memory accesses overlap.
const LANES: usize = 8;

/// The header of a compressed text: positions of the sections, and the byte table. It takes about
/// three kilobytes.
#[derive(Clone, Debug)]
pub struct ParsedHeader {
    pub(crate) layout: TextLayout,
    pub(crate) buckets: Buckets,
}

/// Queries on one compressed text.
#[derive(Clone, Copy, Debug)]
pub struct TextView<'a, B> {
    parsed: &'a ParsedHeader,
    marks: Marks<B>,
    positions: B,
    sampled_rows: B,
    pointers: NextPointers<'a, B>,
}

/// A part of an extract, from a sampled position on.
#[derive(Clone, Copy, Default)]
struct Lane {
    row: u64,
    /// Number of steps before the first byte.
    skip: u64,
    /// Range in the output.
    from: usize,
    to: usize,
}

/// A row on its walk to a sampled row.
#[derive(Clone, Copy, Default)]
struct RowWalker {
    row: u64,
    steps: u64,
}

impl ParsedHeader {
    /// Reads the header and the byte table of a text that takes `len` bytes; checks that length, but
    /// not the directories. The caller checks the text with [`TextView::check`], or queries find
    /// damage when they meet it.
    ///
    /// # Errors
    /// [`Error::Corrupt`], or [`Error::Unsupported`] if a newer version wrote it.
    pub fn read(bytes: impl TextBytes, len: u64) -> Result<Self> {
        let layout = TextLayout::parse(bytes, len)?;
        let section = bytes.part(layout.sections.buckets.clone());
        let buckets = Buckets::of_words(section, layout.rows())?;
        Ok(Self { layout, buckets })
    }

    /// Reads the header of a text in memory.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, bytes.len() as u64)
    }

    /// Returns the number of bytes of the text.
    pub fn text_len(&self) -> u64 {
        self.layout.header.len
    }

    /// Returns the queries on `bytes`, from which this header was read.
    #[inline]
    pub fn view<B: TextBytes>(&self, bytes: B) -> TextView<'_, B> {
        let layout = &self.layout;
        let section = |range: &Range<usize>| bytes.part(range.clone());
        TextView {
            parsed: self,
            marks: Marks {
                directory: section(&layout.sections.mark_directory),
                lows: section(&layout.sections.marks),
            },
            positions: section(&layout.sections.positions),
            sampled_rows: section(&layout.sections.sampled_rows),
            pointers: NextPointers {
                layout,
                body: section(&layout.sections.body),
                directory: section(&layout.sections.directory),
            },
        }
    }
}

impl<'a, B: TextBytes> TextView<'a, B> {
    /// Checks that the directories ascend.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn check(&self) -> Result<()> {
        let layout = &self.parsed.layout;
        self.marks
            .check(layout.rows(), samples(layout.header.len, layout.header.options.sa_rate))?;
        self.pointers.check()
    }

    /// Appends up to `len` bytes from `offset` on, fewer at the end of the text.
    pub(crate) fn extract(&self, offset: u64, len: usize, out: &mut Vec<u8>) -> Result<()> {
        let range = offset..offset.saturating_add(len as u64);
        self.extract_all(std::slice::from_ref(&range), out)
    }

    /// Appends the bytes of ranges, one after another, fewer where the text ends.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`]; `out` is unchanged then.
    pub fn extract_all(&self, ranges: &[Range<u64>], out: &mut Vec<u8>) -> Result<()> {
        let ranges = ranges.iter().map(|range| range.start..range.end.min(self.parsed.text_len()));
        let ranges = ranges.filter(|range| range.start < range.end);
        let before = out.len();
        let count: u64 = ranges.clone().map(|range| range.end - range.start).sum();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        grow(out, count)?;
        out.resize(before + count, 0);
        let result = self.fill(ranges, out.get_mut(before..).unwrap_or_default());
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Fills `out` with the bytes of ranges that lie in the text. One walk starts at every sample;
    /// the walks advance by one step in turn, and a new walk takes the place of one that has ended.
    fn fill(&self, ranges: impl Iterator<Item = Range<u64>>, out: &mut [u8]) -> Result<()> {
        let rate = u64::from(self.parsed.layout.header.options.isa_rate);
        let mut filled = 0;
        let mut stretches = ranges.flat_map(|range| {
            let place = filled;
            filled += (range.end - range.start) as usize;
            (range.start / rate..=(range.end - 1) / rate).map(move |sample| {
                let begin = sample * rate;
                let (from, to) = (begin.max(range.start), (begin + rate).min(range.end));
                let at = |position: u64| place + (position - range.start) as usize;
                (sample, Lane { row: 0, skip: from - begin, from: at(from), to: at(to) })
            })
        });
        let (mut lanes, mut going) = ([Lane::default(); LANES], 0);
        loop {
            while let Some(free) = lanes.get_mut(going)
                && let Some((sample, lane)) = stretches.next()
            {
                *free = Lane { row: self.sampled_row(sample)?, ..lane };
                going += 1;
            }
            if going == 0 {
                return Ok(());
            }
            let mut at = 0;
            while at < going {
                let Some(lane) = lanes.get_mut(at) else { break };
                if self.advance(lane, out)? {
                    at += 1;
                } else {
                    going -= 1;
                    lanes.swap(at, going);
                }
            }
        }
    }

    /// Advances a lane by one step; returns false after its last byte.
    #[inline]
    fn advance(&self, lane: &mut Lane, out: &mut [u8]) -> Result<bool> {
        if lane.skip > 0 {
            lane.skip -= 1;
        } else {
            let place = out.get_mut(lane.from);
            let byte = if lane.row > 0 { self.parsed.buckets.byte(lane.row) } else { None };
            let (Some(place), Some(byte)) = (place, byte) else {
                return Err(Error::corrupt("its pointers end before the text does"));
            };
            *place = byte;
            lane.from += 1;
            if lane.from == lane.to {
                return Ok(false);
            }
        }
        lane.row = self.pointers.get(lane.row)?;
        Ok(true)
    }

    /// Returns the row of the suffix at a sampled position.
    fn sampled_row(&self, sample: u64) -> Result<u64> {
        let layout = &self.parsed.layout;
        bits::get(self.sampled_rows, sample * u64::from(layout.widths.row), layout.widths.row)
            .filter(|row| *row < layout.rows())
            .ok_or(Error::corrupt("a sampled suffix is no row"))
    }

    /// Counts the occurrences of `pattern`, which may overlap.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn count(&self, pattern: &[u8]) -> Result<u64> {
        let rows = self.rows(pattern)?;
        Ok(rows.end - rows.start)
    }

    /// Returns the offsets of `pattern`, ascending.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::OutOfMemory`].
    pub fn search(&self, pattern: &[u8]) -> Result<Vec<u64>> {
        let rows = self.rows(pattern)?;
        let mut found = Vec::new();
        reserve(&mut found, usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX))?;
        self.locate_all(rows, |position| found.push(position))?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the rows of the suffixes that begin with `pattern`; for the empty pattern, all rows
    /// but that of the empty suffix.
    pub(crate) fn rows(&self, pattern: &[u8]) -> Result<Range<u64>> {
        let Some((last, rest)) = pattern.split_last() else {
            return Ok(1..self.parsed.layout.rows());
        };
        let mut rows = self.parsed.buckets.rows(*last);
        for byte in rest.iter().rev() {
            if rows.is_empty() {
                break;
            }
            let bucket = self.parsed.buckets.rows(*byte);
            let from = self.pointers.lower_bound(bucket.clone(), rows.start)?;
            rows = from..self.pointers.lower_bound(from..bucket.end, rows.end)?;
        }
        Ok(rows)
    }

    /// Returns the text position of a row's suffix.
    pub(crate) fn locate(&self, row: u64) -> Result<u64> {
        let mut walker = RowWalker { row, steps: 0 };
        loop {
            if let Some(position) = self.step(&mut walker)? {
                return Ok(position);
            }
        }
    }

    /// Calls `found` with the text positions of `rows`, in any order.
    pub(crate) fn locate_all(
        &self,
        mut rows: Range<u64>,
        mut found: impl FnMut(u64),
    ) -> Result<()> {
        let mut walkers = [RowWalker::default(); LANES];
        let mut going = 0;
        loop {
            while let Some(free) = walkers.get_mut(going)
                && let Some(row) = rows.next()
            {
                *free = RowWalker { row, steps: 0 };
                going += 1;
            }
            let mut at = 0;
            while at < going {
                let Some(walker) = walkers.get_mut(at) else { break };
                if let Some(position) = self.step(walker)? {
                    found(position);
                    going -= 1;
                    walkers.swap(at, going);
                } else {
                    at += 1;
                }
            }
            if going == 0 && rows.is_empty() {
                return Ok(());
            }
        }
    }

    /// Advances by one step towards a sample; returns the position of the suffix at which the walk
    /// began, once it is known.
    #[inline]
    fn step(&self, walker: &mut RowWalker) -> Result<Option<u64>> {
        let layout = &self.parsed.layout;
        let known =
            if walker.row == 0 { Some(layout.header.len) } else { self.position(walker.row)? };
        if let Some(position) = known {
            return match position.checked_sub(walker.steps) {
                Some(found) if found < layout.header.len => Ok(Some(found)),
                _ => Err(Error::corrupt("a sampled position is not in the text")),
            };
        }
        walker.steps += 1;
        if walker.steps >= u64::from(layout.header.options.sa_rate) {
            return Err(Error::corrupt("no sample lies within the sampling rate"));
        }
        walker.row = self.pointers.get(walker.row)?;
        Ok(None)
    }

    /// Returns the text position of a row's suffix, if it is sampled.
    #[inline]
    fn position(&self, row: u64) -> Result<Option<u64>> {
        let Some(rank) = self.marks.rank(row)? else { return Ok(None) };
        let layout = &self.parsed.layout;
        let width = layout.widths.position;
        let sample = bits::get(self.positions, rank * u64::from(width), width)
            .ok_or(Error::corrupt("a sampled row has no position"))?;
        Ok(Some(sample * u64::from(layout.header.options.sa_rate)))
    }

    /// Returns the text positions of rows, in the order of the rows.
    pub(crate) fn positions(self, rows: Range<u64>) -> Positions<'a, B> {
        Positions { view: self, rows }
    }
}

/// Offsets at which a pattern occurs, in the order of the suffixes.
///
/// Each offset is found when it is asked for, so a caller that stops early pays for no further
/// ones.
#[derive(Clone, Debug)]
pub struct Positions<'a, B> {
    view: TextView<'a, B>,
    rows: Range<u64>,
}

impl<B: TextBytes> Iterator for Positions<'_, B> {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Result<u64>> {
        self.rows.next().map(|row| self.view.locate(row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Result<u64>> {
        self.rows.nth(n).map(|row| self.view.locate(row))
    }
}

impl<B: TextBytes> std::iter::FusedIterator for Positions<'_, B> {}
