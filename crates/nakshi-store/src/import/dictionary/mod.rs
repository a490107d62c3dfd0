//! The dictionary maps external ids to positions in the layout, under a memory cap.
//!
//! Workers give ids provisional numbers: a small integer is its own number ([`SmallIds`], and
//! [`Direct`] for those of all workers); another integer of 64 bits is numbered in a batch of
//! edges ([`IntBatch`]), any other id in a hash table ([`Interner`]). When a batch or a table
//! outgrows its share of memory, the worker writes its ids to disk as a sorted run and begins a
//! new *generation*. The edges of a generation refer to its numbers only. In the end one merge of
//! all runs, in parallel over ranges of the ids, gives every id its rank: it writes the distinct
//! ids, and for each run the ranks of its ids. Only the table of one generation at a time has to
//! fit in memory, for any size of input.
//!
//! Integers are merged as integers. If some id is none, all are merged by their bytes, and so are
//! all if some integer exceeds 64 bits.

mod direct;
mod int_batch;
mod int_run;
mod interner;
mod merge;
mod order;
mod places;
mod runs;
mod small_ids;

use std::collections::HashMap;

pub(crate) use direct::Direct;
pub(crate) use int_batch::{IntBatch, integer64};
pub(crate) use int_run::IntRun;
pub(crate) use interner::Interner;
pub(crate) use order::IdOrder;
pub(crate) use runs::{IdKey, IdRun};
pub(crate) use small_ids::SmallIds;

use int_run::IntReader;
use merge::{Merged, RunReader, merge};
use places::Places;
use runs::{ByteKey, ByteReader, sorted_runs};

use crate::hooks::Hooks;
use crate::sort::spill::{Spill, StreamWriter};
use crate::{Error, Result};

/// The generation of the ids that [`Direct`] counts.
const DIRECT: u32 = u32::MAX;

/// The ids of a generation.
#[derive(Debug)]
pub(crate) enum Run {
    /// Integers of 64 bits, numbered in their order.
    Ints(IntRun),
    /// Other ids.
    Bytes(IdRun),
}

/// Memory and threads of the dictionary, once all ids are collected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DictionaryBudget {
    /// Bytes for the merge, and for the positions of all ids.
    pub memory: u64,
    pub threads: usize,
}

/// All ids of the input.
#[derive(Debug)]
pub(crate) struct Dictionary<'s> {
    spill: &'s Spill,
    direct: Direct,
    /// Nothing if [`Direct`] counts all ids.
    merged: Option<Merged>,
    /// True if the keys of the merge are integers.
    ints: bool,
    order: IdOrder,
    memory: u64,
    /// Number of ids in each generation.
    sizes: Vec<u32>,
    places: Option<Places>,
}

/// An id of the input.
pub(crate) struct NamedId<'m> {
    pub key: &'m IdKey,
    /// Number of edge ends at this id.
    pub ends: u64,
    /// Number of the id by which [`Dictionary::names`] and [`Dictionary::direct_name`] call it.
    pub name: u32,
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

/// Runs of integers, and those that [`Direct`] counts.
struct IntRuns<'r> {
    spill: &'r Spill,
    runs: &'r [IntRun],
    direct: &'r Direct,
}

impl merge::Runs for IntRuns<'_> {
    type Key = i128;
    type Reader<'r>
        = IntReader<'r>
    where
        Self: 'r;

    fn marks(&self) -> Vec<i128> {
        self.runs.iter().flat_map(|run| &run.marks).map(|mark| mark.key).collect()
    }

    fn readers(&self, from: Option<&i128>, memory: u64) -> Result<Vec<(u32, IntReader<'_>)>> {
        let chunk = chunk(memory, self.runs.len());
        let mut readers = Vec::new();
        for run in self.runs {
            let reader = IntReader::run(self.spill, run, from, chunk)?;
            readers.extend(reader.map(|reader| (run.generation, reader)));
        }
        let direct = IntReader::direct(self.direct, from)?;
        readers.extend(direct.map(|reader| (DIRECT, reader)));
        Ok(readers)
    }
}

/// Runs of ids as bytes.
struct ByteRuns<'r> {
    spill: &'r Spill,
    runs: &'r [IdRun],
}

impl merge::Runs for ByteRuns<'_> {
    type Key = ByteKey;
    type Reader<'r>
        = ByteReader<'r>
    where
        Self: 'r;

    fn marks(&self) -> Vec<ByteKey> {
        self.runs.iter().flat_map(|run| &run.marks).map(|mark| mark.key.clone()).collect()
    }

    fn readers(&self, from: Option<&ByteKey>, memory: u64) -> Result<Vec<(u32, ByteReader<'_>)>> {
        let chunk = chunk(memory, self.runs.len());
        let mut readers = Vec::new();
        for run in self.runs {
            let reader = ByteReader::new(self.spill, run, from, chunk)?;
            readers.extend(reader.map(|reader| (run.generation, reader)));
        }
        Ok(readers)
    }
}

