//! Reads while a store is compacted: the same queries before, during and after.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{CompactReport, LoadOptions, PropertyStore};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, Result};
use serde::Serialize;

use crate::queries::{Class, Config, Draw, Query, class};

/// Phases of a run. Queries of the first phase are not counted.
const PHASES: [&str; 4] = ["warm-up", "before", "during", "after"];

/// Measurements of [`run`].
#[derive(Debug, Clone, Serialize)]
pub struct Compacted {
    /// The mix before, during and after the compaction, all threads together.
    pub phases: Vec<Class>,
    /// Threads that read.
    pub threads: usize,
    /// Report of the compaction.
    pub compaction: CompactReport,
}

/// Latencies in microseconds and results, by phase.
type Times = [(Vec<f64>, u64); PHASES.len()];

/// Compacts a store while threads repeat the queries of the mix of `config`. Each query reads a new
/// snapshot, and a thread sends a query when it has the answer to its last one. The threads read for
/// `idle` before and after the compaction.
///
/// # Errors
/// A graph without edges or properties; errors of queries and of [`PropertyStore::compact`];
/// cancellation.
pub fn run(
    store: &PropertyStore,
    config: &Config,
    options: &LoadOptions,
    idle: Duration,
    cancel: &CancelToken,
) -> Result<Compacted> {
    let queries = Draw::new(&store.snapshot(), config, cancel)?.mix(config)?;
    let (threads, phase) = (config.threads.max(1), AtomicUsize::new(0));
    let mut seconds = [0.0; PHASES.len()];
    let read = |reader: usize| reading(store, &queries, reader * queries.len() / threads, &phase);
    let mut compact = || -> Result<CompactReport> {
        let mut report = None;
        for (at, seconds) in seconds.iter_mut().enumerate() {
            phase.store(at, Relaxed);
            let began = Instant::now();
            match PHASES.get(at) {
                Some(&"during") => {
                    let hooks = Hooks { cancel: cancel.clone(), ..Hooks::default() };
                    report = Some(store.compact(options, &hooks)?);
                }
                Some(&"warm-up") => wait(idle / 4, cancel)?,
                _ => wait(idle, cancel)?,
            }
            *seconds = began.elapsed().as_secs_f64();
        }
        report.ok_or(Error::Internal("no compaction"))
    };
    let lead = || {
        // Readers stop when the last phase is over, also after an error.
        let _over = Over(&phase);
        compact()
    };
    let (compaction, done) = nakshi_io::run_beside(threads, lead, read)?;
    let mut all = Times::default();
    for done in done {
        for (all, (times, results)) in all.iter_mut().zip(done) {
            all.0.extend(times);
            all.1 += results;
        }
    }
    let phases = PHASES.into_iter().zip(all).zip(seconds).skip(1);
    let phases =
        phases.map(|((name, (times, sum)), seconds)| class(name, 100.0, times, sum, seconds));
    Ok(Compacted { phases: phases.collect(), threads, compaction })
}

/// Ends the last phase when it is dropped.
struct Over<'p>(&'p AtomicUsize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(PHASES.len(), Relaxed);
    }
}

/// Runs the queries in turn from place `at` on, until the last phase is over.
fn reading(
    store: &PropertyStore,
    queries: &[Query],
    at: usize,
    phase: &AtomicUsize,
) -> Result<Times> {
    let mut times = Times::default();
    for query in queries.iter().cycle().skip(at) {
        let Some((times, sum)) = times.get_mut(phase.load(Relaxed)) else { break };
        let began = Instant::now();
        *sum += std::hint::black_box(query.run(&store.snapshot())?) as u64;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

fn wait(lasts: Duration, cancel: &CancelToken) -> Result<()> {
    let began = Instant::now();
    while let Some(left) = lasts.checked_sub(began.elapsed()) {
        cancel.check()?;
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
    Ok(())
}
