//! Moves of single vertices to the community of a neighbour, and joins of single vertices.
//!
//! Vertices are taken in a mixed order: with hubs first, as many stores have them, modularity is lower
//! by two percent. Where there are few edges each sees what those before it did.
//! Else a *window* of vertices with a share of all edges decides at once, on several threads, by what was
//! before the window; the moves are then made one by one, and one that no longer gains is left to the
//! next pass. Windows depend on the lists alone, so that the result does not depend on the threads.

use super::lists::{Level, Neighbors};
use super::tally::Tally;
use crate::context::Context;
use crate::error::Result;
use crate::parallel::map_ranges;
use crate::vertex_set::{AtomicBitmap, VertexSet};
use nakshi_store::{VertexId, mix};
use std::ops::Range;

/// Windows of a pass over all vertices.
const WINDOWS: u64 = 128;
/// List entries of a window below which vertices are taken one by one; few in tests, whose graphs are
/// small.
const LEAST_WINDOW: u64 = if cfg!(test) { 1 << 6 } else { 1 << 14 };
/// Vertices of a window that a worker takes at once.
const BATCH: usize = 64;

/// The numbers of a range, each once, in steps of about 0.62 of its length (the golden ratio), which takes
/// numbers from all parts of the range in turn.
fn mixed(range: Range<usize>, seed: u64) -> impl Iterator<Item = usize> {
    let length = range.len();
    let mut step = (length as f64 * 0.618_034) as usize;
    while gcd(step, length) > 1 {
        step += 1;
    }
    // Lossless: below the length.
    let mut at = (mix(seed) % length.max(1) as u64) as usize;
    std::iter::repeat_with(move || {
        let number = range.start + at;
        at += step;
        if at >= length {
            at -= length;
        }
        number
    })
    .take(length)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Communities, named by numbers of vertices.
#[derive(Debug)]
pub(super) struct Partition {
    /// Community of each vertex.
    pub(super) of: Vec<VertexId>,
    /// Sum of the strengths of its members, by community.
    pub(super) totals: Vec<f64>,
    /// Number of members, by community.
    sizes: Vec<u32>,
}

impl Partition {
    /// Every vertex alone.
    pub(super) fn alone(strengths: &[f64]) -> Self {
        let n = strengths.len();
        // Lossless: there are at most 2^32 vertices.
        let of = (0..n).map(|v| v as VertexId).collect();
        Partition { of, totals: strengths.to_vec(), sizes: vec![1; n] }
    }

    /// The communities `of` vertices with these strengths.
    pub(super) fn given(of: Vec<VertexId>, strengths: &[f64]) -> Self {
        let (mut totals, mut sizes) = (vec![0.0; of.len()], vec![0; of.len()]);
        for (&community, strength) in of.iter().zip(strengths) {
            let at = community as usize;
            if let (Some(total), Some(size)) = (totals.get_mut(at), sizes.get_mut(at)) {
                *total += strength;
                *size += 1;
            }
        }
        Partition { of, totals, sizes }
    }

    fn community(&self, v: VertexId) -> VertexId {
        self.of.get(v as usize).copied().unwrap_or(v)
    }

    fn total(&self, community: VertexId) -> f64 {
        self.totals.get(community as usize).copied().unwrap_or(0.0)
    }

    fn size(&self, community: VertexId) -> u32 {
        self.sizes.get(community as usize).copied().unwrap_or(0)
    }

    fn shift(&mut self, v: VertexId, strength: f64, to: VertexId) {
        let from = self.community(v);
        for (community, sign) in [(from, -1.0), (to, 1.0)] {
            let at = community as usize;
            if let (Some(total), Some(size)) = (self.totals.get_mut(at), self.sizes.get_mut(at)) {
                *total += sign * strength;
                *size = size.wrapping_add_signed(sign as i32);
            }
        }
        if let Some(of) = self.of.get_mut(v as usize) {
            *of = to;
        }
    }

    /// Replaces the communities by `0..count` in the order of their first members. Returns the strengths
    /// of the communities, `count` of them.
    pub(super) fn renumber(&mut self) -> Vec<f64> {
        let mut numbers = vec![VertexId::MAX; self.of.len()];
        let mut strengths = Vec::new();
        for community in &mut self.of {
            let at = *community as usize;
            let Some(number) = numbers.get_mut(at) else { continue };
            if *number == VertexId::MAX {
                // Lossless: no more than vertices.
                *number = strengths.len() as VertexId;
                strengths.push(self.totals.get(at).copied().unwrap_or(0.0));
            }
            *community = *number;
        }
        strengths
    }
}

/// A vertex with the community that it would rather be in, and the weights of its edges there and where
/// it is.
#[derive(Debug, Clone, Copy)]
struct Wish {
    v: VertexId,
    to: VertexId,
    there: f64,
    here: f64,
}

/// A pass over vertices.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Passed {
    /// Vertices that moved.
    pub(super) moved: u64,
    /// Modularity gained.
    pub(super) gain: f64,
}

