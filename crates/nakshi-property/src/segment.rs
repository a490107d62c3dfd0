//! Segments: immutable files with the nodes and edges of a shard, and the directory that says where
//! in them everything lies.
//!
//! Nodes and edges are *rows*, in groups that are encoded at once. The row of a node is its number in
//! the shard; edges are sorted by source, type, time and order of insertion, so that the edges of one
//! type of a node are neighbours: an *edge record* is a range of rows.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::blocks::{self, BlockDirectory};
use super::column::{Column, Found, Layout};
use super::flat::{self, FlatDirectory};
use super::monotone::Monotone;
use super::packed::Packed;
use super::row::{EdgeRow, common};
use super::value::plain_int;
use super::wanted::Wanted;
use nakshi_store::Result;

/// What one node file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct NodeDirectory {
    pub(super) groups: Vec<GroupDirectory>,
    /// In place of groups in the flat layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) flat: Option<FlatDirectory>,
    /// In place of groups where properties are in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<BlockDirectory>,
}

/// What one edge file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct EdgeDirectory {
    /// Number of the first record of each node, and of all records.
    pub(super) nodes: Monotone,
    /// Type of each record.
    pub(super) types: Packed,
    /// First row of each record, and the number of rows.
    pub(super) records: Monotone,
    pub(super) groups: Vec<GroupDirectory>,
    /// In place of groups in the flat layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) flat: Option<FlatDirectory>,
    /// In place of groups where properties are in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) blocks: Option<BlockDirectory>,
}

/// Rows that were encoded at once: their columns by the number of the property.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GroupDirectory {
    pub(super) rows: u32,
    pub(super) columns: BTreeMap<u32, Layout>,
    /// Of edges: the internal ids of their ends, and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ends: Option<Packed>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<Layout>,
}

/// Rows of a file.
#[derive(Debug)]
pub(super) enum Rows {
    Columns(Columns),
    Flat(Box<flat::Rows>),
    Blocks(blocks::Rows),
}

/// Which of the layouts the rows of a file have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'d> {
    Columns(&'d [GroupDirectory]),
    Flat(&'d FlatDirectory),
    Nodes(&'d BlockDirectory),
    Edges(&'d BlockDirectory),
}

impl NodeDirectory {
    pub(super) fn form(&self) -> Form<'_> {
        match (&self.flat, &self.blocks) {
            (Some(flat), _) => Form::Flat(flat),
            (_, Some(blocks)) => Form::Nodes(blocks),
            _ => Form::Columns(&self.groups),
        }
    }
}

impl EdgeDirectory {
    pub(super) fn form(&self) -> Form<'_> {
        match (&self.flat, &self.blocks) {
            (Some(flat), _) => Form::Flat(flat),
            (_, Some(blocks)) => Form::Edges(blocks),
            _ => Form::Columns(&self.groups),
        }
    }
}

impl Form<'_> {
    /// Bytes that stay in memory where the file does not; `None` if all of it has to.
    pub(super) fn resident(&self) -> Option<u64> {
        match self {
            Form::Columns(groups) => {
                let of = |group: &GroupDirectory| {
                    (group.columns.len() as u64 + 1) * Column::BYTES + group.in_memory()
                };
                Some(groups.iter().map(of).sum())
            }
            Form::Flat(_) => None,
            Form::Nodes(blocks) | Form::Edges(blocks) => Some(blocks.resident()),
        }
    }
}

impl Rows {
    pub(super) fn open(blob: Blob, form: Form<'_>) -> Result<Self> {
        Ok(match form {
            Form::Columns(groups) => Rows::Columns(Columns::open(blob, groups)?),
            Form::Flat(directory) => Rows::Flat(Box::new(flat::Rows::open(blob, directory)?)),
            Form::Nodes(directory) => Rows::Blocks(blocks::Rows::open(blob, directory, false)?),
            Form::Edges(directory) => Rows::Blocks(blocks::Rows::open(blob, directory, true)?),
        })
    }

