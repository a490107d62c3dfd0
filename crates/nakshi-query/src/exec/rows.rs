//! Operators that work row by row.

use std::collections::HashSet;
use std::sync::Arc;

use super::context::{Context, Input, Source};
use super::expand::{Feed, FlatMap, Rows, other_end};
use super::limits::Held;
use crate::error::{Class, QueryError, Result};
use crate::eval::{eval, set, truth};
use crate::functions::is_range;
use crate::functions::lists::{Range, range_of};
use crate::ir::Expr;
use crate::order::Key;
use crate::plan::Plan;
use crate::value::{List, Node, Path, Row, Value};

/// The row that a plan is given.
pub(super) struct Argument(pub(super) Option<Row>);

impl Source for Argument {
    fn next(&mut self, _cx: &mut Context, _most: usize) -> Result<Vec<Row>> {
        Ok(self.0.take().into_iter().collect())
    }
}

/// The rows for which a condition holds.
pub(super) struct Filter {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
}

impl Source for Filter {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Filter { predicate, .. } = &*self.plan else { return Ok(Vec::new()) };
        loop {
            let rows = self.input.next(cx, most)?;
            if rows.is_empty() {
                return Ok(rows);
            }
            let mut kept = Vec::with_capacity(rows.len());
            for mut row in rows {
                cx.limits.step()?;
                if truth(&eval(&*cx, predicate, &mut row)?)? == Some(true) {
                    kept.push(row);
                }
            }
            if !kept.is_empty() {
                return Ok(kept);
            }
        }
    }
}

/// Rows with more values; fewer of them where the values are large.
pub(super) struct Project {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Input,
}

impl Source for Project {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Project { items, .. } = &*self.plan else { return Ok(Vec::new()) };
        let (mut rows, mut weight) = (Vec::new(), 0_u64);
        while let Some(mut row) = self.input.next(cx, most)? {
            cx.limits.step()?;
            for (slot, value) in items {
                let value = eval(&*cx, value, &mut row)?;
                weight = weight.saturating_add(value.weight());
                set(&mut row, *slot, value);
            }
            rows.push(row);
            if self.input.is_at_end() || weight > cx.limits.of_batch() {
                break;
            }
        }
        Ok(rows)
    }
}

/// Rows with a path of what they have.
pub(super) struct Paths {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
}

impl Source for Paths {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Path { slot, nodes, edges, .. } = &*self.plan else { return Ok(Vec::new()) };
        let mut rows = self.input.next(cx, most)?;
        for row in &mut rows {
            let path = path_of(row, nodes, edges);
            set(row, *slot, path);
        }
        Ok(rows)
    }
}

/// The path of some slots; null if any of them is.
pub(super) fn path_of(row: &Row, nodes: &[usize], edges: &[usize]) -> Value {
    let mut path = Path { nodes: Vec::new(), edges: Vec::new() };
    let Some(Value::Node(first)) = nodes.first().and_then(|slot| row.get(*slot)) else {
        return Value::Null;
    };
    path.nodes.push(first.clone());
    let mut at = first.vertex;
    for slot in edges {
        let of_list;
        let passed = match row.get(*slot) {
            Some(Value::List(items)) => items.as_slice(),
            Some(one @ Value::Relationship(_)) => {
                of_list = [one.clone()];
                &of_list
            }
            _ => return Value::Null,
        };
        for value in passed {
            let Value::Relationship(edge) = value else { return Value::Null };
            at = other_end(&edge.edge, at);
            path.edges.push(edge.clone());
            path.nodes.push(Node::of(at));
        }
    }
    Value::Path(Arc::new(path))
}

/// Each row once, by the values of some slots.
pub(super) struct Distinct {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) seen: HashSet<Vec<Key>>,
    pub(super) held: Option<Held>,
}

impl Source for Distinct {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Distinct { slots, .. } = &*self.plan else { return Ok(Vec::new()) };
        let held = self.held.get_or_insert_with(|| Held::new(&cx.limits));
        loop {
            let mut rows = self.input.next(cx, most)?;
            if rows.is_empty() {
                return Ok(rows);
            }
            let mut kept = Vec::new();
            for row in rows.drain(..) {
                cx.limits.step()?;
                if self.seen.insert(keys(&row, slots)) {
                    held.take_row(&row)?;
                    kept.push(row);
                }
            }
            if !kept.is_empty() {
                return Ok(kept);
            }
        }
    }
}

