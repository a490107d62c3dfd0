//! Requests to the system about ordinary memory.
#![allow(unsafe_code)]

/// Gives memory that this process has freed back to the system, so that one phase of a job does not
/// pay for the buffers of an earlier one. Does nothing where the allocator has no such call.
pub fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call only touches memory that is not allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Makes the allocator merge small pieces of memory with free ones beside them when they are freed.
///
/// glibc otherwise collects freed pieces of up to 128 bytes, and merges all of them during one later
/// call. A large log is a tree of millions of such pieces: in a store of five million changed nodes,
/// one call to `free` took 1.9 s, for which neither Ctrl-C nor another thread could do anything. Does
/// nothing with another allocator.
pub fn merge_freed_memory_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call changes a setting of the allocator.
    unsafe {
        libc::mallopt(libc::M_MXFAST, 0);
    }
}

/// Makes the allocator give every buffer above 256 KiB back to the system as soon as it is freed.
///
/// glibc otherwise raises this limit to the size of the largest buffer that was ever freed (up to
/// 32 MiB), and keeps smaller ones, in pieces, for each thread. A job under a cap cannot count what
/// is kept so: an import under 64 MiB took 55 to 68 MiB by chance, and takes 50 with a fixed limit,
/// in the same time. Does nothing with another allocator.
pub fn return_freed_buffers_at_once() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call changes a setting of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
    }
}

/// Asks for huge pages inside a fresh allocation that has not been touched, so that random reads of
/// it cost fewer page walks. Without effect where the system has none.
pub fn prefer_huge_pages<T>(memory: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const HUGE: usize = 2 << 20;
        let bytes = size_of_val(memory);
        let start = memory.as_mut_ptr().cast::<u8>();
        let before = start.align_offset(HUGE);
        if let Some(inside) = bytes.checked_sub(before).map(|left| left / HUGE * HUGE)
            && inside > 0
        {
            // SAFETY: the range lies within the slice, which is borrowed exclusively; the advice
            // changes no contents.
            unsafe { libc::madvise(start.add(before).cast(), inside, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
