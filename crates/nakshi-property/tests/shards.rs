//! The number of shards changes no answer: the same tables in 1, 2, 3 and 7 shards, in all layouts of
//! files, answer alike, item for item, before and after changes, compactions and reopening.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Debug;
use std::fs;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;
use nakshi_property::{
    Change, Condition, Dealt, LoadOptions, PropertyEntry, PropertyGraph, PropertyLayout,
    PropertyStore, QueryOrder, Reorder, Table, TableRows, Value, backup, check, load,
    property_memory, tao,
};
use nakshi_store::import::{Hooks, ImportLayout};
use nakshi_store::{Error, ExternalId, OpenOptions, Permutation, Store};
use proptest::prelude::*;

const LAYOUTS: [PropertyLayout; 3] =
    [PropertyLayout::Columns, PropertyLayout::Zipg, PropertyLayout::Blocks];
const SHARDS: [u32; 4] = [1, 2, 3, 7];
const CITIES: [&str; 5] = ["Ithaca", "Oslo", "Bergen", "Pune", "Lima"];
const TYPES: [&str; 3] = ["follows", "likes", "trusts"];

/// A number that looks random.
fn draw(i: u64, of: u64) -> u64 {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % of
}

fn name(v: u64) -> String {
    format!("n{}", draw(v, 1 << 40))
}

/// Tables of so many nodes and edges.
fn tables(home: &Path, nodes: u64, edges: u64) -> [Vec<Table<'static>>; 2] {
    let mut rows = "id:ID,city,age:int,bio,tags:string[],:LABEL\n".to_owned();
    for v in 0..nodes {
        let city = CITIES[draw(v, 5) as usize];
        let age = if v % 7 == 0 { String::new() } else { (draw(v, 90)).to_string() };
        let bio = format!("likes {} and {v}", ["tea", "walks", "maps"][draw(v + 1, 3) as usize]);
        let label = ["Person", "Person;Admin", "Robot"][(v % 3) as usize];
        rows += &format!("{},{city},{age},{bio},t{};t{},{label}\n", name(v), v % 3, v % 4);
    }
    let mut lines = ":START_ID,:END_ID,:TYPE,timestamp:long,weight:double,note\n".to_owned();
    for e in 0..edges {
        let [from, to] = [draw(3 * e, nodes), draw(5 * e + 1, nodes)].map(name);
        let ty = TYPES[if e < 3 { e } else { draw(e, 3) } as usize];
        lines += &format!("{from},{to},{ty},{},{}.5,said {}\n", draw(e, 900), e % 11, e % 50);
    }
    [("n.csv", rows), ("e.csv", lines)].map(|(name, text)| {
        let path = home.join(name);
        fs::write(&path, text).unwrap();
        vec![Table::new(None, TableRows::Path(path))]
    })
}

fn built(home: &Path, tables: &[u64; 2], options: &LoadOptions) -> PathBuf {
    let [nodes, edges] = self::tables(home, tables[0], tables[1]);
    let shards = options.shards.map_or("default".to_owned(), |shards| shards.to_string());
    let path = home.join(format!("{shards}.nakshi"));
    load(&path, nodes, edges, options, &Hooks::default()).unwrap();
    path
}

fn options(shards: u32, properties: PropertyLayout) -> LoadOptions {
    LoadOptions { shards: Some(shards), properties, threads: 1, ..LoadOptions::default() }
}

fn id(name: &str) -> ExternalId {
    ExternalId::Text(name.into())
}

fn text(value: &str) -> Value {
    Value::String(value.into())
}

