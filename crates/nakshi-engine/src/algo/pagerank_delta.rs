//! PageRank by deltas, FlashGraph's variant (FlashGraph section 4).
//!
//! Y. Zhang, Q. Gao, L. Gao, C. Wang, "Maiter: an asynchronous graph processing framework
//! for delta-based accumulative iterative computation", TPDS 2014.
//!
//! A vertex adds what it received since its last turn to its rank and sends
//! `damping * received / degree` along its out-edges; a vertex whose received mass is too
//! small waits until more has come. Vertices converge at different rates, so that fewer and
//! fewer lists are read. State: rank, received mass of this and of the next iteration, 24
//! bytes a vertex. Masses are integers in units of 2^-62, so that sums do not depend on
//! the order in which workers add. Mass of vertices without out-edges is dropped: spreading
//! it evenly only scales the result, and the ranks are scaled to sum 1 at the end.
//!
//! The vertex program of [`programs::PageRank`] does the same by messages.

use crate::context::Context;
use crate::error::Result;
use crate::estimate::Needs;
use crate::graph::Graph;
use crate::parallel::{for_each_block_mut, map_blocks};
use crate::program::{ProgramConfig, programs, run_program};
use crate::shared::{share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::Direction;
use std::sync::atomic::Ordering;

/// Units of mass in 1.
const UNIT: f64 = (1u64 << 62) as f64;

fn to_units(mass: f64) -> u64 {
    // Masses are from 0 to 1, so the product fits and truncates below one unit.
    (mass * UNIT) as u64
}

/// The parameters of PageRank that both variants read; `tolerance` bounds the mass that is left.
pub(super) struct Deltas {
    pub(super) damping: f64,
    pub(super) iterations: u32,
    pub(super) tolerance: f64,
}

/// The end of a run by deltas.
pub(super) struct Spread {
    /// One rank a vertex, up to a factor that all share.
    pub(super) ranks: Vec<f64>,
    pub(super) iterations: u32,
    /// Mass that was received and not passed on, as a part of that of the ranks.
    pub(super) left: f64,
    pub(super) stats: RunStats,
}

/// Runs by scans and gathers.
pub(super) fn run(config: &Deltas, graph: &Graph, cx: &Context) -> Result<Spread> {
    let n = graph.num_vertices();
    let mut log = IterationLog::new(graph);
    let start = to_units((1.0 - config.damping) / n.max(1) as f64);
    let mut ranks = zeroed::<u64>(n, "PageRank's ranks")?;
    let mut received = zeroed::<u64>(n, "PageRank's deltas")?;
    received.fill(start);
    let mut next = zeroed::<u64>(n, "PageRank's deltas")?;
    // Held-back mass is at most this per vertex, so the error stays below the tolerance.
    let threshold = to_units(config.tolerance * (1.0 - config.damping) / n.max(1) as f64);
    let mut iterations = 0;
    while iterations < config.iterations && n > 0 {
        cx.progress().update("pagerank", iterations.into(), config.iterations.into());
        let active = absorb(cx, threshold, &mut ranks, &mut received, &mut next)?;
        if active.is_empty() {
            break;
        }
        send(config.damping, graph, cx, &active, &received, &mut next)?;
        iterations += 1;
        for_each_block_mut(cx, &mut received, |_, block| {
            block.fill(0);
            Ok(())
        })?;
        std::mem::swap(&mut received, &mut next);
        log.end("deltas", active.count() as u64);
    }
    let left = left(cx, &ranks, &received)?;
    drop((received, next));
    let mut result = zeroed::<f64>(n, "PageRank's ranks")?;
    for_each_block_mut(cx, &mut result, |start, block| {
        for (rank, &units) in block.iter_mut().zip(ranks.iter().skip(start)) {
            *rank = units as f64 / UNIT;
        }
        Ok(())
    })?;
    Ok(Spread { ranks: result, iterations, left, stats: log.finish() })
}

/// Memory that [`by_program`] needs: the states, and the ranks that are made of them.
pub(super) fn needs_of_program(config: &Deltas) -> Needs {
    let mut needs = ProgramConfig::default().needs(&program(config, 1));
    needs.state_bytes_per_vertex += 8.0;
    needs
}

fn program(config: &Deltas, vertices: usize) -> programs::PageRank {
    // What each vertex may hold back, as above.
    programs::PageRank::new(vertices, config.damping, config.tolerance * (1.0 - config.damping))
}

/// Runs the vertex program.
pub(super) fn by_program(config: &Deltas, graph: &Graph, cx: &Context) -> Result<Spread> {
    let program = program(config, graph.num_vertices());
    let settings =
        ProgramConfig { max_iterations: Some(config.iterations), ..ProgramConfig::default() };
    let (states, stats) = run_program(graph, &program, &settings, cx)?;
    let left = programs::PageRank::left(&states);
    let ranks = programs::PageRank::ranks(&states);
    // An iteration is logged for each of at most as many as a u32 says.
    let iterations = u32::try_from(stats.steps()).unwrap_or(u32::MAX);
    Ok(Spread { ranks, iterations, left, stats })
}

/// Mass that was received and not passed on, as a part of that of the ranks; infinite without ranks.
fn left(cx: &Context, ranks: &[u64], received: &[u64]) -> Result<f64> {
    let sum = |masses: &[u64]| -> Result<u64> {
        let parts = map_blocks(cx, masses.len(), |range| {
            Ok(masses.get(range).unwrap_or_default().iter().sum::<u64>())
        })?;
        Ok(parts.into_iter().sum())
    };
    let (whole, left) = (sum(ranks)?, sum(received)?);
    Ok(if whole == 0 { f64::INFINITY } else { left as f64 / whole as f64 })
}

/// Adds what active vertices received to their ranks and keeps the rest for the next turn.
/// Returns the active vertices.
fn absorb(
    cx: &Context,
    threshold: u64,
    ranks: &mut [u64],
    received: &mut [u64],
    next: &mut [u64],
) -> Result<VertexSet> {
    let active = AtomicBitmap::new(ranks.len());
    let n = ranks.len();
    let (ranks, received, next) = (share_u64(ranks), share_u64(received), share_u64(next));
    map_blocks(cx, n, |range| {
        for v in range {
            let (Some(rank), Some(got), Some(later)) = (ranks.get(v), received.get(v), next.get(v))
            else {
                continue;
            };
            let units = got.load(Ordering::Relaxed);
            if units > threshold {
                rank.store(rank.load(Ordering::Relaxed) + units, Ordering::Relaxed);
                active.set(v);
            } else {
                later.store(units, Ordering::Relaxed);
            }
        }
        Ok(())
    })?;
    Ok(active.into())
}

/// Sends the deltas of the active vertices along their out-edges.
fn send(
    damping: f64,
    graph: &Graph,
    cx: &Context,
    active: &VertexSet,
    received: &[u64],
    next: &mut [u64],
) -> Result<()> {
    let next = share_u64(next);
    graph.gather(
        Direction::Out,
        active,
        cx,
        |_| (),
        |(), v, list| {
            let units = received.get(v as usize).copied().unwrap_or(0);
            let each = (units as f64 * damping / list.degree().max(1) as f64) as u64;
            if each > 0 {
                list.for_each(|u| {
                    if let Some(slot) = next.get(u as usize) {
                        slot.fetch_add(each, Ordering::Relaxed);
                    }
                })?;
            }
            Ok(())
        },
    )?;
    Ok(())
}
