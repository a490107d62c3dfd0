//! Our own order: recursive bisection by the cost of a linear arrangement.
//!
//! The scheme is that of L. Dhulipala et al., "Compressing Graphs and Indexes with Recursive Graph
//! Bisection", KDD 2016. A range of positions is cut in half, the vertices with the largest gains
//! are swapped between the halves until few gain, and both halves are treated in the same way. The
//! gain is that in Bondhu's cost (equation 3.2 of I. Hoque's thesis) instead of the size of gaps:
//! it compares the weights of a vertex's edges to the two sides of the cut, including edges to
//! vertices outside the range. The start is a rough spectral order, which determines the quality of
//! the result. Components are laid out one after the other, the largest first.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use nakshi_io::{CancelToken, run_workers};

use super::csr::{Csr, reserved};
use super::smooth::Smoother;
use super::{LayoutInput, Ordering, csr_memory};
use crate::hooks::Progress;
use crate::random::mix;
use crate::{Permutation, Result, Store, VertexId};

/// Most rounds of swaps at a cut.
const ROUNDS: u64 = 8;
/// A cut is finished when fewer than one in this many vertices is swapped.
const FEW: usize = 200;
/// Ranges of fewer positions are not cut.
const LEAST: usize = 8;
/// Positions that a thread takes at a time.
const PIECE: usize = 1 << 12;

/// Recursive bisection by the cost of a linear arrangement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bisection {
    /// Seed of the start.
    pub seed: u64,
}

impl Default for Bisection {
    fn default() -> Self {
        Bisection { seed: 1 }
    }
}

impl Ordering for Bisection {
    fn name(&self) -> &'static str {
        "bisection"
    }

    fn memory(&self, store: &Store) -> u64 {
        // Component, strength, values before and after; sizes, sums and steps of components, of
        // which there are as many as vertices in a graph without edges. Then order, positions and
        // gains.
        csr_memory(store, true) + 72 * store.num_vertices()
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        let graph = Csr::symmetric(source)?;
        let order = self.sequence(&graph, source)?;
        source.by_rank(Permutation::from_order(&order)?)
    }
}

impl Bisection {
    fn sequence(&self, graph: &Csr, source: &LayoutInput<'_>) -> Result<Vec<VertexId>> {
        let threads = source.threads.max(1);
        let cancel = &source.hooks.cancel;
        let (component, sizes) = components(graph, cancel)?;
        let mut smoother = Smoother::new(graph, &component, sizes.len(), threads)?;
        smoother.cancel = cancel.clone();
        let smooth = smoother.values(self.seed)?;
        drop(smoother);
        let mut order = super::all(graph.len() as u64)?;
        let size_of = |c: u32| sizes.get(c as usize).copied().unwrap_or(0);
        let key = |v: VertexId| {
            let c = component.get(v as usize).copied().unwrap_or(0);
            (Reverse(size_of(c)), c)
        };
        let value = |v: VertexId| smooth.get(v as usize).copied().unwrap_or_default();
        order.sort_unstable_by(|&a, &b| {
            key(a).cmp(&key(b)).then_with(|| value(a).total_cmp(&value(b))).then(a.cmp(&b))
        });
        drop(smooth);
        let mut ranges = Vec::new();
        let mut start = 0;
        while let Some(&v) = order.get(start) {
            let end = start + size_of(key(v).1) as usize;
            if end - start >= LEAST {
                ranges.push((start, end));
            }
            start = end.max(start + 1);
        }
        let mut cutter = Cutter::new(graph, order, self.seed, threads)?;
        cutter.cancel = cancel.clone();
        let mut done = 0;
        while !ranges.is_empty() {
            source.hooks.check()?;
            cutter.level(&ranges, source)?;
            ranges = ranges
                .iter()
                .flat_map(|&(from, to)| [(from, middle(from, to)), (middle(from, to), to)])
                .filter(|(from, to)| to - from >= LEAST)
                .collect();
            done += 1;
            let levels = u64::from((graph.len() / LEAST).max(1).ilog2()) + 1;
            let total = Some(levels.max(done));
            source.hooks.tell(Progress { phase: "layout", done, total, edges: 0 });
        }
        Ok(cutter.order)
    }
}

