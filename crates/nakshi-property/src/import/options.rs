//! Options of the import of a property graph.

use super::super::PropertyLayout;
use nakshi_store::Encoding;
use nakshi_store::import::{ImportLayout, MINIMUM_MEMORY};

/// What becomes of ends of edges that no table of nodes has, where there are tables of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingNodes {
    /// They are an error.
    #[default]
    Error,
    /// They become nodes without properties.
    Create,
    /// Their edges are left out.
    Skip,
}

/// What becomes of rows of edges with the same source, type and destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParallelEdges {
    /// Rows that are equal in time and properties too are one edge; all others are edges.
    #[default]
    Distinct,
    /// Every row is an edge.
    Keep,
    /// The last row is the edge.
    Replace,
    /// They are an error.
    Error,
}

/// Which ids are in a space of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdSpaces {
    /// Those whose column names a space, and those of a table of nodes whose label is the name of
    /// a space that a table of edges names.
    #[default]
    Headers,
    /// Those of every table of nodes that has a label, too.
    Labels,
}

/// Options of [`load`](super::load).
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Default [`ParallelEdges::Distinct`].
    pub parallel_edges: ParallelEdges,
    /// Default [`MissingNodes::Error`].
    pub missing_nodes: MissingNodes,
    /// Default [`IdSpaces::Headers`].
    pub id_spaces: IdSpaces,
    /// Whether text files begin with a line of column names. Default `true`.
    pub header: bool,
    /// Whether tables of edges without a row make a graph; an error otherwise. Default `false`.
    pub allow_empty: bool,
    /// Sentences on the input that the report has before its own notes. Default: none.
    pub notes: Vec<String>,
    /// Existing directory for temporary files; by default they are beside the store.
    pub scratch: Option<std::path::PathBuf>,
    /// Order of the nodes on disk. Default [`ImportLayout::Auto`].
    pub layout: ImportLayout,
    /// ImportLayout of the property files. Default [`PropertyLayout::Columns`].
    pub properties: PropertyLayout,
    /// Names of properties that become [searchable](crate::PropertySpec::searchable), of nodes, of
    /// edges or of both. At least one property of each name must be a string or bytes. A compaction
    /// keeps the searchable properties and adds these. Default: none.
    pub searchable: Vec<String>,
    /// Separator between the columns of text files. Default: detected.
    pub separator: Option<u8>,
    /// Number of shards of the store, 1 to 1,024, to which nodes are dealt by a hash of their ids.
    /// Default: one for each processor, but at most 64; a compaction and a new order keep the number
    /// that the store has.
    pub shards: Option<u32>,
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
            parallel_edges: ParallelEdges::Distinct,
            missing_nodes: MissingNodes::Error,
            id_spaces: IdSpaces::Headers,
            header: true,
            allow_empty: false,
            notes: Vec::new(),
            scratch: None,
            layout: ImportLayout::Auto,
            properties: PropertyLayout::Columns,
            searchable: Vec::new(),
            separator: None,
            shards: None,
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
