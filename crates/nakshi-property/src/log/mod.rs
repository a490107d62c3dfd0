//! The write-ahead log of a property graph.
//!
//! - [`Change`] is what a commit logs
//! - `file` describes the log files byte by byte, `op` the bytes of changes
//! - [`LogReader`] reads all commits, and later those that were added since
//! - [`LogWriter`] makes groups of commits durable

mod file;
mod op;
mod reader;
mod writer;

pub(super) use file::Changes;
pub use op::Change;
pub(super) use op::EncodedChanges;
pub(super) use reader::LogReader;
pub use reader::has_changes;
pub(crate) use reader::logs;
pub(super) use writer::{CommitGroup, LogWriter};
