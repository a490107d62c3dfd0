//! The on-disk graph store of Nakshi: format, import, ids, topology.
//!
//! - [`Store`], [`Adjacency`], [`List`]: open a store, find an edge list, decode it;
//! - [`ListIndex`]: where each list lies, about a byte a vertex (Elias-Fano);
//! - [`Encoding`]: raw or packed lists;
//! - [`Manifest`]: which files make up a store;
//! - [`Permutation`]: what a layout computes.

#![deny(missing_docs)]

mod adjacency;
pub mod codec;
mod error;
mod index;
mod list;
mod manifest;
mod permutation;
mod varint;

pub use adjacency::{Adjacency, Direction, VertexId};
pub use codec::Encoding;
pub use error::{Error, Result};
pub use index::{Extents, ListIndex, ListIndexBuilder};
pub use list::List;
pub use manifest::{
    AdjacencyEntry, ColumnEntry, ColumnType, FORMAT_VERSION, FileEntry, IdKind, IdsEntry, Manifest,
    StripeEntry,
};
pub use permutation::Permutation;
