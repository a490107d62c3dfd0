//! A front-end and servers that talk through sockets.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::cell::RefCell;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nakshi_cluster::front::{Caller, Event, Given, Ran, Recovery, Servers, Settings, run};
use nakshi_cluster::job::Superstep;
use nakshi_cluster::worker::{Rules, serve};
use nakshi_cluster::{Allowed, Checkpoints, Error, Place, Programs, Task, Token};
use nakshi_engine::algo::{bfs::Bfs, pagerank, wcc::Wcc};
use nakshi_engine::program::pull::programs::{PullComponents, PullPageRank};
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
    imported(folder, text)
}

/// A path, on which a search takes as many supersteps as it has vertices.
fn path(folder: &Path, vertices: u32) -> Arc<Store> {
    imported(folder, (1..vertices).map(|v| format!("n{}\tn{v}\n", v - 1)).collect())
}

fn imported(folder: &Path, text: String) -> Arc<Store> {
    let (edges, path) = (folder.join("edges.tsv"), folder.join("graph.nakshi"));
    std::fs::write(&edges, text).unwrap();
    let options = ImportOptions::default();
    import(vec![Input::Path(edges)], &path, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

fn graph(store: &Arc<Store>) -> Graph {
    Graph::open(store, &pull_needs(&PullComponents, None), &Context::new()).unwrap()
}

fn settings() -> Settings {
    Settings::new(token())
}

fn token() -> Token {
    Token::new(b"the secret of these tests").unwrap()
}

/// Rules of a server that serves once, and may read and write where tests do.
fn rules() -> Rules {
    let allowed = Allowed::new(&[std::env::temp_dir()]).unwrap();
    Rules { token: token(), allowed, once: true, programs: Programs::default(), part: None }
}

/// A server in a thread of its own.
struct Server {
    /// Address at which the front-end calls.
    address: String,
    /// Ends it as Ctrl-C would.
    cancel: CancelToken,
    /// Both ends of what lies between it and the front-end.
    line: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start<'s>(scope: &'s std::thread::Scope<'s, '_>) -> Self {
        let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (listener, calls) = (bind(), bind());
        let place = listener.local_addr().unwrap();
        let address = calls.local_addr().unwrap().to_string();
        let (cancel, line) = (CancelToken::new(), Arc::<Mutex<Vec<TcpStream>>>::default());
        let (token, ends) = (cancel.clone(), Arc::clone(&line));
        // How it ends is seen by the front-end.
        scope.spawn(move || drop(serve(&listener, &rules(), &token)));
        // One that nobody calls is left over until the tests end.
        std::thread::spawn(move || {
            let (near, far) = (calls.accept().unwrap().0, TcpStream::connect(place).unwrap());
            for socket in [&near, &far] {
                socket.set_nodelay(true).unwrap();
                ends.lock().unwrap().push(socket.try_clone().unwrap());
            }
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        });
        Server { address, cancel, line }
    }
}

/// Cuts a server off from its front-end, which both see at once.
fn cut(line: &Mutex<Vec<TcpStream>>) {
    for socket in line.lock().unwrap().iter() {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// Runs a task on so many servers, of which `disturb` may lose some: it is called after every superstep
/// of the first server, with all of them.
fn disturbed(
    store: &Arc<Store>,
    task: &Task,
    servers: usize,
    settings: &Settings,
    disturb: &mut dyn FnMut(u32, &[Server]),
) -> Result<(Outcome, Servers), Error> {
    let graph = graph(store);
    let given = Given::Store(store.path(), &graph);
    let ran = disturbed_twice(given, task, servers, settings, disturb, &mut |_, _| {})?;
    Ok((ran.outcome, ran.servers))
}

/// As [`disturbed`], on the graph of a store or a file; `again` is called when servers have been replaced, with all of them, and may
/// lose some too.
fn disturbed_twice(
    given: Given<'_>,
    task: &Task,
    servers: usize,
    settings: &Settings,
    disturb: &mut dyn FnMut(u32, &[Server]),
    again: &mut dyn FnMut(&Recovery, &[Server]),
) -> Result<Ran, Error> {
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..servers).map(|_| Server::start(scope)).collect();
        let addresses: Vec<_> = started.iter().map(|server| server.address.clone()).collect();
        let started = RefCell::new(started);
        let mut watch = |event: Event<'_>| match event {
            Event::Step(0, step) => disturb(step.step, &started.borrow()),
            Event::Recovered(recovery) => again(recovery, &started.borrow()),
            _ => {}
        };
        let mut replace = |lost: usize| {
            let server = Server::start(scope);
            let address = server.address.clone();
            std::mem::replace(&mut started.borrow_mut()[lost], server).cancel.cancel();
            Ok(Some(address))
        };
        let mut caller = Caller { watch: &mut watch, replace: &mut replace };
        run(given, task, &addresses, settings, &Context::new(), &mut caller)
    })
}

