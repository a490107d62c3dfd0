//! Compressed text.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod bits;
mod buckets;
mod build;
mod builder;
mod chunks;
mod error;
mod layout;
mod marks;
mod options;
mod pointers;
mod succinct;
mod text;
mod view;

pub use builder::Builder;
pub use error::{Error, Result};
pub use options::{MAX_LEN, Options, Psi};
pub use succinct::{Succinct, write};
pub use text::Text;
pub use view::Positions;
