//! Conditions on a property.

use std::ops::Bound;

use memchr::memmem;

use super::value::{PropertyType, Scalar, Value};
use nakshi_store::{Error, Result};

/// A condition on a property of a node or an edge.
///
/// A list matches [`Condition::Is`] with a single value, `Contains`, `Starts`, `Range` and `In` if any
/// of its items matches. A node or an edge without the property matches [`Condition::Null`], and the
/// negation of every condition that it does not match.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// The property equals this value.
    Is(Value),
    /// The string, or the bytes, contain this value; an empty value is contained in all. A search
    /// reads all values of the property unless the property is searchable
    /// ([`PropertySpec`](super::PropertySpec)) or the layout is
    /// [`PropertyLayout::Zipg`](super::PropertyLayout).
    Contains(Value),
    /// The string, or the bytes, start with this value.
    Starts(Value),
    /// The value is between a lower and an upper bound. A float that is NaN is in no range.
    Range(Bound<Value>, Bound<Value>),
    /// The property equals one of these values.
    In(Vec<Value>),
    /// The property is null.
    Null,
    /// The condition does not hold.
    Not(Box<Condition>),
    /// All conditions hold.
    All(Vec<Condition>),
    /// Any condition holds.
    Any(Vec<Condition>),
}

impl From<Value> for Condition {
    fn from(value: Value) -> Self {
        Condition::Is(value)
    }
}

impl Condition {
    /// Conditions by name, with borrowed names, as queries take them.
    pub fn borrowed(wanted: &[(String, Condition)]) -> Vec<(&str, Condition)> {
        wanted.iter().map(|(name, condition)| (name.as_str(), condition.clone())).collect()
    }

    /// Encodes the condition for a property of type `ty`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for null, for a value of another type, and for substrings of a type that is
    /// no text.
    pub(super) fn predicate(&self, ty: PropertyType) -> Result<Predicate> {
        let of = PropertyType::of(ty.scalar);
        let many = |all: &[Condition]| -> Result<Vec<Predicate>> {
            all.iter().map(|one| one.predicate(ty)).collect()
        };
        Ok(match self {
            Condition::Contains(_) | Condition::Starts(_) if !ty.is_text() => {
                return Err(Error::Invalid(format!("it is {ty}, which has no substrings")));
            }
            Condition::Contains(value) if ty.list => Predicate::ItemContains(encoded(value, of)?),
            Condition::Contains(value) => Predicate::Contains(encoded(value, of)?),
            Condition::Is(value) if ty.list && !matches!(value, Value::List(_)) => {
                Predicate::Item(encoded(value, of)?)
            }
            Condition::Is(value) => Predicate::Equal(encoded(value, ty)?),
            Condition::Starts(value) => {
                let low = encoded(value, of)?;
                let high = successor(&low).map_or(Bound::Unbounded, Bound::Excluded);
                Predicate::range(ty, Bound::Included(low), high)
            }
            Condition::Range(low, high) => {
                let low = bound(low, of, [-0.0, 0.0], f64::NEG_INFINITY)?;
                Predicate::range(ty, low, bound(high, of, [0.0, -0.0], f64::INFINITY)?)
            }
            Condition::In(values) => {
                let values = values.iter().map(|value| Condition::Is(value.clone()));
                Predicate::Any(many(&values.collect::<Vec<_>>())?)
            }
            Condition::Null => Predicate::Null,
            Condition::Not(one) => Predicate::Not(Box::new(one.predicate(ty)?)),
            Condition::All(all) => Predicate::All(many(all)?),
            Condition::Any(all) => Predicate::Any(many(all)?),
        })
    }
}

fn encoded(value: &Value, ty: PropertyType) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match value.encode(ty, &mut bytes)? {
        true => Ok(bytes),
        false => Err(Error::Invalid("null is not searched for; ask for a value".into())),
    }
}

