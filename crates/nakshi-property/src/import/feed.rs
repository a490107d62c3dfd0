//! Feed of the rows of all tables: their ids go to the import of the topology, and the rest is
//! spooled.

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
    error: Option<Error>,
}

/// Reads tables as record batches of three columns: two ids and the row number. The row of a node
/// has its id twice.
pub(super) struct TableFeed<'a> {
    waiting: std::vec::IntoIter<(TableKind, Table<'a>)>,
    current: Option<(TableKind, String, RowReader<'a>)>,
    setting: Setting,
    spool: Option<StreamWriter<'a>>,
    tables: Arc<Mutex<Tables>>,
    schema: SchemaRef,
}

impl<'a> TableFeed<'a> {
    /// Starts with the tables of nodes. The second value receives what is read.
    pub(super) fn new(
        nodes: Vec<Table<'a>>,
        edges: Vec<Table<'a>>,
        spool: &'a Spill,
        setting: Setting,
    ) -> (Self, Arc<Mutex<Tables>>) {
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
            let Some((kind, ty, reader)) = &mut self.current else {
                let Some((kind, table)) = self.waiting.next() else { break };
                let ty = table.name.clone().unwrap_or_else(|| DEFAULT_TYPE.to_owned());
                let [nodes, edges] = &mut tables.properties;
                let properties = if kind == TableKind::Nodes { nodes } else { edges };
                if let (TableKind::Edges, TableRows::Graph(graph)) = (kind, &table.rows) {
                    // Types without edges are kept, too.
                    for ty in graph.edge_types() {
                        number_of(&mut tables.types, ty.as_bytes())?;
                    }
                }
                let reader = RowReader::open(kind, table, properties, &self.setting)?;
                self.current = Some((kind, ty, reader));
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
                    tables.edges += 1;
                    let name = if row.ty.is_empty() { ty.as_bytes() } else { row.ty.as_slice() };
                    let ty = number_of(&mut tables.types, name)?;
                    let mut fields = Vec::with_capacity(row.values.len() + 12);
                    varint::put(&mut fields, ty);
                    fields.extend_from_slice(&row.time.to_le_bytes());
                    fields.extend_from_slice(&row.values);
                    spool_row(spool.buffer(), &fields);
                }
            }
            spool.settle()?;
        }
        if count == 0 {
            if let Some(spool) = self.spool.take() {
                tables.extents = spool.finish()?;
            }
            return Ok(None);
        }
        let [mut source, mut target] = ids;
        let columns: [ArrayRef; 3] =
            [Arc::new(source.finish()), Arc::new(target.finish()), Arc::new(rows.finish())];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns.to_vec());
        batch.map(Some).map_err(|error| Error::Invalid(error.to_string()))
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
