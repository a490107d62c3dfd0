//! Numbers of vertices within each distance: what [`super::harmonic`] and [`super::closeness`] share.
//!
//! P. Boldi, S. Vigna, "In-core computation of geometric centralities with HyperBall: a hundred billion
//! nodes and beyond", arXiv 1308.2144. Counters: P. Flajolet et al., "HyperLogLog", AofA 2007, with the
//! estimator of O. Ertl, arXiv 1702.01284.
//!
//! A counter of `2^log2m` registers of a byte stands for the set of the vertices within a distance. In
//! each iteration a vertex takes the largest registers of its in-neighbours' counters and its own. The
//! number within distance 1 is known from the lists. All counters share their hash values, so that what
//! they find for large sets errs alike: the union of all of them, whose size is known, tells by how much,
//! and each estimate is corrected by that to the power of its share of the vertices.
//!
//! State: counters of this and of the next iteration, a sum and an estimate, `2 * 2^log2m + 16` bytes a
//! vertex, and two bits. Exact values take the traversals of [`super::apsp`], 128 sources at a time.

use super::apsp::{Apsp, MAX_SOURCES};
use super::{Algorithm, Parameter};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::parallel::{det_sum, for_each_block_mut};
use crate::shared::{share_f64, share_u64, zeroed};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::AtomicBitmap;
use nakshi_store::{Direction, VertexId, mix};
use std::sync::atomic::{AtomicU64, Ordering};

/// Vertices up to which distances are always exact.
pub(super) const SMALL: u64 = 4096;

/// The parameter that sets the size of counters.
pub(super) const LOG2M: Parameter = Parameter::INTEGER.at_least(4.0).at_most(12.0);

/// The share of all pairs within the effective diameter.
const EFFECTIVE: f64 = 0.9;

/// The parameters of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct HyperBall {
    pub(super) log2m: u32,
    pub(super) seed: u64,
    pub(super) exact: bool,
    /// The value of a distance.
    pub(super) value: fn(f64) -> f64,
}

/// Distances to each vertex, in internal order.
#[derive(Debug, Default)]
pub(super) struct Balls {
    /// Sum of the values of the distances from all other vertices that have a path.
    pub(super) sums: Vec<f64>,
    /// Number of vertices with a path, itself included.
    pub(super) reach: Vec<f64>,
    /// Pairs of vertices within each distance, from 0 on; a vertex and itself are a pair.
    pub(super) function: Vec<f64>,
    /// True if there was no estimate.
    pub(super) exact: bool,
    pub(super) stats: RunStats,
}

impl Balls {
    /// The distance within which 90 % of the pairs with a path lie, interpolated.
    pub(super) fn effective_diameter(&self) -> f64 {
        let wanted = EFFECTIVE * self.function.last().copied().unwrap_or(0.0);
        let Some(at) = self.function.iter().position(|&pairs| pairs >= wanted) else { return 0.0 };
        let pairs = |at: usize| self.function.get(at).copied().unwrap_or(0.0);
        match at.checked_sub(1) {
            Some(before) if pairs(at) > pairs(before) => {
                before as f64 + (wanted - pairs(before)) / (pairs(at) - pairs(before))
            }
            _ => 0.0,
        }
    }
}

impl HyperBall {
    fn is_exact(&self, vertices: u64) -> bool {
        self.exact || vertices <= SMALL
    }

    /// Memory and lists of a run.
    pub(super) fn needs(&self, summary: &Summary) -> Needs {
        if self.is_exact(summary.vertices) {
            let sources = vec![0; MAX_SOURCES];
            let mut needs = Apsp { sources, ..Apsp::default() }.needs(summary);
            needs.state_bytes_per_vertex += 16.0;
            return needs;
        }
        let counters = 2.0 * f64::from(1u32 << self.log2m);
        Needs { repeats: true, ..Needs::new(counters + 16.25, &[Direction::In]) }
    }

    /// Measures the distances to all vertices.
    pub(super) fn run(&self, graph: &Graph, cx: &Context) -> Result<Balls> {
        match self.is_exact(graph.num_vertices() as u64) {
            true => self.traverse(graph, cx),
            false => self.estimate(graph, cx),
        }
    }

