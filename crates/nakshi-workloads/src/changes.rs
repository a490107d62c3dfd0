//! Workloads that change a property graph: LinkBench's mix, and appends as fast as they can be durable.
//!
//! Both change the store that they run on.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{Change, PropertyGraph, PropertyStore, Ticket, Value, tao};
use nakshi_store::layout::mix;
use nakshi_store::{Error, ExternalId, Result};
use serde::Serialize;

use crate::draw::{Random, Zipf};
use crate::queries::{Class, Config, Measured, class};

/// LinkBench's requests and their shares in percent (Armstrong et al., SIGMOD 2013, and the
/// configuration that its program comes with).
const SHARES: [(&str, f64); 10] = [
    ("get_link_list", 50.711_914_5),
    ("get_node", 12.932_668_3),
    ("add_link", 8.988_660_1),
    ("update_link", 8.012_212_5),
    ("update_node", 7.366_437),
    ("count_links", 4.886_356_7),
    ("delete_link", 2.990_766_4),
    ("add_node", 2.573_278_9),
    ("delete_node", 1.011_591_4),
    ("multiget_link", 0.526_114_2),
];
/// Most links that a list request returns.
const LIMIT: u64 = 10_000;
/// Share of the list requests that ask for links older than a given one.
const HISTORY: f64 = 0.003;
/// Mean bytes of the data of a node and of a link.
const NODE_DATA: usize = 128;
const LINK_DATA: usize = 8;
/// Property with the data.
const DATA: &str = "data";

/// Random letters.
fn text(draw: &mut Random, len: usize) -> Value {
    let byte = |_| char::from(b'a' + (draw.next() % 26) as u8);
    Value::String((0..len).map(byte).collect())
}

/// Zipf's laws of accesses to links and nodes, with the exponents of LinkBench's configuration.
struct Laws {
    read: Zipf,
    write: Zipf,
    node_read: Zipf,
    node_write: Zipf,
}

impl Laws {
    fn new(nodes: usize) -> Result<Self> {
        let law = |exponent| Zipf::new(nodes, exponent);
        let [read, write, node_read, node_write] = [0.8, 0.741, 0.625, 0.606].map(law);
        Ok(Laws { read: read?, write: write?, node_read: node_read?, node_write: node_write? })
    }
}

/// State that all threads of LinkBench share.
struct Linkbench<'s> {
    store: &'s PropertyStore,
    /// Nodes of the graph before the run, in the order of their frequency of access.
    nodes: Vec<ExternalId>,
    laws: Laws,
    types: Vec<String>,
    added: AtomicU64,
    left: AtomicUsize,
}

/// Latencies in microseconds and results, by request.
type Times = [(Vec<f64>, u64); SHARES.len()];

