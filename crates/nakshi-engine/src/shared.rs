//! Vertex state shared between workers without locks.
//!
//! A kernel writes the state of vertex `v` from one worker while others read
//! other vertices. Relaxed atomics give that without data races and compile to
//! plain loads and stores. The casts below turn an exclusively borrowed slice
//! into a shared slice of atomics for the length of a pass.
#![allow(unsafe_code)]

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// A cell of a shared slice.
pub trait Slot<T>: Sync {
    /// Replaces the value.
    fn put(&self, value: T);
}

/// A float whose slices can be shared between workers.
pub trait Shareable: Sized {
    /// The shared twin.
    type Shared: Slot<Self>;
    /// Shares a slice for the length of a pass.
    fn share(slice: &mut [Self]) -> &[Self::Shared];
}

/// Writes the shared twin of a float: its bits in an atomic integer.
macro_rules! shared_float {
    ($(#[$doc:meta])* $shared:ident, $float:ty, $bits:ty, $share:ident) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $shared($bits);

        impl $shared {
            /// The value.
            #[inline]
            pub fn get(&self) -> $float {
                <$float>::from_bits(self.0.load(Ordering::Relaxed))
            }

            /// Replaces the value.
            #[inline]
            pub fn set(&self, value: $float) {
                self.0.store(value.to_bits(), Ordering::Relaxed);
            }
        }

        impl Slot<$float> for $shared {
            #[inline]
            fn put(&self, value: $float) {
                self.set(value);
            }
        }

        impl Shareable for $float {
            type Shared = $shared;
            fn share(slice: &mut [$float]) -> &[$shared] {
                $share(slice)
            }
        }
    };
}

shared_float!(
    /// An `f64` that workers may read and write at the same time.
    SharedF64, f64, AtomicU64, share_f64
);
shared_float!(
    /// An `f32` that workers may read and write at the same time.
    SharedF32, f32, AtomicU32, share_f32
);

impl SharedF64 {
    /// A shared cell with this value.
    pub fn new(value: f64) -> Self {
        SharedF64(AtomicU64::new(value.to_bits()))
    }

    /// Adds to the value, atomically. The order of additions, and so the last
    /// bits of the sum, depends on the schedule: not for results that must be
    /// the same for every thread count.
    #[inline]
    pub fn add(&self, value: f64) {
        let mut old = self.0.load(Ordering::Relaxed);
        loop {
            let new = (f64::from_bits(old) + value).to_bits();
            match self.0.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }
}

macro_rules! share {
    ($(#[$doc:meta])* $name:ident, $plain:ty, $shared:ty) => {
        $(#[$doc])*
        pub fn $name(slice: &mut [$plain]) -> &[$shared] {
            const {
                assert!(size_of::<$plain>() == size_of::<$shared>());
                assert!(align_of::<$plain>() == align_of::<$shared>());
            }
            let len = slice.len();
            let data: *const $shared = slice.as_mut_ptr().cast();
            // SAFETY: the exclusive borrow lasts as long as the shared one, so no plain
            // access can happen beside the atomic ones; size and alignment are equal
            // (checked above) and every bit pattern is valid for both types.
            unsafe { std::slice::from_raw_parts(data, len) }
        }
    };
}

share!(
    /// Shares bytes between workers.
    share_u8, u8, AtomicU8
);
share!(
    /// Shares 16-bit values between workers.
    share_u16, u16, AtomicU16
);
share!(
    /// Shares 32-bit values between workers.
    share_u32, u32, AtomicU32
);
share!(
    /// Shares 64-bit values between workers.
    share_u64, u64, AtomicU64
);
share!(
    /// Shares doubles between workers.
    share_f64, f64, SharedF64
);
share!(
    /// Shares floats between workers.
    share_f32, f32, SharedF32
);

/// A vector of `len` times `T::default()` (all bits zero), in huge pages where the system
/// grants them: state that is read at random costs a page walk per access otherwise, which
/// under a hypervisor is more than the cache miss itself.
///
/// # Errors
/// [`Error::OutOfMemory`] naming `what`.
pub fn zeroed<T: Zero>(len: usize, what: &'static str) -> Result<Vec<T>> {
    let bytes = len.saturating_mul(size_of::<T>());
    let refuse = || Error::OutOfMemory { what, bytes: bytes as u64 };
    let layout = std::alloc::Layout::array::<T>(len).map_err(|_| refuse())?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a size above 0.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refuse());
    }
    // SAFETY: allocated by the global allocator with the layout of `len` values, which are
    // initialised: `Zero` promises that zero bits are a value.
    let mut zeros = unsafe { Vec::from_raw_parts(start.cast::<T>(), len, len) };
    nakshi_io::prefer_huge_pages(&mut zeros);
    Ok(zeros)
}

/// A plain number, of which zero bits are the value 0.
pub trait Zero: Copy + Send + Sync + 'static + private::Sealed {}

mod private {
    /// Keeps [`super::Zero`] to the types of this module.
    pub trait Sealed {}
}

macro_rules! zero {
    ($($number:ty),*) => {$(
        impl private::Sealed for $number {}
        impl Zero for $number {}
    )*};
}
zero!(u8, u16, u32, u64, i64, f32, f64);

/// Asks the processor to fetch `slice[index]`; without effect on what a program sees, within the slice
/// and beyond.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // Not compared with the length: that took a sixth of PageRank's time on a server.
        let at = slice.as_ptr().wrapping_add(index);
        // SAFETY: a prefetch does not access memory in the sense of the language, and the processor
        // passes over an address that is nobody's.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_writes_reach_the_plain_slice() {
        let mut ranks = vec![0.5f64; 100];
        let shared = share_f64(&mut ranks);
        std::thread::scope(|s| {
            s.spawn(|| shared[..50].iter().for_each(|x| x.add(1.0)));
            s.spawn(|| shared[50..].iter().for_each(|x| x.set(2.0)));
        });
        assert_eq!(ranks[0], 1.5);
        assert_eq!(ranks[99], 2.0);
        prefetch(&ranks, 1000);
    }

    #[test]
    fn zeroed_state_is_zero_and_too_much_is_an_error() {
        let mut state = zeroed::<u32>(5 << 20, "state").unwrap();
        assert!(state.iter().all(|&x| x == 0));
        state.push(1);
        assert!(zeroed::<u64>(0, "nothing").unwrap().is_empty());
        assert!(matches!(zeroed::<u64>(usize::MAX / 8, "all"), Err(Error::OutOfMemory { .. })));
    }
}
