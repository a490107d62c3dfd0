//! Random graphs with odd ids, names and values, part of which is in the log; and the whole content
//! of a graph as lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nakshi_property::{
    Change, LoadOptions, MissingNodes, PropertyLayout, PropertyStore, Table, TableRows, Value, load,
};
use nakshi_store::import::Hooks;
use nakshi_store::{ExternalId, OpenOptions};
use proptest::prelude::*;

pub const LAYOUTS: [PropertyLayout; 2] = [PropertyLayout::Columns, PropertyLayout::Zipg];

type Properties = Vec<(String, Value)>;

/// Nodes, and edges by the positions of their ends. Everything behind `filed` is in the log.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<(ExternalId, Properties)>,
    edges: Vec<(usize, &'static str, usize, i64, Properties)>,
    filed: [usize; 2],
    /// Nodes and edges that the log deletes.
    deleted: [usize; 2],
}

/// Names with a meaning in headers, and names that need quotes there.
const NODE: [&str; 7] = ["id", "a,b:c", "|d\t", " e ", "f\n\"", "labels", "g:ID"];
const EDGE: [&str; 7] = ["timestamp", "source", "type:int", "x.id", "h;", ":TYPE", "i"];
const TYPES: [&str; 3] = ["likes", "is,\"of\"", "a\nb"];

fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-c,;:|\"'#% \t\n\r\\\\é]{0,6}", 1 => "-?[0-9]{1,3}", 1 => Just("null".to_owned())]
}

fn float() -> impl Strategy<Value = f64> {
    let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324];
    prop_oneof![any::<f64>(), prop::sample::select(odd.to_vec())]
}

/// A value of each property in turn; text cannot hold all `loose` ones.
fn value(property: usize, loose: bool) -> BoxedStrategy<Value> {
    let item = if loose { "[ab;]{0,3}" } else { "[ab,\"\n]{1,3}" };
    let items =
        |item: BoxedStrategy<Value>| prop::collection::vec(item, 0..4).prop_map(Value::List);
    match property {
        0 => odd_text().prop_map(Value::String).boxed(),
        1 => any::<i64>().prop_map(Value::Int).boxed(),
        2 if loose => any::<u64>().prop_map(|bits| Value::Float(f64::from_bits(bits))).boxed(),
        2 => float().prop_map(Value::Float).boxed(),
        3 => prop::collection::vec(any::<u8>(), 0..6).prop_map(Value::Bytes).boxed(),
        4 => any::<i64>().prop_map(Value::Timestamp).boxed(),
        5 => items(item.prop_map(Value::String).boxed()).boxed(),
        _ => prop_oneof![any::<bool>()].prop_map(Value::Bool).boxed(),
    }
}

