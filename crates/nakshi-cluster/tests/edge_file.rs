//! Runs on files of edges, and on parts of a graph, beside runs on the store that an import makes of them.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::cell::RefCell;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use nakshi_cluster::front::{Caller, Event, Given, Ran, Settings, run};
use nakshi_cluster::worker::{Rules, serve};
use nakshi_cluster::{
    Allowed, Checkpoints, EdgeFile, Error, Ids, Place, Programs, Task, Token, names,
};
use nakshi_engine::{CancelToken, Context, Direction, Graph, Needs};
use nakshi_store::import::{Format, Hooks, ImportLayout, ImportOptions, Input, SelfLoops, import};
use nakshi_store::{EdgePartWriter, Key, OpenOptions, Store};
use serde_json::{Map, json};

fn file(path: PathBuf) -> EdgeFile {
    serde_json::from_value(json!({ "path": path })).unwrap()
}

fn secret() -> Token {
    Token::new(b"the secret of these tests").unwrap()
}

/// Runs a task on so many servers, threads of this process; after a superstep `lose` may end one.
fn on_servers(
    given: Given<'_>,
    task: &Task,
    servers: usize,
    settings: &Settings,
    lose: &dyn Fn(u32) -> Option<usize>,
) -> Result<Ran, Error> {
    with_parts(given, task, &vec![None; servers], settings, lose)
}

/// The same on servers of which each may have a part of the graph.
fn with_parts(
    given: Given<'_>,
    task: &Task,
    parts: &[Option<PathBuf>],
    settings: &Settings,
    lose: &dyn Fn(u32) -> Option<usize>,
) -> Result<Ran, Error> {
    std::thread::scope(|scope| {
        let server = |part: &Option<PathBuf>| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let (address, cancel) = (listener.local_addr().unwrap(), CancelToken::new());
            let token = cancel.clone();
            let allowed = Allowed::new(&[std::env::temp_dir()]).unwrap();
            let (programs, part) = (Programs::default(), part.clone());
            let rules = Rules { token: secret(), allowed, once: true, programs, part };
            scope.spawn(move || drop(serve(&listener, &rules, &token)));
            (address.to_string(), cancel)
        };
        let (addresses, tokens): (Vec<_>, Vec<_>) = parts.iter().map(server).unzip();
        let tokens = RefCell::new(tokens);
        let mut watch = |event: Event<'_>| {
            if let Event::Step(0, step) = event
                && let Some(lost) = lose(step.step)
            {
                tokens.borrow()[lost].cancel();
            }
        };
        let mut replace = |lost: usize| {
            let (address, token) = server(&parts[lost]);
            tokens.borrow_mut()[lost] = token;
            Ok(Some(address))
        };
        let mut caller = Caller { watch: &mut watch, replace: &mut replace };
        run(given, task, &addresses, settings, &Context::new(), &mut caller)
    })
}

