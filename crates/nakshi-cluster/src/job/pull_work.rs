//! Programs that are called for each vertex.

use std::sync::Mutex;

use nakshi_engine::program::pull::{Origin, PullProgram, PullVertex, Seen, Totals};
use nakshi_engine::shared::prefetch;
use nakshi_engine::{Context, VertexId};

use super::value_store::{Real, ShadowBlock, ValueStore};
use super::work::{Work, each_block};
use crate::exchange::Session;
use crate::link_store::{LinkList, LinkReader};
use crate::{Result, Shard};

/// A program that is called for each vertex.
pub(crate) struct PullWork<'p, P>(pub(crate) &'p P);

impl<P: PullProgram> Work for PullWork<'_, P> {
    type Value = P::Value;
    type Output = P::Output;

    fn begin(&mut self, _: &Shard, _: &mut Session, _: usize) -> Result<()> {
        Ok(())
    }

    fn first(&mut self, shard: &Shard, totals: &mut Totals) -> Result<Vec<P::Value>> {
        Ok((0..shard.own).map(|slot| self.0.init(&shard.origin(slot), totals)).collect())
    }

    fn compute(
        &mut self,
        (shard, sources): (&Shard, &[Mutex<LinkReader<'_>>]),
        values: &mut ValueStore<P::Value>,
        (step, totals): (u32, &Seen),
        cx: &Context,
    ) -> Result<Totals> {
        let (real, blocks) = values.versions(shard.own);
        let seen = StepView { shard, real: &real, step, totals };
        let run = |(): &mut (), source: &mut LinkReader<'_>, block: &mut _, added: &mut _| {
            run_block(self.0, &seen, source, block, added)
        };
        Ok(each_block(sources, blocks, cx, || (), run)?)
    }

    fn finished(&self, step: u32, totals: &Totals, updated: u64) -> bool {
        self.0.finished(step, totals, updated)
    }

    fn output(&self, origin: &Origin, value: &P::Value) -> P::Output {
        self.0.output(origin, value)
    }
}

/// The state that all vertices see in a step.
struct StepView<'a, T> {
    shard: &'a Shard,
    real: &'a Real<'a, T>,
    step: u32,
    totals: &'a Seen,
}

/// Runs the vertices of a block. Not inlined: a sum over links was kept on the stack then, instead of in
/// a register, and PageRank took twice as long.
#[inline(never)]
fn run_block<P: PullProgram>(
    program: &P,
    seen: &StepView<'_, P::Value>,
    source: &mut LinkReader<'_>,
    block: &mut ShadowBlock<'_, P::Value>,
    added: &mut Totals,
) -> nakshi_engine::Result<()> {
    let slots = block.slots();
    let ends = seen.shard.range(slots.start).start..seen.shard.range(slots.end).start;
    source.begin(ends)?;
    for slot in slots {
        let list = source.next(seen.shard.range(slot))?;
        let mut me = ShardVertex { seen, slot, list, put: None, added };
        program.step(&mut me)?;
        if let Some(value) = me.put {
            block.put(slot, value);
        }
    }
    Ok(())
}

/// A vertex in a step.
struct ShardVertex<'a, T> {
    seen: &'a StepView<'a, T>,
    slot: usize,
    list: LinkList<'a>,
    put: Option<T>,
    added: &'a mut Totals,
}

impl<T> ShardVertex<'_, T> {
    /// Calls `f` for every wanted link, and prefetches the values of later links.
    #[inline]
    fn each(&self, wanted: impl Fn(u32) -> bool, mut f: impl FnMut(VertexId, &T, f64)) {
        let mut every = |id: VertexId, value: &T, weight: f64| {
            f(id, value, weight);
            false
        };
        let LinkList { links, weights, .. } = self.list;
        let Some(ahead) = self.list.ahead() else {
            self.any(wanted, every);
            return;
        };
        let mut one = self.one(wanted, &mut every);
        let mut one = |link, later: u32, weight| {
            prefetch(self.seen.real.values, later as usize);
            one(link, weight);
        };
        let both = links.iter().zip(ahead);
        if weights.is_empty() {
            both.for_each(|(&link, &later)| one(link, later, 1.0));
        } else {
            both.zip(weights).for_each(|((&link, &later), &weight)| one(link, later, weight));
        }
    }

    /// Returns true if `f` is true of a wanted link; later links are not read.
    #[inline]
    fn any(
        &self,
        wanted: impl Fn(u32) -> bool,
        mut f: impl FnMut(VertexId, &T, f64) -> bool,
    ) -> bool {
        let LinkList { links, weights, .. } = self.list;
        let mut one = self.one(wanted, &mut f);
        if weights.is_empty() {
            links.iter().any(|&link| one(link, 1.0))
        } else {
            links.iter().zip(weights).any(|(&link, &weight)| one(link, weight))
        }
    }

    /// The closure that handles a link and its weight.
    #[inline]
    fn one(
        &self,
        wanted: impl Fn(u32) -> bool,
        f: &mut impl FnMut(VertexId, &T, f64) -> bool,
    ) -> impl FnMut(u32, f64) -> bool {
        let StepView { shard, real, .. } = self.seen;
        let values = real.values;
        // As long as the values: one comparison does for both.
        let ids = shard.ids.get(..values.len()).unwrap_or_default();
        move |link, weight| match (values.get(link as usize), ids.get(link as usize)) {
            (Some(value), Some(&id)) => wanted(link) && f(id, value, weight),
            _ => false,
        }
    }
}

impl<T: nakshi_engine::program::pull::PullValue> PullVertex<T> for ShardVertex<'_, T> {
    fn origin(&self) -> Origin {
        self.seen.shard.origin(self.slot)
    }

    fn step(&self) -> u32 {
        self.seen.step
    }

    fn value(&self) -> &T {
        // A vertex that runs has a value.
        &self.seen.real.values[self.slot]
    }

    fn put(&mut self, value: T) {
        self.put = Some(value);
    }

    #[inline]
    fn links(&mut self, f: impl FnMut(VertexId, &T, f64)) -> nakshi_engine::Result<()> {
        self.each(|_| true, f);
        Ok(())
    }

    #[inline]
    fn updated_links(&mut self, f: impl FnMut(VertexId, &T, f64)) -> nakshi_engine::Result<()> {
        self.each(|link| self.seen.real.updated.get(link as usize), f);
        Ok(())
    }

    #[inline]
    fn any_updated_link(
        &mut self,
        f: impl FnMut(VertexId, &T, f64) -> bool,
    ) -> nakshi_engine::Result<bool> {
        Ok(self.any(|link| self.seen.real.updated.get(link as usize), f))
    }

    fn totals(&self) -> &Seen {
        self.seen.totals
    }

    fn add(&mut self, number: f64) {
        self.added.add(number);
    }

    fn add_apart(&mut self, number: f64) {
        self.added.add_apart(number);
    }
}
