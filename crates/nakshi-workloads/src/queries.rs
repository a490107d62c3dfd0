//! Workloads that read a property graph: TAO's mix (ZipG, Table 2) and Graph Search's (Table 4).
//!
//! Queries are drawn before the clock starts. Each class runs alone on one thread, which gives its
//! latencies; then the mix runs on all threads.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use nakshi_io::CancelToken;
use nakshi_property::{PropertyGraph, Value, search, tao};
use nakshi_store::{Error, ExternalId, Result};
use serde::{Deserialize, Serialize};

pub use crate::draw::Access;
use crate::draw::{Nodes, Random};

/// Mix of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// The reading queries of TAO in the shares of its paper.
    Tao,
    /// The five queries of Graph Search in equal shares.
    GraphSearch,
}

/// Options of a workload.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Mix of queries. Default TAO.
    pub mix: Mix,
    /// Queries of each class, and of the mix. Default 20,000.
    pub queries: usize,
    /// Threads of the mix. Default 2.
    pub threads: usize,
    /// Seed of draws. Default 1.
    pub seed: u64,
    /// Distribution of accesses over the nodes. Default uniform. LinkBench ignores it and has laws of its own.
    pub access: Access,
    /// Exponent of Zipf's law, a positive number. Default 0.99, as in YCSB (Cooper et al., SoCC 2010).
    pub exponent: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            mix: Mix::Tao,
            queries: 20_000,
            threads: 2,
            seed: 1,
            access: Access::Uniform,
            exponent: 0.99,
        }
    }
}

/// Latencies of a class of queries, alone on one thread, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Class {
    /// Name of the query.
    pub name: &'static str,
    /// Share of the mix.
    pub share: f64,
    /// Values, edges or nodes that a query returned on average.
    pub results: f64,
    /// Queries a second.
    pub rate: f64,
    /// Median latency.
    pub p50: f64,
    /// 99th percentile of the latency.
    pub p99: f64,
    /// 99.9th percentile of the latency.
    pub p999: f64,
}

/// Measurements of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Each class alone.
    pub classes: Vec<Class>,
    /// Threads of the mix.
    pub threads: usize,
    /// Queries of the mix.
    pub queries: usize,
    /// Seconds of the mix.
    pub seconds: f64,
    /// Queries of the mix a second.
    pub rate: f64,
}

/// A query with its arguments.
pub(crate) enum Query {
    AssocRange(ExternalId, String),
    ObjGet(ExternalId),
    AssocGet(ExternalId, String, Vec<ExternalId>),
    AssocCount(ExternalId, String),
    AssocTimeRange(ExternalId, String, i64, i64),
    Friends(ExternalId),
    FriendsWith(ExternalId, (String, Value)),
    Find([(String, Value); 2]),
    FriendsBy(ExternalId, String),
    FriendsData(ExternalId, String),
    OneProperty(ExternalId, String),
}

/// Most edges that a list query returns, as in the paper's successors.
pub(crate) const LIMIT: u64 = 1000;

impl Query {
    /// Runs the query. Returns the number of values, edges or nodes in its answer.
    pub fn run(&self, graph: &PropertyGraph) -> Result<usize> {
        let wanted = |pair: &'_ (String, Value)| (pair.0.clone(), pair.1.clone().into());
        Ok(match self {
            Query::AssocRange(id, ty) => tao::assoc_range(graph, id, ty, 0, LIMIT)?.len(),
            Query::ObjGet(id) => tao::obj_get(graph, id)?.map_or(0, |found| found.len()),
            Query::AssocGet(id, ty, id2s) => tao::assoc_get(graph, id, ty, id2s, None, None)?.len(),
            // Lossless: the count of a list that fits in memory.
            Query::AssocCount(id, ty) => tao::assoc_count(graph, id, ty)? as usize,
            Query::AssocTimeRange(id, ty, low, high) => {
                tao::assoc_time_range(graph, id, ty, Some(*high), Some(*low), LIMIT)?.len()
            }
            Query::Friends(id) => search::friends(graph, id)?.len(),
            Query::FriendsWith(id, pair) => {
                let (name, value) = wanted(pair);
                search::friends_with(graph, id, &[(&name, value)])?.len()
            }
            Query::Find([a, b]) => {
                let ((a, x), (b, y)) = (wanted(a), wanted(b));
                search::find(graph, &[(&a, x), (&b, y)])?.len()
            }
            Query::FriendsBy(id, ty) => search::friends_by(graph, id, ty)?.len(),
            Query::FriendsData(id, ty) => search::friends_data(graph, id, ty)?.len(),
            Query::OneProperty(id, name) => graph.get_node_property(id, Some(&[name]))?.len(),
        })
    }
}

