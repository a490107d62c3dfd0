//! Loading from a file of edges (2.3.1): every server reads a share of it and sends edges to the owners
//! of the vertices whose lists they are in.
//!
//! The file is read twice. At first servers find out which ids there are, and number them in their
//! order, as an import with the original layout does; then they send edges by these numbers. Owners sort
//! their lists and drop edges that come twice, so that what they keep is what a store would have given.

mod lists;
mod loader;
mod numbering;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use nakshi_engine::Context;
use nakshi_engine::parallel::run_workers;
use nakshi_engine::program::pull::Links;
use nakshi_store::import::{EdgeReader, Edges, Format, ImportOptions, SelfLoops, Share};
use serde::{Deserialize, Serialize};

use crate::exchange::Session;
use crate::load::{LOADING, WantedLinks};
use crate::shard::MemoryBudget;
use crate::{Error, Partition, Result, Shard};
use lists::Owned;
use loader::Loader;
use numbering::Distinct;
pub(crate) use numbering::Numbering;

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
    fn reader(&self, weighted: bool, share: Share, cx: &Context) -> EdgeReader {
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

    /// Numbers all ids of the file, which has so many bytes for others: `server` together with the other
    /// servers, or alone.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Failed`] if the file is another one here.
    pub(crate) fn numbered(
        &self,
        bytes: u64,
        (server, session): (usize, Option<&mut Session>),
        cx: &Context,
    ) -> Result<Numbering> {
        let share = share_of(session.as_deref());
        let reader = self.reader(false, share, cx);
        let mut pieces = Pieces::new(reader, 0, bytes / share.of as u64);
        let new = || Distinct::new(bytes);
        let found = pieces.parse(usize::MAX, cx, new, |edges, ids| {
            edges.vertices().for_each(|id| ids.add(id));
            Ok(())
        })?;
        let here = self.bytes();
        if here != bytes {
            let path = self.path.display();
            let why = format!("{path} has {here} bytes here and {bytes} at the front-end");
            return Err(Error::Failed { server, why });
        }
        let mut ids = Distinct::new(bytes);
        found.into_iter().for_each(|found| ids.join(found));
        match session {
            Some(session) => Numbering::of_all(&ids.sorted(), session),
            None => Numbering::new(ids.sorted(), server),
        }
    }

    /// Loads this server's part: of the servers of a session together, or alone as `place`.
    ///
    /// # Errors
    /// Errors of reading and of sending; [`nakshi_engine::Error::Budget`].
    pub(crate) fn load(
        &self,
        wanted: WantedLinks,
        numbers: &Numbering,
        budget: &MemoryBudget,
        place: (usize, usize),
        mut session: Option<&mut Session>,
        cx: &Context,
    ) -> Result<Shard> {
        let (server, servers) = place;
        let partition = Partition::new(servers)?;
        let alone = session.is_none().then_some(server);
        let loader = Loader::new(self, wanted, numbers, &partition, alone);
        let gathered = loader.gather(server, budget, session.as_deref_mut(), cx)?;
        let own = Owned::new(&loader, server);
        let incoming = own.lists(gathered.incoming, loader.weighted, cx)?;
        let outgoing = own.lists(gathered.outgoing, false, cx)?;
        let degrees = match session.as_deref_mut() {
            _ if wanted.links == Links::Both || !self.directed => {
                let (out, incoming) = (outgoing.lengths(), incoming.lengths());
                out.zip(incoming).map(|(a, b)| a.saturating_add(b)).collect()
            }
            Some(session) => loader.out_degrees(&incoming, &own, session)?,
            None => outgoing.lengths().collect(),
        };
        let lists = match wanted.links {
            Links::Both => vec![outgoing, incoming],
            Links::In => vec![incoming],
        };
        let mut shard = loader.build((&own, &degrees), &lists, &partition, (server, budget))?;
        if let Some(session) = session {
            shard.exchange(None, session)?;
            budget.check(&shard)?;
        }
        Ok(shard)
    }
}

fn share_of(session: Option<&Session>) -> Share {
    session.map_or(Share { number: 0, of: 1 }, |session| Share {
        number: session.server(),
        of: session.servers(),
    })
}

/// A share of a file as threads take pieces of it.
struct Pieces {
    reader: EdgeReader,
    ended: bool,
    /// Bytes that were read, about: the share is read twice.
    done: u64,
    total: u64,
}

impl Pieces {
    /// Pieces of a share of `bytes` bytes, for the first or second pass (`pass` is 0 or 1).
    fn new(reader: EdgeReader, pass: u64, bytes: u64) -> Self {
        Pieces { reader, ended: false, done: pass * bytes, total: 2 * bytes }
    }

    /// Lets `f` see the edges of the next pieces, at most so many; what each thread has made of them.
    fn parse<T: Send>(
        &mut self,
        most: usize,
        cx: &Context,
        new: impl Fn() -> T + Sync,
        f: impl Fn(&Edges, &mut T) -> nakshi_engine::Result<()> + Sync,
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
