//! Values of properties as the store has them.
//!
//! A property has a typed column, which holds values of one type. A value of another type lies in the
//! column `nakshi:any:NAME` beside it, as bytes that describe themselves: a version, then a tag and what
//! the tag says. `docs/format.md` describes the bytes.

use std::sync::Arc;

use chrono::{DateTime as Utc, NaiveDate, TimeDelta};
use nakshi_property::{LABELS, PropertySpec, PropertyType, Scalar, Temporal, Value as Stored};

use super::error::{Class, QueryError, Result};
use super::temporal::{DateTime, Duration, Time, Zone, nanos_of, parse_zone, time_of};
use super::value::{Point, Value};

/// Version of the bytes.
const VERSION: u8 = 1;

/// Tags of values.
mod tag {
    pub(super) const FALSE: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const INT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const STRING: u8 = 4;
    pub(super) const BYTES: u8 = 5;
    pub(super) const LIST: u8 = 6;
    pub(super) const DATE: u8 = 7;
    pub(super) const LOCAL_TIME: u8 = 8;
    pub(super) const TIME: u8 = 9;
    pub(super) const LOCAL_DATE_TIME: u8 = 10;
    pub(super) const DATE_TIME: u8 = 11;
    pub(super) const DURATION: u8 = 12;
    pub(super) const POINT: u8 = 13;
}

/// How deep lists may be nested in the bytes.
const DEPTH: u32 = 4;

/// The value for the typed column of a property of this type; `None` if the column cannot hold it so that
/// it comes back as it was.
pub(crate) fn typed(value: &Value, ty: Option<PropertyType>) -> Option<Stored> {
    let stored = match value {
        Value::List(items) => {
            let of = match ty {
                Some(ty) if !ty.list => return None,
                Some(ty) => Some(PropertyType::of(ty.scalar)),
                None => None,
            };
            let mut stored = Vec::with_capacity(items.len());
            for item in items.iter() {
                let of = of.or_else(|| stored.first().and_then(Stored::ty));
                stored.push(scalar(item, of)?);
            }
            Stored::List(stored)
        }
        _ if ty.is_some_and(|ty| ty.list) => return None,
        value => scalar(value, ty)?,
    };
    Some(stored)
}

fn scalar(value: &Value, ty: Option<PropertyType>) -> Option<Stored> {
    let stored = match value {
        Value::Bool(value) => Stored::Bool(*value),
        Value::Int(value) => Stored::Int(*value),
        Value::Float(value) => Stored::Float(*value),
        Value::String(text) => Stored::String(text.to_string()),
        Value::Bytes(bytes) => Stored::Bytes(bytes.to_vec()),
        Value::Date(date) => Stored::Temporal(Temporal::Date, date.to_epoch_days().into()),
        Value::LocalDateTime(at) => {
            Stored::Temporal(Temporal::LocalDateTime, micros(&at.and_utc())?)
        }
        Value::DateTime(at) if at.zone() == Zone::UTC => {
            let micros = micros(&at.utc().and_utc())?;
            match ty.map(|ty| ty.scalar) {
                Some(Scalar::Timestamp) if micros % 1000 == 0 => Stored::Timestamp(micros / 1000),
                _ => Stored::Temporal(Temporal::DateTime, micros),
            }
        }
        _ => return None,
    };
    (ty.is_none() || ty == stored.ty()).then_some(stored)
}

/// Microseconds since 1970, if these are all of a time.
fn micros(at: &Utc<chrono::Utc>) -> Option<i64> {
    at.timestamp_subsec_nanos().is_multiple_of(1000).then(|| at.timestamp_micros())
}

/// The columns and values that a property gets: its typed column, and the column for any type if it has one
/// or needs one.
pub(crate) fn columns(
    name: &str,
    value: &Value,
    spec: Option<&PropertySpec>,
    has_any: bool,
    of_nodes: bool,
    out: &mut Vec<(String, Stored)>,
) -> Result<()> {
    check_storable(name, value)?;
    // Labels of nodes have the name of a property, and lists without items do not tell their type.
    let reserved = (of_nodes && name == LABELS) || name.starts_with("nakshi:") || name.is_empty();
    let stored = match reserved || value.is_null() {
        true => None,
        false => typed(value, spec.map(|spec| spec.ty)),
    };
    let has_typed = spec.is_some() && !reserved;
    match stored {
        Some(stored) => {
            out.push((name.to_owned(), stored));
            if has_any {
                out.push((PropertySpec::any_column(name), Stored::Null));
            }
        }
        None => {
            if has_typed {
                out.push((name.to_owned(), Stored::Null));
            }
            if !value.is_null() {
                out.push((PropertySpec::any_column(name), Stored::Bytes(any_bytes(value))));
            } else if has_any {
                out.push((PropertySpec::any_column(name), Stored::Null));
            }
        }
    }
    Ok(())
}

