//! The graph as a query sees it: the state of a commit, or of a transaction with its changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime as Utc, NaiveDateTime};
use nakshi_property::{
    Condition, EdgeNumbers, LABELS, PropertyGraph, PropertySpec, Value as Stored,
};
use nakshi_store::ExternalId;
use rustc_hash::FxHashMap;

use super::error::{Class, QueryError, Result};
use super::stored;
use super::value::{Content, Ids, Map, Node, Relationship, Value};

/// Sets of labels that are kept.
const MOST_SETS: usize = 1024;

/// The graph as a query sees it.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) graph: PropertyGraph,
    /// Nodes and edges that the query has deleted.
    pub(crate) deleted_nodes: HashSet<u32>,
    pub(crate) deleted_edges: HashSet<EdgeNumbers>,
    /// When the query began, in UTC.
    pub(crate) now: NaiveDateTime,
    /// Sets of labels as they are stored, of which a graph has few.
    labels: Mutex<Sets>,
    recent: Mutex<Recent>,
}

/// Reads of properties after which values are kept, so that short queries need no memory for them.
const FEW_READS: usize = 64;
/// Values that are kept: those of the rows of a batch.
const MOST_VALUES: usize = 2048;
/// Most bytes of such a value.
const MOST_WEIGHT: u64 = 256;

/// Values of properties of nodes that were read last: a condition and a column often read the same.
#[derive(Debug, Default)]
struct Recent {
    reads: usize,
    /// Node and property with the value, each at a place of its own.
    values: Vec<Option<(u32, u32, Value)>>,
    /// The value that was read last, as it is stored.
    bytes: Vec<u8>,
}

impl Recent {
    fn place(v: u32, property: u32) -> usize {
        (v ^ property.rotate_right(8)) as usize % MOST_VALUES
    }

    fn find(&self, v: u32, property: u32) -> Option<Value> {
        let (node, own, value) = self.values.get(Self::place(v, property))?.as_ref()?;
        (*node == v && *own == property).then(|| value.clone())
    }

    fn keep(&mut self, v: u32, property: u32, value: &Value) {
        self.reads += 1;
        if self.reads == FEW_READS {
            self.values.resize(MOST_VALUES, None);
        }
        // Long values would take memory that the query has no account of.
        if let Some(place) = self.values.get_mut(Self::place(v, property))
            && value.weight() <= MOST_WEIGHT
        {
            *place = Some((v, property, value.clone()));
        }
    }
}

/// Sets of labels that were met.
#[derive(Debug, Default)]
struct Sets {
    known: FxHashMap<Vec<u8>, LabelSet>,
    /// The set that was read last, as it is stored.
    bytes: Vec<u8>,
}

/// The labels of a node.
pub(crate) type LabelSet = Arc<[Arc<str>]>;

