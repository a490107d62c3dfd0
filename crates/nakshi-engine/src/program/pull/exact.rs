//! Sums of floats that are rounded once.
//!
//! A small superaccumulator (R. Neal, *Fast exact summation using small and large superaccumulators*,
//! arXiv:1505.05571, 2015): a fixed-point number that covers the whole range of `f64`. Additions are
//! exact, so that their order does not matter.

/// Bits of a digit. Digits are kept in 64 bits, so that carries can wait.
const DIGIT: u32 = 32;
/// Covers the largest float, shifted, and a sign.
const DIGITS: usize = 68;
/// Additions after which carries must be moved on: each adds less than 2^32 to a digit.
const MAX_UNCARRIED: u32 = 1 << 30;
/// The exponent of the lowest bit.
const LOWEST: i32 = -1074;

/// A sum of floats, exact until it is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExactSum {
    digits: [i64; DIGITS],
    waiting: u32,
    /// Infinities and NaN, added as floats are.
    special: f64,
}

impl Default for ExactSum {
    fn default() -> Self {
        ExactSum { digits: [0; DIGITS], waiting: 0, special: 0.0 }
    }
}

impl ExactSum {
    #[inline]
    pub(super) fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> 52) as u32 & 0x7ff;
        let fraction = bits & ((1 << 52) - 1);
        if exponent == 0x7ff {
            self.special += number;
            return;
        }
        // Subnormal numbers have the exponent of the least normal ones, and no hidden bit.
        let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
        let place = exponent.max(1) - 1;
        let shifted = u128::from(mantissa) << (place % DIGIT);
        let first = (place / DIGIT) as usize;
        let negative = bits >> 63 == 1;
        for (k, digit) in self.digits.iter_mut().skip(first).take(3).enumerate() {
            // Masked to 32 bits.
            let part = (shifted >> (k as u32 * DIGIT) & 0xffff_ffff) as i64;
            *digit += if negative { -part } else { part };
        }
        self.waiting += 1;
        if self.waiting >= MAX_UNCARRIED {
            self.carry();
        }
    }

    /// Returns true if nothing was added since [`ExactSum::default`].
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.special == 0.0
    }

    pub(super) fn merge(&mut self, other: &ExactSum) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (digit, more) in self.digits.iter_mut().zip(other.digits) {
            *digit += more;
        }
        self.waiting = 2;
        self.special += other.special;
    }

    /// Leaves 32 bits in every digit but the last, which has the sign.
    fn carry(&mut self) {
        let mut carry = 0;
        let (last, digits) = match self.digits.split_last_mut() {
            Some(parts) => parts,
            None => return,
        };
        for digit in digits {
            let whole = *digit + carry;
            *digit = whole & 0xffff_ffff;
            carry = whole >> DIGIT;
        }
        *last += carry;
        self.waiting = 1;
    }

    /// The sum, rounded to the nearest float.
    pub(super) fn value(&self) -> f64 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special;
        }
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.digits.last().is_some_and(|last| *last < 0);
        if negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let Some(highest) = sum.digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
        // Four digits hold 97 bits at least, far more than a float; of what is below them it
        // matters only whether it is nothing.
        let lowest = highest.saturating_sub(3);
        let (below, used) = sum.digits.split_at(lowest);
        let mut top: u128 = 0;
        for &digit in used.iter().take(4).rev() {
            top = top << DIGIT | (digit as u128 & 0xffff_ffff);
        }
        top |= u128::from(below.iter().any(|digit| *digit != 0));
        let exponent = lowest as i32 * DIGIT as i32 + LOWEST;
        // In two steps, of which each factor is a float.
        let half = exponent / 2;
        let size = top as f64 * power(half) * power(exponent - half);
        if negative { -size } else { size }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut sum = self.clone();
        sum.carry();
        out.extend_from_slice(&sum.special.to_bits().to_le_bytes());
        sum.digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_le_bytes()));
    }

    pub(super) fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (special, rest) = bytes.split_first_chunk()?;
        let (digits, rest) = rest.split_first_chunk::<{ 8 * DIGITS }>()?;
        *bytes = rest;
        let mut sum = ExactSum { special: f64::from_le_bytes(*special), ..Self::default() };
        for (digit, bytes) in sum.digits.iter_mut().zip(digits.as_chunks().0) {
            *digit = i64::from_le_bytes(*bytes);
        }
        // What comes from elsewhere may be any number.
        let carried = sum.digits.split_last()?.1.iter().all(|digit| digit >> DIGIT == 0);
        sum.waiting = 1;
        carried.then_some(sum)
    }
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(numbers: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        numbers.iter().for_each(|&number| sum.add(number));
        sum.value()
    }

    /// Seen red without the bit for what is below.
    #[test]
    fn known_sums() {
        let tiny = f64::from_bits(1);
        assert_eq!(sum(&[]), 0.0);
        assert_eq!(sum(&[1e308, 1.0, -1e308]), 1.0);
        assert_eq!(sum(&[1e16, 1.0, 1.0]), 1e16 + 2.0);
        assert_eq!(sum(&[tiny, tiny]), 2.0 * tiny);
        assert_eq!(sum(&[f64::MIN_POSITIVE, -tiny]), f64::MIN_POSITIVE - tiny);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[-2.5, 1.0]), -1.5);
        assert_eq!(sum(&[1.0, f64::NEG_INFINITY]), f64::NEG_INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        // Half way between two floats, then a bit more: to even, then up.
        assert_eq!(sum(&[1.0, 2f64.powi(-53)]), 1.0);
        assert_eq!(sum(&[1.0, 2f64.powi(-53), tiny]), 1.0 + 2f64.powi(-52));
    }

    proptest! {
        /// The float sum of two numbers is rounded once too.
        #[test]
        fn two_numbers_as_floats(a in any::<f64>(), b in any::<f64>()) {
            let expected = a + b;
            let found = sum(&[a, b]);
            prop_assert!(found == expected || found.is_nan() && expected.is_nan());
        }

        #[test]
        fn order_and_grouping_do_not_matter(
            numbers in prop::collection::vec(-1e20f64..1e20, 0..60),
            split in 0usize..60,
        ) {
            let whole = sum(&numbers);
            let mut reversed = numbers.clone();
            reversed.reverse();
            prop_assert_eq!(sum(&reversed).to_bits(), whole.to_bits());
            let (a, b) = numbers.split_at(split.min(numbers.len()));
            let (mut left, mut right) = (ExactSum::default(), ExactSum::default());
            a.iter().for_each(|&number| left.add(number));
            b.iter().for_each(|&number| right.add(number));
            let mut bytes = Vec::new();
            right.encode(&mut bytes);
            left.merge(&ExactSum::decode(&mut bytes.as_slice()).unwrap());
            prop_assert_eq!(left.value().to_bits(), whole.to_bits());
        }
    }
}