/// Refuses values that no property holds.
fn check_storable(name: &str, value: &Value) -> Result<()> {
    let refuse = |what: &str| {
        let message =
            format!("property '{name}' cannot hold {what}; it holds values and lists of values");
        Err(QueryError::run(Class::Type, "InvalidPropertyType", message))
    };
    match value {
        Value::Map(_) => refuse("a map"),
        Value::Node(_) | Value::Relationship(_) | Value::Path(_) => refuse("a part of a graph"),
        Value::List(items) => {
            for item in items.iter() {
                match item {
                    Value::Null => return refuse("a list with null"),
                    Value::List(_) => return refuse("a list of lists"),
                    item => check_storable(name, item)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

impl From<Stored> for Value {
    fn from(stored: Stored) -> Self {
        value_of(stored)
    }
}

/// The value of a typed column.
pub(crate) fn value_of(stored: Stored) -> Value {
    match stored {
        Stored::Null => Value::Null,
        Stored::String(text) => Value::text(text),
        Stored::Bytes(bytes) => Value::Bytes(bytes.into()),
        Stored::Int(value) => Value::Int(value),
        Stored::Float(value) => Value::Float(value),
        Stored::Bool(value) => Value::Bool(value),
        Stored::Timestamp(millis) => {
            let at = Utc::from_timestamp_millis(millis).map(|at| at.naive_utc());
            let at = at.and_then(|at| DateTime::of_utc(at, Zone::UTC));
            at.map_or(Value::Int(millis), Value::DateTime)
        }
        Stored::Temporal(kind, value) => temporal_of(kind, value).unwrap_or(Value::Int(value)),
        Stored::List(items) => Value::list(items.into_iter().map(value_of).collect()),
    }
}

fn temporal_of(kind: Temporal, value: i64) -> Option<Value> {
    Some(match kind {
        Temporal::Date => Value::Date(NaiveDate::from_epoch_days(i32::try_from(value).ok()?)?),
        Temporal::LocalDateTime => {
            Value::LocalDateTime(Utc::from_timestamp_micros(value)?.naive_utc())
        }
        Temporal::DateTime => {
            let utc = Utc::from_timestamp_micros(value)?.naive_utc();
            Value::DateTime(DateTime::of_utc(utc, Zone::UTC)?)
        }
        Temporal::Time => Value::LocalTime(time_of(value.checked_mul(1000)?)),
        Temporal::Duration => {
            let nanos = value.rem_euclid(1_000_000) * 1000;
            Value::Duration(Arc::new(Duration::of(0, 0, value.div_euclid(1_000_000), nanos)?))
        }
    })
}

/// The value that the bytes of a column for any type stand for.
///
/// # Errors
/// Damage.
pub(crate) fn decode(name: &str, bytes: &[u8]) -> Result<Value> {
    let mut from = Reader { bytes };
    let value = match from.byte() {
        Some(VERSION) => from.value(0),
        _ => None,
    };
    value.filter(|_| from.bytes.is_empty()).ok_or_else(|| {
        let message = format!("a value of property '{name}' does not decode; run nakshi check");
        QueryError::run(Class::Store, "Damage", message)
    })
}

/// The bytes that a value has in a column for any type.
pub(crate) fn any_bytes(value: &Value) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    put(value, &mut bytes);
    bytes
}

/// The values of other types, or with other bytes, that equal a value, and the value itself. No property has
/// null, and none equals NaN.
pub(crate) fn alike(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Int(number) => {
            let float = *number as f64;
            let mut found = vec![value.clone(), Value::Float(float)];
            found.extend((*number == 0).then_some(Value::Float(-0.0)));
            found
        }
        Value::Float(number) if number.is_nan() => Vec::new(),
        Value::Float(number) => {
            let mut found = vec![value.clone()];
            if *number == 0.0 {
                found = vec![Value::Float(0.0), Value::Float(-0.0)];
            }
            if number.fract() == 0.0 && number.abs() < 9.2e18 {
                found.push(Value::Int(*number as i64));
            }
            found
        }
        other => vec![other.clone()],
    }
}

fn put(value: &Value, out: &mut Vec<u8>) {
    let text = |tag: u8, bytes: &[u8], out: &mut Vec<u8>| {
        out.push(tag);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    let number = |number: i64, out: &mut Vec<u8>| out.extend_from_slice(&number.to_le_bytes());
    match value {
        Value::Bool(value) => out.push(if *value { tag::TRUE } else { tag::FALSE }),
        Value::Int(value) => {
            out.push(tag::INT);
            number(*value, out);
        }
        Value::Float(value) => {
            out.push(tag::FLOAT);
            out.extend_from_slice(&value.to_bits().to_le_bytes());
        }
        Value::String(value) => text(tag::STRING, value.as_bytes(), out),
        Value::Bytes(value) => text(tag::BYTES, value, out),
        Value::List(items) => {
            out.push(tag::LIST);
            out.extend_from_slice(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| put(item, out));
        }
        Value::Date(date) => {
            out.push(tag::DATE);
            number(date.to_epoch_days().into(), out);
        }
        Value::LocalTime(time) => {
            out.push(tag::LOCAL_TIME);
            number(nanos_of(*time), out);
        }
        Value::Time(time) => {
            out.push(tag::TIME);
            number(nanos_of(time.time), out);
            number(time.offset.into(), out);
        }
        Value::LocalDateTime(at) => {
            out.push(tag::LOCAL_DATE_TIME);
            number(at.and_utc().timestamp(), out);
            number(at.and_utc().timestamp_subsec_nanos().into(), out);
        }
        Value::DateTime(at) => {
            let utc = at.utc().and_utc();
            text(tag::DATE_TIME, at.zone().to_string().as_bytes(), out);
            number(utc.timestamp(), out);
            number(utc.timestamp_subsec_nanos().into(), out);
        }
        Value::Duration(value) => {
            out.push(tag::DURATION);
            let parts = [value.months, value.days, value.seconds, value.nanos.into()];
            parts.into_iter().for_each(|part| number(part, out));
        }
        Value::Point(point) => {
            out.push(tag::POINT);
            number(point.srid.into(), out);
            out.extend_from_slice(&(point.coordinates.len() as u64).to_le_bytes());
            let bits = point.coordinates.iter().map(|value| value.to_bits().to_le_bytes());
            bits.for_each(|bits| out.extend_from_slice(&bits));
        }
        // `check_storable` has refused them.
        Value::Null | Value::Map(_) | Value::Node(_) | Value::Relationship(_) | Value::Path(_) => {}
    }
}

/// Bytes that are read from their beginning.
struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn float(&mut self) -> Option<f64> {
        Some(f64::from_bits(self.number()?.cast_unsigned()))
    }

    fn text(&mut self) -> Option<&'b str> {
        let count = self.count()?;
        std::str::from_utf8(self.take(count)?).ok()
    }

    fn utc(&mut self) -> Option<chrono::NaiveDateTime> {
        let (seconds, nanos) = (self.number()?, u32::try_from(self.number()?).ok()?);
        let at = Utc::from_timestamp(seconds, 0)?.naive_utc();
        at.checked_add_signed(TimeDelta::nanoseconds(nanos.into()))
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        Some(match self.byte()? {
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::INT => Value::Int(self.number()?),
            tag::FLOAT => Value::Float(self.float()?),
            tag::STRING => Value::text(self.text()?),
            tag::BYTES => {
                let count = self.count()?;
                Value::Bytes(self.take(count)?.into())
            }
            tag::LIST if depth < DEPTH => {
                let mut items = Vec::new();
                for _ in 0..self.count()? {
                    items.push(self.value(depth + 1)?);
                }
                Value::list(items)
            }
            tag::DATE => {
                Value::Date(NaiveDate::from_epoch_days(i32::try_from(self.number()?).ok()?)?)
            }
            tag::LOCAL_TIME => Value::LocalTime(time_of(self.number()?)),
            tag::TIME => {
                let time = time_of(self.number()?);
                Value::Time(Time { time, offset: i32::try_from(self.number()?).ok()? })
            }
            tag::LOCAL_DATE_TIME => Value::LocalDateTime(self.utc()?),
            tag::DATE_TIME => {
                let zone = parse_zone(self.text()?)?;
                Value::DateTime(DateTime::of_utc(self.utc()?, zone)?)
            }
            tag::DURATION => {
                let [months, days, seconds] = [self.number()?, self.number()?, self.number()?];
                Value::Duration(Arc::new(Duration::of(months, days, seconds, self.number()?)?))
            }
            tag::POINT => {
                let srid = i32::try_from(self.number()?).ok()?;
                let mut coordinates = Vec::new();
                for _ in 0..self.count()?.min(3) {
                    coordinates.push(self.float()?);
                }
                Value::Point(Arc::new(Point { srid, coordinates }))
            }
            _ => return None,
        })
    }
}