/// That runs on a file are those on its store, ids included; searches from a vertex of it.
fn same(folder: &Path, file: &EdgeFile, names: &[&str], source: u64) {
    let path = folder.join("graph.nakshi");
    let _ = std::fs::remove_dir_all(&path);
    let options = ImportOptions {
        directed: file.directed,
        format: file.format,
        weighted: file.weighted,
        nodes: file.nodes.clone(),
        self_loops: file.self_loops,
        layout: ImportLayout::Original,
        ..ImportOptions::default()
    };
    import(vec![Input::Path(file.path.clone())], &path, &options, &Hooks::default()).unwrap();
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    let cx = Context::new();
    let column = file.weighted.then(|| "weight".to_owned());
    let needs = Needs { column, ..Needs::new(8.0, &[Direction::Out, Direction::In]) };
    let graph = Graph::open(&store, &needs, &cx).unwrap();
    let ids: Vec<u64> = {
        let mut ids = Vec::new();
        store
            .ids()
            .unwrap()
            .for_each(|_, key| {
                ids.push(match key {
                    nakshi_store::Key::U64(id) => id,
                    nakshi_store::Key::I64(id) => id.cast_unsigned(),
                    nakshi_store::Key::Bytes(_) => panic!("an id that is no number"),
                });
                Ok(())
            })
            .unwrap();
        ids
    };
    let settings = Settings::new(secret());
    for &name in names {
        let from = json!({ "source": source }).as_object().unwrap().clone();
        let parameters = if matches!(name, "bfs" | "sssp") { from } else { Map::new() };
        let mut with_weights = parameters.clone();
        if file.weighted && name == "sssp" {
            with_weights.insert("weight".into(), "weight".into());
        }
        let task = Task::new(name, &with_weights, &graph, &cx).unwrap();
        // What comes of one server shows in any of them.
        for servers in if name == "pagerank" { 1..=4 } else { 3..=3 } {
            let given = Given::Store(store.path(), &graph);
            let want = on_servers(given, &task, servers, &settings, &|_| None).unwrap();
            let (task, source) = Task::of_edges(name, &parameters).unwrap();
            let given = Given::Edges(file, source);
            let found = on_servers(given, &task, servers, &settings, &|_| None).unwrap();
            let what = format!("{name} on {servers} servers of {}", file.path.display());
            assert_eq!(found.outcome.summary, want.outcome.summary, "{what}");
            for (found, want) in found.outcome.columns.iter().zip(&want.outcome.columns) {
                assert_eq!(found.values, want.values, "{what}");
                assert_eq!(found.valid, want.valid, "{what}");
            }
            assert_eq!(found.ids, Some(Ids::Integers(ids.clone())), "{what}");
            let sent = |ran: &Ran| -> u64 {
                ran.servers.steps.iter().flatten().map(|step| step.sent).sum()
            };
            assert_eq!(sent(&found), sent(&want), "{what}");
        }
    }
}

/// Numbers that look like chance.
fn draws(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}

/// Edges between ids far apart, with weights, some of them several times, some of a vertex to itself.
fn lines(edges: usize) -> String {
    let mut draw = draws(11);
    let id = |k: u64| if k.is_multiple_of(7) { 1_000_000_000_000 + 13 * k } else { 3 * k };
    let lines = (0..edges).map(|_| {
        let (u, v) = (draw(300) * draw(300) / 300, draw(300));
        format!("{}\t{}\t{}.5\n", id(u), id(v), draw(9))
    });
    lines.collect()
}

#[test]
fn edge_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.tsv");
    std::fs::write(&path, lines(3000)).unwrap();
    let nodes = folder.path().join("nodes.txt");
    std::fs::write(&nodes, "5\n1\n99999999999\n").unwrap();
    let plain = file(path);
    for directed in [true, false] {
        let with = |file: EdgeFile, names: &[&str]| {
            same(folder.path(), &EdgeFile { directed, ..file }, names, 3);
        };
        with(plain.clone(), &names().collect::<Vec<_>>());
        with(EdgeFile { weighted: true, ..plain.clone() }, &["sssp", "wcc"]);
        let nodes = Some(nodes.clone());
        let more = EdgeFile { nodes, self_loops: SelfLoops::Drop, ..plain.clone() };
        with(more, &["pagerank", "cdlp"]);
    }
}

#[test]
fn adjacency_lists_and_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = draws(5);
    let mut list = |v: u64| -> String {
        let others: Vec<_> = (0..draw(40)).map(|_| draw(200).to_string()).collect();
        format!("{v} {}\n", others.join(" "))
    };
    let path = folder.path().join("lists.adj");
    std::fs::write(&path, (0..220).map(&mut list).collect::<String>()).unwrap();
    for format in [Format::Adjacency, Format::InAdjacency] {
        same(folder.path(), &EdgeFile { format, ..file(path.clone()) }, &["pagerank", "wcc"], 1);
    }
    let path = folder.path().join("matrix.mtx");
    let entries: String =
        (0..500).map(|_| format!("{} {}\n", 1 + draw(60), 1 + draw(60))).collect();
    let head = "%%MatrixMarket matrix coordinate pattern general\n64 64 500\n";
    std::fs::write(&path, format!("{head}{entries}")).unwrap();
    same(folder.path(), &file(path), &["pagerank", "wcc"], 1);
}

