//! Fragments: immutable, compressed files with the changes of some commits (ZipG, section 3.5).
//!
//! A fragment has the rows of the nodes that its commits have changed, the edges that they have added,
//! the ids of new nodes, and the deletions that they have made in older layers. Sets of its nodes and of
//! the sources of its edges stay in memory: they are the *update pointers*, by which a query finds the
//! fragments that hold something of a node or of an edge record, and touches no others.

mod directory;
mod merge;
mod verify;
mod writer;

use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{CancelToken, IoStats, PageCache};
use nakshi_store::{Error, ExternalId, FileEntry, Result, Store, VertexId};

use super::blob::Blob;
use super::condition::{Condition, Predicate};
use super::entry::FragmentEntry;
use super::key_filter::KeyFilter;
use super::logstore::{EdgeKey, LayerId};
use super::room::{MemoryRoom, TakenRoom};
use super::row_set::RowSet;
use super::segment::{SegmentEdges, SegmentRows};
use super::value::{PropertyType, Scalar, Value};

use directory::{EndBlock, FragmentDirectory, Hidden, edge_key, name_key};
pub(super) use merge::{MergeInput, merge, moved};
pub(super) use writer::{FragmentFiles, freeze};

/// An open fragment.
#[derive(Debug)]
pub(super) struct Fragment {
    entry: FragmentEntry,
    /// The changed nodes; the properties of the i-th are row i of `rows`.
    nodes: RowSet,
    /// Those of them that are deleted.
    deleted: RowSet,
    /// Those whose edges in older layers are deleted.
    cut: RowSet,
    /// Those whose rows have only some properties; older layers have the others.
    partial: RowSet,
    rows: SegmentRows,
    /// New ids, those of the nodes from `first` on.
    names: Option<SegmentRows>,
    first: VertexId,
    /// Sources of the edge records that the fragment changes; the records of the i-th are those of node i
    /// of the segment of edges.
    sources: RowSet,
    edges: Option<FragmentEdges>,
    hidden: Vec<Hidden>,
    /// The edges and the new ids; `None` if the fragment was written without a filter.
    keys: Option<KeyFilter>,
    /// Bytes of memory.
    memory: u64,
    /// Room for the files, if they are in memory under a cap.
    _taken: Option<TakenRoom>,
}

/// The edges of a fragment.
#[derive(Debug)]
struct FragmentEdges {
    segment: SegmentEdges,
    /// The file of the destinations, and its blocks, each with its set.
    file: Blob,
    ends: Vec<(RowSet, EndBlock)>,
}

/// How a fragment opens its files.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentOpening<'o> {
    pub(super) store: &'o Store,
    /// Cache of files that are not in memory; `None` to have them in memory.
    pub(super) cache: Option<&'o Arc<PageCache>>,
    /// Memory for files in place of the cache.
    pub(super) room: Option<&'o Arc<MemoryRoom>>,
    pub(super) stats: &'o Arc<IoStats>,
    pub(super) cancel: &'o CancelToken,
}

