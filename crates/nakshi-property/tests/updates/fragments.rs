//! Freezing of the log, and merging of fragments, with failures at every operation of writing.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_io::write::{WriteAction, WriteFs};
use nakshi_property::{Change, LogEntries, PropertyStore, Value, check};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, OpenOptions};

use super::disk::{failing_twice, faulty, unsynced};
use super::model::{Model, Properties, Step, changes, compare, id, start, started};
use super::{edges, few, open, options, orphans};

/// Copies the store at `from`, which is not open.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
    }
}

/// Commits, freezes and merges with a file system that fails once; returns the models of what is there and
/// of what may be there, and whether anything failed.
fn run(store: &PropertyStore, mut model: Model) -> (Model, Option<Model>, bool) {
    let (mut maybe, mut failed) = (None, false);
    for (at, step) in few().iter().enumerate() {
        let mut after = model.clone();
        after.apply(step);
        match store.commit(&changes(step)) {
            Ok(_) => model = after,
            Err(_) => {
                maybe = maybe.or(Some(after));
                failed = true;
            }
        }
        if at % 2 == 0 {
            failed |= store.freeze(&CancelToken::new()).is_err();
        }
        if at % 4 == 3 {
            failed |= store.merge_fragments(2).is_err();
        }
        if maybe.is_none() {
            compare(&store.snapshot(), &model).unwrap();
        }
    }
    (model, maybe, failed)
}

/// Every operation of writing fails once, while the log is frozen and fragments are merged. A freezing
/// that fails leaves the log in memory, and the next one takes it. Seen red with the log file that a
/// failed freezing has begun left behind.
#[test]
fn a_failure_of_freezing_loses_nothing() {
    for (errno, step) in [(libc::EIO, 3), (libc::ENOSPC, 17)] {
        fail_everywhere(step, 150, |nth| faulty(nth, WriteAction::Fail(errno)));
    }
}

/// As before, and the process ends some operations after the failure. Seen red with the files of a failed
/// manifest written again.
#[test]
fn a_failure_and_then_a_crash_lose_nothing() {
    for later in [2, 5, 9, 14] {
        fail_everywhere(5, 30, |nth| failing_twice(nth, later, libc::EIO));
    }
}

/// Runs with a file system that fails in operation `nth`, for every `step`-th of at least `least`.
fn fail_everywhere(step: usize, least: u64, fs: impl Fn(u64) -> Arc<dyn WriteFs>) {
    let first = tempfile::tempdir().unwrap();
    let started = start(&first.path().join("g.nakshi"), &edges());
    // Removing what nobody needs any more may fail without a word.
    let mut well = 0;
    for nth in (0..400_u64).step_by(step) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g.nakshi");
        copy(&first.path().join("g.nakshi"), &path);
        let store = PropertyStore::open_with(&fs(nth), &path, &OpenOptions::default()).unwrap();
        let (mut model, maybe, failed) = run(&store, started.clone());
        drop(store);
        let again = open(&path);
        if compare(&again.snapshot(), &model).is_err() {
            model = maybe.unwrap_or_else(|| panic!("operation {nth}: commits are lost"));
            compare(&again.snapshot(), &model).unwrap();
        }
        again.commit(&[Change::AppendNode { id: id(15), properties: Vec::new() }]).unwrap();
        model.nodes.insert(15, Properties::new());
        again.freeze(&CancelToken::new()).unwrap();
        again.merge_fragments(2).unwrap();
        compare(&again.snapshot(), &model).unwrap();
        let report = check(&path, &OpenOptions::default(), &mut |_, _| {}).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(orphans(&path), Vec::<String>::new(), "operation {nth}");
        well = if failed { 0 } else { well + step };
        if well > 60 {
            assert!(nth > least, "only {nth} operations");
            return;
        }
    }
}

