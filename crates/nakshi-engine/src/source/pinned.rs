//! The static cache: edge lists of chosen vertices that stay in memory (BASC, USENIX ATC 2019).

use super::data::Data;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::vertex_set::Bitmap;
use nakshi_io::{CachedReader, GatherOptions, IoStats, PageCache, Request, SLACK};
use nakshi_store::{CachePlan, Direction, ListIndex, Store, VertexId};
use std::ops::Range;
use std::sync::Arc;

/// Lists that are read at once while they are loaded.
const BATCH: usize = 4096;
/// Page cache while lists are loaded.
const CACHE: usize = 1 << 20;

/// The cache plan of `store` where `cx` asks for one. An algorithm that takes the spare memory for
/// itself reads lists in turn and has no use for it.
pub(crate) fn plan(store: &Store, takes_spare: bool, cx: &Context) -> Result<Option<CachePlan>> {
    if !cx.static_cache() || takes_spare {
        return Ok(None);
    }
    let plan = CachePlan::load(store)?.ok_or_else(|| {
        let path = store.path().display();
        let what = format!("there is no cache plan in {path}; make one with `nakshi cache-plan`");
        Error::parameter("static_cache", what)
    })?;
    Ok(Some(plan))
}

/// Encoded lists of chosen vertices, one behind the other. Where each begins follows from the
/// lengths in the side's index and a place for every 64 vertices, so that short lists cost little
/// more than their bytes.
#[derive(Debug)]
pub(crate) struct Pinned {
    members: Bitmap,
    /// For each word of the bitmap, the offset in `bytes` at which the lists of its members begin.
    starts: Vec<u64>,
    /// The lists, and what decoders may read behind them.
    bytes: Vec<u8>,
}

impl Pinned {
    /// Bytes of memory that the lists of `plan` take in the `directions` that a run reads.
    pub(crate) fn memory_of(store: &Store, directions: &[Direction], plan: &CachePlan) -> u64 {
        let wanted: Vec<Direction> = directions.iter().map(|&d| store.resolve(d)).collect();
        let sides = plan.sides.iter().filter(|side| wanted.contains(&side.direction));
        sides.map(|side| store.num_vertices() / 4 + 16 + side.bytes + SLACK as u64).sum()
    }

    /// Reads the lists of `vertices`, which ascend, from `data`, where `index` says.
    pub(crate) fn load(
        (index, data): (&ListIndex, &Data),
        vertices: &[VertexId],
        cx: &Context,
    ) -> Result<Self> {
        let n = usize::try_from(index.len()).unwrap_or(usize::MAX);
        let mut members = Bitmap::new(n);
        let mut starts = vec![0; n.div_ceil(64)];
        let mut end = 0;
        for &v in vertices {
            members.set(v as usize);
            let extent = index.extent(v.into());
            end += extent.end - extent.start;
            if let Some(next) = starts.get_mut(v as usize / 64 + 1) {
                *next = end;
            }
        }
        // Words without members begin where the one before ends.
        let mut last = 0;
        for start in &mut starts {
            last = last.max(*start);
            *start = last;
        }
        let refuse = || Error::Budget { what: "the static cache".into(), needed: end, given: 0 };
        let len = usize::try_from(end).map_err(|_| refuse())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len + SLACK).map_err(|_| refuse())?;
        bytes.resize(len + SLACK, 0);
        let mut pinned = Pinned { members, starts, bytes };
        if let Data::Ssd(file) = data {
            let page = file.page_size();
            let cache = PageCache::new(CACHE.max(8 * page as usize), page)?;
            let options = GatherOptions {
                cancel: Some(cx.cancel_token().clone()),
                ..GatherOptions::default()
            };
            let mut reader = CachedReader::new(&cache, file, &options, Arc::new(IoStats::new()))?;
            pinned.fill(index, &mut reader, vertices, cx)?;
        }
        Ok(pinned)
    }

    fn fill(
        &mut self,
        index: &ListIndex,
        reader: &mut CachedReader,
        vertices: &[VertexId],
        cx: &Context,
    ) -> Result<()> {
        let mut end = 0;
        for batch in vertices.chunks(BATCH) {
            cx.check()?;
            let mut places = Vec::with_capacity(batch.len());
            let requests: Vec<Request> = (0..)
                .zip(batch)
                .map(|(token, &v)| {
                    let range = index.extent(v.into());
                    places.push(end);
                    // Lossless: within a vector.
                    end += (range.end - range.start) as usize;
                    Request { range, token }
                })
                .collect();
            let bytes = &mut self.bytes;
            reader.gather::<Error>(&requests, &mut |token, pages| {
                let place = usize::try_from(token).ok().and_then(|k| places.get(k));
                let mut at = place.copied().unwrap_or(usize::MAX);
                for segment in pages.segments() {
                    if let Some(to) = bytes.get_mut(at..at.saturating_add(segment.len())) {
                        to.copy_from_slice(segment);
                    }
                    at = at.saturating_add(segment.len());
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Where the list of `v` lies in [`Pinned::bytes`], if it is here.
    #[inline]
    pub(crate) fn find(&self, index: &ListIndex, v: VertexId) -> Option<Range<usize>> {
        let v = v as usize;
        if !self.members.get(v) {
            return None;
        }
        let word = v / 64;
        let mut start = *self.starts.get(word)?;
        let before = self.members.iter_in(word * 64, v);
        for other in before {
            let extent = index.extent(other as u64);
            start += extent.end - extent.start;
        }
        let extent = index.extent(v as u64);
        // Lossless: within a vector.
        Some(start as usize..(start + extent.end - extent.start) as usize)
    }

    /// All lists, and what decoders may read behind them.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
