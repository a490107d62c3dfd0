//! The property section of the manifest, and the directory of a segment's files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bucket_set::BucketSet;
use super::moved_buckets::MovedBuckets;
use super::rule::Rule;
use super::segment::{EdgeDirectory, GroupDirectory, NodeDirectory};
use super::spec::PropertySpec;
use nakshi_store::{Error, FileEntry, Manifest, Result};

/// Layout of the property files of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PropertyLayout {
    /// A column for each property, by the codec that takes fewest bytes.
    #[default]
    Columns,
    /// ZipG's NodeFile and EdgeFile: flat text, compressed by Succinct.
    Zipg,
    /// All properties of a node or an edge side by side, uncompressed, for data far larger than
    /// memory: a node is one read, and nodes that the vertex order puts close together share pages.
    Blocks,
}

impl PropertyLayout {
    /// Bytes of memory that encoding `group` bytes of values takes; `searchable` if a column among
    /// them is.
    pub(super) fn memory_of(self, group: u64, searchable: bool) -> u64 {
        match (self, searchable) {
            (PropertyLayout::Columns, false) => 3 * group,
            // The text while its suffixes are sorted, and the values that it was made of.
            (PropertyLayout::Columns, true) | (PropertyLayout::Zipg, _) => 11 * group,
            // The offsets of the blocks.
            (PropertyLayout::Blocks, _) => 16 << 20,
        }
    }

    fn is_columns(&self) -> bool {
        *self == PropertyLayout::Columns
    }
}

/// How the nodes of a store are dealt to its shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dealt {
    /// Node `v` is row `v / shards` of shard `v % shards`, `v` being its internal id: stores with one
    /// shard, and those of older versions.
    #[default]
    Modulo,
    /// By a hash of the id that the user knows; the file [`SegmentEntry::shards`] has the shard of
    /// each node.
    Hash,
}

impl Dealt {
    fn is_modulo(&self) -> bool {
        *self == Dealt::Modulo
    }
}

/// The format of stores with columns for values of any type.
pub(super) const ANY_FORMAT: u32 = 6;
/// The format of stores with constraints, which an older version would not keep.
pub(super) const RULES_FORMAT: u32 = 7;
/// The format of stores with buckets that were moved to other shares.
pub(super) const MOVED_FORMAT: u32 = 8;

/// The property section of the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyEntry {
    /// The format of stores that the files need: 8 where buckets were moved to other shares, else 7 where there are constraints or indexes, else 6 where there are columns for values of any type, else 5
    /// where there are the nodes of some buckets only, else 4 where there are fragments, else 3 where nodes
    /// are dealt to shards by a hash or edges have numbers, else 2 where a property is a
    /// [`Temporal`](crate::Temporal), which older versions do not know; absent otherwise.
    #[serde(default, skip_serializing_if = "is_old")]
    pub format: u32,
    /// Layout of the files; absent for columns.
    #[serde(default, skip_serializing_if = "PropertyLayout::is_columns")]
    pub layout: PropertyLayout,
    /// Number of shards.
    pub shards: u32,
    /// How nodes are dealt to shards; absent for [`Dealt::Modulo`].
    #[serde(default, skip_serializing_if = "Dealt::is_modulo")]
    pub dealt: Dealt,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of edges.
    pub edges: u64,
    /// Properties of nodes, by number.
    pub node_properties: Vec<PropertySpec>,
    /// Properties of edges, by number.
    pub edge_properties: Vec<PropertySpec>,
    /// Types of edges, by number.
    pub edge_types: Vec<String>,
    /// For each type of edges that has an inverse, the type of the edges that lead back; both ways.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inverses: BTreeMap<String, String>,
    /// Constraints and indexes; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The buckets of which it has the nodes; absent for a whole graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<BucketSet>,
    /// Buckets that were moved to other shares; absent without any.
    #[serde(default, skip_serializing_if = "MovedBuckets::is_empty")]
    pub moved: MovedBuckets,
    /// Larger than the number of every edge; absent if no edge has one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub next_edge: u64,
    /// Number of the last commit that the files contain.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub commit: u64,
    /// The files.
    pub segments: SegmentEntry,
    /// Changes since these files were written that are in fragments; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragments: Option<FragmentsEntry>,
}

/// The fragments of a store, and the log behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentsEntry {
    /// Number of the last commit that they contain.
    pub commit: u64,
    /// Nodes and edges that they have added, less those that they have deleted.
    pub more_nodes: i64,
    /// Edges.
    pub more_edges: i64,
    /// The number that the next fragment gets.
    pub next: u64,
    /// Where the log behind them begins.
    pub log: LogStart,
    /// The fragments, oldest first.
    pub list: Vec<FragmentEntry>,
}

