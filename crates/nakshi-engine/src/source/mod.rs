//! Where edge lists come from: encoded lists in memory, or a store on the SSD.
//!
//! * [`list`]: one encoded edge list and its weights;
//! * [`memory`]: all encoded lists of one direction, resident.

pub(crate) mod list;
pub(crate) mod memory;

use memory::MemoryLists;
use std::ops::Range;

/// The lists of one direction.
#[derive(Debug)]
pub(crate) enum Lists {
    /// Encoded lists, resident.
    Memory(MemoryLists),
}

impl Lists {
    /// Byte range of the list of `v`.
    pub(crate) fn extent(&self, v: usize) -> Range<u64> {
        match self {
            Lists::Memory(m) => m.extent(v),
        }
    }
}
