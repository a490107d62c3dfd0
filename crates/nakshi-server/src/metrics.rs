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

/// Host and port of another server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Other {
    server: String,
}

type Number = Gauge<u64, AtomicU64>;

/// Counters of calls, and the numbers that are read when somebody asks for them.
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Ended, Counter>,
    seconds: Family<Asked, Histogram, fn() -> Histogram>,
    numbers: Numbers,
    shared_log: Option<SharedLog>,
    /// Queries that this server has sent to others.
    pub(crate) shipped: Shipped,
}

/// Parts of queries that were sent to other servers, and their answers.
#[derive(Debug, Default)]
pub(crate) struct Shipped {
    requests: Counter,
    sent: Counter,
    received: Counter,
}

impl Shipped {
    /// Counts a request of so many bytes.
    pub(crate) fn sent(&self, bytes: usize) {
        self.requests.inc();
        self.sent.inc_by(bytes as u64);
    }

    /// Counts an answer of so many bytes.
    pub(crate) fn received(&self, bytes: usize) {
        self.received.inc_by(bytes as u64);
    }
}

/// Numbers of a server of several, in the log of all of them.
struct SharedLog {
    leads: Number,
    term: Number,
    last: Number,
    applied: Number,
    lag: Family<Other, Number>,
}

/// How far a server is in the log of all servers.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub(crate) leads: bool,
    pub(crate) term: u64,
    /// Index of the last entry of its log, and of the last one that its store has.
    pub(crate) last: u64,
    pub(crate) applied: u64,
    /// Entries that the others lack, by host and port; only the leader knows them.
    pub(crate) lags: Vec<(String, u64)>,
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
    /// Metrics of a server, which may be one of several.
    pub(crate) fn new(one_of_several: bool) -> Self {
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
        let shared_log = one_of_several.then(|| SharedLog {
            leads: number("leads", "1 while this server makes the commits"),
            term: number("term", "How often the servers have wanted to elect a leader"),
            last: number("shared_log_last_index", "Last entry of the servers' log here"),
            applied: number("shared_log_applied_index", "Last entry that the store has"),
            lag: Family::default(),
        });
        if let Some(SharedLog { lag, .. }) = &shared_log {
            let help = "Entries that another server lacks, as the leader knows it";
            registry.register("shared_log_lag_entries", help, lag.clone());
        }
        let shipped = Shipped::default();
        if one_of_several {
            let mut counter = |name: &str, help: &str, counter: &Counter| {
                registry.register(name, help, counter.clone());
            };
            let help = "Parts of queries that were sent to servers that have their nodes";
            counter("shipped_requests", help, &shipped.requests);
            counter("shipped_sent_bytes", "Bytes of these parts", &shipped.sent);
            counter("shipped_received_bytes", "Bytes of their answers", &shipped.received);
        }
        Metrics { registry, calls, seconds, numbers, shared_log, shipped }
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
    pub(crate) fn text(&self, set: impl FnOnce(&Numbers), standing: Option<Standing>) -> String {
        set(&self.numbers);
        if let (Some(log), Some(standing)) = (&self.shared_log, standing) {
            log.leads.set(standing.leads.into());
            log.term.set(standing.term);
            log.last.set(standing.last);
            log.applied.set(standing.applied);
            // What it knew while it led is old.
            log.lag.clear();
            for (server, lag) in standing.lags {
                log.lag.get_or_create(&Other { server }).set(lag);
            }
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
