//! Results by the users' ids: a table with one row for each vertex, ascending by external id, whatever
//! the layout of the store.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchReader,
    UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use nakshi_engine::{Bitmap, Column, Values};

use crate::Result;
use crate::names::Names;

/// Rows of a batch: small enough to stay in cache, large enough to amortise a call.
const ROWS: u64 = 1 << 16;

/// Per-vertex results in the users' ids.
///
/// The first column is `id`; the others are those of the outcome. Batches are made when they are
/// read, so that a table costs no more memory than the outcome and, if the layout is not the
/// order of the ids, 4 bytes a vertex.
#[derive(Debug)]
pub struct Table {
    names: Arc<Names>,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl Table {
    /// The table of `columns`, one value per vertex in internal order.
    pub fn new(names: impl Into<Arc<Names>>, columns: Vec<Column>) -> Table {
        let names = names.into();
        let mut fields = vec![names.field("id", false)];
        for column in &columns {
            let nullable = column.valid.is_some();
            let field = |data_type| Field::new(&column.name, data_type, nullable);
            fields.push(match &column.values {
                Values::U32(_) => field(DataType::UInt32),
                Values::U64(_) => field(DataType::UInt64),
                Values::I64(_) => field(DataType::Int64),
                Values::F64(_) => field(DataType::Float64),
                Values::Bool(_) => field(DataType::Boolean),
                Values::Vertex(_) => names.field(&column.name, nullable),
            });
        }
        Table { names, columns, schema: Arc::new(Schema::new(fields)) }
    }

    /// The table of a stream of Arrow, such as [`Table::reader`] yields; `vertices` says which columns have
    /// vertices.
    ///
    /// # Errors
    /// Bytes that are no such stream.
    pub fn of_stream(bytes: &[u8], vertices: &[bool]) -> Result<Table> {
        let reader = StreamReader::try_new(bytes, None)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        let all = concat_batches(&schema, &batches)?;
        let [ids, values @ ..] = all.columns() else {
            return Err(ArrowError::SchemaError("a table without ids".into()).into());
        };
        let names = Names::of_column(schema.field(0), ids)?;
        let columns = values.iter().zip(schema.fields().iter().skip(1)).enumerate();
        let columns = columns.map(|(place, (array, field))| {
            let vertices = vertices.get(place + 1).copied().unwrap_or_default();
            column(&names, field, array, vertices)
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Table::new(names, columns))
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.names.len()
    }

    /// Names and types of the columns, `id` first.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// For each column, true if its values are vertices; true for `id` itself.
    pub fn vertex_columns(&self) -> Vec<bool> {
        let values = self.columns.iter().map(|c| matches!(c.values, Values::Vertex(_)));
        std::iter::once(true).chain(values).collect()
    }

    /// All rows in batches; `columns` selects by position (0 is `id`), `None` is all.
    pub fn reader(self: &Arc<Self>, columns: Option<&[usize]>) -> TableReader {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let columns: Vec<usize> = columns.map_or(all, <[usize]>::to_vec);
        let fields: Vec<_> =
            columns.iter().filter_map(|&c| self.schema.fields().get(c).cloned()).collect();
        TableReader { table: self.clone(), columns, schema: Arc::new(Schema::new(fields)), next: 0 }
    }

    /// The first `count` rows of a ranking. Scores are ranked by size, ties ascending by id, with all
    /// columns. Labels (vertices) are ranked by their number of members, as label and `members`.
    ///
    /// # Errors
    /// Errors of reading the ids.
    pub fn top(&self, count: usize) -> Result<RecordBatch> {
        match self.columns.first() {
            Some(Column { values: Values::Vertex(labels), valid, .. }) => {
                self.top_labels(labels, valid.as_ref(), count)
            }
            Some(column) => {
                let ranks = self.top_ranks(column, count);
                Ok(self.take(
                    &ranks,
                    &self.schema,
                    &(0..self.schema.fields().len()).collect::<Vec<_>>(),
                )?)
            }
            None => Ok(RecordBatch::new_empty(self.schema.clone())),
        }
    }

    fn top_ranks(&self, column: &Column, count: usize) -> Vec<u32> {
        let mut best = Best::new(count);
        for rank in 0..u32::try_from(self.rows()).unwrap_or(u32::MAX) {
            let vertex = self.names.vertex(rank) as usize;
            if column.valid.as_ref().is_some_and(|valid| !valid.get(vertex)) {
                continue;
            }
            best.offer(score(&column.values, vertex), rank);
        }
        best.entries.into_iter().map(|entry| entry.1).collect()
    }

    fn top_labels(
        &self,
        labels: &[u32],
        valid: Option<&Bitmap>,
        count: usize,
    ) -> Result<RecordBatch> {
        let mut members = vec![0u32; labels.len()];
        for (vertex, &label) in labels.iter().enumerate() {
            if valid.is_none_or(|valid| valid.get(vertex))
                && let Some(slot) = members.get_mut(label as usize)
            {
                *slot += 1;
            }
        }
        let mut best = Best::new(count);
        for (label, &members) in (0..).zip(&members).filter(|entry| *entry.1 > 0) {
            best.offer(members, self.names.rank(label));
        }
        let best = best.entries;
        let ranks: Vec<u32> = best.iter().map(|entry| entry.1).collect();
        let sizes = UInt64Array::from_iter_values(best.iter().map(|entry| u64::from(entry.0)));
        let name = self.schema.fields().get(1).map_or("label", |field| field.name());
        let schema = Schema::new(vec![
            self.names.field(name, false),
            Field::new("members", DataType::UInt64, false),
        ]);
        let columns: Vec<ArrayRef> = vec![self.names.of_ranks(&ranks)?, Arc::new(sizes)];
        Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
    }

    /// The rows of `ranks` in `columns`.
    fn take(&self, ranks: &[u32], schema: &SchemaRef, columns: &[usize]) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(columns.len());
        for &column in columns {
            arrays.push(match column.checked_sub(1).and_then(|c| self.columns.get(c)) {
                None => self.names.of_ranks(ranks)?,
                Some(column) => self.values(column, ranks)?,
            });
        }
        Ok(RecordBatch::try_new(schema.clone(), arrays)?)
    }

    fn values(&self, column: &Column, ranks: &[u32]) -> Result<ArrayRef> {
        let vertices: Vec<usize> =
            ranks.iter().map(|&rank| self.names.vertex(rank) as usize).collect();
        let nulls = column
            .valid
            .as_ref()
            .map(|valid| NullBuffer::from_iter(vertices.iter().map(|&v| valid.get(v))));
        let present = |v: usize| column.valid.as_ref().is_none_or(|valid| valid.get(v));
        macro_rules! take {
            ($array:ident, $values:expr) => {{
                // A missing value is written as 0; its internal marker stays inside.
                let values = vertices.iter().map(|&v| match $values.get(v) {
                    Some(value) if present(v) => *value,
                    _ => Default::default(),
                });
                Arc::new($array::new(values.collect(), nulls)) as ArrayRef
            }};
        }
        Ok(match &column.values {
            Values::U32(values) => take!(UInt32Array, values),
            Values::U64(values) => take!(UInt64Array, values),
            Values::I64(values) => take!(Int64Array, values),
            Values::F64(values) => take!(Float64Array, values),
            Values::Bool(members) => {
                let members = vertices.iter().map(|&v| members.get(v) && present(v));
                Arc::new(BooleanArray::new(BooleanBuffer::from_iter(members), nulls))
            }
            Values::Vertex(values) => {
                let of = |v: usize| values.get(v).filter(|_| present(v));
                let ranks: Vec<Option<u32>> =
                    vertices.iter().map(|&v| of(v).map(|&label| self.names.rank(label))).collect();
                self.names.of_optional_ranks(&ranks)?
            }
        })
    }
}

/// A column of values, by rank.
fn column(names: &Names, field: &Field, array: &ArrayRef, vertices: bool) -> Result<Column> {
    let values = match array.data_type() {
        _ if vertices => Values::Vertex(
            names.ranks_of(array)?.into_iter().map(Option::unwrap_or_default).collect(),
        ),
        DataType::UInt32 => Values::U32(array.as_primitive::<UInt32Type>().values().to_vec()),
        DataType::UInt64 => Values::U64(array.as_primitive::<UInt64Type>().values().to_vec()),
        DataType::Int64 => Values::I64(array.as_primitive::<Int64Type>().values().to_vec()),
        DataType::Float64 => Values::F64(array.as_primitive::<Float64Type>().values().to_vec()),
        DataType::Boolean => {
            let mut members = Bitmap::new(array.len());
            array.as_boolean().values().set_indices().for_each(|row| members.set(row));
            Values::Bool(members)
        }
        other => return Err(ArrowError::SchemaError(format!("values are never {other}")).into()),
    };
    if !field.is_nullable() {
        return Ok(Column::new(field.name(), values));
    }
    let mut valid = Bitmap::new(array.len());
    (0..array.len()).filter(|row| !array.is_null(*row)).for_each(|row| valid.set(row));
    Ok(Column::with_valid(field.name(), values, valid))
}

/// The largest of the offered values, ties by smaller rank.
struct Best<T> {
    count: usize,
    entries: Vec<(T, u32)>,
}

impl<T: PartialOrd> Best<T> {
    fn new(count: usize) -> Self {
        Self { count, entries: Vec::new() }
    }

