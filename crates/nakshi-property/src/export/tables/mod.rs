//! Stores with properties as tables of nodes and edges, for Nakshi's own import.
//!
//! - The headers are typed: `:ID`, `:START_ID`, `:END_ID`, `:TYPE`, `timestamp:int`, and
//!   `name:type` for every property
//! - `text` writes CSV and TSV, `columns` writes Parquet

mod columns;
mod text;

use std::path::Path;

use super::graph::{self, PropertyColumns, Steps};
use crate::{PropertyGraph, PropertySpec, PropertyType, Scalar, TIME, Value, unless_cancelled};
use nakshi_io::CancelToken;
use nakshi_store::export::{
    ExportFormat, ExportOptions, ExportSource, Exported, OutputFile, choose, finish,
};
use nakshi_store::{Error, ExternalId, Manifest, Result};

/// Bytes of memory for rows that are not written yet.
const ROWS: u64 = 96 << 20;

/// Returns true for a format of tables.
pub(super) fn takes(format: ExportFormat) -> bool {
    use ExportFormat::{Arrow, Csv, Parquet, Tsv};
    matches!(format, Csv | Tsv | Parquet | Arrow)
}

/// Bytes of memory that an export takes.
pub(super) fn need(manifest: &Manifest) -> Result<u64> {
    Ok(graph::need(manifest)? + ROWS)
}

/// Writer of a file of rows, which appears when it is finished.
enum TableWriter {
    Text(Box<text::TextTable>),
    Columns(Box<columns::Columnar>),
}

/// Content of a column that is no property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Id,
    Text,
    Time,
}

impl TableWriter {
    /// Starts a file with columns of ids of type `ids`, of types and times, and of properties.
    fn create<'g>(
        path: &Path,
        cancel: &CancelToken,
        format: ExportFormat,
        ids: Scalar,
        fixed: &[(&str, Fixed)],
        properties: impl Iterator<Item = &'g PropertySpec> + Clone,
    ) -> Result<Self> {
        let scalar = |what: &Fixed| match what {
            Fixed::Id => ids,
            Fixed::Text => Scalar::String,
            Fixed::Time => Scalar::Int,
        };
        let fixed =
            fixed.iter().map(|(name, what)| ((*name).to_owned(), PropertyType::of(scalar(what))));
        let named = properties.map(|spec| (format!("{}:{}", spec.name, spec.ty), spec.ty));
        let header = fixed.chain(named);
        Ok(match format {
            ExportFormat::Csv => {
                TableWriter::Text(Box::new(text::TextTable::create(path, cancel, b',', header)?))
            }
            ExportFormat::Tsv => {
                TableWriter::Text(Box::new(text::TextTable::create(path, cancel, b'\t', header)?))
            }
            ExportFormat::Parquet => {
                TableWriter::Columns(Box::new(columns::Columnar::create(path, cancel, header)?))
            }
            // The import cannot read lists in Arrow files.
            _ => {
                return Err(Error::Invalid(format!(
                    "{} names a format without properties; name it .csv, .tsv or .parquet, or write \
                     plain edges",
                    path.display()
                )));
            }
        })
    }

    fn id(&mut self, id: &ExternalId) -> Result<()> {
        match self {
            TableWriter::Text(text) => text.id(id),
            TableWriter::Columns(columns) => columns.id(id),
        }
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match self {
            TableWriter::Text(text) => text.value(value),
            TableWriter::Columns(columns) => columns.value(value),
        }
    }

    fn end_row(&mut self) -> Result<()> {
        match self {
            TableWriter::Text(text) => text.end_row(),
            TableWriter::Columns(columns) => columns.end_row(),
        }
    }

    /// Finishes the contents; the file gets its name later.
    fn close(self) -> Result<OutputFile> {
        match self {
            TableWriter::Text(text) => text.close(),
            TableWriter::Columns(columns) => columns.close(),
        }
    }
}

