//! The schedule of an iteration, and who runs what.

use super::frontier::Frontier;
use super::grid::Grid;
use super::model::Order;
use crate::VertexId;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicUsize);

/// A vertex, or a part of one, that a worker shall run.
#[derive(Clone, Copy, Debug)]
pub(super) struct VertexTask {
    pub(super) vertex: VertexId,
    /// The part; 0 for whole vertices too.
    pub(super) part: u32,
    /// For parts after the first: which of the split vertices this is.
    pub(super) split: u32,
    /// Share of the bytes of own lists that it may ask for, estimated.
    pub(super) bytes: u32,
}

/// A vertex that is split in this iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split<S> {
    pub(super) vertex: VertexId,
    pub(super) parts: u32,
    /// The copy of the state that each part starts from.
    pub(super) state: S,
}

/// Vertices or parts to run in the present stage of an iteration: the first parts of all active
/// vertices (stage 0), or parts `j` of the split ones (stage `j`).
#[derive(Debug)]
pub(super) enum Queue {
    /// Ascending or descending ids: for each partition the blocks of the frontier that have members.
    Blocks {
        /// Blocks of each partition, ascending.
        blocks: Vec<Vec<u32>>,
        /// True if the blocks are run in descending order.
        down: bool,
    },
    /// Vertices in this order, for all workers.
    Listed(Vec<VertexId>),
    /// Part `part` of these split vertices, for all workers.
    Parts {
        /// Indices of split vertices.
        splits: Vec<u32>,
        /// The part.
        part: u32,
    },
}

impl Queue {
    /// Split vertices in the order of this queue.
    pub(super) fn sorted<S>(&self, mut splits: Vec<Split<S>>) -> Vec<Split<S>> {
        splits.sort_unstable_by_key(|s| s.vertex);
        match self {
            Queue::Blocks { down: true, .. } => splits.reverse(),
            Queue::Listed(order) if !splits.is_empty() => {
                let mut place = vec![usize::MAX; splits.len()];
                for (at, v) in order.iter().enumerate() {
                    if let Ok(i) = splits.binary_search_by_key(v, |s| s.vertex)
                        && let Some(place) = place.get_mut(i)
                    {
                        *place = at;
                    }
                }
                let mut placed: Vec<_> = place.into_iter().zip(splits).collect();
                placed.sort_by_key(|(at, _)| *at);
                splits = placed.into_iter().map(|(_, s)| s).collect();
            }
            _ => {}
        }
        splits
    }
}

/// Positions up to which the queue of a stage is given out. A worker that advances a counter owns the
/// range that it passed:
/// this is all there is to stealing.
#[derive(Debug)]
pub(super) struct Cursors {
    counters: Vec<Counter>,
    workers: usize,
}

/// Position of one worker in a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand {
    /// Partitions that were found empty.
    exhausted: usize,
    /// Words, or places in a list, to take at once.
    grab: usize,
}

impl Default for Stand {
    fn default() -> Self {
        Stand { exhausted: 0, grab: 1 }
    }
}

/// Words of the frontier that one grab may take, at most.
const MAX_GRAB: usize = 64;
/// Members that a grab should give; with fewer the next one takes more words.
const ENOUGH: usize = 64;

impl Cursors {
    pub(super) fn new(grid: Grid, workers: usize) -> Self {
        let counters = (0..grid.partitions()).map(|_| Counter::default()).collect();
        Cursors { counters, workers }
    }

    /// Resets all counters for a new stage, while no worker draws.
    pub(super) fn reset(&self) {
        for counter in &self.counters {
            counter.0.store(0, Ordering::Relaxed);
        }
    }

    /// Returns true if something is left to be given out.
    pub(super) fn left(&self, queue: &Queue, words_per_block: usize) -> bool {
        let at = |i: usize| self.counters.get(i).map_or(0, |c| c.0.load(Ordering::Relaxed));
        match queue {
            Queue::Blocks { blocks, .. } => {
                blocks.iter().enumerate().any(|(p, b)| at(p) < b.len() * words_per_block)
            }
            Queue::Listed(vertices) => at(0) < vertices.len(),
            Queue::Parts { splits, .. } => at(0) < splits.len(),
        }
    }

    /// The partitions in the order in which `worker` looks for work: its own, then others'.
    fn partition(&self, worker: usize, k: usize) -> Option<usize> {
        let partitions = self.counters.len();
        // Partition p is at home with worker p % workers.
        (k < partitions).then(|| {
            let (mut rank, mut home) = (k, worker % self.workers);
            loop {
                let owned = (partitions + self.workers - 1 - home) / self.workers;
                if rank < owned {
                    return home + rank * self.workers;
                }
                rank -= owned;
                home = (home + 1) % self.workers;
            }
        })
    }

