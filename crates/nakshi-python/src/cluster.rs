//! `serve`: a server of a cluster; what a front-end calls in Python.

use std::net::TcpListener;
use std::sync::Arc;

use nakshi::analysis::Answer;
use nakshi::cluster::{self, Caller, Notice, Settings, worker};
use nakshi::engine::Context;
use nakshi::store::Store;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::call::long;
use crate::errors::{ClusterError, Failure};

/// Serves front-ends that call at `listen` (host and port), until Ctrl-C, or one of them with `once`.
/// `ready` is called with the address, whose port the system chooses if it is 0.
#[pyfunction]
#[pyo3(signature = (listen, ready, *, once = false))]
pub fn serve(py: Python<'_>, listen: &str, ready: &Bound<'_, PyAny>, once: bool) -> PyResult<()> {
    let failed = |error| ClusterError::new_err(format!("cannot listen at {listen}: {error}"));
    let listener = TcpListener::bind(listen).map_err(failed)?;
    ready.call1((listener.local_addr().map_err(failed)?.to_string(),))?;
    long(py, None, |call| worker::serve(&listener, once, &call.cancel).map_err(Failure::from))
}

/// What a run on servers calls.
pub struct Calls {
    /// Gives the address of another server in the place of one that was lost.
    pub replace: Option<Py<PyAny>>,
    /// Is told of every superstep.
    pub watch: Option<Py<PyAny>>,
    /// What one of them has raised.
    pub raised: Option<PyErr>,
}

impl Calls {
    /// As [`cluster::run`]; what is raised ends the run.
    pub fn run(
        &mut self,
        store: &Arc<Store>,
        task: (&str, &Map<String, Value>),
        addresses: &[String],
        settings: &Settings,
        cx: &Context,
    ) -> nakshi::Result<Answer> {
        let Calls { replace, watch, raised } = self;
        let stop = cx.cancel_token().clone();
        let mut told = |notice: &Notice| {
            let Some(watch) = watch else { return };
            let text = serde_json::to_string(notice).unwrap_or_default();
            if let Err(error) = Python::attach(|py| watch.call1(py, (text,)).map(|_| ())) {
                *raised = Some(error);
                stop.cancel();
            }
        };
        let mut other = |server: usize| {
            let Some(replace) = replace else { return Ok(None) };
            Python::attach(|py| replace.call1(py, (server,))?.extract(py)).map_err(
                |error: PyErr| {
                    let why = format!("no other could be started in its place: {error}");
                    cluster::Error::Failed { server, why }
                },
            )
        };
        let caller = Caller { watch: &mut told, replace: &mut other };
        cluster::run(store, task, addresses, settings, cx, caller)
    }
}
