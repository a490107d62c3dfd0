//! Page-aligned memory that devices read into.
//!
//! A [`Slab`] is one anonymous mapping. An [`AlignedBuf`] is the exclusive owner of a range of a
//! slab. Ranges can be split and joined, so a large read can be spread over several devices and put
//! together again without a copy.
#![allow(unsafe_code)]

use crate::{Error, Result};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of the start of every slab, and of every buffer made by
/// [`AlignedBuf::zeroed`].
pub const SLAB_ALIGN: usize = 4096;

/// Unit in which buffers are divided: the smallest sector of a device.
pub const SECTOR: usize = 512;

/// One anonymous memory mapping, zeroed by the system when first touched.
#[derive(Debug)]
pub(crate) struct Slab {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a slab is plain memory; the `AlignedBuf`s (exclusive) and the page cache (claims and
// pins) decide which thread may touch which range.
unsafe impl Send for Slab {}
// SAFETY: as above; the slab itself offers no safe access to its bytes.
unsafe impl Sync for Slab {}

impl Slab {
    /// Maps `len` bytes (rounded up to whole system pages, at least one).
    /// `huge` asks for huge pages where the system has them.
    pub(crate) fn map(len: usize, huge: bool) -> Result<Arc<Self>> {
        let refuse = || Error::Budget { needed: len as u64, given: 0 };
        let len = len.max(1).checked_next_multiple_of(SLAB_ALIGN).ok_or_else(refuse)?;
        // SAFETY: an anonymous private mapping at an address that the system
        // chooses; the result is checked.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(refuse());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(refuse)?;
        #[cfg(target_os = "linux")]
        if huge {
            // SAFETY: advice about the mapping made above; failure is harmless.
            unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        Ok(Arc::new(Self { start, len }))
    }

    /// Bytes of the mapping.
    #[cfg(target_os = "linux")]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address of the first byte.
    #[cfg(target_os = "linux")]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Takes exclusive ownership of a range.
    ///
    /// # Safety
    /// The range lies in the slab and nobody reads, writes or owns any of its
    /// bytes while the buffer lives.
    pub(crate) unsafe fn claim(self: &Arc<Self>, offset: usize, len: usize) -> AlignedBuf {
        debug_assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        AlignedBuf { slab: Arc::clone(self), offset, len }
    }

    /// Reads a range.
    ///
    /// # Safety
    /// The range lies in the slab and nobody writes or owns any of its bytes
    /// while the slice lives.
    pub(crate) unsafe fn slice(&self, offset: usize, len: usize) -> &[u8] {
        debug_assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: in bounds and unwritten by the caller's promise; the memory
        // is mapped and initialised (zeroed) for the life of `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), len) }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: start and len are those of the mapping made in `map`, and no
        // buffer is left, since each holds an `Arc` of the slab.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The exclusive owner of a range of aligned memory.
///
/// A buffer made by [`zeroed`](Self::zeroed) starts at a multiple of 4096, a part of a split buffer
/// at a multiple of 512. A queue owns the buffer while a read is in flight.
pub struct AlignedBuf {
    slab: Arc<Slab>,
    offset: usize,
    len: usize,
}

impl AlignedBuf {
    /// Allocates `len` bytes of zeros (rounded up to a multiple of 512).
    ///
    /// # Errors
    /// [`Error::Budget`] if the system cannot provide the memory.
    pub fn zeroed(len: usize) -> Result<Self> {
        Self::allocate(len, false)
    }

    /// Like [`zeroed`](Self::zeroed), in huge pages where the system has them.
    pub fn zeroed_huge(len: usize) -> Result<Self> {
        Self::allocate(len, true)
    }

    fn allocate(len: usize, huge: bool) -> Result<Self> {
        let refuse = || Error::Budget { needed: len as u64, given: 0 };
        let len = len.checked_next_multiple_of(SECTOR).ok_or_else(refuse)?;
        let slab = Slab::map(len, huge)?;
        Ok(Self { slab, offset: 0, len })
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if the buffer has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Cuts the buffer at `at` (clamped to its length): keeps the part before
    /// and returns the part from `at` on.
    pub fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.len);
        let rest =
            Self { slab: Arc::clone(&self.slab), offset: self.offset + at, len: self.len - at };
        self.len = at;
        rest
    }

    /// Undoes [`split_off`](Self::split_off): appends `next`, or gives it back
    /// when it does not follow this buffer in the same memory.
    pub fn join(&mut self, next: Self) -> std::result::Result<(), Self> {
        if !Arc::ptr_eq(&self.slab, &next.slab) || self.offset + self.len != next.offset {
            return Err(next);
        }
        self.len += next.len;
        Ok(())
    }

    /// The slab that contains this buffer.
    #[cfg(target_os = "linux")]
    pub(crate) fn slab(&self) -> &Arc<Slab> {
        &self.slab
    }

    /// The address of the first byte, for system calls.
    pub(crate) fn address(&self) -> *mut u8 {
        self.slab.start.as_ptr().wrapping_add(self.offset)
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the range is in the slab and owned by `self` alone, which is
        // borrowed, so nobody writes it.
        unsafe { std::slice::from_raw_parts(self.slab.start.as_ptr().add(self.offset), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the range is in the slab and owned by `self` alone, which is
        // borrowed mutably.
        unsafe {
            std::slice::from_raw_parts_mut(self.slab.start.as_ptr().add(self.offset), self.len)
        }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlignedBuf").field("offset", &self.offset).field("len", &self.len).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_and_join_keep_the_bytes() {
        let mut buf = AlignedBuf::zeroed(1000).unwrap();
        assert_eq!(buf.len(), 1024);
        buf.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8);
        let rest = buf.split_off(512);
        assert_eq!((buf.len(), rest.len()), (512, 512));
        assert_eq!(rest[0], (512 % 251) as u8);
        let other = AlignedBuf::zeroed(512).unwrap();
        let other = buf.join(other).unwrap_err();
        assert_eq!(other.len(), 512);
        buf.join(rest).unwrap();
        assert_eq!(buf[1023], (1023 % 251) as u8);
    }

    #[test]
    fn an_absurd_size_is_an_error() {
        assert!(matches!(AlignedBuf::zeroed(usize::MAX), Err(Error::Budget { .. })));
        assert!(matches!(AlignedBuf::zeroed(usize::MAX / 4), Err(Error::Budget { .. })));
    }
}
