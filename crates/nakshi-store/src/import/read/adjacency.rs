//! Adjacency lists in text: a vertex, then the other ends of its edges, separated by blanks, tabs
//! or commas.
//!
//! A line may be longer than a block. It is then cut between two ids, and the next block gets the
//! vertex of the line that it continues.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::batch::Batch;
use super::blocks::{Blocks, TextBlock, lines};
use super::edge_list::{is_blank_or_comment, is_comment};
use super::task::{Feed, ParseTask};
use crate::{Error, Result};

/// Sets up the reader; with `incoming`, the other ends are sources.
pub(crate) fn feed<'a>(
    name: &Path,
    reader: Box<dyn Read + Send + 'a>,
    incoming: bool,
) -> Box<dyn Feed<'a> + 'a> {
    let mut blocks = Blocks::new(name, reader).with_cuts(is_separator);
    let parser = Arc::new(AdjacencyParser { name: name.into(), incoming });
    // The vertex of the line that the last block did not end.
    let mut open: Option<Vec<u8>> = None;
    Box::new(move || {
        let Some(block) = blocks.next()? else { return Ok(None) };
        let continued = open.take();
        open = unfinished(&block.text, continued.as_deref());
        let parser = Arc::clone(&parser);
        let task: ParseTask<'a> =
            Box::new(move |batch| parser.parse(&block, continued.as_deref(), batch));
        Ok(Some(task))
    })
}

/// Returns the first id of a block's last line, unless that line ends in the block. A cut comment
/// stays a comment.
fn unfinished(text: &[u8], continued: Option<&[u8]>) -> Option<Vec<u8>> {
    if text.ends_with(b"\n") {
        return None;
    }
    let line = match memchr::memrchr(b'\n', text) {
        Some(end) => text.get(end + 1..)?,
        None if continued.is_some() => return continued.map(<[u8]>::to_vec),
        None => text,
    };
    match is_blank_or_comment(line) {
        true => line.trim_ascii_start().first().map(|&mark| vec![mark]),
        false => ids(line).next().map(<[u8]>::to_vec),
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',' | b'\r')
}

fn ids(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_separator(byte)).filter(|id| !id.is_empty())
}

struct AdjacencyParser {
    name: PathBuf,
    incoming: bool,
}

impl AdjacencyParser {
    fn parse(&self, block: &TextBlock, continued: Option<&[u8]>, batch: &mut Batch) -> Result<()> {
        for (position, line) in lines(&block.text) {
            let carried = if position == 0 { continued } else { None };
            if carried.is_none() && is_blank_or_comment(line)
                || matches!(carried, Some(b"#" | b"%"))
            {
                // A long line counts where it begins.
                batch.comments += u64::from(carried.is_none() && is_comment(line));
                continue;
            }
            let mut others = ids(line);
            let vertex = match carried {
                Some(vertex) => vertex,
                None => others.next().unwrap_or_default(),
            };
            let vertex = vertex.strip_suffix(b":").unwrap_or(vertex);
            if vertex.is_empty() {
                return Err(Error::Input {
                    file: self.name.clone(),
                    line: block.line_at(position),
                    what: "the line has no vertex before its neighbours".into(),
                });
            }
            if carried.is_none() {
                batch.push_vertex(vertex)?;
            }
            for other in others {
                let (source, target) =
                    if self.incoming { (other, vertex) } else { (vertex, other) };
                batch.push_edge(source, target, None)?;
            }
        }
        Ok(())
    }
}
