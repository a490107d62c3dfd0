//! The values of one property for a run of rows, by the codec that takes least.

use std::collections::HashMap;

use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::compressed_text::Extent;
use super::monotone::Monotone;
use super::packed::{Packed, width_of};
use super::searchable::{self, Searchable};
use super::texts::{Decoded, Symbols, Texts};
use super::wanted::Wanted;
use nakshi_store::Result;

/// Values are kept as a dictionary, with a list of rows for each, if they occur so often on average.
const REPEATS: usize = 4;

/// Up to so many values are looked through one by one.
const FEW: usize = 32;

/// Where the values of a column lie in a [`Blob`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    /// Rows that have a value, if not all have one: value `i` belongs to the `i`-th of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    present: Option<Monotone>,
    /// Numbers of the values in ascending order of the values, equal ones in that of their numbers, where
    /// there is no dictionary to find them by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Packed>,
    #[serde(flatten)]
    values: Values,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "codec", rename_all = "lowercase")]
enum Values {
    /// Values of eight bytes or of one, as their distance from the least; `bytes` each.
    Frame { least: u64, bytes: u8, distances: Packed },
    /// Distinct values in ascending order; the number of each value among them; and the places of
    /// all values, sorted by that number: place `p` of value `c` stands as `c * count + p`, those of
    /// `c` from `starts[c]` on.
    Dictionary { distinct: Texts, codes: Packed, starts: Monotone, places: Monotone },
    /// The values themselves.
    Plain { texts: Texts },
    /// The values as one text that is compressed and searched by Succinct, with a mark before each and
    /// behind the last.
    Searchable { text: Extent, marks: Monotone },
}

