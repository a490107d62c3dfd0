//! Segments: immutable files with the nodes and the edges of a shard, and their directory.
//!
//! Nodes and edges are *rows*, which are encoded in groups. The row of a node is its number in the
//! shard. Edges are sorted by source, type, time and order of insertion, so an *edge record* is a
//! range of rows.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::blocks::{BlockDirectory, BlockRows};
use super::column::{ColumnLayout, EncodedColumn, Found};
use super::condition::Predicate;
use super::elias_fano::EliasFano;
use super::flat::{FlatDirectory, FlatRows};
use super::packed::Packed;
use super::row::{EdgeRow, REMOVED, RowValues, common};
use super::value::plain_int;
use nakshi_store::Result;

/// Estimated nanoseconds of comparing a block with conditions.
const PER_BLOCK: u64 = 16;
/// Rows that there is room for before they are read.
const MOST_ROOM: u64 = 1 << 16;

/// Directory of a node file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeDirectory {
    pub(super) groups: Vec<GroupDirectory>,
    /// The groups of the flat layout, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) flat: Option<FlatDirectory>,
    /// The groups of the layout `blocks`, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<BlockDirectory>,
}

/// Directory of an edge file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgeDirectory {
    /// Number of the first record of each node, and the number of records.
    pub(super) nodes: EliasFano,
    /// Type of each record.
    pub(super) types: Packed,
    /// First row of each record, and the number of rows.
    pub(super) records: EliasFano,
    pub(super) groups: Vec<GroupDirectory>,
    /// The groups of the flat layout, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) flat: Option<FlatDirectory>,
    /// The groups of the layout `blocks`, in place of `groups`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<BlockDirectory>,
}

/// A group of rows: their columns, by property number.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GroupDirectory {
    pub(super) rows: u32,
    pub(super) columns: BTreeMap<u32, ColumnLayout>,
    /// For edges: the internal ids of the destinations, and the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ends: Option<Packed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<ColumnLayout>,
}

/// Reader of the rows of a file.
#[derive(Debug)]
pub(super) enum SegmentRows {
    Columns(ColumnRows),
    Flat(Box<FlatRows>),
    Blocks(BlockRows),
}

