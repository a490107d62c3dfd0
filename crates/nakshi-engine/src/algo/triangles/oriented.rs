//! Oriented lists: each edge once, at the end with the larger rank.
//!
//! Ranks run from the vertex of the highest degree, so that the lists of smaller
//! neighbours are short (at most the square root of twice the number of edges) and
//! mostly name hubs. Ranks below 65,536 are kept in 16 bits, which makes an edge of a
//! power-law graph cost little more than two bytes and lets a byte per hub, 64 KiB in
//! all, answer whether a list has it.

use crate::both::{both_lists, each_neighbor};
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

/// Facts about the directions of edges that are kept beside oriented lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Facts {
    /// None.
    Edges,
    /// The edges with both directions: a bit an edge.
    Mutual,
    /// The directions of every edge: two bits.
    Arcs,
}

impl Facts {
    /// Bytes for so many edges.
    fn bytes(self, edges: u64) -> u64 {
        match self {
            Facts::Edges => 0,
            Facts::Mutual => edges / 8,
            Facts::Arcs => edges / 4,
        }
    }
}

/// Directions of an edge as seen from one end: there is an arc away from it.
pub(crate) const FORTH: u8 = 1;
/// There is an arc towards it.
pub(crate) const BACK: u8 = 2;

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
    /// By position in `ranks`: the directions of the edge, [`FORTH`] and [`BACK`]. Empty if undirected.
    arcs: Vec<u8>,
    /// Neighbours in all, the vertex itself and duplicates left out; only after a merge.
    degree: u32,
    /// The neighbours among them that are joined in both directions.
    mutual: u32,
    /// The neighbours to which an arc leads.
    out: u32,
    pairs: Vec<(u32, u8)>,
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
        (self.degree, self.mutual, self.out) = (0, 0, 0);
        let own = by.of(v);
        each_neighbor(v, out, incoming, |u, forth, back| {
            self.degree += 1;
            self.mutual += u32::from(forth && back);
            self.out += u32::from(forth);
            let rank = by.of(u);
            if rank < own {
                let arcs = if forth { FORTH } else { 0 } | if back { BACK } else { 0 };
                self.pairs.push((rank, arcs));
            }
        });
        if by.rank.is_some() {
            self.pairs.sort_unstable();
        }
        self.ranks.clear();
        self.ranks.extend(self.pairs.iter().map(|p| p.0));
        self.arcs.clear();
        self.arcs.extend(self.pairs.iter().map(|p| p.1));
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
    /// Neighbours to which an arc leads; empty unless asked for or undirected.
    pub(crate) out: Vec<u32>,
}

impl Census {
    /// Counts; with [`Facts::Mutual`] also the neighbours of each vertex, with [`Facts::Arcs`] also those to
    /// which an arc leads.
    pub(crate) fn take(graph: &Graph, by: &Ranking, facts: Facts, cx: &Context) -> Result<Self> {
        let n = graph.num_vertices();
        let many = |wanted: bool| if wanted { n } else { 0 };
        let mut census = Census {
            smaller: vec![0; n],
            degree: vec![0; many(facts >= Facts::Mutual)],
            mutual: vec![0; many(facts >= Facts::Mutual && graph.directed())],
            out: vec![0; many(facts == Facts::Arcs && graph.directed())],
        };
        let counts = share_u64(&mut census.smaller);
        let (degree, mutual) = (share_u32(&mut census.degree), share_u32(&mut census.mutual));
        let towards = share_u32(&mut census.out);
        let all = VertexSet::full(n);
        for_each_list(graph, by, &all, facts >= Facts::Mutual, cx, |smaller, v| {
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
            put(towards, smaller.out);
        })?;
        Ok(census)
    }

    /// Cuts the ranks into ranges whose lists take at most `bytes` each (a range has at
    /// least one vertex, and fewer than 2^32 entries).
    pub(crate) fn ranges(&self, bytes: u64, facts: Facts) -> Vec<Range<u32>> {
        let mut ranges = Vec::new();
        let (mut first, mut size, mut entries) = (0u32, 0u64, 0u64);
        let mut at = 0u32;
        for (low, high) in self.smaller.iter().map(|&both| halves(both)) {
            let (low, high) = (u64::from(low), u64::from(high));
            let more = 8 + 2 * low + 4 * high + facts.bytes(low + high);
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
    pub(crate) fn bytes(&self, facts: Facts) -> u64 {
        let counts = || self.smaller.iter().map(|&both| halves(both));
        let low: u64 = counts().map(|(low, _)| u64::from(low)).sum();
        let high: u64 = counts().map(|(_, high)| u64::from(high)).sum();
        2 * low + 4 * high + facts.bytes(low + high)
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
    mutual: EdgeSet,
    /// By entry: an arc leads to the smaller rank. Empty unless asked for.
    forth: EdgeSet,
}

/// A set of entries of the two arrays of an [`OrientedPart`].
struct EdgeSet {
    low: Bitmap,
    high: Bitmap,
}

/// An [`EdgeSet`] that workers fill.
struct Marking {
    low: AtomicBitmap,
    high: AtomicBitmap,
}

impl Marking {
    fn new(wanted: bool, (lows, highs): (usize, usize)) -> Self {
        let set = |len: usize| AtomicBitmap::new(if wanted { len } else { 0 });
        Marking { low: set(lows), high: set(highs) }
    }

    /// Adds the entries of one list, of which `split` are in the first array, whose directions include
    /// `wanted`.
    fn add(&self, arcs: &[u8], wanted: u8, split: usize, (low_at, high_at): (usize, usize)) {
        for (i, _) in arcs.iter().enumerate().filter(|(_, arcs)| **arcs & wanted == wanted) {
            match i.checked_sub(split) {
                None => self.low.set(low_at + i),
                Some(i) => self.high.set(high_at + i),
            };
        }
    }

    fn done(self) -> EdgeSet {
        EdgeSet { low: self.low.into_bitmap(), high: self.high.into_bitmap() }
    }
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
    /// Reads the lists of `ranks`, with these facts about their edges. When the range is all
    /// there is, the counts of `census` are turned into the index.
    pub(crate) fn build(
        graph: &Graph,
        by: &Ranking,
        census: &mut Census,
        ranks: Range<u32>,
        facts: Facts,
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
        let mutual = Marking::new(facts >= Facts::Mutual, (lows, highs));
        let forth = Marking::new(facts == Facts::Arcs, (lows, highs));
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
            if facts >= Facts::Mutual {
                mutual.add(&smaller.arcs, FORTH | BACK, split, (low_at, high_at));
            }
            if facts == Facts::Arcs {
                forth.add(&smaller.arcs, FORTH, split, (low_at, high_at));
            }
        })?;
        Ok(OrientedPart { ranks, at, low, high, mutual: mutual.done(), forth: forth.done() })
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
        let lows = lows.iter().zip(low).map(|(&w, i)| (u32::from(w), self.mutual.low.get(i)));
        let highs = highs.iter().zip(high).map(|(&w, i)| (w, self.mutual.high.get(i)));
        lows.chain(highs)
    }

    /// The smaller neighbours of `rank` with the directions of each edge, as seen from `rank`.
    pub(crate) fn arcs(&self, rank: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
        let (low, high) = self.spans(rank);
        let forth = low.map(|i| self.forth.low.get(i)).chain(high.map(|i| self.forth.high.get(i)));
        self.flagged(rank).zip(forth).map(|((w, mutual), forth)| {
            let one = if forth { FORTH } else { BACK };
            (w, if mutual { FORTH | BACK } else { one })
        })
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
