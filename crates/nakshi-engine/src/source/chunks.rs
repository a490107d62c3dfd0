//! Reading ahead over the chunks of a side.

use super::data::Data;
use super::division::ChunkSpan;
use super::kept::KeptChunks;
use super::weights::Weights;
use super::{SCAN_DEPTH, Side, unit_weights, within};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::parallel::Tickets;
use crate::vertex_set::Bitmap;
use nakshi_io::{Block, BlockReader};
use nakshi_store::{List, Term, VertexId, codec};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The lists of one chunk, in memory.
#[derive(Debug)]
pub(crate) struct View<'a> {
    side: &'a Side,
    /// Number of the chunk.
    pub(crate) chunk: usize,
    /// Vertices of the chunk.
    pub(crate) vertices: Range<u64>,
    /// Bytes from `base` of the file of lists on.
    buf: &'a [u8],
    base: u64,
    /// Bytes from `weights_base` of the weight column on.
    weights: &'a [u8],
    weights_base: u64,
}

impl View<'_> {
    /// Visits every list of the chunk.
    #[inline]
    pub(crate) fn lists(
        &self,
        mut visit: impl FnMut(VertexId, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        if let Some(lists) = self.side.decoded() {
            for v in self.vertices.clone() {
                let v = id(v)?;
                visit(v, &lists.list(v))?;
            }
            return Ok(());
        }
        let extents = self.side.index.extents(self.vertices.clone());
        for (v, extent) in self.vertices.clone().zip(extents) {
            let list = self.side.list(self.buf, within(&extent, self.base)?)?;
            visit(id(v)?, &list)?;
        }
        Ok(())
    }

    /// Visits every vertex of the chunk with its degree and the sum of `values` over its neighbours.
    #[inline]
    pub(crate) fn sums<T: Term>(
        &self,
        values: &[T],
        mut visit: impl FnMut(VertexId, u64, f64),
    ) -> Result<()> {
        if let Some(lists) = self.side.decoded() {
            return Ok(lists.sum_each(self.vertices.clone(), values, visit)?);
        }
        // Lossless where the bytes are in memory; extents outside them are errors.
        let at = |extent: Range<u64>| {
            let place = |offset: u64| offset.saturating_sub(self.base) as usize;
            place(extent.start)..place(extent.end)
        };
        let extents = self.side.index.extents(self.vertices.clone()).map(at);
        let (encoding, lists) = (self.side.encoding, (self.buf, self.side.vertices));
        let mut v = self.vertices.start;
        codec::sum_lists(encoding, lists, extents, values, |degree, sum| {
            // Lossless: vertices are below 2^32.
            visit(v as VertexId, degree, sum);
            v += 1;
        })?;
        Ok(())
    }

    /// Visits the lists of those vertices of the chunk that are in `set`.
    pub(crate) fn selected(
        &self,
        set: &Bitmap,
        mut visit: impl FnMut(VertexId, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        // Lossless: vertices are below 2^32.
        let (from, to) = (self.vertices.start as usize, self.vertices.end as usize);
        if let Some(lists) = self.side.decoded() {
            for (base, mut word) in set.words_in(from, to) {
                while word != 0 {
                    let v = id((base + word.trailing_zeros() as usize) as u64)?;
                    word &= word - 1;
                    visit(v, &lists.list(v))?;
                }
            }
            return Ok(());
        }
        // Stepping over a vertex of the index costs an eighth of looking one up.
        let dense = set.count_in(from, to) > (to - from) / 8;
        let mut extents = dense.then(|| self.side.index.extents(self.vertices.clone()));
        let mut next = from;
        // Not `iter_in`: its nested iterator is not inlined, and this is the loop of every gather.
        for (base, mut word) in set.words_in(from, to) {
            while word != 0 {
                let v = base + word.trailing_zeros() as usize;
                word &= word - 1;
                let extent = match &mut extents {
                    Some(extents) => extents.nth(v - next).unwrap_or_default(),
                    None => self.side.extent(v as u64),
                };
                next = v + 1;
                visit(id(v as u64)?, &self.side.list(self.buf, within(&extent, self.base)?)?)?;
            }
        }
        Ok(())
    }

    /// The weights of the list of `v`, of this chunk.
    pub(crate) fn weights(&self, v: VertexId, degree: u64) -> Result<Weights<'_>> {
        let Some(column) = &self.side.weights else { return Ok(unit_weights(degree)) };
        let range = within(&self.side.weight_bytes(column, v), self.weights_base)?;
        column_weights(self.weights, range, column.kind, degree)
    }
}

