//! `serve_graph` runs a server of a graph with properties.

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::time::Duration;

use nakshi::property::PropertyStore;
use nakshi::server::{Certificate, Limits, ServeOptions, Server, Tokens};
use pyo3::prelude::*;

use crate::call::long;
use crate::errors::{Failure, ParameterError};

/// Serves a store at `listen` (host and port) until Ctrl-C. `certificate` has the files of a certificate and
/// its key, `tokens` is the file of the clients' tokens. `ready` is called with the address, whose
/// port the system chooses if it is 0, when the server answers.
#[pyfunction]
#[pyo3(signature = (path, listen, ready, *, read_only = false, certificate = None, tokens = None,
    memory = None, calls = None, rows = None, request_bytes = None, time = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn serve_graph(
    py: Python<'_>,
    path: PathBuf,
    listen: &str,
    ready: Py<PyAny>,
    read_only: bool,
    certificate: Option<(PathBuf, PathBuf)>,
    tokens: Option<PathBuf>,
    memory: Option<u64>,
    calls: Option<usize>,
    rows: Option<usize>,
    request_bytes: Option<usize>,
    time: Option<f64>,
) -> PyResult<()> {
    let wrong = |what: String| {
        ParameterError::new_err(format!("cannot listen at {listen}: {what}; write HOST:PORT"))
    };
    let listen_at = listen.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.next();
    let usual = Limits::default();
    let limits = Limits {
        calls: calls.unwrap_or(usual.calls),
        rows: rows.unwrap_or(usual.rows),
        request_bytes: request_bytes.unwrap_or(usual.request_bytes),
        time: time.map_or(usual.time, Duration::from_secs_f64),
        ..usual
    };
    let certificate = certificate.map(|(chain, key)| Certificate::read(&chain, &key));
    let options = ServeOptions {
        listen: listen_at.ok_or_else(|| wrong("the host has no address".into()))?,
        read_only,
        certificate: certificate.transpose().map_err(Failure::from)?,
        tokens: tokens.as_deref().map(Tokens::read).transpose().map_err(Failure::from)?,
        limits,
    };
    long(py, None, |call| {
        let store = PropertyStore::open(&path, &call.opening(memory))?.shared();
        let server = Server::bind(store, options, &call.cancel)?;
        let address = server.address().to_string();
        // The system queues connections from now on.
        let told = Python::attach(|py| ready.call1(py, (address,)).map(drop));
        told.map_err(|error| Failure::Other(error.to_string()))?;
        Ok(server.run(&call.cancel)?)
    })
}
