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

/// Mixes the bits of a number (D. Stafford's thirteenth variant of MurmurHash3's finaliser).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
