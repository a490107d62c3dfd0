//! Model of a property graph: maps and lists, and the steps that change them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nakshi_property::{
    Change, Condition, EdgeId, LoadOptions, PropertyGraph, PropertyLayout, Table, TableRows, Value,
    load_with, tao,
};
use nakshi_store::import::Hooks;
use nakshi_store::{Error, ExternalId};
use proptest::prelude::*;
use tempfile::TempDir;

use super::conditions::compare_conditions;
use super::disk::unsynced;
use super::options;

pub type Properties = BTreeMap<String, Value>;

#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub source: u32,
    pub ty: String,
    pub target: u32,
    pub time: i64,
    /// 0 for an edge without a number.
    pub number: u64,
    pub properties: Properties,
}

impl Edge {
    pub fn is(&self, source: u32, ty: &str, target: u32) -> bool {
        (self.source, self.ty.as_str(), self.target) == (source, ty, target)
    }
}

/// Nodes, and edges in the order of insertion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub nodes: BTreeMap<u32, Properties>,
    pub edges: Vec<Edge>,
    /// Types that an edge has had. A compaction keeps those without edges.
    pub types: BTreeSet<String>,
}

/// A step of a test. Ids are small, so that many steps meet the same nodes.
#[derive(Clone, Debug)]
pub enum Step {
    Append(u32, Properties),
    Update(u32, Properties, bool),
    Delete(u32),
    AppendEdge(Edge),
    DeleteEdge(u32, String, u32),
    CreateEdge(Edge),
    UpdateEdge(Edge, bool),
    RemoveEdge(Edge),
    /// Labels to add, and labels to remove.
    Labels(u32, Vec<String>, Vec<String>),
    ChangeType(u32, String, u32, String),
    /// Either all of these steps or none.
    Batch(Vec<Step>),
    Reopen,
    Compact,
    /// The log becomes a fragment.
    Freeze,
    /// Fragments are merged, in pairs.
    Merge,
}

impl Model {
    /// Applies a step; returns how many of its changes changed something, and `None` for an
    /// impossible step.
    pub fn apply(&mut self, step: &Step) -> Option<u64> {
        match step {
            Step::Append(v, properties) => {
                if self.nodes.contains_key(v) {
                    return None;
                }
                self.nodes.insert(*v, properties.clone());
            }
            Step::Update(v, properties, merge) => {
                let node = self.nodes.get_mut(v)?;
                if !merge {
                    node.clear();
                }
                node.extend(properties.clone());
                node.retain(|_, value| *value != Value::Null);
            }
            Step::Delete(v) => {
                if self.nodes.remove(v).is_none() {
                    return Some(0);
                }
                self.edges.retain(|edge| edge.source != *v && edge.target != *v);
            }
            Step::Labels(v, add, remove) => {
                let node = self.nodes.get_mut(v)?;
                let mut labels = match node.remove("labels") {
                    Some(Value::List(labels)) => labels,
                    _ => Vec::new(),
                };
                let of = |label: &String| Value::String(label.clone());
                labels.retain(|label| !remove.iter().any(|gone| of(gone) == *label));
                for label in add {
                    if !labels.contains(&of(label)) {
                        labels.push(of(label));
                    }
                }
                if !labels.is_empty() {
                    node.insert("labels".into(), Value::List(labels));
                }
            }
            Step::Batch(steps) => {
                let mut after = self.clone();
                let mut changed = 0;
                for step in steps {
                    changed += after.apply(step)?;
                }
                *self = after;
                return Some(changed);
            }
            Step::Compact | Step::Reopen | Step::Freeze | Step::Merge => return Some(0),
            step => return self.apply_to_edges(step),
        }
        Some(1)
    }

