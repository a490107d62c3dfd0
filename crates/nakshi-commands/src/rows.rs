//! Rows of queries in Cypher as Arrow and as files.
//!
//! A column whose values have one type has Arrow's type for it; integers and floats together are floats.
//! Dates and times are kept to the microsecond, points in time in UTC. Nodes, edges, maps, and columns
//! of several types are JSON text.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, LargeBinaryArray,
    LargeListArray, LargeStringArray, RecordBatch, RecordBatchReader, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use chrono::{NaiveDateTime, NaiveTime, Timelike};
use nakshi_engine::CancelToken;
use nakshi_query::{Answer, QueryError, Row, Value};
use serde_json::Value as Json;

use crate::files::{Objects, RowFormat, to_file, write_batches};
use crate::{Error, Result};

/// Rows that are asked for at once.
const BATCH: usize = 1024;
/// Rows of a batch of Arrow.
const ROWS: usize = 1 << 16;
/// The zone of points in time.
const UTC: &str = "UTC";

/// Type of the values of a column.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// Null only.
    Nothing,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Date,
    LocalTime,
    LocalDateTime,
    DateTime,
    List(Box<Kind>),
    /// Anything, as JSON text.
    Json,
}

impl Kind {
    fn of(value: &Value) -> Kind {
        let micros = |nanos: u32| nanos.is_multiple_of(1000);
        match value {
            Value::Null => Kind::Nothing,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::String(_) => Kind::Text,
            Value::Bytes(_) => Kind::Bytes,
            Value::Date(_) => Kind::Date,
            Value::LocalTime(time) if micros(time.nanosecond()) => Kind::LocalTime,
            Value::LocalDateTime(at) if micros(at.nanosecond()) => Kind::LocalDateTime,
            Value::DateTime(at) if micros(at.utc().nanosecond()) => Kind::DateTime,
            Value::List(items) => {
                let of_items = items.iter().fold(Kind::Nothing, |kind, item| kind.with(item));
                match of_items {
                    Kind::Json => Kind::Json,
                    kind => Kind::List(Box::new(kind)),
                }
            }
            _ => Kind::Json,
        }
    }

    /// The type of values of this type and one more.
    fn with(self, value: &Value) -> Kind {
        self.and(Kind::of(value))
    }

    fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (one, other) if one == other => one,
            (Kind::Nothing, kind) | (kind, Kind::Nothing) => kind,
            (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
            (Kind::List(one), Kind::List(other)) => match one.and(*other) {
                Kind::Json => Kind::Json,
                kind => Kind::List(Box::new(kind)),
            },
            _ => Kind::Json,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Kind::Nothing | Kind::Text | Kind::Json => DataType::LargeUtf8,
            Kind::Bool => DataType::Boolean,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Bytes => DataType::LargeBinary,
            Kind::Date => DataType::Date32,
            Kind::LocalTime => DataType::Time64(TimeUnit::Microsecond),
            Kind::LocalDateTime => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::DateTime => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
            Kind::List(kind) => DataType::LargeList(Arc::new(item(kind))),
        }
    }

    /// The values, all of which are of this type or null.
    fn array(&self, values: &[&Value]) -> ArrayRef {
        match self {
            Kind::Nothing | Kind::Text => {
                let text = |value: &&Value| match value {
                    Value::String(text) => Some(Arc::clone(text)),
                    _ => None,
                };
                Arc::new(values.iter().map(text).collect::<LargeStringArray>())
            }
            Kind::Json => {
                let text = |value: &&Value| (!value.is_null()).then(|| value.to_json().to_string());
                Arc::new(values.iter().map(text).collect::<LargeStringArray>())
            }
            Kind::Bool => {
                let bool = |value: &&Value| match value {
                    Value::Bool(value) => Some(*value),
                    _ => None,
                };
                Arc::new(values.iter().map(bool).collect::<BooleanArray>())
            }
            Kind::Float => {
                let float = |value: &&Value| match value {
                    Value::Float(value) => Some(*value),
                    Value::Int(value) => Some(*value as f64),
                    _ => None,
                };
                Arc::new(values.iter().map(float).collect::<Float64Array>())
            }
            Kind::Bytes => {
                let bytes = |value: &&Value| match value {
                    Value::Bytes(bytes) => Some(Arc::clone(bytes)),
                    _ => None,
                };
                Arc::new(values.iter().map(bytes).collect::<LargeBinaryArray>())
            }
            Kind::Date => {
                let days = |value: &&Value| match value {
                    Value::Date(date) => Some(date.to_epoch_days()),
                    _ => None,
                };
                Arc::new(values.iter().map(days).collect::<Date32Array>())
            }
            Kind::LocalTime => {
                Arc::new(values.iter().map(integer).collect::<Time64MicrosecondArray>())
            }
            Kind::Int => Arc::new(values.iter().map(integer).collect::<Int64Array>()),
            Kind::LocalDateTime => {
                Arc::new(values.iter().map(integer).collect::<TimestampMicrosecondArray>())
            }
            Kind::DateTime => {
                let micros: TimestampMicrosecondArray = values.iter().map(integer).collect();
                Arc::new(micros.with_timezone(UTC))
            }
            Kind::List(kind) => Arc::new(lists(kind, values)),
        }
    }
}

/// Lists whose items are of a type or null.
fn lists(kind: &Kind, values: &[&Value]) -> LargeListArray {
    let (mut lengths, mut items) = (Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        let before = items.len();
        if let Value::List(list) = value {
            items.extend(list.iter());
        }
        lengths.push(items.len() - before);
    }
    let present = values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>();
    let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(present));
    LargeListArray::new(Arc::new(item(kind)), offsets, kind.array(&items), Some(nulls))
}

