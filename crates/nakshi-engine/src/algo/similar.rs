//! Vertices with similar neighbours, by the Jaccard similarity that MinHash estimates.
//!
//! A. Broder, "On the resemblance and containment of documents", Compression and Complexity of Sequences
//! 1997: two sets have the same smallest hash with the probability of their Jaccard similarity. A vertex
//! has a signature of several smallest hashes; vertices that agree in all hashes of a *band* are
//! compared, as in P. Indyk, R. Motwani, "Approximate nearest neighbors", STOC 1998.
//!
//! Vertices are numbered by the ranks of the users' ids, so that the result does not depend on the layout.
//!
//! State: ranks, 8 bytes a vertex, 4 bytes a hash, 8 bytes for a band, and 6 bytes for each similar
//! vertex, which becomes 12 bytes of two columns.

use super::{Algorithm, Declared, Output, Parameter, algorithm};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::parallel::{map_ranges, parallel_for};
use crate::shared::{share_u16, share_u32, share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap};
use nakshi_store::{Direction, VertexId, mix};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Binary logarithm of the parts into which the vertices fall by the hash of a band.
const PART_BITS: u32 = 10;
/// Comparisons, and hashes, between two looks at whether the call shall stop.
const CHECK: usize = 1 << 16;

algorithm! {
    /// Similar vertices of each vertex: those that share most of their neighbours.
    ///
    /// The similarity of two vertices is that of Jaccard: neighbours of both over neighbours of any, estimated
    /// by MinHash; in a directed graph out-neighbours count. Vertices without neighbours have none.
    pub struct Similar = "similar" {
        /// Similar vertices for each vertex at most.
        pub k: u32 = 10 => Parameter::INTEGER.at_least(1.0).at_most(1000.0);
        /// Hashes of a vertex, 4 bytes each. The standard error of a similarity is at most 1 over twice the
        /// root of this number.
        pub hashes: u32 = 64 => Parameter::INTEGER.at_least(1.0).at_most(4096.0);
        /// Hashes in a band. Vertices are compared if they agree in a whole band; with 1, less similar ones
        /// are found, too, and a run takes longer.
        pub rows: u32 = 2 => Parameter::INTEGER.at_least(1.0);
        /// Comparisons of a vertex in a band at most, which bounds the time where many vertices agree.
        pub comparisons: u32 = 64 => Parameter::INTEGER.at_least(1.0);
        /// Similarity below which vertices do not count as similar.
        pub least: f64 = 0.0 => Parameter::NUMBER.at_least(0.0).at_most(1.0);
        /// Seed of the hashes.
        pub seed: u64 = 0 => Parameter::INTEGER;
    }
    citation: "A. Broder, \"On the resemblance and containment of documents\", SEQUENCES 1997";
    columns: &[
        Output::new("similar_*", "vertex", "the vertex of this place, the most similar first; missing if \
            there is none"),
        Output::new("similarity_*", "float64", "its estimated similarity"),
    ];
    summary: &[
        Output::new("compared", "uint64", "pairs of vertices that were compared"),
        Output::new("found", "uint64", "vertices that have a similar one"),
    ];
    raises: "more rows than hashes.";
}

/// Similar vertices in internal order.
#[derive(Debug, Clone, Default)]
pub struct SimilarVertices {
    /// By place, then vertex: the similar vertex; meaningful where it is in `there`.
    pub vertices: Vec<Vec<VertexId>>,
    /// By place, then vertex: the similarity.
    pub similarities: Vec<Vec<f64>>,
    /// By place: the vertices that have so many similar ones.
    pub there: Vec<Bitmap>,
    /// Pairs that were compared.
    pub compared: u64,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<SimilarVertices> for Outcome {
    fn from(found: SimilarVertices) -> Self {
        let count = found.there.first().map_or(0, Bitmap::count);
        let mut columns = Vec::new();
        let pairs = found.vertices.into_iter().zip(found.similarities).zip(found.there);
        for (place, ((vertices, similarities), there)) in pairs.enumerate() {
            let (vertices, similarities) = (Values::Vertex(vertices), Values::F64(similarities));
            columns.push(Column::with_valid(format!("similar_{place}"), vertices, there.clone()));
            columns.push(Column::with_valid(format!("similarity_{place}"), similarities, there));
        }
        Outcome::of(columns, found.stats)
            .with_summary("compared", found.compared)
            .with_summary("found", count)
    }
}

impl Algorithm for Similar {
    type Output = SimilarVertices;

