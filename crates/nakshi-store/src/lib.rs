//! The on-disk graph store of Nakshi: format, import, ids, topology.
//!
//! - [`Store`], [`Adjacency`], [`List`]: open a store, find an edge list, decode it;
//! - [`Heads`], [`AttributeColumn`]: the first two neighbours of every vertex; attributes of edges;
//! - [`IdMap`], [`ExternalId`]: the user's ids, and their conversion to and from internal ids;
//! - [`StoreBuilder`], [`ListBatch`]: write a store in order, and commit it as a whole;
//! - [`check`](check()): reads all of a store and reports all damage; [`backup`](backup()): copies
//!   a store that is in use;
//! - [`DecodedLists`]: all lists of a direction in memory, decoded;
//! - [`ListIndex`]: the offset of each list, in about a byte a vertex (Elias-Fano);
//! - [`Encoding`], [`codec`]: raw or packed lists;
//! - [`Manifest`]: the files that make up a store;
//! - [`import`], [`layout`]: edges of any format in, vertices in a good order;
//! - [`generate`], [`export`]: synthetic power-law graphs; stores as files for other programs;
//! - [`EdgePart`], [`EdgePartWriter`]: a part of a graph for another process of this machine;
//! - [`Permutation`]: the result of a layout, which [`rewrite()`] applies.
//!
//! For the crates above that keep files of their own in a store, as `nakshi-property` does:
//!
//! - [`Section`], [`Manifest::section`], [`StoreBuilder::add_section`]: their part of the manifest;
//!   [`SectionCheck`], [`OpenLog`]: their part of a check and of a backup;
//! - [`Sink`], [`files`], [`varint`], [`codec::pack_bits`]: files with page checksums, names and
//!   identities, numbers of any length and of one width;
//! - [`sort`], [`import::read`], [`cast`], [`import::Budget`]: temporary files, opened inputs, their
//!   columns in few types, shares of memory;
//! - [`amend()`], [`amend_weighted()`]: a store once more, with vertices and edges that have come and gone;
//! - [`ListStream`], [`ResidentIds`], [`without_rows`]: all lists in order, ids in memory, the
//!   topology of a store whose weights are numbers of rows.

#![deny(missing_docs)]

mod adjacency;
mod amend;
mod backup;
mod budget;
mod build;
mod cache_plan;
pub mod cast;
mod check;
pub mod codec;
mod column;
mod decimal;
mod decoded;
mod edge_part;
mod emit;
mod error;
pub mod export;
pub mod files;
pub mod fuzzing;
pub mod generate;
mod heads;
mod hooks;
mod ids;
pub mod import;
pub mod layout;
mod list;
mod list_index;
mod manifest;
mod permutation;
mod random;
mod rewrite;
mod section;
pub mod sort;
mod store;
mod stream;
pub mod varint;
mod vertex;

pub use adjacency::Adjacency;
pub use amend::{AmendOptions, Amendment, Arcs, NewLists, amend, amend_memory, amend_weighted};
pub use backup::{BackupReport, BegunBackup, OpenLog, backup};
pub use build::{BuildOptions, ColumnSpec, ListBatch, Sink, StoreBuilder, Stripes};
pub use cache_plan::{CachePlan, PlanInfo, PlanSide};
pub use check::{CheckReport, SectionCheck, check};
pub use codec::{BLOCK, Encoding, Term};
pub use column::{AttributeColumn, ColumnSlice, ColumnType, Number, NumberSlice};
pub use decoded::DecodedLists;
pub use edge_part::{EdgePart, EdgePartBlock, EdgePartBlocks, EdgePartWriter};
pub use error::{Error, Result};
pub use heads::Heads;
pub use ids::keys::Key;
pub use ids::{ExternalId, IdKind, IdMap, ResidentIds, compare_decimal, is_canonical_integer};
pub use list::List;
pub use list_index::{Extents, ListIndex, ListIndexBuilder};
pub use manifest::{AdjacencyEntry, ColumnEntry, FORMAT_VERSION, IdsEntry, Manifest, StripeEntry};
pub use permutation::Permutation;
pub use random::mix;
pub use rewrite::{
    BYTES_PER_VERTEX, RewriteOptions, afford_rewrite, check_destination, least_rewrite, rewrite,
    rewrite_with, without_rows,
};
pub use section::{FileEntry, Section};
pub use store::{OpenOptions, Store};
pub use stream::{ChunkReader, ListStream, ListView};
pub use vertex::{Direction, VertexId};
