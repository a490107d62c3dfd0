//! Changes of the graph by a query.

use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_property::{
    Change, EdgeNumbers, EdgePlace, LABELS, PropertyGraph, PropertySpec, Transaction,
    Value as Stored,
};
use nakshi_store::ExternalId;

use super::limits::Held;
use crate::error::{Class, QueryError, Result};
use crate::ir::SchemaChange;
use crate::stored;
use crate::value::{Map, Value};
use crate::view::View;

/// Counts of the changes of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Nodes that were created.
    pub nodes_created: u64,
    /// Nodes that were deleted.
    pub nodes_deleted: u64,
    /// Edges that were created.
    pub relationships_created: u64,
    /// Edges that were deleted.
    pub relationships_deleted: u64,
    /// Properties that were set or removed.
    pub properties_set: u64,
    /// Labels that nodes got.
    pub labels_added: u64,
    /// Labels that nodes lost.
    pub labels_removed: u64,
    /// Constraints that were declared.
    pub constraints_added: u64,
    /// Constraints that were dropped.
    pub constraints_removed: u64,
    /// Indexes that were declared.
    pub indexes_added: u64,
    /// Indexes that were dropped.
    pub indexes_removed: u64,
}

impl Counters {
    /// Returns true if anything was changed.
    pub fn changed(&self) -> bool {
        *self != Counters::default()
    }

    /// All counts, by their names.
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("nodes_created", self.nodes_created),
            ("nodes_deleted", self.nodes_deleted),
            ("relationships_created", self.relationships_created),
            ("relationships_deleted", self.relationships_deleted),
            ("properties_set", self.properties_set),
            ("labels_added", self.labels_added),
            ("labels_removed", self.labels_removed),
            ("constraints_added", self.constraints_added),
            ("constraints_removed", self.constraints_removed),
            ("indexes_added", self.indexes_added),
            ("indexes_removed", self.indexes_removed),
        ]
    }
}

/// Makes changes in a transaction, and keeps the view up to date.
pub(crate) struct Writer {
    pub(crate) transaction: Transaction,
    pub(crate) counters: Counters,
    /// The next id of a new node, if it is free.
    next_id: Option<u64>,
    /// The memory of the changes.
    held: Held,
}

/// A node or an edge whose properties change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entity<'e> {
    Node(u32),
    Edge(&'e EdgeNumbers),
}

impl Writer {
    /// A writer in a transaction, whose changes count as memory that is held.
    pub(crate) fn new(transaction: Transaction, held: Held) -> Self {
        Writer { transaction, counters: Counters::default(), next_id: None, held }
    }

    fn apply(&mut self, view: &mut Arc<View>, change: Change) -> Result<()> {
        // While the view holds the graph, a change copies what it touches.
        Self::show(view, self.transaction.earlier().clone());
        let made = self.transaction.apply(change);
        Self::show(view, self.transaction.graph().clone());
        made?;
        self.held.free();
        self.held.take(self.transaction.weight())
    }

    fn show(view: &mut Arc<View>, graph: PropertyGraph) {
        match Arc::get_mut(view) {
            Some(view) => view.graph = graph,
            None => *view = Arc::new(view.with(graph)),
        }
    }

    /// Commits, and goes on in another transaction on the state after that.
    pub(super) fn commit(&mut self, view: &mut Arc<View>, cancel: &CancelToken) -> Result<()> {
        self.replace(view, |transaction| Ok(transaction.commit_until(cancel).map(|_| ())?))
    }

    /// Undoes all that the transaction has done, and goes on in another one.
    pub(super) fn begin_anew(&mut self, view: &mut Arc<View>) -> Result<()> {
        self.replace(view, |transaction| Ok(transaction.roll_back()?))
    }

    /// Ends the transaction, and begins another one.
    fn replace(
        &mut self,
        view: &mut Arc<View>,
        end: impl FnOnce(Transaction) -> Result<()>,
    ) -> Result<()> {
        let store = Arc::clone(self.transaction.store());
        // Something has to be in its place while it ends.
        let ended = std::mem::replace(&mut self.transaction, store.transaction()?);
        let done = end(ended);
        let between = std::mem::replace(&mut self.transaction, store.transaction()?);
        between.roll_back()?;
        self.next_id = None;
        self.held.free();
        *view = Arc::new(view.with(self.transaction.graph().clone()));
        done
    }

