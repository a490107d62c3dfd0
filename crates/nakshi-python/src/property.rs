//! Property graphs: loading, and queries of single nodes and edges.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi::procedures::Algorithms;
use nakshi::property::{
    Condition, EdgeData, EdgeId, LoadOptions, LogEntries, LogEntry, Projection, PropertyGraph,
    PropertyStore, QueryOrder, Transaction, project, tao,
};
use nakshi::query::{Database, Options};
use nakshi::store::ExternalId;
use nakshi::store::import;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::builders::hooks;
use crate::call::{interrupted, long, long_json, long_until, seconds};
use crate::changes::changes_of;
use crate::conditions::{Asked, wanted, wanted_of_edges};
use crate::cypher::{self, QueryRows};
use crate::edge_record::Record;
use crate::errors::Failure;
use crate::outcome::Outcome;
use crate::values::{
    Edge, Incoming, borrowed_names, dict, distances, edge, edges, id_of, ids, incoming, of_id,
    told_counts,
};

/// Options of a compaction.
pub fn load_options(
    memory: Option<u64>,
    threads: Option<usize>,
    shards: Option<u32>,
) -> LoadOptions {
    let usual = LoadOptions::default();
    LoadOptions {
        shards,
        memory: memory.unwrap_or(usual.memory),
        threads: threads.unwrap_or(usual.threads),
        ..usual
    }
}

/// Changes in a commit from which on Ctrl-C can stop it; fewer changes take milliseconds.
const MANY: usize = 1000;

/// The properties of a store, in memory or behind a cache, and changes of them. Owns no threads, so
/// a forked process can keep reading files that are in memory.
#[pyclass(frozen, name = "Properties", module = "nakshi._core")]
pub struct PyProperties(PropertySource);

enum PropertySource {
    /// A store and its path. The lock is held for moments only, and with the interpreter lock, so
    /// `fork` never finds it locked.
    Store(PathBuf, Mutex<Option<Opened>>),
    /// The state after one commit.
    Snapshot(PropertyGraph, Database),
    /// A transaction; `None` once it has ended. Nobody waits for the interpreter lock while it holds this
    /// lock.
    Transaction(Mutex<Option<Box<Transaction>>>, Database),
}

/// A store, and the same store as queries in Cypher see it.
#[derive(Clone)]
struct Opened {
    store: Arc<PropertyStore>,
    database: Database,
}

impl PyProperties {
    /// The graph after its last commit, or that of a snapshot.
    pub fn graph(&self) -> PyResult<PropertyGraph> {
        match &self.0 {
            PropertySource::Store(..) => Ok(self.store()?.snapshot()),
            PropertySource::Snapshot(graph, _) => Ok(graph.clone()),
            PropertySource::Transaction(transaction, _) => {
                Ok(held(transaction).as_ref().ok_or_else(ended)?.graph().clone())
            }
        }
    }

    pub(crate) fn store(&self) -> PyResult<Arc<PropertyStore>> {
        Ok(self.opened()?.store)
    }

    /// The graph for queries in Cypher.
    fn database(&self) -> PyResult<Database> {
        match &self.0 {
            PropertySource::Store(..) => Ok(self.opened()?.database),
            PropertySource::Snapshot(_, database) | PropertySource::Transaction(_, database) => {
                Ok(database.clone())
            }
        }
    }

    fn opened(&self) -> PyResult<Opened> {
        match &self.0 {
            PropertySource::Store(path, opened) => {
                let opened = opened.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok(opened.ok_or_else(|| Failure::Closed(path.display().to_string()))?)
            }
            PropertySource::Snapshot(..) => {
                Err(PyTypeError::new_err("a snapshot does not change; change the graph it is of"))
            }
            PropertySource::Transaction(..) => {
                Err(PyTypeError::new_err("a transaction does not do that; the graph does"))
            }
        }
    }

