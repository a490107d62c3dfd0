//! Runs of an algorithm by its name, with results by the users' ids.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use nakshi_cluster::front::Servers;
use nakshi_engine::{
    Context, EngineMode, Estimate, Graph, Iteration, ListAccess, Needs, Outcome, Summary, algo,
};
use nakshi_store::{IdMap, Store};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Result;
use crate::info;
use crate::names::{Names, json_id};
use crate::table::Table;
use crate::topology::TopologyInfo;

/// Results of an algorithm, and statistics of its run.
#[derive(Debug)]
pub struct Answer {
    /// One row a vertex; `None` if the algorithm has results for the whole graph only.
    pub table: Option<Arc<Table>>,
    /// Results for the whole graph; vertices by the users' ids.
    pub summary: Map<String, Value>,
    /// Statistics of the run.
    pub stats: Stats,
}

/// The field of a summary that says which lengths edges had.
const LENGTHS: &str = "lengths";
/// The field of a summary that names weights which an unweighted run left aside.
const UNUSED: &str = "unused_weights";

impl Answer {
    /// Adds which edge lists the algorithm ran on.
    pub fn tell(&mut self, info: &TopologyInfo) {
        self.tell_unused(&info.unused_weights);
        self.stats.topology = Some(info.clone());
    }

    /// Says in the summary of a run with unit lengths which weights there are.
    fn tell_unused(&mut self, weights: &[String]) {
        let unit = self.summary.get(LENGTHS).and_then(Value::as_str) == Some("unit");
        if unit && !weights.is_empty() {
            self.summary.insert(UNUSED.into(), weights.into());
        }
    }
}

/// Statistics of a run; the fields of `nakshi run --json`.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// `memory`, `ssd` or `cluster`.
    pub engine: String,
    /// Worker threads.
    pub threads: usize,
    /// Number of iterations: the algorithm's own count where it has one, else that of
    /// `per_iteration`.
    pub iterations: u64,
    /// Wall-clock time.
    pub seconds: Seconds,
    /// Memory in bytes.
    pub memory: Memory,
    /// Reads while the algorithm ran.
    pub io: Io,
    /// Time, reads and work of each pass over the graph.
    pub per_iteration: Vec<Iteration>,
    /// Every read, if [`Context::with_trace`] asked for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<ListAccess>,
    /// Which edge lists it ran on; only of a store with properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologyInfo>,
    /// Statistics of each server, of a run on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<Servers>,
}

/// Wall-clock time of the two halves of a call, in seconds.
#[derive(Debug, Clone, Serialize)]
pub struct Seconds {
    /// Index, heads and, in memory, the lists.
    pub open: f64,
    /// The algorithm itself.
    pub run: f64,
}

/// Memory of a call, in bytes.
#[derive(Debug, Clone, Serialize)]
pub struct Memory {
    /// The cap that was given.
    pub budget: Option<u64>,
}

/// Reads of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Io {
    /// Bytes read from the store.
    pub bytes_read: u64,
    /// Read requests.
    pub requests: u64,
    /// Pages found in the cache.
    pub hits: u64,
    /// Pages not found in the cache.
    pub misses: u64,
    /// Part of the hits: lists of the static cache, and pages of chunks kept from one pass to the next.
    pub pinned_hits: u64,
    /// Share of the 64-byte units of cached pages that the run touched; null without such pages.
    pub page_utilisation: Option<f64>,
}

/// Runs the algorithm `name` with JSON `parameters` (vertices as users' ids) on a store.
///
/// # Errors
/// Unknown algorithm, parameter or vertex; too small a budget; reading; cancellation.
pub fn run(store: &Arc<Store>, name: &str, parameters: &Value, cx: &Context) -> Result<Answer> {
    let algorithm = algo::find(name)?;
    let needs = (algorithm.needs)(parameters, &Summary::of_store(store))?;
    run_with(store, &needs, cx, |graph| Ok((algorithm.run)(parameters, graph, cx)?))
}