/// Writes the edges to `path`, and the nodes to the path in `options`, if there is one.
pub(super) fn write(
    source: &ExportSource<'_>,
    path: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    if options.weight.is_some() {
        return Err(Error::Invalid(
            "edges with properties have no weight; leave it out, all properties are written".into(),
        ));
    }
    if options.nodes.as_deref() == Some(path) {
        return Err(Error::Invalid("nodes and edges need a file each".into()));
    }
    let graph = graph::snapshot(source, options.memory)?;
    let done = tables_of(source, &graph, path, options);
    let done = done.map_err(|error| source.hooks.check().err().unwrap_or(error));
    let (_, (nodes, edges, exported)) = unless_cancelled(graph, done)?;
    finish(source, nodes.into_iter().chain([edges]))?;
    Ok(exported)
}

/// An export of the graph after the last commit.
struct TableExport<'e> {
    source: &'e ExportSource<'e>,
    graph: &'e PropertyGraph,
    /// Type of the columns of ids.
    ids: Scalar,
    format: ExportFormat,
}

/// Writes the files, which get their names later: nodes, if `options` has a path for them, and edges.
fn tables_of(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    path: &Path,
    options: &ExportOptions,
) -> Result<(Option<OutputFile>, OutputFile, Exported)> {
    let tables = TableExport { source, graph, ids: ids(source, graph)?, format: options.format };
    let nodes = options.nodes.as_deref().map(|path| tables.nodes(path));
    let (nodes, rows) = nodes.transpose()?.unzip();
    let (edges, count) = tables.edges(path)?;
    Ok((nodes, edges, Exported { edges: count, nodes: rows, command: None }))
}

/// Type of a column of ids: integers if all of them fit, bytes if one is no text.
fn ids(source: &ExportSource<'_>, graph: &PropertyGraph) -> Result<Scalar> {
    let (mut ids, mut steps) = (Scalar::Int, Steps::new(source.hooks, "ids", graph.num_nodes()));
    graph.for_each_id(|id| {
        steps.next()?;
        match id {
            ExternalId::I64(_) => {}
            ExternalId::U64(id) if i64::try_from(id).is_ok() => {}
            ExternalId::Bytes(_) => ids = Scalar::Bytes,
            _ if ids == Scalar::Int => ids = Scalar::String,
            _ => {}
        }
        Ok(())
    })?;
    Ok(ids)
}

impl TableExport<'_> {
    /// Starts a file of the format that `path` names.
    fn table<'s>(
        &self,
        path: &Path,
        fixed: &[(&str, Fixed)],
        properties: impl Iterator<Item = &'s PropertySpec> + Clone,
    ) -> Result<TableWriter> {
        let format = choose(self.format, path);
        let cancel = &self.source.hooks.cancel;
        TableWriter::create(path, cancel, format, self.ids, fixed, properties)
    }

    /// Writes the nodes; returns the file and the number of rows.
    fn nodes(&self, path: &Path) -> Result<(OutputFile, u64)> {
        let properties = self.graph.node_properties();
        let mut columns = PropertyColumns::of(properties.iter().copied());
        let fixed = [(":ID", Fixed::Id)];
        let mut table = self.table(path, &fixed, properties.iter().copied())?;
        let mut steps = Steps::new(self.source.hooks, "nodes", self.graph.num_nodes());
        self.graph.for_each_node(|id, values| {
            table.id(id)?;
            columns.row(values).try_for_each(|(_, value)| table.value(value))?;
            table.end_row()?;
            steps.next()
        })?;
        Ok((table.close()?, steps.done()))
    }

    /// Writes the edges; returns the file and the number of rows.
    fn edges(&self, path: &Path) -> Result<(OutputFile, u64)> {
        let time = format!("{TIME}:int");
        let fixed = [
            (":START_ID", Fixed::Id),
            (":END_ID", Fixed::Id),
            (":TYPE", Fixed::Text),
            (time.as_str(), Fixed::Time),
        ];
        let properties = self.graph.edge_properties();
        let mut columns = PropertyColumns::of(properties.iter().copied());
        let mut table = self.table(path, &fixed, properties.iter().copied())?;
        let mut steps = Steps::new(self.source.hooks, "edges", self.graph.num_edges());
        self.graph.for_each_edge(|id, ty, edge| {
            table.id(id)?;
            table.id(&edge.destination)?;
            table.value(&Value::String(ty.to_owned()))?;
            table.value(&Value::Int(edge.timestamp))?;
            columns.row(edge.properties).try_for_each(|(_, value)| table.value(value))?;
            table.end_row()?;
            steps.next()
        })?;
        Ok((table.close()?, steps.done()))
    }
}
