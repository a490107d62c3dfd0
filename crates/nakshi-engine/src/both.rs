//! Out- and in-list of a vertex side by side, for algorithms that ignore direction.
//!
//! The two directions lie in two files, each in vertex order. A range of vertices is
//! taken at a time: its out-lists are decoded into memory, then its in-lists stream past
//! them. Both files are read once and in order; memory is bounded by the range.

use crate::context::Context;
use crate::error::Result;
use crate::graph::Graph;
use crate::vertex_set::VertexSet;
use nakshi_store::{Direction, List, VertexId};

/// Encoded bytes of out-lists that are taken at a time; decoded they are three to eight
/// times larger.
const RANGE_BYTES: u64 = 4 << 20;
/// Vertices that are taken at a time.
const RANGE_VERTICES: usize = 1 << 18;

/// Memory that [`both_lists`] holds on a directed graph with lists of at most
/// `longest` encoded bytes, apart from the engine's own buffers.
pub(crate) fn state_bytes(longest: u64) -> u64 {
    8 * (RANGE_BYTES + longest + RANGE_VERTICES as u64)
}

/// Out-lists of a range of vertices, as one worker has decoded them.
#[derive(Default)]
struct Decoded {
    entries: Vec<VertexId>,
    /// Vertex, first entry, end.
    spans: Vec<(VertexId, usize, usize)>,
    scratch: Vec<VertexId>,
}

/// The place of the out-list of each vertex of a range.
struct Range {
    first: usize,
    parts: Vec<Decoded>,
    /// Part and span, by vertex.
    place: Vec<(u32, u32)>,
}

impl Range {
    fn new(first: usize, len: usize, parts: Vec<Decoded>) -> Self {
        let mut place = vec![(u32::MAX, 0); len];
        for (p, part) in parts.iter().enumerate() {
            for (s, span) in part.spans.iter().enumerate() {
                if let Some(slot) = place.get_mut(span.0 as usize - first) {
                    *slot = (p as u32, s as u32);
                }
            }
        }
        Range { first, parts, place }
    }

    fn list(&self, v: VertexId) -> &[VertexId] {
        (v as usize)
            .checked_sub(self.first)
            .and_then(|i| self.place.get(i))
            .and_then(|&(p, s)| {
                let part = self.parts.get(p as usize)?;
                let &(_, from, to) = part.spans.get(s as usize)?;
                part.entries.get(from..to)
            })
            .unwrap_or(&[])
    }
}

/// Visits every vertex of `set` once with its out- and its in-list (ascending). In an
/// undirected graph the second list is empty and the first has all neighbours. `init`
/// makes a worker's scratch space; it may be called several times per worker.
///
/// # Errors
/// As [`Graph::scan`].
pub fn both_lists<W, I, V>(
    graph: &Graph,
    set: &VertexSet,
    cx: &Context,
    init: I,
    visit: V,
) -> Result<()>
where
    W: Send,
    I: Fn(usize) -> W + Sync,
    V: Fn(&mut W, VertexId, &[VertexId], &[VertexId]) -> Result<()> + Sync,
{
    if !graph.directed() {
        let decode = |(w, scratch): &mut (W, Vec<_>), v, list: &List<'_>| {
            list.decode_into(scratch)?;
            visit(w, v, scratch, &[])
        };
        graph.gather(Direction::Out, set, cx, |k| (init(k), Vec::new()), decode)?;
        return Ok(());
    }
    let n = graph.num_vertices();
    let mut first = 0;
    while first < n {
        let end = graph.until(Direction::Out, first, n.min(first + RANGE_VERTICES), RANGE_BYTES);
        let mut members = VertexSet::new(n);
        for v in set.bits().iter_in(first, end) {
            members.insert(v as VertexId);
        }
        if !members.is_empty() {
            let parts = graph.gather(Direction::Out, &members, cx, |_| Decoded::default(), keep)?;
            let range = Range::new(first, end - first, parts);
            let pair = |(w, scratch): &mut (W, Vec<_>), v, list: &List<'_>| {
                list.decode_into(scratch)?;
                visit(w, v, range.list(v), scratch)
            };
            graph.gather(Direction::In, &members, cx, |k| (init(k), Vec::new()), pair)?;
        }
        first = end;
    }
    Ok(())
}

/// Calls `each` once for every vertex but `v` that its two ascending lists have, in ascending order: with
/// whether the first list has it, and whether the second has. Duplicates are stepped over.
#[inline]
pub fn each_neighbor(
    v: VertexId,
    out: &[VertexId],
    incoming: &[VertexId],
    mut each: impl FnMut(VertexId, bool, bool),
) {
    let (mut i, mut j) = (0, 0);
    loop {
        let (a, b) = (out.get(i).copied(), incoming.get(j).copied());
        let Some(u) = [a, b].into_iter().flatten().min() else { break };
        let run = |list: &[VertexId], at: &mut usize| {
            let from = *at;
            while list.get(*at) == Some(&u) {
                *at += 1;
            }
            *at > from
        };
        let (forth, back) = (run(out, &mut i), run(incoming, &mut j));
        if u != v {
            each(u, forth, back);
        }
    }
}

fn keep(decoded: &mut Decoded, v: VertexId, list: &List<'_>) -> Result<()> {
    list.decode_into(&mut decoded.scratch)?;
    let from = decoded.entries.len();
    decoded.entries.extend_from_slice(&decoded.scratch);
    decoded.spans.push((v, from, decoded.entries.len()));
    Ok(())
}
