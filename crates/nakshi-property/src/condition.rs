//! Conditions on a property.

use memchr::memmem;

use super::value::{PropertyType, Scalar, Value};
use nakshi_store::{Error, Result};

/// A condition on a property of a node or an edge. A list matches if any of its items matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The property equals this value.
    Is(Value),
    /// The string, or the bytes, contain this value; an empty value is contained in all. A search
    /// reads all values of the property unless the property is searchable
    /// ([`PropertySpec`](super::PropertySpec)) or the layout is
    /// [`PropertyLayout::Zipg`](super::PropertyLayout).
    Contains(Value),
}

impl From<Value> for Condition {
    fn from(value: Value) -> Self {
        Condition::Is(value)
    }
}

impl Condition {
    /// Encodes the condition for a property of type `ty`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for null, for a value of another type, and for substrings of a type that
    /// is no text.
    pub(super) fn wanted(&self, ty: PropertyType) -> Result<Predicate> {
        let of = PropertyType::of(ty.scalar);
        let (value, of, wanted): (_, _, fn(Vec<u8>) -> Predicate) = match self {
            Condition::Contains(_) if !ty.is_text() => {
                return Err(Error::Invalid(format!("it is {ty}, which has no substrings")));
            }
            Condition::Contains(value) if ty.list => (value, of, Predicate::ItemContains),
            Condition::Contains(value) => (value, of, Predicate::Contains),
            Condition::Is(value) if ty.list && !matches!(value, Value::List(_)) => {
                (value, of, Predicate::Item)
            }
            Condition::Is(value) => (value, ty, Predicate::Equal),
        };
        let mut bytes = Vec::new();
        if !value.encode(of, &mut bytes)? {
            return Err(Error::Invalid("null is not searched for; ask for a value".into()));
        }
        Ok(wanted(bytes))
    }
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
    /// The list has this item.
    Item(Vec<u8>),
    /// The list has an item that contains these bytes.
    ItemContains(Vec<u8>),
}

impl Predicate {
    /// Returns true if the encoded `value` matches.
    pub(super) fn fits(&self, value: &[u8]) -> bool {
        let mut items = super::value::items(value);
        match self {
            Predicate::Equal(wanted) => wanted == value,
            Predicate::Contains(pattern) => memmem::find(value, pattern).is_some(),
            Predicate::Item(item) => items.any(|found| found == item),
            Predicate::ItemContains(pattern) => {
                items.any(|item| memmem::find(item, pattern).is_some())
            }
        }
    }
}
