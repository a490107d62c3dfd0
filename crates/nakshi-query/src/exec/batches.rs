//! `CALL { ... } IN TRANSACTIONS`: a subquery that commits after every so many rows.

use std::sync::Arc;

use super::context::{BATCH, Context, Made, Source, Whole, run_out};
use super::limits::Held;
use super::nested::{Eager, all_rows};
use super::write::writing;
use crate::error::{Class, QueryError, Result};
use crate::eval::eval;
use crate::ir::{Batches, OnError};
use crate::plan::Plan;
use crate::value::{Row, Value};

/// Rows of a transaction, if the query does not say.
const ROWS: usize = 1000;
/// How often a transaction runs again after a conflict.
const ATTEMPTS: usize = 100;

/// The rows of the subquery, of which some have been committed.
pub(super) struct InTransactions {
    plan: Arc<Plan>,
    input: Box<dyn Source>,
    /// Rows of a transaction.
    size: Option<usize>,
    /// Rows that are done, with the memory that they hold.
    ready: Option<(std::vec::IntoIter<Row>, Held)>,
    /// True behind an error that ends the transactions, but not the query.
    broken: bool,
}

impl InTransactions {
    pub(super) fn new(plan: Arc<Plan>, input: Box<dyn Source>) -> Self {
        // Rows that come from the graph are taken before it changes.
        let input: Box<dyn Source> = match plan.input().is_some_and(|input| input.reads_graph()) {
            true => Box::new(Eager { input, rows: Made::default() }),
            false => input,
        };
        InTransactions { plan, input, size: None, ready: None, broken: false }
    }

    /// The next rows of the input, up to those of a transaction.
    fn batch(&mut self, cx: &mut Context, size: usize) -> Result<Whole> {
        let (mut rows, mut held) = (Vec::new(), Held::new(&cx.limits));
        while rows.len() < size {
            let more = self.input.next(cx, (size - rows.len()).min(BATCH))?;
            if more.is_empty() {
                break;
            }
            more.iter().try_for_each(|row| held.take_row(row))?;
            rows.extend(more);
        }
        Ok((rows, held))
    }

    /// Runs the subquery for some rows, and commits.
    fn run(&self, cx: &mut Context, rows: &[Row]) -> Result<Whole> {
        let (mut out, mut held) = (Vec::new(), Held::new(&cx.limits));
        let Plan::Apply { inner, returns, .. } = &*self.plan else { return Ok((out, held)) };
        for row in rows {
            let mut source = (cx.open)(inner, row);
            match returns {
                true => {
                    let (rows, more) = all_rows(&mut *source, cx)?;
                    out.extend(rows);
                    held.take_over(more);
                }
                false => {
                    run_out(&mut *source, cx)?;
                    out.push(row.clone());
                }
            }
        }
        let cancel = cx.limits.cancel.clone();
        let (writer, view) = writing(cx)?;
        writer.commit(view, &cancel)?;
        Ok((out, held))
    }

    /// As [`InTransactions::run`], again after a conflict; an error undoes the changes of these rows.
    fn run_or_undo(&self, cx: &mut Context, rows: &[Row]) -> Result<Whole> {
        let mut attempt = 1;
        loop {
            let counters = writing(cx)?.0.counters;
            let error = match self.run(cx, rows) {
                Ok(out) => return Ok(out),
                Err(error) => error,
            };
            let (writer, view) = writing(cx)?;
            writer.counters = counters;
            writer.begin_anew(view)?;
            if !error.is_transient() || attempt == ATTEMPTS {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Rows of a transaction, as the query says.
    fn size(&mut self, cx: &mut Context, batches: &Batches) -> Result<usize> {
        if let Some(size) = self.size {
            return Ok(size);
        }
        let size = match &batches.rows {
            None => ROWS,
            Some(rows) => match eval(&*cx, rows, &mut vec![Value::Null; cx.prepared.width])? {
                Value::Int(rows) if rows > 0 => usize::try_from(rows).unwrap_or(usize::MAX),
                other => {
                    let message = format!("OF {other} ROWS needs a number above 0");
                    return Err(QueryError::of_argument(message));
                }
            },
        };
        self.size = Some(size);
        Ok(size)
    }
}

impl Source for InTransactions {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let plan = Arc::clone(&self.plan);
        let Plan::Apply { batches: Some(batches), .. } = &*plan else { return Ok(Vec::new()) };
        let size = self.size(cx, batches)?;
        loop {
            if let Some((rows, _held)) = &mut self.ready
                && rows.len() > 0
            {
                return Ok(rows.take(most).collect());
            }
            self.ready = None;
            let (rows, held) = self.batch(cx, size)?;
            if rows.is_empty() {
                return Ok(Vec::new());
            }
            // Rows whose changes were not made have null in the columns of the subquery.
            let done = match self.broken {
                true => (rows, held),
                false => match self.run_or_undo(cx, &rows) {
                    Ok(done) => done,
                    Err(error) if batches.on_error == OnError::Fail || must_end(&error) => {
                        return Err(error);
                    }
                    Err(_) => {
                        self.broken = batches.on_error == OnError::Break;
                        (rows, held)
                    }
                },
            };
            self.ready = Some((done.0.into_iter(), done.1));
        }
    }
}

/// Returns true for an error after which a query has to end.
fn must_end(error: &QueryError) -> bool {
    matches!(
        error.class(),
        Class::Cancelled | Class::Deadline | Class::Memory | Class::Moved | Class::Store
    )
}
