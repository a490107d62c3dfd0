//! Sources of edge lists: encoded lists in memory, or pages of a file on the SSD.
//!
//! Both hold the same bytes, so the same kernels run on both.
//!
//! * [`Side`]: the lists of one direction with their index and weight column;
//! * [`division`]: the fixed division of a side into chunks; [`chunks`]: reading ahead over them;
//! * [`kept`]: chunks that stay in memory from one scan to the next;
//! * [`pinned`]: the static cache, lists of chosen vertices that stay in memory;
//! * [`weights`]: the weights beside one list.

pub(crate) mod chunks;
mod data;
mod division;
mod kept;
pub(crate) mod pinned;
pub(crate) mod weights;

use crate::context::Context;
use crate::error::{Error, Result};
pub(crate) use data::Data;
use division::{CHUNK_BYTES, ChunkSpan};
use kept::{Keep, KeptChunks};
use nakshi_io::{CachedReader, GatherOptions, IoStats, PageCache, PagedFile, ReaderOptions};
use nakshi_store::{ColumnType, Encoding, List, ListIndex};
use pinned::Pinned;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use weights::Weights;

/// Reads in flight per worker of a scan.
pub(crate) const SCAN_DEPTH: usize = 4;
/// Reads in flight per worker of a gather.
const GATHER_DEPTH: usize = 32;
/// A request costs about 5 us of processor time and a megabyte 0.45 ms (measured with
/// io_uring and O_DIRECT), so up to this many bytes nobody wants are read along.
const GATHER_GAP_BYTES: u32 = 12 << 10;

/// A column of weights in the order of a side's list entries.
#[derive(Debug)]
pub(crate) struct WeightColumn {
    pub(crate) kind: ColumnType,
    /// Extents in entries (not bytes).
    pub(crate) entries: Arc<ListIndex>,
    pub(crate) data: Data,
}

impl WeightColumn {
    /// Bytes of the weights of vertices `from..to`.
    pub(crate) fn bytes(&self, vertices: Range<u64>) -> Range<u64> {
        let width = self.kind.width() as u64;
        self.entries.offset(vertices.start) * width..self.entries.offset(vertices.end) * width
    }
}

/// Statistics, options and page cache that the sides of a graph share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) stats: Arc<IoStats>,
    pub(crate) cache_bytes: usize,
    /// True if only pages of single lists are read.
    pub(crate) selective: bool,
    cache: OnceLock<Arc<PageCache>>,
}

impl Shared {
    pub(crate) fn new(cache_bytes: usize, cx: &Context) -> Arc<Self> {
        let stats = Arc::new(if cx.traced() { IoStats::tracing() } else { IoStats::new() });
        let selective = cx.selective();
        Arc::new(Shared { stats, cache_bytes, selective, cache: OnceLock::new() })
    }

    /// The page cache, made when the first gather needs it.
    fn cache(&self, page_size: u32) -> Result<Arc<PageCache>> {
        if let Some(cache) = self.cache.get() {
            return Ok(Arc::clone(cache));
        }
        let cache = PageCache::new(self.cache_bytes, page_size)?;
        Ok(Arc::clone(self.cache.get_or_init(|| cache)))
    }

    /// Units of the cache's pages that were used, and all of them.
    pub(crate) fn resident_units(&self) -> (u64, u64) {
        self.cache.get().map_or((0, 0), |cache| cache.resident_units())
    }

    /// A reader of selected ranges of `file` through the cache, for one worker.
    pub(crate) fn cached(&self, file: &Arc<PagedFile>, cx: &Context) -> Result<CachedReader> {
        let options = GatherOptions {
            depth: GATHER_DEPTH,
            gap: if self.selective { 0 } else { u64::from(GATHER_GAP_BYTES / file.page_size()) },
            cancel: Some(cx.cancel_token().clone()),
            ..GatherOptions::default()
        };
        let cache = self.cache(file.page_size())?;
        Ok(CachedReader::new(&cache, file, &options, Arc::clone(&self.stats))?)
    }

    /// A reader of ranges of about `block` bytes of `file` past the cache, for one worker.
    pub(crate) fn blocks(
        &self,
        file: &Arc<PagedFile>,
        block: u64,
        cx: &Context,
    ) -> Result<nakshi_io::BlockReader> {
        let options = ReaderOptions {
            depth: SCAN_DEPTH,
            // Lossless: a few times a small constant.
            block: block as usize,
            cancel: Some(cx.cancel_token().clone()),
        };
        Ok(file.reader_with(&options, Arc::clone(&self.stats))?)
    }
}

