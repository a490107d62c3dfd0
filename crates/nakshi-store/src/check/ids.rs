//! External ids: ascending, distinct, and both orders inverse to each other.

use super::Checker;
use crate::ids::keys::{BLOCK, KeyEncoder};
use crate::{Error, IdKind, Key, Result};

impl Checker<'_> {
    pub(super) fn ids(&mut self) -> Result<()> {
        let entry = &self.store.manifest().ids;
        let vertices = self.store.num_vertices();
        if (entry.kind == IdKind::Dense) != entry.keys.is_none()
            || entry.keys.is_some() != entry.blocks.is_some()
        {
            self.problem("the manifest's id files do not fit the kind of the ids");
            return Ok(());
        }
        if let Err(error) = self.keys() {
            self.note(error)?;
        }
        let expected = vertices.checked_mul(4);
        let orders = [&entry.internal, &entry.ranks];
        if orders.iter().any(|o| o.as_ref().is_some_and(|f| Some(f.len) != expected))
            || entry.internal.is_some() != entry.ranks.is_some()
        {
            self.problem("the manifest's orders of ids have another length than the graph");
            return Ok(());
        }
        if entry.internal.is_some() {
            let map = self.store.ids()?;
            let (internal, ranks) = (map.internal_by_rank()?, map.rank_of()?);
            let inverse = (0..=u32::MAX)
                .zip(&internal)
                .all(|(rank, &v)| ranks.get(v as usize) == Some(&rank));
            if !inverse {
                self.problem("ids-1.internal and ids-1.ranks are not inverse to each other");
            }
        }
        Ok(())
    }

    /// Encodes the dictionary again and compares: the encoder refuses ids that are not ascending,
    /// and a misplaced id changes the offsets.
    fn keys(&mut self) -> Result<()> {
        let map = self.store.ids()?;
        let Some((_, blocks)) = &map.keys else { return Ok(()) };
        let offsets = blocks.load(&self.options.cancel)?;
        if offsets.len() as u64 != map.count.div_ceil(BLOCK).saturating_mul(8) {
            return Err(Error::BadList(
                "the id dictionary has another number of blocks than the graph",
            ));
        }
        let mut offsets = offsets.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b));
        let (kind, cancel) = (map.kind, self.options.cancel.clone());
        let mut encoder = KeyEncoder::new(kind);
        let (mut scratch, mut at) = (Vec::new(), 0);
        map.for_each(|_, key| {
            if let (IdKind::Text | IdKind::Big, Key::Bytes(bytes)) = (kind, key)
                && std::str::from_utf8(bytes).is_err()
            {
                return Err(Error::BadList("a text id is not UTF-8"));
            }
            scratch.clear();
            if encoder.push(key, &mut scratch)? && offsets.next() != Some(at) {
                return Err(Error::BadList(
                    "a block of the id dictionary is not where its offset says",
                ));
            }
            at += scratch.len() as u64;
            Ok(cancel.check()?)
        })
    }
}
