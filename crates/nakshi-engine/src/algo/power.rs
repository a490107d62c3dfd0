//! Power iteration: products of the adjacency matrix with a vector until the vector settles.
//!
//! A product pulls over the lists of a direction, with the weights of the open column if there is one.
//! The order of the additions depends on the lists alone, so that a run has the same bits on any number
//! of threads. State: two vectors of 8 bytes a vertex.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel::{det_sum, for_each_block_mut, map_blocks};
use crate::shared::{share_f64, zeroed};
use crate::source::weights::Weights;
use crate::stats::{IterationLog, RunStats};
use nakshi_store::{Direction, List, VertexId};

/// The length of a vector that [`normalise`] makes 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// The sum of the entries.
    Sum,
    /// The square root of the sum of the squares.
    Euclid,
}

/// Scales `values` to length 1, the same for every thread count; zeros stay zeros.
pub(super) fn normalise(cx: &Context, values: &mut [f64], norm: Norm) -> Result<()> {
    let blocks = {
        let values = &*values;
        map_blocks(cx, values.len(), |range| {
            let block = values.get(range).unwrap_or_default();
            Ok(match norm {
                Norm::Sum => block.iter().sum::<f64>(),
                Norm::Euclid => block.iter().map(|value| value * value).sum(),
            })
        })?
    };
    let total: f64 = blocks.into_iter().sum();
    let length = if norm == Norm::Euclid { total.sqrt() } else { total };
    if length > 0.0 {
        let scale = 1.0 / length;
        for_each_block_mut(cx, values, |_, block| {
            block.iter_mut().for_each(|value| *value *= scale);
            Ok(())
        })?;
    }
    Ok(())
}

/// Puts `finish(v, sum)` into `next[v]` for each vertex, where `sum` is that of `values` over the
/// neighbours of a direction, times the weights if a column is open.
pub(super) fn product(
    graph: &Graph,
    direction: Direction,
    cx: &Context,
    (values, next): (&[f64], &mut [f64]),
    finish: impl Fn(usize, f64) -> f64 + Sync,
) -> Result<()> {
    let shared = share_f64(next);
    let put = |v: VertexId, sum: f64| {
        if let Some(slot) = shared.get(v as usize) {
            slot.set(finish(v as usize, sum));
        }
    };
    let nothing = |_| ();
    if graph.weighted() {
        graph.scan_weighted(direction, cx, nothing, |(), v, list, weights| {
            put(v, dot(list, weights, values)?);
            Ok(())
        })?;
    } else {
        graph.scan_sums(direction, cx, values, || (), |(), v, _, sum| put(v, sum))?;
    }
    Ok(())
}

/// Sum of weight times value over a list.
fn dot(list: &List<'_>, weights: &Weights<'_>, values: &[f64]) -> Result<f64> {
    let (mut at, mut sum) = (0, 0.0);
    list.for_each(|u| {
        sum += weights.get(at) * values.get(u as usize).copied().unwrap_or(0.0);
        at += 1;
    })?;
    Ok(sum)
}

/// The end of an iteration that converges.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Iterations at most.
    pub(super) iterations: u32,
    /// Change in sum (L1) below which the vector has settled.
    pub(super) tolerance: f64,
    /// The remedy, if the vector does not settle.
    pub(super) remedy: &'static str,
}

/// A vector that has settled.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) values: Vec<f64>,
    pub(super) iterations: u32,
    /// Change of the last iteration, in sum (L1).
    pub(super) change: f64,
    pub(super) stats: RunStats,
}

/// Repeats `step(values, next)` until `next` differs from `values` by less than the tolerance.
///
/// # Errors
/// [`Error::Parameter`] if that does not happen in the iterations allowed; of `step`.
pub(super) fn settle(
    graph: &Graph,
    cx: &Context,
    limits: Limits,
    mut values: Vec<f64>,
    mut step: impl FnMut(&[f64], &mut [f64]) -> Result<()>,
) -> Result<Settled> {
    let mut log = IterationLog::new(graph);
    let n = values.len();
    let mut next = zeroed::<f64>(n, "scores")?;
    let mut change = if n == 0 { 0.0 } else { f64::INFINITY };
    let mut iterations = 0;
    while change > 0.0 && change >= limits.tolerance {
        let diverges = iterations > 0 && change.is_infinite();
        if iterations >= limits.iterations || diverges {
            let Limits { remedy, .. } = limits;
            let message = format!(
                "the scores still change by {change:.1e} in sum after {iterations} iterations; {remedy}"
            );
            return Err(Error::parameter("iterations", message));
        }
        step(&values, &mut next)?;
        let (old, new) = (&values, &next);
        let of = |all: &[f64], v: usize| all.get(v).copied().unwrap_or(0.0);
        change = det_sum(cx, n, |v| (of(new, v) - of(old, v)).abs())?;
        if change.is_nan() {
            change = f64::INFINITY;
        }
        std::mem::swap(&mut values, &mut next);
        iterations += 1;
        cx.progress().update("iterations", iterations.into(), limits.iterations.into());
        log.end("pull", n as u64);
    }
    Ok(Settled { values, iterations, change, stats: log.finish() })
}
