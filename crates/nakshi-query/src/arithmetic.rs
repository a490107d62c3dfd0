//! Operators on numbers, texts, lists, dates and times.

use std::sync::Arc;

use chrono::TimeDelta;
use regex::RegexBuilder;

use super::error::{Class, QueryError, Result};
use super::ir::Binary;
use super::temporal::{DAY, DateTime, Duration, NANOS, Time, nanos_of, time_of};
use super::value::{Value, float_text};

/// Largest compiled regular expression, in bytes.
const REGEX: usize = 1 << 20;

fn overflow() -> QueryError {
    QueryError::run(Class::Arithmetic, "IntegerOverflow", "the result does not fit an integer")
}

fn wrong(operator: &str, a: &Value, b: &Value) -> QueryError {
    let (a, b) = (a.type_name(), b.type_name());
    QueryError::of_type(format!("{operator} does not take values of types {a} and {b}"))
}

/// The value with the other sign.
pub(crate) fn negate(value: &Value) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Int(value) => value.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Float(value) => Ok(Value::Float(-value)),
        Value::Duration(value) => of_duration(value.negated()),
        other => {
            Err(QueryError::of_type(format!("a value of type {} has no sign", other.type_name())))
        }
    }
}

/// Result of an operator of arithmetic.
pub(crate) fn binary(operator: Binary, a: &Value, b: &Value) -> Result<Value> {
    if operator == Binary::Add {
        return add(a, b);
    }
    if a.is_null() || b.is_null() {
        return Ok(Value::Null);
    }
    match (operator, a, b) {
        (Binary::Power, _, _) => match (float(a), float(b)) {
            (Some(a), Some(b)) => Ok(Value::Float(a.powf(b))),
            _ => Err(wrong("^", a, b)),
        },
        (_, Value::Int(a), Value::Int(b)) => integers(operator, *a, *b),
        (Binary::Subtract, _, Value::Duration(duration)) => match a {
            Value::Duration(a) => {
                of_duration(duration.negated().and_then(|duration| a.plus(duration)))
            }
            _ if a.is_temporal() => moved(a, duration.negated()),
            _ => Err(wrong("-", a, b)),
        },
        (Binary::Multiply, Value::Duration(duration), number)
        | (Binary::Multiply, number, Value::Duration(duration)) => match float(number) {
            Some(factor) => of_duration(duration.times(factor)),
            None => Err(wrong("*", a, b)),
        },
        (Binary::Divide, Value::Duration(duration), number) => match float(number) {
            Some(divisor) => of_duration(duration.times(1.0 / divisor)),
            None => Err(wrong("/", a, b)),
        },
        _ => match (float(a), float(b)) {
            (Some(a), Some(b)) => Ok(Value::Float(match operator {
                Binary::Subtract => a - b,
                Binary::Multiply => a * b,
                Binary::Divide => a / b,
                _ => a % b,
            })),
            _ => Err(wrong(sign(operator), a, b)),
        },
    }
}

fn sign(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Subtract => "-",
        Binary::Multiply => "*",
        Binary::Divide => "/",
        Binary::Modulo => "%",
        Binary::Power => "^",
        Binary::And => "AND",
        Binary::Or => "OR",
        Binary::Xor => "XOR",
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float(value) => Some(*value),
        _ => None,
    }
}

fn integers(operator: Binary, a: i64, b: i64) -> Result<Value> {
    if b == 0 && matches!(operator, Binary::Divide | Binary::Modulo) {
        let message = "an integer is divided by 0";
        return Err(QueryError::run(Class::Arithmetic, "DivisionByZero", message));
    }
    let result = match operator {
        Binary::Subtract => a.checked_sub(b),
        Binary::Multiply => a.checked_mul(b),
        Binary::Divide => a.checked_div(b),
        Binary::Modulo => a.checked_rem(b),
        _ => a.checked_add(b),
    };
    result.map(Value::Int).ok_or_else(overflow)
}

