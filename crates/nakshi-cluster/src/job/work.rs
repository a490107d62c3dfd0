//! What a program computes on one server.

use std::sync::Mutex;

use nakshi_engine::Context;
use nakshi_engine::program::pull::{Origin, PullValue, Seen, Totals};

use super::value_store::ValueStore;
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
