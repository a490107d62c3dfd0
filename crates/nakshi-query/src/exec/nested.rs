//! Plans that run for each row, and procedures.

use std::collections::HashSet;
use std::sync::Arc;

use super::context::{BATCH, Context, Made, Source, Whole, run_out};
use super::expand::{Feed, FlatMap, Rows};
use super::limits::Held;
use super::rows::keys;
use crate::error::{Class, QueryError, Result};
use crate::eval::{eval, set};
use crate::order::Key;
use crate::plan::Plan;
use crate::procedure::{Called, Caller, ProcedureType};
use crate::value::{Row, Value};

/// Rows of a plan that runs for one row.
struct Inner {
    source: Box<dyn Source>,
    rows: std::vec::IntoIter<Row>,
    /// The row if there are no others.
    otherwise: Option<Row>,
    /// Rows that are asked for at once.
    most: usize,
}

impl Feed for Inner {
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>> {
        if let Some(row) = self.rows.next() {
            return Ok(Some(row));
        }
        self.rows = self.source.next(cx, self.most)?.into_iter();
        self.most = (self.most * 4).min(1024);
        match self.rows.next() {
            Some(row) => {
                self.otherwise = None;
                Ok(Some(row))
            }
            None => Ok(self.otherwise.take()),
        }
    }
}

fn inner(source: Box<dyn Source>, otherwise: Option<Row>) -> Box<dyn Feed> {
    Box::new(Inner { source, rows: Vec::new().into_iter(), otherwise, most: 1 })
}

/// The rows of a pattern, or one with null.
pub(super) fn optional(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, row: Row| {
        let Plan::Optional { inner: plan, slots, .. } = &*plan else { return Ok(None) };
        let source = (cx.open)(plan, &row);
        let mut otherwise = row;
        slots.iter().for_each(|slot| set(&mut otherwise, *slot, Value::Null));
        Ok(Some(inner(source, Some(otherwise))))
    }))
}

/// The rows of a subquery for each row.
pub(super) fn apply(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    let (eager, returns) = match &*plan {
        Plan::Apply { writes, returns, .. } => (*writes, *returns),
        _ => (false, true),
    };
    let input: Box<dyn Source> = match eager {
        true => Box::new(Eager { input, rows: Made::default() }),
        false => input,
    };
    Box::new(FlatMap::new(input, move |cx: &mut Context, row: Row| {
        let Plan::Apply { inner: plan, .. } = &*plan else { return Ok(None) };
        let mut source = (cx.open)(plan, &row);
        if returns {
            return Ok(Some(inner(source, None)));
        }
        run_out(&mut *source, cx)?;
        Ok(Some(Box::new(Rows(vec![row].into_iter())) as Box<dyn Feed>))
    }))
}

/// All rows of the input, before the first goes on.
pub(super) struct Eager {
    pub(super) input: Box<dyn Source>,
    pub(super) rows: Made,
}

/// All rows of a source.
pub(super) fn all_rows(input: &mut dyn Source, cx: &mut Context) -> Result<Whole> {
    let (mut all, mut held) = (Vec::new(), Held::new(&cx.limits));
    loop {
        let rows = input.next(cx, BATCH)?;
        if rows.is_empty() {
            return Ok((all, held));
        }
        for row in &rows {
            held.take_row(row)?;
        }
        all.extend(rows);
    }
}

impl Source for Eager {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        self.rows.next(most, || all_rows(&mut *self.input, cx))
    }
}

/// The rows of several queries, one after the other.
pub(super) struct Union {
    pub(super) plan: Arc<Plan>,
    pub(super) argument: Row,
    /// Number of the branch, and its rows.
    pub(super) at: usize,
    pub(super) branch: Option<Box<dyn Source>>,
    pub(super) seen: HashSet<Vec<Key>>,
    pub(super) held: Option<Held>,
}

impl Source for Union {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let Plan::Union { branches, columns, all } = &*self.plan else { return Ok(Vec::new()) };
        let held = self.held.get_or_insert_with(|| Held::new(&cx.limits));
        while let Some((plan, slots)) = branches.get(self.at) {
            let source = self.branch.get_or_insert_with(|| (cx.open)(plan, &self.argument));
            let rows = source.next(cx, most)?;
            if rows.is_empty() {
                self.branch = None;
                self.at += 1;
                continue;
            }
            let mut kept = Vec::with_capacity(rows.len());
            for mut row in rows {
                let values: Vec<Value> =
                    slots.iter().map(|slot| row.get(*slot).cloned().unwrap_or_default()).collect();
                for (slot, value) in columns.iter().zip(values) {
                    set(&mut row, *slot, value);
                }
                if !all {
                    if !self.seen.insert(keys(&row, columns)) {
                        continue;
                    }
                    held.take_row(&row)?;
                }
                kept.push(row);
            }
            if !kept.is_empty() {
                return Ok(kept);
            }
        }
        Ok(Vec::new())
    }
}

/// The rows of a procedure for each row.
pub(super) fn call(plan: Arc<Plan>, input: Box<dyn Source>) -> Box<dyn Source> {
    Box::new(FlatMap::new(input, move |cx: &mut Context, mut row: Row| {
        let Plan::Call { call, .. } = &*plan else { return Ok(None) };
        let Some(procedure) = cx.procedures.find(&call.name) else {
            let message = format!("procedure '{}' is unknown", call.name);
            return Err(QueryError::run(Class::Procedure, "ProcedureNotFound", message));
        };
        let signature = procedure.signature();
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (argument, (name, ty)) in call.arguments.iter().zip(&signature.arguments) {
            let value = eval(&*cx, argument, &mut row)?;
            if !ty.has(&value) {
                let message = format!("argument '{name}' of procedure '{}' is {value}", call.name);
                return Err(QueryError::of_type(message));
            }
            arguments.push(match (ty, value) {
                (ProcedureType::Float, Value::Int(value)) => Value::Float(value as f64),
                (_, value) => value,
            });
        }
        let limits = &cx.limits;
        let caller = Caller {
            graph: &cx.view.graph,
            cancel: &limits.cancel,
            deadline: limits.deadline,
            memory: limits.left(),
            user: &limits.user,
        };
        let mut rows = procedure.call(&caller, &arguments)?;
        if call.passes {
            rows.try_for_each(|row| row.map(drop))?;
            return Ok(Some(Box::new(Rows(vec![row].into_iter())) as Box<dyn Feed>));
        }
        let places = call.yields.iter().map(|(name, slot)| {
            (signature.columns.iter().position(|(column, _)| **column == **name), *slot)
        });
        Ok(Some(Box::new(CalledRows { row, rows, places: places.collect() }) as Box<dyn Feed>))
    }))
}

/// A row, with each of the rows of a procedure.
struct CalledRows {
    row: Row,
    rows: Called,
    /// Places of columns of the procedure, and the slots that take them.
    places: Vec<(Option<usize>, usize)>,
}

impl Feed for CalledRows {
    fn next(&mut self, cx: &mut Context) -> Result<Option<Row>> {
        cx.limits.step()?;
        let Some(values) = self.rows.next().transpose()? else { return Ok(None) };
        let mut row = self.row.clone();
        for (place, slot) in &self.places {
            let value = place.and_then(|place| values.get(place)).cloned();
            set(&mut row, *slot, value.unwrap_or_default());
        }
        Ok(Some(row))
    }
}