fn properties(names: [&'static str; 7], loose: bool) -> impl Strategy<Value = Properties> {
    let one = |(at, name): (usize, &'static str)| {
        prop::option::weighted(0.6, value(at, loose))
            .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let all: Vec<_> = names.into_iter().enumerate().map(one).collect();
    all.prop_map(|all| all.into_iter().flatten().collect())
}

/// Ids of one kind.
fn ids() -> impl Strategy<Value = Vec<ExternalId>> {
    let id = |kind| match kind {
        0 => any::<i64>().prop_map(ExternalId::I64).boxed(),
        1 => any::<u64>().prop_map(ExternalId::U64).boxed(),
        2 => any::<i128>().prop_map(|id| ExternalId::Big(id.to_string())).boxed(),
        3 => odd_text().prop_filter("empty", |t| !t.is_empty()).prop_map(ExternalId::Text).boxed(),
        _ => prop::collection::vec(any::<u8>(), 1..4).prop_map(ExternalId::Bytes).boxed(),
    };
    let ids = (0..5usize).prop_flat_map(move |kind| prop::collection::vec(id(kind), 2..12));
    ids.prop_map(|ids| {
        let mut by_text = BTreeMap::new();
        for id in ids {
            let text = match &id {
                ExternalId::Bytes(bytes) => bytes.clone(),
                other => other.to_string().into_bytes(),
            };
            by_text.entry(text).or_insert(id);
        }
        by_text.into_values().collect()
    })
}

pub fn graphs(loose: bool) -> impl Strategy<Value = Graph> {
    let graph = move |ids: Vec<ExternalId>| {
        let n = ids.len();
        let nodes = prop::collection::vec(properties(NODE, loose), n);
        let time = prop_oneof![0..4i64, any::<i64>()];
        let edge =
            (0..n, prop::sample::select(TYPES.to_vec()), 0..n, time, properties(EDGE, loose));
        let deleted =
            prop_oneof![2 => Just([0, 0]), 1 => (0..2usize, 0..4usize).prop_map(<[_; 2]>::from)];
        (nodes, prop::collection::vec(edge, 0..20), 0.0..1.3f64, deleted).prop_map(
            move |(nodes, edges, filed, deleted)| {
                let part = |n: usize| ((n as f64 * filed) as usize).min(n);
                let filed = [part(n), part(edges.len())];
                let nodes = ids.iter().cloned().zip(nodes).collect();
                Graph { nodes, edges, filed, deleted }
            },
        )
    };
    ids().prop_flat_map(graph)
}

pub fn options(layout: PropertyLayout) -> LoadOptions {
    LoadOptions {
        threads: 1,
        memory: 500 << 20,
        properties: layout,
        missing_nodes: MissingNodes::Create,
        allow_empty: true,
        ..LoadOptions::default()
    }
}

/// An id that gives a store the same kind of ids as `of`.
fn seed(of: &ExternalId) -> Vec<u8> {
    match of {
        ExternalId::I64(_) => i64::MIN.to_string().into_bytes(),
        ExternalId::U64(_) => u64::MAX.to_string().into_bytes(),
        ExternalId::Big(_) => format!("-{}", u128::MAX).into_bytes(),
        ExternalId::Text(_) => b"seed".to_vec(),
        ExternalId::Bytes(_) => vec![0xff; 4],
    }
}

/// Builds a store of the graph and one more node, with its log.
pub fn built(home: &Path, graph: &Graph, layout: PropertyLayout) -> PathBuf {
    let (first, path) = (home.join("first.csv"), home.join("built.nakshi"));
    std::fs::write(&first, [b":ID\n", seed(&graph.nodes[0].0).as_slice(), b"\n"].concat()).unwrap();
    let table = vec![Table::new(None, TableRows::Path(first))];
    let hooks = Hooks::default();
    load(&path, table, Vec::new(), &options(layout), &hooks).unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    let node = |(id, properties): &(ExternalId, Properties)| Change::AppendNode {
        id: id.clone(),
        properties: properties.clone(),
    };
    let id = |place: &usize| graph.nodes[*place].0.clone();
    let edge = |(source, ty, target, time, properties): &(usize, &str, usize, i64, Properties)| {
        Change::AppendEdge {
            source: id(source),
            edge_type: (*ty).to_owned(),
            destination: id(target),
            timestamp: *time,
            properties: properties.clone(),
        }
    };
    let (nodes, late_nodes) = graph.nodes.split_at(graph.filed[0]);
    let early = |(source, _, target, ..): &&(usize, &str, usize, i64, Properties)| {
        *source.max(target) < graph.filed[0]
    };
    let (edges, late_edges) = graph.edges.split_at(graph.filed[1]);
    let (edges, waiting): (Vec<_>, Vec<_>) = edges.iter().partition(early);
    let inverse =
        Change::SetInverse { edge_type: TYPES[0].to_owned(), inverse: TYPES[1].to_owned() };
    let first = nodes.iter().map(node).chain(edges.into_iter().map(edge)).chain([inverse]);
    store.commit(&first.collect::<Vec<_>>()).unwrap();
    store.compact(&options(layout), &hooks).unwrap();
    let second = late_nodes.iter().map(node);
    let mut second: Vec<_> =
        second.chain(waiting.into_iter().chain(late_edges).map(edge)).collect();
    let [nodes, edges] = graph.deleted;
    second.extend(graph.edges.iter().take(edges).map(|(source, ty, target, ..)| {
        let edge_type = (*ty).to_owned();
        Change::DeleteEdge { source: id(source), edge_type, destination: id(target) }
    }));
    second.extend(
        graph.nodes.iter().take(nodes).map(|(id, _)| Change::DeleteNode { id: id.clone() }),
    );
    store.commit(&second).unwrap();
    path
}

/// A value as text, exact to the last bit.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(v) => format!("{:#x}", v.to_bits()),
        other => format!("{other:?}"),
    }
}

fn listed(mut properties: Vec<(&str, Value)>) -> Vec<String> {
    properties.sort_by_key(|(name, _)| *name);
    properties.iter().map(|(name, value)| format!("{name} {}", shown(value))).collect()
}

/// Lines with the names and types of all properties, and with all nodes and edges, those of a
/// record in their order.
pub fn content(path: &Path) -> Vec<String> {
    let store = PropertyStore::open(path, &OpenOptions::default()).unwrap();
    let graph = store.snapshot();
    let mut lines = Vec::new();
    for spec in graph.node_properties() {
        lines.push(format!("node property {spec:?}"));
    }
    for spec in graph.edge_properties() {
        lines.push(format!("edge property {spec:?}"));
    }
    for id in graph.get_node_ids(&[]).unwrap() {
        lines.push(format!("{id:?} {:?}", listed(graph.get_node_property(&id, None).unwrap())));
        for record in graph.get_edge_records(&id).unwrap() {
            for place in 0..record.len() {
                let edge = graph.get_edge_data(&record, place).unwrap();
                let (ty, end, time) = (record.edge_type(), edge.destination, edge.timestamp);
                let properties = listed(edge.properties);
                lines.push(format!("{id:?} {ty} {place} {end:?} {time} {properties:?}"));
            }
        }
    }
    assert_eq!(graph.num_nodes(), graph.get_node_ids(&[]).unwrap().len() as u64);
    lines.sort_unstable();
    lines
}
