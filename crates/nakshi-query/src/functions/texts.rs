//! Functions of text.

use super::entry::{Entry, strict};
use crate::error::{Class, QueryError, Result};
use crate::value::Value;
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("tolower", 1..=1, |_, values| of("toLower", values, str::to_lowercase)),
    strict("lower", 1..=1, |_, values| of("lower", values, str::to_lowercase)),
    strict("toupper", 1..=1, |_, values| of("toUpper", values, str::to_uppercase)),
    strict("upper", 1..=1, |_, values| of("upper", values, str::to_uppercase)),
    strict("trim", 1..=1, |_, values| of("trim", values, |text| text.trim().to_owned())),
    strict("btrim", 1..=1, |_, values| of("btrim", values, |text| text.trim().to_owned())),
    strict("ltrim", 1..=1, |_, values| of("ltrim", values, |text| text.trim_start().to_owned())),
    strict("rtrim", 1..=1, |_, values| of("rtrim", values, |text| text.trim_end().to_owned())),
    strict("char_length", 1..=1, length),
    strict("character_length", 1..=1, length),
    strict("replace", 3..=3, |_, values| match values {
        [Value::String(text), Value::String(from), Value::String(to)] => {
            Ok(Value::text(text.replace(&**from, to)))
        }
        _ => Err(wrong("replace", values)),
    })
    .weighed(replaced),
    strict("split", 2..=2, split).weighed(parts),
    strict("substring", 2..=3, substring),
    strict("left", 2..=2, left),
    strict("right", 2..=2, right),
];

fn wrong(function: &str, values: &[Value]) -> QueryError {
    let found = values.iter().map(Value::type_name).collect::<Vec<_>>().join(", ");
    QueryError::of_type(format!("{function}() does not take values of type {found}"))
}

fn of(function: &str, values: &[Value], f: impl Fn(&str) -> String) -> Result<Value> {
    match values {
        [Value::String(text)] => Ok(Value::text(f(text))),
        _ => Err(wrong(function, values)),
    }
}

/// Bytes of a text in which others are replaced.
fn replaced(values: &[Value]) -> u64 {
    let [Value::String(text), Value::String(from), Value::String(to)] = values else { return 0 };
    let more = to.len().saturating_sub(from.len());
    if more == 0 { 0 } else { text.matches(&**from).count().saturating_mul(more) as u64 }
}

/// Bytes of the list of a text's parts.
fn parts(values: &[Value]) -> u64 {
    let [Value::String(text), Value::String(by)] = values else { return 0 };
    // As many as there are characters, if they are split by nothing.
    (text.matches(&**by).count() as u64 + 1).saturating_mul(Value::text("").weight())
}

fn length(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::String(text)] => Ok(Value::Int(text.chars().count() as i64)),
        _ => Err(wrong("char_length", values)),
    }
}

fn split(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::String(text), Value::String(by)] if by.is_empty() => {
            Ok(Value::list(text.chars().map(|c| Value::text(c.to_string())).collect()))
        }
        [Value::String(text), Value::String(by)] => {
            Ok(Value::list(text.split(&**by).map(Value::text).collect()))
        }
        _ => Err(wrong("split", values)),
    }
}

/// A length or position, which must not be negative.
fn count(value: i64) -> Result<usize> {
    usize::try_from(value).map_err(|_| {
        let message = format!("{value} is negative, and a position in a text is not");
        QueryError::run(Class::Argument, "NegativeIntegerArgument", message)
    })
}

fn substring(_: &View, values: &[Value]) -> Result<Value> {
    let (text, from, most) = match values {
        [Value::String(text), Value::Int(from)] => (text, count(*from)?, usize::MAX),
        [Value::String(text), Value::Int(from), Value::Int(most)] => {
            (text, count(*from)?, count(*most)?)
        }
        _ => return Err(wrong("substring", values)),
    };
    Ok(Value::text(text.chars().skip(from).take(most).collect::<String>()))
}

fn left(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::String(text), Value::Int(most)] => {
            Ok(Value::text(text.chars().take(count(*most)?).collect::<String>()))
        }
        _ => Err(wrong("left", values)),
    }
}

fn right(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::String(text), Value::Int(most)] => {
            let skipped = text.chars().count().saturating_sub(count(*most)?);
            Ok(Value::text(text.chars().skip(skipped).collect::<String>()))
        }
        _ => Err(wrong("right", values)),
    }
}
