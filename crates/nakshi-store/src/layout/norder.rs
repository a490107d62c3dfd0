//! Norder: the neighbours of vertices with many in-edges get consecutive positions.
//!
//! E. Lee et al., "Pre-Select Static Caching and Neighborhood Ordering for BFS-like Algorithms on
//! Disk-based Graph Engines", USENIX ATC 2019, section 4.2. Every vertex is a root once, in
//! descending order of in-degree, ties by external id. From each root a search of bounded depth
//! follows out-edges in the order of ids, and numbers every vertex that has no number yet. A
//! numbered vertex is not expanded again, so every list is read at most twice.
//!
//! State: order of the roots, position and rank of every vertex, slightly over 12 bytes. Lists are
//! in memory if they fit, and read in batches if not.

use std::cmp::Reverse;
use std::sync::Arc;

use nakshi_io::{CachedReader, GatherOptions, IoStats, PageCache, Request, Resident};

use super::csr::reserved;
use super::{LayoutInput, Ordering, all};
use crate::hooks::{Hooks, Progress};
use crate::{Adjacency, Direction, Error, Manifest, Permutation, Result, Store, VertexId};

/// Mark of a vertex without a position.
const NONE: VertexId = VertexId::MAX;
/// Most lists that are requested at a time.
const BATCH: usize = 512;
/// Most bytes of lists that are requested at a time.
const BATCH_BYTES: u64 = 256 << 10;
/// The smallest page cache.
const LEAST_CACHE: u64 = 256 << 10;
/// Page cache for lists that do not fit, without a memory budget.
const DEFAULT_CACHE: u64 = 256 << 20;

/// Breadth-first searches of bounded depth from all vertices, hubs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Norder {
    /// Number of edges that a search follows. Default 2.
    pub depth: u32,
}

impl Default for Norder {
    fn default() -> Self {
        Norder { depth: 2 }
    }
}

impl Ordering for Norder {
    fn name(&self) -> &'static str {
        "norder"
    }

    fn memory(&self, store: &Store) -> u64 {
        let entry = store.entry(Direction::Out);
        let lists = entry
            .map_or(0, |e| Manifest::index_memory(e) + 2 * e.max_list_bytes + 16 * e.max_degree);
        // Three tables and one more bit, and a byte while the permutation is checked.
        13 * store.num_vertices() + lists + 16 * BATCH_BYTES + LEAST_CACHE
    }

    fn permutation(&self, source: &LayoutInput<'_>) -> Result<Permutation> {
        if self.depth == 0 {
            return Err(Error::Invalid("a depth of 0 edges; choose 1 or more".into()));
        }
        let roots = roots(source)?;
        let ranks = source.ranks()?;
        let spare = match source.memory {
            Some(memory) => memory.saturating_sub(self.memory(source.store)) + LEAST_CACHE,
            None => DEFAULT_CACHE,
        };
        let whole = source.memory.is_none();
        let mut search = Search {
            lists: OutLists::open(source, spare, whole)?,
            ranks,
            places: reserved(roots.len())?,
            expanded: reserved(roots.len().div_ceil(64))?,
            next: 0,
        };
        search.places.resize(roots.len(), NONE);
        search.expanded.resize(roots.len().div_ceil(64), 0);
        let (mut batch, mut fetched) = (Vec::new(), Vec::new());
        let mut rest = roots.as_slice();
        while !rest.is_empty() {
            source.hooks.check()?;
            let done = (roots.len() - rest.len()) as u64;
            let total = Some(roots.len() as u64);
            source.hooks.tell(Progress { phase: "layout", done, total, edges: 0 });
            // An expanded root has only numbered neighbours.
            batch.clear();
            let mut bytes = 0;
            while let Some((&root, more)) = rest.split_first() {
                rest = more;
                if !search.is_expanded(root) {
                    batch.push(root);
                    bytes += search.lists.bytes(root);
                    if batch.len() >= BATCH || bytes >= BATCH_BYTES {
                        break;
                    }
                }
            }
            search.fetch(&batch, &mut fetched)?;
            for (&root, neighbours) in batch.iter().zip(&fetched) {
                search.search_from(root, neighbours, self.depth, &source.hooks)?;
            }
        }
        Permutation::from_new_of_old(search.places)
    }
}

/// Returns all vertices by descending in-degree, ties by rank.
fn roots(source: &LayoutInput<'_>) -> Result<Vec<VertexId>> {
    let degrees = source.store.degrees(Direction::In, &source.hooks.cancel)?;
    let degree = |v: VertexId| degrees.get(v as usize).copied().unwrap_or(0);
    let ranks = source.ranks()?;
    let rank = |v: VertexId| ranks.as_ref().and_then(|r| r.get(v as usize)).copied().unwrap_or(v);
    let mut roots = all(degrees.len() as u64)?;
    roots.sort_unstable_by_key(|&v| (Reverse(degree(v)), rank(v)));
    Ok(roots)
}

/// The searches and the numbers that they have assigned.
struct Search<'s> {
    lists: OutLists<'s>,
    ranks: Option<Vec<u32>>,
    places: Vec<VertexId>,
    /// A bit for each vertex whose neighbours all have positions.
    expanded: Vec<u64>,
    next: VertexId,
}

