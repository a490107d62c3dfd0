//! Walks along single edges with the conditions on them: depth first, in one row that is copied where a walk ends.
//! A row for each edge on the way would cost more than the edge.

use std::sync::Arc;

use nakshi_property::EdgeNumbers;
use rustc_hash::FxHashMap;

use super::adjacency::Adjacency;
use super::context::{Context, Input, Source};
use super::expand::{edges_between, has_passed, hold, node_in, other_end};
use super::limits::Held;
use crate::error::Result;
use crate::eval::{eval, set};
use crate::free::{free_slots, wanted_value};
use crate::ir::Expr;
use crate::plan::{Plan, Step};
use crate::value::{Node, Relationship, Row, Value};

/// Edges after which the limits of the query are looked at.
const EDGES: u32 = 16;
/// Most nodes of a step of which it is remembered if they meet its conditions.
const MOST_NODES: usize = 1 << 20;
/// Nodes that are remembered before memory for more is taken, and the bytes of one.
const NODES: usize = 1024;
const NODE_BYTES: usize = 16;
/// Nodes after which nodes may be looked up by a condition on them, and the nanoseconds that a check of one takes.
const MANY: u64 = 128;
const CHECK: u64 = 250;
/// More nodes are remembered if one of so many was met again.
const RARE: usize = 16;

/// The graph as a step knows it.
struct Known {
    adjacency: Adjacency,
    /// True if the edge is needed in the row.
    shows_edge: bool,
    /// The only nodes that may meet the conditions on them, once these were looked up.
    few: Option<Nodes>,
    /// The number of a condition that they all meet.
    settled: Option<usize>,
    /// Nodes of which the conditions were checked.
    checked: u64,
    /// If nodes meet the conditions on them.
    met: FxHashMap<u32, bool>,
    /// Nodes that were met again.
    again: usize,
    held: Held,
}

impl Known {
    fn new(cx: &Context, step: &Step) -> Self {
        Known {
            adjacency: Adjacency::new(cx, &step.edge),
            shows_edge: !cx.prepared.unread.contains(&step.edge.slot),
            few: None,
            settled: None,
            checked: 0,
            met: FxHashMap::default(),
            again: 0,
            held: Held::new(&cx.limits),
        }
    }

    /// If a node meets the conditions of a step on it; `None` if these have to be checked.
    fn known(&mut self, step: &Step, v: u32) -> Option<bool> {
        match &self.few {
            Some(few) if !few.has(v) => return Some(false),
            Some(_) if self.settled.is_some() && step.of_node.len() == 1 => return Some(true),
            _ => {}
        }
        let met = self.met.get(&v).copied();
        self.again += usize::from(met.is_some());
        met
    }

    /// Returns true if a node meets the conditions of a step on it; it may come into its slot.
    fn meets(&mut self, cx: &Context, step: &Step, v: u32, row: &mut Row) -> Result<bool> {
        if let Some(met) = self.known(step, v) {
            return Ok(met);
        }
        self.checked += 1;
        if self.checked >= MANY && self.checked.is_power_of_two() && self.few.is_none() {
            self.look_up(cx, step, row)?;
            if let Some(met) = self.known(step, v) {
                return Ok(met);
            }
        }
        set(row, step.to, Value::Node(Node::of(v)));
        let settled = self.settled;
        let open = step.of_node.iter().enumerate().filter(|(at, _)| Some(*at) != settled);
        let met = hold(cx, open.map(|(_, condition)| condition), row)?;
        if cx.writer.is_none() && (!self.met.len().is_multiple_of(NODES) || self.remembers_more()) {
            self.met.insert(v, met);
        }
        Ok(met)
    }

    /// Looks up the nodes with a value or a label that a condition wants, if that takes less time than what was spent
    /// on nodes so far.
    fn look_up(&mut self, cx: &Context, step: &Step, row: &mut Row) -> Result<()> {
        // A transaction would note a search that the query has not asked for.
        if cx.writer.is_some() || cx.view.graph.notes_reads() {
            return Ok(());
        }
        let spent = self.checked * CHECK;
        for (at, condition) in step.of_node.iter().enumerate() {
            let is_label = matches!(condition, Expr::HasLabels(..));
            let nodes = match condition {
                Expr::HasLabels(_, labels) => match labels.only() {
                    Some(label) if cx.view.label_cost(label)? <= spent => {
                        cx.view.with_label(label)?
                    }
                    _ => continue,
                },
                _ => match wanted_by(cx, condition, step, row)? {
                    Some((name, value)) if cx.view.seek_cost(name, &value)? <= spent => {
                        cx.view.seek(None, name, &value)?
                    }
                    _ => continue,
                },
            };
            let bytes = nodes.last().map_or(0, |last| last / 8);
            if self.held.takes_spare(bytes.into()) {
                self.few = Some(Nodes::of(&nodes));
                self.settled = is_label.then_some(at);
                break;
            }
        }
        Ok(())
    }

    /// Returns true if it is worth while, and there is memory, to remember more nodes.
    fn remembers_more(&mut self) -> bool {
        let known = self.met.len();
        (known == 0 || (self.again > known / RARE && known < MOST_NODES))
            && self.held.takes_spare((NODES * NODE_BYTES) as u64)
    }
}

/// Nodes, a bit for each.
struct Nodes(Vec<u64>);

