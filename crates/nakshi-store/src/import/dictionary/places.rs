//! The positions of all ids by rank.

use super::merge::RankReader;
use crate::Result;
use crate::sort::spill::{Spill, SpillExtent, StreamReader};

/// Bytes of positions that are read at a time.
const WINDOW: usize = 256 << 10;

/// The position of each rank, in memory or on disk.
#[derive(Debug)]
pub(super) enum Places {
    Memory(Vec<u32>),
    Disk(Vec<SpillExtent>),
}

impl Places {
    /// Passes the position of each number of some generations to `found`, with the place of its
    /// reader. Reads what is on disk once.
    pub fn look_up(
        &self,
        spill: &Spill,
        mut readers: Vec<RankReader<'_>>,
        mut found: impl FnMut(usize, u32, u32),
    ) -> Result<()> {
        let extents = match self {
            Self::Memory(places) => {
                for (at, ranks) in readers.iter_mut().enumerate() {
                    while let Some((number, rank)) = ranks.next()? {
                        found(at, number, places.get(rank as usize).copied().unwrap_or(0));
                    }
                }
                return Ok(());
            }
            Self::Disk(extents) => extents,
        };
        let mut heads = Vec::with_capacity(readers.len());
        for ranks in &mut readers {
            heads.push(ranks.next()?);
        }
        let mut stream = StreamReader::new(spill, extents.clone(), WINDOW);
        let mut first = 0;
        while heads.iter().any(Option::is_some) {
            let window = stream.peek(4)?.as_chunks::<4>().0;
            if window.is_empty() {
                return Ok(());
            }
            for (at, (ranks, head)) in readers.iter_mut().zip(&mut heads).enumerate() {
                while let Some((number, rank)) = *head
                    && let Some(place) = window.get((rank - first) as usize)
                {
                    found(at, number, u32::from_le_bytes(*place));
                    *head = ranks.next()?;
                }
            }
            first += window.len() as u64;
            let bytes = window.len() * 4;
            stream.consume(bytes);
        }
        Ok(())
    }
}
