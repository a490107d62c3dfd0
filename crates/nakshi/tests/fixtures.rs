//! Stores that version 0.1.0 wrote before properties had a crate of their own (tests/fixtures): they open,
//! answer what they answered, change, compact and are sound. That version computed all expectations.
//! The two tests of properties were seen red with another name of their section in the manifest, and with
//! another tag of a codec in the directory of their files. A later version wrote the same people in three
//! shards, from before nodes were dealt to shards by a hash.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi::analysis;
use nakshi::engine::Context;
use nakshi::property::{
    Change, Condition, Dealt, LoadOptions, Projection, PropertyGraph, PropertyStore, Value,
    project, tao,
};
use nakshi::store::import::{Hooks, ImportOptions};
use nakshi::store::{ExternalId, OpenOptions, Store, check};
use serde_json::{Value as Json, json};

/// A copy of a store that version 0.1.0 wrote, which the tests may change.
fn copied(name: &str, home: &Path) -> PathBuf {
    copied_from("0.1.0", name, home)
}

fn copied_from(folder: &str, name: &str, home: &Path) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let (from, to) = (fixtures.join(folder).join(name), home.join(name));
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    to
}

fn opened(path: &Path) -> Arc<Store> {
    Store::open(path, &OpenOptions::default()).unwrap()
}

