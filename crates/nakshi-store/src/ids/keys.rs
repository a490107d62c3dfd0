//! Blocks of sorted external ids.
//!
//! 64 ids make a block. Integers: the first as (zigzag) LEB128, then LEB128 gaps. Everything
//! else: length and bytes of the first, then shared prefix, suffix length and suffix.

use super::{ExternalId, IdKind, compare_decimal};
use crate::{Error, Result, varint};
use std::cmp::Ordering;

/// Ids in a block.
pub(crate) const BLOCK: u64 = 64;

const BAD: &str = "a block of the id dictionary does not decode";

/// One id, borrowed, as the dictionary holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// Decimal, text or bytes.
    Bytes(&'a [u8]),
}

/// Encodes ids, pushed in ascending order, block by block.
#[derive(Debug)]
pub(crate) struct KeyEncoder {
    kind: IdKind,
    count: u64,
    last_int: i128,
    last_bytes: Vec<u8>,
}

impl KeyEncoder {
    pub(crate) fn new(kind: IdKind) -> Self {
        Self { kind, count: 0, last_int: 0, last_bytes: Vec::new() }
    }

    /// Ids pushed.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Appends `key`; returns whether it begins a block.
    pub(crate) fn push(&mut self, key: Key<'_>, out: &mut Vec<u8>) -> Result<bool> {
        let begins = self.count.is_multiple_of(BLOCK);
        match (self.kind, key) {
            (IdKind::U64, Key::U64(v)) => self.push_int(i128::from(v), begins, out)?,
            (IdKind::I64, Key::I64(v)) => self.push_int(i128::from(v), begins, out)?,
            (IdKind::Big | IdKind::Text | IdKind::Bytes, Key::Bytes(v)) => {
                self.push_bytes(v, begins, out)?
            }
            _ => return Err(Error::Invalid(format!("an id of another kind than {:?}", self.kind))),
        }
        self.count += 1;
        Ok(begins)
    }

    fn push_int(&mut self, v: i128, begins: bool, out: &mut Vec<u8>) -> Result<()> {
        if self.count > 0 && v <= self.last_int {
            return Err(not_ascending());
        }
        let coded = if begins { zigzag(v) } else { v.wrapping_sub(self.last_int).unsigned_abs() };
        match u64::try_from(coded) {
            Ok(coded) => varint::put(out, coded),
            // the zigzag of an id at or above 2^63, or a gap across the whole of i64
            Err(_) => put_wide(out, coded),
        }
        self.last_int = v;
        Ok(())
    }

    fn push_bytes(&mut self, v: &[u8], begins: bool, out: &mut Vec<u8>) -> Result<()> {
        if self.count > 0 {
            let order = match self.kind {
                IdKind::Big => compare_decimal(&self.last_bytes, v),
                _ => self.last_bytes.as_slice().cmp(v),
            };
            if order != Ordering::Less {
                return Err(not_ascending());
            }
        }
        let shared = if begins {
            0
        } else {
            self.last_bytes.iter().zip(v).take_while(|(a, b)| a == b).count()
        };
        if !begins {
            varint::put(out, shared as u64);
        }
        let suffix = v.get(shared..).unwrap_or_default();
        varint::put(out, suffix.len() as u64);
        out.extend_from_slice(suffix);
        self.last_bytes.truncate(shared);
        self.last_bytes.extend_from_slice(suffix);
        Ok(())
    }
}

fn not_ascending() -> Error {
    Error::Invalid("external ids must be given once each and in ascending order".into())
}

fn zigzag(v: i128) -> u128 {
    ((v << 1) ^ (v >> 127)).unsigned_abs()
}

fn put_wide(out: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

fn get_wide(bytes: &[u8], at: &mut usize) -> Option<u128> {
    let (mut value, mut shift) = (0u128, 0);
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 70 {
            return None;
        }
    }
}

