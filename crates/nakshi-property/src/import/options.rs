//! Options of the import of a property graph.

use super::super::PropertyLayout;
use nakshi_store::Encoding;
use nakshi_store::import::{Duplicates, ImportLayout, MINIMUM_MEMORY};

/// Options of [`load`](super::load).
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Treatment of edges with the same source, type and target: `Drop` (default) keeps the last of
    /// them, `Keep` keeps all. `Sum` is not possible.
    pub duplicates: Duplicates,
    /// Order of the nodes on disk. Default [`ImportLayout::Auto`].
    pub layout: ImportLayout,
    /// Layout of the property files. Default [`PropertyLayout::Columns`].
    pub properties: PropertyLayout,
    /// Names of properties that become [searchable](crate::PropertySpec::searchable), of nodes, of
    /// edges or of both. At least one property of each name must be a string or bytes. A compaction
    /// keeps the searchable properties and adds these. Default: none.
    pub searchable: Vec<String>,
    /// Separator between the columns of text files. Default: detected.
    pub separator: Option<u8>,
    /// Number of shards of the store, by internal id modulo that number. Default 1.
    pub shards: u32,
    /// Most bytes of values that are encoded together; larger groups make fewer dictionaries.
    /// Default 32 MiB.
    pub group: usize,
    /// Memory in bytes. The least is 32 MiB more than three times `group`, or than eleven times
    /// `group` with [`PropertyLayout::Zipg`] or `searchable`. Does not change the result. Default 1
    /// GiB.
    pub memory: u64,
    /// Number of threads; 0 for all processors.
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