impl Search<'_> {
    fn is_expanded(&self, v: VertexId) -> bool {
        self.expanded.get(v as usize / 64).is_some_and(|word| word >> (v % 64) & 1 == 1)
    }

    /// Gives `v` the next position; returns `false` if it already has one.
    fn number(&mut self, v: VertexId) -> bool {
        match self.places.get_mut(v as usize) {
            Some(place) if *place == NONE => {
                *place = self.next;
                self.next += 1;
                true
            }
            _ => false,
        }
    }

    /// Numbers the neighbours of `v`; the newly numbered ones are appended to `fresh`.
    fn expand(&mut self, v: VertexId, neighbours: &[VertexId], fresh: &mut Vec<VertexId>) {
        if let Some(word) = self.expanded.get_mut(v as usize / 64) {
            *word |= 1 << (v % 64);
        }
        for &u in neighbours {
            if self.number(u) {
                fresh.push(u);
            }
        }
    }

    fn search_from(
        &mut self,
        root: VertexId,
        neighbours: &[VertexId],
        depth: u32,
        hooks: &Hooks,
    ) -> Result<()> {
        if self.is_expanded(root) {
            return Ok(());
        }
        self.number(root);
        let mut frontier = Vec::new();
        self.expand(root, neighbours, &mut frontier);
        let mut fetched = Vec::new();
        for _ in 1..depth {
            let mut next = Vec::new();
            let mut rest = frontier.as_slice();
            while !rest.is_empty() {
                hooks.check()?;
                let mut bytes = 0;
                let fits = rest.iter().take(BATCH).take_while(|&&v| {
                    let first = bytes == 0;
                    bytes += self.lists.bytes(v).max(1);
                    first || bytes <= BATCH_BYTES
                });
                let count = fits.count();
                let (batch, more) = rest.split_at(count);
                rest = more;
                self.fetch(batch, &mut fetched)?;
                for (&v, neighbours) in batch.iter().zip(&fetched) {
                    self.expand(v, neighbours, &mut next);
                }
            }
            frontier = next;
        }
        Ok(())
    }

    /// Returns the neighbours of each vertex, ascending by rank.
    fn fetch(&mut self, vertices: &[VertexId], fetched: &mut Vec<Vec<VertexId>>) -> Result<()> {
        fetched.resize_with(fetched.len().max(vertices.len()), Vec::new);
        self.lists.fetch(vertices, fetched)?;
        if let Some(ranks) = &self.ranks {
            for list in fetched.iter_mut().take(vertices.len()) {
                list.sort_unstable_by_key(|&u| ranks.get(u as usize).copied().unwrap_or(u));
            }
        }
        Ok(())
    }
}

/// The out-lists of any vertex, all in memory or on pages of the file behind a cache.
struct OutLists<'s> {
    adjacency: &'s Adjacency,
    data: ListData,
    requests: Vec<Request>,
    scratch: Vec<u8>,
}

enum ListData {
    Memory(Resident),
    Ssd(Box<CachedReader>),
}

impl<'s> OutLists<'s> {
    /// Opens the lists with `spare` bytes of memory, or all of them in memory if `uncapped`.
    fn open(source: &LayoutInput<'s>, spare: u64, uncapped: bool) -> Result<Self> {
        let adjacency = source.store.adjacency_until(Direction::Out, &source.hooks.cancel)?;
        let file = adjacency.file();
        let data = if uncapped || file.len() <= spare {
            ListData::Memory(file.load(&source.hooks.cancel)?)
        } else {
            let page = file.page_size();
            // A cache takes less than an eighth beyond its pages.
            let bytes = spare.max(LEAST_CACHE).max(8 * u64::from(page)) / 8 * 7;
            let cache = PageCache::new(usize::try_from(bytes).unwrap_or(usize::MAX), page)?;
            let options = GatherOptions {
                cancel: Some(source.hooks.cancel.clone()),
                ..GatherOptions::default()
            };
            let reader = CachedReader::new(&cache, file, &options, Arc::new(IoStats::new()))?;
            ListData::Ssd(Box::new(reader))
        };
        Ok(OutLists { adjacency, data, requests: Vec::new(), scratch: Vec::new() })
    }

    /// Returns the bytes of the encoded list of `v`.
    fn bytes(&self, v: VertexId) -> u64 {
        let extent = self.adjacency.extent(v);
        extent.end - extent.start
    }

    /// Decodes the list of each vertex into the vector at its index.
    fn fetch(&mut self, vertices: &[VertexId], into: &mut [Vec<VertexId>]) -> Result<()> {
        let adjacency = self.adjacency;
        into.iter_mut().for_each(Vec::clear);
        let decode =
            |bytes: &[u8], range: std::ops::Range<usize>, k: usize, to: &mut [Vec<u32>]| {
                let blame = |error| adjacency.blame(vertices.get(k).copied().unwrap_or(0), error);
                match to.get_mut(k) {
                    Some(to) => adjacency
                        .list(bytes, range)
                        .and_then(|list| list.decode_into(to))
                        .map_err(blame),
                    None => Ok(()),
                }
            };
        match &mut self.data {
            ListData::Memory(lists) => {
                for (k, &v) in vertices.iter().enumerate() {
                    let extent = adjacency.extent(v);
                    let range = extent.start as usize..extent.end as usize;
                    decode(lists.with_slack(), range, k, into)?;
                }
                Ok(())
            }
            ListData::Ssd(reader) => {
                self.requests.clear();
                self.requests.extend(
                    (0..)
                        .zip(vertices)
                        .map(|(token, &v)| Request { range: adjacency.extent(v), token }),
                );
                let scratch = &mut self.scratch;
                reader.gather(&self.requests, &mut |token, pages| {
                    let bytes = pages.with_slack(scratch);
                    let k = usize::try_from(token).unwrap_or(usize::MAX);
                    decode(bytes.buf, bytes.range.clone(), k, into)
                })
            }
        }
    }
}
