//! Every long call stops soon after it is asked to, on a slow disk too.

#![allow(clippy::unwrap_used)]

use nakshi_engine::{CancelToken, Context, EngineMode, Error, Graph, Summary, algo};
use nakshi_io::{FaultPlan, FaultyBackend, default_backend};
use nakshi_store::generate::Kronecker;
use nakshi_store::import::{Hooks, ImportOptions, Input, import};
use nakshi_store::{OpenOptions, Store};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest delay of a stop: 0.2 s by rule; the rest is for a machine that is busy.
const ALLOWED: Duration = Duration::from_millis(700);

fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("apsp", json!({"sample": 128})),
        ("article-rank", json!({"iterations": 1000, "tolerance": 0.0})),
        ("articulation-points", json!({})),
        ("bc", json!({})),
        ("bfs", json!({"source": 0, "parents": true})),
        ("bfs", json!({"source": 0, "variant": "vertex"})),
        ("cdlp", json!({"iterations": 100})),
        ("densest-subgraph", json!({"passes": 1000})),
        ("diameter", json!({"sweeps": 1000})),
        ("eccentricity", json!({})),
        ("gee", json!({"labeled": [0], "classes": [63], "normalized": true})),
        ("k-core", json!({})),
        ("k-truss", json!({"k": 5})),
        ("label-propagation", json!({})),
        ("lcc", json!({})),
        ("mis", json!({})),
        ("pagerank", json!({"iterations": 1000, "tolerance": 0.0})),
        ("pagerank", json!({"iterations": 1000, "variant": "delta"})),
        ("pagerank", json!({"iterations": 1000, "variant": "vertex"})),
        ("rich-club", json!({})),
        ("scan-statistics", json!({})),
        ("scc", json!({})),
        ("similar", json!({"hashes": 1024, "rows": 1})),
        ("sssp", json!({"source": 0})),
        ("triangles", json!({"per_vertex": true})),
        ("wcc", json!({})),
        ("wcc", json!({"variant": "vertex"})),
        ("weighted-matching", json!({})),
    ]
}

fn store(folder: &Path, edges: Input<'_>) -> PathBuf {
    let path = folder.join("graph.nakshi");
    let options = ImportOptions { directed: false, ..ImportOptions::default() };
    import(vec![edges], &path, &options, &Hooks::default()).unwrap();
    path
}

/// Opens and runs, is asked to stop after `delay`, and says how long it went on; `None` if it
/// was over before.
fn late(
    store: &Arc<Store>,
    name: &str,
    parameters: &Value,
    mode: EngineMode,
    delay: Duration,
) -> Option<Duration> {
    let cancel = CancelToken::new();
    let cx = Context::new().with_threads(2).with_mode(mode).with_cancel(cancel.clone());
    let began = Instant::now();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(delay);
            cancel.cancel();
        });
        let entry = algo::find(name).unwrap();
        let needs = (entry.needs)(parameters, &Summary::of_store(store)).unwrap();
        let graph = Graph::open(store, &needs, &cx).map_err(|e| (e, began.elapsed()))?;
        let run = (entry.run)(parameters, &graph, &cx);
        // With what it holds.
        drop(graph);
        run.map(|_| began.elapsed()).map_err(|e| (e, began.elapsed()))
    });
    match result {
        // Over before, or it did not listen.
        Ok(took) => took.checked_sub(delay),
        Err((Error::Cancelled, took)) => Some(took.saturating_sub(delay)),
        Err((other, _)) => panic!("{name}: {other}"),
    }
}

/// Seen red with ranks of ids that are read without the token.
#[test]
fn a_stop_on_a_slow_disk() {
    let folder = tempfile::tempdir().unwrap();
    // Vertices rather than edges: their ids alone take eight reads, one after the other.
    let edges = (0..1_000_000u64).map(|v| (v, v * v % 1_000_003));
    let path = store(folder.path(), Input::Edges(Box::new(edges)));
    // What is in flight is waited for, since the device writes to memory.
    let delay = Duration::from_millis(200);
    let plan = FaultPlan { delays: 1.0, delay, ..FaultPlan::default() };
    let runs = all().into_iter().flat_map(|run| [50, 500, 1100].map(|ms| (run.clone(), ms)));
    // All at once: nearly all of the time is waiting.
    std::thread::scope(|scope| {
        for ((name, parameters), ms) in runs {
            let (path, plan) = (&path, plan.clone());
            scope.spawn(move || {
                let backend = Arc::new(FaultyBackend::new(default_backend(), plan.clone()));
                let options = OpenOptions { backend: Some(backend), ..OpenOptions::default() };
                let store = Store::open(path, &options).unwrap();
                let delay = Duration::from_millis(ms);
                if let Some(late) = late(&store, name, &parameters, EngineMode::Ssd, delay) {
                    let place = format!("{name} {parameters} after {ms} ms");
                    assert!(late < plan.delay + ALLOWED, "{place}: {late:?} late");
                }
            });
        }
    });
}

/// Seen red with kernels that do not look at the token: the scan of cdlp, the intersections of lcc,
/// and vertex programs.
#[test]
fn a_stop_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let generator = Kronecker::new(19);
    let path = store(folder.path(), Input::Generated(&generator));
    let store = Store::open(path, &OpenOptions::default()).unwrap();
    for (name, parameters) in all() {
        for ms in [5, 60, 300, 900] {
            let delay = Duration::from_millis(ms);
            match late(&store, name, &parameters, EngineMode::Memory, delay) {
                Some(late) => {
                    eprintln!("{name} {parameters} after {ms} ms: {late:?} late");
                    assert!(late < ALLOWED, "{name} {parameters} after {ms} ms: {late:?} late");
                }
                None => break,
            }
        }
    }
}
