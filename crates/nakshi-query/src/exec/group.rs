//! Groups of rows, and aggregations of their values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::context::{BATCH, Context, Made, Source, Whole};
use super::limits::Held;
use crate::arithmetic;
use crate::error::{Class, QueryError, Result};
use crate::eval::{eval, set};
use crate::ir::{Aggregate, Aggregation, Binary, Expr};
use crate::order::{Key, order};
use crate::plan::Plan;
use crate::value::{Row, Value};

/// One row for each group: its first, with the results of aggregations.
pub(super) struct Group {
    pub(super) plan: Arc<Plan>,
    pub(super) input: Box<dyn Source>,
    pub(super) groups: Made,
}

/// A group: its first row, and what its aggregations know so far.
struct Found {
    row: Row,
    states: Vec<State>,
}

/// One row for each group of the rows of the input.
fn group(plan: &Plan, input: &mut dyn Source, cx: &mut Context) -> Result<Whole> {
    let mut held = Held::new(&cx.limits);
    let Plan::Aggregate { keys, aggregations, .. } = plan else {
        return Ok((Vec::new(), held));
    };
    let mut places: HashMap<Vec<Key>, usize> = HashMap::new();
    let mut groups: Vec<Found> = Vec::new();
    loop {
        let rows = input.next(cx, BATCH)?;
        if rows.is_empty() {
            break;
        }
        for mut row in rows {
            cx.limits.step()?;
            let key = keys.iter().map(|key| eval(&*cx, key, &mut row).map(Key));
            let key = key.collect::<Result<Vec<_>>>()?;
            let place = match places.get(&key) {
                Some(place) => *place,
                None => {
                    held.take_row(&row)?;
                    held.take(64 * (key.len() + aggregations.len()) as u64)?;
                    places.insert(key, groups.len());
                    let states = aggregations.iter().map(State::new).collect();
                    groups.push(Found { row: row.clone(), states });
                    groups.len() - 1
                }
            };
            let Some(group) = groups.get_mut(place) else { continue };
            for (state, aggregation) in group.states.iter_mut().zip(aggregations) {
                state.add(cx, aggregation, &mut row, &mut held)?;
            }
        }
    }
    if groups.is_empty() && keys.is_empty() {
        let row = vec![Value::Null; cx.prepared.width];
        groups.push(Found { row, states: aggregations.iter().map(State::new).collect() });
    }
    let mut rows = Vec::with_capacity(groups.len());
    for Found { mut row, states } in groups {
        for (state, aggregation) in states.into_iter().zip(aggregations) {
            let value = state.finish(cx, aggregation, &mut row)?;
            set(&mut row, aggregation.slot, value);
        }
        rows.push(row);
    }
    Ok((rows, held))
}

impl Source for Group {
    fn next(&mut self, cx: &mut Context, most: usize) -> Result<Vec<Row>> {
        self.groups.next(most, || group(&self.plan, &mut *self.input, cx))
    }
}

/// State of an aggregation after the values so far.
#[derive(Default)]
struct State {
    count: i64,
    /// Sum, least or greatest value.
    value: Value,
    /// Mean, and sum of the squared distances from it (Welford, "Note on a Method for Calculating
    /// Corrected Sums of Squares and Products", 1962).
    mean: f64,
    squares: f64,
    items: Vec<Value>,
    /// Second argument of percentiles.
    share: Value,
    seen: Option<HashSet<Key>>,
}

impl State {
    fn new(aggregation: &Aggregation) -> Self {
        State { seen: aggregation.distinct.then(HashSet::new), ..State::default() }
    }

