//! Queries that are too large, and queries that have to end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Mode, Options, Parameters, Value};
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

/// Changes took what memory there was.
#[test]
fn changes_end_at_the_memory_of_a_query() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let little = Options { memory: Some(1 << 20), ..Options::default() };
    let nodes = || {
        let mut cursor =
            database.run("MATCH (n) RETURN count(n)", Parameters::new(), &little).unwrap();
        let rows = cursor.next(1).unwrap();
        if let [Value::Int(count)] = rows[0][..] { count } else { -1 }
    };
    for large in [
        "UNWIND range(1, 1000000) AS x CREATE ()",
        "UNWIND range(1, 1000000) AS x MERGE (:N {x: x})",
        "CREATE (a) WITH a UNWIND range(1, 1000000) AS x CREATE (a)-[:T]->(a)",
        "CREATE (a) WITH a UNWIND range(1, 12) AS x FOREACH (y IN range(1, 20000) | SET a.p = toString(y))",
        "UNWIND range(1, 1000000) AS x CALL (x) { CREATE ({x: x}) } IN TRANSACTIONS OF 1000000 ROWS",
    ] {
        assert_eq!(class_of(&database, large, &little), Some(Class::Memory), "{large}");
        assert_eq!(nodes(), 0, "{large}");
    }
    // Transactions of fewer rows have room for them.
    let text =
        "UNWIND range(1, 10000) AS x CALL (x) { CREATE (:N {x: x}) } IN TRANSACTIONS OF 200 ROWS";
    assert_eq!(class_of(&database, text, &little), None);
    assert_eq!(nodes(), 10_000);
    // The changes of all queries of a transaction count.
    let mut transaction = database.begin(Mode::Write).unwrap();
    let step = "UNWIND range(1, 200) AS x CREATE ()";
    let refused = (0..40).find_map(|at| {
        let ran = transaction.run(step, Parameters::new(), &little);
        ran.err().map(|error| (at, error.class()))
    });
    assert!(matches!(refused, Some((1.., Class::Memory))), "{refused:?}");
    transaction.commit().unwrap();
    assert_eq!(nodes() - 10_000, 200 * i64::from(refused.unwrap().0));
}

/// The rows of a query, as text.
fn texts_of(database: &Database, text: &str, memory: Option<u64>) -> Vec<String> {
    let options = Options { memory, ..Options::default() };
    let mut cursor = database.run(text, Parameters::new(), &options).unwrap();
    let mut found = Vec::new();
    loop {
        let rows = cursor.next(1000).unwrap_or_else(|error| panic!("{text}: {error}"));
        if rows.is_empty() {
            return found;
        }
        found.extend(rows.iter().map(|row| format!("{row:?}")));
    }
}

/// Seen red with runs whose equal rows come in any order.
#[test]
fn rows_are_sorted_beyond_the_memory_of_a_query() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    let create = "CREATE (a:A {x: 1})-[:T {y: 2}]->(b:B {x: 2.5})-[:U]->(a)";
    assert_eq!(class_of(&database, create, &Options::default()), None);
    let values = "MATCH p = (a)-[r:T]->(b) UNWIND range(1, 30000) AS x \
        WITH x, (x * 7919) % 30011 AS y, [null, true, x, 1.5 / x, toString(x), [x, [x]], {m: x, n: [x]}, \
            a, r, p, date('2024-02-29') + duration({days: x}), localtime({hour: x % 24}), \
            time({hour: x % 24, timezone: '+02:00'}), localdatetime({year: x, month: 2}), \
            datetime({year: 2000 + x % 50, timezone: 'Europe/Berlin'}), duration({months: x, seconds: x}), \
            point({x: x, y: 2.5, z: -0.5}), 0.0 / 0.0][x % 18] AS value ";
    for order in [
        "RETURN x, y, value ORDER BY y",
        "RETURN x, y, value ORDER BY value DESC, y",
        // Rows of equal keys stay in their order.
        "RETURN x, value ORDER BY y % 7 DESC, x % 3",
        "RETURN x, value ORDER BY y DESC SKIP 10 LIMIT 20000",
        "RETURN x, value ORDER BY y DESC LIMIT 20",
    ] {
        let text = format!("{values}{order}");
        let expected = texts_of(&database, &text, None);
        assert!(expected.len() > 10, "{order}");
        let found = texts_of(&database, &text, Some(2 << 20));
        assert!(found == expected, "{order}");
    }
    let deep = "UNWIND range(1, 100) AS x WITH x, reduce(l = [x], i IN range(1, 998) | [l]) AS deep \
        RETURN deep ORDER BY x DESC";
    assert!(texts_of(&database, deep, Some(2 << 20)) == texts_of(&database, deep, None));
    // Nothing is left of it.
    let names = std::fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["g.nakshi"]);
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

/// A path that goes on and on, and rows with long lists. Seen red without the memory of the path, and with batches of
/// as many rows as are asked for.
#[test]
fn repeated_patterns_end_at_the_limits_of_a_query() {
    let home = tempfile::tempdir().unwrap();
    let database = database(&home);
    for text in [
        "UNWIND range(0, 8000) AS i CREATE (:N {i: i})",
        "MATCH (n:N) WITH n ORDER BY n.i WITH collect(n) AS all UNWIND range(1, size(all) - 1) AS i \
         WITH all[i - 1] AS a, all[i] AS b CREATE (a)-[:R]->(b)",
        "UNWIND range(1, 10) AS i CREATE (:M {i: i})",
        "MATCH (a:M), (b:M) CREATE (a)-[:S]->(b)",
    ] {
        assert_eq!(class_of(&database, text, &Options::default()), None, "{text}");
    }
    let little = Options { memory: Some(1 << 20), ..Options::default() };
    let long = "MATCH (:N {i: 0})(()-->()-->()){3999,}() RETURN count(*)";
    assert_eq!(class_of(&database, long, &little), Some(Class::Memory));
    assert_eq!(class_of(&database, long, &Options::default()), None);
    let endless = "MATCH (:M {i: 1})((x)-[:S]->(y)-[:S]->(z) WHERE x.i < 9)+(:N) RETURN count(*)";
    let soon = Options::default().with_timeout(Duration::from_millis(20));
    assert_eq!(class_of(&database, endless, &soon), Some(Class::Deadline));
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = Options { cancel, ..Options::default() };
    assert_eq!(class_of(&database, endless, &cancelled), Some(Class::Cancelled));
    // Each batch has some of the rows.
    let text = "MATCH (:N {i: 0})((x)-->(y)-->(z)){1,500}(b) RETURN x, y, z, b";
    let mut cursor = database.run(text, Parameters::new(), &little).unwrap();
    let (mut rows, mut most) = (0, 0);
    loop {
        let more = cursor.next(1024).unwrap();
        if more.is_empty() {
            break;
        }
        (rows, most) = (rows + more.len(), most.max(more.len()));
    }
    assert_eq!((rows, most < 100), (500, true), "{most}");
}
