//! `LOAD CSV`, and subqueries that commit while they run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;

use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Class, Database, Mode, Options, Parameters, QueryError, Value};
use nakshi_store::OpenOptions;
use nakshi_store::import::Hooks;

fn graph(dir: &Path) -> (Arc<PropertyStore>, Database) {
    let path = dir.join("g.nakshi");
    let options = LoadOptions { allow_empty: true, ..LoadOptions::default() };
    load(&path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap().shared();
    let files = dir.join("files");
    std::fs::create_dir(&files).unwrap();
    let database = Database::new(Arc::clone(&store)).with_csv_folder(&files);
    (store, database)
}

fn ask(database: &Database, text: &str) -> Result<Vec<Vec<Value>>, QueryError> {
    database.run(text, Parameters::new(), &Options::default())?.next(usize::MAX)
}

fn shown(database: &Database, text: &str) -> String {
    let rows = ask(database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let row = |row: Vec<Value>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    rows.into_iter().map(row).collect::<Vec<_>>().join("; ")
}

#[test]
fn files_of_the_folder_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let (_, database) = graph(dir.path());
    let files = dir.path().join("files");
    let people = "\u{feff}name,age,note\nAnn,31,\"a \"\"b\"\"\nc\"\nBen,,\nCem\n";
    std::fs::write(files.join("people.csv"), people).unwrap();
    std::fs::write(files.join("semi.csv"), "1;2\n3;\n").unwrap();
    std::fs::write(dir.path().join("secret.csv"), "x\n").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret.csv"), files.join("link.csv")).unwrap();
    let headers = "LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row";
    let found = shown(&database, &format!("{headers} RETURN row.name, row.age, row.note"));
    assert_eq!(found, "'Ann' '31' 'a \"b\"\nc'; 'Ben' null null; 'Cem' null null");
    let lists = "LOAD CSV FROM 'semi.csv' AS line FIELDTERMINATOR ';' RETURN line";
    assert_eq!(shown(&database, lists), "['1', '2']; ['3', null]");
    ask(&database, &format!("{headers} MERGE (:P {{name: row.name, age: toInteger(row.age)}})"))
        .expect_err("null in MERGE");
    ask(&database, &format!("{headers} CREATE (:P {{name: row.name, age: toInteger(row.age)}})"))
        .unwrap();
    assert_eq!(shown(&database, "MATCH (p:P) RETURN count(*), sum(p.age)"), "3 31");
    for source in [
        "'../secret.csv'",
        "'link.csv'",
        "'file:///../secret.csv'",
        "'/etc/passwd'",
        "'none.csv'",
        "'https://example.org/a.csv'",
        "''",
    ] {
        let text = format!("LOAD CSV FROM {source} AS row RETURN row");
        assert_eq!(ask(&database, &text).expect_err(source).class(), Class::Argument, "{source}");
    }
    let without = Database::of_graph(database.snapshot());
    let error = ask(&without, "LOAD CSV FROM 'semi.csv' AS row RETURN row").unwrap_err();
    assert!(error.message().contains("--csv-folder"), "{error}");
}

#[test]
fn a_subquery_commits_after_so_many_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (store, database) = graph(dir.path());
    let before = store.snapshot().commit();
    let made =
        "UNWIND range(1, 10) AS i CALL { WITH i CREATE (:N {i: i}) } IN TRANSACTIONS OF 3 ROWS";
    ask(&database, made).unwrap();
    assert_eq!(store.snapshot().commit() - before, 4);
    // Nodes that the query creates are not among its rows.
    let copies =
        "MATCH (n:N) CALL { WITH n CREATE (m:M {i: n.i}) RETURN m } IN TRANSACTIONS OF 2 ROWS
        RETURN count(m.i), sum(m.i)";
    assert_eq!(shown(&database, copies), "10 55");
    // It reads what earlier transactions have committed.
    let counted = "UNWIND [1, 2, 3, 4] AS i
        CALL { CREATE (:C) WITH 1 AS x MATCH (c:C) RETURN count(c) AS c } IN TRANSACTIONS OF 2 ROWS
        RETURN c";
    assert_eq!(shown(&database, counted), "1; 2; 3; 4");
    let reads = "MATCH (n:N) CALL { WITH n RETURN n.i AS i } IN TRANSACTIONS RETURN sum(i)";
    assert_eq!(shown(&database, reads), "55");
}

