//! Ids, values and properties as JSON.
//!
//! Numbers, texts and truth values are those of JSON: `7` is an integer and `7.0` is a float. Everything
//! else is an object whose only key says what it is: `{"date": "2026-11-25"}`.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use super::super::temporal::Temporal;
use super::super::value::Value;
use nakshi_store::ExternalId;

const BYTES: &str = "bytes";
const INTEGER: &str = "integer";
const FLOAT: &str = "float";
const TIMESTAMP: &str = "timestamp";

/// An object with one key.
fn object(key: &str, value: impl Into<Json>) -> Json {
    Json::Object([(key.to_owned(), value.into())].into_iter().collect())
}

/// Key and value of an object with one key.
fn only(json: &Json) -> Option<(&str, &Json)> {
    let object = json.as_object().filter(|object| object.len() == 1)?;
    object.iter().next().map(|(key, value)| (key.as_str(), value))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    pairs.map(byte).collect()
}

/// A number of 128 bits, as 32 hexadecimal digits.
pub(super) mod hex {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(id: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{id:032x}"))
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

/// The id of a node.
pub(super) mod id {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        id: &ExternalId,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let json = match id {
            ExternalId::U64(v) => Json::from(*v),
            ExternalId::I64(v) => Json::from(*v),
            ExternalId::Text(text) => Json::from(text.as_str()),
            ExternalId::Big(text) => object(INTEGER, text.as_str()),
            ExternalId::Bytes(bytes) => object(BYTES, hexadecimal(bytes)),
        };
        json.serialize(to)
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<ExternalId, D::Error> {
        let json = Json::deserialize(from)?;
        let found = match &json {
            Json::String(text) => Some(ExternalId::Text(text.clone())),
            Json::Number(number) => match number.as_u64() {
                Some(v) => Some(ExternalId::U64(v)),
                None => number.as_i64().map(ExternalId::I64),
            },
            json => match only(json) {
                Some((INTEGER, Json::String(text))) => Some(ExternalId::Big(text.clone())),
                Some((BYTES, Json::String(text))) => from_hexadecimal(text).map(ExternalId::Bytes),
                _ => None,
            },
        };
        found.ok_or_else(|| D::Error::custom(format!("{json} is no id")))
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::String(text) => Json::from(text.as_str()),
        Value::Bytes(bytes) => object(BYTES, hexadecimal(bytes)),
        Value::Int(v) => Json::from(*v),
        Value::Float(v) if v.is_finite() => Json::from(*v),
        // The bits of what is no number; infinities as words.
        Value::Float(v) if v.is_nan() => object(FLOAT, format!("{:016x}", v.to_bits())),
        Value::Float(v) => object(FLOAT, if *v > 0.0 { "inf" } else { "-inf" }),
        Value::Bool(v) => Json::from(*v),
        Value::Timestamp(v) => object(TIMESTAMP, *v),
        Value::Temporal(kind, v) => match kind.parse(&kind.text(*v)) {
            Ok(same) if same == *v => object(kind.name(), kind.text(*v)),
            _ => object(kind.name(), *v),
        },
        Value::List(items) => Json::Array(items.iter().map(json).collect()),
    }
}

fn value(of: &Json, in_list: bool) -> Option<Value> {
    Some(match of {
        Json::Null => Value::Null,
        Json::Bool(v) => Value::Bool(*v),
        Json::String(text) => Value::String(text.clone()),
        Json::Number(number) if number.is_f64() => Value::Float(number.as_f64()?),
        Json::Number(number) => Value::Int(number.as_i64()?),
        Json::Array(items) if !in_list => {
            Value::List(items.iter().map(|item| value(item, true)).collect::<Option<_>>()?)
        }
        Json::Array(_) => return None,
        Json::Object(_) => match only(of)? {
            (BYTES, Json::String(text)) => Value::Bytes(from_hexadecimal(text)?),
            (FLOAT, Json::String(text)) => Value::Float(match text.as_str() {
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                bits => f64::from_bits(u64::from_str_radix(bits, 16).ok()?),
            }),
            (TIMESTAMP, at) => Value::Timestamp(at.as_i64()?),
            (name, at) => {
                let kind = Temporal::ALL.into_iter().find(|kind| kind.name() == name)?;
                let at = match at {
                    Json::String(text) => kind.parse(text).ok()?,
                    at => at.as_i64()?,
                };
                Value::Temporal(kind, at)
            }
        },
    })
}

/// Properties as an object, in their order: it decides which numbers new properties get.
pub(super) mod properties {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        properties: &[(String, Value)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(properties.len()))?;
        for (name, value) in properties {
            map.serialize_entry(name, &json(value))?;
        }
        map.end()
    }

    pub(in super::super) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Vec<(String, Value)>, D::Error> {
        from.deserialize_map(Properties)
    }

    struct Properties;

    impl<'d> Visitor<'d> for Properties {
        type Value = Vec<(String, Value)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of properties")
        }

        fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = Vec::new();
            while let Some((name, json)) = map.next_entry::<String, Json>()? {
                let Some(value) = value(&json, false) else {
                    return Err(A::Error::custom(format!("{json} is no value of '{name}'")));
                };
                found.push((name, value));
            }
            Ok(found)
        }
    }
}
