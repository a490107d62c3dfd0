//! Sets of numbers below 2^48 with ranks: the nodes of a fragment, and deleted rows.
//!
//! A set is cut into chunks of 65,536 numbers. A chunk is a sorted list of the lower 16 bits, or a
//! bitmap where that is smaller, and knows how many numbers lie before it. Whether a number is in the
//! set, and how many are below it, takes one search among the chunks and one inside a chunk. Sets share
//! chunks that are equal because one was made of the other.

use std::ops::Range;
use std::sync::Arc;

use nakshi_store::varint;

/// Numbers of a chunk.
const CHUNK: u64 = 1 << 16;
/// Numbers from which on a chunk is a bitmap: its 1,024 words are smaller than a longer list.
const DENSE: usize = 4096;
/// Words of a bitmap.
const WORDS: usize = 1024;
/// Words of a block, whose rank is kept.
const BLOCK: usize = 8;

/// A set of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct RowSet {
    chunks: Vec<Chunk>,
}

#[derive(Clone, Debug)]
struct Chunk {
    /// The numbers without their lower 16 bits.
    high: u32,
    /// How many numbers are in the chunks before.
    before: u64,
    low: Low,
}

#[derive(Clone, Debug)]
enum Low {
    List(Arc<Vec<u16>>),
    Bits(Arc<Bitmap>),
}

#[derive(Debug)]
struct Bitmap {
    words: [u64; WORDS],
    /// How many numbers are in the blocks before each block.
    before: [u16; WORDS / BLOCK],
    /// Number of numbers.
    len: u32,
}

impl Bitmap {
    fn new(words: [u64; WORDS]) -> Arc<Self> {
        let (mut before, mut len) = ([0; WORDS / BLOCK], 0);
        for (block, rank) in words.chunks(BLOCK).zip(&mut before) {
            // At most 65,024 in all blocks but the last.
            *rank = len as u16;
            len += ones(block);
        }
        Arc::new(Bitmap { words, before, len })
    }

    fn contains(&self, low: u16) -> bool {
        self.words.get(usize::from(low >> 6)).is_some_and(|word| word >> (low & 63) & 1 == 1)
    }

    /// How many numbers are below `low`.
    fn below(&self, low: u16) -> u32 {
        let (whole, rest) = (usize::from(low >> 6), low & 63);
        let block = whole / BLOCK;
        let before = self.before.get(block).map_or(0, |rank| u32::from(*rank));
        let full = self.words.get(block * BLOCK..whole).unwrap_or_default();
        let part = self.words.get(whole).map_or(0, |word| word & ((1 << rest) - 1));
        before + ones(full) + part.count_ones()
    }

    /// The `i`-th number.
    fn select(&self, i: u32) -> Option<u16> {
        let block = self.before.partition_point(|rank| u32::from(*rank) <= i).checked_sub(1)?;
        let mut left = i - u32::from(*self.before.get(block)?);
        for number in block * BLOCK..(block + 1) * BLOCK {
            let mut word = *self.words.get(number)?;
            let ones = word.count_ones();
            if left < ones {
                (0..left).for_each(|_| word &= word.wrapping_sub(1));
                // A bitmap has 65,536 bits.
                return Some((number << 6) as u16 | word.trailing_zeros() as u16);
            }
            left -= ones;
        }
        None
    }

    fn iter(&self) -> impl Iterator<Item = u16> {
        (0_u16..).zip(&self.words).flat_map(|(number, word)| {
            let mut word = *word;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as u16)?;
                word &= word - 1;
                Some(number << 6 | bit)
            })
        })
    }
}

fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

impl Low {
    /// The chunk of ascending numbers.
    fn of(list: Vec<u16>) -> Self {
        if list.len() < DENSE {
            return Low::List(Arc::new(list));
        }
        let mut bits = [0; WORDS];
        for low in &list {
            if let Some(word) = bits.get_mut(usize::from(low >> 6)) {
                *word |= 1 << (low & 63);
            }
        }
        Low::Bits(Bitmap::new(bits))
    }

    fn len(&self) -> u64 {
        match self {
            Low::List(list) => list.len() as u64,
            Low::Bits(bits) => u64::from(bits.len),
        }
    }

    fn contains(&self, low: u16) -> bool {
        match self {
            Low::List(list) => list.binary_search(&low).is_ok(),
            Low::Bits(bits) => bits.contains(low),
        }
    }

    /// How many numbers are below `low`.
    fn below(&self, low: u16) -> u64 {
        match self {
            Low::List(list) => list.partition_point(|other| *other < low) as u64,
            Low::Bits(bits) => u64::from(bits.below(low)),
        }
    }

    /// The `i`-th number.
    fn select(&self, i: u64) -> Option<u16> {
        match self {
            Low::List(list) => list.get(usize::try_from(i).ok()?).copied(),
            Low::Bits(bits) => bits.select(u32::try_from(i).ok()?),
        }
    }

