//! Memory that compressing a text takes.

use crate::Options;
use crate::layout::{PointerSize, TextHeader, TextLayout};
use crate::options::MAX_LEN;

impl Options {
    /// Returns the peak memory in bytes of compressing a text of `len` bytes: the text, its suffix
    /// array of four bytes a row, samples of it, and the compressed form at its largest. Does not
    /// include the bytes that an output vector already holds. [`u64::MAX`] beyond [`MAX_LEN`].
    ///
    /// With the defaults this is 8.1 bytes for a byte of text; incompressible texts take that much,
    /// other texts less.
    pub fn memory_of(&self, len: u64) -> u64 {
        let rows = len.saturating_add(1);
        let firsts = rows.div_ceil(u64::from(self.psi_block)).saturating_mul(32);
        let codes = rows.saturating_mul(self.psi.worst_bits());
        let body_bits = firsts.saturating_add(codes).saturating_add(1 << 16);
        let size = PointerSize { body_bits, place_bits: 20 };
        let header = TextHeader { len, options: *self, bucket_count: 256, size };
        let Ok(layout) = TextLayout::new(header) else { return u64::MAX };
        let samples = layout.sections.body.start as u64;
        // libsais allocates tables of its alphabet
        const TABLES: u64 = 1 << 20;
        rows * 5 + samples + layout.sections.total.max(rows) + TABLES
    }

    /// Returns the longest chunk whose [`Options::memory_of`] is at most `memory`; 0 if there is
    /// none.
    pub fn chunk_of(&self, memory: u64) -> u64 {
        let (mut fits, mut beyond) = (0, MAX_LEN + 1);
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            if self.memory_of(middle) <= memory { fits = middle } else { beyond = middle }
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with a chunk that must take less than the given memory.
    #[test]
    fn a_chunk_is_the_largest_that_fits() {
        let options = Options::default();
        let chunk = options.chunk_of(64 << 20);
        assert!(options.memory_of(chunk) <= 64 << 20);
        assert!(options.memory_of(chunk + 1) > 64 << 20);
        assert_eq!(options.chunk_of(options.memory_of(12_345)), 12_345);
        assert_eq!(options.chunk_of(1000), 0);
        assert_eq!(options.chunk_of(u64::MAX), MAX_LEN);
    }
}