    /// Draws work for `worker` into `tasks`; `false` when nothing is left in this stage.
    pub(super) fn draw(
        &self,
        queue: &Queue,
        frontier: &Frontier,
        worker: usize,
        stand: &mut Stand,
        tasks: &mut Vec<VertexTask>,
        mut bytes_of: impl FnMut(Range<usize>) -> u64,
    ) -> bool {
        match queue {
            Queue::Blocks { blocks, down } => {
                while let Some(p) = self.partition(worker, stand.exhausted) {
                    let list = blocks.get(p).map_or(&[][..], Vec::as_slice);
                    let per_block = frontier.words_per_block();
                    let total = list.len() * per_block;
                    let Some(from) = self.advance(p, stand.grab, total) else {
                        stand.exhausted += 1;
                        continue;
                    };
                    let before = tasks.len();
                    for unit in from..total.min(from + stand.grab) {
                        let unit = if *down { total - 1 - unit } else { unit };
                        let Some(&block) = list.get(unit / per_block) else { continue };
                        let word = block as usize * per_block + unit % per_block;
                        members(frontier.take_word(word), word, *down, tasks, &mut bytes_of);
                    }
                    let found = tasks.len() - before;
                    let sparse = found < ENOUGH;
                    stand.grab = if sparse {
                        (stand.grab * 2).min(MAX_GRAB)
                    } else {
                        (stand.grab / 2).max(1)
                    };
                    if found > 0 {
                        return true;
                    }
                }
                false
            }
            Queue::Listed(vertices) => {
                let Some(range) = self.advance_guided(vertices.len()) else { return false };
                let list = vertices.get(range).unwrap_or(&[]);
                tasks.extend(list.iter().map(|&vertex| {
                    let v = vertex as usize;
                    let bytes = u32::try_from(bytes_of(v..v + 1)).unwrap_or(u32::MAX);
                    VertexTask { vertex, part: 0, split: 0, bytes }
                }));
                true
            }
            Queue::Parts { splits, part } => {
                let Some(range) = self.advance_guided(splits.len()) else { return false };
                let list = splits.get(range).unwrap_or(&[]);
                let task = |&split| VertexTask { vertex: 0, part: *part, split, bytes: 0 };
                tasks.extend(list.iter().map(task));
                true
            }
        }
    }

    fn advance(&self, partition: usize, grab: usize, total: usize) -> Option<usize> {
        let counter = &self.counters.get(partition)?.0;
        if counter.load(Ordering::Relaxed) >= total {
            return None;
        }
        Some(counter.fetch_add(grab, Ordering::Relaxed)).filter(|&from| from < total)
    }

    /// Draws from one list for all workers: the less is left, the less is taken at once.
    fn advance_guided(&self, total: usize) -> Option<Range<usize>> {
        let counter = &self.counters.first()?.0;
        let left = total.checked_sub(counter.load(Ordering::Relaxed))?;
        let grab = (left / (4 * self.workers)).clamp(1, ENOUGH);
        let from = counter.fetch_add(grab, Ordering::Relaxed);
        (from < total).then(|| from..total.min(from + grab))
    }
}

fn members(
    mut bits: u64,
    word: usize,
    down: bool,
    tasks: &mut Vec<VertexTask>,
    bytes_of: &mut impl FnMut(Range<usize>) -> u64,
) {
    if bits == 0 {
        return;
    }
    // A guess, by the average of the word: neighbours in the order have similar lists.
    let bytes = u32::try_from(bytes_of(word * 64..word * 64 + 64) / 64).unwrap_or(u32::MAX);
    while bits != 0 {
        let bit = if down { 63 - bits.leading_zeros() } else { bits.trailing_zeros() };
        bits ^= 1 << bit;
        // A frontier has at most 2^32 members.
        let vertex = word as VertexId * 64 + bit;
        tasks.push(VertexTask { vertex, part: 0, split: 0, bytes });
    }
}

