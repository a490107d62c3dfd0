//! Vertices of a file by their place among its ids.

use nakshi_engine::VertexId;
use nakshi_engine::program::pull::mixed;

use crate::exchange::{BATCH, Batch, Session};
use crate::{Error, Result};

/// Ids, each once.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// Ids below `most`, a bit each.
    low: Vec<u64>,
    most: u64,
    high: Vec<u64>,
    /// Length of `high` at which it is sorted again.
    full: usize,
}

/// Fewer ids are not worth sorting.
const FEW: usize = 1 << 16;

impl Distinct {
    /// An empty set for a file of `bytes` bytes. The memory for low ids is at most an eighth of that.
    pub(crate) fn new(bytes: u64) -> Self {
        Distinct { most: bytes.max(1 << 20), full: FEW, ..Distinct::default() }
    }

    #[inline]
    pub(crate) fn add(&mut self, id: u64) {
        if id < self.most {
            let word = (id / 64) as usize;
            if word >= self.low.len() {
                self.low.resize((word + 1).max(self.low.len() * 3 / 2), 0);
            }
            if let Some(word) = self.low.get_mut(word) {
                *word |= 1 << (id % 64);
            }
        } else {
            self.high.push(id);
            if self.high.len() >= self.full {
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        self.high.sort_unstable();
        self.high.dedup();
        self.full = FEW.max(2 * self.high.len());
    }

    pub(crate) fn join(&mut self, other: Self) {
        if self.low.len() < other.low.len() {
            self.low.resize(other.low.len(), 0);
        }
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a |= b);
        self.high.extend(other.high);
        self.settle();
    }

    /// All ids, ascending.
    pub(crate) fn sorted(mut self) -> Vec<u64> {
        self.settle();
        let mut ids = Vec::with_capacity(self.high.len());
        for (k, mut word) in (0..).zip(self.low) {
            while word != 0 {
                ids.push(64 * k + u64::from(word.trailing_zeros()));
                word &= word - 1;
            }
        }
        ids.extend(self.high);
        ids
    }
}

/// Ids in ascending order: the number of one is its place.
#[derive(Debug)]
pub(crate) struct Numbering {
    ids: Vec<u64>,
    /// Distances from the first id are cut off by so many bits, to look a number up.
    shift: u32,
    /// Number of ids before those with each shifted distance.
    starts: Vec<VertexId>,
}

impl Numbering {
    /// Numbers ascending ids.
    ///
    /// # Errors
    /// [`Error::Failed`] of `server` for 2^32 and more.
    pub(crate) fn new(ids: Vec<u64>, server: usize) -> Result<Self> {
        let first = ids.first().copied().unwrap_or_default();
        let range = ids.last().copied().unwrap_or_default() - first;
        if VertexId::try_from(ids.len()).is_err() {
            let why = format!("the graph has {} vertices; 2^32 - 1 are the most", ids.len());
            return Err(Error::Failed { server, why });
        }
        let most = 2 * ids.len().max(1) as u64;
        let shift = (0..64).find(|shift| range >> shift < most).unwrap_or_default();
        let mut starts = vec![0; (range >> shift) as usize + 2];
        for id in &ids {
            if let Some(start) = starts.get_mut(((id - first) >> shift) as usize + 1) {
                *start += 1;
            }
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        Ok(Numbering { ids, shift, starts })
    }

    /// Numbers the ids that all servers have found, ascending each. A server gathers those with the same
    /// hash, so
    /// that nobody gets an id once from everybody.
    pub(crate) fn of_all(mine: &[u64], session: &mut Session) -> Result<Self> {
        let servers = session.servers();
        let mut chunks = mine.chunks(BATCH / 8).peekable();
        let mut produce = || {
            let mut frames = vec![Session::frame(0); servers];
            for id in chunks.next().unwrap_or_default() {
                let to = (mixed(*id) % servers as u64) as usize;
                frames
                    .iter_mut()
                    .skip(to)
                    .take(1)
                    .for_each(|f| f.extend_from_slice(&id.to_le_bytes()));
            }
            let frames = frames.into_iter().enumerate();
            let full = frames.filter(|(_, frame)| frame.len() > Session::HEADER).collect();
            Ok(Batch { frames: full, more: chunks.peek().is_some() })
        };
        let mut gathered = Vec::new();
        session.exchange(&mut produce, &mut |_, body| {
            gathered.extend(body.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
            Ok(())
        })?;
        gathered.sort_unstable();
        gathered.dedup();
        let mut chunks = gathered.chunks((BATCH / 8 / servers).max(1)).peekable();
        let mut produce = || {
            let mut frame = Session::frame(0);
            let ids = chunks.next().unwrap_or_default();
            ids.iter().for_each(|id| frame.extend_from_slice(&id.to_le_bytes()));
            let frames = (0..servers).map(|to| (to, frame.clone())).collect();
            Ok(Batch { frames, more: chunks.peek().is_some() })
        };
        let mut all: Vec<u64> = Vec::new();
        session.exchange(&mut produce, &mut |_, body| {
            all.extend(body.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
            Ok(())
        })?;
        all.sort_unstable();
        Numbering::new(all, session.server())
    }

    /// Number of ids.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The number of an id.
    #[inline]
    pub(crate) fn number(&self, id: u64) -> Option<VertexId> {
        let bucket = (id.checked_sub(*self.ids.first()?)? >> self.shift) as usize;
        let &[from, end] = self.starts.get(bucket..bucket + 2)? else { return None };
        if self.shift == 0 {
            // Ids are close together: a bucket has one at most.
            return (from < end).then_some(from);
        }
        let ids = self.ids.get(from as usize..end as usize)?;
        // No larger than the number of ids, which fits.
        ids.binary_search(&id).ok().map(|k| from + k as VertexId)
    }

    /// The ids of some numbers.
    pub(crate) fn ids(&self, numbers: &[VertexId]) -> Vec<u64> {
        numbers.iter().filter_map(|v| self.ids.get(*v as usize).copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        let far: Vec<u64> = (0..5000).map(|k| mixed(k % 3000)).collect();
        let near: Vec<u64> = (0..5000).map(|k| 7 + k % 2000 * 3).collect();
        let mixed_up: Vec<u64> = far.iter().chain(&near).copied().chain([u64::MAX, 0]).collect();
        for given in [Vec::new(), vec![9], near, far, mixed_up] {
            let (mut one, mut other) = (Distinct::new(0), Distinct::new(0));
            given.iter().for_each(|id| if id % 2 == 0 { one.add(*id) } else { other.add(*id) });
            one.join(other);
            let mut sorted = given.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let ids = one.sorted();
            assert!(ids == sorted);
            let numbers = Numbering::new(ids, 0).unwrap();
            for (k, id) in (0..).zip(&sorted) {
                assert_eq!(numbers.number(*id), Some(k));
                for other in [id.wrapping_add(1), id.wrapping_sub(1)] {
                    assert_eq!(
                        numbers.number(other).is_some(),
                        sorted.binary_search(&other).is_ok()
                    );
                }
            }
        }
    }
}
