//! Programs on blocks.

use super::frontier_model::{Combine, FrontierProgram};
use super::lists::Block;
use super::run::{BlockProgram, BlockStep};
use super::state::{Change, Number, values};
use crate::VertexId;
use crate::error::Result;
use crate::program::programs::UNREACHED;
use crate::program::pull::{Links, Totals};
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
    type Message = u64;
    const COMBINE: Combine = Combine::Any;
    const SELECTS: bool = true;

    fn starts(&self) -> Option<&[VertexId]> {
        Some(std::slice::from_ref(&self.source))
    }

    fn init(&self, vertex: VertexId) -> u32 {
        if vertex == self.source { 0 } else { UNREACHED }
    }

    fn send(&self, level: u32, _: f64) -> u64 {
        u64::from(level) + 1
    }

    fn receive(&self, _: u32, message: u64) -> u32 {
        // Levels are below the number of vertices.
        message as u32
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
    type Message = u64;
    const COMBINE: Combine = Combine::Min;
    const LINKS: Links = Links::Both;
    const SELECTS: bool = true;
    const EAGER: bool = true;

    fn init(&self, vertex: VertexId) -> u32 {
        vertex
    }

    fn send(&self, label: u32, _: f64) -> u64 {
        label.into()
    }

    fn receive(&self, label: u32, message: u64) -> u32 {
        // Labels are vertices.
        label.min(message as u32)
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
