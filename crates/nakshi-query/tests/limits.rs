//! Queries that are too large, and queries that have to end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Options, Parameters, Value};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

fn database(home: &tempfile::TempDir) -> Database {
    let path = home.path().join("g.nakshi");
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    Database::new(Arc::new(PropertyStore::open(&path, &OpenOptions::default()).unwrap()))
}

fn class_of(database: &Database, text: &str, options: &Options) -> Option<Class> {
    let mut cursor = match database.run(text, Parameters::new(), options) {
        Ok(cursor) => cursor,
        Err(error) => return Some(error.class()),
    };
    cursor.next(usize::MAX).err().map(|error| error.class())
}

#[test]
fn a_query_ends_at_its_limits() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let long = "UNWIND range(1, 10000000) AS x UNWIND range(1, 10000000) AS y WITH x, y WHERE x < 0 RETURN x";
    let soon = Options::default().with_timeout(Duration::from_millis(20));
    assert_eq!(class_of(&database, long, &soon), Some(Class::Deadline));
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = Options { cancel, ..Options::default() };
    assert_eq!(class_of(&database, long, &cancelled), Some(Class::Cancelled));
    let little = Options { memory: Some(1 << 20), ..Options::default() };
    let large = "UNWIND range(1, 1000000) AS x RETURN x ORDER BY x DESC";
    assert_eq!(class_of(&database, large, &little), Some(Class::Memory));
}

/// Texts and lists that double took all memory before, and lists inside of each other the stack: the process ended.
#[test]
fn values_end_at_the_memory_of_a_query() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let little = Options { memory: Some(1 << 20), ..Options::default() };
    for large in [
        "RETURN reduce(t = 'x', i IN range(1, 60) | t + t)",
        "RETURN reduce(l = [1], i IN range(1, 60) | l + l)",
        "RETURN size(range(1, 1000000))",
        "RETURN [x IN range(1, 10000) | [y IN range(1, 10000) | y]]",
        "WITH reduce(t = 'x', i IN range(1, 16) | t + t) AS t RETURN replace(t, 'x', t)",
        "WITH reduce(t = 'x', i IN range(1, 16) | t + t) AS t RETURN split(t, '')",
        "RETURN COLLECT { UNWIND range(1, 1000000) AS x RETURN x }",
        "UNWIND range(1, 1000000) AS x WITH reduce(t = 'x', i IN range(1, 16) | t + t + x) AS t \
         RETURN collect(t)",
    ] {
        assert_eq!(class_of(&database, large, &little), Some(Class::Memory), "{large}");
    }
    // Each batch of rows has some of them.
    let text = "UNWIND range(1, 64) AS x RETURN reduce(t = 'x', i IN range(1, 16) | t + t) AS t";
    let mut cursor = database.run(text, Parameters::new(), &little).unwrap();
    let (mut rows, mut batches) = (0, 0);
    loop {
        let more = cursor.next(1024).unwrap();
        if more.is_empty() {
            break;
        }
        (rows, batches) = (rows + more.len(), batches + 1);
    }
    assert_eq!((rows, batches > 16), (64, true));
    for deep in [
        "RETURN reduce(l = [], i IN range(1, 1000000) | [l])",
        "RETURN reduce(m = {}, i IN range(1, 1000000) | {m: m})",
        "RETURN reduce(l = [], i IN range(1, 1000000) | [x IN [l] | x])",
    ] {
        assert_eq!(class_of(&database, deep, &Options::default()), Some(Class::Argument), "{deep}");
    }
    let known = "RETURN size(reduce(l = [], i IN range(1, 999) | [l])) AS n";
    assert_eq!(class_of(&database, known, &Options::default()), None);
}

#[test]
fn a_query_runs_promptly_if_it_did_before() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let (options, soon) = (Options::default(), Duration::from_millis(500));
    let given = |most| Parameters::from([("most".into(), Value::Int(most))]);
    let prompt = |text: &str, most, options: &Options, time: Duration| {
        database.run_promptly(text, &given(most), options, time).map_err(|error| error.class())
    };
    let whole = |text: &str| {
        let mut cursor = database.run(text, given(10), &options).unwrap();
        cursor.next(usize::MAX).unwrap()
    };
    let count = "UNWIND range(1, $most) AS x WITH x WHERE x > 0 RETURN count(x) AS n";
    assert!(prompt(count, 10, &options, soon).unwrap().is_none());
    whole(count);
    let mut found = prompt(count, 10, &options, soon).unwrap().unwrap();
    assert!(found.is_whole());
    assert!(matches!(found.next(2).unwrap()[..], [ref row] if matches!(row[..], [Value::Int(10)])));
    // One that takes longer this time is given up, and not tried again before it was short again.
    assert!(prompt(count, 1 << 40, &options, soon).unwrap().is_none());
    assert!(!database.is_prompt(count, soon));
    whole(count);
    assert!(database.is_prompt(count, soon));
    // Its own time has passed.
    let late = Options::default().with_timeout(Duration::from_millis(20));
    let hour = Duration::from_secs(3600);
    assert_eq!(prompt(count, 1 << 40, &late, hour).err(), Some(Class::Deadline));
    // A query that changes the graph runs once.
    let create = "UNWIND range(1, $most) AS x CREATE () RETURN x";
    whole(create);
    assert!(prompt(create, 10, &options, soon).unwrap().is_none());
    let nodes = whole("MATCH () RETURN count(*)");
    assert!(matches!(nodes[0][..], [Value::Int(10)]), "{nodes:?}");
}

#[test]
fn a_query_that_is_nested_deeply_is_an_answer_or_an_error() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let options = Options::default();
    for depth in [10, 99, 100, 999, 100_000] {
        for (open, close) in [("(", ")"), ("[", "]"), ("{a: ", "}")] {
            let text = format!("RETURN {}1{}", open.repeat(depth), close.repeat(depth));
            let found = class_of(&database, &text, &options);
            assert_eq!(found.is_some(), depth > 100, "{open} {depth}");
        }
        for link in ["1 + ", "NOT ", "- ", "true AND ", "1 < ", "2 ^ "] {
            let text = format!("RETURN {}1", link.repeat(depth));
            let found = class_of(&database, &text, &options);
            assert!(depth <= 1000 || found == Some(Class::Syntax), "{link} {depth}: {found:?}");
        }
    }
    for clause in ["MATCH (n) ", "WITH 1 AS x ", "CREATE () ", "RETURN 1 AS x UNION "] {
        for count in [900, 20_000] {
            let text = format!("{}RETURN 1 AS x", clause.repeat(count));
            let found = class_of(&database, &text, &options);
            assert_eq!(found, (count > 1000).then_some(Class::Syntax), "{clause} {count}");
        }
    }
    let nodes = vec!["()"; 5000].join(", ");
    assert_eq!(class_of(&database, &format!("CREATE {nodes}"), &options), None);
}
