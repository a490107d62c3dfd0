//! `Store`: an opened store, safe to use after `fork`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nakshi::engine::{CancelToken, Context, EngineMode};
use nakshi::lookup::VertexLookup;
use nakshi::property::{LogState, PropertyEntry, PropertyGraph, log_state};
use nakshi::store::import::Hooks;
use nakshi::store::layout::LayoutInput;
use nakshi::store::layout::cost::{layout_cost, matrix};
use nakshi::topology::{Chosen, Counts, Topologies, TopologyInfo, TopologyRequest, of_files};
use nakshi::{analysis, cluster, layout, property, store};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use serde_json::Value;

use crate::builders::hooks;
use crate::call::{Call, long, long_json, seconds};
use crate::errors::Failure;
use crate::outcome::Outcome;
use crate::property::PyProperties;
use crate::values::{json, parsed};

/// Memory in bytes and threads of a call.
type Limits = (Option<u64>, Option<usize>);

/// A store, and what its last look-up has opened.
type ForLookup = (Arc<store::Store>, Option<Arc<VertexLookup>>);

/// A store that one process has opened.
///
/// After `fork` the child has the memory of its parent's threads but not the threads: their rings,
/// queues and locks must be neither used nor dropped there. The child leaves them alone and opens
/// the store again.
struct Opened {
    process: u32,
    /// `Some` until it is dropped.
    store: Option<Arc<store::Store>>,
    /// Index, ids and page cache of the last look-up, for the next.
    lookup: Option<Arc<VertexLookup>>,
}

impl Opened {
    fn new(path: &std::path::Path) -> Result<Self, Failure> {
        let store = store::Store::open(path, &store::OpenOptions::default())?;
        Ok(Self { process: std::process::id(), store: Some(store), lookup: None })
    }

    fn of(store: &Arc<store::Store>) -> Self {
        Self { process: std::process::id(), store: Some(Arc::clone(store)), lookup: None }
    }

    fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.is_ours() {
            std::mem::forget(self.store.take());
            std::mem::forget(self.lookup.take());
        }
    }
}

/// A store on disk, opened for analysis.
#[pyclass(frozen, module = "nakshi._core")]
pub struct Store {
    path: PathBuf,
    /// Held for moments only, and with the interpreter lock, so `fork` never finds it locked.
    opened: Mutex<Option<Opened>>,
    /// Edge lists that were made for this handle.
    topologies: Topologies,
    /// Of edge lists that were chosen: what they are, and what keeps them on disk.
    chosen: Option<EdgeLists>,
}

/// Edge lists of a store with properties.
struct EdgeLists {
    topology: Arc<property::Topology>,
    info: TopologyInfo,
    /// The store that they were made of.
    source: PathBuf,
}

impl Store {
    fn of(path: PathBuf, opened: Opened, chosen: Option<EdgeLists>) -> Self {
        let (opened, topologies) = (Mutex::new(Some(opened)), Topologies::default());
        Store { path, opened, topologies, chosen }
    }

    /// Moves on to the files that a compaction has written since.
    fn move_to(&self, store: &Arc<store::Store>) {
        let mut guard = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = guard.as_mut().filter(|opened| opened.is_ours()) {
            let same = opened.store.as_ref().is_some_and(|known| Arc::ptr_eq(known, store));
            if !same {
                (opened.store, opened.lookup) = (Some(Arc::clone(store)), None);
            }
        }
    }

    /// Lets a run on edge lists in a temporary store have the cache plan of the store.
    fn plan(&self, wanted: bool, context: &Context) -> Result<(), Failure> {
        match &self.chosen {
            Some(lists) if wanted && lists.topology.is_temporary() => {
                Ok(layout::carry_plan(&lists.source, lists.topology.store(), context)?)
            }
            _ => Ok(()),
        }
    }

    /// Adds to an answer what it is about.
    pub(crate) fn tell(&self, answer: &mut analysis::Answer) {
        if let Some(lists) = &self.chosen {
            answer.tell(&lists.info);
        }
    }

    pub(crate) fn opened(&self) -> Result<Arc<store::Store>, Failure> {
        let mut guard = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_some_and(|opened| !opened.is_ours()) {
            *guard = Some(Opened::new(&self.path)?);
        }
        let store = guard.as_ref().and_then(|opened| opened.store.clone());
        store.ok_or_else(|| Failure::Closed(self.path.display().to_string()))
    }

