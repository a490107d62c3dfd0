//! Lists that stay in memory from one run to the next on an open store.

#![allow(clippy::unwrap_used)]

use nakshi_engine::{Context, EngineMode, Estimate, Graph, Summary, algo};
use nakshi_store::import::{Hooks, ImportOptions, Input, import};
use nakshi_store::{OpenOptions, Store};
use serde_json::{Value, json};
use std::sync::Arc;

const VERTICES: u64 = 8_000;

/// An open store of a directed graph with a heavy tail.
fn store() -> (tempfile::TempDir, Arc<Store>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let edges = (0..8 * VERTICES).map(|k| {
        let id = |salt: u64| (k * 2 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (id(0) % VERTICES, id(1) % (1 + id(0) % VERTICES))
    });
    let options = ImportOptions { directed: true, ..ImportOptions::default() };
    import(vec![Input::Edges(Box::new(edges))], &path, &options, &Hooks::default()).unwrap();
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    (folder, store)
}

/// Columns of a result, and the bytes that were read to open the graph.
fn run(store: &Arc<Store>, name: &str, parameters: &Value, cx: &Context) -> (String, u64) {
    let entry = algo::find(name).unwrap();
    let needs = (entry.needs)(parameters, &Summary::of_store(store)).unwrap();
    let graph = Graph::open(store, &needs, cx).unwrap();
    let outcome = (entry.run)(parameters, &graph, cx).unwrap();
    (format!("{:?} {:?}", outcome.columns, outcome.summary), graph.opened_bytes())
}

#[test]
fn lists_stay_until_memory_is_needed() {
    let (_folder, store) = store();
    let holding = Context::new().with_threads(2).with_mode(EngineMode::Memory).with_hold(true);
    let on_ssd = Context::new().with_threads(2).with_mode(EngineMode::Ssd);
    let bfs = json!({"source": "7"});
    let search = |cx: &Context| run(&store, "bfs", &bfs, cx);
    let (expected, _) = search(&on_ssd);
    let (found, loaded) = search(&holding);
    assert_eq!(found, expected);
    // The second run decodes them, the third has them decoded.
    for _ in 0..3 {
        let (found, opened) = search(&holding);
        assert_eq!(found, expected);
        assert!(opened < loaded / 2, "{opened} of {loaded}");
    }
    // Others do not see them.
    let (found, opened) = search(&Context::new().with_mode(EngineMode::Memory));
    assert_eq!((found, opened), (expected.clone(), loaded));
    // A run from the SSD gives them back.
    search(&on_ssd);
    assert_eq!(search(&holding), (expected.clone(), loaded));
    // And so does one with a budget what it does not read: out-lists, of which components need both.
    let ranks = json!({"iterations": 2});
    let entry = algo::find("pagerank").unwrap();
    let summary = Summary::of_store(&store);
    let needs = (entry.needs)(&ranks, &summary).unwrap();
    let budget = Estimate::new(&needs, &summary, 2).in_memory;
    let (ranked, _) = run(&store, "pagerank", &ranks, &holding.clone().with_memory(Some(budget)));
    assert_eq!(run(&store, "pagerank", &ranks, &on_ssd).0, ranked);
    assert_eq!(search(&holding), (expected, loaded));
}

/// Sums have the same bits with lists encoded, decoded and from the SSD.
#[test]
fn decoded_lists_change_no_bit() {
    let (_folder, store) = store();
    let encoded = Context::new().with_threads(2).with_mode(EngineMode::Memory);
    for (name, parameters) in [
        ("pagerank", json!({"iterations": 7, "tolerance": 0.0})),
        ("pagerank", json!({"iterations": 7, "tolerance": 1e-12})),
        ("bc", json!({"sources": ["3"]})),
        ("katz", json!({"alpha": 0.001})),
        ("hits", json!({})),
        ("wcc", json!({})),
        ("sssp", json!({"source": "3"})),
        ("triangles", json!({})),
        ("harmonic", json!({})),
        ("cdlp", json!({"iterations": 3})),
        ("scc", json!({})),
    ] {
        let entry = algo::find(name).unwrap();
        let summary = Summary::of_store(&store);
        let needs = (entry.needs)(&parameters, &summary).unwrap();
        // Without room for decoded lists.
        let budget = Estimate::new(&needs, &summary, 2).in_memory;
        let tight = encoded.clone().with_memory(Some(budget));
        let (expected, _) = run(&store, name, &parameters, &tight);
        let holding = encoded.clone().with_hold(true);
        for cx in [&holding, &holding, &holding, &encoded.clone().with_threads(1)] {
            assert_eq!(run(&store, name, &parameters, cx).0, expected, "{name}");
        }
        let on_ssd = encoded.clone().with_mode(EngineMode::Ssd);
        assert_eq!(run(&store, name, &parameters, &on_ssd).0, expected, "{name}");
    }
}