/// Runs something on a store that is opened for its needs.
///
/// # Errors
/// Too small a budget; reading; cancellation; errors of `work`.
pub fn run_with(
    store: &Arc<Store>,
    needs: &Needs,
    cx: &Context,
    work: impl FnOnce(&Graph) -> Result<Outcome>,
) -> Result<Answer> {
    give_names_back(store, cx);
    // The table needs the outcome and the ids only, so lists and caches are freed first.
    let (outcome, stats, in_memory) = nakshi_io::with_team(cx.threads(), || -> Result<_> {
        let began = Instant::now();
        let graph = Graph::open(store, needs, cx)?;
        let opened = Instant::now();
        let outcome = work(&graph)?;
        let seconds =
            Seconds { open: (opened - began).as_secs_f64(), run: opened.elapsed().as_secs_f64() };
        let stats = stats(&outcome, &graph, cx, seconds);
        Ok((outcome, stats, graph.mode() == EngineMode::Memory))
    })?;
    let Outcome { columns, mut summary, summary_vertices, .. } = outcome;
    let ids = store.ids()?.until(cx.cancel_token());
    for (name, vertex) in summary_vertices {
        summary.insert(name, json_id(&ids.external(vertex)?));
    }
    let table = if columns.is_empty() {
        None
    } else {
        let hold = in_memory && cx.holds() && cx.memory().is_none();
        Some(Arc::new(Table::new(names(store, &ids, hold)?, columns)))
    };
    let mut answer = Answer { table, summary, stats };
    answer.tell_unused(&info::columns(store));
    Ok(answer)
}

/// The ids of a store that runs leave in memory for the runs to come.
#[derive(Default)]
struct HeldNames(Mutex<Option<Arc<Names>>>);

/// The ids of all vertices, read or held. They stay with the open store (`hold`) as its lists do, but not
/// under a memory budget, in which a run has them when its lists are gone.
fn names(store: &Store, ids: &IdMap, hold: bool) -> Result<Arc<Names>> {
    let held = store.companion::<HeldNames>().map(|held| &held.0);
    let lock = || held.map(|held| held.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(names) = lock().and_then(|held| held.clone()) {
        return Ok(names);
    }
    let names = Arc::new(Names::load(ids)?);
    if hold && let Some(mut held) = lock() {
        *held = Some(Arc::clone(&names));
    }
    Ok(names)
}

/// Gives back the ids that earlier runs have left, for which a memory budget has no room.
fn give_names_back(store: &Store, cx: &Context) {
    if cx.memory().is_some()
        && let Some(held) = store.companion::<HeldNames>()
    {
        *held.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn stats(outcome: &Outcome, graph: &Graph, cx: &Context, seconds: Seconds) -> Stats {
    let stats = &outcome.stats;
    Stats {
        engine: graph.mode().to_string(),
        threads: cx.threads(),
        iterations: outcome
            .summary
            .get("iterations")
            .and_then(Value::as_u64)
            .unwrap_or(stats.steps()),
        seconds,
        memory: Memory { budget: cx.memory() },
        io: Io {
            bytes_read: stats.bytes_read,
            requests: stats.requests,
            hits: stats.hits,
            misses: stats.misses,
            pinned_hits: graph.io_stats().pinned_hits,
            page_utilisation: graph.page_utilisation(),
        },
        per_iteration: stats.iterations.clone(),
        accesses: graph.accesses(),
        topology: None,
        servers: None,
    }
}

/// Memory that [`run`] would need with the threads and in the mode of `cx`.
///
/// # Errors
/// Unknown algorithm or parameter; a static cache without a plan; reading.
pub fn estimate(
    store: &Arc<Store>,
    name: &str,
    parameters: &Value,
    cx: &Context,
) -> Result<Estimate> {
    let needs = (algo::find(name)?.needs)(parameters, &Summary::of_store(store))?;
    Ok(Estimate::of_run(store, &needs, cx)?)
}