fn item(kind: &Kind) -> Field {
    Field::new("item", kind.data_type(), true)
}

/// An integer, or microseconds of a time.
fn integer(value: &&Value) -> Option<i64> {
    let of_day = |time: &NaiveTime| {
        i64::from(time.num_seconds_from_midnight()) * 1_000_000
            + i64::from(time.nanosecond() / 1000)
    };
    let of_epoch = |at: NaiveDateTime| at.and_utc().timestamp_micros();
    match value {
        Value::Int(value) => Some(*value),
        Value::LocalTime(time) => Some(of_day(time)),
        Value::LocalDateTime(at) => Some(of_epoch(*at)),
        Value::DateTime(at) => Some(of_epoch(at.utc())),
        _ => None,
    }
}

/// Rows of a query in batches of Arrow.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    kinds: Vec<Kind>,
    schema: SchemaRef,
    next: usize,
}

impl Rows {
    /// All rows that are left of a query. They are in memory, as their types are known only then.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn read(answer: &mut dyn Answer) -> Result<Rows, QueryError> {
        let mut rows: Vec<Row> = Vec::new();
        loop {
            let more = answer.next(BATCH)?;
            if more.is_empty() {
                break;
            }
            rows.extend(more);
        }
        let kind = |column: usize| {
            let values = rows.iter().filter_map(|row| row.get(column));
            values.fold(Kind::Nothing, Kind::with)
        };
        let kinds: Vec<Kind> = (0..answer.columns().len()).map(kind).collect();
        let fields = answer.columns().iter().zip(&kinds);
        let fields = fields.map(|(name, kind)| Field::new(&**name, kind.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Rows { rows, kinds, schema, next: 0 })
    }
}

impl Iterator for Rows {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.rows.get(self.next..).filter(|rows| !rows.is_empty())?;
        let rows = rows.get(..ROWS).unwrap_or(rows);
        self.next += rows.len();
        let column = |(place, kind): (usize, &Kind)| {
            let values: Vec<&Value> = rows.iter().filter_map(|row| row.get(place)).collect();
            kind.array(&values)
        };
        let columns = self.kinds.iter().enumerate().map(column).collect();
        Some(RecordBatch::try_new(Arc::clone(&self.schema), columns))
    }
}

impl RecordBatchReader for Rows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Writes all rows that are left of a query to a file, or to standard output where `path` is `-`; returns
/// their number. JSON and CSV are written as the rows come; in CSV, what is no number, text or time is JSON.
///
/// # Errors
/// Errors of the query; another ending, TSV; writing; cancellation.
pub fn write(
    answer: &mut dyn Answer,
    path: &Path,
    format: Option<RowFormat>,
    cancel: &CancelToken,
) -> Result<u64> {
    let format = format.map_or_else(|| RowFormat::of(path), Ok)?;
    match format {
        RowFormat::Jsonl | RowFormat::Json => {
            let names: Vec<String> =
                answer.columns().iter().map(|name| Json::from(&**name).to_string()).collect();
            let mut objects = Objects::new(format);
            each(answer, path, cancel, |row, out| {
                let Some(row) = row else { return objects.end(out) };
                objects.begin(out)?;
                for (at, (name, value)) in names.iter().zip(row).enumerate() {
                    let begin = if at == 0 { "{" } else { ", " };
                    write!(out, "{begin}{name}: {}", value.to_json())?;
                }
                out.write_all(b"}")
            })
        }
        RowFormat::Csv => {
            let mut head: Option<Vec<String>> =
                Some(answer.columns().iter().map(|name| quoted(name)).collect());
            let line = |out: &mut dyn Write, cells: Vec<String>| {
                out.write_all(cells.join(",").as_bytes())?;
                out.write_all(b"\n")
            };
            each(answer, path, cancel, |row, out| {
                if let Some(head) = head.take() {
                    line(out, head)?;
                }
                let Some(row) = row else { return Ok(()) };
                line(out, row.iter().map(|value| quoted(&csv(value))).collect())
            })
        }
        RowFormat::Tsv => Err(nakshi_store::Error::Invalid(
            "rows of a query are not written as TSV; take csv, jsonl, json, arrow or parquet"
                .into(),
        )
        .into()),
        RowFormat::Arrow | RowFormat::Parquet => {
            let rows = Rows::read(answer)?;
            let count = rows.rows.len() as u64;
            write_batches(rows, path, format, cancel)?;
            Ok(count)
        }
    }
}

/// Hands row by row to `line`, and nothing behind the last.
fn each(
    answer: &mut dyn Answer,
    path: &Path,
    cancel: &CancelToken,
    mut line: impl FnMut(Option<&Row>, &mut dyn Write) -> std::io::Result<()>,
) -> Result<u64> {
    let failed = |error| Error::from(nakshi_store::Error::io("write", path, error));
    to_file(path, cancel, |file, _| {
        let mut out = BufWriter::with_capacity(1 << 18, file);
        let mut count = 0;
        loop {
            let rows = answer.next(BATCH)?;
            if rows.is_empty() {
                break;
            }
            rows.iter().try_for_each(|row| line(Some(row), &mut out)).map_err(failed)?;
            count += rows.len() as u64;
        }
        line(None, &mut out).and_then(|()| out.flush()).map_err(failed)?;
        Ok(count)
    })
}

/// A value as a cell of CSV: nothing for null, text as it is.
fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.to_string(),
        Value::Float(value) => value.to_string(),
        other => match other.to_json() {
            Json::String(text) => text,
            json => json.to_string(),
        },
    }
}

/// A cell with quotes, if it needs them.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
