//! Range partition of arcs by source, so that each bucket can be sorted in memory.

use super::packed::{self, Packer};
use super::radix::{self, Record};
use super::spill::{Spill, SpillExtent};
use crate::Result;

/// Number of positions with a cell of their own; hubs are among them in the degree layout.
const FINE: usize = 1 << 16;

/// Records of a buffer that packs well.
const BUFFER: u64 = 2048;
/// Half of the ranges that there may be with any memory, and at most.
const FEW: u64 = 500;
const MANY: u64 = 1 << 14;

/// Small groups of positions, in ascending order, with the number of their arcs.
#[derive(Debug)]
pub(crate) struct ArcCells {
    shift: u32,
    arcs: Vec<u64>,
}

impl ArcCells {
    /// Makes cells for `vertices` positions.
    pub fn new(vertices: u64) -> Self {
        let shift = (0..=16).find(|shift| vertices >> shift < FINE as u64).unwrap_or(16);
        let coarse = (vertices >> shift) as usize + 1;
        Self { shift, arcs: vec![0; FINE + coarse] }
    }

    #[inline]
    fn cell(shift: u32, place: u32) -> usize {
        if (place as usize) < FINE { place as usize } else { FINE + (place >> shift) as usize }
    }

    /// Counts `arcs` arcs at a position.
    #[inline]
    pub fn add(&mut self, place: u32, arcs: u64) {
        self.arcs[Self::cell(self.shift, place)] += arcs;
    }

    /// Cuts the positions into ranges of about `target` arcs, but not into more than allow for buffers of
    /// a good size in `memory` bytes, which a [`Scatter`] takes.
    pub fn ranges<R>(&self, target: u64, memory: u64) -> Ranges {
        let total: u64 = self.arcs.iter().sum();
        let most = (memory / (BUFFER * size_of::<R>() as u64)).clamp(FEW, MANY);
        let target = target.max(total / most).max(1);
        let (mut bucket_of, mut buckets, mut sum) =
            (Vec::with_capacity(self.arcs.len()), 0_u16, 0_u64);
        let mut sizes = Vec::new();
        for &arcs in &self.arcs {
            if sum > 0 && sum + arcs > target {
                buckets += 1;
                sizes.push(sum);
                sum = 0;
            }
            sum += arcs;
            bucket_of.push(buckets);
        }
        sizes.push(sum);
        Ranges { shift: self.shift, bucket_of, count: usize::from(buckets) + 1, memory }
    }
}

/// Ranges of positions, one for each bucket.
#[derive(Debug)]
pub(crate) struct Ranges {
    shift: u32,
    bucket_of: Vec<u16>,
    /// Number of ranges.
    pub count: usize,
    /// Bytes of the buffers of one [`Scatter`].
    memory: u64,
}

impl Ranges {
    #[inline]
    fn bucket(&self, place: u32) -> usize {
        usize::from(self.bucket_of[ArcCells::cell(self.shift, place)])
    }
}

/// Bytes of the reference at the head of a block: offset and length of the block before it.
const LINK: usize = 16;

/// The arcs of one bucket on disk: chains of packed blocks, one of each worker. A block begins with
/// the place of the block before it, so that memory holds the last ones only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    chains: Vec<SpillExtent>,
    /// Number of arcs in all blocks.
    pub records: u64,
}

impl Bucket {
    /// Visits the blocks, in no particular order, and gives their space back.
    pub fn consume(&self, spill: &Spill, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        for &chain in &self.chains {
            let mut extent = chain;
            while extent.len > 0 {
                bytes.resize(extent.len as usize, 0);
                spill.read(extent.offset, &mut bytes)?;
                let (link, block) = bytes.split_at(LINK.min(bytes.len()));
                visit(block)?;
                spill.free(extent)?;
                let mut words = super::spill::words(link);
                let (offset, len) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
                extent = SpillExtent { offset, len };
            }
        }
        Ok(())
    }
}

/// The arcs that one worker is scattering into buckets.
#[derive(Debug)]
pub(crate) struct Scatter<'s, R> {
    spill: &'s Spill,
    ranges: &'s Ranges,
    buffers: Vec<Vec<R>>,
    /// Number of arcs in a block.
    block: usize,
    scratch: Vec<R>,
    packer: Packer,
    bytes: Vec<u8>,
    /// Last block and number of arcs of each bucket.
    buckets: Vec<(SpillExtent, u64)>,
}

impl<'s, R: Record> Scatter<'s, R> {
    /// Makes empty buffers.
    pub fn new(spill: &'s Spill, ranges: &'s Ranges) -> Self {
        let block =
            (ranges.memory as usize / size_of::<R>() / ranges.count).clamp(128, packed::MOST / 16);
        Self {
            spill,
            ranges,
            buffers: (0..ranges.count).map(|_| Vec::with_capacity(block)).collect(),
            block,
            scratch: Vec::new(),
            packer: Packer::default(),
            bytes: Vec::new(),
            buckets: vec![(SpillExtent { offset: 0, len: 0 }, 0); ranges.count],
        }
    }

    /// Adds an arc.
    #[inline]
    pub fn push(&mut self, source: u32, target: u32, weight: u64) -> Result<()> {
        let bucket = self.ranges.bucket(source);
        let buffer = &mut self.buffers[bucket];
        buffer.push(R::new(u64::from(source) << 32 | u64::from(target), weight));
        if buffer.len() >= self.block { self.flush(bucket) } else { Ok(()) }
    }

    fn flush(&mut self, bucket: usize) -> Result<()> {
        let buffer = &mut self.buffers[bucket];
        if buffer.is_empty() {
            return Ok(());
        }
        // The sort may exchange its two buffers.
        radix::sort(buffer, &mut self.scratch);
        let (last, records) = &mut self.buckets[bucket];
        self.bytes.clear();
        super::spill::put_words(&mut self.bytes, &[last.offset, last.len]);
        self.packer.pack(buffer, &mut self.bytes)?;
        *records += buffer.len() as u64;
        buffer.clear();
        *last = self.spill.append(&self.bytes)?;
        Ok(())
    }

    /// Writes the rest.
    pub fn finish(mut self) -> Result<Vec<Bucket>> {
        for bucket in 0..self.buffers.len() {
            self.flush(bucket)?;
        }
        let buckets = self.buckets.into_iter();
        Ok(buckets.map(|(last, records)| Bucket { chains: vec![last], records }).collect())
    }
}

/// Combines the buckets that several workers scattered.
pub(crate) fn join(workers: Vec<Vec<Bucket>>) -> Vec<Bucket> {
    let mut joined: Vec<Bucket> = Vec::new();
    for buckets in workers {
        joined.resize(joined.len().max(buckets.len()), Bucket::default());
        for (bucket, more) in joined.iter_mut().zip(buckets) {
            bucket.chains.extend(more.chains);
            bucket.records += more.records;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_ascend_and_hubs_stand_alone() {
        let mut cells = ArcCells::new(1 << 20);
        (0..1 << 20).for_each(|place| cells.add(place, if place == 3 { 1 << 22 } else { 2 }));
        let ranges = cells.ranges::<u64>(1 << 18, 0);
        let buckets: Vec<usize> = (0..1 << 20).map(|place| ranges.bucket(place)).collect();
        assert!(buckets.is_sorted() && ranges.count > 8);
        assert_eq!(buckets.iter().filter(|&&b| b == buckets[3]).count(), 1);
        assert_eq!(buckets.last(), Some(&(ranges.count - 1)));
    }
}