/// Plans stage 0 of an iteration: takes the summary of the frontier (by id) or its members (in
/// a custom order).
pub(super) fn plan(
    order: &Order,
    frontier: &Frontier,
    grid: Grid,
    iteration: u32,
    key: impl Fn(VertexId) -> u64,
) -> Queue {
    let mut blocks = vec![Vec::new(); grid.partitions()];
    let per_block = frontier.words_per_block();
    let mut note = |block: usize| {
        // Blocks of a graph of 2^32 vertices fit 32 bits.
        let first = (block * per_block * 64) as VertexId;
        if let Some(list) = blocks.get_mut(grid.partition(first)) {
            list.push(block as u32);
        }
    };
    match order {
        Order::Ascending | Order::Alternating => {
            frontier.take_blocks(&mut note);
            let down = matches!(order, Order::Alternating) && iteration % 2 == 1;
            Queue::Blocks { blocks, down }
        }
        Order::Key => {
            let members = take_all(frontier);
            let mut keyed: Vec<(u64, VertexId)> =
                members.into_iter().map(|v| (key(v), v)).collect();
            keyed.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            Queue::Listed(keyed.into_iter().map(|(_, v)| v).collect())
        }
        Order::Vector(order) => {
            let mut listed: Vec<VertexId> =
                order.iter().copied().filter(|&v| frontier.take(v)).collect();
            listed.extend(take_all(frontier));
            Queue::Listed(listed)
        }
    }
}

fn take_all(frontier: &Frontier) -> Vec<VertexId> {
    let mut tasks = Vec::new();
    let per_block = frontier.words_per_block();
    frontier.take_blocks(|block| {
        for word in block * per_block..(block + 1) * per_block {
            members(frontier.take_word(word), word, false, &mut tasks, &mut |_| 0);
        }
    });
    tasks.into_iter().map(|t| t.vertex).collect()
}

/// Members of the present iteration's set of vertices to be told of its end.
pub(super) fn words_of(frontier: &Frontier) -> Vec<u32> {
    let mut words = Vec::new();
    let per_block = frontier.words_per_block();
    frontier.take_blocks(|block| {
        words.extend((block * per_block..(block + 1) * per_block).map(|w| w as u32));
    });
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The grid, the frontier and the cursors of a graph.
    fn set_up(
        vertices: usize,
        workers: usize,
        shift: Option<u32>,
        block: u32,
    ) -> (Grid, Frontier, Cursors) {
        let grid = Grid::new(vertices, workers, 64, shift);
        (grid, Frontier::new(vertices, block), Cursors::new(grid, workers))
    }

    fn drain(
        cursors: &Cursors,
        queue: &Queue,
        frontier: &Frontier,
        worker: usize,
    ) -> Vec<VertexId> {
        let (mut stand, mut tasks) = (Stand::default(), Vec::new());
        while cursors.draw(queue, frontier, worker, &mut stand, &mut tasks, |_| 0) {}
        tasks.iter().map(|t| t.vertex).collect()
    }

    #[test]
    fn one_worker_goes_up_and_down() {
        let (grid, frontier, cursors) = set_up(10_000, 1, Some(8), 8);
        for iteration in 0..3 {
            frontier.fill();
            cursors.reset();
            let queue = plan(&Order::Alternating, &frontier, grid, iteration, |_| 0);
            assert!(cursors.left(&queue, frontier.words_per_block()));
            let mut got = drain(&cursors, &queue, &frontier, 0);
            assert!(!cursors.left(&queue, frontier.words_per_block()));
            if iteration == 1 {
                assert_eq!(got.first(), Some(&9999));
                got.reverse();
            }
            assert!(got.iter().copied().eq(0..10_000));
        }
    }

    #[test]
    fn own_partitions_first_then_the_others() {
        let (grid, frontier, cursors) = set_up(10_000, 3, Some(6), 6);
        for worker in 0..3 {
            let order: Vec<usize> =
                (0..grid.partitions()).map(|k| cursors.partition(worker, k).unwrap()).collect();
            assert!(order[..5].iter().all(|p| p % 3 == worker));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..16));
        }
        frontier.fill();
        let queue = plan(&Order::Ascending, &frontier, grid, 1, |_| 0);
        let (mut stand, mut mine) = (Stand::default(), Vec::new());
        cursors.draw(&queue, &frontier, 1, &mut stand, &mut mine, |_| 0);
        let mut all = drain(&cursors, &queue, &frontier, 2);
        all.extend(mine.iter().map(|t| t.vertex));
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10_000), "the rest was stolen, nothing twice");
    }

    #[test]
    fn custom_orders() {
        let (grid, frontier, cursors) = set_up(1000, 1, None, 6);
        frontier.fill();
        let queue = plan(&Order::Key, &frontier, grid, 0, |v| u64::from(v % 10));
        let got = drain(&cursors, &queue, &frontier, 0);
        assert_eq!(got[..3], [9, 19, 29]);
        assert_eq!(got.len(), 1000);
        cursors.reset();
        for v in [5, 7, 900] {
            frontier.insert(v);
        }
        let order = Order::Vector(vec![900, 900, 3, 7]);
        let queue = plan(&order, &frontier, grid, 0, |_| 0);
        assert_eq!(drain(&cursors, &queue, &frontier, 0), [900, 7, 5]);
    }
}
