//! Sorted rows.

use std::cmp::Ordering;
use std::sync::Arc;

use super::context::{Context, Held, Source};
use super::rows::count;
use crate::error::Result;
use crate::eval::eval;
use crate::order::order;
use crate::plan::Plan;
use crate::value::{Row, Value};

/// Rows that are taken from the input at once.
const BATCH: usize = 1024;
/// How many times the wanted rows are kept before those behind them are dropped.
const SPARE: usize = 2;

/// Sorted rows; of a limit only the first.
pub(super) struct Sort {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) sorted: Option<(std::vec::IntoIter<Row>, Held)>,
}

impl Sort {
    fn sort(&mut self, cx: &mut Context) -> Result<(std::vec::IntoIter<Row>, Held)> {
        let mut held = Held::new(cx);
        let Plan::Sort { keys, first, .. } = &*self.plan else {
            return Ok((Vec::new().into_iter(), held));
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
            let rows = self.input.next(cx, BATCH)?;
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
        let rows: Vec<Row> = all.into_iter().map(|(_, row)| row).collect();
        Ok((rows.into_iter(), held))
    }
}

impl Source for Sort {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(cx)?);
        }
        let rows = self.sorted.iter_mut().flat_map(|(rows, _)| rows.by_ref().take(most));
        Ok(rows.collect())
    }
}
