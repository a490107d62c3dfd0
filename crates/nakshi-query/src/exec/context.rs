//! The state that the operators of a query share.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;

use super::change::Writer;
use crate::error::{Class, QueryError, Result};
use crate::eval::Scope;
use crate::ir::SubqueryKind;
use crate::plan::{Plan, Prepared};
use crate::procedure::{Procedures, User};
use crate::value::{Map, Row, Value, weight_of};
use crate::view::View;

/// Rows of the largest batch.
pub(crate) const BATCH: usize = 1024;
/// Steps after which the clock and the cancel token are looked at.
const STEPS: u64 = 256;
/// Milliseconds between two questions to whoever runs the query.
const STOP: u64 = 25;

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

/// Limits of a query.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) cancel: CancelToken,
    stop: Option<fn() -> bool>,
    began: Instant,
    /// Milliseconds from the beginning to the next question to `stop`.
    next_stop: AtomicU64,
    pub(crate) deadline: Option<Instant>,
    /// Bytes that rows, groups and changes may take.
    pub(crate) memory: u64,
    /// Who asks the query.
    pub(crate) user: User,
    used: AtomicU64,
    steps: AtomicU64,
}

impl Limits {
    pub(crate) fn new(
        cancel: CancelToken,
        stop: Option<fn() -> bool>,
        deadline: Option<Instant>,
        memory: u64,
        user: User,
    ) -> Self {
        let (used, steps, next_stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(STOP));
        let began = Instant::now();
        Limits { cancel, stop, began, next_stop, deadline, memory, user, used, steps }
    }

    /// Returns true if whoever runs the query wants it to end.
    fn is_stopped(&self) -> bool {
        let Some(stop) = self.stop else { return false };
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if now < self.next_stop.load(Relaxed) {
            return false;
        }
        self.next_stop.store(now.saturating_add(STOP), Relaxed);
        stop()
    }

    /// Bytes that may still be taken; `None` for no limit.
    pub(crate) fn left(&self) -> Option<u64> {
        let limited = self.memory != u64::MAX;
        limited.then(|| self.memory.saturating_sub(self.used.load(Relaxed)))
    }

    /// Fails if the query may not take so many bytes more.
    pub(crate) fn admit(&self, bytes: u64) -> Result<()> {
        match self.used.load(Relaxed).saturating_add(bytes) <= self.memory {
            true => Ok(()),
            false => Err(self.too_much()),
        }
    }

    pub(super) fn too_much(&self) -> QueryError {
        let most = self.memory;
        let message = format!("the query needs more than its {most} bytes of memory; give it more");
        QueryError::run(Class::Memory, "Memory", message)
    }

    /// Bytes of new values after which a batch of rows ends.
    pub(crate) fn of_batch(&self) -> u64 {
        self.memory / 8
    }

    /// Counts a step; looks at the clock now and then.
    pub(crate) fn step(&self) -> Result<()> {
        let steps = self.steps.fetch_add(1, Relaxed);
        if steps.is_multiple_of(STEPS) { self.check() } else { Ok(()) }
    }

    /// Fails if the query has to end.
    pub(crate) fn check(&self) -> Result<()> {
        if self.cancel.check().is_err() || self.is_stopped() {
            return Err(QueryError::run(Class::Cancelled, "Cancelled", "the query was cancelled"));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let message = "the query has run past its deadline; give it more time";
            return Err(QueryError::run(Class::Deadline, "Deadline", message));
        }
        Ok(())
    }
}

/// Memory that an operator holds; freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    limits: Arc<Limits>,
    bytes: u64,
}

impl Held {
    pub(crate) fn new(cx: &Context) -> Self {
        Held { limits: Arc::clone(&cx.limits), bytes: 0 }
    }

    /// Takes more bytes.
    pub(crate) fn take(&mut self, bytes: u64) -> Result<()> {
        let used = self.limits.used.fetch_add(bytes, Relaxed) + bytes;
        self.bytes += bytes;
        if used <= self.limits.memory { Ok(()) } else { Err(self.limits.too_much()) }
    }

    /// Takes more bytes if the query can spare them: if half of its memory is free then. Returns false if not.
    pub(crate) fn takes_spare(&mut self, bytes: u64) -> bool {
        let used = self.limits.used.load(Relaxed).saturating_add(bytes);
        let spare = used <= self.limits.memory / 2;
        if spare {
            self.limits.used.fetch_add(bytes, Relaxed);
            self.bytes += bytes;
        }
        spare
    }

    /// Takes the bytes of a row.
    pub(crate) fn take_row(&mut self, row: &Row) -> Result<()> {
        self.take(weight_of(row))
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes over what another part of the query holds.
    pub(super) fn take_over(&mut self, mut other: Held) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Frees all of it.
    pub(super) fn free(&mut self) {
        self.limits.used.fetch_sub(std::mem::take(&mut self.bytes), Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.free();
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