/// The weights at `range` of `buf`, which must be as many as the list has entries.
pub(crate) fn column_weights(
    buf: &[u8],
    range: Range<usize>,
    kind: nakshi_store::ColumnType,
    degree: u64,
) -> Result<Weights<'_>> {
    let bytes = buf.get(range).unwrap_or_default();
    let len = bytes.len().checked_div(kind.width()).unwrap_or(0);
    if len as u64 != degree {
        let what = "a weight column whose lengths differ from its lists; import again".into();
        return Err(Error::Unsupported { what });
    }
    Ok(Weights::new(Some(kind), bytes, len))
}

fn id(v: u64) -> Result<VertexId> {
    VertexId::try_from(v).map_err(|_| Error::Unsupported { what: "more than 2^32 vertices".into() })
}

/// Hands one worker chunk after chunk, drawn from `tickets`, reading ahead on the SSD.
pub(crate) struct ChunkFeed<'a> {
    side: &'a Side,
    tickets: &'a Tickets,
    /// Chunk numbers behind the tickets; all chunks in order if `None`.
    order: Option<&'a [usize]>,
    ssd: Option<Ssd>,
}

/// The readers of one worker.
struct Ssd {
    /// Chunks that need no read: they are kept, or have no bytes.
    ready: VecDeque<usize>,
    kept: Option<Arc<KeptChunks>>,
    weighted: bool,
    lists: BlockReader,
    weights: Option<BlockReader>,
    /// Weights that came before the lists of their chunk were asked for.
    early: HashMap<u64, Block>,
    depth: usize,
}

impl<'a> ChunkFeed<'a> {
    pub(crate) fn new(
        side: &'a Side,
        weighted: bool,
        tickets: &'a Tickets,
        order: Option<&'a [usize]>,
        cx: &Context,
    ) -> Result<Self> {
        let ssd = match &side.data {
            Data::Memory(_) | Data::Decoded(_) => None,
            Data::Ssd(file) => {
                let column = side.weights.as_ref().filter(|_| weighted);
                let weights = match column.map(|c| &c.data) {
                    Some(Data::Ssd(file)) => Some(side.shared.blocks(file, side.blocks().1, cx)?),
                    _ => None,
                };
                // The last chunks shall not all wait in the queue of one worker.
                let fair = tickets.total() / (2 * cx.threads());
                let depth = fair.clamp(1, SCAN_DEPTH);
                let lists = side.shared.blocks(file, side.blocks().0, cx)?;
                Some(Ssd {
                    ready: VecDeque::new(),
                    kept: side.kept(),
                    weighted: column.is_some(),
                    lists,
                    weights,
                    early: HashMap::new(),
                    depth,
                })
            }
        };
        Ok(ChunkFeed { side, tickets, order, ssd })
    }

    fn draw(&self) -> Option<usize> {
        let ticket = self.tickets.draw()?;
        self.order.map_or(Some(ticket), |order| order.get(ticket).copied())
    }