#[test]
fn an_error_undoes_one_of_the_transactions() {
    let dir = tempfile::tempdir().unwrap();
    let (_, database) = graph(dir.path());
    let divide = |on_error: &str| {
        format!(
            "UNWIND [1, 2, 0, 4, 5] AS i
             CALL {{ WITH i CREATE (n:N {{i: i}}) RETURN 10 / i AS q }} IN TRANSACTIONS OF 2 ROWS {on_error}
             RETURN i, q"
        )
    };
    let left = "MATCH (n:N) WITH n.i AS i ORDER BY i RETURN collect(i)";
    let clear = "MATCH (n:N) DELETE n";
    assert!(ask(&database, &divide("")).is_err());
    assert_eq!(shown(&database, left), "[1, 2]");
    ask(&database, clear).unwrap();
    let found = shown(&database, &divide("ON ERROR CONTINUE"));
    assert_eq!(found, "1 10; 2 5; 0 null; 4 null; 5 2");
    assert_eq!(shown(&database, left), "[1, 2, 5]");
    ask(&database, clear).unwrap();
    let found = shown(&database, &divide("ON ERROR BREAK"));
    assert_eq!(found, "1 10; 2 5; 0 null; 4 null; 5 null");
    assert_eq!(shown(&database, left), "[1, 2]");
    let mut transaction = database.begin(Mode::Write).unwrap();
    let ran = transaction.run(&divide(""), Parameters::new(), &Options::default());
    assert!(ran.unwrap_err().message().contains("run it alone"));
    let nested = "CALL { UNWIND [1] AS i CALL { CREATE () } IN TRANSACTIONS RETURN i } RETURN i";
    assert_eq!(ask(&database, nested).unwrap_err().class(), Class::Syntax);
    let zero = "UNWIND [1] AS i CALL { CREATE () } IN TRANSACTIONS OF 0 ROWS";
    assert_eq!(ask(&database, zero).unwrap_err().class(), Class::Argument);
}

/// Writers that meet run a part of the rows again, not those that are committed.
#[test]
fn writers_side_by_side_count_every_row_once() {
    let dir = tempfile::tempdir().unwrap();
    let (_, database) = graph(dir.path());
    ask(&database, "CREATE (:Counter {n: 0})").unwrap();
    let count = "UNWIND range(1, 60) AS i
        CALL { MATCH (c:Counter) SET c.n = c.n + 1 } IN TRANSACTIONS OF 7 ROWS";
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask(&database, count).unwrap());
        }
    });
    assert_eq!(shown(&database, "MATCH (c:Counter) RETURN c.n"), "240");
}

/// A look-up by a label and a value reads the nodes with the value, not those with the label. Loading 20,000
/// nodes and as many edges would take minutes else.
#[test]
fn look_ups_do_not_slow_down_as_a_graph_is_filled() {
    let dir = tempfile::tempdir().unwrap();
    let (_, database) = graph(dir.path());
    let options = || Options::default().with_timeout(std::time::Duration::from_secs(30));
    for text in [
        "UNWIND range(1, 20000) AS i MERGE (n:P {id: i})",
        "UNWIND range(1, 19999) AS i MATCH (a:P {id: i}), (b:P {id: i + 1}) CREATE (a)-[:K]->(b)",
    ] {
        database.run(text, Parameters::new(), &options()).unwrap();
    }
    assert_eq!(shown(&database, "MATCH (:P)-[k:K]->(:P) RETURN count(k)"), "19999");
}
