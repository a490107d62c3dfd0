//! A front-end and servers that talk through sockets.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nakshi_cluster::front::{Settings, run};
use nakshi_cluster::{Error, Task, worker};
use nakshi_engine::program::pull::programs::{Components, PageRank};
use nakshi_engine::program::pull::{pull_needs, run_pull};
use nakshi_engine::{CancelToken, Context, Graph, Outcome, Values};
use nakshi_store::import::{Hooks, ImportOptions, Input, import};
use nakshi_store::{OpenOptions, Store};
use serde_json::json;

fn store(folder: &Path) -> Arc<Store> {
    let mut text = String::new();
    let mut seed = 5u64;
    for _ in 0..4000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (u, v) = (seed >> 33 & 1023, seed >> 43 & 511);
        text.push_str(&format!("n{}\tn{v}\n", u * v / 1024));
    }
    let (edges, path) = (folder.join("edges.tsv"), folder.join("graph.nakshi"));
    std::fs::write(&edges, text).unwrap();
    let options = ImportOptions::default();
    import(vec![Input::Path(edges)], &path, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

const SETTINGS: Settings = Settings { threads: 1, memory: None };

/// Runs a task on so many servers in threads of their own.
fn on_servers(store: &Arc<Store>, task: &Task, servers: usize) -> Outcome {
    let listeners: Vec<_> =
        (0..servers).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<_> =
        listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
    std::thread::scope(|scope| {
        let cancel = CancelToken::new();
        for listener in &listeners {
            let cancel = cancel.clone();
            scope.spawn(move || worker::serve(listener, true, &cancel).unwrap());
        }
        let mut steps = 0;
        let mut watch = |_: usize, _: &_| steps += 1;
        let cx = Context::new();
        let (outcome, told) = run(store, task, &addresses, SETTINGS, &cx, &mut watch).unwrap();
        assert_eq!(told.steps.iter().map(Vec::len).sum::<usize>(), steps);
        outcome
    })
}

#[test]
fn tasks_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let cx = Context::new();
    let graph = Graph::open(&store, &pull_needs(&Components, None), &cx).unwrap();
    let task = |name: &str, parameters: serde_json::Value| {
        Task::new(name, parameters.as_object().unwrap(), &graph, &cx)
    };
    let ranks = run_pull(&graph, &PageRank { damping: 0.85, iterations: 20 }, None, &cx).unwrap();
    let want = Values::F64(ranks.values);
    for servers in [1, 2, 4] {
        let outcome = on_servers(&store, &task("pagerank", json!({})).unwrap(), servers);
        assert_eq!(outcome.columns[0].values, want);
    }
    for name in ["wcc", "cdlp", "coloring", "matching"] {
        let outcome = on_servers(&store, &task(name, json!({})).unwrap(), 3);
        assert_eq!(outcome.columns[0].values.len(), graph.num_vertices());
    }
    let levels = on_servers(&store, &task("bfs", json!({"source": "n1"})).unwrap(), 2);
    let lengths = on_servers(&store, &task("sssp", json!({"source": "n1"})).unwrap(), 2);
    assert_eq!(levels.columns[0].valid, lengths.columns[0].valid);
    let triangles = on_servers(&store, &task("triangles", json!({})).unwrap(), 2);
    assert!(triangles.summary["triangles"].as_u64().unwrap() > 0);
    for (name, parameters) in [
        ("nothing", json!({})),
        ("bfs", json!({"source": "nobody"})),
        ("bfs", json!({})),
        ("pagerank", json!({"damping": 2})),
        ("pagerank", json!({"tolerance": 1})),
    ] {
        assert!(task(name, parameters).is_err());
    }
}

/// One clear error each, at once.
#[test]
fn servers_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let cx = Context::new();
    let task = Task::Wcc {};
    let began = Instant::now();
    let mut watch = |_: usize, _: &_| {};
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = run(&store, &task, &[closed], SETTINGS, &cx, &mut watch).unwrap_err();
    assert!(matches!(error, Error::Lost { server: 0, .. }), "{error}");
    let error = run(&store, &task, &[], SETTINGS, &cx, &mut watch).unwrap_err();
    assert!(matches!(error, Error::Servers { servers: 0, .. }), "{error}");

    // One that speaks another language.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = other.accept().unwrap();
            std::io::Write::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let error = run(&store, &task, &[address], SETTINGS, &cx, &mut watch).unwrap_err();
        assert!(matches!(error, Error::Lost { server: 0, .. }), "{error}");
    });
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// A store that a server cannot read is an error of that server, and none of them is left over.
#[test]
fn a_store_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let lists = std::fs::read_dir(store.path()).unwrap().map(|entry| entry.unwrap().path());
    let lists = lists.filter(|path| path.to_string_lossy().ends_with(".adj"));
    for path in lists {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    }
    let listeners: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<_> =
        listeners.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
    std::thread::scope(|scope| {
        let servers = listeners.iter().map(|listener| {
            scope.spawn(|| worker::serve(listener, true, &CancelToken::new()).unwrap_err())
        });
        let servers: Vec<_> = servers.collect();
        let cx = Context::new();
        let error = run(&store, &Task::Wcc {}, &addresses, SETTINGS, &cx, &mut |_, _| {});
        assert!(
            matches!(&error, Err(Error::Failed { why, .. }) if why.contains("page")),
            "{error:?}"
        );
        servers.into_iter().for_each(|server| drop(server.join().unwrap()));
    });
}