impl Nodes {
    /// `nodes` ascend.
    fn of(nodes: &[u32]) -> Self {
        let words = nodes.last().map_or(0, |last| *last as usize / 64 + 1);
        let mut bits = vec![0; words];
        for v in nodes {
            if let Some(word) = bits.get_mut(*v as usize / 64) {
                *word |= 1 << (v % 64);
            }
        }
        Nodes(bits)
    }

    fn has(&self, v: u32) -> bool {
        self.0.get(v as usize / 64).is_some_and(|word| word >> (v % 64) & 1 == 1)
    }
}

/// The property that a condition on the node of a step wants to be equal to a value, which is the same for all rows.
fn wanted_by<'c>(
    cx: &Context,
    condition: &'c Expr,
    step: &Step,
    row: &mut Row,
) -> Result<Option<(&'c str, Value)>> {
    let Some((name, value)) = wanted_value(condition, step.to) else { return Ok(None) };
    if free_slots(value).is_none_or(|slots| !slots.is_empty()) {
        return Ok(None);
    }
    let value = eval(cx, value, row)?;
    Ok((!value.is_null()).then_some((name, value)))
}

/// The edges at the node that a step begins at.
struct Level {
    from: u32,
    /// The only node that the edge may lead to.
    to: Option<u32>,
    edges: Arc<[EdgeNumbers]>,
    /// The place behind the edge that the walk takes.
    next: usize,
}

impl Level {
    /// The edge that the walk takes.
    fn edge(&self) -> Option<&EdgeNumbers> {
        self.edges.get(self.next.checked_sub(1)?)
    }
}

/// The walks for each row.
pub(super) struct Walk {
    plan: Arc<Plan>,
    input: Input,
    /// The row that a walk begins with, and the nodes and edges of the walk so far.
    row: Row,
    levels: Vec<Level>,
    /// For each step; made by the first row.
    known: Vec<Known>,
    /// Edges since the limits were looked at.
    edges: u32,
}

impl Walk {
    /// `plan` is a [`Plan::Walk`].
    pub(super) fn new(plan: Arc<Plan>, input: Box<dyn Source>) -> Self {
        let (levels, known) = (Vec::new(), Vec::new());
        Walk { plan, input: Input::new(input), row: Row::new(), levels, known, edges: 0 }
    }

    /// Takes the next row of the input; false if there is none.
    fn begin(&mut self, cx: &mut Context, steps: &[Step], most: usize) -> Result<bool> {
        let Some(row) = self.input.next(cx, most)? else { return Ok(false) };
        // A query that changes the graph may have new types of edges.
        if self.known.is_empty() || cx.writer.is_some() {
            self.known = steps.iter().map(|step| Known::new(cx, step)).collect();
        }
        self.row = row;
        self.open(cx, steps)?;
        Ok(true)
    }

    /// Looks up the edges of the next step. It has none where an end is null.
    fn open(&mut self, cx: &Context, steps: &[Step]) -> Result<()> {
        let at = self.levels.len();
        let (Some(step), Some(known)) = (steps.get(at), self.known.get_mut(at)) else {
            return Ok(());
        };
        let Some(from) = node_in(&self.row, step.from)? else { return Ok(()) };
        let to = match step.to_bound && step.to != step.from {
            true => match node_in(&self.row, step.to)? {
                Some(to) => Some(to),
                None => return Ok(()),
            },
            false => (step.to == step.from).then_some(from),
        };
        let (direction, types) = (step.edge.direction, known.adjacency.types());
        let edges = match to.filter(|to| *to != from) {
            Some(to) => edges_between(&cx.view, from, to, direction, types)?.into(),
            None => known.adjacency.at(cx, from)?,
        };
        self.levels.push(Level { from, to, edges, next: 0 });
        Ok(())
    }

    /// Goes on to the next edge of the last level; false if there is none.
    fn advance(&mut self, cx: &Context, steps: &[Step]) -> Result<bool> {
        let Some((level, before)) = self.levels.split_last_mut() else { return Ok(false) };
        let at = before.len();
        let (Some(step), Some(known)) = (steps.get(at), self.known.get_mut(at)) else {
            return Ok(false);
        };
        while let Some(edge) = level.edges.get(level.next) {
            level.next += 1;
            self.edges += 1;
            if self.edges.is_multiple_of(EDGES) {
                cx.limits.step()?;
            }
            let end = other_end(edge, level.from);
            let again = |earlier: &usize| before.get(*earlier).and_then(Level::edge) == Some(edge);
            if level.to.is_some_and(|to| to != end)
                || step.earlier.iter().any(again)
                || (!step.others.is_empty() && has_passed(&self.row, &step.others, edge))
                || (!step.of_node.is_empty() && !known.meets(cx, step, end, &mut self.row)?)
            {
                continue;
            }
            set(&mut self.row, step.to, Value::Node(Node::of(end)));
            if known.shows_edge {
                let edge = Value::Relationship(Relationship::of(*edge));
                set(&mut self.row, step.edge.slot, edge);
            }
            if hold(cx, &step.of_row, &mut self.row)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Source for Walk {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let plan = Arc::clone(&self.plan);
        let Plan::Walk { steps, .. } = &*plan else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        while out.len() < most {
            if self.levels.is_empty() {
                cx.limits.step()?;
                if !self.begin(cx, steps, most)? {
                    break;
                }
            } else if !self.advance(cx, steps)? {
                self.levels.pop();
            } else if self.levels.len() == steps.len() {
                out.push(self.row.clone());
            } else {
                self.open(cx, steps)?;
            }
        }
        Ok(out)
    }
}
