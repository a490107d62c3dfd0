//! The state of all vertices, one lock per range.
//!
//! A worker takes the state of a vertex out for the time that the vertex runs and puts it back
//! when the vertex is done; messages are delivered while nothing runs, by one worker for each
//! partition. So a lock is never waited for, and is taken once per run of vertices of one
//! range, not per vertex or message; it is there so that the compiler can check the claim.

use super::grid::Grid;
use crate::VertexId;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The states, split into the ranges of the grid.
#[derive(Debug)]
pub(super) struct States<'a, S> {
    ranges: Vec<Mutex<&'a mut [S]>>,
    grid: Grid,
}

type Guard<'s, 'a, S> = MutexGuard<'s, &'a mut [S]>;

impl<'a, S> States<'a, S> {
    /// Splits the states of all vertices.
    pub(super) fn new(all: &'a mut [S], grid: Grid) -> Self {
        let ranges = all.chunks_mut(1 << grid.range_bits()).map(Mutex::new).collect();
        States { ranges, grid }
    }

    fn range(&self, index: usize) -> Option<Guard<'_, 'a, S>> {
        // A panic in a callback ends the run, and its states are not handed out.
        self.ranges.get(index).map(|r| r.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Access from one worker to vertices of any range, best in order.
    pub(super) fn cursor(&self) -> StateCursor<'_, 'a, S> {
        StateCursor { states: self, held: None }
    }

    /// Access from one worker to the vertices of one partition, in any order.
    pub(super) fn partition(&self, partition: usize) -> StatePartition<'_, 'a, S> {
        let held = self.grid.ranges_of(partition).map(|_| None).collect();
        StatePartition { states: self, held }
    }
}

/// Holds the range that was used last.
pub(super) struct StateCursor<'s, 'a, S> {
    states: &'s States<'a, S>,
    held: Option<(usize, Guard<'s, 'a, S>)>,
}

impl<S> StateCursor<'_, '_, S> {
    /// The state of a vertex, for reading or writing; `None` if there is no such vertex.
    #[inline]
    pub(super) fn get(&mut self, vertex: VertexId) -> Option<&mut S> {
        let range = self.states.grid.range(vertex);
        if self.held.as_ref().is_none_or(|(held, _)| *held != range) {
            // Let go first: two workers that each wait for the other's range would hang.
            self.held = None;
            self.held = Some((range, self.states.range(range)?));
        }
        let (_, guard) = self.held.as_mut()?;
        guard.get_mut(self.states.grid.offset(vertex))
    }
}

/// Holds the ranges of one partition, each from its first use on.
pub(super) struct StatePartition<'s, 'a, S> {
    states: &'s States<'a, S>,
    held: Vec<Option<Guard<'s, 'a, S>>>,
}

impl<S> StatePartition<'_, '_, S> {
    /// The state of a vertex of this partition.
    #[inline]
    pub(super) fn get(&mut self, vertex: VertexId) -> Option<&mut S> {
        let grid = &self.states.grid;
        let slot = self.held.get_mut(grid.range_in_partition(vertex))?;
        if slot.is_none() {
            *slot = self.states.range(grid.range(vertex));
        }
        slot.as_mut()?.get_mut(grid.offset(vertex))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_reach_every_vertex() {
        let grid = Grid::new(1000, 2, 64, Some(6));
        let mut all: Vec<u32> = (0..1000).collect();
        let states = States::new(&mut all, grid);
        let mut cursor = states.cursor();
        for v in (0..1000u32).rev() {
            *cursor.get(v).unwrap() += 1;
        }
        assert!(cursor.get(1000).is_none());
        drop(cursor);
        let mut parts: Vec<_> = (0..grid.partitions()).map(|p| states.partition(p)).collect();
        for v in 0..1000u32 {
            *parts[grid.partition(v)].get(v).unwrap() += 1;
        }
        drop(parts);
        assert!(all.iter().enumerate().all(|(i, &s)| s as usize == i + 2));
    }
}
