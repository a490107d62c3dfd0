//! Reader of tables row by row: text files, Parquet and Arrow files, record batches.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Schema, TimeUnit};
use nakshi_io::CancelToken;

use super::super::value::Value;
use super::cell::{Cell, InferredProperties};
use super::header::{self, LABELS, Role, TableKind};
use super::reload::Reload;
use super::table::{SpooledRow, Table, TableRows};
use super::text::{Records, separator};
use nakshi_store::cast::cast;
use nakshi_store::import::read::{Counters, Opened, open, whole};
use nakshi_store::{Error, Result};

/// Reads the rows of a table one by one.
pub(super) struct RowReader<'a> {
    path: PathBuf,
    name: Option<String>,
    columns: Vec<(Role, u32)>,
    /// Number of columns of the table itself.
    width: usize,
    source: RowInput<'a>,
}

enum RowInput<'a> {
    Text(Records<Box<dyn std::io::Read + Send + 'a>>),
    Batches { batches: Batches<'a>, batch: Option<(RecordBatch, usize)>, row: u64 },
    Graph(Reload),
}

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a>;

/// Settings that the readers of all tables share.
pub(super) struct Setting {
    pub(super) separator: Option<u8>,
    pub(super) memory: u64,
    pub(super) counters: Arc<Counters>,
    pub(super) cancel: CancelToken,
}

impl<'a> RowReader<'a> {
    pub(super) fn open(
        kind: TableKind,
        table: Table<'a>,
        properties: &mut InferredProperties,
        setting: &Setting,
    ) -> Result<Self> {
        let (path, names, source) = match table.rows {
            TableRows::Path(path) => {
                let opened = open(&path, setting.memory, &setting.counters, &setting.cancel)?;
                match whole(&path, opened, setting.memory)? {
                    Ok((schema, batches)) => (path, names(&schema), of(batches)),
                    Err(opened) => {
                        let (names, source) = text(&path, opened, setting)?;
                        (path, names, source)
                    }
                }
            }
            TableRows::Batches(batches) => {
                let names = names(&batches.schema());
                (PathBuf::from("table"), names, of(batches))
            }
            TableRows::Graph(graph) => {
                let reload = Reload::new(kind, &graph, properties);
                return Ok(RowReader {
                    path: PathBuf::from("graph"),
                    name: None,
                    columns: Vec::new(),
                    width: 0,
                    source: RowInput::Graph(reload),
                });
            }
        };
        let input = |what| Error::Input { file: path.clone(), line: 1, what };
        let roles = header::roles(kind, &names).map_err(input)?;
        let mut columns = Vec::new();
        for role in roles {
            let number = match &role {
                Role::Property { name, ty } => properties.number(name, *ty).map_err(input)?,
                Role::Labels => properties.number(LABELS, Some(header::labels())).map_err(input)?,
                _ => 0,
            };
            columns.push((role, number));
        }
        let label = kind == TableKind::Nodes && table.name.is_some();
        if label && !columns.iter().any(|(role, _)| *role == Role::Labels) {
            let number = properties.number(LABELS, Some(header::labels())).map_err(input)?;
            columns.push((Role::Labels, number));
        }
        Ok(RowReader { path, name: table.name, columns, width: names.len(), source })
    }

    /// Reads the next row; false at the end.
    pub(super) fn next(
        &mut self,
        properties: &mut InferredProperties,
        row: &mut SpooledRow,
    ) -> Result<bool> {
        row.clear();
        let (path, name) = (&self.path, self.name.as_deref());
        match &mut self.source {
            RowInput::Graph(reload) => reload.next(row),
            RowInput::Text(records) => {
                let broken = |error| Error::io("read", path, error);
                if !records.next().map_err(broken)? {
                    return Ok(false);
                }
                let input = |what| Error::Input { file: path.clone(), line: records.line(), what };
                if records.len() != self.width {
                    let (found, expected) = (records.len(), self.width);
                    return Err(input(format!(
                        "the line has {found} fields and the header {expected}; put fields with a \
                         separator in quotes"
                    )));
                }
                for (column, (role, property)) in self.columns.iter().enumerate() {
                    let cell = records.field(column).map_or(Cell::Null, Cell::Text);
                    take(role, *property, cell, name, properties, row).map_err(input)?;
                }
                Ok(true)
            }
            RowInput::Batches { batches, batch, row: number } => {
                while batch.as_ref().is_none_or(|(batch, at)| *at == batch.num_rows()) {
                    let Some(next) = batches.next() else { return Ok(false) };
                    let input = |what| Error::Input { file: path.clone(), line: *number + 1, what };
                    let next = next.map_err(|error| input(error.to_string()))?;
                    *batch = Some((plain(&next).map_err(input)?, 0));
                }
                let Some((batch, at)) = batch else { return Ok(false) };
                *number += 1;
                for (column, (role, property)) in self.columns.iter().enumerate() {
                    let array = batch.columns().get(column);
                    let cell = array.map_or(Ok(Cell::Null), |array| value(array, *at));
                    cell.and_then(|cell| take(role, *property, cell, name, properties, row))
                        .map_err(|what| Error::Input { file: path.clone(), line: *number, what })?;
                }
                *at += 1;
                Ok(true)
            }
        }
    }
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

fn of<'a>(
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
) -> RowInput<'a> {
    RowInput::Batches { batches: Box::new(batches), batch: None, row: 0 }
}

