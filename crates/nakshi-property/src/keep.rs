//! The constraints of a graph, checked for what changes touch.

use std::collections::HashSet;

use nakshi_io::CancelToken;

use super::condition::Condition;
use super::graph::PropertyGraph;
use super::log::{Change, EdgeId};
use super::rule::{Rule, RuleTarget};
use super::schema::Schema;
use super::spec::{LABELS, PropertySpec};
use super::state::GraphState;
use super::value::Value;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Nodes and edges that changes touch, and constraints that are new.
#[derive(Debug, Default)]
pub(super) struct Touched {
    nodes: HashSet<ExternalId>,
    edges: HashSet<EdgeId>,
    /// Names of constraints that are new, which everything has to keep.
    declared: Vec<String>,
}

impl Touched {
    /// The nodes and edges that changes touch, of a graph that has this schema afterwards.
    pub(super) fn by(changes: &[Change], schema: &Schema) -> Self {
        let mut touched = Touched::default();
        changes.iter().for_each(|change| touched.add(change, schema));
        touched
    }

    /// Adds the nodes and edges that a change touches. A new constraint is checked for the whole graph, with those
    /// that were touched before it was declared.
    pub(super) fn add(&mut self, change: &Change, schema: &Schema) {
        if let Change::Declare { rule } = change {
            self.declared.push(rule.name.clone());
        }
        if !schema.has_constraints() {
            return;
        }
        let edge = |source: &ExternalId, edge_type: &str, destination: &ExternalId| EdgeId {
            source: source.clone(),
            edge_type: edge_type.to_owned(),
            destination: destination.clone(),
            number: 0,
        };
        match change {
            Change::AppendNode { id, .. }
            | Change::UpdateNode { id, .. }
            | Change::ChangeLabels { id, .. } => {
                self.nodes.insert(id.clone());
            }
            Change::AppendEdge { source, edge_type, destination, .. } => {
                self.edges.insert(edge(source, edge_type, destination));
            }
            Change::ChangeType { source, destination, new_type, .. } => {
                self.edges.insert(edge(source, new_type, destination));
            }
            Change::CreateEdge { edge, .. } | Change::UpdateEdge { edge, .. } => {
                self.edges.insert(edge.clone());
            }
            Change::DeleteNode { .. }
            | Change::DeleteEdge { .. }
            | Change::RemoveEdge { .. }
            | Change::SetInverse { .. }
            | Change::Declare { .. }
            | Change::Drop { .. }
            | Change::MoveBuckets { .. } => {}
        }
    }
}

/// Checks all constraints of a graph for what changes have touched.
///
/// # Errors
/// [`Error::Constraint`], which names the node or the edge; damage; [`Error::Cancelled`].
pub(super) fn keep(state: &GraphState, touched: Touched, cancel: &CancelToken) -> Result<()> {
    if !state.schema.has_constraints() {
        return Ok(());
    }
    let graph = &PropertyGraph::of(state.clone());
    let constraints = || graph.rules().iter().filter(|rule| rule.kind.is_constraint());
    for rule in constraints().filter(|rule| touched.declared.contains(&rule.name)) {
        keep_everywhere(graph, rule, cancel)?;
    }
    for id in &touched.nodes {
        cancel.check()?;
        // A later change may have deleted it.
        let Some(v) = graph.internal(id)? else { continue };
        let labels = state.labels_of(v)?;
        for rule in constraints().filter(|rule| is_of(rule, &labels)) {
            keep_of_node(graph, rule, v)?;
        }
    }
    for edge in &touched.edges {
        cancel.check()?;
        let schema = &graph.state().schema;
        let Some(ty) = schema.edge_type(&edge.edge_type) else { continue };
        // The edge that leads back has the same properties.
        let inverse = schema.inverse(ty).map(|inverse| schema.type_name(inverse));
        let concerned = |rule: &&Rule| match &rule.of {
            RuleTarget::Edges(of) => {
                of.iter().any(|of| *of == edge.edge_type || Some(of.as_str()) == inverse)
            }
            RuleTarget::Nodes(_) => false,
        };
        for rule in constraints().filter(concerned) {
            keep_of_edge(graph, rule, edge)?;
        }
    }
    Ok(())
}