/// Returns the component of every vertex and the size of each component.
fn components(graph: &Csr, cancel: &CancelToken) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut component: Vec<u32> = reserved(graph.len())?;
    component.resize(graph.len(), u32::MAX);
    let (mut sizes, mut queue) = (Vec::new(), Vec::new());
    for root in graph.vertices() {
        if component.get(root as usize) != Some(&u32::MAX) {
            continue;
        }
        let number = sizes.len() as u32;
        let mut size = 0;
        queue.push(root);
        while let Some(v) = queue.pop() {
            match component.get_mut(v as usize) {
                Some(slot) if *slot == u32::MAX => *slot = number,
                _ => continue,
            }
            cancel.check()?;
            size += 1;
            let open = |u: &VertexId| component.get(*u as usize) == Some(&u32::MAX);
            queue.extend(graph.list(v).iter().copied().filter(open));
        }
        sizes.push(size);
    }
    Ok((component, sizes))
}

fn middle(from: usize, to: usize) -> usize {
    from + (to - from) / 2
}

/// The order of the vertices while it is improved.
struct Cutter<'g> {
    graph: &'g Csr,
    order: Vec<VertexId>,
    place: Vec<AtomicU32>,
    seed: u64,
    threads: usize,
    cancel: CancelToken,
}

impl<'g> Cutter<'g> {
    fn new(graph: &'g Csr, order: Vec<VertexId>, seed: u64, threads: usize) -> Result<Self> {
        let mut place: Vec<AtomicU32> = reserved(order.len())?;
        place.resize_with(order.len(), AtomicU32::default);
        for (&v, at) in order.iter().zip(0..) {
            if let Some(slot) = place.get(v as usize) {
                slot.store(at, Relaxed);
            }
        }
        let cancel = CancelToken::new();
        Ok(Cutter { graph, order, place, seed, threads, cancel })
    }

    /// Cuts every range once. Vertices outside a range stay on their side of its cut, so ranges do
    /// not disturb each other in any order of treatment.
    fn level(&mut self, ranges: &[(usize, usize)], source: &LayoutInput<'_>) -> Result<()> {
        let wide = |(from, to): &(usize, usize)| to - from;
        let widest = ranges.iter().map(wide).max().unwrap_or(0);
        let mut order = std::mem::take(&mut self.order);
        if widest * self.threads > ranges.iter().map(wide).sum::<usize>() + PIECE {
            // Too few ranges for all threads: the gains of one range are computed in parallel.
            for &(from, to) in ranges {
                source.hooks.check()?;
                let range = order.get_mut(from..to).unwrap_or_default();
                self.cut(from, range, self.threads)?;
            }
        } else {
            let mut slices = Vec::with_capacity(ranges.len());
            let (mut rest, mut at) = (order.as_mut_slice(), 0);
            for &(from, to) in ranges {
                let (_, tail) = rest.split_at_mut(from - at);
                let (slice, tail) = tail.split_at_mut(to - from);
                slices.push((from, slice));
                (rest, at) = (tail, to);
            }
            let queue = std::sync::Mutex::new(slices.into_iter());
            run_workers(self.threads, |_| -> Result<()> {
                loop {
                    let next = queue.lock().unwrap_or_else(|p| p.into_inner()).next();
                    let Some((from, range)) = next else { return Ok(()) };
                    source.hooks.check()?;
                    self.cut(from, range, 1)?;
                }
            })?;
        }
        self.order = order;
        Ok(())
    }

    /// Swaps vertices between the halves of the range at `from` while that lowers the cost.
    fn cut(&self, from: usize, range: &mut [VertexId], threads: usize) -> Result<()> {
        let cut = middle(from, from + range.len());
        let half = cut - from;
        let mut gains = self.gains(cut, range, threads)?;
        for round in 0..ROUNDS {
            let (left, right) = gains.split_at(half);
            // Some vertices stay at random, or two friends could swap sides for ever.
            let moves = |at: usize| {
                let v = range.get(at).copied().unwrap_or(0);
                round == 0 || !mix(self.seed ^ mix(u64::from(v) << 8 | round)).is_multiple_of(10)
            };
            // The vertices with the largest gains on both sides; others have no partner to gain
            // with.
            let most = |side: &[f32], sign: f32| {
                side.iter().map(|gain| sign * gain).fold(f32::NEG_INFINITY, f32::max)
            };
            let leavers = wanting(left, 1.0, -most(right, -1.0), moves);
            let comers = wanting(right, -1.0, -most(left, 1.0), |at| moves(at + half));
            let pairs = leavers.iter().zip(&comers);
            let pairs = pairs.take_while(|(leaver, comer)| leaver.0 + comer.0 > 0.0);
            let swaps: Vec<(usize, usize)> =
                pairs.map(|(leaver, comer)| (leaver.1 as usize, comer.1 as usize + half)).collect();
            for &(a, b) in &swaps {
                range.swap(a, b);
                gains.swap(a, b);
                for at in [a, b] {
                    let slot = range.get(at).and_then(|&v| self.place.get(v as usize));
                    if let Some(slot) = slot {
                        // Lossless: positions are below the number of vertices.
                        slot.store((from + at) as u32, Relaxed);
                    }
                }
            }
            if swaps.len() * FEW < range.len().max(FEW) {
                break;
            }
            if swaps.len() * 4 * threads > range.len() {
                gains = self.gains(cut, range, threads)?;
            } else {
                for &(a, b) in &swaps {
                    self.cancel.check()?;
                    self.follow(from, range, a, -2.0, &mut gains);
                    self.follow(from, range, b, 2.0, &mut gains);
                }
            }
        }
        Ok(())
    }