    /// The store as the only writer. It first reads the commits of others, which may take long.
    pub fn writer(&self, py: Python<'_>) -> PyResult<Arc<PropertyStore>> {
        let store = self.store()?;
        if !store.is_writer() {
            long(py, None, |call| Ok(store.start_writing(&call.cancel)?))?;
        }
        Ok(store)
    }
}

/// A commit that may not be durable yet.
#[pyclass(frozen, name = "Ticket", module = "nakshi._core")]
pub struct PyTicket {
    store: Arc<PropertyStore>,
    /// Number of the commit.
    #[pyo3(get)]
    commit: u64,
    /// Number of its changes that changed something.
    #[pyo3(get)]
    changed: u64,
}

#[pymethods]
impl PyTicket {
    /// Returns true if the commit is durable.
    fn durable(&self) -> bool {
        self.store.is_durable(self.commit)
    }

    /// Returns when the commit is durable.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.store.wait(self.commit)).map_err(Failure::from)?)
    }
}

/// The entries of a store's log.
#[pyclass(frozen, name = "LogEntries", module = "nakshi._core")]
pub struct PyLogEntries(Mutex<LogEntries>);

#[pymethods]
impl PyLogEntries {
    /// Starts behind commit number `since`, by default at the beginning of the log.
    #[new]
    #[pyo3(signature = (path, since = None))]
    fn new(py: Python<'_>, path: PathBuf, since: Option<u64>) -> PyResult<Self> {
        let entries = long(py, None, |call| Ok(LogEntries::open(&path, since, &call.cancel)?))?;
        Ok(PyLogEntries(Mutex::new(entries)))
    }

    /// The next entries, as JSON; none at the end of the log.
    fn next(&self, py: Python<'_>, most: usize) -> PyResult<Vec<String>> {
        long(py, None, |call| {
            let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let found = entries.next(most, &call.cancel)?;
            Ok(found.iter().map(LogEntry::to_json).collect::<Result<_, _>>()?)
        })
    }
}

fn held(transaction: &Mutex<Option<Box<Transaction>>>) -> MutexGuard<'_, Option<Box<Transaction>>> {
    transaction.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn ended() -> PyErr {
    PyRuntimeError::new_err("the transaction has ended; begin another one")
}