impl Fragment {
    /// Opens a fragment. Its sets are in memory, the rest is behind the cache, if there is one.
    ///
    /// # Errors
    /// Damage; errors of reading.
    pub(super) fn open(entry: &FragmentEntry, with: FragmentOpening<'_>) -> Result<Self> {
        let taken = with.room.and_then(|room| room.take(entry.bytes()));
        let cache = with.cache.filter(|_| taken.is_none());
        let blob = |file: &FileEntry| {
            let file = with.store.file(file)?;
            match cache {
                None => Blob::load(&file, with.cancel),
                Some(cache) => Blob::cached(&file, cache, with.stats),
            }
        };
        let index = with.store.file(&entry.index)?;
        let bytes = index.load(with.cancel)?;
        let corrupt = |what: &str| Error::Corrupt {
            file: index.path().to_path_buf(),
            page: 0,
            what: what.to_owned(),
        };
        let read = FragmentDirectory::read(&bytes).map_err(|what| corrupt(&what))?;
        let (directory, sets) = read;
        let rows = SegmentRows::open(blob(&entry.nodes)?, directory.nodes.form())?;
        let names = match (&entry.names, &directory.names) {
            (Some(file), Some(names)) => Some(SegmentRows::open(blob(file)?, names.form())?),
            _ => None,
        };
        let edges = match (&entry.edges, &entry.ends, directory.edges) {
            (Some(file), Some(ends), Some(edges)) => {
                let segment = SegmentEdges::open(blob(file)?, &edges)?;
                let blocks = sets.ends.into_iter().zip(directory.ends);
                Some(FragmentEdges { segment, file: blob(ends)?, ends: blocks.collect() })
            }
            _ => None,
        };
        let of_edges = edges.as_ref().map_or(0, |edges| edges.segment.rows.len());
        if (rows.len(), of_edges) != (entry.changed, entry.added) || sets.nodes.len() != rows.len()
        {
            return Err(corrupt("it has another number of rows than the manifest says"));
        }
        let of_sets = [&sets.nodes, &sets.deleted, &sets.cut, &sets.partial, &sets.sources];
        let of_sets: u64 = of_sets.iter().map(|set| set.bytes()).sum();
        let of_edges = edges.iter().flat_map(|edges| &edges.ends).map(|(set, _)| set.bytes());
        let of_edges: u64 = of_edges.sum();
        let of_keys = sets.keys.as_ref().map_or(0, KeyFilter::bytes);
        let files = if cache.is_none() { entry.bytes() } else { 0 };
        Ok(Fragment {
            memory: of_sets + of_edges + of_keys + files,
            entry: entry.clone(),
            nodes: sets.nodes,
            deleted: sets.deleted,
            cut: sets.cut,
            partial: sets.partial,
            rows,
            names,
            first: directory.first,
            sources: sets.sources,
            edges,
            hidden: directory.hidden,
            keys: sets.keys,
            _taken: taken,
        })
    }

    /// Its part of the manifest.
    pub(super) fn entry(&self) -> &FragmentEntry {
        &self.entry
    }

    /// Replaces its part of the manifest, which names another file.
    pub(super) fn describe(&mut self, entry: &FragmentEntry) {
        self.entry.clone_from(entry);
    }

    pub(super) fn id(&self) -> LayerId {
        self.entry.id
    }

    /// Bytes of memory that it takes, without a cache.
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Deletions of edges in older layers.
    pub(super) fn hidden(&self) -> &[Hidden] {
        &self.hidden
    }

    /// The changed nodes.
    pub(super) fn nodes(&self) -> &RowSet {
        &self.nodes
    }

    /// The sources of the edge records that the fragment changes: it adds edges to them, or deletes edges
    /// of older layers.
    pub(super) fn sources(&self) -> &RowSet {
        &self.sources
    }

    /// The properties of changed nodes: those of the i-th are row i.
    pub(super) fn rows(&self) -> &SegmentRows {
        &self.rows
    }

    /// Returns true if a node is alive after the fragment's changes; `None` if they do not change it.
    #[inline]
    pub(super) fn alive(&self, v: VertexId) -> Option<bool> {
        let there = self.nodes.contains(v.into());
        there.then(|| !self.deleted.contains(v.into()))
    }

    /// The row of a changed node; `None` if the fragment does not change it.
    #[inline]
    pub(super) fn row(&self, v: VertexId) -> Option<u64> {
        self.nodes.place(v.into())
    }

    /// Returns true if the row of a changed node has all its properties.
    pub(super) fn is_whole(&self, v: VertexId) -> bool {
        !self.partial.contains(v.into())
    }

    /// Returns true if the fragment deletes the edges that a node has in older layers.
    #[inline]
    pub(super) fn cuts(&self, v: VertexId) -> bool {
        !self.cut.is_empty() && self.cut.contains(v.into())
    }

    /// Nodes that meet all conditions after the fragment's changes, ascending.
    pub(super) fn find(&self, wanted: &[(u32, Predicate)]) -> Result<Vec<u64>> {
        let rows = self.rows.find(wanted)?;
        let nodes = rows.into_iter().filter_map(|row| self.nodes.get(row));
        Ok(nodes.filter(|v| !self.deleted.contains(*v)).collect())
    }

    /// Number of new ids.
    pub(super) fn named(&self) -> u64 {
        self.names.as_ref().map_or(0, SegmentRows::len)
    }

