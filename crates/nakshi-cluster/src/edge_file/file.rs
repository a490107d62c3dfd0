//! A file of edges, or the part of a graph that a server has, in pieces.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use nakshi_engine::Context;
use nakshi_engine::parallel::run_workers;
use nakshi_store::import::{
    EdgePiece, EdgeReader, Format, ImportOptions, ParsedEdges, SelfLoops, Share,
};
use nakshi_store::{EdgePartBlock, EdgePartBlocks};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::load::LOADING;

/// A file of edges between whole numbers, which all servers can read under the same path.
///
/// Edges that come twice count once, with the smallest of their weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeFile {
    /// Path of the file.
    pub path: PathBuf,
    /// True if edges lead one way only.
    #[serde(default = "yes")]
    pub directed: bool,
    /// Format of the file.
    #[serde(default)]
    pub format: Format,
    /// Columns, as in [`ImportOptions::columns`].
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Header, as in [`ImportOptions::header`].
    #[serde(default)]
    pub header: Option<bool>,
    /// Separator, as in [`ImportOptions::separator`].
    #[serde(default)]
    pub separator: Option<u8>,
    /// True if edges have weights.
    #[serde(default)]
    pub weighted: bool,
    /// A file with vertices that may have no edge.
    #[serde(default)]
    pub nodes: Option<PathBuf>,
    /// Rule for edges from a vertex to itself.
    #[serde(default)]
    pub self_loops: SelfLoops,
}

fn yes() -> bool {
    true
}

impl EdgeFile {
    pub(super) fn reader(&self, weighted: bool, share: Share, cx: &Context) -> EdgeReader {
        let options = ImportOptions {
            directed: self.directed,
            format: self.format,
            columns: self.columns.clone(),
            header: self.header,
            separator: self.separator,
            weighted,
            nodes: self.nodes.clone(),
            self_loops: self.self_loops,
            ..ImportOptions::default()
        };
        EdgeReader::open(&self.path, &options, share, cx.cancel_token().clone())
    }

    /// Bytes of the file; 0 if that cannot be told.
    pub(crate) fn bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }
}

/// The edges of a file, or of a part, in pieces.
pub(super) enum PieceReader<'p> {
    File(Box<EdgeReader>),
    Part(EdgePartBlocks<'p>),
}

impl PieceReader<'_> {
    /// The next piece, and about how many bytes it has.
    fn next(&mut self) -> nakshi_store::Result<Option<(Piece, u64)>> {
        Ok(match self {
            PieceReader::File(reader) => {
                reader.next_piece()?.map(|piece| (Piece::File(piece), EdgeReader::PIECE))
            }
            PieceReader::Part(blocks) => {
                let from = blocks.position();
                let block = blocks.next_block()?;
                block.map(|block| (Piece::Part(block), blocks.position() - from))
            }
        })
    }
}

/// A piece that is not parsed yet.
enum Piece {
    File(EdgePiece),
    Part(EdgePartBlock),
}

/// The ids or edges of a piece.
pub(super) enum Parsed {
    File(Box<ParsedEdges>),
    Part(EdgePartBlock),
}

impl Parsed {
    /// Hands source, target and weight of each edge to `f`: ids of a file, or numbers of a part.
    pub(super) fn each_edge(
        &self,
        mut f: impl FnMut(u64, u64, f64) -> nakshi_engine::Result<()>,
    ) -> nakshi_engine::Result<()> {
        match self {
            Parsed::File(edges) => edges.edges().try_for_each(|(u, v, weight)| f(u, v, weight)),
            Parsed::Part(block) => block.each_edge(|u, v, weight| f(u.into(), v.into(), weight)),
        }
    }
}

/// A share of a file, or a part, as threads take pieces of it.
pub(super) struct Pieces<'p> {
    reader: PieceReader<'p>,
    pub(super) ended: bool,
    /// Bytes that were read, about: the share is read twice.
    done: u64,
    total: u64,
}

impl<'p> Pieces<'p> {
    /// Pieces of a share of `bytes` bytes, for the first or second pass (`pass` is 0 or 1).
    pub(super) fn new(reader: PieceReader<'p>, pass: u64, bytes: u64) -> Self {
        Pieces { reader, ended: false, done: pass * bytes, total: 2 * bytes }
    }

    /// Lets `f` see the next pieces, at most so many; what each thread has made of them.
    pub(super) fn parse<T: Send>(
        &mut self,
        most: usize,
        cx: &Context,
        new: impl Fn() -> T + Sync,
        f: impl Fn(&Parsed, &mut T) -> nakshi_engine::Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let shared = Mutex::new((self, most));
        let work = |_: usize| {
            let mut made = new();
            loop {
                cx.check()?;
                let piece = {
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    let (pieces, left) = &mut *shared;
                    if *left == 0 || pieces.ended {
                        return Ok(made);
                    }
                    *left -= 1;
                    let next = pieces.reader.next()?;
                    pieces.ended = next.is_none();
                    let bytes = next.as_ref().map_or(0, |(_, bytes)| *bytes);
                    pieces.done = pieces.total.min(pieces.done + bytes);
                    cx.progress().update(LOADING, pieces.done, pieces.total);
                    next
                };
                let parsed = match piece {
                    None => return Ok(made),
                    Some((Piece::File(piece), _)) => Parsed::File(Box::new(piece.parse()?)),
                    Some((Piece::Part(block), _)) => Parsed::Part(block),
                };
                f(&parsed, &mut made)?;
            }
        };
        Ok(run_workers(cx.threads(), work)?)
    }
}