/// A server that is lost loads its part alone, and finds what it had.
#[test]
fn a_lost_server_reads_the_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.tsv");
    std::fs::write(&path, lines(3000)).unwrap();
    for directed in [true, false] {
        let file = EdgeFile { directed, ..file(path.clone()) };
        let parameters =
            json!({ "iterations": 3000, "tolerance": 0.0 }).as_object().unwrap().clone();
        let (task, source) = Task::of_edges("pagerank", &parameters).unwrap();
        let given = Given::Edges(&file, source);
        let settings = Settings::new(secret());
        let want = on_servers(given.clone(), &task, 3, &settings, &|_| None).unwrap();
        let kept = Checkpoints { every: 5, place: Place::Buddy };
        for checkpoints in [Some(kept), None] {
            let settings = Settings { checkpoints, ..Settings::new(secret()) };
            let lost = RefCell::new(vec![1usize]);
            let lose = |step: u32| if step == 7 { lost.borrow_mut().pop() } else { None };
            let found = on_servers(given.clone(), &task, 3, &settings, &lose).unwrap();
            assert_eq!(found.outcome.columns[0].values, want.outcome.columns[0].values);
            assert_eq!((found.ids, found.servers.recoveries.len()), (want.ids.clone(), 1));
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edges.tsv");
    let failed = |text: &str, file: &EdgeFile, settings: &Settings| {
        std::fs::write(&file.path, text).unwrap();
        let (task, source) =
            Task::of_edges("bfs", json!({ "source": 7 }).as_object().unwrap()).unwrap();
        let given = Given::Edges(file, source);
        on_servers(given, &task, 2, settings, &|_| None).map(drop).unwrap_err().to_string()
    };
    let (plain, usual) = (file(path.clone()), Settings::new(secret()));
    for (text, what) in [
        ("1\t2\n", "vertex 7 is not in the graph"),
        ("7\tb\n", "the id 'b' is not a whole number"),
        ("7\t1\n1\n", "edges.tsv:2"),
    ] {
        let error = failed(text, &plain, &usual);
        assert!(error.contains(what), "{error}");
    }
    let tight = Settings { memory: Some(100_000), ..Settings::new(secret()) };
    let many: String = (0..20_000).map(|k| format!("7\t{k}\n")).collect();
    let error = failed(&many, &plain, &tight);
    assert!(error.contains("loading a file of edges"), "{error}");
    std::fs::remove_file(&path).unwrap();
    let (task, _) = Task::of_edges("wcc", &Map::new()).unwrap();
    let error = on_servers(Given::Edges(&plain, None), &task, 2, &usual, &|_| None);
    let error = error.map(drop).unwrap_err().to_string();
    assert!(error.contains("edges.tsv"), "{error}");
    let empty = file(folder.path().join("none.tsv"));
    std::fs::write(&empty.path, "").unwrap();
    let ran = on_servers(Given::Edges(&empty, None), &task, 3, &usual, &|_| None).unwrap();
    assert_eq!(ran.ids, Some(Ids::Integers(Vec::new())));
}

/// Edges between ids, with weights.
type Edges = Vec<(String, String, f64)>;

/// Writes the edges of each server, whose sources have one of its buckets, and the ids that have no edges; each
/// server has numbers of its own for ids.
fn write_parts(
    folder: &Path,
    (edges, alone): (&Edges, &[String]),
    weighted: bool,
    servers: usize,
) -> Vec<Option<PathBuf>> {
    let owner = |id: &str| id.bytes().map(usize::from).sum::<usize>() % servers;
    let part = |server: usize| {
        let path = folder.join(format!("part-{server}"));
        let to = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        let mut part = EdgePartWriter::new(to, weighted).unwrap();
        let mut known: Vec<&str> = Vec::new();
        let mut number = |part: &mut EdgePartWriter<_>, id| {
            let number = |at: usize| 10_000 - 3 * at as u32;
            if let Some(at) = known.iter().position(|known| *known == id) {
                return number(at);
            }
            known.push(id);
            part.id(number(known.len() - 1), id.as_bytes()).unwrap();
            number(known.len() - 1)
        };
        for (source, target, weight) in edges.iter().filter(|(u, ..)| owner(u) == server) {
            let ends = [source, target].map(|id| number(&mut part, id.as_str()));
            let weights: &[f64] = if weighted { &[*weight] } else { &[] };
            part.list(ends[0], &ends[1..], weights).unwrap();
        }
        for id in alone.iter().filter(|id| owner(id) == server) {
            number(&mut part, id.as_str());
        }
        part.finish().unwrap();
        Some(path)
    };
    (0..servers).map(part).collect()
}

/// The ids of a store, as texts.
fn texts_of(store: &Store) -> Vec<String> {
    let mut texts = Vec::new();
    let ids = store.ids().unwrap();
    ids.for_each(|_, key| {
        texts.push(match key {
            Key::U64(id) => id.to_string(),
            Key::I64(id) => id.to_string(),
            Key::Bytes(id) => String::from_utf8(id.to_vec()).unwrap(),
        });
        Ok(())
    })
    .unwrap();
    texts
}

/// The store of `edges.tsv` and `nodes.txt`, with weights.
fn imported(folder: &Path) -> std::sync::Arc<Store> {
    let options = ImportOptions {
        weighted: true,
        nodes: Some(folder.join("nodes.txt")),
        layout: ImportLayout::Original,
        ..ImportOptions::default()
    };
    let (input, path) = (folder.join("edges.tsv"), folder.join("store"));
    import(vec![Input::Path(input)], &path, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

/// Runs on parts are those on a store of all edges, whatever the ids are. Seen red with texts in the order of
/// numbers.
#[test]
fn parts_are_the_graph() {
    type Name = fn(u64) -> String;
    let names: [(&str, Name); 5] = [
        ("integers", |k| (3 * k).to_string()),
        ("both signs", |k| (9 * k as i64 - 1000).to_string()),
        ("large", |k| format!("{}{}", if k % 3 == 0 { "-" } else { "" }, (k as u128 + 1) << 62)),
        ("texts", |k| format!("é{k}")),
        ("mixed", |k| if k % 2 == 0 { k.to_string() } else { format!("v{k}") }),
    ];
    for (kind, name) in names {
        let folder = tempfile::tempdir().unwrap();
        let mut draw = draws(17);
        let mut edges: Edges = Vec::new();
        for _ in 0..2000 {
            let (u, v) = (draw(300) * draw(300) / 300, draw(300));
            edges.push((name(u), name(v), draw(9) as f64 / 2.0));
        }
        let alone: Vec<String> = (300..320).map(name).collect();
        let lines = edges.iter().map(|(u, v, weight)| format!("{u}\t{v}\t{weight}\n"));
        std::fs::write(folder.path().join("edges.tsv"), lines.collect::<String>()).unwrap();
        std::fs::write(folder.path().join("nodes.txt"), alone.join("\n")).unwrap();
        let store = imported(folder.path());
        let (cx, settings) = (Context::new(), Settings::new(secret()));
        let needs = Needs {
            column: Some("weight".into()),
            ..Needs::new(8.0, &[Direction::Out, Direction::In])
        };
        let graph = Graph::open(&store, &needs, &cx).unwrap();
        let texts = texts_of(&store);
        let none = |_| None;
        for algorithm in ["pagerank", "wcc", "cdlp", "bfs", "sssp"] {
            let weighted = algorithm == "sssp";
            let mut parameters = Map::new();
            if matches!(algorithm, "bfs" | "sssp") {
                parameters.insert("source".into(), edges[0].0.clone().into());
            }
            if weighted {
                parameters.insert("weight".into(), "weight".into());
            }
            let task = Task::new(algorithm, &parameters, &graph, &cx).unwrap();
            let given = Given::Store(store.path(), &graph);
            let want = on_servers(given, &task, 3, &settings, &none).unwrap();
            let parts = write_parts(folder.path(), (&edges, &alone), weighted, 3);
            let (task, source) = Task::of_parts(algorithm, &parameters).unwrap();
            let given = Given::Parts(source);
            let found = with_parts(given, &task, &parts, &settings, &none).unwrap();
            let what = format!("{algorithm} with {kind}");
            assert_eq!(found.outcome.summary, want.outcome.summary, "{what}");
            for (found, want) in found.outcome.columns.iter().zip(&want.outcome.columns) {
                assert_eq!((&found.values, &found.valid), (&want.values, &want.valid), "{what}");
            }
            let ids: Vec<String> = match found.ids.unwrap() {
                Ids::Integers(ids) => ids.iter().map(u64::to_string).collect(),
                Ids::Names(names) => {
                    names.iter().map(|name| String::from_utf8(name.to_vec()).unwrap()).collect()
                }
            };
            assert_eq!(ids, texts, "{what}");
        }
    }
}

/// Lengths below zero would be answered with what no search gives, or never.
#[test]
fn negative_lengths_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let edges: Edges = [("1", "2", 1.0), ("2", "3", -2.0), ("3", "1", 0.5)]
        .map(|(u, v, weight)| (u.to_owned(), v.to_owned(), weight))
        .to_vec();
    let lines = edges.iter().map(|(u, v, weight)| format!("{u}\t{v}\t{weight}\n"));
    std::fs::write(folder.path().join("edges.tsv"), lines.collect::<String>()).unwrap();
    std::fs::write(folder.path().join("nodes.txt"), "").unwrap();
    let parameters = json!({ "source": 1, "weight": "weight" }).as_object().unwrap().clone();
    let (cx, settings) = (Context::new(), Settings::new(secret()));
    let store = imported(folder.path());
    let needs = Needs::new(8.0, &[Direction::Out, Direction::In]);
    let needs = Needs { column: Some("weight".into()), ..needs };
    let graph = Graph::open(&store, &needs, &cx).unwrap();
    let file = EdgeFile { weighted: true, ..file(folder.path().join("edges.tsv")) };
    let (on_parts, from) = Task::of_parts("sssp", &parameters).unwrap();
    let without = json!({ "source": 1 }).as_object().unwrap().clone();
    let (on_file, _) = Task::of_edges("sssp", &without).unwrap();
    let on_store = Task::new("sssp", &parameters, &graph, &cx).unwrap();
    let parts = write_parts(folder.path(), (&edges, &[]), true, 2);
    for (given, task, parts) in [
        (Given::Store(store.path(), &graph), on_store, vec![None; 2]),
        (Given::Edges(&file, from.clone()), on_file, vec![None; 2]),
        (Given::Parts(from.clone()), on_parts, parts),
    ] {
        let ran = with_parts(given, &task, &parts, &settings, &|_| None);
        let error = ran.map(drop).unwrap_err().to_string();
        assert!(error.contains("-2"), "{error}");
    }
}

/// Nobody else has the part of a server that is lost.
#[test]
fn a_run_on_parts_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let edges = vec![("1".to_owned(), "2".to_owned(), 1.0), ("2".into(), "5".into(), 1.0)];
    let parts = write_parts(folder.path(), (&edges, &[]), false, 2);
    let settings = Settings::new(secret());
    let failed = |parameters: serde_json::Value, parts: &[Option<PathBuf>]| {
        let parameters = parameters.as_object().unwrap().clone();
        let name = if parameters.contains_key("source") { "bfs" } else { "pagerank" };
        let (task, source) = Task::of_parts(name, &parameters).unwrap();
        let lose = |step: u32| (step == 20).then_some(1);
        let ran = with_parts(Given::Parts(source), &task, parts, &settings, &lose);
        ran.map(drop).unwrap_err().to_string()
    };
    let error = failed(json!({ "source": 4 }), &parts);
    assert!(error.contains("vertex 4 is not in the graph"), "{error}");
    let error = failed(json!({ "source": "x" }), &parts);
    assert!(error.contains("vertex x is not in the graph"), "{error}");
    let error = failed(json!({}), &[parts[0].clone(), None]);
    assert!(error.contains("it has no part of a graph"), "{error}");
    std::fs::write(parts[1].as_ref().unwrap(), "no part").unwrap();
    let error = failed(json!({}), &parts);
    assert!(error.contains("this is no part of a graph"), "{error}");
    let parts = write_parts(folder.path(), (&edges, &[]), false, 2);
    let error = failed(json!({ "iterations": 100_000, "tolerance": 0.0 }), &parts);
    assert!(error.contains("others have the parts of the graph"), "{error}");
}
