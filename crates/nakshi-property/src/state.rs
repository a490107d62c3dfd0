//! State of a graph after a commit: files and changes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::base::Base;
use super::condition::Predicate;
use super::conflict::{ReadSet, Subject};
use super::logstore::{Fragment, LogStore};
use super::schema::{Schema, decoded_number};
use nakshi_store::{Error, ExternalId, Result, VertexId};

/// Files, names and changes of a graph. Copies share what has not changed.
#[derive(Clone, Debug)]
pub(super) struct GraphState {
    pub(super) base: Arc<Base>,
    pub(super) schema: Arc<Schema>,
    pub(super) log: LogStore,
    /// Number of the last commit.
    pub(super) commit: u64,
    /// Notes what is read, for a transaction.
    pub(super) reads: Option<Arc<ReadSet>>,
}

/// Location of the properties of a node.
pub(super) enum NodeRow<'s> {
    /// In the file of its shard.
    File,
    Log(&'s [u8]),
}

/// An edge record: its rows in the file, including deleted ones, and its changes in the log.
pub(super) type RecordSources<'s> = (Range<u64>, Option<&'s Fragment>);

impl GraphState {
    pub(super) fn new(base: Arc<Base>) -> Self {
        let schema = Arc::new(Schema::of(base.entry()));
        let commit = base.entry().commit;
        let mut log = LogStore::default();
        log.next_edge = log.next_edge.max(base.entry().next_edge);
        GraphState { base, schema, log, commit, reads: None }
    }

    /// Notes that something is read, if a transaction wants to know.
    #[inline]
    pub(super) fn note(&self, subject: Subject<'_>) {
        if let Some(reads) = &self.reads {
            reads.note(subject);
        }
    }

    /// Notes a search for the nodes that meet all conditions.
    pub(super) fn note_search(&self, wanted: &[(u32, Predicate)]) {
        if let Some(reads) = &self.reads {
            reads.note_search(wanted);
        }
    }

    /// Number of nodes in files, including deleted ones.
    pub(super) fn filed(&self) -> u64 {
        self.base.entry().nodes
    }

    /// Number of all nodes, including deleted ones.
    pub(super) fn numbered(&self) -> u64 {
        self.filed() + self.log.new_ids() as u64
    }

    /// The number of an id, even if its node is deleted.
    pub(super) fn number(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        if let Some(v) = self.base.ids().internal(id)? {
            return Ok(Some(v));
        }
        if self.log.new_ids() == 0 && self.reads.is_none() {
            return Ok(None);
        }
        let id = self.base.ids().canonical(id);
        let found = self.log.internal(&id);
        if found.is_none() {
            self.note(Subject::Id(&id));
        }
        Ok(found)
    }

    pub(super) fn is_alive(&self, v: VertexId) -> bool {
        self.log.node(v).is_none_or(|change| change.values.is_some())
    }

    /// The number of a node; `None` if there is no such node, or if it is deleted.
    pub(super) fn find(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        let found = self.number(id)?;
        found.iter().for_each(|v| self.note(Subject::Existence(*v)));
        Ok(found.filter(|v| self.is_alive(*v)))
    }

    /// As [`GraphState::find`], with an error in place of `None`.
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

    /// Location of the properties of a node; `None` if the node is deleted.
    pub(super) fn row(&self, v: VertexId) -> Option<NodeRow<'_>> {
        match self.log.node(v) {
            None => Some(NodeRow::File),
            Some(change) => change.values.as_deref().map(NodeRow::Log),
        }
    }

    /// Returns true if the file has edges of a node that are not all deleted.
    pub(super) fn has_file_edges(&self, v: VertexId) -> bool {
        u64::from(v) < self.filed() && self.log.node(v).is_none_or(|change| !change.cut)
    }

    pub(super) fn record(&self, v: VertexId, ty: u64) -> Result<RecordSources<'_>> {
        self.note(Subject::Record(v, ty));
        self.stored_record(v, ty)
    }

    /// As [`GraphState::record`], for a read that is noted by its edge.
    pub(super) fn stored_record(&self, v: VertexId, ty: u64) -> Result<RecordSources<'_>> {
        let rows = match self.has_file_edges(v) {
            true => {
                let (shard, number) = self.base.place(v)?;
                shard.edges.record(number, ty)?
            }
            false => 0..0,
        };
        Ok((rows, self.log.record(v, ty)))
    }

    /// The number of an edge of the files; 0 for one without a number.
    pub(super) fn number_of(&self, source: VertexId, row: u64) -> Result<u64> {
        let Some(property) = self.schema.edge_number() else { return Ok(0) };
        let mut bytes = Vec::new();
        match self.base.place(source)?.0.edges.rows.get(row, property, &mut bytes)? {
            true => decoded_number(&bytes).ok_or(Error::BadList("the number of an edge is none")),
            false => Ok(0),
        }
    }

    /// All records of a node, ascending by type. A record may have lost all of its edges.
    pub(super) fn records(&self, v: VertexId) -> Result<Vec<(u64, RecordSources<'_>)>> {
        self.note(Subject::Records(v));
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
        self.note(Subject::Nodes);
        self.filed().saturating_add_signed(self.log.more_nodes)
    }

    /// Number of edges.
    pub(super) fn num_edges(&self) -> u64 {
        self.note(Subject::Edges);
        self.base.entry().edges.saturating_add_signed(self.log.more_edges)
    }
}
