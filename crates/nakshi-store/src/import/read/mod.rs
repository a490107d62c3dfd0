//! Readers: one file for each format; all yield `Batch`es.
//!
//! - [`open`] with [`Opened`], [`Counters`]: a file or standard input, decompressed
//! - [`whole`]: a Parquet or Arrow file with all its columns
//!
//! A reader has a serial half, the `Feed`, which cuts the input into pieces, and a parallel half,
//! the `ParseTask`s, which workers run at the same time. The result does not depend on the order of
//! the tasks. Messages name lines, because a feed counts lines as it cuts.
//!
//! - `open`, `pipe`: files, standard input, gzip, zstd
//! - `task`: the two halves; `format`: detection of the format
//! - `section`: the lines of a part of a file
//! - `blocks`: text as blocks of whole lines
//! - `header`, `fields`, `weight`: columns, separators, numbers
//! - `edge_list`, `vertex_list`, `adjacency`, `matrix_market`, `metis`, `webgraph`, `arrow`, `ipc`,
//!   `arrays`: formats
//! - `bits`: the codes of integers in a graph of WebGraph's
//! - `seekable`, `thrift`: Parquet and Arrow files, whose lengths are checked before use
//! - `batch`: the edges and vertices of a piece

mod adjacency;
mod arrays;
mod arrow;
mod batch;
mod bits;
mod blocks;
mod edge_list;
mod fields;
mod format;
mod header;
mod ipc;
mod matrix_market;
mod metis;
mod open;
mod pipe;
mod section;
mod seekable;
mod task;
mod thrift;
mod vertex_list;
mod webgraph;
mod weight;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

pub(crate) use crate::sort::weights::{WeightBuffer, as_float};
pub use arrow::{Whole, whole};
pub(crate) use batch::{Batch, canonical_u64};
pub(crate) use blocks::BLOCK;
pub(crate) use format::{detect, graphalytics_vertices, has_lines};
pub use open::{Counters, Opened, open};
pub use section::Share;
pub(crate) use section::section;
pub(crate) use task::{Feed, ParseTask};

use super::{Format, ImportOptions, Input};
use crate::{Error, Result};
use arrays::EdgeWeights;
use blocks::{Blocks, TextBlock};
use edge_list::EdgeList;
use header::{Remarks, remarked};
use vertex_list::VertexList;

/// Reads bytes as a file of edges and discards them; returns the number of edges.
pub fn read_bytes(bytes: &[u8], options: &ImportOptions) -> Result<u64> {
    let name = Path::new("<bytes>");
    let opened = open::decode(name, Box::new(bytes), None, options.memory, &Arc::default())?;
    let mut feed = file(name, opened, options.format, options)?;
    let (mut batch, mut edges) = (Batch::default(), 0);
    while let Some(task) = feed.next()? {
        batch.clear();
        task(&mut batch)?;
        edges += batch.edges() as u64;
    }
    Ok(edges)
}

/// Sets up a reader of an edge list in text.
pub(crate) fn edge_list<'a>(
    name: &Path,
    opened: Opened<'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let sniff = |first: Option<&mut TextBlock>| header::edge_list(name, options, first);
    lines(Blocks::new(name, opened.reader), sniff, EdgeList::parse)
}

/// Sets up a reader of a list of vertices in text.
pub(crate) fn vertex_list<'a>(
    name: &Path,
    opened: Opened<'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let sniff = |first: Option<&mut TextBlock>| Ok(VertexList::sniff(name, options, first));
    lines(Blocks::new(name, opened.reader), sniff, VertexList::parse)
}

/// Sets up a reader of lines: `sniff` makes the parser from the first block, which it may shorten.
fn lines<'a, P: Send + Sync + 'a>(
    mut blocks: Blocks<'a>,
    sniff: impl FnOnce(Option<&mut TextBlock>) -> Result<(P, Remarks)>,
    parse: fn(&P, &TextBlock, &mut Batch) -> Result<()>,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    let mut first = blocks.next()?;
    let (parser, remarks) = sniff(first.as_mut())?;
    Ok(remarked(parsed(first, blocks, parser, parse), remarks))
}

/// Sets up a reader of the given first block, if it was already read, and of those that follow.
fn parsed<'a, P: Send + Sync + 'a>(
    mut first: Option<TextBlock>,
    mut blocks: Blocks<'a>,
    parser: P,
    parse: fn(&P, &TextBlock, &mut Batch) -> Result<()>,
) -> Box<dyn Feed<'a> + 'a> {
    let parser = Arc::new(parser);
    Box::new(move || {
        let block = match first.take() {
            Some(block) => Some(block),
            None => blocks.next()?,
        };
        let parser = Arc::clone(&parser);
        let task = |block: TextBlock| -> ParseTask<'a> {
            Box::new(move |batch| parse(&parser, &block, batch))
        };
        Ok(block.map(task))
    })
}

/// Sets up a reader of adjacency lists in text.
fn adjacency_lists<'a>(
    name: &Path,
    reader: Box<dyn Read + Send + 'a>,
    format: Format,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    if options.weighted {
        let what = "adjacency lists have no weights; import without weights";
        return Err(Error::Invalid(what.into()));
    }
    Ok(adjacency::feed(name, reader, format == Format::InAdjacency))
}

/// Sets up the reader of a file of edges.
pub(crate) fn file<'a>(
    path: &Path,
    opened: Opened<'a>,
    format: Format,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    match format {
        Format::Auto | Format::EdgeList => edge_list(path, opened, options),
        Format::Graphalytics if graphalytics_vertices(path).is_none() => {
            Err(Error::Invalid(format!(
                "{} has no .v file beside it; the format graphalytics takes NAME.e and reads NAME.v",
                path.display()
            )))
        }
        Format::Graphalytics => {
            let options = ImportOptions { header: Some(false), columns: None, ..options.clone() };
            edge_list(path, opened, &options)
        }
        Format::Adjacency | Format::InAdjacency => {
            adjacency_lists(path, opened.reader, format, options)
        }
        Format::MatrixMarket => matrix_market::feed(path, opened.reader, options),
        Format::Metis => Ok(metis::feed(path, opened.reader, options)),
        Format::WebGraph => webgraph::feed(path, opened.reader, options),
        Format::Parquet => arrow::parquet(path, opened, options),
        Format::Arrow => arrow::ipc_feed(path, opened, options),
    }
}

/// Sets up the reader of an input in memory.
pub(crate) fn memory<'a>(
    input: Input<'a>,
    options: &ImportOptions,
) -> Result<Box<dyn Feed<'a> + 'a>> {
    match input {
        Input::Path(path) => Err(Error::Invalid(format!("{} is a file", path.display()))),
        Input::Batches(reader) => {
            let schema = reader.schema();
            arrow::batches(Path::new("<arrow>"), &schema, reader, options)
        }
        Input::Vertices(reader) => Ok(arrow::vertices(Path::new("<arrow>"), reader)),
        Input::Arrays { source, target, weight } => {
            arrays::pairs(source, target, EdgeWeights::new(weight, options)?)
        }
        Input::Csr { indptr, indices, weight } => {
            arrays::csr(indptr, indices, EdgeWeights::new(weight, options)?)
        }
        Input::Edges(_) | Input::Generated(_) if options.weighted => {
            Err(Error::Invalid("generated edges have no weights; import without weights".into()))
        }
        Input::Edges(iterator) => Ok(arrays::edges(iterator)),
        Input::Generated(generator) => Ok(arrays::generated(generator)),
    }
}
