//! Local and remote value stores (2.3.2).

use std::mem::swap;
use std::ops::Range;
use std::sync::PoisonError;

use nakshi_engine::Bitmap;
use nakshi_engine::parallel::run_workers;
use nakshi_engine::program::pull::{PullValue, Totals};

use super::publish_lists::{self, PublishCursor, StepReport};
use crate::exchange::{Batch, Session};
use crate::{Error, Result, Shard};

/// Vertices that a thread takes at a time; a multiple of 64, so that it owns words of the flags.
pub(super) const BLOCK: usize = 1 << 12;

/// The values of a server: of its own vertices two versions, of others' one. Every value has a flag that
/// says whether it is new; flags of own vertices have two versions too, since they are read while they
/// are written.
#[derive(Debug)]
pub(crate) struct ValueStore<T> {
    /// Real versions, by slot.
    real: Vec<T>,
    /// Flags: the value was new in the step before.
    updated: Bitmap,
    shadow: Vec<T>,
    /// Which of the shadows are written.
    written: Bitmap,
}

/// Values and flags that a step reads.
pub(super) struct Real<'v, T> {
    pub(super) values: &'v [T],
    pub(super) updated: &'v Bitmap,
}

/// Values and flags that one thread writes.
pub(super) struct ShadowBlock<'v, T> {
    first: usize,
    shadow: &'v mut [T],
    words: &'v mut [u64],
}

impl<T> ShadowBlock<'_, T> {
    pub(super) fn slots(&self) -> Range<usize> {
        self.first..self.first + self.shadow.len()
    }

    #[inline]
    pub(super) fn put(&mut self, slot: usize, value: T) {
        let at = slot - self.first;
        if let (Some(place), Some(word)) = (self.shadow.get_mut(at), self.words.get_mut(at / 64)) {
            *place = value;
            *word |= 1 << (at % 64);
        }
    }
}

impl<T: PullValue> ValueStore<T> {
    /// Own values and flags as they are before a communication, and what was added up.
    pub(super) fn save(&self, totals: &Totals) -> Vec<u8> {
        let size = T::SIZE.unwrap_or(8) * self.shadow.len();
        let mut bytes = Vec::with_capacity(size + self.shadow.len() / 8 + 1024);
        totals.encode(&mut bytes);
        for word in self.written.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for (slot, (real, new)) in self.real.iter().zip(&self.shadow).enumerate() {
            let value = if self.written.get(slot) { new } else { real };
            value.encode(&mut bytes);
        }
        bytes
    }

