//! Values of any type in properties, over commits, fragments, compactions and openings.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{Change, LoadOptions, PropertyStore, Value as Stored, load};
use nakshi_query::{Database, Mode, Options, Parameters, Value};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

fn empty(path: &Path) {
    let options = LoadOptions { allow_empty: true, shards: Some(1), ..LoadOptions::default() };
    load(path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
}

fn open(path: &Path) -> Arc<PropertyStore> {
    PropertyStore::open(path, &OpenOptions::default()).unwrap().shared()
}

fn run(database: &Database, text: &str) -> Vec<String> {
    let mut cursor = database.run(text, Parameters::new(), &Options::default()).unwrap();
    let rows = cursor.next(usize::MAX).unwrap();
    let text = |row: &Vec<Value>| row.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
    rows.iter().map(text).collect()
}

const VALUES: [&str; 14] = [
    "1",
    "'one'",
    "1.5",
    "true",
    "[1, 2]",
    "['a', 'b']",
    "[]",
    "date('2026-11-28')",
    "localtime('12:31:14.645876123')",
    "time('12:31:14.645876123+01:00')",
    "datetime('2026-11-28T10:00:00[Europe/Stockholm]')",
    "localdatetime('2026-11-28T10:00:00.000000001')",
    "duration('P1Y2M3DT4H5M6.000000007S')",
    "point({x: 1.0, y: 2.0})",
];

/// All values, by their number.
fn expected(database: &Database) -> Vec<String> {
    (0..)
        .zip(VALUES)
        .map(|(i, value)| format!("{i}, {}", run(database, &format!("RETURN {value}")).concat()))
        .collect()
}

#[test]
fn a_property_has_values_of_all_types() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    empty(&path);
    let store = open(&path);
    let database = Database::new(Arc::clone(&store));
    for (i, value) in VALUES.iter().enumerate() {
        run(
            &database,
            &format!(
                "CREATE (a:N {{i: {i}, labels: {value}}})-[:T {{i: {i}, p: {value}}}]->(:M {{i: {i}, p: {value}}})"
            ),
        );
    }
    let expected = expected(&database);
    let check = |database: &Database| {
        let nodes = run(database, "MATCH (n:M) RETURN n.i, n.p ORDER BY n.i");
        assert_eq!(nodes, expected);
        let labels = run(database, "MATCH (n:N) RETURN n.i, n.labels ORDER BY n.i");
        assert_eq!(labels, expected);
        let edges = run(database, "MATCH ()-[r:T]->() RETURN r.i, r.p ORDER BY r.i");
        assert_eq!(edges, expected);
        for (i, value) in VALUES.iter().enumerate() {
            let found = run(database, &format!("MATCH (n:M {{p: {value}}}) RETURN n.i"));
            assert_eq!(found, [i.to_string()], "{value}");
        }
        assert_eq!(run(database, "MATCH (n:M {p: 1.0}) RETURN n.i"), ["0"]);
    };
    check(&database);
    store.freeze(&CancelToken::new()).unwrap();
    check(&database);
    store.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
    check(&database);
    drop((database, store));
    check(&Database::new(open(&path)));
    let manifest = std::fs::read_to_string(path.join("MANIFEST-1"));
    let manifests = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
    let newest = manifests.filter(|path| path.to_string_lossy().contains("MANIFEST")).max();
    let text = manifest.unwrap_or_default() + &std::fs::read_to_string(newest.unwrap()).unwrap();
    assert!(text.contains("nakshi manifest 6"), "{text}");
}

#[test]
fn a_value_of_another_type_takes_the_place_of_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    empty(&path);
    let store = open(&path);
    let database = Database::new(Arc::clone(&store));
    run(&database, "CREATE (:N {p: 1})");
    for value in ["'a'", "2", "[1]", "3"] {
        run(&database, &format!("MATCH (n:N) SET n.p = {value}"));
        assert_eq!(run(&database, "MATCH (n:N) RETURN n.p"), [value]);
    }
    run(&database, "MATCH (n:N) SET n.p = 'a' REMOVE n.p");
    assert_eq!(run(&database, "MATCH (n:N) RETURN n.p"), ["null"]);
    // Changes that know nothing of columns for any type take their values away as well.
    run(&database, "MATCH (n:N) SET n.p = 'a'");
    let id = store.snapshot().get_node_ids(&[]).unwrap().remove(0);
    for (stored, shown) in [(Stored::Int(7), "7"), (Stored::Null, "null")] {
        run(&database, "MATCH (n:N) SET n.p = 'a'");
        let properties = vec![("p".to_owned(), stored)];
        store.commit(&[Change::UpdateNode { id: id.clone(), properties, merge: true }]).unwrap();
        assert_eq!(run(&database, "MATCH (n:N) RETURN n.p"), [shown]);
    }
}

#[test]
fn a_query_that_fails_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    empty(&path);
    let database = Database::new(open(&path));
    let failing = "UNWIND [1, 2, 0] AS x CREATE (:N {p: 1 / x})";
    let error = database.run(failing, Parameters::new(), &Options::default()).unwrap_err();
    assert_eq!(error.detail(), "DivisionByZero");
    assert_eq!(run(&database, "MATCH (n) RETURN count(n)"), ["0"]);
    let mut transaction = database.begin(Mode::Write).unwrap();
    let options = Options::default();
    transaction.run("CREATE (:A)", Parameters::new(), &options).unwrap();
    transaction.run(failing, Parameters::new(), &options).unwrap_err();
    let mut seen =
        transaction.run("MATCH (n) RETURN labels(n)", Parameters::new(), &options).unwrap();
    assert_eq!(seen.next(10).unwrap().len(), 1);
    assert_eq!(run(&database, "MATCH (n) RETURN count(n)"), ["0"]);
    transaction.commit().unwrap();
    assert_eq!(run(&database, "MATCH (n) RETURN labels(n)"), ["['A']"]);
}

/// The first version with values of any type wrote the store `tests/fixtures/any`, of which the last two
/// nodes are in the log.
#[test]
fn a_store_of_the_first_version_with_any_type_has_its_values() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/any/values.nakshi");
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    std::fs::create_dir(&path).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
    }
    let database = Database::new(open(&path));
    let expected = expected(&database);
    let edges = run(&database, "MATCH ()-[r:T]->() RETURN r.i, r.p ORDER BY r.i");
    assert_eq!(edges, expected);
    let nodes = run(&database, "MATCH (n:N) RETURN n.i, n.p ORDER BY n.i");
    assert_eq!(nodes, [expected, vec!["14, 'later'".to_owned(), "15, 2".to_owned()]].concat());
}
