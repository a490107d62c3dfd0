//! What a front-end and its servers tell each other: lines of JSON, results behind their line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Checkpoints;
use crate::checkpoint::State;
use crate::exchange::Counters;
use crate::job::Superstep;
use crate::task::{Input, Start, Task};

/// Lines are no longer than this.
const LONGEST: u64 = 1 << 20;
/// From the front-end, once it is known.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// What to do, and where all servers listen.
    Run(Box<Run>),
    /// To stop, because the run will be taken up again.
    Halt,
    /// That all servers are done.
    End,
    /// To give it up.
    Abort { server: Option<usize>, why: String },
}

/// What a server does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) server: usize,
    pub(crate) addresses: Vec<String>,
    pub(crate) job: Job,
    /// How often the run was taken up again.
    pub(crate) epoch: u32,
    pub(crate) start: Start,
    /// Seconds that are left.
    pub(crate) seconds: Option<f64>,
}

/// A run, as all its servers know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) input: Input,
    pub(crate) task: Task,
    /// Computation workers of each server.
    pub(crate) threads: usize,
    /// Communication workers of each server.
    pub(crate) senders: usize,
    /// Bytes that a server may use.
    pub(crate) memory: Option<u64>,
    pub(crate) checkpoints: Option<Checkpoints>,
    /// For so long a server may be cut off.
    pub(crate) silence: Duration,
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
    Done { bytes: u64, cut: bool, counters: Counters, peak_rss: u64, state: State },
    /// It cannot go on.
    Failed { why: String, lost: Option<usize>, state: State },
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
        let room = LONGEST.saturating_sub(self.line.len() as u64);
        self.reader.by_ref().take(room).read_until(b'\n', &mut self.line)?;
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
