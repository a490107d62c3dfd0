//! No run takes more memory than its estimate says.
//!
//! Each algorithm runs in a process of its own, since what one run has freed hides what the
//! next one takes, from the SSD and with the smallest budget that works. Many vertices with
//! few edges make the state the larger part, so that a byte per vertex shows.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use nakshi_engine::{Context, EngineMode, Estimate, Graph, Summary, algo};
use nakshi_store::import::{Hooks, ImportOptions, Input, import};
use nakshi_store::{OpenOptions, Store};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const VERTICES: u64 = 1_000_000;
/// Names what the child runs: store, algorithm, parameters, separated by line feeds.
const TASK: &str = "NAKSHI_TEST_TASK";

/// Edges of a graph with a heavy tail; neighbours often share one.
fn tail() -> impl Iterator<Item = (u64, u64)> + Send {
    let mut x = 1u64;
    let mut unit = move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64
    };
    let id = |u: f64| ((VERTICES as f64 * u) as u64 * 2_654_435_761) % VERTICES;
    (0..3 * VERTICES).map(move |_| (id(unit().powi(3)), id(unit())))
}

/// A path of 400 vertices, at whose end hang all the others.
fn broom() -> impl Iterator<Item = (u64, u64)> + Send {
    (1..VERTICES).map(|v| (v.min(400) - u64::from(v <= 400), v))
}

fn store(
    folder: &Path,
    name: &str,
    directed: bool,
    edges: impl Iterator<Item = (u64, u64)> + Send + 'static,
) -> PathBuf {
    let path = folder.join(name);
    let options = ImportOptions { directed, ..ImportOptions::default() };
    import(vec![Input::Edges(Box::new(edges))], &path, &options, &Hooks::default()).unwrap();
    path
}

/// A figure of `/proc/self/status` in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap();
    1024 * line.trim_matches([':', ' ', '\t', 'k', 'B']).parse::<u64>().unwrap()
}

/// Not a test of its own: what [`every_algorithm_keeps_to_its_estimate`] starts.
#[test]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let [store, name, parameters] = task.split('\n').collect::<Vec<_>>()[..] else { panic!() };
    let parameters: Value = serde_json::from_str(parameters).unwrap();
    let entry = algo::find(name).unwrap();
    let store = Store::open(store, &OpenOptions::default()).unwrap();
    let summary = Summary::of_store(&store);
    let needs = (entry.needs)(&parameters, &summary).unwrap();
    let estimate = Estimate::new(&needs, &summary, 2);
    let engine = estimate.parts.iter().find(|p| p.0 == "engine").map_or(0, |p| p.1);
    let cx = Context::new()
        .with_threads(2)
        .with_mode(EngineMode::Ssd)
        .with_memory(Some(estimate.minimum));
    let before = status("VmRSS");
    let graph = Graph::open(&store, &needs, &cx).unwrap();
    (entry.run)(&parameters, &graph, &cx).unwrap();
    println!("\ntook {} of {}", status("VmHWM") - before, estimate.minimum - engine);
}

/// Bytes that a run took, and what was estimated.
fn measure(store: &Path, name: &str, parameters: &Value) -> (u64, u64) {
    let task = format!("{}\n{name}\n{parameters}", store.display());
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(TASK, task)
        .output()
        .unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&done.stderr));
    let line = said.lines().find_map(|l| l.strip_prefix("took ")).unwrap();
    let (took, estimated) = line.split_once(" of ").unwrap();
    (took.parse().unwrap(), estimated.parse().unwrap())
}