/// Directory of a file, by its layout.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowLayout<'d> {
    Columns(&'d [GroupDirectory]),
    Flat(&'d FlatDirectory),
    Nodes(&'d BlockDirectory),
    Edges(&'d BlockDirectory),
}

impl NodeDirectory {
    pub(super) fn form(&self) -> RowLayout<'_> {
        let blocks = self.blocks.as_ref().map(RowLayout::Nodes);
        RowLayout::of(&self.flat, blocks, &self.groups)
    }
}

impl EdgeDirectory {
    pub(super) fn form(&self) -> RowLayout<'_> {
        let blocks = self.blocks.as_ref().map(RowLayout::Edges);
        RowLayout::of(&self.flat, blocks, &self.groups)
    }
}

impl<'d> RowLayout<'d> {
    fn of(
        flat: &'d Option<FlatDirectory>,
        blocks: Option<Self>,
        groups: &'d [GroupDirectory],
    ) -> Self {
        let flat = flat.as_ref().map(RowLayout::Flat);
        flat.or(blocks).unwrap_or(RowLayout::Columns(groups))
    }

    /// Bytes of memory that a file on disk takes.
    pub(super) fn resident(&self) -> u64 {
        match self {
            RowLayout::Columns(groups) => {
                let of = |group: &GroupDirectory| {
                    (group.columns.len() as u64 + 1) * EncodedColumn::BYTES + group.in_memory()
                };
                groups.iter().map(of).sum()
            }
            RowLayout::Flat(flat) => flat.resident(),
            RowLayout::Nodes(blocks) | RowLayout::Edges(blocks) => blocks.resident(),
        }
    }
}

impl SegmentRows {
    pub(super) fn open(blob: Blob, form: RowLayout<'_>) -> Result<Self> {
        Ok(match form {
            RowLayout::Columns(groups) => SegmentRows::Columns(ColumnRows::open(blob, groups)?),
            RowLayout::Flat(directory) => {
                SegmentRows::Flat(Box::new(FlatRows::open(blob, directory)?))
            }
            RowLayout::Nodes(directory) => {
                SegmentRows::Blocks(BlockRows::open(blob, directory, false)?)
            }
            RowLayout::Edges(directory) => {
                SegmentRows::Blocks(BlockRows::open(blob, directory, true)?)
            }
        })
    }

    pub(super) fn blob(&self) -> &Blob {
        match self {
            SegmentRows::Columns(rows) => &rows.blob,
            SegmentRows::Flat(rows) => rows.blob(),
            SegmentRows::Blocks(rows) => rows.blob(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            SegmentRows::Columns(rows) => rows.len(),
            SegmentRows::Flat(rows) => rows.len(),
            SegmentRows::Blocks(rows) => rows.len(),
        }
    }

    /// Appends the value of a property to `out`; false if it is null.
    pub(super) fn get(&self, row: u64, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            SegmentRows::Columns(rows) => rows.get(row, property, out),
            SegmentRows::Flat(rows) => rows.get(row, property, out),
            SegmentRows::Blocks(rows) => rows.get(row, property, out),
        }
    }

    /// Hands every value of a row to `f`, ascending by property number.
    pub(super) fn each(&self, row: u64, f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            SegmentRows::Columns(rows) => rows.each(row, f),
            SegmentRows::Flat(rows) => rows.each(row, f),
            SegmentRows::Blocks(rows) => rows.each(row, f),
        }
    }

    /// Rows that meet all conditions, ascending.
    pub(super) fn find(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        match self {
            SegmentRows::Columns(rows) => rows.find(wanted),
            SegmentRows::Flat(rows) => rows.find(wanted),
            SegmentRows::Blocks(rows) => rows.find(wanted),
        }
    }

    /// Estimated nanoseconds of [`SegmentRows::find`]. Takes little of them itself.
    pub(super) fn search_cost(&self, wanted: &[(u32, Predicate)]) -> Result<u64> {
        match self {
            SegmentRows::Columns(rows) => {
                Ok(rows.groups.iter().map(|group| group.search_cost(wanted)).sum())
            }
            SegmentRows::Flat(rows) => rows.search_cost(wanted),
            SegmentRows::Blocks(rows) => Ok(rows.len() * PER_BLOCK),
        }
    }

    /// The columns of a property, one for each run of rows that was encoded at once; nothing in layouts
    /// that have no columns.
    pub(super) fn columns(&self, property: u32) -> Option<Vec<&EncodedColumn>> {
        let SegmentRows::Columns(rows) = self else { return None };
        Some(rows.groups.iter().filter_map(|group| group.column(property)).collect())
    }

    /// The internal id of the end of an edge.
    #[inline]
    pub(super) fn end(&self, row: u64) -> Result<u64> {
        match self {
            SegmentRows::Columns(rows) => rows.end(row),
            SegmentRows::Flat(rows) => rows.end(row),
            SegmentRows::Blocks(rows) => Ok(rows.edge(row)?.1),
        }
    }

    /// The internal ids of the destinations of neighbouring edges.
    pub(super) fn ends(&self, rows: Range<u64>) -> Result<Vec<u64>> {
        match self {
            SegmentRows::Columns(columns) => columns.ends(rows),
            SegmentRows::Flat(flat) => flat.ends(rows),
            SegmentRows::Blocks(blocks) => blocks.ends(rows),
        }
    }

    /// The time of an edge.
    #[inline]
    pub(super) fn time(&self, row: u64) -> Result<i64> {
        match self {
            SegmentRows::Columns(rows) => rows.time(row),
            SegmentRows::Flat(rows) => rows.time(row),
            SegmentRows::Blocks(rows) => Ok(rows.edge(row)?.0),
        }
    }

    /// Neighbouring edges with their properties, where reading them together is less work than one
    /// by one.
    pub(super) fn edges(&self, rows: Range<u64>) -> Result<Option<Vec<EdgeRow>>> {
        match self {
            SegmentRows::Columns(_) => Ok(None),
            SegmentRows::Flat(flat) => flat.edges(rows).map(Some),
            SegmentRows::Blocks(blocks) => blocks.edges(rows).map(Some),
        }
    }

    /// Reports damage of columns, texts or blocks; `of_row` gives the node and the type of an edge.
    pub(super) fn verify(
        &self,
        of_row: &dyn Fn(u64) -> Result<(u64, u64)>,
        told: &mut dyn FnMut(String),
    ) -> Result<()> {
        match self {
            SegmentRows::Columns(rows) => rows.verify(told),
            SegmentRows::Flat(rows) => rows.verify(of_row, told),
            SegmentRows::Blocks(rows) => rows.verify(told),
        }
    }
}

