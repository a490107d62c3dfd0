//! Reader of tables row by row: text files, Parquet and Arrow files, record batches.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};
use nakshi_io::CancelToken;

use super::super::spec::{PropertySpec, RESERVED};
use super::super::value::{PropertyType, Scalar, Value, instant_of, milliseconds};
use super::arrow_cells;
use super::cell::{Cell, InferredProperties};
use super::header::{self, LABELS, Role, TableKind};
use super::options::IdSpaces;
use super::reload::Reload;
use super::table::{ColumnHeader, SpooledRow, Table, TableRows};
use super::text::{Records, separator};
use nakshi_store::import::read::{Counters, Opened, open, whole};
use nakshi_store::{Error, Result};

/// Reads the rows of a table one by one.
pub(super) struct RowReader<'a> {
    path: PathBuf,
    /// The label of nodes, or the type of edges.
    name: Option<String>,
    /// The space of ids without one of their own.
    space: Option<String>,
    columns: Vec<(Role, u32)>,
    /// Names of the columns in the table itself.
    names: Vec<String>,
    source: RowInput<'a>,
    /// Columns that headers were given for.
    mapped: Vec<String>,
    notes: Vec<String>,
}

enum RowInput<'a> {
    /// The flag says that the first line, which was read already, is a row.
    Text(Records<Box<dyn std::io::Read + Send + 'a>>, bool),
    Batches {
        batches: Batches<'a>,
        batch: Option<(RecordBatch, usize)>,
        row: u64,
    },
    Graph(Box<Reload>),
}

type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a>;

/// Settings that the readers of all tables share.
pub(super) struct Setting {
    pub(super) separator: Option<u8>,
    pub(super) header: bool,
    pub(super) id_spaces: IdSpaces,
    /// Spaces that headers of tables of edges name.
    pub(super) spaces: BTreeSet<String>,
    pub(super) memory: u64,
    pub(super) counters: Arc<Counters>,
    pub(super) cancel: CancelToken,
}

/// An opened table: its name for messages, its schema if it has one, its column names, its rows.
struct OpenedTable<'a> {
    path: PathBuf,
    names: Vec<String>,
    source: RowInput<'a>,
    notes: Vec<String>,
}

impl<'a> OpenedTable<'a> {
    fn open(
        kind: TableKind,
        name: Option<&str>,
        rows: TableRows<'a>,
        properties: &mut InferredProperties,
        setting: &Setting,
    ) -> Result<Self> {
        match rows {
            TableRows::Path(path) => {
                let opened = open(&path, setting.memory, &setting.counters, &setting.cancel)?;
                match whole(&path, opened, setting.memory)? {
                    Ok((schema, batches)) => {
                        let notes = arrow_cells::notes(&path.to_string_lossy(), &schema);
                        Ok(OpenedTable { path, names: names(&schema), source: of(batches), notes })
                    }
                    Err(opened) => {
                        let (names, source) = text(&path, opened, setting)?;
                        Ok(OpenedTable { path, names, source, notes: Vec::new() })
                    }
                }
            }
            TableRows::Batches(batches) => {
                let all = if kind == TableKind::Nodes { "nodes" } else { "edges" };
                let path = PathBuf::from(name.unwrap_or(all));
                let schema = batches.schema();
                let notes = arrow_cells::notes(&path.to_string_lossy(), &schema);
                Ok(OpenedTable { path, names: names(&schema), source: of(batches), notes })
            }
            TableRows::Graph(rows) => {
                let reload = Reload::new(kind, *rows, properties, &setting.cancel)?;
                let (path, source) = (PathBuf::from("graph"), RowInput::Graph(Box::new(reload)));
                Ok(OpenedTable { path, names: Vec::new(), source, notes: Vec::new() })
            }
        }
    }
}

