//! The id dictionary while it is written.

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
            keys: files.sink("ids-1.keys", false)?,
            blocks: files.sink("ids-1.blocks", false)?,
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
        internal_by_rank: Option<&[VertexId]>,
    ) -> Result<IdsEntry> {
        if self.encoder.count() != vertices {
            return Err(Error::Invalid(format!(
                "{} external ids for {vertices} vertices",
                self.encoder.count()
            )));
        }
        let keys = Some(files.finish(self.keys)?);
        let blocks = Some(files.finish(self.blocks)?);
        let (internal, ranks) = orders(files, vertices, internal_by_rank)?;
        Ok(IdsEntry { kind: self.kind, first: 0, keys, blocks, internal, ranks })
    }
}

/// Writes both orders, unless they are equal.
pub(super) fn orders(
    files: &mut Files,
    vertices: u64,
    internal_by_rank: Option<&[VertexId]>,
) -> Result<(Option<FileEntry>, Option<FileEntry>)> {
    let Some(order) = internal_by_rank else { return Ok((None, None)) };
    if order.len() as u64 != vertices {
        return Err(Error::Invalid(format!(
            "an order of {} ids for {vertices} vertices",
            order.len()
        )));
    }
    let ranks = crate::Permutation::from_order(order)?;
    if ranks.is_identity() {
        return Ok((None, None));
    }
    let mut write = |name: &str, ids: &[VertexId]| {
        let mut sink = files.sink(name, false)?;
        let mut bytes = Vec::new();
        for chunk in ids.chunks(1 << 14) {
            bytes.clear();
            chunk.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
            sink.append(&bytes)?;
        }
        files.finish(sink)
    };
    Ok((Some(write("ids-1.internal", order)?), Some(write("ids-1.ranks", ranks.as_slice())?)))
}
