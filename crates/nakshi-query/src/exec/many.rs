//! Paths of several edges from a node, depth first.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::context::{Context, Source};
use super::expand::{Feed, FlatMap, edges_at, has_passed, node_in, other_end, types};
use crate::error::Result;
use crate::eval::{eval, set};
use crate::ir::{EdgePattern, Expr, Name};
use crate::order::equal;
use crate::plan::{Expand, Plan};
use crate::value::{Node, Relationship, Row, Value};

/// The properties that each edge of a path must have, as values.
pub(super) fn wanted_properties(
    cx: &Context,
    edge: &EdgePattern,
    row: &mut Row,
) -> Result<Vec<(Name, Value)>> {
    let Some(Expr::Map(entries)) = &edge.properties else { return Ok(Vec::new()) };
    let value = |(name, value): &(Name, Expr)| Ok((Arc::clone(name), eval(cx, value, row)?));
    entries.iter().map(value).collect()
}

/// Returns true if an edge has the properties.
pub(super) fn has_properties(
    cx: &Context,
    edge: &EdgeNumbers,
    wanted: &[(Name, Value)],
) -> Result<bool> {
    for (name, value) in wanted {
        if equal(&cx.view.edge_property(edge, name)?, value) != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The paths from a node for each row.
pub(super) fn expand_many(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::ExpandMany(expand) = &*plan else { return Ok(None) };
        let Some(from) = node_in(&row, expand.from)? else { return Ok(None) };
        let to = match (expand.to == expand.from, expand.to_bound) {
            (true, _) => Some(from),
            (false, true) => match node_in(&row, expand.to)? {
                Some(to) => Some(to),
                None => return Ok(None),
            },
            (false, false) => None,
        };
        let (least, most) = expand.edge.length.unwrap_or((1, Some(1)));
        let properties = wanted_properties(cx, &expand.edge, &mut row)?;
        let types = types(&cx.view, &expand.edge);
        let plan = Arc::clone(&plan);
        let (least, most) = (least as usize, most.map_or(usize::MAX, |most| most as usize));
        let paths = Paths {
            plan,
            row,
            from,
            to,
            least,
            most,
            types,
            properties,
            stack: Vec::new(),
            path: Vec::new(),
            begun: false,
        };
        Ok(Some(Box::new(paths) as Box<dyn Feed>))
    }))
}

struct Paths {
    plan: Arc<Plan>,
    row: Row,
    from: u32,
    to: Option<u32>,
    least: usize,
    most: usize,
    types: Option<Vec<u64>>,
    properties: Vec<(Name, Value)>,
    /// For each node of the path, the edges that have not been tried.
    stack: Vec<(u32, std::vec::IntoIter<EdgeNumbers>)>,
    path: Vec<EdgeNumbers>,
    begun: bool,
}

impl Paths {
    fn push(&mut self, cx: &Context, expand: &Expand, v: u32) -> Result<()> {
        let edges = match self.path.len() < self.most {
            true => edges_at(&cx.view, v, expand.edge.direction, self.types.as_deref())?,
            false => Vec::new(),
        };
        self.stack.push((v, edges.into_iter()));
        Ok(())
    }

    /// The row of the path so far, if it is one that is wanted.
    fn row(&self, expand: &Expand, end: u32) -> Option<Row> {
        if self.path.len() < self.least || self.to.is_some_and(|to| to != end) {
            return None;
        }
        let edges = self.path.iter().map(|edge| Value::Relationship(Relationship::of(*edge)));
        let mut edges: Vec<Value> = edges.collect();
        if expand.backwards {
            edges.reverse();
        }
        let mut row = self.row.clone();
        set(&mut row, expand.edge.slot, Value::list(edges));
        set(&mut row, expand.to, Value::Node(Node::of(end)));
        Some(row)
    }
}

impl Feed for Paths {
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>> {
        let plan = Arc::clone(&self.plan);
        let Plan::ExpandMany(expand) = &*plan else { return Ok(None) };
        if !self.begun {
            self.begun = true;
            self.push(cx, expand, self.from)?;
            if let Some(row) = self.row(expand, self.from) {
                return Ok(Some(row));
            }
        }
        while let Some((v, edges)) = self.stack.last_mut() {
            cx.limits.step()?;
            let v = *v;
            let Some(edge) = edges.next() else {
                self.stack.pop();
                self.path.pop();
                continue;
            };
            if self.path.contains(&edge)
                || has_passed(&self.row, &expand.others, &edge)
                || !has_properties(cx, &edge, &self.properties)?
            {
                continue;
            }
            let end = other_end(&edge, v);
            self.path.push(edge);
            self.push(cx, expand, end)?;
            if let Some(row) = self.row(expand, end) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
