//! A graph on a server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nakshi::property::{BucketSet, Condition, EdgeId, QueryOrder};
use nakshi::query::{Class, QueryError};
use nakshi::server::v1::{Progress, RunRequest, ShareStatus};
use nakshi::server::{self, Client, ConnectOptions, ErrorKind, FoundEdge, Queries, RemoteCommit};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::builders::hooks;
use crate::call::{interrupted, long, long_json, seconds};
use crate::changes::changes_of;
use crate::conditions::{Asked, conditions};
use crate::cypher::{self, QueryRows};
use crate::edge_record::Record;
use crate::errors::Failure;
use crate::on_server::{Pipeline, RecordOnServer, Source, asked, edge, edges, no_edge};
use crate::outcome::Outcome;
use crate::property::ended;
use crate::values::{
    Edge, Incoming, borrowed_names, dict, distances, id_of, ids, incoming, of_id, told_counts,
};

/// Values that are written back in a commit.
const VALUES: usize = 20_000;

/// A graph with properties on a server, or a transaction on it. It has the methods of `Properties`.
#[pyclass(frozen, module = "nakshi._core")]
pub struct Remote {
    address: String,
    /// `None` once it is closed. Locked for moments only, with the interpreter lock.
    source: Mutex<Option<Arc<Source>>>,
}

/// A commit of a server that may not be durable yet.
#[pyclass(frozen, module = "nakshi._core")]
pub struct RemoteTicket(RemoteCommit);

#[pymethods]
impl RemoteTicket {
    /// Number of the commit.
    #[getter]
    fn commit(&self) -> u64 {
        self.0.number()
    }

    /// Number of its changes that changed something, if that is known.
    #[getter]
    fn changed(&self) -> Option<u64> {
        self.0.changed()
    }

    /// Returns true if the commit is durable.
    fn durable(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.is_durable())
    }

    /// Returns when the commit is durable.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.0.wait()).map_err(Failure::from)?)
    }
}

impl Remote {
    fn of(address: &str, source: Source) -> Self {
        Remote { address: address.to_owned(), source: Mutex::new(Some(Arc::new(source))) }
    }

    /// The server, or the transaction, also one that has ended.
    fn opened(&self) -> PyResult<Arc<Source>> {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(source.ok_or_else(|| Failure::Closed(self.address.clone()))?)
    }

    fn source(&self) -> PyResult<Arc<Source>> {
        let source = self.opened()?;
        match &*source {
            Source::Transaction(transaction) if transaction.has_ended() => Err(ended()),
            _ => Ok(source),
        }
    }

    fn of_pipeline<T>(&self, f: impl FnOnce(&Pipeline) -> T) -> PyResult<T> {
        match &*self.opened()? {
            Source::Pipeline(pipeline) => Ok(f(pipeline)),
            _ => Err(PyTypeError::new_err("this is no pipeline")),
        }
    }

    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&Source) -> server::Result<T> + Send,
    ) -> PyResult<T> {
        asked(py, &self.source()?, ask)
    }
}

#[pymethods]
impl Remote {
    /// Runs a query in Cypher, in a transaction of its own or as part of this one.
    #[pyo3(signature = (text, parameters, *, timeout = None, memory = None))]
    fn query(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: &Bound<'_, PyDict>,
        timeout: Option<f64>,
        memory: Option<u64>,
    ) -> PyResult<QueryRows> {
        let source = self.source()?;
        let parameters = cypher::parameters(parameters)?;
        let timeout = timeout.map(|timeout| seconds("timeout", timeout)).transpose()?;
        let answer = py.detach(|| match &*source {
            Source::Client(client) => client.query_cypher(text, &parameters, timeout, memory),
            Source::Transaction(begun) => begun.query_cypher(text, &parameters, timeout, memory),
            Source::Pipeline(_) => {
                let what = "a pipeline takes no queries in Cypher; ask the graph, or a transaction";
                Err(QueryError::run(Class::Store, "unsupported", what))
            }
        });
        Ok(QueryRows::new(Box::new(answer.map_err(Failure::from)?), None))
    }