    fn traverse(&self, graph: &Graph, cx: &Context) -> Result<Balls> {
        let n = graph.num_vertices();
        let mut stats = RunStats::default();
        let mut sums = zeroed::<f64>(n, "sums of distances")?;
        let mut reach = zeroed::<f64>(n, "numbers of vertices")?;
        let mut at = Vec::new();
        for first in (0..n).step_by(MAX_SOURCES) {
            // Lossless: there are at most 2^32 vertices.
            let sources = (first..n.min(first + MAX_SOURCES)).map(|v| v as VertexId).collect();
            let found = Apsp { sources, ..Apsp::default() }.run(graph, cx)?;
            for from in &found.distances {
                for ((&distance, sum), reach) in from.iter().zip(&mut sums).zip(&mut reach) {
                    if distance == u32::MAX {
                        continue;
                    }
                    *reach += 1.0;
                    if distance > 0 {
                        *sum += (self.value)(distance.into());
                    }
                    let place = distance as usize;
                    if at.len() <= place {
                        at.resize(place + 1, 0.0);
                    }
                    if let Some(count) = at.get_mut(place) {
                        *count += 1.0;
                    }
                }
            }
            stats.append(found.stats);
            cx.progress().update("traversals", first as u64, n as u64);
        }
        let pairs = |sum: &mut f64, count: f64| {
            *sum += count;
            Some(*sum)
        };
        let function = at.into_iter().scan(0.0, pairs).collect();
        Ok(Balls { sums, reach, function, exact: true, stats })
    }

    fn estimate(&self, graph: &Graph, cx: &Context) -> Result<Balls> {
        let n = graph.num_vertices();
        let mut log = IterationLog::new(graph);
        let words = (1usize << self.log2m) / 8;
        let mut counters = self.counters(n, words, cx)?;
        let mut next = zeroed::<u64>(n * words, "counters")?;
        let correction = Correction::of(&counters, words, n);
        let mut sums = zeroed::<f64>(n, "sums of distances")?;
        let mut reach = zeroed::<f64>(n, "numbers of vertices")?;
        reach.fill(1.0);
        let mut function = vec![n as f64];
        let mut changed = AtomicBitmap::new(n);
        (0..n).for_each(|v| {
            changed.set(v);
        });
        for distance in 1.. {
            let grown = AtomicBitmap::new(n);
            let step = Step {
                counters: &counters,
                words,
                changed: &changed,
                correction,
                distance,
                value: (self.value)(f64::from(distance)),
            };
            step.run(graph, cx, (&mut next, &mut sums, &mut reach), &grown)?;
            std::mem::swap(&mut counters, &mut next);
            let count = grown.count() as u64;
            log.end("counters", count);
            cx.progress().update("distances", distance.into(), 0);
            if count == 0 {
                break;
            }
            function.push(det_sum(cx, n, |v| reach.get(v).copied().unwrap_or(0.0))?);
            changed = grown;
        }
        Ok(Balls { sums, reach, function, exact: false, stats: log.finish() })
    }

    /// Counters of one vertex each.
    fn counters(&self, n: usize, words: usize, cx: &Context) -> Result<Vec<u64>> {
        let mut counters = zeroed::<u64>(n * words, "counters")?;
        let (log2m, seed) = (self.log2m, mix(self.seed));
        for_each_block_mut(cx, &mut counters, |start, block| {
            // A block holds whole counters: both lengths are powers of two.
            for (v, counter) in (start / words..).zip(block.chunks_mut(words)) {
                let hash = mix(seed ^ mix(v as u64));
                // Lossless: fewer bits than a register has.
                let place = (hash >> (u64::BITS - log2m)) as usize;
                let rank = (hash << log2m).leading_zeros().min(u64::BITS - log2m) + 1;
                if let Some(word) = counter.get_mut(place / 8) {
                    *word |= u64::from(rank) << (8 * (place % 8));
                }
            }
            Ok(())
        })?;
        Ok(counters)
    }
}

/// By how much estimates of large sets err, as known from all vertices.
#[derive(Debug, Clone, Copy)]
struct Correction {
    vertices: f64,
    /// Logarithm of the true number of vertices over the estimate.
    log: f64,
}

impl Correction {
    fn of(counters: &[u64], words: usize, n: usize) -> Self {
        let mut union = vec![0u64; words];
        for counter in counters.chunks(words) {
            union.iter_mut().zip(counter).for_each(|(a, b)| *a = larger_bytes(*a, *b));
        }
        let vertices = n as f64;
        Correction { vertices, log: (vertices / estimate(&union)).ln() }
    }

    /// The corrected estimate of a counter.
    fn size(&self, counter: &[u64]) -> f64 {
        let found = estimate(counter);
        let share = (found / self.vertices).min(1.0);
        found * (self.log * share).exp()
    }
}

/// One iteration.
struct Step<'a> {
    counters: &'a [u64],
    words: usize,
    /// Vertices whose counters are not what they were.
    changed: &'a AtomicBitmap,
    correction: Correction,
    distance: u32,
    /// The value of the distance.
    value: f64,
}

