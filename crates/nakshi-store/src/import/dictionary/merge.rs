//! The merge of sorted runs of ids into their ranks.
//!
//! One merge visits all runs, in parallel over ranges of the ids. It writes the distinct ids once,
//! and for each run the rank of each of its entries. Everything later reads these two, in order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use nakshi_io::run_workers;

use crate::Result;
use crate::sort::spill::{Spill, SpillExtent, StreamReader, StreamWriter};

/// A key of runs: an integer, or bytes in one of two orders.
pub(super) trait RunKey: Ord + Clone + Send + Sync {
    /// A key that is before all others, or equal to the first.
    const FIRST: Self;

    /// Appends the key and its count, behind the key `before`.
    fn put(&self, before: &Self, ends: u64, out: &mut Vec<u8>);

    /// Becomes the key behind itself in a stream, and returns its count.
    fn take(&mut self, stream: &mut StreamReader<'_>) -> Result<Option<u64>>;
}

/// A place in a run from which it can be read.
#[derive(Clone, Debug)]
pub(crate) struct Mark<K> {
    /// The key before the place.
    pub key: K,
    /// Entries before the place.
    pub number: u32,
    /// Bytes before the place.
    pub offset: u64,
}

/// Returns the last mark from which nothing at or behind `from` is missed.
pub(super) fn marks_before<'m, K: Ord>(
    marks: &'m [Mark<K>],
    from: Option<&K>,
) -> Option<&'m Mark<K>> {
    let from = from?;
    let count = marks.partition_point(|mark| mark.key < *from);
    marks.get(count.checked_sub(1)?)
}

/// An entry of a run.
#[derive(Clone, Debug)]
pub(super) struct Entry<K> {
    pub key: K,
    /// Edge ends at the id.
    pub ends: u64,
    /// Number of the id in its generation.
    pub number: u32,
}

/// The reader of a run.
pub(super) trait RunReader {
    type Key: RunKey;

    /// Goes to the next entry; returns false at the end.
    fn advance(&mut self) -> Result<bool>;

    /// Returns the entry.
    fn entry(&self) -> &Entry<Self::Key>;
}

/// The ranks of the entries of a run in a range.
#[derive(Debug)]
pub(super) struct RankStream {
    pub generation: u32,
    extents: Vec<SpillExtent>,
}

/// The result of a merge in a range of ids.
#[derive(Debug)]
struct MergedRange {
    ids: Vec<SpillExtent>,
    vertices: u64,
    streams: Vec<RankStream>,
}

/// The distinct ids, and the ranks of the ids of all runs.
#[derive(Debug)]
pub(super) struct Merged {
    ranges: Vec<MergedRange>,
}

/// Runs that can be read from any key on.
pub(super) trait Runs: Sync {
    type Key: RunKey;
    type Reader<'r>: RunReader<Key = Self::Key>
    where
        Self: 'r;

    /// Returns keys that cut the runs into pieces of about equal size, in any order.
    fn marks(&self) -> Vec<Self::Key>;

    /// Returns readers of what is at or behind `from`, with their generations. The buffers of all
    /// take about `memory` bytes.
    fn readers(
        &self,
        from: Option<&Self::Key>,
        memory: u64,
    ) -> Result<Vec<(u32, Self::Reader<'_>)>>;
}

/// The first remaining entry of one run in the merge; the entry with the smallest key compares
/// greatest.
struct MergeHead<K> {
    key: K,
    reader: usize,
}

impl<K: Ord> Ord for MergeHead<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then_with(|| other.reader.cmp(&self.reader))
    }
}

impl<K: Ord> PartialOrd for MergeHead<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord> PartialEq for MergeHead<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord> Eq for MergeHead<K> {}

