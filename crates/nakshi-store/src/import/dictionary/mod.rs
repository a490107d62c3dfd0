//! The dictionary maps external ids to positions in the layout, under a memory cap.
//!
//! Workers give ids provisional numbers: a small integer is its own number ([`Direct`]); any other
//! id gets its number in a hash table ([`Interner`]). When a table outgrows its share of memory,
//! the worker writes its ids to disk as a sorted run and begins a new *generation* with an empty
//! table. The edges of a generation refer to its numbers only. In the end a merge of all runs
//! visits the distinct ids in ascending order, and gives the position of each id to all generations
//! that know it. Only one table at a time has to fit in memory, for any size of input.

mod direct;
mod interner;
mod order;
mod runs;

use std::collections::HashMap;

pub(crate) use direct::Direct;
pub(crate) use interner::Interner;
pub(crate) use order::IdOrder;
pub(crate) use runs::{DIRECT, IdKey, IdRun, MergedId, merge};

use crate::sort::spill::{Spill, SpillExtent, StreamReader, StreamWriter, put_words, words};
use crate::{Error, Result};

/// All ids of the input.
#[derive(Debug)]
pub(crate) struct Dictionary<'s> {
    spill: &'s Spill,
    direct: Direct,
    runs: Vec<IdRun>,
    order: IdOrder,
    memory: u64,
    /// Number of ids in each generation.
    sizes: Vec<u32>,
    places: Vec<Vec<SpillExtent>>,
}

/// The result of a pass over the ids.
#[derive(Debug, Default)]
pub(crate) struct IdCensus {
    /// Number of distinct ids.
    pub vertices: u64,
    /// Number of vertices by their number of edge ends.
    pub degrees: HashMap<u64, u64>,
    pub first: Option<IdKey>,
    pub last: Option<IdKey>,
}

impl<'s> Dictionary<'s> {
    /// Combines what the workers collected. `sizes[g]` is the number of ids in generation `g`; the
    /// runs are in any order.
    pub fn new(
        spill: &'s Spill,
        direct: Direct,
        runs: Vec<IdRun>,
        sizes: Vec<u32>,
        canonical: bool,
        memory: u64,
    ) -> Result<Self> {
        let order = if canonical { IdOrder::Integer } else { IdOrder::Bytes };
        let mut runs =
            runs.into_iter().map(|run| run.reorder(spill, order)).collect::<Result<Vec<_>>>()?;
        if order == IdOrder::Bytes {
            direct_runs(spill, &direct, memory, &mut runs)?;
        }
        Ok(Self { spill, direct, runs, order, memory, sizes, places: Vec::new() })
    }

    /// Returns the order of the ids.
    pub fn order(&self) -> IdOrder {
        self.order
    }

