//! Rows of files with comma-separated values, from the one folder that whoever runs a query has named.

use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::context::{Context, Source};
use super::expand::{Feed, FlatMap};
use crate::error::{Class, QueryError, Result};
use crate::eval::{eval, set};
use crate::plan::Plan;
use crate::value::{Row, Value};

/// Bytes of a file that are read at once.
const BUFFER: usize = 1 << 20;

/// The rows of a file for each row.
pub(super) fn load_csv(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::LoadCsv { source, headers, separator, slot, .. } = &*plan else {
            return Ok(None);
        };
        let source = match eval(&*cx, source, &mut row)? {
            Value::String(source) => source,
            other => return Err(QueryError::of_type(format!("{other} is no path of a file"))),
        };
        let path = path_of(cx.csv_folder.as_deref(), &source)?;
        let failed = |error: &dyn std::fmt::Display| failed(&source, error);
        let file = File::open(&path).map_err(|error| failed(&error))?;
        let mut reader = csv::ReaderBuilder::new();
        reader.has_headers(false).flexible(true).delimiter(*separator).buffer_capacity(BUFFER);
        let mut records = reader.from_reader(file);
        let mut names = None;
        if *headers {
            let mut first = csv::StringRecord::new();
            records.read_record(&mut first).map_err(|error| failed(&error))?;
            let trimmed = |name: &str| Arc::from(name.trim_start_matches('\u{feff}'));
            names = Some(first.iter().map(trimmed).collect());
        }
        let feed = Records { row, slot: *slot, names, records, source };
        Ok(Some(Box::new(feed) as Box<dyn Feed>))
    }))
}

/// The rows of a file that is open.
struct Records {
    row: Row,
    slot: usize,
    /// Names of the columns, if the first line has them.
    names: Option<Vec<Arc<str>>>,
    records: csv::Reader<File>,
    source: Arc<str>,
}

impl Feed for Records {
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>> {
        cx.limits.step()?;
        let mut record = csv::StringRecord::new();
        let read = self.records.read_record(&mut record);
        if !read.map_err(|error| failed(&self.source, &error))? {
            return Ok(None);
        }
        // A field without anything is null, as in Neo4j.
        let field = |text: &str| if text.is_empty() { Value::Null } else { Value::text(text) };
        let value = match &self.names {
            None => Value::list(record.iter().map(field).collect()),
            Some(names) => {
                let named = names.iter().enumerate().map(|(place, name)| {
                    (Arc::clone(name), record.get(place).map_or(Value::Null, field))
                });
                Value::of_map(named.collect())
            }
        };
        let mut row = self.row.clone();
        set(&mut row, self.slot, value);
        Ok(Some(row))
    }
}

fn failed(source: &str, error: &dyn std::fmt::Display) -> QueryError {
    QueryError::run(Class::Argument, "LoadCsv", format!("LOAD CSV cannot read {source}: {error}"))
}

/// The file that a source names: a path in the folder, perhaps behind `file:///`.
fn path_of(folder: Option<&Path>, source: &str) -> Result<PathBuf> {
    let Some(folder) = folder else {
        let why = "no folder is named for it (--csv-folder, csv_folder=)";
        return Err(failed(source, &why));
    };
    let inside = match source.split_once("://") {
        Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => path,
        Some(_) => return Err(failed(source, &"only files are read")),
        None => source,
    };
    let inside = Path::new(inside.trim_start_matches('/'));
    let outside = || failed(source, &"it is not in the folder that is named for it");
    if inside.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(outside());
    }
    // A link may lead elsewhere.
    let real = |path: &Path| path.canonicalize().map_err(|error| failed(source, &error));
    let path = real(&folder.join(inside))?;
    if path.starts_with(real(folder)?) { Ok(path) } else { Err(outside()) }
}
