//! Where the bytes of lists and weights lie.

use nakshi_io::{PagedFile, Resident};
use std::sync::Arc;

/// Where bytes are.
#[derive(Debug)]
pub(crate) enum Data {
    /// All of them in memory.
    Memory(Resident),
    /// On the SSD.
    Ssd(Arc<PagedFile>),
}
