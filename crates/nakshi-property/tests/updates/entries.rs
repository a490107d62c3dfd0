//! Log entries: another store that applies them answers alike, whatever its layout.

use nakshi_io::CancelToken;
use nakshi_property::{Change, LogEntries, LogEntry, TransactionMark, Value};
use nakshi_store::import::Hooks;
use proptest::prelude::*;

use super::model::{Edge, Properties, Step, changes, compare, edge, id, start, steps};
use super::{open, options};

/// All entries of a store, as lines of JSON.
fn lines(path: &std::path::Path, since: Option<u64>) -> Vec<String> {
    let cancel = CancelToken::new();
    let mut entries = LogEntries::open(path, since, &cancel).unwrap();
    let mut found = Vec::new();
    loop {
        let some = entries.next(3, &cancel).unwrap();
        if some.is_empty() {
            return found;
        }
        found.extend(some.iter().map(|entry| entry.to_json().unwrap()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Seen red with labels that are left out of the JSON, and with entries that are applied twice.
    #[test]
    fn a_store_that_applies_the_entries_answers_alike(
        edges in prop::collection::vec(edge(), 0..20),
        steps in steps(),
        cut in 0..60usize,
    ) {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let paths = [&one, &two].map(|home| home.path().join("g.nakshi"));
        let mut model = start(&paths[0], &edges);
        // The layout depends on the number of edges; an edge of a node that is not there is left out.
        let mut other = edges.clone();
        other.push(absent());
        start(&paths[1], &other);
        {
            let mut store = open(&paths[0]);
            for step in steps.iter().filter(|step| !matches!(step, Step::Compact)) {
                if matches!(step, Step::Reopen) {
                    drop(store);
                    store = open(&paths[0]);
                }
                model.apply(step);
                let _ = store.commit(&changes(step));
            }
        }
        let lines = lines(&paths[0], None);
        let parsed = |lines: &[String]| {
            lines.iter().map(|line| LogEntry::from_json(line)).collect::<Vec<_>>()
        };
        let (replica, cancel) = (open(&paths[1]), CancelToken::new());
        let cut = cut.min(lines.len());
        replica.apply(parsed(&lines[..cut]), &cancel).unwrap();
        let report = replica.apply(parsed(&lines), &cancel).unwrap();
        prop_assert_eq!(report.skipped, cut as u64);
        prop_assert_eq!(report.commit, lines.len() as u64);
        compare(&replica.snapshot(), &model)?;
        drop(replica);
        compare(&open(&paths[1]).snapshot(), &model)?;
    }
}

fn absent() -> Edge {
    let ty = "A".to_owned();
    Edge { source: 11, ty, target: 11, time: 0, number: 0, properties: Properties::new() }
}

fn named(v: u32, name: &str) -> Change {
    let properties = vec![("name".to_owned(), Value::String(name.into()))];
    Change::UpdateNode { id: id(v), properties, merge: true }
}

#[test]
fn entries_that_do_not_follow_are_refused() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let paths = [&one, &two].map(|home| home.path().join("g.nakshi"));
    paths.iter().for_each(|path| drop(start(path, &[])));
    let cancel = CancelToken::new();
    let store = std::sync::Arc::new(open(&paths[0]));
    store.commit(&[named(1, "a")]).unwrap();
    store.transact(|transaction| transaction.apply(named(1, "b"))).unwrap();
    store.commit(&[Change::DeleteNode { id: id(2) }]).unwrap();
    let entries = LogEntries::open(&paths[0], Some(0), &cancel).unwrap().next(9, &cancel).unwrap();
    let mark = entries[1].transaction.unwrap();
    assert_eq!((mark.begun, entries[0].transaction, entries.len()), (1, None, 3));

    let replica = open(&paths[1]);
    let gap = replica.apply([Ok(entries[1].clone())], &cancel).unwrap_err();
    assert!(gap.to_string().contains("commits up to 0"), "{gap}");
    replica.apply(entries.iter().take(2).cloned().map(Ok), &cancel).unwrap();
    // The mark of the transaction is in the log of the replica as well.
    let copied = LogEntries::open(&paths[1], None, &cancel).unwrap().next(9, &cancel).unwrap();
    assert_eq!(copied, entries[..2]);
    let other = LogEntry { changes: vec![Change::DeleteNode { id: id(99) }], ..entries[2].clone() };
    let strange = replica.apply([Ok(other)], &cancel).unwrap_err();
    assert!(strange.to_string().contains("other commits"), "{strange}");
    // An entry without a number is a new commit.
    let new = LogEntry {
        commit: None,
        transaction: Some(TransactionMark { id: 7, begun: 0 }),
        changes: vec![named(3, "c")],
    };
    assert_eq!(replica.apply([Ok(new)], &cancel).unwrap().commit, 3);

    // A compaction takes the commits out of the log, and keeps their number and the marks of later ones.
    store.compact(&options(), &Hooks::default()).unwrap();
    store.transact(|transaction| transaction.apply(named(4, "d"))).unwrap();
    let gone = LogEntries::open(&paths[0], Some(2), &cancel).unwrap_err();
    assert!(gone.to_string().contains("behind commit 3"), "{gone}");
    let left = LogEntries::open(&paths[0], None, &cancel).unwrap().next(9, &cancel).unwrap();
    assert_eq!(left.iter().map(|entry| entry.commit).collect::<Vec<_>>(), [Some(4)]);
}
