//! Constraints: random changes against a model that knows which of them break one, through fragments,
//! compactions and reopening; the commands that declare and drop them; and writers side by side.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{Change, LABELS, LoadOptions, PropertyStore, Value as Stored, load};
use nakshi_query::{Class, Database, Mode, Options, Parameters, QueryError, Value};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, ExternalId, OpenOptions, mix};

fn new_store(path: &Path) -> Arc<PropertyStore> {
    let options = LoadOptions { allow_empty: true, ..LoadOptions::default() };
    load(path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
    open(path)
}

fn open(path: &Path) -> Arc<PropertyStore> {
    PropertyStore::open(path, &OpenOptions::default()).unwrap().shared()
}

fn opened(store: Arc<PropertyStore>) -> (Arc<PropertyStore>, Database) {
    let database = Database::new(Arc::clone(&store));
    (store, database)
}

fn ask(database: &Database, text: &str) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut cursor = database.run(text, Parameters::new(), &Options::default())?;
    cursor.next(usize::MAX)
}

fn classed(database: &Database, text: &str) -> Class {
    ask(database, text).expect_err(text).class()
}

/// A node of the model: its labels, and its properties `a` and `b`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    labels: Vec<&'static str>,
    values: [Option<u64>; 2],
}

/// A graph with the constraints that `a` of `:U` is unique, that `a` and `b` of `:K` are a key, and that
/// `b` of `:E` is there.
struct Graph {
    path: PathBuf,
    opened: Option<(Arc<PropertyStore>, Database)>,
    nodes: BTreeMap<u64, Node>,
    drawn: u64,
    refused: usize,
}

const LABELLED: [&str; 3] = ["U", "K", "E"];

fn keeps(nodes: &BTreeMap<u64, Node>) -> bool {
    let with = |label| nodes.values().filter(move |node| node.labels.contains(&label));
    let distinct = |mut values: Vec<_>| {
        let before = values.len();
        values.sort_unstable();
        values.dedup();
        values.len() == before
    };
    let unique = with("U").filter_map(|node| node.values[0]).map(|a| [a, 0]).collect();
    let keys: Option<Vec<_>> =
        with("K").map(|node| Some([node.values[0]?, node.values[1]?])).collect();
    let there = with("E").all(|node| node.values[1].is_some());
    distinct(unique) && keys.is_some_and(distinct) && there
}

