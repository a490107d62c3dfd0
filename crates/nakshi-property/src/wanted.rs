//! What is asked of a property.

use memchr::memmem;

use super::value::{PropertyType, Scalar, Value};
use nakshi_store::{Error, Result};

/// What a property of a node or an edge has to be. A list is it if one of its items is.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// This value.
    Is(Value),
    /// A string or bytes in which these occur; every value, if they are empty. Without an index, if
    /// the property is searchable ([`PropertySpec`](super::PropertySpec)) or the layout is
    /// [`PropertyLayout::Zipg`](super::PropertyLayout), else all values are read.
    Contains(Value),
}

impl From<Value> for Condition {
    fn from(value: Value) -> Self {
        Condition::Is(value)
    }
}

impl Condition {
    /// As bytes of a property of type `ty`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for null, for a value of another type, and for substrings of what has none.
    pub(super) fn wanted(&self, ty: PropertyType) -> Result<Wanted> {
        let of = PropertyType::of(ty.scalar);
        let (value, of, wanted): (_, _, fn(Vec<u8>) -> Wanted) = match self {
            Condition::Contains(_) if !ty.is_text() => {
                return Err(Error::Invalid(format!("it is {ty}, which has no substrings")));
            }
            Condition::Contains(value) if ty.list => (value, of, Wanted::ItemContains),
            Condition::Contains(value) => (value, of, Wanted::Contains),
            Condition::Is(value) if ty.list && !matches!(value, Value::List(_)) => {
                (value, of, Wanted::Item)
            }
            Condition::Is(value) => (value, ty, Wanted::Equal),
        };
        let mut bytes = Vec::new();
        if !value.encode(of, &mut bytes)? {
            return Err(Error::Invalid("null is not searched for; ask for a value".into()));
        }
        Ok(wanted(bytes))
    }
}

impl PropertyType {
    /// Whether values, or items of lists, are strings or bytes.
    pub(super) fn is_text(self) -> bool {
        matches!(self.scalar, Scalar::String | Scalar::Bytes)
    }
}

/// What the bytes of a value are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// These bytes.
    Equal(Vec<u8>),
    /// Bytes with these among them, side by side.
    Contains(Vec<u8>),
    /// A list that has this item.
    Item(Vec<u8>),
    /// A list with an item that has these among its bytes.
    ItemContains(Vec<u8>),
}

impl Wanted {
    /// Whether a value is what is wanted.
    pub(super) fn fits(&self, value: &[u8]) -> bool {
        let mut items = super::value::items(value);
        match self {
            Wanted::Equal(wanted) => wanted == value,
            Wanted::Contains(pattern) => memmem::find(value, pattern).is_some(),
            Wanted::Item(item) => items.any(|found| found == item),
            Wanted::ItemContains(pattern) => {
                items.any(|item| memmem::find(item, pattern).is_some())
            }
        }
    }
}
