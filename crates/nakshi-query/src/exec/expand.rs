//! Nodes of scans and seeks, and edges of nodes.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::context::{Context, Input, Source};
use crate::error::{QueryError, Result};
use crate::eval::{eval, set, truth};
use crate::ir::{Direction, EdgePattern, Expr};
use crate::plan::{Expand, NodeSource, Plan};
use crate::value::{Node, Row, Value};
use crate::view::View;

/// Numbers of nodes that a scan reads at once.
const CHUNK: usize = 1024;

/// The rows that come of one row.
pub(super) trait Feed: Send {
    /// The next row.
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>>;
}

/// An operator that makes several rows, or none, of each.
pub(super) struct FlatMap<F> {
    input: Input,
    open: F,
    feed: Option<Box<dyn Feed>>,
}

impl<F> FlatMap<F>
where
    F: FnMut(&mut Context, Row) -> Result<Option<Box<dyn Feed>>> + Send,
{
    pub(super) fn new(input: Box<dyn Source>, open: F) -> Self {
        FlatMap { input: Input::new(input), open, feed: None }
    }
}

impl<F> Source for FlatMap<F>
where
    F: FnMut(&mut Context, Row) -> Result<Option<Box<dyn Feed>>> + Send,
{
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let mut out = Vec::new();
        while out.len() < most {
            cx.limits.step()?;
            if let Some(feed) = &mut self.feed {
                match feed.next(cx)? {
                    Some(row) => out.push(row),
                    None => self.feed = None,
                }
                continue;
            }
            let Some(row) = self.input.next(cx, most)? else { break };
            self.feed = (self.open)(cx, row)?;
        }
        Ok(out)
    }
}

/// The nodes of a pattern's beginning.
pub(super) fn nodes(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::Nodes { slot, source, .. } = &*plan else { return Ok(None) };
        let (found, next) = match source {
            NodeSource::All => (Vec::new(), Some(0)),
            NodeSource::Label(label) => (cx.view.with_label(label)?, None),
            NodeSource::Property { label, name, value } => {
                let value = eval(&*cx, value, &mut row)?;
                (cx.view.seek(label.as_deref(), name, &value)?, None)
            }
        };
        let found = found.into_iter();
        Ok(Some(Box::new(Nodes { row, slot: *slot, found, next }) as Box<dyn Feed>))
    }))
}

struct Nodes {
    row: Row,
    slot: usize,
    found: std::vec::IntoIter<u32>,
    /// The number at which a scan of all nodes goes on.
    next: Option<u64>,
}

impl Feed for Nodes {
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>> {
        loop {
            if let Some(v) = self.found.next() {
                let mut row = self.row.clone();
                set(&mut row, self.slot, Value::Node(Node::of(v)));
                return Ok(Some(row));
            }
            let Some(from) = self.next else { return Ok(None) };
            let (found, next) = cx.view.graph.numbers_from(from, CHUNK);
            (self.found, self.next) = (found.into_iter(), next);
        }
    }
}

/// Numbers of the types that a pattern wants; `None` for all, and no type that the graph does not have.
pub(super) fn types(view: &View, edge: &EdgePattern) -> Option<Vec<u64>> {
    let number = |name: &Arc<str>| view.graph.edge_type_number(name);
    (!edge.types.is_empty()).then(|| edge.types.iter().filter_map(number).collect())
}

/// The edges at a node in a direction; an edge from the node to itself is there once.
pub(super) fn edges_at(
    view: &View,
    v: u32,
    direction: Direction,
    types: Option<&[u64]>,
) -> Result<Vec<EdgeNumbers>> {
    let graph = &view.graph;
    Ok(match direction {
        Direction::Out => graph.edges_from(v, types)?,
        Direction::In => graph.edges_to(v, types)?,
        Direction::Both => {
            let mut found = graph.edges_from(v, types)?;
            let to = graph.edges_to(v, types)?;
            found.extend(to.into_iter().filter(|edge| edge.source != edge.destination));
            found
        }
    })
}

