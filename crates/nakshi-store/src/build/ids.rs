//! The id dictionary and the order of the ids while they are written.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::ids::keys::{BLOCK, Key, KeyEncoder, decode_block};
use crate::{Error, ExternalId, FileEntry, IdKind, IdsEntry, Result, VertexId};

use super::files::BuildFiles;
use super::sink::Sink;

/// The writer of the id dictionary, which gets keys in rank order.
#[derive(Debug)]
pub(super) struct IdSink {
    kind: IdKind,
    encoder: KeyEncoder,
    keys: Sink,
    blocks: Sink,
    scratch: Vec<u8>,
}

impl IdSink {
    pub(super) fn create(files: &mut BuildFiles, kind: IdKind) -> Result<Self> {
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
        files: &mut BuildFiles,
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

/// Returns the external id of one vertex, from the files of ids as far as they are written.
pub(super) fn id_of(files: &BuildFiles, ids: &IdsEntry, v: VertexId) -> Result<ExternalId> {
    let file = |entry: &FileEntry| {
        let path = files.path(&entry.name);
        File::open(&path).map_err(|source| Error::io("open", &path, source))
    };
    let read = |entry: &FileEntry, at: u64, most: u64| -> Result<Vec<u8>> {
        let mut bytes =
            vec![0; usize::try_from(most.min(entry.len.saturating_sub(at))).unwrap_or(0)];
        let failed = |source| Error::io("read", files.path(&entry.name), source);
        file(entry)?.read_exact_at(&mut bytes, at).map_err(failed)?;
        Ok(bytes)
    };
    let short = || Error::BadList("the id dictionary is too short");
    let rank = match &ids.ranks {
        Some(ranks) => {
            let bytes = read(ranks, 4 * u64::from(v), 4)?;
            u32::from_le_bytes(*bytes.first_chunk().ok_or_else(short)?)
        }
        None => v,
    };
    let (Some(keys), Some(blocks)) = (&ids.keys, &ids.blocks) else {
        return Ok(ExternalId::I64(ids.first.saturating_add(rank.into())));
    };
    let (block, place) = (u64::from(rank) / BLOCK, u64::from(rank) % BLOCK);
    let bytes = read(blocks, 8 * block, 16)?;
    let mut ends = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let begin = ends.next().ok_or_else(short)?;
    let bytes = read(keys, begin, ends.next().unwrap_or(keys.len).saturating_sub(begin))?;
    let (mut found, mut at) = (None, 0);
    decode_block(ids.kind, &bytes, place + 1, &mut Vec::new(), |key| {
        if at == place {
            found = Some(key.to_external(ids.kind)?);
        }
        at += 1;
        Ok(())
    })?;
    found.ok_or_else(short)
}

/// The writer of the order of the ids, which gets the internal id of each rank in turn.
///
/// The inverse, the rank of each internal id, is computed from the written file, in as many passes
/// as the memory requires.
#[derive(Debug)]
pub(super) struct OrderSink {
    internal: Sink,
    vertices: u64,
    count: u64,
    identity: bool,
}

impl OrderSink {
    pub(super) fn create(files: &mut BuildFiles, vertices: u64) -> Result<Self> {
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
    pub(super) fn finish(self, files: &mut BuildFiles, memory: u64) -> Result<Orders> {
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
        // Four bytes for each vertex, and one that tells if it has a rank.
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

/// The file entries of both orders: internal ids by rank, ranks by internal id.
pub(super) type Orders = (Option<FileEntry>, Option<FileEntry>);

const INTERNAL: &str = "internal";

fn misfit(vertices: u64) -> Error {
    Error::Invalid(format!("the order of the ids is no permutation of {vertices} vertices"))
}

/// Visits the ranks of a range of internal ids, ascending by internal id.
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