    /// As [`Model::apply`], for a step that changes edges.
    fn apply_to_edges(&mut self, step: &Step) -> Option<u64> {
        match step {
            Step::AppendEdge(edge) => {
                if !self.nodes.contains_key(&edge.source) || !self.nodes.contains_key(&edge.target)
                {
                    return None;
                }
                self.types.insert(edge.ty.clone());
                self.edges.retain(|other| !other.is(edge.source, &edge.ty, edge.target));
                self.edges.push(edge.clone());
            }
            Step::DeleteEdge(_, ty, _)
            | Step::ChangeType(_, ty, _, _)
            | Step::UpdateEdge(Edge { ty, .. }, _)
            | Step::RemoveEdge(Edge { ty, .. })
                if !self.types.contains(ty) =>
            {
                return None;
            }
            Step::DeleteEdge(source, ty, target) => {
                let before = self.edges.len();
                self.edges.retain(|edge| !edge.is(*source, ty, *target));
                return Some(u64::from(self.edges.len() < before));
            }
            Step::ChangeType(source, ty, target, new) => {
                let is = |edge: &&Edge| edge.is(*source, ty, *target);
                if self.edges.iter().filter(is).count() > 1 {
                    return None;
                }
                let at = self.edges.iter().position(|edge| edge.is(*source, ty, *target));
                let Some(at) = at else { return Some(0) };
                let edge = Edge { ty: new.clone(), number: 0, ..self.edges.remove(at) };
                self.edges.retain(|other| !other.is(*source, new, *target));
                self.types.insert(new.clone());
                self.edges.push(edge);
            }
            Step::CreateEdge(edge) => {
                let there = self.nodes.contains_key(&edge.source);
                if !there || !self.nodes.contains_key(&edge.target) || self.one(edge).is_some() {
                    return None;
                }
                self.types.insert(edge.ty.clone());
                self.edges.push(edge.clone());
            }
            Step::UpdateEdge(new, merge) => {
                let mut edge = self.edges.remove(self.one(new)?);
                if !merge {
                    edge.properties.clear();
                }
                edge.properties.extend(new.properties.clone());
                self.edges.push(edge);
            }
            Step::RemoveEdge(edge) => {
                let Some(at) = self.one(edge) else { return Some(0) };
                self.edges.remove(at);
            }
            _ => {}
        }
        Some(1)
    }

    /// Place of the edge with the ends, the type and the number of another.
    fn one(&self, like: &Edge) -> Option<usize> {
        let is =
            |edge: &Edge| edge.is(like.source, &like.ty, like.target) && edge.number == like.number;
        self.edges.iter().position(is)
    }

    pub fn record(&self, source: u32, ty: &str) -> Vec<&Edge> {
        let mut found: Vec<&Edge> =
            self.edges.iter().filter(|edge| edge.source == source && edge.ty == ty).collect();
        found.sort_by_key(|edge| edge.time);
        found
    }
}

/// The identity of an edge.
pub fn edge_id(edge: &Edge) -> EdgeId {
    EdgeId {
        source: id(edge.source),
        edge_type: edge.ty.clone(),
        destination: id(edge.target),
        number: edge.number,
    }
}

pub fn id(v: u32) -> ExternalId {
    ExternalId::I64(v.into())
}

