//! Arrow record batches, from Parquet, from Arrow IPC, or passed by the caller.

use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::batch::Batch;
use super::header::{EdgeColumns, Remarks, choose_columns, remarked};
use super::ipc;
use super::open::Opened;
use super::seekable::Seekable;
use super::task::{Feed, ParseTask};
use crate::cast::cast;
use crate::import::{Format, ImportOptions};
use crate::{Error, Result};

/// Number of rows that are converted at a time.
const ROWS: usize = 32 << 10;

/// Sets up a reader over any batches.
pub(crate) fn batches<'a>(
    name: &Path,
    schema: &Schema,
    mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let names: Vec<String> =
        schema.fields().iter().map(|field| field.name().to_ascii_lowercase()).collect();
    let columns = choose_columns(name, options, Some(&names))?;
    let least = columns.source.max(columns.target).max(columns.weight.unwrap_or(0)) + 1;
    if names.len() < least {
        let error = format!(
            "a table of edges has {least} columns or more, this one has {}: {}",
            names.len(),
            names.join(", ")
        );
        return Err(Error::Input { file: name.into(), line: 1, what: error });
    }
    let mut remarks = Remarks::default();
    // EdgeColumns that were chosen by number already have no names.
    if names.iter().any(|name| !name.is_empty()) {
        remarks.unread(name, &names, true, &columns);
    }
    let table = std::sync::Arc::new(EdgeTable { name: name.into(), columns });
    let mut row = 0;
    let mut current: Option<(RecordBatch, usize)> = None;
    let feed = Box::new(move || {
        let (whole, start) = match current.take() {
            Some(rest) => rest,
            None => {
                // A decoder that panics on damaged data must not end the process.
                let next = catch_unwind(AssertUnwindSafe(|| batches.next()));
                let next = next.map_err(|_| table.error(row, "the file is damaged".into()))?;
                let Some(batch) = next else { return Ok(None) };
                (batch.map_err(|error| table.error(row, error.to_string()))?, 0)
            }
        };
        // Some programs write all rows as one batch; it is converted by small pieces.
        let batch = whole.slice(start, ROWS.min(whole.num_rows() - start));
        let end = start + batch.num_rows();
        current = (end < whole.num_rows()).then_some((whole, end));
        let first = row;
        row += batch.num_rows() as u64;
        let table = std::sync::Arc::clone(&table);
        let task: ParseTask<'a> = Box::new(move |out| table.convert(&batch, first, out));
        Ok(Some(task))
    });
    Ok(remarked(feed, remarks))
}

/// Sets up a reader of vertices, whose ids are the first column.
pub(crate) fn vertices<'a>(
    name: &Path,
    mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
) -> Box<dyn Feed<'a> + 'a> {
    let columns = EdgeColumns { source: 0, target: 0, weight: None };
    let table = std::sync::Arc::new(EdgeTable { name: name.into(), columns });
    let mut row = 0;
    Box::new(move || {
        let Some(batch) = batches.next() else { return Ok(None) };
        let batch = batch.map_err(|error| table.error(row, error.to_string()))?;
        let first = row;
        row += batch.num_rows() as u64;
        let table = std::sync::Arc::clone(&table);
        let task: ParseTask<'a> = Box::new(move |out| {
            let ids = table.ids(&batch, table.columns.source, first)?;
            let mut id = Vec::new();
            for row in 0..batch.num_rows() {
                ids.write(row, &mut id);
                if id.is_empty() {
                    return Err(table.error(first + row as u64, "the vertex id is empty".into()));
                }
                out.push_vertex(&id)?;
            }
            Ok(())
        });
        Ok(Some(task))
    })
}

/// Sets up a Parquet reader.
pub(crate) fn parquet<'a>(
    name: &Path,
    opened: Opened<'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let file = Seekable::new(name, opened, options.memory)?;
    let error = |what: String| Error::Input { file: name.into(), line: 1, what };
    let broken =
        |e: parquet::errors::ParquetError| error(format!("not a readable Parquet file: {e}"));
    file.check_parquet().map_err(|what| error(format!("not a readable Parquet file: {what}")))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(broken)?;
    let names: Vec<String> =
        builder.schema().fields().iter().map(|f| f.name().to_ascii_lowercase()).collect();
    let columns = choose_columns(name, options, Some(&names))?;
    // Other columns are not decoded; the names keep their meaning.
    let wanted: Vec<usize> = [Some(columns.source), Some(columns.target), columns.weight]
        .into_iter()
        .flatten()
        .collect();
    if wanted.iter().any(|&column| column >= names.len()) {
        return Err(error(format!(
            "a table of edges has {} columns or more, this one has {}",
            wanted.len(),
            names.len()
        )));
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
    let reader = builder.with_projection(mask).with_batch_size(ROWS).build().map_err(broken)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let place = |column: usize| wanted.iter().filter(|&&other| other < column).count();
    let numbers = |column: usize| (place(column) + 1).to_string();
    let mut projected = options.clone();
    let chosen = [Some(columns.source), Some(columns.target), columns.weight];
    projected.columns = Some(chosen.into_iter().flatten().map(numbers).collect());
    let mut remarks = Remarks::default();
    remarks.unread(name, &names, true, &columns);
    Ok(remarked(batches_by_number(name, &schema, reader, &projected)?, remarks))
}

