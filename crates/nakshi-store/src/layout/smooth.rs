//! Smooth values: a value for each vertex that is similar to its neighbours' values, which gives a
//! rough spectral order.
//!
//! Random values are averaged over neighbours by `M = (1 + P) / 2` for the random walk `P`, with
//! the mean subtracted in every component, so that the slowest modes remain. In the limit that is
//! the second eigenvector, but plain averaging converges slowly. Chebyshev polynomials speed it up:
//! after some plain rounds, Rayleigh quotients show how slow the modes of each component are, and a
//! polynomial that stays below 1 for all faster modes amplifies the slow ones (Y. Zhou, Y. Saad et
//! al., "Self-consistent-field calculations using Chebyshev-filtered subspace iteration", J.
//! Comput. Phys. 219, 2006).

use nakshi_io::{CancelToken, run_workers};

use super::csr::{Csr, reserved};
use crate::random::mix;
use crate::{Result, VertexId};

/// Rounds of plain averaging.
const PLAIN: usize = 8;
/// Number of polynomials, and the degree of each.
const FILTERS: usize = 3;
const DEGREE: usize = 8;
/// Modes at most this many times faster than the slowest one seen are amplified.
const KEEP: f64 = 2.0;
/// Vertices that a thread takes at a time.
const PIECE: usize = 1 << 12;

pub(super) struct Smoother<'g> {
    graph: &'g Csr,
    component: &'g [u32],
    threads: usize,
    /// Sum of the weights at each vertex.
    strength: Vec<f32>,
    /// Sum of the strengths in each component.
    whole: Vec<f64>,
    /// Token that stops the computation between pieces.
    pub cancel: CancelToken,
}

/// Factors of `M x`, of `x` and of the values before `x`.
#[derive(Clone, Copy)]
struct Step(f32, f32, f32);

impl<'g> Smoother<'g> {
    pub fn new(
        graph: &'g Csr,
        component: &'g [u32],
        components: usize,
        threads: usize,
    ) -> Result<Self> {
        let mut strength = reserved(graph.len())?;
        let mut whole = vec![0.0; components];
        for (v, &c) in graph.vertices().zip(component) {
            let sum = graph.strength(v);
            strength.push(sum as f32);
            if let Some(whole) = whole.get_mut(c as usize) {
                *whole += sum;
            }
        }
        Ok(Smoother { graph, component, threads, strength, whole, cancel: CancelToken::new() })
    }

    /// Returns the values, with mean 0 and mean square 1 in every component.
    pub fn values(&self, seed: u64) -> Result<Vec<f32>> {
        let mut now: Vec<f32> = reserved(self.graph.len())?;
        now.extend(self.graph.vertices().map(|v| {
            let bits = mix(seed ^ mix(u64::from(v) + 1)) >> 40;
            bits as f32 / (1 << 23) as f32 - 1.0
        }));
        self.centre(&mut now);
        let mut next = now.clone();
        let plain = vec![Step(1.0, 0.0, 0.0); self.whole.len()];
        for _ in 0..PLAIN {
            self.step(&plain, &now, &mut next)?;
            std::mem::swap(&mut now, &mut next);
            self.centre(&mut now);
        }
        for _ in 0..FILTERS {
            self.step(&plain, &now, &mut next)?;
            let bounds = self.bounds(&now, &next);
            std::mem::swap(&mut now, &mut next);
            self.centre(&mut now);
            let first: Vec<Step> = bounds.iter().map(|b| Step(2.0 / b, -1.0, 0.0)).collect();
            let later: Vec<Step> = bounds.iter().map(|b| Step(4.0 / b, -2.0, -1.0)).collect();
            self.step(&first, &now, &mut next)?;
            for _ in 1..DEGREE {
                std::mem::swap(&mut now, &mut next);
                self.step(&later, &now, &mut next)?;
            }
            std::mem::swap(&mut now, &mut next);
            self.centre(&mut now);
        }
        Ok(now)
    }

    /// Computes `next` by the steps of the components from `now` and from the former content of
    /// `next`.
    fn step(&self, steps: &[Step], now: &[f32], next: &mut [f32]) -> Result<()> {
        let graph = self.graph;
        let value = |v: VertexId| now.get(v as usize).copied().unwrap_or_default();
        let average = |v: VertexId, before: f32| {
            let sum: f32 = match graph.weights {
                None => graph.list(v).iter().map(|&u| value(u)).sum(),
                Some(_) => graph.edges(v).map(|(u, weight)| weight * value(u)).sum(),
            };
            let strength = self.strength.get(v as usize).copied().unwrap_or_default();
            let own = value(v);
            let mean = if strength > 0.0 { 0.5 * (own + sum / strength) } else { own };
            let c = self.component.get(v as usize).copied().unwrap_or_default();
            let Step(a, b, c) = steps.get(c as usize).copied().unwrap_or(Step(1.0, 0.0, 0.0));
            a * mean + b * own + c * before
        };
        let pieces = next.chunks_mut(PIECE).enumerate();
        let queue = std::sync::Mutex::new(pieces);
        run_workers(self.threads, |_| -> Result<()> {
            loop {
                let piece = queue.lock().unwrap_or_else(|p| p.into_inner()).next();
                let Some((number, piece)) = piece else { return Ok(()) };
                self.cancel.check()?;
                // Lossless: vertices.
                let first = (number * PIECE) as VertexId;
                for (v, slot) in (first..).zip(piece) {
                    *slot = average(v, *slot);
                }
            }
        })?;
        Ok(self.cancel.check()?)
    }