/// Answers to all kinds of queries, in their order.
fn answers(graph: &PropertyGraph, nodes: u64) -> Vec<String> {
    fn told(answers: &mut Vec<String>, query: &str, answer: impl Debug) {
        answers.push(format!("{query}: {answer:?}"));
    }
    let mut all = Vec::new();
    let above = |low: i64| Condition::Range(Bound::Included(Value::Int(low)), Bound::Unbounded);
    let oslo = ("city", Condition::Is(text("Oslo")));
    for conditions in [
        vec![],
        vec![oslo.clone()],
        vec![oslo.clone(), ("age", above(40))],
        vec![("bio", Condition::Contains(text("tea")))],
        vec![("bio", Condition::Contains(text("and 17")))],
        vec![("tags", Condition::Is(text("t1"))), ("city", Condition::Starts(text("P")))],
        vec![("age", Condition::Null)],
        vec![("age", Condition::Not(Box::new(above(9))))],
        vec![("city", Condition::In(vec![text("Lima"), text("Pune")])), ("age", above(80))],
        vec![("labels", Condition::Is(text("Admin")))],
    ] {
        // A label that no node has is an error.
        told(&mut all, "nodes", graph.get_node_ids(&conditions).ok());
        told(&mut all, "count", graph.count_nodes(&conditions).ok());
        told(&mut all, "by city", graph.count_nodes_by(&conditions, "city").ok());
        for descending in [false, true] {
            let order = QueryOrder { by: Some("age"), descending, limit: Some(40) };
            told(&mut all, "ordered", graph.find_nodes(&conditions, &order).ok());
        }
    }
    let heavy = Condition::Range(Bound::Excluded(Value::Float(7.0)), Bound::Unbounded);
    for (ty, conditions) in [
        (Some("likes"), vec![]),
        (None, vec![("note", Condition::Is(text("said 7")))]),
        (None, vec![("note", Condition::Contains(text("3")))]),
        (Some("trusts"), vec![("weight", heavy)]),
    ] {
        let order = QueryOrder { by: Some("timestamp"), descending: true, limit: Some(60) };
        let plain = QueryOrder::default();
        told(&mut all, "edges", graph.find_edges_of(ty, &conditions, &plain).unwrap());
        told(&mut all, "newest", graph.find_edges_of(ty, &conditions, &order).unwrap());
        told(&mut all, "edges", graph.count_edges(ty, &conditions).unwrap());
        told(&mut all, "by weight", graph.count_edges_by(ty, &conditions, "weight").unwrap());
    }
    let known: Vec<ExternalId> = (0..nodes)
        .step_by(usize::try_from(nodes / 97).unwrap().max(1))
        .map(|v| id(&name(v)))
        .filter(|id| graph.has_node(id).unwrap())
        .collect();
    told(&mut all, "values", graph.get_node_properties(&known, None).unwrap());
    for id in &known {
        told(&mut all, "one", graph.get_node_property(id, Some(&["bio", "age"])).unwrap());
        told(&mut all, "friends", graph.get_neighbor_ids(id, None, &[]).unwrap());
        let young = [("age", Condition::Not(Box::new(above(50))))];
        told(&mut all, "young", graph.get_neighbor_ids(id, Some("likes"), &young).unwrap());
        told(&mut all, "range", tao::assoc_range(graph, id, "follows", 0, 9).unwrap());
        let mut incoming: Vec<String> = graph
            .get_incoming_edges(id, None)
            .unwrap()
            .iter()
            .map(|edge| format!("{} {} {}", edge.source, edge.edge_type, edge.timestamp))
            .collect();
        incoming.sort();
        told(&mut all, "incoming", incoming);
    }
    told(&mut all, "catalog", graph.catalog(u64::MAX, &CancelToken::new()).unwrap().labels);
    all
}

fn snapshot(path: &Path) -> PropertyGraph {
    PropertyStore::open(path, &OpenOptions::default()).unwrap().snapshot()
}

