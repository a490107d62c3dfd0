//! Property values and conditions as Python objects.

use std::ops::Bound as Limit;

use nakshi::property::{Condition, PropertyGraph, Value};
use nakshi::store::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyString, PyTuple};

use crate::errors::Failure;
use crate::temporal::temporal_of;

/// Converts a value of a property.
pub fn value_of(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Value::Float(float.value()));
    }
    if object.hasattr("__index__")? {
        return Ok(Value::Int(object.call_method0("__index__")?.extract()?));
    }
    if object.is_instance_of::<PyList>() || object.is_instance_of::<pyo3::types::PyTuple>() {
        let items = object.try_iter()?.map(|item| value_of(&item?));
        return Ok(Value::List(items.collect::<PyResult<_>>()?));
    }
    if let Some(value) = temporal_of(object)? {
        return Ok(value);
    }
    let name = object.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a property is str, bytes, int, float, bool, a date, datetime, time or timedelta, or a list of \
         these, not {name}"
    )))
}

/// Name of a property, and a condition on it as a tuple that begins with its kind.
pub type Asked<'py> = (String, Bound<'py, PyTuple>);

/// Conditions on properties, by their names.
pub type Conditions = Vec<(String, Condition)>;

/// Conditions on nodes, with Python values or with values as text.
pub fn wanted(graph: &PropertyGraph, asked: Vec<Asked<'_>>, text: bool) -> PyResult<Conditions> {
    parsed(asked, text, |name, text| graph.parse(name, text))
}

/// Conditions on edges, with Python values or with values as text.
pub fn wanted_of_edges(
    graph: &PropertyGraph,
    asked: Vec<Asked<'_>>,
    text: bool,
) -> PyResult<Conditions> {
    parsed(asked, text, |name, text| graph.parse_of_edge(name, text))
}

/// Conditions with Python values.
pub fn conditions(asked: Vec<Asked<'_>>) -> PyResult<Conditions> {
    let one = |(name, parts): Asked<'_>| Ok((name, condition(&parts, &value_of, 0)?));
    asked.into_iter().map(one).collect()
}

fn parsed(
    asked: Vec<Asked<'_>>,
    text: bool,
    parse: impl Fn(&str, &str) -> nakshi::store::Result<Value>,
) -> PyResult<Conditions> {
    if !text {
        return conditions(asked);
    }
    let one = |(name, parts): Asked<'_>| {
        let value = |value: &Bound<'_, PyAny>| -> PyResult<Value> {
            let text = value.cast::<PyString>()?.to_str()?;
            Ok(parse(&name, text).map_err(Failure::from)?)
        };
        let condition = condition(&parts, &value, 0)?;
        Ok((name, condition))
    };
    asked.into_iter().map(one).collect()
}

/// Most levels of conditions within conditions; deeper ones could exhaust the stack.
const DEPTH: usize = 64;

/// Parses a condition: a tuple of its kind and its values, bounds or conditions.
fn condition(
    parts: &Bound<'_, PyTuple>,
    value: &dyn Fn(&Bound<'_, PyAny>) -> PyResult<Value>,
    depth: usize,
) -> PyResult<Condition> {
    if depth > DEPTH {
        let what = format!("a condition has more than {DEPTH} levels; write it flatter");
        return Err(Failure::from(Error::Invalid(what)).into());
    }
    let rest = || parts.iter().skip(1);
    let inner = |one: Bound<'_, PyAny>| condition(one.cast::<PyTuple>()?, value, depth + 1);
    let bound = |at: usize| -> PyResult<Limit<Value>> {
        let limit = parts.get_item(at)?;
        Ok(match (limit.is_none(), parts.get_item(at + 1)?.is_truthy()?) {
            (true, _) => Limit::Unbounded,
            (false, true) => Limit::Included(value(&limit)?),
            (false, false) => Limit::Excluded(value(&limit)?),
        })
    };
    Ok(match parts.get_item(0)?.extract::<String>()?.as_str() {
        "is" => Condition::Is(value(&parts.get_item(1)?)?),
        "contains" => Condition::Contains(value(&parts.get_item(1)?)?),
        "starts" => Condition::Starts(value(&parts.get_item(1)?)?),
        "range" => Condition::Range(bound(1)?, bound(3)?),
        "in" => Condition::In(rest().map(|one| value(&one)).collect::<PyResult<_>>()?),
        "null" => Condition::Null,
        "not" => Condition::Not(Box::new(inner(parts.get_item(1)?)?)),
        "and" => Condition::All(rest().map(inner).collect::<PyResult<_>>()?),
        "or" => Condition::Any(rest().map(inner).collect::<PyResult<_>>()?),
        other => return Err(PyTypeError::new_err(format!("there is no condition '{other}'"))),
    })
}