    fn needs(&self, _summary: &Summary) -> Needs {
        let (k, hashes) = (f64::from(self.k), f64::from(self.hashes));
        let search = 4.0 * hashes + 8.0 + 6.0 * k;
        let result = (6.0 + 12.0 + 0.25) * k;
        let mut needs = Needs::new(8.0 + 0.25 + search.max(result), &[Direction::Out]);
        needs.state_bytes_fixed = 1 << 20;
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<SimilarVertices> {
        self.check()?;
        if self.rows > self.hashes {
            let message = format!("a band has at most all {} hashes", self.hashes);
            return Err(Error::parameter("rows", message));
        }
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let signatures = self.signatures(graph, cx)?;
        log.end("signatures", n as u64);
        let k = self.k as usize;
        let mut others = zeroed::<u32>(n * k, "similar vertices")?;
        let mut matches = zeroed::<u16>(n * k, "similar vertices")?;
        let best = Best { k, others: share_u32(&mut others), matches: share_u16(&mut matches) };
        let mut entries = zeroed::<u64>(signatures.listed.count(), "a band")?;
        let bands = self.hashes / self.rows;
        let mut compared = 0;
        for band in 0..bands {
            let search = Search { config: self, signatures: &signatures, best: &best, band };
            compared += search.run(&mut entries, cx)?;
            log.end("band", n as u64);
            cx.progress().update("similar", band.into(), bands.into());
        }
        drop((signatures, entries));
        let mut found = self.columns(graph, &others, &matches, cx)?;
        (found.compared, found.stats) = (compared, log.finish());
        Ok(found)
    }
}

/// Smallest hashes of the neighbours, by rank.
struct Signatures {
    width: usize,
    hashes: Vec<u32>,
    /// Ranks of the vertices that have neighbours.
    listed: Bitmap,
}

impl Signatures {
    fn of(&self, rank: usize) -> &[u32] {
        self.hashes.get(rank * self.width..(rank + 1) * self.width).unwrap_or_default()
    }

    /// Number of hashes in which two vertices agree.
    fn agreeing(&self, a: usize, b: usize) -> u16 {
        let pairs = self.of(a).iter().zip(self.of(b));
        // At most 4,096 hashes.
        pairs.filter(|(a, b)| a == b).count() as u16
    }
}

/// Multiplier and summand of a hash function.
fn function(seed: u64, at: u32) -> (u64, u64) {
    let first = mix(mix(seed).wrapping_add(u64::from(at) + 1));
    (first | 1, mix(first))
}

/// A hash of a neighbour; `number` is a hash of its rank.
#[inline]
fn hash((factor, summand): (u64, u64), number: u64) -> u32 {
    // Lossless: the upper half.
    ((number ^ summand).wrapping_mul(factor) >> 32) as u32
}

impl Similar {
    fn signatures(&self, graph: &Graph, cx: &Context) -> Result<Signatures> {
        let (n, width) = (graph.num_vertices(), self.hashes as usize);
        let ranks = graph.id_ranks(cx)?;
        let rank_of = |v: VertexId| match &ranks {
            Some(ranks) => ranks.get(v as usize).copied().unwrap_or(v),
            None => v,
        };
        let functions: Vec<_> = (0..self.hashes).map(|at| function(self.seed, at)).collect();
        let mut hashes = zeroed::<u32>(n * width, "signatures")?;
        let shared = share_u32(&mut hashes);
        let listed = AtomicBitmap::new(n);
        let init = |_| (vec![0u32; width], 0usize);
        graph.scan(Direction::Out, cx, init, |(least, visits), v, list| {
            least.fill(u32::MAX);
            let mut stop = Ok(());
            list.blocks(|block| {
                for &u in block {
                    let number = mix(u64::from(rank_of(u)).wrapping_add(1));
                    for (least, &function) in least.iter_mut().zip(&functions) {
                        *least = hash(function, number).min(*least);
                    }
                }
                *visits += block.len() * width;
                if *visits >= CHECK {
                    *visits = 0;
                    stop = cx.check();
                }
                if stop.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            stop?;
            if !list.is_empty() {
                let rank = rank_of(v) as usize;
                listed.set(rank);
                let slots = shared.get(rank * width..(rank + 1) * width).unwrap_or_default();
                slots.iter().zip(least.iter()).for_each(|(slot, &hash)| slot.store(hash, Relaxed));
            }
            Ok(())
        })?;
        Ok(Signatures { width, hashes, listed: listed.into_bitmap() })
    }

    /// Turns what was found by rank into columns by vertex.
    fn columns(
        &self,
        graph: &Graph,
        others: &[u32],
        matches: &[u16],
        cx: &Context,
    ) -> Result<SimilarVertices> {
        let (n, k) = (graph.num_vertices(), self.k as usize);
        let by_rank = graph.vertices_by_id(cx)?;
        let vertex_of = |rank: usize| match &by_rank {
            Some(vertices) => vertices.get(rank).copied().unwrap_or(0),
            // There are at most 2^32 vertices.
            None => rank as VertexId,
        };
        let mut found = SimilarVertices::default();
        for place in 0..k {
            cx.check()?;
            let mut vertices = zeroed::<u32>(n, "similar vertices")?;
            let mut similarities = zeroed::<f64>(n, "similarities")?;
            let mut there = Bitmap::new(n);
            let pairs = others.iter().zip(matches).skip(place).step_by(k);
            for (rank, (&other, &count)) in pairs.enumerate().filter(|(_, (_, count))| **count > 0)
            {
                let v = vertex_of(rank) as usize;
                if let (Some(vertex), Some(similarity)) =
                    (vertices.get_mut(v), similarities.get_mut(v))
                {
                    *vertex = vertex_of(other as usize);
                    *similarity = f64::from(count) / f64::from(self.hashes);
                    there.set(v);
                }
            }
            found.vertices.push(vertices);
            found.similarities.push(similarities);
            found.there.push(there);
        }
        Ok(found)
    }
}

/// The most similar vertices of each, by rank: descending by matches, then ascending by rank.
struct Best<'a> {
    k: usize,
    others: &'a [AtomicU32],
    matches: &'a [AtomicU16],
}

impl Best<'_> {
    fn slots(&self, rank: usize) -> (&[AtomicU32], &[AtomicU16]) {
        let range = rank * self.k..(rank + 1) * self.k;
        let others = self.others.get(range.clone()).unwrap_or_default();
        (others, self.matches.get(range).unwrap_or_default())
    }

