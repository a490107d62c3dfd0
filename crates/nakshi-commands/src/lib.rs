//! Commands that need several layers at once. The Python package and the command line call them by name.
//!
//! - [`analysis`]: runs an algorithm by its name and returns results by the users' ids; estimates memory;
//! - [`cluster`]: runs an algorithm on several servers, and plans how many;
//! - [`topology`]: chooses the edge lists that a run is about, after the last commit or compaction;
//! - [`layout`]: writes a store in an order that has a name, and chooses the lists of a static cache;
//! - [`lookup`]: lists, degrees, edges, samples and paths of named vertices;
//! - [`table`], [`names`], [`files`]: per-vertex results by external id, as Arrow and as files;
//! - [`procedures`]: algorithms as procedures of queries in Cypher;
//! - [`rows`]: rows of queries in Cypher, as Arrow and as files;
//! - [`write_back`](write_back()): makes results properties of nodes;
//! - [`info`]: describes a store.

pub mod analysis;
pub mod cluster;
mod error;
pub mod files;
pub mod info;
pub mod layout;
pub mod lookup;
pub mod names;
pub mod procedures;
pub mod rows;
pub mod table;
pub mod topology;
mod write_back;

pub use error::{Error, Result};
pub use write_back::{changes, write_back};