    /// The values and totals of [`ValueStore::save`]. Those of others that were not new come from them.
    pub(super) fn restore(
        mut bytes: &[u8],
        shard: &Shard,
        session: &mut Session,
    ) -> Result<(Self, Totals)> {
        let server = session.server();
        let damaged = || Error::damaged(server, "its checkpoint does not fit its vertices");
        let totals = Totals::decode(&mut bytes).ok_or_else(damaged)?;
        let mut written = Bitmap::new(shard.own);
        for word in written.words_mut() {
            let (eight, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
            (*word, bytes) = (u64::from_le_bytes(*eight), rest);
        }
        let own: Option<Vec<T>> = (0..shard.own).map(|_| T::decode(&mut bytes)).collect();
        let own = own.filter(|_| bytes.is_empty()).ok_or_else(damaged)?;
        let mut values = ValueStore::new(shard, own.iter().cloned());
        let old = values.written.words_mut().iter_mut().zip(written.words());
        old.for_each(|(old, new)| *old &= !new);
        values.communicate(shard, session, 1, &StepReport::default())?;
        (values.shadow, values.written) = (own, written);
        Ok((values, totals))
    }

    /// A store of first values, all of them new.
    pub(super) fn new(shard: &Shard, first: impl Iterator<Item = T>) -> Self {
        let mut real = Vec::with_capacity(shard.ids.len());
        real.resize(shard.ids.len(), T::default());
        ValueStore {
            real,
            updated: Bitmap::new(shard.ids.len()),
            shadow: first.collect(),
            written: Bitmap::full(shard.own),
        }
    }

    /// The values of all slots.
    pub(super) fn every(&self) -> &[T] {
        &self.real
    }

    pub(super) fn own(&self) -> &[T] {
        self.real.get(..self.shadow.len()).unwrap_or_default()
    }

    /// The values that a step reads, and the blocks that it writes.
    pub(super) fn versions(
        &mut self,
        own: usize,
    ) -> (Real<'_, T>, impl Iterator<Item = ShadowBlock<'_, T>>) {
        self.written = Bitmap::new(own);
        let real = Real { values: &self.real, updated: &self.updated };
        let words = self.written.words_mut().chunks_mut(BLOCK / 64);
        let blocks = self.shadow.chunks_mut(BLOCK).zip(words).enumerate();
        let block = |(k, (shadow, words))| ShadowBlock { first: k * BLOCK, shadow, words };
        (real, blocks.map(block))
    }

    /// Sends new values to the servers that want them and takes theirs; then own shadows become real.
    /// Returns how many
    /// values were sent, and the merged report of all servers.
    pub(super) fn communicate(
        &mut self,
        shard: &Shard,
        session: &mut Session,
        senders: usize,
        said: &StepReport,
    ) -> Result<(u64, StepReport)> {
        let mut updated = Bitmap::new(shard.ids.len());
        let mut told = StepReport::default();
        let cursors = PublishCursor::new(shard.server, session.servers(), senders);
        let mut sent = 0;
        let (shadow, written) = (&self.shadow, &self.written);
        let mut first = Some(publish_lists::encode(&StepReport {
            updated: written.count() as u64,
            ..said.clone()
        }));
        let servers = session.servers();
        let mut produce = || {
            let mut batch = Batch::default();
            if let Some(body) = first.take() {
                batch.frames.extend((0..servers).map(|to| (to, body.clone())));
            }
            let filled = run_workers(cursors.len(), |sender| {
                let mut filled = Batch::default();
                let cursor = cursors.get(sender).map(|cursor| cursor.lock());
                let mut count = 0;
                if let Some(cursor) = cursor {
                    let mut cursor = cursor.unwrap_or_else(PoisonError::into_inner);
                    count = cursor.fill(&mut filled, &shard.publish, shadow, written);
                }
                Ok((filled, count))
            })?;
            for (filled, count) in filled {
                batch.frames.extend(filled.frames);
                batch.more |= filled.more;
                sent += count;
            }
            Ok(batch)
        };
        let real = &mut self.real;
        let mut sink = |from: usize, body: &[u8]| {
            let cut = || Error::damaged(from, "its values are cut off");
            let slots = shard.remote.get(from).cloned().unwrap_or_default();
            let (kind, mut body) = body.split_first().ok_or_else(cut)?;
            if *kind == publish_lists::SAID {
                let its = publish_lists::decode(&mut body).ok_or_else(cut)?;
                told.updated += its.updated;
                told.totals.merge(&its.totals);
                told.late |= its.late;
                return Ok(());
            }
            let places = real.get_mut(slots.clone()).ok_or_else(cut)?;
            publish_lists::take(*kind, body, places, |range| {
                updated.set_range(slots.start + range.start, slots.start + range.end);
            })
            .ok_or_else(cut)
        };
        session.exchange(&mut produce, &mut sink)?;
        self.commit(&mut updated);
        self.updated = updated;
        Ok((sent, told))
    }
    /// Written shadows become real versions; what was real becomes a shadow, except for values that have
    /// memory of their own.
    fn commit(&mut self, updated: &mut Bitmap) {
        let words = self.written.words().iter().zip(updated.words_mut());
        let values = self.real.chunks_mut(64).zip(self.shadow.chunks_mut(64));
        for ((written, updated), (real, shadow)) in words.zip(values) {
            *updated |= written;
            if *written == u64::MAX {
                // Without the shadows' end, which the last chunk of real values may go beyond.
                real.iter_mut().zip(shadow.iter_mut()).for_each(|(real, new)| swap(real, new));
            } else {
                let mut left = *written;
                while left != 0 {
                    let at = left.trailing_zeros() as usize;
                    if let (Some(real), Some(new)) = (real.get_mut(at), shadow.get_mut(at)) {
                        swap(real, new);
                    }
                    left &= left - 1;
                }
            }
            if T::SIZE.is_none() && *written != 0 {
                shadow.fill(T::default());
            }
        }
    }
}