    /// The matches with which a vertex enters the list of `rank`.
    fn entry(&self, rank: usize) -> u16 {
        self.slots(rank).1.last().map_or(u16::MAX, |last| last.load(Relaxed))
    }

    /// Adds `other` to the list of `rank`, unless it is there or others come before it. Only one worker
    /// changes a list at a time.
    fn add(&self, rank: usize, other: u32, count: u16) {
        let (others, matches) = self.slots(rank);
        let load = |at: usize| {
            let (other, count) = (others.get(at)?, matches.get(at)?);
            Some((other.load(Relaxed), count.load(Relaxed)))
        };
        let there = (0..self.k).map_while(load).take_while(|(_, count)| *count > 0);
        let mut place = 0;
        for (known, matching) in there {
            if known == other {
                return;
            }
            place += usize::from(matching > count || matching == count && known < other);
        }
        let mut moved = (other, count);
        for at in place..self.k {
            let (Some(other), Some(count)) = (others.get(at), matches.get(at)) else { return };
            moved = (other.swap(moved.0, Relaxed), count.swap(moved.1, Relaxed));
        }
    }
}

/// The search in one band.
struct Search<'a> {
    config: &'a Similar,
    signatures: &'a Signatures,
    best: &'a Best<'a>,
    band: u32,
}

impl Search<'_> {
    /// Compares vertices that agree in the band; returns the number of pairs. `entries` has room for all
    /// vertices that have neighbours.
    fn run(&self, entries: &mut [u64], cx: &Context) -> Result<u64> {
        let ends = self.place(share_u64(entries), cx)?;
        let (mut parts, mut rest, mut from) = (Vec::new(), entries, 0);
        for end in ends {
            let (part, after) = rest.split_at_mut(end - from);
            parts.push(Mutex::new(part));
            (rest, from) = (after, end);
        }
        let compare = |(): &mut (), range: Range<usize>| {
            let mut compared = 0;
            for part in parts.get(range).unwrap_or_default() {
                let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
                part.sort_unstable();
                for group in part.chunk_by(|a, b| a >> 32 == b >> 32) {
                    compared += self.compare(group, cx)?;
                }
            }
            Ok(compared)
        };
        Ok(map_ranges(cx, (parts.len(), 1), || (), compare)?.into_iter().sum())
    }

    /// Puts the vertices into parts by the hash of the band, each with that hash above its rank. Returns
    /// the ends of the parts.
    fn place(&self, entries: &[AtomicU64], cx: &Context) -> Result<Vec<usize>> {
        let counts: Vec<_> = (0..1usize << PART_BITS).map(|_| AtomicUsize::new(0)).collect();
        let part = |key: u32| counts.get((key >> (u32::BITS - PART_BITS)) as usize);
        let listed = &self.signatures.listed;
        let all = listed.len();
        parallel_for(cx, all, |range| {
            for rank in listed.iter_in(range.start, range.end) {
                part(self.key(rank)).into_iter().for_each(|count| _ = count.fetch_add(1, Relaxed));
            }
            Ok(())
        })?;
        let mut end = 0;
        for count in &counts {
            end += count.swap(end, Relaxed);
        }
        parallel_for(cx, all, |range| {
            for rank in listed.iter_in(range.start, range.end) {
                let key = self.key(rank);
                let at = part(key).map_or(usize::MAX, |next| next.fetch_add(1, Relaxed));
                if let Some(entry) = entries.get(at) {
                    entry.store(u64::from(key) << 32 | rank as u64, Relaxed);
                }
            }
            Ok(())
        })?;
        Ok(counts.into_iter().map(AtomicUsize::into_inner).collect())
    }