/// The parameters of all passes over a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mover<'a> {
    /// Strength of each vertex: the sum of the weights of its edges, a self-loop twice.
    pub(super) strengths: &'a [f64],
    /// Sum of the strengths.
    pub(super) sum: f64,
    pub(super) resolution: f64,
    pub(super) seed: u64,
}

/// The moves that vertices may make in a pass.
#[derive(Clone, Copy)]
enum Rule<'a> {
    /// Go to the community of any neighbour.
    Move,
    /// Join a neighbour of the same community, if still alone.
    Join(&'a [VertexId]),
}

impl Mover<'_> {
    /// Lets the vertices of `active` move. Returns those that have reasons to look again.
    pub(super) fn pass<L: Level>(
        &self,
        level: &L,
        partition: &mut Partition,
        active: &VertexSet,
        cx: &Context,
    ) -> Result<(Passed, VertexSet)> {
        self.run(level, partition, active, Rule::Move, cx)
    }

    /// Lets vertices that are alone join others of the same community of `whole`.
    pub(super) fn refine<L: Level>(
        &self,
        level: &L,
        partition: &mut Partition,
        whole: &Partition,
        cx: &Context,
    ) -> Result<Passed> {
        let all = VertexSet::full(level.vertices());
        Ok(self.run(level, partition, &all, Rule::Join(&whole.of), cx)?.0)
    }

    fn run<L: Level>(
        &self,
        level: &L,
        partition: &mut Partition,
        active: &VertexSet,
        rule: Rule<'_>,
        cx: &Context,
    ) -> Result<(Passed, VertexSet)> {
        let window = level.arcs() / WINDOWS;
        let mut sweep = Sweep {
            mover: self,
            partition,
            rule,
            at_once: window >= LEAST_WINDOW,
            again: AtomicBitmap::new(level.vertices()),
            tally: Tally::default(),
            passed: Passed::default(),
        };
        level.parts(active, cx, |range, lists| {
            let mut members = Vec::new();
            let mut arcs = 0;
            for v in mixed(range, self.seed).filter(|&v| active.bits().get(v)) {
                // Lossless: there are at most 2^32 vertices.
                members.push(v as VertexId);
                arcs += lists.degree(v as VertexId) as u64 + 1;
                if arcs >= window.max(LEAST_WINDOW) {
                    sweep.window(lists, &members, cx)?;
                    members.clear();
                    arcs = 0;
                }
            }
            sweep.window(lists, &members, cx)
        })?;
        Ok((sweep.passed, sweep.again.into()))
    }

    /// The community that gains most from `v`, if that is more than where `v` is.
    fn wish<N: Neighbors>(
        &self,
        lists: &N,
        v: VertexId,
        partition: &Partition,
        rule: Rule<'_>,
        tally: &mut Tally,
    ) -> Option<Wish> {
        let own = partition.community(v);
        tally.clear(lists.degree(v));
        match rule {
            Rule::Move => lists.each(v, |u, weight| {
                if u != v {
                    tally.add(partition.community(u), weight);
                }
            }),
            Rule::Join(whole) => {
                if partition.size(own) != 1 {
                    return None;
                }
                let of = |v: VertexId| whole.get(v as usize);
                lists.each(v, |u, weight| {
                    if u != v && of(u) == of(v) {
                        tally.add(partition.community(u), weight);
                    }
                });
            }
        }
        let (strength, pull) = self.pull(v);
        let here = tally.entries().find(|(community, _)| *community == own).map_or(0.0, |e| e.1);
        let stay = here - pull * (partition.total(own) - strength);
        let mut best: Option<(f64, VertexId, f64)> = None;
        for (community, weight) in tally.entries().filter(|(community, _)| *community != own) {
            let score = weight - pull * partition.total(community);
            let better = best.is_none_or(|(most, other, _)| {
                score > most || score == most && self.rank(community) < self.rank(other)
            });
            if better {
                best = Some((score, community, weight));
            }
        }
        let (score, to, there) = best?;
        (score > stay + self.least_gain()).then_some(Wish { v, to, there, here })
    }

    /// Strength of a vertex, and what a community loses in score for each unit of its own strength.
    fn pull(&self, v: VertexId) -> (f64, f64) {
        let strength = self.strengths.get(v as usize).copied().unwrap_or(0.0);
        (strength, self.resolution * strength / self.sum)
    }

    /// Gains below this are rounding.
    fn least_gain(&self) -> f64 {
        1e-14 * self.sum
    }

    /// The order of communities of equal score.
    fn rank(&self, community: VertexId) -> u64 {
        mix(self.seed ^ u64::from(community).rotate_left(32))
    }
}

