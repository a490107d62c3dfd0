//! Columns: the values of one property for a group of rows, by the codec that takes fewest bytes. `search` finds
//! rows by their values.

mod search;

use std::collections::HashMap;

use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::compressed_text::TextExtent;
use super::elias_fano::EliasFano;
use super::packed::{Packed, width_of};
use super::searchable::{self, Searchable};
use super::texts::{DecodedStrings, Symbols, Texts};
use nakshi_store::Result;

/// Values that occur this often on average are stored as a dictionary.
const REPEATS: usize = 4;

/// Most values that are searched linearly, without an order of the values.
const FEW: usize = 32;

/// Location of the values of a column in a [`Blob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ColumnLayout {
    /// Rows that have a value; absent if all rows have one. Value `i` belongs to the `i`-th of
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    present: Option<EliasFano>,
    /// Numbers of the values, sorted by value and then by number; absent where a dictionary finds
    /// values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Packed>,
    #[serde(flatten)]
    values: ColumnCodec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "codec", rename_all = "lowercase")]
enum ColumnCodec {
    /// Frame of reference: the distances of the values from the least; values have eight bytes or
    /// one.
    Frame { least: u64, bytes: u8, distances: Packed },
    /// Dictionary: distinct values in ascending order, the code of each value, and the positions of
    /// the values of each code. Position `p` of code `c` is stored as `c * count + p`; those of `c`
    /// begin at `starts[c]`.
    Dictionary { distinct: Texts, codes: Packed, starts: EliasFano, places: EliasFano },
    /// The values themselves, as strings.
    Plain { texts: Texts },
    /// The values as one text that Succinct compresses and searches, with a mark before each value
    /// and one behind the last.
    Searchable { text: TextExtent, marks: EliasFano },
}

/// The codec that a writer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodecChoice {
    /// The codec that takes fewest bytes.
    Smallest,
    /// A frame of reference, for numbers of eight bytes.
    Numbers,
    /// A text in which substrings are found.
    Searchable,
}

