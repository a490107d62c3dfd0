//! Replays the stored corpus of the fuzz target `request`, and mutations of it, as an ordinary test.
//!
//! Seen red with errors of several lines, which quoted a name of a request as it is.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::path::{Path, PathBuf};

use nakshi_property::QueryOrder;
use nakshi_server::v1::{self, change::Change, query_request::Query, step::Step as Kind};
use nakshi_server::{fuzzing, requests};
use nakshi_store::ExternalId;
use nakshi_store::fuzzing::Mutations;
use prost::Message;

/// Mutations of each seed.
const MUTATIONS: usize = 5000;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/request")
}

/// Bytes that messages are sensitive to.
const SENSITIVE: [u8; 7] = [0, 0x7f, 0x80, 0xff, 1, 0x12, 9];

#[test]
fn corpus_and_its_mutations_are_survived() {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|text| text.parse().ok());
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= seeds().len());
    let mut mutations = Mutations::new(7);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        fuzzing::request(&bytes);
        for _ in 0..MUTATIONS * scale.unwrap_or(1) {
            fuzzing::request(&mutations.of(&bytes, &SENSITIVE));
        }
    }
}

fn id(number: i64) -> ExternalId {
    ExternalId::I64(number)
}

fn node(number: i64) -> Option<v1::Id> {
    Some(v1::Id { id: Some(v1::id::Id::Number(number)) })
}

fn properties(name: &str, value: v1::value::Value) -> Vec<v1::Property> {
    let value = Some(v1::Value { value: Some(value) });
    vec![v1::Property { name: name.into(), value }]
}

/// Requests of all kinds by name, as the corpus has them.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let order = QueryOrder { by: Some("age"), descending: true, limit: Some(2) };
    let is = v1::condition::Condition::Is(v1::Value { value: Some(v1::value::Value::Int(30)) });
    let not = v1::Condition { condition: Some(is) };
    let not = v1::condition::Condition::Not(Box::new(not));
    let filter = v1::Filter {
        property: "age".into(),
        condition: Some(v1::Condition { condition: Some(not) }),
    };
    let nodes = Query::Nodes(v1::Nodes { r#where: vec![filter.clone()], order: None });
    let queries = [
        ("properties", requests::node_properties(&[id(1), id(9)], Some(&["age", "tags"]))),
        ("part", requests::node_part(&id(1), "name", 1..3)),
        ("nodes", nodes.clone()),
        ("ordered", requests::nodes(&[], &order).unwrap()),
        ("count", requests::count_nodes(&[], Some("age")).unwrap()),
        ("neighbors", requests::neighbors(&id(1), Some("knows"), &[], &order).unwrap()),
        ("expand", requests::expand(&[id(1)], None, 2, &[], Some(3)).unwrap()),
        ("records", requests::records(&id(1), None)),
        ("record_range", requests::record_range(&id(1), "knows", Some(0), None)),
        ("record_edges", requests::record_edges(&id(1), "knows", 0..2)),
        ("incoming", requests::incoming(&id(3), Some("likes"))),
        ("edges", requests::edges(Some("knows"), &[], &QueryOrder::default()).unwrap()),
        ("count_edges", requests::count_edges(None, &[], Some("since")).unwrap()),
        ("object", requests::object(&id(2))),
        ("assoc_get", requests::assoc_get(&id(1), "knows", &[id(2)], None, Some(9))),
        ("assoc_time", requests::assoc_time_range(&id(1), "knows", Some(0), Some(9), 5)),
        ("schema", requests::schema(10)),
    ];
    let asked = |query| v1::QueryRequest { query: Some(query), ..Default::default() };
    let mut seeds: Vec<(String, Vec<u8>)> = queries
        .into_iter()
        .map(|(name, query)| (name.to_owned(), [&[0], &asked(query).encode_to_vec()[..]].concat()))
        .collect();
    let changes = vec![
        Change::AppendNode(v1::AppendNode {
            id: node(5),
            properties: properties("name", v1::value::Value::Text("dot".into())),
        }),
        Change::UpdateNode(v1::UpdateNode {
            id: node(1),
            properties: properties("age", v1::value::Value::Int(31)),
            ..Default::default()
        }),
        Change::DeleteNode(v1::Id { id: Some(v1::id::Id::Number(3)) }),
        Change::SetInverse(v1::SetInverse { edge_type: "knows".into(), inverse: "likes".into() }),
    ];
    let changes: Vec<v1::Change> =
        changes.into_iter().map(|change| v1::Change { change: Some(change) }).collect();
    let request =
        v1::CommitRequest { changes: changes.clone(), id: vec![7; 16], ..Default::default() };
    seeds.push(("commit".into(), [&[1], &request.encode_to_vec()[..]].concat()));
    let request = v1::ResolveRequest { id: vec![7; 16], since: 3 };
    seeds.push(("resolve".into(), [&[2], &request.encode_to_vec()[..]].concat()));
    let mut steps = vec![3];
    let query = v1::QueryRequest { keep: true, ..asked(nodes) };
    for kind in
        [Kind::Query(query.clone()), Kind::Change(v1::Changes { changes }), Kind::Query(query)]
    {
        let step = v1::Step { step: Some(kind) };
        steps.extend(step.encode_length_delimited_to_vec());
    }
    seeds.push(("transaction".into(), steps));
    seeds
}

/// The corpus has a request of each kind, as this version encodes it; with `NAKSHI_WRITE_CORPUS=1` it is written.
#[test]
fn the_corpus_has_every_kind_of_request() {
    for (name, bytes) in seeds() {
        let file = corpus().join(&name);
        if std::env::var_os("NAKSHI_WRITE_CORPUS").is_some() {
            std::fs::create_dir_all(corpus()).unwrap();
            std::fs::write(&file, &bytes).unwrap();
        }
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "{name}");
    }
}
