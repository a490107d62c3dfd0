//! Queries that are too large, and queries that have to end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Options, Parameters};
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