/// The edges between two nodes in a direction.
pub(super) fn edges_between(
    view: &View,
    from: u32,
    to: u32,
    direction: Direction,
    types: Option<&[u64]>,
) -> Result<Vec<EdgeNumbers>> {
    let graph = &view.graph;
    Ok(match direction {
        Direction::Out => graph.edges_between(from, types, to)?,
        Direction::In => graph.edges_between(to, types, from)?,
        Direction::Both => {
            let mut found = graph.edges_between(from, types, to)?;
            found.append(&mut graph.edges_between(to, types, from)?);
            found
        }
    })
}

/// The node at the other end of an edge.
pub(super) fn other_end(edge: &EdgeNumbers, v: u32) -> u32 {
    if edge.source == v { edge.destination } else { edge.source }
}

/// Returns true if a row has passed an edge already, in one of some slots.
pub(super) fn has_passed(row: &Row, others: &[usize], edge: &EdgeNumbers) -> bool {
    let is = |value: &Value| matches!(value, Value::Relationship(other) if *other.edge == *edge);
    others.iter().filter_map(|slot| row.get(*slot)).any(|value| match value {
        Value::List(items) => items.iter().any(is),
        value => is(value),
    })
}

/// Returns true if all conditions hold.
pub(super) fn hold<'c>(
    cx: &Context,
    conditions: impl IntoIterator<Item = &'c Expr>,
    row: &mut Row,
) -> Result<bool> {
    for condition in conditions {
        if truth(&eval(cx, condition, row)?)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The node in a slot; `None` for null.
pub(super) fn node_in(row: &Row, slot: usize) -> Result<Option<u32>> {
    match row.get(slot) {
        Some(Value::Node(node)) => Ok(Some(node.vertex)),
        None | Some(Value::Null) => Ok(None),
        Some(other) => Err(QueryError::of_type(format!("{other} is no node"))),
    }
}

/// The ends of the edge that each row has.
pub(super) fn ends(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, row: Row| {
        let Plan::Ends(expand) = &*plan else { return Ok(None) };
        let edge = match row.get(expand.edge.slot) {
            Some(Value::Relationship(edge)) => Arc::clone(&edge.edge),
            None | Some(Value::Null) => return Ok(None),
            Some(other) => return Err(QueryError::of_type(format!("{other} is no edge"))),
        };
        let fits = types(&cx.view, &expand.edge);
        if fits.is_some_and(|types| !types.contains(&edge.edge_type))
            || has_passed(&row, &expand.others, &edge)
        {
            return Ok(None);
        }
        let (out, back) = ((edge.source, edge.destination), (edge.destination, edge.source));
        let ways = match expand.edge.direction {
            Direction::Out => vec![out],
            Direction::In => vec![back],
            Direction::Both if edge.source == edge.destination => vec![out],
            Direction::Both => vec![out, back],
        };
        let rows = ways.into_iter().filter_map(|(from, to)| end_row(&row, expand, from, to));
        Ok(Some(Box::new(Rows(rows.collect::<Vec<_>>().into_iter())) as Box<dyn Feed>))
    }))
}

/// A row with the ends of an edge, if these are the nodes that it has already.
fn end_row(row: &Row, expand: &Expand, from: u32, to: u32) -> Option<Row> {
    let is =
        |slot: usize, v: u32| matches!(row.get(slot), Some(Value::Node(node)) if node.vertex == v);
    if (expand.from_bound && !is(expand.from, from))
        || (expand.to_bound && expand.to != expand.from && !is(expand.to, to))
        || (expand.to == expand.from && from != to)
    {
        return None;
    }
    let mut row = row.clone();
    set(&mut row, expand.from, Value::Node(Node::of(from)));
    set(&mut row, expand.to, Value::Node(Node::of(to)));
    Some(row)
}

/// Rows that are there already.
pub(super) struct Rows(pub(super) std::vec::IntoIter<Row>);

impl Feed for Rows {
    fn next(&mut self, _cx: &mut Context) -> Result<Option<Row>> {
        Ok(self.0.next())
    }
}
