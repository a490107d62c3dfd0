//! The handle of a store: writers that break, threads that release and compact, cancelled calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{Change, PropertyStore, Value, check};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, OpenOptions};

use super::disk::panics;
use super::model::{Properties, Step, changes, id, started};
use super::{edges, open, options};

fn append(v: u32) -> Change {
    Change::AppendNode { id: id(v), properties: Vec::new() }
}

/// A thread that panics while it writes leaves no other thread waiting. Seen red without the guard:
/// the others wait for ever.
#[test]
fn a_panic_while_writing_wakes_all_who_wait() {
    let (_home, path, _) = started(&edges());
    let armed = Arc::new(AtomicBool::new(false));
    let store = PropertyStore::open_with(&panics(&armed), &path, &OpenOptions::default()).unwrap();
    store.commit(&[append(20)]).unwrap();
    armed.store(true, Ordering::Relaxed);
    let (done, failed) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|i| {
                let (store, done, failed) = (&store, &done, &failed);
                scope.spawn(move || {
                    let result = store.commit(&[append(30 + i)]);
                    done.fetch_add(1, Ordering::Relaxed);
                    assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
                    failed.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        let panicked = writers.into_iter().map(|writer| writer.join().is_err()).filter(|p| *p);
        assert_eq!(panicked.count(), 1);
    });
    assert_eq!((done.into_inner(), failed.into_inner()), (3, 3));
    let again = store.commit(&[append(40)]).unwrap_err();
    assert!(matches!(again, Error::Poisoned { .. }), "{again}");
    for mention in ["g.nakshi", "open it anew"] {
        assert!(again.to_string().contains(mention), "{again}");
    }
    assert_eq!(store.snapshot().num_nodes(), 9);
    // A broken handle that is released lets others write, and stays broken.
    store.release(&CancelToken::new()).unwrap();
    assert!(matches!(store.commit(&[append(40)]), Err(Error::Poisoned { .. })));
    open(&path).commit(&[append(40)]).unwrap();
}

/// Seen red with the lock kept, and with the commits of the writer made a second time.
#[test]
fn a_writer_that_lets_go_may_write_again() {
    let (_home, path, _) = started(&edges());
    let (one, two) = (open(&path), open(&path));
    for i in 0..3 {
        let writer = if i % 2 == 0 { &one } else { &two };
        writer.commit(&[append(20 + i)]).unwrap();
        assert!(writer.is_writer());
        writer.release(&CancelToken::new()).unwrap();
        assert!(!writer.is_writer());
        assert_eq!(writer.snapshot().num_nodes(), u64::from(9 + i));
    }
    assert!(two.refresh().unwrap());
    assert_eq!((two.snapshot().num_nodes(), two.snapshot().commit()), (11, 3));
    assert_eq!(one.log_bytes(), two.log_bytes());
}

/// Compactions, releases, refreshes and commits of many threads through one handle. Seen red with two
/// compactions at once: one removes the files of the other.
#[test]
fn threads_share_a_handle() {
    let (_home, path, _) = started(&edges());
    let store = open(&path);
    let before = store.snapshot().num_nodes();
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let store = &store;
            scope.spawn(move || {
                for i in 0..60 {
                    store.commit(&[append(1000 * (writer + 1) + i)]).unwrap();
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2 {
                    store.compact(&options(), &Hooks::default()).unwrap();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..10 {
                store.release(&CancelToken::new()).unwrap();
                store.refresh().unwrap();
                std::thread::sleep(Duration::from_millis(5));
            }
        });
    });
    assert_eq!(store.snapshot().num_nodes(), before + 120);
    drop(store);
    assert_eq!(open(&path).snapshot().num_nodes(), before + 120);
    let found = check(&path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
}

/// A long iterator of changes makes more than one commit, and a cancelled call leaves the handle as
/// it was.
#[test]
fn many_changes_come_one_by_one() {
    let (_home, path, _) = started(&edges());
    let store = open(&path);
    let text = |i: usize| Value::String(format!("{i}").repeat(100_000));
    let update = |i: usize| Change::UpdateNode {
        id: id(0),
        properties: vec![("name".to_owned(), text(i % 10))],
        merge: true,
    };
    let never = CancelToken::new();
    assert_eq!(store.commit_all((0..10).map(|i| Ok(update(i))), &never).unwrap(), 10);
    assert_eq!(store.snapshot().commit(), 1);
    // 6 MB of changes; a commit has at most 4 MiB.
    assert_eq!(store.commit_all((0..60).map(|i| Ok(update(i))), &never).unwrap(), 60);
    assert_eq!(store.snapshot().commit(), 3);
    assert_eq!(store.commit_all(std::iter::empty(), &never).unwrap(), 0);
    let cancel = CancelToken::new();
    let stopped = (0..).map(|i| {
        if i == 5 {
            cancel.cancel();
        }
        Ok(append(100 + i))
    });
    assert!(matches!(store.commit_all(stopped, &cancel), Err(Error::Cancelled)));
    assert_eq!((store.snapshot().commit(), store.snapshot().num_nodes()), (3, 8));
    store.commit(&changes(&Step::Append(8, Properties::new()))).unwrap();
    drop(store);
    assert_eq!(open(&path).snapshot().commit(), 4);
}

/// Seen red with the log read without a check of the token.
#[test]
fn a_long_log_can_be_interrupted() {
    let (_home, path, _) = started(&edges());
    let (store, watcher) = (open(&path), open(&path));
    let update = |i: u32| Change::UpdateNode {
        id: id(i % 8),
        properties: vec![("name".to_owned(), Value::String(format!("{i}")))],
        merge: true,
    };
    let count = 400_000;
    store.commit(&(0..count).map(update).collect::<Vec<_>>()).unwrap();
    let cancel = CancelToken::new();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            Instant::now()
        });
        let stopped = watcher.refresh_until(&cancel);
        let late = asked.join().unwrap().elapsed();
        assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
        assert!(late < Duration::from_millis(500), "{late:?}");
    });
    assert_eq!(watcher.snapshot().commit(), 0);
    assert!(watcher.refresh().unwrap());
    assert_eq!(watcher.snapshot().commit(), 1);
}

