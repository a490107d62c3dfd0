//! Oriented lists: each edge once, at the end with the larger rank.
//!
//! Ranks run from the vertex of the highest degree, so that the lists of smaller
//! neighbours are short (at most the square root of twice the number of edges) and
//! mostly name hubs. Ranks below 65,536 are kept in 16 bits, which makes an edge of a
//! power-law graph cost little more than two bytes and lets a byte per hub, 64 KiB in
//! all, answer whether a list has it.

use crate::algo::both::both_lists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shared::{share_u16, share_u32};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Ranks below this are kept in 16 bits.
pub(crate) const LOW: u32 = 1 << 16;

/// Ranks of the vertices by degree, highest first.
pub(crate) struct Ranking {
    /// `rank[v]`; `None` if the layout is by degree already and ranks are internal ids.
    rank: Option<Vec<u32>>,
}

impl Ranking {
    /// Ranks by the number of list entries, ties by internal id.
    pub(crate) fn new(graph: &Graph, cx: &Context) -> Result<Self> {
        let mut degrees = graph.degrees(Direction::Out, cx)?;
        if graph.directed() {
            let incoming = graph.degrees(Direction::In, cx)?;
            for (d, more) in degrees.iter_mut().zip(incoming) {
                *d = d.saturating_add(more);
            }
        }
        // Self-loops may disturb a degree layout a little; any order gives right counts.
        let rises = degrees.windows(2).filter(|w| w[0] < w[1]).count();
        if rises <= degrees.len() / 64 {
            return Ok(Ranking { rank: None });
        }
        let n = VertexId::try_from(degrees.len()).unwrap_or(VertexId::MAX);
        let mut order: Vec<VertexId> = (0..n).collect();
        order.sort_unstable_by_key(|&v| {
            (std::cmp::Reverse(degrees.get(v as usize).copied().unwrap_or(0)), v)
        });
        let mut rank = degrees;
        for (r, &v) in order.iter().enumerate() {
            if let Some(slot) = rank.get_mut(v as usize) {
                *slot = r as u32;
            }
        }
        Ok(Ranking { rank: Some(rank) })
    }

    /// The rank of a vertex.
    #[inline]
    pub(crate) fn of(&self, v: VertexId) -> u32 {
        match &self.rank {
            None => v,
            Some(rank) => rank.get(v as usize).copied().unwrap_or(0),
        }
    }

    /// Values by rank as values by vertex.
    pub(crate) fn by_vertex<T: Copy + Default>(&self, by_rank: Vec<T>) -> Vec<T> {
        match &self.rank {
            None => by_rank,
            Some(rank) => {
                let value = |r: &u32| by_rank.get(*r as usize).copied().unwrap_or_default();
                rank.iter().map(value).collect()
            }
        }
    }

    /// The vertices whose rank is in `ranks`.
    fn vertices(&self, ranks: &Range<u32>, n: usize) -> VertexSet {
        let mut bits = Bitmap::new(n);
        match &self.rank {
            None => ranks.clone().for_each(|v| bits.set(v as usize)),
            Some(rank) => {
                for (v, _) in rank.iter().enumerate().filter(|(_, r)| ranks.contains(r)) {
                    bits.set(v);
                }
            }
        }
        bits.into()
    }
}

/// The smaller neighbours of a vertex and facts about all of them.
#[derive(Default)]
struct Smaller {
    /// Rank, and whether the edge has both directions; ascending.
    ranks: Vec<(u32, bool)>,
    /// Neighbours in all, the vertex itself and duplicates left out.
    degree: u32,
    /// Of those, joined in both directions.
    mutual: u32,
}

impl Smaller {
    fn push(&mut self, own: u32, rank: u32, mutual: bool) {
        self.degree += 1;
        self.mutual += u32::from(mutual);
        if rank < own {
            self.ranks.push((rank, mutual));
        }
    }

    /// Merges the two ascending lists of `v`.
    fn collect(&mut self, v: VertexId, out: &[VertexId], incoming: &[VertexId], by: &Ranking) {
        self.ranks.clear();
        (self.degree, self.mutual) = (0, 0);
        let own = by.of(v);
        let (mut i, mut j) = (0, 0);
        loop {
            let (a, b) = (out.get(i).copied(), incoming.get(j).copied());
            let Some(u) = [a, b].into_iter().flatten().min() else { break };
            // Duplicates, which a store may keep, are stepped over.
            let run = |list: &[VertexId], at: &mut usize| {
                let from = *at;
                while list.get(*at) == Some(&u) {
                    *at += 1;
                }
                *at > from
            };
            let (x, y) = (run(out, &mut i), run(incoming, &mut j));
            if u != v {
                self.push(own, by.of(u), x && y);
            }
        }
        if by.rank.is_some() {
            self.ranks.sort_unstable();
        }
    }
}

