//! A look at a part of a graph: the properties that nodes and edges have, by labels and by types.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use nakshi_property::Catalog;

use super::error::{Class, QueryError, Result};
use super::procedure::Caller;
use super::value::{Map, Value};
use super::view::View;

/// Nodes that are looked at, evenly spaced among all; fewer than twice as many are all looked at.
const NODES: u64 = 10_000;
/// Nodes of each label that are looked at, if there are so many.
const OF_LABEL: u64 = 100;
/// Edges of a type that are looked at at a node.
const OF_NODE: u64 = 100;
/// Edges of a type that are looked at.
const OF_TYPE: u64 = 20_000;
/// Nodes between two looks at the clock.
const PATIENCE: usize = 64;

/// Type of the values of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    /// Name of the type of one value, as Neo4j has it.
    name: &'static str,
    /// True for lists of such values.
    pub(crate) is_list: bool,
}

impl Kind {
    /// The kind of a value; `None` for null, and for an empty list, which has any type.
    fn of(value: &Value) -> Option<Self> {
        let name = match value {
            Value::List(items) => {
                return Some(Kind { is_list: true, ..Kind::of(items.first()?)? });
            }
            Value::Bytes(_) => return Some(Kind { name: "Byte", is_list: true }),
            Value::Bool(_) => "Boolean",
            Value::Int(_) => "Long",
            Value::Float(_) => "Double",
            Value::String(_) => "String",
            Value::Date(_) => "Date",
            Value::LocalTime(_) => "LocalTime",
            Value::Time(_) => "Time",
            Value::LocalDateTime(_) => "LocalDateTime",
            Value::DateTime(_) => "DateTime",
            Value::Duration(_) => "Duration",
            Value::Point(_) => "Point",
            Value::Null
            | Value::Map(_)
            | Value::Node(_)
            | Value::Relationship(_)
            | Value::Path(_) => return None,
        };
        Some(Kind { name, is_list: false })
    }

    /// The name of the type, as the procedures of Neo4j have it.
    pub(crate) fn name(self) -> String {
        format!("{}{}", self.name, if self.is_list { "Array" } else { "" })
    }

    /// The name of the type, as the procedures of APOC have it.
    pub(crate) fn apoc_name(self) -> &'static str {
        match self.name {
            _ if self.is_list => "LIST",
            "Boolean" => "BOOLEAN",
            "Long" => "INTEGER",
            "Double" => "FLOAT",
            "Date" => "DATE",
            "LocalTime" => "LOCAL_TIME",
            "Time" => "TIME",
            "LocalDateTime" => "LOCAL_DATE_TIME",
            "DateTime" => "DATE_TIME",
            "Duration" => "DURATION",
            "Point" => "POINT",
            _ => "STRING",
        }
    }
}

/// The kinds of the values of a property.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    /// Values that were met.
    pub(crate) met: u64,
    /// How many of them were of each kind.
    kinds: BTreeMap<Kind, u64>,
}

impl Kinds {
    fn add(&mut self, other: &Kinds) {
        self.met += other.met;
        other.kinds.iter().for_each(|(kind, met)| *self.kinds.entry(*kind).or_insert(0) += met);
    }

    /// The kinds, of which there is at least one: empty lists alone are lists of texts, as in Neo4j.
    pub(crate) fn all(&self) -> Vec<Kind> {
        match self.kinds.is_empty() {
            true => vec![Kind { name: "String", is_list: true }],
            false => self.kinds.keys().copied().collect(),
        }
    }

    /// The kind of most values.
    pub(crate) fn most_frequent(&self) -> Kind {
        let most = self.kinds.iter().max_by_key(|(_, met)| **met).map(|(kind, _)| *kind);
        most.unwrap_or(Kind { name: "String", is_list: true })
    }
}

/// Nodes or edges that were met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Number of them.
    pub(crate) met: u64,
    /// Their properties, by name.
    pub(crate) properties: BTreeMap<Arc<str>, Kinds>,
}

