//! Property blocks: the properties of a row side by side, uncompressed, in the order of the rows.
//!
//! Blocks are for properties that are far larger than memory: a node is one read, and nodes that
//! the vertex order puts close together share pages. This is Bondhu's file (Hoque and Gupta, TRIOS
//! 2012, section 3), which places the blocks by the friendships of its users. The offsets of the
//! blocks stay in memory and take about a byte and a half a row.
//!
//! The block of a node has its properties, ascending by number: number, length and value of each.
//! The block of an edge begins with its time, eight bytes, and the internal id of its destination.

use std::ops::Range;

use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::condition::Predicate;
use super::elias_fano::EliasFano;
use super::row::EdgeRow;
use super::row::{EncodedEdge, GROUP, RowValues};
use super::value::plain_int;
use nakshi_store::Sink;
use nakshi_store::{Result, varint};

/// Bytes that a scan of blocks reads at once.
const CHUNK: u64 = 256 << 10;
/// Blocks between two checks of the cancel token.
const CANCEL_INTERVAL: usize = 1 << 12;
/// Longest block, in bytes, that is read whole to find one property.
const LONG: u64 = 4 << 10;
/// Longest number and length of a property, in bytes.
const HEAD: u64 = 20;

/// Locations of the blocks of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct BlockDirectory {
    groups: Vec<BlockGroup>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct BlockGroup {
    rows: u32,
    /// First byte of the first block.
    at: u64,
    /// Offset of each block from `at` on, and the end of the last.
    offsets: EliasFano,
    /// First byte and length of the encoded `offsets`.
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
pub(super) struct BlockWriter {
    sink: Sink,
    /// Approximate bytes of a group.
    limit: u64,
    cancel: CancelToken,
    groups: Vec<BlockGroup>,
    at: u64,
    offsets: Vec<u64>,
}

impl BlockWriter {
    pub(super) fn new(sink: Sink, limit: usize, cancel: &CancelToken) -> Self {
        let (at, cancel, limit) = (sink.len(), cancel.clone(), limit as u64);
        BlockWriter { sink, limit, cancel, groups: Vec::new(), at, offsets: vec![0] }
    }

    pub(super) fn push(&mut self, values: RowValues<'_>) -> Result<()> {
        self.sink.append(values.0)?;
        self.offsets.push(self.sink.len() - self.at);
        if self.offsets.len().is_multiple_of(CANCEL_INTERVAL) {
            self.cancel.check()?;
        }
        let full = self.sink.len() - self.at >= self.limit;
        if full || self.offsets.len() > GROUP as usize { self.end_group() } else { Ok(()) }
    }

    pub(super) fn push_edge(&mut self, edge: &EncodedEdge<'_>) -> Result<()> {
        let mut head = edge.time.to_vec();
        varint::put(&mut head, edge.end);
        self.sink.append(&head)?;
        self.push(edge.values)
    }

    fn end_group(&mut self) -> Result<()> {
        let (index, mut bytes) = (self.sink.len(), Vec::new());
        let offsets = EliasFano::write(&self.offsets, &mut bytes);
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

/// Reader of the blocks of a file.
#[derive(Debug)]
pub(super) struct BlockRows {
    blob: Blob,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<BlockRowGroup>,
    /// True for the blocks of edges.
    edges: bool,
}

#[derive(Debug)]
struct BlockRowGroup {
    at: u64,
    index: Blob,
    offsets: EliasFano,
}

impl BlockRowGroup {
    /// Range of bytes of neighbouring blocks.
    fn bytes(&self, rows: Range<u64>) -> Result<Range<u64>> {
        let from = self.offsets.get(&self.index, rows.start)?;
        let to = self.offsets.get(&self.index, rows.end)?;
        Ok(self.at + from..self.at + to.max(from))
    }

    /// Beginning of the first of some neighbouring blocks, and the ends of as many as are read at
    /// once.
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

impl BlockRows {
    pub(super) fn open(blob: Blob, directory: &BlockDirectory, edges: bool) -> Result<Self> {
        let (mut starts, mut groups) = (vec![0], Vec::new());
        for group in &directory.groups {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            let index = blob.part(group.index, group.index_len)?;
            groups.push(BlockRowGroup { at: group.at, index, offsets: group.offsets });
        }
        Ok(BlockRows { blob, starts, groups, edges })
    }

    pub(super) fn blob(&self) -> &Blob {
        &self.blob
    }

    pub(super) fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Range of bytes of the block of a row.
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
    fn values<'b>(&self, block: &'b [u8]) -> Option<RowValues<'b>> {
        Some(RowValues(if self.edges { head(block)?.2 } else { block }))
    }

    #[cold]
    fn cut_short(&self, at: u64) -> nakshi_store::Error {
        self.blob.damaged(at as usize, "a block of properties is cut short")
    }

    /// Appends the value of a property to `out`; false if it is null.
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

    /// Bytes `part` of the value of a node's property, as far as the value goes, without reading the
    /// rest; `None` if it is null.
    pub(super) fn part(&self, row: u64, id: u32, part: Range<u64>) -> Result<Option<Vec<u8>>> {
        let Some(value) = self.locate(&self.block(row)?, id)? else { return Ok(None) };
        let at = |offset: u64| value.start.saturating_add(offset).min(value.end);
        let part = at(part.start)..at(part.end.max(part.start));
        self.read(&part, <[u8]>::to_vec).map(Some)
    }

    /// Range of the value of a property in the block of a node, found by the lengths of the values
    /// before it.
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

    /// Hands the properties of many rows to `f`, each with its position among `rows`, in any order.
    /// Blocks that lie close together are read at once.
    pub(super) fn each_of(
        &self,
        rows: &[u64],
        mut f: impl FnMut(usize, RowValues<'_>) -> Result<()>,
    ) -> Result<()> {
        let ranges = rows.iter().map(|row| self.block(*row)).collect::<Result<Vec<_>>>()?;
        self.blob.with_many(&ranges, &mut |number, block| match self.values(block) {
            Some(values) => f(number, values),
            None => Err(self.cut_short(ranges.get(number).map_or(0, |range| range.start))),
        })
    }

    /// Hands row, offset and block of each of neighbouring rows to `f`; reads many blocks at once.
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

    /// Rows that meet all conditions, ascending. Reads all blocks, because they have no index.
    pub(super) fn find(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        self.scan(0..self.len(), |row, at, block| {
            let values = self.values(block).ok_or_else(|| self.cut_short(at))?;
            let fits = |(property, wanted): &(u32, Predicate)| {
                let value = RowValues(values.0).find(|(number, _)| number == property);
                wanted.fits(value.map(|(_, value)| value))
            };
            if wanted.iter().all(fits) {
                found.push(row);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Time of an edge, and internal id of its destination.
    pub(super) fn edge(&self, row: u64) -> Result<(i64, u64)> {
        let range = self.block(row)?;
        let piece = range.start..range.end.min(range.start + HEAD);
        let told = self.read(&piece, |bytes| head(bytes).map(|(time, end, _)| (time, end)))?;
        told.filter(|_| self.edges).ok_or_else(|| self.cut_short(range.start))
    }

    /// The internal ids of the destinations of neighbouring edges.
    pub(super) fn ends(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        let mut ends = Vec::new();
        self.scan(rows, |_, at, block| {
            ends.push(head(block).ok_or_else(|| self.cut_short(at))?.1);
            Ok(())
        })?;
        Ok(ends)
    }

    /// Neighbouring edges with their properties, read at once.
    pub(super) fn edges(&self, rows: Range<u64>) -> Result<Vec<EdgeRow>> {
        let mut edges = Vec::new();
        self.scan(rows, |_, at, block| {
            let (time, end, values) = head(block).ok_or_else(|| self.cut_short(at))?;
            edges.push(EdgeRow { time, end, values: values.to_vec() });
            Ok(())
        })?;
        Ok(edges)
    }

    /// Reports the blocks that are cut short, or whose properties are not ascending by number.
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

/// Time and destination of an edge, and the rest of its block.
fn head(block: &[u8]) -> Option<(i64, u64, &[u8])> {
    let (time, rest) = block.split_first_chunk()?;
    let mut read = 0;
    let end = varint::get(rest, &mut read)?;
    Some((plain_int(u64::from_be_bytes(*time)), end, rest.get(read..)?))
}
