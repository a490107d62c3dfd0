//! A server's run: steps of computation, then communication (2.3.3, 2.3.4).

mod publish_lists;
mod value_store;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_engine::parallel::run_workers;
use nakshi_engine::program::pull::{Origin, PullProgram, PullVertex, Seen, Totals};
use nakshi_engine::shared::prefetch;
use nakshi_engine::{Context, VertexId};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointStore, RecoveryState, Snapshot};
use crate::exchange::Session;
use crate::link_store::{LinkList, LinkReader};
use crate::{Result, Shard};
use publish_lists::StepReport;
use value_store::{BLOCK, ShadowBlock, ValueStore};

/// Counts and times of a step, on this server and on all of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Superstep {
    /// Number of the step; step 0 sends the first values.
    pub step: u32,
    /// Vertices of all servers that were given a value.
    pub active: u64,
    /// Values that this server has sent.
    pub sent: u64,
    /// Bytes of all frames that it has sent, headers included.
    pub bytes: u64,
    /// Seconds of computation here.
    pub computation: f64,
    /// Seconds of communication, in which the servers wait for the slowest of them.
    pub communication: f64,
}

/// Result of a run on one server.
#[derive(Clone, Debug)]
pub struct Finished<T> {
    /// Results of this server's vertices, ascending.
    pub values: Vec<T>,
    /// Every step, from 0 or from the step at which the run was taken up.
    pub steps: Vec<Superstep>,
    /// Totals of the last step.
    pub totals: Totals,
    /// True if the time was up before the program was finished.
    pub cut: bool,
}

/// Communication threads of a run, and its limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// Communication workers: threads that put values into frames, each for some of the other servers.
    pub senders: usize,
    /// Most steps.
    pub steps: Option<u32>,
    /// Deadline: a step that would end after it, if it took as long as the one before, is not begun.
    pub until: Option<Instant>,
}

impl Terms {
    fn late(&self, last: Duration) -> bool {
        self.until.is_some_and(|until| Instant::now() + last > until)
    }
}

/// Runs a program on this server's vertices, together with all other servers, until it is finished or
/// a limit is met. `watch` is told of every step.
///
/// # Errors
/// Errors of the session and of the program; [`nakshi_engine::Error::Cancelled`] and
/// [`nakshi_engine::Error::Deadline`] by `cx`.
pub fn run<P: PullProgram>(
    shard: &Shard,
    program: &P,
    session: &mut Session,
    terms: Terms,
    cx: &Context,
    watch: &mut dyn FnMut(&Superstep),
) -> Result<Finished<P::Output>> {
    let mut watch = |step: &Superstep, _: &RecoveryState| watch(step);
    let kept = (&mut CheckpointStore::default(), None);
    run_from(shard, program, session, kept, terms, cx, &mut watch)
}

/// As [`run`], with the checkpoint store `kept.0`; starts at the checkpoint `kept.1` if there is one.
pub(crate) fn run_from<P: PullProgram>(
    shard: &Shard,
    program: &P,
    session: &mut Session,
    kept: (&mut CheckpointStore, Option<Snapshot>),
    terms: Terms,
    cx: &Context,
    watch: &mut dyn FnMut(&Superstep, &RecoveryState),
) -> Result<Finished<P::Output>> {
    let (keeper, from) = kept;
    let mut said = StepReport::default();
    let mut values = match &from {
        Some(snapshot) => {
            let (values, totals) = ValueStore::restore(&snapshot.bytes, shard, session)?;
            said.totals = totals;
            values
        }
        None => {
            let first = |slot| program.init(&shard.origin(slot), &mut said.totals);
            ValueStore::new(shard, (0..shard.own).map(first))
        }
    };
    let first = from.map_or(0, |snapshot| snapshot.step);
    let mut steps: Vec<Superstep> = Vec::new();
    let threads = cx.threads().min(shard.own.div_ceil(BLOCK)).max(1);
    let sources = (0..threads).map(|_| shard.lists.source().map(Mutex::new));
    let sources = sources.collect::<Result<Vec<_>>>()?;
    let (mut computation, mut cut) = (Duration::ZERO, false);
    for step in first.. {
        if keeper.due(step) && step > first {
            let bytes = Arc::new(values.save(&said.totals));
            keeper.save(Snapshot { step, bytes }, session)?;
        }
        let before = session.counters().bytes;
        let began = Instant::now();
        let (sent, told) = values.communicate(shard, session, terms.senders, &said)?;
        keeper.pass(step);
        let communication = began.elapsed();
        let done = Superstep {
            step,
            active: told.updated,
            sent,
            bytes: session.counters().bytes - before,
            computation: computation.as_secs_f64(),
            communication: communication.as_secs_f64(),
        };
        watch(&done, &keeper.state(true));
        steps.push(done);
        said.totals = told.totals;
        let most = terms.steps.unwrap_or_default();
        cx.progress().update("supersteps", step.into(), most.into());
        if step > 0 && program.finished(step, &said.totals, told.updated) {
            break;
        }
        cut = told.late;
        if cut || terms.steps.is_some_and(|most| step >= most) {
            break;
        }
        let began = Instant::now();
        let seen = said.totals.seen();
        said.totals = compute((shard, &sources), program, &mut values, (step + 1, &seen), cx)?;
        computation = began.elapsed();
        said.late = terms.late(computation + communication);
    }
    let output = |(slot, value)| program.output(&shard.origin(slot), value);
    let values = values.own().iter().enumerate().map(output).collect();
    Ok(Finished { values, steps, totals: said.totals, cut })
}

/// Computes a step: every own vertex runs; returns the totals of this server.
fn compute<P: PullProgram>(
    (shard, sources): (&Shard, &[Mutex<LinkReader<'_>>]),
    program: &P,
    values: &mut ValueStore<P::Value>,
    (step, totals): (u32, &Seen),
    cx: &Context,
) -> Result<Totals> {
    let (real, blocks) = values.versions(shard.own);
    let blocks = Mutex::new(blocks);
    let seen = StepView { shard, real: &real, step, totals };
    let parts = run_workers(sources.len(), |thread| {
        let mut added = Totals::default();
        let Some(source) = sources.get(thread) else { return Ok(added) };
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(mut block) = next else { return Ok(added) };
            cx.check()?;
            run_block(program, &seen, &mut source, &mut block, &mut added)?;
        }
    })?;
    let mut all = Totals::default();
    parts.iter().for_each(|part| all.merge(part));
    Ok(all)
}

/// The state that all vertices see in a step.
struct StepView<'a, T> {
    shard: &'a Shard,
    real: &'a value_store::Real<'a, T>,
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