/// The names of columns, with the headers that were given for some of them; the columns that got one.
fn renamed(
    names: &[String],
    given: &[ColumnHeader],
    header: bool,
) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut renamed, mut mapped) = (names.to_vec(), Vec::new());
    let mut left: Vec<bool> = vec![!header; names.len()];
    for ColumnHeader { column, header, required } in given {
        let number = column.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let place = names.iter().position(|name| name == column);
        let Some(place) = place.or(number.filter(|number| *number < names.len())) else {
            if *required {
                return Err(format!("no column '{column}'; the columns are: {}", names.join(", ")));
            }
            continue;
        };
        if let (Some(name), Some(left)) = (renamed.get_mut(place), left.get_mut(place)) {
            (*name, *left) = (header.clone(), false);
        }
        mapped.push(column.clone());
    }
    match left.iter().position(|left| *left) {
        Some(column) => Err(format!(
            "column {} has no header; name all columns of a table without one, :IGNORE for those to \
             leave out",
            column + 1
        )),
        None => Ok((renamed, mapped)),
    }
}

/// Spaces of ids that the headers of tables of edges name, as far as their files can be read twice.
pub(super) fn spaces(edges: &[Table<'_>], setting: &Setting) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for table in edges {
        let names = match &table.rows {
            TableRows::Batches(batches) => Some(names(&batches.schema())),
            TableRows::Path(path) if path.is_file() => {
                let rows = TableRows::Path(path.clone());
                let mut none = InferredProperties::default();
                // What is wrong with a table shows when its rows are read.
                OpenedTable::open(TableKind::Edges, None, rows, &mut none, setting)
                    .ok()
                    .map(|opened| opened.names)
            }
            _ => None,
        };
        let renamed = names.and_then(|names| renamed(&names, &table.columns, true).ok());
        let roles = renamed.and_then(|(names, _)| header::roles(TableKind::Edges, &names).ok());
        for role in roles.into_iter().flatten() {
            if let Role::Source { space: Some(space) } | Role::Target { space: Some(space) } = role
            {
                found.insert(space);
            }
        }
    }
    found
}

impl<'a> RowReader<'a> {
    pub(super) fn open(
        kind: TableKind,
        table: Table<'a>,
        properties: &mut InferredProperties,
        setting: &Setting,
    ) -> Result<Self> {
        let Table { name, rows, columns: given } = table;
        let opened = OpenedTable::open(kind, name.as_deref(), rows, properties, setting)?;
        let OpenedTable { path, names, source, notes } = opened;
        if matches!(source, RowInput::Graph(_)) {
            let (columns, mapped) = (Vec::new(), Vec::new());
            let (name, space) = (None, None);
            return Ok(RowReader { path, name, space, columns, names, source, mapped, notes });
        }
        let input = |what| Error::Input { file: path.clone(), line: 1, what };
        let header = setting.header || !matches!(source, RowInput::Text(..));
        let (headers, mapped) = renamed(&names, &given, header).map_err(input)?;
        let roles = header::roles(kind, &headers).map_err(input)?;
        let mut columns = Vec::new();
        for role in roles {
            let number = match &role {
                Role::Property { name, .. } if name.starts_with(RESERVED) => {
                    return Err(input(format!(
                        "the name of the column '{name}' begins with '{RESERVED}', which is kept for \
                         Nakshi; give it another"
                    )));
                }
                Role::Property { name, ty } => properties.number(name, *ty).map_err(input)?,
                Role::Labels => properties.number(LABELS, Some(header::labels())).map_err(input)?,
                _ => 0,
            };
            columns.push((role, number));
        }
        let label = name.as_ref().filter(|_| kind == TableKind::Nodes);
        if label.is_some() && !columns.iter().any(|(role, _)| *role == Role::Labels) {
            let number = properties.number(LABELS, Some(header::labels())).map_err(input)?;
            columns.push((Role::Labels, number));
        }
        let of_its_own = |label: &&String| {
            setting.id_spaces == IdSpaces::Labels || setting.spaces.contains(*label)
        };
        let space = label.filter(of_its_own).cloned();
        Ok(RowReader { path, name, space, columns, names, source, mapped, notes })
    }

    /// Name of the table in messages.
    pub(super) fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Takes the columns that headers were given for, and what is not kept of the table's types.
    pub(super) fn told(&mut self) -> (Vec<String>, Vec<String>) {
        (std::mem::take(&mut self.mapped), std::mem::take(&mut self.notes))
    }

