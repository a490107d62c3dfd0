//! Stores with properties as tables of nodes and edges, in the forms that an import reads.
//!
//! - headers are typed: `:ID`, `:START_ID`, `:END_ID`, `:TYPE`, `timestamp:int`, and `name:type` for
//!   every property
//! - `text`: CSV and TSV; `columns`: Parquet

mod columns;
mod text;

use std::path::Path;

use super::graph::{self, Columns, Steps};
use crate::{PropertyGraph, PropertySpec, PropertyType, Scalar, TIME, Value, unless_cancelled};
use nakshi_store::export::{
    ExportFormat, ExportOptions, ExportSource, Exported, OutputFile, choose, finish,
};
use nakshi_store::{Error, ExternalId, Manifest, Result};

/// Memory of rows on their way into a file.
const ROWS: u64 = 96 << 20;

/// Whether a format is of tables.
pub(super) fn takes(format: ExportFormat) -> bool {
    use ExportFormat::{Arrow, Csv, Parquet, Tsv};
    matches!(format, Csv | Tsv | Parquet | Arrow)
}

/// Bytes of memory that it takes.
pub(super) fn need(manifest: &Manifest) -> Result<u64> {
    Ok(graph::need(manifest)? + ROWS)
}

/// A file of rows. It appears when it is finished.
enum Table {
    Text(Box<text::Text>),
    Columns(Box<columns::Columnar>),
}

/// What a column that is no property holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Id,
    Text,
    Time,
}

impl Table {
    /// Starts a file: columns of ids of type `ids`, of types and times, and of properties.
    fn create<'g>(
        path: &Path,
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
            ExportFormat::Csv => Table::Text(Box::new(text::Text::create(path, b',', header)?)),
            ExportFormat::Tsv => Table::Text(Box::new(text::Text::create(path, b'\t', header)?)),
            ExportFormat::Parquet => {
                Table::Columns(Box::new(columns::Columnar::create(path, header)?))
            }
            // Lists in Arrow files are more than an import reads.
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
            Table::Text(text) => text.id(id),
            Table::Columns(columns) => columns.id(id),
        }
    }

    fn value(&mut self, value: &Value) -> Result<()> {
        match self {
            Table::Text(text) => text.value(value),
            Table::Columns(columns) => columns.value(value),
        }
    }

    fn end_row(&mut self) -> Result<()> {
        match self {
            Table::Text(text) => text.end_row(),
            Table::Columns(columns) => columns.end_row(),
        }
    }

    /// Everything but the name of the file.
    fn close(self) -> Result<OutputFile> {
        match self {
            Table::Text(text) => text.close(),
            Table::Columns(columns) => columns.close(),
        }
    }
}

/// Writes the edges to `path`, and the nodes where the options say.
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

/// The files but for their names: of nodes, where the options say, and of edges.
fn tables_of(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    path: &Path,
    options: &ExportOptions,
) -> Result<(Option<OutputFile>, OutputFile, Exported)> {
    let ids = ids(source, graph)?;
    let nodes = options.nodes.as_deref();
    let nodes = nodes.map(|path| nodes_to(source, graph, ids, path, options.format));
    let (nodes, rows) = nodes.transpose()?.unzip();
    let (edges, count) = edges_to(source, graph, ids, path, options.format)?;
    Ok((nodes, edges, Exported { edges: count, nodes: rows, command: None }))
}

/// The type of a column of ids: integers where all of them fit, bytes where one is no text.
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

fn nodes_to(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    ids: Scalar,
    path: &Path,
    format: ExportFormat,
) -> Result<(OutputFile, u64)> {
    let format = choose(format, path);
    let mut columns = Columns::of(graph.node_properties().iter());
    let mut table =
        Table::create(path, format, ids, &[(":ID", Fixed::Id)], graph.node_properties().iter())?;
    let mut steps = Steps::new(source.hooks, "nodes", graph.num_nodes());
    graph.for_each_node(|id, values| {
        table.id(id)?;
        columns.row(values).try_for_each(|(_, value)| table.value(value))?;
        table.end_row()?;
        steps.next()
    })?;
    Ok((table.close()?, steps.done()))
}

fn edges_to(
    source: &ExportSource<'_>,
    graph: &PropertyGraph,
    ids: Scalar,
    path: &Path,
    format: ExportFormat,
) -> Result<(OutputFile, u64)> {
    let time = format!("{TIME}:int");
    let fixed = [
        (":START_ID", Fixed::Id),
        (":END_ID", Fixed::Id),
        (":TYPE", Fixed::Text),
        (time.as_str(), Fixed::Time),
    ];
    let properties = graph.edge_properties();
    let mut columns = Columns::of(properties.iter());
    let format = choose(format, path);
    let mut table = Table::create(path, format, ids, &fixed, properties.iter())?;
    let mut steps = Steps::new(source.hooks, "edges", graph.num_edges());
    graph.for_each_edge(|id, ty, edge| {
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