/// Location of the properties of a node or an edge.
#[derive(Clone, Debug)]
pub(super) enum RowRef<'r> {
    File(&'r SegmentRows, u64),
    Log(&'r [u8]),
    /// Rows of a node in several layers, newest first. Each has what its layer has changed.
    Layers(Vec<RowRef<'r>>),
}

impl RowRef<'_> {
    /// Appends the value of a property; false if it is null.
    pub(super) fn get(&self, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            RowRef::File(rows, row) => rows.get(*row, property, out),
            RowRef::Log(values) => {
                let found = RowValues(values).find(|(number, _)| *number == property);
                found.iter().for_each(|(_, value)| out.extend_from_slice(value));
                Ok(found.is_some())
            }
            RowRef::Layers(rows) => {
                let Some((oldest, newer)) = rows.split_last() else { return Ok(false) };
                for row in newer {
                    if row.get(property, out)? {
                        return Ok(true);
                    }
                    if row.get(property | REMOVED, out)? {
                        return Ok(false);
                    }
                }
                oldest.get(property, out)
            }
        }
    }

    /// Hands every value of the row to `f`, ascending by property number.
    pub(super) fn each(&self, mut f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            RowRef::File(rows, row) => rows.each(*row, f),
            RowRef::Log(values) => {
                RowValues(values).try_for_each(|(property, value)| f(property, value))
            }
            RowRef::Layers(rows) => {
                let joined = joined(rows.iter().rev())?;
                let there = joined.iter().filter(|(property, _)| *property & REMOVED == 0);
                there.into_iter().try_for_each(|(property, value)| f(*property, value))
            }
        }
    }

    pub(super) fn has(&self, wanted: &[(u32, Predicate)]) -> Result<bool> {
        let mut bytes = Vec::new();
        for (property, wanted) in wanted {
            bytes.clear();
            let there = self.get(*property, &mut bytes)?;
            if !wanted.fits(there.then_some(bytes.as_slice())) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The values of a node after the changes of some rows, oldest first, and what the newest of them have taken
/// away.
pub(super) fn joined<'r>(
    rows: impl Iterator<Item = &'r RowRef<'r>>,
) -> Result<BTreeMap<u32, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for row in rows {
        row.each(|property, value| {
            all.remove(&(property ^ REMOVED));
            all.insert(property, value.to_vec());
            Ok(())
        })?;
    }
    Ok(all)
}

/// Reader of rows in groups of columns.
#[derive(Debug)]
pub(super) struct ColumnRows {
    blob: Blob,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<ColumnRowGroup>,
}

#[derive(Debug)]
struct ColumnRowGroup {
    /// Columns, ascending by property number.
    columns: Vec<(u32, EncodedColumn)>,
    ends: Option<Packed>,
    times: Option<EncodedColumn>,
}

impl ColumnRowGroup {
    #[inline]
    fn column(&self, property: u32) -> Option<&EncodedColumn> {
        // Most groups have a column of each property.
        let guess = self.columns.get(property as usize).filter(|(number, _)| *number == property);
        let found = guess.or_else(|| {
            let at = self.columns.binary_search_by_key(&property, |(number, _)| *number).ok()?;
            self.columns.get(at)
        });
        found.map(|(_, column)| column)
    }

    /// Estimated nanoseconds of [`ColumnRowGroup::find`]: those of its cheapest condition, whose rows
    /// the others are compared with.
    fn search_cost(&self, wanted: &[(u32, Predicate)]) -> u64 {
        let costs = wanted.iter().map(|(property, wanted)| {
            self.column(*property).map_or(0, |column| column.search_cost(wanted))
        });
        costs.min().unwrap_or(0)
    }

