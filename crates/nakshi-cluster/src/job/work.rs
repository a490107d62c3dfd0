//! The computation of a program on one server.

use std::sync::{Mutex, PoisonError};

use nakshi_engine::Context;
use nakshi_engine::parallel::run_workers;
use nakshi_engine::program::pull::{Origin, PullValue, Seen, Totals};

use super::value_store::{ShadowBlock, ValueStore};
use crate::exchange::Session;
use crate::link_store::LinkReader;
use crate::{Result, Shard};

/// The computation of a program on a server's vertices.
pub(crate) trait Work {
    /// The value of a vertex, as servers send it.
    type Value: PullValue;
    /// The result of a vertex.
    type Output: PullValue;

    /// Learns what it needs of other servers; all of them call it at the same time, before anything else.
    fn begin(&mut self, shard: &Shard, session: &mut Session, senders: usize) -> Result<()>;

    /// The values of this server's vertices before the first step, and what they add to the totals.
    fn first(&mut self, shard: &Shard, totals: &mut Totals) -> Result<Vec<Self::Value>>;

    /// Computes a step; returns the totals of this server.
    fn compute(
        &mut self,
        part: (&Shard, &[Mutex<LinkReader<'_>>]),
        values: &mut ValueStore<Self::Value>,
        step: (u32, &Seen),
        cx: &Context,
    ) -> Result<Totals>;

    /// Returns true if `step` was the last one.
    fn finished(&self, step: u32, totals: &Totals, updated: u64) -> bool;

    /// Converts the last value of a vertex into its result.
    fn output(&self, origin: &Origin, value: &Self::Value) -> Self::Output;
}

/// Calls `run` for each block, on a thread for each reader of lists, with what `init` makes for the thread;
/// returns the totals.
pub(super) fn each_block<'b, T: Send + 'b, S>(
    sources: &[Mutex<LinkReader<'_>>],
    blocks: impl Iterator<Item = ShadowBlock<'b, T>> + Send,
    cx: &Context,
    init: impl Fn() -> S + Sync,
    run: impl Fn(
        &mut S,
        &mut LinkReader<'_>,
        &mut ShadowBlock<'b, T>,
        &mut Totals,
    ) -> nakshi_engine::Result<()>
    + Sync,
) -> nakshi_engine::Result<Totals> {
    let blocks = Mutex::new(blocks);
    let parts = run_workers(sources.len(), |thread| {
        let mut added = Totals::default();
        let Some(source) = sources.get(thread) else { return Ok(added) };
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = init();
        loop {
            let next = blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(mut block) = next else { return Ok(added) };
            cx.check()?;
            run(&mut own, &mut source, &mut block, &mut added)?;
        }
    })?;
    let mut all = Totals::default();
    parts.iter().for_each(|part| all.merge(part));
    Ok(all)
}
