//! The id dictionary and the order of the ids while they are written.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use crate::ids::keys::{Key, KeyEncoder};
use crate::{Error, FileEntry, IdKind, IdsEntry, Result, VertexId};

use super::builder::Files;
use super::sink::Sink;

/// Keys in rank order on their way to disk.
#[derive(Debug)]
pub(super) struct IdSink {
    kind: IdKind,
    encoder: KeyEncoder,
    keys: Sink,
    blocks: Sink,
    scratch: Vec<u8>,
}

impl IdSink {
    pub(super) fn create(files: &mut Files, kind: IdKind) -> Result<Self> {
        if kind == IdKind::Dense {
            return Err(Error::Invalid("dense ids have no keys".into()));
        }
        Ok(Self {
            kind,
            encoder: KeyEncoder::new(kind),
            keys: files.sink("ids", "keys", false)?,
            blocks: files.sink("ids", "blocks", false)?,
            scratch: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, key: Key<'_>) -> Result<()> {
        self.scratch.clear();
        let begin = self.keys.len();
        if self.encoder.push(key, &mut self.scratch)? {
            self.blocks.append(&begin.to_le_bytes())?;
        }
        self.keys.append(&self.scratch)
    }

    pub(super) fn finish(
        self,
        files: &mut Files,
        vertices: u64,
        orders: Orders,
    ) -> Result<IdsEntry> {
        if self.encoder.count() != vertices {
            return Err(Error::Invalid(format!(
                "{} external ids for {vertices} vertices",
                self.encoder.count()
            )));
        }
        let keys = Some(files.finish(self.keys)?);
        let blocks = Some(files.finish(self.blocks)?);
        let (internal, ranks) = orders;
        Ok(IdsEntry { kind: self.kind, first: 0, keys, blocks, internal, ranks })
    }
}

/// The order of the ids on its way to disk: the internal id of each rank, as they come.
///
/// Its inverse, the rank of each internal id, is made from the written file, in as many passes as
/// memory asks for.
#[derive(Debug)]
pub(super) struct OrderSink {
    internal: Sink,
    vertices: u64,
    count: u64,
    identity: bool,
}

impl OrderSink {
    pub(super) fn create(files: &mut Files, vertices: u64) -> Result<Self> {
        let internal = files.sink("ids", INTERNAL, false)?;
        Ok(Self { internal, vertices, count: 0, identity: true })
    }

    pub(super) fn push(&mut self, v: VertexId) -> Result<()> {
        if u64::from(v) >= self.vertices || self.count >= self.vertices {
            return Err(misfit(self.vertices));
        }
        self.identity &= u64::from(v) == self.count;
        self.count += 1;
        self.internal.append(&v.to_le_bytes())
    }

    /// Writes both orders, unless they are equal; `memory` is for the table of ranks.
    pub(super) fn finish(self, files: &mut Files, memory: u64) -> Result<Orders> {
        if self.count != self.vertices {
            return Err(misfit(self.vertices));
        }
        if self.identity {
            drop(self.internal);
            files.discard(&files.name("ids", INTERNAL))?;
            return Ok((None, None));
        }
        let internal = files.finish(self.internal)?;
        let path = files.path(&files.name("ids", INTERNAL));
        let mut ranks = files.sink("ids", "ranks", false)?;
        // Four bytes a vertex, and one that says whether there is a rank.
        let room = (memory / 5).max(1 << 10);
        let mut start = 0;
        while start < self.vertices {
            let end = self.vertices.min(start.saturating_add(room));
            for_each_rank(&path, self.vertices, start..end, |rank| {
                ranks.append(&rank.to_le_bytes())
            })?;
            start = end;
        }
        Ok((Some(internal), Some(files.finish(ranks)?)))
    }
}

/// Entries of the files of both orders: internal ids by rank, ranks by internal id.
pub(super) type Orders = (Option<FileEntry>, Option<FileEntry>);

const INTERNAL: &str = "internal";

fn misfit(vertices: u64) -> Error {
    Error::Invalid(format!("the order of the ids is no permutation of {vertices} vertices"))
}

/// Shows the ranks of some internal ids, ascending by internal id.
fn for_each_rank(
    internal: &Path,
    vertices: u64,
    places: Range<u64>,
    mut visit: impl FnMut(VertexId) -> Result<()>,
) -> Result<()> {
    let size = crate::permutation::check_count(places.end - places.start)?;
    let (mut ranks, mut filled) = (vec![0; size], vec![false; size]);
    let failed = |source| Error::io("read", internal, source);
    let mut file = File::open(internal).map_err(failed)?;
    let mut buffer = vec![0; 256 << 10];
    let mut rank: u64 = 0;
    while rank < vertices {
        let left = usize::try_from((vertices - rank) * 4).unwrap_or(usize::MAX).min(buffer.len());
        let bytes = buffer.get_mut(..left).unwrap_or_default();
        file.read_exact(bytes).map_err(failed)?;
        for place in bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)) {
            let slot = u64::from(place).checked_sub(places.start);
            let slot = slot.and_then(|slot| usize::try_from(slot).ok()).unwrap_or(usize::MAX);
            if let (Some(slot), Some(filled)) = (ranks.get_mut(slot), filled.get_mut(slot)) {
                *slot = VertexId::try_from(rank).map_err(|_| misfit(vertices))?;
                *filled = true;
            }
            rank += 1;
        }
    }
    if filled.iter().any(|filled| !filled) {
        return Err(misfit(vertices));
    }
    ranks.into_iter().try_for_each(&mut visit)
}
