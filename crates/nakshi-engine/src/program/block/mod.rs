//! Programs on blocks: some vertices, with their lists decoded into plain arrays.
//!
//! The other models call the program for every vertex or every edge. Here it is called for a block, and its
//! own loop runs over arrays that are in the cache: a compiler can make of it what it makes of a kernel, in
//! Rust or in another language. There are two kinds:
//!
//! * [`BlockProgram`], run by [`run_blocks`]: the next value of every vertex, from the values of all vertices
//!   after the step before and the in-list of its own, as of a pull program;
//! * [`FrontierProgram`], run by [`run_frontier`]: vertices whose values have changed send messages, which are
//!   combined. It has a face for each vertex, [`PerVertex`] makes blocks of it, and [`FrontierBlocks`] is
//!   the face on blocks.
//!
//! [`Block`] has vertices and lists, [`State`] the values of vertices, in one array or several.
//! [`ForeignPull`] and [`ForeignFrontier`] are programs that another language has compiled, [`ProgramSpec`]
//! describes one, and [`programs`] are ours.

mod arrays;
mod foreign;
mod frontier;
mod frontier_model;
mod inbox;
mod lists;
pub mod programs;
mod run;
mod spec;
mod state;

pub use arrays::{Array, ArrayPart, Arrays, Kind};
pub use foreign::{
    ARGUMENTS, BlockFunction, FailedBlock, ForeignFrontier, ForeignPull, Functions, Inputs,
    MessageKind, Sending,
};
pub use frontier::{FrontierRun, frontier_needs, run_frontier};
pub use frontier_model::{
    Combine, FrontierBlocks, FrontierProgram, FrontierShape, FrontierStep, Message, PerVertex,
    Received,
};
pub use lists::{Block, Lists};
pub use run::{BlockProgram, BlockStep, BlocksRun, block_needs, run_blocks};
pub use spec::{ForeignProgram, ProgramSpec, SendingSpec};
pub use state::{Change, Number, State, values};
