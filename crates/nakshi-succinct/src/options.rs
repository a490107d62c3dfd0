//! Options of the compression and their costs.

use crate::{Error, Result, bits};

/// Longest text of one [`Succinct`](crate::Succinct), whose rows must fit 31 bits.
pub const MAX_LEN: u64 = (1 << 31) - 2;

/// The code of the gaps between next pointers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Psi {
    /// Each gap in Elias' gamma code, as in the paper: one bit for a gap of one.
    EliasGamma,
    /// Each block of pointers in the code of Elias and Fano, with a width of its own.
    EliasFano,
    /// Runs of gaps of one by their length, and the gaps between runs, both in Elias' gamma code
    /// (Mäkinen and Navarro, "Succinct suffix arrays based on run-length encoding", CPM 2005).
    #[default]
    Runs,
}

impl Psi {
    /// All codes.
    pub const ALL: [Self; 3] = [Self::EliasGamma, Self::EliasFano, Self::Runs];

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::EliasGamma => 1,
            Self::EliasFano => 2,
            Self::Runs => 3,
        }
    }

    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|psi| psi.code() == code)
    }

    /// Most bits that a row takes on average in any text: the entropy of a byte, twice that in the
    /// gamma code, and the ends of the code.
    pub(crate) fn worst_bits(self) -> u64 {
        match self {
            Self::EliasGamma => 18,
            Self::EliasFano => 12,
            Self::Runs => 20,
        }
    }
}

/// Options of the compression. Every number is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The suffix array keeps every text position divisible by this rate; a search walks up to as
    /// many steps for each occurrence. 1 to [`Options::MAX_RATE`].
    pub sa_rate: u32,
    /// The inverse suffix array keeps every text position divisible by this rate; an extract walks
    /// up to as many steps before its first byte. 1 to [`Options::MAX_RATE`].
    pub isa_rate: u32,
    /// Code of the next pointers.
    pub psi: Psi,
    /// Next pointers in a block, which is decoded from its start. [`Options::MIN_BLOCK`] to
    /// [`Options::MAX_BLOCK`].
    pub psi_block: u32,
}

impl Options {
    /// Default of both sampling rates, that of the paper.
    pub const RATE: u32 = 32;
    /// Largest sampling rate.
    pub const MAX_RATE: u32 = 4096;
    /// Default of [`Options::psi_block`].
    pub const BLOCK: u32 = 64;
    /// Smallest block of next pointers.
    pub const MIN_BLOCK: u32 = 16;
    /// Largest block of next pointers.
    pub const MAX_BLOCK: u32 = 1024;

    /// # Errors
    /// [`Error::Unsupported`] unless everything is a power of two within its bounds.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, value, from, to) in [
            ("sa_rate", self.sa_rate, 1, Self::MAX_RATE),
            ("isa_rate", self.isa_rate, 1, Self::MAX_RATE),
            ("psi_block", self.psi_block, Self::MIN_BLOCK, Self::MAX_BLOCK),
        ] {
            if !value.is_power_of_two() || value < from || value > to {
                return Err(Error::unsupported(format!(
                    "{name} = {value}; choose a power of two from {from} to {to}"
                )));
            }
        }
        Ok(())
    }

    /// Encodes the options as a word of the header.
    pub(crate) fn to_word(self) -> u64 {
        let log = |value: u32| value.trailing_zeros() as u8;
        let [sa, isa, block] = [self.sa_rate, self.isa_rate, self.psi_block].map(log);
        u64::from_le_bytes([self.psi.code(), sa, isa, block, 0, 0, 0, 0])
    }

    /// # Errors
    /// [`Error::Corrupt`] if the options in the word fail [`Options::check`].
    pub(crate) fn of_word(word: u64) -> Result<Self> {
        const WRONG: Error = Error::corrupt("its options do not exist");
        let [psi, sa, isa, block, 0, 0, 0, 0] = word.to_le_bytes() else { return Err(WRONG) };
        let rate = |log: u8| 1u32.checked_shl(u32::from(log)).ok_or(WRONG);
        let options = Self {
            sa_rate: rate(sa)?,
            isa_rate: rate(isa)?,
            psi: Psi::of_code(psi).ok_or(WRONG)?,
            psi_block: rate(block)?,
        };
        options.check().map_err(|_| WRONG)?;
        Ok(options)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sa_rate: Self::RATE,
            isa_rate: Self::RATE,
            psi: Psi::default(),
            psi_block: Self::BLOCK,
        }
    }
}

/// Number of samples at a rate.
pub(crate) fn samples(len: u64, rate: u32) -> u64 {
    len.div_ceil(u64::from(rate))
}

/// Width in bits of one sampled position, counted in rates.
pub(crate) fn sample_width(len: u64, rate: u32) -> u32 {
    bits::width_of(samples(len, rate).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with the two rates read in the opposite order.
    #[test]
    fn words_come_back() {
        for psi in Psi::ALL {
            let options = Options { sa_rate: 1, isa_rate: 4096, psi, psi_block: 16 };
            assert_eq!(Options::of_word(options.to_word()), Ok(options));
        }
        assert!(Options::of_word(0).is_err());
        assert!(Options::of_word(u64::MAX).is_err());
    }

    #[test]
    fn what_is_no_power_of_two_is_refused() {
        for options in [
            Options { sa_rate: 3, ..Options::default() },
            Options { isa_rate: 0, ..Options::default() },
            Options { psi_block: 8, ..Options::default() },
            Options { psi_block: 2048, ..Options::default() },
        ] {
            assert!(matches!(options.check(), Err(Error::Unsupported { .. })), "{options:?}");
        }
    }
}
