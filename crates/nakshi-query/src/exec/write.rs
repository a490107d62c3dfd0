//! Clauses that change the graph. Each takes all its rows before it makes its first change, so that no
//! clause before it sees what it has done.

use std::collections::HashSet;
use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::change::{Entity, Writer};
use super::context::{Context, Made, Source, Whole, run_out};
use super::expand::{edges_at, node_in};
use super::nested::all_rows;
use super::rows::path_of;
use crate::error::{Class, QueryError, Result};
use crate::eval::{eval, given_names, properties, set};
use crate::ir::{Direction, EdgePattern, Expr, Labels, NodePattern, PathPattern, SetItem, Slot};
use crate::plan::Plan;
use crate::value::{Map, Node, Relationship, Row, Value};
use crate::view::View;

/// A clause that changes the graph.
pub(super) struct Write {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) done: Made,
}

impl Source for Write {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        self.done.next(most, || write(&self.plan, all_rows(&mut *self.input, cx)?, cx))
    }
}

/// Changes the graph as a clause says for some rows; returns those behind it.
fn write(plan: &Plan, (mut rows, held): Whole, cx: &mut Context) -> Result<Whole> {
    match plan {
        Plan::Create { paths, .. } => {
            for row in &mut rows {
                cx.limits.step()?;
                create(cx, paths, row)?;
            }
        }
        Plan::Set { items, .. } => {
            for row in &mut rows {
                cx.limits.step()?;
                set_items(cx, items, row)?;
            }
        }
        Plan::Delete { detach, targets, .. } => delete(cx, *detach, targets, &mut rows)?,
        Plan::Merge { .. } => return merge_all(cx, plan, (rows, held)),
        Plan::Foreach { slot, list, body, .. } => {
            for row in &mut rows {
                foreach(cx, (*slot, list), body, row)?;
            }
        }
        Plan::Schema { change, .. } => {
            let (writer, view) = writing(cx)?;
            writer.change_schema(view, change)?;
        }
        _ => {}
    }
    Ok((rows, held))
}

/// The writer of a query, and the view that it keeps up to date.
pub(super) fn writing(cx: &mut Context) -> Result<(&mut Writer, &mut Arc<View>)> {
    match &mut cx.writer {
        Some(writer) => Ok((writer, &mut cx.view)),
        None => {
            let message = "the query changes the graph, and it was begun to read only";
            Err(QueryError::run(Class::Semantic, "ReadOnly", message))
        }
    }
}

fn foreach(
    cx: &mut Context,
    (slot, list): (Slot, &Expr),
    body: &Arc<Plan>,
    row: &mut Row,
) -> Result<()> {
    let items = match eval(&*cx, list, row)? {
        Value::Null => return Ok(()),
        Value::List(items) => items,
        other => {
            return Err(QueryError::of_type(format!("FOREACH needs a list, and {other} is none")));
        }
    };
    for item in items.iter() {
        cx.limits.step()?;
        set(row, slot, item.clone());
        let mut source = (cx.open)(body, row);
        run_out(&mut *source, cx)?;
    }
    Ok(())
}

/// The properties of a pattern.
fn pattern_properties(cx: &Context, pattern: Option<&Expr>, row: &mut Row) -> Result<Map> {
    match pattern.map(|pattern| eval(cx, pattern, row)).transpose()? {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Map(map)) => Ok(Map::clone(&map)),
        Some(other) => Err(QueryError::of_type(format!("{other} is no map of properties"))),
    }
}

/// Creates the nodes and edges of patterns that a row does not have yet.
fn create(cx: &mut Context, paths: &[PathPattern], row: &mut Row) -> Result<()> {
    let mut made = HashSet::new();
    for path in paths {
        for node in &path.nodes {
            if !node.bound && made.insert(node.slot) {
                create_node(cx, node, row)?;
            }
        }
        let ends = path.nodes.windows(2).zip(&path.edges);
        for (ends, edge) in ends {
            let [left, right] = ends else { continue };
            create_edge(cx, (left.slot, edge, right.slot), row)?;
        }
        if let Some(slot) = path.path {
            let nodes: Vec<Slot> = path.nodes.iter().map(|node| node.slot).collect();
            let edges: Vec<Slot> = path.edges.iter().map(|edge| edge.slot).collect();
            let value = path_of(row, &nodes, &edges);
            set(row, slot, value);
        }
    }
    Ok(())
}

