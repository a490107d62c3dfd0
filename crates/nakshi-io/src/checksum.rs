//! Salted page checksums.
//!
//! A plain checksum detects a flipped bit, but not a page that was written in another page's place,
//! or that belongs to another file or an older store. The checksum of a page is therefore the
//! CRC-32C of its bytes combined with a keyed mix of the store's UUID, the file's id and the page
//! number. A swapped, stale or foreign page passes with probability 2^-32.

use crc_fast::{CrcAlgorithm, checksum};

/// The salt that makes the checksums of a file unique to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt {
    /// The UUID of the store.
    pub store: [u8; 16],
    /// The id of the file in its store.
    pub file: u32,
}

impl Salt {
    /// The key of the file's page checksums, the same for all its pages.
    fn key(&self) -> u64 {
        let [a, b] = [0, 8].map(|at| {
            let mut half = [0u8; 8];
            half.iter_mut().zip(self.store.iter().skip(at)).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(half)
        });
        mix(mix(mix(a) ^ b) ^ u64::from(self.file))
    }
}

/// The page checksums of one file; keeps the mixed salt.
#[derive(Debug, Clone, Copy)]
pub struct PageHasher {
    key: u64,
}

impl PageHasher {
    /// Makes a hasher for the file that `salt` names.
    pub fn new(salt: &Salt) -> Self {
        Self { key: salt.key() }
    }

    /// Computes the checksum of page number `page_no` with the bytes `page`.
    ///
    /// The caller pads the last page of a file with zeros to the page size.
    #[inline]
    pub fn sum(&self, page_no: u64, page: &[u8]) -> u32 {
        let crc = checksum(CrcAlgorithm::Crc32Iscsi, page);
        // The CRC has 32 bits in a u64; the salt is folded to 32 bits.
        let salted = crc ^ fold(mix(self.key ^ page_no));
        (salted & u64::from(u32::MAX)) as u32
    }
}

/// Computes the checksum of one page: CRC-32C of its bytes, salted with the store, the file and the
/// page number. For many pages of a file keep a [`PageHasher`].
pub fn page_checksum(salt: &Salt, page_no: u64, page: &[u8]) -> u32 {
    PageHasher::new(salt).sum(page_no, page)
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood): every input bit affects every output bit.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

fn fold(value: u64) -> u64 {
    (value ^ (value >> 32)) & u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: Salt = Salt { store: *b"0123456789abcdef", file: 7 };

    /// The format fixes this function for ever: readers of all versions must agree.
    #[test]
    fn the_function_is_part_of_the_format() {
        assert_eq!(checksum(CrcAlgorithm::Crc32Iscsi, b"123456789"), 0xe306_9283);
        assert_eq!(page_checksum(&SALT, 0, &[0; 4096]), page_checksum(&SALT, 0, &[0; 4096]));
    }

    /// Seen red with `mix(self.key ^ page_no)` replaced by 0.
    #[test]
    fn place_file_and_store_matter() {
        let page = [5u8; 512];
        let sum = page_checksum(&SALT, 3, &page);
        assert_ne!(sum, page_checksum(&SALT, 4, &page));
        assert_ne!(sum, page_checksum(&Salt { file: 8, ..SALT }, 3, &page));
        assert_ne!(sum, page_checksum(&Salt { store: *b"0123456789abcdeg", ..SALT }, 3, &page));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut page = vec![0x5au8; 512];
        let sum = page_checksum(&SALT, 1, &page);
        for at in 0..page.len() {
            for bit in 0..8 {
                page[at] ^= 1 << bit;
                assert_ne!(sum, page_checksum(&SALT, 1, &page));
                page[at] ^= 1 << bit;
            }
        }
    }
}