fn assert_sound(path: &Path) {
    let report = check(path, &OpenOptions::default(), &mut |_, _| ()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

/// The summary of an algorithm, and the values of some ids.
fn run(store: &Arc<Store>, name: &str, parameters: &Json, ids: &[&str]) -> (Json, Vec<String>) {
    let cx = Context::new();
    let answer = analysis::run(store, name, parameters, &cx).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("values.tsv");
    nakshi::files::write(&answer.table.unwrap(), &file, None, cx.cancel_token()).unwrap();
    let text = fs::read_to_string(file).unwrap();
    let value = |id: &&str| {
        let mut rows = text.lines().filter_map(|line| line.split_once('\t'));
        rows.find(|(found, _)| found == id).unwrap().1.to_owned()
    };
    (Json::Object(answer.summary), ids.iter().map(value).collect())
}

fn id(name: &str) -> ExternalId {
    ExternalId::Text(name.into())
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

/// The ids of nodes with a property, ascending.
fn found(graph: &PropertyGraph, property: &str, condition: Condition) -> String {
    let ids = graph.get_node_ids(&[(property, condition)]).unwrap();
    let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.sort();
    ids.join(" ")
}

#[test]
fn a_store_of_edges_answers_as_before() {
    let home = tempfile::tempdir().unwrap();
    let path = copied("roads.nakshi", home.path());
    let store = opened(&path);
    assert_eq!((store.num_vertices(), store.num_edges()), (400, 1197));
    assert_eq!(store.content_hash(), "863bf220292697d8");
    let ids = ["0", "10", "20", "1000", "3990"];
    let (summary, levels) = run(&store, "bfs", &json!({ "source": 0 }), &ids);
    assert_eq!(summary, json!({ "depth": 15, "reached": 400 }));
    assert_eq!(levels, ["0", "1", "3", "5", "10"]);
    let (summary, distances) =
        run(&store, "sssp", &json!({ "source": 0, "weight": "weight" }), &ids);
    assert_eq!(summary["farthest"], 150.0);
    let distances: Vec<f64> = distances.iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(distances, [0.0, 2.0, 15.0, 57.0, 93.0]);
    let (_, ranks) = run(&store, "pagerank", &json!({}), &["0", "3990"]);
    for (rank, expected) in ranks.iter().zip([0.00256098523582284, 0.0005416642465905583]) {
        assert!((rank.parse::<f64>().unwrap() - expected).abs() < 1e-9, "{rank}");
    }
    assert_sound(&path);
}

fn assert_answers(graph: &PropertyGraph) {
    assert_eq!((graph.num_nodes(), graph.num_edges()), (60, 175));
    let oslo = "eve p01 p05 p09 p13 p17 p21 p25 p29 p33 p37 p41 p45 p49 p53 p57";
    assert_eq!(found(graph, "city", Condition::Is(text("Oslo"))), oslo);
    let tea = Condition::Contains(text("green tea 1"));
    assert_eq!(found(graph, "note", tea), "p01 p13 p17");
    let admins = "p00 p05 p10 p15 p20 p25 p30 p35 p40 p45 p50 p55";
    assert_eq!(found(graph, "labels", Condition::Is(text("Admin"))), admins);
    let values = graph.get_node_property(&id("p03"), Some(&["name", "age", "tags"])).unwrap();
    let values: Vec<Value> = values.into_iter().map(|(_, value)| value).collect();
    let tags = Value::List(vec![text("t0"), text("t3")]);
    assert_eq!(values, [text("Name 3"), Value::Int(77), tags]);
    let edges = tao::assoc_range(graph, &id("p59"), "follows", 0, 9).unwrap();
    let edges: Vec<_> =
        edges.iter().map(|edge| (edge.destination.to_string(), edge.timestamp)).collect();
    assert_eq!(edges, [("eve".to_owned(), 5001), ("p00".to_owned(), 1591)]);
    let said = graph.find_edges(&[("note", Condition::Is(text("said follows late")))]).unwrap();
    assert_eq!((said[0].0.to_string(), said[0].1), ("eve".to_owned(), "follows"));
    assert!(!graph.has_node(&id("p58")).unwrap());
}

#[test]
fn a_store_with_properties_and_a_log_answers_as_before() {
    let home = tempfile::tempdir().unwrap();
    let path = copied("people.nakshi", home.path());
    assert_sound(&path);
    let store = opened(&path);
    assert_eq!(store.content_hash(), "208d59f24d236039");
    let (summary, levels) = run(&store, "bfs", &json!({ "source": "p00" }), &["p02", "p30", "p58"]);
    assert_eq!(summary, json!({ "depth": 8, "reached": 60 }));
    assert_eq!(levels, ["2", "6", "4"]);
    let graph = PropertyStore::open(&path, &OpenOptions::default()).unwrap().snapshot();
    assert_eq!(graph.commit(), 5);
    assert_answers(&graph);
    let weighted = home.path().join("weighted.nakshi");
    let projection = Projection {
        edge_types: Some(vec!["follows".into(), "trusts".into()]),
        weight: Some("weight".into()),
        missing: Some(1.0),
        ..Projection::default()
    };
    let (options, hooks) = (ImportOptions::default(), Hooks::default());
    project(&graph, &weighted, &projection, &options, &hooks).unwrap();
    let weighted = opened(&weighted);
    assert_eq!(weighted.num_edges(), 106);
    let ids = ["eve", "p00", "p01", "p29", "p57"];
    let (_, distances) =
        run(&weighted, "sssp", &json!({ "source": "p00", "weight": "weight" }), &ids);
    let distances: Vec<f64> = distances.iter().map(|text| text.parse().unwrap()).collect();
    assert_eq!(distances, [40.25, 0.0, 0.5, 16.5, 27.5]);
}

#[test]
fn a_store_with_properties_is_compacted_as_before_and_changed() {
    let home = tempfile::tempdir().unwrap();
    let path = copied("people.nakshi", home.path());
    let people = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    let report = people.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
    assert_eq!((report.nodes, report.edges, report.log_bytes), (60, 175, 201));
    assert_eq!(report.property_bytes, (6664, 7378));
    assert_answers(&people.snapshot());
    let store = opened(&path);
    assert_eq!(store.content_hash(), "ad4c3bc3d12b1561");
    let ids = ["eve", "p29", "p57"];
    let (summary, levels) = run(&store, "bfs", &json!({ "source": "p00" }), &ids);
    assert_eq!(summary, json!({ "depth": 9, "reached": 60 }));
    assert_eq!(levels, ["6", "5", "9"]);
    let change = Change::UpdateNode {
        id: id("p03"),
        properties: vec![("city".into(), text("Lima"))],
        merge: true,
    };
    people.commit(&[change]).unwrap();
    drop(people);
    let people = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(found(&people.snapshot(), "city", Condition::Is(text("Lima"))), "p03");
    assert_sound(&path);
}

/// Seen red with the rows of the old store taken as those of a shard map, and with a compaction that
/// deals by modulo.
#[test]
fn shards_by_modulo_are_read_changed_and_compacted_to_shards_by_hash() {
    let home = tempfile::tempdir().unwrap();
    let path = copied_from("modulo", "people.nakshi", home.path());
    assert_sound(&path);
    let people = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    let dealt = |store: &PropertyStore| {
        let graph = store.snapshot();
        (graph.entry().shards, graph.entry().dealt)
    };
    assert_eq!(dealt(&people), (3, Dealt::Modulo));
    assert_answers(&people.snapshot());
    let update = |city: &str| Change::UpdateNode {
        id: id("p03"),
        properties: vec![("city".into(), text(city))],
        merge: true,
    };
    people.commit(&[update("Lima")]).unwrap();
    assert_eq!(found(&people.snapshot(), "city", Condition::Is(text("Lima"))), "p03");
    assert_sound(&path);
    people.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
    assert_eq!(dealt(&people), (3, Dealt::Hash));
    assert_answers(&people.snapshot());
    assert_eq!(opened(&path).manifest().format(), 3);
    people.commit(&[update("Bergen")]).unwrap();
    drop(people);
    let people = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    assert_answers(&people.snapshot());
    assert_eq!(found(&people.snapshot(), "city", Condition::Is(text("Lima"))), "");
    assert_sound(&path);
}
