//! Feed of the rows of all tables: their ids go to the import of the topology, and the rest is
//! spooled.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::{Int64Builder, LargeBinaryBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use super::cell::InferredProperties;
use super::header::TableKind;
use super::rows::{RowReader, Setting};
use super::table::{SpooledRow, Table, TableRows};
use nakshi_store::sort::{Spill, SpillExtent, StreamReader, StreamWriter};
use nakshi_store::{Error, Result, varint};

/// Rows in a record batch.
const ROWS: usize = 8 << 10;
/// Bytes of spooled rows that are written or read at once.
const CHUNK: usize = 1 << 20;

/// Type of the edges that have none.
const DEFAULT_TYPE: &str = "edge";

/// Rows of one table among those of all.
#[derive(Clone, Debug)]
pub(super) struct TableRange {
    /// Name of the table in messages.
    pub(super) name: String,
    /// Number of its first row.
    pub(super) first: u64,
}

/// Numbers of rows of edges that are not taken as they stand in the tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amended {
    /// Without a type where a column has the types.
    pub(super) untyped: u64,
    /// Without a time where a column has the times.
    pub(super) timeless: u64,
    /// With a time that was rounded to milliseconds.
    pub(super) rounded: u64,
}

/// Everything that was read from the tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) properties: [InferredProperties; 2],
    /// Types of edges, in the order in which they occur.
    pub(super) types: Vec<String>,
    /// Number of rows of nodes, which come first, and of edges.
    pub(super) nodes: u64,
    pub(super) edges: u64,
    /// The spooled rows; see [`Spooled`].
    pub(super) extents: Vec<SpillExtent>,
    /// The tables in the order of their rows.
    pub(super) ranges: Vec<TableRange>,
    /// Names of spaces of ids, and of tables, that a message can suggest.
    pub(super) spaces: BTreeSet<String>,
    /// Whether tables say which nodes there are.
    pub(super) lists_nodes: bool,
    /// Whether the rows are those of a graph, among which nothing is amiss.
    pub(super) reloaded: bool,
    pub(super) amended: Amended,
    /// What is not kept of the tables, a sentence each.
    pub(super) notes: Vec<String>,
    /// Columns that headers were given for and that were found.
    mapped: BTreeSet<String>,
    error: Option<Error>,
}

/// Reads tables as record batches of three columns: two ids and the row number. The row of a node
/// has its id twice.
pub(super) struct TableFeed<'a> {
    waiting: std::vec::IntoIter<(TableKind, Table<'a>)>,
    current: Option<CurrentTable<'a>>,
    /// Columns that one of all tables must have.
    expected: BTreeSet<String>,
    setting: Setting,
    spool: Option<StreamWriter<'a>>,
    tables: Arc<Mutex<Tables>>,
    schema: SchemaRef,
}

struct CurrentTable<'a> {
    kind: TableKind,
    /// The type of its edges, where a table has one.
    ty: Option<String>,
    reader: RowReader<'a>,
}

impl<'a> TableFeed<'a> {
    /// Starts with the tables of nodes. The second value receives what is read.
    pub(super) fn new(
        nodes: Vec<Table<'a>>,
        edges: Vec<Table<'a>>,
        spool: &'a Spill,
        setting: Setting,
    ) -> (Self, Arc<Mutex<Tables>>) {
        let optional = |table: &Table<'a>| {
            let columns = table.columns.iter().filter(|column| !column.required);
            columns.map(|column| column.column.clone()).collect::<Vec<_>>()
        };
        let expected = nodes.iter().chain(&edges).flat_map(optional).collect();
        let of = |kind| move |table| (kind, table);
        let all: Vec<(TableKind, Table<'a>)> = nodes
            .into_iter()
            .map(of(TableKind::Nodes))
            .chain(edges.into_iter().map(of(TableKind::Edges)))
            .collect();
        let id = |name| Field::new(name, DataType::LargeBinary, false);
        let fields = vec![id("source"), id("target"), Field::new("row", DataType::Int64, false)];
        let tables = Arc::default();
        let feed = TableFeed {
            waiting: all.into_iter(),
            current: None,
            expected,
            setting,
            spool: Some(StreamWriter::new(spool, CHUNK)),
            tables: Arc::clone(&tables),
            schema: Arc::new(Schema::new(fields)),
        };
        (feed, tables)
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let tables = Arc::clone(&self.tables);
        let tables = &mut *tables.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids = [LargeBinaryBuilder::new(), LargeBinaryBuilder::new()];
        let mut rows = Int64Builder::new();
        let (mut row, mut count) = (SpooledRow::default(), 0);
        while count < ROWS {
            let Some(CurrentTable { kind, ty, reader }) = &mut self.current else {
                let Some((kind, table)) = self.waiting.next() else { break };
                self.current = Some(self.open(kind, table, tables)?);
                continue;
            };
            let [nodes, edges] = &mut tables.properties;
            let properties = if *kind == TableKind::Nodes { nodes } else { edges };
            if !reader.next(properties, &mut row)? {
                self.current = None;
                continue;
            }
            count += 1;
            rows.append_value((tables.nodes + tables.edges).cast_signed());
            let [source, target] = &mut ids;
            source.append_value(&row.source);
            let spool =
                self.spool.as_mut().ok_or(Error::Internal("rows come behind the last one"))?;
            match kind {
                TableKind::Nodes => {
                    target.append_value(&row.source);
                    tables.nodes += 1;
                    spool_row(spool.buffer(), &row.values);
                }
                TableKind::Edges => {
                    target.append_value(&row.target);
                    tables.amended.untyped +=
                        u64::from(reader.has_types() && row.ty.is_empty() && ty.is_none());
                    spool_row(spool.buffer(), &tables.edge(&row, ty.as_deref())?);
                }
            }
            spool.settle()?;
        }
        if count == 0 {
            return self.end(tables).map(|()| None);
        }
        let [mut source, mut target] = ids;
        let columns: [ArrayRef; 3] =
            [Arc::new(source.finish()), Arc::new(target.finish()), Arc::new(rows.finish())];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.to_vec());
        batch.map(Some).map_err(|error| Error::Invalid(error.to_string()))
    }

    /// Opens a table, and notes what it says of itself.
    fn open(
        &self,
        kind: TableKind,
        table: Table<'a>,
        tables: &mut Tables,
    ) -> Result<CurrentTable<'a>> {
        let ty = table.name.clone();
        match &table.rows {
            TableRows::Graph(rows) => {
                tables.reloaded = true;
                // Types without edges are kept, too.
                for ty in rows.graph.edge_types().iter().filter(|_| kind == TableKind::Edges) {
                    number_of(&mut tables.types, ty.as_bytes())?;
                }
            }
            _ => tables.lists_nodes |= kind == TableKind::Nodes,
        }
        let [nodes, edges] = &mut tables.properties;
        let properties = if kind == TableKind::Nodes { nodes } else { edges };
        let mut reader = RowReader::open(kind, table, properties, &self.setting)?;
        let (mapped, notes) = reader.told();
        tables.mapped.extend(mapped);
        tables.notes.extend(notes);
        tables.spaces.extend(reader.spaces().cloned());
        let first = tables.nodes + tables.edges;
        tables.ranges.push(TableRange { name: reader.path(), first });
        Ok(CurrentTable { kind, ty, reader })
    }

    /// Completes what was read.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a column that got a header and is in no table.
    fn end(&mut self, tables: &mut Tables) -> Result<()> {
        if let Some(spool) = self.spool.take() {
            tables.extents = spool.finish()?;
        }
        let absent = self.expected.difference(&tables.mapped);
        let absent: Vec<String> = absent.map(|column| format!("'{column}'")).collect();
        if absent.is_empty() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "no table has the column {} that columns names; check the spelling",
            absent.join(" or ")
        )))
    }
}

