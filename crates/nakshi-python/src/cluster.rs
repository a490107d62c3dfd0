//! `serve`: a server of a cluster.

use std::net::TcpListener;

use nakshi::cluster::worker;
use pyo3::prelude::*;

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
