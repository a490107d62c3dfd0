//! Export for Neo4j; Nakshi's own import, which knows Neo4j's headers, reads the files back.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::export::{ExportFormat, ExportOptions, Exported, export};
use nakshi_property::{
    LoadOptions, MissingNodes, ParallelEdges, PropertyGraph, Table, TableRows, Value, load,
};
use nakshi_store::import::{Hooks, ImportLayout, ImportOptions, Input, import};
use nakshi_store::{Error, OpenOptions, Result, Store};
use proptest::prelude::*;

fn table(path: PathBuf) -> Vec<Table<'static>> {
    vec![Table::new(None, TableRows::Path(path))]
}

/// Loads `nodes.csv` and `relationships.csv` of a directory.
fn loaded(folder: &Path, name: &str, layout: ImportLayout) -> Arc<Store> {
    let path = folder.join(name);
    let options = LoadOptions {
        layout,
        parallel_edges: ParallelEdges::Keep,
        missing_nodes: MissingNodes::Create,
        allow_empty: true,
        ..LoadOptions::default()
    };
    let [nodes, edges] = ["nodes.csv", "relationships.csv"].map(|file| table(folder.join(file)));
    load(&path, nodes, edges, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

fn exported(store: &Store, path: &Path) -> Result<Exported> {
    let options = ExportOptions { format: ExportFormat::Neo4j, ..ExportOptions::default() };
    export(store, path, &options, &Hooks::default())
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// A graph of plain edges, hubs first.
fn plain(home: &Path, directed: bool, edges: &str) -> Arc<Store> {
    let (file, path) = (home.join("edges.tsv"), home.join("plain.nakshi"));
    std::fs::write(&file, edges).unwrap();
    let layout = ImportLayout::Degree;
    let options = ImportOptions { directed, weighted: true, layout, ..ImportOptions::default() };
    import(vec![Input::Path(file)], &path, &options, &Hooks::default()).unwrap();
    Store::open(&path, &OpenOptions::default()).unwrap()
}

/// All nodes and edges in the order of their ids.
fn content(store: &Arc<Store>) -> Vec<String> {
    let graph = PropertyGraph::open(store, None, &CancelToken::new()).unwrap();
    let mut lines = Vec::new();
    for id in graph.get_node_ids(&[]).unwrap() {
        let mut properties = graph.get_node_property(&id, None).unwrap();
        // Nodes without labels have got one, because Neo4j needs it.
        properties.retain(|(name, _)| *name != "labels");
        properties.sort_by_key(|(name, _)| *name);
        lines.push(format!("{id} {properties:?}"));
        for record in graph.get_edge_records(&id).unwrap() {
            let ty = record.edge_type();
            for place in 0..record.len() {
                let mut edge = graph.get_edge_data(&record, place).unwrap();
                edge.properties.sort_by_key(|(name, _)| *name);
                lines.push(format!("{id} {ty} {edge:?}"));
            }
        }
    }
    lines.sort_unstable();
    lines
}

/// A field in quotes; empty for null.
fn field(value: Option<&str>) -> String {
    value.map_or(String::new(), |text| format!("\"{}\"", text.replace('"', "\"\"")))
}

#[derive(Clone, Debug)]
struct Node {
    id: String,
    text: Option<String>,
    int: Option<i64>,
    float: Option<f64>,
    truth: Option<bool>,
    time: Option<i64>,
    list: Option<Vec<i64>>,
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let text = || "[a-c,;\"\n\r'#é ]{1,6}";
    let fields = (
        prop::option::of(text()),
        prop::option::of(any::<i64>()),
        prop::option::of(any::<f64>()),
        prop::option::of(any::<bool>()),
        prop::option::of(-8_000_000_000_000..8_000_000_000_000i64),
        prop::option::of(prop::collection::vec(any::<i64>(), 1..3)),
    );
    let nodes = prop::collection::btree_map("[a-c, \"\n;#]{1,4}", fields, 1..12);
    nodes.prop_map(|nodes| {
        let node = |(id, (text, int, float, truth, time, list))| Node {
            id,
            text,
            int,
            float,
            truth,
            time,
            list,
        };
        nodes.into_iter().map(node).collect()
    })
}

fn shown<T: ToString>(value: Option<&T>) -> String {
    value.map_or(String::new(), T::to_string)
}

fn write_tables(folder: &Path, nodes: &[Node], edges: &[(usize, usize, i64, Option<String>)]) {
    let mut text =
        "name:ID,text:string,int:long,float:double,\"a,b:boolean\",time:datetime,list:int[]\n"
            .to_owned();
    for node in nodes {
        let list = node
            .list
            .as_ref()
            .map(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(";"));
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{}",
            field(Some(&node.id)),
            field(node.text.as_deref()),
            shown(node.int.as_ref()),
            shown(node.float.as_ref()),
            shown(node.truth.as_ref()),
            shown(node.time.as_ref()),
            shown(list.as_ref()),
        );
    }
    std::fs::write(folder.join("nodes.csv"), text).unwrap();
    let mut text = ":START_ID,:END_ID,:TYPE,timestamp:long,\"say \"\"it\"\":string\"\n".to_owned();
    for (source, target, time, note) in edges {
        let [source, target] = [source, target].map(|at| &nodes[at % nodes.len()].id);
        let ty = if time % 2 == 0 { "likes, a lot" } else { "knows" };
        let ends = [source.as_str(), target, ty].map(|text| field(Some(text))).join(",");
        let _ = writeln!(text, "{ends},{time},{}", field(note.as_deref()));
    }
    std::fs::write(folder.join("relationships.csv"), text).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Seen red without quotes around line breaks, with quotation marks that are not doubled, and
    /// with times in seconds.
    #[test]
    fn what_is_exported_is_loaded_again(
        nodes in nodes(),
        edges in prop::collection::vec((0..12usize, 0..12usize, any::<i64>(), prop::option::of("[a\",\n]{1,4}")), 0..20),
    ) {
        let home = tempfile::tempdir().unwrap();
        write_tables(home.path(), &nodes, &edges);
        let first = loaded(home.path(), "first.nakshi", ImportLayout::Degree);
        let folder = home.path().join("neo4j");
        let done = exported(&first, &folder).unwrap();
        prop_assert_eq!(done.edges, edges.len() as u64);
        let lines = read(folder.join("nodes.csv")) + &read(folder.join("relationships.csv"));
        let broken = nodes.iter().any(|node| {
            let texts = [Some(&node.id), node.text.as_ref()];
            texts.into_iter().flatten().any(|text| text.contains(['\n', '\r']))
        }) || edges.iter().any(|edge| edge.3.as_ref().is_some_and(|note| note.contains('\n')));
        prop_assert_eq!(done.command.unwrap().contains("--multiline-fields=true"), broken, "{}", lines);
        let again = loaded(&folder, "again.nakshi", ImportLayout::Original);
        prop_assert_eq!(content(&again), content(&first));
    }
}

/// Seen red with nodes from the last to the first, and with both entries of an undirected edge.
#[test]
fn plain_stores_keep_their_order() {
    let home = tempfile::tempdir().unwrap();
    let store = plain(home.path(), false, "1\t9\t5\n9\t4\t-6\n9\t7\t7\n4\t7\t8\n4\t4\t1\n");
    let folder = home.path().join("it's for neo4j");
    let done = exported(&store, &folder).unwrap();
    assert_eq!(done.edges, 5);
    // By degree: 9 and 4, then 7, then 1; ties by id.
    assert_eq!(read(folder.join("nodes.csv")), "id:ID,:LABEL\n4,Node\n9,Node\n7,Node\n1,Node\n");
    assert_eq!(
        read(folder.join("relationships.csv")),
        ":START_ID,:END_ID,:TYPE,weight:long\n4,4,edge,1\n4,9,edge,-6\n4,7,edge,8\n9,7,edge,7\n9,1,edge,5\n"
    );
    let command = done.command.unwrap();
    let expected =
        "neo4j-admin database import full neo4j --threads=1 --id-type=integer --nodes='/";
    assert!(command.starts_with(expected), "{command}");
    assert!(command.ends_with(r"/it'\''s for neo4j/relationships.csv'"), "{command}");
    let script = read(folder.join("import.sh"));
    let expected = "exec neo4j-admin database import full \"${1:-neo4j}\" --threads=1 --id-type=integer \
                    --nodes=nodes.csv --relationships=relationships.csv\n";
    assert!(script.ends_with(expected), "{script}");
    loaded(&folder, "again.nakshi", ImportLayout::Original);
}

#[test]
fn ids_that_are_no_integers_of_neo4j_are_text() {
    for (edges, integers) in [
        ("0\t1\t1\n", true),
        ("-1\t3\t1\n", false),
        ("3\t144115188075855872\t1\n", false),
        ("a\tb\t1\n", false),
    ] {
        let home = tempfile::tempdir().unwrap();
        let done = exported(&plain(home.path(), true, edges), &home.path().join("out")).unwrap();
        assert_eq!(done.command.unwrap().contains("--id-type=integer"), integers, "{edges}");
    }
}

#[test]
fn columns_are_those_of_the_tables() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("nodes.csv"),
        ":ID,id:int,:LABEL,born:datetime\nann,1,A;B,1970-01-01\nbob,,,\n",
    )
    .unwrap();
    std::fs::write(home.path().join("relationships.csv"), ":START_ID,:END_ID\nann,bob\n").unwrap();
    let store = loaded(home.path(), "g.nakshi", ImportLayout::Original);
    let folder = home.path().join("out");
    exported(&store, &folder).unwrap();
    assert_eq!(
        read(folder.join("nodes.csv")),
        ":ID,id:long,born:datetime,:LABEL\nann,1,1970-01-01T00:00:00Z,A;B\nbob,,,\n"
    );
    assert_eq!(
        read(folder.join("relationships.csv")),
        ":START_ID,:END_ID,:TYPE,timestamp:long\nann,bob,edge,0\n"
    );
}

