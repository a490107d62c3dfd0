//! Changes of a property graph, with a model of maps as oracle, over crashes, disk failures,
//! compactions and readers in other processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acid;
mod conditions;
mod disk;
mod entries;
mod fragments;
mod handle;
mod lists;
mod model;
mod replication;
mod share;
mod transactions;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use nakshi_io::CancelToken;
use nakshi_io::write::WriteAction;
use nakshi_property::{
    Change, LoadOptions, MissingNodes, ParallelEdges, PropertyStore, Value, tao,
};
use nakshi_property::{backup, check};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, OpenOptions};
use proptest::prelude::*;

use disk::{faulty, unsynced};
use model::{Edge, Properties, Step, changes, compare, edge, id, start, started, steps};

fn open(path: &Path) -> PropertyStore {
    PropertyStore::open_with(&unsynced(), path, &OpenOptions::default()).unwrap()
}

fn options() -> LoadOptions {
    LoadOptions {
        threads: 1,
        memory: 500 << 20,
        missing_nodes: MissingNodes::Create,
        parallel_edges: ParallelEdges::Replace,
        allow_empty: true,
        ..LoadOptions::default()
    }
}

/// Cases of the longest tests: more where `NAKSHI_TEST_SCALE` says so.
fn scaled(cases: u32) -> u32 {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok());
    cases * scale.unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(scaled(48)))]
    /// Seen red with hidden rows counted before a time, with a deleted node that gets its edges
    /// back when its id is added again, with old values found, with edges that lead to a deleted
    /// node, with parts of names not searched for in the log, and with a compaction that loses the
    /// searchable properties.
    #[test]
    fn changes_do_what_a_model_does(edges in prop::collection::vec(edge(), 0..40), steps in steps()) {
        follow_the_model(&edges, &steps, None)?;
    }

    /// The same while a thread freezes and merges in the background. Seen red with deleted edges kept by a
    /// merge, with the edges of a deleted node kept, and with the mark lost that its older edges are deleted.
    #[test]
    fn changes_do_what_a_model_does_while_fragments_merge(
        edges in prop::collection::vec(edge(), 0..40),
        steps in prop::collection::vec(steps(), 4),
        limit in 1_000..20_000_u64,
    ) {
        let mut steps = steps.concat();
        steps.retain(|step| !matches!(step, Step::Freeze | Step::Merge | Step::Compact));
        follow_the_model(&edges, &steps, Some(limit))?;
    }
}