/// Opens a text file; returns the names of its columns, and its lines.
fn text<'a>(
    path: &Path,
    opened: Opened<'a>,
    setting: &Setting,
) -> Result<(Vec<String>, RowInput<'a>)> {
    let separator = setting.separator.or_else(|| separator(&opened.head)).unwrap_or(b',');
    // Text between tabs is never quoted: a quotation mark is a character there.
    let mut records = Records::new(opened.reader, separator, separator != b'\t');
    let input = |what: String| Error::Input { file: path.into(), line: 1, what };
    if !records.next().map_err(|error| Error::io("read", path, error))? {
        return Err(input("the file is empty; its first line names the columns".into()));
    }
    let names = (0..records.len()).map(|column| {
        let name = records.field(column).unwrap_or_default();
        let name =
            if column == 0 { name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name) } else { name };
        let name =
            std::str::from_utf8(name).map_err(|_| input("the header is not UTF-8".into()))?;
        Ok(if records.is_quoted(column) { name } else { name.trim() }.to_owned())
    });
    let names = names.collect::<Result<Vec<_>>>()?;
    Ok((names, RowInput::Text(records)))
}

/// Puts a field into the row, by the role of its column.
fn take(
    role: &Role,
    property: u32,
    cell: Cell<'_>,
    name: Option<&str>,
    properties: &mut InferredProperties,
    row: &mut SpooledRow,
) -> Result<(), String> {
    match role {
        Role::Id { space } | Role::Source { space } => {
            let space = space.as_deref().or(name.filter(|_| matches!(role, Role::Id { .. })));
            id(cell, space, &mut row.source)
        }
        Role::Target { space } => id(cell, space.as_deref(), &mut row.target),
        Role::Type => match cell {
            Cell::Null | Cell::Text(b"") => Ok(()),
            cell => id(cell, None, &mut row.ty),
        },
        Role::Time => {
            let value = match cell {
                Cell::Null | Cell::Text(b"") => return Ok(()),
                Cell::Text(text) => Value::parse(header::time(), text)?,
                Cell::Value(value) => value,
            };
            match value {
                Value::Int(time) | Value::Timestamp(time) => row.time = time,
                other => return Err(format!("{other} is no timestamp")),
            }
            Ok(())
        }
        Role::Labels => match (cell, name) {
            (Cell::Null | Cell::Text(b""), Some(name)) => {
                let cell = Cell::Text(name.as_bytes());
                properties.write(property, &cell, &mut row.values)
            }
            (cell, _) => properties.write(property, &cell, &mut row.values),
        },
        Role::Property { .. } => properties.write(property, &cell, &mut row.values),
        Role::Ignored => Ok(()),
    }
}

/// Appends an external id, behind the name of its space.
fn id(cell: Cell<'_>, space: Option<&str>, out: &mut Vec<u8>) -> Result<(), String> {
    if let Some(space) = space {
        out.extend_from_slice(space.as_bytes());
        out.push(b':');
    }
    match cell {
        Cell::Null | Cell::Text(b"") => return Err("an id is empty".into()),
        Cell::Text(text) => out.extend_from_slice(text),
        Cell::Value(Value::String(text)) => out.extend_from_slice(text.as_bytes()),
        Cell::Value(Value::Bytes(bytes)) => out.extend_from_slice(&bytes),
        Cell::Value(Value::Int(id)) => out.extend_from_slice(id.to_string().as_bytes()),
        Cell::Value(other) => {
            return Err(format!("{other} is no id; ids are integers, text or bytes"));
        }
    }
    Ok(())
}

/// Casts the columns of a batch to a few types.
fn plain(batch: &RecordBatch) -> Result<RecordBatch, String> {
    let columns = batch.columns().iter().map(plain_array).collect::<Result<Vec<_>, _>>()?;
    let named = std::iter::zip(batch.schema_ref().fields(), columns);
    let named = named.map(|(field, column)| (field.name().clone(), column, true));
    RecordBatch::try_from_iter_with_nullable(named).map_err(|error| error.to_string())
}

fn plain_array(array: &ArrayRef) -> Result<ArrayRef, String> {
    use DataType as Ty;
    let to = match array.data_type() {
        Ty::Null => return Ok(Arc::clone(array)),
        Ty::Utf8 | Ty::LargeUtf8 | Ty::Utf8View => Ty::LargeUtf8,
        Ty::Binary | Ty::LargeBinary | Ty::BinaryView | Ty::FixedSizeBinary(_) => Ty::LargeBinary,
        Ty::Boolean => Ty::Boolean,
        Ty::Float16 | Ty::Float32 | Ty::Float64 => Ty::Float64,
        ty if ty.is_integer() => Ty::Int64,
        Ty::Timestamp(..) | Ty::Date32 | Ty::Date64 => Ty::Timestamp(TimeUnit::Millisecond, None),
        Ty::Dictionary(_, of) => of.as_ref().clone(),
        Ty::List(of) | Ty::LargeList(of) => Ty::LargeList(Arc::clone(of)),
        other => return Err(format!("a column holds {other}, which is no property type")),
    };
    let cast = cast(array, &to).map_err(|error| error.to_string())?;
    if matches!(array.data_type(), Ty::Dictionary(..)) { plain_array(&cast) } else { Ok(cast) }
}

/// Reads a value of a column that [`plain_array`] made.
fn value(array: &ArrayRef, row: usize) -> Result<Cell<'static>, String> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(Cell::Null);
    }
    Ok(Cell::Value(match array.data_type() {
        DataType::LargeUtf8 => Value::String(array.as_string::<i64>().value(row).to_owned()),
        DataType::LargeBinary => Value::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(..) => {
            Value::Timestamp(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::LargeList(_) => {
            let items = plain_array(&array.as_list::<i64>().value(row))?;
            let items = (0..items.len()).map(|item| match value(&items, item)? {
                Cell::Value(value) => Ok(value),
                _ => Err("a list has an item that is null".to_owned()),
            });
            Value::List(items.collect::<Result<_, String>>()?)
        }
        other => return Err(format!("a column holds {other}, which is no property type")),
    }))
}
