//! The dictionary of all other ids: a hash table over their bytes.

use std::hash::{BuildHasher, RandomState};

use super::order::IdOrder;

/// The ids of one worker in its current generation. Hashed with a random key, so that nobody can
/// craft ids that collide.
pub(crate) struct Interner {
    keys: Vec<u8>,
    /// End of each key in `keys`.
    ends: Vec<u64>,
    /// Number of edge ends at each key.
    counts: Vec<u64>,
    /// Hash table with open addressing: the upper half of a hash, and the number of the key plus
    /// one.
    table: Vec<(u32, u32)>,
    state: RandomState,
    canonical: bool,
    utf8: bool,
}

impl std::fmt::Debug for Interner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interner").field("keys", &self.ends.len()).finish_non_exhaustive()
    }
}

impl Interner {
    pub fn new() -> Self {
        Self {
            keys: Vec::new(),
            ends: Vec::new(),
            counts: Vec::new(),
            table: Vec::new(),
            state: RandomState::new(),
            canonical: true,
            utf8: true,
        }
    }

    /// Returns the number of a key, which is added if it is new; counts `ends` edge ends at it.
    pub fn intern(&mut self, key: &[u8], ends: u64) -> u32 {
        if self.table.len() / 4 * 3 <= self.ends.len() {
            self.grow();
        }
        let hash = self.state.hash_one(key);
        let (tag, mask) = ((hash >> 32) as u32, self.table.len() - 1);
        let mut at = hash as usize & mask;
        loop {
            match self.table[at] {
                (_, 0) => break,
                (other, number) if other == tag && self.key(number - 1) == key => {
                    self.counts[number as usize - 1] += ends;
                    return number - 1;
                }
                _ => at = (at + 1) & mask,
            }
        }
        let number = self.ends.len() as u32;
        self.table[at] = (tag, number + 1);
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u64);
        self.counts.push(ends);
        if !IdOrder::is_canonical_integer(key) {
            self.canonical = false;
            self.utf8 &= std::str::from_utf8(key).is_ok();
        }
        number
    }

    fn grow(&mut self) {
        let size = (self.table.len() * 2).max(64);
        self.table.clear();
        self.table.resize(size, (0, 0));
        let mask = size - 1;
        for number in 0..self.ends.len() as u32 {
            let hash = self.state.hash_one(self.key(number));
            let mut at = hash as usize & mask;
            while self.table[at].1 != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = ((hash >> 32) as u32, number + 1);
        }
    }

    fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] as usize };
        &self.keys[start..self.ends[number] as usize]
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if all keys are canonical integers.
    pub fn canonical(&self) -> bool {
        self.canonical
    }

    /// Returns true if all keys are UTF-8.
    pub fn utf8(&self) -> bool {
        self.utf8
    }

    /// Returns the bytes in use, including those that the next growth needs.
    pub fn memory(&self) -> u64 {
        // A growing vector holds its old and its new allocation for a moment; sorting needs 4 bytes
        // a key.
        let growing = self.keys.capacity() + 16 * self.ends.capacity();
        (growing + growing / 2 + 8 * self.table.len() + 4 * self.ends.len()) as u64
    }

    /// Returns the keys in ascending order with their numbers and counts.
    pub fn sorted(&self, order: IdOrder) -> impl Iterator<Item = (&[u8], u32, u64)> + '_ {
        let mut numbers: Vec<u32> = (0..self.ends.len() as u32).collect();
        numbers.sort_unstable_by(|&a, &b| order.compare(self.key(a), self.key(b)));
        numbers.into_iter().map(|number| (self.key(number), number, self.counts[number as usize]))
    }
}