/// What a pass over all lists finds out before oriented lists are built; by rank.
pub(crate) struct Census {
    /// Smaller neighbours with ranks below [`LOW`].
    low: Vec<u32>,
    /// The other smaller neighbours.
    high: Vec<u32>,
    /// Neighbours in all; empty unless asked for.
    pub(crate) degree: Vec<u32>,
    /// Neighbours joined in both directions; empty unless asked for or undirected.
    pub(crate) mutual: Vec<u32>,
}

impl Census {
    /// Counts; with `degrees` also the neighbours of each vertex.
    pub(crate) fn take(graph: &Graph, by: &Ranking, degrees: bool, cx: &Context) -> Result<Self> {
        let n = graph.num_vertices();
        let mut census = Census {
            low: vec![0; n],
            high: vec![0; n],
            degree: vec![0; if degrees { n } else { 0 }],
            mutual: vec![0; if degrees && graph.directed() { n } else { 0 }],
        };
        let (low, high) = (share_u32(&mut census.low), share_u32(&mut census.high));
        let (degree, mutual) = (share_u32(&mut census.degree), share_u32(&mut census.mutual));
        let all = VertexSet::full(n);
        both_lists(
            graph,
            &all,
            cx,
            |_| Smaller::default(),
            |smaller, v, out, incoming| {
                smaller.collect(v, out, incoming, by);
                let r = by.of(v) as usize;
                let split = smaller.ranks.partition_point(|x| x.0 < LOW);
                let put = |to: &[std::sync::atomic::AtomicU32], value: u32| {
                    if let Some(slot) = to.get(r) {
                        slot.store(value, Ordering::Relaxed);
                    }
                };
                // A vertex has fewer than 2^32 neighbours: ids are 32 bits.
                put(low, split as u32);
                put(high, (smaller.ranks.len() - split) as u32);
                put(degree, smaller.degree);
                put(mutual, smaller.mutual);
                Ok(())
            },
        )?;
        Ok(census)
    }

    /// Cuts the ranks into ranges whose lists take at most `bytes` each (a range has at
    /// least one vertex, and fewer than 2^32 entries).
    pub(crate) fn ranges(&self, bytes: u64, flags: bool) -> Vec<Range<u32>> {
        let mut ranges = Vec::new();
        let (mut first, mut size, mut entries) = (0u32, 0u64, 0u64);
        let mut at = 0u32;
        for (&low, &high) in self.low.iter().zip(&self.high) {
            let (low, high) = (u64::from(low), u64::from(high));
            let more = 8 + 2 * low + 4 * high + if flags { (low + high) / 8 } else { 0 };
            if at > first && (size + more > bytes || entries + low + high >= u64::from(u32::MAX)) {
                ranges.push(first..at);
                (first, size, entries) = (at, 0, 0);
            }
            size += more;
            entries += low + high;
            at += 1;
        }
        if at > first {
            ranges.push(first..at);
        }
        ranges
    }

    /// Bytes of all oriented lists together.
    pub(crate) fn bytes(&self, flags: bool) -> u64 {
        let low: u64 = self.low.iter().map(|&x| u64::from(x)).sum();
        let high: u64 = self.high.iter().map(|&x| u64::from(x)).sum();
        2 * low + 4 * high + if flags { (low + high) / 8 } else { 0 }
    }
}

/// Oriented lists of a range of ranks.
pub(crate) struct Part {
    /// The ranks whose lists are here.
    pub(crate) ranks: Range<u32>,
    /// First entry of each list and the end of the last; one more than there are ranks.
    low_at: Vec<u32>,
    high_at: Vec<u32>,
    low: Vec<u16>,
    high: Vec<u32>,
    /// By entry: the edge has both directions. Empty unless asked for.
    low_mutual: Bitmap,
    high_mutual: Bitmap,
}

/// Starts of lists of these lengths, and the end.
fn starts(mut lengths: Vec<u32>) -> Vec<u32> {
    let mut at = 0u32;
    for slot in &mut lengths {
        at += std::mem::replace(slot, at);
    }
    lengths.push(at);
    lengths
}

fn zeroed<T: Clone + Default>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let mut v: Vec<T> = Vec::new();
    let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
    v.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { what, bytes })?;
    v.resize(len, T::default());
    Ok(v)
}

