//! Striping: one logical file over several physical ones.

use crate::{Error, Result};
use std::ops::Range;
use std::path::PathBuf;

/// The distribution of a logical file: stripe number `s` (of `stripe` bytes) lies in file `s % n`,
/// at offset `(s / n) * stripe` (round robin, as in RAID 0).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Striping {
    /// The physical files; one file is the ordinary case.
    pub paths: Vec<PathBuf>,
    /// Bytes per stripe: a power of two, at least 4096 and a multiple of the page size. Unused with
    /// one file.
    pub stripe: u64,
}

/// A part of a logical range that is contiguous in one physical file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PhysicalExtent {
    /// Index in [`Striping::paths`].
    pub(crate) file: usize,
    /// Offset in that file.
    pub(crate) offset: u64,
    /// Bytes.
    pub(crate) len: u64,
}

impl Striping {
    /// Makes the striping of a logical file that is one physical file.
    pub fn single(path: impl Into<PathBuf>) -> Self {
        Self { paths: vec![path.into()], stripe: 1 << 20 }
    }

    /// Returns an error if these numbers are invalid for pages of `page_size` bytes.
    pub(crate) fn check(&self, page_size: u32) -> Result<()> {
        if self.paths.is_empty() {
            return Err(Error::unsupported("a file striped over no paths; name at least one"));
        }
        let fits = self.stripe >= u64::from(page_size).max(4096) && self.stripe.is_power_of_two();
        if self.paths.len() > 1 && !fits {
            let what = format!(
                "a stripe of {} bytes; take a power of two that is at least 4096 and the page size",
                self.stripe
            );
            return Err(Error::unsupported(what));
        }
        Ok(())
    }

    /// Returns the number of bytes that physical file number `file` holds of a logical file of
    /// `len` bytes.
    pub fn physical_len(&self, file: usize, len: u64) -> u64 {
        let n = self.paths.len() as u64;
        if n <= 1 {
            return len;
        }
        let file = file as u64;
        let (full, rest) = (len / self.stripe, len % self.stripe);
        let whole = full / n + u64::from(full % n > file);
        let part = if full % n == file { rest } else { 0 };
        whole.saturating_mul(self.stripe).saturating_add(part)
    }

    /// Returns the physical extents of a logical range, in logical order.
    pub(crate) fn extents(&self, range: Range<u64>) -> impl Iterator<Item = PhysicalExtent> + '_ {
        let n = self.paths.len() as u64;
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            if n <= 1 {
                let extent = PhysicalExtent { file: 0, offset: at, len: range.end - at };
                at = range.end;
                return Some(extent);
            }
            let (number, within) = (at / self.stripe, at % self.stripe);
            let len = (self.stripe - within).min(range.end - at);
            at += len;
            let offset = (number / n).saturating_mul(self.stripe).saturating_add(within);
            Some(PhysicalExtent { file: usize::try_from(number % n).unwrap_or(0), offset, len })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every logical byte has its own position, and the positions of a file have no holes.
        #[test]
        fn stripes_tile_the_files(n in 1usize..5, shift in 0u32..3, len in 0u64..200_000) {
            let striping = Striping {
                paths: (0..n).map(|i| PathBuf::from(i.to_string())).collect(),
                stripe: 4096 << shift,
            };
            striping.check(4096).unwrap();
            let mut ends = vec![0u64; n];
            for extent in striping.extents(0..len) {
                prop_assert_eq!(extent.offset, ends[extent.file]);
                ends[extent.file] += extent.len;
            }
            for (file, end) in ends.iter().enumerate() {
                prop_assert_eq!(*end, striping.physical_len(file, len));
            }
            prop_assert_eq!(ends.iter().sum::<u64>(), len);
        }

        /// A range asked for in two parts gives the same extents as in one.
        #[test]
        fn a_range_can_be_cut_anywhere(a in 0u64..60_000, b in 0u64..60_000, c in 0u64..60_000) {
            let mut cuts = [a, b, c];
            cuts.sort_unstable();
            let [a, b, c] = cuts;
            let striping = Striping { paths: vec!["x".into(), "y".into(), "z".into()], stripe: 4096 };
            let bytes = |range: Range<u64>| -> Vec<(usize, u64)> {
                striping.extents(range).flat_map(|e| (0..e.len).map(move |i| (e.file, e.offset + i))).collect()
            };
            let mut parts = bytes(a..b);
            parts.extend(bytes(b..c));
            prop_assert_eq!(parts, bytes(a..c));
        }
    }
}