/// Runs LinkBench's mix: every change is a durable commit of its own.
///
/// # Errors
/// A graph without nodes or edges; errors of requests; cancellation.
pub fn linkbench(store: &PropertyStore, config: &Config, cancel: &CancelToken) -> Result<Measured> {
    let graph = store.snapshot();
    let mut nodes = graph.get_node_ids(&[])?;
    if nodes.is_empty() || graph.edge_types().is_empty() {
        return Err(Error::Invalid("LinkBench needs a graph with nodes and edges".into()));
    }
    let mut draw = Random(config.seed);
    draw.shuffle(&mut nodes);
    let types = graph.edge_types().to_vec();
    drop(graph);
    let (added, left) = (AtomicU64::new(0), AtomicUsize::new(config.queries));
    let laws = Laws::new(nodes.len())?;
    let shared = Linkbench { store, nodes, laws, types, added, left };
    let threads = config.threads.max(1);
    let began = Instant::now();
    let work = |thread| shared.work(Random(mix(config.seed + 1 + thread as u64)), cancel);
    let mut all = Times::default();
    for done in nakshi_io::run_workers(threads, work)? {
        for (all, (times, results)) in all.iter_mut().zip(done) {
            all.0.extend(times);
            all.1 += results;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let named = std::iter::zip(SHARES, all);
    let classes: Vec<Class> = named
        .map(|((name, share), (times, results))| class(name, share, times, results, seconds))
        .collect();
    let rate = config.queries as f64 / seconds;
    Ok(Measured { classes, threads, queries: config.queries, seconds, rate })
}

impl Linkbench<'_> {
    fn work(&self, mut draw: Random, cancel: &CancelToken) -> Result<Times> {
        let mut times = Times::default();
        while self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
            cancel.check()?;
            let mut at = draw.part() * 100.0;
            let request = SHARES.iter().position(|(_, share)| {
                at -= share;
                at < 0.0
            });
            let request = request.unwrap_or(0);
            let began = Instant::now();
            let results =
                self.request(SHARES.get(request).map_or("", |(name, _)| name), &mut draw)?;
            if let Some((times, sum)) = times.get_mut(request) {
                times.push(began.elapsed().as_secs_f64() * 1e6);
                *sum += results;
            }
        }
        Ok(times)
    }

    fn node(&self, draw: &mut Random, law: &Zipf) -> ExternalId {
        self.nodes.get(law.draw(draw)).cloned().unwrap_or(ExternalId::U64(0))
    }

    /// A node, a type, and one of its links or any other node.
    fn link(
        &self,
        graph: &PropertyGraph,
        draw: &mut Random,
    ) -> Result<(ExternalId, String, ExternalId)> {
        let source = self.node(draw, &self.laws.write);
        let ty = self.types.get(draw.below(self.types.len())).cloned().unwrap_or_default();
        let record = match graph.has_node(&source)? {
            true => graph.get_edge_record(&source, &ty)?,
            false => return Ok((source, ty, self.node(draw, &self.laws.write))),
        };
        let end = match record.is_empty() {
            true => self.node(draw, &self.laws.write),
            false => {
                let place = draw.next() % record.len();
                graph.get_edge_data(&record, place)?.destination
            }
        };
        Ok((source, ty, end))
    }

    /// Makes a request. Returns the number of values, links or changes in its result.
    fn request(&self, name: &str, draw: &mut Random) -> Result<u64> {
        let graph = self.store.snapshot();
        Ok(match name {
            "get_node" => {
                let id = self.node(draw, &self.laws.node_read);
                tao::obj_get(&graph, &id)?.map_or(0, |found| found.len() as u64)
            }
            "get_link_list" | "count_links" | "multiget_link" => self.read(&graph, name, draw)?,
            "add_node" => {
                let number = self.added.fetch_add(1, Relaxed);
                let id = new_id(self.nodes.first(), number);
                let properties = vec![(DATA.to_owned(), text(draw, NODE_DATA))];
                self.commit(Change::AppendNode { id, properties })?
            }
            "update_node" => {
                let id = self.node(draw, &self.laws.node_write);
                let properties = vec![(DATA.to_owned(), text(draw, NODE_DATA))];
                self.commit(Change::UpdateNode { id, properties, merge: true })?
            }
            "delete_node" => {
                let id = self.nodes.get(draw.below(self.nodes.len())).cloned();
                self.commit(Change::DeleteNode { id: id.unwrap_or(ExternalId::U64(0)) })?
            }
            _ => {
                let (source, edge_type, old) = self.link(&graph, draw)?;
                if name == "delete_link" {
                    return self.commit(Change::DeleteEdge { source, edge_type, destination: old });
                }
                let new = if name == "add_link" { self.node(draw, &self.laws.write) } else { old };
                self.commit(Change::AppendEdge {
                    source,
                    edge_type,
                    destination: new,
                    timestamp: (draw.next() >> 24).cast_signed(),
                    properties: vec![(DATA.to_owned(), text(draw, LINK_DATA))],
                })?
            }
        })
    }

    fn read(&self, graph: &PropertyGraph, name: &str, draw: &mut Random) -> Result<u64> {
        let id = self.node(draw, &self.laws.read);
        let ty = self.types.get(draw.below(self.types.len())).map_or("", String::as_str);
        if !graph.has_node(&id)? {
            return Ok(0);
        }
        Ok(match name {
            "count_links" => tao::assoc_count(graph, &id, ty)?,
            "multiget_link" => {
                let ends: Vec<ExternalId> =
                    (0..2).map(|_| self.node(draw, &self.laws.read)).collect();
                tao::assoc_get(graph, &id, ty, &ends, None, None)?.len() as u64
            }
            _ if draw.part() < HISTORY => {
                let record = graph.get_edge_record(&id, ty)?;
                let middle = record.len() / 2;
                let time = match record.is_empty() {
                    true => 0,
                    false => graph.get_edge_data(&record, middle)?.timestamp,
                };
                tao::assoc_time_range(graph, &id, ty, Some(time), None, LIMIT)?.len() as u64
            }
            _ => tao::assoc_range(graph, &id, ty, 0, LIMIT)?.len() as u64,
        })
    }

    /// Commits a change. A change of a node that another thread has deleted counts as none.
    fn commit(&self, change: Change) -> Result<u64> {
        match self.store.commit(&[change]) {
            Err(Error::NoNode { .. }) => Ok(0),
            done => done,
        }
    }
}