/// Bytes of weights of `width` bytes each beside a chunk of lists, for almost all chunks:
/// the densest lists take half a byte an entry. Beyond it a buffer is made for the chunk.
pub(crate) fn weight_block(width: u64) -> u64 {
    CHUNK_BYTES * 2 * width.clamp(1, 8)
}

/// The lists of one direction.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) index: Arc<ListIndex>,
    pub(crate) encoding: Encoding,
    /// Number of vertices: the bound of the ids in lists.
    pub(crate) vertices: u64,
    pub(crate) data: Data,
    pub(crate) weights: Option<WeightColumn>,
    pub(crate) shared: Arc<Shared>,
    keep: Keep,
    /// The static cache of this direction.
    pub(crate) pinned: Option<Pinned>,
    /// First vertex of each chunk, then the number of vertices; made at the first use.
    chunks: OnceLock<Vec<u64>>,
}

impl Side {
    pub(crate) fn new(
        index: Arc<ListIndex>,
        encoding: Encoding,
        data: Data,
        weights: Option<WeightColumn>,
        shared: Arc<Shared>,
    ) -> Self {
        let vertices = index.len();
        let (keep, chunks) = (Keep::new(0.0), OnceLock::new());
        Side { index, encoding, vertices, data, weights, shared, keep, pinned: None, chunks }
    }

    /// Keeps this share of the bytes that scans read in memory, if they are on the SSD.
    pub(crate) fn keep(&mut self, share: f64) {
        self.keep = Keep::new(share);
    }

    /// Gives the memory of kept chunks back; nothing is kept from now on.
    pub(crate) fn release(&self) {
        self.keep.release();
    }

    /// The chunks of lists on the SSD that are kept in memory.
    pub(crate) fn kept(&self) -> Option<Arc<KeptChunks>> {
        match self.data {
            Data::Memory(_) => None,
            Data::Ssd(_) => self.keep.kept(|| self.chunk_sizes()),
        }
    }

    /// The vertices and bytes of a chunk.
    fn span(&self, chunk: usize) -> Option<ChunkSpan> {
        division::span(self.chunk_starts(), &self.index, chunk)
    }

    /// Bytes of the lists of each chunk, and of their weights if there is a column.
    fn chunk_sizes(&self) -> Vec<(u64, Option<u64>)> {
        let bytes = |range: Range<u64>| range.end - range.start;
        let spans = (0..self.chunk_starts().len().saturating_sub(1)).map_while(|k| self.span(k));
        let size = |span: ChunkSpan| {
            let weights = self.weights.as_ref().map(|column| bytes(column.bytes(span.vertices)));
            (bytes(span.bytes), weights)
        };
        spans.map(size).collect()
    }

    /// The key of the file of lists, if there is one.
    pub(crate) fn key(&self) -> Option<u32> {
        match &self.data {
            Data::Memory(_) => None,
            Data::Ssd(file) => Some(file.key()),
        }
    }

    /// Bytes of a page of the lists; in memory there are none.
    fn page_size(&self) -> u32 {
        match &self.data {
            Data::Memory(_) => 1,
            Data::Ssd(file) => file.page_size(),
        }
    }

    /// Byte range of the list of `v`.
    #[inline]
    pub(crate) fn extent(&self, v: u64) -> Range<u64> {
        self.index.extent(v)
    }

    /// The list at `range` of `buf`.
    #[inline]
    pub(crate) fn list<'a>(&self, buf: &'a [u8], range: Range<usize>) -> Result<List<'a>> {
        Ok(List::new(self.encoding, buf, range)?.bounded(self.vertices))
    }

    /// The chunks: fixed by the lists alone, so that sums by chunk do not depend on threads
    /// or mode.
    pub(crate) fn chunk_starts(&self) -> &[u64] {
        self.chunks.get_or_init(|| division::divide(&self.index))
    }
}

/// The position of `range` of the file in a buffer that begins at `base` of the file.
#[inline]
pub(crate) fn within(range: &Range<u64>, base: u64) -> Result<Range<usize>> {
    let at = |offset: u64| offset.checked_sub(base).and_then(|o| usize::try_from(o).ok());
    match (at(range.start), at(range.end)) {
        (Some(from), Some(to)) => Ok(from..to),
        _ => Err(Error::Unsupported { what: "an edge list outside its chunk".into() }),
    }
}

/// The weights of a list of `degree` entries when there is no column.
pub(crate) fn unit_weights(degree: u64) -> Weights<'static> {
    Weights::new(None, &[], usize::try_from(degree).unwrap_or(usize::MAX))
}
