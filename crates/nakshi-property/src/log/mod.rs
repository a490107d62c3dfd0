//! The write-ahead log of a property graph.
//!
//! - [`Change`] is what a commit logs
//! - `file` describes the log files byte by byte, `op` and `decoder` the bytes of changes
//! - [`LogEntries`] hands out the commits of a store one by one, and `json` writes them as JSON
//! - [`LogReader`] reads all commits, and later those that were added since
//! - [`Journal`] keeps records of any kind in such files
//! - [`LogWriter`] makes groups of commits durable

mod decoder;
mod entries;
mod file;
mod journal;
mod json;
mod op;
mod reader;
mod writer;

pub(super) use decoder::decode_commit;
pub use entries::{LogEntries, LogEntry};
pub(super) use file::{Changes, name as log_name, place as log_place};
pub use journal::Journal;
pub(super) use op::EncodedChanges;
pub use op::{Change, EdgeId, TransactionMark};
pub(super) use reader::LogReader;
pub use reader::has_changes;
pub(crate) use reader::logs;
pub(super) use writer::{CommitGroup, LogWriter};
