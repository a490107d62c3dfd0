//! Memory that was freed and not given back.
#![allow(unsafe_code)]

/// Gives memory that this process has freed back to the system, so that one phase of a job does
/// not pay for the buffers of the phase before. Does nothing where the allocator has no such call.
pub fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it only touches what nobody has allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}
