//! Lists of numbers that are written once and read once, in order, in little memory.

use nakshi_store::varint;

use super::elias_fano::EliasFano;
use super::packed::{Packed, width_of};

/// Numbers that do not descend, as their differences.
#[derive(Clone, Debug, Default)]
pub(super) struct AscendingList {
    bytes: Vec<u8>,
    len: u64,
    last: u64,
}

impl AscendingList {
    pub(super) fn push(&mut self, number: u64) {
        varint::put(&mut self.bytes, number.wrapping_sub(self.last));
        (self.last, self.len) = (number, self.len + 1);
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    fn iter(&self) -> impl Iterator<Item = u64> + Clone {
        let (mut at, mut last) = (0, 0_u64);
        (0..self.len).map_while(move |_| {
            last = last.wrapping_add(varint::get(&self.bytes, &mut at)?);
            Some(last)
        })
    }

    /// Appends the numbers.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> EliasFano {
        EliasFano::write_all(self.len, self.last, self.iter(), out)
    }
}

/// Small numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberList {
    bytes: Vec<u8>,
    len: u64,
    last: Option<u64>,
    most: u64,
}

impl NumberList {
    pub(super) fn push(&mut self, number: u64) {
        varint::put(&mut self.bytes, number);
        self.len += 1;
        (self.last, self.most) = (Some(number), self.most.max(number));
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Appends the numbers.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Packed {
        let mut at = 0;
        let numbers = (0..self.len).map_while(|_| varint::get(&self.bytes, &mut at));
        Packed::write(numbers, width_of(self.most), out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blob::Blob;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_come_back(mut numbers in prop::collection::vec(any::<u32>(), 0..200)) {
            let mut small = NumberList::default();
            numbers.iter().for_each(|number| small.push((*number).into()));
            prop_assert_eq!(small.last(), numbers.last().map(|number| u64::from(*number)));
            let mut bytes = Vec::new();
            let packed = small.write(&mut bytes);
            let blob = Blob::of(&bytes).unwrap();
            for (i, number) in (0..).zip(&numbers) {
                prop_assert_eq!(packed.get(&blob, i).unwrap(), u64::from(*number));
            }
            numbers.sort_unstable();
            let mut list = AscendingList::default();
            numbers.iter().for_each(|number| list.push((*number).into()));
            let mut bytes = Vec::new();
            let ascending = list.write(&mut bytes);
            let blob = Blob::of(&bytes).unwrap();
            prop_assert_eq!((ascending.len(), packed.len()), (list.len(), small.len()));
            for (i, number) in (0..).zip(&numbers) {
                prop_assert_eq!(ascending.get(&blob, i).unwrap(), u64::from(*number));
            }
        }
    }
}