    /// Updates the gains of the friends, within the range, of the vertex at `at`, which changed
    /// sides.
    fn follow(&self, from: usize, range: &[VertexId], at: usize, change: f32, gains: &mut [f32]) {
        let Some(&v) = range.get(at) else { return };
        for (u, weight) in self.graph.edges(v) {
            let place = self.place.get(u as usize).map_or(0, |place| place.load(Relaxed) as usize);
            if let Some(gain) = place.checked_sub(from).and_then(|at| gains.get_mut(at)) {
                *gain += change * weight;
            }
        }
    }

    /// Returns for each vertex of the range the weight of its edges to the right of the cut less
    /// that of its edges to the left.
    fn gains(&self, cut: usize, range: &[VertexId], threads: usize) -> Result<Vec<f32>> {
        let is_right = |u: VertexId| {
            self.place.get(u as usize).is_some_and(|place| place.load(Relaxed) as usize >= cut)
        };
        let gain = |&v: &VertexId| match self.graph.weights {
            None => {
                let list = self.graph.list(v);
                let right: u32 = list.iter().map(|&u| u32::from(is_right(u))).sum();
                2.0 * right as f32 - list.len() as f32
            }
            Some(_) => {
                let edges = self.graph.edges(v);
                edges.map(|(u, weight)| if is_right(u) { weight } else { -weight }).sum()
            }
        };
        if threads == 1 || range.len() <= PIECE {
            let checked = |v| Ok(self.cancel.check().map(|()| gain(v))?);
            return range.iter().map(checked).collect();
        }
        let parts = run_workers(threads, |worker| -> Result<Vec<(usize, Vec<f32>)>> {
            let pieces = range.chunks(PIECE).enumerate().skip(worker).step_by(threads);
            let pieces = pieces.take_while(|_| !self.cancel.is_cancelled());
            Ok(pieces.map(|(at, piece)| (at, piece.iter().map(gain).collect())).collect())
        })?;
        self.cancel.check()?;
        let mut all: Vec<_> = parts.into_iter().flatten().collect();
        all.sort_unstable_by_key(|(at, _)| *at);
        Ok(all.into_iter().flat_map(|(_, gains)| gains).collect())
    }
}

/// Returns gain times `sign` and number of the vertices that gain more than `least` and may move,
/// descending.
fn wanting(gains: &[f32], sign: f32, least: f32, moves: impl Fn(usize) -> bool) -> Vec<(f32, u32)> {
    let mut wanting: Vec<(f32, u32)> = gains
        .iter()
        .map(|gain| sign * gain)
        .zip(0..)
        .filter(|&(gain, at)| gain > least && moves(at as usize))
        .collect();
    wanting.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    wanting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_found() -> Result<()> {
        let graph = Csr::of_edges(6, &[(0, 2), (2, 5), (1, 4)]);
        assert_eq!(
            components(&graph, &CancelToken::new())?,
            (vec![0, 1, 0, 2, 1, 0], vec![3, 2, 1])
        );
        Ok(())
    }

    /// A cut separates two cliques that a shuffle has mixed.
    #[test]
    fn a_cut_parts_cliques() -> Result<()> {
        let edges: Vec<(u32, u32)> = (0..40)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .filter(|(a, b)| a % 2 == b % 2 || (*a, *b) == (1, 0))
            .collect();
        let graph = Csr::of_edges(40, &edges);
        let order: Vec<VertexId> = (0..40).collect();
        let cutter = Cutter::new(&graph, order.clone(), 1, 1)?;
        let mut range = order;
        cutter.cut(0, &mut range, 1)?;
        let parity: Vec<u32> = range.iter().map(|v| v % 2).collect();
        assert!(parity[..20].iter().all(|p| *p == parity[0]), "{range:?}");
        for (at, &v) in range.iter().enumerate() {
            assert_eq!(cutter.place[v as usize].load(Relaxed) as usize, at);
        }
        Ok(())
    }
}
