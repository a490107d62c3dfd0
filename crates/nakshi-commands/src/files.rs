//! Rows of tables as TSV, CSV, JSON lines, Arrow and Parquet, in files and on standard output.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType};
use serde::{Deserialize, Serialize};

use crate::table::Table;
use crate::{Error, Result};
use nakshi_engine::CancelToken;
use nakshi_io::StandardOutput;

/// Formats of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowFormat {
    /// `id<TAB>value` of the first value column, no header, `inf` for a missing number.
    Tsv,
    /// Header, all columns, missing values empty.
    Csv,
    /// An object a row, one a line, with all columns, missing values null.
    Jsonl,
    /// As `Jsonl`, in one array.
    Json,
    /// Arrow IPC, all columns, missing values null: the file format, and on standard output the stream.
    Arrow,
    /// All columns, missing values null.
    Parquet,
}

impl RowFormat {
    /// The format by the ending of a file, such as `.tsv`; `-`, standard output, is TSV.
    ///
    /// # Errors
    /// [`nakshi_store::Error::Invalid`] for another ending.
    pub fn of(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(RowFormat::Tsv);
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        Ok(match ending {
            "tsv" => RowFormat::Tsv,
            "csv" => RowFormat::Csv,
            "jsonl" | "ndjson" => RowFormat::Jsonl,
            "json" => RowFormat::Json,
            "arrow" => RowFormat::Arrow,
            "parquet" => RowFormat::Parquet,
            _ => {
                return Err(nakshi_store::Error::Invalid(format!(
                    "{}: results are written as .tsv, .csv, .jsonl, .json, .arrow or .parquet; choose one \
                     of these endings, or name the format",
                    path.display()
                ))
                .into());
            }
        })
    }
}

/// Writes all rows of a table to a file, or to standard output where `path` is `-`. Without a format the
/// ending of `path` tells it.
///
/// The file appears when it is complete; an existing one is replaced.
///
/// # Errors
/// Another ending, writing, cancellation.
pub fn write(
    table: &Arc<Table>,
    path: &Path,
    format: Option<RowFormat>,
    cancel: &CancelToken,
) -> Result<()> {
    let format = format.map_or_else(|| RowFormat::of(path), Ok)?;
    let parts = if format == RowFormat::Tsv { Some(&[0, 1][..]) } else { None };
    write_batches(table.reader(parts), path, format, cancel)
}

/// As [`write()`], for any batches of rows.
///
/// # Errors
/// Errors of the batches, writing, cancellation.
pub fn write_batches(
    batches: impl RecordBatchReader,
    path: &Path,
    format: RowFormat,
    cancel: &CancelToken,
) -> Result<()> {
    to_file(path, cancel, |out, stream| write_rows(batches, path, format, stream, out, cancel))
}

/// Hands `write` the file, or standard output where `path` is `-`, which is told by true.
///
/// # Errors
/// Those of `write`, of the file; cancellation.
pub(crate) fn to_file<T>(
    path: &Path,
    cancel: &CancelToken,
    write: impl FnOnce(&mut (dyn Write + Send), bool) -> Result<T>,
) -> Result<T> {
    let check = || match cancel.is_cancelled() {
        true => Err(Error::from(nakshi_engine::Error::Cancelled)),
        false => Ok(()),
    };
    if path.as_os_str() == "-" {
        let mut out = StandardOutput::new(cancel)
            .map_err(|error| nakshi_store::Error::io("write", path, error))?;
        let written = write(&mut out, true);
        check()?;
        return written;
    }
    let mut partial = Partial::create(path)?;
    let written = write(&mut partial.file, false)?;
    check()?;
    partial.commit()?;
    Ok(written)
}

