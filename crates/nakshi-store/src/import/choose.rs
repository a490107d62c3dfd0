//! The choice of the layout that suits a graph: the order of its ids, or hubs first.
//!
//! Ids often come in a meaningful order: the pages of a web site follow each other, the members of
//! a community were numbered together. Then neighbours lie near each other, lists take few bytes, a
//! traversal reads few pages, and an order by degree would scatter them. If the order of the ids
//! has no meaning, hubs first is better. The import therefore encodes a sample of whole lists in
//! both orders, and chooses the order with the shorter code. It draws lists by a hash of the
//! vertex's rank, so that the choice depends on the graph alone.

use std::collections::HashMap;

use nakshi_io::run_workers;

use super::collect::Collected;
use super::dictionary::{DIRECT, Dictionary, IdCensus, MergedId};
use super::options::{ImportLayout, ImportOptions};
use crate::hooks::Hooks;
use crate::layout::StreamingOrder;
use crate::random::mix;
use crate::sort::pairs::{PairChunk, read_chunk};
use crate::sort::spill::Spill;
use crate::{Encoding, Result, VertexId};

/// Average number of list entries in a sample: enough to detect a difference of one or two percent.
const ENTRIES: u64 = 1 << 17;
/// Longest list that is drawn: a longer one could be the whole sample.
const LONGEST: u64 = 1 << 14;

/// A provisional id: generation and number.
type ProvisionalId = (u32, u32);

/// A neighbour in a sampled list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampledArc {
    /// Number of the sampled vertex; the lowest bit marks lists of in-neighbours.
    list: u32,
    neighbour: ProvisionalId,
}

/// The vertices whose lists are encoded in both orders.
#[derive(Debug)]
pub(super) struct ListSample {
    /// A vertex is drawn if the hash of its rank is at most this.
    threshold: u64,
    vertices: u32,
    names: HashMap<ProvisionalId, u32>,
}

impl ListSample {
    /// Makes a sample of a graph with `edges` edges.
    pub fn new(edges: u64) -> Self {
        let arcs = u128::from(edges.max(1)) * 2;
        let threshold = u128::from(u64::MAX) * u128::from(ENTRIES) / arcs;
        let threshold = u64::try_from(threshold).unwrap_or(u64::MAX);
        Self { threshold, vertices: 0, names: HashMap::new() }
    }

    /// Draws the vertex of this rank, or skips it.
    pub fn see(&mut self, rank: u64, entry: &MergedId<'_>) {
        if entry.ends <= LONGEST && mix(rank) <= self.threshold {
            let number = self.vertices;
            self.names.extend(entry.known.iter().map(|&name| (name, number)));
            self.vertices += 1;
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
        let mut arcs = self.arcs(collected, pairs, options, hooks)?;
        arcs.sort_unstable();
        let mut places: HashMap<ProvisionalId, [VertexId; 2]> =
            arcs.iter().map(|arc| (arc.neighbour, [0; 2])).collect();
        let (mut original, mut degree) =
            (StreamingOrder::Original { next: 0 }, StreamingOrder::degree(&census.degrees));
        dictionary.visit(&mut |entry| {
            let both = [original.place(entry.ends)?, degree.place(entry.ends)?];
            if both[0].is_multiple_of(1 << 16) {
                hooks.check()?;
            }
            for name in entry.known {
                if let Some(slot) = places.get_mut(name) {
                    *slot = both;
                }
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
        options: &ImportOptions,
        hooks: &Hooks,
    ) -> Result<Vec<SampledArc>> {
        let generations = collected.generations.iter().map(|(number, chunks)| (*number, chunks));
        let mut arcs = Vec::new();
        for (generation, chunks) in generations.chain([(DIRECT, &collected.direct_chunks)]) {
            let drawn = self.drawn(generation);
            let share = chunks.len().div_ceil(options.threads.max(1)).max(1);
            let found = run_workers(options.threads, |worker| {
                let own = chunks.chunks(share).nth(worker).unwrap_or_default();
                self.find(generation, &drawn, own, pairs, options, hooks)
            })?;
            for some in found {
                arcs.extend(some);
            }
        }
        Ok(arcs)
    }

    /// Returns a bitmap of the numbers of a generation that are in the sample.
    fn drawn(&self, generation: u32) -> Vec<u64> {
        let own = self.names.keys().filter(|name| name.0 == generation);
        let words = own.clone().map(|name| name.1 as usize / 64 + 1).max();
        let mut drawn = vec![0; words.unwrap_or(0)];
        for &(_, number) in own {
            drawn[number as usize / 64] |= 1 << (number % 64);
        }
        drawn
    }

    /// Finds the sampled arcs in some chunks of a generation.
    fn find(
        &self,
        generation: u32,
        drawn: &[u64],
        chunks: &[PairChunk],
        pairs: &Spill,
        options: &ImportOptions,
        hooks: &Hooks,
    ) -> Result<Vec<SampledArc>> {
        let is_drawn = |number: u32| {
            drawn.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
        };
        let (mut arcs, mut bytes) = (Vec::new(), Vec::new());
        for &chunk in chunks {
            hooks.check()?;
            read_chunk(pairs, chunk, false, &mut bytes, |source, target, _| {
                let ends = [(source, target, false), (target, source, options.directed)];
                for (from, to, into) in ends {
                    if is_drawn(from)
                        && let Some(&number) = self.names.get(&(generation, from))
                    {
                        let list = number << 1 | u32::from(into);
                        arcs.push(SampledArc { list, neighbour: (generation, to) });
                    }
                }
                Ok(())
            })?;
        }
        Ok(arcs)
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
