//! Loading tables with properties.

use std::path::PathBuf;

use nakshi::property::{
    ColumnHeader, IdSpaces, LoadOptions, MissingNodes, ParallelEdges, PropertyLayout, Table,
    TableRows, load as load_tables, table_columns,
};
use nakshi::store::{Encoding, import};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::builders::{self, Batches};
use crate::call::long_json;
use crate::errors::Failure;

/// Options of a load, as the Python package writes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadSettings {
    /// A vertex order, or a layout of property files: `zipg` and `blocks`.
    layout: String,
    property_layout: Option<PropertyLayout>,
    #[serde(default)]
    searchable: Vec<String>,
    seed: Option<u64>,
    #[serde(default)]
    parallel_edges: ParallelEdges,
    #[serde(default)]
    missing_nodes: MissingNodes,
    #[serde(default)]
    id_spaces: IdSpaces,
    header: Option<bool>,
    #[serde(default)]
    allow_empty: bool,
    #[serde(default)]
    notes: Vec<String>,
    scratch: Option<PathBuf>,
    separator: Option<char>,
    encoding: Encoding,
    page_size: Option<u32>,
    memory: Option<u64>,
    threads: Option<usize>,
    shards: Option<u32>,
}

impl LoadSettings {
    fn parse(text: &str) -> Result<LoadOptions, Failure> {
        let given: LoadSettings = serde_json::from_str(text)?;
        let usual = LoadOptions::default();
        let named: Option<PropertyLayout> =
            serde_json::from_value(given.layout.as_str().into()).ok();
        let layout = match named {
            Some(_) => usual.layout,
            None => builders::layout(&given.layout, given.seed)?,
        };
        Ok(LoadOptions {
            parallel_edges: given.parallel_edges,
            missing_nodes: given.missing_nodes,
            id_spaces: given.id_spaces,
            header: given.header.unwrap_or(usual.header),
            allow_empty: given.allow_empty,
            notes: given.notes,
            scratch: given.scratch,
            layout,
            properties: given.property_layout.or(named).unwrap_or(usual.properties),
            searchable: given.searchable,
            separator: builders::separator(given.separator)?,
            shards: given.shards,
            group: usual.group,
            memory: given.memory.unwrap_or(usual.memory),
            threads: given.threads.unwrap_or(usual.threads),
            page_size: given.page_size.unwrap_or(usual.page_size),
            encoding: given.encoding,
        })
    }
}

/// A table: its name, a path or batches, and headers of columns, each with whether the table must have
/// the column.
type Named<'py> = (Option<String>, Bound<'py, PyAny>, Vec<(String, String, bool)>);

fn tables(given: Vec<Named<'_>>) -> PyResult<Vec<Table<'static>>> {
    let table = |(name, rows, columns): Named<'_>| {
        let rows = match rows.cast::<Batches>() {
            Ok(batches) => batches.get().take().map(TableRows::Batches).ok_or_else(|| {
                PyTypeError::new_err("a table was read already; make it anew for another import")
            })?,
            Err(_) => TableRows::Path(rows.extract::<PathBuf>()?),
        };
        let header = |(column, header, required)| ColumnHeader { column, header, required };
        Ok(Table { name, rows, columns: columns.into_iter().map(header).collect() })
    };
    given.into_iter().map(table).collect()
}

/// Loads tables of nodes and edges with properties into a new store and returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (path, nodes, edges, options, *, progress = None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    nodes: Vec<Named<'_>>,
    edges: Vec<Named<'_>>,
    options: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = LoadSettings::parse(options)?;
    let (nodes, edges) = (tables(nodes)?, tables(edges)?);
    long_json(py, progress, |call| {
        Ok(load_tables(&path, nodes, edges, &options, &builders::hooks(call))?)
    })
}

/// The smallest memory with which an import of edges works, or of tables with properties in a layout,
/// for input of any size; and the default.
#[pyfunction]
#[pyo3(signature = (properties = None, *, searchable = Vec::new()))]
pub fn import_memory(properties: Option<&str>, searchable: Vec<String>) -> PyResult<(u64, u64)> {
    let usual = LoadOptions::default();
    let Some(name) = properties else {
        return Ok((import::MINIMUM_MEMORY, import::ImportOptions::default().memory));
    };
    let properties = serde_json::from_value(name.into()).map_err(Failure::from)?;
    let options = LoadOptions { properties, searchable, ..usual };
    Ok((options.least_memory(), options.memory))
}

/// Names of the columns of a file of a table, as an import with properties sees them.
#[pyfunction]
#[pyo3(signature = (path, separator = None))]
pub fn columns(path: PathBuf, separator: Option<char>) -> PyResult<Vec<String>> {
    let separator = builders::separator(separator)?;
    let memory = LoadOptions::default().memory;
    Ok(table_columns(&path, separator, memory).map_err(Failure::from)?)
}
