//! External ids: the users' names of vertices, and their conversion to and from internal ids.
//!
//! - [`ExternalId`], [`IdKind`]: the kinds of names and their order;
//! - [`IdMap`]: look-ups and streams over a store's names, read from disk on demand;
//! - `keys`: blocks of 64 sorted names, front-coded or as gaps.
//!
//! A vertex has three numbers: its *internal* id (position in the layout), its *rank* (position of
//! its external id in ascending order) and the external id itself. Results are shown by rank.

pub(crate) mod keys;
mod map;
mod resident;

pub use map::IdMap;
pub use resident::ResidentIds;

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Result;

/// The kind of a store's external ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdKind {
    /// Consecutive integers from a first one; no keys are stored.
    Dense,
    /// Unsigned 64-bit integers.
    U64,
    /// Signed 64-bit integers.
    I64,
    /// Integers of any size, written in canonical decimal, ordered as numbers.
    Big,
    /// UTF-8 text, ordered by bytes.
    Text,
    /// Bytes.
    Bytes,
}

/// One external id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ExternalId {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// An integer of any size in canonical decimal.
    Big(String),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl fmt::Display for ExternalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U64(v) => v.fmt(f),
            Self::I64(v) => v.fmt(f),
            Self::Big(s) | Self::Text(s) => f.write_str(s),
            Self::Bytes(b) => String::from_utf8_lossy(b).fmt(f),
        }
    }
}

/// Returns true if `text` is an integer as Rust and Python print it: no plus, no leading zero, no
/// minus zero. "007" is a string.
pub fn is_canonical_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Orders two canonical decimal integers as numbers.
pub fn compare_decimal(a: &[u8], b: &[u8]) -> Ordering {
    match (a.strip_prefix(b"-"), b.strip_prefix(b"-")) {
        (None, None) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (Some(a), Some(b)) => b.len().cmp(&a.len()).then_with(|| b.cmp(a)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
    }
}

impl ExternalId {
    /// The bytes of the id's text, in the form that an import reads.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            other => other.to_string().into_bytes(),
        }
    }

    /// The id in JSON: an integer, text (also for integers of more than 64 bits), or `{"bytes": [...]}` for one
    /// that is not UTF-8. `None` for anything else.
    pub fn of_json(id: &serde_json::Value) -> Option<Self> {
        Some(match id {
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Object(object) => {
                Self::Bytes(serde_json::from_value(object.get("bytes")?.clone()).ok()?)
            }
            other => match (other.as_i64(), other.as_u64()) {
                (Some(id), _) => Self::I64(id),
                (None, Some(id)) => Self::U64(id),
                _ => return None,
            },
        })
    }

    /// Returns the id in the form in which a store of `kind` would hold it, if it can.
    pub(crate) fn in_kind(&self, kind: IdKind) -> Option<Self> {
        // The most frequent cases, without a detour over text.
        match (self, kind) {
            (Self::U64(_), IdKind::U64)
            | (Self::I64(_), IdKind::I64 | IdKind::Dense)
            | (Self::Text(_), IdKind::Text) => return Some(self.clone()),
            (Self::I64(v), IdKind::U64) => return u64::try_from(*v).ok().map(Self::U64),
            (Self::U64(v), IdKind::I64 | IdKind::Dense) => {
                return i64::try_from(*v).ok().map(Self::I64);
            }
            _ => {}
        }
        match kind {
            IdKind::U64 => self.integer_text()?.parse().ok().map(Self::U64),
            IdKind::I64 | IdKind::Dense => self.integer_text()?.parse().ok().map(Self::I64),
            IdKind::Big => self.integer_text().map(Self::Big),
            IdKind::Text => match self {
                Self::Bytes(b) => String::from_utf8(b.clone()).ok().map(Self::Text),
                other => Some(Self::Text(other.to_string())),
            },
            IdKind::Bytes => match self {
                Self::Bytes(b) => Some(Self::Bytes(b.clone())),
                other => Some(Self::Bytes(other.to_string().into_bytes())),
            },
        }
    }

    /// Returns the rank of the id among ids of `kind`: among consecutive integers, the first and
    /// the number of which are `dense`, else as `search` finds it.
    fn rank(
        &self,
        kind: IdKind,
        dense: Option<(i64, u64)>,
        search: impl FnOnce(&Self) -> Result<Option<u64>>,
    ) -> Result<Option<u64>> {
        let Some(id) = self.in_kind(kind) else { return Ok(None) };
        let Some((first, count)) = dense else { return search(&id) };
        let Self::I64(id) = id else { return Ok(None) };
        let rank = u64::try_from(i128::from(id) - i128::from(first)).ok();
        Ok(rank.filter(|rank| *rank < count))
    }

    /// Returns the id in its plainest kind: an integer, else text, else bytes.
    pub(crate) fn plain(&self) -> Self {
        let kinds = [IdKind::Big, IdKind::Text].into_iter();
        kinds.filter_map(|kind| self.in_kind(kind)).next().unwrap_or_else(|| self.clone())
    }

    /// Returns the canonical decimal, if this is an integer of any kind.
    fn integer_text(&self) -> Option<String> {
        let text = match self {
            Self::Bytes(b) => String::from_utf8(b.clone()).ok()?,
            other => other.to_string(),
        };
        is_canonical_integer(text.as_bytes()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_integers() {
        for yes in ["0", "7", "-1", "18446744073709551616", "-99999999999999999999999"] {
            assert!(is_canonical_integer(yes.as_bytes()), "{yes}");
        }
        for no in ["", "-", "-0", "007", "+1", "1 ", "1e3", "0x1", "１"] {
            assert!(!is_canonical_integer(no.as_bytes()), "{no}");
        }
    }

    #[test]
    fn decimal_order_is_numeric() {
        let sorted = ["-100", "-99", "-1", "0", "9", "10", "18446744073709551616"];
        for pair in sorted.windows(2) {
            assert_eq!(compare_decimal(pair[0].as_bytes(), pair[1].as_bytes()), Ordering::Less);
            assert_eq!(compare_decimal(pair[1].as_bytes(), pair[0].as_bytes()), Ordering::Greater);
        }
    }
}