/// Returns the bytes of each of so many read buffers.
fn chunk(memory: u64, buffers: usize) -> usize {
    (memory / (buffers as u64 + 1)).clamp(1 << 10, 256 << 10) as usize
}

impl<'s> Dictionary<'s> {
    /// Merges what the workers collected. `sizes[g]` is the number of ids in generation `g`; the
    /// runs are in any order; `canonical` says that all ids are integers.
    pub fn new(
        spill: &'s Spill,
        direct: Direct,
        runs: Vec<Run>,
        sizes: Vec<u32>,
        canonical: bool,
        budget: DictionaryBudget,
        hooks: &Hooks,
    ) -> Result<Self> {
        let order = if canonical { IdOrder::Integer } else { IdOrder::Bytes };
        let DictionaryBudget { memory, threads } = budget;
        let ints = canonical && runs.iter().all(|run| matches!(run, Run::Ints(_)));
        let mut dictionary =
            Self { spill, direct, merged: None, ints, order, memory, sizes, places: None };
        let check = || hooks.check();
        if ints && !runs.is_empty() {
            let runs: Vec<IntRun> = runs
                .into_iter()
                .filter_map(|run| match run {
                    Run::Ints(run) => Some(run),
                    Run::Bytes(_) => None,
                })
                .collect();
            let all = IntRuns { spill, runs: &runs, direct: &dictionary.direct };
            dictionary.merged = Some(merge(spill, &all, memory, threads, &check)?);
            runs.iter().try_for_each(|run| run.free(spill))?;
        } else if !ints {
            let runs = dictionary.as_bytes(runs)?;
            let all = ByteRuns { spill, runs: &runs };
            dictionary.merged = Some(merge(spill, &all, memory, threads, &check)?);
            runs.iter().try_for_each(|run| run.free(spill))?;
        }
        dictionary.set_direct(|rank| rank as u32)?;
        Ok(dictionary)
    }

    /// Returns all ids, counted ones too, as runs of bytes in the order of the dictionary.
    fn as_bytes(&self, runs: Vec<Run>) -> Result<Vec<IdRun>> {
        let (spill, order, memory) = (self.spill, self.order, self.memory);
        let mut all = Vec::new();
        for run in runs {
            let run = match run {
                Run::Bytes(run) => {
                    all.extend(run.reorder(spill, order, memory)?);
                    continue;
                }
                Run::Ints(run) => run,
            };
            let mut reader = IntReader::run(spill, &run, None, 256 << 10)?;
            let next = || {
                let Some(open) = &mut reader else { return Ok(None) };
                let entry = open.entry();
                let found = (entry.key.to_string().into_bytes(), entry.number, entry.ends);
                if !open.advance()? {
                    reader = None;
                }
                Ok(Some(found))
            };
            all.extend(sorted_runs(spill, run.generation, order, memory, next)?);
            run.free(spill)?;
        }
        let mut vertices = self.direct.vertices();
        let next = || {
            let vertex = vertices.next();
            Ok(vertex.map(|(id, ends)| (id.to_string().into_bytes(), id as u32, ends)))
        };
        all.extend(sorted_runs(spill, DIRECT, order, memory, next)?);
        Ok(all)
    }

    /// Replaces the number of each counted id by what `number` makes of its rank.
    fn set_direct(&mut self, mut number: impl FnMut(u64) -> u32) -> Result<()> {
        let Some(merged) = &self.merged else { return Ok(()) };
        for mut ranks in merged.ranks(self.spill, DIRECT, 256 << 10) {
            while let Some((id, rank)) = ranks.next()? {
                self.direct.set_place(id, number(rank));
            }
        }
        Ok(())
    }

    /// Returns the order of the ids.
    pub fn order(&self) -> IdOrder {
        self.order
    }