    fn list(&self) -> Vec<u16> {
        match self {
            Low::List(list) => list.to_vec(),
            Low::Bits(bits) => bits.iter().collect(),
        }
    }
}

/// A number without its lower 16 bits, and these. Numbers have at most 48 bits.
fn split(number: u64) -> (u32, u16) {
    ((number >> 16) as u32, (number & (CHUNK - 1)) as u16)
}

/// Reads a number from the beginning of `bytes`, which become the rest.
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut at = 0;
    let number = varint::get(bytes, &mut at)?;
    *bytes = bytes.get(at..)?;
    Some(number)
}

impl RowSet {
    /// The set of ascending numbers, each once.
    pub(super) fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut builder = RowSetBuilder::default();
        numbers.into_iter().for_each(|number| builder.push(number));
        builder.finish()
    }

    fn push(&mut self, high: u32, low: Low) {
        let before = self.len();
        self.chunks.push(Chunk { high, before, low });
    }

    pub(super) fn len(&self) -> u64 {
        self.chunks.last().map_or(0, |chunk| chunk.before + chunk.low.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    fn chunk(&self, high: u32) -> Result<&Chunk, usize> {
        // Chunks without a gap are found without a search.
        let first = self.chunks.first().map_or(0, |chunk| chunk.high);
        let guess = high.wrapping_sub(first) as usize;
        if let Some(chunk) = self.chunks.get(guess).filter(|chunk| chunk.high == high) {
            return Ok(chunk);
        }
        let at = self.chunks.binary_search_by_key(&high, |chunk| chunk.high)?;
        self.chunks.get(at).ok_or(at)
    }

    #[inline]
    pub(super) fn contains(&self, number: u64) -> bool {
        let (high, low) = split(number);
        self.chunk(high).is_ok_and(|chunk| chunk.low.contains(low))
    }

    /// How many numbers are below `number`.
    pub(super) fn below(&self, number: u64) -> u64 {
        let (high, low) = split(number);
        match self.chunk(high) {
            Ok(chunk) => chunk.before + chunk.low.below(low),
            Err(at) => self.chunks.get(at).map_or_else(|| self.len(), |chunk| chunk.before),
        }
    }

    /// The place of a number among all; `None` if it is not in the set.
    #[inline]
    pub(super) fn place(&self, number: u64) -> Option<u64> {
        let (high, low) = split(number);
        let chunk = self.chunk(high).ok().filter(|chunk| chunk.low.contains(low))?;
        Some(chunk.before + chunk.low.below(low))
    }

    /// The number at a place.
    pub(super) fn get(&self, place: u64) -> Option<u64> {
        let at = self.chunks.partition_point(|chunk| chunk.before <= place).checked_sub(1)?;
        let chunk = self.chunks.get(at)?;
        Some(u64::from(chunk.high) << 16 | u64::from(chunk.low.select(place - chunk.before)?))
    }

    /// The numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.chunks.iter().flat_map(|chunk| {
            let high = u64::from(chunk.high) << 16;
            chunk.low.list().into_iter().map(move |low| high | u64::from(low))
        })
    }

    /// The numbers in a range, less its start.
    pub(super) fn within(&self, range: &Range<u64>) -> Vec<u64> {
        let (from, to) = (self.below(range.start), self.below(range.end));
        let places = (from..to).filter_map(|place| self.get(place));
        places.map(|number| number - range.start).collect()
    }

    /// This set and ascending further numbers. Chunks without new numbers are shared.
    pub(super) fn with(&self, more: &[u64]) -> Self {
        let (mut set, mut old, mut more) = (RowSet::default(), self.chunks.iter().peekable(), more);
        while let Some(first) = more.first() {
            let (high, _) = split(*first);
            while let Some(chunk) = old.next_if(|chunk| chunk.high < high) {
                set.push(chunk.high, chunk.low.clone());
            }
            let (own, rest) =
                more.split_at(more.partition_point(|number| split(*number).0 == high));
            let mut list: Vec<u16> = own.iter().map(|number| split(*number).1).collect();
            if let Some(chunk) = old.next_if(|chunk| chunk.high == high) {
                list.extend(chunk.low.list());
                list.sort_unstable();
                list.dedup();
            }
            set.push(high, Low::of(list));
            more = rest;
        }
        old.for_each(|chunk| set.push(chunk.high, chunk.low.clone()));
        set
    }

    /// Bytes of memory that the set takes.
    pub(super) fn bytes(&self) -> u64 {
        let of = |chunk: &Chunk| {
            let low = match &chunk.low {
                Low::List(list) => 2 * list.len(),
                Low::Bits(..) => size_of::<Bitmap>(),
            };
            (size_of::<Chunk>() + low + 40) as u64
        };
        self.chunks.iter().map(of).sum()
    }

    /// Appends the set as bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.chunks.len() as u64);
        for chunk in &self.chunks {
            varint::put(out, chunk.high.into());
            varint::put(out, chunk.low.len());
            match &chunk.low {
                Low::List(list) => list.iter().for_each(|low| out.extend(low.to_le_bytes())),
                Low::Bits(bits) => {
                    bits.words.iter().for_each(|word| out.extend(word.to_le_bytes()));
                }
            }
        }
    }

    /// Reads a set from the beginning of `bytes`, which become the rest; `None` for bytes that are no set.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut set = RowSet::default();
        for _ in 0..number(bytes)? {
            let high = u32::try_from(number(bytes)?).ok()?;
            let count = number(bytes)?;
            let len = if count < DENSE as u64 { 2 * count as usize } else { 8 * WORDS };
            let (own, rest) = bytes.split_at_checked(len)?;
            let low = if count < DENSE as u64 {
                let list: Vec<u16> =
                    own.as_chunks().0.iter().map(|low| u16::from_le_bytes(*low)).collect();
                list.is_sorted_by(|a, b| a < b).then(|| Low::List(Arc::new(list)))?
            } else {
                let mut bits = [0; WORDS];
                let words = own.as_chunks().0;
                bits.iter_mut().zip(words).for_each(|(to, word)| *to = u64::from_le_bytes(*word));
                let bits = Bitmap::new(bits);
                (u64::from(bits.len) == count).then_some(Low::Bits(bits))?
            };
            if set.chunks.last().is_some_and(|last| last.high >= high) || low.len() == 0 {
                return None;
            }
            set.push(high, low);
            *bytes = rest;
        }
        Some(set)
    }
}