    pub(super) fn blob(&self) -> &Blob {
        match self {
            Rows::Columns(rows) => &rows.blob,
            Rows::Flat(rows) => rows.blob(),
            Rows::Blocks(rows) => rows.blob(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Rows::Columns(rows) => rows.len(),
            Rows::Flat(rows) => rows.len(),
            Rows::Blocks(rows) => rows.len(),
        }
    }

    /// Appends the value of a property to `out`; false if the row has none.
    pub(super) fn get(&self, row: u64, property: u32, out: &mut Vec<u8>) -> Result<bool> {
        match self {
            Rows::Columns(rows) => rows.get(row, property, out),
            Rows::Flat(rows) => rows.get(row, property, out),
            Rows::Blocks(rows) => rows.get(row, property, out),
        }
    }

    /// Hands every value of a row to `f`, ascending by number of the property.
    pub(super) fn each(&self, row: u64, f: impl FnMut(u32, &[u8]) -> Result<()>) -> Result<()> {
        match self {
            Rows::Columns(rows) => rows.each(row, f),
            Rows::Flat(rows) => rows.each(row, f),
            Rows::Blocks(rows) => rows.each(row, f),
        }
    }

    /// The rows that have all these values, ascending.
    pub(super) fn find(&self, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        match self {
            Rows::Columns(rows) => rows.find(wanted),
            Rows::Flat(rows) => rows.find(wanted),
            Rows::Blocks(rows) => rows.find(wanted),
        }
    }

    /// The internal id of the end of an edge.
    #[inline]
    pub(super) fn end(&self, row: u64) -> Result<u64> {
        match self {
            Rows::Columns(rows) => rows.end(row),
            Rows::Flat(rows) => rows.end(row),
            Rows::Blocks(rows) => Ok(rows.edge(row)?.1),
        }
    }

    /// The internal ids of the ends of neighbouring edges.
    pub(super) fn ends(&self, mut rows: Range<u64>) -> Result<Vec<u64>> {
        match self {
            Rows::Columns(columns) => rows.try_fold(Vec::new(), |mut ends, row| {
                ends.push(columns.end(row)?);
                Ok(ends)
            }),
            Rows::Flat(flat) => flat.ends(rows),
            Rows::Blocks(blocks) => blocks.ends(rows),
        }
    }

    /// The time of an edge.
    #[inline]
    pub(super) fn time(&self, row: u64) -> Result<i64> {
        match self {
            Rows::Columns(rows) => rows.time(row),
            Rows::Flat(rows) => rows.time(row),
            Rows::Blocks(rows) => Ok(rows.edge(row)?.0),
        }
    }

    /// Appends some bytes of the value of a property to `out`, those that there are; false if the row
    /// has none.
    pub(super) fn get_part(
        &self,
        row: u64,
        property: u32,
        part: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        if let Rows::Blocks(rows) = self {
            return rows.get_part(row, property, part, out);
        }
        let mut value = Vec::new();
        let found = self.get(row, property, &mut value)?;
        let at = |offset: u64| (offset as usize).min(value.len());
        out.extend_from_slice(value.get(at(part.start)..at(part.end)).unwrap_or_default());
        Ok(found)
    }

    /// Neighbouring edges, where that is less work than asking for what they have one by one.
    pub(super) fn edges(&self, rows: Range<u64>) -> Result<Option<Vec<EdgeRow>>> {
        match self {
            Rows::Columns(_) => Ok(None),
            Rows::Flat(flat) => flat.edges(rows).map(Some),
            Rows::Blocks(blocks) => blocks.edges(rows).map(Some),
        }
    }

    /// Tells what is wrong with columns, texts or blocks; `of_row` is node and type of an edge.
    pub(super) fn verify(
        &self,
        of_row: &dyn Fn(u64) -> Result<(u64, u64)>,
        told: &mut dyn FnMut(String),
    ) -> Result<()> {
        match self {
            Rows::Columns(rows) => rows.verify(told),
            Rows::Flat(rows) => rows.verify(of_row, told),
            Rows::Blocks(rows) => rows.verify(told),
        }
    }
}

/// Rows in groups of columns.
#[derive(Debug)]
pub(super) struct Columns {
    blob: Blob,
    /// First row of each group, and the number of rows.
    starts: Vec<u64>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    /// Ascending by number of the property.
    columns: Vec<(u32, Column)>,
    ends: Option<Packed>,
    times: Option<Column>,
}

impl Group {
    #[inline]
    fn column(&self, property: u32) -> Option<&Column> {
        let at = self.columns.binary_search_by_key(&property, |(number, _)| *number).ok()?;
        self.columns.get(at).map(|(_, column)| column)
    }