    /// Runs `visit` on the next chunk; `false` when there is none left.
    pub(crate) fn next(&mut self, visit: &mut dyn FnMut(&View<'_>) -> Result<()>) -> Result<bool> {
        match self.ssd.take() {
            None => self.next_in_memory(visit),
            Some(mut ssd) => {
                let more = self.next_on_ssd(&mut ssd, visit)?;
                self.ssd = Some(ssd);
                Ok(more)
            }
        }
    }

    fn next_in_memory(&mut self, visit: &mut dyn FnMut(&View<'_>) -> Result<()>) -> Result<bool> {
        let Some(chunk) = self.draw() else { return Ok(false) };
        let Some(ChunkSpan { vertices, .. }) = self.side.span(chunk) else { return Ok(false) };
        let buf = match &self.side.data {
            Data::Memory(lists) => lists.with_slack(),
            // Views of decoded lists read these.
            _ => &[],
        };
        let weights = match self.side.weights.as_ref().map(|c| &c.data) {
            Some(Data::Memory(weights)) => weights.with_slack(),
            _ => &[],
        };
        visit(&View { side: self.side, chunk, vertices, buf, base: 0, weights, weights_base: 0 })?;
        Ok(true)
    }

    /// Keeps the readers busy with the chunks to come.
    fn ahead(&mut self, ssd: &mut Ssd) -> Result<()> {
        while ssd.lists.pending() < ssd.depth && ssd.ready.len() < ssd.depth {
            let Some(chunk) = self.draw() else { break };
            let Some(ChunkSpan { vertices, bytes }) = self.side.span(chunk) else { break };
            if bytes.is_empty() || ssd.kept(chunk).is_some() {
                ssd.ready.push_back(chunk);
                continue;
            }
            ssd.lists.submit(bytes, chunk as u64)?;
            if let (Some(reader), Some(column)) = (&mut ssd.weights, &self.side.weights) {
                reader.submit(column.bytes(vertices), chunk as u64)?;
            }
        }
        Ok(())
    }

    fn next_on_ssd(
        &mut self,
        ssd: &mut Ssd,
        visit: &mut dyn FnMut(&View<'_>) -> Result<()>,
    ) -> Result<bool> {
        self.ahead(ssd)?;
        // What needs no read is decoded while the reads are under way.
        if let Some(chunk) = ssd.ready.pop_front() {
            self.ahead(ssd)?;
            return self.visit_ready(ssd, chunk, visit).map(|()| true);
        }
        let Some(block) = ssd.lists.next()? else { return Ok(false) };
        let chunk = usize::try_from(block.token).unwrap_or(usize::MAX);
        self.ahead(ssd)?;
        let weights = match &mut ssd.weights {
            Some(reader) => weights_of(block.token, reader, &mut ssd.early)?,
            None => None,
        };
        if let Some(kept) = &ssd.kept {
            kept.put(chunk, &block, weights.as_ref());
        }
        let Some(ChunkSpan { vertices, .. }) = self.side.span(chunk) else { return Ok(false) };
        visit(&View {
            side: self.side,
            chunk,
            vertices,
            buf: block.slack(),
            base: block.range.start,
            weights: weights.as_ref().map_or(&[], Block::bytes),
            weights_base: weights.as_ref().map_or(0, |b| b.range.start),
        })?;
        Ok(true)
    }

    /// Visits a chunk that is kept or has no bytes.
    fn visit_ready(
        &self,
        ssd: &Ssd,
        chunk: usize,
        visit: &mut dyn FnMut(&View<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(ChunkSpan { vertices, bytes }) = self.side.span(chunk) else { return Ok(()) };
        let (buf, weights) = ssd.kept(chunk).unwrap_or_default();
        let pages = (bytes.end - bytes.start).div_ceil(self.side.page_size().into());
        self.side.shared.stats.pinned_hits.fetch_add(pages, Relaxed);
        let column = self.side.weights.as_ref().filter(|_| ssd.weighted);
        let weights_base = column.map_or(0, |column| column.bytes(vertices.clone()).start);
        visit(&View {
            side: self.side,
            chunk,
            vertices,
            buf,
            base: bytes.start,
            weights,
            weights_base,
        })
    }
}

impl Drop for ChunkFeed<'_> {
    fn drop(&mut self) {
        // None after a failure.
        let ssd = self.ssd.take().filter(|_| self.side.pools_readers());
        let Some(Ssd { lists, weights, .. }) = ssd else { return };
        if let Data::Ssd(file) = &self.side.data {
            self.side.shared.give_blocks(file, lists);
        }
        let column = self.side.weights.as_ref().map(|column| &column.data);
        if let (Some(Data::Ssd(file)), Some(reader)) = (column, weights) {
            self.side.shared.give_blocks(file, reader);
        }
    }
}

impl Ssd {
    fn kept(&self, chunk: usize) -> Option<(&[u8], &[u8])> {
        self.kept.as_ref()?.get(chunk, self.weighted)
    }
}

/// The block of weights with this token, whatever comes first.
fn weights_of(
    token: u64,
    reader: &mut BlockReader,
    early: &mut HashMap<u64, Block>,
) -> Result<Option<Block>> {
    if let Some(block) = early.remove(&token) {
        return Ok(Some(block));
    }
    while let Some(block) = reader.next()? {
        if block.token == token {
            return Ok(Some(block));
        }
        early.insert(block.token, block);
    }
    Ok(None)
}
