//! Changes for minutes, while the log is frozen and fragments are merged: rates, stalls and bytes of the
//! writer, and the latencies of reads beside it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{Change, LayersReport, PropertyStore, Value};
use nakshi_store::{Error, ExternalId, Result};
use serde::Serialize;

use crate::draw::Random;
use crate::queries::{Class, Config, Draw, Query, class};

/// Intervals for which the rate is told.
const INTERVALS: u32 = 10;
/// Changes of a commit.
const BATCH: usize = 100;
/// Property that is changed, and its bytes.
const DATA: &str = "data";
const BYTES: usize = 32;

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Changes after which the writer stops; 0 to write until `lasts` is over.
    pub changes: u64,
    /// How long the writer writes at most.
    pub lasts: Duration,
    /// How long the reads are measured before and after.
    pub idle: Duration,
}

/// Measurements of [`run`].
#[derive(Debug, Clone, Serialize)]
pub struct Sustained {
    /// Reads before, during and after the changes, all threads together; microseconds.
    pub phases: Vec<Class>,
    /// Number of changes, and seconds that they took.
    pub changes: u64,
    /// Seconds of the changes.
    pub seconds: f64,
    /// Changes a second in each tenth of the run.
    pub rates: Vec<f64>,
    /// The longest commit of 100 changes, in milliseconds, and their 99th percentile.
    pub longest: f64,
    /// 99th percentile of the commits, in milliseconds.
    pub p99: f64,
    /// Bytes of changes as the log has them.
    pub log_bytes: u64,
    /// Bytes that the process has written while the changes were made.
    pub written: u64,
    /// The fragments at the end.
    pub layers: LayersReport,
}

/// Times of the reads of a phase, in microseconds, and the sum of their results.
type Times = (Vec<f64>, u64);

/// Makes changes from one thread while other threads repeat the queries of a mix. Half of the changes add
/// edges, a third give nodes a new value, the rest add nodes and delete edges that were added; nodes are
/// drawn uniformly.
///
/// # Errors
/// A graph without edges or properties; errors of queries and changes; cancellation.
pub fn run(
    store: &PropertyStore,
    config: &Config,
    load: Load,
    cancel: &CancelToken,
) -> Result<Sustained> {
    let graph = store.snapshot();
    let queries = Draw::new(&graph, config, cancel)?.mix(config)?;
    let nodes = graph.get_node_ids(&[])?;
    let types = graph.edge_types().to_vec();
    drop(graph);
    let (before, _) = read_for(store, config, &queries, load.idle, cancel)?;
    let mut writer = Writer { nodes, types, draw: Random(config.seed), added: Vec::new(), next: 0 };
    let (wrote, log) = (written(), std::cell::Cell::new(0_u64));
    let done = AtomicBool::new(false);
    let lead = || {
        let _over = Over(&done);
        writer.write(store, load, cancel, &log)
    };
    let read = |reader: usize| reading(store, &queries, reader, config.threads, &done, cancel);
    let (made, during) = nakshi_io::run_beside(config.threads.max(1), lead, read)?;
    let written = written().saturating_sub(wrote);
    let (after, seconds) = read_for(store, config, &queries, load.idle, cancel)?;
    let phase = |name, (times, sum): Times, seconds| class(name, 100.0, times, sum, seconds);
    let phases = vec![
        phase("before", before, load.idle.as_secs_f64()),
        phase("during", joined(during), made.seconds),
        phase("after", after, seconds),
    ];
    let mut commits = made.commits;
    commits.sort_by(f64::total_cmp);
    let at = |part: f64| commits.get((commits.len() as f64 * part) as usize).copied();
    Ok(Sustained {
        phases,
        changes: made.changes,
        seconds: made.seconds,
        rates: made.rates,
        longest: commits.last().copied().unwrap_or(0.0),
        p99: at(0.99).unwrap_or(0.0),
        log_bytes: log.get(),
        written,
        layers: store.layers(),
    })
}

struct Writer {
    nodes: Vec<ExternalId>,
    types: Vec<String>,
    draw: Random,
    /// Ends of some of the edges that were added.
    added: Vec<(ExternalId, String, ExternalId)>,
    next: u64,
}

/// What a writer has done.
struct Made {
    changes: u64,
    seconds: f64,
    rates: Vec<f64>,
    /// Milliseconds of each commit.
    commits: Vec<f64>,
}

