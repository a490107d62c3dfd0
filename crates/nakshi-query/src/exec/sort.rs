//! Sorted rows.

use std::cmp::Ordering;
use std::sync::Arc;

use super::context::{BATCH, Context, Held, Made, Source, Whole};
use super::rows::count;
use crate::error::Result;
use crate::eval::eval;
use crate::ir::Expr;
use crate::order::order;
use crate::plan::Plan;
use crate::value::{Row, Value};

/// How many times the wanted rows are kept before those behind them are dropped, and how many at least.
const SPARE: usize = 2;
const LEAST: usize = 128;

/// Sorted rows; of a limit only the first.
pub(super) struct Sort {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) sorted: Made,
}

/// A row with the values that it is sorted by.
type Keyed = (Vec<Value>, Row);

fn of_key(a: &Value, b: &Value, descends: bool) -> Ordering {
    if descends { order(b, a) } else { order(a, b) }
}

/// The rows so far.
struct Sorting<'p> {
    keys: &'p [(Expr, bool)],
    /// Number of rows that are wanted.
    first: usize,
    rows: Vec<Keyed>,
    /// The values of the last row that was wanted when rows were dropped.
    last: Option<Vec<Value>>,
    held: Held,
}

impl Sorting<'_> {
    fn add(&mut self, cx: &Context, mut row: Row) -> Result<()> {
        let mut values = Vec::with_capacity(self.keys.len());
        // The order of the row and the last one by the keys so far.
        let mut found = Ordering::Equal;
        for (at, (key, descends)) in self.keys.iter().enumerate() {
            let value = eval(cx, key, &mut row)?;
            if let (Some(last), Ordering::Equal) = (&self.last, found) {
                found = last.get(at).map_or(found, |last| of_key(&value, last, *descends));
                if found == Ordering::Greater {
                    return Ok(());
                }
            }
            values.push(value);
        }
        self.held.take_row(&values)?;
        self.held.take_row(&row)?;
        self.rows.push((values, row));
        if self.rows.len() > self.first.saturating_mul(SPARE).max(LEAST) {
            self.sort();
            self.last = self.rows.last().map(|(values, _)| values.clone());
            self.held = Held::new(cx);
            for (values, row) in &self.rows {
                self.held.take_row(values)?;
                self.held.take_row(row)?;
            }
        }
        Ok(())
    }

    /// Sorts the rows, and drops those that are not wanted.
    fn sort(&mut self) {
        let keys = self.keys;
        self.rows.sort_by(|(a, _), (b, _)| {
            let pairs = keys.iter().zip(a.iter().zip(b));
            let mut orders = pairs.map(|((_, descends), (a, b))| of_key(a, b, *descends));
            orders.find(|found| found.is_ne()).unwrap_or(Ordering::Equal)
        });
        self.rows.truncate(self.first);
    }
}

/// The rows of the input, sorted.
fn sort(plan: &Plan, input: &mut dyn Source, cx: &mut Context) -> Result<Whole> {
    let Plan::Sort { keys, first, .. } = plan else { return Ok((Vec::new(), Held::new(cx))) };
    let first = first.as_ref().map(|first| count(cx, first)).transpose()?;
    let first = first.map_or(usize::MAX, |first| usize::try_from(first).unwrap_or(usize::MAX));
    let (rows, held) = (Vec::new(), Held::new(cx));
    let mut sorting = Sorting { keys, first, rows, last: None, held };
    loop {
        let rows = input.next(cx, BATCH)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            cx.limits.step()?;
            sorting.add(cx, row)?;
        }
    }
    sorting.sort();
    Ok((sorting.rows.into_iter().map(|(_, row)| row).collect(), sorting.held))
}

impl Source for Sort {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        self.sorted.next(most, || sort(&self.plan, &mut *self.input, cx))
    }
}