impl View {
    pub(crate) fn new(graph: PropertyGraph) -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let since = since.unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
        let now =
            Utc::from_timestamp(seconds, since.subsec_nanos()).unwrap_or_default().naive_utc();
        View {
            graph,
            deleted_nodes: HashSet::new(),
            deleted_edges: HashSet::new(),
            now,
            labels: Mutex::default(),
            recent: Mutex::default(),
        }
    }

    /// The same view of the graph after another change.
    pub(crate) fn with(&self, graph: PropertyGraph) -> Self {
        View {
            graph,
            deleted_nodes: self.deleted_nodes.clone(),
            deleted_edges: self.deleted_edges.clone(),
            now: self.now,
            labels: Mutex::default(),
            recent: Mutex::default(),
        }
    }

    /// Refuses to read a deleted node.
    fn check_node(&self, v: u32) -> Result<()> {
        match self.deleted_nodes.contains(&v) {
            true => Err(deleted("node")),
            false => Ok(()),
        }
    }

    fn check_edge(&self, edge: &EdgeNumbers) -> Result<()> {
        match self.deleted_edges.contains(edge) {
            true => Err(deleted("edge")),
            false => Ok(()),
        }
    }

    /// Labels of a node.
    pub(crate) fn labels(&self, v: u32) -> Result<LabelSet> {
        self.check_node(v)?;
        let Some((number, spec)) = self.graph.property(false, LABELS) else {
            return Ok(LabelSet::default());
        };
        let mut sets = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let Sets { known, bytes } = &mut *sets;
        if !self.graph.read_encoded(v, number, bytes)? {
            return Ok(LabelSet::default());
        }
        if let Some(labels) = known.get(bytes.as_slice()) {
            return Ok(Arc::clone(labels));
        }
        let Some(Stored::List(labels)) = Stored::decode(spec.ty, bytes) else {
            return Ok(LabelSet::default());
        };
        let label = |label| match label {
            Stored::String(label) => Some(Arc::from(label)),
            _ => None,
        };
        let labels: LabelSet = labels.into_iter().filter_map(label).collect();
        if known.len() < MOST_SETS {
            known.insert(bytes.clone(), Arc::clone(&labels));
        }
        Ok(labels)
    }

    /// A property of a node; null if it has none.
    pub(crate) fn node_property(&self, v: u32, name: &str) -> Result<Value> {
        self.check_node(v)?;
        if name != LABELS
            && let Some((number, spec)) = self.graph.property(false, name)
        {
            let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(value) = recent.find(v, number) {
                return Ok(value);
            }
            if self.graph.read_encoded(v, number, &mut recent.bytes)? {
                let value = decoded(spec, &recent.bytes)?;
                recent.keep(v, number, &value);
                return Ok(value);
            }
        }
        match self.graph.property(false, &PropertySpec::any_column(name)) {
            Some((number, spec)) => match self.graph.encoded_value(v, number)? {
                Some(bytes) => decoded(spec, &bytes),
                None => Ok(Value::Null),
            },
            None => Ok(Value::Null),
        }
    }

    /// All properties of a node.
    pub(crate) fn node_properties(&self, v: u32) -> Result<Map> {
        self.check_node(v)?;
        let mut found = Found::default();
        self.graph.each_value(v, |spec, bytes| {
            if spec.name != LABELS {
                found.add(spec, bytes);
            }
            Ok(())
        })?;
        found.finish()
    }

    /// A property of an edge; null if it has none.
    pub(crate) fn edge_property(&self, edge: &EdgeNumbers, name: &str) -> Result<Value> {
        self.check_edge(edge)?;
        let value = |column: &str| -> Result<Option<Value>> {
            let Some((number, spec)) = self.graph.property(true, column) else { return Ok(None) };
            let bytes = self.graph.encoded_edge_value(edge, number)?;
            bytes.map(|bytes| decoded(spec, &bytes)).transpose()
        };
        match value(name)? {
            Some(found) => Ok(found),
            None => Ok(value(&PropertySpec::any_column(name))?.unwrap_or_default()),
        }
    }

    /// All properties of an edge.
    pub(crate) fn edge_properties(&self, edge: &EdgeNumbers) -> Result<Map> {
        self.check_edge(edge)?;
        let mut found = Found::default();
        self.graph.each_edge_value(edge, |spec, bytes| {
            found.add(spec, bytes);
            Ok(())
        })?;
        found.finish()
    }

    /// All properties of a node or an edge, also of one that the graph does not have; no others have any.
    pub(crate) fn properties(&self, of: &Value) -> Result<Map> {
        match of {
            Value::Node(node) if node.is_virtual() => Ok(node.properties().clone()),
            Value::Relationship(edge) if edge.is_virtual() => Ok(edge.properties().clone()),
            Value::Node(node) => self.node_properties(node.vertex),
            Value::Relationship(edge) => self.edge_properties(&edge.edge),
            _ => Ok(Map::new()),
        }
    }

    /// The nodes with a label.
    pub(crate) fn with_label(&self, label: &str) -> Result<Vec<u32>> {
        Ok(self.graph.numbers_of(&[(LABELS, has_label(label))])?)
    }

    /// Estimated nanoseconds of [`View::with_label`].
    pub(crate) fn label_cost(&self, label: &str) -> Result<u64> {
        Ok(self.graph.cost_of_numbers(&[(LABELS, has_label(label))])?)
    }

    /// The nodes with a value of a property, and perhaps a label. There may be others among them, with
    /// values that are nearly the same.
    pub(crate) fn seek(&self, label: Option<&str>, name: &str, value: &Value) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        self.searches(label, name, value, |wanted| {
            found.extend(self.graph.numbers_of(wanted)?);
            Ok(())
        })?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Estimated nanoseconds of [`View::seek`] without a label. Takes little of them itself.
    pub(crate) fn seek_cost(&self, name: &str, value: &Value) -> Result<u64> {
        let mut cost = 0;
        self.searches(None, name, value, |wanted| {
            cost += self.graph.cost_of_numbers(wanted)?;
            Ok(())
        })?;
        Ok(cost)
    }

    /// Hands the conditions of each search of [`View::seek`] to `f`.
    fn searches(
        &self,
        label: Option<&str>,
        name: &str,
        value: &Value,
        mut f: impl FnMut(&[(&str, Condition)]) -> Result<()>,
    ) -> Result<()> {
        let label = label.map(|label| (LABELS, has_label(label)));
        let mut search = |name: &str, condition: Condition| {
            let mut wanted: Vec<(&str, Condition)> = label.iter().cloned().collect();
            wanted.push((name, condition));
            f(&wanted)
        };
        let alike = stored::alike(value);
        if name != LABELS
            && let Some((_, spec)) = self.graph.property(false, name)
        {
            let values = alike.iter().filter_map(|value| stored::typed(value, Some(spec.ty)));
            for value in values {
                search(name, Condition::Is(value))?;
            }
        }
        let any = PropertySpec::any_column(name);
        if self.graph.property(false, &any).is_some() {
            for value in &alike {
                search(&any, Condition::Is(Stored::Bytes(stored::any_bytes(value))))?;
            }
        }
        Ok(())
    }

    /// The type of an edge, which a deleted one has as well.
    pub(crate) fn edge_type(&self, edge: &EdgeNumbers) -> &str {
        self.graph.edge_type_name(edge.edge_type)
    }

    /// The id of a node as an integer: its own, if it is one, else its internal number.
    pub(crate) fn node_id(&self, v: u32) -> Result<i64> {
        Ok(as_integer(&self.graph.id_of(v)?, v))
    }

    /// The ids by which results name a node.
    fn node_ids(&self, v: u32) -> Result<Ids> {
        let external = self.graph.id_of(v)?;
        let (id, element_id) = (as_integer(&external, v), external.to_string());
        Ok(Ids { id, element_id, external: Some(external) })
    }

    /// The id of an edge as an integer.
    pub(crate) fn edge_id(&self, edge: &EdgeNumbers) -> i64 {
        if edge.number != 0 {
            // Numbers count up from 1, so that the highest bit tells none apart.
            return (edge.number & (u64::MAX >> 1)).cast_signed();
        }
        // A mix of the numbers, which no edge with a number of its own has but by chance.
        let parts = [edge.source.into(), edge.edge_type, edge.destination.into(), edge.twin.into()];
        let mix = parts.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, part| {
            (hash ^ part).wrapping_mul(0x100_0000_01b3).rotate_left(23)
        });
        (mix >> 1).cast_signed()
    }

    /// The id of a node as text.
    pub(crate) fn node_element_id(&self, v: u32) -> Result<String> {
        Ok(self.graph.id_of(v)?.to_string())
    }

    /// The identity of an edge as text.
    pub(crate) fn edge_element_id(&self, edge: &EdgeNumbers) -> Result<String> {
        let (from, to) =
            (self.node_element_id(edge.source)?, self.node_element_id(edge.destination)?);
        let number = if edge.number == 0 { u64::from(edge.twin) } else { edge.number };
        Ok(format!("{from}-{}-{to}-{number}", self.edge_type(edge)))
    }

    /// A node with all that a result shows of it; a deleted one without labels and properties.
    fn whole_node(&self, node: &Node) -> Result<Node> {
        if node.is_virtual() {
            return Ok(node.clone());
        }
        let v = node.vertex;
        let content = match self.deleted_nodes.contains(&v) {
            true => Content::default(),
            false => Content {
                names: self.labels(v)?.to_vec(),
                properties: self.node_properties(v)?,
                ..Content::default()
            },
        };
        let content = Content { ids: self.node_ids(v)?, ..content };
        Ok(Node { vertex: v, content: Some(Arc::new(content)) })
    }

    fn whole_edge(&self, relationship: &Relationship) -> Result<Relationship> {
        if relationship.is_virtual() {
            return Ok(relationship.clone());
        }
        let edge = &*relationship.edge;
        let properties = match self.deleted_edges.contains(edge) {
            true => Map::new(),
            false => self.edge_properties(edge)?,
        };
        let ids =
            Ids { id: self.edge_id(edge), element_id: self.edge_element_id(edge)?, external: None };
        let content = Content {
            ids,
            names: vec![Arc::from(self.edge_type(edge))],
            ends: [self.node_ids(edge.source)?, self.node_ids(edge.destination)?],
            properties,
        };
        Ok(Relationship { edge: Arc::clone(&relationship.edge), content: Some(Arc::new(content)) })
    }

    /// A value of a result: with all that it shows of nodes and edges.
    pub(crate) fn whole(&self, value: Value) -> Result<Value> {
        Ok(match value {
            Value::Node(node) => Value::Node(self.whole_node(&node)?),
            Value::Relationship(edge) => Value::Relationship(self.whole_edge(&edge)?),
            Value::Path(path) => {
                let nodes = path.nodes.iter().map(|node| self.whole_node(node));
                let nodes = nodes.collect::<Result<_>>()?;
                let edges = path.edges.iter().map(|edge| self.whole_edge(edge));
                Value::Path(Arc::new(super::value::Path {
                    nodes,
                    edges: edges.collect::<Result<_>>()?,
                }))
            }
            Value::List(items) if items.iter().any(has_parts) => {
                let items = items.iter().map(|item| self.whole(item.clone()));
                Value::list(items.collect::<Result<_>>()?)
            }
            Value::Map(map) if map.values().any(has_parts) => {
                let entries = map
                    .iter()
                    .map(|(name, value)| Ok((Arc::clone(name), self.whole(value.clone())?)));
                Value::of_map(entries.collect::<Result<_>>()?)
            }
            other => other,
        })
    }
}

