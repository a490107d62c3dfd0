//! Paths of several edges from a node, depth first: along edges of one kind, or through a pattern again and again.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;

use super::adjacency::Adjacency;
use super::context::{Context, Input, Source};
use super::expand::{has_passed, hold, node_in, other_end};
use super::limits::Held;
use crate::error::Result;
use crate::eval::{eval, set};
use crate::ir::{EdgePattern, Expr, Name};
use crate::order::equal;
use crate::plan::{Expand, Part, Plan, Repeat, RepeatStep};
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
    /// The edges of each step; made by the first row.
    adjacency: Vec<Adjacency>,
    paths: Option<Paths>,
}

impl Many {
    /// `plan` is a [`Plan::ExpandMany`].
    pub(super) fn new(plan: Arc<Plan>, input: Box<dyn Source>) -> Self {
        Many { plan, input: Input::new(input), adjacency: Vec::new(), paths: None }
    }

    /// The paths for the next row of the input; `None` if there is none.
    fn begin(
        &mut self,
        cx: &mut Context,
        of: (&Expand, &Repeat),
        most: usize,
    ) -> Result<Option<Paths>> {
        while let Some(row) = self.input.next(cx, most)? {
            if let Some(paths) = Paths::of(cx, of, row)? {
                // A query that changes the graph may have new edges, and new types of them.
                if self.adjacency.is_empty() || cx.writer.is_some() {
                    let steps = of.1.steps.iter();
                    self.adjacency = steps.map(|step| Adjacency::new(cx, &step.edge)).collect();
                }
                return Ok(Some(paths));
            }
        }
        Ok(None)
    }
}

impl Source for Many {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let plan = Arc::clone(&self.plan);
        let Plan::ExpandMany { expand, repeat } = &*plan else { return Ok(Vec::new()) };
        let (mut out, mut weight) = (Vec::new(), 0_u64);
        while out.len() < most && weight <= cx.limits.of_batch() {
            cx.limits.step()?;
            let Some(paths) = &mut self.paths else {
                self.paths = self.begin(cx, (expand, repeat), most)?;
                match self.paths.is_some() {
                    true => continue,
                    false => break,
                }
            };
            match paths.next(cx, (expand, repeat), &mut self.adjacency)? {
                Some((row, bytes)) => {
                    weight = weight.saturating_add(bytes);
                    out.push(row);
                }
                None => self.paths = None,
            }
        }
        Ok(out)
    }
}

/// An edge of a path, as it is and as a value, and the node that it leads to.
struct Passed {
    edge: EdgeNumbers,
    value: Value,
    end: u32,
}

/// The edges at a node of a path.
struct Level {
    from: u32,
    /// The only node that an edge may lead to.
    to: Option<u32>,
    edges: Arc<[EdgeNumbers]>,
    /// The place of the next edge to try.
    next: usize,
    /// Bytes that the level takes.
    bytes: u64,
}

/// The paths from a node, depth first.
struct Paths {
    /// The row that all paths begin with; it has the values of the present repetition, if these are needed.
    row: Row,
    from: u32,
    to: Option<u32>,
    /// Least and greatest number of edges.
    least: usize,
    most: usize,
    /// The properties that the edge of each step must have.
    properties: Vec<Vec<(Name, Value)>>,
    /// True if the edges are needed in the row, and if any list or condition needs them as values.
    shows_edges: bool,
    needs_values: bool,
    levels: Vec<Level>,
    path: Vec<Passed>,
    begun: bool,
    /// True if the row may have values of another repetition.
    stale: bool,
    /// Bytes of the levels, and the most that there were.
    bytes: u64,
    held: Held,
}

impl Paths {
    /// The paths for a row; `None` if an end is null.
    fn of(
        cx: &Context,
        (expand, repeat): (&Expand, &Repeat),
        mut row: Row,
    ) -> Result<Option<Self>> {
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
        let edges = |count: u64| (count as usize).saturating_mul(repeat.steps.len());
        let properties =
            repeat.steps.iter().map(|step| wanted_properties(cx, &step.edge, &mut row));
        let properties = properties.collect::<Result<_>>()?;
        let shows_edges = !cx.prepared.unread.contains(&expand.edge.slot);
        Ok(Some(Paths {
            from,
            to,
            least: edges(least),
            most: most.map_or(usize::MAX, edges),
            properties,
            shows_edges,
            needs_values: shows_edges || repeat.binds || !repeat.lists.is_empty(),
            row,
            levels: Vec::new(),
            path: Vec::new(),
            begun: false,
            stale: false,
            bytes: 0,
            held: Held::new(&cx.limits),
        }))
    }

    /// The place of the next step in its repetition.
    fn place(&self, repeat: &Repeat) -> usize {
        self.path.len() % repeat.steps.len().max(1)
    }

    /// Looks up the edges of the next step at a node. There is none behind the longest path, and at a node at which no
    /// repetition may begin.
    fn open(
        &mut self,
        cx: &Context,
        repeat: &Repeat,
        adjacency: &mut [Adjacency],
        from: u32,
    ) -> Result<()> {
        if self.path.len() >= self.most {
            return Ok(());
        }
        let place = self.place(repeat);
        let (Some(step), Some(adjacency)) = (repeat.steps.get(place), adjacency.get_mut(place))
        else {
            return Ok(());
        };
        if repeat.binds && place == 0 {
            set(&mut self.row, repeat.start, Value::Node(Node::of(from)));
            if !hold(cx, &repeat.of_start, &mut self.row)? {
                self.stale = true;
                return Ok(());
            }
        }
        let to = if step.to_bound { node_in(&self.row, step.to)? } else { None };
        let edges = adjacency.at(cx, from)?;
        // Edges that are kept for other paths count there.
        let own = if Arc::strong_count(&edges) == 1 { size_of_val(&*edges) } else { 0 };
        let bytes = (own + size_of::<Level>() + size_of::<Passed>()) as u64;
        self.bytes += bytes;
        self.held.take(self.bytes.saturating_sub(self.held.bytes()))?;
        self.levels.push(Level { from, to, edges, next: 0, bytes });
        Ok(())
    }

