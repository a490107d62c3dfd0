//! The commits of a store's log, one by one.

use std::path::Path;

use nakshi_io::CancelToken;
use serde::{Deserialize, Serialize};

use super::super::PropertyEntry;
use super::file::Changes;
use super::op::{Change, TransactionMark};
use super::reader::LogReader;
use nakshi_store::files::with_newest;
use nakshi_store::{Error, Result};

/// A commit as the log has it: it names nodes and edges by the user's ids, so it means the same in every
/// store that has the commits before it.
///
/// What a commit writes, as transactions see it, follows from its changes and the state before it, so the
/// entry does not repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// Number of the commit, counted from the import on; `None` for changes that are no commit yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<u64>,
    /// The transaction that made it; `None` if it was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionMark>,
    /// Its changes, in their order.
    pub changes: Vec<Change>,
}

impl LogEntry {
    /// The entry as one line of JSON, without the end of the line.
    ///
    /// # Errors
    /// [`Error::Internal`] if it cannot be written, which does not happen.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|_| Error::Internal("a log entry is no JSON"))
    }

    /// Reads an entry from JSON.
    ///
    /// # Errors
    /// [`Error::Invalid`], which says what is wrong.
    pub fn from_json(text: &str) -> Result<Self> {
        let wrong = |error| Error::Invalid(format!("a log entry does not parse: {error}"));
        serde_json::from_str(text).map_err(wrong)
    }
}

/// Bytes of changes after which [`LogEntries::next`] returns what it has.
const BATCH: u64 = 8 << 20;

/// Reads the commits of a store's log. It goes on where it stopped, also after a writer has added more.
#[derive(Debug)]
pub struct LogEntries {
    reader: LogReader,
}

impl LogEntries {
    /// Starts behind commit number `since` of a store.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Invalid`] if the files
    /// have commits behind `since` whose entries are gone; errors of reading; [`Error::Cancelled`].
    pub fn open(path: &Path, since: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        with_newest(path, |manifest| {
            if PropertyEntry::of(&manifest)?.is_none() {
                let what = format!("{} has no properties, and so no log", path.display());
                return Err(Error::Unsupported(what));
            }
            let mut reader = LogReader::kept(path, &manifest, cancel)?;
            let first = reader.commit();
            let since = since.unwrap_or(first);
            if since < first {
                return Err(Error::Invalid(format!(
                    "the log of {} begins behind commit {first}: the files have the earlier ones, and \
                     their entries are gone",
                    path.display(),
                )));
            }
            reader.read_until(since, cancel)?;
            Ok(LogEntries { reader })
        })
    }

    /// The next entries, at most `most`, some megabytes at a time; none at the end of the log.
    ///
    /// # Errors
    /// As [`LogEntries::open`]; damage.
    pub fn next(&mut self, most: usize, cancel: &CancelToken) -> Result<Vec<LogEntry>> {
        self.some(most, cancel, |commit, changes| {
            let transaction = changes.mark();
            let mut all = Vec::new();
            while let Some(change) = changes.next()? {
                all.push(change);
            }
            Ok(LogEntry { commit: Some(commit), transaction, changes: all })
        })
    }

    /// As [`LogEntries::next`], but the numbers of the commits, and what a [`CommitLog`](crate::CommitLog) gets
    /// of them.
    ///
    /// # Errors
    /// As [`LogEntries::next`].
    pub fn next_encoded(&mut self, cancel: &CancelToken) -> Result<Vec<(u64, Vec<u8>)>> {
        self.some(usize::MAX, cancel, |commit, changes| Ok((commit, changes.encoded()?)))
    }

    /// Reads the next commits by `read`, at most `most`, some megabytes at a time.
    fn some<T>(
        &mut self,
        most: usize,
        cancel: &CancelToken,
        mut read: impl FnMut(u64, &mut Changes<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let done = self.reader.read(cancel, |commit, changes| {
            if found.len() == most || bytes > BATCH {
                return Err(Error::Abandoned);
            }
            bytes += changes.bytes();
            found.push(read(commit, changes)?);
            Ok(())
        });
        match done {
            Ok(()) | Err(Error::Abandoned) => Ok(found),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decoder::tests::{change, mark};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Seen red with floats written as integers.
        #[test]
        fn entries_survive_json(
            changes in prop::collection::vec(change(), 0..4),
            commit in any::<Option<u64>>(),
            transaction in prop::option::of(mark()),
        ) {
            let entry = LogEntry { commit, transaction, changes };
            let text = entry.to_json().unwrap();
            prop_assert!(!text.contains('\n'));
            let again = LogEntry::from_json(&text).unwrap();
            prop_assert_eq!(again.to_json().unwrap(), text);
            prop_assert_eq!(canonical(&again), canonical(&entry));
        }
    }

    /// An entry with positive integers as the same kind of id.
    fn canonical(entry: &LogEntry) -> String {
        let text = format!("{entry:?}");
        text.replace("I64(", "U64(")
    }

    #[test]
    fn json_that_is_no_entry_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"changes":[{"op":"explode"}]}"#,
            r#"{"changes":[{"op":"delete_node","id":1.5}]}"#,
            r#"{"changes":[{"op":"delete_node"}]}"#,
            r#"{"changes":[],"colour":1}"#,
            r#"{"changes":[{"op":"append_node","id":1,"properties":{"a":{"b":1}}}]}"#,
            r#"{"changes":[{"op":"append_node","id":1,"properties":{"a":[[1]]}}]}"#,
        ] {
            assert!(matches!(LogEntry::from_json(text), Err(Error::Invalid(_))), "{text}");
        }
    }
}
