//! Property values, and the bytes that stand for them in files.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::instant;
use super::temporal::Temporal;
use nakshi_store::{Error, Result, varint};

/// Separator between the items of a list in text.
pub(super) const ITEMS: u8 = b';';

/// Scalar type of a property. A name has one type in the whole store; nodes without the property
/// have null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// UTF-8 text.
    String,
    /// Bytes.
    Bytes,
    /// A signed integer of 64 bits.
    Int,
    /// A float of 64 bits.
    Float,
    /// True or false.
    Bool,
    /// Milliseconds since 1970-01-01 00:00 UTC, a signed integer of 64 bits.
    Timestamp,
    /// A date, a time or a duration.
    #[serde(untagged)]
    Temporal(Temporal),
}

/// Type of a property: a scalar, or a list of scalars of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PropertyType {
    /// Type of the value, or of the items of a list.
    pub scalar: Scalar,
    /// True for a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list: bool,
}

impl PropertyType {
    /// The type of a single value.
    pub const fn of(scalar: Scalar) -> Self {
        Self { scalar, list: false }
    }

    /// The type of a list.
    pub const fn list_of(scalar: Scalar) -> Self {
        Self { scalar, list: true }
    }
}

impl PropertyType {
    /// Returns true if a value of this type can be empty: strings, bytes and lists.
    pub(super) fn has_empty(self) -> bool {
        self.list || matches!(self.scalar, Scalar::String | Scalar::Bytes)
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.scalar {
            Scalar::String => "string",
            Scalar::Bytes => "bytes",
            Scalar::Int => "int",
            Scalar::Float => "float",
            Scalar::Bool => "bool",
            Scalar::Timestamp => "timestamp",
            Scalar::Temporal(kind) => kind.name(),
        };
        write!(f, "{name}{}", if self.list { "[]" } else { "" })
    }
}

/// A value of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Absent; not the same as an empty string or an empty list.
    Null,
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// Milliseconds since 1970-01-01 00:00 UTC.
    Timestamp(i64),
    /// A date, a time or a duration, as the number that [`Temporal`] says.
    Temporal(Temporal, i64),
    /// Values of one type, none of them null.
    List(Vec<Value>),
}