    /// Whether a column of the table has types of edges.
    pub(super) fn has_types(&self) -> bool {
        self.columns.iter().any(|(role, _)| *role == Role::Type)
    }

    /// Spaces of the ids that the table names, and its label or type where that could be one.
    pub(super) fn spaces(&self) -> impl Iterator<Item = &String> {
        let named = self.columns.iter().filter_map(|(role, _)| match role {
            Role::Id { space } | Role::Source { space } | Role::Target { space } => space.as_ref(),
            _ => None,
        });
        named.chain(&self.name)
    }

    /// Reads the next row; false at the end.
    pub(super) fn next(
        &mut self,
        properties: &mut InferredProperties,
        row: &mut SpooledRow,
    ) -> Result<bool> {
        row.clear();
        let RowReader { path, name, space, columns, names, source, .. } = self;
        let tags = Tags { label: name.as_deref(), space: space.as_deref() };
        match source {
            RowInput::Graph(reload) => reload.next(row),
            RowInput::Text(records, pending) => {
                let broken = |error| Error::io("read", path.as_path(), error);
                if !std::mem::take(pending) && !records.next().map_err(broken)? {
                    return Ok(false);
                }
                let input = |what| Error::Input { file: path.clone(), line: records.line(), what };
                if records.len() != names.len() {
                    let (found, expected) = (records.len(), names.len());
                    return Err(input(format!(
                        "the line has {found} fields and the header {expected}; put fields with a \
                         separator in quotes"
                    )));
                }
                for (column, (role, property)) in columns.iter().enumerate() {
                    let cell = records.field(column).map_or(Cell::Null, Cell::Text);
                    take(role, *property, cell, tags, properties, row)
                        .map_err(|what| input(of_column(names, column, &what)))?;
                }
                Ok(true)
            }
            RowInput::Batches { batches, batch, row: number } => {
                while batch.as_ref().is_none_or(|(batch, at)| *at == batch.num_rows()) {
                    let Some(next) = batches.next() else { return Ok(false) };
                    let input = |what| Error::Input { file: path.clone(), line: *number + 1, what };
                    let next = next.map_err(|error| input(error.to_string()))?;
                    *batch = Some((arrow_cells::plain(&next).map_err(input)?, 0));
                }
                let Some((batch, at)) = batch else { return Ok(false) };
                *number += 1;
                for (column, (role, property)) in columns.iter().enumerate() {
                    let array = batch.columns().get(column);
                    let cell = array.map_or(Ok(Cell::Null), |array| {
                        arrow_cells::value(array, *at, is_timestamp(role))
                    });
                    cell.and_then(|cell| take(role, *property, cell, tags, properties, row))
                        .map_err(|what| of_column(names, column, &what))
                        .map_err(|what| Error::Input { file: path.clone(), line: *number, what })?;
                }
                *at += 1;
                Ok(true)
            }
        }
    }
}

/// Whether milliseconds in a column stay what they are.
fn is_timestamp(role: &Role) -> bool {
    match role {
        Role::Time => true,
        Role::Property { ty: Some(ty), .. } => ty.scalar == Scalar::Timestamp,
        _ => false,
    }
}

