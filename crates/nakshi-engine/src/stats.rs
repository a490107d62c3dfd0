//! Statistics of a run, by iteration.

use crate::graph::Graph;
use nakshi_io::IoSnapshot;
use serde::Serialize;
use std::time::Instant;

/// One iteration of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Iteration {
    /// The kind of work, in a word.
    pub phase: &'static str,
    /// Steps that this entry sums up: several where they are short, as in a deep search.
    pub steps: u64,
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

/// Iterations that a log keeps one by one; later ones add to the last of their phase.
const MOST_ITERATIONS: usize = 10_000;

impl Iteration {
    /// Adds what happened later in the same phase.
    fn add(&mut self, later: &Iteration) {
        self.steps += later.steps;
        self.frontier += later.frontier;
        self.seconds += later.seconds;
        self.bytes_read += later.bytes_read;
        self.requests += later.requests;
        self.hits += later.hits;
        self.misses += later.misses;
    }
}

/// A run's log and its totals.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunStats {
    /// Iterations in order. Short steps are summed up, and from 10,000 iterations on all further ones of a
    /// phase.
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

impl RunStats {
    /// Steps of all iterations.
    pub fn steps(&self) -> u64 {
        self.iterations.iter().map(|iteration| iteration.steps).sum()
    }

    /// Adds what happened afterwards.
    pub fn append(&mut self, later: RunStats) {
        self.iterations.extend(later.iterations);
        self.seconds += later.seconds;
        self.bytes_read += later.bytes_read;
        self.requests += later.requests;
        self.hits += later.hits;
        self.misses += later.misses;
    }
}

/// Collects [`RunStats`] while an algorithm runs.
#[derive(Debug)]
pub struct IterationLog<'g> {
    graph: &'g Graph,
    started: Instant,
    last: Instant,
    first_io: IoSnapshot,
    last_io: IoSnapshot,
    iterations: Vec<Iteration>,
}

impl<'g> IterationLog<'g> {
    /// Starts the clock.
    pub fn new(graph: &'g Graph) -> Self {
        let (now, io) = (Instant::now(), graph.io_stats());
        IterationLog {
            graph,
            started: now,
            last: now,
            first_io: io,
            last_io: io,
            iterations: Vec::new(),
        }
    }

    /// Ends an iteration: its time and reads are what has passed since the last end.
    pub fn end(&mut self, phase: &'static str, frontier: u64) {
        self.end_steps(phase, 1, frontier);
    }

    /// Ends several short steps, which are one iteration of the log; does nothing if there were none.
    pub(crate) fn end_steps(&mut self, phase: &'static str, steps: u64, frontier: u64) {
        if steps == 0 {
            return;
        }
        let (now, total) = (Instant::now(), self.graph.io_stats());
        let io = total - self.last_io;
        let seconds = (now - self.last).as_secs_f64();
        (self.last, self.last_io) = (now, total);
        let iteration = Iteration {
            phase,
            steps,
            frontier,
            seconds,
            bytes_read: io.bytes_read,
            requests: io.requests,
            hits: io.hits + io.pinned_hits,
            misses: io.misses,
        };
        let full = self.iterations.len() >= MOST_ITERATIONS;
        match self.iterations.iter_mut().rfind(|last| full && last.phase == phase) {
            Some(last) => last.add(&iteration),
            None => self.iterations.push(iteration),
        }
    }

    /// Iterations so far.
    pub fn iterations(&self) -> usize {
        self.iterations.len()
    }

    /// Stops the clock.
    pub fn finish(self) -> RunStats {
        let io = self.graph.io_stats() - self.first_io;
        RunStats {
            iterations: self.iterations,
            seconds: self.started.elapsed().as_secs_f64(),
            bytes_read: io.bytes_read,
            requests: io.requests,
            hits: io.hits + io.pinned_hits,
            misses: io.misses,
        }
    }
}
