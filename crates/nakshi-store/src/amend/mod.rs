//! A new store from an old one, with vertices and edges added and removed.
//!
//! The vertices that stay keep their order, and new ones come behind them. Lists are therefore streamed
//! and not sorted: a list that has not changed is decoded, renumbered where vertices have gone, and
//! encoded again.
//!
//! - [`amend()`]: new lists for some vertices, of a graph without weights
//! - [`amend_weighted()`]: new lists for all vertices, with a column of weights
//! - `places`: the new numbers of the vertices; `job`: the work that both share; `ids`: the ids;
//!   `lists`: the changed lists

mod ids;
mod job;
mod lists;
mod places;
mod plain;
mod weights;

pub use job::AmendOptions;
pub use lists::NewLists;
pub use places::Amendment;
pub use plain::{amend, amend_memory};
pub use weights::{Arcs, amend_weighted};
