//! The state that the operators of a query share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::change::Writer;
use super::limits::{Held, Limits};
use crate::error::{Class, QueryError, Result};
use crate::eval::Scope;
use crate::ir::SubqueryKind;
use crate::plan::{Plan, Prepared};
use crate::procedure::Procedures;
use crate::value::{Map, Row, Value};
use crate::view::View;

/// Rows of the largest batch.
pub(crate) const BATCH: usize = 1024;
/// Where rows come from.
pub(crate) trait Source: Send {
    /// About `most` further rows; none if there are no more.
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>>;
}

/// The rows of an input, one by one.
pub(super) struct Input {
    source: Box<dyn Source>,
    rows: std::vec::IntoIter<Row>,
}

impl Input {
    pub(super) fn new(source: Box<dyn Source>) -> Self {
        Input { source, rows: Vec::new().into_iter() }
    }

    /// The next row, of which the source is asked for about `most` at once.
    pub(super) fn next(&mut self, cx: &mut Context, most: usize) -> Result<Option<Row>> {
        if let Some(row) = self.rows.next() {
            return Ok(Some(row));
        }
        self.rows = self.source.next(cx, most)?.into_iter();
        Ok(self.rows.next())
    }

    /// Returns true if the source has to be asked for the next row.
    pub(super) fn is_at_end(&self) -> bool {
        self.rows.len() == 0
    }
}

/// All rows of an operator that needs all of its input first, with the memory that they hold.
pub(super) type Whole = (Vec<Row>, Held);

/// The rows of such an operator, handed on in batches; `None` before the first.
#[derive(Default)]
pub(super) struct Made(Option<(std::vec::IntoIter<Row>, Held)>);

impl Made {
    /// At most `most` further rows; `make` makes all of them before the first.
    pub(super) fn next(
        &mut self,
        most: usize,
        make: impl FnOnce() -> Result<Whole>,
    ) -> Result<Vec<Row>> {
        if self.0.is_none() {
            let (rows, held) = make()?;
            self.0 = Some((rows.into_iter(), held));
        }
        let rows = self.0.iter_mut().flat_map(|(rows, _)| rows.by_ref().take(most));
        Ok(rows.collect())
    }
}

/// Takes all rows of a source, which are not needed.
pub(super) fn run_out(source: &mut dyn Source, cx: &mut Context) -> Result<()> {
    while !source.next(cx, BATCH)?.is_empty() {}
    Ok(())
}

/// Makes operators of a plan, whose rows begin as the row that is given.
pub(crate) type Open = fn(&Arc<Plan>, &Row) -> Box<dyn Source>;

/// The state that the operators of a query share.
pub(crate) struct Context {
    pub(crate) view: Arc<View>,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) parameters: Arc<Map>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) procedures: Arc<dyn Procedures>,
    /// The folder that `LOAD CSV` may read from.
    pub(crate) csv_folder: Option<Arc<Path>>,
    pub(crate) open: Open,
    /// The writer of changes; `None` in a query that only reads.
    pub(crate) writer: Option<Writer>,
    /// Counts for `PROFILE`.
    pub(crate) profile: Arc<Profile>,
}

/// Rows and time of an operator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) rows: u64,
    /// With the time of the operators that its rows come from.
    pub(crate) time: Duration,
}

/// The work of the operators of a query, by the addresses of their plans.
#[derive(Debug, Default)]
pub(crate) struct Profile(Mutex<HashMap<usize, Work>>);

/// The address of an operator's plan.
fn address(plan: &Plan) -> usize {
    std::ptr::from_ref(plan).addr()
}

impl Profile {
    fn add(&self, plan: &Plan, rows: usize, time: Duration) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let work = known.entry(address(plan)).or_default();
        work.rows += rows as u64;
        work.time += time;
    }

    pub(crate) fn of(&self, plan: &Plan) -> Work {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&address(plan)).copied().unwrap_or_default()
    }
}

/// An operator whose work is counted.
pub(super) struct Profiled {
    pub(super) plan: Arc<Plan>,
    pub(super) source: Box<dyn Source>,
}

impl Source for Profiled {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let began = Instant::now();
        let rows = self.source.next(cx, most)?;
        cx.profile.add(&self.plan, rows.len(), began.elapsed());
        Ok(rows)
    }
}

impl Context {
    /// The same query, in a part that only reads.
    pub(crate) fn reading(&self) -> Self {
        Context {
            view: Arc::clone(&self.view),
            prepared: Arc::clone(&self.prepared),
            parameters: Arc::clone(&self.parameters),
            limits: Arc::clone(&self.limits),
            procedures: Arc::clone(&self.procedures),
            csv_folder: self.csv_folder.clone(),
            open: self.open,
            writer: None,
            profile: Arc::clone(&self.profile),
        }
    }
}

impl Scope for Context {
    fn view(&self) -> &View {
        &self.view
    }

    fn parameter(&self, name: &str) -> Result<Value> {
        self.parameters.get(name).cloned().ok_or_else(|| {
            let message = format!("parameter '{name}' is missing");
            QueryError::run(Class::ParameterMissing, "MissingParameter", message)
        })
    }

    fn subquery(&self, kind: SubqueryKind, number: usize, row: &Row) -> Result<Value> {
        let mut inner = self.reading();
        let prepared = Arc::clone(&self.prepared);
        let Some(plan) = prepared.subplans.get(number) else { return Ok(Value::Null) };
        let mut source = (self.open)(&plan.root, row);
        let (mut count, mut items, mut weight) = (0, Vec::new(), 0_u64);
        let most = if kind == SubqueryKind::Exists { 1 } else { 64 };
        loop {
            let rows = source.next(&mut inner, most)?;
            if rows.is_empty() {
                break;
            }
            count += rows.len() as i64;
            if kind == SubqueryKind::Exists {
                break;
            }
            if kind == SubqueryKind::Collect {
                let column = plan.columns.first().copied();
                let values = rows.into_iter().map(|mut row| {
                    column
                        .and_then(|slot| row.get_mut(slot))
                        .map(std::mem::take)
                        .unwrap_or_default()
                });
                for value in values {
                    weight = weight.saturating_add(value.weight());
                    self.admit(weight)?;
                    items.push(value);
                }
            }
        }
        Ok(match kind {
            SubqueryKind::Exists => Value::Bool(count > 0),
            SubqueryKind::Count => Value::Int(count),
            SubqueryKind::Collect => Value::list(items),
        })
    }

    fn step(&self) -> Result<()> {
        self.limits.step()
    }

    fn admit(&self, bytes: u64) -> Result<()> {
        self.limits.admit(bytes)
    }
}
