//! Property blocks: all that a row has side by side, as it is, in the order of the rows.
//!
//! For properties that are far larger than memory: a node is one read, and nodes that a layout has put
//! near each other share pages. That is Bondhu's file (Hoque and Gupta, TRIOS 2012, section 3), whose
//! blocks are placed by the friendships of their users. Where each block begins is kept in memory,
//! about a byte and a half a row.
//!
//! A block of a node is its properties, ascending by number: number, length and value of each. Before
//! those of an edge stand its time, eight bytes, and the internal id of its end.

use std::ops::Range;

use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::monotone::Monotone;
use super::row::EdgeRow;
use super::row::{Edge, GROUP, Values};
use super::value::plain_int;
use super::wanted::Wanted;
use nakshi_store::Sink;
use nakshi_store::{Result, varint};

/// Bytes that are read at once where all blocks are.
const CHUNK: u64 = 256 << 10;
/// Blocks between two looks at a cancel token.
const PATIENCE: usize = 1 << 12;
/// Blocks of more bytes are not read whole to find one property.
const LONG: u64 = 4 << 10;
/// The most bytes of number and length of a property.
const HEAD: u64 = 20;

/// Where the blocks of a file lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockDirectory {
    groups: Vec<BlockGroup>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BlockGroup {
    rows: u32,
    /// First byte of the first block.
    at: u64,
    /// Where each block begins and the last ends, from `at` on.
    offsets: Monotone,
    /// First byte of the offsets, which are told from there on, and their bytes.
    index: u64,
    index_len: u64,
}

impl BlockDirectory {
    /// Bytes that stay in memory.
    pub(super) fn resident(&self) -> u64 {
        self.groups.iter().map(|group| group.index_len).sum()
    }
}

/// A file of blocks under construction.
#[derive(Debug)]
pub(super) struct Writer {
    sink: Sink,
    /// Bytes of a group, about.
    limit: u64,
    cancel: CancelToken,
    groups: Vec<BlockGroup>,
    at: u64,
    offsets: Vec<u64>,
}

impl Writer {
    pub(super) fn new(sink: Sink, limit: usize, cancel: &CancelToken) -> Self {
        let (at, cancel, limit) = (sink.len(), cancel.clone(), limit as u64);
        Writer { sink, limit, cancel, groups: Vec::new(), at, offsets: vec![0] }
    }

    pub(super) fn push(&mut self, values: Values<'_>) -> Result<()> {
        self.sink.append(values.0)?;
        self.offsets.push(self.sink.len() - self.at);
        if self.offsets.len().is_multiple_of(PATIENCE) {
            self.cancel.check()?;
        }
        let full = self.sink.len() - self.at >= self.limit;
        if full || self.offsets.len() > GROUP as usize { self.end_group() } else { Ok(()) }
    }

    pub(super) fn push_edge(&mut self, edge: &Edge<'_>) -> Result<()> {
        let mut head = edge.time.to_vec();
        varint::put(&mut head, edge.end);
        self.sink.append(&head)?;
        self.push(edge.values)
    }

    fn end_group(&mut self) -> Result<()> {
        let (index, mut bytes) = (self.sink.len(), Vec::new());
        let offsets = Monotone::write(&self.offsets, &mut bytes);
        self.sink.append(&bytes)?;
        // At most `GROUP`.
        let rows = (self.offsets.len() - 1) as u32;
        let index_len = bytes.len() as u64;
        self.groups.push(BlockGroup { rows, at: self.at, offsets, index, index_len });
        (self.at, self.offsets) = (self.sink.len(), vec![0]);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(Sink, BlockDirectory)> {
        if self.offsets.len() > 1 {
            self.end_group()?;
        }
        Ok((self.sink, BlockDirectory { groups: self.groups }))
    }
}

/// The blocks of a file.
#[derive(Debug)]
pub(super) struct Rows {
    blob: Blob,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<Group>,
    /// Whether they are those of edges.
    edges: bool,
}

#[derive(Debug)]
struct Group {
    at: u64,
    index: Blob,
    offsets: Monotone,
}

impl Group {
    /// The bytes of neighbouring blocks of the group.
    fn bytes(&self, rows: Range<u64>) -> Result<Range<u64>> {
        let from = self.offsets.get(&self.index, rows.start)?;
        let to = self.offsets.get(&self.index, rows.end)?;
        Ok(self.at + from..self.at + to.max(from))
    }

