//! Blocks of sorted external ids.
//!
//! A block holds 64 ids. A block of integers has the first as (zigzag) LEB128, then LEB128 gaps.
//! Any other block has the length and the bytes of the first id, then shared prefix, suffix length
//! and suffix of each other.

use super::{ExternalId, IdKind, compare_decimal};
use crate::{Error, Result, varint};
use std::cmp::Ordering;

/// Number of ids in a block.
pub(crate) const BLOCK: u64 = 64;

const BAD: &str = "a block of the id dictionary does not decode";

/// One id, borrowed, in the form of the dictionary.
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

    /// Returns the number of ids pushed.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Appends `key`; returns true if it begins a block.
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
            // the zigzag of an id at or above 2^63, or a gap across the whole range of i64
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

/// Decodes the `count` ids of one block and passes them to `f`; returns the number of bytes used.
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

/// Returns the integer at `place` of a block of integers that begins with `first`.
///
/// # Errors
/// [`Error::BadList`] if the block ends before it.
pub(crate) fn integer_at(bytes: &[u8], first: i128, place: u64) -> Result<i128> {
    let mut gaps = GapWalk::of(bytes)?;
    while gaps.passed < place {
        match gaps.eight(place) {
            Some(sum) => gaps.pass_eight(sum),
            None => gaps.pass_one()?,
        }
    }
    Ok(first + i128::from(gaps.sum))
}

/// Returns the position of `wanted` in a block of `count` integers that begins with `first`; `None`
/// if it is not there.
///
/// # Errors
/// [`Error::BadList`] if the block ends early.
pub(crate) fn place_of(bytes: &[u8], first: i128, wanted: i128, count: u64) -> Result<Option<u64>> {
    let Some(distance) = wanted.checked_sub(first).and_then(|d| u64::try_from(d).ok()) else {
        return Ok(None);
    };
    let mut gaps = GapWalk::of(bytes)?;
    while gaps.sum < distance {
        match gaps.eight(count - 1).filter(|sum| distance - gaps.sum >= *sum) {
            Some(sum) => gaps.pass_eight(sum),
            None if gaps.passed + 1 < count => gaps.pass_one()?,
            None => return Ok(None),
        }
    }
    Ok((gaps.sum == distance && gaps.passed < count).then_some(gaps.passed))
}

/// A walk over the gaps of a block of integers. A gap fits 64 bits, and so does the sum of all
/// gaps, since all ids of a block are below 2^64 or all fit 64 bits with a sign.
struct GapWalk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of gaps passed, and their sum.
    passed: u64,
    sum: u64,
}

impl<'a> GapWalk<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let mut at = 0;
        get_wide(bytes, &mut at).ok_or(Error::BadList(BAD))?;
        Ok(Self { bytes, at, passed: 0, sum: 0 })
    }

    /// Returns the sum of the next eight gaps, if each takes one byte and all of them are before
    /// `end`.
    #[inline]
    fn eight(&self, end: u64) -> Option<u64> {
        const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
        let word = u64::from_le_bytes(*self.bytes.get(self.at..)?.first_chunk()?);
        if self.passed + 8 > end || word & 0x8080_8080_8080_8080 != 0 {
            return None;
        }
        // Sums of pairs of bytes, then all pairs into the highest 16 bits.
        let pairs = (word & EVEN) + (word >> 8 & EVEN);
        Some(pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48)
    }

    #[inline]
    fn pass_eight(&mut self, sum: u64) {
        self.at += 8;
        self.passed += 8;
        self.sum = self.sum.wrapping_add(sum);
    }

    #[inline]
    fn pass_one(&mut self) -> Result<()> {
        let gap = varint::get_mixed(self.bytes, &mut self.at);
        let sum = gap.and_then(|gap| self.sum.checked_add(gap));
        self.sum = sum.ok_or(Error::BadList(BAD))?;
        self.passed += 1;
        Ok(())
    }
}

impl Key<'_> {
    /// Converts the id to an owned one of `kind`.
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

    /// Compares integers, with or without a sign; `None` for other ids.
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

    /// Compares ids of one kind.
    pub(crate) fn compare(self, kind: IdKind, other: &ExternalId) -> Ordering {
        match (self, other) {
            (Key::U64(a), ExternalId::U64(b)) => a.cmp(b),
            (Key::I64(a), ExternalId::I64(b)) => a.cmp(b),
            (Key::Bytes(a), ExternalId::Big(b)) if kind == IdKind::Big => {
                compare_decimal(a, b.as_bytes())
            }
            (Key::Bytes(a), ExternalId::Text(b) | ExternalId::Big(b)) => a.cmp(b.as_bytes()),
            (Key::Bytes(a), ExternalId::Bytes(b)) => a.cmp(b.as_slice()),
            // another kind: `in_kind` excludes it
            _ => Ordering::Less,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gaps of one byte, of several bytes, and across most of the range.
    fn gap() -> impl Strategy<Value = u64> {
        prop_oneof![20 => 1..128u64, 2 => 1..100_000u64, 1 => 1..1u64 << 62]
    }

    fn block(first: u64, gaps: &[u64], kind: IdKind) -> (Vec<i128>, Vec<u8>) {
        let lowest = if kind == IdKind::U64 { 0 } else { i128::from(i64::MIN) };
        let mut ids = vec![lowest + i128::from(first)];
        for gap in gaps {
            let next = ids[ids.len() - 1] + i128::from(*gap);
            if next > lowest + i128::from(u64::MAX) {
                break;
            }
            ids.push(next);
        }
        let (mut encoder, mut bytes) = (KeyEncoder::new(kind), Vec::new());
        for id in &ids {
            let key = match kind {
                IdKind::U64 => Key::U64(u64::try_from(*id).unwrap()),
                _ => Key::I64(i64::try_from(*id).unwrap()),
            };
            encoder.push(key, &mut bytes).unwrap();
        }
        (ids, bytes)
    }

    proptest! {
        /// Walks over gaps find what decoding the whole block finds; a truncated block gives an
        /// error or an answer, never a panic.
        #[test]
        fn walks_find_what_decoding_finds(
            first in prop_oneof![0..1000u64, any::<u64>()],
            gaps in prop::collection::vec(gap(), 0..63),
            signed: bool,
            other: u64,
            cut in 0..200usize,
        ) {
            let kind = if signed { IdKind::I64 } else { IdKind::U64 };
            let (ids, bytes) = block(first, &gaps, kind);
            let count = ids.len() as u64;
            let begin = ids[0];
            for (place, id) in (0..).zip(&ids) {
                prop_assert_eq!(integer_at(&bytes, begin, place).unwrap(), *id);
                prop_assert_eq!(place_of(&bytes, begin, *id, count).unwrap(), Some(place));
                let next = place_of(&bytes, begin, id + 1, count).unwrap();
                prop_assert_eq!(next, ids.binary_search(&(id + 1)).ok().map(|at| at as u64));
            }
            let other = i128::from(other);
            let expected = ids.binary_search(&other).ok().map(|at| at as u64);
            prop_assert_eq!(place_of(&bytes, begin, other, count).unwrap(), expected);
            let short = &bytes[..cut.min(bytes.len())];
            let _ = (integer_at(short, begin, count - 1), place_of(short, begin, ids[ids.len() - 1], count));
        }
    }
}
