//! Counters and gauges of a server, for Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::error::{Error, ErrorKind};

/// Outcome of a call that was answered.
const ANSWERED: &str = "ok";

/// Kind of a call, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    call: &'static str,
    outcome: &'static str,
}

/// Kind of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    call: &'static str,
}

type Number = Gauge<u64, AtomicU64>;

/// Counters of calls, and the numbers that are read when somebody asks for them.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Ended, Counter>,
    seconds: Family<Asked, Histogram, fn() -> Histogram>,
    numbers: Numbers,
}

/// Numbers of the present state.
pub(crate) struct Numbers {
    pub(crate) commit: Number,
    pub(crate) nodes: Number,
    pub(crate) edges: Number,
    pub(crate) log_bytes: Number,
    pub(crate) fragments: Number,
    pub(crate) memory_bytes: Number,
    pub(crate) cache_hits: Number,
    pub(crate) cache_misses: Number,
    pub(crate) running_calls: Number,
    pub(crate) connections: Number,
    pub(crate) kept_states: Number,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("nakshi");
        // From 16 us to 67 s, four times as much each.
        let histogram: fn() -> Histogram = || Histogram::new(exponential_buckets(16e-6, 4.0, 12));
        let seconds = Family::new_with_constructor(histogram);
        let calls = Family::default();
        registry.register("calls", "Calls that have ended, by outcome", calls.clone());
        let help = "Time until a call was answered";
        registry.register_with_unit("call_duration", help, Unit::Seconds, seconds.clone());
        let mut number = |name: &str, help: &str| {
            let gauge = Number::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let numbers = Numbers {
            commit: number("commit", "Number of the last commit"),
            nodes: number("nodes", "Nodes of the graph"),
            edges: number("edges", "Edges of the graph"),
            log_bytes: number("log_bytes", "Changes since the last compaction"),
            fragments: number("fragments", "Fragments that the log was frozen into"),
            memory_bytes: number("memory_bytes", "Files and fragments in memory"),
            cache_hits: number("cache_hits", "Reads of pages that the cache had"),
            cache_misses: number("cache_misses", "Reads of pages that came from the disk"),
            running_calls: number("running_calls", "Calls and transactions that run"),
            connections: number("connections", "Open connections"),
            kept_states: number("kept_states", "Earlier states that are kept for their readers"),
        };
        Metrics { registry, calls, seconds, numbers }
    }

    /// Counts a call that began at an instant.
    pub(crate) fn count<T>(&self, call: &'static str, began: Instant, ended: &Result<T, Error>) {
        let outcome = ended.as_ref().map_or_else(|error| error.kind.name(), |_| ANSWERED);
        self.calls.get_or_create(&Ended { call, outcome }).inc();
        self.seconds.get_or_create(&Asked { call }).observe(began.elapsed().as_secs_f64());
    }

    /// Counts a call that was refused before its body was read.
    pub(crate) fn refuse(&self, kind: ErrorKind) {
        let ended = Ended { call: "refused", outcome: kind.name() };
        self.calls.get_or_create(&ended).inc();
    }

    /// All numbers in the text format of OpenMetrics, after `set` has updated those of the present state.
    pub(crate) fn text(&self, set: impl FnOnce(&Numbers)) -> String {
        set(&self.numbers);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
