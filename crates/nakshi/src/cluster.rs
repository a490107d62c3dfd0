//! From the name of an algorithm to a table, on several servers.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value};

pub use nakshi_cluster::front::{Servers, Settings};
pub use nakshi_cluster::plan::{Communication, Row, Spread};
pub use nakshi_cluster::{Error, NAMES, Partition, Task, exchange, job, load, local, plan, worker};

use crate::Result;
use crate::analysis::{Answer, Io, Memory, Seconds, Stats};
use crate::engine::{Context, Direction, EngineMode, Graph, Needs, Outcome};
use crate::names::Names;
use crate::store::Store;
use crate::table::Table;

/// Runs the algorithm `name` with `parameters` (vertices as users' ids) on the servers that listen at
/// `addresses`; all of them can read the store under its path.
///
/// # Errors
/// Unknown algorithm, parameter or vertex; a server that cannot be reached, ends or hangs, or what it
/// cannot do; reading; cancellation.
pub fn run(
    store: &Arc<Store>,
    name: &str,
    parameters: &Map<String, Value>,
    addresses: &[String],
    settings: Settings,
    cx: &Context,
) -> Result<Answer> {
    let began = Instant::now();
    let task = {
        let graph = Graph::open(store, &Needs::new(0.0, &[Direction::Out]), &on_ssd(cx))?;
        Task::new(name, parameters, &graph, cx)?
    };
    let mut watch = |server: usize, done: &job::Superstep| {
        if server == 0 {
            cx.progress().update("supersteps", done.step.into(), 0);
        }
    };
    let (outcome, servers) =
        nakshi_cluster::front::run(store, &task, addresses, settings, cx, &mut watch)?;
    let Outcome { columns, summary, .. } = outcome;
    let ids = store.ids()?.until(cx.cancel_token());
    let table = match columns.is_empty() {
        true => None,
        false => Some(Arc::new(Table::new(Names::load(&ids)?, columns))),
    };
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
        servers: Some(servers),
    };
    Ok(Answer { table, summary, stats })
}

fn on_ssd(cx: &Context) -> Context {
    cx.clone().with_mode(EngineMode::Ssd)
}

/// What a partition over so many servers sends and keeps, for each number of them and an algorithm.
///
/// # Errors
/// Those of reading; no servers.
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
