//! A store with a server's share of a graph: the nodes of some buckets, which can become others.
//!
//! A bucket moves in three steps, while all servers read and write. A store with the whole graph writes what the
//! bucket has after one of its commits as a small store. The store that takes the bucket brings that up to its own
//! last commit, from its own log, and compacts the two into new files; commits that are made meanwhile are
//! carried over, as by every compaction, and from then on those in the bucket concern it. Once a commit has said
//! where the bucket is, the store that had it leaves it out, by a compaction as well. A crash leaves each store
//! with the buckets of before, or those of after.

use std::path::Path;

use nakshi_io::CancelToken;

use super::bucket_set::BucketSet;
use super::graph::PropertyGraph;
use super::import::{LoadOptions, write_share};
use super::log::LogEntries;
use super::property_store::PropertyStore;
use nakshi_store::import::Hooks;
use nakshi_store::{Error, Result};

impl PropertyStore {
    /// The buckets of a store that has a server's share of a graph; `None` for a whole graph.
    pub fn buckets(&self) -> Option<BucketSet> {
        self.snapshot().entry().buckets.clone()
    }

    /// Writes what some buckets have after the last commit as the new store `destination`. The memory is that of
    /// [`PropertyStore::take_share`].
    ///
    /// # Errors
    /// Errors of an import. Nothing is left behind then.
    pub fn write_share(
        &self,
        buckets: &BucketSet,
        destination: &Path,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<()> {
        let options = self.of_this_memory(options);
        write_share(&self.fs, &self.snapshot(), buckets, destination, &options, hooks)
    }

    /// Leaves out what is not of some buckets, for good. If the handle has a cap of memory, that is the memory of
    /// `options`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a store that has a share already; as [`PropertyStore::compact`].
    pub fn take_share(
        &self,
        buckets: &BucketSet,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<()> {
        if self.buckets().is_some() {
            let store = self.path().display();
            return Err(Error::Invalid(format!(
                "{store} has a share of a graph already; put a copy of a whole store in its place"
            )));
        }
        self.compact_to(Some(buckets), None, &self.of_this_memory(options), hooks).map(|_| ())
    }

    /// Has a store with a share of a graph hold some buckets from now on: leaves out others, and takes those that
    /// it lacks from `more`, which [`PropertyStore::write_share`] has made. Readers and writers continue
    /// meanwhile. The memory is that of [`PropertyStore::take_share`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for a whole graph, for buckets that neither store has, and if `more` has a commit that
    /// this store lacks, or the log lacks one between the two; as [`PropertyStore::compact`].
    pub fn hold(
        &self,
        buckets: &BucketSet,
        more: Option<&PropertyStore>,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<()> {
        let store = self.path().display();
        let own = self.buckets().ok_or_else(|| {
            Error::Invalid(format!("{store} has the whole graph, and not a share of it"))
        })?;
        let taken = more.and_then(PropertyStore::buckets).unwrap_or_default();
        let missing = buckets.clone().without(&own).without(&taken);
        if !missing.is_empty() {
            return Err(Error::Invalid(format!(
                "{store} lacks {} of the buckets that it should hold; move them to it",
                missing.len()
            )));
        }
        if own == *buckets {
            return Ok(());
        }
        self.compact_to(Some(buckets), more, &self.of_this_memory(options), hooks).map(|_| ())
    }

    /// `options` with the memory of the handle, if that has a cap.
    fn of_this_memory(&self, options: &LoadOptions) -> LoadOptions {
        let least = options.least_memory();
        let memory = self.options.memory.map_or(options.memory, |given| given.max(least));
        LoadOptions { memory, ..options.clone() }
    }

    /// Makes the commits of another store's log in this one, up to a commit; returns the state after it.
    pub(super) fn follow_log(
        &self,
        other: &Path,
        commit: u64,
        cancel: &CancelToken,
    ) -> Result<PropertyGraph> {
        let mut graph = self.snapshot();
        if graph.commit() > commit {
            return Err(Error::Invalid(format!(
                "{} has commit {commit}, and what it takes commit {}; try again later",
                other.display(),
                graph.commit()
            )));
        }
        let mut entries = LogEntries::open(other, Some(graph.commit()), cancel)?;
        while graph.commit() < commit {
            let some = entries.next_encoded(cancel)?;
            if some.is_empty() {
                return Err(Error::Internal("the log lacks commits that its store has"));
            }
            for (number, changes) in some.into_iter().filter(|(number, _)| *number <= commit) {
                graph = self.follow(number, &changes, cancel)?;
            }
            self.flush()?;
        }
        Ok(graph)
    }
}