fn create_node(cx: &mut Context, node: &NodePattern, row: &mut Row) -> Result<()> {
    let properties = pattern_properties(cx, node.properties.as_ref(), row)?;
    let labels = match &node.labels {
        Some(labels) => given_names(&*cx, labels, row)?,
        None => Vec::new(),
    };
    let (writer, view) = writing(cx)?;
    let v = writer.create_node(view, &labels, &properties)?;
    set(row, node.slot, Value::Node(Node::of(v)));
    Ok(())
}

fn create_edge(
    cx: &mut Context,
    (left, edge, right): (Slot, &EdgePattern, Slot),
    row: &mut Row,
) -> Result<()> {
    let properties = pattern_properties(cx, edge.properties.as_ref(), row)?;
    let (Some(left), Some(right)) = (node_in(row, left)?, node_in(row, right)?) else {
        let message = "an edge needs two nodes, and one of them is null";
        return Err(QueryError::run(Class::Semantic, "DeletedEntityAccess", message));
    };
    let (source, end) = if edge.direction == Direction::In { (right, left) } else { (left, right) };
    let name = match (&edge.labels, edge.types.first()) {
        (Some(labels), _) => match given_names(&*cx, labels, row)?.as_slice() {
            [one] => Arc::clone(one),
            names => {
                let message = format!("an edge has one type, and not {}", names.len());
                return Err(QueryError::of_type(message));
            }
        },
        (None, found) => found.cloned().unwrap_or_default(),
    };
    let (writer, view) = writing(cx)?;
    let made = writer.create_edge(view, (source, &name, end), &properties)?;
    set(row, edge.slot, Value::Relationship(Relationship::of(made)));
    Ok(())
}

fn merge_all(cx: &mut Context, plan: &Plan, (rows, mut held): Whole) -> Result<Whole> {
    let Plan::Merge { inner, path, on_create, on_match, .. } = plan else {
        return Ok((rows, held));
    };
    let mut out = Vec::with_capacity(rows.len());
    for mut row in rows {
        cx.limits.step()?;
        refuse_null(cx, path, &mut row)?;
        let mut source = (cx.open)(inner, &row);
        let (mut found, more) = all_rows(&mut *source, cx)?;
        held.take_over(more);
        if found.is_empty() {
            create(cx, std::slice::from_ref(path), &mut row)?;
            set_items(cx, on_create, &mut row)?;
            out.push(row);
            continue;
        }
        for row in &mut found {
            set_items(cx, on_match, row)?;
        }
        out.extend(found);
    }
    Ok((out, held))
}

/// Refuses to merge with a property that is null, since no node has such a property.
fn refuse_null(cx: &Context, path: &PathPattern, row: &mut Row) -> Result<()> {
    let of_nodes = path.nodes.iter().map(|node| node.properties.as_ref());
    let of_edges = path.edges.iter().map(|edge| edge.properties.as_ref());
    for pattern in of_nodes.chain(of_edges).flatten() {
        let found = pattern_properties(cx, Some(pattern), row)?;
        if let Some((name, _)) = found.iter().find(|(_, value)| value.is_null()) {
            let message =
                format!("MERGE cannot look for property '{name}', because its value is null");
            return Err(QueryError::run(Class::Semantic, "MergeReadOwnWrites", message));
        }
    }
    Ok(())
}