#[test]
fn what_cannot_be_is_refused_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let store = plain(home.path(), true, "a\tb\t1\n");
    let before = std::fs::read_dir(home.path()).unwrap().count();
    let out = home.path().join("out");
    let with = |path: &Path, change: fn(&mut ExportOptions), hooks: &Hooks| {
        let mut options = ExportOptions { format: ExportFormat::Neo4j, ..ExportOptions::default() };
        change(&mut options);
        export(&store, path, &options, hooks).unwrap_err()
    };
    let usual = Hooks::default();
    assert!(matches!(with(home.path(), |_| (), &usual), Error::Exists(_)));
    let error = with(Path::new("-"), |_| (), &usual);
    assert!(error.to_string().contains("directory"), "{error}");
    let error = with(&out, |options| options.nodes = Some("ids".into()), &usual);
    assert!(error.to_string().contains("nodes"), "{error}");
    assert!(matches!(with(&out, |options| options.memory = Some(1), &usual), Error::Budget { .. }));
    let error = with(&out, |options| options.weight = Some("none".into()), &usual);
    assert!(matches!(error, Error::NoColumn { .. }));
    let stopped = Hooks::default();
    stopped.cancel.cancel();
    assert!(matches!(with(&out, |_| (), &stopped), Error::Cancelled));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), before);
}

