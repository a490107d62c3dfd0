//! `serve` runs a server of a cluster, `run_on_servers` a front-end with Python callbacks.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi::analysis::Answer;
use nakshi::cluster::{
    self, Allowed, Asked, Caller, Compiler, EdgeFile, Given, Notice, Programs, Settings, Token,
    worker,
};
use nakshi::engine::Context;
use nakshi::engine::program::block::{FailedBlock, Functions, ProgramSpec};
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::call::{long, seconds};
use crate::errors::{ClusterError, Failure};
use crate::outcome::Outcome;
use crate::programs;
use crate::store::{Store, within};
use crate::values::parsed;

/// Serves front-ends that call at `listen` (host and port) until Ctrl-C, or only one of them with
/// `once`. Front-ends must know `token`; if it is `None`, it is this user's token, and `listen`
/// must be an address of this machine. Front-ends may name files below the directories `allow`, or
/// below the working directory if there are none; `part` is the file with the part of a graph that it has. `ready` is called with the address, whose port
/// the system chooses if it is 0, and with the file of this user's token if that is used. `compiler` makes
/// functions of the sources of programs.
#[pyfunction]
#[pyo3(signature = (listen, ready, *, once = false, token = None, allow = Vec::new(), part = None, compiler = None))]
#[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
pub fn serve(
    py: Python<'_>,
    listen: &str,
    ready: &Bound<'_, PyAny>,
    once: bool,
    token: Option<Vec<u8>>,
    allow: Vec<PathBuf>,
    part: Option<PathBuf>,
    compiler: Option<Py<PyAny>>,
) -> PyResult<()> {
    let failed = |error| ClusterError::new_err(format!("cannot listen at {listen}: {error}"));
    let listener = TcpListener::bind(listen).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if token.is_none() && !address.ip().is_loopback() {
        return Err(ClusterError::new_err(format!(
            "other machines reach {address}: give --token-file FILE with a secret that the front-end has \
             too, as `openssl rand -hex 32 > FILE` makes one"
        )));
    }
    let (token, file) = known(token)?;
    let here = vec![PathBuf::from(".")];
    let allowed = Allowed::new(if allow.is_empty() { &here } else { &allow });
    let compiler = compiler.map(|compiler| Arc::new(PythonCompiler(compiler)) as Arc<dyn Compiler>);
    let programs = Programs { compiler, own: &[] };
    let allowed = allowed.map_err(Failure::from)?;
    let rules = worker::Rules { token, allowed, once, programs, part };
    ready.call1((address.to_string(), file.as_deref().map(Path::to_string_lossy)))?;
    long(py, None, |call| worker::serve(&listener, &rules, &call.cancel).map_err(Failure::from))
}

/// An object of `nakshi.program_worker` that compiles programs.
struct PythonCompiler(Py<PyAny>);

impl Compiler for PythonCompiler {
    fn functions(&self, source: &str) -> Result<Functions, String> {
        let addresses = Python::attach(|py| -> Result<Vec<usize>, String> {
            let found = self.0.call_method1(py, "functions", (source,));
            let found = found.and_then(|found| found.extract(py));
            found.map_err(|error| error.value(py).to_string())
        })?;
        programs::functions(&addresses).ok_or_else(|| "a function is at address 0".into())
    }

    fn explained(&self, source: &str, failed: &FailedBlock) -> String {
        let told = Python::attach(|py| -> PyResult<String> {
            let failed = programs::told(py, failed);
            self.0.call_method1(py, "explained", (source, failed))?.extract(py)
        });
        told.unwrap_or_else(|error| error.to_string())
    }
}

/// The given token; without one, this user's token and its file.
fn known(token: Option<Vec<u8>>) -> Result<(Token, Option<PathBuf>), Failure> {
    Ok(match token {
        Some(secret) => (Token::new(&secret)?, None),
        None => Token::of_user().map(|(token, file)| (token, Some(file)))?,
    })
}

