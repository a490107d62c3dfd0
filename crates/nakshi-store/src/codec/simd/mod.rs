//! Decoding of packed lists: with AVX2 where the processor has it, else by scalar twins, which define the
//! result. The choice is made once per process. The door of this room:
//!
//! - `groups`: eight gaps in the lanes of a register;
//! - `blocks`: ids for a visitor, in blocks;
//! - `sums`: sums of values over the ids, which stay in registers.

#![allow(unsafe_code)]

mod blocks;
mod groups;
mod sums;

pub(super) use blocks::blocks;
pub use sums::Term;
pub(super) use sums::{sum, sum_each, sum_lists, sum_of_ids};