    /// The store and what the last look-up has opened of it. The files are those of `latest`: after a
    /// compaction they are opened anew.
    pub(crate) fn opened_for(&self, latest: Option<&PropertyGraph>) -> Result<ForLookup, Failure> {
        let mut store = self.opened()?;
        if let Some(latest) = latest
            && PropertyEntry::of(store.manifest())?.as_ref() != Some(latest.entry())
        {
            let opened = Opened::new(&self.path)?;
            *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened);
            store = self.opened()?;
            if PropertyEntry::of(store.manifest())?.as_ref() != Some(latest.entry()) {
                return Err(Failure::Other(
                    "another process has compacted the store; call refresh() first".into(),
                ));
            }
        }
        let guard = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let lookup = guard.as_ref().filter(|opened| opened.is_ours());
        Ok((store, lookup.and_then(|opened| opened.lookup.clone())))
    }

    /// Keeps what a look-up has opened for the next; returns what it replaces.
    pub(crate) fn keep_lookup(
        &self,
        lookup: Option<Arc<VertexLookup>>,
    ) -> Option<Arc<VertexLookup>> {
        let mut guard = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = guard.as_mut().filter(|opened| opened.is_ours())?;
        std::mem::replace(&mut opened.lookup, lookup)
    }

    /// Runs `work` on the open store within `limits`; returns its report as JSON.
    fn report<T: Serialize + Send>(
        &self,
        py: Python<'_>,
        (memory, threads): Limits,
        progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&Arc<store::Store>, &Context, &Call) -> Result<T, Failure> + Send,
    ) -> PyResult<String> {
        let store = self.opened()?;
        let context = context(memory, threads);
        long_json(py, progress, |call| work(&store, &call.attach(context), call))
    }
}

