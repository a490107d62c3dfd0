//! Where the bytes of lists and weights lie.

use nakshi_io::{PagedFile, Resident};
use std::sync::Arc;

/// Bytes in memory or on the SSD.
#[derive(Debug)]
pub(crate) enum Data {
    /// All bytes in memory.
    Memory(Resident),
    /// Pages of a file on the SSD.
    Ssd(Arc<PagedFile>),
}
