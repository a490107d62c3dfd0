//! Functions of lists.

use super::entry::{Entry, lenient, strict};
use crate::error::{Class, QueryError, Result};
use crate::value::Value;
use crate::view::View;

/// Most items of a list that `range` makes.
const MOST: i64 = 1 << 26;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("size", 1..=1, size),
    strict("head", 1..=1, |_, values| {
        Ok(items("head", values)?.first().cloned().unwrap_or_default())
    }),
    strict("last", 1..=1, |_, values| {
        Ok(items("last", values)?.last().cloned().unwrap_or_default())
    }),
    strict("tail", 1..=1, tail),
    strict("reverse", 1..=1, reverse),
    strict("range", 2..=3, range).weighed(|values| {
        let count = range_of(values).ok().flatten().map_or(0, |range| range.count);
        count.unsigned_abs().saturating_mul(Value::Int(0).weight())
    }),
    strict("isempty", 1..=1, is_empty),
    lenient("coalesce", 1..=usize::MAX, |_, values| {
        Ok(values.iter().find(|value| !value.is_null()).cloned().unwrap_or_default())
    }),
];

fn wrong(function: &str, value: &Value) -> QueryError {
    let found = value.type_name();
    QueryError::of_type(format!("{function}() does not take a value of type {found}"))
}

fn items<'v>(function: &str, values: &'v [Value]) -> Result<&'v [Value]> {
    match values {
        [Value::List(items)] => Ok(items),
        [other, ..] => Err(wrong(function, other)),
        [] => Ok(&[]),
    }
}

fn size(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::List(items)] => Ok(Value::Int(items.len() as i64)),
        [Value::String(text)] => Ok(Value::Int(text.chars().count() as i64)),
        _ => items("size", values).map(|_| Value::Null),
    }
}

fn is_empty(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::List(items)] => Ok(Value::Bool(items.is_empty())),
        [Value::Map(map)] => Ok(Value::Bool(map.is_empty())),
        [Value::String(text)] => Ok(Value::Bool(text.is_empty())),
        _ => items("isEmpty", values).map(|_| Value::Null),
    }
}

fn tail(_: &View, values: &[Value]) -> Result<Value> {
    Ok(Value::list(items("tail", values)?.iter().skip(1).cloned().collect()))
}

fn reverse(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::String(text)] => Ok(Value::text(text.chars().rev().collect::<String>())),
        [Value::List(items)] => Ok(Value::list(items.iter().rev().cloned().collect())),
        _ => items("reverse", values).map(|_| Value::Null),
    }
}

fn range(_: &View, values: &[Value]) -> Result<Value> {
    let Some(Range { from, step, count }) = range_of(values)? else { return Ok(Value::Null) };
    if count > MOST {
        let message = format!("range() would make more than {MOST} items");
        return Err(QueryError::of_argument(message));
    }
    Ok(Value::list((0..count).map(|i| Value::Int(from + i * step)).collect()))
}

/// The integers of a call of `range`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    /// The first of them.
    pub(crate) from: i64,
    /// Difference of two that follow each other.
    pub(crate) step: i64,
    /// How many there are.
    pub(crate) count: i64,
}

/// The integers of a call of `range` with these arguments; `None` for a wrong number of arguments.
pub(crate) fn range_of(values: &[Value]) -> Result<Option<Range>> {
    let number = |value: &Value| match value {
        Value::Int(number) => Ok(*number),
        other => {
            let message = format!("range() takes integers, and {other} is none");
            Err(QueryError::run(Class::Argument, "InvalidArgumentType", message))
        }
    };
    let numbers = values.iter().map(number).collect::<Result<Vec<_>>>()?;
    let (&[from, to], step) = match numbers.as_slice() {
        [from, to] => (&[*from, *to], 1),
        [from, to, step] => (&[*from, *to], *step),
        _ => return Ok(None),
    };
    if step == 0 {
        let message = "the step of range() is 0; use another";
        return Err(QueryError::run(Class::Argument, "NumberOutOfRange", message));
    }
    let too_long = || QueryError::of_argument("range() would make more than 2^63 items");
    let distance = to.checked_sub(from).ok_or_else(too_long)?;
    let steps = distance.checked_div(step).ok_or_else(too_long)?;
    let count = match distance.signum() * step.signum() < 0 {
        true => 0,
        false => steps.checked_add(1).ok_or_else(too_long)?,
    };
    Ok(Some(Range { from, step, count }))
}