/// Edges of a long record are found by sorted lookups, and by a linear search if the memory has no
/// room for those. Seen red with positions in the record taken for rows of the file.
#[test]
fn lookups_are_right_within_any_memory() {
    let (_home, path, _) = started(&edges());
    let hub = |target: u32| Change::AppendEdge {
        source: id(3),
        edge_type: "B".into(),
        destination: id(target),
        timestamp: target.into(),
        properties: Vec::new(),
    };
    {
        let store = open(&path);
        let long = (8..208).flat_map(|target| [append(target), hub(target)]);
        store.commit(&long.collect::<Vec<_>>()).unwrap();
        store.compact(&options(), &Hooks::default()).unwrap();
    }
    let given = |memory| OpenOptions { memory, ..OpenOptions::default() };
    let least = match PropertyStore::open(&path, &given(Some(1))) {
        Err(Error::Budget { needed, .. }) => needed,
        other => panic!("{other:?}"),
    };
    let gone = [207, 8, 100, 100];
    for memory in [Some(least), None] {
        let store = PropertyStore::open(&path, &given(memory)).unwrap();
        let before = store.snapshot().num_edges();
        let changed = gone.map(|target| {
            let (edge_type, destination) = ("B".into(), id(target));
            let change = Change::DeleteEdge { source: id(3), edge_type, destination };
            store.commit(&[change]).unwrap()
        });
        assert_eq!(changed, [1, 1, 1, 0]);
        let graph = store.snapshot();
        let record = graph.get_edge_record(&id(3), "B").unwrap();
        let ends = (0..record.len())
            .map(|place| graph.get_edge_data(&record, place).unwrap().destination.to_string());
        let left =
            (8..208).filter(|target| !gone.contains(target)).map(|target| target.to_string());
        assert_eq!(ends.collect::<Vec<_>>(), left.collect::<Vec<_>>());
        assert_eq!(graph.num_edges(), before - 3);
        // The next handle finds them as well.
        for target in [207, 8, 100] {
            store.commit(&[hub(target)]).unwrap();
        }
        store.compact(&options(), &Hooks::default()).unwrap();
    }
}
