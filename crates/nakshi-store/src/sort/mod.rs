//! The external sort: spools, buckets, runs.
//!
//! - `spill`: nameless temporary files ([`Spill`]) and streams in them ([`StreamWriter`], [`StreamReader`])
//! - `pairs`: edges between provisional ids, as they were read
//! - `partition`: arcs between places, scattered into buckets by source
//! - `weights`: weights of edges before they are sorted
//! - `radix`, `bucket`: a bucket in order, in memory or through runs

pub(crate) mod bucket;
pub(crate) mod pairs;
pub(crate) mod partition;
pub(crate) mod radix;
pub(crate) mod spill;
pub(crate) mod weights;

pub use spill::{Spill, SpillExtent, StreamReader, StreamWriter};