/// Returns true if a constraint is about nodes with these labels.
fn is_of(rule: &Rule, labels: &[String]) -> bool {
    match &rule.of {
        RuleTarget::Nodes(of) => of.iter().any(|label| labels.contains(label)),
        RuleTarget::Edges(_) => false,
    }
}

/// The columns that can have a property: the typed one, and the one for values of any type.
fn columns(property: &str) -> [String; 2] {
    [property.to_owned(), PropertySpec::any_column(property)]
}

/// Checks a constraint for all that it is about.
fn keep_everywhere(graph: &PropertyGraph, rule: &Rule, cancel: &CancelToken) -> Result<()> {
    match &rule.of {
        RuleTarget::Nodes(labels) => {
            for label in labels {
                let label = Condition::Is(Value::String(label.clone()));
                for v in graph.numbers_of(&[(LABELS, label)])? {
                    cancel.check()?;
                    keep_of_node(graph, rule, v)?;
                }
            }
        }
        RuleTarget::Edges(types) => {
            let numbers = types.iter().filter_map(|name| graph.edge_type_number(name));
            for ty in numbers {
                for property in &rule.properties {
                    let known = columns(property).map(|name| graph.property(true, &name));
                    let known: Vec<u32> =
                        known.iter().flatten().map(|(number, _)| *number).collect();
                    if graph.any_edge_lacks(ty, &known)? {
                        return Err(broken(rule, &format!("an edge has no '{property}'")));
                    }
                }
            }
        }
    }
    Ok(())
}

fn keep_of_node(graph: &PropertyGraph, rule: &Rule, v: VertexId) -> Result<()> {
    let mut wanted: Vec<(String, Condition)> = Vec::with_capacity(rule.properties.len() + 1);
    for property in &rule.properties {
        let mut value = None;
        for column in columns(property) {
            let Some((number, spec)) = graph.property(false, &column) else { continue };
            let bytes = graph.encoded_value(v, number)?;
            value = bytes.and_then(|bytes| Value::decode(spec.ty, &bytes));
            if let Some(value) = &value {
                wanted.push((column, Condition::Is(value.clone())));
                break;
            }
        }
        match value {
            Some(_) => {}
            None if rule.kind.requires() => {
                let id = graph.id_of(v)?;
                return Err(broken(rule, &format!("node {id} has no '{property}'")));
            }
            None => return Ok(()),
        }
    }
    if !rule.kind.is_unique() {
        return Ok(());
    }
    let labels = rule.of.names().iter().map(|label| Value::String(label.clone()));
    wanted.extend(labels.map(|label| (LABELS.to_owned(), Condition::Is(label))));
    let found = graph.numbers_of(&Condition::borrowed(&wanted))?;
    match found.iter().find(|other| **other != v) {
        None => Ok(()),
        Some(other) => {
            let (id, other) = (graph.id_of(v)?, graph.id_of(*other)?);
            let values = rule.properties.iter().zip(&wanted).map(|(name, (_, is))| match is {
                Condition::Is(value) => format!("{name} = {value}"),
                _ => name.clone(),
            });
            let values = values.collect::<Vec<_>>().join(", ");
            Err(broken(rule, &format!("nodes {other} and {id} both have {values}")))
        }
    }
}

fn keep_of_edge(graph: &PropertyGraph, rule: &Rule, edge: &EdgeId) -> Result<()> {
    // A later change may have deleted it.
    let ends = graph.internal(&edge.source)?.zip(graph.internal(&edge.destination)?);
    let Some(((source, end), ty)) = ends.zip(graph.edge_type_number(&edge.edge_type)) else {
        return Ok(());
    };
    let found = graph.edges_between(source, Some(&[ty]), end)?;
    for one in found.iter().filter(|one| one.number == edge.number) {
        for property in &rule.properties {
            let mut there = false;
            for column in columns(property) {
                if let Some((number, _)) = graph.property(true, &column) {
                    there |= graph.encoded_edge_value(one, number)?.is_some();
                }
            }
            if !there {
                return Err(broken(rule, &format!("the edge {edge} has no '{property}'")));
            }
        }
    }
    Ok(())
}

fn broken(rule: &Rule, what: &str) -> Error {
    Error::Constraint(format!("{what}, which breaks the constraint {rule}"))
}