fn on_servers(store: &Arc<Store>, task: &Task, servers: usize) -> Outcome {
    let settings = settings();
    let (outcome, told) = disturbed(store, task, servers, &settings, &mut |_, _| {}).unwrap();
    assert!(told.recoveries.is_empty() && !told.cut);
    outcome
}

/// As [`run`], where nothing is watched and nobody replaced.
fn called(graph: &Graph, addresses: &[String]) -> Result<(Outcome, Servers), Error> {
    let (watch, replace) = (&mut |_: Event<'_>| {}, &mut |_: usize| Ok(None));
    let (settings, cx) = (settings(), Context::new());
    let mut caller = Caller { watch, replace };
    let given = Given::Store(graph.store().unwrap().path(), graph);
    let ran = run(given, &Task::of(&Wcc::default()), addresses, &settings, &cx, &mut caller)?;
    Ok((ran.outcome, ran.servers))
}

/// PageRank that runs all of so many iterations.
fn ranks(iterations: u32) -> Task {
    Task::of(&pagerank::PageRank { iterations, tolerance: 0.0, ..pagerank::PageRank::default() })
}

#[test]
fn tasks_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let cx = Context::new();
    let graph = Graph::open(&store, &pull_needs(&PullComponents, None), &cx).unwrap();
    let task = |name: &str, parameters: serde_json::Value| {
        Task::new(name, parameters.as_object().unwrap(), &graph, &cx)
    };
    let ranks = run_pull(
        &graph,
        &PullPageRank { damping: 0.85, iterations: 20, tolerance: 0.0 },
        None,
        &cx,
    )
    .unwrap();
    let want = Values::F64(ranks.values);
    let twenty = json!({"iterations": 20, "tolerance": 0.0});
    for servers in [1, 2, 4] {
        let outcome = on_servers(&store, &task("pagerank", twenty.clone()).unwrap(), servers);
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
        ("pagerank", json!({"variant": "pull"})),
    ] {
        assert!(task(name, parameters).is_err());
    }
    let error = task("sssp", json!({})).unwrap_err().to_string();
    assert!(error.contains("`source`: sssp needs"), "{error}");
}

/// One clear error each, at once.
#[test]
fn servers_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(&store(folder.path()));
    let began = Instant::now();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let error = called(&graph, &[closed]).unwrap_err();
    assert!(matches!(error, Error::Lost { server: 0, .. }), "{error}");
    let error = called(&graph, &[]).unwrap_err();
    assert!(matches!(error, Error::Servers { servers: 0, .. }), "{error}");

    // One that speaks another language.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = other.accept().unwrap();
            std::io::Write::write_all(&mut socket, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let error = called(&graph, &[address]).unwrap_err();
        assert!(matches!(error, Error::Lost { server: 0, .. }), "{error}");
    });
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// A store that a server cannot read is an error of that server, and none of them is left over.
#[test]
fn a_store_that_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let graph = graph(&store);
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
            scope.spawn(|| serve(listener, &rules(), &CancelToken::new()).unwrap_err())
        });
        let servers: Vec<_> = servers.collect();
        let error = called(&graph, &addresses);
        assert!(
            matches!(&error, Err(Error::Failed { why, .. }) if why.contains("page")),
            "{error:?}"
        );
        servers.into_iter().for_each(|server| drop(server.join().unwrap()));
    });
}

/// Every superstep of every server.
fn done(servers: &Servers) -> Vec<Vec<(u32, u64, u64)>> {
    let one = |step: &Superstep| (step.step, step.active, step.sent);
    servers.steps.iter().map(|steps| steps.iter().map(one).collect()).collect()
}

/// Servers are lost at any superstep, alone and together, and others take their places: the result is
/// that of the undisturbed run, to the bit, and files are gone afterwards. Seen red with flags that are
/// not restored, and with values of other servers' vertices that are not sent again.
#[test]
fn lost_servers_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = path(folder.path(), 3000);
    let files = folder.path().join("checkpoints");
    std::fs::create_dir(&files).unwrap();
    let tasks = [Task::of(&Bfs::default()), ranks(3000)];
    for task in &tasks {
        let undisturbed = disturbed(&store, task, 3, &settings(), &mut |_, _| {}).unwrap();
        let kinds = if task.name() == "bfs" { 2 } else { 1 };
        for place in [None, Some(Place::Buddy), Some(Place::Folder(files.clone()))] {
            let checkpoints = place.clone().map(|place| Checkpoints { every: 25, place });
            let settings = Settings { checkpoints, ..settings() };
            for lost in [&[1][..], &[0, 1, 2]].into_iter().take(kinds) {
                let mut left = vec![60, 400];
                let mut disturb = |step: u32, servers: &[Server]| {
                    if left.first() == Some(&step) {
                        left.remove(0);
                        lost.iter().for_each(|lost| servers[*lost].cancel.cancel());
                    }
                };
                let ended = disturbed(&store, task, 3, &settings, &mut disturb);
                let (outcome, told) = ended.unwrap();
                let what = format!("{place:?}, {lost:?} lost: {:?}", told.recoveries);
                assert!(outcome.columns == undisturbed.0.columns, "{what}");
                assert_eq!(done(&told), done(&undisturbed.1), "{what}");
                assert!(!told.recoveries.is_empty(), "{what}");
                let from = told.recoveries.iter().filter_map(|recovery| recovery.from).min();
                match (&place, lost.len()) {
                    (None, _) => assert_eq!(from, None, "{what}"),
                    // Servers that are lost one after the other leave something behind.
                    (Some(Place::Buddy), 2..) => {}
                    _ => assert!(from >= Some(50), "{what}"),
                }
                assert_eq!(std::fs::read_dir(&files).unwrap().count(), 0);
            }
        }
    }
}

