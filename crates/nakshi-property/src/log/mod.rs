//! The write-ahead log of a property graph.
//!
//! - [`Change`]: what is logged
//! - `file`: its files, byte by byte; `op`: the bytes of changes
//! - [`LogReader`]: all commits, and those that have come since
//! - [`LogWriter`]: groups of commits, durable together

mod file;
mod op;
mod reader;
mod writer;

pub(super) use file::Changes;
pub use op::Change;
pub(super) use op::Encoded;
pub(super) use reader::LogReader;
pub(crate) use reader::logs;
pub(super) use writer::{Group, LogWriter};
