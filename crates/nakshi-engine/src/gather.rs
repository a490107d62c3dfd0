//! *Gather*: the lists of selected vertices, with merged reads.
//!
//! Per chunk of the file the cheaper way is taken: a chunk of which the selected lists take
//! most pages, or many places, is read whole and past the cache, as by a scan; otherwise their
//! pages are requested through the page cache, sorted and merged. A chunk that
//! is in memory anyway is not read at all. Since pages
//! with a small gap between them are read in one request, a gather never costs much more
//! than a scan.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::parallel::{Tickets, share_work};
use crate::scan::run;
use crate::shared::prefetch;
use crate::source::chunks::{View, column_weights};
use crate::source::weights::Weights;
use crate::source::{Data, GATHER_GAP_BYTES, Side, unit_weights, within};
use crate::vertex_set::VertexSet;
use nakshi_io::{CachedReader, PageSlice, Request};
use nakshi_store::{DecodedLists, Direction, List, VertexId};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of lists below which a pass is not worth a second thread.
pub(crate) const INLINE_BYTES: u64 = 32 << 10;
/// Members above which their bytes are not counted: surely enough for all threads.
const COUNTED: usize = 4096;
/// Requests given to the cache at once.
const BATCH: usize = 1024;
/// Bytes of lists in a batch of requests, so that few long lists spread over the workers.
const BATCH_BYTES: u64 = 64 << 10;
/// Lists in memory whose first bytes the processor fetches while it visits others.
pub(crate) const AHEAD: usize = 64;
/// So many lists through the page cache cost as much as to read a page.
const LISTS_PER_PAGE: u64 = 16;

impl Graph {
    /// Visits the list of every vertex of `set` exactly once; empty lists too. Reads of
    /// lists that lie near each other are merged; where the set is so dense that reading
    /// everything is cheaper, it does.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn gather<W: Send>(
        &self,
        direction: Direction,
        set: &VertexSet,
        cx: &Context,
        init: impl Fn(usize) -> W + Sync,
        visit: impl Fn(&mut W, VertexId, &List<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let side = self.side(direction)?;
        let plan = Plan::new(side, false, set);
        let mut values =
            plan.dense(side, false, set, cx, &init, |w, _, v, list| visit(w, v, list))?;
        values.extend(plan.sparse(side, set, cx, &init, |w, reader, requests| {
            reader.read(requests, &mut |_, v, list| visit(w, v, list))
        })?);
        Ok(values)
    }

    /// As [`Graph::gather`], with the weights of each list (all 1 without a weight column).
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn gather_weighted<W: Send>(
        &self,
        direction: Direction,
        set: &VertexSet,
        cx: &Context,
        init: impl Fn(usize) -> W + Sync,
        visit: impl Fn(&mut W, VertexId, &List<'_>, &Weights<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let side = self.side(direction)?;
        let plan = Plan::new(side, true, set);
        let mut values = plan.dense(side, true, set, cx, &init, |w, view, v, list| {
            visit(w, v, list, &view.weights(v, list.degree())?)
        })?;
        values.extend(plan.sparse(side, set, cx, &init, |w, reader, requests| {
            reader.read_weighted(requests, &mut |_, v, list, weights| visit(w, v, list, weights))
        })?);
        Ok(values)
    }

    /// A reader for one worker that fetches lists of arbitrary vertices in batches.
    ///
    /// # Errors
    /// Errors of setting up the reads.
    pub fn reader<'g>(&'g self, direction: Direction, cx: &Context) -> Result<ListReader<'g>> {
        cx.check()?;
        ListReader::new(self.side(direction)?, cx)
    }
}

/// The chunks of a gather, by how they are read.
struct Plan {
    dense: Vec<usize>,
    sparse: Vec<usize>,
    /// True if there is too little work for a second thread.
    small: bool,
}

impl Plan {
    fn new(side: &Side, weighted: bool, set: &VertexSet) -> Plan {
        let length = || set.iter().map(|v| side.length(v)).sum::<u64>();
        let small = set.count() <= COUNTED && length() <= INLINE_BYTES;
        let mut plan = Plan { dense: Vec::new(), sparse: Vec::new(), small };
        if set.is_empty() {
            return plan;
        }
        let (in_memory, kept) = (side.data.in_memory(), side.kept());
        // In the papers' way of reading, pages of single lists are all that is asked for.
        let selective = side.shared.selective;
        let at_hand = |chunk| {
            let found = kept.as_ref().and_then(|kept| kept.get(chunk, weighted));
            in_memory || found.is_some()
        };
        for (chunk, pair) in side.chunk_starts().windows(2).enumerate() {
            let &[from, to] = pair else { continue };
            // Lossless: vertices are below 2^32.
            if set.bits().iter_in(from as usize, to as usize).next().is_some() {
                let dense = || !selective && is_dense(side, set, from..to);
                let whole = at_hand(chunk) || dense();
                if whole { &mut plan.dense } else { &mut plan.sparse }.push(chunk);
            }
        }
        plan
    }

