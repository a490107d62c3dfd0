//! Paths of several edges from a node, depth first.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::adjacency::Adjacency;
use super::context::{Context, Input, Source};
use super::expand::{has_passed, node_in, other_end};
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
pub(super) struct Many {
    plan: Arc<Plan>,
    input: Input,
    adjacency: Option<Adjacency>,
    paths: Option<Paths>,
}

impl Many {
    /// `plan` is a [`Plan::ExpandMany`].
    pub(super) fn new(plan: Arc<Plan>, input: Box<dyn Source>) -> Self {
        Many { plan, input: Input::new(input), adjacency: None, paths: None }
    }

    /// The paths for the next row of the input; `None` if there is none.
    fn begin(&mut self, cx: &mut Context, expand: &Expand, most: usize) -> Result<Option<Paths>> {
        while let Some(row) = self.input.next(cx, most)? {
            if let Some(paths) = Paths::of(cx, expand, row)? {
                Adjacency::for_rows(&mut self.adjacency, cx, &expand.edge);
                return Ok(Some(paths));
            }
        }
        Ok(None)
    }
}

impl Source for Many {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let plan = Arc::clone(&self.plan);
        let Plan::ExpandMany(expand) = &*plan else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        while out.len() < most {
            cx.limits.step()?;
            let Some(paths) = &mut self.paths else {
                self.paths = self.begin(cx, expand, most)?;
                match self.paths.is_some() {
                    true => continue,
                    false => break,
                }
            };
            let Some(adjacency) = &mut self.adjacency else { break };
            match paths.next(cx, expand, adjacency)? {
                Some(row) => out.push(row),
                None => self.paths = None,
            }
        }
        Ok(out)
    }
}

/// An edge of a path, as it is and as a value.
struct Passed {
    edge: EdgeNumbers,
    value: Value,
}

/// The edges at a node of a path.
struct Level {
    from: u32,
    edges: Arc<[EdgeNumbers]>,
    /// The place of the next edge to try.
    next: usize,
}

/// The paths from a node, depth first.
struct Paths {
    row: Row,
    from: u32,
    to: Option<u32>,
    least: usize,
    most: usize,
    properties: Vec<(Name, Value)>,
    /// True if the edges are needed in the row.
    shows_edges: bool,
    levels: Vec<Level>,
    path: Vec<Passed>,
    begun: bool,
}

impl Paths {
    /// The paths for a row; `None` if an end is null.
    fn of(cx: &Context, expand: &Expand, mut row: Row) -> Result<Option<Self>> {
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
        Ok(Some(Paths {
            from,
            to,
            least: least as usize,
            most: most.map_or(usize::MAX, |most| most as usize),
            properties: wanted_properties(cx, &expand.edge, &mut row)?,
            shows_edges: !cx.prepared.unread.contains(&expand.edge.slot),
            row,
            levels: Vec::new(),
            path: Vec::new(),
            begun: false,
        }))
    }

    fn open(&mut self, cx: &Context, adjacency: &mut Adjacency, from: u32) -> Result<()> {
        if self.path.len() < self.most {
            let edges = adjacency.at(cx, from)?;
            self.levels.push(Level { from, edges, next: 0 });
        }
        Ok(())
    }

    /// The row of the path so far, if it is one that is wanted.
    fn row(&self, expand: &Expand, end: u32) -> Option<Row> {
        if self.path.len() < self.least || self.to.is_some_and(|to| to != end) {
            return None;
        }
        let mut row = self.row.clone();
        if self.shows_edges {
            let mut edges: Vec<Value> = self.path.iter().map(|one| one.value.clone()).collect();
            if expand.backwards {
                edges.reverse();
            }
            set(&mut row, expand.edge.slot, Value::list(edges));
        }
        set(&mut row, expand.to, Value::Node(Node::of(end)));
        Some(row)
    }

    /// The row of the next path.
    fn next(
        &mut self,
        cx: &Context,
        expand: &Expand,
        adjacency: &mut Adjacency,
    ) -> Result<Option<Row>> {
        if !self.begun {
            self.begun = true;
            self.open(cx, adjacency, self.from)?;
            if let Some(row) = self.row(expand, self.from) {
                return Ok(Some(row));
            }
        }
        while let Some(level) = self.levels.last_mut() {
            cx.limits.step()?;
            let Some(edge) = level.edges.get(level.next).copied() else {
                self.levels.pop();
                continue;
            };
            level.next += 1;
            let from = level.from;
            // A path ends with an edge whose end has no level, or one that has led nowhere.
            self.path.truncate(self.levels.len() - 1);
            if self.path.iter().any(|passed| passed.edge == edge)
                || (!expand.others.is_empty() && has_passed(&self.row, &expand.others, &edge))
                || !has_properties(cx, &edge, &self.properties)?
            {
                continue;
            }
            let end = other_end(&edge, from);
            let value = match self.shows_edges {
                true => Value::Relationship(Relationship::of(edge)),
                false => Value::Null,
            };
            self.path.push(Passed { edge, value });
            self.open(cx, adjacency, end)?;
            if let Some(row) = self.row(expand, end) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}