    /// Visits the ids in ascending order.
    pub fn visit(&self, visit: &mut dyn FnMut(MergedId<'_>) -> Result<()>) -> Result<()> {
        let direct = (self.order == IdOrder::Integer).then_some(&self.direct);
        merge(self.spill, &self.runs, direct, self.order, self.memory, visit)
    }

    /// Counts the ids, in total and by degree, and passes each with its rank to `see`.
    pub fn census(&self, see: &mut dyn FnMut(u64, &MergedId<'_>)) -> Result<IdCensus> {
        let mut census = IdCensus::default();
        let mut small = vec![0_u64; 4096];
        self.visit(&mut |entry| {
            see(census.vertices, &entry);
            census.vertices += 1;
            match small.get_mut(usize::try_from(entry.ends).unwrap_or(usize::MAX)) {
                Some(count) => *count += 1,
                None => *census.degrees.entry(entry.ends).or_default() += 1,
            }
            if census.first.is_none() {
                census.first = Some(entry.key.clone());
            }
            match (&mut census.last, entry.key) {
                (Some(IdKey::Bytes(last)), IdKey::Bytes(key)) => last.clone_from(key),
                (last, key) => *last = Some(key.clone()),
            }
            Ok(())
        })?;
        census.degrees.extend((0..).zip(small).filter(|(_, count)| *count > 0));
        if census.vertices > 1 << 32 {
            return Err(Error::Unsupported(format!(
                "{} vertices; this version holds up to 2^32 = 4294967296",
                census.vertices
            )));
        }
        Ok(census)
    }

    /// Gives every id the position that `place(id, edge ends)` returns; calls it in ascending
    /// order.
    pub fn assign(&mut self, place: &mut dyn FnMut(&IdKey, u64) -> Result<u32>) -> Result<()> {
        if self.runs.is_empty() {
            return self.direct.replace(|id, ends| place(&IdKey::Int(id), ends));
        }
        let chunk = (self.memory / (self.sizes.len() as u64 + 1)).clamp(4 << 10, 64 << 10) as usize;
        let spill = self.spill;
        let mut writers: Vec<_> =
            self.sizes.iter().map(|_| StreamWriter::new(spill, chunk)).collect();
        // The merge still reads the counters, so the positions are spooled until it has ended.
        let mut direct_places = StreamWriter::new(spill, 256 << 10);
        self.visit(&mut |entry| {
            let place = place(entry.key, entry.ends)?;
            for &(generation, number) in entry.known {
                let word = u64::from(number) | u64::from(place) << 32;
                let writer = match writers.get_mut(generation as usize) {
                    Some(writer) if generation != DIRECT => writer,
                    _ => &mut direct_places,
                };
                put_words(writer.buffer(), &[word]);
                writer.settle()?;
            }
            Ok(())
        })?;
        self.places = writers.into_iter().map(StreamWriter::finish).collect::<Result<_>>()?;
        let direct_places = direct_places.finish()?;
        for_each_word(self.spill, direct_places, |word| {
            self.direct.set_place(word & 0xffff_ffff, (word >> 32) as u32);
        })
    }

    /// Returns the small integers, whose counters are now positions.
    pub fn direct(&self) -> &Direct {
        &self.direct
    }

    /// Returns the position of each number of a generation.
    pub fn table(&self, generation: u32) -> Result<Vec<u32>> {
        let size = self.sizes.get(generation as usize).copied().unwrap_or(0);
        let mut table = vec![0_u32; size as usize];
        let extents = self.places.get(generation as usize).cloned().unwrap_or_default();
        for_each_word(self.spill, extents, |word| {
            if let Some(slot) = table.get_mut((word & 0xffff_ffff) as usize) {
                *slot = (word >> 32) as u32;
            }
        })?;
        Ok(table)
    }
}

fn for_each_word(
    spill: &Spill,
    extents: Vec<SpillExtent>,
    mut visit: impl FnMut(u64),
) -> Result<()> {
    let mut reader = StreamReader::new(spill, extents, 256 << 10);
    loop {
        let bytes = reader.peek(8)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let whole = bytes.len() / 8 * 8;
        words(bytes).for_each(&mut visit);
        reader.consume(whole);
    }
}

/// Writes the counted integers as runs in the order of their bytes, to be merged with other ids.
fn direct_runs(spill: &Spill, direct: &Direct, memory: u64, runs: &mut Vec<IdRun>) -> Result<()> {
    // An entry takes about 64 bytes here.
    let limit = usize::try_from(memory / 64).unwrap_or(usize::MAX).max(1024);
    let mut entries: Vec<(Vec<u8>, u32, u64)> = Vec::new();
    let mut vertices = direct.vertices().peekable();
    while vertices.peek().is_some() {
        entries.clear();
        entries.extend(
            vertices
                .by_ref()
                .take(limit)
                .map(|(id, ends)| (id.to_string().into_bytes(), id as u32, ends)),
        );
        entries.sort_unstable();
        let sorted = entries.iter().map(|(key, number, ends)| (key.as_slice(), *number, *ends));
        runs.push(IdRun::write(spill, DIRECT, IdOrder::Bytes, sorted)?);
    }
    Ok(())
}