impl Graph {
    fn new(path: &Path, seed: u64) -> Self {
        let (store, database) = opened(new_store(path));
        for text in [
            "CREATE CONSTRAINT u FOR (n:U) REQUIRE n.a IS UNIQUE",
            "CREATE CONSTRAINT k FOR (n:K) REQUIRE (n.a, n.b) IS NODE KEY",
            "CREATE CONSTRAINT e FOR (n:E) REQUIRE n.b IS NOT NULL",
        ] {
            ask(&database, text).unwrap();
        }
        let (nodes, path) = (BTreeMap::new(), path.to_owned());
        Graph { path, opened: Some((store, database)), nodes, drawn: seed, refused: 0 }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.drawn) % below
    }

    fn value(&mut self) -> Option<u64> {
        let drawn = self.draw(6);
        (drawn > 0).then_some(drawn)
    }

    /// Makes a random change in the model, and returns it as a query.
    fn change(&mut self, nodes: &mut BTreeMap<u64, Node>) -> String {
        let shown = |value: Option<u64>| value.map_or("null".to_owned(), |value| value.to_string());
        let label = LABELLED[self.draw(3) as usize];
        let known: Vec<u64> = nodes.keys().copied().collect();
        let some = match known.len() {
            0 => None,
            len => Some(known[self.draw(len as u64) as usize]),
        };
        match (self.draw(10), some) {
            (0..4, _) | (_, None) => {
                let values = [self.value(), self.value()];
                let id = self.drawn;
                nodes.insert(id, Node { labels: vec![label], values });
                let [a, b] = values.map(shown);
                format!("CREATE (:{label} {{id: '{id}', a: {a}, b: {b}}})")
            }
            (4..6, Some(id)) => {
                let (place, value) = (self.draw(2) as usize, self.value());
                nodes.get_mut(&id).unwrap().values[place] = value;
                let name = ["a", "b"][place];
                format!("MATCH (n {{id: '{id}'}}) SET n.{name} = {}", shown(value))
            }
            (6..8, Some(id)) => {
                let labels = &mut nodes.get_mut(&id).unwrap().labels;
                match labels.contains(&label) {
                    true => {
                        labels.retain(|known| *known != label);
                        format!("MATCH (n {{id: '{id}'}}) REMOVE n:{label}")
                    }
                    false => {
                        labels.push(label);
                        format!("MATCH (n {{id: '{id}'}}) SET n:{label}")
                    }
                }
            }
            (_, Some(id)) => {
                nodes.remove(&id);
                format!("MATCH (n {{id: '{id}'}}) DELETE n")
            }
        }
    }

    /// One to three changes as one transaction, in a statement each or all at the commit.
    fn step(&mut self) {
        let mut nodes = self.nodes.clone();
        let count = 1 + self.draw(3);
        let mut transaction = self.database().begin(Mode::Write).unwrap();
        for _ in 0..count {
            let mut next = nodes.clone();
            let text = self.change(&mut next);
            let ran = transaction.run(&text, Parameters::new(), &Options::default());
            let kept = keeps(&next);
            match ran {
                Ok(_) => assert!(kept, "{text} breaks a constraint: {next:?}"),
                Err(error) => {
                    assert!(!kept, "{text}: {error}");
                    assert_eq!(error.class(), Class::ConstraintValidationFailed);
                    self.refused += 1;
                    continue;
                }
            }
            nodes = next;
        }
        transaction.commit().unwrap();
        self.nodes = nodes;
        match self.draw(20) {
            0 => {
                self.store().freeze(&CancelToken::new()).unwrap();
            }
            1 => {
                self.store().compact(&LoadOptions::default(), &Hooks::default()).unwrap();
            }
            2 => self.reopen(),
            _ => {}
        }
    }

    fn store(&self) -> &Arc<PropertyStore> {
        &self.opened.as_ref().unwrap().0
    }

    fn database(&self) -> &Database {
        &self.opened.as_ref().unwrap().1
    }

    fn reopen(&mut self) {
        // The writer goes before the store is opened again.
        self.opened = None;
        self.opened = Some(opened(open(&self.path)));
    }

    fn compare(&self) {
        let rows = ask(self.database(), "MATCH (n) RETURN n.id, n.a, n.b, labels(n)").unwrap();
        assert_eq!(rows.len(), self.nodes.len());
        for row in rows {
            let Value::String(id) = &row[0] else { panic!("{row:?}") };
            let node = &self.nodes[&id.parse::<u64>().unwrap()];
            let shown = node.values.map(|v| v.map_or(Value::Null, |v| Value::Int(v as i64)));
            assert_eq!(format!("{:?}", &row[1..3]), format!("{shown:?}"));
            let Value::List(labels) = &row[3] else { panic!("{row:?}") };
            assert_eq!(labels.len(), node.labels.len());
        }
    }
}

#[test]
fn changes_keep_constraints_or_are_refused() {
    for seed in 0..6 {
        let dir = tempfile::tempdir().unwrap();
        let mut graph = Graph::new(&dir.path().join("g.nakshi"), seed << 32);
        for _ in 0..120 {
            graph.step();
        }
        graph.compare();
        assert!(graph.refused > 20, "seed {seed}: {}", graph.refused);
    }
}

/// Changes that are no queries keep constraints, too, one commit or many.
#[test]
fn blind_commits_keep_constraints() {
    let dir = tempfile::tempdir().unwrap();
    let (store, database) = opened(new_store(&dir.path().join("g.nakshi")));
    ask(&database, "CREATE CONSTRAINT FOR (n:U) REQUIRE n.a IS UNIQUE").unwrap();
    let node = |id: u64, a: i64| Change::AppendNode {
        id: ExternalId::U64(id),
        properties: vec![
            (LABELS.to_owned(), Stored::List(vec![Stored::String("U".into())])),
            ("a".to_owned(), Stored::Int(a)),
        ],
    };
    store.commit(&[node(1, 1), node(2, 2)]).unwrap();
    for changes in [vec![node(3, 1)], vec![node(3, 3), node(4, 3)]] {
        let error = store.commit(&changes).unwrap_err();
        assert!(matches!(error, Error::Constraint(_)), "{error}");
        let all = changes.into_iter().map(Ok);
        let error = store.commit_all(all, &CancelToken::new()).unwrap_err();
        assert!(matches!(error, Error::Constraint(_)), "{error}");
    }
    // Within a commit the values may move.
    let moved = |id: u64, a: i64| Change::UpdateNode {
        id: ExternalId::U64(id),
        properties: vec![("a".to_owned(), Stored::Int(a))],
        merge: true,
    };
    store.commit(&[moved(1, 2), moved(2, 1)]).unwrap();
    assert_eq!(store.snapshot().num_nodes(), 2);
}

