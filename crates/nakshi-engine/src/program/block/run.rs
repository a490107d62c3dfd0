//! Runs of programs on blocks.

use std::sync::{Mutex, PoisonError};

use super::lists::{Block, Lists};
use super::state::{Change, State};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel::{BLOCK, run_workers};
use crate::program::pull::{Seen, Totals};
use crate::program::team::caught;
use crate::scan;
use crate::source::chunks::View;
use crate::stats::{IterationLog, RunStats};
use crate::{Direction, Needs, Summary, VertexId};

/// The state of a step that a program may read besides its block.
#[derive(Clone, Copy, Debug)]
pub struct BlockStep<'a, S> {
    /// The number of the step, from 1: values of step 0 are [`BlockProgram::init`]'s.
    pub number: u32,
    /// The values of all vertices after the step before.
    pub values: &'a S,
    /// The out-degrees of all vertices; empty unless the program wants them.
    pub degrees: &'a [u32],
    /// Totals of the step before.
    pub totals: Seen,
}

/// A vertex's next value from the present ones and its in-neighbours, block by block.
///
/// A run ends when the program says so, or after a step that changed no value.
pub trait BlockProgram: Sync {
    /// The values of all vertices.
    type State: State;

    /// True if blocks have the weights of the edges.
    fn weighted(&self) -> bool {
        false
    }

    /// True if the program reads out-degrees.
    fn degrees(&self) -> bool {
        false
    }

    /// Direction of the lists.
    fn direction(&self) -> Direction {
        Direction::In
    }

    /// Arrays for the values of `n` vertices.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn state(&self, n: usize) -> Result<Self::State>;

    /// Bytes of the values of a vertex.
    fn value_bytes(&self) -> f64;

    /// Writes the values of the vertices from `first` on before the first step, and adds to the totals.
    /// `degrees` are the out-degrees of all vertices, if the program wants them.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn init(
        &self,
        first: VertexId,
        degrees: &[u32],
        values: &mut <Self::State as State>::Part<'_>,
        totals: &mut Totals,
    ) -> Result<()>;

    /// Writes the next value of every vertex of the block to `new`, and adds to the totals.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn run(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Self::State>,
        new: &mut <Self::State as State>::Part<'_>,
        totals: &mut Totals,
    ) -> Result<()>;

    /// The distance of the new values of a block from the present ones, if that is not the sum of the absolute
    /// differences.
    fn distance(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Self::State>,
        new: &<Self::State as State>::Part<'_>,
    ) -> Option<f64> {
        let _ = (block, step, new);
        None
    }

    /// Returns true if `step` was the last one.
    fn finished(&self, step: u32, totals: &Totals, change: Change) -> bool {
        let _ = (step, totals);
        change.vertices == 0
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct BlocksRun<S> {
    /// The values of all vertices.
    pub values: S,
    /// Steps that were run.
    pub steps: u32,
    /// Change of the last step.
    pub change: Change,
    /// Totals of the last step.
    pub totals: Totals,
    /// Statistics of the run.
    pub stats: RunStats,
}

/// Memory and lists that a run needs. `column` is the attribute that weights are.
pub fn block_needs<P: BlockProgram>(program: &P, column: Option<&str>, summary: &Summary) -> Needs {
    let degrees = if program.degrees() { 4.0 } else { 0.0 };
    let needs = Needs::new(2.0 * program.value_bytes() + degrees, &[program.direction()]);
    let state_bytes_fixed = longest_block(summary, program.weighted());
    Needs { repeats: true, column: column.map(str::to_owned), state_bytes_fixed, ..needs }
}

/// Bytes of the block of the longest list.
pub(super) fn longest_block(summary: &Summary, weighted: bool) -> u64 {
    // An entry takes at least a byte in a store; a vector may have twice the room that it needs.
    summary.longest_list * if weighted { 24 } else { 8 }
}

/// Runs a program until it is finished, or for `most` steps.
///
/// # Errors
/// [`Error::Panicked`] if a callback panics, [`Error::Unsupported`] if the graph was opened without what
/// the program needs, [`Error::OutOfMemory`], [`Error::Cancelled`], [`Error::Deadline`], and errors of
/// reading and of the program.
pub fn run_blocks<P: BlockProgram>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<BlocksRun<P::State>> {
    caught(|| run(graph, program, most, cx))
}

fn run<P: BlockProgram>(
    graph: &Graph,
    program: &P,
    most: Option<u32>,
    cx: &Context,
) -> Result<BlocksRun<P::State>> {
    let mut log = IterationLog::new(graph);
    let n = graph.num_vertices();
    let degrees = if program.degrees() { graph.degrees(Direction::Out, cx)? } else { Vec::new() };
    let (mut values, mut new) = (program.state(n)?, program.state(n)?);
    let mut totals = begin(program, &degrees, &mut values, n, cx)?;
    let (mut number, cap) = (0, most.unwrap_or(u32::MAX));
    let mut change = Change::default();
    while number < cap {
        number += 1;
        let step = BlockStep { number, values: &values, degrees: &degrees, totals: totals.seen() };
        (change, totals) = advance(graph, program, &step, &mut new, cx)?;
        std::mem::swap(&mut values, &mut new);
        log.end("blocks", change.vertices);
        cx.progress().update("steps", number.into(), most.unwrap_or_default().into());
        if program.finished(number, &totals, change) {
            break;
        }
    }
    Ok(BlocksRun { values, steps: number, change, totals, stats: log.finish() })
}

/// Writes the values before the first step; returns their totals.
fn begin<P: BlockProgram>(
    program: &P,
    degrees: &[u32],
    values: &mut P::State,
    n: usize,
    cx: &Context,
) -> Result<Totals> {
    let parts = cut::<P::State>(values, n.div_ceil(BLOCK), |_| BLOCK);
    let all = Mutex::new(Totals::default());
    parallel_parts(cx, parts, |number, part| {
        let (first, mut totals) = (number * BLOCK, Totals::default());
        // Lossless: vertices are below 2^32.
        program.init(first as VertexId, degrees, part, &mut totals)?;
        all.lock().unwrap_or_else(PoisonError::into_inner).merge(&totals);
        Ok(())
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The values in `count` parts, of so many vertices each.
pub(super) fn cut<S: State>(
    values: &mut S,
    count: usize,
    size: impl Fn(usize) -> usize,
) -> Vec<S::Part<'_>> {
    let (mut parts, mut rest) = (Vec::with_capacity(count), values.whole());
    for number in 0..count {
        let part;
        (part, rest) = S::split(rest, size(number));
        parts.push(part);
    }
    parts
}

/// Calls `f` for each part, on the workers of a call.
pub(super) fn parallel_parts<T: Send>(
    cx: &Context,
    parts: Vec<T>,
    f: impl Fn(usize, &mut T) -> Result<()> + Sync,
) -> Result<()> {
    let queue = Mutex::new(parts.into_iter().enumerate());
    run_workers(cx.threads(), |_| {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, mut part)) = next else { return Ok(()) };
            cx.check()?;
            f(number, &mut part)?;
        }
    })
    .map(|_| ())
}

