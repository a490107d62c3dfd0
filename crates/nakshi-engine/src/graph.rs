//! A store prepared for runs.
//!
//! * [`build`]: small graphs from edges;
//! * [`held`]: lists that stay in memory with an open store;
//! * [`open`]: graphs from stores.

mod build;
mod held;
mod open;

use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::Summary;
use crate::shared::{share_u32, share_u64, zeroed};
use crate::source::{Shared, Side};
use crate::vertex_set::{AtomicBitmap, Bitmap};
use nakshi_io::IoSnapshot;
use nakshi_store::{
    ColumnType, DecodedLists, Direction, ExternalId, IdMap, Store, VertexId, codec,
};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// The first two neighbours of each vertex, which in a hub-first layout are its largest.
#[derive(Debug, Clone, Default)]
pub struct Heads {
    /// The first two neighbours; where there is one only, it twice or with the vertex itself;
    /// the vertex itself where there is none. Vertices behind the end have none.
    pub pairs: Vec<[VertexId; 2]>,
    /// Vertices with more than two neighbours.
    pub more: Bitmap,
}

impl Heads {
    /// The heads of `v`.
    #[inline]
    pub fn get(&self, v: VertexId) -> [VertexId; 2] {
        self.pairs.get(v as usize).copied().unwrap_or([v, v])
    }
}

/// A read of edge lists, or of a column beside them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ListAccess {
    /// When, since the graph was opened.
    pub seconds: f64,
    /// `out`, `in` or `column`.
    pub lists: &'static str,
    /// Offset in the file.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

/// A graph prepared for runs: index in memory, lists in memory or on the SSD.
///
/// Vertices are `0..num_vertices()` in layout order (internal ids).
#[derive(Debug)]
pub struct Graph {
    n: usize,
    arcs: u64,
    directed: bool,
    mode: EngineMode,
    out: Option<Side>,
    incoming: Option<Side>,
    shared: Arc<Shared>,
    store: Option<Arc<Store>>,
    heads: [OnceLock<Arc<Heads>>; 2],
    /// Bytes read while opening.
    opened: u64,
    /// Bytes of lists up to which a frontier is thin, where a test wants another bound.
    #[cfg(test)]
    pub(crate) thin: Option<u64>,
}

impl Graph {
    /// The same graph, on which frontiers up to so many bytes of lists are thin.
    #[cfg(test)]
    pub(crate) fn with_thin(mut self, bytes: Option<u64>) -> Self {
        self.thin = bytes;
        self
    }

    /// Number of vertices.
    pub fn num_vertices(&self) -> usize {
        self.n
    }

    /// Number of list entries of one direction: in an undirected graph each edge counts
    /// twice, a self-loop once.
    pub fn num_arcs(&self) -> u64 {
        self.arcs
    }

    /// True if edges have a direction.
    pub fn directed(&self) -> bool {
        self.directed
    }

    /// True if a weight column is open; without one all weights are 1.
    pub fn weighted(&self) -> bool {
        self.weight_kind().is_some()
    }

    /// Number format of the weights that [`Graph::scan_weighted`] hands out; `None` if every weight
    /// is 1.
    pub fn weight_kind(&self) -> Option<ColumnType> {
        let sides = [&self.out, &self.incoming].into_iter().flatten();
        sides.filter_map(|s| s.weights.as_ref()).map(|w| w.kind).next()
    }

    /// [`EngineMode::Memory`] or [`EngineMode::Ssd`], never `Auto`.
    pub fn mode(&self) -> EngineMode {
        self.mode
    }

    /// True if only pages of selected lists are read; see [`Context::with_selective`].
    pub fn selective(&self) -> bool {
        self.shared.selective
    }

    /// The store behind the graph, if there is one.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    /// Gives back the memory in which scans keep lists for the next scan, for good: an
    /// algorithm calls it when it has read its lists and needs the memory for its results.
    pub fn release(&self) {
        [&self.out, &self.incoming].into_iter().flatten().for_each(Side::release);
    }