impl Part {
    /// Reads the lists of `ranks`; `flags` keeps which edges have both directions. When
    /// the range is all there is, the counts of `census` are turned into the index.
    pub(crate) fn build(
        graph: &Graph,
        by: &Ranking,
        census: &mut Census,
        ranks: Range<u32>,
        flags: bool,
        cx: &Context,
    ) -> Result<Self> {
        let whole = ranks.len() == census.low.len();
        let lengths = |counts: &mut Vec<u32>| {
            if whole {
                std::mem::take(counts)
            } else {
                let range = ranks.start as usize..ranks.end as usize;
                counts.get(range).unwrap_or(&[]).to_vec()
            }
        };
        let low_at = starts(lengths(&mut census.low));
        let high_at = starts(lengths(&mut census.high));
        let last = |at: &[u32]| at.last().copied().unwrap_or(0) as usize;
        let (lows, highs) = (last(&low_at), last(&high_at));
        let mut low: Vec<u16> = zeroed(lows, "oriented edge lists")?;
        let mut high: Vec<u32> = zeroed(highs, "oriented edge lists")?;
        let low_mutual = AtomicBitmap::new(if flags { lows } else { 0 });
        let high_mutual = AtomicBitmap::new(if flags { highs } else { 0 });
        let members = by.vertices(&ranks, graph.num_vertices());
        let (low_out, high_out) = (share_u16(&mut low), share_u32(&mut high));
        let start = |at: &[u32], r: usize| at.get(r).copied().unwrap_or(0) as usize;
        both_lists(
            graph,
            &members,
            cx,
            |_| Smaller::default(),
            |smaller, v, out, incoming| {
                smaller.collect(v, out, incoming, by);
                let r = (by.of(v) - ranks.start) as usize;
                let split = smaller.ranks.partition_point(|x| x.0 < LOW);
                let (lows, highs) = smaller.ranks.split_at(split);
                let (from, to) = (start(&low_at, r), start(&high_at, r));
                for (i, (slot, &(rank, mutual))) in low_out.iter().skip(from).zip(lows).enumerate()
                {
                    slot.store(rank as u16, Ordering::Relaxed);
                    if mutual && flags {
                        low_mutual.set(from + i);
                    }
                }
                for (i, (slot, &(rank, mutual))) in high_out.iter().skip(to).zip(highs).enumerate()
                {
                    slot.store(rank, Ordering::Relaxed);
                    if mutual && flags {
                        high_mutual.set(to + i);
                    }
                }
                Ok(())
            },
        )?;
        let (low_mutual, high_mutual) = (low_mutual.into_bitmap(), high_mutual.into_bitmap());
        Ok(Part { ranks, low_at, high_at, low, high, low_mutual, high_mutual })
    }

    #[inline]
    fn span(at: &[u32], ranks: &Range<u32>, rank: u32) -> Range<usize> {
        let i = rank.wrapping_sub(ranks.start) as usize;
        match at.get(i..).and_then(|rest| rest.first_chunk::<2>()) {
            Some(&[from, to]) => from as usize..to as usize,
            None => 0..0,
        }
    }

    /// The smaller neighbours of `rank` below [`LOW`], ascending; empty outside the part.
    #[inline]
    pub(crate) fn low(&self, rank: u32) -> &[u16] {
        self.low.get(Self::span(&self.low_at, &self.ranks, rank)).unwrap_or(&[])
    }

    /// The smaller neighbours of `rank` from [`LOW`] on, ascending; empty outside the part.
    #[inline]
    pub(crate) fn high(&self, rank: u32) -> &[u32] {
        self.high.get(Self::span(&self.high_at, &self.ranks, rank)).unwrap_or(&[])
    }

    /// The same with whether each edge has both directions.
    pub(crate) fn low_flagged(&self, rank: u32) -> impl Iterator<Item = (u32, bool)> + '_ {
        let span = Self::span(&self.low_at, &self.ranks, rank);
        let entries = self.low.get(span.clone()).unwrap_or(&[]);
        entries.iter().zip(span).map(|(&w, i)| (u32::from(w), self.low_mutual.get(i)))
    }

    /// The same with whether each edge has both directions.
    pub(crate) fn high_flagged(&self, rank: u32) -> impl Iterator<Item = (u32, bool)> + '_ {
        let span = Self::span(&self.high_at, &self.ranks, rank);
        let entries = self.high.get(span.clone()).unwrap_or(&[]);
        entries.iter().zip(span).map(|(&w, i)| (w, self.high_mutual.get(i)))
    }
}