    /// The hash of the band of a vertex.
    fn key(&self, rank: usize) -> u32 {
        let rows = self.config.rows as usize;
        let from = self.band as usize * rows;
        let band = self.signatures.of(rank).get(from..from + rows).unwrap_or_default();
        let key = band.iter().fold(1, |key, &hash| mix(key ^ u64::from(hash)));
        // Lossless: the upper half.
        (key >> 32) as u32
    }

    /// Compares each vertex of a group with those that follow.
    fn compare(&self, group: &[u64], cx: &Context) -> Result<u64> {
        let most = self.config.comparisons as usize;
        // Matches that are similar enough; at most as many as there are hashes.
        let least = (self.config.least * f64::from(self.config.hashes)).ceil().max(1.0) as u16;
        let (mut compared, mut since) = (0, 0);
        for (at, &entry) in group.iter().enumerate() {
            // Lossless: the lower half.
            let a = entry as u32 as usize;
            for &entry in group.iter().skip(at + 1).take(most) {
                let b = entry as u32 as usize;
                compared += 1;
                let count = self.signatures.agreeing(a, b);
                if count < least {
                    continue;
                }
                for (one, other) in [(a, b), (b, a)] {
                    if count >= self.best.entry(one) {
                        self.best.add(one, other as u32, count);
                    }
                }
            }
            since += most.min(group.len() - at) * self.signatures.width;
            if since >= CHECK * 16 {
                since = 0;
                cx.check()?;
            }
        }
        Ok(compared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::{sample, similar as oracle};
    use proptest::prelude::*;

    /// By vertex, the similar vertices with their similarities.
    fn lists(found: &SimilarVertices, n: usize) -> Vec<Vec<(u32, f64)>> {
        let of = |v: usize| {
            let there = (0..found.there.len()).filter(|&place| found.there[place].get(v));
            there.map(|p| (found.vertices[p][v], found.similarities[p][v])).collect()
        };
        (0..n).map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(sample::cases(40)))]
        #[test]
        fn equals_all_pairs_that_agree_in_a_band(
            sample in sample::graphs(40, 150),
            k in 1u32..6,
            rows in 1u32..5,
            seed in 0u64..9,
            least in 0.0..0.6,
        ) {
            let config = Similar { k, hashes: 24, rows, comparisons: 100, least, seed };
            let hash = |at: u32, u: u32| hash(function(seed, at), mix(u64::from(u) + 1));
            let signatures = oracle::signatures(&sample.adjacency(), 24, hash);
            let expected = oracle::similar(&signatures, rows as usize, k as usize, least);
            sample.compare(&expected, |graph, cx| {
                lists(&config.run(graph, cx).unwrap(), sample.n)
            })?;
        }

        /// With 2,048 hashes the error is six times its standard deviation at most.
        #[test]
        fn is_near_the_similarity(sample in sample::graphs(25, 150)) {
            let adjacency = sample.adjacency();
            let config = Similar { k: 25, hashes: 2048, rows: 1, ..Similar::default() };
            let found = config.run(&sample.graph(), &Context::new()).unwrap();
            for (v, list) in lists(&found, sample.n).into_iter().enumerate() {
                for (u, similarity) in list {
                    let exact = oracle::jaccard(&adjacency[v], &adjacency[u as usize]);
                    prop_assert!((similarity - exact).abs() < 0.067, "{} {}", similarity, exact);
                }
            }
        }
    }

    /// Many vertices with the same neighbours, so that comparisons are bounded.
    #[test]
    fn threads_find_the_same() {
        let sample = sample::power_law(20_000, 40_000, false, 3);
        let run = |graph: Graph, threads: usize| {
            let cx = Context::new().with_threads(threads);
            let config = Similar { k: 3, comparisons: 8, ..Similar::default() };
            let found = config.run(&graph, &cx).unwrap();
            (found.vertices, found.similarities, found.compared)
        };
        let one = run(sample.graph(), 1);
        assert!(one.2 > 0 && run(sample.graph_on_ssd(), 2) == one);
    }

    #[test]
    fn refuses_more_rows_than_hashes() {
        let graph = sample::power_law(10, 20, true, 1).graph();
        let config = Similar { rows: 3, hashes: 2, ..Similar::default() };
        let error = config.run(&graph, &Context::new()).unwrap_err().to_string();
        assert!(error.contains("at most all 2 hashes"), "{error}");
    }
}