pub fn listed(properties: &Properties) -> Vec<(String, Value)> {
    properties.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub fn changes(step: &Step) -> Vec<Change> {
    vec![match step {
        Step::Append(v, properties) => {
            Change::AppendNode { id: id(*v), properties: listed(properties) }
        }
        Step::Update(v, properties, merge) => {
            Change::UpdateNode { id: id(*v), properties: listed(properties), merge: *merge }
        }
        Step::Delete(v) => Change::DeleteNode { id: id(*v) },
        Step::AppendEdge(edge) => Change::AppendEdge {
            source: id(edge.source),
            edge_type: edge.ty.clone(),
            destination: id(edge.target),
            timestamp: edge.time,
            properties: listed(&edge.properties),
        },
        Step::DeleteEdge(source, ty, target) => Change::DeleteEdge {
            source: id(*source),
            edge_type: ty.clone(),
            destination: id(*target),
        },
        Step::CreateEdge(edge) => Change::CreateEdge {
            edge: edge_id(edge),
            timestamp: edge.time,
            properties: listed(&edge.properties),
        },
        Step::UpdateEdge(edge, merge) => Change::UpdateEdge {
            edge: edge_id(edge),
            properties: listed(&edge.properties),
            merge: *merge,
        },
        Step::RemoveEdge(edge) => Change::RemoveEdge { edge: edge_id(edge) },
        Step::Labels(v, add, remove) => {
            Change::ChangeLabels { id: id(*v), add: add.clone(), remove: remove.clone() }
        }
        Step::ChangeType(source, ty, target, new) => Change::ChangeType {
            source: id(*source),
            edge_type: ty.clone(),
            destination: id(*target),
            new_type: new.clone(),
        },
        Step::Batch(steps) => return steps.iter().flat_map(changes).collect(),
        Step::Reopen | Step::Compact | Step::Freeze | Step::Merge => return Vec::new(),
    }]
}

pub fn properties() -> impl Strategy<Value = Properties> {
    let value = prop_oneof![
        ("name", "[ab]{0,2}".prop_map(Value::String)),
        ("age", (0..4i64).prop_map(Value::Int)),
        ("new", any::<bool>().prop_map(Value::Bool)),
        (
            "tags",
            prop::collection::vec("[xy]", 1..3)
                .prop_map(|tags| { Value::List(tags.into_iter().map(Value::String).collect()) })
        ),
    ];
    prop::collection::vec(value, 0..4).prop_map(|found| found.into_iter().collect())
}

/// New properties of a node, some of which are taken away.
fn update() -> impl Strategy<Value = Properties> {
    let removed = prop::collection::vec(prop_oneof![Just("name"), Just("age")], 0..2);
    (properties(), removed).prop_map(|(mut properties, removed)| {
        properties.extend(removed.into_iter().map(|name| (name.to_owned(), Value::Null)));
        properties
    })
}

pub fn edge() -> impl Strategy<Value = Edge> {
    (0..12u32, "[ABC]", 0..12u32, prop_oneof![0..5i64, any::<i64>()], properties()).prop_map(
        |(source, ty, target, time, properties)| Edge {
            source,
            ty,
            target,
            time,
            number: 0,
            properties,
        },
    )
}

/// An edge with a number, of few, so that many steps meet the same edges.
fn numbered() -> impl Strategy<Value = Edge> {
    (0..4u32, "[AB]", 0..4u32, 0..5i64, 0..4u64, properties()).prop_map(
        |(source, ty, target, time, number, properties)| Edge {
            source,
            ty,
            target,
            time,
            number,
            properties,
        },
    )
}

pub fn change() -> impl Strategy<Value = Step> {
    let labels = || prop::collection::vec("[PQ]", 0..3);
    prop_oneof![
        4 => numbered()
            .prop_map(|edge| Edge { number: edge.number + 1, ..edge })
            .prop_map(Step::CreateEdge),
        2 => (numbered(), any::<bool>()).prop_map(|(edge, merge)| Step::UpdateEdge(edge, merge)),
        2 => numbered().prop_map(Step::RemoveEdge),
        1 => (0..12u32, labels(), labels()).prop_map(|(v, a, r)| Step::Labels(v, a, r)),
        3 => (0..14u32, properties()).prop_map(|(v, p)| Step::Append(v, p)),
        4 => (0..12u32, update(), any::<bool>()).prop_map(|(v, p, m)| Step::Update(v, p, m)),
        1 => (0..12u32).prop_map(Step::Delete),
        6 => edge().prop_map(Step::AppendEdge),
        2 => (0..12u32, "[ABC]", 0..12u32).prop_map(|(s, t, d)| Step::DeleteEdge(s, t, d)),
        1 => (0..12u32, "[ABC]", 0..12u32, "[ABC]")
            .prop_map(|(s, t, d, n)| Step::ChangeType(s, t, d, n)),
    ]
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => change(),
        2 => prop::collection::vec(change(), 0..4).prop_map(Step::Batch),
        1 => Just(Step::Reopen),
        1 => Just(Step::Compact),
        3 => Just(Step::Freeze),
        1 => Just(Step::Merge),
    ];
    prop::collection::vec(step, 0..60)
}

/// Writes the store with which a test begins, some nodes with properties and some edges; returns
/// its model.
pub fn start(path: &Path, edges: &[Edge]) -> Model {
    let home = path.parent().unwrap();
    let mut model = Model::default();
    let mut nodes = "id:ID,name,age:int,tags:string[]\n".to_owned();
    for v in 0..8u32 {
        let mut properties = Properties::new();
        if v % 2 == 0 {
            properties.insert("age".into(), Value::Int((v % 4).into()));
            nodes.push_str(&format!("{v},,{},\n", v % 4));
        } else {
            properties.insert("name".into(), Value::String("a".into()));
            properties.insert("tags".into(), Value::List(vec![Value::String("x".into())]));
            nodes.push_str(&format!("{v},a,,x\n"));
        }
        model.nodes.insert(v, properties);
    }
    let mut table = ":START_ID,:END_ID,:TYPE,timestamp:long,age:int\n".to_owned();
    for edge in edges.iter().filter(|edge| edge.source < 8 && edge.target < 8) {
        let age = Value::Int(edge.time.rem_euclid(4));
        let properties = [("age".to_owned(), age.clone())].into();
        let edge = Edge { properties, ..edge.clone() };
        let Edge { source, target, ty, time, .. } = &edge;
        table.push_str(&format!("{source},{target},{ty},{time},{age}\n"));
        model.apply(&Step::AppendEdge(edge));
    }
    let write = |name: &str, text: &str| {
        let path = home.join(name);
        std::fs::write(&path, text).unwrap();
        vec![Table::new(None, TableRows::Path(path))]
    };
    // The layout depends on the number of edges.
    let properties = match edges.len() % 3 {
        0 => PropertyLayout::Columns,
        1 => PropertyLayout::Zipg,
        _ => PropertyLayout::Blocks,
    };
    let searchable = if edges.len() % 4 < 2 { vec!["name".to_owned()] } else { vec![] };
    let options =
        LoadOptions { shards: Some(2), properties, searchable, memory: 1 << 30, ..options() };
    load_with(
        &unsynced(),
        path,
        write("n.csv", &nodes),
        write("e.csv", &table),
        &options,
        &Hooks::default(),
    )
    .unwrap();
    model
}

