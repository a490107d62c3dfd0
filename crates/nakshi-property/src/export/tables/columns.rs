//! Parquet files of nodes and edges, with typed columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, LargeBinaryBuilder,
    LargeStringBuilder, TimestampMillisecondBuilder,
};
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, Int64Array, LargeListArray, RecordBatch};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{PropertyType, Scalar, Temporal, Value};
use nakshi_io::CancelToken;
use nakshi_store::export::OutputFile;
use nakshi_store::{Error, ExternalId, Result};

/// Most rows of a batch, and most bytes of its values.
const ROWS: usize = 16 << 10;
const BYTES: usize = 8 << 20;
/// Encoded bytes of a row group.
const GROUP: usize = 32 << 20;

/// Writer of a file of rows.
pub(super) struct Columnar {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<OutputFile>,
    columns: Vec<ColumnBuffer>,
    /// Number of the next column.
    column: usize,
    rows: usize,
    bytes: usize,
}

impl Columnar {
    /// Starts a file with columns of these names and types.
    pub fn create(
        path: &Path,
        cancel: &CancelToken,
        header: impl Iterator<Item = (String, PropertyType)>,
    ) -> Result<Self> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (name, ty) in header {
            fields.push(Field::new(name, data_type(ty), true));
            columns.push(ColumnBuffer::of(ty));
        }
        let schema = Arc::new(Schema::new(fields));
        let level = ZstdLevel::try_new(1).map_err(|error| failed(path, error))?;
        let compression = Compression::ZSTD(level);
        let properties = WriterProperties::builder().set_compression(compression).build();
        let output = OutputFile::create(path, cancel)?;
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties))
            .map_err(|error| failed(path, error))?;
        let path = path.to_path_buf();
        Ok(Columnar { path, schema, writer, columns, column: 0, rows: 0, bytes: 0 })
    }

    /// Appends the id of a row.
    pub fn id(&mut self, id: &ExternalId) -> Result<()> {
        let value = match (id, self.columns.get(self.column)) {
            (ExternalId::I64(id), Some(ColumnBuffer::Int(_))) => Value::Int(*id),
            (ExternalId::U64(id), Some(ColumnBuffer::Int(_))) => Value::Int(id.cast_signed()),
            (id, Some(ColumnBuffer::Bytes(_))) => Value::Bytes(id.clone().into_bytes()),
            (id, _) => Value::String(id.to_string()),
        };
        self.value(&value)
    }

    /// Appends the next value of a row.
    pub fn value(&mut self, value: &Value) -> Result<()> {
        if let Some(cells) = self.columns.get_mut(self.column) {
            self.bytes += cells.push(value);
        }
        self.column += 1;
        Ok(())
    }

    /// Ends the row.
    pub fn end_row(&mut self) -> Result<()> {
        self.column = 0;
        self.rows += 1;
        if self.rows < ROWS && self.bytes < BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        let path = &self.path;
        let columns = self.columns.iter_mut().map(ColumnBuffer::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| Error::Invalid(error.to_string()))?;
        (self.rows, self.bytes) = (0, 0);
        self.writer.write(&batch).map_err(|error| failed(path, error))?;
        if self.writer.in_progress_size() < GROUP {
            return Ok(());
        }
        self.writer.flush().map_err(|error| failed(path, error))
    }

    /// Finishes the contents; the file gets its name later.
    pub fn close(mut self) -> Result<OutputFile> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.writer.into_inner().map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::io("write", path, std::io::Error::other(error))
}

/// The zone of instants.
const UTC: &str = "UTC";

/// A column of numbers as one of dates, times or durations.
fn temporal(kind: Temporal, numbers: &Int64Array) -> ArrayRef {
    match kind {
        // A value of another size is no date, and is in no file.
        Temporal::Date => {
            Arc::new(numbers.unary::<_, Date32Type>(|days| i32::try_from(days).unwrap_or(i32::MAX)))
        }
        Temporal::LocalDateTime => Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>()),
        Temporal::DateTime => {
            Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>().with_timezone(UTC))
        }
        Temporal::Time => Arc::new(numbers.reinterpret_cast::<Time64MicrosecondType>()),
        Temporal::Duration => Arc::new(numbers.reinterpret_cast::<DurationMicrosecondType>()),
    }
}

fn data_type(ty: PropertyType) -> DataType {
    let scalar = match ty.scalar {
        Scalar::String => DataType::LargeUtf8,
        Scalar::Bytes => DataType::LargeBinary,
        Scalar::Int => DataType::Int64,
        Scalar::Float => DataType::Float64,
        Scalar::Bool => DataType::Boolean,
        Scalar::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        Scalar::Temporal(Temporal::Date) => DataType::Date32,
        Scalar::Temporal(Temporal::LocalDateTime) => {
            DataType::Timestamp(TimeUnit::Microsecond, None)
        }
        Scalar::Temporal(Temporal::DateTime) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
        }
        Scalar::Temporal(Temporal::Time) => DataType::Time64(TimeUnit::Microsecond),
        Scalar::Temporal(Temporal::Duration) => DataType::Duration(TimeUnit::Microsecond),
    };
    if ty.list { DataType::LargeList(item(scalar)) } else { scalar }
}

