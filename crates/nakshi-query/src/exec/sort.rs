//! Sorted rows.

use std::cmp::Ordering;
use std::sync::Arc;

use super::context::{BATCH, Context, Made, Source, Whole};
use super::limits::Held;
use super::rows::count;
use super::runs::{Keyed, Merge, Runs, of_key, of_keys};
use crate::error::Result;
use crate::eval::eval;
use crate::ir::Expr;
use crate::plan::Plan;
use crate::value::{Row, Value, weight_of};

/// How many times the wanted rows are kept before those behind them are dropped, and how many at least.
const SPARE: usize = 2;
const LEAST: usize = 128;
/// Rows that take less than this part of a query's memory are not written to the disk.
const SHORT: u64 = 8;

/// Sorted rows; of a limit only the first. Rows for which the query has too little memory are on the disk, in
/// sorted runs that are merged.
pub(super) struct Sort {
    plan: Arc<Plan>,
    input: Box<dyn Source>,
    sorted: Made,
    /// The rows, if they are on the disk.
    merge: Option<Merge>,
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
    /// Rows on the disk.
    runs: Option<Runs>,
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
        let keyed = (values, row);
        self.hold(cx, weight(&keyed))?;
        self.rows.push(keyed);
        if self.rows.len() > self.first.saturating_mul(SPARE).max(LEAST) {
            self.sort();
            self.held.free();
            self.rows.iter().try_for_each(|keyed| self.held.take(weight(keyed)))?;
        }
        Ok(())
    }

    /// Holds the memory of one more row; where there is too little, those so far go to the disk.
    fn hold(&mut self, cx: &Context, bytes: u64) -> Result<()> {
        if self.held.takes_spare(bytes) {
            return Ok(());
        }
        if self.held.bytes() > cx.limits.memory / SHORT {
            self.write(cx)?;
        }
        self.held.take(bytes)
    }

    /// Writes the rows so far to the disk.
    fn write(&mut self, cx: &Context) -> Result<()> {
        self.sort();
        let runs = match &mut self.runs {
            Some(runs) => runs,
            none => none.insert(Runs::new(cx)?),
        };
        runs.write(cx, &self.rows, self.held.bytes())?;
        self.rows.clear();
        self.held.free();
        Ok(())
    }

    /// Sorts the rows, and drops those that are not wanted.
    fn sort(&mut self) {
        let descends = || self.keys.iter().map(|(_, descends)| *descends);
        self.rows.sort_by(|(a, _), (b, _)| of_keys(descends(), a, b));
        if self.rows.len() >= self.first {
            self.rows.truncate(self.first);
            self.last = self.rows.last().map(|(values, _)| values.clone());
        }
    }

    /// All rows: in memory, or on the disk.
    fn finish(mut self, cx: &Context) -> Result<(Whole, Option<Merge>)> {
        if self.runs.is_some() {
            self.write(cx)?;
        } else {
            self.sort();
        }
        let descends = self.keys.iter().map(|(_, descends)| *descends).collect();
        let merge = self.runs.map(|runs| runs.merge(cx, descends, self.first)).transpose()?;
        Ok(((self.rows.into_iter().map(|(_, row)| row).collect(), self.held), merge))
    }
}

/// Bytes that a row takes with its values.
fn weight((values, row): &Keyed) -> u64 {
    weight_of(values).saturating_add(weight_of(row))
}

/// The rows of the input, sorted.
fn sort(plan: &Plan, input: &mut dyn Source, cx: &mut Context) -> Result<(Whole, Option<Merge>)> {
    let Plan::Sort { keys, first, .. } = plan else {
        return Ok(((Vec::new(), Held::new(&cx.limits)), None));
    };
    let first = first.as_ref().map(|first| count(cx, first)).transpose()?;
    let first = first.map_or(usize::MAX, |first| usize::try_from(first).unwrap_or(usize::MAX));
    let (rows, held) = (Vec::new(), Held::new(&cx.limits));
    let mut sorting = Sorting { keys, first, rows, last: None, held, runs: None };
    loop {
        let rows = input.next(cx, BATCH)?;
        if rows.is_empty() {
            return sorting.finish(cx);
        }
        for row in rows {
            cx.limits.step()?;
            sorting.add(cx, row)?;
        }
    }
}

impl Sort {
    pub(super) fn new(plan: Arc<Plan>, input: Box<dyn Source>) -> Self {
        Sort { plan, input, sorted: Made::default(), merge: None }
    }
}

impl Source for Sort {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        let rows = self.sorted.next(most, || {
            let (rows, merge) = sort(&self.plan, &mut *self.input, cx)?;
            self.merge = merge;
            Ok(rows)
        })?;
        match &mut self.merge {
            Some(merge) => merge.next(cx, most),
            None => Ok(rows),
        }
    }
}