/// Merges all runs by several threads, in about `memory` bytes; `check` is called now and then.
pub(super) fn merge<R: Runs>(
    spill: &Spill,
    runs: &R,
    memory: u64,
    threads: usize,
    check: &(dyn Fn() -> Result<()> + Sync),
) -> Result<Merged> {
    let cuts = cuts(runs.marks(), threads);
    let workers = cuts.len() + 1;
    let memory = memory / workers as u64;
    let ranges = run_workers(workers, |worker| {
        let from = worker.checked_sub(1).and_then(|before| cuts.get(before));
        RangeMerge { spill, check, memory }.merge(runs, from, cuts.get(worker))
    })?;
    Ok(Merged { ranges })
}

/// Returns the first keys of all ranges but the first.
fn cuts<K: RunKey>(mut marks: Vec<K>, threads: usize) -> Vec<K> {
    marks.sort_unstable();
    let ranges = threads.clamp(1, marks.len() / 2 + 1);
    let mut cuts: Vec<K> =
        (1..ranges).filter_map(|range| marks.get(marks.len() * range / ranges).cloned()).collect();
    cuts.dedup();
    cuts
}

struct RangeMerge<'m> {
    spill: &'m Spill,
    check: &'m (dyn Fn() -> Result<()> + Sync),
    memory: u64,
}

impl RangeMerge<'_> {
    fn merge<R: Runs>(
        &self,
        runs: &R,
        from: Option<&R::Key>,
        to: Option<&R::Key>,
    ) -> Result<MergedRange> {
        let mut readers = runs.readers(from, self.memory / 2)?;
        let chunk = (self.memory / 2 / (readers.len() as u64 + 1)).clamp(1 << 10, 64 << 10);
        let mut ranks: Vec<_> =
            readers.iter().map(|_| RankWriter::new(self.spill, chunk as usize)).collect();
        let inside = |key: &R::Key| to.is_none_or(|to| key < to);
        let mut heap: BinaryHeap<_> = readers
            .iter()
            .enumerate()
            .map(|(reader, (_, run))| MergeHead { key: run.entry().key.clone(), reader })
            .filter(|head| inside(&head.key))
            .collect();
        let mut ids = StreamWriter::new(self.spill, 256 << 10);
        let (mut key, mut before) = (R::Key::FIRST, R::Key::FIRST);
        let mut vertices = 0_u64;
        while let Some(first) = heap.peek() {
            key.clone_from(&first.key);
            let mut ends = 0;
            while let Some(mut top) = heap.peek_mut().filter(|top| top.key == key) {
                let Some(((_, run), ranks)) =
                    readers.get_mut(top.reader).zip(ranks.get_mut(top.reader))
                else {
                    break;
                };
                ends += run.entry().ends;
                ranks.push(run.entry().number, vertices)?;
                if run.advance()? && inside(&run.entry().key) {
                    top.key.clone_from(&run.entry().key);
                } else {
                    std::collections::binary_heap::PeekMut::pop(top);
                }
            }
            key.put(&before, ends, ids.buffer());
            ids.settle()?;
            std::mem::swap(&mut key, &mut before);
            vertices += 1;
            if vertices.is_multiple_of(1 << 16) {
                (self.check)()?;
            }
        }
        let streams = readers.iter().zip(ranks).map(|((generation, _), ranks)| {
            Ok(RankStream { generation: *generation, extents: ranks.stream.finish()? })
        });
        Ok(MergedRange { streams: streams.collect::<Result<_>>()?, ids: ids.finish()?, vertices })
    }
}

/// Writes the ranks of a run: steps of the numbers and of the ranks.
struct RankWriter<'s> {
    stream: StreamWriter<'s>,
    number: u32,
    rank: u64,
}

impl<'s> RankWriter<'s> {
    fn new(spill: &'s Spill, chunk: usize) -> Self {
        // A number of 0 behind this one is a step of 1, as between most others.
        Self { stream: StreamWriter::new(spill, chunk), number: u32::MAX, rank: 0 }
    }

