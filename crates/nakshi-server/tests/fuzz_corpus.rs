//! Replays the stored corpora of the server's fuzz targets, and mutations of them, as ordinary tests.
//!
//! Seen red with errors of several lines, which quoted a name of a request as it is.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions

use std::path::{Path, PathBuf};

use boltr::message::ClientMessage;
use boltr::message::encode::encode_client_message;
use boltr::types::{BoltDict, BoltValue};
use bytes::BytesMut;
use nakshi_property::QueryOrder;
use nakshi_server::v1::{self, change::Change, query_request::Query, step::Step as Kind};
use nakshi_server::{fuzzing, requests};
use nakshi_store::ExternalId;
use nakshi_store::fuzzing::Mutations;
use prost::Message;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Hands the files of a corpus, of which there are `least`, and mutations of each to a target. `sensitive` has
/// bytes to which it is.
fn replay(name: &str, target: fn(&[u8]), least: usize, mutations: usize, sensitive: &[u8]) {
    let scale = std::env::var("NAKSHI_TEST_SCALE").ok().and_then(|text| text.parse().ok());
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(corpus(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= least);
    let mut mutated = Mutations::new(7);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        target(&bytes);
        for _ in 0..mutations * scale.unwrap_or(1) {
            target(&mutated.of(&bytes, sensitive));
        }
    }
}

#[test]
fn requests_and_their_mutations_are_survived() {
    let sensitive = [0, 0x7f, 0x80, 0xff, 1, 0x12, 9];
    replay("request", fuzzing::request, seeds().len(), 5000, &sensitive);
}

#[test]
fn statements_and_their_mutations_are_survived() {
    replay("statement", fuzzing::statement, 20, 5000, b"(){}[]-><*'\"\\$.,:|=0\x80");
}

/// Messages of a server begin with these.
const SUCCESS: [u8; 2] = [0xb1, 0x70];
const RECORD: [u8; 2] = [0xb1, 0x71];
const FAILURE: [u8; 2] = [0xb1, 0x7f];

/// The seeds get as far as they are meant to.
#[test]
fn connections_are_answered() {
    for (name, bytes) in connections() {
        let told = fuzzing::bolt(&bytes, 100 * fuzzing::QUIET);
        let has = |message: [u8; 2]| told.windows(2).any(|part| part == message);
        assert!(has(SUCCESS), "{name}");
        assert_eq!(has(FAILURE), name == "failure", "{name}");
        assert_eq!(
            has(RECORD),
            ["first", "rows", "reset", "transaction"].contains(&name.as_str()),
            "{name}"
        );
    }
}

#[test]
fn connections_and_their_mutations_are_survived() {
    let sensitive = [0, 1, 0x0f, 0x10, 0x3f, 0x7f, 0x80, 0x90, 0xa0, 0xb1, 0xc0, 0xd4, 0xff];
    // A connection takes longer, since its end is heard.
    replay(
        "bolt",
        |bytes| drop(fuzzing::bolt(bytes, fuzzing::QUIET)),
        connections().len(),
        300,
        &sensitive,
    );
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

/// The request for a worker with all of the graph.
fn part() -> v1::WorkRequest {
    v1::WorkRequest {
        buckets: vec![0xff; 128],
        weight: Some("since".into()),
        missing_weight: Some(1.0),
        ..Default::default()
    }
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
    seeds.push(("work".into(), [&[4], &part().encode_to_vec()[..]].concat()));
    seeds
}

/// Connections by name, as the corpus has them: chunks of messages of a client that has logged on, and all that
/// one sends from the first byte on.
fn connections() -> Vec<(String, Vec<u8>)> {
    let none = BoltDict::new;
    let run = |query: &str, parameters| ClientMessage::Run {
        query: query.to_owned(),
        parameters,
        extra: none(),
    };
    let some = |n: i64| ClientMessage::Pull { extra: BoltDict::from([("n".to_owned(), n.into())]) };
    let list: BoltValue = vec![1.into(), "x".into(), BoltValue::Null].into();
    let parameters = BoltDict::from([("p".to_owned(), list)]);
    let route = ClientMessage::Route { routing: none(), bookmarks: Vec::new(), extra: none() };
    let talks = [
        ("rows", vec![run("UNWIND $p AS x RETURN x", parameters), some(1), some(-1)]),
        (
            "discard",
            vec![run("MATCH (n) RETURN n", none()), ClientMessage::Discard { extra: none() }],
        ),
        (
            "transaction",
            vec![
                ClientMessage::Begin { extra: none() },
                run("MATCH (a)-[r]->(b) RETURN a, r, b", none()),
                some(-1),
                ClientMessage::Commit,
            ],
        ),
        ("failure", vec![run("RETURN 1 +", none()), some(-1)]),
        (
            "reset",
            vec![
                ClientMessage::Begin { extra: none() },
                ClientMessage::Reset,
                run("RETURN 1", none()),
                some(-1),
            ],
        ),
        ("route", vec![route, ClientMessage::Logoff, ClientMessage::Logon { auth: none() }]),
        ("goodbye", vec![ClientMessage::Goodbye]),
    ];
    let mut connections: Vec<(String, Vec<u8>)> = talks
        .into_iter()
        .map(|(name, messages)| (name.to_owned(), [vec![0], chunks(&messages)].concat()))
        .collect();
    // Version 5.9, and 4.4, which has no LOGON.
    let mut first = vec![1, 0x60, 0x60, 0xb0, 0x17, 0, 0, 9, 5, 0, 0, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0];
    let hello = ClientMessage::Hello { extra: none() };
    first.extend(chunks(&[hello, run("RETURN 1", none()), some(-1)]));
    connections.push(("first".to_owned(), first));
    connections
}

/// Messages, each as one chunk and the empty one behind it.
fn chunks(messages: &[ClientMessage]) -> Vec<u8> {
    let mut all = Vec::new();
    for message in messages {
        let mut bytes = BytesMut::new();
        encode_client_message(&mut bytes, message);
        all.extend((bytes.len() as u16).to_be_bytes());
        all.extend(&bytes);
        all.extend([0, 0]);
    }
    all
}

/// The corpora have a request and a connection of each kind, as this version encodes them; with
/// `NAKSHI_WRITE_CORPUS=1` they are written.
#[test]
fn the_corpora_have_every_kind() {
    for (target, seeds) in [("request", seeds()), ("bolt", connections())] {
        for (name, bytes) in seeds {
            let file = corpus(target).join(&name);
            if std::env::var_os("NAKSHI_WRITE_CORPUS").is_some() {
                std::fs::create_dir_all(corpus(target)).unwrap();
                std::fs::write(&file, &bytes).unwrap();
            }
            assert_eq!(std::fs::read(&file).unwrap(), bytes, "{target}/{name}");
        }
    }
}