fn write_rows(
    batches: impl RecordBatchReader,
    path: &Path,
    format: RowFormat,
    stream: bool,
    file: &mut (dyn Write + Send),
    cancel: &CancelToken,
) -> Result<()> {
    let schema = batches.schema();
    let rows = batches.map(|batch| match cancel.is_cancelled() {
        true => Err(Error::from(nakshi_engine::Error::Cancelled)),
        false => Ok(batch?),
    });
    let io = |error| Error::from(nakshi_store::Error::io("write", path, error));
    let of_arrow = |error| match error {
        ArrowError::IoError(_, error) => io(error),
        other => Error::from(other),
    };
    let mut out = BufWriter::with_capacity(1 << 18, file);
    match format {
        RowFormat::Parquet => {
            let mut writer = parquet::arrow::ArrowWriter::try_new(&mut out, schema, None)
                .map_err(|error| parquet_error(path, error))?;
            for batch in rows {
                writer.write(&batch?).map_err(|error| parquet_error(path, error))?;
            }
            writer.close().map_err(|error| parquet_error(path, error))?;
        }
        RowFormat::Arrow if stream => {
            let mut writer = StreamWriter::try_new(&mut out, &schema).map_err(of_arrow)?;
            for batch in rows {
                writer.write(&batch?).map_err(of_arrow)?;
            }
            writer.finish().map_err(of_arrow)?;
        }
        RowFormat::Arrow => {
            let mut writer = FileWriter::try_new(&mut out, &schema).map_err(of_arrow)?;
            for batch in rows {
                writer.write(&batch?).map_err(of_arrow)?;
            }
            writer.finish().map_err(of_arrow)?;
        }
        RowFormat::Jsonl | RowFormat::Json => {
            let names = schema.fields().iter().map(|field| json_text(field.name()));
            let names: Vec<String> = names.collect();
            let mut objects = Objects::new(format);
            for batch in rows {
                write_objects(&names, &batch?, &mut objects, &mut out).map_err(io)?;
            }
            objects.end(&mut out).map_err(io)?;
        }
        RowFormat::Tsv | RowFormat::Csv => {
            let style = if format == RowFormat::Tsv { &TSV } else { &CSV };
            if style.header {
                let names = schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>();
                writeln!(out, "{}", names.join(",")).map_err(io)?;
            }
            for batch in rows {
                style.write(&batch?, &mut out).map_err(io)?;
            }
        }
    }
    out.flush().map_err(io)
}

/// Text as JSON has it, with quotes.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The objects of a file, as lines or as one array.
#[derive(Debug)]
pub(crate) struct Objects {
    array: bool,
    begun: bool,
}

impl Objects {
    pub(crate) fn new(format: RowFormat) -> Self {
        Objects { array: format == RowFormat::Json, begun: false }
    }

    /// Writes what stands before the next object.
    pub(crate) fn begin(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        let before: &[u8] = match (self.array, self.begun) {
            (true, false) => b"[\n",
            (true, true) => b",\n",
            (false, false) => b"",
            (false, true) => b"\n",
        };
        self.begun = true;
        out.write_all(before)
    }

    /// Writes what stands behind the last object.
    pub(crate) fn end(&self, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(match (self.array, self.begun) {
            (true, true) => b"\n]\n",
            (true, false) => b"[]\n",
            (false, true) => b"\n",
            (false, false) => b"",
        })
    }
}

/// Writes an object of all columns for each row.
fn write_objects(
    names: &[String],
    batch: &RecordBatch,
    objects: &mut Objects,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for row in 0..batch.num_rows() {
        objects.begin(out)?;
        for (index, (name, column)) in names.iter().zip(batch.columns()).enumerate() {
            write!(out, "{}{name}: ", if index == 0 { "{" } else { ", " })?;
            match column.data_type() {
                _ if column.is_null(row) => out.write_all(b"null")?,
                DataType::Float64 => {
                    let value = column.as_primitive::<Float64Type>().value(row);
                    // JSON has no number for infinity or NaN.
                    if value.is_finite() { write!(out, "{value}")? } else { write!(out, "null")? }
                }
                DataType::LargeUtf8 => {
                    write!(out, "{}", json_text(column.as_string::<i64>().value(row)))?;
                }
                DataType::LargeBinary => {
                    let bytes = column.as_binary::<i64>().value(row);
                    write!(out, "{}", json_text(&escaped(bytes)))?;
                }
                _ => CSV.cell(column.as_ref(), row, out)?,
            }
        }
        out.write_all(b"}")?;
    }
    Ok(())
}

