//! The workloads of `nakshi bench`. Each takes its configuration and returns its measurements as JSON.

use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "server")]
use nakshi::server::{Client, ConnectOptions};
use nakshi::store::Error;
#[cfg(feature = "server")]
use nakshi_workloads::served;
use nakshi_workloads::{changes, compaction, friends, queries, sustained, transactions};
use pyo3::prelude::*;

use crate::call::long_json;
use crate::errors::Failure;
use crate::property::{PyProperties, load_options};
use crate::values::parsed;

/// Measures the reading queries of TAO or of Graph Search.
#[pyfunction]
#[pyo3(signature = (properties, config, *, progress = None))]
pub fn measure_queries(
    py: Python<'_>,
    properties: &PyProperties,
    config: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: queries::Config = parsed(config)?;
    let graph = properties.graph()?;
    long_json(py, progress, |call| Ok(queries::run(&graph, &config, &call.cancel)?))
}

/// Measures the reading queries of TAO or of Graph Search on a server at `address`, which has the same
/// graph.
#[cfg(feature = "server")]
#[pyfunction]
#[pyo3(signature = (properties, address, config, *, token = None, progress = None))]
pub fn measure_served(
    py: Python<'_>,
    properties: &PyProperties,
    address: &str,
    config: &str,
    token: Option<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: queries::Config = parsed(config)?;
    let graph = properties.graph()?;
    long_json(py, progress, |call| {
        let connect = |_| {
            let options = ConnectOptions { token: token.clone(), ..ConnectOptions::default() };
            Client::connect(address, options)
        };
        let clients = (0..config.threads.max(1)).map(connect).collect::<Result<Vec<_>, _>>()?;
        Ok(served::run(&graph, &clients, &config, &call.cancel)?)
    })
}

/// Measures LinkBench's mix, which changes the store; `config` is that of `measure_queries`.
#[pyfunction]
#[pyo3(signature = (properties, config, *, progress = None))]
pub fn measure_linkbench(
    py: Python<'_>,
    properties: &PyProperties,
    config: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let store = properties.writer(py)?;
    let config: queries::Config = parsed(config)?;
    long_json(py, progress, |call| Ok(changes::linkbench(&store, &config, &call.cancel)?))
}

/// Measures reads while the store is compacted, and for `seconds` before and after; `config` is that
/// of `measure_queries`, `memory` in bytes and `compacting` threads are the compaction's.
#[pyfunction]
#[pyo3(signature = (properties, config, seconds, *, memory = None, compacting = None, progress = None))]
pub fn measure_compaction(
    py: Python<'_>,
    properties: &PyProperties,
    config: &str,
    seconds: f64,
    memory: Option<u64>,
    compacting: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (store, idle) = (properties.writer(py)?, duration(seconds)?);
    let config: queries::Config = parsed(config)?;
    let options = load_options(memory, compacting, None);
    long_json(py, progress, |call| {
        Ok(compaction::run(&store, &config, &options, idle, &call.cancel)?)
    })
}

/// Measures changes for `seconds`, or of a number, and reads beside them; `config` is that of
/// `measure_queries`, and reads are measured for `idle` seconds before and after.
#[pyfunction]
#[pyo3(signature = (properties, config, seconds, changes, idle, *, progress = None))]
pub fn measure_sustained(
    py: Python<'_>,
    properties: &PyProperties,
    config: &str,
    seconds: f64,
    changes: u64,
    idle: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let store = properties.writer(py)?;
    let config: queries::Config = parsed(config)?;
    let load = sustained::Load { changes, lasts: duration(seconds)?, idle: duration(idle)? };
    long_json(py, progress, |call| Ok(sustained::run(&store, &config, load, &call.cancel)?))
}

/// Measures durable appends of nodes for some seconds. The nodes stay in the store.
#[pyfunction]
#[pyo3(signature = (properties, writers, threads, in_flight, seconds, *, progress = None))]
pub fn measure_appends(
    py: Python<'_>,
    properties: &PyProperties,
    writers: usize,
    threads: usize,
    in_flight: usize,
    seconds: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (store, lasts) = (properties.writer(py)?, duration(seconds)?);
    long_json(py, progress, |call| {
        Ok(changes::appends(&store, (writers, threads), in_flight, lasts, &call.cancel)?)
    })
}

/// Measures transactions against commits without reads, for some seconds each.
#[pyfunction]
#[pyo3(signature = (properties, threads, seconds, *, progress = None))]
pub fn measure_transactions(
    py: Python<'_>,
    properties: &PyProperties,
    threads: usize,
    seconds: f64,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (store, lasts) = (properties.writer(py)?, duration(seconds)?);
    long_json(py, progress, |call| Ok(transactions::run(&store, threads, lasts, &call.cancel)?))
}

/// Measures lists of friends on cold or warm pages of the store at `path`.
#[pyfunction]
#[pyo3(signature = (path, config, *, progress = None))]
pub fn measure_friends(
    py: Python<'_>,
    path: PathBuf,
    config: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let config: friends::Config = parsed(config)?;
    long_json(py, progress, |call| Ok(friends::run(&path, &config, &call.cancel)?))
}

fn duration(seconds: f64) -> PyResult<Duration> {
    let told = |_| Error::Invalid(format!("{seconds} seconds; say how long to measure"));
    Ok(Duration::try_from_secs_f64(seconds).map_err(told).map_err(Failure::from)?)
}
