//! `serve_graph` runs a server of a graph with properties.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nakshi::procedures::Algorithms;
use nakshi::property::PropertyStore;
use nakshi::server::{
    Certificate, GroupOptions, JournalOptions, Limits, LogFormat, ServeOptions, Server, Tokens,
    Users, fetch as fetch_store, hash_password as hash, log_to_stderr,
};
use pyo3::prelude::*;

use crate::call::{Call, long};
use crate::errors::{Failure, ParameterError};
use crate::values::id_of;

/// Serves a store at `listen` (host and port) until Ctrl-C. `certificate` has the files of a certificate and
/// its key, `tokens` is the file of the clients' tokens, `users` that of users with passwords, `audit_log` the file to which logins and
/// changes are appended, `slow_log` the seconds from which on a statement is told in the log, both with parameters if
/// `log_parameters`, `runner` the command that runs algorithms and `worker` that of a worker on the server of a share, also without encryption with `plain_runs`, `bolt` is where drivers of Neo4j connect, and `http` where metrics are read. `hosts` has the
/// addresses of all servers of the graph, `listen` among them, and `ca` is the file with the certificates of
/// the authority by which they trust each other; `replicas` servers have each share of the graph; `keep_log` bytes of their log are kept, and with
/// `fetch` a store that is not there is copied from another server. `ready` is
/// called with the addresses, whose ports the system chooses if they are 0, when the server answers.
#[pyfunction]
#[pyo3(signature = (path, listen, ready, *, bolt = None, http = None, json_logs = false, read_only = false, certificate = None, tokens = None, users = None,
    audit_log = None, slow_log = None, log_parameters = false, runner = Vec::new(), worker = Vec::new(), plain_runs = false, hosts = None, ca = None, replicas = None, keep_log = None, memory = None, calls = None, rows = None, statement_bytes = None, request_bytes = None, time = None, csv_folder = None, fetch = false))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn serve_graph(
    py: Python<'_>,
    path: PathBuf,
    listen: &str,
    ready: Py<PyAny>,
    bolt: Option<&str>,
    http: Option<&str>,
    json_logs: bool,
    read_only: bool,
    certificate: Option<(PathBuf, PathBuf)>,
    tokens: Option<PathBuf>,
    users: Option<PathBuf>,
    audit_log: Option<PathBuf>,
    slow_log: Option<f64>,
    log_parameters: bool,
    runner: Vec<String>,
    worker: Vec<String>,
    plain_runs: bool,
    hosts: Option<Vec<String>>,
    ca: Option<PathBuf>,
    replicas: Option<usize>,
    keep_log: Option<u64>,
    memory: Option<u64>,
    calls: Option<usize>,
    rows: Option<usize>,
    statement_bytes: Option<u64>,
    request_bytes: Option<usize>,
    time: Option<f64>,
    csv_folder: Option<PathBuf>,
    fetch: bool,
) -> PyResult<()> {
    let limits = limits((calls, rows), (statement_bytes, request_bytes), time);
    let certificate = certificate.map(|(chain, key)| Certificate::read(&chain, &key));
    let options = ServeOptions {
        listen: socket(listen)?,
        bolt: bolt.map(socket).transpose()?,
        http: http.map(socket).transpose()?,
        read_only,
        certificate: certificate.transpose().map_err(Failure::from)?,
        tokens: tokens.as_deref().map(Tokens::read).transpose().map_err(Failure::from)?,
        users: users.as_deref().map(Users::read).transpose().map_err(Failure::from)?,
        journal: JournalOptions {
            audit: audit_log,
            slow: slow_log.map(Duration::from_secs_f64),
            parameters: log_parameters,
        },
        limits,
        runner,
        worker,
        plain_runs,
        procedures: Arc::new(Algorithms::default()),
        csv_folder,
        group: hosts.map(|hosts| group(hosts, listen, ca, replicas, keep_log)).transpose()?,
    };
    long(py, None, |call| {
        log_to_stderr(if json_logs { LogFormat::Json } else { LogFormat::Text });
        let store = opened((&path, memory), fetch.then_some(&options), call)?;
        let server = Server::bind(store, options, &call.cancel)?;
        let places = places(&server);
        // The system queues connections from now on.
        let told = Python::attach(|py| ready.call1(py, places).map(drop));
        told.map_err(|error| Failure::Other(error.to_string()))?;
        Ok(server.run(&call.cancel)?)
    })
}

/// The limits of a server: numbers of calls and rows, bytes of a statement and of a request, seconds of a call.
fn limits(
    (calls, rows): (Option<usize>, Option<usize>),
    (statement_bytes, request_bytes): (Option<u64>, Option<usize>),
    time: Option<f64>,
) -> Limits {
    let usual = Limits::default();
    Limits {
        calls: calls.unwrap_or(usual.calls),
        rows: rows.unwrap_or(usual.rows),
        statement_bytes: statement_bytes.unwrap_or(usual.statement_bytes),
        request_bytes: request_bytes.unwrap_or(usual.request_bytes),
        time: time.map_or(usual.time, Duration::from_secs_f64),
        ..usual
    }
}

/// Where a server listens: for clients, for drivers, and for HTTP.
fn places(server: &Server) -> (String, Option<String>, Option<String>) {
    let of = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    (server.address().to_string(), of(server.bolt_address()), of(server.http_address()))
}

/// The store at a path; with `fetching` one that is not there is copied from another server.
fn opened(
    (path, memory): (&Path, Option<u64>),
    fetching: Option<&ServeOptions>,
    call: &Call,
) -> Result<Arc<PropertyStore>, Failure> {
    if let Some(options) = fetching.filter(|_| !path.exists()) {
        fetch_store(path, options, &call.cancel)?;
    }
    Ok(PropertyStore::open(path, &call.opening(memory))?.shared())
}

/// The bucket of a node by its id.
#[pyfunction]
pub fn bucket_of(id: &Bound<'_, PyAny>) -> PyResult<u32> {
    Ok(nakshi::property::bucket_of(&id_of(id)?))
}

/// The hash of a password, for a file of users.
#[pyfunction]
pub fn hash_password(password: &str) -> PyResult<String> {
    Ok(hash(password).map_err(Failure::from)?)
}

/// How many of `servers` agree on the commits, where `replicas` have each share of the graph.
#[pyfunction]
#[pyo3(signature = (servers, replicas = None))]
pub fn agreeing_servers(servers: usize, replicas: Option<usize>) -> usize {
    let servers = vec![String::new(); servers];
    GroupOptions { servers, replicas, ..GroupOptions::default() }.whole()
}

/// This server, at `listen`, among those of a graph.
fn group(
    servers: Vec<String>,
    listen: &str,
    ca: Option<PathBuf>,
    replicas: Option<usize>,
    keep_log: Option<u64>,
) -> PyResult<GroupOptions> {
    let own = servers.iter().position(|server| server == listen).ok_or_else(|| {
        ParameterError::new_err(format!(
            "this server listens at {listen}, which is none of the hosts {}",
            servers.join(", ")
        ))
    })?;
    let usual = GroupOptions::default().kept_bytes;
    Ok(GroupOptions { servers, own, replicas, kept_bytes: keep_log.unwrap_or(usual), ca })
}

/// The address of a host and a port.
fn socket(text: &str) -> PyResult<SocketAddr> {
    let wrong = |what: String| {
        ParameterError::new_err(format!("cannot listen at {text}: {what}; write HOST:PORT"))
    };
    let found = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.next();
    found.ok_or_else(|| wrong("the host has no address".into()))
}