    /// The id of a new node; `None` if it is none of this fragment.
    pub(super) fn name(&self, v: VertexId) -> Result<Option<ExternalId>> {
        let Some(names) = &self.names else { return Ok(None) };
        let Some(row) = u64::from(v).checked_sub(self.first.into()) else { return Ok(None) };
        if row >= names.len() {
            return Ok(None);
        }
        let mut found = None;
        names.each(row, |kind, bytes| {
            found = directory::id_of(kind, bytes);
            Ok(())
        })?;
        found.map(Some).ok_or(Error::BadList("a new node of a fragment has no id"))
    }

    /// The number of a new node; `None` if no new node of this fragment has the id.
    pub(super) fn number(&self, id: &ExternalId) -> Result<Option<VertexId>> {
        let Some(names) = &self.names else { return Ok(None) };
        let (kind, bytes) = directory::name_of(id);
        if !self.may_have(name_key(kind, &bytes)) {
            return Ok(None);
        }
        let ty = PropertyType::of(Scalar::Bytes);
        let wanted = Condition::Is(Value::Bytes(bytes)).predicate(ty)?;
        let found = names.find(&[(kind, wanted)])?;
        // A store has less than 2^32 nodes.
        Ok(found.first().map(|row| self.first + *row as VertexId))
    }

    /// The edges, by rows.
    pub(super) fn edge_rows(&self) -> Option<&SegmentRows> {
        self.edges.as_ref().map(|edges| &edges.segment.rows)
    }

    /// The rows of an edge record; empty if the fragment has none of its edges.
    pub(super) fn record(&self, v: VertexId, ty: u64) -> Result<Range<u64>> {
        let found = self.edges.as_ref().zip(self.sources.place(v.into()));
        found.map_or(Ok(0..0), |(edges, node)| edges.segment.record(node, ty))
    }

    /// The records of a node: the type and the rows of each.
    pub(super) fn records(&self, v: VertexId) -> Result<Vec<(u64, Range<u64>)>> {
        let found = self.edges.as_ref().zip(self.sources.place(v.into()));
        found.map_or(Ok(Vec::new()), |(edges, node)| edges.segment.records(node))
    }

    /// Source and type of an edge.
    pub(super) fn of_row(&self, row: u64) -> Result<(VertexId, u64)> {
        let none = Error::BadList("an edge of a fragment has no source");
        let Some(edges) = &self.edges else { return Err(none) };
        let (node, ty) = edges.segment.of_row(row)?;
        let source = self.sources.get(node).and_then(|v| VertexId::try_from(v).ok());
        source.map(|source| (source, ty)).ok_or(none)
    }

    /// Rows of the edges that lead to a node, ascending.
    fn rows_to(&self, end: VertexId, within: Option<&Range<u64>>) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let Some(edges) = &self.edges else { return Ok(found) };
        for (set, EndBlock { starts, rows }) in &edges.ends {
            let Some(place) = set.place(end.into()) else { continue };
            let (mut from, to) = starts.pair(&edges.file, place)?;
            if let Some(range) = within {
                let mut high = to;
                while from < high {
                    let middle = from + (high - from) / 2;
                    let below = rows.get(&edges.file, middle)? < range.start;
                    if below { from = middle + 1 } else { high = middle }
                }
            }
            for at in from..to {
                let row = rows.get(&edges.file, at)?;
                if within.is_some_and(|range| row >= range.end) {
                    break;
                }
                found.push(row);
            }
        }
        Ok(found)
    }

    fn may_have(&self, key: u64) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.may_have(key))
    }

    /// Returns false if the fragment adds no edge of a source, type and destination.
    pub(super) fn may_have_edge(&self, of: EdgeKey) -> bool {
        self.may_have(edge_key(of))
    }

    /// Positions, in the record of a source and a type, of the edges that lead to a node.
    pub(super) fn positions(&self, (source, ty, end): EdgeKey) -> Result<Vec<u64>> {
        let range = self.record(source, ty)?;
        if range.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows_to(end, Some(&range))?;
        Ok(rows.into_iter().map(|row| row - range.start).collect())
    }

    /// Sources and types of the edges that lead to a node.
    pub(super) fn leading_to(&self, end: VertexId) -> Result<Vec<(VertexId, u64)>> {
        self.rows_to(end, None)?.into_iter().map(|row| self.of_row(row)).collect()
    }
}
