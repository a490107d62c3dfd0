//! Functions of numbers.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use super::entry::{Entry, lenient, strict};
use crate::error::{QueryError, Result};
use crate::value::Value;
use crate::view::View;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("abs", 1..=1, abs),
    strict("sign", 1..=1, |_, values| {
        let value = number("sign", values)?;
        Ok(Value::Int(if value == 0.0 { 0 } else { value.signum() as i64 }))
    }),
    strict("ceil", 1..=1, |_, values| of("ceil", values, f64::ceil)),
    strict("floor", 1..=1, |_, values| of("floor", values, f64::floor)),
    strict("round", 1..=3, round),
    strict("sqrt", 1..=1, |_, values| of("sqrt", values, f64::sqrt)),
    strict("exp", 1..=1, |_, values| of("exp", values, f64::exp)),
    strict("log", 1..=1, |_, values| of("log", values, f64::ln)),
    strict("log10", 1..=1, |_, values| of("log10", values, f64::log10)),
    strict("sin", 1..=1, |_, values| of("sin", values, f64::sin)),
    strict("cos", 1..=1, |_, values| of("cos", values, f64::cos)),
    strict("tan", 1..=1, |_, values| of("tan", values, f64::tan)),
    strict("cot", 1..=1, |_, values| of("cot", values, |value| value.tan().recip())),
    strict("asin", 1..=1, |_, values| of("asin", values, f64::asin)),
    strict("acos", 1..=1, |_, values| of("acos", values, f64::acos)),
    strict("atan", 1..=1, |_, values| of("atan", values, f64::atan)),
    strict("degrees", 1..=1, |_, values| of("degrees", values, f64::to_degrees)),
    strict("radians", 1..=1, |_, values| of("radians", values, f64::to_radians)),
    strict("haversin", 1..=1, |_, values| {
        of("haversin", values, |value| (1.0 - value.cos()) / 2.0)
    }),
    strict("atan2", 2..=2, |_, values| match values {
        [y, x] => {
            let (y, x) = (
                number("atan2", std::slice::from_ref(y))?,
                number("atan2", std::slice::from_ref(x))?,
            );
            Ok(Value::Float(y.atan2(x)))
        }
        _ => Ok(Value::Null),
    }),
    strict("isnan", 1..=1, |_, values| Ok(Value::Bool(number("isNaN", values)?.is_nan()))),
    lenient("pi", 0..=0, |_, _| Ok(Value::Float(std::f64::consts::PI))),
    lenient("e", 0..=0, |_, _| Ok(Value::Float(std::f64::consts::E))),
    lenient("rand", 0..=0, |_, _| Ok(Value::Float(random()))),
];

fn number(function: &str, values: &[Value]) -> Result<f64> {
    match values.first() {
        Some(Value::Int(value)) => Ok(*value as f64),
        Some(Value::Float(value)) => Ok(*value),
        other => {
            let found = other.map_or("nothing", Value::type_name);
            Err(QueryError::of_type(format!(
                "{function}() takes a number, not a value of type {found}"
            )))
        }
    }
}

fn of(function: &str, values: &[Value], f: impl Fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Float(f(number(function, values)?)))
}

fn abs(_: &View, values: &[Value]) -> Result<Value> {
    match values {
        [Value::Int(value)] => value.checked_abs().map(Value::Int).ok_or_else(|| {
            QueryError::run(
                crate::error::Class::Arithmetic,
                "IntegerOverflow",
                "abs() of the least integer does not fit an integer",
            )
        }),
        _ => of("abs", values, f64::abs),
    }
}

/// Rounds half up, as openCypher does, or to some places behind the point, half away from zero.
fn round(_: &View, values: &[Value]) -> Result<Value> {
    let value = number("round", values)?;
    let Some(places) = values.get(1) else {
        return Ok(Value::Float((value + 0.5).floor()));
    };
    let places = number("round", std::slice::from_ref(places))?;
    let factor = 10_f64.powf(places);
    let rounded = (value * factor).round() / factor;
    Ok(Value::Float(if rounded.is_finite() { rounded } else { value }))
}

/// A float from 0 to 1: xorshift (Marsaglia, "Xorshift RNGs", 2003) from a seed of the system.
fn random() -> f64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0_u8) | 1);
    }
    let mut next = STATE.get();
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    STATE.set(next);
    (next >> 11) as f64 / (1_u64 << 53) as f64
}
