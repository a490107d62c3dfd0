//! Pull-style programs, for one machine and for a cluster.
//!
//! * [`PageRank`], [`ShortestPaths`], [`Triangles`]: those of section 2.2.4;
//! * [`Levels`], [`Components`], [`Communities`]: breadth-first search, weak components, label
//!   propagation;
//! * [`Coloring`], [`Matching`]: a proper colouring, a maximal matching.

mod coloring;
mod communities;
mod components;
mod levels;
mod matching;
mod pagerank;
mod shortest_paths;
mod triangles;

pub use coloring::Coloring;
pub use communities::Communities;
pub use components::Components;
pub use levels::{Levels, UNREACHED};
pub use matching::{Matching, UNMATCHED};
pub use pagerank::PageRank;
pub use shortest_paths::ShortestPaths;
pub use triangles::Triangles;
