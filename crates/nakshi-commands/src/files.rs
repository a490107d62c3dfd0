//! Tables as files: `.tsv`, `.csv`, `.parquet`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType};
use nakshi_engine::CancelToken;

use crate::table::Table;
use crate::{Error, Result};

/// Writes all rows of a table in the format that the ending of `path` names.
///
/// - `.tsv`: `id<TAB>value` of the first value column, no header, `inf` for a missing number;
/// - `.csv`: header, all columns, missing values empty;
/// - `.parquet`: all columns, missing values null.
///
/// The file appears when it is complete; an existing one is replaced.
///
/// # Errors
/// Another ending, writing, cancellation.
pub fn write(table: &Arc<Table>, path: &Path, cancel: &CancelToken) -> Result<()> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let parts = match ending {
        "tsv" => Some(&[0, 1][..]),
        "csv" | "parquet" => None,
        _ => {
            return Err(nakshi_store::Error::Invalid(format!(
                "{}: results are written as .tsv, .csv or .parquet; choose one of these endings",
                path.display()
            ))
            .into());
        }
    };
    let partial = Partial::create(path)?;
    let rows = table.reader(parts).map(|batch| match cancel.is_cancelled() {
        true => Err(Error::from(nakshi_engine::Error::Cancelled)),
        false => Ok(batch?),
    });
    let io = |error| Error::from(nakshi_store::Error::io("write", path, error));
    match ending {
        "parquet" => {
            let schema = table.schema();
            let mut writer = parquet::arrow::ArrowWriter::try_new(&partial.file, schema, None)
                .map_err(ArrowError::from)?;
            for batch in rows {
                writer.write(&batch?).map_err(|error| parquet_error(path, error))?;
            }
            writer.close().map_err(|error| parquet_error(path, error))?;
        }
        _ => {
            let style = if ending == "tsv" { &TSV } else { &CSV };
            let mut out = BufWriter::with_capacity(1 << 18, &partial.file);
            if style.header {
                let schema = table.reader(parts).schema();
                let names = schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>();
                writeln!(out, "{}", names.join(",")).map_err(io)?;
            }
            for batch in rows {
                style.write(&batch?, &mut out).map_err(io)?;
            }
            out.flush().map_err(io)?;
        }
    }
    if cancel.is_cancelled() {
        return Err(nakshi_engine::Error::Cancelled.into());
    }
    partial.commit()
}

fn parquet_error(path: &Path, error: parquet::errors::ParquetError) -> Error {
    nakshi_store::Error::io("write", path, std::io::Error::other(error)).into()
}

/// A file that has a temporary name until it is complete, and is removed if an error comes first.
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
            // A pipe or a device is written to directly: a rename would replace it.
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
            // The caller returns the error for which the file is removed.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// Format of a text file: separator, quotes, text of a missing value.
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