    /// Visits the ids in ascending order.
    pub fn visit(&self, visit: &mut dyn FnMut(NamedId<'_>) -> Result<()>) -> Result<()> {
        let Some(merged) = &self.merged else {
            return self.direct.vertices().try_for_each(|(id, ends)| {
                visit(NamedId { key: &IdKey::Int(id.into()), ends, name: id as u32 })
            });
        };
        let mut rank = 0_u32;
        let mut named = |key: &IdKey, ends| {
            let name = rank;
            rank = rank.wrapping_add(1);
            visit(NamedId { key, ends, name })
        };
        if self.ints {
            return merged
                .visit(self.spill, &mut |key: &i128, ends| named(&IdKey::Int(*key), ends));
        }
        let mut id = IdKey::Bytes(Vec::new());
        merged.visit(self.spill, &mut |key: &ByteKey, ends| {
            if let IdKey::Bytes(bytes) = &mut id {
                bytes.clone_from(&key.bytes);
            }
            named(&id, ends)
        })
    }

    /// Counts the ids, in total and by degree, and passes each with its rank to `see`.
    pub fn census(&self, see: &mut dyn FnMut(u64, &NamedId<'_>)) -> Result<IdCensus> {
        // Checked first, since ranks and positions of more vertices would not fit.
        if let Some(merged) = &self.merged {
            check_count(merged.vertices())?;
        }
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
        check_count(census.vertices)?;
        Ok(census)
    }

    /// Gives every id the position that `place(id, edge ends)` returns; calls it in ascending
    /// order.
    pub fn assign(&mut self, place: &mut dyn FnMut(&IdKey, u64) -> Result<u32>) -> Result<()> {
        let Some(merged) = &self.merged else {
            return self.direct.replace(|id, ends| place(&IdKey::Int(id.into()), ends));
        };
        let places = if merged.vertices() * 4 <= self.memory {
            let mut places = Vec::with_capacity(merged.vertices() as usize);
            self.visit(&mut |id| {
                places.push(place(id.key, id.ends)?);
                Ok(())
            })?;
            Places::Memory(places)
        } else {
            let mut writer = StreamWriter::new(self.spill, 256 << 10);
            self.visit(&mut |id| {
                writer.buffer().extend_from_slice(&place(id.key, id.ends)?.to_le_bytes());
                writer.settle()
            })?;
            Places::Disk(writer.finish()?)
        };
        let ranks = merged.ranks(self.spill, DIRECT, 256 << 10);
        let direct = &mut self.direct;
        places.look_up(self.spill, ranks, |_, id, place| direct.set_place(id, place))?;
        self.places = Some(places);
        Ok(())
    }

    /// Replaces both ids of each of some edges between small integers by their positions.
    pub fn direct_places(&self, edges: &mut [(u32, u32, u64)]) {
        self.direct.places(edges);
    }

    /// Returns the name of a small integer, before positions are assigned.
    #[inline]
    pub fn direct_name(&self, id: u32) -> u32 {
        if self.merged.is_some() { self.direct.place(id) } else { id }
    }

    /// Returns the number of generations whose tables fit in `memory` bytes from this one on, at
    /// least one.
    pub fn fitting(&self, generations: impl Iterator<Item = u32>, memory: u64) -> usize {
        let mut bytes = 0;
        let sizes = generations.map(|generation| u64::from(self.size(generation)) * 4);
        let fits = |size: &u64| {
            bytes += size;
            bytes <= memory
        };
        sizes.take_while(fits).count().max(1)
    }

    fn size(&self, generation: u32) -> u32 {
        self.sizes.get(generation as usize).copied().unwrap_or(0)
    }

    /// Returns the name of each number of a generation.
    pub fn names(&self, generation: u32) -> Result<Vec<u32>> {
        let mut names = vec![0; self.size(generation) as usize];
        let Some(merged) = &self.merged else { return Ok(names) };
        for mut ranks in merged.ranks(self.spill, generation, 256 << 10) {
            while let Some((number, rank)) = ranks.next()? {
                if let Some(slot) = names.get_mut(number as usize) {
                    *slot = rank as u32;
                }
            }
        }
        Ok(names)
    }

    /// Returns for each of some generations the position of each of its numbers. Their ranks are
    /// gone then.
    pub fn tables(&self, generations: &[u32]) -> Result<Vec<Vec<u32>>> {
        let mut tables: Vec<Vec<u32>> =
            generations.iter().map(|&generation| vec![0; self.size(generation) as usize]).collect();
        let (Some(merged), Some(places)) = (&self.merged, &self.places) else { return Ok(tables) };
        let chunk = chunk(1 << 20, generations.len());
        let (mut readers, mut owners) = (Vec::new(), Vec::new());
        for (owner, &generation) in generations.iter().enumerate() {
            let ranks = merged.ranks(self.spill, generation, chunk);
            owners.resize(owners.len() + ranks.len(), owner);
            readers.extend(ranks);
        }
        places.look_up(self.spill, readers, |reader, number, place| {
            let table = owners.get(reader).and_then(|&owner| tables.get_mut(owner));
            if let Some(slot) = table.and_then(|table| table.get_mut(number as usize)) {
                *slot = place;
            }
        })?;
        generations.iter().try_for_each(|&generation| merged.free(self.spill, generation))?;
        Ok(tables)
    }
}

fn check_count(vertices: u64) -> Result<()> {
    if vertices > 1 << 32 {
        return Err(Error::Unsupported(format!(
            "{vertices} vertices; this version holds up to 2^32 = 4294967296"
        )));
    }
    Ok(())
}