impl Step<'_> {
    fn counter(&self, v: VertexId) -> &[u64] {
        let from = v as usize * self.words;
        self.counters.get(from..from + self.words).unwrap_or_default()
    }

    /// Fills the next counters and adds the vertices at the distance; `grown` are those with any.
    fn run(
        &self,
        graph: &Graph,
        cx: &Context,
        (next, sums, reach): (&mut [u64], &mut [f64], &mut [f64]),
        grown: &AtomicBitmap,
    ) -> Result<()> {
        let (next, sums, reach) = (share_u64(next), share_f64(sums), share_f64(reach));
        let init = |_| vec![0u64; self.words];
        graph.scan(Direction::In, cx, init, |counter, v, list| {
            counter.copy_from_slice(self.counter(v));
            let mut others = 0u32;
            list.for_each(|u| {
                others += u32::from(u != v);
                if self.changed.get(u as usize) {
                    counter
                        .iter_mut()
                        .zip(self.counter(u))
                        .for_each(|(a, b)| *a = larger_bytes(*a, *b));
                }
            })?;
            let at = v as usize;
            let slots = next.get(at * self.words..).unwrap_or_default();
            store(slots, counter);
            let (Some(sum), Some(reach)) = (sums.get(at), reach.get(at)) else { return Ok(()) };
            let first = self.distance == 1 && others > 0;
            if first || counter.as_slice() != self.counter(v) {
                grown.set(at);
                let before = reach.get();
                let now = match self.distance {
                    1 => f64::from(others) + 1.0,
                    // An estimate may be below that of a smaller set.
                    _ => self.correction.size(counter).max(before),
                };
                sum.set(sum.get() + (now - before) * self.value);
                reach.set(now);
            }
            Ok(())
        })?;
        Ok(())
    }
}

fn store(slots: &[AtomicU64], counter: &[u64]) {
    for (slot, &word) in slots.iter().zip(counter) {
        slot.store(word, Ordering::Relaxed);
    }
}

/// The larger of each pair of bytes.
#[inline]
fn larger_bytes(a: u64, b: u64) -> u64 {
    let (mut a, b) = (a.to_le_bytes(), b.to_le_bytes());
    a.iter_mut().zip(b).for_each(|(a, b)| *a = (*a).max(b));
    u64::from_le_bytes(a)
}

/// Ertl's improved raw estimate of the number of members (algorithm 4; no register is ever full).
fn estimate(counter: &[u64]) -> f64 {
    let mut counts = [0u32; 64];
    for rank in counter.iter().flat_map(|word| word.to_le_bytes()) {
        if let Some(count) = counts.get_mut(rank as usize) {
            *count += 1;
        }
    }
    let m = 8.0 * counter.len() as f64;
    let [empty, ranks @ ..] = counts;
    let mut z = ranks.iter().rev().fold(0.0, |z, &count| 0.5 * (z + f64::from(count)));
    z += m * sigma(f64::from(empty) / m);
    m * m / (2.0 * std::f64::consts::LN_2 * z)
}

/// x plus the sum of x to the power 2^k times 2^(k - 1), over k from 1 on.
fn sigma(mut x: f64) -> f64 {
    let (mut sum, mut factor) = (x, 1.0);
    loop {
        x *= x;
        let more = sum + x * factor;
        if more == sum || more.is_infinite() {
            return more;
        }
        sum = more;
        factor += factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample;

    #[test]
    fn counters_count() {
        for (n, error) in [(1, 0.01), (10, 0.05), (300, 0.2), (50_000, 0.2)] {
            let ball = HyperBall { log2m: 8, seed: 1, exact: false, value: |d| d };
            let counters = ball.counters(n, 32, &Context::new()).unwrap();
            let union = counters.chunks(32).fold(vec![0; 32], |all, one| {
                all.iter().zip(one).map(|(a, b)| larger_bytes(*a, *b)).collect()
            });
            let found = estimate(&union);
            assert!((found / n as f64 - 1.0).abs() < error, "{n}: {found}");
        }
    }

    #[test]
    fn estimates_are_near_what_traversals_find() {
        for sample in sample::power_laws(6000, 40_000, 7) {
            let exact = HyperBall { log2m: 8, seed: 0, exact: true, value: f64::recip };
            let near = HyperBall { exact: false, ..exact };
            let cx = Context::new().with_threads(2);
            let expected = exact.run(&sample.graph(), &cx).unwrap();
            let found = near.run(&sample.graph(), &cx).unwrap();
            let one = near.run(&sample.graph_on_ssd(), &Context::new().with_threads(1)).unwrap();
            assert!(found.sums == one.sums && found.function == one.function);
            let mut errors: Vec<f64> = found
                .sums
                .iter()
                .zip(&expected.sums)
                .map(|(a, b)| if *b == 0.0 { *a } else { (a / b - 1.0).abs() })
                .collect();
            errors.sort_unstable_by(f64::total_cmp);
            assert!(errors[errors.len() * 95 / 100] < 0.1, "{:?}", errors[errors.len() * 95 / 100]);
            let (a, b) = (found.effective_diameter(), expected.effective_diameter());
            assert!((a / b - 1.0).abs() < 0.1, "{a} {b}");
        }
    }
}
