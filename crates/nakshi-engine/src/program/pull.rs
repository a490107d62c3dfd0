//! Programs in which a value is a function of the in-neighbours' values.
//!
//! The abstraction of LFGraph (I. Hoque, I. Gupta, *LFGraph: Simple and Fast Distributed Graph
//! Analytics*, TRIOS 2013): less can be said than with a [`super::VertexProgram`], but nothing
//! is sent, every list is read in order, and the same program can run on a cluster.

use super::config::Config;
use super::engine::facts;
use super::grid::Grid;
use super::model::{Facts, ProgramNeeds};
use super::states::States;
use super::team::caught;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::stats::{IterationLog, RunStats};
use crate::{Direction, Needs, VertexId};
use std::mem::size_of;

/// A vertex's next value from its present one and those of its in-neighbours.
///
/// In each iteration every vertex gets a new value, computed from values of the iteration
/// before: there are two of each, the *real* one that others read and the *shadow* that is
/// being written. In-neighbours are taken in the order of the list, so that results, floats
/// too, are the same for any number of threads.
pub trait PullProgram: Sync {
    /// The value of a vertex.
    type Value: Copy + Send + Sync;
    /// What is gathered over the in-neighbours of one vertex.
    type Sum;

    /// Whether [`pull`](Self::pull) is given the weights of edges; without, they are all 1.
    const WEIGHTED: bool = false;

    /// What the engine must prepare; [`Direction::In`] lists by default.
    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::In])
    }

    /// The value before the first iteration.
    fn init(&self, vertex: VertexId, facts: &Facts) -> Self::Value;

    /// What is gathered over no neighbours.
    fn empty(&self) -> Self::Sum;

    /// Adds an in-neighbour to what was gathered.
    fn pull(&self, sum: &mut Self::Sum, neighbour: VertexId, value: &Self::Value, weight: f64);

    /// The new value.
    fn apply(
        &self,
        vertex: VertexId,
        old: &Self::Value,
        sum: Self::Sum,
        facts: &Facts,
    ) -> Self::Value;

    /// Whether the new value differs so much that others should see it. The run ends with the
    /// first iteration in which no value changes.
    fn changed(&self, old: &Self::Value, new: &Self::Value) -> bool;
}

/// What the engine needs to run `program`, for [`Graph::open`] and for an estimate.
pub fn pull_needs<P: PullProgram>(program: &P) -> Needs {
    let needs = program.needs();
    let bytes = 2.0 * size_of::<P::Value>() as f64 + 4.0 * needs.degrees.len() as f64;
    Needs { column: needs.column.clone(), ..Needs::new(bytes, &needs.lists) }
}

/// New values of consecutive vertices, written where they belong when there are enough.
struct Written<T> {
    first: VertexId,
    values: Vec<T>,
    changed: u64,
}

/// Values that a worker collects before it writes them.
const RUN: usize = 512;

impl<T: Copy> Written<T> {
    fn put(&mut self, shadow: &States<'_, T>, vertex: VertexId, value: T) {
        let next = u64::from(self.first) + self.values.len() as u64;
        if next != u64::from(vertex) || self.values.len() >= RUN {
            self.flush(shadow);
            self.first = vertex;
        }
        self.values.push(value);
    }

    /// Holds the lock of a range only for the copy: other workers may be in the same range.
    fn flush(&mut self, shadow: &States<'_, T>) {
        let mut places = shadow.cursor();
        for (vertex, value) in (self.first..=VertexId::MAX).zip(self.values.drain(..)) {
            if let Some(place) = places.get(vertex) {
                *place = value;
            }
        }
    }
}

/// Runs `program` until no value changes, or for `max_iterations`, and returns the values.
///
/// # Errors
/// [`Error::Panicked`] if a callback panics, [`Error::Unsupported`] if the graph was opened
/// without what the program needs, [`Error::OutOfMemory`], [`Error::Cancelled`],
/// [`Error::Deadline`], and errors of reading.
pub fn run_pull<P: PullProgram>(
    graph: &Graph,
    program: &P,
    max_iterations: Option<u32>,
    cx: &Context,
) -> Result<(Vec<P::Value>, RunStats)> {
    caught(|| run(graph, program, max_iterations, cx))
}

fn run<P: PullProgram>(
    graph: &Graph,
    program: &P,
    max_iterations: Option<u32>,
    cx: &Context,
) -> Result<(Vec<P::Value>, RunStats)> {
    let mut log = IterationLog::new(graph);
    let facts = facts(graph, &program.needs(), cx)?;
    let n = facts.num_vertices();
    let mut real = Vec::new();
    let bytes = (n * size_of::<P::Value>()) as u64;
    let too_much = |_| Error::OutOfMemory { what: "vertex values", bytes };
    real.try_reserve_exact(n).map_err(too_much)?;
    // Ids are 32 bits wide: the graph is no larger.
    real.extend((0..n).map(|v| program.init(v as VertexId, &facts)));
    let mut shadow = Vec::new();
    shadow.try_reserve_exact(n).map_err(too_much)?;
    shadow.extend_from_slice(&real);
    let cap = max_iterations.unwrap_or(u32::MAX);
    for iteration in 0..cap {
        let changed = iterate(graph, program, &facts, &real, &mut shadow, cx)?;
        std::mem::swap(&mut real, &mut shadow);
        log.end("pull", changed);
        cx.progress().update("iterations", u64::from(iteration) + 1, cap.into());
        if changed == 0 {
            break;
        }
    }
    Ok((real, log.finish()))
}

/// One iteration; returns how many values changed.
fn iterate<P: PullProgram>(
    graph: &Graph,
    program: &P,
    facts: &Facts,
    real: &[P::Value],
    shadow: &mut [P::Value],
    cx: &Context,
) -> Result<u64> {
    let grid = Grid::new(real.len(), cx.threads(), Config::default().running, None);
    let shadow = States::new(shadow, grid);
    let init = |_| Written { first: 0, values: Vec::with_capacity(RUN), changed: 0 };
    let finish = |written: &mut Written<P::Value>, vertex: VertexId, sum: P::Sum| {
        let Some(old) = real.get(vertex as usize) else { return };
        let new = program.apply(vertex, old, sum, facts);
        written.changed += u64::from(program.changed(old, &new));
        written.put(&shadow, vertex, new);
    };
    let add = |sum: &mut P::Sum, u: VertexId, weight: f64| {
        if let Some(value) = real.get(u as usize) {
            program.pull(sum, u, value, weight);
        }
    };
    let written = if P::WEIGHTED {
        graph.scan_weighted(Direction::In, cx, init, |written, v, list, weights| {
            let mut sum = program.empty();
            let mut i = 0;
            list.for_each(|u| {
                add(&mut sum, u, weights.get(i));
                i += 1;
            })?;
            finish(written, v, sum);
            Ok(())
        })?
    } else {
        graph.scan(Direction::In, cx, init, |written, v, list| {
            let mut sum = program.empty();
            list.for_each(|u| add(&mut sum, u, 1.0))?;
            finish(written, v, sum);
            Ok(())
        })?
    };
    let mut changed = 0;
    for mut part in written {
        part.flush(&shadow);
        changed += part.changed;
    }
    Ok(changed)
}
