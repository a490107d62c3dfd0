//! A server's run: steps of computation, then communication (2.3.3, 2.3.4).

mod foreign_work;
mod publish_lists;
mod pull_work;
mod value_store;
mod work;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nakshi_engine::Context;
use nakshi_engine::program::pull::{PullProgram, Totals};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointStore, RecoveryState, Snapshot};
use crate::exchange::Session;
use crate::{Result, Shard};
pub(crate) use foreign_work::{ForeignWork, Row};
use publish_lists::StepReport;
pub(crate) use pull_work::PullWork;
use value_store::{BLOCK, ValueStore};
pub(crate) use work::Work;

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
    run_from(shard, &mut PullWork(program), session, kept, terms, cx, &mut watch)
}

/// As [`run`], with the checkpoint store `kept.0`; starts at the checkpoint `kept.1` if there is one.
pub(crate) fn run_from<W: Work>(
    shard: &Shard,
    work: &mut W,
    session: &mut Session,
    kept: (&mut CheckpointStore, Option<Snapshot>),
    terms: Terms,
    cx: &Context,
    watch: &mut dyn FnMut(&Superstep, &RecoveryState),
) -> Result<Finished<W::Output>> {
    let (keeper, from) = kept;
    work.begin(shard, session, terms.senders)?;
    let mut said = StepReport::default();
    let mut values = match &from {
        Some(snapshot) => {
            let (values, totals) = ValueStore::restore(&snapshot.bytes, shard, session)?;
            said.totals = totals;
            values
        }
        None => {
            let first = work.first(shard, &mut said.totals)?;
            ValueStore::new(shard, first.into_iter())
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
        if step > 0 && work.finished(step, &said.totals, told.updated) {
            break;
        }
        cut = told.late;
        if cut || terms.steps.is_some_and(|most| step >= most) {
            break;
        }
        let began = Instant::now();
        let seen = said.totals.seen();
        said.totals = work.compute((shard, &sources), &mut values, (step + 1, &seen), cx)?;
        computation = began.elapsed();
        said.late = terms.late(computation + communication);
    }
    let output = |(slot, value)| work.output(&shard.origin(slot), value);
    let values = values.own().iter().enumerate().map(output).collect();
    Ok(Finished { values, steps, totals: said.totals, cut })
}