impl Value {
    /// Bytes of memory that the value takes, about.
    pub(crate) fn weight(&self) -> usize {
        let inside = match self {
            Value::String(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(items) => items.iter().map(Value::weight).sum(),
            _ => 0,
        };
        size_of::<Value>() + inside
    }

    /// Returns true for null. Comparing with null would compare as lists are compared.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The type of the value; `None` for null and for an empty list, which fit any type and any
    /// list type.
    pub fn ty(&self) -> Option<PropertyType> {
        Some(PropertyType::of(match self {
            Value::Null => return None,
            Value::String(_) => Scalar::String,
            Value::Bytes(_) => Scalar::Bytes,
            Value::Int(_) => Scalar::Int,
            Value::Float(_) => Scalar::Float,
            Value::Bool(_) => Scalar::Bool,
            Value::Timestamp(_) => Scalar::Timestamp,
            Value::Temporal(kind, _) => Scalar::Temporal(*kind),
            Value::List(items) => {
                return items.first()?.ty().map(|ty| PropertyType::list_of(ty.scalar));
            }
        }))
    }

    /// Appends the bytes that stand for the value in a column of type `ty`, and returns true. For
    /// null it appends nothing and returns false. Equal values have equal bytes, and the bytes of
    /// scalars have the order of the values. Integers are accepted for floats and timestamps, and
    /// dates and datetimes of whole milliseconds for timestamps.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value has another type.
    pub fn encode(&self, ty: PropertyType, out: &mut Vec<u8>) -> Result<bool> {
        let Value::List(items) = self else { return self.encode_scalar(ty, out) };
        if !ty.list {
            return Err(self.misfit(ty));
        }
        let of = PropertyType::of(ty.scalar);
        let mut bytes = Vec::new();
        for item in items {
            bytes.clear();
            if matches!(item, Value::List(_)) || !item.encode_scalar(of, &mut bytes)? {
                return Err(self.misfit(ty));
            }
            varint::put(out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
        Ok(true)
    }

    fn encode_scalar(&self, ty: PropertyType, out: &mut Vec<u8>) -> Result<bool> {
        if ty.list && !self.is_null() {
            return Err(self.misfit(ty));
        }
        match (self, ty.scalar) {
            (Value::Null, _) => return Ok(false),
            (Value::String(text), Scalar::String) => out.extend_from_slice(text.as_bytes()),
            (Value::Bytes(bytes), Scalar::Bytes) => out.extend_from_slice(bytes),
            (Value::Int(v), Scalar::Int | Scalar::Timestamp)
            | (Value::Timestamp(v), Scalar::Timestamp) => {
                out.extend_from_slice(&ordered_int(*v).to_be_bytes());
            }
            (Value::Temporal(kind, v), Scalar::Temporal(wanted))
                if *kind == wanted && kind.holds(*v) =>
            {
                out.extend_from_slice(&ordered_int(*v).to_be_bytes());
            }
            (Value::Temporal(kind, v), Scalar::Timestamp) => match milliseconds(*kind, *v) {
                Some((v, true)) => out.extend_from_slice(&ordered_int(v).to_be_bytes()),
                _ => return Err(self.misfit(ty)),
            },
            (Value::Float(v), Scalar::Float) => {
                out.extend_from_slice(&ordered_float(*v).to_be_bytes());
            }
            // A float holds integers of up to 53 bits exactly.
            (Value::Int(v), Scalar::Float) if v.unsigned_abs() <= 1 << 53 => {
                out.extend_from_slice(&ordered_float(*v as f64).to_be_bytes());
            }
            (Value::Bool(v), Scalar::Bool) => out.push(u8::from(*v)),
            _ => return Err(self.misfit(ty)),
        }
        Ok(true)
    }

    fn misfit(&self, ty: PropertyType) -> Error {
        Error::Invalid(format!("the value {self} does not fit the property type {ty}"))
    }

    /// The value of type `ty` that `bytes` encode; `None` if they are no such value.
    pub fn decode(ty: PropertyType, bytes: &[u8]) -> Option<Value> {
        if !ty.list {
            return decode_scalar(ty.scalar, bytes);
        }
        let (mut items, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let len = usize::try_from(varint::get(bytes, &mut at)?).ok()?;
            let end = at.checked_add(len)?;
            items.push(decode_scalar(ty.scalar, bytes.get(at..end)?)?);
            at = end;
        }
        Some(Value::List(items))
    }

    /// The value of type `ty` that a text stands for: decimal numbers, `true` and `false`, times as
    /// milliseconds or in ISO 8601, dates and durations in ISO 8601, lists with `;` between their items.
    ///
    /// # Errors
    /// A sentence that says why the text is no such value.
    pub fn parse(ty: PropertyType, text: &[u8]) -> Result<Value, String> {
        if ty.list {
            let of = PropertyType::of(ty.scalar);
            let items = text.split(|byte| *byte == ITEMS).filter(|item| !item.is_empty());
            let items = items.map(|item| Value::parse(of, item));
            return Ok(Value::List(items.collect::<Result<_, _>>()?));
        }
        if ty.scalar == Scalar::Bytes {
            return Ok(Value::Bytes(text.to_vec()));
        }
        let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
        let misfit = || format!("'{text}' is no {ty}");
        let number = text.trim();
        Ok(match ty.scalar {
            Scalar::String | Scalar::Bytes => Value::String(text.to_owned()),
            Scalar::Int => Value::Int(number.parse().map_err(|_| misfit())?),
            Scalar::Float => Value::Float(number.parse().map_err(|_| misfit())?),
            Scalar::Bool => match number.to_ascii_lowercase().as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => return Err(misfit()),
            },
            Scalar::Timestamp => Value::Timestamp(match number.parse() {
                Ok(milliseconds) => milliseconds,
                Err(_) => match instant_of(number).ok_or_else(misfit)? {
                    (time, true) => time,
                    (_, false) => {
                        return Err(format!(
                            "'{text}' has microseconds, and a timestamp counts milliseconds; use \
                             datetime"
                        ));
                    }
                },
            }),
            Scalar::Temporal(kind) => Value::Temporal(kind, kind.parse(number)?),
        })
    }

    /// Compares two values of one type by their order; lists item by item. `None` if the types
    /// differ.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        let ty = self.ty().or(other.ty())?;
        let bytes = |value: &Value| {
            let mut out = Vec::new();
            value.encode(ty, &mut out).ok().map(|_| out)
        };
        Some(bytes(self)?.cmp(&bytes(other)?))
    }
}

/// Milliseconds since 1970 of a text, and whether these are all of it.
pub(super) fn instant_of(text: &str) -> Option<(i64, bool)> {
    let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
    let digits = fraction.bytes().take_while(u8::is_ascii_digit);
    Some((instant::milliseconds(text)?, digits.skip(3).all(|digit| digit == b'0')))
}

/// Milliseconds since 1970 of a date or datetime, and whether these are all of it. A datetime without a
/// zone counts as one in UTC.
pub(super) fn milliseconds(kind: Temporal, value: i64) -> Option<(i64, bool)> {
    match kind {
        Temporal::Date => Some((value.checked_mul(86_400_000)?, true)),
        Temporal::DateTime | Temporal::LocalDateTime => {
            Some((value.div_euclid(1000), value % 1000 == 0))
        }
        Temporal::Time | Temporal::Duration => None,
    }
}

/// The bytes of each item of a list.
pub(super) fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let len = usize::try_from(varint::get(list, &mut at)?).ok()?;
        let item = list.get(at..at.checked_add(len)?)?;
        at += len;
        Some(item)
    })
}

