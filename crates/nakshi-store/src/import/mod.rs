//! Import: reads edges in any format and writes a store, under a memory cap.
//!
//! - [`import`] with [`ImportOptions`], [`Input`]s and [`Hooks`] gives a store and a [`Report`]
//! - [`read`]: one reader for each format; `edge_reader`: reading without an import, by several
//!   machines
//! - `collect`: reads in parallel, gives ids provisional numbers, spools edges
//! - `dictionary`: merges ids under the cap and gives them their positions in the layout
//! - [`Budget`]: memory and threads of the phases
//! - `room`: estimates the bytes of temporary files, and refuses an import that the disk cannot hold
//! - `choose`: chooses between hubs first and the order of the ids by the size of lists
//! - [`sort`](crate::sort): range partition by source, radix sort, runs for data that do not fit in
//!   memory
//! - `emit`, beside this module because [`rewrite`](crate::rewrite()) uses it too: duplicates,
//!   encoding, lists
//!
//! The store depends on the graph and the options alone: not on the order of the input, nor on
//! memory, nor on the number of threads.

/// Writes [`Debug`](std::fmt::Debug) of a type as one of its fields; its others have none, or are long.
macro_rules! debug_by {
    ($type:ident, $field:ident) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($type));
                shown.field(stringify!($field), &self.$field).finish_non_exhaustive()
            }
        }
    };
}

mod choose;
mod collect;
mod dictionary;
mod edge_reader;
mod input;
mod inputs;
mod options;
mod pipeline;
pub mod read;
mod room;

pub use crate::budget::{Budget, MINIMUM_MEMORY, least_memory};
pub use crate::emit::Duplicates;
pub use crate::hooks::{Hooks, Progress};
pub use edge_reader::{EdgePiece, EdgeReader, ParsedEdges};
pub use input::{Input, Ints, Numbers};
pub use options::{Format, ImportLayout, ImportOptions, Report, SelfLoops};
pub(crate) use pipeline::STRIPE;
#[doc(hidden)]
pub use pipeline::import_tightly;
pub use pipeline::{import, import_with};
pub use read::Share;
#[doc(hidden)]
pub use read::read_bytes;
