//! Integers of one bit width with random access.

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use nakshi_store::Result;
use nakshi_store::codec::pack_bits;

/// Location of such integers in a [`Blob`]: `len` of them, `width` bits each, from byte `at` on,
/// lowest bits first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Packed {
    at: u64,
    width: u8,
    len: u64,
}

/// Number of bits that `value` takes.
pub(super) fn width_of(value: u64) -> u8 {
    // At most 64.
    (u64::BITS - value.leading_zeros()) as u8
}

impl Packed {
    /// Appends `values`, each of which fits into `width` bits.
    pub(super) fn write(
        values: impl IntoIterator<Item = u64>,
        width: u8,
        out: &mut Vec<u8>,
    ) -> Packed {
        let at = out.len() as u64;
        let mut len = 0;
        pack_bits(values.into_iter().inspect(|_| len += 1), width, out);
        Packed { at, width, len }
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The same integers in a file into which these bytes were copied at `base`.
    pub(super) fn moved(self, base: u64) -> Self {
        Packed { at: self.at + base, ..self }
    }

    #[inline]
    pub(super) fn get(&self, blob: &Blob, i: u64) -> Result<u64> {
        if i >= self.len || self.width > 64 {
            return Err(blob.damaged(self.at as usize, "a number is asked for that it has not"));
        }
        let bit = i * u64::from(self.width);
        let at = (self.at + bit / 8) as usize;
        let shift = bit % 8;
        let word = blob.word(at)? >> shift;
        if u64::from(self.width) + shift <= 64 {
            return Ok(word & mask(self.width));
        }
        let rest = blob.word(at + 8)? << (64 - shift);
        Ok((word | rest) & mask(self.width))
    }
}

#[inline]
fn mask(width: u8) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Seen red with the rest of a number that spans nine bytes left out.
        #[test]
        fn numbers_of_every_width(width in 0..=64u8, values in prop::collection::vec(any::<u64>(), 0..80), before in 0..9usize) {
            let values: Vec<u64> = values.into_iter().map(|v| v & mask(width)).collect();
            let mut bytes = vec![0xff; before];
            let packed = Packed::write(values.iter().copied(), width, &mut bytes);
            bytes.push(0xff);
            let blob = Blob::of(&bytes).unwrap();
            prop_assert_eq!(packed.len(), values.len() as u64);
            for (i, value) in values.iter().enumerate() {
                prop_assert_eq!(packed.get(&blob, i as u64).unwrap(), *value);
            }
            prop_assert!(packed.get(&blob, values.len() as u64).is_err());
        }
    }
}
