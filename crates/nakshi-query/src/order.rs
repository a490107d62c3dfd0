//! Equality, comparison and order of values.
//!
//! Three relations differ: *equality* knows unknown values and is what `=` asks for, *comparison* is what
//! `<` asks for, and *order* sorts values of all types (`ORDER BY`, `DISTINCT`, groups).

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::value::{Map, Node, Path, Relationship, Value};

/// Equality of two values; `None` if it is unknown.
pub(crate) fn equal(a: &Value, b: &Value) -> Option<bool> {
    Some(match (a, b) {
        (Value::Null, _) | (_, Value::Null) => return None,
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => {
            int_to_float(*a, *b).is_some_and(Ordering::is_eq)
        }
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            return all(a.iter().zip(b.iter()).map(|(a, b)| equal(a, b)));
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.len() != b.len() || a.keys().ne(b.keys()) {
                return Some(false);
            }
            return all(a.values().zip(b.values()).map(|(a, b)| equal(a, b)));
        }
        (a, b) => same_type(a, b) && order(a, b).is_eq(),
    })
}

/// False if any is false, else unknown if any is unknown, else true.
fn all(mut results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    results
        .try_fold(Some(true), |so_far, one| match one {
            Some(false) => Err(()),
            Some(true) => Ok(so_far),
            None => Ok(None),
        })
        .unwrap_or(Some(false))
}

fn same_type(a: &Value, b: &Value) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Order of an integer and a float; `None` for NaN. Exact, because a float may be beyond all integers.
fn int_to_float(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // 2^63 is a float, and above all integers.
    if b >= 9_223_372_036_854_775_808.0 {
        return Some(Ordering::Less);
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc() as i64;
    Some(a.cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(b - b.trunc() + 0.0))))
}

/// Comparison of two values; `None` if it is unknown or the types have none.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Float(b)) => int_to_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => int_to_float(*b, *a).map(Ordering::reverse),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::List(a), Value::List(b)) => {
            for (a, b) in a.iter().zip(b.iter()) {
                let found = if a.is_null() || b.is_null() { None } else { compare(a, b) };
                match found? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        (Value::Int(_), Value::Int(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_))
        | (Value::Bytes(_), Value::Bytes(_)) => Some(order(a, b)),
        (a, b) if a.is_temporal() && same_type(a, b) => Some(order(a, b)),
        _ => None,
    }
}

/// Rank of a type among all, from the first in ascending order on.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Map(_) => 0,
        Value::Node(_) => 1,
        Value::Relationship(_) => 2,
        Value::List(_) => 3,
        Value::Path(_) => 4,
        Value::DateTime(_) => 5,
        Value::LocalDateTime(_) => 6,
        Value::Date(_) => 7,
        Value::Time(_) => 8,
        Value::LocalTime(_) => 9,
        Value::Duration(_) => 10,
        Value::Point(_) => 11,
        Value::String(_) => 12,
        Value::Bool(_) => 13,
        Value::Int(_) | Value::Float(_) => 14,
        Value::Bytes(_) => 15,
        Value::Null => 16,
    }
}

/// Order of all values: by type, then by value; null comes last, NaN last among numbers.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Int(a), Value::Float(b)) => int_to_float(*a, *b).unwrap_or(Ordering::Less),
        (Value::Float(a), Value::Int(b)) => {
            int_to_float(*b, *a).map_or(Ordering::Greater, Ordering::reverse)
        }
        (Value::Float(a), Value::Float(b)) => order_floats(*a, *b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::List(a), Value::List(b)) => order_all(a.iter(), b.iter()),
        (Value::Map(a), Value::Map(b)) => order_maps(a, b),
        (Value::Node(a), Value::Node(b)) => a.vertex.cmp(&b.vertex),
        (Value::Relationship(a), Value::Relationship(b)) => a.edge.cmp(&b.edge),
        (Value::Path(a), Value::Path(b)) => order_paths(a, b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::LocalTime(a), Value::LocalTime(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::LocalDateTime(a), Value::LocalDateTime(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Duration(a), Value::Duration(b)) => a.order(b),
        (Value::Point(a), Value::Point(b)) => a.srid.cmp(&b.srid).then_with(|| {
            let pairs = a.coordinates.iter().zip(&b.coordinates);
            pairs
                .map(|(a, b)| a.total_cmp(b))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        }),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn order_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn order_all<'v>(
    a: impl ExactSizeIterator<Item = &'v Value>,
    b: impl ExactSizeIterator<Item = &'v Value>,
) -> Ordering {
    let lengths = a.len().cmp(&b.len());
    a.zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or(lengths)
}

fn order_maps(a: &Map, b: &Map) -> Ordering {
    let sizes = a.len().cmp(&b.len()).then_with(|| a.keys().cmp(b.keys()));
    sizes.then_with(|| order_all(a.values(), b.values()))
}

fn order_paths(a: &Path, b: &Path) -> Ordering {
    let nodes = |path: &Path| path.nodes.iter().map(|node: &Node| node.vertex).collect::<Vec<_>>();
    let edges =
        |path: &Path| path.edges.iter().map(|edge: &Relationship| *edge.edge).collect::<Vec<_>>();
    nodes(a).cmp(&nodes(b)).then_with(|| edges(a).cmp(&edges(b)))
}

/// A value as a key of groups and sets: null equals null, and 1 equals 1.0.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub(crate) Value);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        order(&self.0, &other.0).is_eq()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

fn hash<H: Hasher>(value: &Value, state: &mut H) {
    rank(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(value) => value.hash(state),
        Value::Int(value) => hash_float(*value as f64, state),
        Value::Float(value) => hash_float(*value, state),
        Value::String(value) => value.hash(state),
        Value::Bytes(value) => value.hash(state),
        Value::List(items) => items.iter().for_each(|item| hash(item, state)),
        Value::Map(map) => map.iter().for_each(|(name, value)| {
            name.hash(state);
            hash(value, state);
        }),
        Value::Node(node) => node.vertex.hash(state),
        Value::Relationship(edge) => edge.edge.hash(state),
        Value::Path(path) => path.nodes.iter().for_each(|node| node.vertex.hash(state)),
        Value::Date(value) => value.hash(state),
        Value::LocalTime(value) => value.hash(state),
        Value::Time(value) => value.utc_nanos().hash(state),
        Value::LocalDateTime(value) => value.hash(state),
        Value::DateTime(value) => value.utc().hash(state),
        Value::Duration(value) => value.hash(state),
        Value::Point(value) => value.srid.hash(state),
    }
}

/// Hashes a float so that equal numbers have equal hashes.
fn hash_float<H: Hasher>(value: f64, state: &mut H) {
    let value = if value == 0.0 { 0.0 } else { value };
    let value = if value.is_nan() { f64::NAN } else { value };
    value.to_bits().hash(state);
}