    /// Connects to a server.
    #[new]
    #[pyo3(signature = (address, *, token = None, ca = None, timeout = None, linearizable = false))]
    fn new(
        py: Python<'_>,
        address: &str,
        token: Option<String>,
        ca: Option<PathBuf>,
        timeout: Option<f64>,
        linearizable: bool,
    ) -> PyResult<Self> {
        let usual = ConnectOptions::default();
        let timeout = timeout.map_or(usual.timeout, Duration::from_secs_f64);
        let options = ConnectOptions { token, ca, timeout, linearizable, stop: Some(interrupted) };
        let client = py.detach(|| Client::connect(address, options)).map_err(Failure::from)?;
        Ok(Remote::of(address, Source::Client(Arc::new(client))))
    }

    /// Ends the connection when the commits in flight are durable; every later call raises.
    fn close(&self, py: Python<'_>) {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| {
            if let Some(Source::Client(client)) = source.as_deref() {
                client.finish();
            }
            drop(source);
        });
    }

    /// The server and its graph, as a dictionary.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = self.ask(py, |source| source.client().status())?;
        let told = PyDict::new(py);
        told.set_item("version", found.version)?;
        told.set_item("role", found.role)?;
        told.set_item("pid", found.pid)?;
        told.set_item("commit", found.commit)?;
        told.set_item("nodes", found.nodes)?;
        told.set_item("edges", found.edges)?;
        told.set_item("log_bytes", found.log_bytes)?;
        told.set_item("read_only", found.read_only)?;
        told.set_item("uptime_seconds", found.uptime_seconds)?;
        told.set_item("running_calls", found.running_calls)?;
        told.set_item("servers", &found.servers)?;
        told.set_item("own", &found.own)?;
        told.set_item("leader", &found.leader)?;
        told.set_item("bolt", &found.bolt)?;
        told.set_item("most_calls", found.most_calls)?;
        told.set_item("connections", found.connections)?;
        told.set_item("held_buckets", BucketSet::from_bytes(&found.buckets).map(|own| own.len()))?;
        Ok(told)
    }

    /// The shares of the graph, each a pair: the addresses of its servers, and its buckets.
    fn shares(&self, py: Python<'_>) -> PyResult<Vec<(Vec<String>, Vec<u32>)>> {
        let found = self.ask(py, |source| source.client().status())?;
        let share = |share: ShareStatus| {
            let buckets = BucketSet::from_bytes(&share.buckets).unwrap_or_default();
            (share.servers, buckets.iter().collect())
        };
        Ok(found.shares.into_iter().map(share).collect())
    }

    /// Moves buckets to the servers of a share, and returns the number of the commit after which they are there.
    #[pyo3(signature = (buckets, to, *, progress = None))]
    fn move_buckets(
        &self,
        py: Python<'_>,
        buckets: Vec<u32>,
        to: u32,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let source = self.source()?;
        let buckets = BucketSet::new(buckets);
        long(py, progress, |call| {
            let tell = |server: &str, now: Progress| {
                let phase = format!("{server}: {}", now.phase);
                call.meter.note(&phase, now.done, now.total.unwrap_or(0), "");
            };
            Ok(source.client().move_buckets(&buckets, to, &call.cancel, &tell)?)
        })
    }

    /// Labels, types of edges and properties with their counts, as JSON.
    #[pyo3(signature = (exact, *, progress = None))]
    fn catalog(
        &self,
        py: Python<'_>,
        exact: u64,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        // A server reports no progress.
        let _ = progress;
        self.ask(py, |source| source.catalog(exact))
    }

    /// Queries that are sent together.
    fn pipeline(&self) -> PyResult<Self> {
        let pipeline = Pipeline::new(self.source()?.client());
        Ok(Remote::of(&self.address, Source::Pipeline(Box::new(pipeline))))
    }

    /// Number of queries of a pipeline so far.
    fn asked(&self) -> PyResult<usize> {
        self.of_pipeline(Pipeline::len)
    }

    /// Sends the queries of a pipeline that were not sent yet, and waits for their answers.
    fn send(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |source| match source {
            Source::Pipeline(pipeline) => pipeline.send(),
            _ => Err(server::Error::new(ErrorKind::Parameter, "this is no pipeline")),
        })
    }

    /// Has the next queries of a pipeline get the answers of earlier ones, by their numbers from 0.
    fn choose(&self, numbers: Vec<usize>) -> PyResult<()> {
        self.of_pipeline(|pipeline| pipeline.choose(numbers))
    }

    /// Begins a transaction; other commits wait for one that runs alone.
    fn transaction(&self, py: Python<'_>, alone: bool) -> PyResult<Self> {
        let begun = self.ask(py, |source| source.client().transaction(alone))?;
        Ok(Remote::of(&self.address, Source::Transaction(Box::new(begun))))
    }

    /// Ends a transaction with a commit or without; returns the number of the commit.
    fn end(&self, py: Python<'_>, commits: bool) -> PyResult<u64> {
        // One that has lost its server has ended; without a commit, that is all.
        let source = if commits { self.source()? } else { self.opened()? };
        asked(py, &source, |source| match source {
            Source::Transaction(transaction) if commits => transaction.commit(),
            Source::Transaction(transaction) => {
                transaction.roll_back();
                Ok(0)
            }
            Source::Client(_) | Source::Pipeline(_) => {
                Err(server::Error::new(ErrorKind::Parameter, "this is no transaction"))
            }
        })
    }

    /// Makes changes as one durable commit, or in a transaction: how many of them changed something; `None` of
    /// several if the server was started anew meanwhile.
    fn commit(&self, py: Python<'_>, changes: Vec<Bound<'_, PyTuple>>) -> PyResult<Option<u64>> {
        let changes = changes_of(&changes)?;
        self.ask(py, |source| source.make(&changes))
    }

    /// Makes changes as one commit, or commits a transaction, and returns before it is durable.
    fn commit_async(
        &self,
        py: Python<'_>,
        changes: Vec<Bound<'_, PyTuple>>,
    ) -> PyResult<RemoteTicket> {
        let changes = changes_of(&changes)?;
        Ok(RemoteTicket(self.ask(py, |source| source.make_soon(&changes))?))
    }

    /// Runs an algorithm with JSON parameters in `workers` processes of the server's machine, each with at most
    /// `memory` bytes. `progress` is called with phase, done, total and unit.
    #[pyo3(signature = (algorithm, parameters, *, workers = 0, memory = 0, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        algorithm: String,
        parameters: String,
        workers: u32,
        memory: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Outcome> {
        let name = algorithm.clone();
        let request = RunRequest { algorithm, parameters, workers, memory, at_least: 0 };
        let mut raised = None;
        let ran = self.ask(py, |source| {
            source.client().run(&request, &mut |told| {
                let Some(sink) = &progress else { return Ok(()) };
                let position = (&told.phase, told.done, told.total, &told.unit);
                Python::attach(|py| sink.call1(py, position).map(drop)).map_err(|error| {
                    raised = Some(error);
                    server::Error::new(ErrorKind::Cancelled, "cancelled")
                })
            })
        });
        raised.map_or(Ok(()), Err)?;
        Ok(Outcome::of_server(name, &ran?)?)
    }

    /// Makes the values of a column a property of the nodes, by some commits one after the other.
    fn write_back(
        &self,
        py: Python<'_>,
        outcome: &Bound<'_, Outcome>,
        column: &str,
        property: &str,
    ) -> PyResult<u64> {
        let (source, (table, column)) = (self.source()?, outcome.get().column(column)?);
        let write = || {
            let (mut written, mut some) = (0, Vec::new());
            let mut changes = nakshi::changes(&table, column, property)?;
            loop {
                some.clear();
                for change in changes.by_ref().take(VALUES) {
                    some.push(change?);
                }
                if some.is_empty() {
                    return Ok::<_, Failure>(written);
                }
                source.make(&some)?;
                written += some.len() as u64;
            }
        };
        Ok(py.detach(write)?)
    }

    /// Copies the store of the server to a new one of this machine, and returns the report as JSON.
    #[pyo3(signature = (destination, *, progress = None))]
    fn backup(
        &self,
        py: Python<'_>,
        destination: PathBuf,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let source = self.source()?;
        if destination.symlink_metadata().is_ok() {
            return Err(Failure::from(nakshi::store::Error::Exists(destination)).into());
        }
        long_json(py, progress, |call| Ok(source.client().backup(&destination, &hooks(call))?))
    }

    /// A number for a new edge, which no edge has had.
    fn new_edge_number(&self, py: Python<'_>) -> PyResult<u64> {
        self.ask(py, |source| source.client().new_edge_number())
    }

    /// Properties of a node, by name; all that it has if `names` is `None`.
    #[pyo3(signature = (id, names = None))]
    fn get_node_property<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let id = id_of(id)?;
        let found = self.ask(py, |source| {
            let names = borrowed_names(names.as_ref());
            source.get_node_property(&id, names.as_deref())
        })?;
        dict(py, &found)
    }

    /// Properties of many nodes, by name; all that they have if `names` is `None`.
    #[pyo3(signature = (ids, names = None))]
    fn get_node_properties<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<Bound<'py, PyAny>>,
        names: Option<Vec<String>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let ids = ids.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        let found = self.ask(py, |source| {
            let names = borrowed_names(names.as_ref());
            source.get_node_properties(&ids, names.as_deref())
        })?;
        found.iter().map(|values| dict(py, values)).collect()
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
        let id = id_of(id)?;
        let part = offset..offset.saturating_add(length);
        let found = self.ask(py, |source| source.read_node_property(&id, name, part))?;
        Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Nodes that meet all conditions, sorted by a property if `order_by` names one.
    #[pyo3(signature = (properties, *, order_by = None, descending = false, limit = None))]
    fn get_node_ids<'py>(
        &self,
        py: Python<'py>,
        properties: Vec<Asked<'py>>,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let wanted = conditions(properties)?;
        let order = QueryOrder { by: order_by, descending, limit };
        ids(py, &self.ask(py, |source| source.find_nodes(&Condition::borrowed(&wanted), &order))?)
    }

    /// Number of nodes that meet all conditions.
    fn count_nodes(&self, py: Python<'_>, properties: Vec<Asked<'_>>) -> PyResult<u64> {
        let wanted = conditions(properties)?;
        self.ask(py, |source| source.count_nodes(&Condition::borrowed(&wanted)))
    }

    /// Counts of the nodes that meet all conditions, by the value of a property.
    fn count_nodes_by<'py>(
        &self,
        py: Python<'py>,
        properties: Vec<Asked<'py>>,
        by: &str,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let wanted = conditions(properties)?;
        told_counts(
            py,
            &self.ask(py, |source| source.count_nodes_by(&Condition::borrowed(&wanted), by))?,
        )
    }

    /// Destinations of a node's edges that meet all conditions, sorted by a property if `order_by`
    /// names one.
    #[pyo3(signature = (id, edge_type, properties, *, order_by = None, descending = false, limit = None))]
    #[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
    fn get_neighbor_ids<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (id, wanted) = (id_of(id)?, conditions(properties)?);
        let order = QueryOrder { by: order_by, descending, limit };
        let ask = |source: &Source| {
            source.find_neighbors(&id, edge_type, &Condition::borrowed(&wanted), &order)
        };
        ids(py, &self.ask(py, ask)?)
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
        let ids = ids.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        let wanted = conditions(properties)?;
        let ask = |source: &Source| {
            source.expand(&ids, edge_type, hops, &Condition::borrowed(&wanted), limit)
        };
        distances(py, &self.ask(py, ask)?)
    }

    /// The edge record of a node and a type.
    fn get_edge_record(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        edge_type: &str,
    ) -> PyResult<Record> {
        let missing = || PyTypeError::new_err("the server answered without an edge record");
        self.records(py, id, Some(edge_type))?.pop().ok_or_else(missing)
    }

    /// All edge records of a node.
    fn get_edge_records(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Vec<Record>> {
        self.records(py, id, None)
    }

    /// The edges that lead to a node: source, type, time, properties.
    #[pyo3(signature = (id, edge_type))]
    fn get_incoming_edges<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
        edge_type: Option<&str>,
    ) -> PyResult<Vec<Incoming<'py>>> {
        let id = id_of(id)?;
        incoming(py, self.ask(py, |source| source.get_incoming_edges(&id, edge_type))?)
    }

    /// Positions of a record's edges whose time is at least `t_lo` and less than `t_hi`.
    #[pyo3(signature = (record, t_lo = None, t_hi = None))]
    fn get_edge_range(
        &self,
        py: Python<'_>,
        record: &Bound<'_, Record>,
        t_lo: Option<i64>,
        t_hi: Option<i64>,
    ) -> PyResult<(u64, u64)> {
        let of = record.get().of_server()?;
        let found = asked(py, &of.source, |source| source.get_edge_range(&of.record, t_lo, t_hi))?;
        Ok((found.start, found.end))
    }

    /// The edge at a position of a record.
    fn get_edge_data<'py>(
        &self,
        py: Python<'py>,
        record: &Bound<'py, Record>,
        place: u64,
    ) -> PyResult<Edge<'py>> {
        let of = record.get().of_server()?;
        let mut found = of.read(py, place..place.saturating_add(1))?;
        found.pop().ok_or_else(|| no_edge(&of.record, place))
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
        let (source, destination) = (id_of(source)?, id_of(destination)?);
        let id = EdgeId { source, edge_type, destination, number };
        let found = self.ask(py, |source| source.get_edge(&id))?;
        found.map(|data| edge(py, &data)).transpose()
    }

    /// Edges of a type, or of any, that meet all conditions: source, type, destination, time,
    /// properties; sorted by a property if `order_by` names one.
    #[pyo3(signature = (edge_type, properties, *, order_by = None, descending = false, limit = None))]
    fn find_edges<'py>(
        &self,
        py: Python<'py>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        order_by: Option<&str>,
        descending: bool,
        limit: Option<usize>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, String, Edge<'py>)>> {
        let wanted = conditions(properties)?;
        let order = QueryOrder { by: order_by, descending, limit };
        let ask =
            |source: &Source| source.find_edges(edge_type, &Condition::borrowed(&wanted), &order);
        let one = |found: FoundEdge| {
            Ok((of_id(py, &found.source)?, found.edge_type, edge(py, &found.edge)?))
        };
        self.ask(py, ask)?.into_iter().map(one).collect()
    }

    /// Number of edges of a type, or of any, that meet all conditions.
    #[pyo3(signature = (edge_type, properties))]
    fn count_edges(
        &self,
        py: Python<'_>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'_>>,
    ) -> PyResult<u64> {
        let wanted = conditions(properties)?;
        self.ask(py, |source| source.count_edges(edge_type, &Condition::borrowed(&wanted)))
    }

    /// Counts of the edges of a type, or of any, that meet all conditions, by the value of a property.
    #[pyo3(signature = (edge_type, properties, by))]
    fn count_edges_by<'py>(
        &self,
        py: Python<'py>,
        edge_type: Option<&str>,
        properties: Vec<Asked<'py>>,
        by: &str,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let wanted = conditions(properties)?;
        let ask =
            |source: &Source| source.count_edges_by(edge_type, &Condition::borrowed(&wanted), by);
        told_counts(py, &self.ask(py, ask)?)
    }

    /// TAO: all properties of an object, or `None`.
    fn obj_get<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let id = id_of(id)?;
        let found = self.ask(py, |source| source.obj_get(&id))?;
        found.map(|values| dict(py, &values)).transpose()
    }

    /// TAO: number of associations of a type.
    fn assoc_count(&self, py: Python<'_>, id: &Bound<'_, PyAny>, atype: &str) -> PyResult<u64> {
        let id = id_of(id)?;
        self.ask(py, |source| source.assoc_count(&id, atype))
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
        let id = id_of(id)?;
        edges(py, &self.ask(py, |source| source.assoc_range(&id, atype, pos, limit))?)
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
        let id = id_of(id)?;
        let id2s = id2s.iter().map(id_of).collect::<PyResult<Vec<_>>>()?;
        edges(py, &self.ask(py, |source| source.assoc_get(&id, atype, &id2s, low, high))?)
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
        let id = id_of(id)?;
        let ask = |source: &Source| source.assoc_time_range(&id, atype, high, low, limit);
        edges(py, &self.ask(py, ask)?)
    }
}

impl Remote {
    fn records(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        edge_type: Option<&str>,
    ) -> PyResult<Vec<Record>> {
        let (source, id) = (self.source()?, id_of(id)?);
        let found = asked(py, &source, |source| source.get_edge_records(&id, edge_type))?;
        let of = |record| Record::remote(RecordOnServer { source: Arc::clone(&source), record });
        Ok(found.into_iter().map(of).collect())
    }
}