/// A pass under way.
struct Sweep<'a> {
    mover: &'a Mover<'a>,
    partition: &'a mut Partition,
    rule: Rule<'a>,
    /// True if the vertices of a window decide at once.
    at_once: bool,
    /// Vertices with reasons to look again.
    again: AtomicBitmap,
    tally: Tally,
    passed: Passed,
}

impl Sweep<'_> {
    /// Lets the vertices of a window decide and move.
    fn window<N: Neighbors>(
        &mut self,
        lists: &N,
        members: &[VertexId],
        cx: &Context,
    ) -> Result<()> {
        cx.check()?;
        let (mover, rule) = (self.mover, self.rule);
        if !self.at_once {
            for &v in members {
                let wish = mover.wish(lists, v, self.partition, rule, &mut self.tally);
                if let Some(wish) = wish.filter(|&wish| self.grant(wish)) {
                    self.mark(lists, wish);
                }
            }
            return Ok(());
        }
        let before = &*self.partition;
        let wishes = map_ranges(cx, (members.len(), BATCH), Tally::default, |tally, range| {
            let batch = members.get(range).unwrap_or_default().iter();
            let wish = |&v: &VertexId| mover.wish(lists, v, before, rule, tally);
            Ok(batch.filter_map(wish).collect::<Vec<_>>())
        })?;
        let granted: Vec<Wish> =
            wishes.into_iter().flatten().filter(|&wish| self.grant(wish)).collect();
        if matches!(rule, Rule::Move) {
            let sweep = &*self;
            map_ranges(
                cx,
                (granted.len(), BATCH),
                || (),
                |(), range| {
                    let batch = granted.get(range).unwrap_or_default();
                    batch.iter().for_each(|&wish| sweep.mark(lists, wish));
                    Ok(())
                },
            )?;
        }
        Ok(())
    }

    /// Moves a vertex if the gain is still there; tells whether it was.
    fn grant(&mut self, wish: Wish) -> bool {
        let Wish { v, to, there, here } = wish;
        let (mover, partition) = (self.mover, &mut *self.partition);
        let own = partition.community(v);
        let joined = matches!(self.rule, Rule::Join(_)) && partition.size(own) != 1;
        let (strength, pull) = mover.pull(v);
        let stay = here - pull * (partition.total(own) - strength);
        let gain = there - pull * partition.total(to) - stay;
        if joined || partition.size(to) == 0 || gain <= mover.least_gain() {
            self.again.set(v as usize);
            return false;
        }
        partition.shift(v, strength, to);
        self.passed.moved += 1;
        self.passed.gain += 2.0 * gain / mover.sum;
        true
    }

    /// Marks the neighbours of a vertex that has moved, but for those in its new community.
    fn mark<N: Neighbors>(&self, lists: &N, wish: Wish) {
        lists.each(wish.v, |u, _| {
            if self.partition.community(u) != wish.to && !self.again.get(u as usize) {
                self.again.set(u as usize);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::mixed;

    #[test]
    fn a_mixed_order_has_each_number_once_and_hubs_apart() {
        for length in (0..70).chain([1000, 1024]) {
            let mut numbers: Vec<usize> = mixed(5..5 + length, 3).collect();
            if length == 1000 {
                let apart = numbers.windows(2).map(|pair| pair[0].abs_diff(pair[1])).min();
                assert!(apart > Some(300), "{apart:?}");
            }
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(5..5 + length));
        }
    }
}
