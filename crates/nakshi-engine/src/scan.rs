//! *Scan*: all lists of a direction, streamed in order of their bytes.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::parallel::{BLOCK, Tickets, crew};
use crate::source::Lists;
use crate::source::list::{Direction, List, VertexId, Weights};

/// Vertices per chunk of a scan in memory.
const CHUNK: usize = BLOCK / 16;

impl Graph {
    /// Visits the list of every vertex exactly once, empty lists included. Chunks of
    /// ascending vertices go to the workers dynamically; `init(worker)` makes a worker's
    /// own value, and the values come back in no particular order.
    ///
    /// # Errors
    /// The first error of `visit`, of reading, [`crate::Error::Cancelled`],
    /// [`crate::Error::Panicked`].
    pub fn scan<W, I, V>(
        &self,
        direction: Direction,
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
        self.chunked(cx, init, |w, v| visit(w, v as VertexId, &lists.list(v)?))
    }

    /// As [`Graph::scan`], with the weights of each list (all 1 without a weight column).
    ///
    /// # Errors
    /// As [`Graph::scan`].
    pub fn scan_weighted<W, I, V>(
        &self,
        direction: Direction,
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
        self.chunked(cx, init, |w, v| {
            lists.with_weights(v, |list, weights| visit(w, v as VertexId, list, weights))
        })
    }

    fn chunked<W, I, V>(&self, cx: &Context, init: I, visit: V) -> Result<Vec<W>>
    where
        W: Send,
        I: Fn(usize) -> W + Sync,
        V: Fn(&mut W, usize) -> Result<()> + Sync,
    {
        let n = self.num_vertices();
        let chunks = n.div_ceil(CHUNK);
        let tickets = Tickets::new(chunks);
        let threads = cx.threads().min(chunks).max(1);
        crew(threads, |worker| {
            let mut w = init(worker);
            while let Some(chunk) = tickets.draw() {
                cx.check()?;
                for v in chunk * CHUNK..n.min((chunk + 1) * CHUNK) {
                    visit(&mut w, v).inspect_err(|_| tickets.close())?;
                }
            }
            Ok(w)
        })
    }
}