    /// Where the first of some neighbouring blocks begins, and where so many of them end as are read
    /// at once.
    fn run(&self, rows: Range<u64>) -> Result<(u64, Vec<u64>)> {
        let (mut offsets, mut ends) = (self.offsets.from(&self.index, rows.start)?, Vec::new());
        let first = offsets.next().unwrap_or(Ok(0))?;
        for end in offsets.take((rows.end - rows.start) as usize) {
            ends.push(end?);
            if ends.last().is_some_and(|end| end.saturating_sub(first) >= CHUNK) {
                break;
            }
        }
        if ends.is_empty() {
            Err(self.index.damaged(0, "it ends early"))
        } else {
            Ok((first, ends))
        }
    }
}

impl Rows {
    pub(super) fn open(blob: Blob, directory: &BlockDirectory, edges: bool) -> Result<Self> {
        let (mut starts, mut groups) = (vec![0], Vec::new());
        for group in &directory.groups {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            let index = blob.part(group.index, group.index_len)?;
            groups.push(Group { at: group.at, index, offsets: group.offsets });
        }
        Ok(Rows { blob, starts, groups, edges })
    }

    pub(super) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(super) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Where the block of a row is.
    fn block(&self, row: u64) -> Result<Range<u64>> {
        let none = || self.blob.damaged(0, "a row is asked for that it has not");
        let group = self.starts.partition_point(|start| *start <= row).checked_sub(1);
        let group = group.ok_or_else(none)?;
        let start = self.starts.get(group).copied().unwrap_or(0);
        let local = row - start;
        self.groups.get(group).ok_or_else(none)?.bytes(local..local + 1)
    }

    fn read<R>(&self, range: &Range<u64>, read: impl FnOnce(&[u8]) -> R) -> Result<R> {
        self.blob.with(range.start as usize, range.end as usize, read)
    }