/// Encodes a bound. Floats are stored in their total order, in which -0 comes before 0 and NaN lies
/// beyond the infinities: `zeros` replaces a zero that is included or excluded, `infinity` a missing
/// bound, and nothing is within a bound that is NaN.
fn bound(
    bound: &Bound<Value>,
    ty: PropertyType,
    zeros: [f64; 2],
    infinity: f64,
) -> Result<Bound<Vec<u8>>> {
    let float = ty.scalar == Scalar::Float;
    let is_zero = |value: &Value| match value {
        Value::Float(v) => float && *v == 0.0,
        Value::Int(v) => float && *v == 0,
        _ => false,
    };
    let [included, excluded] = zeros.map(Value::Float);
    let none = Value::Float(f64::NAN.copysign(-infinity));
    Ok(match bound {
        Bound::Included(Value::Float(v)) | Bound::Excluded(Value::Float(v)) if v.is_nan() => {
            Bound::Included(encoded(&none, ty)?)
        }
        Bound::Included(value) if is_zero(value) => Bound::Included(encoded(&included, ty)?),
        Bound::Excluded(value) if is_zero(value) => Bound::Excluded(encoded(&excluded, ty)?),
        Bound::Included(value) => Bound::Included(encoded(value, ty)?),
        Bound::Excluded(value) => Bound::Excluded(encoded(value, ty)?),
        Bound::Unbounded if float => Bound::Included(encoded(&Value::Float(infinity), ty)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}

/// The least bytes above all that start with `prefix`; `None` if there are none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut next = prefix.get(..=last)?.to_vec();
    *next.last_mut()? += 1;
    Some(next)
}

impl PropertyType {
    /// Returns true if values, or items of lists, are strings or bytes.
    pub(super) fn is_text(self) -> bool {
        matches!(self.scalar, Scalar::String | Scalar::Bytes)
    }
}

/// A condition in terms of the encoded bytes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    /// The value is these bytes.
    Equal(Vec<u8>),
    /// The value contains these bytes, side by side.
    Contains(Vec<u8>),
    /// The value is within these bounds.
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// The list has this item.
    Item(Vec<u8>),
    /// The list has an item that contains these bytes.
    ItemContains(Vec<u8>),
    /// The list has an item within these bounds.
    ItemRange(Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// There is no value.
    Null,
    /// The predicate does not hold.
    Not(Box<Predicate>),
    /// All predicates hold.
    All(Vec<Predicate>),
    /// Any predicate holds.
    Any(Vec<Predicate>),
}

impl Predicate {
    fn range(ty: PropertyType, low: Bound<Vec<u8>>, high: Bound<Vec<u8>>) -> Self {
        if ty.list { Predicate::ItemRange(low, high) } else { Predicate::Range(low, high) }
    }

    /// Returns true if the encoded `value` matches; `None` is null.
    pub(super) fn fits(&self, value: Option<&[u8]>) -> bool {
        let items = || value.into_iter().flat_map(super::value::items);
        match self {
            Predicate::Equal(wanted) => value == Some(wanted.as_slice()),
            Predicate::Contains(part) => {
                value.is_some_and(|value| memmem::find(value, part).is_some())
            }
            Predicate::Range(low, high) => value.is_some_and(|value| within(value, low, high)),
            Predicate::Item(wanted) => items().any(|item| item == wanted),
            Predicate::ItemContains(part) => items().any(|item| memmem::find(item, part).is_some()),
            Predicate::ItemRange(low, high) => items().any(|item| within(item, low, high)),
            Predicate::Null => value.is_none(),
            Predicate::Not(one) => !one.fits(value),
            Predicate::All(all) => all.iter().all(|one| one.fits(value)),
            Predicate::Any(all) => all.iter().any(|one| one.fits(value)),
        }
    }
}

fn within(value: &[u8], low: &Bound<Vec<u8>>, high: &Bound<Vec<u8>>) -> bool {
    !below(value, low) && !above(value, high)
}

/// Returns true if `value` is below a lower bound.
pub(super) fn below(value: &[u8], low: &Bound<Vec<u8>>) -> bool {
    match low {
        Bound::Included(low) => value < low.as_slice(),
        Bound::Excluded(low) => value <= low.as_slice(),
        Bound::Unbounded => false,
    }
}

/// Returns true if `value` is above an upper bound.
pub(super) fn above(value: &[u8], high: &Bound<Vec<u8>>) -> bool {
    match high {
        Bound::Included(high) => value > high.as_slice(),
        Bound::Excluded(high) => value >= high.as_slice(),
        Bound::Unbounded => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_floats_are_those_of_their_comparison() {
        let ty = PropertyType::of(Scalar::Float);
        let values = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN, -f64::NAN];
        let encoded = |value: f64| super::encoded(&Value::Float(value), ty).unwrap();
        for limit in values {
            let (included, excluded) =
                (Bound::Included(Value::Float(limit)), Bound::Excluded(Value::Float(limit)));
            type Compare = fn(f64, f64) -> bool;
            let ranges: [(Condition, Compare); 4] = [
                (Condition::Range(included.clone(), Bound::Unbounded), |a, b| a >= b),
                (Condition::Range(excluded.clone(), Bound::Unbounded), |a, b| a > b),
                (Condition::Range(Bound::Unbounded, included), |a, b| a <= b),
                (Condition::Range(Bound::Unbounded, excluded), |a, b| a < b),
            ];
            for (condition, compare) in ranges {
                let predicate = condition.predicate(ty).unwrap();
                for value in values {
                    let fits = predicate.fits(Some(&encoded(value)));
                    assert_eq!(fits, compare(value, limit), "{value} {condition:?}");
                }
            }
        }
        let zero = Condition::Range(Bound::Included(Value::Int(0)), Bound::Unbounded);
        assert!(zero.predicate(ty).unwrap().fits(Some(&encoded(-0.0))));
    }

    #[test]
    fn a_prefix_ends_before_its_successor() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
        let text = PropertyType::of(Scalar::String);
        let condition = Condition::Starts(Value::String(String::new()));
        let all = condition.predicate(text).unwrap();
        assert!(all.fits(Some(b"")) && !all.fits(None));
        assert!(condition.predicate(PropertyType::of(Scalar::Int)).is_err());
    }
}
