//! *Scan*: all lists of a direction, streamed in the order of their bytes.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::{Tickets, share_work};
use crate::source::Side;
use crate::source::chunks::{ChunkFeed, View};
use crate::source::weights::Weights;
use nakshi_store::{Direction, List, Term, VertexId};

impl Graph {
    /// Visits the list of every vertex exactly once, empty lists included. Chunks of
    /// ascending vertices go to the workers dynamically; `init(worker)` makes a worker's
    /// own value, and the values come back in no particular order.
    ///
    /// # Errors
    /// The first error of `visit`, of reading, [`crate::Error::Cancelled`],
    /// [`crate::Error::Panicked`].
    pub fn scan<W: Send>(
        &self,
        direction: Direction,
        cx: &Context,
        init: impl Fn(usize) -> W + Sync,
        visit: impl Fn(&mut W, VertexId, &List<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let side = self.side(direction)?;
        run(side, false, None, cx, init, |w, view| view.lists(|v, list| visit(w, v, list)))
    }

    /// As [`Graph::scan`], with the weights of each list (all 1 without a weight column).
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn scan_weighted<W: Send>(
        &self,
        direction: Direction,
        cx: &Context,
        init: impl Fn(usize) -> W + Sync,
        visit: impl Fn(&mut W, VertexId, &List<'_>, &Weights<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let side = self.side(direction)?;
        run(side, true, None, cx, init, |w, view| {
            view.lists(|v, list| visit(w, v, list, &view.weights(v, list.degree())?))
        })
    }

    /// As [`Graph::scan`], with one value per chunk instead of one per worker. The values
    /// come back in the order of the vertices, and the chunks depend on the lists alone:
    /// folding float sums in this order gives the same bits for every thread count and mode.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn scan_fold<T: Send>(
        &self,
        direction: Direction,
        cx: &Context,
        init: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, VertexId, &List<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        self.fold_chunks(direction, cx, |view| {
            let mut value = init();
            view.lists(|v, list| visit(&mut value, v, list))?;
            Ok(value)
        })
    }

    /// As [`Graph::scan_fold`], with the degree and the sum of `values` over the neighbours of each vertex in
    /// place of its list ([`List::sum`]).
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn scan_sums<T: Send, V: Term + Sync>(
        &self,
        direction: Direction,
        cx: &Context,
        values: &[V],
        init: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, VertexId, u64, f64) + Sync,
    ) -> Result<Vec<T>> {
        self.fold_chunks(direction, cx, |view| {
            let mut value = init();
            view.sums(values, |v, degree, sum| visit(&mut value, v, degree, sum))?;
            Ok(value)
        })
    }

    /// One value per chunk, in the order of the vertices.
    fn fold_chunks<T: Send>(
        &self,
        direction: Direction,
        cx: &Context,
        fold: impl Fn(&View<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let side = self.side(direction)?;
        let init = |_| Vec::new();
        let parts = run(side, false, None, cx, init, |done: &mut Vec<(usize, T)>, view| {
            done.push((view.chunk, fold(view)?));
            Ok(())
        })?;
        let mut all: Vec<(usize, T)> = parts.into_iter().flatten().collect();
        all.sort_unstable_by_key(|(chunk, _)| *chunk);
        Ok(all.into_iter().map(|(_, value)| value).collect())
    }
}

/// Runs `visit` on chunks: those of `order`, or all.
pub(crate) fn run<W: Send>(
    side: &Side,
    weighted: bool,
    order: Option<&[usize]>,
    cx: &Context,
    init: impl Fn(usize) -> W + Sync,
    visit: impl Fn(&mut W, &View<'_>) -> Result<()> + Sync,
) -> Result<Vec<W>> {
    let all = side.chunk_starts().len().saturating_sub(1);
    let tickets = Tickets::new(order.map_or(all, <[usize]>::len));
    let threads = cx.threads().min(tickets.total()).max(1);
    share_work(threads, |worker| {
        let mut w = init(worker);
        let mut work = || -> Result<()> {
            let mut feed = ChunkFeed::new(side, weighted, &tickets, order, cx)?;
            loop {
                cx.check()?;
                if !feed.next(&mut |view| visit(&mut w, view))? {
                    return Ok(());
                }
            }
        };
        tickets.settle(work())?;
        Ok(w)
    })
}

#[cfg(test)]
mod tests;