    fn add(
        &mut self,
        cx: &Context,
        aggregation: &Aggregation,
        row: &mut Row,
        held: &mut Held,
    ) -> Result<()> {
        if aggregation.function == Aggregate::CountRows {
            self.count += 1;
            return Ok(());
        }
        let mut arguments = aggregation.arguments.iter();
        let value = arguments.next().map_or(Ok(Value::Null), |one| eval(cx, one, row))?;
        if value.is_null() {
            return Ok(());
        }
        if let Some(share) = arguments.next()
            && self.share.is_null()
        {
            self.share = eval(cx, share, row)?;
            check_share(&self.share)?;
        }
        if let Some(seen) = &mut self.seen {
            if !seen.insert(Key(value.clone())) {
                return Ok(());
            }
            held.take(value.weight())?;
        }
        self.count += 1;
        match aggregation.function {
            Aggregate::CountRows | Aggregate::Count => {}
            Aggregate::Sum | Aggregate::Avg => self.add_number(&value)?,
            Aggregate::Min | Aggregate::Max => {
                let wanted = match aggregation.function {
                    Aggregate::Min => std::cmp::Ordering::Less,
                    _ => std::cmp::Ordering::Greater,
                };
                if self.value.is_null() || order(&value, &self.value) == wanted {
                    self.value = value;
                }
            }
            Aggregate::StDev | Aggregate::StDevP => {
                let value = number(&value)?;
                let distance = value - self.mean;
                self.mean += distance / self.count as f64;
                self.squares += distance * (value - self.mean);
            }
            Aggregate::Collect | Aggregate::PercentileCont | Aggregate::PercentileDisc => {
                if aggregation.function != Aggregate::Collect {
                    number(&value)?;
                }
                held.take(value.weight())?;
                self.items.push(value);
            }
        }
        Ok(())
    }

    fn add_number(&mut self, value: &Value) -> Result<()> {
        if !matches!(value, Value::Int(_) | Value::Float(_) | Value::Duration(_)) {
            return Err(QueryError::of_type(format!("{value} cannot be added up")));
        }
        self.value = match &self.value {
            Value::Null => value.clone(),
            sum => arithmetic::binary(Binary::Add, sum, value)?,
        };
        Ok(())
    }

    fn finish(mut self, cx: &Context, aggregation: &Aggregation, row: &mut Row) -> Result<Value> {
        Ok(match aggregation.function {
            Aggregate::CountRows | Aggregate::Count => Value::Int(self.count),
            Aggregate::Sum if self.count == 0 => Value::Int(0),
            Aggregate::Sum | Aggregate::Min | Aggregate::Max => self.value,
            Aggregate::Avg if self.count == 0 => Value::Null,
            Aggregate::Avg => {
                arithmetic::binary(Binary::Divide, &self.value, &Value::Float(self.count as f64))?
            }
            Aggregate::Collect => Value::list(self.items),
            Aggregate::StDev if self.count > 1 => {
                Value::Float((self.squares / (self.count - 1) as f64).sqrt())
            }
            Aggregate::StDevP if self.count > 0 => {
                Value::Float((self.squares / self.count as f64).sqrt())
            }
            Aggregate::StDev | Aggregate::StDevP => Value::Float(0.0),
            Aggregate::PercentileCont | Aggregate::PercentileDisc => {
                if let (Value::Null, Some(share)) = (&self.share, aggregation.arguments.get(1)) {
                    check_share(&eval(cx, share as &Expr, row)?)?;
                }
                self.items.sort_by(order);
                percentile(aggregation.function, &self.items, &self.share)?
            }
        })
    }
}

fn number(value: &Value) -> Result<f64> {
    match value {
        Value::Int(value) => Ok(*value as f64),
        Value::Float(value) => Ok(*value),
        other => Err(QueryError::of_type(format!("{other} is no number"))),
    }
}

fn check_share(share: &Value) -> Result<()> {
    if share.is_null() || (0.0..=1.0).contains(&number(share)?) {
        return Ok(());
    }
    let message = format!("a percentile is between 0 and 1, and {share} is not");
    Err(QueryError::run(Class::Argument, "NumberOutOfRange", message))
}

/// The percentile of sorted numbers.
fn percentile(function: Aggregate, sorted: &[Value], share: &Value) -> Result<Value> {
    if sorted.is_empty() {
        return Ok(Value::Null);
    }
    let (share, last) = (number(share)?, (sorted.len() - 1) as f64);
    let at = |place: f64| sorted.get(place as usize).cloned().unwrap_or_default();
    if function == Aggregate::PercentileDisc {
        let place = (share * sorted.len() as f64).ceil() - 1.0;
        return Ok(at(place.clamp(0.0, last)));
    }
    let place = share * last;
    let (low, high) = (number(&at(place.floor()))?, number(&at(place.ceil()))?);
    Ok(Value::Float(low + (high - low) * (place - place.floor())))
}
