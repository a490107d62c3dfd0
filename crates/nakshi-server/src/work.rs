//! A worker of a run on this server's machine: a process with the part of the graph that some buckets are.
//!
//! The process gets the part as its standard input, a file without a name, where it shall listen as its argument,
//! and the secret of the run in [`TOKEN`]. It writes a line of JSON: `{"address": "HOST:PORT"}`.

use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{BucketSet, EdgeWeight, PropertyGraph};
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::runs::{Running, broken, spawned, unable};
use crate::v1::{WorkReply, WorkRequest};
use crate::wire;

/// The variable in which a worker finds the secret of its run.
const TOKEN: &str = "NAKSHI_WORKER_TOKEN";
/// Interval at which the server looks whether the worker has ended, or shall.
const LOOK: Duration = Duration::from_millis(50);

/// The command of workers, and the address of this machine.
#[derive(Debug)]
pub(crate) struct Workplace {
    /// Their command.
    pub(crate) command: Vec<String>,
    /// Where they listen.
    pub(crate) listen: IpAddr,
    /// The name of the machine for the other servers.
    pub(crate) host: String,
}

/// The line of a worker.
#[derive(Deserialize)]
struct Listens {
    address: String,
}

/// The buckets and the weight that a request asks for.
pub(crate) fn part_of(request: &WorkRequest) -> Result<(BucketSet, Option<EdgeWeight>)> {
    let buckets = wire::of_buckets(&request.buckets)?;
    let missing = request.missing_weight;
    let weight = request.weight.clone().map(|property| EdgeWeight { property, missing });
    Ok((buckets, weight))
}

impl Workplace {
    /// Has a worker begin, hands its address to `takes`, and ends it once `stops` is set.
    pub(crate) fn work(
        &self,
        graph: &PropertyGraph,
        request: WorkRequest,
        stops: &CancelToken,
        takes: impl Fn(WorkReply) -> bool,
    ) -> Result<()> {
        let (buckets, weight) = part_of(&request)?;
        let (part, counts) = graph.part_in_file(&buckets, weight.as_ref(), stops)?;
        let (program, arguments) = self.command.split_first().ok_or_else(unable)?;
        let mut command = Command::new(program);
        command.args(arguments).arg(self.listen.to_string()).env(TOKEN, request.token);
        command.stdin(Stdio::from(part)).stdout(Stdio::piped()).process_group(0);
        let mut worker = Running(command.spawn().map_err(|error| spawned(&error))?);
        let mut line = String::new();
        let output = worker.0.stdout.take();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line)).transpose();
        read.map_err(|error| broken(&error))?;
        let Ok(Listens { address }) = serde_json::from_str(&line) else {
            let what = "a worker of the run has ended; the log of its server may say why";
            return Err(Error::new(ErrorKind::Storage, what));
        };
        let port = address.rsplit_once(':').map_or("", |(_, port)| port);
        let address = format!("{}:{port}", self.host);
        if !takes(WorkReply { address, unweighted: counts.unweighted }) {
            return Ok(());
        }
        while !stops.is_cancelled() && worker.0.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
}
