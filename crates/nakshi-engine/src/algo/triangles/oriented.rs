//! Oriented lists: each edge once, at the end with the larger rank.
//!
//! Ranks run from the vertex of the highest degree, so that the lists of smaller
//! neighbours are short (at most the square root of twice the number of edges) and
//! mostly name hubs. Ranks below 65,536 are kept in 16 bits, which makes an edge of a
//! power-law graph cost little more than two bytes and lets a byte per hub, 64 KiB in
//! all, answer whether a list has it.

use crate::both::both_lists;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::shared::{prefetch, share_u16, share_u32, share_u64};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use nakshi_store::{Direction, List, VertexId};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU32, Ordering};

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
        cx.check()?;
        Ok(Ranking { rank: Some(by_counting(degrees)) })
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

/// Turns degrees into ranks, the highest degree first, ties in order: a counting sort. With
/// duplicates a degree can be beyond the number of vertices; such degrees count as equal,
/// since any order gives right counts.
fn by_counting(mut degrees: Vec<u32>) -> Vec<u32> {
    // There are at most 2^32 vertices, but for an index of the last class.
    let last = u32::try_from(degrees.len()).unwrap_or(u32::MAX);
    let highest = degrees.iter().copied().max().unwrap_or(0).min(last);
    let class = |degree: u32| (highest - degree.min(highest)) as usize;
    let mut next = vec![0u32; highest as usize + 1];
    for &degree in &degrees {
        if let Some(count) = next.get_mut(class(degree)) {
            *count += 1;
        }
    }
    let mut before = 0u32;
    for count in &mut next {
        before = before.wrapping_add(std::mem::replace(count, before));
    }
    for slot in &mut degrees {
        if let Some(rank) = next.get_mut(class(*slot)) {
            *slot = *rank;
            *rank += 1;
        }
    }
    degrees
}

/// The smaller neighbours of a vertex and facts about all of them.
#[derive(Default)]
struct Smaller {
    /// Ranks, ascending.
    ranks: Vec<u32>,
    /// By position in `ranks`: the edge has both directions. Empty if undirected.
    both: Vec<bool>,
    /// Neighbours in all, the vertex itself and duplicates left out; only after a merge.
    degree: u32,
    /// The neighbours among them that are joined in both directions.
    mutual: u32,
    pairs: Vec<(u32, bool)>,
}

