//! Sorted rows.

use std::cmp::Ordering;
use std::sync::Arc;

use super::context::{BATCH, Context, Held, Made, Source, Whole};
use super::rows::count;
use crate::error::Result;
use crate::eval::eval;
use crate::order::order;
use crate::plan::Plan;
use crate::value::{Row, Value};

/// How many times the wanted rows are kept before those behind them are dropped.
const SPARE: usize = 2;

/// Sorted rows; of a limit only the first.
pub(super) struct Sort {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) sorted: Made,
}

/// The rows of the input, sorted.
fn sort(plan: &Plan, input: &mut dyn Source, cx: &mut Context) -> Result<Whole> {
    let mut held = Held::new(cx);
    let Plan::Sort { keys, first, .. } = plan else {
        return Ok((Vec::new(), held));
    };
    let first = first.as_ref().map(|first| count(cx, first)).transpose()?;
    let first = first.map(|first| usize::try_from(first).unwrap_or(usize::MAX));
    let most = first.map_or(usize::MAX, |first| first.saturating_mul(SPARE).max(BATCH));
    let compare = |a: &(Vec<Value>, Row), b: &(Vec<Value>, Row)| {
        let pairs = keys.iter().zip(a.0.iter().zip(&b.0));
        let orders = pairs.map(|((_, descends), (a, b))| {
            let found = order(a, b);
            if *descends { found.reverse() } else { found }
        });
        orders.into_iter().find(|found| found.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut all: Vec<(Vec<Value>, Row)> = Vec::new();
    loop {
        let rows = input.next(cx, BATCH)?;
        if rows.is_empty() {
            break;
        }
        for mut row in rows {
            cx.limits.step()?;
            let values = keys.iter().map(|(key, _)| eval(&*cx, key, &mut row));
            let values = values.collect::<Result<Vec<_>>>()?;
            held.take_row(&values)?;
            held.take_row(&row)?;
            all.push((values, row));
        }
        if let Some(first) = first
            && all.len() > most
        {
            all.sort_by(compare);
            all.truncate(first);
            held = Held::new(cx);
            for (values, row) in &all {
                held.take_row(values)?;
                held.take_row(row)?;
            }
        }
    }
    all.sort_by(compare);
    all.truncate(first.unwrap_or(usize::MAX));
    Ok((all.into_iter().map(|(_, row)| row).collect(), held))
}

impl Source for Sort {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        self.sorted.next(most, || sort(&self.plan, &mut *self.input, cx))
    }
}