/// The columns of a table, and its batches.
pub type Whole<'a> =
    (Schema, Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a>);

/// Opens all columns of a Parquet or Arrow file; returns a file of another format unopened.
///
/// # Errors
/// [`Error::Input`] for a file that contradicts its first bytes; read errors.
pub fn whole<'a>(
    name: &Path,
    opened: Opened<'a>,
    memory: u64,
) -> Result<Result<Whole<'a>, Opened<'a>>> {
    let broken = |what: &dyn std::fmt::Display| Error::Input {
        file: name.into(),
        line: 1,
        what: format!("not a readable table: {what}"),
    };
    match super::format::detect(name, &opened.head) {
        Format::Parquet => {
            let file = Seekable::new(name, opened, memory)?;
            file.check_parquet().map_err(|what| broken(&what))?;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| broken(&e))?;
            let reader = builder.with_batch_size(ROWS).build().map_err(|e| broken(&e))?;
            let schema = arrow_array::RecordBatchReader::schema(&reader);
            Ok(Ok((schema.as_ref().clone(), Box::new(reader))))
        }
        Format::Arrow if opened.head.starts_with(ipc::MAGIC) => {
            let file = Seekable::new(name, opened, memory)?;
            let reader = ipc::FileBatches::new(file).map_err(|e| broken(&e))?;
            Ok(Ok((reader.schema().as_ref().clone(), Box::new(reader))))
        }
        Format::Arrow => {
            let reader = ipc::StreamBatches::new(BufReader::new(opened.reader), memory);
            let reader = reader.map_err(|e| broken(&e))?;
            Ok(Ok((reader.schema().as_ref().clone(), Box::new(reader))))
        }
        _ => Ok(Err(opened)),
    }
}

/// Sets up a reader like [`batches`], in which a column called `2` is not mistaken for the second.
fn batches_by_number<'a>(
    name: &Path,
    schema: &Schema,
    reader: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let blank = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_name(""))
        .collect::<Vec<_>>();
    batches(name, &Schema::new(blank), reader, options)
}

/// Sets up an Arrow IPC reader, for files and streams.
pub(crate) fn ipc_feed<'a>(
    name: &Path,
    opened: Opened<'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let broken = |e: ArrowError| Error::Input {
        file: name.into(),
        line: 1,
        what: format!("not a readable Arrow file: {e}"),
    };
    if opened.head.starts_with(ipc::MAGIC) {
        let file = Seekable::new(name, opened, options.memory)?;
        let reader = ipc::FileBatches::new(file).map_err(broken)?;
        let schema = reader.schema();
        return batches(name, &schema, reader, options);
    }
    let reader = ipc::StreamBatches::new(BufReader::new(opened.reader), options.memory);
    let reader = reader.map_err(broken)?;
    let schema = reader.schema();
    batches(name, &schema, reader, options)
}

struct EdgeTable {
    name: PathBuf,
    columns: EdgeColumns,
}

/// One column of ids.
enum IdColumn {
    Unsigned(ArrayRef),
    Signed(ArrayRef),
    Bytes(ArrayRef),
}

impl EdgeTable {
    fn error(&self, row: u64, what: String) -> Error {
        Error::Input { file: self.name.clone(), line: row + 1, what }
    }

