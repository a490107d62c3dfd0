//! The users' ids of vertices, as servers hand them to the front-end.

use std::cmp::Ordering;

use nakshi_store::{compare_decimal, is_canonical_integer};

/// The text of an id.
pub(crate) type Name = Box<[u8]>;

/// Ids in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Whole numbers without a sign, of 64 bits.
    Integers(Vec<u64>),
    /// The texts of ids: whole numbers, ordered as such, if all of them are; else in the order of their bytes.
    Names(Vec<Name>),
}

/// Kinds of ids, where they are bytes.
const INTEGERS: u8 = 0;
const NAMES: u8 = 1;

/// The order of texts: that of whole numbers if all are `whole`.
pub(crate) fn order_of(whole: bool) -> fn(&[u8], &[u8]) -> Ordering {
    if whole { compare_decimal } else { <[u8]>::cmp }
}

pub(crate) fn put_name(name: &Name, bytes: &mut Vec<u8>) {
    // Ids have 65,535 bytes at most.
    bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
    bytes.extend_from_slice(name);
}

pub(crate) fn take_name(bytes: &mut &[u8]) -> Option<Name> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    *bytes = rest;
    Some(name.into())
}

impl Ids {
    /// Number of ids.
    pub fn len(&self) -> usize {
        match self {
            Ids::Integers(ids) => ids.len(),
            Ids::Names(names) => names.len(),
        }
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the ids as bytes.
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push(if matches!(self, Ids::Integers(_)) { INTEGERS } else { NAMES });
        bytes.extend_from_slice(&(self.len() as u64).to_le_bytes());
        match self {
            Ids::Integers(ids) => {
                ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
            }
            Ids::Names(names) => names.iter().for_each(|name| put_name(name, bytes)),
        }
    }

    /// Takes the ids of [`Ids::put`]; `None` if they are cut off.
    pub(crate) fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (count, mut rest) = rest.split_first_chunk()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let ids = match kind {
            INTEGERS => {
                let (ids, left) = rest.split_at_checked(count.checked_mul(8)?)?;
                rest = left;
                Ids::Integers(ids.as_chunks().0.iter().map(|id| u64::from_le_bytes(*id)).collect())
            }
            NAMES => Ids::Names((0..count).map(|_| take_name(&mut rest)).collect::<Option<_>>()?),
            _ => return None,
        };
        *bytes = rest;
        Some(ids)
    }

    /// The ids of several servers together; `None` if they are of different kinds.
    pub(crate) fn joined(all: Vec<Self>) -> Option<Self> {
        let mut all = all.into_iter();
        let mut joined = all.next().unwrap_or(Ids::Integers(Vec::new()));
        for ids in all {
            match (&mut joined, ids) {
                (Ids::Integers(joined), Ids::Integers(mut ids)) => joined.append(&mut ids),
                (Ids::Names(joined), Ids::Names(mut ids)) => joined.append(&mut ids),
                _ => return None,
            }
        }
        match &mut joined {
            Ids::Integers(ids) => ids.sort_unstable(),
            Ids::Names(names) => {
                let order = order_of(names.iter().all(|name| is_canonical_integer(name)));
                names.sort_unstable_by(|a, b| order(a, b));
            }
        }
        Some(joined)
    }
}