    /// An id that no node has.
    fn new_id(&mut self, view: &View) -> Result<ExternalId> {
        let mut next = self.next_id.unwrap_or_else(|| view.graph.num_numbered());
        loop {
            let id = ExternalId::U64(next);
            next += 1;
            if !view.graph.has_node(&id)? {
                self.next_id = Some(next);
                return Ok(id);
            }
        }
    }

    /// The columns and values of some properties.
    fn columns(view: &View, of_nodes: bool, properties: &Map) -> Result<Vec<(String, Stored)>> {
        let mut found = Vec::with_capacity(properties.len());
        for (name, value) in properties {
            Self::column(view, of_nodes, name, value, &mut found)?;
        }
        Ok(found)
    }

    fn column(
        view: &View,
        of_nodes: bool,
        name: &str,
        value: &Value,
        found: &mut Vec<(String, Stored)>,
    ) -> Result<()> {
        let spec = view.graph.property(!of_nodes, name).map(|(_, spec)| spec);
        let any = view.graph.property(!of_nodes, &PropertySpec::any_column(name));
        stored::columns(name, value, spec, any.is_some(), of_nodes, found)
    }

    /// Declares or drops a constraint or an index.
    pub(super) fn change_schema(
        &mut self,
        view: &mut Arc<View>,
        change: &SchemaChange,
    ) -> Result<()> {
        let rules = view.graph.rules();
        match change {
            SchemaChange::Declare { rule, if_new } => {
                let known = rules.iter().find(|one| one.name == rule.name || one.is_like(rule));
                match known {
                    Some(_) if *if_new => return Ok(()),
                    Some(known) => {
                        let message = format!("{known} is declared already; add IF NOT EXISTS");
                        return Err(QueryError::run(Class::RuleExists, "Declare", message));
                    }
                    None => {}
                }
                match rule.kind.is_constraint() {
                    true => self.counters.constraints_added += 1,
                    false => self.counters.indexes_added += 1,
                }
                self.apply(view, Change::Declare { rule: rule.clone() })
            }
            SchemaChange::Drop { name, constraint, if_there } => {
                let what = if *constraint { "constraint" } else { "index" };
                let refuse = |message| Err(QueryError::run(Class::RuleNotFound, "Drop", message));
                match rules.iter().find(|rule| rule.name == *name) {
                    None if *if_there => return Ok(()),
                    None => {
                        let message = format!("there is no {what} '{name}'; add IF EXISTS");
                        return refuse(message);
                    }
                    Some(known) if known.kind.is_constraint() != *constraint => {
                        return refuse(format!("'{name}' is no {what}, it is {known}"));
                    }
                    Some(_) => {}
                }
                match constraint {
                    true => self.counters.constraints_removed += 1,
                    false => self.counters.indexes_removed += 1,
                }
                self.apply(view, Change::Drop { name: name.clone() })
            }
        }
    }

    /// Creates a node.
    pub(super) fn create_node(
        &mut self,
        view: &mut Arc<View>,
        labels: &[Arc<str>],
        properties: &Map,
    ) -> Result<u32> {
        let id = self.new_id(view)?;
        let mut columns = Self::columns(view, true, properties)?;
        let mut names: Vec<Stored> = Vec::new();
        for label in labels {
            let label = Stored::String(label.to_string());
            if !names.contains(&label) {
                names.push(label);
            }
        }
        self.counters.nodes_created += 1;
        self.counters.labels_added += names.len() as u64;
        self.counters.properties_set +=
            properties.values().filter(|value| !value.is_null()).count() as u64;
        if !names.is_empty() {
            columns.push((LABELS.to_owned(), Stored::List(names)));
        }
        self.apply(view, Change::AppendNode { id: id.clone(), properties: columns })?;
        let v = view.graph.vertex(&id)?;
        v.ok_or_else(|| {
            QueryError::run(Class::Store, "Store", "a node that was created is not there")
        })
    }

