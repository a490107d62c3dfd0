//! Export: writes a store as a file that other programs read, with the user's ids.
//!
//! - [`export_edges`] with [`ExportOptions`]
//! - [`OutputFile`]: files, compressed by their name, absent unless complete
//! - [`Names`]: the external id of every vertex
//! - [`for_each_list`]: all lists of an [`ExportSource`] in the order of the layout
//! - `text`: edge lists, Graphalytics, Matrix Market, METIS; `table`: Parquet and Arrow
//!
//! `nakshi-property` writes tables of nodes and edges with all properties, and files for Neo4j; its
//! `export` takes every store.
//!
//! Edges come in the order of the layout. An undirected edge is written once.

mod names;
mod output;
mod scan;
mod source;
mod table;
mod text;

use std::path::{Path, PathBuf};

pub use names::Names;
pub use output::OutputFile;
pub use scan::{for_each_list, is_written};
pub use source::ExportSource;

use crate::hooks::Hooks;
use crate::{Direction, Error, IdKind, Key, Manifest, Result, Store};

/// Output formats. For a store with properties, tab-separated, comma-separated and Parquet files
/// are tables of edges or of nodes with typed headers, as `load` of `nakshi-property` reads them.
/// Arrow is refused for such a store, and the other formats hold only the edges of its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExportFormat {
    /// Chosen by the file's name; tab-separated for an unknown one.
    #[default]
    Auto,
    /// Source, target and weight, separated by tabs; with a header only for text ids.
    Tsv,
    /// Source, target and weight, separated by commas, with a header.
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
    /// A directory of CSV files for Neo4j's importer: nodes and edges in the order of the layout,
    /// with all properties; for a store without properties, with the weight.
    Neo4j,
}

/// Options of [`export_edges`].
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Default [`ExportFormat::Auto`].
    pub format: ExportFormat,
    /// Column that is written as weight. Default: `weight`, if there is one.
    pub weight: Option<String>,
    /// File to which all ids are also written, one a line, since edges alone do not show isolated
    /// vertices. For a store with properties it is a table of nodes, with a format of its own if
    /// that is chosen by name.
    pub nodes: Option<PathBuf>,
    /// For a store with properties: writes only the edges of its files, each once, as of a store
    /// without.
    pub plain: bool,
    /// Memory in bytes; without a limit if not given.
    pub memory: Option<u64>,
}

/// The result of an [`export_edges`].
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

/// Writes the edges of `store` to `path`; `.gz` and `.zst` compress text formats, `-` is standard
/// output. Holds all ids in memory: 4 to 12 bytes a vertex, and the texts of text ids. Uses one
/// thread, since lists are written in order. Of a store with properties, writes only the edges of
/// its files, each once.
///
/// # Errors
/// [`Error::Budget`] at once if the memory is too little; [`Error::NoColumn`] for an unknown
/// weight; [`Error::Invalid`] and [`Error::Unsupported`] if the format cannot hold the graph;
/// [`Error::Exists`]; [`Error::Io`], [`Error::Cancelled`]. Nothing is left behind then.
pub fn export_edges(
    store: &Store,
    path: &Path,
    options: &ExportOptions,
    hooks: &Hooks,
) -> Result<Exported> {
    let format = choose(options.format, path);
    if options.memory.is_some() {
        Error::afford(need(store, format)?, options.memory)?;
    }
    let source = ExportSource::new(store, options.weight.as_deref(), hooks)?;
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
            // The nodes file of the options is finished first.
            finish(&source, first.replace(vertices))?;
            Ok(edges)
        }
        ExportFormat::MatrixMarket => text::matrix_market(&source, path),
        ExportFormat::Metis => text::metis(&source, path),
        ExportFormat::Parquet => table::parquet(&table::Rows::new(&source, &names()?), path),
        ExportFormat::Arrow => table::arrow(&table::Rows::new(&source, &names()?), path),
        ExportFormat::Neo4j => Err(Error::Unsupported(
            "files for Neo4j have properties; use `export` of nakshi-property".into(),
        )),
    }?;
    finish(&source, first.into_iter().chain([output]))?;
    Ok(Exported { edges, nodes: None, command: None })
}

/// Gives files their names, unless the caller has cancelled.
///
/// # Errors
/// [`Error::Cancelled`]; the errors of renaming.
pub fn finish(
    source: &ExportSource<'_>,
    outputs: impl IntoIterator<Item = OutputFile>,
) -> Result<()> {
    source.hooks.check()?;
    outputs.into_iter().try_for_each(OutputFile::finish)
}

/// Returns the most bytes of memory that an export of the edges of `store` takes.
///
/// # Errors
/// The errors of reading the ids.
pub fn need(store: &Store, format: ExportFormat) -> Result<u64> {
    let manifest = store.manifest();
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
    // A group of encoded rows before it is written.
    let rows = if format == ExportFormat::Parquet { 48 << 20 } else { 0 };
    let parts = [ids, 12 * manifest.vertices, rows].into_iter().chain(lists);
    Ok(parts.fold(manifest.reading_memory(), u64::saturating_add))
}

/// Returns the format of a file at `path`, chosen by its name if none is given.
pub fn choose(format: ExportFormat, path: &Path) -> ExportFormat {
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