fn newest_manifest(store: &Path) -> String {
    let manifests = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let newest = manifests.filter(|path| path.to_string_lossy().contains("MANIFEST")).max();
    std::fs::read_to_string(newest.unwrap()).unwrap()
}

/// The first column of what a command shows.
fn shown(database: &Database, text: &str) -> Vec<String> {
    ask(database, text).unwrap().iter().map(|row| row[0].to_string()).collect()
}

/// Checks what `SHOW` gives of the rules of [`commands_declare_show_and_drop`].
fn shown_rows_are_narrowed(database: &Database) {
    let narrowed = [
        ("SHOW CONSTRAINTS YIELD name WHERE name = 'one' RETURN name", "'one'"),
        ("SHOW EXISTENCE CONSTRAINTS YIELD name ORDER BY name LIMIT 1", "'arrow'"),
        ("SHOW NODE KEY CONSTRAINTS YIELD type AS `the type`", "'NODE_KEY'"),
        ("SHOW FULLTEXT INDEX YIELD *, name AS n RETURN n", "'five'"),
        ("SHOW INDEXES YIELD name AS n SKIP 1 WHERE n = 'two' RETURN count(n) AS c", "1"),
    ];
    for (text, expected) in narrowed {
        assert_eq!(shown(database, text), [expected], "{text}");
    }
    for (text, class) in [
        ("SHOW SMALL INDEXES", Class::Argument),
        ("SHOW INDEXES OF x", Class::Syntax),
        ("SHOW INDEXES YIELD nothing", Class::Syntax),
        ("SHOW", Class::Syntax),
    ] {
        assert_eq!(classed(database, text), class, "{text}");
    }
}