impl Seen {
    fn meet(&mut self, properties: Map) {
        self.met += 1;
        for (name, value) in properties {
            let kinds = self.properties.entry(name).or_default();
            kinds.met += 1;
            if let Some(kind) = Kind::of(&value) {
                *kinds.kinds.entry(kind).or_insert(0) += 1;
            }
        }
    }
}

/// Nodes and edges of a part of a graph.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Nodes by their labels, which are sorted.
    pub(crate) nodes: BTreeMap<Vec<Arc<str>>, Seen>,
    /// Edges by their types.
    pub(crate) edges: BTreeMap<Arc<str>, Seen>,
}

impl Survey {
    /// Looks at nodes that are evenly spaced among all, at some of each label, and at their outgoing edges.
    ///
    /// # Errors
    /// A query that has to end; damage.
    pub(crate) fn of(caller: &Caller<'_>, catalog: &Catalog) -> Result<Self> {
        let mut looking = Looking {
            caller,
            view: View::new(caller.graph.clone()),
            met: HashSet::new(),
            found: Survey::default(),
        };
        looking.nodes()?;
        for label in &catalog.labels {
            let has = |labels: &[Arc<str>]| labels.iter().any(|one| **one == *label.label);
            let met = looking.found.nodes.iter().filter(|(labels, _)| has(labels));
            if met.map(|(_, seen)| seen.met).sum::<u64>() < OF_LABEL.min(label.nodes) {
                looking.label(&label.label)?;
            }
        }
        Ok(looking.found)
    }

    /// The properties of the nodes with a label.
    pub(crate) fn of_label(&self, label: &str) -> BTreeMap<Arc<str>, Kinds> {
        let mut found = BTreeMap::<Arc<str>, Kinds>::new();
        let of_label = |(labels, _): &(&Vec<Arc<str>>, _)| labels.iter().any(|one| **one == *label);
        for (_, seen) in self.nodes.iter().filter(of_label) {
            for (name, kinds) in &seen.properties {
                found.entry(Arc::clone(name)).or_default().add(kinds);
            }
        }
        found
    }
}

/// A survey under way.
struct Looking<'c> {
    caller: &'c Caller<'c>,
    view: View,
    met: HashSet<u32>,
    found: Survey,
}

impl Looking<'_> {
    /// Looks at nodes that are evenly spaced among all.
    fn nodes(&mut self) -> Result<()> {
        let step = (self.caller.graph.num_nodes() / NODES).max(1);
        let most = if step == 1 { PATIENCE } else { 1 };
        let mut at = Some(0);
        while let Some(from) = at {
            let (found, next) = self.caller.graph.numbers_from(from, most);
            at = next.map(|next| next + step - 1);
            found.into_iter().try_for_each(|v| self.node(v))?;
        }
        Ok(())
    }

    /// Looks at some nodes with a label.
    fn label(&mut self, label: &str) -> Result<()> {
        let found = self.view.with_label(label)?;
        let most = usize::try_from(OF_LABEL).unwrap_or(usize::MAX);
        found.into_iter().take(most).try_for_each(|v| self.node(v))
    }

    fn node(&mut self, v: u32) -> Result<()> {
        if !self.met.insert(v) {
            return Ok(());
        }
        if self.met.len().is_multiple_of(PATIENCE) {
            self.check()?;
        }
        let mut labels = self.view.labels(v)?.to_vec();
        labels.sort();
        labels.dedup();
        let properties = self.view.node_properties(v)?;
        self.found.nodes.entry(labels).or_default().meet(properties);
        for edge in self.caller.graph.first_edges_from(v, OF_NODE)? {
            let of_type = self.view.edge_type(&edge);
            match self.found.edges.get_mut(of_type) {
                Some(seen) if seen.met >= OF_TYPE => {}
                Some(seen) => seen.meet(self.view.edge_properties(&edge)?),
                None => {
                    let mut seen = Seen::default();
                    seen.meet(self.view.edge_properties(&edge)?);
                    self.found.edges.insert(Arc::from(of_type), seen);
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.caller.cancel.check().map_err(nakshi_store::Error::from)?;
        if self.caller.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let what = "the query has run past its deadline; give it more time";
            return Err(QueryError::run(Class::Deadline, "Deadline", what));
        }
        Ok(())
    }
}