impl Writer {
    fn write(
        &mut self,
        store: &PropertyStore,
        load: Load,
        cancel: &CancelToken,
        log: &std::cell::Cell<u64>,
    ) -> Result<Made> {
        let mut made = Made { changes: 0, seconds: 0.0, rates: Vec::new(), commits: Vec::new() };
        let (began, mut last) = (Instant::now(), (Instant::now(), 0));
        let all = |made: &Made| load.changes > 0 && made.changes >= load.changes;
        while !all(&made) && began.elapsed() < load.lasts {
            cancel.check()?;
            let changes: Vec<Change> = (0..BATCH).map(|_| self.change()).collect();
            let (commit, logged) = (Instant::now(), store.log_bytes());
            store.commit(&changes)?;
            made.commits.push(commit.elapsed().as_secs_f64() * 1e3);
            // The count begins anew when the log is frozen.
            let now = store.log_bytes();
            log.set(log.get() + if now < logged { now } else { now - logged });
            made.changes += BATCH as u64;
            let over = match load.changes {
                0 => last.0.elapsed() >= load.lasts / INTERVALS,
                changes => made.changes - last.1 >= changes / u64::from(INTERVALS),
            };
            if over {
                made.rates.push((made.changes - last.1) as f64 / last.0.elapsed().as_secs_f64());
                last = (Instant::now(), made.changes);
            }
        }
        made.seconds = began.elapsed().as_secs_f64();
        Ok(made)
    }

    fn node(&mut self) -> ExternalId {
        let at = self.draw.below(self.nodes.len());
        self.nodes.get(at).cloned().unwrap_or(ExternalId::U64(0))
    }

    fn data(&mut self) -> Vec<(String, Value)> {
        let byte = |_| char::from(b'a' + (self.draw.next() % 26) as u8);
        vec![(DATA.to_owned(), Value::String((0..BYTES).map(byte).collect()))]
    }

    fn change(&mut self) -> Change {
        match self.draw.below(20) {
            0..10 => {
                let (source, destination) = (self.node(), self.node());
                let at = self.draw.below(self.types.len());
                let edge_type = self.types.get(at).cloned().unwrap_or_default();
                if self.added.len() < 1 << 16 {
                    self.added.push((source.clone(), edge_type.clone(), destination.clone()));
                }
                let timestamp = (self.draw.next() >> 24).cast_signed();
                let properties = self.data();
                Change::AppendEdge { source, edge_type, destination, timestamp, properties }
            }
            10..17 => Change::UpdateNode { id: self.node(), properties: self.data(), merge: true },
            17..19 => {
                self.next += 1;
                let number = (u64::from(std::process::id()) << 32) + self.next;
                let id = match self.nodes.first() {
                    Some(ExternalId::Text(_) | ExternalId::Bytes(_)) => {
                        ExternalId::Text(format!("sustained-{number}"))
                    }
                    _ => ExternalId::U64((1 << 62) + number),
                };
                Change::AppendNode { id, properties: self.data() }
            }
            _ => match self.added.is_empty() {
                true => {
                    Change::UpdateNode { id: self.node(), properties: self.data(), merge: true }
                }
                false => {
                    let at = self.draw.below(self.added.len());
                    let (source, edge_type, destination) = self.added.swap_remove(at);
                    Change::DeleteEdge { source, edge_type, destination }
                }
            },
        }
    }
}

/// Reads on all threads for a while; returns how long that took, too.
fn read_for(
    store: &PropertyStore,
    config: &Config,
    queries: &[Query],
    lasts: Duration,
    cancel: &CancelToken,
) -> Result<(Times, f64)> {
    let (done, began) = (AtomicBool::new(false), Instant::now());
    let lead = || {
        let _over = Over(&done);
        while began.elapsed() < lasts {
            cancel.check()?;
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok::<_, Error>(())
    };
    let read = |reader: usize| reading(store, queries, reader, config.threads, &done, cancel);
    let ((), times) = nakshi_io::run_beside(config.threads.max(1), lead, read)?;
    Ok((joined(times), began.elapsed().as_secs_f64()))
}

fn joined(times: Vec<Times>) -> Times {
    times.into_iter().fold(Times::default(), |(mut all, sum), (times, own)| {
        all.extend(times);
        (all, sum + own)
    })
}

/// Sets a flag when it is dropped.
struct Over<'d>(&'d AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs the queries in turn, each on a new snapshot, until the flag is set.
fn reading(
    store: &PropertyStore,
    queries: &[Query],
    reader: usize,
    readers: usize,
    done: &AtomicBool,
    cancel: &CancelToken,
) -> Result<Times> {
    let mut times = Times::default();
    for query in queries.iter().cycle().skip(reader * queries.len() / readers.max(1)) {
        if done.load(Relaxed) {
            break;
        }
        cancel.check()?;
        let began = Instant::now();
        times.1 += std::hint::black_box(query.run(&store.snapshot())?) as u64;
        times.0.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

/// Bytes that this process has written; 0 where the system does not say. The bytes that it has caused to be
/// written (`write_bytes`) count a whole folio of the page cache for each page of the log.
fn written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}