/// The values of one property in the order of rows, before they are encoded.
#[derive(Debug, Default)]
pub(super) struct ColumnBuilder {
    rows: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ColumnBuilder {
    /// Adds the value of `row`, which must be higher than all rows before.
    pub(super) fn push(&mut self, row: u32, value: &[u8]) {
        self.rows.push(row);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn values(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let range = |(from, to): (usize, &usize)| self.bytes.get(from..*to).unwrap_or_default();
        starts.zip(&self.ends).map(range).collect()
    }

    /// Appends the rows that have a value; `None` if all of `rows` have one.
    fn write_present(&self, rows: u32, out: &mut Vec<u8>) -> Option<EliasFano> {
        let all = self.rows.len() as u64 == u64::from(rows);
        (!all).then(|| {
            let rows: Vec<u64> = self.rows.iter().map(|&row| row.into()).collect();
            EliasFano::write(&rows, out)
        })
    }

    /// Appends the column of `rows` rows. [`CodecChoice::Numbers`] is for columns whose rows all have
    /// a value of eight bytes; other values fall back on the smallest codec.
    pub(super) fn write(
        &self,
        rows: u32,
        codec: CodecChoice,
        cancel: &CancelToken,
        out: &mut Vec<u8>,
    ) -> Result<ColumnLayout> {
        let values = self.values();
        if codec == CodecChoice::Numbers
            && let Some(values) = frame(&values, out)
        {
            return Ok(ColumnLayout { present: None, order: None, values });
        }
        let present = self.write_present(rows, out);
        if codec == CodecChoice::Searchable {
            let (text, marks) = searchable::write(&values, cancel, out)?;
            let values = ColumnCodec::Searchable { text, marks };
            return Ok(ColumnLayout { present, order: None, values });
        }
        let mut numbers: HashMap<&[u8], u64> = HashMap::new();
        for value in &values {
            numbers.entry(value).or_insert(0);
            if numbers.len() * REPEATS > values.len() {
                let written = match frame(&values, out) {
                    Some(written) => written,
                    None => ColumnCodec::Plain { texts: Texts::write(&values, cancel, out)? },
                };
                let order = (values.len() > FEW).then(|| order(&values, out));
                return Ok(ColumnLayout { present, order, values: written });
            }
        }
        let values = dictionary(&values, numbers, cancel, out)?;
        Ok(ColumnLayout { present, order: None, values })
    }
}

/// Appends the numbers of the values, sorted by value.
fn order(values: &[&[u8]], out: &mut Vec<u8>) -> Packed {
    let mut order: Vec<u64> = (0..values.len() as u64).collect();
    // The sort is stable, so equal values stay sorted by number.
    order.sort_by_key(|i| values.get(*i as usize));
    Packed::write(order, width_of(values.len().saturating_sub(1) as u64), out)
}

/// Appends values that all have eight bytes, or all one, as a frame of reference; `None` for
/// others.
fn frame(values: &[&[u8]], out: &mut Vec<u8>) -> Option<ColumnCodec> {
    let bytes = values.first()?.len();
    if ![1, 8].contains(&bytes) || values.iter().any(|value| value.len() != bytes) {
        return None;
    }
    let numbers = || values.iter().map(|value| number(value));
    let (least, most) = (numbers().min()?, numbers().max()?);
    let distances = Packed::write(numbers().map(|v| v - least), width_of(most - least), out);
    // One or eight.
    Some(ColumnCodec::Frame { least, bytes: bytes as u8, distances })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn dictionary<'v>(
    values: &[&'v [u8]],
    mut numbers: HashMap<&'v [u8], u64>,
    cancel: &CancelToken,
    out: &mut Vec<u8>,
) -> Result<ColumnCodec> {
    let mut distinct: Vec<&[u8]> = numbers.keys().copied().collect();
    distinct.sort_unstable();
    (0..).zip(&distinct).for_each(|(code, value)| {
        numbers.insert(value, code);
    });
    let code = |value: &&[u8]| numbers.get(*value).copied().unwrap_or(0);
    let count = values.len() as u64;
    let mut places: Vec<u64> =
        (0..).zip(values).map(|(place, value)| code(value) * count + place).collect();
    places.sort_unstable();
    let mut starts = vec![0; distinct.len() + 1];
    for value in values {
        if let Some(start) = starts.get_mut(code(value) as usize + 1) {
            *start += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    let width = width_of(distinct.len().saturating_sub(1) as u64);
    Ok(ColumnCodec::Dictionary {
        distinct: Texts::write(&distinct, cancel, out)?,
        codes: Packed::write(values.iter().map(code), width, out),
        starts: EliasFano::write(&starts, out),
        places: EliasFano::write(&places, out),
    })
}

impl ColumnLayout {
    /// The same column in a file into which its bytes were copied at `base`.
    pub(super) fn moved(self, base: u64) -> Self {
        let values = match self.values {
            ColumnCodec::Frame { least, bytes, distances } => {
                ColumnCodec::Frame { least, bytes, distances: distances.moved(base) }
            }
            ColumnCodec::Dictionary { distinct, codes, starts, places } => {
                ColumnCodec::Dictionary {
                    distinct: distinct.moved(base),
                    codes: codes.moved(base),
                    starts: starts.moved(base),
                    places: places.moved(base),
                }
            }
            ColumnCodec::Plain { texts } => ColumnCodec::Plain { texts: texts.moved(base) },
            ColumnCodec::Searchable { text, marks } => {
                ColumnCodec::Searchable { text: text.moved(base), marks: marks.moved(base) }
            }
        };
        let order = self.order.map(|order| order.moved(base));
        ColumnLayout { present: self.present.map(|rows| rows.moved(base)), order, values }
    }

    /// Bytes of memory that an open column takes beside its file.
    pub(super) fn in_memory(&self) -> u64 {
        match self.values {
            ColumnCodec::Searchable { text, .. } => text.len,
            _ => 0,
        }
    }
}

/// Bytes of distinct values up to which a dictionary stays decoded in memory.
const DECODED: usize = 64 << 10;

/// Reader of a column.
#[derive(Debug)]
pub(super) struct EncodedColumn {
    layout: ColumnLayout,
    symbols: Option<Box<Symbols>>,
    /// Distinct values, decoded if they are few.
    distinct: Option<DecodedStrings>,
    searchable: Option<Box<Searchable>>,
}

/// Encoded value of a row.
pub(super) enum ValueCode {
    /// The row has no value.
    None,
    /// Distance in a frame of reference, code of a dictionary, or number of a string.
    At(u64),
}

/// A value that is not copied yet.
pub(super) enum Found<'c> {
    None,
    Bytes(&'c [u8]),
    Number(u64),
}

impl EncodedColumn {
    /// Bytes of memory of an open column whose file is on disk.
    pub(super) const BYTES: u64 = (size_of::<EncodedColumn>() + size_of::<Symbols>()) as u64;

    pub(super) fn open(layout: ColumnLayout, blob: &Blob) -> Result<Self> {
        let symbols = match &layout.values {
            ColumnCodec::Frame { .. } | ColumnCodec::Searchable { .. } => None,
            ColumnCodec::Dictionary { distinct: texts, .. } | ColumnCodec::Plain { texts } => {
                texts.symbols(blob)?
            }
        };
        let distinct = match &layout.values {
            ColumnCodec::Dictionary { distinct, .. } if blob.is_in_memory() => {
                DecodedStrings::of(distinct, blob, symbols.as_deref(), DECODED)?
            }
            _ => None,
        };
        let searchable = match layout.values {
            ColumnCodec::Searchable { text, marks } => {
                Some(Box::new(Searchable::open(blob, text, marks)?))
            }
            _ => None,
        };
        Ok(EncodedColumn { layout, symbols, distinct, searchable })
    }

    /// Name of the codec, as the directory of the files has it.
    pub(super) fn codec(&self) -> &'static str {
        match &self.layout.values {
            ColumnCodec::Frame { .. } => "frame",
            ColumnCodec::Dictionary { .. } => "dictionary",
            ColumnCodec::Plain { .. } => "plain",
            ColumnCodec::Searchable { .. } => "searchable",
        }
    }

    /// Name of the structure that finds the rows of a value without reading all values, if there is one.
    pub(super) fn index(&self) -> Option<&'static str> {
        match (&self.layout.values, &self.layout.order) {
            (ColumnCodec::Dictionary { .. }, _) => Some("rows of each value"),
            (ColumnCodec::Searchable { .. }, _) => Some("text"),
            (_, Some(_)) => Some("sorted"),
            _ => None,
        }
    }

    /// Number of values that [`Column::tally`] reads.
    pub(super) fn tallied(&self) -> u64 {
        match &self.layout.values {
            ColumnCodec::Dictionary { distinct, .. } => distinct.len(),
            _ => self.len(),
        }
    }

    /// Hands every value to `f` with the number of rows that have it; a value may come more than once.
    pub(super) fn tally(
        &self,
        blob: &Blob,
        f: &mut dyn FnMut(&[u8], u64) -> Result<()>,
    ) -> Result<()> {
        let mut value = Vec::new();
        let ColumnCodec::Dictionary { distinct, starts, .. } = &self.layout.values else {
            for i in 0..self.len() {
                self.value(blob, i, &mut value)?;
                f(&value, 1)?;
            }
            return Ok(());
        };
        for code in 0..distinct.len() {
            value.clear();
            distinct.get(blob, self.symbols.as_deref(), code, &mut value)?;
            let (first, end) = starts.pair(blob, code)?;
            f(&value, end - first)?;
        }
        Ok(())
    }

    /// Number of rows that have a value.
    pub(super) fn len(&self) -> u64 {
        match &self.layout.values {
            ColumnCodec::Frame { distances, .. } => distances.len(),
            ColumnCodec::Dictionary { codes, .. } => codes.len(),
            ColumnCodec::Plain { texts } => texts.len(),
            ColumnCodec::Searchable { marks, .. } => marks.len().saturating_sub(1),
        }
    }

    /// The row of value `i`.
    fn row(&self, blob: &Blob, i: u64) -> Result<u64> {
        self.layout.present.map_or(Ok(i), |rows| rows.get(blob, i))
    }

    /// Appends the value of `row` to `out`; false if it is null.
    pub(super) fn get(&self, blob: &Blob, row: u64, out: &mut Vec<u8>) -> Result<bool> {
        let place = self.place(blob, row)?;
        self.take(blob, &self.found(&place), out)?;
        Ok(!matches!(place, ValueCode::None))
    }

    /// First of three steps to a value, each of which waits for memory. A caller that takes one
    /// step for many columns before the next step waits for all of them at once.
    #[inline]
    pub(super) fn place(&self, blob: &Blob, row: u64) -> Result<ValueCode> {
        let i = match &self.layout.present {
            None => row,
            Some(rows) => match rows.find(blob, row)? {
                Some(i) => i,
                None => return Ok(ValueCode::None),
            },
        };
        match &self.layout.values {
            ColumnCodec::Frame { distances, .. } => distances.get(blob, i).map(ValueCode::At),
            ColumnCodec::Dictionary { codes, .. } => codes.get(blob, i).map(ValueCode::At),
            ColumnCodec::Plain { .. } | ColumnCodec::Searchable { .. } => Ok(ValueCode::At(i)),
        }
    }

    /// Second step: looks up the code in decoded values.
    #[inline]
    pub(super) fn found(&self, place: &ValueCode) -> Found<'_> {
        match (place, &self.distinct) {
            (ValueCode::None, _) => Found::None,
            (ValueCode::At(code), Some(distinct)) => {
                distinct.get(*code as usize).map_or(Found::Number(*code), Found::Bytes)
            }
            (ValueCode::At(number), None) => Found::Number(*number),
        }
    }

    /// Third step: appends the value to `out`.
    #[inline]
    pub(super) fn take(&self, blob: &Blob, found: &Found<'_>, out: &mut Vec<u8>) -> Result<()> {
        match (found, &self.layout.values) {
            (Found::None, _) => {}
            (Found::Bytes(bytes), _) => out.extend_from_slice(bytes),
            (Found::Number(distance), ColumnCodec::Frame { least, bytes, .. }) => {
                let number = distance.wrapping_add(*least).to_be_bytes();
                let from = number.len().saturating_sub(usize::from(*bytes));
                out.extend_from_slice(number.get(from..).unwrap_or_default());
            }
            (Found::Number(code), ColumnCodec::Dictionary { distinct: texts, .. })
            | (Found::Number(code), ColumnCodec::Plain { texts }) => {
                texts.get(blob, self.symbols.as_deref(), *code, out)?;
            }
            (Found::Number(i), ColumnCodec::Searchable { .. }) => {
                if let Some(searchable) = &self.searchable {
                    searchable.get(blob, *i, out)?;
                }
            }
        }
        Ok(())
    }

    /// The value of `row` as a number; `None` unless the column is a frame of reference without
    /// nulls.
    #[inline]
    pub(super) fn number(&self, blob: &Blob, row: u64) -> Result<Option<u64>> {
        match (&self.layout.values, &self.layout.present) {
            (ColumnCodec::Frame { least, distances, .. }, None) => {
                Ok(Some(distances.get(blob, row)?.wrapping_add(*least)))
            }
            _ => Ok(None),
        }
    }

    /// Replaces the contents of `out` by value `i`.
    fn value(&self, blob: &Blob, i: u64, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let number = match &self.layout.values {
            ColumnCodec::Frame { distances: numbers, .. }
            | ColumnCodec::Dictionary { codes: numbers, .. } => numbers.get(blob, i)?,
            ColumnCodec::Plain { .. } | ColumnCodec::Searchable { .. } => i,
        };
        self.take(blob, &Found::Number(number), out)
    }

    /// Reports damage of the order of values.
    fn verify_order(&self, blob: &Blob, order: &Packed, told: &mut dyn FnMut(&str)) -> Result<()> {
        if order.len() != self.len() {
            told("the order of its values has another number of them");
            return Ok(());
        }
        let (mut value, mut before) = (Vec::new(), (Vec::new(), None));
        for place in 0..order.len() {
            let i = order.get(blob, place)?;
            if i >= self.len() {
                told("the order of its values has one that is not there");
                return Ok(());
            }
            self.value(blob, i, &mut value)?;
            if before.1.is_some() && (&before.0, before.1) >= (&value, Some(i)) {
                told("its values are not in the order that they should be in");
                return Ok(());
            }
            std::mem::swap(&mut before.0, &mut value);
            before.1 = Some(i);
        }
        Ok(())
    }

    /// Reports damage of the order of values, of a text, or of a dictionary: values that do not
    /// ascend, and lists of rows that belong to another value.
    pub(super) fn verify(&self, blob: &Blob, told: &mut dyn FnMut(&str)) -> Result<()> {
        if let Some(order) = &self.layout.order {
            return self.verify_order(blob, order, told);
        }
        if let Some(searchable) = &self.searchable {
            return searchable.verify(blob, told);
        }
        let ColumnCodec::Dictionary { distinct, codes, starts, places } = &self.layout.values
        else {
            return Ok(());
        };
        if places.len() != codes.len() || starts.len() != distinct.len() + 1 {
            told("a dictionary has another number of rows than of values");
            return Ok(());
        }
        let (mut before, mut value, mut seen) = (Vec::new(), Vec::new(), 0);
        for code in 0..distinct.len() {
            value.clear();
            distinct.get(blob, self.symbols.as_deref(), code, &mut value)?;
            if code > 0 && value <= before {
                told("the values of a dictionary are not ascending");
            }
            std::mem::swap(&mut before, &mut value);
            let (from, to) = starts.pair(blob, code)?;
            let first = code.saturating_mul(self.len());
            for place in places.from(blob, from)?.take(to.saturating_sub(from) as usize) {
                seen += 1;
                let place = place?.saturating_sub(first);
                if place >= codes.len() || codes.get(blob, place)? != code {
                    told("a list of rows has one with another value");
                    return Ok(());
                }
            }
        }
        if seen != codes.len() {
            told("lists of rows do not have all rows");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::condition::Predicate;
    use super::*;
    use proptest::prelude::*;
    use std::ops::Bound;

    fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
        let text =
            prop_oneof!["[ab]{0,2}", "[a-z ]{0,30}", "[ab\0]{0,9}"].prop_map(String::into_bytes);
        let number = prop_oneof![0..20u64, any::<u64>()].prop_map(|v| v.to_be_bytes().to_vec());
        let flag = (0..2u8).prop_map(|v| vec![v]);
        let some = |value: BoxedStrategy<Vec<u8>>| {
            prop::collection::vec(prop::option::weighted(0.8, value.clone()), 0..300)
                .boxed()
                .prop_union(prop::collection::vec(value.prop_map(Some), 0..300).boxed())
        };
        prop_oneof![some(text.boxed()), some(number.boxed()), some(flag.boxed())]
    }

    fn bounds(values: &[Vec<u8>]) -> Vec<Bound<Vec<u8>>> {
        let both = |v: &Vec<u8>| [Bound::Included(v.clone()), Bound::Excluded(v.clone())];
        values.iter().flat_map(both).chain([Bound::Unbounded]).collect()
    }

    fn rows_where(values: &[Option<Vec<u8>>], has: impl Fn(&[u8]) -> bool) -> Vec<u64> {
        let rows = (0..).zip(values);
        rows.filter(|(_, v)| v.as_deref().is_some_and(&has)).map(|(row, _)| row).collect()
    }

    /// Seen red with lists of eight bytes taken for numbers, which have no items.
    #[test]
    fn items_of_lists_as_long_as_numbers_are_found() {
        let mut builder = ColumnBuilder::default();
        for row in 0..9 {
            builder.push(row, format!("\u{7}seven-{row}").as_bytes());
        }
        let mut bytes = Vec::new();
        let codec = CodecChoice::Smallest;
        let layout = builder.write(9, codec, &CancelToken::new(), &mut bytes).unwrap();
        let blob = Blob::of(&bytes).unwrap();
        let column = EncodedColumn::open(layout, &blob).unwrap();
        let item = Predicate::Item(b"seven-3".to_vec());
        assert_eq!(column.find(&blob, 9, &item).unwrap(), [3]);
        let part = Predicate::ItemContains(b"-5".to_vec());
        assert_eq!(column.find(&blob, 9, &part).unwrap(), [5]);
    }

    proptest! {
        /// Seen red with positions that count rows instead of values, with starts that are off by
        /// one, with nulls that take the value behind them, and with an order of rows instead of
        /// values; with parts of values of one or eight bytes not searched for, with hits in a text
        /// that span two strings or contain a mark, with a string of which only the first hit
        /// counts, with a string found by its beginning, and with the empty part found nowhere.
        #[test]
        fn values_are_read_and_found(values in values(), before in 0..9usize, searchable in any::<bool>()) {
            let mut builder = ColumnBuilder::default();
            for (row, value) in (0..).zip(&values) {
                value.iter().for_each(|value| builder.push(row, value));
            }
            let mut bytes = Vec::new();
            let (rows, cancel) = (values.len() as u32, CancelToken::new());
            let codec = if searchable { CodecChoice::Searchable } else { CodecChoice::Smallest };
            let layout = builder.write(rows, codec, &cancel, &mut bytes);
            let layout = layout.unwrap().moved(before as u64);
            let told = serde_json::to_string(&layout).unwrap();
            prop_assert_eq!(serde_json::from_str::<ColumnLayout>(&told).unwrap(), layout);
            let blob = Blob::of(&[vec![9; before], bytes].concat()).unwrap();
            let column = EncodedColumn::open(layout, &blob).unwrap();
            for (row, value) in (0..).zip(&values) {
                let mut found = Vec::new();
                let there = column.get(&blob, row, &mut found).unwrap();
                prop_assert_eq!(there.then_some(found), value.clone());
            }
            for value in values.iter().flatten().take(20) {
                let (expected, wanted) = (rows_where(&values, |v| v == value), Predicate::Equal(value.clone()));
                let all: Vec<u64> = (0..values.len() as u64).collect();
                prop_assert_eq!(&column.among(&blob, &all, &wanted).unwrap(), &expected);
                prop_assert_eq!(column.find(&blob, rows.into(), &wanted).unwrap(), expected);
                let middle = value.get(value.len() / 3..value.len().div_ceil(2)).unwrap();
                for part in [&[][..], &[0], b"a", b"ab", &value[value.len() / 2..], middle, value] {
                    let has = |v: &[u8]| part.is_empty() || v.windows(part.len()).any(|w| w == part);
                    let (expected, wanted) = (rows_where(&values, has), Predicate::Contains(part.to_vec()));
                    prop_assert_eq!(&column.among(&blob, &all, &wanted).unwrap(), &expected);
                    prop_assert_eq!(column.find(&blob, rows.into(), &wanted).unwrap(), expected);
                }
            }
            prop_assert!(column.find(&blob, rows.into(), &Predicate::Equal(b"not there".to_vec())).unwrap().is_empty());
            let some: Vec<Vec<u8>> = values.iter().flatten().take(3).cloned().collect();
            for low in bounds(&some) {
                for high in bounds(&some) {
                    let range = Predicate::Range(low.clone(), high);
                    let not = Predicate::Not(Box::new(range.clone()));
                    let either = Predicate::Any(vec![range.clone(), Predicate::Null]);
                    let both = Predicate::All(vec![not.clone(), Predicate::Not(Box::new(Predicate::Null))]);
                    for wanted in [range, not, either, both] {
                        let all = (0..).zip(&values);
                        let expected = all.filter(|(_, v)| wanted.fits(v.as_deref())).map(|(row, _)| row);
                        let expected: Vec<u64> = expected.collect();
                        prop_assert_eq!(column.find(&blob, rows.into(), &wanted).unwrap(), expected);
                    }
                }
            }
            let mut problems = Vec::new();
            column.verify(&blob, &mut |what| problems.push(what.to_owned())).unwrap();
            prop_assert_eq!(problems, Vec::<String>::new());
        }
    }
}
