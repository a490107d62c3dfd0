//! Types of values, as type predicates name them: `x IS :: LIST<INTEGER NOT NULL>`.

use super::value::Value;

/// A set of values. It has null unless it is one without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) not_null: bool,
}

/// A kind of values, apart from null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    /// No value, and no null.
    Nothing,
    /// Null alone.
    Null,
    Boolean,
    String,
    Integer,
    Float,
    Date,
    LocalTime,
    ZonedTime,
    LocalDateTime,
    ZonedDateTime,
    Duration,
    Point,
    Node,
    Relationship,
    Path,
    Map,
    /// Values that can be properties.
    PropertyValue,
    List(Box<Type>),
    /// Values of any of these types, of which all have null or none has.
    Union(Vec<Type>),
}

impl Type {
    /// Returns true for a type that has null.
    pub(crate) fn has_null(&self) -> bool {
        match &self.kind {
            Kind::Nothing => false,
            Kind::Union(types) => types.iter().any(Type::has_null),
            _ => !self.not_null,
        }
    }

    /// Returns true if a value is one of this type.
    pub(crate) fn has(&self, value: &Value) -> bool {
        if value.is_null() {
            return self.has_null();
        }
        match &self.kind {
            Kind::List(of) => match value {
                Value::List(items) => items.iter().all(|item| of.has(item)),
                Value::Bytes(bytes) => bytes.iter().all(|byte| of.has(&Value::Int((*byte).into()))),
                _ => false,
            },
            Kind::Union(types) => types.iter().any(|one| one.has(value)),
            kind => kind.has(value),
        }
    }
}

impl Kind {
    /// Returns true if a value that is not null is of this kind, which has no types inside.
    fn has(&self, value: &Value) -> bool {
        match self {
            Kind::Any => true,
            Kind::PropertyValue => is_property(value),
            kind => Kind::of(value).is_some_and(|own| own == *kind),
        }
    }

    /// The kind of a value; `None` for a list, bytes and null.
    fn of(value: &Value) -> Option<Kind> {
        Some(match value {
            Value::Bool(_) => Kind::Boolean,
            Value::String(_) => Kind::String,
            Value::Int(_) => Kind::Integer,
            Value::Float(_) => Kind::Float,
            Value::Date(_) => Kind::Date,
            Value::LocalTime(_) => Kind::LocalTime,
            Value::Time(_) => Kind::ZonedTime,
            Value::LocalDateTime(_) => Kind::LocalDateTime,
            Value::DateTime(_) => Kind::ZonedDateTime,
            Value::Duration(_) => Kind::Duration,
            Value::Point(_) => Kind::Point,
            Value::Node(_) => Kind::Node,
            Value::Relationship(_) => Kind::Relationship,
            Value::Path(_) => Kind::Path,
            Value::Map(_) => Kind::Map,
            Value::List(_) | Value::Bytes(_) | Value::Null => return None,
        })
    }
}

/// Returns true for a value that can be a property: one of a simple kind, or a list of some of one kind.
fn is_property(value: &Value) -> bool {
    let simple = |value: &Value| {
        let kind = Kind::of(value)?;
        let is_simple = !matches!(kind, Kind::Node | Kind::Relationship | Kind::Path | Kind::Map);
        is_simple.then_some(kind)
    };
    match value {
        Value::Bytes(_) => true,
        Value::List(items) => match items.first().map(simple) {
            None => true,
            Some(None) => false,
            Some(first) => items.iter().all(|item| simple(item) == first),
        },
        value => simple(value).is_some(),
    }
}
