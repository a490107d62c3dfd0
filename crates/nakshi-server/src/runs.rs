//! Algorithms on the graph of a server, each in a process of its own.
//!
//! The process gets its order as a line of JSON on its standard input, and ends when the input ends. It writes
//! lines of JSON: `{"progress": [phase, done, total, unit]}`, at least twice a second, and at last `{"failed":
//! [kind, message]}`, or the outcome, behind which the rows come as a stream of Arrow.
//!
//! A run on the servers of all shares asks for its workers first, by a line `{"workers": {...}}`, and gets a line
//! with them, or `{"failed": [kind, message]}`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;

use crate::error::{Error, ErrorKind, Result};
use crate::recruiting::Wanted;
use crate::v1::run_reply::Reply;
use crate::v1::{Progress, RunReply, RunRequest};

/// Bytes of rows in a reply.
const PART: usize = 256 << 10;

/// A line of the process.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Progress(String, u64, Option<u64>, String),
    Failed(String, String),
    Workers(Wanted),
    Outcome(serde_json::Value),
}

/// The standard input of a run, which ends when nobody has this any more.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<ChildStdin>>);

impl Input {
    /// Writes a line.
    pub(crate) fn tell(&self, line: &serde_json::Value) -> Result<()> {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(input, "{line}").map_err(|error| broken(&error))
    }

    /// Tells of an error, which the run then ends with.
    pub(crate) fn fail(&self, error: &Error) {
        // A run that has ended needs no word.
        let _ = self.tell(&json!({ "failed": [error.kind.name(), error.message] }));
    }
}

/// Guard that ends the process.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn broken(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("the process of the run cannot be reached: {error}"))
}

/// The error of a process that the system does not start.
pub(crate) fn spawned(error: &std::io::Error) -> Error {
    let what = format!("no process could be started for the run: {error}");
    Error::new(ErrorKind::Storage, what)
}

/// The error of a server that has no command for runs.
pub(crate) fn unable() -> Error {
    Error::new(ErrorKind::Unsupported, "this server runs no algorithms; nakshi serve does")
}

/// Runs an algorithm on the store at `path` by `command`, and hands on what the process tells, until it has ended or
/// `takes` returns false. With `recruit`, the run takes place on the servers of all shares; it begins workers and
/// tells the run of them, and what it returns is kept until the run has ended.
pub(crate) fn run<R>(
    command: &[String],
    path: &std::path::Path,
    request: &RunRequest,
    recruit: Option<impl Fn(Wanted, Input) -> R>,
    takes: impl Fn(RunReply) -> bool,
) -> Result<()> {
    let (program, arguments) = command.split_first().ok_or_else(unable)?;
    // As text: ids are integers of any size.
    let order = json!({
        "store": path, "algorithm": request.algorithm, "parameters": request.parameters,
        "workers": request.workers, "memory": request.memory, "shares": recruit.is_some(),
    });
    let mut command = Command::new(program);
    // Ctrl-C in the terminal of the server ends the server, which ends the run.
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut running = Running(command.spawn().map_err(|error| spawned(&error))?);
    let missing = || Error::new(ErrorKind::Internal, "internal error: a process without pipes");
    let input = Input(Arc::new(Mutex::new(running.0.stdin.take().ok_or_else(missing)?)));
    let mut output = BufReader::new(running.0.stdout.take().ok_or_else(missing)?);
    input.tell(&order)?;
    let mut _recruited = None;
    let send = |reply| takes(RunReply { reply: Some(reply) });
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).map_err(|error| broken(&error))? == 0 {
            let what = "the process of the run has ended; the log of the server may say why";
            return Err(Error::new(ErrorKind::Storage, what));
        }
        let told = serde_json::from_str(&line)
            .map_err(|_| Error::new(ErrorKind::Internal, "internal error: a run told no JSON"))?;
        match told {
            Told::Progress(phase, done, total, unit) => {
                if !send(Reply::Progress(Progress { phase, done, total, unit })) {
                    return Ok(());
                }
            }
            Told::Failed(kind, message) => {
                let kind = ErrorKind::of_name(&kind).unwrap_or(ErrorKind::Internal);
                return Err(Error::new(kind, message));
            }
            Told::Workers(wanted) => {
                _recruited = recruit.as_ref().map(|recruit| recruit(wanted, input.clone()));
            }
            Told::Outcome(outcome) => {
                if !send(Reply::Outcome(outcome.to_string())) {
                    return Ok(());
                }
                break;
            }
        }
    }
    loop {
        let mut part = Vec::with_capacity(PART);
        let read = output.by_ref().take(PART as u64).read_to_end(&mut part);
        if read.map_err(|error| broken(&error))? == 0 || !send(Reply::Rows(part)) {
            return Ok(());
        }
    }
}
