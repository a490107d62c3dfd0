//! Runs of an algorithm by its name on several servers, and plans of such runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use nakshi_cluster::front::{self, Event, Ran};
pub use nakshi_cluster::front::{Recovery, Servers, Settings};
use nakshi_cluster::job::Superstep;
pub use nakshi_cluster::plan::{Communication, Row, Spread};
pub use nakshi_cluster::{
    Allowed, Checkpoints, Compiler, EdgeFile, Error, NamedProgram, OwnProgram, Partition, Place,
    Programs, Task, Token, exchange, job, load, local, names, plan, worker, worker_main,
    worker_with,
};
use nakshi_engine::program::block::ProgramSpec;
use nakshi_engine::{Context, Direction, EngineMode, Graph, Needs, Outcome};
use nakshi_store::Store;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Result;
use crate::analysis::{Answer, Io, Memory, Seconds, Stats};
use crate::names::Names;
use crate::table::Table;

/// A superstep of all servers, or servers that were replaced.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Notice {
    /// All servers have ended a superstep: numbers of all together, seconds of the slowest.
    Superstep(Superstep),
    /// Servers were lost, and others have taken their places.
    Recovered {
        /// The lost servers and their replacements.
        recovered: Recovery,
    },
}

/// Callbacks of a run.
pub struct Caller<'c> {
    /// Receives every superstep and every recovery.
    pub watch: &'c mut dyn FnMut(&Notice),
    /// Replaces a lost server; see [`front::Caller::replace`].
    pub replace: &'c mut dyn FnMut(usize) -> nakshi_cluster::Result<Option<String>>,
}

/// Supersteps that not all servers have ended yet.
#[derive(Default)]
struct Steps {
    servers: usize,
    ended: BTreeMap<u32, (usize, Superstep)>,
}

impl Steps {
    /// Adds the superstep of one server. Returns the superstep of all servers if this one was the last.
    fn add(&mut self, one: &Superstep) -> Option<Superstep> {
        let none = Superstep { sent: 0, bytes: 0, computation: 0.0, communication: 0.0, ..*one };
        let (count, all) = self.ended.entry(one.step).or_insert((0, none));
        *count += 1;
        all.sent += one.sent;
        all.bytes += one.bytes;
        all.computation = all.computation.max(one.computation);
        all.communication = all.communication.max(one.communication);
        if *count < self.servers { None } else { self.ended.remove(&one.step).map(|(_, all)| all) }
    }
}

/// The graph of a run.
#[derive(Clone, Copy, Debug)]
pub enum Given<'g> {
    /// A store that all servers can read under the same path.
    Store(&'g Arc<Store>),
    /// A file of edges that all servers can read, and load by shares.
    Edges(&'g EdgeFile),
    /// Parts, of which each server has one.
    Parts,
}

/// The request to servers.
#[derive(Clone, Copy, Debug)]
pub enum Asked<'a> {
    /// An algorithm by its name, with parameters in which vertices are users' ids.
    Algorithm(&'a str, &'a Map<String, Value>),
    /// A program in another language, and what servers make its functions of.
    Program(&'a ProgramSpec, &'a str),
}

/// Runs an algorithm or a program on the servers that listen at `addresses`.
///
/// # Errors
/// Unknown algorithm, parameter or vertex; a server that cannot be reached, ends or hangs and is not
/// replaced, or what it cannot do; reading; cancellation.
pub fn run(
    given: Given<'_>,
    asked: Asked<'_>,
    addresses: &[String],
    settings: &Settings,
    cx: &Context,
    caller: Caller<'_>,
) -> Result<Answer> {
    let began = Instant::now();
    let (ran, names) = match given {
        Given::Store(store) => {
            let graph = Graph::open(store, &Needs::new(0.0, &[Direction::Out]), &on_ssd(cx))?;
            let task = match asked {
                Asked::Algorithm(name, parameters) => Task::new(name, parameters, &graph, cx)?,
                Asked::Program(spec, source) => {
                    Task::of_program(spec.clone(), source.to_owned(), &graph, cx)?
                }
            };
            let given = front::Given::Store(store.path(), &graph);
            let ran = watched(given, &task, addresses, settings, cx, caller)?;
            (ran, Names::load(&store.ids()?.until(cx.cancel_token()))?)
        }
        Given::Edges(_) | Given::Parts => {
            let Asked::Algorithm(name, parameters) = asked else {
                let what = "a program on a file of edges; import the file".into();
                return Err(nakshi_engine::Error::Unsupported { what }.into());
            };
            let (task, given) = match given {
                Given::Edges(file) => {
                    let (task, source) = Task::of_edges(name, parameters)?;
                    (task, front::Given::Edges(file, source))
                }
                _ => {
                    let (task, source) = Task::of_parts(name, parameters)?;
                    (task, front::Given::Parts(source))
                }
            };
            let ran = watched(given, &task, addresses, settings, cx, caller)?;
            let names = ran.ids.as_ref().map_or_else(|| Names::dense(0), Names::of_ids);
            (ran, names)
        }
    };
    let Ran { outcome: Outcome { columns, summary, .. }, servers, .. } = ran;
    let some = !columns.is_empty();
    let table = some.then(|| Arc::new(Table::new(names, columns)));
    // Step 0 sends first values.
    let steps = servers.steps.first().map_or(0, |steps| steps.len().saturating_sub(1));
    let stats = Stats {
        engine: "cluster".into(),
        threads: settings.threads,
        iterations: steps as u64,
        seconds: Seconds { open: began.elapsed().as_secs_f64() - servers.run, run: servers.run },
        memory: Memory { budget: settings.memory },
        io: Io::default(),
        per_iteration: Vec::new(),
        accesses: Vec::new(),
        topology: None,
        servers: Some(servers),
    };
    Ok(Answer { table, summary, stats })
}

/// Runs a task and reports each superstep that all servers have ended.
fn watched(
    given: front::Given<'_>,
    task: &Task,
    addresses: &[String],
    settings: &Settings,
    cx: &Context,
    caller: Caller<'_>,
) -> nakshi_cluster::Result<Ran> {
    let total = task.steps().map_or(0, u64::from);
    let mut steps = Steps { servers: addresses.len(), ..Steps::default() };
    let Caller { watch, replace } = caller;
    let mut watch = |event: Event<'_>| match event {
        Event::Loading(done, total) => cx.progress().update("loading", done, total),
        Event::Step(_, one) => {
            if let Some(all) = steps.add(one) {
                cx.progress().update("supersteps", all.step.into(), total);
                watch(&Notice::Superstep(all));
            }
        }
        Event::Recovered(recovery) => {
            steps.ended.clear();
            watch(&Notice::Recovered { recovered: recovery.clone() });
        }
    };
    let mut caller = front::Caller { watch: &mut watch, replace };
    front::run(given, task, addresses, settings, cx, &mut caller)
}

fn on_ssd(cx: &Context) -> Context {
    cx.clone().with_mode(EngineMode::Ssd)
}

/// Predicts the messages and the memory of a partition, for each number of servers.
///
/// # Errors
/// Errors of reading; an empty list of servers.
pub fn plan_of(
    store: &Arc<Store>,
    servers: &[usize],
    value_bytes: u64,
    cx: &Context,
) -> Result<Vec<Row>> {
    let needs = Needs { gathers: true, ..Needs::new(2.0, &[Direction::Out, Direction::In]) };
    let graph = Graph::open(store, &needs, cx)?;
    Ok(plan::plan(&graph, servers, value_bytes, cx)?)
}