    fn context(&self, cx: &Context) -> Context {
        if self.small { cx.clone().with_threads(1) } else { cx.clone() }
    }

    /// Visits the members in the dense chunks.
    fn dense<W: Send>(
        &self,
        side: &Side,
        weighted: bool,
        set: &VertexSet,
        cx: &Context,
        init: &(impl Fn(usize) -> W + Sync),
        visit: impl Fn(&mut W, &View<'_>, VertexId, &List<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        if self.dense.is_empty() {
            return Ok(Vec::new());
        }
        run(side, weighted, Some(&self.dense), &self.context(cx), init, |w, view| {
            view.selected(set.bits(), |v, list| visit(w, view, v, list))
        })
    }

    /// Reads the members in the sparse chunks in batches.
    fn sparse<W: Send>(
        &self,
        side: &Side,
        set: &VertexSet,
        cx: &Context,
        init: &(impl Fn(usize) -> W + Sync),
        read: impl Fn(&mut W, &mut ListReader<'_>, &[(VertexId, u64)]) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        if self.sparse.is_empty() {
            return Ok(Vec::new());
        }
        let tickets = Tickets::new(self.sparse.len());
        let threads = self.context(cx).threads().min(self.sparse.len());
        share_work(threads, |worker| {
            let mut w = init(worker);
            let mut work = || -> Result<()> {
                // The other workers may have taken all chunks before this one began.
                let Some(first) = tickets.draw() else { return Ok(()) };
                let mut reader = ListReader::new(side, cx)?;
                let mut requests = Vec::with_capacity(BATCH);
                let mut bytes = 0;
                let later = std::iter::from_fn(|| tickets.draw());
                for ticket in std::iter::once(first).chain(later) {
                    cx.check()?;
                    let starts =
                        self.sparse.get(ticket).and_then(|&k| side.chunk_starts().get(k..k + 2));
                    let Some(&[from, to]) = starts else { continue };
                    let members = set.bits().iter_in(from as usize, to as usize);
                    for v in members {
                        let extent = side.extent(v as u64);
                        bytes += extent.end - extent.start;
                        // Lossless: vertices are below 2^32.
                        requests.push((v as VertexId, 0));
                        if requests.len() >= BATCH || bytes >= BATCH_BYTES {
                            read(&mut w, &mut reader, &requests)?;
                            requests.clear();
                            bytes = 0;
                        }
                    }
                }
                read(&mut w, &mut reader, &requests)
            };
            tickets.settle(work())?;
            Ok(w)
        })
    }
}

/// Returns true if to read a whole chunk costs less than to request the pages of its members. Members of a
/// search are often neighbours, so that few pages have the lists of many.
fn is_dense(side: &Side, set: &VertexSet, chunk: Range<u64>) -> bool {
    if chunk.end == chunk.start + 1 {
        return true;
    }
    let page = u64::from(side.page_size());
    let pages = |bytes: Range<u64>| bytes.start / page..bytes.end.div_ceil(page);
    // Pages that take as long as a request.
    let request = u64::from(GATHER_GAP_BYTES).div_ceil(page);
    let all = pages(side.bytes(chunk.clone()));
    let whole = request + all.end - all.start;
    let (mut cost, mut behind) = (0, 0);
    // Lossless: vertices are below 2^32.
    for (before, v) in (0..).zip(set.bits().iter_in(chunk.start as usize, chunk.end as usize)) {
        let extent = side.extent(v as u64);
        if extent.is_empty() {
            continue;
        }
        let own = pages(extent);
        // Pages between two requests are read along, if they are few.
        let apart = cost == 0 || own.start > behind + request;
        cost += if apart { request + own.end - own.start } else { own.end.saturating_sub(behind) };
        behind = own.end.max(behind);
        if cost + before / LISTS_PER_PAGE >= whole {
            return true;
        }
    }
    false
}

