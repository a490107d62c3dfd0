//! Pull-style programs, for one machine and for a cluster.
//!
//! * [`PullPageRank`], [`PullShortestPaths`], [`PullTriangles`]: those of section 2.2.4;
//! * [`PullLevels`], [`PullComponents`], [`PullCommunities`]: breadth-first search, weak components, label
//!   propagation;
//! * [`PullColoring`], [`PullMatching`]: a proper colouring, a maximal matching.

mod coloring;
mod communities;
mod components;
mod levels;
mod matching;
mod pagerank;
mod shortest_paths;
mod triangles;

pub use coloring::PullColoring;
pub(crate) use coloring::color_order;
pub use communities::PullCommunities;
pub use components::PullComponents;
pub use levels::{PullLevels, UNREACHED};
pub use matching::{PullMatching, UNMATCHED};
pub use pagerank::PullPageRank;
pub use shortest_paths::PullShortestPaths;
pub use triangles::PullTriangles;
