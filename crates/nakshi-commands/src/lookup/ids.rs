//! Ids of a request, and ids of an answer.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{LargeBinaryBuilder, LargeStringBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, UInt64Array};
use arrow_schema::{DataType, Field};

use crate::Result;
use crate::names::BIG;
use nakshi_store::{Error, ExternalId, IdKind, ResidentIds};

/// The ids of a request, as their caller has them.
#[derive(Debug, Clone)]
pub enum IdBatch {
    /// Integers with a sign.
    Signed(Vec<i64>),
    /// Integers without a sign.
    Unsigned(Vec<u64>),
    /// Ids of any kind.
    Any(Vec<ExternalId>),
}

impl IdBatch {
    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            IdBatch::Signed(ids) => ids.len(),
            IdBatch::Unsigned(ids) => ids.len(),
            IdBatch::Any(ids) => ids.len(),
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The integers from a position on, if the ids are integers with a sign.
    pub(super) fn integers(&self, from: usize) -> Option<&[i64]> {
        match self {
            IdBatch::Signed(ids) => ids.get(from..),
            _ => None,
        }
    }

    /// The id at a position, which is below the length.
    pub(super) fn get(&self, at: usize) -> Option<ExternalId> {
        match self {
            IdBatch::Signed(ids) => ids.get(at).map(|&id| ExternalId::I64(id)),
            IdBatch::Unsigned(ids) => ids.get(at).map(|&id| ExternalId::U64(id)),
            IdBatch::Any(ids) => ids.get(at).cloned(),
        }
    }
}

/// The ids of an answer.
#[derive(Debug, Clone)]
pub enum IdValues {
    /// Integers of 64 bits with a sign.
    Signed(Vec<i64>),
    /// Integers of 64 bits without one, where the graph has ids that need it.
    Unsigned(Vec<u64>),
    /// Text or bytes. Integers beyond 64 bits are decimal text, and the second value is true.
    Texts(ArrayRef, bool),
}

/// The form that the ids of a graph take in answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Signed,
    Unsigned,
    Text,
    Big,
    Bytes,
}

impl Form {
    /// The form with room for every id that may come to a graph of this one.
    pub(super) fn wider(self) -> Form {
        match self {
            Form::Signed | Form::Unsigned => Form::Big,
            other => other,
        }
    }

    /// The form of all ids of a dictionary.
    pub(super) fn of(ids: &ResidentIds) -> Result<Form> {
        Ok(match ids.kind() {
            IdKind::Dense | IdKind::I64 => Form::Signed,
            IdKind::U64 => match ids.last()? {
                Some(ExternalId::U64(id)) if i64::try_from(id).is_err() => Form::Unsigned,
                _ => Form::Signed,
            },
            IdKind::Big => Form::Big,
            IdKind::Text => Form::Text,
            IdKind::Bytes => Form::Bytes,
        })
    }
}

/// Ids as integers: as `plain` has them, else as their text says.
fn integers<T: FromStr>(
    ids: impl ExactSizeIterator<Item = Result<ExternalId>>,
    plain: impl Fn(&ExternalId) -> Option<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        let id = id?;
        let value = plain(&id).or_else(|| id.to_string().parse().ok());
        let odd = || Error::Invalid(format!("{id} is no id of this graph's kind"));
        all.push(value.ok_or_else(odd)?);
    }
    Ok(all)
}

impl IdValues {
    /// Ids in this form.
    ///
    /// # Errors
    /// An id that does not fit the form.
    pub(super) fn collect(
        form: Form,
        ids: impl ExactSizeIterator<Item = Result<ExternalId>>,
    ) -> Result<IdValues> {
        Ok(match form {
            Form::Signed => IdValues::Signed(integers(ids, |id| match id {
                ExternalId::I64(id) => Some(*id),
                ExternalId::U64(id) => i64::try_from(*id).ok(),
                _ => None,
            })?),
            Form::Unsigned => IdValues::Unsigned(integers(ids, |id| match id {
                ExternalId::U64(id) => Some(*id),
                _ => None,
            })?),
            Form::Text | Form::Big => {
                let mut all = LargeStringBuilder::with_capacity(ids.len(), 0);
                for id in ids {
                    match id? {
                        ExternalId::Text(text) | ExternalId::Big(text) => all.append_value(text),
                        other => all.append_value(other.to_string()),
                    }
                }
                IdValues::Texts(Arc::new(all.finish()), form == Form::Big)
            }
            Form::Bytes => {
                let mut all = LargeBinaryBuilder::with_capacity(ids.len(), 0);
                for id in ids {
                    match id? {
                        ExternalId::Bytes(bytes) => all.append_value(bytes),
                        other => all.append_value(other.to_string()),
                    }
                }
                IdValues::Texts(Arc::new(all.finish()), false)
            }
        })
    }

    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            IdValues::Signed(ids) => ids.len(),
            IdValues::Unsigned(ids) => ids.len(),
            IdValues::Texts(ids, _) => ids.len(),
        }
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A column of these ids: `Int64`, `UInt64`, text or bytes, as in tables of results.
    pub fn field(&self, name: &str) -> Field {
        let data_type = match self {
            IdValues::Signed(_) => DataType::Int64,
            IdValues::Unsigned(_) => DataType::UInt64,
            IdValues::Texts(ids, _) => ids.data_type().clone(),
        };
        let field = Field::new(name, data_type, false);
        if !matches!(self, IdValues::Texts(_, true)) {
            return field;
        }
        field.with_metadata([(BIG.to_owned(), "decimal".to_owned())].into())
    }

    /// Each id as many times as its list of `offsets` is long.
    pub fn repeated(&self, offsets: &[i64]) -> IdValues {
        let count = |pair: &[i64]| {
            let length = pair.last().zip(pair.first()).map_or(0, |(to, from)| to - from);
            usize::try_from(length).unwrap_or(0)
        };
        let counts = offsets.windows(2).map(count);
        macro_rules! repeat {
            ($ids:expr) => {
                counts.zip($ids).flat_map(|(count, id)| std::iter::repeat_n(id, count))
            };
        }
        match self {
            IdValues::Signed(ids) => IdValues::Signed(repeat!(ids.iter().copied()).collect()),
            IdValues::Unsigned(ids) => IdValues::Unsigned(repeat!(ids.iter().copied()).collect()),
            IdValues::Texts(ids, big) => {
                let array: ArrayRef = match ids.as_any().downcast_ref::<LargeBinaryArray>() {
                    Some(ids) => Arc::new(LargeBinaryArray::from_iter(repeat!(ids.iter()))),
                    None => Arc::new(LargeStringArray::from_iter(repeat!(texts(ids)))),
                };
                IdValues::Texts(array, *big)
            }
        }
    }

    /// The ids as an Arrow array; integers are copied.
    pub fn array(&self) -> ArrayRef {
        match self {
            IdValues::Signed(ids) => Arc::new(Int64Array::from(ids.clone())),
            IdValues::Unsigned(ids) => Arc::new(UInt64Array::from(ids.clone())),
            IdValues::Texts(ids, _) => Arc::clone(ids),
        }
    }
}

/// The texts of an array; none if it is another.
fn texts(ids: &ArrayRef) -> impl Iterator<Item = Option<&str>> {
    ids.as_any().downcast_ref::<LargeStringArray>().into_iter().flatten()
}