fn assert_sound(path: &Path) {
    let report = check(path, &OpenOptions::default(), &mut |_, _| ()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
}

/// Changes of nodes and edges in files, and new ones.
fn changes(nodes: u64) -> Vec<Change> {
    let node = |i: u64| id(&name(draw(i + 9, nodes)));
    let mut changes = vec![
        Change::AppendNode { id: id("eve"), properties: vec![("city".into(), text("Oslo"))] },
        Change::DeleteNode { id: node(0) },
    ];
    for i in 1..9 {
        let properties = vec![("city".into(), text("Pune")), ("bio".into(), text("no tea and 17"))];
        let alive = node(i) != node(0);
        let (source, destination) = (id("eve"), node(i));
        let (edge_type, note) = ("likes".to_owned(), vec![("note".into(), text("said 7"))]);
        if alive {
            changes.push(Change::UpdateNode { id: node(i), properties, merge: true });
            changes.push(Change::AppendEdge {
                source,
                edge_type,
                destination,
                timestamp: 1000 + i as i64,
                properties: note,
            });
        }
    }
    changes
}

/// Takes a store through its life; returns the answers at each stage.
fn life(path: &Path, nodes: u64) -> Vec<Vec<String>> {
    let mut stages = vec![answers(&snapshot(path), nodes)];
    let store = PropertyStore::open(path, &OpenOptions::default()).unwrap();
    store.commit(&changes(nodes)).unwrap();
    stages.push(answers(&store.snapshot(), nodes));
    drop(store);
    assert_sound(path);
    let store = PropertyStore::open(path, &OpenOptions::default()).unwrap();
    stages.push(answers(&store.snapshot(), nodes));
    store.compact(&LoadOptions::default(), &Hooks::default()).unwrap();
    stages.push(answers(&store.snapshot(), nodes));
    drop(store);
    assert_sound(path);
    let open = Store::open(path, &OpenOptions::default()).unwrap();
    let least = property_memory(&open, &CancelToken::new()).unwrap().minimum;
    let graph = PropertyGraph::open(&open, Some(least), &CancelToken::new()).unwrap();
    stages.push(answers(&graph, nodes));
    stages
}

fn assert_alike(stages: &[Vec<String>], expected: &[Vec<String>]) {
    for (stage, (found, expected)) in stages.iter().zip(expected).enumerate() {
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected, "stage {stage}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    /// Seen red with edges that keep the order of shards, with nodes of a search by modulo, with rows
    /// of a shard in the order of the ids, with a compaction that deals to another number of shards
    /// than its map has, and with the least memory without the shard map.
    #[test]
    fn the_number_of_shards_changes_no_answer(
        nodes in prop_oneof![3..40u64, 500..1300u64],
        degree in 1..4u64,
        layout in prop::sample::select(LAYOUTS.to_vec()),
        order in prop::sample::select(vec![
            ImportLayout::Original, ImportLayout::Degree, ImportLayout::Random { seed: 3 },
        ]),
    ) {
        let home = tempfile::tempdir().unwrap();
        let mut first = None;
        for shards in SHARDS {
            let options = LoadOptions { layout: order, ..options(shards, layout) };
            let path = built(home.path(), &[nodes, nodes * degree], &options);
            let entry = snapshot(&path).entry().clone();
            let dealt = if shards == 1 { Dealt::Modulo } else { Dealt::Hash };
            prop_assert_eq!((entry.shards, entry.dealt), (shards, dealt));
            let stages = life(&path, nodes);
            assert_alike(&stages, first.get_or_insert_with(|| stages.clone()));
        }
    }
}

/// Searches of these stores are worth several threads. Seen red with a search on several threads that
/// leaves out a shard, and with one that gives a shard the rows of another.
#[test]
fn searches_on_several_threads_change_no_answer() {
    for layout in LAYOUTS {
        let home = tempfile::tempdir().unwrap();
        let mut first = None;
        for shards in [1, 2, 5] {
            let path = built(home.path(), &[9000, 12_000], &options(shards, layout));
            let found = vec![answers(&snapshot(&path), 9000)];
            assert_alike(&found, first.get_or_insert_with(|| found.clone()));
        }
    }
}

/// A compaction and a new order keep the number of shards, or take another one; a node stays in its
/// shard. Seen red with rows in the order of before.
#[test]
fn shards_are_kept_and_changed_by_rewrites() {
    let home = tempfile::tempdir().unwrap();
    let path = built(home.path(), &[700, 2000], &options(3, PropertyLayout::Columns));
    let expected = answers(&snapshot(&path), 700);
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    for (given, shards, version) in
        [(None, 3, 3), (Some(2), 2, 3), (Some(1), 1, 1), (Some(5), 5, 3)]
    {
        let options = LoadOptions { shards: given, ..LoadOptions::default() };
        store.compact(&options, &Hooks::default()).unwrap();
        let graph = store.snapshot();
        assert_eq!(graph.entry().shards, shards);
        assert_alike(&[answers(&graph, 700)], std::slice::from_ref(&expected));
        let manifest = Store::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(manifest.manifest().format(), version);
        assert_sound(&path);
    }
    drop(store);
    let (ordered, hooks) = (home.path().join("ordered.nakshi"), Hooks::default());
    let graph = snapshot(&path);
    let reorder = Reorder::read(graph, &ordered, &LoadOptions::default(), &hooks).unwrap();
    let order: Vec<u32> = (0..700).rev().collect();
    let order = Permutation::from_order(&order).unwrap();
    reorder.write(&order, "reversed").unwrap();
    let graph = snapshot(&ordered);
    assert_eq!((graph.entry().shards, graph.entry().dealt), (5, Dealt::Hash));
    let sorted = |graph: &PropertyGraph| {
        let mut ids: Vec<String> =
            graph.get_node_ids(&[]).unwrap().iter().map(ToString::to_string).collect();
        ids.sort();
        ids
    };
    assert_eq!(sorted(&graph), sorted(&snapshot(&path)));
    assert_sound(&ordered);
}

/// Numbers of shards that no store can have. Seen red with any number taken.
#[test]
fn a_number_out_of_range_is_refused() {
    for shards in [0, 1025, u32::MAX] {
        let home = tempfile::tempdir().unwrap();
        let [nodes, edges] = tables(home.path(), 5, 5);
        let path = home.path().join("g.nakshi");
        let options = options(shards, PropertyLayout::Columns);
        let error = load(&path, nodes, edges, &options, &Hooks::default()).unwrap_err();
        assert!(error.to_string().contains("1 to 1024"), "{error}");
        assert!(!path.exists());
    }
    let home = tempfile::tempdir().unwrap();
    let default = LoadOptions { shards: None, ..options(1, PropertyLayout::Columns) };
    let graph = snapshot(&built(home.path(), &[30, 30], &default));
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(graph.entry().shards as usize, cores.min(64));
    // More shards than nodes: some are empty.
    let graph = snapshot(&built(home.path(), &[30, 30], &options(1024, PropertyLayout::Columns)));
    assert_eq!(graph.get_node_ids(&[]).unwrap().len(), 30);
}

/// The shard map is in memory whatever is not, so it belongs to the least memory. Seen red without it.
#[test]
fn the_shard_map_is_part_of_the_least_memory() {
    let home = tempfile::tempdir().unwrap();
    let [one, two] = [1, 2].map(|shards| {
        let path = built(home.path(), &[12_000, 12_000], &options(shards, PropertyLayout::Blocks));
        let store = Store::open(&path, &OpenOptions::default()).unwrap();
        let memory = property_memory(&store, &CancelToken::new()).unwrap();
        assert!(memory.minimum < memory.in_memory);
        let entry = PropertyEntry::of(store.manifest()).unwrap().unwrap();
        (memory.minimum, entry.segments.shards.map_or(0, |file| file.len))
    });
    // 47 blocks of five words.
    assert_eq!((one.1, two.1), (0, 47 * 5 * 8));
    // The places of blocks take a little less or more in two files.
    assert!(two.0 > one.0 + two.1 / 2, "{one:?} {two:?}");
}

/// The bytes of the shard map are checked when it is read, and its contents by the deep check. Seen
/// red with a map that is no file of the section, and with a check that does not look at it.
#[test]
fn damage_of_the_shard_map_is_found() {
    let home = tempfile::tempdir().unwrap();
    let path = built(home.path(), &[600, 900], &options(2, PropertyLayout::Columns));
    let file = path.join("shards-1.map");
    let good = fs::read(&file).unwrap();
    for at in [0, 3, 40, 80, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        fs::write(&file, &bytes).unwrap();
        let report = check(&path, &OpenOptions::default(), &mut |_, _| ()).unwrap();
        assert!(report.problems.iter().any(|line| line.contains("shards-1.map")), "{report:?}");
        let error = PropertyStore::open(&path, &OpenOptions::default()).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains("shards-1.map"), "{error}");
    }
    fs::write(&file, &good).unwrap();
    assert_sound(&path);
    let copy = home.path().join("copy.nakshi");
    let fs_ = nakshi_io::write::default_fs();
    backup(&fs_, &path, &copy, &Hooks::default()).unwrap();
    assert_eq!(fs::read(copy.join("shards-1.map")).unwrap(), good);
    assert_sound(&copy);
}

/// A reader of before refuses a store whose shards it would misread, by the first line of the
/// manifest; it reads one with a single shard. Seen red with the format left out of the section.
#[test]
fn older_readers_refuse_shards_by_hash_only() {
    for (shards, version) in [(1, 1), (2, 3), (7, 3)] {
        let home = tempfile::tempdir().unwrap();
        let path = built(home.path(), &[20, 20], &options(shards, PropertyLayout::Blocks));
        let manifest = fs::read_to_string(path.join("MANIFEST-1")).unwrap();
        assert!(manifest.starts_with(&format!("nakshi manifest {version}\n")), "{shards}");
        assert_eq!(manifest.contains("\"dealt\": \"hash\""), shards > 1);
    }
}
