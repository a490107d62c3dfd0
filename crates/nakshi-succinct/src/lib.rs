//! Compressed text.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod bits;
mod buckets;
mod build;
mod error;
mod layout;
mod marks;
mod options;
mod pointers;
mod succinct;
mod view;

pub use error::{Error, Result};
pub use options::{MAX_LEN, Options, Psi};
pub use succinct::{Succinct, write};
pub use view::Positions;
