//! How a property graph is loaded.

use super::super::PropertyLayout;
use nakshi_store::Encoding;
use nakshi_store::import::{Duplicates, ImportLayout, MINIMUM_MEMORY};

/// Options of [`load`](super::load).
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// What becomes of an edge whose source, type and target another edge has: `Drop` (default)
    /// keeps the last of them, `Keep` all. `Sum` is not possible.
    pub duplicates: Duplicates,
    /// Order of the nodes on disk. Default [`ImportLayout::Auto`].
    pub layout: ImportLayout,
    /// Layout of the property files. Default [`PropertyLayout::Columns`].
    pub properties: PropertyLayout,
    /// Names of properties of nodes, of edges or of both that are [searchable](crate::PropertySpec::searchable):
    /// those that are strings or bytes, of which there is one at least. A compaction keeps what is
    /// searchable, and makes these so too. Default none.
    pub searchable: Vec<String>,
    /// Between columns of text files. Default: found out.
    pub separator: Option<u8>,
    /// Shards of the store, by internal id modulo their number. Default 1.
    pub shards: u32,
    /// Bytes of values that are encoded together, at most; the more, the fewer dictionaries. Default
    /// 32 MiB.
    pub group: usize,
    /// Memory in bytes, at least 32 MiB more than three times `group`, eleven times with
    /// [`PropertyLayout::Zipg`] and with `searchable`; does not change what is built.
    /// Default 1 GiB.
    pub memory: u64,
    /// Threads; 0 takes what the machine has.
    pub threads: usize,
    /// Page size in bytes. Default 4096.
    pub page_size: u32,
    /// Encoding of edge lists.
    pub encoding: Encoding,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            duplicates: Duplicates::Drop,
            layout: ImportLayout::Auto,
            properties: PropertyLayout::Columns,
            searchable: Vec::new(),
            separator: None,
            shards: 1,
            group: 32 << 20,
            memory: 1 << 30,
            threads: 0,
            page_size: 4096,
            encoding: Encoding::Packed,
        }
    }
}

impl LoadOptions {
    /// The smallest [`LoadOptions::memory`] that works, in bytes.
    pub fn least_memory(&self) -> u64 {
        MINIMUM_MEMORY
            .max(self.properties.memory_of(self.group as u64, !self.searchable.is_empty()))
            + (32 << 20)
    }
}