fn decode_scalar(scalar: Scalar, bytes: &[u8]) -> Option<Value> {
    let number = || bytes.try_into().map(u64::from_be_bytes).ok();
    Some(match scalar {
        Scalar::String => Value::String(std::str::from_utf8(bytes).ok()?.to_owned()),
        Scalar::Bytes => Value::Bytes(bytes.to_vec()),
        Scalar::Int => Value::Int(plain_int(number()?)),
        Scalar::Timestamp => Value::Timestamp(plain_int(number()?)),
        Scalar::Temporal(kind) => {
            let value = Some(plain_int(number()?)).filter(|value| kind.holds(*value));
            Value::Temporal(kind, value?)
        }
        Scalar::Float => Value::Float(plain_float(number()?)),
        Scalar::Bool => match bytes {
            [0] => Value::Bool(false),
            [1] => Value::Bool(true),
            _ => return None,
        },
    })
}

const SIGN: u64 = 1 << 63;

/// Maps an integer to an unsigned one of the same order.
pub(super) fn ordered_int(v: i64) -> u64 {
    v.cast_unsigned() ^ SIGN
}

/// The inverse of [`ordered_int`].
pub(super) fn plain_int(v: u64) -> i64 {
    (v ^ SIGN).cast_signed()
}

/// Maps a float to an unsigned integer, in the total order of IEEE 754.
pub(super) fn ordered_float(v: f64) -> u64 {
    let bits = v.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

pub(super) fn plain_float(v: u64) -> f64 {
    f64::from_bits(if v & SIGN == 0 { !v } else { v ^ SIGN })
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::String(text) => write!(f, "{text:?}"),
            Value::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Value::Int(v) | Value::Timestamp(v) => write!(f, "{v}"),
            Value::Temporal(kind, v) => f.write_str(&kind.text(*v)),
            Value::Float(v) => write!(f, "{v}"),
            Value::Bool(v) => write!(f, "{v}"),
            Value::List(items) => write!(f, "a list of {}", items.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            ".{0,12}".prop_map(Value::String),
            prop::collection::vec(any::<u8>(), 0..12).prop_map(Value::Bytes),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_map(Value::Float),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Timestamp),
            any::<i64>().prop_map(|v| Value::Temporal(Temporal::DateTime, v)),
            any::<i32>().prop_map(|v| Value::Temporal(Temporal::Date, v.into())),
        ]
    }

    proptest! {
        #[test]
        fn values_survive_their_bytes(value in scalar(), more in 0..3usize) {
            let ty = value.ty().unwrap();
            let mut bytes = Vec::new();
            prop_assert!(value.encode(ty, &mut bytes).unwrap());
            prop_assert_eq!(Value::decode(ty, &bytes), Some(value.clone()));
            let list = Value::List(vec![value; more]);
            let ty = PropertyType::list_of(ty.scalar);
            bytes.clear();
            prop_assert!(list.encode(ty, &mut bytes).unwrap());
            prop_assert_eq!(Value::decode(ty, &bytes), Some(list));
        }

        /// Seen red with bytes of integers in little-endian order.
        #[test]
        fn bytes_have_the_order_of_the_values(a in any::<i64>(), b in any::<i64>(), x in any::<f64>(), y in any::<f64>()) {
            prop_assert_eq!(Value::Int(a).compare(&Value::Int(b)), Some(a.cmp(&b)));
            prop_assert_eq!(Value::Float(x).compare(&Value::Float(y)), Some(x.total_cmp(&y)));
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for scalar in [Scalar::String, Scalar::Bytes, Scalar::Int, Scalar::Float, Scalar::Bool, Scalar::Timestamp, Scalar::Temporal(Temporal::Date), Scalar::Temporal(Temporal::Time)] {
                for list in [false, true] {
                    let _ = Value::decode(PropertyType { scalar, list }, &bytes);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut out = Vec::new();
        let text = PropertyType::of(Scalar::String);
        assert!(Value::Int(1).encode(text, &mut out).is_err());
        assert!(Value::List(vec![]).encode(text, &mut out).is_err());
        let list = PropertyType::list_of(Scalar::Int);
        assert!(Value::Int(1).encode(list, &mut out).is_err());
        assert!(Value::List(vec![Value::Null]).encode(list, &mut out).is_err());
        assert!(!Value::Null.encode(list, &mut out).unwrap());
        assert!(Value::Int(3).encode(PropertyType::of(Scalar::Float), &mut out).unwrap());
    }

    #[test]
    fn texts_of_every_type() {
        let parse =
            |scalar, list, text: &str| Value::parse(PropertyType { scalar, list }, text.as_bytes());
        assert_eq!(
            parse(Scalar::Timestamp, false, "1970-01-01T00:00:01.5Z"),
            Ok(Value::Timestamp(1500))
        );
        assert_eq!(parse(Scalar::Timestamp, false, "-1"), Ok(Value::Timestamp(-1)));
        assert_eq!(parse(Scalar::Bool, false, "TRUE"), Ok(Value::Bool(true)));
        let list = Value::List(vec![Value::Int(1), Value::Int(2)]);
        assert_eq!(parse(Scalar::Int, true, "1;2"), Ok(list));
        assert_eq!(parse(Scalar::String, true, ""), Ok(Value::List(vec![])));
        assert!(parse(Scalar::Int, false, "1.5").is_err());
    }
}