/// A compaction during which too many changes are made is given up, and the store goes on.
#[test]
fn changes_during_a_compaction_keep_to_the_cap() {
    let (_home, path, mut model) = started(&edges());
    let given = OpenOptions { memory: Some(64 << 20), ..OpenOptions::default() };
    let store = PropertyStore::open(&path, &given).unwrap();
    let steps = few();
    let mut make = |step: &Step| {
        store.commit(&changes(step)).unwrap();
        model.apply(step);
    };
    make(&steps[0]);
    let (begun, write) = std::sync::mpsc::sync_channel(0);
    let begun = std::sync::Mutex::new(Some(begun));
    let progress = move |_| {
        if let Some(begun) = begun.lock().unwrap().take() {
            begun.send(()).unwrap();
            // The changes below are made while this call lasts.
            begun.send(()).unwrap();
        }
    };
    let hooks = Hooks { progress: Some(Arc::new(progress)), ..Hooks::default() };
    std::thread::scope(|scope| {
        let compaction = scope.spawn(|| store.compact(&options(), &hooks));
        write.recv().unwrap();
        store.set_log_limit(1);
        make(&steps[1]);
        write.recv().unwrap();
        let given_up = compaction.join().unwrap().unwrap_err();
        assert!(given_up.to_string().contains("given up"), "{given_up}");
    });
    compare(&store.snapshot(), &model).unwrap();
    store.set_log_limit(0);
    store.freeze(&CancelToken::new()).unwrap();
    store.compact(&options(), &Hooks::default()).unwrap();
    compare(&store.snapshot(), &model).unwrap();
    assert_eq!(orphans(&path), Vec::<String>::new());
}

/// The log keeps the entries of commits that fragments have. Seen red with log files removed when their
/// commits are in a fragment.
#[test]
fn entries_outlive_the_freezing() {
    let (_home, path, _) = started(&edges());
    let store = open(&path);
    let cancel = CancelToken::new();
    for step in few() {
        store.commit(&changes(&step)).unwrap();
        store.freeze(&cancel).unwrap();
    }
    assert_eq!(store.log_bytes(), 0);
    let last = store.snapshot().commit();
    drop(store);
    let mut entries = LogEntries::open(&path, None, &cancel).unwrap();
    let found = entries.next(100, &cancel).unwrap();
    let commits: Vec<u64> = found.iter().filter_map(|entry| entry.commit).collect();
    assert_eq!(commits, (1..=last).collect::<Vec<_>>());
    let mut entries = LogEntries::open(&path, Some(last - 1), &cancel).unwrap();
    assert_eq!(entries.next(100, &cancel).unwrap().len(), 1);
}

/// A snapshot reads its fragments behind a cache, after a merge and a compaction have removed their files.
#[test]
fn a_snapshot_outlives_its_files() {
    let (_home, path, mut model) = started(&edges());
    let store = PropertyStore::open_with(
        &unsynced(),
        &path,
        &OpenOptions { memory: Some(1 << 20), ..OpenOptions::default() },
    );
    let store = store.unwrap();
    for step in few() {
        store.commit(&changes(&step)).unwrap();
        model.apply(&step);
        store.freeze(&CancelToken::new()).unwrap();
    }
    let kept = store.snapshot();
    let files = fragment_files(&path, &[]);
    assert!(store.merge_fragments(2).unwrap() > 0);
    store.compact(&options(), &Hooks::default()).unwrap();
    assert!(fragment_files(&path, &files).is_empty());
    kept.clear_cache();
    compare(&kept, &model).unwrap();
    compare(&store.snapshot(), &model).unwrap();
}

/// Files of fragments in a store: those of `among`, or all.
fn fragment_files(path: &Path, among: &[String]) -> Vec<String> {
    let names = std::fs::read_dir(path).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("fragment-")).collect();
    names.retain(|name| among.is_empty() || among.contains(name));
    names
}

/// A full log whose freezing fails takes changes up to twice its limit, and then refuses them with the
/// reason; with room on the disk it goes on. Seen red with a log that grows without limit.
#[test]
fn a_log_that_cannot_be_frozen_is_refused_in_the_end() {
    let (_home, path, _) = started(&edges());
    let store = open(&path);
    store.set_log_limit(20_000);
    let node = |v: u32| Change::AppendNode {
        id: id(v),
        properties: vec![("name".to_owned(), Value::String("x".repeat(100)))],
    };
    store.commit(&[node(99)]).unwrap();
    // Nothing can be created where the index of the fragment should be.
    let blocked = path.join("fragment-2.1.index");
    std::fs::create_dir(&blocked).unwrap();
    let refused = (100..1000).find_map(|v| store.commit(&[node(v)]).err()).unwrap();
    let text = refused.to_string();
    assert!(matches!(refused, Error::Invalid(_)) && text.contains("make room"), "{text}");
    let nodes = store.snapshot().num_nodes();
    assert!(nodes > 40, "{nodes}");
    std::fs::remove_dir(&blocked).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    store.commit(&[node(2000)]).unwrap();
    assert!(store.layers().fragments > 0);
    drop(store);
    assert_eq!(open(&path).snapshot().num_nodes(), nodes + 1);
}
