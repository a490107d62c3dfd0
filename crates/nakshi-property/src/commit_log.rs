//! The seam between a store and a log that several servers share.

use std::fmt::Debug;

use nakshi_store::Result;

/// A log of several servers, which has every commit before the log of the store has it.
pub trait CommitLog: Debug + Send + Sync {
    /// Appends commits: their numbers, one after the other, and their encoded changes. When it returns,
    /// all of them are in the log for ever, and the stores of all servers will have them.
    ///
    /// # Errors
    /// [`Error::Deposed`](nakshi_store::Error::Deposed) if another server appends now: the commits may be in the
    /// log or not. No other error, as the writer could not tell how to go on.
    fn append(&self, commits: &[(u64, Vec<u8>)]) -> Result<()>;
}
