//! What happened in a run, per iteration.

use crate::graph::Graph;
use serde::Serialize;
use std::time::Instant;

/// One iteration of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Iteration {
    /// What the iteration did, in a word.
    pub phase: &'static str,
    /// Vertices in the frontier, or visited.
    pub frontier: u64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes read from the SSD.
    pub bytes_read: u64,
    /// Read requests.
    pub requests: u64,
    /// Pages found in the cache.
    pub hits: u64,
    /// Pages not found in the cache.
    pub misses: u64,
}

/// A run's log and its totals.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Iterations in order.
    pub iterations: Vec<Iteration>,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes read from the SSD.
    pub bytes_read: u64,
    /// Read requests.
    pub requests: u64,
    /// Pages found in the cache.
    pub hits: u64,
    /// Pages not found in the cache.
    pub misses: u64,
}

/// Collects [`RunStats`] while an algorithm runs.
#[derive(Debug)]
pub struct IterationLog {
    started: Instant,
    last: Instant,
    stats: RunStats,
}

impl IterationLog {
    /// Starts the clock.
    pub fn new(_graph: &Graph) -> Self {
        let now = Instant::now();
        IterationLog { started: now, last: now, stats: RunStats::default() }
    }

    /// Ends an iteration: its time and reads are what has passed since the last end.
    pub fn end(&mut self, phase: &'static str, frontier: u64) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        self.stats.iterations.push(Iteration { phase, frontier, seconds, ..Iteration::default() });
    }

    /// Iterations so far.
    pub fn iterations(&self) -> usize {
        self.stats.iterations.len()
    }

    /// Stops the clock.
    pub fn finish(mut self) -> RunStats {
        self.stats.seconds = self.started.elapsed().as_secs_f64();
        self.stats
    }
}
