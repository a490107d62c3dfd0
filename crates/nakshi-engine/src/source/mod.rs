//! Sources of edge lists: encoded lists in memory, or pages of a file on the SSD.
//!
//! Both hold the same bytes, so the same kernels run on both.
//!
//! * [`Side`]: the lists of one direction with their index and weight column;
//! * [`division`]: the fixed division of a side into chunks; [`chunks`]: reading ahead over them;
//! * [`idle`]: readers that wait for the next pass;
//! * [`kept`]: chunks that stay in memory from one scan to the next;
//! * [`pinned`]: the static cache, lists of chosen vertices that stay in memory;
//! * [`weights`]: the weights beside one list.

pub(crate) mod chunks;
mod data;
mod division;
mod idle;
mod kept;
pub(crate) mod pinned;
pub(crate) mod weights;

use crate::context::Context;
use crate::error::{Error, Result};
pub(crate) use data::Data;
use division::{CHUNK_BYTES, ChunkSpan};
use idle::Idle;
pub(crate) use kept::Keep;
use kept::KeptChunks;
use nakshi_io::{
    BlockReader, CachedReader, GatherOptions, IoStats, PageCache, PagedFile, ReaderOptions,
};
use nakshi_store::{ColumnType, DecodedLists, Encoding, List, ListIndex, VertexId};
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
pub(crate) const GATHER_GAP_BYTES: u32 = 12 << 10;

/// A column of weights in the order of a side's list entries.
#[derive(Clone, Debug)]
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
    idle_cached: Idle<CachedReader>,
    idle_blocks: Idle<BlockReader>,
}

impl Shared {
    pub(crate) fn new(cache_bytes: usize, cx: &Context) -> Arc<Self> {
        let stats = Arc::new(if cx.traced() { IoStats::tracing() } else { IoStats::new() });
        let selective = cx.selective();
        let (idle_cached, idle_blocks) = (Idle::default(), Idle::default());
        let cache = OnceLock::new();
        Arc::new(Shared { stats, cache_bytes, selective, cache, idle_cached, idle_blocks })
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
        let mut reader = self.idle_cached.take(file.key(), || {
            Ok(CachedReader::new(&cache, file, &options, Arc::clone(&self.stats))?)
        })?;
        reader.set_cancel(options.cancel);
        Ok(reader)
    }

    /// Takes a reader of `file` back, none of whose reads failed.
    pub(crate) fn give_cached(&self, file: &PagedFile, reader: CachedReader) {
        self.idle_cached.put(file.key(), reader);
    }

    /// A reader of ranges of about `block` bytes of `file` past the cache, for one worker.
    pub(crate) fn blocks(
        &self,
        file: &Arc<PagedFile>,
        block: u64,
        cx: &Context,
    ) -> Result<BlockReader> {
        // Lossless: a few times a small constant.
        let options = scan_options(block as usize);
        let options = ReaderOptions { cancel: Some(cx.cancel_token().clone()), ..options };
        let mut reader = self
            .idle_blocks
            .take(file.key(), || Ok(file.reader_with(&options, Arc::clone(&self.stats))?))?;
        reader.set_cancel(options.cancel);
        Ok(reader)
    }

    /// Takes a reader of `file` back, if nothing is left to read of what it was asked for.
    pub(crate) fn give_blocks(&self, file: &PagedFile, reader: BlockReader) {
        if reader.pending() == 0 {
            self.idle_blocks.put(file.key(), reader);
        }
    }
}

/// Bytes of a block up to which readers of whole chunks wait for the next pass.
const POOLED_BLOCK: u64 = 64 << 10;