fn item(ty: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", ty, true))
}

/// Values of a column that wait for their batch.
enum ColumnBuffer {
    String(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Timestamp(TimestampMillisecondBuilder),
    Temporal(Temporal, Int64Builder),
    List { items: Box<ColumnBuffer>, field: Arc<Field>, ends: Vec<usize>, valid: NullBufferBuilder },
}

impl ColumnBuffer {
    fn of(ty: PropertyType) -> Self {
        if ty.list {
            let of = PropertyType::of(ty.scalar);
            let (items, field) = (Box::new(ColumnBuffer::of(of)), item(data_type(of)));
            return ColumnBuffer::List {
                items,
                field,
                ends: Vec::new(),
                valid: NullBufferBuilder::new(0),
            };
        }
        match ty.scalar {
            Scalar::String => ColumnBuffer::String(LargeStringBuilder::new()),
            Scalar::Bytes => ColumnBuffer::Bytes(LargeBinaryBuilder::new()),
            Scalar::Int => ColumnBuffer::Int(Int64Builder::new()),
            Scalar::Float => ColumnBuffer::Float(Float64Builder::new()),
            Scalar::Bool => ColumnBuffer::Bool(BooleanBuilder::new()),
            Scalar::Timestamp => ColumnBuffer::Timestamp(TimestampMillisecondBuilder::new()),
            Scalar::Temporal(kind) => ColumnBuffer::Temporal(kind, Int64Builder::new()),
        }
    }

    /// Appends a value, and null in place of a value of another type, which a column never has.
    /// Returns the bytes that it takes.
    fn push(&mut self, value: &Value) -> usize {
        match (self, value) {
            (ColumnBuffer::String(cells), Value::String(text)) => {
                cells.append_value(text);
                return text.len();
            }
            (ColumnBuffer::Bytes(cells), Value::Bytes(bytes)) => {
                cells.append_value(bytes);
                return bytes.len();
            }
            (ColumnBuffer::List { items, ends, valid, .. }, Value::List(list)) => {
                let bytes = list.iter().map(|item| items.push(item)).sum();
                ends.push(items.len());
                valid.append_non_null();
                return bytes;
            }
            (ColumnBuffer::Int(cells), Value::Int(v)) => cells.append_value(*v),
            (ColumnBuffer::Float(cells), Value::Float(v)) => cells.append_value(*v),
            (ColumnBuffer::Bool(cells), Value::Bool(v)) => cells.append_value(*v),
            (ColumnBuffer::Timestamp(cells), Value::Timestamp(v)) => cells.append_value(*v),
            (ColumnBuffer::Temporal(kind, cells), Value::Temporal(given, v)) if kind == given => {
                cells.append_value(*v);
            }
            (cells, _) => cells.push_null(),
        }
        8
    }

    fn push_null(&mut self) {
        match self {
            ColumnBuffer::String(cells) => cells.append_null(),
            ColumnBuffer::Bytes(cells) => cells.append_null(),
            ColumnBuffer::Int(cells) => cells.append_null(),
            ColumnBuffer::Float(cells) => cells.append_null(),
            ColumnBuffer::Bool(cells) => cells.append_null(),
            ColumnBuffer::Timestamp(cells) => cells.append_null(),
            ColumnBuffer::Temporal(_, cells) => cells.append_null(),
            ColumnBuffer::List { items, ends, valid, .. } => {
                ends.push(items.len());
                valid.append_null();
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            ColumnBuffer::String(cells) => cells.len(),
            ColumnBuffer::Bytes(cells) => cells.len(),
            ColumnBuffer::Int(cells) => cells.len(),
            ColumnBuffer::Float(cells) => cells.len(),
            ColumnBuffer::Bool(cells) => cells.len(),
            ColumnBuffer::Timestamp(cells) => cells.len(),
            ColumnBuffer::Temporal(_, cells) => cells.len(),
            ColumnBuffer::List { ends, .. } => ends.len(),
        }
    }

    /// Takes the values as an array.
    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuffer::String(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Bytes(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Int(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Float(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Bool(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Timestamp(cells) => Arc::new(cells.finish()),
            ColumnBuffer::Temporal(kind, cells) => temporal(*kind, &cells.finish()),
            ColumnBuffer::List { items, field, ends, valid } => {
                let mut begin = 0;
                let lengths = ends.drain(..).map(|end| end - std::mem::replace(&mut begin, end));
                let offsets = OffsetBuffer::from_lengths(lengths);
                let (items, field) = (items.finish(), Arc::clone(field));
                Arc::new(LargeListArray::new(field, offsets, items, valid.finish()))
            }
        }
    }
}
