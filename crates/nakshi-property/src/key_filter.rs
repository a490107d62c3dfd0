//! A set of keys that now and then has others as well: a split block Bloom filter.
//!
//! A key sets one bit in each of the eight words of one block, so that a look-up touches one cache line
//! (Putze, Sanders, Singler, "Cache-, hash- and space-efficient Bloom filters", WEA 2007; the
//! multipliers are those of Apache Parquet). With [`KEY_BITS`] bits a key, one look-up in a hundred finds
//! a key that is not there.

use nakshi_store::varint;

use super::row_set::number;

/// Bits of a key.
const KEY_BITS: u64 = 10;
/// Words of a block.
const WORDS: usize = 8;
/// One multiplier for each word of a block.
const MULTIPLIERS: [u32; WORDS] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Keys, by their hashes.
#[derive(Clone, Debug)]
pub(super) struct KeyFilter {
    blocks: Vec<[u32; WORDS]>,
}

/// The bits of a hash in its block.
fn bits(hash: u64) -> [u32; WORDS] {
    // The upper half chooses the block.
    MULTIPLIERS.map(|multiplier| 1 << ((hash as u32).wrapping_mul(multiplier) >> 27))
}

impl KeyFilter {
    /// An empty filter for at most `keys` keys.
    pub(super) fn for_keys(keys: u64) -> Self {
        let blocks = (keys * KEY_BITS).div_ceil(32 * WORDS as u64);
        KeyFilter { blocks: vec![[0; WORDS]; usize::try_from(blocks).unwrap_or(0)] }
    }

    fn at(&self, hash: u64) -> usize {
        (((hash >> 32) * self.blocks.len() as u64) >> 32) as usize
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let at = self.at(hash);
        let block = self.blocks.get_mut(at).into_iter().flatten();
        block.zip(bits(hash)).for_each(|(word, bit)| *word |= bit);
    }

    /// Returns false if no key with this hash was inserted.
    pub(super) fn may_have(&self, hash: u64) -> bool {
        let block = self.blocks.get(self.at(hash));
        block.is_some_and(|block| block.iter().zip(bits(hash)).all(|(word, bit)| word & bit > 0))
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        (self.blocks.len() * size_of::<[u32; WORDS]>()) as u64
    }

    /// Appends the number of blocks, and their words in little endian.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        varint::put(out, self.blocks.len() as u64);
        self.blocks.iter().flatten().for_each(|word| out.extend(word.to_le_bytes()));
    }

    /// Reads a filter from the beginning of `bytes`, which become the rest; `None` if they end early.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let blocks = usize::try_from(number(bytes)?).ok()?;
        let (own, rest) = bytes.split_at_checked(blocks.checked_mul(4 * WORDS)?)?;
        let mut words = own.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
        let blocks = (0..blocks).map(|_| [(); WORDS].map(|()| words.next().unwrap_or(0))).collect();
        *bytes = rest;
        Some(KeyFilter { blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nakshi_store::layout::mix;

    /// Every key is found, and few others are; the bytes come back.
    #[test]
    fn keys_are_found_and_few_others() {
        let mut filter = KeyFilter::for_keys(10_000);
        (0..10_000).for_each(|key| filter.insert(mix(key)));
        let mut bytes = Vec::new();
        filter.write(&mut bytes);
        bytes.push(7);
        let mut rest = bytes.as_slice();
        let read = KeyFilter::read(&mut rest).unwrap();
        assert_eq!((rest, &read.blocks), (&[7][..], &filter.blocks));
        assert!((0..10_000).all(|key| read.may_have(mix(key))));
        let wrong = (10_000..110_000).filter(|key| read.may_have(mix(*key))).count();
        assert!(wrong < 2_000, "{wrong} of 100,000");
        assert!(!KeyFilter::for_keys(0).may_have(5));
        assert!(KeyFilter::read(&mut &bytes[..bytes.len() - 2]).is_none());
    }
}
