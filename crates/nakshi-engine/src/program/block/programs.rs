//! Programs on blocks.

use super::frontier_model::{Combine, FrontierProgram};
use super::lists::Block;
use super::run::{BlockProgram, BlockStep};
use super::state::{Change, Number, values};
use crate::error::Result;
use crate::program::programs::UNREACHED;
use crate::program::pull::{Links, Totals};
use crate::{Direction, VertexId};
use std::marker::PhantomData;

/// PageRank, as [`crate::algo::pagerank`] has it: the value of a vertex is what it gives to each of its
/// out-neighbours.
#[derive(Clone, Copy, Debug)]
pub struct BlockPageRank<T> {
    /// Probability of following an edge.
    pub damping: f64,
    /// The run ends when the ranks change by less than this in sum, if it is not 0.
    pub tolerance: f64,
    /// Number of vertices.
    pub vertices: usize,
    /// The type of values.
    pub value: PhantomData<fn() -> T>,
}

impl<T: Number> BlockPageRank<T> {
    /// The rank of a vertex of this out-degree from its value.
    pub fn rank(value: T, degree: u32) -> f64 {
        value.float() * f64::from(degree.max(1))
    }

    fn share(rank: f64, degree: u32, dangling: &mut f64) -> T {
        if degree == 0 {
            *dangling += rank;
        }
        T::of_float(rank / f64::from(degree.max(1)))
    }
}

impl<T: Number> BlockProgram for BlockPageRank<T> {
    type State = Vec<T>;

    fn degrees(&self) -> bool {
        true
    }

    fn state(&self, n: usize) -> Result<Vec<T>> {
        values(n)
    }

    fn value_bytes(&self) -> f64 {
        size_of::<T>() as f64
    }

    fn init(
        &self,
        first: VertexId,
        degrees: &[u32],
        values: &mut &mut [T],
        totals: &mut Totals,
    ) -> Result<()> {
        let (rank, mut dangling) = (1.0 / self.vertices as f64, 0.0);
        for (value, degree) in values.iter_mut().zip(&degrees[first as usize..]) {
            *value = Self::share(rank, *degree, &mut dangling);
        }
        totals.add(dangling);
        Ok(())
    }

    fn run(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Vec<T>>,
        new: &mut &mut [T],
        totals: &mut Totals,
    ) -> Result<()> {
        let n = self.vertices as f64;
        let base = (1.0 - self.damping) / n + self.damping * step.totals.sum / n;
        let mut dangling = 0.0;
        for ((new, list), v) in new.iter_mut().zip(block.lists()).zip(block.vertices()) {
            let sum: f64 = list.iter().map(|u| step.values[*u as usize].float()).sum();
            let degree = step.degrees[*v as usize];
            *new = Self::share(base + self.damping * sum, degree, &mut dangling);
        }
        totals.add(dangling);
        Ok(())
    }

    fn distance(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Vec<T>>,
        new: &&mut [T],
    ) -> Option<f64> {
        let changes = block.vertices().iter().zip(new.iter()).map(|(v, new)| {
            let apart = new.float() - step.values[*v as usize].float();
            apart.abs() * f64::from(step.degrees[*v as usize].max(1))
        });
        Some(if self.tolerance > 0.0 { changes.sum() } else { 0.0 })
    }

    fn finished(&self, _: u32, _: &Totals, change: Change) -> bool {
        self.tolerance > 0.0 && change.distance < self.tolerance
    }
}

/// Breadth-first search: levels, [`UNREACHED`] where there is none.
#[derive(Clone, Copy, Debug)]
pub struct FrontierBfs {
    /// The vertex to start from.
    pub source: VertexId,
}

impl FrontierProgram for FrontierBfs {
    type Value = u32;
    type Message = u32;
    const COMBINE: Combine = Combine::Any;
    const SELECTS: bool = true;

    fn starts(&self) -> Option<&[VertexId]> {
        Some(std::slice::from_ref(&self.source))
    }

    fn init(&self, vertex: VertexId) -> u32 {
        if vertex == self.source { 0 } else { UNREACHED }
    }

    fn send(&self, level: u32, _: f64) -> u32 {
        level + 1
    }

    fn receive(&self, _: u32, message: u32) -> u32 {
        message
    }

    fn wants(&self, level: u32) -> bool {
        level == UNREACHED
    }
}

/// Connected components, whatever the direction of edges: the least vertex of each.
#[derive(Clone, Copy, Debug)]
pub struct FrontierComponents;

impl FrontierProgram for FrontierComponents {
    type Value = u32;
    type Message = u32;
    const COMBINE: Combine = Combine::Min;
    const LINKS: Links = Links::Both;
    const SELECTS: bool = true;
    const EAGER: bool = true;