/// Makes steps in a store and in its model, and compares them; with a limit of the log, a thread freezes and
/// merges in the background.
fn follow_the_model(
    edges: &[Edge],
    steps: &[Step],
    limit: Option<u64>,
) -> Result<(), TestCaseError> {
    let (_home, path, mut model) = started(edges);
    let opened = || match limit {
        None => Arc::new(open(&path)),
        Some(limit) => {
            let store = open(&path).shared();
            store.set_log_limit(limit);
            store
        }
    };
    let mut store = opened();
    let mut watcher = open(&path);
    let mut kept = vec![(store.snapshot(), model.clone())];
    let searchable = |store: &PropertyStore| {
        let graph = store.snapshot();
        graph.node_properties().iter().map(|spec| spec.searchable).take(3).collect::<Vec<_>>()
    };
    let declared = searchable(&store);
    for step in steps {
        match step {
            Step::Reopen => {
                store.release(&CancelToken::new()).unwrap();
                store = opened();
            }
            Step::Compact => {
                store.compact(&options(), &Hooks::default()).unwrap();
                model.apply(step);
                prop_assert_eq!(store.log_bytes(), 0);
                prop_assert_eq!(&searchable(&store), &declared);
                kept.push((store.snapshot(), model.clone()));
            }
            Step::Freeze => {
                store.freeze(&CancelToken::new()).unwrap();
                prop_assert_eq!(store.layers().log_memory, 0);
                kept.push((store.snapshot(), model.clone()));
            }
            Step::Merge => {
                store.merge_fragments(2).unwrap();
                kept.push((store.snapshot(), model.clone()));
            }
            step => {
                let expected = model.apply(step);
                let done = store.commit(&changes(step));
                prop_assert_eq!(done.ok(), expected, "{:?}", step);
            }
        }
    }
    compare(&store.snapshot(), &model)?;
    lists::compare_lists(&path, &store.snapshot(), &model)?;
    watcher.refresh().unwrap();
    compare(&watcher.snapshot(), &model)?;
    store.release(&CancelToken::new()).unwrap();
    drop(store);
    watcher = open(&path);
    compare(&watcher.snapshot(), &model)?;
    for (snapshot, model) in kept {
        compare(&snapshot, &model)?;
    }
    let found = check(&path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
    prop_assert_eq!(found.problems, Vec::<String>::new());
    Ok(())
}

fn edges() -> Vec<Edge> {
    let one = |i: u32| Edge {
        source: i % 7,
        ty: "A".into(),
        target: (i * 3) % 8,
        time: i.into(),
        number: 0,
        properties: Properties::new(),
    };
    (0..30).map(one).collect()
}

fn few() -> Vec<Step> {
    let name = |text: &str| [("name".to_owned(), Value::String(text.into()))].into();
    let new = |i: u32| Edge {
        source: 8 + i % 2,
        ty: "B".into(),
        target: i % 8,
        time: i.into(),
        number: 0,
        properties: name("edge"),
    };
    let mut steps = vec![
        Step::Batch(vec![Step::Append(8, name("new")), Step::Append(9, name("too"))]),
        Step::Delete(3),
        Step::Update(0, name("b"), true),
    ];
    steps.extend(
        (0..6).map(|i| Step::AppendEdge(Edge { target: [0, 1, 2, 4, 5, 6][i as usize], ..new(i) })),
    );
    steps.push(Step::DeleteEdge(0, "A".into(), 0));
    steps
}

/// Every operation of writing fails once, while changes are made and compacted. Seen red with a group
/// acknowledged before it is durable, and before it is written.
#[test]
fn a_failure_loses_nothing_that_was_acknowledged() {
    let first = tempfile::tempdir().unwrap();
    let started = start(&first.path().join("g.nakshi"), &edges());
    // A full disk fails in the same places as a broken one, so some of its places are enough.
    for (errno, step) in [(libc::EIO, 1), (libc::ENOSPC, 9)] {
        for nth in (0..).step_by(step) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("g.nakshi");
            std::fs::create_dir(&path).unwrap();
            for entry in std::fs::read_dir(first.path().join("g.nakshi")).unwrap() {
                let from = entry.unwrap().path();
                std::fs::copy(&from, path.join(from.file_name().unwrap())).unwrap();
            }
            let mut model = started.clone();
            let fs = faulty(nth, WriteAction::Fail(errno));
            let store = PropertyStore::open_with(&fs, &path, &OpenOptions::default()).unwrap();
            let (mut failed, mut maybe) = (false, None);
            for (at, step) in few().iter().enumerate() {
                let mut after = model.clone();
                after.apply(step);
                match store.commit(&changes(step)) {
                    Ok(_) => {
                        assert!(!failed, "something was acknowledged after a failure");
                        model = after;
                    }
                    Err(_) => {
                        maybe = maybe.or(Some(after));
                        failed = true;
                    }
                }
                if at == 5 {
                    let options = options();
                    failed |= store.compact(&options, &Hooks::default()).is_err();
                    compare(&store.snapshot(), &model).unwrap();
                    if failed && maybe.is_none() {
                        // A failed compaction can be repeated, or has left the store as it was.
                        break;
                    }
                }
            }
            compare(&store.snapshot(), &model).unwrap();
            drop(store);
            let again = open(&path);
            let (found, is) = (again.snapshot(), compare(&again.snapshot(), &model));
            if is.is_err() {
                compare(&found, maybe.as_ref().unwrap()).unwrap();
                model = maybe.unwrap();
            }
            // The next writer finds a sound store.
            again.commit(&[Change::AppendNode { id: id(15), properties: Vec::new() }]).unwrap();
            model.nodes.insert(15, Properties::new());
            compare(&again.snapshot(), &model).unwrap();
            let report = check(&path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
            assert_eq!(report.problems, Vec::<String>::new());
            assert_eq!(orphans(&path), Vec::<String>::new(), "operation {nth}");
            if !failed {
                assert!(nth > 40, "only {nth} operations");
                break;
            }
        }
    }
}

/// Files that the newest manifest does not name, and that are no log.
fn orphans(path: &Path) -> Vec<String> {
    let names = std::fs::read_dir(path).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let manifests = names.iter().filter_map(|name| name.strip_prefix("MANIFEST-"));
    let newest = manifests.map(|number| number.parse::<u64>().unwrap()).max().unwrap();
    let newest = format!("MANIFEST-{newest}");
    let manifest = std::fs::read_to_string(path.join(&newest)).unwrap();
    let belongs = |name: &&String| {
        let file = name.strip_suffix(".sum").unwrap_or(name);
        **name == newest
            || name.as_str() == "write.lock"
            || name.starts_with("log-")
            || manifest.contains(&format!("\"{file}\""))
    };
    names.iter().filter(|name| !belongs(name)).cloned().collect()
}

/// A log that is cut anywhere is a prefix of the commits; opening it a second time changes nothing.
#[test]
fn a_torn_log_is_a_prefix() {
    let (_home, path, model) = started(&edges());
    let mut models = vec![model];
    {
        let store = open(&path);
        for step in few() {
            let mut next = models.last().unwrap().clone();
            next.apply(&step);
            store.commit(&changes(&step)).unwrap();
            models.push(next);
        }
    }
    let log = path.join("log-1.0.wal");
    let mut whole = std::fs::read(&log).unwrap();
    // The space that is reserved behind the last commit is zero.
    whole.truncate(whole.iter().rposition(|byte| *byte != 0).unwrap() + 1);
    let mut last = models.len();
    for end in (0..=whole.len()).rev() {
        std::fs::write(&log, &whole[..end]).unwrap();
        for _ in 0..2 {
            let store = open(&path);
            let at = store.snapshot().commit() as usize;
            assert!(at + 1 == last || at + 2 == last, "{at} after {last} at {end}");
            compare(&store.snapshot(), &models[at]).unwrap();
            last = at + 1;
        }
    }
    assert_eq!(last, 1);
}

/// Seen red with the log of any store accepted.
#[test]
fn a_log_of_another_store_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (home.path().join("one.nakshi"), home.path().join("two.nakshi"));
    for path in [&one, &two] {
        start(path, &edges());
        open(path).commit(&changes(&Step::Delete(1))).unwrap();
    }
    std::fs::copy(one.join("log-1.0.wal"), two.join("log-1.0.wal")).unwrap();
    let error = PropertyStore::open(&two, &OpenOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    let report = check(&two, &OpenOptions::default(), &mut |_, _| {}).unwrap();
    assert_eq!(report.damage, 1);
}

#[test]
fn there_is_one_writer() {
    let (_home, path, _) = started(&edges());
    let (first, second) = (open(&path), open(&path));
    first.commit(&changes(&Step::Delete(1))).unwrap();
    let error = second.commit(&changes(&Step::Delete(2))).unwrap_err();
    assert!(matches!(error, Error::LockedHere(_)), "{error}");
    drop(first);
    // The second writer continues where the first one ended.
    second.commit(&changes(&Step::Delete(2))).unwrap();
    assert_eq!(second.snapshot().num_nodes(), 6);
}

#[test]
fn what_cannot_be_is_refused() {
    let (_home, path, model) = started(&edges());
    let store = open(&path);
    let text = |text: &str| Value::String(text.into());
    let node = |v, properties: Vec<(&str, Value)>| Change::AppendNode {
        id: id(v),
        properties: properties.into_iter().map(|(n, v)| (n.to_owned(), v)).collect(),
    };
    let edge = |source, ty: &str, target| Change::AppendEdge {
        source: id(source),
        edge_type: ty.into(),
        destination: id(target),
        timestamp: 0,
        properties: Vec::new(),
    };
    for (change, mention) in [
        (node(1, vec![]), "there already"),
        (node(20, vec![("age", text("old"))]), "property 'age'"),
        (node(20, vec![("", text("x"))]), "no name"),
        (node(20, vec![("x", text("a")), ("x", text("b"))]), "two values"),
        (edge(1, "A", 99), "no node 99"),
        (edge(1, "", 2), "no name"),
        (Change::UpdateNode { id: id(77), properties: vec![], merge: true }, "no node 77"),
    ] {
        let error = store.commit(&[change]).unwrap_err().to_string();
        assert!(error.contains(mention), "{error}");
    }
    // None of the changes of the batch is made.
    assert!(store.commit(&[node(20, vec![]), node(1, vec![])]).is_err());
    compare(&store.snapshot(), &model).unwrap();
    assert_eq!(store.log_bytes(), 0);
}

/// A commit keeps inverse types in step, whichever change it makes. Seen red with one edge of the
/// two.
#[test]
fn inverse_edges_come_and_go_together() {
    let (_home, path, _) = started(&[]);
    let store = open(&path);
    let inverse = |edge_type: &str, inverse: &str| Change::SetInverse {
        edge_type: edge_type.into(),
        inverse: inverse.into(),
    };
    store.commit(&[inverse("likes", "liked_by"), inverse("friend", "friend")]).unwrap();
    let count = |v, ty: &str| tao::assoc_count(&store.snapshot(), &id(v), ty).unwrap();
    tao::assoc_add(&store, &id(1), "likes", &id(2), 5, vec![]).unwrap();
    tao::assoc_add(&store, &id(1), "friend", &id(2), 5, vec![]).unwrap();
    tao::assoc_add(&store, &id(1), "friend", &id(1), 5, vec![]).unwrap();
    assert_eq!((count(2, "liked_by"), count(2, "friend"), count(1, "friend")), (1, 1, 2));
    assert!(tao::assoc_change_type(&store, &id(2), "liked_by", &id(1), "friend").unwrap());
    assert_eq!((count(1, "likes"), count(2, "liked_by")), (0, 0));
    assert_eq!((count(1, "friend"), count(2, "friend")), (2, 1));
    store.compact(&options(), &Hooks::default()).unwrap();
    tao::assoc_add(&store, &id(3), "likes", &id(4), 5, vec![]).unwrap();
    assert_eq!(count(4, "liked_by"), 1);
    assert!(tao::obj_delete(&store, &id(2)).unwrap());
    assert_eq!(count(1, "friend"), 1);
    assert!(store.commit(&[inverse("likes", "friend")]).is_err());
}

/// With writers and readers on many threads, every batch is seen as a whole or not at all, none is
/// lost, and no reader sees an earlier state after a later one. Seen red with commits taken while a
/// compaction ends.
#[test]
fn readers_see_whole_commits() {
    whole_commits_are_seen(u64::MAX);
}

/// The same while the log is frozen and fragments are merged all the time.
#[test]
fn readers_see_whole_commits_while_the_log_is_frozen() {
    whole_commits_are_seen(40_000);
}

fn whole_commits_are_seen(log_limit: u64) {
    let (_home, path, _) = started(&edges());
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    store.set_log_limit(log_limit);
    let first = store.snapshot();
    let own = first.get_edge_record(&id(0), "A").unwrap().len();
    let (stop, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let pair = |writer: u32, i: u32| {
        let (a, b) = (1000 + writer * 10_000 + i * 2, 1001 + writer * 10_000 + i * 2);
        let node = |v| Change::AppendNode { id: id(v), properties: Vec::new() };
        let edge = |source, target| Change::AppendEdge {
            source: id(source),
            edge_type: "A".into(),
            destination: id(target),
            timestamp: i.into(),
            properties: Vec::new(),
        };
        [node(a), node(b), edge(a, b), edge(b, a), edge(0, a)]
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !stop.load(Ordering::Relaxed) {
                    let graph = store.snapshot();
                    let nodes = graph.num_nodes() - first.num_nodes();
                    let edges = graph.num_edges() - first.num_edges();
                    assert_eq!((nodes % 2, edges * 2), (0, nodes * 3));
                    assert!(graph.commit() >= last);
                    last = graph.commit();
                    let hub = graph.get_edge_record(&id(0), "A").unwrap();
                    assert_eq!((hub.len() - own) * 2, nodes);
                }
            });
        }
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let (store, made) = (&store, &made);
                scope.spawn(move || {
                    for i in 0..200 {
                        store.commit(&pair(writer, i)).unwrap();
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        store.compact(&options(), &Hooks::default()).unwrap();
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let nodes = store.snapshot().num_nodes();
    assert_eq!(nodes, 8 + 2 * made.into_inner());
    store.release(&CancelToken::new()).unwrap();
    assert_eq!(log_limit < u64::MAX, store.layers().fragments > 0);
    drop(store);
    assert_eq!(open(&path).snapshot().num_nodes(), nodes);
}

/// Raised when a test ends or fails, so that no thread runs for ever.
#[derive(Default)]
struct Flag(AtomicBool);

struct Raise<'f>(&'f Flag);

impl Flag {
    fn at_the_end(&self) -> Raise<'_> {
        Raise(self)
    }
}

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Seen red with the log read after the files: a compaction may have removed the log then, and its
/// commits with it.
#[test]
fn a_compaction_during_a_backup_takes_nothing_from_it() {
    let (home, path, _) = started(&edges());
    let store = Arc::new(open(&path));
    store.commit(&changes(&Step::Append(8, Properties::new()))).unwrap();
    let last = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&last);
    let count = Hooks {
        progress: Some(Arc::new(move |_| {
            told.fetch_add(1, Ordering::Relaxed);
        })),
        ..Hooks::default()
    };
    backup(&unsynced(), &path, &home.path().join("first.nakshi"), &count).unwrap();
    let writer = Arc::clone(&store);
    let compact = Hooks {
        progress: Some(Arc::new(move |_| {
            if last.fetch_sub(1, Ordering::Relaxed) == 1 {
                writer.compact(&options(), &Hooks::default()).unwrap();
            }
        })),
        ..Hooks::default()
    };
    let copy = home.path().join("second.nakshi");
    backup(&unsynced(), &path, &copy, &compact).unwrap();
    assert_eq!(store.log_bytes(), 0);
    let graph = open(&copy).snapshot();
    assert_eq!((graph.commit(), graph.num_nodes()), (1, 9));
}