/// An id that no other node has, of the kind of `like`.
fn new_id(like: Option<&ExternalId>, number: u64) -> ExternalId {
    match like {
        Some(ExternalId::Text(_) | ExternalId::Bytes(_)) => {
            ExternalId::Text(format!("added-{}-{number}", std::process::id()))
        }
        _ => ExternalId::U64((1 << 62) + (u64::from(std::process::id()) << 32) + number),
    }
}

/// Measurements of [`appends`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Appends {
    /// Writers, each of which appends one node after the other.
    pub writers: usize,
    /// Threads that serve the writers.
    pub threads: usize,
    /// Most commits of each writer that are not durable yet.
    pub in_flight: usize,
    /// Durable commits a second, one node each.
    pub rate: f64,
    /// Rate, per second, at which the disk of the store makes 256 bytes durable in place.
    pub syncs: f64,
}

/// Appends nodes for some seconds, and measures the disk before.
///
/// # Errors
/// Errors of writing; cancellation.
pub fn appends(
    store: &PropertyStore,
    (writers, threads): (usize, usize),
    in_flight: usize,
    lasts: Duration,
    cancel: &CancelToken,
) -> Result<Appends> {
    let like = store.snapshot().get_node_ids(&[])?.into_iter().next();
    let syncs = syncs(store, lasts / 4)?;
    // Every append is a commit, so the number of the next commit is unused.
    let next = AtomicU64::new(store.last_commit());
    let work = |mut draw: Random| -> Result<u64> {
        let (mut waiting, mut done): (VecDeque<Ticket<'_>>, _) = (VecDeque::new(), 0);
        let began = Instant::now();
        while began.elapsed() < lasts {
            cancel.check()?;
            let id = new_id(like.as_ref(), next.fetch_add(1, Relaxed));
            let properties = vec![(DATA.to_owned(), text(&mut draw, NODE_DATA))];
            waiting.push_back(store.submit(&[Change::AppendNode { id, properties }])?);
            if waiting.len() >= in_flight * writers / threads.max(1)
                && let Some(oldest) = waiting.pop_front()
            {
                oldest.wait()?;
                done += 1;
            }
        }
        for ticket in waiting {
            ticket.wait()?;
            done += 1;
        }
        Ok(done)
    };
    let began = Instant::now();
    let commits = nakshi_io::run_workers(threads, |thread| work(Random(mix(thread as u64))))?;
    let commits: u64 = commits.into_iter().sum();
    let rate = commits as f64 / began.elapsed().as_secs_f64();
    Ok(Appends { writers, threads, in_flight, rate, syncs })
}

/// Measures fdatasync after overwriting 256 bytes of an allocated file, as a log does.
fn syncs(store: &PropertyStore, lasts: Duration) -> Result<f64> {
    let path = store.path().join(".syncs");
    let told = |error| Error::Io { op: "write", path: path.clone(), source: error };
    let file = File::create(&path).map_err(told)?;
    let measure = || -> std::io::Result<f64> {
        file.write_all_at(&vec![0; 8 << 20], 0)?;
        file.sync_all()?;
        let (began, mut count) = (Instant::now(), 0u64);
        while began.elapsed() < lasts {
            file.write_all_at(&[1; 256], count * 256 % (8 << 20))?;
            file.sync_data()?;
            count += 1;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    };
    let measured = measure().map_err(told);
    let _ = std::fs::remove_file(&path);
    measured
}