    fn init(&self, vertex: VertexId) -> u32 {
        vertex
    }

    fn send(&self, label: u32, _: f64) -> u32 {
        label
    }

    fn receive(&self, label: u32, message: u32) -> u32 {
        label.min(message)
    }

    fn wants(&self, label: u32) -> bool {
        label > 0
    }
}

/// Lengths of shortest paths, infinite where there is none (Bellman, Ford).
#[derive(Clone, Copy, Debug)]
pub struct FrontierPaths {
    /// The vertex to start from.
    pub source: VertexId,
}

impl FrontierProgram for FrontierPaths {
    type Value = f64;
    type Message = f64;
    const COMBINE: Combine = Combine::Min;
    const WEIGHTED: bool = true;

    fn starts(&self) -> Option<&[VertexId]> {
        Some(std::slice::from_ref(&self.source))
    }

    fn init(&self, vertex: VertexId) -> f64 {
        if vertex == self.source { 0.0 } else { f64::INFINITY }
    }

    fn send(&self, length: f64, weight: f64) -> f64 {
        length + weight
    }

    fn receive(&self, length: f64, message: f64) -> f64 {
        length.min(message)
    }
}

/// Levels from a source, and numbers of shortest paths: the way forth of betweenness centrality (Brandes).
#[derive(Clone, Copy, Debug)]
pub struct BlockPaths {
    /// The vertex to start from.
    pub source: VertexId,
}

impl BlockProgram for BlockPaths {
    /// Levels, [`UNREACHED`] where there is none, and paths.
    type State = (Vec<u32>, Vec<f64>);

    fn state(&self, n: usize) -> Result<Self::State> {
        Ok((values(n)?, values(n)?))
    }

    fn value_bytes(&self) -> f64 {
        12.0
    }

    fn init(
        &self,
        first: VertexId,
        _: &[u32],
        (levels, paths): &mut (&mut [u32], &mut [f64]),
        _: &mut Totals,
    ) -> Result<()> {
        for (v, (level, paths)) in (first..).zip(levels.iter_mut().zip(paths.iter_mut())) {
            (*level, *paths) = if v == self.source { (0, 1.0) } else { (UNREACHED, 0.0) };
        }
        Ok(())
    }

    fn run(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Self::State>,
        (levels, paths): &mut (&mut [u32], &mut [f64]),
        _: &mut Totals,
    ) -> Result<()> {
        let (old_levels, old_paths) = step.values;
        let new = levels.iter_mut().zip(paths.iter_mut());
        for ((v, list), (level, paths)) in block.vertices().iter().zip(block.lists()).zip(new) {
            (*level, *paths) = (old_levels[*v as usize], old_paths[*v as usize]);
            if *level != UNREACHED {
                continue;
            }
            let above = list.iter().filter(|u| old_levels[**u as usize] == step.number - 1);
            *paths = above.map(|u| old_paths[*u as usize]).sum();
            if *paths > 0.0 {
                *level = step.number;
            }
        }
        Ok(())
    }
}

/// Dependencies of a source on each vertex, from the last level up: the way back of betweenness centrality.
#[derive(Clone, Debug)]
pub struct BlockDependencies {
    /// Levels and paths, as [`BlockPaths`] finds them.
    pub levels: Vec<u32>,
    /// Numbers of shortest paths.
    pub paths: Vec<f64>,
    /// The last level.
    pub depth: u32,
}

impl BlockProgram for BlockDependencies {
    type State = Vec<f64>;

    fn direction(&self) -> Direction {
        Direction::Out
    }

    fn state(&self, n: usize) -> Result<Vec<f64>> {
        values(n)
    }

    fn value_bytes(&self) -> f64 {
        8.0
    }

    fn init(&self, _: VertexId, _: &[u32], _: &mut &mut [f64], _: &mut Totals) -> Result<()> {
        Ok(())
    }

    fn run(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Vec<f64>>,
        new: &mut &mut [f64],
        _: &mut Totals,
    ) -> Result<()> {
        let at = self.depth.saturating_sub(step.number);
        for ((v, list), new) in block.vertices().iter().zip(block.lists()).zip(new.iter_mut()) {
            let (level, paths) = (self.levels[*v as usize], self.paths[*v as usize]);
            *new = step.values[*v as usize];
            if level == at && level > 0 {
                let below = list.iter().filter(|w| self.levels[**w as usize] == level + 1);
                let parts =
                    below.map(|w| (1.0 + step.values[*w as usize]) / self.paths[*w as usize]);
                *new = paths * parts.sum::<f64>();
            }
        }
        Ok(())
    }

    fn finished(&self, step: u32, _: &Totals, _: Change) -> bool {
        step >= self.depth
    }
}
