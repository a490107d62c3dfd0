//! Programs in which a value is a function of the in-neighbours' values.
//!
//! The model of LFGraph (I. Hoque, I. Gupta, *LFGraph: Simple and Fast Distributed Graph Analytics*,
//! TRIOS 2013; sections are those of chapter 2 of I. Hoque's thesis, 2013): less can be said than with
//! a [`super::VertexProgram`], but nothing is sent by the program, every list is read in order, and the
//! same program runs in memory, on the SSD ([`run_pull`]) and on a cluster.
//!
//! * [`PullProgram`], [`PullVertex`]: the trait, and what a vertex can do (Table 2.2);
//! * [`PullValue`]: values, and their bytes on the wire;
//! * [`Totals`]: a global reduction, which Table 2.2 lacks;
//! * [`programs`]: PageRank, shortest paths, components and others.

mod engine;
mod exact;
mod model;
pub mod programs;
mod totals;
mod value;

pub use engine::{Origins, Pulled, pull_needs, run_pull};
pub use model::{Links, Origin, PullProgram, PullVertex, mixed};
pub use totals::{Seen, Totals};
pub use value::PullValue;