/// A worker's lists, and what it has changed and added up.
#[derive(Default)]
struct Worker {
    lists: Lists,
    changed: u64,
    totals: Totals,
}

/// Runs one step; returns the change, and the totals.
fn advance<P: BlockProgram>(
    graph: &Graph,
    program: &P,
    step: &BlockStep<'_, P::State>,
    new: &mut P::State,
    cx: &Context,
) -> Result<(Change, Totals)> {
    let side = graph.side(program.direction())?;
    let starts = side.chunk_starts();
    // Chunks cover all vertices, of which there are fewer than 2^32.
    let size = |chunk: usize| match starts.get(chunk..chunk + 2) {
        Some(&[from, to]) => (to - from) as usize,
        _ => 0,
    };
    let parts = cut::<P::State>(new, starts.len().saturating_sub(1), size);
    let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let init = |_| Worker::default();
    let workers = scan::run(side, program.weighted(), None, cx, init, |worker, view| {
        let part = parts.get(view.chunk).map(|part| part.lock());
        let part = part.and_then(|part| part.unwrap_or_else(PoisonError::into_inner).take());
        let unknown = || Error::Unsupported { what: "a chunk that is visited twice".into() };
        chunk(program, step, view, part.ok_or_else(unknown)?, worker)
    })?;
    let mut totals = Totals::default();
    workers.iter().for_each(|worker| totals.merge(&worker.totals));
    let vertices = workers.iter().map(|worker| worker.changed).sum();
    Ok((Change { vertices, distance: totals.apart() }, totals))
}

/// Runs the program on the vertices of a chunk.
fn chunk<'n, P: BlockProgram + 'n>(
    program: &P,
    step: &BlockStep<'_, P::State>,
    view: &View<'_>,
    part: <P::State as State>::Part<'n>,
    worker: &mut Worker,
) -> Result<()> {
    let Worker { lists, changed, totals } = worker;
    lists.clear();
    let (mut left, weighted) = (Some(part), program.weighted());
    let mut flush = |lists: &mut Lists| -> Result<()> {
        let block = lists.block();
        let Some(part) = left.take() else { return Ok(()) };
        let (mut new, rest) = P::State::split(part, block.len());
        program.run(&block, step, &mut new, totals)?;
        let first = block.vertices().first().copied().unwrap_or_default();
        let change = step.values.change(first as usize, &new);
        *changed += change.vertices;
        // Exact: the same for any number of workers.
        totals.add_apart(program.distance(&block, step, &new).unwrap_or(change.distance));
        left = Some(rest);
        lists.clear();
        Ok(())
    };
    view.lists(|v, list| {
        match weighted {
            true => lists.push(v, list, Some(&view.weights(v, list.degree())?))?,
            false => lists.push(v, list, None)?,
        }
        if lists.is_full() { flush(lists) } else { Ok(()) }
    })?;
    if lists.block().is_empty() { Ok(()) } else { flush(lists) }
}
