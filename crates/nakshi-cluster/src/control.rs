//! Messages between a front-end and its workers: lines of JSON, results behind their line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Checkpoints;
use crate::checkpoint::RecoveryState;
use crate::exchange::Counters;
use crate::job::Superstep;
use crate::task::{GraphInput, Start, Task};

/// Lines are no longer than this.
const LONGEST: u64 = 1 << 20;
/// Command of the front-end, after the greeting.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Command {
    /// Starts a run; names the addresses of all servers.
    Run(Box<RunCommand>),
    /// Stops the run, because it will be taken up again.
    Halt,
    /// Ends the run: all servers are done.
    End,
    /// Gives the run up.
    Abort { server: Option<usize>, why: String },
}

/// Part of one server in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunCommand {
    pub(crate) server: usize,
    pub(crate) addresses: Vec<String>,
    pub(crate) job: ClusterJob,
    /// Number of times that the run was taken up again.
    pub(crate) epoch: u32,
    pub(crate) start: Start,
    /// Seconds that are left.
    pub(crate) seconds: Option<f64>,
}

/// Parameters of a run that all its servers share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClusterJob {
    pub(crate) id: u64,
    pub(crate) input: GraphInput,
    pub(crate) task: Task,
    pub(crate) limits: ServerLimits,
    pub(crate) checkpoints: Option<Checkpoints>,
    /// Time after which a silent peer is lost.
    pub(crate) peer_timeout: Duration,
}

/// What each server of a run may use.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ServerLimits {
    /// Computation workers.
    pub(crate) threads: usize,
    /// Communication workers.
    pub(crate) senders: usize,
    /// Bytes of memory.
    pub(crate) memory: Option<u64>,
}

/// Report of a server to the front-end.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Report {
    /// The worker serves this front-end now; the port at which other servers reach it.
    Ready { port: u16 },
    /// Heartbeat: the worker is alive; bytes of its share loaded so far, and in all.
    Alive { loaded: (u64, u64) },
    /// The server has loaded its part of the graph and begins.
    Loaded,
    /// Finished supersteps, and the steps whose checkpoints exist.
    Steps { done: Vec<Superstep>, saved: Vec<u32> },
    /// The run is over; `bytes` bytes of results follow.
    Done { bytes: u64, cut: bool, counters: Counters, peak_rss: u64, state: RecoveryState },
    /// The server cannot go on.
    Failed { why: String, lost: Option<usize>, state: RecoveryState },
}

/// Writes a line.
pub(crate) fn say(mut to: impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Reads lines, and what follows them.
pub(crate) struct Lines {
    reader: BufReader<TcpStream>,
    /// The part of the next line that came before the time-out.
    line: Vec<u8>,
}

impl Lines {
    pub(crate) fn of(socket: &TcpStream) -> io::Result<Self> {
        Ok(Lines { reader: BufReader::new(socket.try_clone()?), line: Vec::new() })
    }

    /// The next line; none at the end. After an error because nothing has come in time, more can come.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let left = LONGEST.saturating_sub(self.line.len() as u64);
        self.reader.by_ref().take(left).read_until(b'\n', &mut self.line)?;
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Ok(None);
        }
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Reads `count` bytes.
    pub(crate) fn bytes(&mut self, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.by_ref().take(count).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == count {
            Ok(bytes)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}