    /// Rows of the group, which has `rows`, that meet all conditions, ascending.
    fn find(&self, blob: &Blob, rows: u64, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let mut conditions = Vec::with_capacity(wanted.len());
        for (property, wanted) in wanted {
            match self.column(*property) {
                Some(column) => {
                    let costs = (column.reads(blob, wanted)?, column.search_cost(wanted));
                    conditions.push((costs, column, wanted));
                }
                // All rows of the group are null.
                None if wanted.fits(None) => {}
                None => return Ok(Vec::new()),
            }
        }
        // Of searches that read no values, those first that find few rows.
        conditions.sort_by_key(|(costs, ..)| *costs);
        let mut all: Option<Vec<u64>> = None;
        for ((reads, _), column, wanted) in conditions {
            let found = match all {
                None => column.find(blob, rows, wanted)?,
                Some(some) if some.is_empty() => return Ok(some),
                Some(some) if (some.len() as u64) < reads.max(column.compared(blob, wanted)) => {
                    column.among(blob, &some, wanted)?
                }
                Some(some) => common(&some, &column.find(blob, rows, wanted)?),
            };
            all = Some(found);
        }
        Ok(all.unwrap_or_else(|| (0..rows).collect()))
    }
}

impl GroupDirectory {
    /// Bytes of memory that its columns take beside the file.
    pub(super) fn in_memory(&self) -> u64 {
        self.columns.values().map(ColumnLayout::in_memory).sum()
    }
}

impl ColumnRows {
    fn open(blob: Blob, directory: &[GroupDirectory]) -> Result<Self> {
        let (mut starts, mut groups) = (vec![0], Vec::new());
        for group in directory {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            let column = |(property, layout): (&u32, &ColumnLayout)| {
                Ok((*property, EncodedColumn::open(*layout, &blob)?))
            };
            groups.push(ColumnRowGroup {
                columns: group.columns.iter().map(column).collect::<Result<_>>()?,
                ends: group.ends,
                times: group.times.map(|layout| EncodedColumn::open(layout, &blob)).transpose()?,
            });
        }
        Ok(ColumnRows { blob, starts, groups })
    }

    fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The group of a row, and the number of the row in it.
    #[inline]
    fn group(&self, row: u64) -> Option<(&ColumnRowGroup, u64)> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.groups.get(number)?, row - self.starts.get(number)?))
    }

    /// Appends the value of a property to `out`; false if it is null.
    fn get(&self, row: u64, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match self.group(row).map(|(group, row)| (group.column(property), row)) {
            Some((Some(column), row)) => column.get(&self.blob, row, out),
            _ => Ok(false),
        }
    }

    /// Hands every value of a row to `f`.
    fn each(&self, row: u64, mut f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        let Some((group, row)) = self.group(row) else { return Ok(()) };
        let columns = group.columns.iter().map(|(_, column)| column);
        let places = columns.clone().map(|column| column.place(&self.blob, row));
        let places = places.collect::<Result<Vec<_>>>()?;
        let found: Vec<Found<'_>> =
            columns.zip(&places).map(|(column, place)| column.found(place)).collect();
        let mut value = Vec::new();
        for ((property, column), found) in group.columns.iter().zip(&found) {
            if !matches!(found, Found::None) {
                value.clear();
                column.take(&self.blob, found, &mut value)?;
                f(*property, &value)?;
            }
        }
        Ok(())
    }

    /// Rows that meet all conditions, ascending.
    fn find(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for (group, bounds) in self.groups.iter().zip(self.starts.windows(2)) {
            let &[start, end] = bounds else { continue };
            let rows = group.find(&self.blob, end.saturating_sub(start), wanted)?;
            found.extend(rows.into_iter().map(|row| row + start));
        }
        Ok(found)
    }

    /// Reports damage of columns.
    fn verify(&self, told: &mut dyn FnMut(String)) -> Result<()> {
        for (number, group) in self.groups.iter().enumerate() {
            for (property, column) in &group.columns {
                column.verify(&self.blob, &mut |what| {
                    told(format!("property {property} in group {number}: {what}"));
                })?;
            }
        }
        Ok(())
    }

    /// The internal id of the destination of an edge.
    #[inline]
    fn end(&self, row: u64) -> Result<u64> {
        match self.group(row) {
            Some((ColumnRowGroup { ends: Some(ends), .. }, row)) => ends.get(&self.blob, row),
            _ => Err(self.blob.damaged(0, "an edge is asked for that it has not")),
        }
    }

    /// The internal ids of the destinations of neighbouring edges.
    fn ends(&self, mut rows: Range<u64>) -> Result<Vec<u64>> {
        let missing = || self.blob.damaged(0, "an edge is asked for that it has not");
        let count = rows.end.saturating_sub(rows.start);
        // A damaged file may tell of more than there is memory for.
        let mut found = Vec::with_capacity(count.min(MOST_ROOM) as usize);
        while !rows.is_empty() {
            let (group, row) = self.group(rows.start).ok_or_else(missing)?;
            let ends = group.ends.as_ref().ok_or_else(missing)?;
            let here = ends.len().saturating_sub(row).min(rows.end - rows.start);
            if here == 0 {
                return Err(missing());
            }
            for row in row..row + here {
                found.push(ends.get(&self.blob, row)?);
            }
            rows.start += here;
        }
        Ok(found)
    }

    /// The time of an edge.
    #[inline]
    fn time(&self, row: u64) -> Result<i64> {
        let wrong = || self.blob.damaged(0, "an edge is asked for that it has not");
        let (group, row) = self.group(row).ok_or_else(wrong)?;
        let times = group.times.as_ref().ok_or_else(wrong)?;
        times.number(&self.blob, row)?.map(plain_int).ok_or_else(wrong)
    }
}