#[test]
fn commands_declare_show_and_drop() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.nakshi");
    let (store, database) = opened(new_store(&path));
    for text in [
        "CREATE CONSTRAINT one IF NOT EXISTS FOR (n:Person) REQUIRE n.id IS UNIQUE",
        "create constraint FOR (n:Person) REQUIRE (n.id, n.`first name`) IS KEY;",
        "CREATE CONSTRAINT `in backticks` FOR ()-[r:KNOWS]-() REQUIRE r.since IS NOT NULL",
        "CREATE CONSTRAINT arrow FOR ()-[r:LIKES]->() REQUIRE (r.x) IS NOT NULL",
        "CREATE INDEX FOR (n:Person) ON (n.name) // a comment",
        "CREATE RANGE INDEX two IF NOT EXISTS FOR ()<-[r:KNOWS]-() ON (r.since, r.x)",
        "CREATE TEXT INDEX three FOR (n:Person) ON (n.name)",
        "CREATE POINT INDEX four FOR (n:Person) ON (n.place)",
        "CREATE FULLTEXT INDEX five FOR (n:Person|City) ON EACH [n.name, n.about]",
        "CREATE LOOKUP INDEX six FOR (n) ON EACH labels(n)",
    ] {
        ask(&database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let constraints = shown(&database, "SHOW CONSTRAINTS YIELD name");
    assert_eq!(
        constraints,
        ["'one'", "'constraint_Person_id_first name_key'", "'in backticks'", "'arrow'"]
    );
    // Unique properties and keys have an index in Neo4j.
    assert_eq!(shown(&database, "SHOW INDEXES YIELD name").len(), 8);
    shown_rows_are_narrowed(&database);
    // Those are there already, or are not.
    ask(&database, "CREATE CONSTRAINT IF NOT EXISTS FOR (m:Person) REQUIRE m.id IS UNIQUE")
        .unwrap();
    for (text, class) in [
        ("CREATE CONSTRAINT one FOR (n:City) REQUIRE n.id IS UNIQUE", Class::RuleExists),
        ("CREATE CONSTRAINT new FOR (n:Person) REQUIRE n.id IS UNIQUE", Class::RuleExists),
        ("DROP CONSTRAINT none", Class::RuleNotFound),
        ("DROP INDEX one", Class::RuleNotFound),
        ("DROP CONSTRAINT three", Class::RuleNotFound),
        ("CREATE CONSTRAINT FOR (n:P) REQUIRE m.id IS UNIQUE", Class::Syntax),
        ("CREATE CONSTRAINT FOR (n:P) REQUIRE n.id", Class::Syntax),
        ("CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE MATCH (n)", Class::Syntax),
        ("CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS :: STRING", Class::Unsupported),
        ("CREATE CONSTRAINT FOR ()-[r:T]-() REQUIRE r.id IS UNIQUE", Class::Unsupported),
        ("CREATE VECTOR INDEX FOR (n:P) ON (n.id)", Class::Unsupported),
        ("CREATE INDEX FOR (n:P) ON (n.id) OPTIONS {a: 1}", Class::Unsupported),
        ("CREATE TEXT CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE", Class::Syntax),
        ("DROP", Class::Syntax),
    ] {
        assert_eq!(classed(&database, text), class, "{text}");
    }
    ask(&database, "DROP INDEX none IF EXISTS").unwrap();
    ask(&database, "DROP INDEX three").unwrap();
    ask(&database, "DROP CONSTRAINT arrow IF EXISTS").unwrap();
    ask(&database, "EXPLAIN CREATE CONSTRAINT no FOR (n:P) REQUIRE n.id IS UNIQUE").unwrap();
    store.freeze(&CancelToken::new()).unwrap();
    drop(database);
    drop(store);
    for compacts in [false, true] {
        let store = open(&path);
        if compacts {
            store.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
        }
        let names: Vec<String> =
            store.snapshot().rules().iter().map(|rule| rule.name.clone()).collect();
        assert_eq!(names.len(), 8, "{names:?}");
        assert!(!names.contains(&"arrow".to_owned()));
    }
    assert!(newest_manifest(&path).starts_with("nakshi manifest 7"));
}

#[test]
fn a_constraint_that_the_graph_breaks_is_not_declared() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::new(new_store(&dir.path().join("g.nakshi")));
    ask(&database, "CREATE (:A {x: 1, y: [1]}), (:A {x: 1}), (:A {x: 1.5}), (:B {x: 1})").unwrap();
    ask(&database, "CREATE (:C)-[:R {w: point({x: 1, y: 2})}]->(:C)-[:S]->(:C)").unwrap();
    for text in [
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.y IS NOT NULL",
        "CREATE CONSTRAINT FOR (n:B) REQUIRE (n.x, n.y) IS KEY",
        "CREATE CONSTRAINT FOR ()-[r:S]-() REQUIRE r.w IS NOT NULL",
    ] {
        assert_eq!(classed(&database, text), Class::ConstraintValidationFailed, "{text}");
    }
    assert!(ask(&database, "SHOW CONSTRAINTS").unwrap().is_empty());
    for text in [
        "CREATE CONSTRAINT FOR (n:B) REQUIRE n.x IS UNIQUE",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE n.y IS UNIQUE",
        "CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.w IS NOT NULL",
    ] {
        ask(&database, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    for text in [
        "MATCH (a:C), (b:C) CREATE (a)-[:R]->(b)",
        "MATCH ()-[r:R]->() REMOVE r.w",
        "MATCH (n:A {x: 1.5}) SET n.y = [1]",
        "MATCH (n:A {x: 1.5}) SET n:B SET n.x = 1",
    ] {
        assert_eq!(classed(&database, text), Class::ConstraintValidationFailed, "{text}");
    }
    ask(&database, "MATCH ()-[r:R]->() SET r.w = 7").unwrap();
}

#[test]
fn writers_side_by_side_make_one_node() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::new(new_store(&dir.path().join("g.nakshi")));
    ask(&database, "CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE").unwrap();
    let made: usize = std::thread::scope(|scope| {
        let writer = |number: usize| {
            let database = &database;
            scope.spawn(move || {
                (0..50)
                    .filter(|id| match number % 2 {
                        0 => ask(database, &format!("CREATE (:P {{id: {id}}})")).is_ok(),
                        _ => ask(database, &format!("MERGE (:P {{id: {id}}})")).is_err(),
                    })
                    .count()
            })
        };
        let writers: Vec<_> = (0..8).map(writer).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert!(made <= 50, "{made}");
    let rows = ask(&database, "MATCH (p:P) RETURN p.id").unwrap();
    assert_eq!(rows.len(), 50);
}