/// Runs on an undirected and on a directed graph.
fn runs() -> Vec<(&'static str, Value)> {
    vec![
        ("article-rank", json!({"iterations": 3})),
        ("articulation-points", json!({})),
        ("apsp", json!({"sample": 4})),
        ("apsp", json!({"sample": 100, "distances": false})),
        ("apsp", json!({"sample": 4, "distances": true})),
        ("bc", json!({"sources": [1]})),
        ("bc", json!({"epsilon": 0.1})),
        ("bfs", json!({"source": 1})),
        ("bfs", json!({"source": 1, "parents": true})),
        ("bfs", json!({"source": 1, "parents": true, "variant": "vertex"})),
        ("bfs", json!({"source": 1, "variant": "pull-program"})),
        ("bridges", json!({})),
        ("cdlp", json!({"iterations": 3})),
        ("cdlp", json!({"iterations": 3, "variant": "pull-program"})),
        ("coloring", json!({})),
        ("densest-subgraph", json!({"passes": 0})),
        ("densest-subgraph", json!({"passes": 2})),
        ("diameter", json!({})),
        ("diameter", json!({"exact": true})),
        ("eccentricity", json!({"sources": [1]})),
        ("gee", json!({"labeled": [1, 2], "classes": [0, 3]})),
        ("gee", json!({"labeled": [1, 2], "classes": [0, 1], "laplacian": true})),
        ("k-core", json!({})),
        ("k-truss", json!({"k": 4})),
        ("label-propagation", json!({"iterations": 4})),
        ("label-propagation", json!({"iterations": 4, "fixed": [1, 2]})),
        ("lcc", json!({})),
        ("matching", json!({})),
        ("mis", json!({})),
        ("pagerank", json!({"iterations": 3})),
        ("pagerank", json!({"iterations": 3, "tolerance": 1e-9})),
        ("pagerank", json!({"iterations": 3, "variant": "delta"})),
        ("pagerank", json!({"iterations": 3, "variant": "vertex"})),
        ("pagerank", json!({"iterations": 3, "variant": "pull-program"})),
        ("power-law", json!({})),
        ("rich-club", json!({})),
        ("scan-statistics", json!({})),
        ("scan-statistics", json!({"per_vertex": true})),
        ("scc", json!({})),
        ("similar", json!({"hashes": 8, "k": 2})),
        ("similar", json!({"hashes": 4, "rows": 4, "k": 5})),
        ("spanning-forest", json!({})),
        ("sssp", json!({"source": 1})),
        ("sssp", json!({"source": 1, "variant": "pull-program"})),
        ("triangles", json!({})),
        ("triangles", json!({"per_vertex": true})),
        ("triangles", json!({"variant": "pull-program"})),
        ("wcc", json!({})),
        ("wcc", json!({"variant": "vertex"})),
        ("wcc", json!({"variant": "pull-program"})),
        ("weighted-matching", json!({})),
    ]
}

/// Seen red with messages of vertex programs counted by destination instead of by byte, and
/// with PageRank making its ranks beside the lists that it keeps.
#[test]
fn every_algorithm_keeps_to_its_estimate() {
    let folder = tempfile::tempdir().unwrap();
    let undirected = store(folder.path(), "undirected", false, tail());
    let directed = store(folder.path(), "directed", true, tail());
    let deep = store(folder.path(), "deep", false, broom());
    let forward = tail().filter(|(u, v)| u != v).map(|(u, v)| (u.min(v), u.max(v)));
    let acyclic = store(folder.path(), "acyclic", true, forward);
    let all = runs();
    let shallow = [&undirected, &directed].into_iter();
    let mut runs: Vec<_> = shallow.flat_map(|s| all.iter().map(move |a| (s, a))).collect();
    let bc = ("bc", json!({"sources": [0]}));
    runs.push((&deep, &bc));
    let orders =
        [("topological-sort", json!({})), ("dag-longest-path", json!({})), ("scc", json!({}))];
    runs.extend(orders.iter().map(|run| (&acyclic, run)));
    let triads = ("triad-census", json!({}));
    runs.push((&directed, &triads));
    let mut over = Vec::new();
    for (store, (name, parameters)) in runs {
        let (took, estimated) = measure(store, name, parameters);
        let kind = store.file_name().unwrap().display();
        let each = (took as f64 - estimated as f64) / VERTICES as f64;
        eprintln!("{kind} {name} {parameters}: {took} of {estimated} ({each:+.2} B/vertex)");
        if took > estimated {
            over.push(format!("{kind} {name} {parameters}: {took} of {estimated}"));
        }
    }
    assert!(over.is_empty(), "more than estimated:\n{}", over.join("\n"));
}
