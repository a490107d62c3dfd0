//! Export: a store as a file that other programs read, in the user's ids.
//!
//! - [`export`] with [`ExportOptions`]
//! - `output`: files, compressed by their name, absent unless complete
//! - `names`: the external id of every vertex
//! - `scan`: all lists in the order of the layout
//! - `text`: edge lists, Graphalytics, Matrix Market, METIS; `table`: Parquet and Arrow
//! - `tables`: nodes and edges with all properties, as our import reads them; `neo4j`: as Neo4j's does;
//!   `graph`: the rows of both
//!
//! Edges come in the order of the layout. An undirected edge is written once.

mod graph;
mod names;
mod neo4j;
mod output;
mod scan;
mod table;
mod tables;
mod text;

use std::path::{Path, PathBuf};

pub(crate) use output::Output;

use crate::import::Hooks;
use crate::{Column, Direction, Error, IdKind, Key, Manifest, Result, Store};
use names::Names;

/// Output formats. Tab-separated, comma-separated and Parquet files of a store with properties are tables
/// of edges, or of nodes, with typed headers, as [`crate::property::load`] reads them; Arrow is refused, the
/// others hold the edges of the files alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFormat {
    /// By the file's name; an unknown one means tabs.
    #[default]
    Auto,
    /// Source, target and weight with tabs between; a header only above text ids.
    Tsv,
    /// The same with commas, and always a header.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC file.
    Arrow,
    /// Matrix Market; ids become ranks counted from 1.
    MatrixMarket,
    /// METIS, undirected graphs only; ids become ranks counted from 1.
    Metis,
    /// LDBC Graphalytics: edges in `NAME.e`, vertices in `NAME.v`.
    Graphalytics,
    /// A directory of CSV for Neo4j's importer: nodes and edges in the order of the layout, with all
    /// properties; of a store without properties the weight.
    Neo4j,
}

/// Options of [`export`].
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Default [`ExportFormat::Auto`].
    pub format: ExportFormat,
    /// The column that is written as weight. Default: `weight`, if there is one.
    pub weight: Option<String>,
    /// Also writes all ids, one a line, to this file: edges alone do not show isolated vertices. Of a
    /// store with properties it is a table of nodes, whose format is its own if it is found out.
    pub nodes: Option<PathBuf>,
    /// Of a store with properties: the edges of its files alone, each once, as of a store without.
    pub plain: bool,
    /// Memory in bytes; as much as it needs if not given.
    pub memory: Option<u64>,
}

/// What [`export`] wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Exported {
    /// Number of edges.
    pub edges: u64,
    /// Rows of a table of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// For Neo4j: the command that imports the files in their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What all writers need.
struct Source<'s> {
    store: &'s Store,
    weight: Option<Column>,
    hooks: &'s Hooks,
}

/// Writes the edges of `store` to `path`; `.gz` and `.zst` compress text formats, `-` is standard
/// output. Holds all ids in memory: 4 to 12 bytes a vertex, and the texts of text ids. One thread:
/// lists are written in order. For Neo4j `path` is a directory, which must not exist. Properties are
/// those after the last commit, and in memory too, as they are on disk.
///
/// # Errors
/// [`Error::Budget`] at once if the memory is too little;
/// [`Error::NoColumn`] for an unknown weight; [`Error::Invalid`] and [`Error::Unsupported`] if the
/// format cannot hold the graph; [`Error::Exists`]; [`Error::Io`], [`Error::Cancelled`]. Nothing is
/// left behind then.
pub fn export(
    store: &Store,
    path: &Path,
    options: &ExportOptions,
    hooks: &Hooks,
) -> Result<Exported> {
    let format = choose(options.format, path);
    if options.memory.is_some() {
        Error::afford(need(store, format, options)?, options.memory)?;
    }
    if with_tables(store, format, options) {
        let source = Source { store, weight: None, hooks };
        return tables::write(&source, path, options)
            .map_err(|error| hooks.check().err().unwrap_or(error));
    }
    let has_weight = || store.manifest().columns.iter().any(|column| column.name == "weight");
    let weight = match &options.weight {
        Some(name) => Some(store.column(name, Direction::Out)?),
        None if has_weight() => Some(store.column("weight", Direction::Out)?),
        None => None,
    };
    let source = Source { store, weight, hooks };
    if format == ExportFormat::Neo4j && options.nodes.is_some() {
        return Err(Error::Invalid(
            "files for Neo4j have all nodes already; leave the file of nodes out".into(),
        ));
    }
    if options.nodes.as_deref() == Some(path) {
        return Err(Error::Invalid("nodes and edges need a file each".into()));
    }
    let own = |nodes: &&PathBuf| {
        format != ExportFormat::Graphalytics || **nodes != path.with_extension("v")
    };
    let mut first = match options.nodes.as_ref().filter(own) {
        Some(nodes) => Some(text::nodes(&source, &Names::load(store, hooks)?, nodes)?),
        None => None,
    };
    let names = || Names::load(store, hooks);
    let (output, edges) = match format {
        ExportFormat::Auto | ExportFormat::Tsv => text::edges(&source, &names()?, path, b'\t'),
        ExportFormat::Csv => text::edges(&source, &names()?, path, b','),
        ExportFormat::Graphalytics => {
            let (vertices, edges) = text::graphalytics(&source, &names()?, path)?;
            // The options' own file of nodes goes before it.
            finish(&source, first.replace(vertices))?;
            Ok(edges)
        }
        ExportFormat::MatrixMarket => text::matrix_market(&source, path),
        ExportFormat::Metis => text::metis(&source, path),
        ExportFormat::Parquet => table::parquet(&source, &names()?, path),
        ExportFormat::Arrow => table::arrow(&source, &names()?, path),
        ExportFormat::Neo4j => return neo4j::neo4j(&source, path),
    }?;
    finish(&source, first.into_iter().chain([output]))?;
    Ok(Exported { edges, nodes: None, command: None })
}

