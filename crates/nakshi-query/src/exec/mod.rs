//! The operators of plans. Each takes batches of rows from its input and hands on batches, which begin with
//! one row and grow.
//!
//! - `context` is what all operators of a query share: the graph, parameters, and `limits`
//! - `expand` has nodes, `walk` single edges one after the other, `many` paths of several edges, `shortest` the
//!   shortest ones, `adjacency` the edges that they visit again
//! - `rows` has what works row by row, `group` and `sort` what needs all rows first, and `runs` sorted rows that
//!   are on the disk
//! - `nested` runs plans for each row, `batches` those that commit meanwhile, and `build` makes operators of
//!   a plan
//! - `csv_rows` has the rows of files
//! - `change` changes the graph, and `write` has the clauses that do

mod adjacency;
mod batches;
mod build;
mod change;
mod context;
mod csv_rows;
mod expand;
mod group;
mod limits;
mod many;
mod nested;
mod rows;
mod runs;
mod shortest;
mod sort;
mod walk;
mod write;

pub(crate) use build::{open, open_profiled};
pub use change::Counters;
pub(crate) use change::Writer;
pub(crate) use context::{BATCH, Context, Profile, Source, Work};
pub(crate) use limits::{Held, Limits};
