//! Population count of the intersection of two bit rows, with the widest
//! instructions that the processor has, chosen when the program runs.
#![allow(unsafe_code)]

/// 512 bits of a row: one vector register where there is one so wide.
pub type Unit = [u64; 8];

/// The instructions that count rows on this processor; choose once, pass along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AndCount {
    width: Width,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[inline(always)]
fn plain(a: &[Unit], b: &[Unit]) -> u64 {
    let mut sums: Unit = [0; 8];
    for (x, y) in a.iter().zip(b) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            // A row has fewer than 2^64 bits; a check would keep the sums out of a register.
            *sum = sum.wrapping_add(u64::from((x & y).count_ones()));
        }
    }
    sums.iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn avx2(a: &[Unit], b: &[Unit]) -> u64 {
    plain(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
fn avx512(a: &[Unit], b: &[Unit]) -> u64 {
    plain(a, b)
}

impl AndCount {
    /// The fastest method on this processor.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
                && is_x86_feature_detected!("popcnt")
            {
                return AndCount { width: Width::Avx512 };
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                return AndCount { width: Width::Avx2 };
            }
        }
        AndCount { width: Width::Portable }
    }

    /// The method without any special instruction; the others are checked against it.
    #[cfg(test)]
    pub fn portable() -> Self {
        AndCount { width: Width::Portable }
    }

    /// Number of bits set in both rows, over the length of the shorter one.
    #[inline]
    pub fn count(self, a: &[Unit], b: &[Unit]) -> u64 {
        match self.width {
            Width::Portable => plain(a, b),
            // SAFETY: `detect`, the only maker of this value, has found the features.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 => unsafe { avx2(a, b) },
            // SAFETY: `detect`, the only maker of this value, has found the features.
            #[cfg(target_arch = "x86_64")]
            Width::Avx512 => unsafe { avx512(a, b) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_portable_twin(
            a in proptest::collection::vec(any::<Unit>(), 0..9),
            b in proptest::collection::vec(any::<Unit>(), 0..9),
        ) {
            prop_assert_eq!(AndCount::detect().count(&a, &b), AndCount::portable().count(&a, &b));
        }
    }
}