fn of_column(names: &[String], column: usize, what: &str) -> String {
    match names.get(column) {
        Some(name) => format!("column '{name}': {what}"),
        None => what.to_owned(),
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

/// Opens a text file; returns the names of its columns, and its lines. Without a header columns are numbered from 1.
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
    if !setting.header {
        let names = (1..=records.len()).map(|number| number.to_string()).collect();
        return Ok((names, RowInput::Text(records, true)));
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
    Ok((names, RowInput::Text(records, false)))
}

/// Names of the columns of a file of a table.
///
/// # Errors
/// As [`super::load`].
pub fn table_columns(path: &Path, separator: Option<u8>, memory: u64) -> Result<Vec<String>> {
    let setting = Setting {
        separator,
        header: true,
        id_spaces: IdSpaces::Headers,
        spaces: BTreeSet::new(),
        memory,
        counters: Arc::default(),
        cancel: CancelToken::new(),
    };
    let mut none = InferredProperties::default();
    let rows = TableRows::Path(path.into());
    Ok(OpenedTable::open(TableKind::Nodes, None, rows, &mut none, &setting)?.names)
}

/// What a table says of all its rows.
#[derive(Clone, Copy)]
struct Tags<'t> {
    label: Option<&'t str>,
    space: Option<&'t str>,
}

/// Puts a field into the row, by the role of its column.
fn take(
    role: &Role,
    property: u32,
    cell: Cell<'_>,
    tags: Tags<'_>,
    properties: &mut InferredProperties,
    row: &mut SpooledRow,
) -> Result<(), String> {
    match role {
        Role::Id { space } => id(cell, space.as_deref().or(tags.space), &mut row.source),
        Role::Source { space } => id(cell, space.as_deref(), &mut row.source),
        Role::Target { space } => id(cell, space.as_deref(), &mut row.target),
        Role::Type => match cell {
            Cell::Null | Cell::Text(b"") => Ok(()),
            cell => id(cell, None, &mut row.ty),
        },
        Role::Time => time(cell, row),
        Role::Labels => {
            let cell = labels(cell, tags.label)?;
            properties.write(property, &cell, &mut row.values)
        }
        Role::Property { ty, .. } => {
            let cell = declared(cell, *ty)?;
            properties.write(property, &cell, &mut row.values)
        }
        Role::Ignored => Ok(()),
    }
}

/// A text of a typed table as the type that the header of its column declares.
fn declared<'r>(cell: Cell<'r>, ty: Option<PropertyType>) -> Result<Cell<'r>, String> {
    match (cell, ty) {
        (Cell::Value(Value::String(text)), Some(ty))
            if ty.list || !matches!(ty.scalar, Scalar::String | Scalar::Bytes) =>
        {
            Value::parse(ty, text.as_bytes()).map(Cell::Value)
        }
        (cell, _) => Ok(cell),
    }
}

/// The time of an edge in milliseconds.
fn time(cell: Cell<'_>, row: &mut SpooledRow) -> Result<(), String> {
    let value = match cell {
        Cell::Null | Cell::Text(b"") => {
            row.timeless = true;
            return Ok(());
        }
        Cell::Text(text) => {
            let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8")?.trim();
            let number = text.parse().ok().map(|time| (time, true));
            let time = number.or_else(|| instant_of(text));
            let (time, exact) = time.ok_or_else(|| format!("'{text}' is no time of an edge"))?;
            (row.time, row.rounded) = (time, !exact);
            return Ok(());
        }
        Cell::Value(value) => value,
    };
    let of_kind = match value {
        Value::Int(time) | Value::Timestamp(time) => Some((time, true)),
        Value::Temporal(kind, time) => milliseconds(kind, time),
        _ => None,
    };
    let (time, exact) = of_kind.ok_or_else(|| format!("{value} is no timestamp"))?;
    (row.time, row.rounded) = (time, !exact);
    Ok(())
}

/// The labels of a node: that of its table, and those of its row.
fn labels<'r>(cell: Cell<'r>, label: Option<&str>) -> Result<Cell<'r>, String> {
    let mut found: Vec<Value> =
        label.map(|label| Value::String(label.to_owned())).into_iter().collect();
    match cell {
        Cell::Null | Cell::Text(b"") if found.is_empty() => return Ok(cell),
        Cell::Null | Cell::Text(b"") => {}
        Cell::Text(text) => match Value::parse(header::labels(), text)? {
            Value::List(own) => add(own, &mut found),
            own => add(vec![own], &mut found),
        },
        Cell::Value(Value::List(own)) => add(own, &mut found),
        Cell::Value(own) => add(vec![own], &mut found),
    }
    Ok(Cell::Value(Value::List(found)))
}

fn add(own: Vec<Value>, found: &mut Vec<Value>) {
    for label in own {
        if !found.contains(&label) {
            found.push(label);
        }
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

/// Types of properties by name.
pub(super) fn types_of(specs: &[PropertySpec]) -> std::collections::BTreeMap<String, String> {
    let named = |spec: &PropertySpec| (spec.name.clone(), PropertyType::to_string(&spec.ty));
    specs.iter().map(named).collect()
}