    /// The properties in a block.
    fn values<'b>(&self, block: &'b [u8]) -> Option<Values<'b>> {
        Some(Values(if self.edges { head(block)?.2 } else { block }))
    }

    #[cold]
    fn cut_short(&self, at: u64) -> nakshi_store::Error {
        self.blob.damaged(at as usize, "a block of properties is cut short")
    }

    /// Appends the value of a property to `out`; false if the row has none.
    pub(super) fn get(&self, row: u64, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        let range = self.block(row)?;
        if range.end - range.start > LONG && !self.edges {
            let Some(value) = self.locate(&range, property)? else { return Ok(false) };
            self.read(&value, |value| out.extend_from_slice(value))?;
            return Ok(true);
        }
        let found = self.read(&range, |block| {
            let value = self.values(block)?.find(|(number, _)| *number == property);
            value.iter().for_each(|(_, value)| out.extend_from_slice(value));
            Some(value.is_some())
        })?;
        found.ok_or_else(|| self.cut_short(range.start))
    }

    /// Appends some bytes of the value of a property of a node, without reading the rest; false if it
    /// has none. What lies beyond its end is left out.
    pub(super) fn get_part(
        &self,
        row: u64,
        property: u32,
        part: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(value) = self.locate(&self.block(row)?, property)? else { return Ok(false) };
        let at = |offset: u64| value.start.saturating_add(offset).min(value.end);
        let part = at(part.start)..at(part.end.max(part.start));
        self.read(&part, |bytes| out.extend_from_slice(bytes))?;
        Ok(true)
    }

    /// Where the value of a property is in the block of a node, found by the lengths of those before it.
    fn locate(&self, block: &Range<u64>, property: u32) -> Result<Option<Range<u64>>> {
        let mut at = block.start;
        while at < block.end {
            let told = self.read(&(at..block.end.min(at + HEAD)), |bytes| {
                let mut read = 0;
                let number = varint::get(bytes, &mut read)?;
                Some((number, varint::get(bytes, &mut read)?, read as u64))
            })?;
            let (number, len, read) = told.ok_or_else(|| self.cut_short(block.start))?;
            let from = at + read;
            let to = from.checked_add(len).filter(|to| *to <= block.end);
            let value = from..to.ok_or_else(|| self.cut_short(block.start))?;
            if number == u64::from(property) {
                return Ok(Some(value));
            }
            at = value.end;
        }
        Ok(None)
    }

    /// Hands every value of a row to `f`.
    pub(super) fn each(&self, row: u64, mut f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        let range = self.block(row)?;
        self.read(&range, |block| {
            let mut values = self.values(block).ok_or_else(|| self.cut_short(range.start))?;
            for (property, value) in values.by_ref() {
                f(property, value)?;
            }
            if values.0.is_empty() { Ok(()) } else { Err(self.cut_short(range.start)) }
        })?
    }

    /// Hands the properties of many rows to `f`, each with its place among `rows`, in any order:
    /// blocks that are near each other are read at once.
    pub(super) fn each_of(
        &self,
        rows: &[u64],
        mut f: impl FnMut(usize, Values<'_>) -> Result<()>,
    ) -> Result<()> {
        let ranges = rows.iter().map(|row| self.block(*row)).collect::<Result<Vec<_>>>()?;
        self.blob.with_many(&ranges, &mut |number, block| match self.values(block) {
            Some(values) => f(number, values),
            None => Err(self.cut_short(ranges.get(number).map_or(0, |range| range.start))),
        })
    }

    /// Hands row, place and block of each of neighbouring rows to `f`, reading many at once.
    fn scan(
        &self,
        rows: Range<u64>,
        mut f: impl FnMut(u64, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for (group, start) in self.groups.iter().zip(&self.starts) {
            let len = group.offsets.len().saturating_sub(1);
            let mut local = rows.start.saturating_sub(*start);
            let until = rows.end.saturating_sub(*start).min(len);
            while local < until {
                let (first, ends) = group.run(local..until)?;
                let last = ends.last().copied().unwrap_or(first);
                self.read(&(group.at + first..group.at + last), |bytes| {
                    let mut rest = bytes;
                    let starts = std::iter::once(&first).chain(&ends);
                    for ((row, from), to) in (start + local..).zip(starts).zip(&ends) {
                        let len = to.saturating_sub(*from) as usize;
                        let (block, others) = rest.split_at_checked(len).unwrap_or((&[], &[]));
                        rest = others;
                        f(row, group.at + from, block)?;
                    }
                    Ok::<_, nakshi_store::Error>(())
                })??;
                local += ends.len() as u64;
            }
        }
        Ok(())
    }

    /// The rows that have all these values, ascending. Reads everything: blocks have no index.
    pub(super) fn find(&self, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        self.scan(0..self.len(), |row, at, block| {
            let values = self.values(block).ok_or_else(|| self.cut_short(at))?;
            let fits = |(property, wanted): &(u32, Wanted)| {
                let value = Values(values.0).find(|(number, _)| number == property);
                value.is_some_and(|(_, value)| wanted.fits(value))
            };
            if wanted.iter().all(fits) {
                found.push(row);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Time and internal id of the end of an edge.
    pub(super) fn edge(&self, row: u64) -> Result<(i64, u64)> {
        let range = self.block(row)?;
        let piece = range.start..range.end.min(range.start + HEAD);
        let told = self.read(&piece, |bytes| head(bytes).map(|(time, end, _)| (time, end)))?;
        told.filter(|_| self.edges).ok_or_else(|| self.cut_short(range.start))
    }

    /// The internal ids of the ends of neighbouring edges.
    pub(super) fn ends(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        let mut ends = Vec::new();
        self.scan(rows, |_, at, block| {
            ends.push(head(block).ok_or_else(|| self.cut_short(at))?.1);
            Ok(())
        })?;
        Ok(ends)
    }

    /// Neighbouring edges, read at once.
    pub(super) fn edges(&self, rows: Range<u64>) -> Result<Vec<EdgeRow>> {
        let mut edges = Vec::new();
        self.scan(rows, |_, at, block| {
            let (time, end, values) = head(block).ok_or_else(|| self.cut_short(at))?;
            edges.push(EdgeRow { time, end, values: values.to_vec() });
            Ok(())
        })?;
        Ok(edges)
    }

    /// Tells which blocks are no lists of properties, ascending by number.
    pub(super) fn verify(&self, told: &mut dyn FnMut(String)) -> Result<()> {
        self.scan(0..self.len(), |row, _, block| {
            let Some(mut values) = self.values(block) else {
                told(format!("the block of row {row} is cut short"));
                return Ok(());
            };
            let mut before = None;
            for (property, _) in values.by_ref() {
                if before >= Some(property) {
                    told(format!("the properties of row {row} are not ascending"));
                }
                before = Some(property);
            }
            if !values.0.is_empty() {
                told(format!("the block of row {row} is cut short"));
            }
            Ok(())
        })
    }
}

/// Time and end of an edge, and the rest of its block.
fn head(block: &[u8]) -> Option<(i64, u64, &[u8])> {
    let (time, rest) = block.split_first_chunk()?;
    let mut read = 0;
    let end = varint::get(rest, &mut read)?;
    Some((plain_int(u64::from_be_bytes(*time)), end, rest.get(read..)?))
}
