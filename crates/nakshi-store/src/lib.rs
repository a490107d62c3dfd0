//! The on-disk graph store of Nakshi: format, import, ids, topology.
//!
//! - [`Store`], [`Adjacency`], [`List`]: open a store, find an edge list, decode it;
//! - [`Heads`], [`Column`]: the first two neighbours of every vertex; attributes of edges;
//! - [`IdMap`], [`ExternalId`]: the user's ids, and the way to internal ids and back;
//! - [`StoreBuilder`], [`ListBatch`]: write a store, in order, committed whole;
//! - [`check`](check()): read all of a store and report all damage; [`backup`](backup()): copy it while
//!   it is in use;
//! - [`property`]: properties of nodes and edges, asked for and changed;
//! - [`ListIndex`]: where each list lies, about a byte a vertex (Elias-Fano);
//! - [`Encoding`], [`codec`]: raw or packed lists;
//! - [`Manifest`]: which files make up a store;
//! - [`import`], [`layout`]: edges of any format in, vertices in a good order;
//! - [`generate`], [`export`]: synthetic power-law graphs; stores as files for others;
//! - [`Permutation`]: what a layout computes, and [`rewrite()`] applies.

#![deny(missing_docs)]

mod adjacency;
mod backup;
mod build;
mod check;
pub mod codec;
mod column;
mod error;
pub mod export;
mod files;
pub mod fuzzing;
pub mod generate;
mod heads;
mod ids;
pub mod import;
mod index;
pub mod layout;
mod list;
mod manifest;
mod permutation;
mod plan;
pub mod property;
mod rewrite;
mod store;
mod stream;
mod varint;

pub use adjacency::{Adjacency, Direction, VertexId};
pub use backup::{BackupReport, backup};
pub use build::{BuildOptions, ColumnSpec, ListBatch, StoreBuilder, Stripes};
pub use check::{CheckReport, check};
pub use codec::{Encoding, Term};
pub use column::{Column, ColumnSlice, ColumnType, Number, Values};
pub use error::{Error, Result};
pub use heads::Heads;
pub use ids::keys::Key;
pub use ids::{ExternalId, IdKind, IdMap, compare_decimal, is_canonical_integer};
pub use index::{Extents, ListIndex, ListIndexBuilder};
pub use list::List;
pub use manifest::{
    AdjacencyEntry, ColumnEntry, FORMAT_VERSION, FileEntry, IdsEntry, Manifest, StripeEntry,
};
pub use permutation::Permutation;
pub use plan::{CachePlan, PlanInfo, PlanSide};
pub use rewrite::{
    BYTES_PER_VERTEX, RewriteOptions, afford_rewrite, check_destination, rewrite, rewrite_with,
};
pub use store::{OpenOptions, Store};