/// Reader of lists of arbitrary vertices for one worker; see [`Graph::reader`].
#[derive(Debug)]
pub struct ListReader<'g> {
    side: &'g Side,
    ssd: Option<CachedReader>,
    weights: Option<CachedReader>,
    requests: Vec<Request>,
    scratch: Vec<u8>,
    /// Lists found in the static cache, not yet counted.
    pinned_hits: u64,
    /// True while a read is under way, and for good once one has failed.
    broken: bool,
}

impl Drop for ListReader<'_> {
    fn drop(&mut self) {
        if self.broken || !self.side.pools_readers() {
            return;
        }
        let shared = &self.side.shared;
        if let (Data::Ssd(file), Some(reader)) = (&self.side.data, self.ssd.take()) {
            shared.give_cached(file, reader);
        }
        let column = self.side.weights.as_ref().map(|column| &column.data);
        if let (Some(Data::Ssd(file)), Some(reader)) = (column, self.weights.take()) {
            shared.give_cached(file, reader);
        }
    }
}

impl<'g> ListReader<'g> {
    fn new(side: &'g Side, cx: &Context) -> Result<Self> {
        let open = |data: &Data| match data {
            Data::Memory(_) | Data::Decoded(_) => Ok(None),
            Data::Ssd(file) => side.shared.cached(file, cx).map(Some),
        };
        let weights = match &side.weights {
            Some(column) => open(&column.data)?,
            None => None,
        };
        Ok(ListReader::of(side, open(&side.data)?, weights))
    }

    fn of(side: &'g Side, ssd: Option<CachedReader>, weights: Option<CachedReader>) -> Self {
        let (requests, scratch) = (Vec::new(), Vec::new());
        ListReader { side, ssd, weights, requests, scratch, pinned_hits: 0, broken: false }
    }

    /// A reader that goes on with what [`ListReader::into_readers`] gave, for the call of `cx`.
    pub(crate) fn reuse(
        side: &'g Side,
        ssd: Option<CachedReader>,
        weights: Option<CachedReader>,
        cx: &Context,
    ) -> Self {
        let mut reader = ListReader::of(side, ssd, weights);
        for reader in [&mut reader.ssd, &mut reader.weights].into_iter().flatten() {
            reader.set_cancel(Some(cx.cancel_token().clone()));
        }
        reader
    }

    /// The readers of lists and of weights, for another call; they are `None` in memory.
    pub(crate) fn into_readers(mut self) -> (Option<CachedReader>, Option<CachedReader>) {
        (self.ssd.take(), self.weights.take())
    }

    /// True if the lists are in memory.
    pub(crate) fn in_memory(&self) -> bool {
        self.side.data.in_memory()
    }