    #[inline]
    fn push(&mut self, number: u32, rank: u64) -> Result<()> {
        let (step, rise) = (number.wrapping_sub(self.number), rank - self.rank);
        let out = self.stream.buffer();
        // Ids of most runs are numbered in order, which the lowest bit says.
        crate::varint::put(out, rise << 1 | u64::from(step != 1));
        if step != 1 {
            crate::varint::put(out, step.into());
        }
        (self.number, self.rank) = (number, rank);
        self.stream.settle()
    }
}

/// Reads the ranks of the ids of a generation, ascending.
pub(super) struct RankReader<'s> {
    spill: &'s Spill,
    /// First rank and extents of the remaining streams.
    streams: std::vec::IntoIter<(u64, Vec<SpillExtent>)>,
    stream: StreamReader<'s>,
    chunk: usize,
    number: u32,
    rank: u64,
}

impl<'s> RankReader<'s> {
    /// Returns the next number and its rank.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(u32, u64)>> {
        loop {
            let bytes = self.stream.peek(20)?;
            if bytes.is_empty() {
                let Some((base, extents)) = self.streams.next() else { return Ok(None) };
                (self.number, self.rank) = (u32::MAX, base);
                self.stream = StreamReader::new(self.spill, extents, self.chunk);
                continue;
            }
            let mut at = 0;
            let Some(word) = crate::varint::get(bytes, &mut at) else { return Ok(None) };
            let step = if word & 1 == 0 { Some(1) } else { crate::varint::get(bytes, &mut at) };
            self.stream.consume(at);
            self.rank += word >> 1;
            self.number = self.number.wrapping_add(step.unwrap_or(1) as u32);
            return Ok(Some((self.number, self.rank)));
        }
    }
}

impl Merged {
    /// Returns the number of distinct ids.
    pub fn vertices(&self) -> u64 {
        self.ranges.iter().map(|range| range.vertices).sum()
    }

    /// Visits the distinct ids with their counts, ascending.
    pub fn visit<K: RunKey>(
        &self,
        spill: &Spill,
        visit: &mut dyn FnMut(&K, u64) -> Result<()>,
    ) -> Result<()> {
        for range in &self.ranges {
            let mut stream = StreamReader::new(spill, range.ids.clone(), 256 << 10);
            let mut key = K::FIRST;
            while let Some(ends) = key.take(&mut stream)? {
                visit(&key, ends)?;
            }
        }
        Ok(())
    }

    /// Reads the ranks of a generation, `chunk` bytes at a time. If a generation has several runs,
    /// there is a reader of each.
    pub fn ranks<'s>(
        &self,
        spill: &'s Spill,
        generation: u32,
        chunk: usize,
    ) -> Vec<RankReader<'s>> {
        let mut readers: Vec<Vec<(u64, Vec<SpillExtent>)>> = Vec::new();
        let mut base = 0;
        for range in &self.ranges {
            let own = range.streams.iter().filter(|stream| stream.generation == generation);
            for (at, stream) in own.enumerate() {
                readers.resize_with(readers.len().max(at + 1), Vec::new);
                if let Some(streams) = readers.get_mut(at) {
                    streams.push((base, stream.extents.clone()));
                }
            }
            base += range.vertices;
        }
        let reader = |streams: Vec<(u64, Vec<SpillExtent>)>| RankReader {
            spill,
            streams: streams.into_iter(),
            stream: StreamReader::new(spill, Vec::new(), chunk),
            chunk,
            number: u32::MAX,
            rank: 0,
        };
        readers.into_iter().map(reader).collect()
    }

    /// Gives the space of the ranks of a generation back.
    pub fn free(&self, spill: &Spill, generation: u32) -> Result<()> {
        let streams = self.ranges.iter().flat_map(|range| &range.streams);
        let own = streams.filter(|stream| stream.generation == generation);
        own.flat_map(|stream| &stream.extents).try_for_each(|&extent| spill.free(extent))
    }
}