    /// Statistics of the reads from the SSD since the graph was opened.
    pub fn io_stats(&self) -> IoSnapshot {
        self.shared.stats.snapshot()
    }

    /// Share of the 64-byte units of pages read into the page cache that a run touched, by the time
    /// they were evicted or until now (section 5.1 of the BASC paper); `None` without such pages.
    pub fn page_utilisation(&self) -> Option<f64> {
        let io = self.io_stats();
        let (used, total) = self.shared.resident_units();
        let (used, total) = (used + io.evicted_units_used, total + io.evicted_units_total);
        (total > 0).then(|| used as f64 / total as f64)
    }

    /// The reads of runs since the graph was opened, by time, if they are noted
    /// ([`Context::with_trace`]).
    pub fn accesses(&self) -> Vec<ListAccess> {
        let name = |key: u32| {
            let sides = [(&self.out, "out"), (&self.incoming, "in")];
            let found = sides.into_iter().filter_map(|(side, name)| Some((side.as_ref()?, name)));
            found.into_iter().find(|(side, _)| side.key() == Some(key)).map_or("column", |f| f.1)
        };
        let mut all = self.shared.stats.accesses();
        all.sort_unstable_by_key(|access| (access.since, access.file, access.offset));
        all.into_iter()
            .map(|access| ListAccess {
                seconds: access.since.as_secs_f64(),
                lists: name(access.file),
                offset: access.offset,
                bytes: access.bytes,
            })
            .collect()
    }

    /// Bytes that were read to open the graph: indexes, heads and, in memory mode, lists.
    pub fn opened_bytes(&self) -> u64 {
        let heads = [Direction::Out, Direction::In].into_iter().map(|d| {
            let loaded = self.heads.get(head_slot(d)).is_some_and(|h| h.get().is_some());
            let entry = self.store.as_ref().filter(|_| loaded).and_then(|s| s.entry(d).ok());
            entry.map_or(0, |e| e.heads.len + e.degrees.len)
        });
        self.opened + heads.sum::<u64>()
    }

    /// The lists of a direction, if they are decoded.
    pub(crate) fn decoded(&self, direction: Direction) -> Option<&DecodedLists> {
        self.side(direction).ok().and_then(Side::decoded)
    }

    /// The lists of a direction; in an undirected graph both are the same.
    pub(crate) fn side(&self, direction: Direction) -> Result<&Side> {
        let side = match self.resolve(direction) {
            Direction::In => &self.incoming,
            Direction::Out => &self.out,
        };
        side.as_ref().ok_or_else(|| Error::Unsupported {
            what: format!("{direction:?}-lists, which the algorithm did not ask for when opening"),
        })
    }

