//! Layers: the changes between the files of the last compaction and the newest log. A layer is a log that
//! was frozen, until its fragment is on disk, and then the fragment.

use std::sync::Arc;

use nakshi_store::{ExternalId, Result, VertexId};

use super::condition::Predicate;
use super::fragment::Fragment;
use super::logstore::{EdgeKey, LayerId, LogStore};
use super::row_set::RowSet;

/// Layer 0: the files of the last compaction.
pub(super) const FILES: LayerId = 0;

/// A layer.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) id: LayerId,
    pub(super) changes: LayerChanges,
}

/// The changes of a layer.
#[derive(Clone, Debug)]
pub(super) enum LayerChanges {
    /// Frozen, and not on disk yet.
    Log(Arc<LogStore>),
    /// On disk, and the rows of its edges that fragments after it delete.
    Fragment(Arc<Fragment>, Arc<RowSet>),
}

impl Layer {
    /// Returns true if a node is alive after the changes of the layer; `None` if the layer does not change it.
    #[inline]
    pub(super) fn alive(&self, v: VertexId) -> Option<bool> {
        match &self.changes {
            LayerChanges::Log(log) => log.node(v).map(|change| change.values.is_some()),
            LayerChanges::Fragment(fragment, _) => fragment.alive(v),
        }
    }

    /// Returns true if the layer deletes the edges that a node has in older layers.
    #[inline]
    pub(super) fn cuts(&self, v: VertexId) -> bool {
        match &self.changes {
            LayerChanges::Log(log) => log.node(v).is_some_and(|change| change.cut),
            LayerChanges::Fragment(fragment, _) => fragment.cuts(v),
        }
    }

    /// Returns true if the layer adds edges to a node, or deletes single ones of older layers.
    pub(super) fn changes_edges(&self, v: VertexId) -> bool {
        match &self.changes {
            LayerChanges::Log(log) => log.records(v).next().is_some(),
            LayerChanges::Fragment(fragment, _) => fragment.sources().contains(v.into()),
        }
    }

    /// Returns false if the layer is a fragment that adds no edge of a source, type and destination.
    pub(super) fn may_have_edge(&self, of: EdgeKey) -> bool {
        match &self.changes {
            LayerChanges::Log(_) => true,
            LayerChanges::Fragment(fragment, _) => fragment.may_have_edge(of),
        }
    }

    /// The number of a new node; `None` if no new node of this layer has the id.
    pub(super) fn number(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        match &self.changes {
            LayerChanges::Log(log) => Ok(log.internal(id)),
            LayerChanges::Fragment(fragment, _) => fragment.number(id),
        }
    }

    /// Sources and types of the edges of the layer that lead to a node.
    pub(super) fn leading_to(&self, end: VertexId) -> Result<Vec<(VertexId, u64)>> {
        match &self.changes {
            LayerChanges::Log(log) => Ok(log.leading_to(end).collect()),
            LayerChanges::Fragment(fragment, _) => fragment.leading_to(end),
        }
    }

    /// Nodes of the layer that may meet all conditions after its changes; others may be among them.
    pub(super) fn candidates(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<VertexId>> {
        match &self.changes {
            LayerChanges::Log(log) => {
                let found = log.candidates(wanted).into_iter();
                Ok(found.filter(|v| log.node(*v).is_some()).collect())
            }
            LayerChanges::Fragment(fragment, _) => {
                let found = fragment.find(wanted)?.into_iter();
                Ok(found.filter_map(|v| VertexId::try_from(v).ok()).collect())
            }
        }
    }

    /// The nodes that the layer changes, in any order.
    pub(super) fn changed_nodes(&self) -> Vec<VertexId> {
        match &self.changes {
            LayerChanges::Log(log) => log.changed_nodes().map(|(v, _)| v).collect(),
            LayerChanges::Fragment(fragment, _) => {
                fragment.nodes().iter().filter_map(|v| VertexId::try_from(v).ok()).collect()
            }
        }
    }

    /// The sources of the records that the layer changes, some of them more than once.
    pub(super) fn changed_sources(&self) -> Vec<VertexId> {
        match &self.changes {
            LayerChanges::Log(log) => log.changed_records().map(|((v, _), _)| v).collect(),
            LayerChanges::Fragment(fragment, _) => {
                fragment.sources().iter().filter_map(|v| VertexId::try_from(v).ok()).collect()
            }
        }
    }
}
