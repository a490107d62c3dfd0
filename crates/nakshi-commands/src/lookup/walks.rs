//! Random walks from named vertices.
//!
//! Second-order walks are those of A. Grover, J. Leskovec, "node2vec: scalable feature learning for
//! networks", KDD 2016. A step draws a neighbour and accepts it by its bias, as K. Yang et al.,
//! "KnightKing: a fast distributed graph random walk engine", SOSP 2019, do; all walks take a step
//! together, so that their look-ups are answered at once.

use super::ids::{IdBatch, IdValues};
use super::{Latest, VertexLookup, copied, range};
use crate::Result;
use nakshi_engine::lookup::{NeighborLists, Sampling};
use nakshi_engine::{self as engine, Context, Direction, VertexId};
use nakshi_property::Along;
use nakshi_store::layout::mix;

/// Draws of a step by rejection; a walk that has none accepted draws from the biases themselves.
const DRAWS: u64 = 32;

/// Random walks of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Walking {
    /// Walks from each vertex.
    pub walks: usize,
    /// Vertices of a walk, the first included.
    pub length: usize,
    /// node2vec's p: the larger, the rarer a step back.
    pub p: f64,
    /// node2vec's q: the larger, the rarer a step to a vertex that is no neighbour of the last one.
    pub q: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Walking {
    fn check(&self) -> engine::Result<()> {
        for (name, value) in [("p", self.p), ("q", self.q)] {
            if !value.is_finite() || value <= 0.0 {
                return Err(engine::Error::parameter(name, "must be a finite number above 0"));
            }
        }
        for (name, value) in [("walks", self.walks), ("length", self.length)] {
            if value == 0 {
                return Err(engine::Error::parameter(name, "must be at least 1"));
            }
        }
        Ok(())
    }

    fn biased(&self) -> bool {
        self.p != 1.0 || self.q != 1.0
    }

    /// The bias of a step.
    fn bias(&self, back: bool, near: bool) -> f64 {
        match (back, near) {
            (true, _) => 1.0 / self.p,
            (_, true) => 1.0,
            _ => 1.0 / self.q,
        }
    }

    /// Evenly from 0 to 1, 1 excluded, for a draw of a walk.
    fn draw(&self, walk: usize, step: usize, draw: u64) -> f64 {
        let numbers = [walk as u64, step as u64, draw];
        let hash = numbers.iter().fold(mix(self.seed), |hash, number| mix(hash ^ mix(*number)));
        (hash >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A step that walks are to take.
struct Step<'a> {
    /// Where each walk was before; empty at the first step.
    before: &'a [VertexId],
    /// Where each walk is.
    now: &'a [VertexId],
    number: usize,
}

impl VertexLookup {
    /// Walks along out-edges from the vertices of a request, or from all: the first walk of each vertex
    /// in turn, then the second, and so on, `length` ids each. A walk that cannot go on stays where it
    /// is.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`]; parameters that are not above 0.
    pub fn walks(
        &self,
        starts: Option<&IdBatch>,
        walking: Walking,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<IdValues> {
        walking.check()?;
        let starts = match starts {
            Some(ids) => self.vertices(ids, latest, cx)?,
            None => self.all(latest)?,
        };
        let count = starts.len().saturating_mul(walking.walks);
        let bytes = (count as u64).saturating_mul(walking.length as u64).saturating_mul(12);
        self.lists.check_room(bytes.saturating_add(64 * count as u64), "the walks")?;
        let mut now = starts.repeat(walking.walks);
        let mut before = Vec::new();
        let mut steps = vec![now.clone()];
        for number in 1..walking.length {
            cx.check()?;
            let next =
                self.step(&Step { before: &before, now: &now, number }, walking, latest, cx)?;
            before = std::mem::replace(&mut now, next);
            steps.push(now.clone());
        }
        let row = |walk: usize| {
            let at = move |step: &Vec<VertexId>| step.get(walk).copied().unwrap_or_default();
            steps.iter().map(at)
        };
        let walks: Vec<VertexId> = (0..count).flat_map(row).collect();
        self.values(&walks, latest)
    }

    /// The vertices to which the walks go.
    fn step(
        &self,
        step: &Step<'_>,
        walking: Walking,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<VertexId>> {
        let mut next = step.now.to_vec();
        let mut waiting: Vec<usize> = (0..next.len()).collect();
        let biased = walking.biased() && !step.before.is_empty();
        let most = [1.0, 1.0 / walking.p, 1.0 / walking.q].into_iter().fold(0.0, f64::max);
        for draw in 0..DRAWS {
            if waiting.is_empty() {
                return Ok(next);
            }
            let found = self.draw(step, &waiting, walking, draw, latest, cx)?;
            let mut asked = Vec::new();
            for (at, &walk) in waiting.iter().enumerate() {
                if let Some(&to) = found.targets.get(range(&found.offsets, at).start)
                    && !range(&found.offsets, at).is_empty()
                {
                    asked.push((walk, to));
                }
            }
            if !biased {
                asked.into_iter().for_each(|(walk, to)| set(&mut next, walk, to));
                return Ok(next);
            }
            let last = |walk: usize| step.before.get(walk).copied().unwrap_or_default();
            let pairs: Vec<_> = asked.iter().map(|&(walk, to)| (last(walk), to)).collect();
            let near = self.edges_between(&pairs, latest, cx)?;
            waiting.clear();
            for (&(walk, to), near) in asked.iter().zip(near) {
                let bias = walking.bias(to == last(walk), near == 1);
                if walking.draw(walk, step.number, 2 * draw + 1) * most < bias {
                    set(&mut next, walk, to);
                } else {
                    waiting.push(walk);
                }
            }
        }
        for walk in waiting {
            cx.check()?;
            let to = self.weigh(step, walk, walking, latest, cx)?;
            set(&mut next, walk, to);
        }
        Ok(next)
    }

    /// A neighbour for each of the walks that wait.
    fn draw(
        &self,
        step: &Step<'_>,
        waiting: &[usize],
        walking: Walking,
        draw: u64,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<NeighborLists<VertexId>> {
        let at = |&walk: &usize| step.now.get(walk).copied().unwrap_or_default();
        let vertices: Vec<VertexId> = waiting.iter().map(at).collect();
        let seed = mix(mix(walking.seed ^ mix(step.number as u64)) ^ draw);
        let sampling = Sampling { count: 1, seed, replace: false };
        match latest {
            Some(graph) => self.merged_sample(graph, Direction::Out, &vertices, sampling, cx),
            None => Ok(self.lists.sample(Direction::Out, &vertices, sampling, cx, copied)?),
        }
    }

    /// A neighbour for one walk, by the biases of all of them.
    fn weigh(
        &self,
        step: &Step<'_>,
        walk: usize,
        walking: Walking,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<VertexId> {
        let of = |all: &[VertexId]| all.get(walk).copied().unwrap_or_default();
        let (last, here) = (of(step.before), of(step.now));
        let lists = self.lists_of(&[here, last], Along::Out, latest, cx)?;
        let list = |at| lists.targets.get(range(&lists.offsets, at)).unwrap_or_default();
        let (ahead, near) = (list(0), list(1));
        let bias = |to: &VertexId| walking.bias(*to == last, near.binary_search(to).is_ok());
        let mut left =
            walking.draw(walk, step.number, 2 * DRAWS) * ahead.iter().map(bias).sum::<f64>();
        for to in ahead {
            left -= bias(to);
            if left < 0.0 {
                return Ok(*to);
            }
        }
        Ok(ahead.last().copied().unwrap_or(here))
    }
}

fn set(all: &mut [VertexId], at: usize, to: VertexId) {
    if let Some(slot) = all.get_mut(at) {
        *slot = to;
    }
}
