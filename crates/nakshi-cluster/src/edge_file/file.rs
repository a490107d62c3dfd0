//! A file of edges, and its share of a server in pieces.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use nakshi_engine::Context;
use nakshi_engine::parallel::run_workers;
use nakshi_store::import::{EdgeReader, Format, ImportOptions, ParsedEdges, SelfLoops, Share};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::exchange::Session;
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

pub(super) fn share_of(session: Option<&Session>) -> Share {
    session.map_or(Share { number: 0, of: 1 }, |session| Share {
        number: session.server(),
        of: session.servers(),
    })
}

/// A share of a file as threads take pieces of it.
pub(super) struct Pieces {
    reader: EdgeReader,
    pub(super) ended: bool,
    /// Bytes that were read, about: the share is read twice.
    done: u64,
    total: u64,
}

impl Pieces {
    /// Pieces of a share of `bytes` bytes, for the first or second pass (`pass` is 0 or 1).
    pub(super) fn new(reader: EdgeReader, pass: u64, bytes: u64) -> Self {
        Pieces { reader, ended: false, done: pass * bytes, total: 2 * bytes }
    }

    /// Lets `f` see the edges of the next pieces, at most so many; what each thread has made of them.
    pub(super) fn parse<T: Send>(
        &mut self,
        most: usize,
        cx: &Context,
        new: impl Fn() -> T + Sync,
        f: impl Fn(&ParsedEdges, &mut T) -> nakshi_engine::Result<()> + Sync,
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
                    let next = pieces.reader.next_piece()?;
                    pieces.ended = next.is_none();
                    pieces.done = pieces.total.min(pieces.done + EdgeReader::PIECE);
                    cx.progress().update(LOADING, pieces.done, pieces.total);
                    next
                };
                let Some(piece) = piece else { return Ok(made) };
                f(&piece.parse()?, &mut made)?;
            }
        };
        Ok(run_workers(cx.threads(), work)?)
    }
}
