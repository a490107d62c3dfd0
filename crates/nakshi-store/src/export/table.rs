//! Export to Parquet and Arrow.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, UInt8Array, UInt16Array,
    UInt32Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::names::Names;
use super::output::{FinishedOutput, OutputFile};
use super::scan::{for_each_list, is_written};
use super::source::ExportSource;
use crate::{ColumnType, Error, Result, VertexId};

/// Rows of a batch.
const ROWS: usize = 64 << 10;

/// The rows of a table: the edges that are written, in batches of a schema.
pub(super) struct Rows<'a> {
    source: &'a ExportSource<'a>,
    names: &'a Names,
    schema: Arc<Schema>,
}

fn schema(source: &ExportSource<'_>, names: &Names) -> Arc<Schema> {
    let id = |name: &str| Field::new(name, names.data_type(), false);
    let mut fields = vec![id("source"), id("target")];
    if let Some(column) = &source.weight {
        let ty = match column.ty() {
            ColumnType::U8 => DataType::UInt8,
            ColumnType::U16 => DataType::UInt16,
            ColumnType::U32 => DataType::UInt32,
            ColumnType::I64 => DataType::Int64,
            ColumnType::F32 => DataType::Float32,
            ColumnType::F64 => DataType::Float64,
        };
        fields.push(Field::new("weight", ty, false));
    }
    Arc::new(Schema::new(fields))
}

/// Rows that are collected for a batch.
#[derive(Default)]
struct RowBuffer {
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    ints: Vec<i64>,
    floats: Vec<f64>,
}

impl RowBuffer {
    fn take(&mut self, rows: &Rows<'_>) -> Result<RecordBatch> {
        let names = rows.names;
        let mut columns = vec![names.array(&self.sources)?, names.array(&self.targets)?];
        if let Some(column) = &rows.source.weight {
            columns.push(self.weights(column.ty()));
        }
        *self = Self::default();
        RecordBatch::try_new(Arc::clone(&rows.schema), columns)
            .map_err(|error| Error::Invalid(error.to_string()))
    }

    /// Returns the weights in the column's type, which holds every one of them.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn weights(&self, ty: ColumnType) -> ArrayRef {
        let ints = self.ints.iter();
        match ty {
            ColumnType::U8 => Arc::new(ints.map(|&w| w as u8).collect::<UInt8Array>()),
            ColumnType::U16 => Arc::new(ints.map(|&w| w as u16).collect::<UInt16Array>()),
            ColumnType::U32 => Arc::new(ints.map(|&w| w as u32).collect::<UInt32Array>()),
            ColumnType::I64 => Arc::new(ints.copied().collect::<Int64Array>()),
            ColumnType::F32 => {
                Arc::new(self.floats.iter().map(|&w| w as f32).collect::<Float32Array>())
            }
            ColumnType::F64 => Arc::new(self.floats.iter().copied().collect::<Float64Array>()),
        }
    }
}

impl<'a> Rows<'a> {
    pub(super) fn new(source: &'a ExportSource<'a>, names: &'a Names) -> Self {
        Rows { source, names, schema: schema(source, names) }
    }

    fn for_each_batch(&self, mut visit: impl FnMut(RecordBatch) -> Result<()>) -> Result<u64> {
        let directed = self.source.store.directed();
        let (mut rows, mut written) = (RowBuffer::default(), 0);
        for_each_list(self.source, |list| {
            for (at, &neighbour) in list.neighbours.iter().enumerate() {
                if !is_written(directed, list.vertex, neighbour) {
                    continue;
                }
                written += 1;
                rows.sources.push(list.vertex);
                rows.targets.push(neighbour);
                if let Some(weights) = &list.values {
                    let (mut int, mut float) = ([0], [0.0]);
                    if weights.decode_i64(at, &mut int) == 1 {
                        rows.ints.push(int[0]);
                    } else if weights.decode_f64(at, &mut float) == 1 {
                        rows.floats.push(float[0]);
                    }
                }
                if rows.sources.len() >= ROWS {
                    visit(rows.take(self)?)?;
                }
            }
            Ok(())
        })?;
        if !rows.sources.is_empty() {
            visit(rows.take(self)?)?;
        }
        Ok(written)
    }
}

/// Writes a Parquet file.
pub(super) fn parquet(rows: &Rows<'_>, path: &Path) -> Result<FinishedOutput> {
    let failed = |error: ParquetError| Error::io("write", path, std::io::Error::other(error));
    let compression = Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?);
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut output = OutputFile::create(path, &rows.source.hooks.cancel)?;
    let schema = Arc::clone(&rows.schema);
    let mut writer = ArrowWriter::try_new(&mut output, schema, Some(properties)).map_err(failed)?;
    let written = rows.for_each_batch(|batch| writer.write(&batch).map_err(failed))?;
    writer.close().map_err(failed)?;
    Ok((output, written))
}

/// Writes an Arrow IPC file.
pub(super) fn arrow(rows: &Rows<'_>, path: &Path) -> Result<FinishedOutput> {
    let failed = |error: ArrowError| Error::io("write", path, std::io::Error::other(error));
    let mut output = OutputFile::create(path, &rows.source.hooks.cancel)?;
    let mut writer = FileWriter::try_new(&mut output, &rows.schema).map_err(failed)?;
    let written = rows.for_each_batch(|batch| writer.write(&batch).map_err(failed))?;
    writer.finish().map_err(failed)?;
    drop(writer);
    Ok((output, written))
}