/// The values of some slots.
pub(super) fn keys(row: &Row, slots: &[usize]) -> Vec<Key> {
    slots.iter().map(|slot| Key(row.get(*slot).cloned().unwrap_or_default())).collect()
}

/// The items of a list for each row.
pub(super) fn unwind(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::Unwind { list, slot, .. } = &*plan else { return Ok(None) };
        if let Expr::Call(function, arguments) = list
            && is_range(*function)
        {
            let values = arguments.iter().map(|argument| eval(&*cx, argument, &mut row));
            let values = values.collect::<Result<Vec<_>>>()?;
            if values.iter().any(Value::is_null) {
                return Ok(None);
            }
            let range = range_of(&values)?;
            return Ok(
                range.map(|range| Box::new(Integers { row, slot: *slot, range }) as Box<dyn Feed>)
            );
        }
        Ok(match eval(&*cx, list, &mut row)? {
            Value::Null => None,
            Value::List(items) => {
                Some(Box::new(Items { row, slot: *slot, items, at: 0 }) as Box<dyn Feed>)
            }
            one => {
                set(&mut row, *slot, one);
                Some(Box::new(Rows(vec![row].into_iter())) as Box<dyn Feed>)
            }
        })
    }))
}

struct Items {
    row: Row,
    slot: usize,
    items: Arc<List>,
    at: usize,
}

impl Feed for Items {
    fn next(&mut self, _cx: &mut Context) -> Result<Option<Row>> {
        let Some(item) = self.items.get(self.at) else { return Ok(None) };
        self.at += 1;
        let mut row = self.row.clone();
        set(&mut row, self.slot, item.clone());
        Ok(Some(row))
    }
}

/// Rows with the integers of a range, which need no list.
struct Integers {
    row: Row,
    slot: usize,
    range: Range,
}

impl Feed for Integers {
    fn next(&mut self, _cx: &mut Context) -> Result<Option<Row>> {
        let Range { from, step, count } = &mut self.range;
        if *count == 0 {
            return Ok(None);
        }
        let mut row = self.row.clone();
        set(&mut row, self.slot, Value::Int(*from));
        *count -= 1;
        // The last integer may be the largest of all.
        *from = from.wrapping_add(*step);
        Ok(Some(row))
    }
}

/// The count of `SKIP` and `LIMIT`.
pub(super) fn count(cx: &Context, count: &Expr) -> Result<u64> {
    let mut row = vec![Value::Null; cx.prepared.width];
    let refuse = |detail, message: String| Err(QueryError::run(Class::Syntax, detail, message));
    match eval(cx, count, &mut row)? {
        Value::Int(count) => match u64::try_from(count) {
            Ok(count) => Ok(count),
            Err(_) => refuse(
                "NegativeIntegerArgument",
                format!("{count} is negative, and no number of rows"),
            ),
        },
        other => refuse("InvalidArgumentType", format!("{other} is no number of rows")),
    }
}

/// All rows but the first.
pub(super) struct Skip {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    /// Rows still to skip.
    pub(super) left: Option<u64>,
}

impl Source for Skip {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Skip { count: expr, .. } = &*self.plan else { return Ok(Vec::new()) };
        let mut left = match self.left {
            Some(left) => left,
            None => count(cx, expr)?,
        };
        loop {
            let mut rows = self.input.next(cx, most)?;
            let skipped = left.min(rows.len() as u64);
            left -= skipped;
            self.left = Some(left);
            let empty = rows.is_empty();
            rows.drain(..skipped as usize);
            if empty || !rows.is_empty() {
                return Ok(rows);
            }
        }
    }
}

/// The first rows.
pub(super) struct Limit {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    /// Rows still to hand on.
    pub(super) left: Option<u64>,
}

impl Source for Limit {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Limit { count: expr, writes, .. } = &*self.plan else { return Ok(Vec::new()) };
        let first = self.left.is_none();
        let left = match self.left {
            Some(left) => left,
            None => count(cx, expr)?,
        };
        if left == 0 && !(first && *writes) {
            return Ok(Vec::new());
        }
        let wanted = usize::try_from(left).unwrap_or(most).clamp(1, most);
        let mut rows = self.input.next(cx, wanted)?;
        rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        self.left = Some(left - rows.len() as u64);
        Ok(rows)
    }
}
