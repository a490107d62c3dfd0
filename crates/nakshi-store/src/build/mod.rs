//! Writing a store. The door of this layer:
//!
//! - [`StoreBuilder`]: takes lists in vertex order and ids in rank order, commits once;
//! - [`ListBatch`]: lists that any thread encodes, and that are appended in order;
//! - `sink`: a file with page checksums and a content hash;
//! - `files`: the directory under construction, and the numbers of its files;
//! - `ids`: the id dictionary.

mod batch;
mod builder;
mod files;
mod ids;
pub(crate) mod sink;

pub use batch::ListBatch;
pub use builder::{BuildOptions, ColumnSpec, StoreBuilder};
pub use files::Stripes;
pub use sink::Sink;