/// Classes of a mix: name and share. `assoc_add` (0.1 %) is left out.
pub(crate) fn shares(mix: Mix) -> &'static [(&'static str, f64)] {
    match mix {
        Mix::Tao => &[
            ("assoc_range", 40.8),
            ("obj_get", 28.8),
            ("assoc_get", 15.7),
            ("assoc_count", 11.7),
            ("assoc_time_range", 2.8),
            ("one property", 0.0),
        ],
        Mix::GraphSearch => &[
            ("GS1 friends", 20.0),
            ("GS2 friends with a value", 20.0),
            ("GS3 nodes with two values", 20.0),
            ("GS4 friends by a type", 20.0),
            ("GS5 data of a type", 20.0),
        ],
    }
}

/// Runs a workload.
///
/// # Errors
/// A graph without edges or properties; errors of queries; cancellation.
pub fn run(graph: &PropertyGraph, config: &Config, cancel: &CancelToken) -> Result<Measured> {
    let mut draw = Draw::new(graph, config, cancel)?;
    let mut classes = Vec::new();
    for &(name, share) in shares(config.mix) {
        let queries = draw.queries(name, config.queries)?;
        classes.push(alone(name, share, &queries, |query| query.run(graph), cancel)?);
    }
    let all = draw.mix(config)?;
    let threads = config.threads.max(1);
    let run = |_: usize, some: &[Query]| -> Result<()> {
        for query in some {
            black_box(query.run(graph)?);
        }
        Ok(())
    };
    let seconds = together(&all, threads, 16, run, cancel)?;
    let rate = all.len() as f64 / seconds;
    Ok(Measured { classes, threads, queries: all.len(), seconds, rate })
}

/// Draws queries by the rules of the benchmarks: types uniform, nodes by [`Config::access`], both drawn
/// again until the list has an edge.
pub(crate) struct Draw<'g> {
    graph: &'g PropertyGraph,
    nodes: Nodes,
    cancel: &'g CancelToken,
    random: Random,
}

impl<'g> Draw<'g> {
    /// # Errors
    /// A graph without edges or properties; an exponent that is not positive.
    pub fn new(graph: &'g PropertyGraph, config: &Config, cancel: &'g CancelToken) -> Result<Self> {
        let ids = graph.get_node_ids(&[])?;
        if ids.is_empty() || graph.num_edges() == 0 || graph.node_properties().is_empty() {
            let told = "a workload needs nodes with properties, and edges";
            return Err(Error::Invalid(told.into()));
        }
        let mut random = Random(config.seed);
        let nodes = Nodes::new(ids, config.access, config.exponent, &mut random)?;
        Ok(Draw { graph, nodes, cancel, random })
    }