/// Reader of the edges of a shard.
#[derive(Debug)]
pub(super) struct SegmentEdges {
    pub(super) rows: SegmentRows,
    nodes: EliasFano,
    types: Packed,
    records: EliasFano,
}

impl SegmentEdges {
    pub(super) fn open(blob: Blob, directory: &EdgeDirectory) -> Result<Self> {
        let EdgeDirectory { nodes, types, records, .. } = directory;
        let rows = SegmentRows::open(blob, directory.form())?;
        Ok(SegmentEdges { rows, nodes: *nodes, types: *types, records: *records })
    }

    /// Reports damage of columns, texts or blocks.
    pub(super) fn verify(&self, told: &mut dyn FnMut(String)) -> Result<()> {
        self.rows.verify(&|row| self.of_row(row), told)
    }

    /// The records of a node: the type and the rows of each.
    pub(super) fn records(&self, node: u64) -> Result<Vec<(u64, Range<u64>)>> {
        let blob = self.rows.blob();
        let (from, to) = self.nodes.pair(blob, node)?;
        let mut found = Vec::new();
        for record in from..to {
            let (first, end) = self.records.pair(blob, record)?;
            found.push((self.types.get(blob, record)?, first..end));
        }
        Ok(found)
    }

    /// Hands type and number of rows of every record to `f`.
    pub(super) fn each_record(&self, mut f: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        let blob = self.rows.blob();
        for record in 0..self.types.len() {
            let (first, end) = self.records.pair(blob, record)?;
            f(self.types.get(blob, record)?, end - first)?;
        }
        Ok(())
    }

    /// The rows of the record of a node and a type; empty if there is none.
    pub(super) fn record(&self, node: u64, ty: u64) -> Result<Range<u64>> {
        let blob = self.rows.blob();
        let (mut low, mut high) = self.nodes.pair(blob, node)?;
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.types.get(blob, middle)?;
            if found == ty {
                let (first, end) = self.records.pair(blob, middle)?;
                return Ok(first..end);
            }
            if found < ty { low = middle + 1 } else { high = middle }
        }
        Ok(0..0)
    }

    /// The node and the type of the record that has a row.
    pub(super) fn of_row(&self, row: u64) -> Result<(u64, u64)> {
        let blob = self.rows.blob();
        let none = || blob.damaged(0, "an edge belongs to no record");
        let record = self.records.at_most(blob, row)?.checked_sub(1).ok_or_else(none)?;
        let node = self.nodes.at_most(blob, record)?.checked_sub(1).ok_or_else(none)?;
        Ok((node, self.types.get(blob, record)?))
    }
}