/// Bytes as text; those that are not UTF-8 as `\xNN`, as the command line prints them.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

fn parquet_error(path: &Path, error: parquet::errors::ParquetError) -> Error {
    use parquet::errors::ParquetError;
    let error = match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        other => std::io::Error::other(other),
    };
    nakshi_store::Error::io("write", path, error).into()
}

/// A file under another name until it is complete; removed if it never is.
struct Partial<'a> {
    file: File,
    partial: PathBuf,
    path: &'a Path,
    done: bool,
}

impl<'a> Partial<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let open = |partial: PathBuf, done| {
            let file = File::create(&partial)
                .map_err(|error| nakshi_store::Error::io("create", path, error))?;
            Ok(Self { file, partial, path, done })
        };
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            // A pipe or a device: nothing to replace, and nothing that may be replaced.
            return open(path.to_path_buf(), true);
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        open(path.with_file_name(name), false)
    }

    fn commit(mut self) -> Result<()> {
        if self.done {
            return Ok(());
        }
        let io = |op| move |error| nakshi_store::Error::io(op, self.path, error);
        self.file.sync_all().map_err(io("sync"))?;
        std::fs::rename(&self.partial, self.path).map_err(io("rename"))?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Partial<'_> {
    fn drop(&mut self) {
        if !self.done {
            // Nothing to add to the error that brought us here.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// How a text file separates, quotes and omits.
struct Style {
    separator: &'static [u8],
    missing: &'static [u8],
    header: bool,
    quotes: bool,
}

const TSV: Style = Style { separator: b"\t", missing: b"inf", header: false, quotes: false };
const CSV: Style = Style { separator: b",", missing: b"", header: true, quotes: true };

impl Style {
    fn write(&self, batch: &RecordBatch, out: &mut impl Write) -> std::io::Result<()> {
        for row in 0..batch.num_rows() {
            for (index, column) in batch.columns().iter().enumerate() {
                if index > 0 {
                    out.write_all(self.separator)?;
                }
                if column.is_null(row) {
                    out.write_all(self.missing)?;
                } else {
                    self.cell(column.as_ref(), row, out)?;
                }
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn cell(&self, column: &dyn Array, row: usize, out: &mut impl Write) -> std::io::Result<()> {
        match column.data_type() {
            DataType::Int64 => write!(out, "{}", column.as_primitive::<Int64Type>().value(row)),
            DataType::UInt32 => write!(out, "{}", column.as_primitive::<UInt32Type>().value(row)),
            DataType::UInt64 => write!(out, "{}", column.as_primitive::<UInt64Type>().value(row)),
            DataType::Float64 => {
                // The shortest text that reads back as the same number.
                write!(out, "{}", column.as_primitive::<Float64Type>().value(row))
            }
            DataType::Boolean => write!(out, "{}", column.as_boolean().value(row)),
            DataType::LargeUtf8 => self.text(column.as_string::<i64>().value(row).as_bytes(), out),
            DataType::LargeBinary => self.text(column.as_binary::<i64>().value(row), out),
            other => Err(std::io::Error::other(format!("no text for {other}"))),
        }
    }

    fn text(&self, text: &[u8], out: &mut impl Write) -> std::io::Result<()> {
        if !self.quotes || !text.iter().any(|byte| b",\"\r\n".contains(byte)) {
            return out.write_all(text);
        }
        out.write_all(b"\"")?;
        for part in text.split_inclusive(|&byte| byte == b'"') {
            out.write_all(part)?;
            if part.ends_with(b"\"") {
                out.write_all(b"\"")?;
            }
        }
        out.write_all(b"\"")
    }
}