/// Options of a reader of whole chunks.
fn scan_options(block: usize) -> ReaderOptions {
    ReaderOptions { depth: SCAN_DEPTH, block, cancel: None }
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
    keep: Arc<Keep>,
    /// The static cache of this direction.
    pub(crate) pinned: Option<Pinned>,
    /// First vertex of each chunk, then the number of vertices; made at the first use.
    chunks: OnceLock<Vec<u64>>,
    blocks: OnceLock<(u64, u64)>,
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
        let (keep, chunks) = (Arc::new(Keep::new(0.0)), OnceLock::new());
        let (pinned, blocks) = (None, OnceLock::new());
        Side { index, encoding, vertices, data, weights, shared, keep, pinned, chunks, blocks }
    }

    /// Keeps this share of the bytes that scans read in memory, if they are on the SSD. Goes on with what
    /// an earlier run has `kept`, if that was the same share.
    pub(crate) fn keep(&mut self, share: f64, kept: Option<Arc<Keep>>) -> &Arc<Keep> {
        let kept = kept.filter(|kept| kept.serves(share));
        self.keep = kept.unwrap_or_else(|| Arc::new(Keep::new(share)));
        &self.keep
    }

    /// Bytes of the largest blocks that are read of lists and of weights: those of the largest chunk, or of
    /// the buffers that an estimate counts.
    pub(crate) fn blocks(&self) -> (u64, u64) {
        *self.blocks.get_or_init(|| {
            let sizes = self.chunk_sizes();
            let lists = sizes.iter().map(|sizes| sizes.0).max().unwrap_or(0);
            let weights = sizes.iter().filter_map(|sizes| sizes.1).max().unwrap_or(0);
            let width = self.weights.as_ref().map_or(1, |column| column.kind.width() as u64);
            (lists.min(CHUNK_BYTES), weights.min(weight_block(width)))
        })
    }

    /// True if readers wait for the next pass. In a large graph they would take the memory that others are
    /// counted for, and a pass takes so long that new ones cost little.
    pub(crate) fn pools_readers(&self) -> bool {
        self.blocks().0 <= POOLED_BLOCK
    }

    /// Bytes of a worker's buffers that an estimate counts and this side does not take, because the chunks
    /// of a small graph are small.
    pub(crate) fn spare_buffers(&self) -> u64 {
        let (lists, weights) = self.blocks();
        let spare = |planned: u64, most: u64, data: &Data| match data {
            Data::Ssd(file) => {
                // Lossless: a few times a small constant.
                let memory = |block: u64| scan_options(block as usize).memory(file.page_size());
                memory(planned).saturating_sub(memory(most)) as u64
            }
            _ => 0,
        };
        let column = self.weights.as_ref().map_or(0, |column| {
            spare(weight_block(column.kind.width() as u64), weights, &column.data)
        });
        let spare = spare(CHUNK_BYTES, lists, &self.data) + column;
        // Measured with `tests/memory.rs`: other parts of a run use some of it where blocks are larger.
        if self.pools_readers() { spare } else { spare / 2 }
    }

    /// Gives the memory of kept chunks back; nothing is kept from now on.
    pub(crate) fn release(&self) {
        self.keep.release();
    }

    /// The chunks of lists on the SSD that are kept in memory.
    pub(crate) fn kept(&self) -> Option<Arc<KeptChunks>> {
        match self.data {
            Data::Memory(_) | Data::Decoded(_) => None,
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
            Data::Memory(_) | Data::Decoded(_) => None,
            Data::Ssd(file) => Some(file.key()),
        }
    }

    /// Bytes of a page of the lists; in memory there are none.
    pub(crate) fn page_size(&self) -> u32 {
        match &self.data {
            Data::Memory(_) | Data::Decoded(_) => 1,
            Data::Ssd(file) => file.page_size(),
        }
    }

    /// Byte range of the lists of several vertices.
    pub(crate) fn bytes(&self, vertices: Range<u64>) -> Range<u64> {
        self.index.offset(vertices.start)..self.index.offset(vertices.end)
    }

    /// Byte range of the list of `v`.
    #[inline]
    pub(crate) fn extent(&self, v: u64) -> Range<u64> {
        self.index.extent(v)
    }

    /// The lists, if they are decoded.
    #[inline]
    pub(crate) fn decoded(&self) -> Option<&DecodedLists> {
        match &self.data {
            Data::Decoded(lists) => Some(lists),
            _ => None,
        }
    }

    /// Length of the list of `v`: its encoded bytes, or its entries where it is decoded, which encoded
    /// take a byte or a little more.
    #[inline]
    pub(crate) fn length(&self, v: VertexId) -> u64 {
        let v = u64::from(v);
        let extent = match self.decoded() {
            Some(lists) => lists.entries(v..v + 1),
            None => self.extent(v),
        };
        extent.end - extent.start
    }

    /// Places of the weights of a list in their column, in bytes.
    #[inline]
    pub(crate) fn weight_bytes(&self, column: &WeightColumn, v: VertexId) -> Range<u64> {
        let v = u64::from(v);
        match self.decoded() {
            Some(lists) => {
                let (entries, width) = (lists.entries(v..v + 1), column.kind.width() as u64);
                entries.start * width..entries.end * width
            }
            None => column.bytes(v..v + 1),
        }
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
