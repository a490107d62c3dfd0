//! The functions of expressions.
//!
//! - `entry` is what a table of functions has
//! - `graph` reads nodes, edges and paths; `lists` lists and maps
//! - `numbers`, `texts` and `conversions` are what their names say
//! - `temporal` makes dates, times and durations, and `fields` takes them apart
//! - `points` has points in space

pub(crate) mod conversions;
mod entry;
pub(crate) mod fields;
mod graph;
pub(crate) mod lists;
mod numbers;
mod points;
mod temporal;
mod texts;
mod truncation;

use std::ops::RangeInclusive;

use super::error::Result;
use super::ir::Function;
use super::value::Value;
use super::view::View;
use entry::Entry;

/// All functions.
static FUNCTIONS: &[&[Entry]] = &[
    graph::FUNCTIONS,
    lists::FUNCTIONS,
    numbers::FUNCTIONS,
    texts::FUNCTIONS,
    conversions::FUNCTIONS,
    temporal::FUNCTIONS,
    truncation::FUNCTIONS,
    points::FUNCTIONS,
];

/// Names of the functions, in lower case.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    entries().map(|entry| entry.name)
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    FUNCTIONS.iter().flat_map(|some| some.iter())
}

/// A function by its name in lower case, with the numbers of arguments that it takes.
pub(crate) fn find(name: &str) -> Option<(Function, RangeInclusive<usize>)> {
    let (number, entry) = entries().enumerate().find(|(_, entry)| entry.name == name)?;
    Some((Function(number), entry.takes.clone()))
}

/// True for `range`, whose integers an operator can make one after the other.
pub(crate) fn is_range(function: Function) -> bool {
    entries().nth(function.0).is_some_and(|entry| entry.name == "range")
}

/// The value of a function for some arguments; `admit` fails for bytes that are more than the query may take.
pub(crate) fn call(
    function: Function,
    view: &View,
    arguments: &[Value],
    admit: impl FnOnce(u64) -> Result<()>,
) -> Result<Value> {
    let Some(entry) = entries().nth(function.0) else { return Ok(Value::Null) };
    if entry.strict && arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    if let Some(weight) = entry.weight {
        admit(weight(arguments))?;
    }
    (entry.call)(view, arguments)
}
