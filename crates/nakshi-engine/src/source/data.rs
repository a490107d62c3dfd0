//! Where the bytes of lists and weights lie.

use nakshi_io::{PagedFile, Resident};
use nakshi_store::DecodedLists;
use std::sync::Arc;

/// Bytes in memory or on the SSD.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// All bytes in memory.
    Memory(Arc<Resident>),
    /// Lists in memory, decoded.
    Decoded(Arc<DecodedLists>),
    /// Pages of a file on the SSD.
    Ssd(Arc<PagedFile>),
}

impl Data {
    /// True if nothing has to be read.
    pub(crate) fn in_memory(&self) -> bool {
        !matches!(self, Data::Ssd(_))
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> u64 {
        match self {
            Data::Memory(bytes) => bytes.len() as u64,
            Data::Decoded(lists) => 4 * (lists.starts().len() + lists.ids().len()) as u64,
            Data::Ssd(_) => 0,
        }
    }
}
