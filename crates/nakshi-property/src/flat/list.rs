//! Property lists in a text: lengths, then values behind their delimiters (section 3.3).

use std::ops::Range;

use super::super::condition::Predicate;
use super::super::row::RowValues;
use super::delimiter::DelimitedProperties;
use super::form::{Form, escape};
use crate::compressed_text::CompressedText;
use nakshi_store::{Error, Result};

/// The lists of a group that is not written yet. The number of digits of a length depends on all of
/// them.
#[derive(Debug, Default)]
pub(super) struct PendingLists {
    /// Values of all lists, as text.
    values: Vec<u8>,
    /// Lengths of the values of each list that has any, 0 for null.
    lengths: Vec<u32>,
    /// True for a list that has values.
    lists: Vec<bool>,
    longest: u32,
}

impl PendingLists {
    /// Appends a list; returns the approximate number of bytes that its text takes.
    pub(super) fn push(
        &mut self,
        properties: &DelimitedProperties,
        values: RowValues<'_>,
    ) -> Result<usize> {
        let mut ordered: Vec<Option<&[u8]>> = Vec::new();
        for (number, value) in values {
            ordered.resize(properties.len(), None);
            let place = properties.rank(number).and_then(|rank| ordered.get_mut(rank));
            *place.ok_or_else(|| Error::Invalid(format!("there is no property {number}")))? =
                Some(value);
        }
        self.lists.push(!ordered.is_empty());
        let before = self.values.len();
        for (rank, value) in ordered.iter().enumerate() {
            let from = self.values.len();
            if let Some(value) = value {
                properties.form(rank).render(value, &mut self.values);
            }
            let length = u32::try_from(self.values.len() - from)
                .map_err(|_| Error::Unsupported("a value of more than 4 GiB".into()))?;
            self.longest = self.longest.max(length);
            self.lengths.push(length);
        }
        Ok(self.values.len() - before + ordered.len() * (properties.width() + self.digits()))
    }

    pub(super) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Digits of the longest length, at least one.
    pub(super) fn digits(&self) -> usize {
        decimals(self.longest.into())
    }

    /// Returns the lists as text, one by one.
    pub(super) fn write<'a>(
        &'a self,
        properties: &'a DelimitedProperties,
    ) -> impl Iterator<Item = Vec<u8>> + 'a {
        let digits = self.digits();
        let (mut lengths, mut values) = (self.lengths.as_slice(), self.values.as_slice());
        self.lists.iter().map(move |&some| {
            let mut out = Vec::new();
            if !some {
                return out;
            }
            let (own, rest) = lengths.split_at_checked(properties.len()).unwrap_or_default();
            lengths = rest;
            for length in own {
                put_decimal((*length).into(), digits, &mut out);
            }
            for (rank, length) in own.iter().enumerate() {
                let (value, rest) = values.split_at_checked(*length as usize).unwrap_or_default();
                values = rest;
                out.extend_from_slice(properties.delimiter(rank).bytes());
                out.extend_from_slice(value);
            }
            out.extend_from_slice(properties.delimiter(own.len()).bytes());
            out
        })
    }
}

/// Number of decimal digits of a number.
pub(super) fn decimals(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Appends a number in `digits` digits.
pub(super) fn put_decimal(number: u64, digits: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{number:0digits$}").as_bytes());
}

/// Parses decimal digits.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    };
    digits.iter().try_fold(0, add)
}

/// Reader of the lists in a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct PropertyLists<'r> {
    pub(super) properties: &'r DelimitedProperties,
    pub(super) text: &'r CompressedText,
    /// Digits of a length.
    pub(super) digits: usize,
}