fn add(a: &Value, b: &Value) -> Result<Value> {
    let joined = |a: &[Value], b: &[Value]| Value::list([a, b].concat());
    match (a, b) {
        (Value::List(a), Value::List(b)) => Ok(joined(a, b)),
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::List(a), b) => Ok(joined(a, std::slice::from_ref(b))),
        (a, Value::List(b)) => Ok(joined(std::slice::from_ref(a), b)),
        (Value::Int(a), Value::Int(b)) => integers(Binary::Add, *a, *b),
        (Value::String(a), Value::String(b)) => Ok(Value::text(format!("{a}{b}"))),
        (Value::String(text), other) => match plain(other) {
            Some(other) => Ok(Value::text(format!("{text}{other}"))),
            None => Err(wrong("+", a, b)),
        },
        (other, Value::String(text)) => match plain(other) {
            Some(other) => Ok(Value::text(format!("{other}{text}"))),
            None => Err(wrong("+", a, b)),
        },
        (Value::Duration(a), Value::Duration(b)) => of_duration(a.plus(**b)),
        (Value::Duration(duration), at) | (at, Value::Duration(duration)) if at.is_temporal() => {
            moved(at, Some(**duration))
        }
        _ => match (float(a), float(b)) {
            (Some(a), Some(b)) => Ok(Value::Float(a + b)),
            _ => Err(wrong("+", a, b)),
        },
    }
}

/// The text that a value adds to another.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(float_text(*value)),
        Value::Bool(value) => Some(value.to_string()),
        other if other.is_temporal() || matches!(other, Value::Duration(_) | Value::Point(_)) => {
            Some(other.to_string())
        }
        _ => None,
    }
}

fn of_duration(duration: Option<Duration>) -> Result<Value> {
    let duration = duration.ok_or_else(|| {
        QueryError::run(Class::Arithmetic, "DurationOverflow", "the result does not fit a duration")
    })?;
    Ok(Value::Duration(Arc::new(duration)))
}

/// A date or time, and a duration after it.
fn moved(at: &Value, duration: Option<Duration>) -> Result<Value> {
    let found = duration.and_then(|duration| match at {
        Value::Date(date) => {
            let days = duration.days.checked_add(duration.seconds / DAY)?;
            Duration { days, ..duration }.added_to_date(*date).map(Value::Date)
        }
        Value::LocalTime(time) => {
            Some(Value::LocalTime(time_of(moved_nanos(nanos_of(*time), duration))))
        }
        Value::Time(time) => {
            let moved = time_of(moved_nanos(nanos_of(time.time), duration));
            Some(Value::Time(Time { time: moved, offset: time.offset }))
        }
        Value::LocalDateTime(at) => duration.added_to(*at).map(Value::LocalDateTime),
        Value::DateTime(at) => moved_datetime(at, duration).map(Value::DateTime),
        _ => None,
    });
    found.ok_or_else(|| {
        let message = format!("the time after {at} is outside of the calendar");
        QueryError::run(Class::Arithmetic, "DateTimeOverflow", message)
    })
}

/// Nanoseconds of a day after the seconds of a duration.
fn moved_nanos(nanos: i64, duration: Duration) -> i64 {
    nanos + duration.seconds.rem_euclid(DAY) * NANOS + i64::from(duration.nanos)
}

/// Months and days move the clock, and seconds move the point in time.
fn moved_datetime(at: &DateTime, duration: Duration) -> Option<DateTime> {
    let date = duration.added_to_date(at.local().date())?;
    let moved = DateTime::at(date.and_time(at.local().time()), at.zone())?;
    let rest = TimeDelta::new(duration.seconds, u32::try_from(duration.nanos).ok()?)?;
    DateTime::of_utc(moved.utc().checked_add_signed(rest)?, at.zone())
}

/// Returns true if a regular expression matches all of a text.
///
/// # Errors
/// An expression that is none, or too large.
pub(crate) fn matches(text: &str, pattern: &str) -> Result<bool> {
    let whole = RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(REGEX).build();
    let whole = whole.map_err(|error| {
        let what = match error {
            regex::Error::CompiledTooBig(_) => "takes too much memory as a regular expression",
            _ => "is no regular expression",
        };
        QueryError::of_argument(format!("'{pattern}' {what}"))
    })?;
    Ok(whole.is_match(text))
}
