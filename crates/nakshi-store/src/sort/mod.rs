//! The external sort: spill files, buckets and runs.
//!
//! - `spill`: nameless temporary files ([`Spill`]) and streams in them ([`StreamWriter`], [`StreamReader`])
//! - `pairs`: edges between provisional ids, in the order of the input
//! - `partition`: arcs between positions, scattered into buckets by source
//! - `weights`: weights of edges before they are sorted
//! - `packed`: compressed blocks of sorted records
//! - `radix`, `bucket`: the sort of a bucket, in memory or by runs

pub(crate) mod bucket;
pub(crate) mod packed;
pub(crate) mod pairs;
pub(crate) mod partition;
pub(crate) mod radix;
pub(crate) mod spill;
pub(crate) mod weights;

pub use spill::{ScratchMeter, Spill, SpillExtent, StreamReader, StreamWriter};
