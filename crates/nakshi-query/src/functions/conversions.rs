//! Functions that make one type of another.

use super::entry::{Entry, lenient, strict};
use crate::error::{Class, QueryError, Result};
use crate::value::Value;
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("tostring", 1..=1, |_, values| of("toString", values, to_string)),
    strict("tointeger", 1..=1, |_, values| of("toInteger", values, to_integer)),
    strict("tofloat", 1..=1, |_, values| of("toFloat", values, to_float)),
    strict("toboolean", 1..=1, |_, values| of("toBoolean", values, to_boolean)),
    strict("tostringornull", 1..=1, |_, values| or_null(values, to_string)),
    strict("tointegerornull", 1..=1, |_, values| or_null(values, to_integer)),
    strict("tofloatornull", 1..=1, |_, values| or_null(values, to_float)),
    strict("tobooleanornull", 1..=1, |_, values| or_null(values, to_boolean)),
    strict("tostringlist", 1..=1, |_, values| each(values, to_string)),
    strict("tointegerlist", 1..=1, |_, values| each(values, to_integer)),
    strict("tofloatlist", 1..=1, |_, values| each(values, to_float)),
    strict("tobooleanlist", 1..=1, |_, values| each(values, to_boolean)),
    lenient("valuetype", 1..=1, |_, values| {
        Ok(Value::text(values.first().map_or("NULL", Value::type_name).to_uppercase()))
    }),
    strict("nullif", 2..=2, |_, values| match values {
        [a, b] if crate::order::equal(a, b) == Some(true) => Ok(Value::Null),
        [a, ..] => Ok(a.clone()),
        [] => Ok(Value::Null),
    }),
    lenient("timestamp", 0..=0, |view: &View, _| {
        Ok(Value::Int(view.now.and_utc().timestamp_millis()))
    }),
];

/// A conversion: `None` for a type that it does not take, null for a value that has none.
type Conversion = fn(&Value) -> Option<Value>;

fn of(function: &str, values: &[Value], convert: Conversion) -> Result<Value> {
    let [value] = values else { return Ok(Value::Null) };
    convert(value).ok_or_else(|| {
        let message = format!("{function}() does not take a value of type {}", value.type_name());
        QueryError::run(Class::Type, "InvalidArgumentValue", message)
    })
}

fn or_null(values: &[Value], convert: Conversion) -> Result<Value> {
    Ok(values.first().and_then(convert).unwrap_or_default())
}

fn each(values: &[Value], convert: Conversion) -> Result<Value> {
    match values {
        [Value::List(items)] => {
            Ok(Value::list(items.iter().map(|item| convert(item).unwrap_or_default()).collect()))
        }
        _ => Err(QueryError::of_type("the function takes a list")),
    }
}

/// The text of a value without quotes.
pub(crate) fn to_string(value: &Value) -> Option<Value> {
    Some(match value {
        Value::String(_) => value.clone(),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Duration(_) | Value::Point(_) => {
            Value::text(value.to_string())
        }
        other if other.is_temporal() => Value::text(other.to_string()),
        _ => return None,
    })
}

fn to_integer(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Int(_) => value.clone(),
        Value::Float(number) => truncated(*number),
        Value::Bool(value) => Value::Int(i64::from(*value)),
        Value::String(text) => match text.trim().parse::<i64>() {
            Ok(number) => Value::Int(number),
            Err(_) => text.trim().parse::<f64>().map_or(Value::Null, truncated),
        },
        _ => return None,
    })
}

/// The integer part of a float; null if it does not fit.
fn truncated(number: f64) -> Value {
    match number.is_finite() && number.abs() < 9.223e18 {
        true => Value::Int(number.trunc() as i64),
        false => Value::Null,
    }
}

fn to_float(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Float(_) => value.clone(),
        Value::Int(number) => Value::Float(*number as f64),
        Value::String(text) => text.trim().parse().map_or(Value::Null, Value::Float),
        _ => return None,
    })
}

fn to_boolean(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bool(_) => value.clone(),
        Value::Int(number) => Value::Bool(*number != 0),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::Null,
        },
        _ => return None,
    })
}