/// Servers that are lost while the run is taken up again for another: those that had begun to load, to
/// hear what the others want, or to restore values begin that anew. Seen red with servers that count as
/// ready once they have loaded.
#[test]
fn servers_lost_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let files = folder.path().join("checkpoints");
    std::fs::create_dir(&files).unwrap();
    let graph = graph(&store);
    let task = ranks(600);
    let undisturbed = disturbed(&store, &task, 3, &settings(), &mut |_, _| {}).unwrap();
    for place in [None, Some(Place::Buddy), Some(Place::Folder(files.clone()))] {
        for later in 0..25 {
            let checkpoints = place.clone().map(|place| Checkpoints { every: 25, place });
            let settings = Settings { checkpoints, restarts: 20, ..settings() };
            let given = Given::Store(store.path(), &graph);
            let mut left = vec![40];
            let mut disturb = |step: u32, servers: &[Server]| {
                if left.pop_if(|at| *at <= step).is_some() {
                    cut(&servers[1].line);
                }
            };
            let mut second = true;
            let mut again = |recovery: &Recovery, servers: &[Server]| {
                let line = Arc::clone(&servers[(recovery.lost[0] + 1) % 3].line);
                if std::mem::take(&mut second) {
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_micros(later % 2 * 20_000 + 100 * later));
                        cut(&line);
                    });
                }
            };
            let ended = disturbed_twice(given, &task, 3, &settings, &mut disturb, &mut again);
            let Ran { outcome, servers: told, .. } = ended.unwrap();
            let what = format!("{place:?}, {later}: {:?}", told.recoveries);
            assert!(outcome.columns == undisturbed.0.columns, "{what}");
            // What was on its way to the front-end when a line was cut is not told again.
            for (found, all) in done(&told).iter().zip(&done(&undisturbed.1)) {
                assert!(found.is_sorted() && found.iter().all(|step| all.contains(step)), "{what}");
            }
            assert_eq!(done(&told)[0], done(&undisturbed.1)[0], "{what}");
            assert_eq!(std::fs::read_dir(&files).unwrap().count(), 0);
        }
    }
}

/// A server that cannot be replaced is an error, and so is a checkpoint that cannot be written.
#[test]
fn runs_that_cannot_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let task = ranks(5000);
    let never = Settings { restarts: 0, ..settings() };
    let mut first = |_: u32, servers: &[Server]| servers[1].cancel.cancel();
    let error = disturbed(&store, &task, 2, &never, &mut first).map(drop).unwrap_err();
    assert!(matches!(error, Error::Lost { server: 1, .. }), "{error}");
    let place = Place::Folder(folder.path().join("nowhere"));
    let checkpoints = Some(Checkpoints { every: 2, place });
    let full = Settings { checkpoints, ..settings() };
    let error = disturbed(&store, &task, 2, &full, &mut |_, _| {}).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Failed { why, .. } if why.contains("nowhere")), "{error}");
}

/// A run whose time is up ends after a superstep, with the values of all servers after that one. Seen red
/// with servers that look at their own clocks only.
#[test]
fn time_that_is_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let task = ranks;
    let deadline = Some(Duration::from_millis(1500));
    let settings = Settings { deadline, ..settings() };
    let began = Instant::now();
    let many = task(u32::MAX);
    let (outcome, told) = disturbed(&store, &many, 3, &settings, &mut |_, _| {}).unwrap();
    assert!(began.elapsed() < Duration::from_secs(10) && told.cut);
    let steps: Vec<_> = told.steps.iter().map(|steps| steps.last().unwrap().step).collect();
    assert_eq!(steps, [steps[0]; 3]);
    assert_eq!(outcome.summary["complete"], json!(false));
    // A fixed point: more iterations change nothing but the last bits.
    let expected = on_servers(&store, &task(200), 2);
    let (Values::F64(found), Values::F64(expected)) =
        (&outcome.columns[0].values, &expected.columns[0].values)
    else {
        panic!("ranks")
    };
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
}
