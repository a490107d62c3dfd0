//! Pseudo-random shuffles of any size in constant memory: a Feistel network with cycle walking.

/// A pseudo-random bijection of `0..n`.
///
/// Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section 5.
/// Not for secrets.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    n: u64,
    half: u32,
    keys: [u64; 4],
}

impl Shuffle {
    pub fn new(n: u64, seed: u64) -> Self {
        let bits = 64 - n.saturating_sub(1).leading_zeros();
        let half = bits.div_ceil(2).max(1);
        let mut state = seed;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        });
        Self { n, half, keys }
    }

    /// Returns the image of `value`, which is below `n`.
    pub fn apply(&self, value: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let mut value = value;
        // The domain is at most four times n, so a walk takes at most four steps on average.
        loop {
            let (mut left, mut right) = (value >> self.half, value & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            value = left << self.half | right;
            if value < self.n || self.n == 0 {
                return value;
            }
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which gives a seeded draw for
/// every vertex. Not for secrets.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