/// Where the log of a store begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogStart {
    /// The generation in the names of its files.
    pub generation: u64,
    /// Number of the first file that opening reads.
    pub first: u64,
    /// Number of the first file that is kept for those who read the log.
    pub kept: u64,
}

/// A fragment: the changes of some commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentEntry {
    /// Its number, from 1; no other fragment since the last compaction had it.
    pub id: u64,
    /// How many times its changes were merged.
    pub level: u32,
    /// Number of changed nodes.
    pub changed: u64,
    /// Number of new ids.
    pub named: u64,
    /// Number of edges.
    pub added: u64,
    /// Rows of the changed nodes.
    pub nodes: FileEntry,
    /// New ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<FileEntry>,
    /// Edges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<FileEntry>,
    /// Their destinations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<FileEntry>,
    /// Directory, update pointers and deletions.
    pub index: FileEntry,
    /// Rows of its edges that were deleted while it was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<FileEntry>,
}

impl FragmentEntry {
    /// Its files.
    fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let some = self.names.iter().chain(&self.edges).chain(&self.ends).chain(&self.late);
        [&self.nodes, &self.index].into_iter().chain(some)
    }

    /// Total bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.len).sum()
    }
}

/// The files of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentEntry {
    /// Node file of each shard.
    pub nodes: Vec<FileEntry>,
    /// Edge file of each shard.
    pub edges: Vec<FileEntry>,
    /// Directory of these files.
    pub directory: Option<FileEntry>,
    /// Shard of each node, where nodes are dealt by [`Dealt::Hash`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<FileEntry>,
}

fn is_old(format: &u32) -> bool {
    *format < 2
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The generation in which the files of a store were written: at the import, or at the last compaction.
/// Fragments change the generation of the manifest, and neither the files nor the numbers of vertices.
///
/// # Errors
/// [`nakshi_store::Error::Corrupt`] for a section that does not parse.
pub fn files_generation(manifest: &Manifest) -> Result<u64> {
    let entry = PropertyEntry::of(manifest)?.unwrap_or_default();
    Ok(entry.log(manifest.generation).generation)
}

impl PropertyEntry {
    /// Name of the section of the manifest.
    pub const SECTION: &str = "property";

    /// Reads the property section of a manifest; `None` for a store without properties.
    ///
    /// # Errors
    /// [`nakshi_store::Error::Corrupt`] for a section that does not parse.
    pub fn of(manifest: &Manifest) -> Result<Option<Self>> {
        manifest.section(Self::SECTION)
    }

    /// Refuses a store that has only some buckets of a graph: alone it is no graph.
    ///
    /// # Errors
    /// [`Error::Invalid`], which says what to do.
    pub fn refuse_share(&self, path: &Path) -> Result<()> {
        if self.buckets.is_none() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "{} has a server's share of a graph, which its servers change and answer from; connect to them \
             (nakshi.connect), or open a copy of a whole store",
            path.display()
        )))
    }

    /// Where the log begins, given the generation of the manifest.
    pub(crate) fn log(&self, generation: u64) -> LogStart {
        let begin = LogStart { generation, first: 0, kept: 0 };
        self.fragments.as_ref().map_or(begin, |fragments| fragments.log)
    }

    /// Number of the last commit in the files and the fragments.
    pub fn stored_commit(&self) -> u64 {
        self.fragments.as_ref().map_or(self.commit, |fragments| fragments.commit)
    }

    /// The fragments, oldest first.
    pub fn fragment_list(&self) -> &[FragmentEntry] {
        self.fragments.as_ref().map_or(&[], |fragments| &fragments.list)
    }

    /// All files that the section names, without those of fragments.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let SegmentEntry { nodes, edges, directory, shards } = &self.segments;
        nodes.iter().chain(edges).chain(directory).chain(shards)
    }

    /// Total bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files().map(|file| file.len).sum()
    }
}

/// Directory of the files of a segment, stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentDirectory {
    pub(crate) shards: Vec<ShardDirectory>,
}

/// Directory of the two files of a shard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShardDirectory {
    pub(super) nodes: NodeDirectory,
    pub(super) edges: EdgeDirectory,
}

impl SegmentDirectory {
    /// Bytes of memory that open columns take beside their files.
    pub(super) fn in_memory(&self) -> u64 {
        let groups = self
            .shards
            .iter()
            .flat_map(|shard| shard.nodes.groups.iter().chain(&shard.edges.groups));
        groups.map(GroupDirectory::in_memory).sum()
    }
}