    /// Returns for each component the eigenvalue above which modes are amplified.
    fn bounds(&self, now: &[f32], averaged: &[f32]) -> Vec<f32> {
        let mut products = vec![(0.0f64, 0.0f64); self.whole.len()];
        let values = now.iter().zip(averaged).zip(&self.strength).zip(self.component);
        for (((&now, &averaged), &strength), &c) in values {
            if let Some((up, down)) = products.get_mut(c as usize) {
                *up += f64::from(strength) * f64::from(now) * f64::from(averaged);
                *down += f64::from(strength) * f64::from(now) * f64::from(now);
            }
        }
        let bound = |&(up, down): &(f64, f64)| {
            let quotient = if down > 0.0 { (up / down).clamp(0.0, 1.0) } else { 0.0 };
            (1.0 - KEEP * (1.0 - quotient)).clamp(0.5, 0.9999) as f32
        };
        products.iter().map(bound).collect()
    }

    /// Subtracts the mean of every component, weighted by strength, and scales each to mean square
    /// 1.
    fn centre(&self, values: &mut [f32]) {
        let mut sums = vec![(0.0f64, 0.0f64); self.whole.len()];
        for ((&value, &strength), &c) in values.iter().zip(&self.strength).zip(self.component) {
            if let Some((sum, square)) = sums.get_mut(c as usize) {
                let part = f64::from(strength) * f64::from(value);
                *sum += part;
                *square += part * f64::from(value);
            }
        }
        let shifts: Vec<(f32, f32)> = sums
            .iter()
            .zip(&self.whole)
            .map(|(&(sum, square), &whole)| {
                let mean = if whole > 0.0 { sum / whole } else { 0.0 };
                let variance = if whole > 0.0 { square / whole - mean * mean } else { 0.0 };
                let scale = if variance > 1e-30 { 1.0 / variance.sqrt() } else { 1.0 };
                (mean as f32, scale as f32)
            })
            .collect();
        for (value, &c) in values.iter_mut().zip(self.component) {
            let (mean, scale) = shifts.get(c as usize).copied().unwrap_or((0.0, 1.0));
            *value = (*value - mean) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(graph: &Csr, component: &[u32], threads: usize) -> Result<Vec<f32>> {
        let components = component.iter().max().map_or(0, |most| *most as usize + 1);
        Smoother::new(graph, component, components, threads)?.values(1)
    }

    /// Seen red without polynomials, and with bounds of 0.5 for all.
    #[test]
    fn a_path_is_laid_straight() -> Result<()> {
        let edges: Vec<(u32, u32)> = (1..60).map(|v| (v - 1, v)).collect();
        let path = values(&Csr::of_edges(60, &edges), &[0; 60], 1)?;
        let turns = path.windows(3).filter(|w| (w[0] < w[1]) != (w[1] < w[2])).count();
        assert!(turns <= 1, "{path:?}");
        Ok(())
    }

    #[test]
    fn components_do_not_disturb_each_other() -> Result<()> {
        // Two triangles with a bridge, twice; the second time with two isolated vertices.
        let once = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)];
        let twice: Vec<(u32, u32)> =
            once.iter().copied().chain(once.iter().map(|&(u, v)| (u + 6, v + 6))).collect();
        let component = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3];
        let found = values(&Csr::of_edges(14, &twice), &component, 2)?;
        for first in [0, 6] {
            let side = |v: usize| found[first + v] > 0.0;
            assert!(side(0) == side(1) && side(4) == side(5) && side(0) != side(4), "{found:?}");
        }
        assert!(found.iter().all(|value| value.is_finite()));
        Ok(())
    }

    #[test]
    fn threads_do_not_matter() -> Result<()> {
        let edges: Vec<(u32, u32)> =
            (1..20_000u32).map(|v| ((mix(v.into()) % u64::from(v)) as u32, v)).collect();
        let graph = Csr::of_edges(20_000, &edges);
        let one = values(&graph, &vec![0; 20_000], 1)?;
        assert_eq!(one, values(&graph, &vec![0; 20_000], 3)?);
        Ok(())
    }
}