/// A file that is written but for its name, and the number of its edges.
type Written = (Output, u64);

/// Gives files their names, unless the caller wants to stop.
fn finish(source: &Source<'_>, outputs: impl IntoIterator<Item = Output>) -> Result<()> {
    source.hooks.check()?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// Whether it is tables with properties that are written.
fn with_tables(store: &Store, format: ExportFormat, options: &ExportOptions) -> bool {
    store.manifest().property.is_some() && !options.plain && tables::takes(format)
}

/// Bytes of memory that an export takes at most.
fn need(store: &Store, format: ExportFormat, options: &ExportOptions) -> Result<u64> {
    let manifest = store.manifest();
    if with_tables(store, format, options) {
        return Ok(manifest.reading_memory().saturating_add(tables::need(manifest)));
    }
    // The index of the lists, and one of the weights.
    let lists = store.entry(Direction::Out).map_or([0; 3], |a| {
        let [list, decoded] =
            [(a.max_list_bytes, 2), (a.max_degree, 20)].map(|(n, bytes)| n.saturating_mul(bytes));
        [2 * Manifest::index_memory(a), list, decoded]
    });
    let ids = match manifest.ids.kind {
        IdKind::Dense | IdKind::I64 | IdKind::U64 => 0,
        IdKind::Big | IdKind::Text | IdKind::Bytes => {
            let mut text = 0;
            store.ids()?.for_each(|_, key| {
                if let Key::Bytes(bytes) = key {
                    text += bytes.len() as u64;
                }
                Ok(())
            })?;
            // The text grows by doubling.
            2 * text + 8 * manifest.vertices
        }
    };
    // A group of rows, encoded, before it is written.
    let rows = if format == ExportFormat::Parquet { 48 << 20 } else { 0 };
    let properties = if format == ExportFormat::Neo4j { graph::need(manifest) } else { 0 };
    let parts = [ids, 12 * manifest.vertices, rows, properties].into_iter().chain(lists);
    Ok(parts.fold(manifest.reading_memory(), u64::saturating_add))
}

fn choose(format: ExportFormat, path: &Path) -> ExportFormat {
    if format != ExportFormat::Auto {
        return format;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => ExportFormat::Csv,
        Some("parquet" | "pq") => ExportFormat::Parquet,
        Some("arrow" | "feather" | "ipc") => ExportFormat::Arrow,
        Some("mtx") => ExportFormat::MatrixMarket,
        Some("metis" | "graph") => ExportFormat::Metis,
        Some("e") => ExportFormat::Graphalytics,
        _ => ExportFormat::Tsv,
    }
}

impl std::str::FromStr for ExportFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "auto" => Self::Auto,
            "tsv" | "edge-list" | "edges" => Self::Tsv,
            "csv" => Self::Csv,
            "parquet" => Self::Parquet,
            "arrow" | "ipc" | "feather" => Self::Arrow,
            "matrix-market" | "mtx" => Self::MatrixMarket,
            "metis" => Self::Metis,
            "graphalytics" => Self::Graphalytics,
            "neo4j" => Self::Neo4j,
            _ => {
                return Err(Error::Invalid(format!(
                    "unknown format '{name}'; choose auto, tsv, csv, parquet, arrow, matrix-market, metis, graphalytics or neo4j"
                )));
            }
        })
    }
}