/// A backup that is made during commits and a compaction has the state after one commit, is sound,
/// and can be written to. Seen red with files copied without the log.
#[test]
fn a_backup_is_one_commit() {
    let (home, path, _) = started(&edges());
    let store = open(&path);
    let stop = Flag::default();
    let node = |v| Change::AppendNode { id: id(v), properties: Vec::new() };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0.. {
                if stop.0.load(Ordering::Relaxed) {
                    break;
                }
                store.commit(&[node(100 + 2 * i), node(101 + 2 * i)]).unwrap();
                if i % 500 == 499 {
                    store.compact(&options(), &Hooks::default()).unwrap();
                }
            }
        });
        let _stop = stop.at_the_end();
        for number in 0..6 {
            let copy = home.path().join(format!("copy-{number}.nakshi"));
            let before = store.snapshot().commit();
            let report = backup(&unsynced(), &path, &copy, &Hooks::default()).unwrap();
            assert!(report.files > 5 && report.bytes > 0);
            let again = open(&copy);
            let graph = again.snapshot();
            assert!(graph.commit() >= before);
            assert_eq!(graph.num_nodes(), 8 + 2 * graph.commit());
            again.commit(&changes(&Step::Delete(1))).unwrap();
            drop(again);
            let found = check(&copy, &OpenOptions::default(), &mut |_, _| {}).unwrap();
            assert_eq!(found.problems, Vec::<String>::new());
        }
    });
    let error = backup(&unsynced(), &path, &path, &Hooks::default()).unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error}");
}