#[pymethods]
impl Store {
    /// Opens the store at `path`.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        // Absolute, so that a later change of the working directory does not change its meaning.
        let path = std::path::absolute(&path).unwrap_or(path);
        let opened = Opened::new(&path)?;
        if let Some(store) = &opened.store
            && has_properties(store)?
        {
            property::Topology::remove_leftovers(store);
        }
        Ok(Self::of(path, opened, None))
    }

    /// True for a store with properties, which may change.
    #[getter]
    fn has_properties(&self) -> PyResult<bool> {
        let store = self.opened()?;
        Ok(has_properties(&store)?)
    }

    /// The edge lists that `request`, a JSON object, asks for: a store to run algorithms on. `properties`
    /// are those that the handle has loaded.
    #[pyo3(signature = (properties, request, limits, *, progress = None))]
    fn edge_lists(
        &self,
        py: Python<'_>,
        properties: Option<&Bound<'_, PyProperties>>,
        request: &str,
        limits: Limits,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Store> {
        let store = self.opened()?;
        let request: TopologyRequest = parsed(request)?;
        let properties = properties.map(|properties| properties.get().store()).transpose()?;
        let (memory, threads) = limits;
        let context = context(memory, threads);
        let Chosen { store: newest, topology, info } = long(py, progress, |call| {
            let context = context.with_cancel(call.cancel.clone());
            let hooks = hooks(call);
            let properties = properties.as_deref();
            Ok(self.topologies.choose(&store, properties, &request, &context, &hooks)?)
        })?;
        self.move_to(&newest);
        let opened = Opened::of(topology.store());
        let path = match topology.is_temporary() {
            true => topology.store().path().to_path_buf(),
            false => self.path.clone(),
        };
        let source = self.path.clone();
        Ok(Store::of(path, opened, info.map(|info| EdgeLists { topology, info, source })))
    }

    /// Commit, vertices and edges of a store with properties after its last commit, as JSON; with those of
    /// its files as `last_compaction`.
    #[pyo3(signature = (properties))]
    fn counts(
        &self,
        py: Python<'_>,
        properties: Option<&Bound<'_, PyProperties>>,
    ) -> PyResult<Option<String>> {
        let store = self.opened()?;
        if !has_properties(&store)? {
            return Ok(None);
        }
        let properties = properties.map(|properties| properties.get().store()).transpose()?;
        let counts: Option<Counts> = match properties.as_deref() {
            // Known without reading.
            Some(properties) => {
                let found = self.topologies.counts(&store, Some(properties), &Hooks::default());
                found.map_err(Failure::from)?
            }
            None => {
                long(py, None, |call| Ok(self.topologies.counts(&store, None, &hooks(call))?))?
            }
        };
        let Some(counts) = counts else { return Ok(None) };
        let files = of_files(&store).map_err(Failure::from)?;
        Ok(Some(
            serde_json::json!({
                "commit": counts.commit,
                "vertices": counts.vertices,
                "edges": counts.edges,
                "last_compaction": files,
            })
            .to_string(),
        ))
    }

    /// What the edge lists of [`Store::edge_lists`] are, under `topology`; empty for others.
    fn told<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let told = PyDict::new(py);
        if let Some(lists) = &self.chosen {
            let text = serde_json::to_string(&lists.info).map_err(Failure::from)?;
            told.set_item("topology", py.import("json")?.call_method1("loads", (text,))?)?;
        }
        Ok(told)
    }

    /// The edge property that is the weight, of edge lists that were chosen.
    #[getter]
    fn weight(&self) -> Option<String> {
        self.chosen.as_ref().and_then(|lists| lists.info.weight.clone())
    }

    /// True for edge lists in a temporary store.
    #[getter]
    fn is_temporary(&self) -> bool {
        self.chosen.as_ref().is_some_and(|lists| lists.topology.is_temporary())
    }

    /// Removes edge lists that were made for this handle.
    fn forget(&self, py: Python<'_>) {
        py.detach(|| self.topologies.clear());
    }

    /// Path of the store.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Number of vertices.
    #[getter]
    fn num_vertices(&self) -> PyResult<u64> {
        Ok(self.opened()?.num_vertices())
    }

    /// Number of edges; an undirected edge counts once.
    #[getter]
    fn num_edges(&self) -> PyResult<u64> {
        Ok(self.opened()?.num_edges())
    }

    /// True if edges have a direction.
    #[getter]
    fn directed(&self) -> PyResult<bool> {
        Ok(self.opened()?.directed())
    }

    /// What has come to the store on disk since it was opened: `nothing`, `commits` in its log, or
    /// other files (`replaced`).
    fn log_state(&self) -> PyResult<&'static str> {
        let store = self.opened()?;
        let found = log_state(store.path(), store.manifest(), &CancelToken::new());
        Ok(match found.map_err(Failure::from)? {
            LogState::Empty => "nothing",
            LogState::Commits => "commits",
            LogState::Replaced => "replaced",
        })
    }

    /// Names of the edge columns; of a store with properties, of its edge properties with numbers.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        let store = self.opened()?;
        if has_properties(&store)? {
            return Ok(nakshi::info::weights(&store).map_err(Failure::from)?);
        }
        Ok(nakshi::info::columns(&store))
    }

    /// Summary of the store, as JSON.
    fn info(&self) -> PyResult<String> {
        let store = self.opened()?;
        let info = nakshi::info::info(&store).map_err(Failure::from)?;
        json(&info)
    }

    /// Closes the files.
    fn close(&self, py: Python<'_>) {
        self.forget(py);
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Runs an algorithm; `parameters` is a JSON object, in which vertices are the user's ids.
    #[pyo3(signature = (algorithm, parameters, *, engine = "auto", memory = None, threads = None,
                        timeout = None, selective = false, static_cache = false, trace = false,
                        progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn run(
        &self,
        py: Python<'_>,
        algorithm: String,
        parameters: &str,
        engine: &str,
        memory: Option<u64>,
        threads: Option<usize>,
        timeout: Option<f64>,
        selective: bool,
        static_cache: bool,
        trace: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Outcome> {
        let store = self.opened()?;
        let parameters: Value = parsed(parameters)?;
        let context = context(memory, threads)
            .with_mode(mode(engine)?)
            .with_selective(selective)
            .with_static_cache(static_cache)
            // Experiments see every read, also those that an earlier run has made.
            .with_hold(!trace && !selective)
            .with_trace(trace);
        let context = within(context, timeout)?;
        let answer = long(py, progress, |call| {
            let context = call.attach(context);
            self.plan(static_cache, &context)?;
            let mut answer = analysis::run(&store, &algorithm, &parameters, &context)?;
            self.tell(&mut answer);
            Ok(answer)
        })?;
        Ok(Outcome::new(algorithm, answer))
    }

    /// Predicted messages and memory of partitions over these numbers of servers, as JSON.
    #[pyo3(signature = (servers, value_bytes, limits, *, progress = None))]
    fn cluster_plan(
        &self,
        py: Python<'_>,
        servers: Vec<usize>,
        value_bytes: u64,
        limits: Limits,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        self.report(py, limits, progress, |store, cx, _| {
            Ok(cluster::plan_of(store, &servers, value_bytes, cx)?)
        })
    }

    /// Writes the graph to a new store in another order; `request` and `output` are JSON objects.
    /// Returns the report, as JSON.
    #[pyo3(signature = (path, request, output, limits, *, progress = None))]
    fn relayout(
        &self,
        py: Python<'_>,
        path: PathBuf,
        request: &str,
        output: &str,
        limits: Limits,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let request: layout::Request = parsed(request)?;
        let output: layout::Output = parsed(output)?;
        self.report(py, limits, progress, |store, cx, call| {
            Ok(layout::relayout(store, &path, &request, &output, cx, &hooks(call))?)
        })
    }

    /// Chooses edge lists to keep in memory and writes the plan beside the store; `config` is a
    /// JSON object. Returns the report, as JSON.
    #[pyo3(signature = (config, limits, *, progress = None))]
    fn cache_plan(
        &self,
        py: Python<'_>,
        config: &str,
        limits: Limits,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let request: layout::PlanRequest = parsed(config)?;
        self.report(py, limits, progress, |store, cx, _| {
            Ok(layout::plan_cache(store, &request, cx)?)
        })
    }

    /// Costs of the vertex order, as JSON.
    #[pyo3(signature = (weight, limits, *, progress = None))]
    fn layout_cost(
        &self,
        py: Python<'_>,
        weight: Option<String>,
        limits: Limits,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        self.report(py, limits, progress, |store, cx, call| {
            let (memory, threads, hooks) = (cx.memory(), cx.threads(), hooks(call));
            Ok(layout_cost(&LayoutInput { store, weight, memory, threads, hooks })?)
        })
    }

    /// Counts the list entries in each square of the adjacency matrix, row by row.
    #[pyo3(signature = (bins, *, memory = None, progress = None))]
    fn matrix(
        &self,
        py: Python<'_>,
        bins: usize,
        memory: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<u64>> {
        let store = self.opened()?;
        let squares = long(py, progress, |call| {
            let source = LayoutInput { memory, hooks: hooks(call), ..LayoutInput::new(&store) };
            Ok(matrix(&source, bins)?)
        })?;
        Ok(squares)
    }

    /// Memory that a relayout would need, as JSON.
    #[pyo3(signature = (request, *, threads = None))]
    fn estimate_relayout(&self, request: &str, threads: Option<usize>) -> PyResult<String> {
        let store = self.opened()?;
        let request: layout::Request = parsed(request)?;
        let needed = layout::estimate(&store, &request, &context(None, threads));
        let needed = needed.map_err(Failure::from)?;
        json(&needed)
    }

    /// Memory that loading the properties would need: the least that works, and all of them.
    fn estimate_properties(&self) -> PyResult<(u64, u64)> {
        let store = self.opened()?;
        let needed = nakshi::property::property_memory(&store, &CancelToken::new());
        let needed = needed.map_err(Failure::from)?;
        Ok((needed.minimum, needed.in_memory))
    }

    /// Memory that a run would need, as JSON.
    #[pyo3(signature = (algorithm, parameters, *, threads = None, selective = false, static_cache = false))]
    fn estimate(
        &self,
        algorithm: &str,
        parameters: &str,
        threads: Option<usize>,
        selective: bool,
        static_cache: bool,
    ) -> PyResult<String> {
        let store = self.opened()?;
        let parameters: Value = parsed(parameters)?;
        let cx = context(None, threads).with_selective(selective).with_static_cache(static_cache);
        self.plan(static_cache, &cx)?;
        let estimate =
            analysis::estimate(&store, algorithm, &parameters, &cx).map_err(Failure::from)?;
        json(&estimate)
    }
}

/// The placement of edge lists that an argument names.
pub(crate) fn mode(engine: &str) -> PyResult<EngineMode> {
    Ok(match engine {
        "auto" => EngineMode::Auto,
        "memory" => EngineMode::Memory,
        "ssd" => EngineMode::Ssd,
        other => return Err(PyValueError::new_err(format!("no engine '{other}'"))),
    })
}

fn has_properties(store: &store::Store) -> Result<bool, Failure> {
    Ok(property::PropertyEntry::of(store.manifest())?.is_some())
}

/// Sets a time-out, if there is one.
pub(crate) fn within(context: Context, timeout: Option<f64>) -> PyResult<Context> {
    Ok(match timeout {
        Some(timeout) => context.with_timeout(seconds("timeout", timeout)?),
        None => context,
    })
}

/// A context with these limits.
pub(crate) fn context(memory: Option<u64>, threads: Option<usize>) -> Context {
    let context = Context::new().with_memory(memory);
    match threads {
        Some(threads) => context.with_threads(threads),
        None => context,
    }
}
