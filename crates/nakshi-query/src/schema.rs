//! Labels, types and properties of a graph, in the rows of Neo4j's procedures about schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use nakshi_property::{Catalog, EdgeNumbers, EdgeTypeSummary, EndsSummary};
use nakshi_store::ExternalId;

use super::survey::{Kind, Kinds, Seen, Survey};
use super::value::{Map, Node, Relationship, Row, Value};

fn list(texts: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Value {
    Value::list(texts.into_iter().map(Value::text).collect())
}

fn count(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The types of which there are edges.
pub(crate) fn types(graph: &Catalog) -> impl Iterator<Item = &EdgeTypeSummary> {
    graph.edge_types.iter().filter(|ty| ty.edges > 0)
}

/// A label or a type between backticks, after a colon.
fn quoted(name: &str) -> String {
    format!(":`{}`", name.replace('`', "``"))
}

/// Name, types and whether all have it, of each property; null for those without properties.
fn property_rows(seen: &Seen) -> Vec<[Value; 3]> {
    if seen.properties.is_empty() {
        return vec![[Value::Null, Value::Null, Value::Bool(false)]];
    }
    let row = |(name, kinds): (&Arc<str>, &Kinds)| {
        let types = list(kinds.all().into_iter().map(Kind::name));
        [Value::String(Arc::clone(name)), types, Value::Bool(kinds.met == seen.met)]
    };
    seen.properties.iter().map(row).collect()
}

/// The rows of `db.schema.nodeTypeProperties`.
pub(crate) fn node_type_properties(survey: &Survey) -> Vec<Row> {
    let of = |(labels, seen): (&Vec<Arc<str>>, &Seen)| {
        let name = labels.iter().map(|label| quoted(label)).collect::<String>();
        let of_labels = [Value::text(name), list(labels.iter().cloned())];
        let rows = property_rows(seen).into_iter();
        rows.map(|row| of_labels.iter().cloned().chain(row).collect()).collect::<Vec<Row>>()
    };
    survey.nodes.iter().flat_map(of).collect()
}

/// The rows of `db.schema.relTypeProperties`.
pub(crate) fn rel_type_properties(graph: &Catalog, survey: &Survey) -> Vec<Row> {
    let unseen = Seen::default();
    let of = |ty: &EdgeTypeSummary| {
        let name = Value::text(quoted(&ty.name));
        let rows = property_rows(survey.edges.get(&*ty.name).unwrap_or(&unseen)).into_iter();
        rows.map(|row| [name.clone()].into_iter().chain(row).collect()).collect::<Vec<Row>>()
    };
    types(graph).flat_map(of).collect()
}

/// Edges between a label and another one, by both labels.
fn between(ty: &EdgeTypeSummary) -> BTreeMap<(&str, &str), u64> {
    let mut found = BTreeMap::new();
    for EndsSummary { from, to, edges } in &ty.ends {
        for source in from {
            for end in to {
                *found.entry((&**source, &**end)).or_insert(0) += edges;
            }
        }
    }
    found
}

/// The row of `db.schema.visualization`: nodes and edges that the graph does not have, with negative ids.
pub(crate) fn visualization(graph: &Catalog) -> Vec<Row> {
    let labels = graph.labels.iter().filter(|label| label.nodes > 0);
    let nodes = labels.zip(1_u32..).map(|(label, number)| {
        let name = Arc::<str>::from(&*label.label);
        let none = Value::list(Vec::new());
        let properties = [
            ("name", Value::String(Arc::clone(&name))),
            ("indexes", none.clone()),
            ("constraints", none),
        ];
        (&*label.label, (number, virtual_node(number, name, named(properties))))
    });
    let nodes = nodes.collect::<BTreeMap<_, _>>();
    let mut edges = Vec::new();
    for ty in types(graph) {
        for ((source, end), _) in between(ty) {
            if let (Some((source, _)), Some((end, _))) = (nodes.get(source), nodes.get(end)) {
                let number = nodes.len() + edges.len() + 1;
                edges.push(virtual_edge(number, &ty.name, [*source, *end]));
            }
        }
    }
    let nodes = nodes.into_values().map(|(_, node)| node).collect();
    vec![vec![Value::list(nodes), Value::list(edges)]]
}

fn named<const N: usize>(entries: [(&str, Value); N]) -> Map {
    entries.map(|(name, value)| (Arc::from(name), value)).into()
}

/// A node that the graph does not have. No graph has so many nodes that one of it has this number.
fn virtual_node(number: u32, label: Arc<str>, properties: Map) -> Value {
    let id = -i64::from(number);
    let shown = Node::shown(id, ExternalId::I64(id), vec![label], properties);
    Value::Node(Node { vertex: u32::MAX - number, ..shown })
}

/// An edge that the graph does not have, between nodes of these numbers.
fn virtual_edge(number: usize, name: &str, ends: [u32; 2]) -> Value {
    let number = u64::try_from(number).unwrap_or(u64::MAX >> 1);
    let (id, name) = (-number.cast_signed(), Arc::<str>::from(name));
    let properties = named([("name", Value::String(Arc::clone(&name)))]);
    let ends = ends.map(|end| (-i64::from(end), ExternalId::I64(-i64::from(end))));
    let shown = Relationship::shown((id, id.to_string()), name, ends, properties);
    // The number tells it apart from the others.
    let edge = Arc::new(EdgeNumbers { number, ..*shown.edge });
    Value::Relationship(Relationship { edge, ..shown })
}

/// A row of `apoc.meta.data`: what it is of, how many, its type, its direction, and the labels at the other end.
struct Meta {
    label: Value,
    property: Value,
    edges: u64,
    ty: &'static str,
    is_list: bool,
    /// Edges of a node on average, from it and to it.
    degrees: [u64; 2],
    other: Value,
    element: &'static str,
}

impl Meta {
    fn row(self) -> Row {
        let no = Value::Bool(false);
        let [left, right] = self.degrees.map(count);
        vec![
            self.label,
            self.property,
            count(self.edges),
            no.clone(),
            no.clone(),
            no,
            Value::text(self.ty),
            Value::Bool(self.is_list),
            Value::Null,
            left,
            right,
            self.other,
            Value::list(Vec::new()),
            Value::text(self.element),
        ]
    }

    fn of_property(label: &str, name: &Arc<str>, kinds: &Kinds, element: &'static str) -> Row {
        let kind = kinds.most_frequent();
        Meta {
            label: Value::text(label),
            property: Value::String(Arc::clone(name)),
            edges: 0,
            ty: kind.apoc_name(),
            is_list: kind.is_list,
            degrees: [0, 0],
            other: Value::list(Vec::new()),
            element,
        }
        .row()
    }
}

/// The rows of `apoc.meta.data`: of each label, its properties and the types of edges that leave it; of each
/// type, its properties and the labels that it leaves.
pub(crate) fn meta_data(graph: &Catalog, survey: &Survey) -> Vec<Row> {
    let types = types(graph).map(|ty| (ty, between(ty))).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for label in graph.labels.iter().filter(|label| label.nodes > 0) {
        for (name, kinds) in &survey.of_label(&label.label) {
            rows.push(Meta::of_property(&label.label, name, kinds, "node"));
        }
        for (ty, between) in &types {
            rows.extend(leaving(&label.label, label.nodes, ty, between, "node"));
        }
    }
    for (ty, between) in &types {
        let seen = survey.edges.get(&*ty.name).map(|seen| &seen.properties);
        for (name, kinds) in seen.into_iter().flatten() {
            rows.push(Meta::of_property(&ty.name, name, kinds, "relationship"));
        }
        for label in graph.labels.iter().filter(|label| label.nodes > 0) {
            rows.extend(leaving(&label.label, label.nodes, ty, between, "relationship"));
        }
    }
    rows
}

/// The row about the edges of a type that leave a label, if there are some.
fn leaving(
    label: &str,
    nodes: u64,
    ty: &EdgeTypeSummary,
    between: &BTreeMap<(&str, &str), u64>,
    element: &'static str,
) -> Option<Row> {
    let ends = between.iter().filter(|((source, _), _)| *source == label);
    let (ends, out): (Vec<&str>, Vec<u64>) = ends.map(|((_, end), edges)| (*end, *edges)).unzip();
    if ends.is_empty() {
        return None;
    }
    let to = between.iter().filter(|((_, end), _)| *end == label).map(|(_, edges)| edges);
    let (out, to) = (out.into_iter().sum::<u64>(), to.sum::<u64>());
    let (own, name) = (Value::text(label), Value::text(&*ty.name));
    let (label, property) = if element == "node" { (own, name) } else { (name, own) };
    let meta = Meta {
        label,
        property,
        edges: out,
        ty: "RELATIONSHIP",
        is_list: out > nodes,
        degrees: [out, to].map(|edges| edges / nodes.max(1)),
        other: list(ends),
        element,
    };
    Some(meta.row())
}
