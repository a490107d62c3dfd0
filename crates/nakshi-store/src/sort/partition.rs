//! Range partition of arcs by source, so that each bucket can be sorted in memory.

use super::radix::Record;
use super::spill::{Spill, SpillExtent, put_words};
use crate::Result;

/// Number of positions with a cell of their own; hubs are among them in the degree layout.
const FINE: usize = 1 << 16;

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

    /// Cuts the positions into ranges of about `target` arcs, at most 1,024 ranges.
    pub fn ranges(&self, target: u64) -> Ranges {
        let total: u64 = self.arcs.iter().sum();
        let target = target.max(total / 500).max(1);
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
        Ranges { shift: self.shift, bucket_of, count: usize::from(buckets) + 1 }
    }
}

/// Ranges of positions, one for each bucket.
#[derive(Debug)]
pub(crate) struct Ranges {
    shift: u32,
    bucket_of: Vec<u16>,
    /// Number of ranges.
    pub count: usize,
}

impl Ranges {
    #[inline]
    fn bucket(&self, place: u32) -> usize {
        usize::from(self.bucket_of[ArcCells::cell(self.shift, place)])
    }
}

/// The arcs of one bucket on disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    pub extents: Vec<SpillExtent>,
    /// Bytes in all extents.
    pub bytes: u64,
}

/// The arcs that one worker is scattering into buckets.
#[derive(Debug)]
pub(crate) struct Scatter<'s> {
    spill: &'s Spill,
    ranges: &'s Ranges,
    buffers: Vec<Vec<u64>>,
    words: usize,
    bytes: Vec<u8>,
    buckets: Vec<Bucket>,
}

impl<'s> Scatter<'s> {
    /// Makes empty buffers, which take `memory` bytes.
    pub fn new(spill: &'s Spill, ranges: &'s Ranges, memory: u64) -> Self {
        let words = ((memory / 8) as usize / ranges.count).clamp(256, 16 << 10) & !1;
        let buffers = (0..ranges.count).map(|_| Vec::with_capacity(words)).collect();
        Self {
            spill,
            ranges,
            buffers,
            words,
            bytes: Vec::new(),
            buckets: vec![Bucket::default(); ranges.count],
        }
    }

    /// Adds an arc.
    #[inline]
    pub fn push<R: Record>(&mut self, source: u32, target: u32, weight: u64) -> Result<()> {
        let bucket = self.ranges.bucket(source);
        let buffer = &mut self.buffers[bucket];
        buffer.push(u64::from(source) << 32 | u64::from(target));
        if R::WEIGHTED {
            buffer.push(weight);
        }
        if buffer.len() >= self.words { self.flush(bucket) } else { Ok(()) }
    }

    fn flush(&mut self, bucket: usize) -> Result<()> {
        let buffer = &mut self.buffers[bucket];
        if buffer.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        put_words(&mut self.bytes, buffer);
        buffer.clear();
        let extent = self.spill.append(&self.bytes)?;
        let bucket = &mut self.buckets[bucket];
        bucket.extents.push(extent);
        bucket.bytes += extent.len;
        Ok(())
    }

    /// Writes the rest.
    pub fn finish(mut self) -> Result<Vec<Bucket>> {
        for bucket in 0..self.buffers.len() {
            self.flush(bucket)?;
        }
        Ok(self.buckets)
    }
}

/// Combines the buckets that several workers scattered.
pub(crate) fn join(workers: Vec<Vec<Bucket>>) -> Vec<Bucket> {
    let mut joined: Vec<Bucket> = Vec::new();
    for buckets in workers {
        joined.resize(joined.len().max(buckets.len()), Bucket::default());
        for (bucket, more) in joined.iter_mut().zip(buckets) {
            bucket.extents.extend(more.extents);
            bucket.bytes += more.bytes;
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
        let ranges = cells.ranges(1 << 18);
        let buckets: Vec<usize> = (0..1 << 20).map(|place| ranges.bucket(place)).collect();
        assert!(buckets.is_sorted() && ranges.count > 8);
        assert_eq!(buckets.iter().filter(|&&b| b == buckets[3]).count(), 1);
        assert_eq!(buckets.last(), Some(&(ranges.count - 1)));
    }
}