/// A set to which ascending numbers are added.
#[derive(Debug, Default)]
pub(super) struct RowSetBuilder {
    set: RowSet,
    /// The chunk that is not complete.
    high: u32,
    list: Vec<u16>,
    last: Option<u64>,
}

impl RowSetBuilder {
    /// Adds a number, which is not below the last one.
    pub(super) fn push(&mut self, number: u64) {
        if self.last == Some(number) {
            return;
        }
        self.last = Some(number);
        let (high, low) = split(number);
        if high != self.high {
            self.complete();
        }
        self.high = high;
        self.list.push(low);
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Number of numbers.
    pub(super) fn len(&self) -> u64 {
        self.set.len() + self.list.len() as u64
    }

    fn complete(&mut self) {
        if !self.list.is_empty() {
            self.set.push(self.high, Low::of(std::mem::take(&mut self.list)));
        }
    }

    pub(super) fn finish(mut self) -> RowSet {
        self.complete();
        self.set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn numbers() -> impl Strategy<Value = BTreeSet<u64>> {
        let one = prop_oneof![0..20_000_u64, 65_000..66_000_u64, 0..1_u64 << 48];
        let dense = (0..3_u64, 1..4_u64).prop_map(|(chunk, step)| {
            (0..CHUNK).step_by(step as usize * 5).map(|low| chunk * CHUNK + low).collect()
        });
        prop_oneof![
            4 => prop::collection::btree_set(one, 0..300),
            1 => dense,
        ]
    }

    proptest! {
        /// The model is a set of the standard library.
        #[test]
        fn a_set_is_a_set(numbers in numbers(), more in numbers(), asked in numbers()) {
            let set = RowSet::of(numbers.iter().copied());
            let joined = set.with(&more.iter().copied().collect::<Vec<_>>());
            let all: BTreeSet<u64> = numbers.union(&more).copied().collect();
            for (set, model) in [(&set, &numbers), (&joined, &all)] {
                prop_assert_eq!(set.len(), model.len() as u64);
                prop_assert!(set.iter().eq(model.iter().copied()));
                let mut bytes = Vec::new();
                set.write(&mut bytes);
                let mut rest = &bytes[..];
                let again = RowSet::read(&mut rest).unwrap();
                prop_assert!(rest.is_empty());
                prop_assert!(again.iter().eq(model.iter().copied()));
                for number in asked.iter().chain(model).take(400) {
                    let below = model.range(..number).count() as u64;
                    prop_assert_eq!(set.contains(*number), model.contains(number));
                    prop_assert_eq!(set.below(*number), below);
                    let place = model.contains(number).then_some(below);
                    prop_assert_eq!(set.place(*number), place);
                    prop_assert_eq!(place.and_then(|place| set.get(place)), place.map(|_| *number));
                }
                prop_assert_eq!(set.get(set.len()), None);
                let range = 100..70_000;
                let expected: Vec<u64> = model.range(range.clone()).map(|n| n - 100).collect();
                prop_assert_eq!(set.within(&range), expected);
            }
        }
    }
}
