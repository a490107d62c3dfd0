//! Look-ups of edges in the files, for the changes of one writer.

use std::collections::HashMap;
use std::sync::Arc;

use nakshi_io::{BlockReader, CancelToken, IoStats};

use super::conflict::{Subject, WrittenKeys};
use super::logstore::EdgeKey;
use super::parts::{PartPlace, RecordPart};
use super::segment::SegmentRows;
use nakshi_store::{Direction, Error, Result, Store, VertexId};

/// Longest record, in edges of the file, that is searched linearly for an edge.
const SHORT: u64 = 64;
/// Rows between two checks of the cancel token.
const ROWS: u64 = 4096;

/// Looks up edges by destination, for one writer.
pub(super) struct Lookups {
    store: Arc<Store>,
    lists: Option<BlockReader>,
    /// Edges of long records, sorted by destination.
    known: HashMap<(VertexId, u64), SortedEnds>,
    /// Bytes that `known` takes, and the most that it may take.
    kept: usize,
    budget: usize,
    /// Stops the changes of one call.
    pub(super) cancel: CancelToken,
    /// What the changes of a commit write, if a transaction wants to know.
    pub(super) written: Option<WrittenKeys>,
}

/// Destinations of a record, each with its position in the record, sorted.
struct SortedEnds(Vec<(VertexId, u32)>);

impl SortedEnds {
    /// Bytes of memory that the destinations of `edges` edges take.
    fn bytes(edges: u64) -> usize {
        let each = size_of::<(VertexId, u32)>();
        let entry = size_of::<((VertexId, u64), SortedEnds)>() * 2;
        usize::try_from(edges).unwrap_or(usize::MAX).saturating_mul(each).saturating_add(entry)
    }

    /// Positions of the edges that lead to `end`, ascending.
    fn of(&self, end: VertexId) -> impl Iterator<Item = u64> {
        let from = self.0.partition_point(|(other, _)| *other < end);
        let found = self.0.get(from..).unwrap_or_default().iter();
        found.take_while(move |(other, _)| *other == end).map(|(_, place)| u64::from(*place))
    }
}

impl std::fmt::Debug for Lookups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookups").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Lookups {
    /// Looks up edges in the files of `store`; destinations take at most `budget` bytes of memory.
    pub(super) fn new(store: Arc<Store>, budget: u64, cancel: &CancelToken) -> Self {
        let budget = usize::try_from(budget).unwrap_or(usize::MAX);
        let (known, cancel) = (HashMap::new(), cancel.clone());
        Lookups { store, lists: None, known, kept: 0, budget, cancel, written: None }
    }

    /// Stops the changes of the next call by another token.
    pub(super) fn watch(&mut self, cancel: &CancelToken) {
        self.cancel.clone_from(cancel);
    }

    pub(super) fn note(&mut self, subject: Subject<'_>) {
        self.written.iter_mut().for_each(|written| written.note(subject));
    }

    pub(super) fn note_edge(&mut self, key: EdgeKey) {
        self.written.iter_mut().for_each(|written| written.note_edge(key));
    }

    /// Nodes with edges to `v` in the files.
    pub(super) fn sources(&mut self, v: VertexId) -> Result<Vec<VertexId>> {
        in_list(&self.store, &mut self.lists, v)
    }

    /// Positions, in the record of the files, of the edges that lead to a node; those that are deleted are
    /// left out.
    pub(super) fn positions(
        &mut self,
        (source, ty, end): EdgeKey,
        part: &RecordPart,
        file: &SegmentRows,
    ) -> Result<Vec<u64>> {
        let PartPlace::Files(rows) = &part.place else { return Ok(Vec::new()) };
        let (rows, first, count) = (rows.clone(), rows.start, rows.end - rows.start);
        let needed = SortedEnds::bytes(count);
        if count <= SHORT || needed > self.budget || u32::try_from(count).is_err() {
            let mut found = Vec::new();
            for row in rows {
                self.step(row)?;
                if file.end(row)? == u64::from(end) && !part.hides(row - first) {
                    found.push(row - first);
                }
            }
            return Ok(found);
        }
        if !self.known.contains_key(&(source, ty)) {
            if self.kept + needed > self.budget {
                (self.known, self.kept) = (HashMap::new(), 0);
            }
            let mut ends = Vec::with_capacity(rows.end.saturating_sub(first) as usize);
            for row in rows {
                self.step(row)?;
                let wide = || Error::BadList("a vertex id does not fit 32 bits");
                let to = VertexId::try_from(file.end(row)?).map_err(|_| wide())?;
                // Lossless: a record of more rows was handled above.
                ends.push((to, (row - first) as u32));
            }
            ends.sort_unstable();
            self.kept += needed;
            self.known.insert((source, ty), SortedEnds(ends));
        }
        let ends = self.known.get(&(source, ty));
        let found = ends.into_iter().flat_map(|ends| ends.of(end));
        Ok(found.filter(|position| !part.hides(*position)).collect())
    }

    /// Checks the cancel token at every [`ROWS`]-th row.
    fn step(&self, row: u64) -> Result<()> {
        if row.is_multiple_of(ROWS) { Ok(self.cancel.check()?) } else { Ok(()) }
    }
}

/// The nodes that have edges to `v` in the files, by `reader`, which is made if there is none yet.
pub(super) fn in_list(
    store: &Store,
    reader: &mut Option<BlockReader>,
    v: VertexId,
) -> Result<Vec<VertexId>> {
    let adjacency = store.adjacency(Direction::In)?;
    let extent = adjacency.extent(v);
    if extent.is_empty() {
        return Ok(Vec::new());
    }
    let reader = match reader {
        Some(reader) => reader,
        none => none.insert(adjacency.file().reader(1, Arc::new(IoStats::default()))?),
    };
    let len = usize::try_from(extent.end - extent.start).unwrap_or(usize::MAX);
    reader.submit(extent, 0)?;
    let mut found = Vec::new();
    if let Some(block) = reader.next()? {
        adjacency
            .list(block.slack(), 0..len)
            .and_then(|list| list.decode_into(&mut found))
            .map_err(|error| adjacency.blame(v, error))?;
    }
    Ok(found)
}
