//! A graph as one commit left it: files and changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::base::Base;
use super::logstore::{Fragment, LogStore};
use super::schema::Schema;
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Files, names and changes. Copies share all that they have in common.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) base: Arc<Base>,
    pub(super) schema: Arc<Schema>,
    pub(super) log: LogStore,
    /// Number of the last commit.
    pub(super) commit: u64,
}

/// Where the properties of a node are.
pub(super) enum NodeRow<'s> {
    /// In the file of its shard.
    File,
    Log(&'s [u8]),
}

/// An edge record: rows of the file, those too that are deleted, and what the log says of it.
pub(super) type Parts<'s> = (Range<u64>, Option<&'s Fragment>);

impl State {
    pub(super) fn new(base: Arc<Base>) -> Self {
        let schema = Arc::new(Schema::of(base.entry()));
        let commit = base.entry().commit;
        State { base, schema, log: LogStore::default(), commit }
    }

    /// Number of the nodes that files have, those too that are deleted.
    pub(super) fn filed(&self) -> u64 {
        self.base.entry().nodes
    }

    /// Number of all nodes, those too that are deleted.
    pub(super) fn numbered(&self) -> u64 {
        self.filed() + self.log.new_ids() as u64
    }

    /// The number of an id, whether its node is deleted or not.
    pub(super) fn number(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        if let Some(v) = self.base.ids().internal(id)? {
            return Ok(Some(v));
        }
        if self.log.new_ids() == 0 {
            return Ok(None);
        }
        Ok(self.log.internal(&self.base.ids().canonical(id)))
    }

    pub(super) fn is_alive(&self, v: VertexId) -> bool {
        self.log.node(v).is_none_or(|change| change.values.is_some())
    }

    /// The number of a node that is there.
    pub(super) fn find(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        Ok(self.number(id)?.filter(|v| self.is_alive(*v)))
    }

    /// As [`State::find`].
    ///
    /// # Errors
    /// [`Error::NoNode`].
    pub(super) fn node(&self, id: &ExternalId) -> Result<VertexId> {
        self.find(id)?.ok_or_else(|| self.base.no_node(id))
    }

    pub(super) fn external(&self, v: u64) -> Result<ExternalId> {
        let wide = || Error::BadList("a vertex id does not fit 32 bits");
        match v.checked_sub(self.filed()) {
            None => self.base.ids().external(u32::try_from(v).map_err(|_| wide())?),
            Some(i) => {
                let name = usize::try_from(i).ok().and_then(|i| self.log.name(i));
                name.cloned().ok_or(Error::BadList("an edge leads to a node that is not there"))
            }
        }
    }

    /// Where the properties of a node are, if it is there.
    pub(super) fn row(&self, v: VertexId) -> Option<NodeRow<'_>> {
        match self.log.node(v) {
            None => Some(NodeRow::File),
            Some(change) => change.values.as_deref().map(NodeRow::Log),
        }
    }

    /// Whether the file has edges of a node that are not all deleted.
    pub(super) fn has_file_edges(&self, v: VertexId) -> bool {
        u64::from(v) < self.filed() && self.log.node(v).is_none_or(|change| !change.cut)
    }

    pub(super) fn record(&self, v: VertexId, ty: u64) -> Result<Parts<'_>> {
        let rows = match self.has_file_edges(v) {
            true => {
                let (shard, number) = self.base.place(v)?;
                shard.edges.record(number, ty)?
            }
            false => 0..0,
        };
        Ok((rows, self.log.record(v, ty)))
    }

    /// All records of a node, ascending by type. Some may have no edge any more.
    pub(super) fn records(&self, v: VertexId) -> Result<Vec<(u64, Parts<'_>)>> {
        let mut found = BTreeMap::new();
        if self.has_file_edges(v) {
            let (shard, number) = self.base.place(v)?;
            for (ty, rows) in shard.edges.records(number)? {
                found.insert(ty, (rows, None));
            }
        }
        for (ty, fragment) in self.log.records(v) {
            found.entry(ty).or_insert((0..0, None)).1 = Some(fragment);
        }
        Ok(found.into_iter().collect())
    }

    /// Number of nodes.
    pub(super) fn num_nodes(&self) -> u64 {
        self.filed().saturating_add_signed(self.log.more_nodes)
    }

    /// Number of edges.
    pub(super) fn num_edges(&self) -> u64 {
        self.base.entry().edges.saturating_add_signed(self.log.more_edges)
    }
}
