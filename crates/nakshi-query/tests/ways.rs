//! The same edges in every direction, from one end and between two, over random changes, fragments and
//! compactions, against a list of edges.
//!
//! Seen red with a place of an edge that is believed without a look at the edge that is there.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{LoadOptions, PropertyStore, load};
use nakshi_query::{Database, Mode, Options, Parameters, Value};
use nakshi_store::import::Hooks;
use nakshi_store::{OpenOptions, mix};

const NODES: i64 = 7;
const TYPES: [&str; 2] = ["A", "B"];

/// Source, type, destination and the number that is its property `k`.
type Edge = (i64, &'static str, i64, i64);

/// A pattern, and the edges that it finds.
type Way<'w> = (&'w str, &'w dyn Fn(&Edge) -> bool);

struct Graph {
    store: Arc<PropertyStore>,
    database: Database,
    edges: Vec<Edge>,
    next: i64,
    drawn: u64,
}

impl Graph {
    fn new(path: &Path, seed: u64) -> Self {
        let options = LoadOptions { allow_empty: true, shards: Some(2), ..LoadOptions::default() };
        load(path, Vec::new(), Vec::new(), &options, &Hooks::default()).unwrap();
        let store = PropertyStore::open(path, &OpenOptions::default()).unwrap().shared();
        let database = Database::new(Arc::clone(&store));
        let graph = Graph { store, database, edges: Vec::new(), next: 0, drawn: seed };
        graph.ask(&format!("UNWIND range(0, {}) AS i CREATE ({{i: i}})", NODES - 1));
        graph
    }

    fn ask(&self, text: &str) -> Vec<Vec<i64>> {
        let ran = self.database.run(text, Parameters::new(), &Options::default());
        let mut cursor = ran.unwrap_or_else(|error| panic!("{text}: {error}"));
        numbers(&cursor.next(usize::MAX).unwrap())
    }

    /// A number below `below`.
    fn draw(&mut self, below: u64) -> u64 {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.drawn) % below
    }

    fn change(&mut self) {
        let [s, t] = [0; 2].map(|_| self.draw(NODES as u64) as i64);
        let ty = TYPES[self.draw(2) as usize];
        match self.draw(20) {
            0..12 => {
                let k = self.next;
                self.next += 1;
                self.ask(&format!(
                    "MATCH (a {{i: {s}}}), (b {{i: {t}}}) CREATE (a)-[:{ty} {{k: {k}}}]->(b)"
                ));
                self.edges.push((s, ty, t, k));
            }
            12..16 => {
                self.ask(&format!("MATCH ({{i: {s}}})-[r:{ty}]->({{i: {t}}}) DELETE r"));
                self.edges.retain(|edge| (edge.0, edge.1, edge.2) != (s, ty, t));
            }
            16..18 => {
                self.ask(&format!("MATCH (a {{i: {s}}})-[r:{ty}]->() SET r.k = r.k + 1000"));
                for edge in self.edges.iter_mut().filter(|edge| (edge.0, edge.1) == (s, ty)) {
                    edge.3 += 1000;
                }
            }
            18 => {
                self.store.freeze(&CancelToken::new()).unwrap();
            }
            _ => {
                self.store.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
            }
        }
    }

    /// The numbers of the edges that `of` says yes to.
    fn expected(&self, of: impl Fn(&Edge) -> bool) -> Vec<i64> {
        let mut found: Vec<i64> =
            self.edges.iter().filter(|edge| of(edge)).map(|edge| edge.3).collect();
        found.sort_unstable();
        found
    }

    fn check(&self) {
        let found = |text: &str| -> Vec<i64> {
            self.ask(&format!("{text} RETURN r.k ORDER BY r.k")).concat()
        };
        for i in 0..NODES {
            for (types, fits) in [("", &TYPES[..]), (":A", &TYPES[..1]), (":A|B", &TYPES[..])] {
                let of_type = |edge: &Edge| fits.contains(&edge.1);
                let ways: [Way<'_>; 3] = [
                    ("-[r#]->()", &|edge| edge.0 == i),
                    ("<-[r#]-()", &|edge| edge.2 == i),
                    ("-[r#]-()", &|edge| edge.0 == i || edge.2 == i),
                ];
                for (way, fits) in ways {
                    let text = format!("MATCH ({{i: {i}}}){}", way.replace('#', types));
                    assert_eq!(found(&text), self.expected(|e| of_type(e) && fits(e)), "{text}");
                }
                let j = (i * 3 + 1) % NODES;
                let between: [Way<'_>; 3] = [
                    ("-[r#]->", &|e| (e.0, e.2) == (i, j)),
                    ("<-[r#]-", &|e| (e.0, e.2) == (j, i)),
                    ("-[r#]-", &|e| [(i, j), (j, i)].contains(&(e.0, e.2))),
                ];
                for (way, fits) in between {
                    let way = way.replace('#', types);
                    let text = format!("MATCH (a {{i: {i}}}), (b {{i: {j}}}) MATCH (a){way}(b)");
                    assert_eq!(found(&text), self.expected(|e| of_type(e) && fits(e)), "{text}");
                }
            }
        }
    }

    /// Edges that a query has found, and whose records it then changes, keep their properties.
    fn check_places(&self) {
        let mut transaction = self.database.begin(Mode::Write).unwrap();
        let text = "MATCH ()-[r]->() WITH r ORDER BY r.k WITH collect(r) AS all
            FOREACH (gone IN [i IN range(0, size(all) - 1) WHERE i % 3 = 0 | all[i]] | DELETE gone)
            WITH [i IN range(0, size(all) - 1) WHERE i % 3 <> 0 | all[i]] AS left
            UNWIND left AS r RETURN r.k";
        let ran = transaction.run(text, Parameters::new(), &Options::default());
        let left = numbers(&ran.unwrap().next(usize::MAX).unwrap()).concat();
        let all = self.expected(|_| true);
        let expected = all.iter().enumerate().filter(|(i, _)| i % 3 != 0).map(|(_, k)| *k);
        assert_eq!(left, expected.collect::<Vec<_>>());
        transaction.roll_back().unwrap();
    }
}

fn numbers(rows: &[Vec<Value>]) -> Vec<Vec<i64>> {
    let number = |value: &Value| match value {
        Value::Int(number) => *number,
        other => panic!("{other} is no number"),
    };
    rows.iter().map(|row| row.iter().map(number).collect()).collect()
}

#[test]
fn edges_are_the_same_from_all_sides() {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|scale| scale.parse().ok());
    for seed in 0..4 * scale.unwrap_or(1_u64) {
        let home = tempfile::tempdir().unwrap();
        let mut graph = Graph::new(&home.path().join("g.nakshi"), seed);
        for _ in 0..6 {
            (0..20).for_each(|_| graph.change());
            graph.check();
            graph.check_places();
        }
    }
}
