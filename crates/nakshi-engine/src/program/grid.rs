//! Horizontal partitioning: which partition owns a vertex.

use crate::VertexId;

/// Smallest range: one word of a bitmap, so that no word belongs to two partitions.
pub(super) const MIN_RANGE_BITS: u32 = 6;
/// The paper's bounds for graphs that are not small (section 3.8).
const USUAL_RANGE_BITS: std::ops::RangeInclusive<u32> = 12..=18;
/// Partitions per worker. Several, so that a partition that holds the hubs of a
/// degree-ordered graph, and with them most messages, does not hold up one worker.
const PARTITIONS_PER_WORKER: usize = 4;

/// The range partitioning function of FlashGraph section 3.8: `(id >> r) % n`.
///
/// `n` is a power of two and at least the number of workers; worker `w` is at home in
/// the partitions `p` with `p % workers == w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    vertices: usize,
    range_bits: u32,
    partition_bits: u32,
}

impl Grid {
    /// A partitioning of `vertices` for `workers` that run up to `running` vertices each.
    ///
    /// Without `range_bits` a range has 2^12 to 2^18 vertices, growing with the graph and
    /// never less than `running`, but on small graphs so few that every worker gets some.
    pub fn new(vertices: usize, workers: usize, running: usize, range_bits: Option<u32>) -> Self {
        let workers = workers.max(1);
        let bits = range_bits.unwrap_or_else(|| {
            let by_size = vertices.max(1).ilog2().saturating_sub(14);
            let by_running = running.max(1).next_power_of_two().ilog2();
            let usual = by_size.clamp(*USUAL_RANGE_BITS.start(), *USUAL_RANGE_BITS.end());
            // A graph is small if it has not four usual ranges for each worker.
            let small = (vertices / (4 * workers)).max(1).ilog2();
            usual.max(by_running.min(*USUAL_RANGE_BITS.end())).min(small)
        });
        let partitions = match workers {
            1 => 1,
            w => (w * PARTITIONS_PER_WORKER).next_power_of_two(),
        };
        Grid {
            vertices,
            range_bits: bits.clamp(MIN_RANGE_BITS, 31),
            partition_bits: partitions.ilog2(),
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// `r`: a range has `2^r` vertices.
    pub fn range_bits(&self) -> u32 {
        self.range_bits
    }

    /// `n`, the number of partitions.
    pub fn partitions(&self) -> usize {
        1 << self.partition_bits
    }

    /// The partition that owns `vertex`.
    #[inline]
    pub fn partition(&self, vertex: VertexId) -> usize {
        (vertex >> self.range_bits) as usize & (self.partitions() - 1)
    }

    /// The range of `vertex`, counted over all partitions.
    #[inline]
    pub(super) fn range(&self, vertex: VertexId) -> usize {
        (vertex >> self.range_bits) as usize
    }

    /// Position of the range of `vertex` among the ranges of its partition.
    #[inline]
    pub(super) fn range_in_partition(&self, vertex: VertexId) -> usize {
        self.range(vertex) >> self.partition_bits
    }

    /// Position of `vertex` inside its range.
    #[inline]
    pub(super) fn offset(&self, vertex: VertexId) -> usize {
        vertex as usize & ((1 << self.range_bits) - 1)
    }

    /// Number of ranges.
    pub(super) fn ranges(&self) -> usize {
        self.vertices.div_ceil(1 << self.range_bits)
    }

    /// The ranges of a partition in ascending order.
    pub(super) fn ranges_of(&self, partition: usize) -> impl Iterator<Item = usize> + use<> {
        (partition..self.ranges()).step_by(self.partitions())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_the_paper() {
        let kron22 = Grid::new(1 << 22, 2, 4000, None);
        assert_eq!((kron22.range_bits(), kron22.partitions()), (12, 8));
        assert_eq!(Grid::new(1 << 27, 2, 4000, None).range_bits(), 13);
        assert_eq!(Grid::new(u32::MAX as usize, 32, 4000, None).range_bits(), 17);
        // 2^r >= running vertices
        assert_eq!(Grid::new(1 << 27, 2, 10_000, None).range_bits(), 14);
        assert_eq!(Grid::new(1 << 27, 2, 10_000_000, None).range_bits(), 18);
        // small graphs: each worker gets ranges
        let small = Grid::new(1000, 2, 4000, None);
        assert!(small.ranges() >= 8 && small.range_bits() < 12);
        assert_eq!(Grid::new(0, 1, 4000, None).ranges(), 0);
    }

    #[test]
    fn every_vertex_has_one_place() {
        let grid = Grid::new(5000, 3, 64, Some(7));
        assert_eq!(grid.partitions(), 16);
        for v in 0..5000u32 {
            let p = grid.partition(v);
            assert_eq!(p, (v as usize >> 7) % grid.partitions());
            let range = grid.ranges_of(p).nth(grid.range_in_partition(v));
            assert_eq!(range, Some(grid.range(v)));
            assert_eq!(grid.range(v) * 128 + grid.offset(v), v as usize);
        }
        let all: usize = (0..grid.partitions()).map(|p| grid.ranges_of(p).count()).sum();
        assert_eq!(all, grid.ranges());
    }
}
