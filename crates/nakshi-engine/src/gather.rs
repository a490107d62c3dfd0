//! *Gather*: the lists of selected vertices, with merged reads.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::{BLOCK, Tickets, crew};
use crate::source::Lists;
use crate::source::list::{Direction, List, VertexId, Weights};
use crate::vertex_set::VertexSet;

impl Graph {
    /// Visits the list of every vertex of `set` exactly once, in ascending order within
    /// a chunk. Reads of lists that lie near each other are merged; when the set is so
    /// dense that a scan is cheaper, it scans.
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn gather<W, I, V>(
        &self,
        direction: Direction,
        set: &VertexSet,
        cx: &Context,
        init: I,
        visit: V,
    ) -> Result<Vec<W>>
    where
        W: Send,
        I: Fn(usize) -> W + Sync,
        V: Fn(&mut W, VertexId, &List<'_>) -> Result<()> + Sync,
    {
        let Lists::Memory(lists) = self.lists(direction);
        members(set, cx, init, |w, v| visit(w, v as VertexId, &lists.list(v)?))
    }

    /// As [`Graph::gather`], with the weights of each list (all 1 without a weight column).
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn gather_weighted<W, I, V>(
        &self,
        direction: Direction,
        set: &VertexSet,
        cx: &Context,
        init: I,
        visit: V,
    ) -> Result<Vec<W>>
    where
        W: Send,
        I: Fn(usize) -> W + Sync,
        V: Fn(&mut W, VertexId, &List<'_>, &Weights<'_>) -> Result<()> + Sync,
    {
        let Lists::Memory(lists) = self.lists(direction);
        members(set, cx, init, |w, v| {
            lists.with_weights(v, |list, weights| visit(w, v as VertexId, list, weights))
        })
    }

    /// A reader for one worker that fetches lists of arbitrary vertices in batches.
    ///
    /// # Errors
    /// Of setting up the reads.
    pub fn reader(&self, direction: Direction, cx: &Context) -> Result<ListReader<'_>> {
        cx.check()?;
        Ok(ListReader { lists: self.lists(direction) })
    }
}

/// Fetches lists of arbitrary vertices for one worker; see [`Graph::reader`].
#[derive(Debug)]
pub struct ListReader<'g> {
    lists: &'g Lists,
}

impl ListReader<'_> {
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
        let Lists::Memory(lists) = self.lists;
        for &(v, token) in requests {
            visit(token, v, &lists.list(v as usize)?)?;
        }
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
        let Lists::Memory(lists) = self.lists;
        for &(v, token) in requests {
            lists.with_weights(v as usize, |list, weights| visit(token, v, list, weights))?;
        }
        Ok(())
    }
}

/// Members of `set` below which a pass is not worth a second thread.
const INLINE: usize = 256;

fn members<W, I, V>(set: &VertexSet, cx: &Context, init: I, visit: V) -> Result<Vec<W>>
where
    W: Send,
    I: Fn(usize) -> W + Sync,
    V: Fn(&mut W, usize) -> Result<()> + Sync,
{
    let n = set.universe();
    let chunk = BLOCK / 16;
    let chunks = n.div_ceil(chunk);
    let tickets = Tickets::new(chunks);
    let threads = if set.count() < INLINE { 1 } else { cx.threads().min(chunks).max(1) };
    crew(threads, |worker| {
        let mut w = init(worker);
        while let Some(k) = tickets.draw() {
            cx.check()?;
            for v in set.bits().iter_in(k * chunk, (k + 1) * chunk) {
                visit(&mut w, v).inspect_err(|_| tickets.close())?;
            }
        }
        Ok(w)
    })
}
