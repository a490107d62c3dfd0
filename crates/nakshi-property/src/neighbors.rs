//! Neighbours after the last commit: the lists of files, and what the log has changed in them.
//!
//! The topology of a store has the edges of its files. A node whose records the log has not touched has
//! the same list there; the others have theirs from their records ([`PropertyGraph::targets`]).

use std::collections::BTreeSet;
use std::path::Path;

use nakshi_io::CancelToken;

use super::graph::PropertyGraph;
use super::log::LogReader;
use super::{PropertyEntry, files_generation};
use nakshi_store::files::with_newest;
use nakshi_store::{Error, ExternalId, Manifest, Result, VertexId};

/// What has come to a store since its files were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogState {
    /// Nothing: the files have every commit.
    Empty,
    /// The log has commits that the files do not have.
    Commits,
    /// A compaction has put other files in their place.
    Replaced,
}

/// Looks into the directory of a store, whose files were opened with `manifest`, for later commits.
///
/// # Errors
/// Those of reading.
pub fn log_state(path: &Path, manifest: &Manifest, cancel: &CancelToken) -> Result<LogState> {
    with_newest(path, |newest| {
        if files_generation(&newest)? != files_generation(manifest)? {
            return Ok(LogState::Replaced);
        }
        let entry = PropertyEntry::of(&newest)?;
        if entry.is_some_and(|entry| !entry.fragment_list().is_empty()) {
            return Ok(LogState::Commits);
        }
        let mut found = false;
        // One commit is enough.
        let read = LogReader::new(path, &newest)?.read(cancel, |_, _| {
            found = true;
            Err(Error::Cancelled)
        });
        match (found, read) {
            (true, _) => Ok(LogState::Commits),
            (false, read) => read.map(|()| LogState::Empty),
        }
    })
}

impl PropertyGraph {
    /// Number of the nodes of files, deleted ones included: those with higher numbers are in the log only.
    pub fn num_filed(&self) -> u64 {
        self.state().filed()
    }

    /// Number of the numbers that nodes have, deleted ones included.
    pub fn num_numbered(&self) -> u64 {
        self.state().numbered()
    }

    /// True if the node of a number is not deleted.
    pub fn is_alive(&self, v: VertexId) -> bool {
        self.state().is_alive(v)
    }

    /// True if the log has commits that the files do not have.
    pub fn has_changes(&self) -> bool {
        self.commit() != self.entry().commit
    }

    /// The number of a node; `None` if there is no such node.
    ///
    /// # Errors
    /// Damage.
    pub fn vertex(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        self.state().find(id)
    }

    /// The id of a node by its number.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a number that no node has; damage.
    pub fn id_of(&self, v: VertexId) -> Result<ExternalId> {
        self.state().external(v.into())
    }

    /// True if the log may have changed which nodes the edges of a node lead to.
    pub fn has_other_targets(&self, v: VertexId) -> bool {
        let state = self.state();
        !state.has_file_edges(v)
            || state.log.records(v).next().is_some()
            || state.layers.iter().any(|layer| layer.changes_edges(v))
    }

    /// The nodes that edges of a node lead to, each once, ascending by number.
    ///
    /// # Errors
    /// Damage.
    pub fn targets(&self, v: VertexId) -> Result<Vec<VertexId>> {
        let mut found = Vec::new();
        for (_, parts) in self.state().records(v)? {
            found.extend(self.state().ends_of(v, &parts)?);
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The nodes that have edges to a node, each once, ascending by number; `filed` are those of files.
    ///
    /// # Errors
    /// Damage.
    pub fn sources(&self, v: VertexId, filed: &[VertexId]) -> Result<Vec<VertexId>> {
        let mut found = BTreeSet::new();
        for (source, _) in self.state().leading_to(v)? {
            if self.targets(source)?.binary_search(&v).is_ok() {
                found.insert(source);
            }
        }
        for &source in filed {
            if !self.has_other_targets(source) || self.targets(source)?.binary_search(&v).is_ok() {
                found.insert(source);
            }
        }
        Ok(found.into_iter().collect())
    }
}
