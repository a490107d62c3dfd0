//! Servers as threads of one process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nakshi_engine::program::pull::{PullProgram, PullValue};
use nakshi_engine::{Context, Graph, VertexId};
use nakshi_io::{panicked, run_workers};

use crate::exchange::channels::Channels;
use crate::exchange::simulated::{Faults, Net};
use crate::exchange::{AbortFlag, Counters, Session, Transport};
use crate::job::{self, Superstep, Terms};
use crate::load::load;
use crate::{Error, MemoryBudget, Partition, Result, WantedLinks};

/// Longest wait for a frame from another thread of the process.
const ROUND_TIMEOUT: Duration = Duration::from_secs(600);

/// Result of a run on several servers.
#[derive(Clone, Debug)]
pub struct LocalOutcome<T> {
    /// The result of each vertex.
    pub values: Vec<T>,
    /// Steps of each server.
    pub steps: Vec<Vec<Superstep>>,
    /// Frames of each server.
    pub counters: Vec<Counters>,
}

/// Runs a program on `servers` servers, each of which computes with the context's threads and may use
/// its
/// memory, until it is finished or for `most` steps.
///
/// # Errors
/// The first failure of a server that is not the echo of another's.
pub fn run<P: PullProgram>(
    graph: &Graph,
    program: &P,
    servers: usize,
    most: Option<u32>,
    cx: &Context,
) -> Result<LocalOutcome<P::Output>> {
    Partition::new(servers)?;
    let abort = AbortFlag::default();
    let endpoint = Channels::threads(servers, &abort, ROUND_TIMEOUT);
    let endpoint: Vec<_> =
        endpoint.into_iter().map(|endpoint| Mutex::new(Some(endpoint))).collect();
    let transport = |server: usize| -> Option<Box<dyn Transport>> {
        let endpoint =
            endpoint.get(server)?.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Box::new(endpoint.take()))
    };
    let job = LocalRun { graph, program, most, cx };
    job.on_all(servers, &transport, &|server, error| abort.raise(server, error.to_string()))
}

/// Runs a program over a net that loses, doubles and delays frames.
///
/// # Errors
/// As [`run`]; faults of the net are errors or have no effect.
pub fn run_simulated<P: PullProgram>(
    graph: &Graph,
    program: &P,
    servers: usize,
    faults: Faults,
    cx: &Context,
) -> Result<LocalOutcome<P::Output>> {
    Partition::new(servers)?;
    let net = Net::new(servers, faults);
    let transport = |server| -> Option<Box<dyn Transport>> { Some(Box::new(net.end(server))) };
    LocalRun { graph, program, most: None, cx }.on_all(servers, &transport, &|_, _| {})
}

struct LocalRun<'a, P> {
    graph: &'a Graph,
    program: &'a P,
    most: Option<u32>,
    cx: &'a Context,
}

/// Result of one server's thread: values of its vertices, steps and counters.
type Ended<T> = (Vec<(VertexId, T)>, Vec<Superstep>, Counters);

impl<P: PullProgram> LocalRun<'_, P> {
    fn on_all(
        &self,
        servers: usize,
        transport: &(dyn Fn(usize) -> Option<Box<dyn Transport>> + Sync),
        failed: &(dyn Fn(usize, &Error) + Sync),
    ) -> Result<LocalOutcome<P::Output>> {
        let one = |server: usize| {
            let ended = catch_unwind(AssertUnwindSafe(|| self.on_one(server, transport(server))))
                .unwrap_or_else(|panic| Err(panicked(panic).into()));
            ended.inspect_err(|error| failed(server, error))
        };
        let mut all = Vec::new();
        let mut outcome =
            LocalOutcome { values: Vec::new(), steps: Vec::new(), counters: Vec::new() };
        for (values, steps, counters) in run_workers(servers, one)? {
            all.extend(values);
            outcome.steps.push(steps);
            outcome.counters.push(counters);
        }
        all.sort_unstable_by_key(|(vertex, _)| *vertex);
        outcome.values.extend(all.into_iter().map(|(_, value)| value));
        Ok(outcome)
    }

    fn on_one(
        &self,
        server: usize,
        transport: Option<Box<dyn Transport>>,
    ) -> Result<Ended<P::Output>> {
        let lost = || Error::Lost { server, why: "it has no transport".into() };
        let mut session = Session::new(transport.ok_or_else(lost)?, 1, 0);
        let wanted = WantedLinks::of::<P>();
        let budget = MemoryBudget {
            memory: self.cx.memory(),
            folder: std::env::temp_dir(),
            value: P::Value::SIZE.unwrap_or(size_of::<P::Value>()) as u64,
            threads: self.cx.threads(),
        };
        let shard = load(self.graph, wanted, &budget, &mut session, self.cx)?;
        let terms = Terms { senders: self.cx.threads(), steps: self.most, until: None };
        let finished = job::run(&shard, self.program, &mut session, terms, self.cx, &mut |_| {})?;
        let values = shard.vertices().iter().copied().zip(finished.values).collect();
        Ok((values, finished.steps, session.counters()))
    }
}