    fn offer(&mut self, score: T, rank: u32) {
        let before = |entry: &(T, u32)| entry.0 > score || (entry.0 == score && entry.1 < rank);
        if self.entries.len() == self.count && self.entries.last().is_none_or(before) {
            return;
        }
        let at = self.entries.partition_point(before);
        self.entries.insert(at, (score, rank));
        self.entries.truncate(self.count);
    }
}

fn score(values: &Values, vertex: usize) -> f64 {
    let value = match values {
        Values::U32(values) => values.get(vertex).map(|&v| f64::from(v)),
        // Rounds above 2^53: good enough to find the ten largest.
        Values::U64(values) => values.get(vertex).map(|&v| v as f64),
        Values::I64(values) => values.get(vertex).map(|&v| v as f64),
        Values::F64(values) => values.get(vertex).copied(),
        Values::Bool(members) => Some(f64::from(u8::from(members.get(vertex)))),
        Values::Vertex(values) => values.get(vertex).map(|&v| f64::from(v)),
    };
    value.filter(|value| !value.is_nan()).unwrap_or(f64::NEG_INFINITY)
}

/// Reads a [`Table`] batch by batch.
#[derive(Debug)]
pub struct TableReader {
    table: Arc<Table>,
    columns: Vec<usize>,
    schema: SchemaRef,
    next: u64,
}

impl TableReader {
    fn batch(&self, rows: Range<u64>) -> Result<RecordBatch> {
        let ranks: Vec<u32> = rows.filter_map(|rank| u32::try_from(rank).ok()).collect();
        self.table.take(&ranks, &self.schema, &self.columns)
    }
}

impl Iterator for TableReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.table.rows();
        if self.next >= rows {
            return None;
        }
        let range = self.next..rows.min(self.next + ROWS);
        self.next = range.end;
        Some(self.batch(range).map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for TableReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
