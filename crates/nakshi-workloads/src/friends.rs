//! Listing friends: the time of reading the properties of all neighbours of a user.
//!
//! The workload that Bondhu's layouts are measured by (Hoque, *Power-law graphs*, thesis 2013, section
//! 5.1; models: 5.8). Property files are opened under a memory cap, so that they are read from disk.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nakshi_io::{CancelToken, IoStats};
use nakshi_property::PropertyGraph;
use nakshi_store::layout::mix;
use nakshi_store::{Error, ExternalId, OpenOptions, Result, Store};
use serde::{Deserialize, Serialize};

/// Nodes that a request reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// All friends.
    #[default]
    All,
    /// One friend; all are equally likely.
    Uniform,
    /// One friend, drawn in proportion to its number of friends.
    Preferential,
    /// One friend, drawn in proportion to one more than its friends in common with the user.
    Overlap,
}

/// What a request reads.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reads {
    /// The nodes.
    pub access: Access,
    /// Property that is read. Default all.
    pub property: Option<String>,
    /// Bytes of the property that are read, from its beginning. Default all.
    pub part: Option<u64>,
}

/// Options of the workload.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Users, drawn among those with friends. Default 1,500.
    pub users: usize,
    /// Seed of draws, which draw the same users in every order of a graph. Default 1.
    pub seed: u64,
    /// Measurements of all requests of a user, of which the least counts. Default 6.
    pub runs: usize,
    /// Requests of a user, one after the other; the first finds nothing in the cache. Default 1.
    pub requests: usize,
    /// What a request reads.
    pub reads: Reads,
    /// Bytes of the cache of property files. Default: the least that works.
    pub memory: Option<u64>,
    /// Records every read.
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            users: 1500,
            seed: 1,
            runs: 6,
            requests: 1,
            reads: Reads::default(),
            memory: None,
            trace: false,
        }
    }
}

/// Measurements, with one entry for each user.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Ids, as text.
    pub users: Vec<String>,
    /// Number of friends.
    pub friends: Vec<u64>,
    /// Microseconds of a request, the least of the runs.
    pub micros: Vec<f64>,
    /// Reads from disk of the first run.
    pub reads: Vec<u64>,
    /// Bytes of the reads of the first run.
    pub bytes: Vec<u64>,
    /// Every read of the first runs, if [`Config::trace`] is set: place of the user, microseconds since
    /// the start, offset and bytes.
    pub trace: Vec<(usize, f64, u64, u64)>,
}

/// Lists friends in the store at `path`.
///
/// # Errors
/// A store without properties or without edges; too little memory; errors of reading; cancellation.
pub fn run(path: &Path, config: &Config, cancel: &CancelToken) -> Result<Measured> {
    let options = OpenOptions { cancel: cancel.clone(), ..OpenOptions::default() };
    let store = Store::open(path, &options)?;
    let stats = Arc::new(if config.trace { IoStats::tracing() } else { IoStats::new() });
    let memory = match config.memory {
        Some(memory) => memory,
        None => least(&store, cancel)?,
    };
    // Lists of friends are read before the clock starts.
    let known = PropertyGraph::open(&store, None, cancel)?;
    let users = draw(&known, config)?;
    let graph = PropertyGraph::open_counted(&store, Some(memory), &stats, cancel)?;
    let mut measured = Measured::default();
    for (number, user) in users.iter().enumerate() {
        cancel.check()?;
        let friends = known.get_neighbor_ids(user, None, &[])?;
        let requests = requests(&known, user, &friends, config)?;
        let (mut least, before, seen) = (f64::MAX, graph.io(), stats.accesses().len());
        let mut first = before;
        for run in 0..config.runs.max(1) {
            graph.clear_cache();
            let began = Instant::now();
            for request in &requests {
                read(&graph, request, &config.reads)?;
            }
            least = least.min(began.elapsed().as_secs_f64() * 1e6 / requests.len().max(1) as f64);
            if run == 0 {
                first = graph.io() - before;
                let noted = stats.accesses();
                measured.trace.extend(
                    noted.iter().skip(seen).map(|read| {
                        (number, read.since.as_secs_f64() * 1e6, read.offset, read.bytes)
                    }),
                );
            }
        }
        measured.users.push(user.to_string());
        measured.friends.push(friends.len() as u64);
        measured.micros.push(least);
        measured.reads.push(first.requests);
        measured.bytes.push(first.bytes_read);
    }
    Ok(measured)
}

/// The least memory that the property files can be read with.
fn least(store: &Arc<Store>, cancel: &CancelToken) -> Result<u64> {
    match PropertyGraph::open(store, Some(0), cancel) {
        Err(Error::Budget { needed, .. }) => Ok(needed),
        Err(error) => Err(error),
        Ok(_) => Ok(0),
    }
}

/// Users with friends, the same in every order of the same graph.
fn draw(graph: &PropertyGraph, config: &Config) -> Result<Vec<ExternalId>> {
    let mut nodes = graph.get_node_ids(&[])?;
    nodes.sort_by_cached_key(ExternalId::to_string);
    let (mut users, mut state) = (Vec::new(), config.seed);
    if graph.num_edges() == 0 || graph.node_properties().is_empty() {
        return Err(Error::Invalid("friends need nodes with properties, and edges".into()));
    }
    while users.len() < config.users {
        state = state.wrapping_add(1);
        let at = (mix(state) % nodes.len().max(1) as u64) as usize;
        let Some(user) = nodes.get(at) else { break };
        if !graph.get_edge_records(user)?.is_empty() {
            users.push(user.clone());
        }
    }
    Ok(users)
}

/// The friends that each request of a user reads.
fn requests(
    graph: &PropertyGraph,
    user: &ExternalId,
    friends: &[ExternalId],
    config: &Config,
) -> Result<Vec<Vec<ExternalId>>> {
    if config.reads.access == Access::All {
        return Ok(vec![friends.to_vec(); config.requests]);
    }
    let own: HashSet<&ExternalId> = friends.iter().collect();
    let (mut ends, mut sum) = (Vec::new(), 0);
    for friend in friends {
        sum += match config.reads.access {
            Access::All | Access::Uniform => 1,
            Access::Preferential => graph.get_neighbor_ids(friend, None, &[])?.len() as u64,
            Access::Overlap => {
                let theirs = graph.get_neighbor_ids(friend, None, &[])?;
                1 + theirs.iter().filter(|other| own.contains(other)).count() as u64
            }
        };
        ends.push(sum);
    }
    let salt =
        user.to_string().bytes().fold(config.seed, |state, byte| mix(state ^ u64::from(byte)));
    let one = |number: u64| {
        let drawn = mix(salt.wrapping_add(number)) % sum.max(1);
        friends.get(ends.partition_point(|end| *end <= drawn)).cloned().into_iter().collect()
    };
    Ok((0..config.requests as u64).map(one).collect())
}

fn read(graph: &PropertyGraph, friends: &[ExternalId], reads: &Reads) -> Result<()> {
    match (&reads.property, reads.part) {
        (Some(name), Some(part)) => {
            for friend in friends {
                std::hint::black_box(graph.read_node_property(friend, name, 0..part)?);
            }
        }
        (None, Some(_)) => {
            return Err(Error::Invalid("a part is of a property; name it".into()));
        }
        (Some(name), None) => {
            std::hint::black_box(graph.get_node_properties(friends, Some(&[name]))?);
        }
        (None, None) => {
            std::hint::black_box(graph.get_node_properties(friends, None)?);
        }
    }
    Ok(())
}
