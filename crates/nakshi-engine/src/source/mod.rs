//! Where edge lists come from: encoded lists in memory, or a store on the SSD.
//!
//! * [`list`]: one encoded edge list and its weights;
//! * [`memory`]: all encoded lists of one direction, resident.

pub(crate) mod list;
pub(crate) mod memory;

use memory::MemoryLists;

/// The lists of one direction.
#[derive(Debug)]
pub(crate) enum Lists {
    /// Encoded lists, resident.
    Memory(MemoryLists),
}