fn set_items(cx: &mut Context, items: &[SetItem], row: &mut Row) -> Result<()> {
    for item in items {
        match item {
            SetItem::Property { of, name, value } => {
                let of = eval(&*cx, of, row)?;
                let value = eval(&*cx, value, row)?;
                set_properties(cx, &of, &Map::from([(Arc::clone(name), value)]), true)?;
            }
            SetItem::DynamicProperty { of, name, value } => {
                let of = eval(&*cx, of, row)?;
                let value = eval(&*cx, value, row)?;
                let Value::String(name) = eval(&*cx, name, row)? else {
                    return Err(QueryError::of_type("the name of a property is text"));
                };
                set_properties(cx, &of, &Map::from([(name, value)]), true)?;
            }
            SetItem::RemoveProperty { of, name } => {
                let of = eval(&*cx, of, row)?;
                set_properties(cx, &of, &Map::from([(Arc::clone(name), Value::Null)]), true)?;
            }
            SetItem::All { slot, value, merge } => {
                let of = row.get(*slot).cloned().unwrap_or_default();
                let value = eval(&*cx, value, row)?;
                if !of.is_null() {
                    let map = properties(&cx.view, &value)?;
                    set_properties(cx, &of, &map, *merge)?;
                }
            }
            SetItem::AddLabels { slot, labels } => change_labels(cx, row, *slot, labels, true)?,
            SetItem::RemoveLabels { slot, labels } => change_labels(cx, row, *slot, labels, false)?,
        }
    }
    Ok(())
}

fn set_properties(cx: &mut Context, of: &Value, map: &Map, merge: bool) -> Result<()> {
    let entity = match of {
        Value::Null => return Ok(()),
        Value::Node(node) => Entity::Node(node.vertex),
        Value::Relationship(edge) => Entity::Edge(&edge.edge),
        other => {
            let message =
                format!("properties of a value of type {} cannot be set", other.type_name());
            return Err(QueryError::of_type(message));
        }
    };
    let (writer, view) = writing(cx)?;
    writer.set(view, entity, map, merge)
}

fn change_labels(
    cx: &mut Context,
    row: &mut Row,
    slot: Slot,
    labels: &Labels,
    adds: bool,
) -> Result<()> {
    let Some(v) = node_in(row, slot)? else { return Ok(()) };
    let names = given_names(&*cx, labels, row)?;
    let (add, remove) = if adds { (&names[..], &[][..]) } else { (&[][..], &names[..]) };
    let (writer, view) = writing(cx)?;
    writer.change_labels(view, v, add, remove)
}

/// Deletes what the expressions of all rows give: edges first, then nodes, which must not have others.
fn delete(cx: &mut Context, detach: bool, targets: &[Expr], rows: &mut [Row]) -> Result<()> {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for row in rows {
        for target in targets {
            cx.limits.step()?;
            let value = eval(&*cx, target, row)?;
            add_deleted(&value, &mut nodes, &mut edges)?;
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    let (writer, view) = writing(cx)?;
    for edge in &edges {
        writer.delete_edge(view, edge)?;
    }
    let mut left = Vec::new();
    for v in &nodes {
        if !view.deleted_nodes.contains(v) {
            left.extend(edges_at(view, *v, Direction::Both, None)?);
        }
    }
    if !detach && !left.is_empty() {
        let message =
            "a node that has edges cannot be deleted; delete them first, or use DETACH DELETE";
        return Err(QueryError::run(
            Class::ConstraintVerificationFailed,
            "DeleteConnectedNode",
            message,
        ));
    }
    for edge in &left {
        writer.delete_edge(view, edge)?;
    }
    for v in nodes {
        writer.delete_node(view, v)?;
    }
    Ok(())
}

fn add_deleted(value: &Value, nodes: &mut Vec<u32>, edges: &mut Vec<EdgeNumbers>) -> Result<()> {
    match value {
        Value::Null => Ok(()),
        Value::Node(node) => {
            nodes.push(node.vertex);
            Ok(())
        }
        Value::Relationship(edge) => {
            edges.push(*edge.edge);
            Ok(())
        }
        Value::Path(path) => {
            nodes.extend(path.nodes.iter().map(|node| node.vertex));
            edges.extend(path.edges.iter().map(|edge| *edge.edge));
            Ok(())
        }
        other => {
            let message = format!("a value of type {} cannot be deleted", other.type_name());
            Err(QueryError::of_type(message))
        }
    }
}
