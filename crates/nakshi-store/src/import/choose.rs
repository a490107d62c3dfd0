//! The choice of the layout that suits a graph: the order of its ids, or hubs first.
//!
//! Ids often come in a meaningful order: the pages of a web site follow each other, the members of
//! a community were numbered together. Then neighbours lie near each other, lists take few bytes, a
//! traversal reads few pages, and an order by degree would scatter them. If the order of the ids
//! has no meaning, hubs first is better. The import therefore encodes a sample of whole lists in
//! both orders, and chooses the order with the shorter code. It draws lists by a hash of the
//! vertex's rank, so that the choice depends on the graph alone.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nakshi_io::run_workers;

use super::collect::Collected;
use super::dictionary::{Dictionary, IdCensus, NamedId};
use super::options::{ImportLayout, ImportOptions};
use crate::hooks::Hooks;
use crate::layout::StreamingOrder;
use crate::random::mix;
use crate::sort::pairs::{PairChunk, PairReader};
use crate::sort::spill::Spill;
use crate::{Encoding, Result, VertexId};

/// Average number of list entries in a sample: enough to detect a difference of one or two percent.
const ENTRIES: u64 = 1 << 17;
/// Longest list that is drawn: a longer one could be the whole sample.
const LONGEST: u64 = 1 << 14;

/// A neighbour in a sampled list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampledArc {
    /// Number of the sampled vertex; the lowest bit marks lists of in-neighbours.
    list: u32,
    /// Its name in the dictionary.
    neighbour: u32,
}

/// The vertices whose lists are encoded in both orders.
#[derive(Debug)]
pub(super) struct ListSample {
    /// A vertex is drawn if the hash of its rank is at most this.
    threshold: u64,
    /// Number of each sampled vertex, by its name.
    names: HashMap<u32, u32>,
}

impl ListSample {
    /// Makes a sample of a graph with `edges` edges.
    pub fn new(edges: u64) -> Self {
        let arcs = u128::from(edges.max(1)) * 2;
        let threshold = u128::from(u64::MAX) * u128::from(ENTRIES) / arcs;
        let threshold = u64::try_from(threshold).unwrap_or(u64::MAX);
        Self { threshold, names: HashMap::new() }
    }

    /// Draws the vertex of this rank, or skips it.
    pub fn see(&mut self, rank: u64, entry: &NamedId<'_>) {
        if entry.ends <= LONGEST && mix(rank) <= self.threshold {
            let number = self.names.len() as u32;
            self.names.insert(entry.name, number);
        }
    }

    /// Chooses the layout with the shorter lists. Reads all edges and all ids once.
    pub fn choose(
        &self,
        collected: &Collected,
        pairs: &Spill,
        dictionary: &Dictionary<'_>,
        census: &IdCensus,
        options: &ImportOptions,
        hooks: &Hooks,
    ) -> Result<ImportLayout> {
        let mut arcs = self.arcs(collected, pairs, dictionary, options, hooks)?;
        arcs.sort_unstable();
        let mut places: HashMap<u32, [VertexId; 2]> =
            arcs.iter().map(|arc| (arc.neighbour, [0; 2])).collect();
        let (mut original, mut degree) =
            (StreamingOrder::Original { next: 0 }, StreamingOrder::degree(&census.degrees));
        dictionary.visit(&mut |entry| {
            let both = [original.place(entry.ends)?, degree.place(entry.ends)?];
            if both[0].is_multiple_of(1 << 16) {
                hooks.check()?;
            }
            if let Some(slot) = places.get_mut(&entry.name) {
                *slot = both;
            }
            Ok(())
        })?;
        let bytes = [0, 1].map(|order| {
            let place = |arc: &SampledArc| places.get(&arc.neighbour).map_or(0, |both| both[order]);
            arcs.chunk_by(|a, b| a.list == b.list).map(|list| coded(list.iter().map(place))).sum()
        });
        let [original, degree]: [usize; 2] = bytes;
        Ok(if original <= degree { ImportLayout::Original } else { ImportLayout::Degree })
    }

    /// Returns the sampled arcs, in any order.
    fn arcs(
        &self,
        collected: &Collected,
        pairs: &Spill,
        dictionary: &Dictionary<'_>,
        options: &ImportOptions,
        hooks: &Hooks,
    ) -> Result<Vec<SampledArc>> {
        let drawn = self.drawn();
        let generations =
            collected.generations.iter().map(|(number, chunks)| (Some(*number), chunks.as_slice()));
        let direct = collected.direct_chunks.chunks(4).map(|chunks| (None, chunks));
        let work = Mutex::new(generations.chain(direct));
        let found = run_workers(options.threads, |_| -> Result<Vec<SampledArc>> {
            let finder = ArcFinder { sample: self, drawn: &drawn, pairs, options };
            let (mut arcs, mut reader) = (Vec::new(), PairReader::default());
            loop {
                let next = work.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((generation, chunks)) = next else { return Ok(arcs) };
                let names = generation.map(|number| dictionary.names(number)).transpose()?;
                for &chunk in chunks {
                    hooks.check()?;
                    match &names {
                        Some(names) => {
                            let name = |id: u32| names.get(id as usize).copied().unwrap_or(0);
                            finder.find(chunk, &mut reader, name, &mut arcs)
                        }
                        None => {
                            let name = |id| dictionary.direct_name(id);
                            finder.find(chunk, &mut reader, name, &mut arcs)
                        }
                    }?;
                }
            }
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns a bitmap of the names that are in the sample.
    fn drawn(&self) -> Vec<u64> {
        let words = self.names.keys().map(|&name| name as usize / 64 + 1).max();
        let mut drawn = vec![0; words.unwrap_or(0)];
        for &name in self.names.keys() {
            drawn[name as usize / 64] |= 1 << (name % 64);
        }
        drawn
    }
}

/// Finds the sampled arcs in chunks of edges.
struct ArcFinder<'f> {
    sample: &'f ListSample,
    drawn: &'f [u64],
    pairs: &'f Spill,
    options: &'f ImportOptions,
}

impl ArcFinder<'_> {
    fn is_drawn(&self, name: u32) -> bool {
        self.drawn.get(name as usize / 64).is_some_and(|word| word >> (name % 64) & 1 == 1)
    }

    /// Adds the sampled arcs of a chunk, whose ids `name` knows.
    fn find(
        &self,
        chunk: PairChunk,
        reader: &mut PairReader,
        name: impl Fn(u32) -> u32,
        arcs: &mut Vec<SampledArc>,
    ) -> Result<()> {
        reader.read(self.pairs, chunk, false, |source, target, _| {
            let (source, target) = (name(source), name(target));
            let ends = [(source, target, false), (target, source, self.options.directed)];
            for (from, to, into) in ends {
                if self.is_drawn(from)
                    && let Some(&number) = self.sample.names.get(&from)
                {
                    arcs.push(SampledArc { list: number << 1 | u32::from(into), neighbour: to });
                }
            }
            Ok(())
        })
    }
}

/// Returns the encoded size of a list in bytes.
fn coded(neighbours: impl Iterator<Item = VertexId>) -> usize {
    let mut neighbours: Vec<VertexId> = neighbours.collect();
    neighbours.sort_unstable();
    neighbours.dedup();
    let mut code = Vec::new();
    crate::codec::encode(Encoding::Packed, &neighbours, &mut code);
    code.len()
}