/// As [`start`], with the path of the store, in a folder that is removed with the first result.
pub fn started(edges: &[Edge]) -> (TempDir, PathBuf, Model) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g.nakshi");
    let model = start(&path, edges);
    (home, path, model)
}

pub fn number(id: &ExternalId) -> u32 {
    id.to_string().parse().unwrap()
}

/// Compares the answers to all queries.
pub fn compare(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(graph.num_nodes(), model.nodes.len() as u64);
    prop_assert_eq!(graph.num_edges(), model.edges.len() as u64);
    let mut all: Vec<u32> = graph.get_node_ids(&[]).unwrap().iter().map(number).collect();
    all.sort_unstable();
    prop_assert_eq!(&all, &model.nodes.keys().copied().collect::<Vec<_>>());
    for v in 0..16 {
        let found = graph.get_node_property(&id(v), None);
        let Some(expected) = model.nodes.get(&v) else {
            let none = matches!(found, Err(Error::NoNode { .. }));
            prop_assert!(none, "node {}", v);
            continue;
        };
        let found: Properties =
            found.unwrap().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        prop_assert_eq!(&found, expected);
        let mut records = 0;
        for ty in ["A", "B", "C"] {
            if !model.types.contains(ty) {
                // The files may know a type whose last edge is gone.
                prop_assert!(graph.get_edge_record(&id(v), ty).map_or(true, |r| r.is_empty()));
                continue;
            }
            let expected = model.record(v, ty);
            records += u64::from(!expected.is_empty());
            compare_record(graph, v, ty, &expected)?;
        }
        prop_assert_eq!(graph.get_edge_records(&id(v)).unwrap().len() as u64, records);
        compare_incoming(graph, model, v)?;
    }
    let wanted = [("age", Value::Int(2)), ("name", Value::String("a".into()))];
    for (name, value) in wanted {
        let mut found: Vec<u32> = graph
            .get_node_ids(&[(name, value.clone().into())])
            .unwrap()
            .iter()
            .map(number)
            .collect();
        found.sort_unstable();
        let has = |properties: &Properties| properties.get(name) == Some(&value);
        let expected: Vec<u32> =
            model.nodes.iter().filter(|(_, p)| has(p)).map(|(v, _)| *v).collect();
        prop_assert_eq!(found, expected);
    }
    let tagged = graph.get_node_ids(&[("tags", Value::String("x".into()).into())]).unwrap();
    let x = Value::String("x".into());
    let has =
        |p: &Properties| matches!(p.get("tags"), Some(Value::List(tags)) if tags.contains(&x));
    prop_assert_eq!(tagged.len(), model.nodes.values().filter(|p| has(p)).count());
    compare_parts(graph, model)?;
    compare_conditions(graph, model)?;
    if graph.edge_properties().iter().any(|spec| spec.name == "age") {
        let with = |properties: &Properties| properties.get("age") == Some(&Value::Int(1));
        compare_found_edges(graph, model, ("age", Value::Int(1).into()), with)?;
    }
    Ok(())
}

/// Compares the edges that meet a condition with those of the model that fit.
pub fn compare_found_edges(
    graph: &PropertyGraph,
    model: &Model,
    condition: (&str, Condition),
    fits: impl Fn(&Properties) -> bool,
) -> Result<(), TestCaseError> {
    let found = graph.find_edges(std::slice::from_ref(&condition)).unwrap();
    let mut found: Vec<(u32, String, u32)> = found
        .into_iter()
        .map(|(source, ty, data)| (number(&source), ty.to_owned(), number(&data.destination)))
        .collect();
    let edges = model.edges.iter().filter(|edge| fits(&edge.properties));
    let mut expected: Vec<_> =
        edges.map(|edge| (edge.source, edge.ty.clone(), edge.target)).collect();
    found.sort_unstable();
    expected.sort_unstable();
    prop_assert_eq!(found, expected, "{:?}", condition);
    Ok(())
}