impl Smaller {
    /// Takes what is below `v` from its one list, without reading the rest: only for
    /// graphs whose ranks are internal ids.
    fn cut(&mut self, v: VertexId, list: &List<'_>) -> Result<()> {
        self.ranks.clear();
        list.blocks(|block| {
            let below = match block.last() {
                Some(&last) if last < v => block.len(),
                _ => block.partition_point(|&u| u < v),
            };
            self.ranks.extend_from_slice(block.get(..below).unwrap_or(block));
            if below < block.len() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        // Duplicates, which a store may keep.
        self.ranks.dedup();
        Ok(())
    }

    /// Merges the two ascending lists of `v`.
    fn merge(&mut self, v: VertexId, out: &[VertexId], incoming: &[VertexId], by: &Ranking) {
        self.pairs.clear();
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
            let mutual = run(out, &mut i) & run(incoming, &mut j);
            if u != v {
                self.degree += 1;
                self.mutual += u32::from(mutual);
                let rank = by.of(u);
                if rank < own {
                    self.pairs.push((rank, mutual));
                }
            }
        }
        if by.rank.is_some() {
            self.pairs.sort_unstable();
        }
        self.ranks.clear();
        self.ranks.extend(self.pairs.iter().map(|p| p.0));
        self.both.clear();
        self.both.extend(self.pairs.iter().map(|p| p.1));
    }

    /// The number of ranks below [`LOW`].
    fn split(&self) -> usize {
        self.ranks.partition_point(|&rank| rank < LOW)
    }
}

/// Calls `visit` with the smaller neighbours of every vertex of `set`; `whole` if the
/// facts about all neighbours are wanted too.
fn for_each_list(
    graph: &Graph,
    by: &Ranking,
    set: &VertexSet,
    whole: bool,
    cx: &Context,
    visit: impl Fn(&Smaller, VertexId) + Sync,
) -> Result<()> {
    let scratch = |_| Smaller::default();
    if graph.directed() || by.rank.is_some() || whole {
        return both_lists(graph, set, cx, scratch, |smaller, v, out, incoming| {
            smaller.merge(v, out, incoming, by);
            visit(smaller, v);
            Ok(())
        });
    }
    graph.gather(Direction::Out, set, cx, scratch, |smaller, v, list| {
        smaller.cut(v, list)?;
        visit(smaller, v);
        Ok(())
    })?;
    Ok(())
}

/// Degrees that a pass over all lists counts before oriented lists are built; by rank.
pub(crate) struct Census {
    /// Smaller neighbours with ranks below [`LOW`] and, 32 bits up, the others.
    smaller: Vec<u64>,
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
            smaller: vec![0; n],
            degree: vec![0; if degrees { n } else { 0 }],
            mutual: vec![0; if degrees && graph.directed() { n } else { 0 }],
        };
        let counts = share_u64(&mut census.smaller);
        let (degree, mutual) = (share_u32(&mut census.degree), share_u32(&mut census.mutual));
        let all = VertexSet::full(n);
        for_each_list(graph, by, &all, degrees, cx, |smaller, v| {
            let r = by.of(v) as usize;
            let split = smaller.split();
            let put = |to: &[AtomicU32], value: u32| {
                if let Some(slot) = to.get(r) {
                    slot.store(value, Ordering::Relaxed);
                }
            };
            // A vertex has fewer than 2^32 neighbours: ids are 32 bits.
            if let Some(slot) = counts.get(r) {
                let high = (smaller.ranks.len() - split) as u64;
                slot.store(split as u64 | high << 32, Ordering::Relaxed);
            }
            put(degree, smaller.degree);
            put(mutual, smaller.mutual);
        })?;
        Ok(census)
    }

    /// Cuts the ranks into ranges whose lists take at most `bytes` each (a range has at
    /// least one vertex, and fewer than 2^32 entries).
    pub(crate) fn ranges(&self, bytes: u64, flags: bool) -> Vec<Range<u32>> {
        let mut ranges = Vec::new();
        let (mut first, mut size, mut entries) = (0u32, 0u64, 0u64);
        let mut at = 0u32;
        for (low, high) in self.smaller.iter().map(|&both| halves(both)) {
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
        let counts = || self.smaller.iter().map(|&both| halves(both));
        let low: u64 = counts().map(|(low, _)| u64::from(low)).sum();
        let high: u64 = counts().map(|(_, high)| u64::from(high)).sum();
        2 * low + 4 * high + if flags { (low + high) / 8 } else { 0 }
    }
}

/// Oriented lists of a range of ranks.
pub(crate) struct OrientedPart {
    /// The ranks whose lists are here.
    pub(crate) ranks: Range<u32>,
    /// First entry of each list in `low` and, 32 bits up, in `high`; then their ends. One
    /// look finds both.
    at: Vec<u64>,
    low: Vec<u16>,
    high: Vec<u32>,
    /// By entry: the edge has both directions. Empty unless asked for.
    low_mutual: Bitmap,
    high_mutual: Bitmap,
}

/// The lower and the upper 32 bits.
#[inline]
fn halves(both: u64) -> (u32, u32) {
    (both as u32, (both >> 32) as u32)
}