    fn convert(&self, rows: &RecordBatch, first: u64, out: &mut Batch) -> Result<()> {
        let source = self.ids(rows, self.columns.source, first)?;
        let target = self.ids(rows, self.columns.target, first)?;
        let weight =
            self.columns.weight.map(|column| self.weights(rows, column, first)).transpose()?;
        if let (IdColumn::Unsigned(source), IdColumn::Unsigned(target)) = (&source, &target) {
            let pairs = source
                .as_primitive::<UInt64Type>()
                .values()
                .iter()
                .zip(target.as_primitive::<UInt64Type>().values());
            out.ints.extend(pairs.map(|(&s, &t)| [s, t]));
            if let Some(weight) = &weight {
                for row in 0..rows.num_rows() {
                    push_weight(weight, row, &mut out.int_weights);
                }
            }
            return Ok(());
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for row in 0..rows.num_rows() {
            source.write(row, &mut a);
            target.write(row, &mut b);
            if a.is_empty() || b.is_empty() {
                return Err(
                    self.error(first + row as u64, "an id is empty; every edge needs two".into())
                );
            }
            let before = out.ints.len();
            out.push_edge(&a, &b, None)?;
            if let Some(weight) = &weight {
                let weights = if out.ints.len() > before {
                    &mut out.int_weights
                } else {
                    &mut out.text_weights
                };
                push_weight(weight, row, weights);
            }
        }
        Ok(())
    }

    fn column<'r>(&self, rows: &'r RecordBatch, column: usize, first: u64) -> Result<&'r ArrayRef> {
        let found = rows.columns().get(column);
        let array = found.ok_or_else(|| self.error(first, "a batch lacks a column".into()))?;
        // A dictionary may have a value that is null.
        if let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = (0..array.len()).find(|&row| nulls.is_null(row)).unwrap_or(0);
            return Err(self.error(
                first + row as u64,
                format!("column {} is null in this row; drop such rows", column + 1),
            ));
        }
        Ok(array)
    }

    fn ids(&self, rows: &RecordBatch, column: usize, first: u64) -> Result<IdColumn> {
        let array = self.column(rows, column, first)?;
        let cast_to =
            |ty: &DataType| cast(array, ty).map_err(|error| self.error(first, error.to_string()));
        let inner = match array.data_type() {
            DataType::Dictionary(_, value) => value.as_ref(),
            other => other,
        };
        Ok(match inner {
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => {
                IdColumn::Unsigned(cast_to(&DataType::UInt64)?)
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                let signed = cast_to(&DataType::Int64)?;
                if signed.as_primitive::<Int64Type>().values().iter().all(|&id| id >= 0) {
                    IdColumn::Unsigned(
                        cast(&signed, &DataType::UInt64)
                            .map_err(|error| self.error(first, error.to_string()))?,
                    )
                } else {
                    IdColumn::Signed(signed)
                }
            }
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => IdColumn::Bytes(cast_to(&DataType::LargeBinary)?),
            DataType::FixedSizeBinary(_) => IdColumn::Bytes(cast_to(&DataType::LargeBinary)?),
            other => {
                return Err(self.error(
                    first,
                    format!("column {} holds {other}; ids are integers, text or bytes", column + 1),
                ));
            }
        })
    }

    fn weights(&self, rows: &RecordBatch, column: usize, first: u64) -> Result<ArrayRef> {
        let array = self.column(rows, column, first)?;
        let failed = |error: ArrowError| self.error(first, error.to_string());
        if array.data_type().is_integer() && *array.data_type() != DataType::UInt64 {
            return cast(array, &DataType::Int64).map_err(failed);
        }
        if *array.data_type() == DataType::UInt64
            && array.as_primitive::<UInt64Type>().values().iter().all(|&w| i64::try_from(w).is_ok())
        {
            return cast(array, &DataType::Int64).map_err(failed);
        }
        if !array.data_type().is_numeric() {
            return Err(self.error(
                first,
                format!("column {} holds {}; weights are numbers", column + 1, array.data_type()),
            ));
        }
        let floats = cast(array, &DataType::Float64).map_err(failed)?;
        let bad = floats.as_primitive::<Float64Type>().values().iter().position(|w| !w.is_finite());
        match bad {
            Some(row) => {
                Err(self.error(first + row as u64, "the weight is not a finite number".into()))
            }
            None => Ok(floats),
        }
    }
}

impl IdColumn {
    fn write(&self, row: usize, out: &mut Vec<u8>) {
        out.clear();
        match self {
            Self::Unsigned(array) => out.extend_from_slice(
                array.as_primitive::<UInt64Type>().value(row).to_string().as_bytes(),
            ),
            Self::Signed(array) => out.extend_from_slice(
                array.as_primitive::<Int64Type>().value(row).to_string().as_bytes(),
            ),
            Self::Bytes(array) => out.extend_from_slice(array.as_binary::<i64>().value(row)),
        }
    }
}

fn push_weight(array: &ArrayRef, row: usize, weights: &mut super::WeightBuffer) {
    if let Some(ints) = array.as_primitive_opt::<Int64Type>() {
        weights.push_int(ints.value(row));
    } else {
        weights.push_float(array.as_primitive::<Float64Type>().value(row));
    }
}
