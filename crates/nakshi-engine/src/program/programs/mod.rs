//! Algorithms of FlashGraph section 4 in program form.
//!
//! The built-in algorithms of [`crate::algo`] use lower primitives where those are faster;
//! these show what the programming model can say, and the tests hold it to its promises.
//!
//! * [`Bfs`]: levels, by activation alone;
//! * [`PageRank`]: the delta variant, with the same bits for any number of threads;
//! * [`Components`]: label propagation with combined messages;
//! * [`Triangles`]: lists of neighbours, and hubs split into parts;
//! * [`ScanStatistics`]: largest degree first, with early stop.

mod bfs;
mod components;
mod pagerank;
mod scan_statistics;
mod triangles;

pub use bfs::{Bfs, UNREACHED};
pub use components::{Components, Label};
pub use pagerank::{PageRank, Rank};
pub use scan_statistics::{Locality, ScanStatistics};
pub use triangles::{Corner, Triangles};