    /// Creates an edge.
    pub(super) fn create_edge(
        &mut self,
        view: &mut Arc<View>,
        (source, edge_type, destination): (u32, &str, u32),
        properties: &Map,
    ) -> Result<EdgeNumbers> {
        for v in [source, destination] {
            if view.deleted_nodes.contains(&v) {
                let message = "an edge needs both its nodes, and one of them was deleted";
                return Err(QueryError::run(Class::EntityNotFound, "DeletedEntityAccess", message));
            }
        }
        let number = self.transaction.store().new_edge_number();
        let edge = nakshi_property::EdgeId {
            source: view.graph.id_of(source)?,
            edge_type: edge_type.to_owned(),
            destination: view.graph.id_of(destination)?,
            number,
        };
        let columns = Self::columns(view, false, properties)?;
        self.counters.relationships_created += 1;
        self.counters.properties_set +=
            properties.values().filter(|value| !value.is_null()).count() as u64;
        let timestamp = view.now.and_utc().timestamp_millis();
        self.apply(view, Change::CreateEdge { edge, timestamp, properties: columns })?;
        let edge_type = view.graph.edge_type_number(edge_type).unwrap_or(u64::MAX);
        Ok(EdgeNumbers {
            source,
            edge_type,
            destination,
            number,
            twin: 0,
            place: EdgePlace::default(),
        })
    }

    /// Deletes an edge.
    pub(super) fn delete_edge(&mut self, view: &mut Arc<View>, edge: &EdgeNumbers) -> Result<()> {
        if view.deleted_edges.contains(edge) {
            return Ok(());
        }
        self.apply(view, Change::RemoveEdge { edge: view.graph.edge_identity(edge)? })?;
        self.counters.relationships_deleted += 1;
        if let Some(view) = Arc::get_mut(view) {
            view.deleted_edges.insert(*edge);
        }
        Ok(())
    }

    /// Deletes a node, and its edges.
    pub(super) fn delete_node(&mut self, view: &mut Arc<View>, v: u32) -> Result<()> {
        if view.deleted_nodes.contains(&v) {
            return Ok(());
        }
        self.apply(view, Change::DeleteNode { id: view.graph.id_of(v)? })?;
        self.counters.nodes_deleted += 1;
        if let Some(view) = Arc::get_mut(view) {
            view.deleted_nodes.insert(v);
        }
        Ok(())
    }

    /// Changes properties of a node or an edge; null removes one. Without `merge`, the others are removed.
    pub(super) fn set(
        &mut self,
        view: &mut Arc<View>,
        entity: Entity<'_>,
        properties: &Map,
        merge: bool,
    ) -> Result<()> {
        let of_nodes = matches!(entity, Entity::Node(_));
        let before = match entity {
            Entity::Node(v) => view.node_properties(v)?,
            Entity::Edge(edge) => view.edge_properties(edge)?,
        };
        let mut wanted = properties.clone();
        if !merge {
            for name in before.keys() {
                wanted.entry(Arc::clone(name)).or_insert(Value::Null);
            }
        }
        wanted.retain(|name, value| !value.is_null() || before.contains_key(name));
        if wanted.is_empty() {
            return Ok(());
        }
        self.counters.properties_set += wanted.len() as u64;
        let properties = Self::columns(view, of_nodes, &wanted)?;
        let change = match entity {
            Entity::Node(v) => {
                Change::UpdateNode { id: view.graph.id_of(v)?, properties, merge: true }
            }
            Entity::Edge(edge) => {
                let edge = view.graph.edge_identity(edge)?;
                Change::UpdateEdge { edge, properties, merge: true }
            }
        };
        self.apply(view, change)
    }

    /// Adds labels to a node, and removes others.
    pub(super) fn change_labels(
        &mut self,
        view: &mut Arc<View>,
        v: u32,
        add: &[Arc<str>],
        remove: &[Arc<str>],
    ) -> Result<()> {
        let own = view.labels(v)?;
        let text = |label: &Arc<str>| label.to_string();
        let mut add: Vec<String> =
            add.iter().filter(|label| !own.contains(label)).map(text).collect();
        let mut remove: Vec<String> =
            remove.iter().filter(|label| own.contains(label)).map(text).collect();
        for names in [&mut add, &mut remove] {
            names.sort();
            names.dedup();
        }
        if add.is_empty() && remove.is_empty() {
            return Ok(());
        }
        self.counters.labels_added += add.len() as u64;
        self.counters.labels_removed += remove.len() as u64;
        self.apply(view, Change::ChangeLabels { id: view.graph.id_of(v)?, add, remove })
    }
}