fn number_of(types: &mut Vec<String>, name: &[u8]) -> Result<u64> {
    if let Some(number) = types.iter().position(|known| known.as_bytes() == name) {
        return Ok(number as u64);
    }
    let name = std::str::from_utf8(name)
        .map_err(|_| Error::Invalid("the type of an edge is not UTF-8".into()))?;
    types.push(name.to_owned());
    Ok(types.len() as u64 - 1)
}

fn spool_row(out: &mut Vec<u8>, fields: &[u8]) {
    varint::put(out, fields.len() as u64);
    out.extend_from_slice(fields);
}

impl Iterator for TableFeed<'_> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.batch() {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                let told = ArrowError::ExternalError(error.to_string().into());
                self.tables.lock().unwrap_or_else(PoisonError::into_inner).error = Some(error);
                Some(Err(told))
            }
        }
    }
}

impl RecordBatchReader for TableFeed<'_> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Tables {
    /// Counts a row of edges, and returns what is spooled of it.
    fn edge(&mut self, row: &SpooledRow, ty: Option<&str>) -> Result<Vec<u8>> {
        self.edges += 1;
        self.amended.timeless += u64::from(row.timeless);
        self.amended.rounded += u64::from(row.rounded);
        let ty = ty.unwrap_or(DEFAULT_TYPE).as_bytes();
        let ty = if row.ty.is_empty() { ty } else { row.ty.as_slice() };
        let ty = number_of(&mut self.types, ty)?;
        let mut fields = Vec::with_capacity(row.values.len() + 12);
        varint::put(&mut fields, ty);
        fields.extend_from_slice(&row.time.to_le_bytes());
        fields.extend_from_slice(&row.values);
        Ok(fields)
    }

    /// The table of a row, and the row's number there, from 1.
    pub(super) fn place(&self, row: u64) -> (&str, u64) {
        let range = self.ranges.iter().rev().find(|range| range.first <= row);
        range.map_or(("table", row + 1), |range| (range.name.as_str(), row - range.first + 1))
    }

    /// The error that ended the feed, in place of the error that its reader made of it.
    pub(super) fn blame(tables: &Mutex<Self>, error: Error) -> Error {
        tables.lock().unwrap_or_else(PoisonError::into_inner).error.take().unwrap_or(error)
    }

    pub(super) fn take(tables: &Mutex<Self>) -> Self {
        std::mem::take(&mut *tables.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reader of the rows that a [`TableFeed`] has spooled, in the same order.
pub(super) struct Spooled<'s>(StreamReader<'s>);

impl<'s> Spooled<'s> {
    pub(super) fn new(spool: &'s Spill, extents: Vec<SpillExtent>) -> Self {
        Spooled(StreamReader::new(spool, extents, CHUNK))
    }

    /// The encoded fields of the next row.
    pub(super) fn next(&mut self) -> Result<&[u8]> {
        let broken = || Error::Invalid("a temporary file does not hold what was written".into());
        let mut at = 0;
        let len = varint::get(self.0.peek(10)?, &mut at).ok_or_else(broken)?;
        let end = at + usize::try_from(len).map_err(|_| broken())?;
        if self.0.peek(end)?.len() < end {
            return Err(broken());
        }
        Ok(self.0.take(end).get(at..).unwrap_or_default())
    }
}