#[pymethods]
impl PyProperties {
    /// Opens the property files of a store.
    #[new]
    #[pyo3(signature = (path, *, memory = None, progress = None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        memory: Option<u64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let store = long(py, progress, |call| {
            let store = PropertyStore::open(&path, &call.opening(memory))?;
            store.snapshot().entry().refuse_share(&path)?;
            Ok(store)
        })?;
        let store = store.shared();
        let database = Database::new(Arc::clone(&store));
        let database = database.with_procedures(Arc::new(Algorithms::default()));
        Ok(PyProperties(PropertySource::Store(path, Mutex::new(Some(Opened { store, database })))))
    }

    /// The graph in its present state; later commits do not change it.
    fn snapshot(&self) -> PyResult<Self> {
        let graph = self.graph()?;
        let database = self.database()?.at(graph.clone());
        Ok(PyProperties(PropertySource::Snapshot(graph, database)))
    }

    /// Releases the store; every later call raises. Running calls finish first.
    fn close(&self, py: Python<'_>) {
        if let PropertySource::Store(_, opened) = &self.0 {
            let opened = opened.lock().unwrap_or_else(PoisonError::into_inner).take();
            let store = opened.map(|opened| opened.store);
            // Commits for which nobody waits get to the disk; who waits for one gets its error.
            // The next handle finds the lock of the writer free, whatever a thread in the background does.
            py.detach(|| {
                store.map(|store| store.flush().and(store.release(&nakshi::io::CancelToken::new())))
            });
        }
    }

    /// Releases the writer's lock, after pending commits and a running compaction.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.store()?;
        long(py, None, |call| Ok(store.retire(&call.cancel)?))
    }

    /// Names of the edge properties with numbers.
    fn weights(&self) -> PyResult<Vec<String>> {
        Ok(self.graph()?.weights().into_iter().map(str::to_owned).collect())
    }

    /// Numbers of nodes, of edges and of the last commit, and bytes in the log, 0 for a snapshot.
    fn counts(&self) -> PyResult<(u64, u64, u64, u64)> {
        let graph = self.graph()?;
        let log = match &self.0 {
            PropertySource::Store(..) => self.store()?.log_bytes(),
            PropertySource::Snapshot(..) | PropertySource::Transaction(..) => 0,
        };
        Ok((graph.num_nodes(), graph.num_edges(), graph.commit(), log))
    }

    /// Labels, types of edges and properties with their counts, as JSON.
    #[pyo3(signature = (exact, *, progress = None))]
    fn catalog(
        &self,
        py: Python<'_>,
        exact: u64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let graph = self.graph()?;
        long_json(py, progress, |call| Ok(graph.catalog(exact, &call.cancel)?))
    }

    /// Begins a transaction; other commits wait for one that runs alone.
    fn transaction(&self, py: Python<'_>, alone: bool) -> PyResult<Self> {
        let store = self.store()?;
        let begun = py.detach(|| match alone {
            true => store.transaction_alone(),
            false => store.transaction(),
        });
        let begun = Mutex::new(Some(Box::new(begun.map_err(Failure::from)?)));
        Ok(PyProperties(PropertySource::Transaction(begun, self.database()?)))
    }

    /// Ends a transaction with a commit or without; returns the number of the commit.
    fn end(&self, py: Python<'_>, commits: bool) -> PyResult<u64> {
        let PropertySource::Transaction(transaction, _) = &self.0 else {
            return Err(PyTypeError::new_err("this is no transaction"));
        };
        let transaction = held(transaction).take().ok_or_else(ended)?;
        let ended = match commits {
            // Opens the log, or takes long enough for Ctrl-C.
            true if !transaction.store().is_writer() || transaction.len() > MANY => {
                return long(py, None, |call| Ok(transaction.commit_until(&call.cancel)?));
            }
            true => py.detach(|| transaction.commit()),
            false => py.detach(|| transaction.roll_back().map(|()| 0)),
        };
        Ok(ended.map_err(Failure::from)?)
    }

    /// Makes changes as one durable commit, or in a transaction: how many of them changed something.
    fn commit(&self, py: Python<'_>, changes: Vec<Bound<'_, PyTuple>>) -> PyResult<u64> {
        if let PropertySource::Transaction(transaction, _) = &self.0 {
            let changes = changes_of(&changes)?;
            let changed = py.detach(|| {
                let mut held = held(transaction);
                let transaction = held.as_mut()?;
                let changed = |sum, change| Ok(sum + u64::from(transaction.apply(change)?));
                Some(changes.into_iter().try_fold(0, changed))
            });
            let changed: Result<u64, nakshi::store::Error> = changed.ok_or_else(ended)?;
            return Ok(changed.map_err(Failure::from)?);
        }
        let store = self.store()?;
        let changes = changes_of(&changes)?;
        if !store.is_writer() || changes.len() > MANY {
            return long(py, None, |call| Ok(store.commit_until(&changes, &call.cancel)?));
        }
        Ok(py.detach(|| store.commit(&changes)).map_err(Failure::from)?)
    }

    /// Makes changes as one commit, or commits a transaction, and returns before it is durable.
    fn commit_async(&self, py: Python<'_>, changes: Vec<Bound<'_, PyTuple>>) -> PyResult<PyTicket> {
        if let PropertySource::Transaction(transaction, _) = &self.0 {
            let transaction = held(transaction).take().ok_or_else(ended)?;
            let (store, changed) = (Arc::clone(transaction.store()), transaction.len() as u64);
            let commit = py.detach(|| transaction.commit_async()).map_err(Failure::from)?;
            return Ok(PyTicket { store, commit, changed });
        }
        let store = self.writer(py)?;
        let changes = changes_of(&changes)?;
        let submitted = py.detach(|| store.commit_async(&changes));
        let (commit, changed) = submitted.map_err(Failure::from)?;
        Ok(PyTicket { store, commit, changed })
    }

    /// Makes a column of a result a property of the nodes; returns the number of nodes with a
    /// value.
    fn write_back(
        &self,
        py: Python<'_>,
        outcome: &Bound<'_, Outcome>,
        column: &str,
        property: &str,
    ) -> PyResult<u64> {
        let store = self.store()?;
        let (table, column) = outcome.get().column(column)?;
        long(py, None, |call| {
            Ok(nakshi::write_back(&store, &table, column, property, &call.cancel)?)
        })
    }

    /// Reads the commits of other processes; returns true if there were any.
    fn refresh(&self, py: Python<'_>) -> PyResult<bool> {
        let store = self.store()?;
        long(py, None, |call| Ok(store.refresh_until(&call.cancel)?))
    }

    /// Runs a query in Cypher, in a transaction of its own, or in this one.
    #[pyo3(signature = (text, parameters, *, timeout = None, memory = None, csv_folder = None))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: &Bound<'_, PyDict>,
        timeout: Option<f64>,
        memory: Option<u64>,
        csv_folder: Option<PathBuf>,
    ) -> PyResult<QueryRows> {
        let mut database = self.database()?;
        if let Some(folder) = csv_folder {
            database = database.with_csv_folder(&folder);
        }
        let parameters = cypher::parameters(parameters)?;
        let long = py.detach(|| database.is_long(text)).map_err(Failure::from)?;
        let cancel = nakshi::io::CancelToken::new();
        let stop = (!long).then_some(interrupted as fn() -> bool);
        let options = Options { cancel: cancel.clone(), stop, memory, ..Options::default() };
        let options = match timeout {
            Some(allowed) => options.with_timeout(seconds("timeout", allowed)?),
            None => options,
        };
        let run = || match &self.0 {
            PropertySource::Transaction(transaction, _) => {
                let mut held = held(transaction);
                let mut begun = held.take().map(|begun| *begun);
                let ran = database.run_in(&mut begun, text, parameters, &options);
                *held = begun.map(Box::new);
                ran
            }
            _ => database.run(text, parameters, &options),
        };
        let cursor = match long {
            true => long_until(py, None, cancel.clone(), |_| Ok(run()?))?,
            false => py.detach(run).map_err(Failure::from)?,
        };
        Ok(QueryRows::new(Box::new(cursor), long.then_some(cancel)))
    }

    /// Freezes the log into a fragment, and merges full tiers of fragments; describes the fragments as JSON.
    fn freeze(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.store()?;
        long_json(py, None, |call| {
            store.freeze(&call.cancel)?;
            store.merge_full_tiers()?;
            Ok(store.layers())
        })
    }

    /// Turns the log into files; returns the report as JSON.
    #[pyo3(signature = (*, shards = None, memory = None, threads = None, progress = None))]
    fn compact(
        &self,
        py: Python<'_>,
        shards: Option<u32>,
        memory: Option<u64>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let store = self.store()?;
        let options = load_options(memory, threads, shards);
        long_json(py, progress, |call| Ok(store.compact(&options, &hooks(call))?))
    }

    /// Writes some of the edges to a new store; returns the report as JSON.
    #[pyo3(signature = (path, *, edge_types = None, direction = "out", weight = None, missing = None, nodes = None, memory = None, threads = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn project(
        &self,
        py: Python<'_>,
        path: PathBuf,
        edge_types: Option<Vec<String>>,
        direction: &str,
        weight: Option<String>,
        missing: Option<f64>,
        nodes: Option<Vec<Bound<'_, PyAny>>>,
        memory: Option<u64>,
        threads: Option<usize>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let graph = self.graph()?;
        let direction = serde_json::from_value(direction.into()).map_err(Failure::from)?;
        let nodes = nodes.map(|nodes| nodes.iter().map(id_of).collect::<PyResult<_>>());
        let nodes = nodes.transpose()?;
        let projection = Projection { edge_types, direction, weight, missing, nodes };
        let usual = import::ImportOptions::default();
        let options = import::ImportOptions {
            memory: memory.unwrap_or(usual.memory),
            threads: threads.unwrap_or(usual.threads),
            ..usual
        };
        long_json(py, progress, |call| {
            Ok(project(&graph, &path, &projection, &options, &hooks(call))?)
        })
    }

    /// Properties of a node, by name; all that it has if `names` is `None`.
    #[pyo3(signature = (id, names = None))]
    fn get_node_property<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let found = py.detach(|| {
            let names = borrowed_names(names.as_ref());
            graph.get_node_property(&id, names.as_deref())
        });
        dict(py, &found.map_err(Failure::from)?)
    }

    /// Properties of many nodes, by name; all that they have if `names` is `None`.
    #[pyo3(signature = (ids, names = None))]
    fn get_node_properties<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<Bound<'py, PyAny>>,
        names: Option<Vec<String>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let graph = &self.graph()?;
        let ids = ids.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        let found = py.detach(|| {
            let names = borrowed_names(names.as_ref());
            graph.get_node_properties(&ids, names.as_deref())
        });
        found.map_err(Failure::from)?.iter().map(|values| dict(py, values)).collect()
    }

    /// A range of bytes of a node's property.
    fn read_node_property<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        name: &str,
        offset: u64,
        length: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (graph, id) = (self.graph()?, id_of(id)?);
        let part = offset..offset.saturating_add(length);
        let found = py.detach(|| graph.read_node_property(&id, name, part));
        Ok(found.map_err(Failure::from)?.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Nodes that meet all conditions, sorted by a property if `order_by` names one.
    #[pyo3(signature = (properties, *, text = false, order_by = None, descending = false, limit = None))]
    fn get_node_ids<'py>(
        &self,
        py: Python<'py>,
        properties: Vec<Asked<'py>>,
        text: bool,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let graph = &self.graph()?;
        let wanted = wanted(graph, properties, text)?;
        let order = QueryOrder { by: order_by, descending, limit };
        let found = py.detach(|| graph.find_nodes(&Condition::borrowed(&wanted), &order));
        ids(py, &found.map_err(Failure::from)?)
    }

    /// Number of nodes that meet all conditions.
    #[pyo3(signature = (properties, *, text = false))]
    fn count_nodes(&self, py: Python<'_>, properties: Vec<Asked<'_>>, text: bool) -> PyResult<u64> {
        let graph = &self.graph()?;
        let wanted = wanted(graph, properties, text)?;
        let count = py.detach(|| graph.count_nodes(&Condition::borrowed(&wanted)));
        Ok(count.map_err(Failure::from)?)
    }

    /// Counts of the nodes that meet all conditions, by the value of a property.
    #[pyo3(signature = (properties, by, *, text = false))]
    fn count_nodes_by<'py>(
        &self,
        py: Python<'py>,
        properties: Vec<Asked<'py>>,
        by: &str,
        text: bool,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let graph = &self.graph()?;
        let wanted = wanted(graph, properties, text)?;
        let counts = py.detach(|| graph.count_nodes_by(&Condition::borrowed(&wanted), by));
        told_counts(py, &counts.map_err(Failure::from)?)
    }

    /// Destinations of a node's edges that meet all conditions, sorted by a property if `order_by`
    /// names one.
    #[pyo3(signature = (id, edge_type, properties, *, text = false, order_by = None, descending = false, limit = None))]
    #[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
    fn get_neighbor_ids<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        text: bool,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let wanted = wanted(graph, properties, text)?;
        let order = QueryOrder { by: order_by, descending, limit };
        let found = py
            .detach(|| graph.find_neighbors(&id, edge_type, &Condition::borrowed(&wanted), &order));
        ids(py, &found.map_err(Failure::from)?)
    }

    /// The distance of each node that 1 to `hops` edges lead to from some nodes and that meets all
    /// conditions, the nearest first.
    #[pyo3(signature = (ids, edge_type, properties, *, hops, limit = None))]
    fn expand<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<Bound<'py, PyAny>>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        hops: u32,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let graph = &self.graph()?;
        let ids = ids.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        let wanted = wanted(graph, properties, false)?;
        let wanted = Condition::borrowed(&wanted);
        let found = long(py, None, |call| {
            Ok(graph.expand(&ids, edge_type, hops, &wanted, limit, &call.cancel)?)
        })?;
        distances(py, &found)
    }

    /// The edge record of a node and a type.
    fn get_edge_record(&self, id: &Bound<'_, PyAny>, edge_type: &str) -> PyResult<Record> {
        let graph = &self.graph()?;
        let found = graph.get_edge_record(&id_of(id)?, edge_type).map_err(Failure::from)?;
        Ok(Record::local(found))
    }

    /// All edge records of a node.
    fn get_edge_records(&self, id: &Bound<'_, PyAny>) -> PyResult<Vec<Record>> {
        let graph = &self.graph()?;
        let found = graph.get_edge_records(&id_of(id)?).map_err(Failure::from)?;
        Ok(found.into_iter().map(Record::local).collect())
    }

    /// The edges that lead to a node: source, type, time, properties.
    #[pyo3(signature = (id, edge_type))]
    fn get_incoming_edges<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
    ) -> PyResult<Vec<Incoming<'py>>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let found =
            py.detach(|| graph.get_incoming_edges(&id, edge_type)).map_err(Failure::from)?;
        incoming(py, found)
    }

    /// Positions of a record's edges whose time is at least `t_lo` and less than `t_hi`.
    #[pyo3(signature = (record, t_lo = None, t_hi = None))]
    fn get_edge_range(
        &self,
        record: &Bound<'_, Record>,
        t_lo: Option<i64>,
        t_hi: Option<i64>,
    ) -> PyResult<(u64, u64)> {
        let graph = &self.graph()?;
        let found = graph.get_edge_range(record.get().of_store()?, t_lo, t_hi);
        let found = found.map_err(Failure::from)?;
        Ok((found.start, found.end))
    }

    /// The edge at a position of a record.
    fn get_edge_data<'py>(
        &self,
        py: Python<'py>,
        record: &Bound<'py, Record>,
        place: u64,
    ) -> PyResult<Edge<'py>> {
        let graph = &self.graph()?;
        let found = graph.get_edge_data(record.get().of_store()?, place).map_err(Failure::from)?;
        edge(py, &found)
    }

    /// A number for a new edge, which no edge has had.
    fn new_edge_number(&self) -> PyResult<u64> {
        Ok(match &self.0 {
            PropertySource::Transaction(transaction, _) => {
                held(transaction).as_ref().ok_or_else(ended)?.store().new_edge_number()
            }
            _ => self.store()?.new_edge_number(),
        })
    }

    /// An edge by source, type, destination and number, or `None`.
    fn get_edge<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        edge_type: String,
        destination: &Bound<'py, PyAny>,
        number: u64,
    ) -> PyResult<Option<Edge<'py>>> {
        let graph = &self.graph()?;
        let (source, destination) = (id_of(source)?, id_of(destination)?);
        let id = EdgeId { source, edge_type, destination, number };
        let found = py.detach(|| graph.get_edge(&id)).map_err(Failure::from)?;
        found.map(|data| edge(py, &data)).transpose()
    }

    /// Makes the commits of log entries, one JSON object each; returns the report as JSON.
    fn apply(&self, py: Python<'_>, entries: Vec<String>) -> PyResult<String> {
        let store = self.store()?;
        long_json(py, None, |call| {
            let entries = entries.iter().map(|entry| LogEntry::from_json(entry));
            Ok(store.apply(entries, &call.cancel)?)
        })
    }

    /// Edges of a type, or of any, that meet all conditions: source, type, destination, time,
    /// properties; sorted by a property if `order_by` names one.
    #[pyo3(signature = (edge_type, properties, *, text = false, order_by = None, descending = false, limit = None))]
    #[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
    fn find_edges<'py>(
        &self,
        py: Python<'py>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        text: bool,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, String, Edge<'py>)>> {
        let graph = &self.graph()?;
        let wanted = wanted_of_edges(graph, properties, text)?;
        let order = QueryOrder { by: order_by, descending, limit };
        let found =
            py.detach(|| graph.find_edges_of(edge_type, &Condition::borrowed(&wanted), &order));
        let found = found.map_err(Failure::from)?;
        let edge = |(source, ty, data): (ExternalId, &str, EdgeData<'_>)| {
            Ok((of_id(py, &source)?, ty.to_owned(), edge(py, &data)?))
        };
        found.into_iter().map(edge).collect()
    }

    /// Number of edges of a type, or of any, that meet all conditions.
    #[pyo3(signature = (edge_type, properties, *, text = false))]
    fn count_edges(
        &self,
        py: Python<'_>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'_>>,
        text: bool,
    ) -> PyResult<u64> {
        let graph = &self.graph()?;
        let wanted = wanted_of_edges(graph, properties, text)?;
        let count = py.detach(|| graph.count_edges(edge_type, &Condition::borrowed(&wanted)));
        Ok(count.map_err(Failure::from)?)
    }

    /// Counts of the edges of a type, or of any, that meet all conditions, by the value of a property.
    #[pyo3(signature = (edge_type, properties, by, *, text = false))]
    fn count_edges_by<'py>(
        &self,
        py: Python<'py>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        by: &str,
        text: bool,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let graph = &self.graph()?;
        let wanted = wanted_of_edges(graph, properties, text)?;
        let counts =
            py.detach(|| graph.count_edges_by(edge_type, &Condition::borrowed(&wanted), by));
        told_counts(py, &counts.map_err(Failure::from)?)
    }

    /// TAO: all properties of an object, or `None`.
    fn obj_get<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let graph = &self.graph()?;
        let found = tao::obj_get(graph, &id_of(id)?).map_err(Failure::from)?;
        found.map(|values| dict(py, &values)).transpose()
    }

    /// TAO: number of associations of a type.
    fn assoc_count(&self, id: &Bound<'_, PyAny>, atype: &str) -> PyResult<u64> {
        let graph = &self.graph()?;
        Ok(tao::assoc_count(graph, &id_of(id)?, atype).map_err(Failure::from)?)
    }

    /// TAO: associations from a position on, newest first.
    fn assoc_range<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        atype: &str,
        pos: u64,
        limit: u64,
    ) -> PyResult<Vec<Edge<'py>>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let found = py.detach(|| tao::assoc_range(graph, &id, atype, pos, limit));
        edges(py, &found.map_err(Failure::from)?)
    }

    /// TAO: associations with some objects between two times.
    #[pyo3(signature = (id, atype, id2s, low = None, high = None))]
    fn assoc_get<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        atype: &str,
        id2s: Vec<Bound<'py, PyAny>>,
        low: Option<i64>,
        high: Option<i64>,
    ) -> PyResult<Vec<Edge<'py>>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let id2s = id2s.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        let found = py.detach(|| tao::assoc_get(graph, &id, atype, &id2s, low, high));
        edges(py, &found.map_err(Failure::from)?)
    }

    /// TAO: associations between two times, newest first.
    #[pyo3(signature = (id, atype, high, low, limit))]
    fn assoc_time_range<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        atype: &str,
        high: Option<i64>,
        low: Option<i64>,
        limit: u64,
    ) -> PyResult<Vec<Edge<'py>>> {
        let (graph, id) = (&self.graph()?, id_of(id)?);
        let found = py.detach(|| tao::assoc_time_range(graph, &id, atype, high, low, limit));
        edges(py, &found.map_err(Failure::from)?)
    }
}