/// Graph of a run: a store, or a file of edges as JSON; without one, each server has a part.
#[derive(FromPyObject)]
pub enum RunInput<'py> {
    Store(PyRef<'py, Store>),
    Edges(String),
}

/// Runs an algorithm with JSON parameters, or a `program` with what servers make its functions of, on the
/// servers that listen at `addresses`. `checkpoints`
/// is the number of supersteps between checkpoints, and their folder if they are not kept in the
/// memory of the next server. `token` is the servers' token; if it is `None`, this user's.
/// `replace` is called with the number of a lost server and returns the address of another one, or
/// `None`. `watch` is called with a report of every superstep, as JSON.
#[pyfunction]
#[pyo3(signature = (graph, algorithm, parameters, addresses, *, program = None, memory = None, threads = 1, senders = 1,
    token = None, timeout = None, deadline = None, silence = 10.0, restarts = 8, checkpoints = None, replace = None, watch = None,
    progress = None))]
#[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
pub fn run_on_servers(
    py: Python<'_>,
    graph: Option<RunInput<'_>>,
    algorithm: String,
    parameters: &str,
    addresses: Vec<String>,
    program: Option<String>,
    memory: Option<u64>,
    threads: usize,
    senders: usize,
    token: Option<Vec<u8>>,
    timeout: Option<f64>,
    deadline: Option<f64>,
    silence: f64,
    restarts: usize,
    checkpoints: Option<(u32, Option<PathBuf>)>,
    replace: Option<Py<PyAny>>,
    watch: Option<Py<PyAny>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Outcome> {
    let (lists, file): (_, Option<EdgeFile>) = match graph {
        Some(RunInput::Store(lists)) => (Some(lists), None),
        Some(RunInput::Edges(text)) => (None, Some(parsed(&text)?)),
        None => (None, None),
    };
    let store = lists.as_ref().map(|lists| lists.opened()).transpose()?;
    let given = store.as_ref().map(Given::Store).or(file.as_ref().map(Given::Edges));
    let given = given.unwrap_or(Given::Parts);
    let (parameters, spec): (Map<String, Value>, Option<ProgramSpec>) = match &program {
        Some(_) => (Map::new(), Some(parsed(parameters)?)),
        None => (parsed(parameters)?, None),
    };
    let asked = match (&spec, &program) {
        (Some(spec), Some(source)) => Asked::Program(spec, source),
        _ => Asked::Algorithm(&algorithm, &parameters),
    };
    let settings = Settings {
        token: known(token)?.0,
        threads,
        senders,
        memory,
        checkpoints: checkpoints.map(|(every, folder)| cluster::Checkpoints {
            every,
            place: folder.map_or(cluster::Place::Buddy, cluster::Place::Folder),
        }),
        restarts,
        deadline: deadline.map(|deadline| seconds("deadline", deadline)).transpose()?,
        peer_timeout: seconds("silence", silence)?,
    };
    let context = within(Context::new(), timeout)?;
    let mut calls = Calls { replace, watch, raised: None };
    let answer = long(py, progress, |call| {
        let context = call.attach(context);
        Ok(calls.run(given, asked, &addresses, &settings, &context)?)
    });
    match calls.raised {
        Some(error) => Err(error),
        None => {
            let mut answer = answer?;
            lists.iter().for_each(|lists| lists.tell(&mut answer));
            Ok(Outcome::new(algorithm, answer))
        }
    }
}

/// Python callbacks of a run on servers.
struct Calls {
    /// Returns the address of a server that replaces a lost one.
    replace: Option<Py<PyAny>>,
    /// Called after every superstep.
    watch: Option<Py<PyAny>>,
    /// Exception that a callback has raised.
    raised: Option<PyErr>,
}

impl Calls {
    /// As [`cluster::run`]; an exception of a callback ends the run.
    fn run(
        &mut self,
        given: Given<'_>,
        asked: Asked<'_>,
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
        cluster::run(given, asked, addresses, settings, cx, caller)
    }
}