    /// Puts the values of the present repetition into the row.
    fn bind(&mut self, repeat: &Repeat) {
        self.stale = false;
        let (begun, passed) = self.path.split_at(self.path.len() - self.place(repeat));
        let start = begun.last().map_or(self.from, |last| last.end);
        set(&mut self.row, repeat.start, Value::Node(Node::of(start)));
        for (step, passed) in repeat.steps.iter().zip(passed) {
            set(&mut self.row, step.edge.slot, passed.value.clone());
            set(&mut self.row, step.to, Value::Node(Node::of(passed.end)));
        }
    }

    /// Returns true if a path meets the conditions of the step that it has just taken.
    fn meets(&mut self, cx: &Context, step: &RepeatStep) -> Result<bool> {
        if let Some(last) = self.path.last() {
            set(&mut self.row, step.edge.slot, last.value.clone());
            set(&mut self.row, step.to, Value::Node(Node::of(last.end)));
        }
        hold(cx, &step.conditions, &mut self.row)
    }

    /// The list of what all repetitions have in a place.
    fn list(&self, repeat: &Repeat, part: Part) -> Vec<Value> {
        let steps = repeat.steps.len().max(1);
        let node = |at: usize| {
            let last = at.checked_sub(1).and_then(|last| self.path.get(last));
            Value::Node(Node::of(last.map_or(self.from, |last| last.end)))
        };
        let begins = (0..self.path.len()).step_by(steps);
        match part {
            Part::Node(place) => begins.map(|begin| node(begin + place)).collect(),
            Part::Edge(place) => {
                let passed = begins.filter_map(|begin| self.path.get(begin + place));
                passed.map(|passed| passed.value.clone()).collect()
            }
        }
    }

    /// The row of the path so far with the bytes of its lists, if it is one that is wanted.
    fn row(&self, (expand, repeat): (&Expand, &Repeat), end: u32) -> Option<(Row, u64)> {
        if self.path.len() < self.least
            || self.to.is_some_and(|to| to != end)
            || self.place(repeat) != 0
        {
            return None;
        }
        let (mut row, mut weight) = (self.row.clone(), 0_u64);
        let mut add = |slot: usize, mut values: Vec<Value>| {
            if expand.backwards {
                values.reverse();
            }
            let list = Value::list(values);
            weight = weight.saturating_add(list.weight());
            set(&mut row, slot, list);
        };
        if self.shows_edges {
            let edges = self.path.iter().map(|passed| passed.value.clone());
            add(expand.edge.slot, edges.collect());
        }
        for (part, slot) in &repeat.lists {
            add(*slot, self.list(repeat, *part));
        }
        set(&mut row, expand.to, Value::Node(Node::of(end)));
        Some((row, weight))
    }

    /// Returns true if the next step may pass an edge: no path passes one twice.
    fn may_pass(
        &self,
        cx: &Context,
        expand: &Expand,
        edge: &EdgeNumbers,
        place: usize,
    ) -> Result<bool> {
        if self.path.iter().any(|passed| passed.edge == *edge)
            || (!expand.others.is_empty() && has_passed(&self.row, &expand.others, edge))
        {
            return Ok(false);
        }
        match self.properties.get(place) {
            Some(wanted) => has_properties(cx, edge, wanted),
            None => Ok(true),
        }
    }

    /// The row of the next path, and the bytes of its lists.
    fn next(
        &mut self,
        cx: &Context,
        of: (&Expand, &Repeat),
        adjacency: &mut [Adjacency],
    ) -> Result<Option<(Row, u64)>> {
        let (expand, repeat) = of;
        if !self.begun {
            self.begun = true;
            self.open(cx, repeat, adjacency, self.from)?;
            if let Some(found) = self.row(of, self.from) {
                return Ok(Some(found));
            }
        }
        while let Some(level) = self.levels.last_mut() {
            cx.limits.step()?;
            let Some(edge) = level.edges.get(level.next).copied() else {
                self.bytes -= level.bytes;
                self.stale = true;
                self.levels.pop();
                continue;
            };
            level.next += 1;
            let (end, to) = (other_end(&edge, level.from), level.to);
            // A path ends with an edge whose end has no level, or one that has led nowhere.
            self.path.truncate(self.levels.len() - 1);
            let place = self.place(repeat);
            if to.is_some_and(|to| to != end) || !self.may_pass(cx, expand, &edge, place)? {
                continue;
            }
            if repeat.binds && self.stale {
                self.bind(repeat);
            }
            let value = match self.needs_values {
                true => Value::Relationship(Relationship::of(edge)),
                false => Value::Null,
            };
            self.path.push(Passed { edge, value, end });
            if let Some(step) = repeat.steps.get(place).filter(|_| repeat.binds)
                && !self.meets(cx, step)?
            {
                continue;
            }
            self.open(cx, repeat, adjacency, end)?;
            if let Some(found) = self.row(of, end) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