/// Starts of lists of these lengths, and the end.
fn starts(mut lengths: Vec<u64>) -> Vec<u64> {
    let mut at = 0;
    for slot in &mut lengths {
        // Neither half overflows: a part has fewer than 2^32 entries.
        at += std::mem::replace(slot, at);
    }
    // Not more: the vector would double.
    lengths.reserve_exact(1);
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

impl OrientedPart {
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
        let whole = ranks.len() == census.smaller.len();
        let at = starts(if whole {
            std::mem::take(&mut census.smaller)
        } else {
            let range = ranks.start as usize..ranks.end as usize;
            census.smaller.get(range).unwrap_or(&[]).to_vec()
        });
        let start = |r: usize| {
            let (low, high) = halves(at.get(r).copied().unwrap_or(0));
            (low as usize, high as usize)
        };
        let (lows, highs) = start(at.len() - 1);
        let mut low: Vec<u16> = zeroed(lows, "oriented edge lists")?;
        let mut high: Vec<u32> = zeroed(highs, "oriented edge lists")?;
        let low_mutual = AtomicBitmap::new(if flags { lows } else { 0 });
        let high_mutual = AtomicBitmap::new(if flags { highs } else { 0 });
        let members = by.vertices(&ranks, graph.num_vertices());
        let (low_out, high_out) = (share_u16(&mut low), share_u32(&mut high));
        for_each_list(graph, by, &members, false, cx, |smaller, v| {
            let r = (by.of(v) - ranks.start) as usize;
            let split = smaller.split();
            let (lows, highs) = smaller.ranks.split_at(split);
            let (low_at, high_at) = start(r);
            for (slot, &rank) in low_out.iter().skip(low_at).zip(lows) {
                // Below 2^16, as the split says.
                slot.store(rank as u16, Ordering::Relaxed);
            }
            for (slot, &rank) in high_out.iter().skip(high_at).zip(highs) {
                slot.store(rank, Ordering::Relaxed);
            }
            if flags {
                for (i, _) in smaller.both.iter().enumerate().filter(|(_, both)| **both) {
                    match i.checked_sub(split) {
                        None => low_mutual.set(low_at + i),
                        Some(i) => high_mutual.set(high_at + i),
                    };
                }
            }
        })?;
        let (low_mutual, high_mutual) = (low_mutual.into_bitmap(), high_mutual.into_bitmap());
        Ok(OrientedPart { ranks, at, low, high, low_mutual, high_mutual })
    }

    /// The ranges of the two lists of `rank`; empty outside the part.
    #[inline]
    fn spans(&self, rank: u32) -> (Range<usize>, Range<usize>) {
        let i = rank.wrapping_sub(self.ranks.start) as usize;
        match self.at.get(i..).and_then(|rest| rest.first_chunk::<2>()) {
            Some(&[from, to]) => {
                let ((low, high), (low_end, high_end)) = (halves(from), halves(to));
                (low as usize..low_end as usize, high as usize..high_end as usize)
            }
            None => (0..0, 0..0),
        }
    }

    /// The smaller neighbours of `rank` below [`LOW`] and from there on, both ascending;
    /// empty outside the part.
    #[inline]
    pub(crate) fn lists(&self, rank: u32) -> (&[u16], &[u32]) {
        let (low, high) = self.spans(rank);
        (self.low.get(low).unwrap_or(&[]), self.high.get(high).unwrap_or(&[]))
    }

    /// Asks the processor for the place of the lists of `rank`.
    #[inline]
    pub(crate) fn fetch_place(&self, rank: u32) {
        prefetch(&self.at, rank.wrapping_sub(self.ranks.start) as usize);
    }

    /// Asks the processor for the beginning of the lists of `rank`.
    #[inline]
    pub(crate) fn fetch_lists(&self, rank: u32) {
        let (low, high) = self.spans(rank);
        prefetch(&self.low, low.start);
        prefetch(&self.low, low.start + 32);
        if !high.is_empty() {
            prefetch(&self.high, high.start);
        }
    }

    /// The smaller neighbours of `rank` with whether each edge has both directions.
    pub(crate) fn flagged(&self, rank: u32) -> impl Iterator<Item = (u32, bool)> + '_ {
        let (low, high) = self.spans(rank);
        let (lows, highs) = self.lists(rank);
        let lows = lows.iter().zip(low).map(|(&w, i)| (u32::from(w), self.low_mutual.get(i)));
        let highs = highs.iter().zip(high).map(|(&w, i)| (w, self.high_mutual.get(i)));
        lows.chain(highs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_are_those_of_a_stable_sort(degrees in prop::collection::vec(0u32..20, 0..60), hub: u32) {
            let n = degrees.len() as u32;
            let mut degrees = degrees;
            // Beyond the number of vertices, but alone.
            degrees.first_mut().into_iter().for_each(|d| *d = hub.max(n + 20));
            let small: Vec<u32> = degrees.iter().map(|&d| d.min(n)).collect();
            let mut order: Vec<u32> = (0..n).collect();
            order.sort_by_key(|&v| std::cmp::Reverse(small[v as usize]));
            let ranks = by_counting(degrees);
            for (rank, v) in (0..).zip(order) {
                prop_assert_eq!(ranks[v as usize], rank);
            }
        }
    }
}
