//! Radix sort of edge records in memory.

/// An edge between internal ids, with an optional weight.
pub(crate) trait Record: Copy + Send + Default + std::fmt::Debug + 'static {
    /// True if the record has a weight.
    const WEIGHTED: bool;
    /// Number of words on disk.
    const WORDS: usize;
    fn new(key: u64, weight: u64) -> Self;
    /// `source << 32 | target`.
    fn key(self) -> u64;
    /// A word in the order of the weights; 0 without weights.
    fn weight(self) -> u64;
}

impl Record for u64 {
    const WEIGHTED: bool = false;
    const WORDS: usize = 1;
    #[inline]
    fn new(key: u64, _: u64) -> Self {
        key
    }
    #[inline]
    fn key(self) -> u64 {
        self
    }
    #[inline]
    fn weight(self) -> u64 {
        0
    }
}

/// A record with a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weighted {
    key: u64,
    weight: u64,
}

impl Record for Weighted {
    const WEIGHTED: bool = true;
    const WORDS: usize = 2;
    #[inline]
    fn new(key: u64, weight: u64) -> Self {
        Self { key, weight }
    }
    #[inline]
    fn key(self) -> u64 {
        self.key
    }
    #[inline]
    fn weight(self) -> u64 {
        self.weight
    }
}

const DIGIT_BITS: u32 = 11;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts by key, then by weight. Makes `scratch` as long as `records`.
pub(crate) fn sort<R: Record>(records: &mut Vec<R>, scratch: &mut Vec<R>) {
    if records.len() < 256 {
        records.sort_unstable_by_key(|r| (r.key(), r.weight()));
        return;
    }
    scratch.clear();
    scratch.resize(records.len(), R::default());
    let (any, all) =
        records.iter().fold((0, u64::MAX), |(any, all), r| (any | r.key(), all & r.key()));
    let passes = passes(any & !all);
    // One look at the records counts the digits of all passes.
    let mut counts = [[0_u32; DIGITS]; PASSES];
    for record in records.iter() {
        for (pass, counts) in passes.iter().zip(&mut counts) {
            counts[pass.digit(record.key())] += 1;
        }
    }
    for (pass, starts) in passes.iter().zip(&mut counts) {
        distribute(records, scratch, *pass, starts);
        std::mem::swap(records, scratch);
    }
    if R::WEIGHTED {
        for group in records.chunk_by_mut(|a, b| a.key() == b.key()) {
            if group.len() > 1 {
                group.sort_unstable_by_key(|r| r.weight());
            }
        }
    }
}

/// Most passes: three for each half of a key.
const PASSES: usize = 6;

/// The digit of a pass.
#[derive(Clone, Copy)]
struct Pass {
    shift: u32,
    mask: u64,
}

impl Pass {
    #[inline]
    fn digit(self, key: u64) -> usize {
        (key >> self.shift & self.mask) as usize % DIGITS
    }
}

/// Returns as few passes as 11-bit digits need for these bits of the two halves, with digits as
/// narrow as that allows.
fn passes(varying: u64) -> Vec<Pass> {
    let mut passes = Vec::with_capacity(PASSES);
    for half in [0, 32] {
        let bits = u64::from((varying >> half) as u32);
        if bits == 0 {
            continue;
        }
        let (low, high) = (bits.trailing_zeros(), 64 - bits.leading_zeros());
        let count = (high - low).div_ceil(DIGIT_BITS);
        let width = (high - low).div_ceil(count);
        let mask = (1 << width) - 1;
        passes.extend((0..count).map(|pass| Pass { shift: half + low + pass * width, mask }));
    }
    passes
}

/// Performs one stable counting pass from `from` into `to`, which are equally long, by the number of
/// records with each digit.
fn distribute<R: Record>(from: &[R], to: &mut [R], pass: Pass, starts: &mut [u32; DIGITS]) {
    let mut sum = 0;
    for start in starts.iter_mut() {
        sum += std::mem::replace(start, sum);
    }
    for record in from {
        let place = &mut starts[pass.digit(record.key())];
        to[*place as usize] = *record;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_like_the_standard_library() {
        let mut state = 7_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        for (len, mask) in [
            (0, 0),
            (1, !0),
            (255, !0),
            (5000, !0),
            (5000, 0x0003_ff00_0000_0fff),
            (3000, 3 << 40),
            (400, 0),
        ] {
            let mut records: Vec<Weighted> =
                (0..len).map(|_| Weighted::new(random() & mask, random() % 3)).collect();
            let mut expected = records.clone();
            expected.sort_by_key(|r| (r.key(), r.weight()));
            sort(&mut records, &mut Vec::new());
            assert_eq!(records, expected);
            let mut keys: Vec<u64> = records.iter().rev().map(|r| r.key()).collect();
            sort(&mut keys, &mut Vec::new());
            assert!(keys.is_sorted() && keys.len() == len);
        }
    }
}