impl PropertyLists<'_> {
    /// Appends the value at position `rank` of the properties to `out`; false if it is null.
    ///
    /// Reads the lengths up to that value, then only the value between its delimiters.
    pub(super) fn get(&self, list: Range<u64>, rank: usize, out: &mut Vec<u8>) -> Result<bool> {
        if list.is_empty() {
            return Ok(false);
        }
        let mut read = Vec::new();
        self.text.read(list.start, self.digits as u64 * (rank as u64 + 1), &mut read)?;
        let (mut before, mut length) = (0u64, 0u64);
        for digits in read.chunks_exact(self.digits) {
            before = before.saturating_add(length);
            length = decimal(digits).ok_or_else(|| self.wrong())?;
        }
        if length == 0 {
            return Ok(false);
        }
        let (own, next) = (self.properties.delimiter(rank), self.properties.delimiter(rank + 1));
        let header = self.digits * self.properties.len() + self.properties.width() * rank;
        let around = (own.bytes().len() + next.bytes().len()) as u64;
        let from = (list.start + header as u64).saturating_add(before);
        if from.saturating_add(length).saturating_add(around) > list.end {
            return Err(self.wrong());
        }
        self.text.read(from, length + around, &mut read)?;
        let value = read.strip_prefix(own.bytes()).and_then(|v| v.strip_suffix(next.bytes()));
        let form = self.properties.form(rank);
        value.and_then(|value| form.parse(value, out)).ok_or_else(|| self.wrong())?;
        Ok(true)
    }

    /// Hands every value that is not null to `f`, ascending by property number.
    pub(super) fn each(
        &self,
        list: Range<u64>,
        f: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut read = Vec::new();
        if !list.is_empty() {
            self.text.read(list.start, list.end - list.start, &mut read)?;
        }
        self.each_of(&read, f)
    }

    /// As [`PropertyLists::each`], for a list that was read already.
    pub(super) fn each_of(
        &self,
        list: &[u8],
        mut f: impl FnMut(u32, &[u8]) -> Result<()>,
    ) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        let values = self.split(list).ok_or_else(|| self.wrong())?;
        let mut value = Vec::new();
        for (number, rank) in self.properties.by_number() {
            let text = values.get(rank).copied().unwrap_or_default();
            if !text.is_empty() {
                value.clear();
                let form = self.properties.form(rank);
                form.parse(text, &mut value).ok_or_else(|| self.wrong())?;
                f(number, &value)?;
            }
        }
        Ok(())
    }

    /// The texts of the values of a list.
    fn split<'a>(&self, list: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let count = self.properties.len();
        let (lengths, mut rest) = list.split_at_checked(self.digits * count)?;
        let mut values = Vec::with_capacity(count);
        for (rank, length) in lengths.chunks_exact(self.digits).enumerate() {
            rest = rest.strip_prefix(self.properties.delimiter(rank).bytes())?;
            let (value, behind) = rest.split_at_checked(usize::try_from(decimal(length)?).ok()?)?;
            values.push(value);
            rest = behind;
        }
        (rest == self.properties.delimiter(count).bytes()).then_some(values)
    }

    /// A pattern that occurs in the text of every list with a wanted value, and possibly elsewhere;
    /// empty if every value is wanted.
    pub(super) fn pattern(&self, rank: usize, wanted: &Predicate) -> Vec<u8> {
        let mut pattern = Vec::new();
        match wanted {
            Predicate::Equal(value) => {
                pattern.extend_from_slice(self.properties.delimiter(rank).bytes());
                self.properties.form(rank).render(value, &mut pattern);
                pattern.extend_from_slice(self.properties.delimiter(rank + 1).bytes());
            }
            Predicate::Item(item) => {
                let mut bytes = Vec::new();
                nakshi_store::varint::put(&mut bytes, item.len() as u64);
                bytes.extend_from_slice(item);
                debug_assert_eq!(self.properties.form(rank), Form::Bytes);
                escape(&bytes, &mut pattern);
            }
            Predicate::Contains(some) | Predicate::ItemContains(some) => escape(some, &mut pattern),
            Predicate::All(all) => {
                let patterns = all.iter().map(|one| self.pattern(rank, one));
                pattern = patterns.max_by_key(Vec::len).unwrap_or_default();
            }
            Predicate::Range(..)
            | Predicate::ItemRange(..)
            | Predicate::Null
            | Predicate::Not(_)
            | Predicate::Any(_) => {}
        }
        pattern
    }

    #[cold]
    fn wrong(&self) -> Error {
        self.text.damaged("a list of properties is not what its lengths say")
    }
}