    /// Queries of all classes, in their shares and in random order.
    pub fn mix(&mut self, config: &Config) -> Result<Vec<Query>> {
        let shares = shares(config.mix);
        let whole: f64 = shares.iter().map(|(_, share)| share).sum();
        let mut all = Vec::new();
        for &(name, share) in shares {
            let count = (config.queries as f64 * share / whole).round();
            // A share of a number of queries.
            all.extend(self.queries(name, count as usize)?);
        }
        self.random.shuffle(&mut all);
        Ok(all)
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    fn node(&mut self) -> ExternalId {
        self.nodes.draw(&mut self.random)
    }

    /// A node and a type of which it has edges.
    fn list(&mut self) -> Result<(ExternalId, String)> {
        loop {
            self.cancel.check()?;
            let id = self.node();
            let types = self.graph.edge_types();
            let at = self.below(types.len());
            let ty = types.get(at).cloned().unwrap_or_default();
            if !self.graph.get_edge_record(&id, &ty)?.is_empty() {
                return Ok((id, ty));
            }
        }
    }

    /// A node that has properties, and two of their values, which may be the same.
    fn values(&mut self) -> Result<(ExternalId, [(String, Value); 2])> {
        loop {
            self.cancel.check()?;
            let id = self.node();
            let found = self.graph.get_node_property(&id, None)?;
            let [a, b] = [self.below(found.len()), self.below(found.len())];
            let value = |at: usize| found.get(at).map(|(name, v)| ((*name).to_owned(), v.clone()));
            if let (Some(a), Some(b)) = (value(a), value(b)) {
                return Ok((id, [a, b]));
            }
        }
    }

    fn query(&mut self, name: &str) -> Result<Query> {
        Ok(match name {
            "obj_get" => Query::ObjGet(self.node()),
            "one property" => {
                let (id, [(name, _), _]) = self.values()?;
                Query::OneProperty(id, name)
            }
            "assoc_get" => {
                let (id, ty) = self.list()?;
                let all = self.graph.get_neighbor_ids(&id, Some(&ty), &[])?;
                let half = all.into_iter().filter(|_| self.below(2) == 0).collect();
                Query::AssocGet(id, ty, half)
            }
            "assoc_time_range" => {
                let (id, ty) = self.list()?;
                let record = self.graph.get_edge_record(&id, &ty)?;
                let oldest = self.graph.get_edge_data(&record, 0)?.timestamp;
                let newest = self.graph.get_edge_data(&record, record.len() - 1)?.timestamp;
                let span = newest.saturating_sub(oldest).max(1) as usize;
                let ends = [self.below(span), self.below(span)].map(|at| oldest + at as i64);
                Query::AssocTimeRange(id, ty, ends[0].min(ends[1]), ends[0].max(ends[1]))
            }
            "GS1 friends" => Query::Friends(self.list()?.0),
            "GS2 friends with a value" => {
                let (id, _) = self.list()?;
                let (_, [pair, _]) = self.values()?;
                Query::FriendsWith(id, pair)
            }
            "GS3 nodes with two values" => Query::Find(self.values()?.1),
            "assoc_range" | "assoc_count" | "GS4 friends by a type" | "GS5 data of a type" => {
                let (id, ty) = self.list()?;
                match name {
                    "assoc_range" => Query::AssocRange(id, ty),
                    "assoc_count" => Query::AssocCount(id, ty),
                    "GS4 friends by a type" => Query::FriendsBy(id, ty),
                    _ => Query::FriendsData(id, ty),
                }
            }
            other => return Err(Error::Invalid(format!("unknown class of queries {other}"))),
        })
    }

    pub fn queries(&mut self, name: &str, count: usize) -> Result<Vec<Query>> {
        let mut queries = Vec::with_capacity(count);
        for _ in 0..count {
            self.cancel.check()?;
            queries.push(self.query(name)?);
        }
        Ok(queries)
    }
}

/// Times each query alone; `ask` returns the number of its results.
pub(crate) fn alone(
    name: &'static str,
    share: f64,
    queries: &[Query],
    ask: impl Fn(&Query) -> Result<usize>,
    cancel: &CancelToken,
) -> Result<Class> {
    // A tenth to warm up.
    for query in queries.iter().take(queries.len() / 10) {
        ask(query)?;
    }
    let (mut results, mut times) = (0, Vec::with_capacity(queries.len()));
    let began = Instant::now();
    for query in queries {
        let start = Instant::now();
        results += black_box(ask(query)?);
        times.push(start.elapsed().as_secs_f64() * 1e6);
        if times.len() % 64 == 0 {
            cancel.check()?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(class(name, share, times, results as u64, seconds))
}

/// A class from the microseconds of each query, the sum of all results, and the seconds of all queries.
pub(crate) fn class(
    name: &'static str,
    share: f64,
    mut times: Vec<f64>,
    results: u64,
    seconds: f64,
) -> Class {
    times.sort_by(f64::total_cmp);
    let quantile = |part: f64| {
        let at = (times.len() as f64 * part) as usize;
        times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or(0.0)
    };
    Class {
        name,
        share,
        results: results as f64 / times.len().max(1) as f64,
        rate: times.len() as f64 / seconds,
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
    }
}

/// Seconds that all queries take on so many threads; `run` gets the number of the thread and some queries,
/// `at_once` or fewer.
pub(crate) fn together(
    queries: &[Query],
    threads: usize,
    at_once: usize,
    run: impl Fn(usize, &[Query]) -> Result<()> + Sync,
    cancel: &CancelToken,
) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let work = |thread: usize| -> Result<()> {
        loop {
            let from = next.fetch_add(at_once, Relaxed);
            let end = queries.len().min(from + at_once);
            let Some(some) = queries.get(from..end).filter(|some| !some.is_empty()) else {
                return Ok(());
            };
            cancel.check()?;
            run(thread, some)?;
        }
    };
    let began = Instant::now();
    nakshi_io::run_workers(threads, work)?;
    Ok(began.elapsed().as_secs_f64())
}