    /// The directions whose lists together have all edges of a vertex.
    pub(crate) fn all_lists(&self) -> &'static [Direction] {
        if self.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] }
    }

    /// The direction whose lists serve `direction`.
    fn resolve(&self, direction: Direction) -> Direction {
        if self.directed { direction } else { Direction::Out }
    }

    /// Bytes of the encoded list of `v`, or its entries where it is decoded: a measure of its degree that
    /// costs no read.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the direction is not open.
    pub fn list_bytes(&self, direction: Direction, v: VertexId) -> Result<u64> {
        Ok(self.side(direction)?.length(v))
    }

    /// Bytes of all encoded lists of a direction.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the direction is not open.
    pub fn total_bytes(&self, direction: Direction) -> Result<u64> {
        Ok(self.side(direction)?.index.total())
    }

    /// Number of vertices up to and including the last that has a list in a direction.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the direction is not open.
    pub(crate) fn last_list(&self, direction: Direction) -> Result<usize> {
        // Lossless: at most the number of vertices.
        Ok(self.side(direction)?.index.stored() as usize)
    }

    /// Byte range of the encoded list of `v` in its direction; empty beyond the
    /// last vertex, and if the direction is not open.
    pub fn extent(&self, direction: Direction, v: usize) -> Range<u64> {
        self.side(direction).map_or(0..0, |side| side.extent(v as u64))
    }

    /// Summary of this graph, for an estimate.
    pub fn summary(&self) -> Summary {
        if let Some(store) = &self.store {
            return Summary::of_store(store);
        }
        let bytes = |d| self.side(d).map_or(0, |side| side.index.total());
        Summary {
            vertices: self.n as u64,
            listed: self.n as u64,
            arcs: self.arcs,
            directed: self.directed,
            out_bytes: bytes(Direction::Out),
            in_bytes: if self.directed { bytes(Direction::In) } else { 0 },
            longest_list: 0,
            index_bytes: self.n as u64,
            weight_width: self.weight_kind().map_or(0, ColumnType::width) as u64,
        }
    }

    /// The end of the longest range of vertices from `from` on, at most `end`, whose lists take no more
    /// than `bytes` encoded bytes; at least one
    /// vertex further, if there is one.
    pub fn until(&self, direction: Direction, from: usize, end: usize, bytes: u64) -> usize {
        let limit = self.extent(direction, from.min(end)).start + bytes;
        let (mut low, mut high) = ((from + 1).min(end), end);
        while low < high {
            let middle = low.midpoint(high);
            if self.extent(direction, middle).end <= limit {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Degrees in a direction, one per vertex. Needs no lists of that direction in memory.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Cancelled`].
    pub fn degrees(&self, direction: Direction, cx: &Context) -> Result<Vec<u32>> {
        if let Some(lists) = self.decoded(direction) {
            let pairs = lists.starts().iter().zip(lists.starts().iter().skip(1));
            return Ok(pairs.map(|(from, to)| to - from).collect());
        }
        if let Some(store) = &self.store {
            return Ok(store.degrees(direction, cx.cancel_token())?);
        }
        let mut degrees = zeroed::<u32>(self.n, "degrees")?;
        let shared = share_u32(&mut degrees);
        self.scan(
            direction,
            cx,
            |_| (),
            |(), v, list| {
                if let Some(slot) = shared.get(v as usize) {
                    // Only a list of all 2^32 ids would not fit.
                    slot.store(u32::try_from(list.degree()).unwrap_or(u32::MAX), Relaxed);
                }
                Ok(())
            },
        )?;
        Ok(degrees)
    }

    /// The first two neighbours of each vertex; kept once they are loaded.
    ///
    /// # Errors
    /// Errors of reading; [`Error::Cancelled`].
    pub fn heads(&self, direction: Direction, cx: &Context) -> Result<Arc<Heads>> {
        let direction = self.resolve(direction);
        let slot = self.heads.get(head_slot(direction));
        if let Some(heads) = slot.and_then(OnceLock::get) {
            return Ok(Arc::clone(heads));
        }
        let heads = Arc::new(match &self.store {
            Some(store) => {
                let pairs = store.heads(direction, cx.cancel_token())?.into_pairs();
                let mut more = Bitmap::new(self.n);
                let degrees = store.degrees(direction, cx.cancel_token())?;
                degrees.iter().enumerate().filter(|(_, d)| **d > 2).for_each(|(v, _)| more.set(v));
                Heads { pairs, more }
            }
            None => self.heads_of_lists(direction, cx)?,
        });
        if let Some(slot) = slot {
            return Ok(Arc::clone(slot.get_or_init(|| heads)));
        }
        Ok(heads)
    }

    /// Takes first neighbours that were loaded before.
    fn set_heads(&self, direction: Direction, heads: Arc<Heads>) {
        if let Some(slot) = self.heads.get(head_slot(direction)) {
            // Loaded for this graph already: the same.
            _ = slot.set(heads);
        }
    }

    fn heads_of_lists(&self, direction: Direction, cx: &Context) -> Result<Heads> {
        let mut flat = zeroed::<u64>(self.n, "heads")?;
        let shared = share_u64(&mut flat);
        let more = AtomicBitmap::new(self.n);
        self.scan(
            direction,
            cx,
            |_| [0u32; codec::BLOCK],
            |block, v, list| {
                let found = list.first(2, block)?;
                let head =
                    |k: usize| if k < found { block.get(k).copied().unwrap_or(v) } else { v };
                if let Some(slot) = shared.get(v as usize) {
                    slot.store(u64::from(head(0)) | u64::from(head(1)) << 32, Relaxed);
                }
                if list.degree() > 2 {
                    more.set(v as usize);
                }
                Ok(())
            },
        )?;
        // Lossless: the two halves.
        let pairs = flat.iter().map(|&p| [p as u32, (p >> 32) as u32]).collect();
        Ok(Heads { pairs, more: more.into_bitmap() })
    }

    /// Position of each vertex in the ascending order of the users' ids: what algorithms
    /// compare when a result speaks of the smallest id. `None` if it is the internal order.
    ///
    /// # Errors
    /// Errors of reading the id files.
    pub fn id_ranks(&self, cx: &Context) -> Result<Option<Vec<u32>>> {
        self.by_ids(cx, IdMap::rank_of)
    }

    /// The vertices in the ascending order of the users' ids, the inverse of
    /// [`Graph::id_ranks`]. `None` if it is the internal order.
    ///
    /// # Errors
    /// As [`Graph::id_ranks`].
    pub fn vertices_by_id(&self, cx: &Context) -> Result<Option<Vec<VertexId>>> {
        self.by_ids(cx, IdMap::internal_by_rank)
    }

    /// Reads a permutation between ranks and vertices from the id files; `None` if it is the identity.
    fn by_ids(
        &self,
        cx: &Context,
        read: impl FnOnce(&IdMap) -> nakshi_store::Result<Vec<u32>>,
    ) -> Result<Option<Vec<u32>>> {
        cx.check()?;
        let Some(store) = &self.store else { return Ok(None) };
        let ids = store.ids()?.until(cx.cancel_token());
        if ids.ranks_are_internal() {
            return Ok(None);
        }
        let numbers = read(&ids)?;
        self.shared.stats.bytes_read.fetch_add(4 * numbers.len() as u64, Relaxed);
        Ok(Some(numbers))
    }

    /// The user's id of a vertex, as text for a message.
    ///
    /// # Errors
    /// Errors of reading the ids; [`Error::Cancelled`].
    pub(crate) fn name_of(&self, v: VertexId, cx: &Context) -> Result<String> {
        let Some(store) = &self.store else { return Ok(v.to_string()) };
        Ok(store.ids()?.until(cx.cancel_token()).external(v)?.to_string())
    }

    /// The internal id of a vertex that a user names in JSON: a number, a string (also for
    /// numbers), or `{"bytes": [...]}` for an id that is not UTF-8.
    ///
    /// # Errors
    /// [`Error::UnknownVertex`]; of reading; [`Error::Cancelled`].
    pub fn vertex_by_json(&self, id: &serde_json::Value, cx: &Context) -> Result<VertexId> {
        let unknown = || Error::UnknownVertex { id: id.to_string() };
        let Some(store) = &self.store else {
            let known = id.as_u64().filter(|&v| v < self.n as u64);
            return known.and_then(|v| VertexId::try_from(v).ok()).ok_or_else(unknown);
        };
        let external = ExternalId::of_json(id).ok_or_else(unknown)?;
        store.ids()?.until(cx.cancel_token()).internal(&external)?.ok_or_else(unknown)
    }
}

/// Index of the heads of a direction.
fn head_slot(direction: Direction) -> usize {
    match direction {
        Direction::Out => 0,
        Direction::In => 1,
    }
}