/// The values of one property, in the order of rows, until they are written.
#[derive(Debug, Default)]
pub(super) struct ColumnBuilder {
    rows: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl ColumnBuilder {
    /// The value of `row`, which is higher than all before.
    pub(super) fn push(&mut self, row: u32, value: &[u8]) {
        self.rows.push(row);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends the column of `rows` rows, all of which have a value of eight bytes, as numbers.
    pub(super) fn write_frame(
        &self,
        rows: u32,
        cancel: &CancelToken,
        out: &mut Vec<u8>,
    ) -> Result<Layout> {
        let values = self.values();
        match frame(&values, out) {
            Some(values) => Ok(Layout { present: None, order: None, values }),
            None => self.write(rows, cancel, out),
        }
    }

    fn values(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let range = |(from, to): (usize, &usize)| self.bytes.get(from..*to).unwrap_or_default();
        starts.zip(&self.ends).map(range).collect()
    }

    /// The rows that have a value, if not all of `rows` have one.
    fn write_present(&self, rows: u32, out: &mut Vec<u8>) -> Option<Monotone> {
        let all = self.rows.len() as u64 == u64::from(rows);
        (!all).then(|| {
            let rows: Vec<u64> = self.rows.iter().map(|&row| row.into()).collect();
            Monotone::write(&rows, out)
        })
    }

    /// Appends the column of `rows` rows so that substrings are found in it.
    pub(super) fn write_searchable(
        &self,
        rows: u32,
        cancel: &CancelToken,
        out: &mut Vec<u8>,
    ) -> Result<Layout> {
        let present = self.write_present(rows, out);
        let (text, marks) = searchable::write(&self.values(), cancel, out)?;
        Ok(Layout { present, order: None, values: Values::Searchable { text, marks } })
    }

    /// Appends the column of `rows` rows.
    pub(super) fn write(
        &self,
        rows: u32,
        cancel: &CancelToken,
        out: &mut Vec<u8>,
    ) -> Result<Layout> {
        let values = self.values();
        let present = self.write_present(rows, out);
        let mut numbers: HashMap<&[u8], u64> = HashMap::new();
        for value in &values {
            numbers.entry(value).or_insert(0);
            if numbers.len() * REPEATS > values.len() {
                let written = match frame(&values, out) {
                    Some(written) => written,
                    None => Values::Plain { texts: Texts::write(&values, cancel, out)? },
                };
                let order = (values.len() > FEW).then(|| order(&values, out));
                return Ok(Layout { present, order, values: written });
            }
        }
        let values = dictionary(&values, numbers, cancel, out)?;
        Ok(Layout { present, order: None, values })
    }
}

/// Numbers of values in the order of the values.
fn order(values: &[&[u8]], out: &mut Vec<u8>) -> Packed {
    let mut order: Vec<u64> = (0..values.len() as u64).collect();
    // Stable, so that equal values keep their order.
    order.sort_by_key(|i| values.get(*i as usize));
    Packed::write(order, width_of(values.len().saturating_sub(1) as u64), out)
}

/// Values of eight bytes, or all of one, as numbers.
fn frame(values: &[&[u8]], out: &mut Vec<u8>) -> Option<Values> {
    let bytes = values.first()?.len();
    if ![1, 8].contains(&bytes) || values.iter().any(|value| value.len() != bytes) {
        return None;
    }
    let numbers = || values.iter().map(|value| number(value));
    let (least, most) = (numbers().min()?, numbers().max()?);
    let distances = Packed::write(numbers().map(|v| v - least), width_of(most - least), out);
    // One or eight.
    Some(Values::Frame { least, bytes: bytes as u8, distances })
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn dictionary<'v>(
    values: &[&'v [u8]],
    mut numbers: HashMap<&'v [u8], u64>,
    cancel: &CancelToken,
    out: &mut Vec<u8>,
) -> Result<Values> {
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
    Ok(Values::Dictionary {
        distinct: Texts::write(&distinct, cancel, out)?,
        codes: Packed::write(values.iter().map(code), width, out),
        starts: Monotone::write(&starts, out),
        places: Monotone::write(&places, out),
    })
}

impl Layout {
    /// The same column in a file into which its bytes were copied at `base`.
    pub(super) fn moved(self, base: u64) -> Self {
        let values = match self.values {
            Values::Frame { least, bytes, distances } => {
                Values::Frame { least, bytes, distances: distances.moved(base) }
            }
            Values::Dictionary { distinct, codes, starts, places } => Values::Dictionary {
                distinct: distinct.moved(base),
                codes: codes.moved(base),
                starts: starts.moved(base),
                places: places.moved(base),
            },
            Values::Plain { texts } => Values::Plain { texts: texts.moved(base) },
            Values::Searchable { text, marks } => {
                Values::Searchable { text: text.moved(base), marks: marks.moved(base) }
            }
        };
        let order = self.order.map(|order| order.moved(base));
        Layout { present: self.present.map(|rows| rows.moved(base)), order, values }
    }

    /// Bytes that an open column keeps in memory beside its file.
    pub(super) fn in_memory(&self) -> u64 {
        match self.values {
            Values::Searchable { text, .. } => text.len,
            _ => 0,
        }
    }
}

/// Bytes of distinct values up to which a dictionary is kept decoded.
const DECODED: usize = 64 << 10;

/// A column that is read.
#[derive(Debug)]
pub(super) struct Column {
    layout: Layout,
    symbols: Option<Box<Symbols>>,
    /// Distinct values, if they are few.
    distinct: Option<Decoded>,
    searchable: Option<Box<Searchable>>,
}

/// Where the value of a row is.
pub(super) enum Place {
    /// It has none.
    None,
    /// Its distance, its code, or its number among strings.
    At(u64),
}

/// What is known of a value before it is copied.
pub(super) enum Found<'c> {
    None,
    Bytes(&'c [u8]),
    Number(u64),
}

impl Column {
    /// Bytes that a column takes beside those of its file, where that is not in memory.
    pub(super) const BYTES: u64 = (size_of::<Column>() + size_of::<Symbols>()) as u64;

    pub(super) fn open(layout: Layout, blob: &Blob) -> Result<Self> {
        let symbols = match &layout.values {
            Values::Frame { .. } | Values::Searchable { .. } => None,
            Values::Dictionary { distinct: texts, .. } | Values::Plain { texts } => {
                texts.symbols(blob)?
            }
        };
        let distinct = match &layout.values {
            Values::Dictionary { distinct, .. } if blob.is_in_memory() => {
                Decoded::of(distinct, blob, symbols.as_deref(), DECODED)?
            }
            _ => None,
        };
        let searchable = match layout.values {
            Values::Searchable { text, marks } => {
                Some(Box::new(Searchable::open(blob, text, marks)?))
            }
            _ => None,
        };
        Ok(Column { layout, symbols, distinct, searchable })
    }

    fn len(&self) -> u64 {
        match &self.layout.values {
            Values::Frame { distances, .. } => distances.len(),
            Values::Dictionary { codes, .. } => codes.len(),
            Values::Plain { texts } => texts.len(),
            Values::Searchable { marks, .. } => marks.len().saturating_sub(1),
        }
    }

    /// The row of value `i`.
    fn row(&self, blob: &Blob, i: u64) -> Result<u64> {
        self.layout.present.map_or(Ok(i), |rows| rows.get(blob, i))
    }

    /// Appends the value of `row` to `out`; false if it has none.
    pub(super) fn get(&self, blob: &Blob, row: u64, out: &mut Vec<u8>) -> Result<bool> {
        let place = self.place(blob, row)?;
        self.take(blob, &self.found(&place), out)?;
        Ok(!matches!(place, Place::None))
    }

    /// First of three steps to a value, each of which waits for memory: whoever takes each step for
    /// many columns before the next waits for all at once.
    #[inline]
    pub(super) fn place(&self, blob: &Blob, row: u64) -> Result<Place> {
        let i = match &self.layout.present {
            None => row,
            Some(rows) => {
                let until = rows.at_most(blob, row)?;
                if until == 0 || rows.get(blob, until - 1)? != row {
                    return Ok(Place::None);
                }
                until - 1
            }
        };
        match &self.layout.values {
            Values::Frame { distances, .. } => distances.get(blob, i).map(Place::At),
            Values::Dictionary { codes, .. } => codes.get(blob, i).map(Place::At),
            Values::Plain { .. } | Values::Searchable { .. } => Ok(Place::At(i)),
        }
    }

    /// Second step.
    #[inline]
    pub(super) fn found(&self, place: &Place) -> Found<'_> {
        match (place, &self.distinct) {
            (Place::None, _) => Found::None,
            (Place::At(code), Some(distinct)) => {
                distinct.get(*code as usize).map_or(Found::Number(*code), Found::Bytes)
            }
            (Place::At(number), None) => Found::Number(*number),
        }
    }

    /// Third step: appends the value to `out`.
    #[inline]
    pub(super) fn take(&self, blob: &Blob, found: &Found<'_>, out: &mut Vec<u8>) -> Result<()> {
        match (found, &self.layout.values) {
            (Found::None, _) => {}
            (Found::Bytes(bytes), _) => out.extend_from_slice(bytes),
            (Found::Number(distance), Values::Frame { least, bytes, .. }) => {
                let number = distance.wrapping_add(*least).to_be_bytes();
                let from = number.len().saturating_sub(usize::from(*bytes));
                out.extend_from_slice(number.get(from..).unwrap_or_default());
            }
            (Found::Number(code), Values::Dictionary { distinct: texts, .. })
            | (Found::Number(code), Values::Plain { texts }) => {
                texts.get(blob, self.symbols.as_deref(), *code, out)?;
            }
            (Found::Number(i), Values::Searchable { .. }) => {
                if let Some(searchable) = &self.searchable {
                    searchable.get(blob, *i, out)?;
                }
            }
        }
        Ok(())
    }

    /// The value of `row` as the number that its bytes are; `None` if it is none.
    #[inline]
    pub(super) fn number(&self, blob: &Blob, row: u64) -> Result<Option<u64>> {
        match (&self.layout.values, &self.layout.present) {
            (Values::Frame { least, distances, .. }, None) => {
                Ok(Some(distances.get(blob, row)?.wrapping_add(*least)))
            }
            _ => Ok(None),
        }
    }

    /// The rows that have a value, in ascending order.
    pub(super) fn find(&self, blob: &Blob, wanted: &Wanted) -> Result<Vec<u64>> {
        let mut rows = Vec::new();
        if let (Some(order), Wanted::Equal(value)) = (&self.layout.order, wanted) {
            self.find_in_order(blob, order, value, &mut rows)?;
            return Ok(rows);
        }
        match (&self.layout.values, wanted) {
            (Values::Frame { least, bytes, distances }, Wanted::Equal(value)) => {
                let Some(wanted) = number(value).checked_sub(*least) else { return Ok(rows) };
                if value.len() != usize::from(*bytes) {
                    return Ok(rows);
                }
                for i in 0..distances.len() {
                    if distances.get(blob, i)? == wanted {
                        rows.push(self.row(blob, i)?);
                    }
                }
            }
            (Values::Dictionary { distinct, .. }, Wanted::Equal(value)) => {
                let code = match &self.distinct {
                    Some(distinct) => distinct.find(value),
                    None => distinct.find(blob, self.symbols.as_deref(), value)?,
                };
                if let Some(code) = code {
                    self.rows_of(blob, code, &mut rows)?;
                }
            }
            (Values::Dictionary { distinct, .. }, _) => {
                for code in fitting(distinct.len(), wanted, |code, value| {
                    distinct.get(blob, self.symbols.as_deref(), code, value)
                })? {
                    self.rows_of(blob, code, &mut rows)?;
                }
                rows.sort_unstable();
            }
            (Values::Searchable { .. }, Wanted::Equal(_) | Wanted::Contains(_)) => {
                for i in self.searched(blob, wanted)? {
                    rows.push(self.row(blob, i)?);
                }
            }
            _ => {
                for i in fitting(self.len(), wanted, |i, value| self.value(blob, i, value))? {
                    rows.push(self.row(blob, i)?);
                }
            }
        }
        Ok(rows)
    }

    /// Numbers of the values that a search in their text finds.
    fn searched(&self, blob: &Blob, wanted: &Wanted) -> Result<Vec<u64>> {
        match (&self.searchable, wanted) {
            (Some(searchable), Wanted::Equal(value)) => searchable.equal(blob, value),
            (Some(searchable), Wanted::Contains(pattern)) => searchable.containing(blob, pattern),
            _ => Ok(Vec::new()),
        }
    }

    /// Those of `rows` that have a value.
    pub(super) fn among(&self, blob: &Blob, rows: &[u64], wanted: &Wanted) -> Result<Vec<u64>> {
        let (mut found, mut value) = (Vec::new(), Vec::new());
        for row in rows {
            value.clear();
            if self.get(blob, *row, &mut value)? && wanted.fits(&value) {
                found.push(*row);
            }
        }
        Ok(found)
    }

    /// About how many values [`Column::find`] has to read.
    pub(super) fn reads(&self, blob: &Blob, wanted: &Wanted) -> Result<u64> {
        match (&self.layout.values, wanted, &self.searchable) {
            (_, Wanted::Equal(_), _) => Ok(0),
            (_, Wanted::Contains(pattern), Some(searchable)) => {
                Ok(searchable.count(blob, pattern)?.min(self.len()))
            }
            (Values::Dictionary { distinct, .. }, ..) => Ok(distinct.len()),
            _ => Ok(self.len()),
        }
    }

    fn find_in_order(
        &self,
        blob: &Blob,
        order: &Packed,
        wanted: &[u8],
        rows: &mut Vec<u64>,
    ) -> Result<()> {
        let mut value = Vec::new();
        let (mut low, mut high) = (0, order.len());
        while low < high {
            let middle = low + (high - low) / 2;
            self.value(blob, order.get(blob, middle)?, &mut value)?;
            if value.as_slice() < wanted { low = middle + 1 } else { high = middle }
        }
        while low < order.len() {
            let i = order.get(blob, low)?;
            self.value(blob, i, &mut value)?;
            if value != wanted {
                break;
            }
            rows.push(self.row(blob, i)?);
            low += 1;
        }
        Ok(())
    }

    /// Puts value `i` in place of what `out` holds.
    fn value(&self, blob: &Blob, i: u64, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        let number = match &self.layout.values {
            Values::Frame { distances: numbers, .. }
            | Values::Dictionary { codes: numbers, .. } => numbers.get(blob, i)?,
            Values::Plain { .. } | Values::Searchable { .. } => i,
        };
        self.take(blob, &Found::Number(number), out)
    }

    /// Tells what is wrong with the order of values.
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

    /// Tells what is wrong with a dictionary: values out of order, and lists of rows that are not
    /// those of their value; or with the order of values.
    pub(super) fn verify(&self, blob: &Blob, told: &mut dyn FnMut(&str)) -> Result<()> {
        if let Some(order) = &self.layout.order {
            return self.verify_order(blob, order, told);
        }
        if let Some(searchable) = &self.searchable {
            return searchable.verify(blob, told);
        }
        let Values::Dictionary { distinct, codes, starts, places } = &self.layout.values else {
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

    /// Appends the rows with value `code` of a dictionary.
    fn rows_of(&self, blob: &Blob, code: u64, rows: &mut Vec<u64>) -> Result<()> {
        let Values::Dictionary { starts, places, .. } = &self.layout.values else { return Ok(()) };
        let (from, to) = starts.pair(blob, code)?;
        let first = code.saturating_mul(self.len());
        for place in places.from(blob, from)?.take(to.saturating_sub(from) as usize) {
            rows.push(self.row(blob, place?.saturating_sub(first))?);
        }
        Ok(())
    }
}

/// The numbers of those of `count` values that are what is wanted; `value` puts one in place of what its
/// second argument holds.
fn fitting(
    count: u64,
    wanted: &Wanted,
    value: impl Fn(u64, &mut Vec<u8>) -> Result<()>,
) -> Result<Vec<u64>> {
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    for i in 0..count {
        bytes.clear();
        value(i, &mut bytes)?;
        if wanted.fits(&bytes) {
            found.push(i);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let layout = builder.write(9, &CancelToken::new(), &mut bytes).unwrap();
        let blob = Blob::of(&bytes).unwrap();
        let column = Column::open(layout, &blob).unwrap();
        let item = Wanted::Item(b"seven-3".to_vec());
        assert_eq!(column.find(&blob, &item).unwrap(), [3]);
        let part = Wanted::ItemContains(b"-5".to_vec());
        assert_eq!(column.find(&blob, &part).unwrap(), [5]);
    }

    proptest! {
        /// Seen red with places that count rows instead of values, with starts that are off by one,
        /// with nulls that take the value behind them, and with an order of rows instead of values;
        /// with parts of values of one or eight bytes not looked for, with hits in a text that span two
        /// strings or have a mark, with a string that only its first hit counts for, with a string found by
        /// its beginning, and with the empty part found nowhere.
        #[test]
        fn values_are_read_and_found(values in values(), before in 0..9usize, searchable in any::<bool>()) {
            let mut builder = ColumnBuilder::default();
            for (row, value) in (0..).zip(&values) {
                value.iter().for_each(|value| builder.push(row, value));
            }
            let mut bytes = Vec::new();
            let (rows, cancel) = (values.len() as u32, CancelToken::new());
            let layout = match searchable {
                true => builder.write_searchable(rows, &cancel, &mut bytes),
                false => builder.write(rows, &cancel, &mut bytes),
            };
            let layout = layout.unwrap().moved(before as u64);
            let told = serde_json::to_string(&layout).unwrap();
            prop_assert_eq!(serde_json::from_str::<Layout>(&told).unwrap(), layout);
            let blob = Blob::of(&[vec![9; before], bytes].concat()).unwrap();
            let column = Column::open(layout, &blob).unwrap();
            for (row, value) in (0..).zip(&values) {
                let mut found = Vec::new();
                let there = column.get(&blob, row, &mut found).unwrap();
                prop_assert_eq!(there.then_some(found), value.clone());
            }
            for value in values.iter().flatten().take(20) {
                let expected = rows_where(&values, |v| v == value);
                prop_assert_eq!(column.find(&blob, &Wanted::Equal(value.clone())).unwrap(), expected);
                let middle = value.get(value.len() / 3..value.len().div_ceil(2)).unwrap();
                for part in [&[][..], &[0], b"a", b"ab", &value[value.len() / 2..], middle, value] {
                    let has = |v: &[u8]| part.is_empty() || v.windows(part.len()).any(|w| w == part);
                    let (expected, wanted) = (rows_where(&values, has), Wanted::Contains(part.to_vec()));
                    let all: Vec<u64> = (0..values.len() as u64).collect();
                    prop_assert_eq!(&column.among(&blob, &all, &wanted).unwrap(), &expected);
                    prop_assert_eq!(column.find(&blob, &wanted).unwrap(), expected);
                }
            }
            prop_assert!(column.find(&blob, &Wanted::Equal(b"not there".to_vec())).unwrap().is_empty());
            let mut problems = Vec::new();
            column.verify(&blob, &mut |what| problems.push(what.to_owned())).unwrap();
            prop_assert_eq!(problems, Vec::<String>::new());
        }
    }
}