    /// The rows that have all these values, ascending.
    fn find(&self, blob: &Blob, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        let mut conditions = Vec::with_capacity(wanted.len());
        for (property, wanted) in wanted {
            let Some(column) = self.column(*property) else { return Ok(Vec::new()) };
            conditions.push((column.reads(blob, wanted)?, column, wanted));
        }
        conditions.sort_by_key(|(reads, ..)| *reads);
        let mut all: Option<Vec<u64>> = None;
        for (reads, column, wanted) in conditions {
            let rows = match all {
                None => column.find(blob, wanted)?,
                Some(rows) if rows.is_empty() => return Ok(rows),
                Some(rows) if (rows.len() as u64) < reads => column.among(blob, &rows, wanted)?,
                Some(rows) => common(&rows, &column.find(blob, wanted)?),
            };
            all = Some(rows);
        }
        Ok(all.unwrap_or_default())
    }
}

impl GroupDirectory {
    /// Bytes that its columns keep in memory beside the file.
    pub(super) fn in_memory(&self) -> u64 {
        self.columns.values().map(Layout::in_memory).sum()
    }
}

impl Columns {
    fn open(blob: Blob, directory: &[GroupDirectory]) -> Result<Self> {
        let (mut starts, mut groups) = (vec![0], Vec::new());
        for group in directory {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(group.rows));
            let column = |(property, layout): (&u32, &Layout)| {
                Ok((*property, Column::open(*layout, &blob)?))
            };
            groups.push(Group {
                columns: group.columns.iter().map(column).collect::<Result<_>>()?,
                ends: group.ends,
                times: group.times.map(|layout| Column::open(layout, &blob)).transpose()?,
            });
        }
        Ok(Columns { blob, starts, groups })
    }

    fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The group of a row, and the row in it.
    #[inline]
    fn group(&self, row: u64) -> Option<(&Group, u64)> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        Some((self.groups.get(number)?, row - self.starts.get(number)?))
    }

    /// Appends the value of a property to `out`; false if the row has none.
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

    /// The rows that have all these values, ascending.
    fn find(&self, wanted: &[(u32, Wanted)]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        for (group, start) in self.groups.iter().zip(&self.starts) {
            let rows = group.find(&self.blob, wanted)?;
            found.extend(rows.into_iter().map(|row| row + start));
        }
        Ok(found)
    }

    /// Tells what is wrong with columns.
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

    /// The internal id of the end of an edge.
    #[inline]
    fn end(&self, row: u64) -> Result<u64> {
        match self.group(row) {
            Some((Group { ends: Some(ends), .. }, row)) => ends.get(&self.blob, row),
            _ => Err(self.blob.damaged(0, "an edge is asked for that it has not")),
        }
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

/// The edges of a shard.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) rows: Rows,
    nodes: Monotone,
    types: Packed,
    records: Monotone,
}

impl Edges {
    pub(super) fn open(blob: Blob, directory: &EdgeDirectory) -> Result<Self> {
        let EdgeDirectory { nodes, types, records, .. } = directory;
        let rows = Rows::open(blob, directory.form())?;
        Ok(Edges { rows, nodes: *nodes, types: *types, records: *records })
    }

    /// Tells what is wrong with columns or texts.
    pub(super) fn verify(&self, told: &mut dyn FnMut(String)) -> Result<()> {
        self.rows.verify(&|row| self.of_row(row), told)
    }

    /// The records of a node: type and rows.
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

    /// Node and type of the record that has a row.
    pub(super) fn of_row(&self, row: u64) -> Result<(u64, u64)> {
        let blob = self.rows.blob();
        let none = || blob.damaged(0, "an edge belongs to no record");
        let record = self.records.at_most(blob, row)?.checked_sub(1).ok_or_else(none)?;
        let node = self.nodes.at_most(blob, record)?.checked_sub(1).ok_or_else(none)?;
        Ok((node, self.types.get(blob, record)?))
    }
}
