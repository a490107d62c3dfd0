//! Where the bytes of a compressed text are.

use std::ops::Range;

/// Bytes of a compressed text, in memory or behind a cache. Cheap to copy.
pub trait TextBytes: Copy {
    /// The bytes of a range; those that lie behind the end are left out.
    #[must_use]
    fn part(self, range: Range<usize>) -> Self;

    /// The little-endian word of the eight bytes from `at` on; `None` unless all of them are there.
    fn word(self, at: usize) -> Option<u64>;
}

impl TextBytes for &[u8] {
    #[inline]
    fn part(self, range: Range<usize>) -> Self {
        self.get(range.start..range.end.min(self.len())).unwrap_or_default()
    }

    #[inline]
    fn word(self, at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(*self.get(at..)?.first_chunk()?))
    }
}
