//! Semi-external graph engine and algorithms of Nakshi.
//!
//! Vertex state lives in memory, edge lists stay on the SSD (or, in memory
//! mode, compressed in memory: the same kernels run on both).
//!
//! * [`Graph`]: a store prepared for runs, with the primitives *scan* (all
//!   lists in order) and *gather* (selected lists);
//! * [`Context`]: what every long call takes: cancellation, deadline, memory
//!   budget, threads, progress;
//! * [`lookup`]: lists, degrees and edges of named vertices, samples, paths between two;
//! * [`algo`]: the built-in algorithms, one file each, and their registry;
//! * [`program`]: FlashGraph's vertex programs, which users write;
//! * [`Outcome`]: what an algorithm hands to the faces.

pub mod algo;
mod both;
pub mod cache_plan;
mod context;
mod costs;
mod error;
mod estimate;
mod gather;
mod graph;
pub mod lookup;
mod outcome;
pub mod parallel;
mod popcount;
pub mod program;
mod scan;
mod searches;
pub mod shared;
mod source;
mod stats;
mod thin;
mod vertex_set;
#[cfg(test)]
mod work;

pub use both::both_lists;
pub use context::{Context, EngineMode, NoProgress, Progress};
pub use error::{Error, Result};
pub use estimate::{Estimate, Needs, Summary};
pub use gather::ListReader;
pub use graph::{Graph, Heads, ListAccess};
pub use nakshi_io::CancelToken;
pub use nakshi_store::{Direction, List, VertexId};
pub use outcome::{Column, Outcome, Values};
pub use searches::Searches;
pub use source::weights::Weights;
pub use stats::{Iteration, IterationLog, RunStats};
pub use vertex_set::{AtomicBitmap, Bitmap, Bits, VertexSet};