#[test]
fn properties_that_neo4j_has_not_are_named() {
    for (nodes, edges, mention) in [
        ("id,blobs:bytes[]\na,x;y\n", ":START_ID,:END_ID\na,a\n", "blobs"),
        ("id,at:timestamp\na,-99999999999999\n", ":START_ID,:END_ID\na,a\n", "at"),
        ("id\na\n", ":START_ID,:END_ID,timestamp:int[]\na,a,1;2\n", "timestamp"),
    ] {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("nodes.csv"), nodes).unwrap();
        std::fs::write(home.path().join("relationships.csv"), edges).unwrap();
        let store = loaded(home.path(), "g.nakshi", ImportLayout::Original);
        let error = exported(&store, &home.path().join("out")).unwrap_err().to_string();
        assert!(error.contains(mention), "{error}");
        assert!(!home.path().join("out").exists());
    }
}

#[test]
fn empty_texts_and_lists_differ_from_null() {
    use arrow_array::{RecordBatch, RecordBatchIterator, StringArray};

    let home = tempfile::tempdir().unwrap();
    let ids = StringArray::from(vec!["a", "b"]);
    let texts = StringArray::from(vec![Some(""), None]);
    let nodes = RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(ids) as arrow_array::ArrayRef, true),
        ("text", Arc::new(texts), true),
    ]);
    let nodes = nodes.unwrap();
    let schema = nodes.schema();
    let rows = TableRows::Batches(Box::new(RecordBatchIterator::new([Ok(nodes)], schema)));
    let edges = home.path().join("edges.csv");
    std::fs::write(&edges, ":START_ID,:END_ID\na,b\n").unwrap();
    let path = home.path().join("g.nakshi");
    let nodes = vec![Table::new(None, rows)];
    load(&path, nodes, table(edges), &LoadOptions::default(), &Hooks::default()).unwrap();
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    let graph = PropertyGraph::open(&store, None, &CancelToken::new()).unwrap();
    let first = graph.get_node_ids(&[("text", Value::String(String::new()).into())]).unwrap();
    assert_eq!(first.len(), 1);
    exported(&store, &home.path().join("out")).unwrap();
    let mut lines: Vec<String> =
        read(home.path().join("out/nodes.csv")).lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a,\"\",Node", "b,,Node", "id:ID,text:string,:LABEL"]);
}
