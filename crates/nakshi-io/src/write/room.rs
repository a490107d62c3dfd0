//! Free space of file systems.
#![allow(unsafe_code)]

use crate::Result;
use crate::error::At;
use std::path::Path;

/// Returns the bytes that this process may still write to the file system of `path`.
///
/// # Errors
/// The errors of asking the system.
pub fn free_space(path: &Path) -> Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::CString::new(path.as_os_str().as_bytes());
    let name = name.map_err(|_| std::io::ErrorKind::InvalidFilename.into()).at("open", path)?;
    // SAFETY: an all-zero structure of plain numbers is valid.
    let mut room: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a C string and a structure that outlive the call.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut room) } != 0 {
        return Err(std::io::Error::last_os_error()).at("open", path);
    }
    #[allow(clippy::useless_conversion, reason = "the types differ between systems")]
    let (blocks, size) = (u64::from(room.f_bavail), u64::from(room.f_frsize));
    Ok(blocks.saturating_mul(size))
}