/// Decodes the `count` ids of one block and hands them to `f`; returns the bytes used.
pub(crate) fn decode_block(
    kind: IdKind,
    bytes: &[u8],
    count: u64,
    scratch: &mut Vec<u8>,
    mut f: impl FnMut(Key<'_>) -> Result<()>,
) -> Result<usize> {
    let mut at = 0;
    let mut last = 0i128;
    scratch.clear();
    for i in 0..count {
        match kind {
            IdKind::U64 | IdKind::I64 => {
                let coded = get_wide(bytes, &mut at)
                    .and_then(|c| i128::try_from(c).ok())
                    .ok_or(Error::BadList(BAD))?;
                last = if i == 0 { (coded >> 1) ^ -(coded & 1) } else { last + coded };
                let key = match kind {
                    IdKind::U64 => u64::try_from(last).map(Key::U64),
                    _ => i64::try_from(last).map(Key::I64),
                };
                f(key.map_err(|_| Error::BadList(BAD))?)?;
            }
            _ => {
                let shared = if i == 0 {
                    0
                } else {
                    varint::get(bytes, &mut at).ok_or(Error::BadList(BAD))?
                };
                let len = varint::get(bytes, &mut at).ok_or(Error::BadList(BAD))?;
                let suffix = usize::try_from(len)
                    .ok()
                    .and_then(|len| bytes.get(at..at.checked_add(len)?))
                    .ok_or(Error::BadList(BAD))?;
                let shared = usize::try_from(shared)
                    .ok()
                    .filter(|s| *s <= scratch.len())
                    .ok_or(Error::BadList(BAD))?;
                at += suffix.len();
                scratch.truncate(shared);
                scratch.extend_from_slice(suffix);
                f(Key::Bytes(scratch))?;
            }
        }
    }
    Ok(at)
}

impl Key<'_> {
    /// An owned id of `kind`.
    ///
    /// # Errors
    /// [`Error::BadList`] if text is not UTF-8.
    pub fn to_external(self, kind: IdKind) -> Result<ExternalId> {
        let text = |b: &[u8]| {
            String::from_utf8(b.to_vec()).map_err(|_| Error::BadList("a text id is not UTF-8"))
        };
        Ok(match (kind, self) {
            (_, Key::U64(v)) => ExternalId::U64(v),
            (_, Key::I64(v)) => ExternalId::I64(v),
            (IdKind::Big, Key::Bytes(b)) => ExternalId::Big(text(b)?),
            (IdKind::Text, Key::Bytes(b)) => ExternalId::Text(text(b)?),
            (_, Key::Bytes(b)) => ExternalId::Bytes(b.to_vec()),
        })
    }

    /// The order of integers, whether or not one of them has a sign; `None` for others.
    pub(crate) fn compare_numbers(self, other: &ExternalId) -> Option<Ordering> {
        let ours = match self {
            Key::U64(v) => i128::from(v),
            Key::I64(v) => i128::from(v),
            Key::Bytes(_) => return None,
        };
        let theirs = match other {
            ExternalId::U64(v) => i128::from(*v),
            ExternalId::I64(v) => i128::from(*v),
            _ => return None,
        };
        Some(ours.cmp(&theirs))
    }

    /// The order of ids of one kind.
    pub(crate) fn compare(self, kind: IdKind, other: &ExternalId) -> Ordering {
        match (self, other) {
            (Key::U64(a), ExternalId::U64(b)) => a.cmp(b),
            (Key::I64(a), ExternalId::I64(b)) => a.cmp(b),
            (Key::Bytes(a), ExternalId::Big(b)) if kind == IdKind::Big => {
                compare_decimal(a, b.as_bytes())
            }
            (Key::Bytes(a), ExternalId::Text(b) | ExternalId::Big(b)) => a.cmp(b.as_bytes()),
            (Key::Bytes(a), ExternalId::Bytes(b)) => a.cmp(b.as_slice()),
            // another kind: `in_kind` never lets one through
            _ => Ordering::Less,
        }
    }
}
