//! What a front-end and its servers tell each other: lines of JSON, results behind their line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::RecoveryState;
use crate::exchange::Counters;
use crate::job::Superstep;
use crate::task::{Start, Task};
use crate::{Checkpoints, EdgeFile};

/// Lines are no longer than this.
const LONGEST: u64 = 1 << 20;
/// From the front-end, once it is known.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Command {
    /// What to do, and where all servers listen.
    Run(Box<RunCommand>),
    /// To stop, because the run will be taken up again.
    Halt,
    /// That all servers are done.
    End,
    /// To give it up.
    Abort { server: Option<usize>, why: String },
}

/// What a server does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunCommand {
    pub(crate) server: usize,
    pub(crate) addresses: Vec<String>,
    pub(crate) job: ClusterJob,
    /// How often the run was taken up again.
    pub(crate) epoch: u32,
    pub(crate) start: Start,
    /// Seconds that are left.
    pub(crate) seconds: Option<f64>,
}

/// A run, as all its servers know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClusterJob {
    pub(crate) id: u64,
    pub(crate) input: GraphInput,
    pub(crate) task: Task,
    /// Computation workers of each server.
    pub(crate) threads: usize,
    /// Communication workers of each server.
    pub(crate) senders: usize,
    /// Bytes that a server may use.
    pub(crate) memory: Option<u64>,
    pub(crate) checkpoints: Option<Checkpoints>,
    /// For so long a server may be cut off.
    pub(crate) peer_timeout: Duration,
}

/// Where servers load the graph from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GraphInput {
    Store(PathBuf),
    /// `source` is the id of the vertex that the task begins at: servers number vertices. `bytes` is how
    /// long the file is.
    Edges {
        file: EdgeFile,
        source: Option<u64>,
        bytes: u64,
    },
}

/// From a server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Report {
    /// Its turn has come; where it listens for other servers.
    Ready { port: u16 },
    /// It lives, and has loaded so much of its share, of so much.
    Alive { loaded: (u64, u64) },
    /// It has its part of the graph, and begins.
    Loaded,
    /// Supersteps are over; the steps whose checkpoints are there.
    Steps { done: Vec<Superstep>, saved: Vec<u32> },
    /// The run is over; so many bytes of results follow.
    Done { bytes: u64, cut: bool, counters: Counters, peak_rss: u64, state: RecoveryState },
    /// It cannot go on.
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

    /// So many bytes.
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