    /// Reads ranges of the file of lists on the SSD; does nothing where lists are in memory.
    ///
    /// # Errors
    /// As [`ListReader::read`].
    pub(crate) fn read_bytes(
        &mut self,
        requests: &[Request],
        visit: &mut dyn FnMut(u64, &PageSlice<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(reader) = &mut self.ssd else { return Ok(()) };
        self.broken = true;
        reader.gather(requests, visit)?;
        self.broken = false;
        Ok(())
    }

    /// Visits the list of each `(vertex, token)`, once per request, in the order in which
    /// reads complete. Requests are sorted and merged: the more of them come at once, the
    /// fewer reads there are.
    ///
    /// # Errors
    /// The first error of `visit`; of reading.
    pub fn read(
        &mut self,
        requests: &[(VertexId, u64)],
        visit: &mut dyn FnMut(u64, VertexId, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        self.broken = true;
        self.indexed(requests, &mut |k, list| match requests.get(k) {
            Some(&(v, token)) => visit(token, v, list),
            None => Ok(()),
        })?;
        self.broken = false;
        Ok(())
    }

    /// As [`ListReader::read`], with the weights of each list.
    ///
    /// # Errors
    /// As [`ListReader::read`].
    pub fn read_weighted(
        &mut self,
        requests: &[(VertexId, u64)],
        visit: &mut dyn FnMut(u64, VertexId, &List<'_>, &Weights<'_>) -> Result<()>,
    ) -> Result<()> {
        let side = self.side;
        let Some(column) = &side.weights else {
            return self.read(requests, &mut |token, v, list| {
                visit(token, v, list, &unit_weights(list.degree()))
            });
        };
        self.broken = true;
        let mut fetched: Vec<Vec<u8>> = Vec::new();
        if let Some(reader) = &mut self.weights {
            fetched.resize_with(requests.len(), Vec::new);
            let wanted: Vec<Request> = (0..)
                .zip(requests)
                .map(|(k, &(v, _))| Request {
                    range: column.bytes(v.into()..u64::from(v) + 1),
                    token: k,
                })
                .collect();
            reader.gather::<Error>(&wanted, &mut |token, pages| {
                if let Some(bytes) = usize::try_from(token).ok().and_then(|k| fetched.get_mut(k)) {
                    pages.segments().for_each(|s| bytes.extend_from_slice(s));
                }
                Ok(())
            })?;
        }
        self.indexed(requests, &mut |k, list| {
            let Some(&(v, token)) = requests.get(k) else { return Ok(()) };
            let weights = match (&column.data, fetched.get(k)) {
                (Data::Memory(bytes), _) => {
                    let range = within(&side.weight_bytes(column, v), 0)?;
                    column_weights(bytes, range, column.kind, list.degree())?
                }
                (_, Some(bytes)) => {
                    column_weights(bytes, 0..bytes.len(), column.kind, list.degree())?
                }
                _ => unit_weights(list.degree()),
            };
            visit(token, v, list, &weights)
        })?;
        self.broken = false;
        Ok(())
    }

    /// Visits the list of each request by its position.
    fn indexed(
        &mut self,
        requests: &[(VertexId, u64)],
        visit: &mut dyn FnMut(usize, &List<'_>) -> Result<()>,
    ) -> Result<()> {
        let side = self.side;
        match &side.data {
            Data::Memory(lists) => {
                return lists_ahead(side, lists.with_slack(), requests, |request| request.0, visit);
            }
            Data::Decoded(lists) => return decoded_ahead(lists, requests, visit),
            Data::Ssd(_) => {}
        }
        let Some(reader) = &mut self.ssd else { return Ok(()) };
        self.requests.clear();
        for (k, &(v, _)) in requests.iter().enumerate() {
            match side
                .pinned
                .as_ref()
                .and_then(|pinned| Some((pinned, pinned.find(&side.index, v)?)))
            {
                Some((pinned, range)) => {
                    self.pinned_hits += 1;
                    visit(k, &side.list(pinned.bytes(), range)?)?;
                }
                None => {
                    let range = side.extent(v.into());
                    self.requests.push(Request { range, token: k as u64 });
                }
            }
        }
        let hits = std::mem::take(&mut self.pinned_hits);
        side.shared.stats.pinned_hits.fetch_add(hits, Relaxed);
        let scratch = &mut self.scratch;
        reader.gather(&self.requests, &mut |token, pages| {
            let bytes = pages.with_slack(scratch);
            let list = side.list(bytes.buf, bytes.range.clone())?;
            visit(usize::try_from(token).unwrap_or(usize::MAX), &list)
        })
    }
}

/// Visits decoded lists with the positions of their requests; the processor fetches the first bytes of
/// lists to come.
fn decoded_ahead(
    lists: &DecodedLists,
    requests: &[(VertexId, u64)],
    visit: &mut dyn FnMut(usize, &List<'_>) -> Result<()>,
) -> Result<()> {
    for (block, part) in requests.chunks(AHEAD).enumerate() {
        for &(v, _) in part {
            prefetch(lists.ids(), lists.entries(v.into()..v.into()).start as usize);
        }
        for (at, &(v, _)) in part.iter().enumerate() {
            visit(block * AHEAD + at, &lists.list(v))?;
        }
    }
    Ok(())
}

/// Visits lists in memory with the positions of their requests: finds the places of several lists and
/// has the processor fetch their first bytes before it visits them.
pub(crate) fn lists_ahead<R>(
    side: &Side,
    bytes: &[u8],
    requests: &[R],
    vertex: impl Fn(&R) -> VertexId,
    mut visit: impl FnMut(usize, &List<'_>) -> Result<()>,
) -> Result<()> {
    let mut extents = [const { 0..0 }; AHEAD];
    for (block, part) in requests.chunks(AHEAD).enumerate() {
        side.index.touch(part.iter().map(|request| vertex(request).into()));
        for (slot, request) in extents.iter_mut().zip(part) {
            *slot = within(&side.extent(vertex(request).into()), 0)?;
            prefetch(bytes, slot.start);
        }
        for (at, extent) in extents.iter().take(part.len()).enumerate() {
            visit(block * AHEAD + at, &side.list(bytes, extent.clone())?)?;
        }
    }
    Ok(())
}
