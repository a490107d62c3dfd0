//! The static cache: edge lists of chosen vertices that stay in memory (BASC, USENIX ATC 2019).

use super::{Data, Side};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::vertex_set::Bitmap;
use nakshi_io::{CachedReader, GatherOptions, IoStats, PageCache, Request, SLACK};
use nakshi_store::VertexId;
use std::ops::Range;
use std::sync::Arc;

/// Lists that are read at once while they are loaded.
const BATCH: usize = 4096;
/// Page cache while lists are loaded.
const CACHE: usize = 1 << 20;

/// Encoded lists of chosen vertices.
#[derive(Debug)]
pub(crate) struct Pinned {
    members: Bitmap,
    /// Members before each word of the bitmap.
    before: Vec<u32>,
    /// Where the list of each member begins in `bytes`, then the end of the last.
    starts: Vec<u64>,
    /// The lists, and what decoders may read behind them.
    bytes: Vec<u8>,
}

impl Pinned {
    /// Bytes of memory for these lists.
    pub(crate) fn memory(side_vertices: u64, lists: usize, bytes: u64) -> u64 {
        side_vertices / 8 + side_vertices / 16 + 8 * (lists as u64 + 1) + bytes + SLACK as u64
    }

    /// Reads the lists of `vertices`, which ascend, from the SSD.
    pub(crate) fn load(side: &Side, vertices: &[VertexId], cx: &Context) -> Result<Self> {
        let n = usize::try_from(side.vertices).unwrap_or(usize::MAX);
        let mut members = Bitmap::new(n);
        vertices.iter().for_each(|&v| members.set(v as usize));
        let mut count = 0u32;
        let before = members
            .words()
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        let mut starts = vec![0];
        let mut end = 0;
        for &v in vertices {
            let extent = side.extent(v.into());
            end += extent.end - extent.start;
            starts.push(end);
        }
        let refuse = || Error::Budget { what: "the static cache".into(), needed: end, given: 0 };
        let len = usize::try_from(end).map_err(|_| refuse())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len + SLACK).map_err(|_| refuse())?;
        bytes.resize(len + SLACK, 0);
        let mut pinned = Pinned { members, before, starts, bytes };
        if let Data::Ssd(file) = &side.data {
            let page = file.page_size();
            let cache = PageCache::new(CACHE.max(8 * page as usize), page)?;
            let options = GatherOptions {
                cancel: Some(cx.cancel_token().clone()),
                ..GatherOptions::default()
            };
            let mut reader = CachedReader::new(&cache, file, &options, Arc::new(IoStats::new()))?;
            pinned.fill(side, &mut reader, vertices, cx)?;
        }
        Ok(pinned)
    }

    fn fill(
        &mut self,
        side: &Side,
        reader: &mut CachedReader,
        vertices: &[VertexId],
        cx: &Context,
    ) -> Result<()> {
        let mut first = 0;
        for batch in vertices.chunks(BATCH) {
            cx.check()?;
            let requests: Vec<Request> = (0..)
                .zip(batch)
                .map(|(token, &v)| Request { range: side.extent(v.into()), token })
                .collect();
            let (starts, bytes) = (&self.starts, &mut self.bytes);
            reader.gather(&requests, &mut |token, pages| {
                let place = usize::try_from(token).ok().and_then(|k| starts.get(first + k));
                let mut at = place.map_or(usize::MAX, |&at| at as usize);
                for segment in pages.segments() {
                    if let Some(to) = bytes.get_mut(at..at.saturating_add(segment.len())) {
                        to.copy_from_slice(segment);
                    }
                    at = at.saturating_add(segment.len());
                }
                Ok(())
            })?;
            first += batch.len();
        }
        Ok(())
    }

    /// Where the list of `v` lies in [`Pinned::bytes`], if it is here.
    #[inline]
    pub(crate) fn find(&self, v: VertexId) -> Option<Range<usize>> {
        let v = v as usize;
        if !self.members.get(v) {
            return None;
        }
        let word = self.members.words().get(v / 64).copied().unwrap_or(0);
        let below = word & ((1u64 << (v % 64)) - 1);
        let number = (self.before.get(v / 64)? + below.count_ones()) as usize;
        let &[from, to] = self.starts.get(number..number + 2)? else { return None };
        // Lossless: within a vector.
        Some(from as usize..to as usize)
    }

    /// All lists, and what decoders may read behind them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
