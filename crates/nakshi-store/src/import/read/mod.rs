//! Readers: one file a format, all of them yielding [`Batch`]es.
//!
//! A reader has a serial half, the [`Feed`], which cuts the input into pieces, and a parallel
//! half, the [`Task`]s, which workers run side by side. Nothing depends on the order in which
//! tasks run; a message names the line because a feed counts lines as it cuts.
//!
//! - `open`: files, standard input, gzip, zstd
//! - `blocks`: text as blocks of whole lines
//! - `header`, `fields`, `weight`: columns, separators, numbers
//! - `batch`: what comes out

mod batch;
mod blocks;
mod edge_list;
mod fields;
mod header;
mod open;
mod vertex_list;
mod weight;

use std::path::Path;
use std::sync::Arc;

pub(crate) use batch::{Batch, Weights, as_float};
pub(crate) use open::{Counters, Opened, open};

use super::ImportOptions;
use crate::Result;
use blocks::Blocks;

/// Parses one piece of input.
pub(crate) type Task<'a> = Box<dyn FnOnce(&mut Batch) -> Result<()> + Send + 'a>;

/// Cuts an input into pieces that can be parsed side by side.
pub(crate) trait Feed<'a>: Send {
    /// The next piece, or nothing at the end.
    fn next(&mut self) -> Result<Option<Task<'a>>>;
}

impl<'a, F> Feed<'a> for F
where
    F: FnMut() -> Result<Option<Task<'a>>> + Send,
{
    fn next(&mut self) -> Result<Option<Task<'a>>> {
        self()
    }
}

/// An edge list in text.
pub(crate) fn edge_list<'a>(name: &Path, opened: Opened<'a>, options: &ImportOptions) -> Result<Box<dyn Feed<'a> + 'a>> {
    let mut blocks = Blocks::new(name, opened.reader);
    let mut first = blocks.next()?;
    let parser = Arc::new(header::edge_list(name, options, first.as_mut())?);
    Ok(Box::new(move || {
        let block = match first.take() {
            Some(block) => Some(block),
            None => blocks.next()?,
        };
        let parser = Arc::clone(&parser);
        Ok(block.map(|block| -> Task<'a> { Box::new(move |batch| parser.parse(&block, batch)) }))
    }))
}

/// A list of vertices in text.
pub(crate) fn vertex_list<'a>(name: &Path, opened: Opened<'a>, options: &ImportOptions) -> Result<Box<dyn Feed<'a> + 'a>> {
    let mut blocks = Blocks::new(name, opened.reader);
    let mut first = blocks.next()?;
    let parser = Arc::new(vertex_list::VertexList::sniff(name, options, first.as_mut()));
    Ok(Box::new(move || {
        let block = match first.take() {
            Some(block) => Some(block),
            None => blocks.next()?,
        };
        let parser = Arc::clone(&parser);
        Ok(block.map(|block| -> Task<'a> { Box::new(move |batch| parser.parse(&block, batch)) }))
    }))
}