fn has_label(label: &str) -> Condition {
    Condition::Is(Stored::String(label.to_owned()))
}

/// An id as an integer, if it is one of 64 bits; else the number of its node.
fn as_integer(id: &ExternalId, v: u32) -> i64 {
    match id {
        ExternalId::U64(id) => i64::try_from(*id).unwrap_or(v.into()),
        ExternalId::I64(id) => *id,
        _ => v.into(),
    }
}

/// Returns true for a value that may contain nodes or edges.
fn has_parts(value: &Value) -> bool {
    matches!(
        value,
        Value::Node(_) | Value::Relationship(_) | Value::Path(_) | Value::List(_) | Value::Map(_)
    )
}

fn deleted(what: &str) -> QueryError {
    let message =
        format!("the {what} was deleted by this transaction, and has no properties and labels");
    QueryError::run(Class::EntityNotFound, "DeletedEntityAccess", message)
}

/// Properties that are read; a value in a typed column stands for one in the column for any type.
#[derive(Default)]
struct Found {
    map: Map,
    any: Vec<(Arc<str>, Vec<u8>)>,
    error: Option<QueryError>,
}

impl Found {
    fn add(&mut self, spec: &PropertySpec, bytes: &[u8]) {
        match spec.any_of() {
            Some(name) => self.any.push((Arc::from(name), bytes.to_vec())),
            None => match decoded(spec, bytes) {
                Ok(value) => {
                    self.map.insert(Arc::from(spec.name.as_str()), value);
                }
                Err(error) => self.error = Some(error),
            },
        }
    }

    fn finish(mut self) -> Result<Map> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for (name, bytes) in self.any {
            if let std::collections::btree_map::Entry::Vacant(free) = self.map.entry(name) {
                let value = stored::decode(free.key(), &bytes)?;
                free.insert(value);
            }
        }
        Ok(self.map)
    }
}

/// The value of a column.
fn decoded(spec: &PropertySpec, bytes: &[u8]) -> Result<Value> {
    match spec.any_of() {
        Some(name) => stored::decode(name, bytes),
        None => match Stored::decode(spec.ty, bytes) {
            Some(value) => Ok(stored::value_of(value)),
            None => {
                let message = format!("a value of property '{}' is no {}", spec.name, spec.ty);
                Err(QueryError::run(Class::Store, "Damage", message))
            }
        },
    }
}