/// Compares the edges that lead to a node.
fn compare_incoming(graph: &PropertyGraph, model: &Model, v: u32) -> Result<(), TestCaseError> {
    let incoming = graph.get_incoming_edges(&id(v), None).unwrap();
    let mut found: Vec<_> = incoming
        .iter()
        .map(|edge| (number(&edge.source), edge.edge_type.as_str(), edge.timestamp))
        .collect();
    let mut expected: Vec<_> = model
        .edges
        .iter()
        .filter(|edge| edge.target == v)
        .map(|edge| (edge.source, edge.ty.as_str(), edge.time))
        .collect();
    found.sort_unstable();
    expected.sort_unstable();
    prop_assert_eq!(found, expected);
    Ok(())
}

/// Compares nodes and edges by a part of their name.
fn compare_parts(graph: &PropertyGraph, model: &Model) -> Result<(), TestCaseError> {
    for part in ["", "a", "ba"] {
        let contains = ("name", Condition::Contains(Value::String(part.to_owned())));
        let has = |properties: &Properties| matches!(properties.get("name"), Some(Value::String(name)) if name.contains(part));
        let young = ("age", Condition::from(Value::Int(2)));
        for conditions in [&[contains.clone()][..], &[contains.clone(), young]] {
            let fits = |properties: &Properties| {
                has(properties)
                    && (conditions.len() == 1 || properties.get("age") == Some(&Value::Int(2)))
            };
            let mut found: Vec<u32> =
                graph.get_node_ids(conditions).unwrap().iter().map(number).collect();
            found.sort_unstable();
            let nodes = model.nodes.iter().filter(|(_, properties)| fits(properties));
            prop_assert_eq!(found, nodes.map(|(v, _)| *v).collect::<Vec<_>>());
        }
        if graph.edge_properties().iter().any(|spec| spec.name == "name") {
            compare_found_edges(graph, model, contains, has)?;
        }
    }
    Ok(())
}

pub fn compare_record(
    graph: &PropertyGraph,
    v: u32,
    ty: &str,
    expected: &[&Edge],
) -> Result<(), TestCaseError> {
    let record = graph.get_edge_record(&id(v), ty).unwrap();
    prop_assert_eq!(record.len(), expected.len() as u64);
    for (place, edge) in (0..).zip(expected) {
        let data = graph.get_edge_data(&record, place).unwrap();
        let properties: Properties =
            data.properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        prop_assert_eq!(number(&data.destination), edge.target);
        prop_assert_eq!(data.timestamp, edge.time);
        prop_assert_eq!(&properties, &edge.properties);
        let found = record.edge_id(place).unwrap();
        let told = (number(&found.source), found.edge_type.as_str(), number(&found.destination));
        prop_assert_eq!(told, (edge.source, edge.ty.as_str(), edge.target));
        prop_assert_eq!(found.number, edge.number);
        prop_assert_eq!(
            graph.get_edge(&found).unwrap(),
            Some(graph.get_edge_data(&record, place).unwrap())
        );
        prop_assert_eq!(graph.get_edge(&EdgeId { number: 9, ..found }).unwrap(), None);
    }
    let range = graph.get_edge_range(&record, Some(1), Some(4)).unwrap();
    let within = expected.iter().filter(|edge| (1..4).contains(&edge.time)).count() as u64;
    prop_assert_eq!(range.end - range.start, within);
    let newest = tao::assoc_range(graph, &id(v), ty, 0, 3).unwrap();
    let newest: Vec<u32> = newest.iter().map(|data| number(&data.destination)).collect();
    let wanted: Vec<u32> = expected.iter().rev().take(3).map(|edge| edge.target).collect();
    prop_assert_eq!(newest, wanted);
    let aged = graph.get_neighbor_ids(&id(v), Some(ty), &[("age", Value::Int(2).into())]).unwrap();
    let all = graph.get_neighbor_ids(&id(v), Some(ty), &[]).unwrap();
    let distinct: BTreeSet<u32> = expected.iter().map(|edge| edge.target).collect();
    prop_assert_eq!(all.len(), distinct.len());
    prop_assert!(aged.iter().all(|id| all.contains(id)));
    Ok(())
}
