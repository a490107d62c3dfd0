//! The graph of communities, in memory.
//!
//! Communities are taken in ranges whose list entries fit a scratch. For each range a pass over the lists
//! of the level puts the entries of each community side by side, which are then sorted and merged.

use super::lists::{Level, Neighbors, ROW_ENTRY, Rows};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::parallel::map_ranges;
use crate::shared::{share_f64, share_u32, share_u64, zeroed};
use crate::vertex_set::VertexSet;
use nakshi_store::VertexId;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of the smallest scratch.
pub(super) const LEAST_SCRATCH: u64 = 16 << 20;
/// Bytes of the largest: more hardly saves a pass.
const MOST_SCRATCH: u64 = 384 << 20;
/// Bytes of an entry of the scratch: a community and a weight, and both once more as they are sorted.
const SCRATCH_ENTRY: u64 = 12 + 16;
/// Vertices that a worker takes at once.
const BATCH: usize = 1024;

/// The memory for graphs of communities, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// For graphs of communities and the scratch.
    pub(super) bytes: u64,
    /// For all else.
    pub(super) beside: u64,
}

impl Room {
    fn scratch(self) -> u64 {
        (self.bytes / 8).clamp(LEAST_SCRATCH, MOST_SCRATCH)
    }

    /// Bytes that the rows of a graph may take: beside them there will be those of the next.
    fn rows(self) -> u64 {
        self.bytes.saturating_sub(self.scratch()) / 2
    }

    /// The error of rows that take more.
    fn refuse(self, rows: u64) -> Error {
        let bytes = u64::max(2 * rows + LEAST_SCRATCH, rows / 7 * 16 + 16);
        let needed = self.beside.saturating_add(bytes);
        let given = self.beside.saturating_add(self.bytes);
        Error::Budget { what: "the graph of communities".to_owned(), needed, given }
    }
}

/// Merges the vertices of each of `count` communities to one. The result has no edges from a community
/// to itself.
pub(super) fn aggregate<L: Level>(
    level: &L,
    of: &[VertexId],
    count: usize,
    room: Room,
    cx: &Context,
) -> Result<Rows> {
    let all = VertexSet::full(level.vertices());
    let community = |v: VertexId| of.get(v as usize).copied().unwrap_or(0) as usize;
    let mut entries = zeroed::<u64>(count, "entries of communities")?;
    let shared = share_u64(&mut entries);
    each_vertex(level, &all, cx, |lists, v| {
        let own = community(v);
        let mut outside = 0;
        lists.each(v, |u, _| outside += u64::from(community(u) != own));
        if let Some(slot) = shared.get(own) {
            slot.fetch_add(outside, Relaxed);
        }
    })?;
    let most = room.scratch() / SCRATCH_ENTRY;
    let mut rows = Rows { offsets: vec![0], ..Rows::default() };
    let (mut first, mut merged) = (0, 0);
    while first < count {
        let end = until(&entries, first, most);
        let part = Part::fill(level, &all, first..end, &entries, &community, cx)?;
        let lists = part.merge(cx)?;
        merged += lists.iter().map(|list| list.len() as u64).sum::<u64>();
        // Beyond the room the entries are only counted, for the error.
        if merged * ROW_ENTRY <= room.rows() {
            append(&mut rows, lists);
        }
        first = end;
    }
    if merged * ROW_ENTRY > room.rows() {
        return Err(room.refuse(merged * ROW_ENTRY));
    }
    Ok(rows)
}

/// The end of the longest range of communities from `first` on with no more than `most` entries; at least
/// one.
fn until(entries: &[u64], first: usize, most: u64) -> usize {
    let mut sum = 0;
    let rest = entries.iter().skip(first);
    let fitting = rest.take_while(|&&count| {
        sum += count;
        sum <= most
    });
    first + fitting.count().max(1)
}

fn append(rows: &mut Rows, lists: Vec<List>) {
    let more = lists.iter().map(Vec::len).sum();
    rows.targets.reserve_exact(more);
    rows.weights.reserve_exact(more);
    for list in lists {
        rows.targets.extend(list.iter().map(|entry| entry.0));
        rows.weights.extend(list.iter().map(|entry| entry.1));
        rows.offsets.push(rows.targets.len());
    }
}

/// Runs `visit` on each vertex, on the threads of the context.
fn each_vertex<L: Level>(
    level: &L,
    all: &VertexSet,
    cx: &Context,
    visit: impl Fn(&L::Part, VertexId) + Sync,
) -> Result<()> {
    level.parts(all, cx, |range, lists| {
        map_ranges(
            cx,
            (range.len(), BATCH),
            || (),
            |(), batch| {
                // Lossless: there are at most 2^32 vertices.
                batch.for_each(|at| visit(lists, (range.start + at) as VertexId));
                Ok(())
            },
        )
        .map(|_| ())
    })
}

/// A community's neighbours with the weights of the edges between.
type List = Vec<(VertexId, f64)>;

/// Entries of a range of communities, side by side.
struct Part {
    /// Where the entries of each community begin, and the end.
    starts: Vec<usize>,
    targets: Vec<VertexId>,
    weights: Vec<f64>,
}

impl Part {
    fn fill<L: Level>(
        level: &L,
        all: &VertexSet,
        range: Range<usize>,
        entries: &[u64],
        community: &(impl Fn(VertexId) -> usize + Sync),
        cx: &Context,
    ) -> Result<Part> {
        let mut starts = vec![0];
        for &count in entries.get(range.clone()).unwrap_or_default() {
            // An address space holds them: the lists were read.
            starts.push(starts.last().copied().unwrap_or(0) + usize::try_from(count).unwrap_or(0));
        }
        let length = starts.last().copied().unwrap_or(0);
        let mut targets = zeroed::<VertexId>(length, "entries of communities")?;
        let mut weights = zeroed::<f64>(length, "entries of communities")?;
        let mut next: Vec<u64> = starts.iter().map(|&start| start as u64).collect();
        let (to, weight_of, next) =
            (share_u32(&mut targets), share_f64(&mut weights), share_u64(&mut next));
        each_vertex(level, all, cx, |lists, v| {
            let own = community(v);
            let Some(cursor) = own.checked_sub(range.start).and_then(|at| next.get(at)) else {
                return;
            };
            if !range.contains(&own) {
                return;
            }
            lists.each(v, |u, weight| {
                let other = community(u);
                if other == own {
                    return;
                }
                let at = cursor.fetch_add(1, Relaxed) as usize;
                if let (Some(to), Some(slot)) = (to.get(at), weight_of.get(at)) {
                    // Lossless: a community is numbered like a vertex.
                    to.store(other as VertexId, Relaxed);
                    slot.set(weight);
                }
            });
        })?;
        Ok(Part { starts, targets, weights })
    }

    /// The entries of each community, ascending, with the weights of equal ones added up. Sorting by the
    /// weight, too, makes the order of the additions that of the numbers.
    fn merge(&self, cx: &Context) -> Result<Vec<List>> {
        let count = self.starts.len() - 1;
        let lists = map_ranges(cx, (count, BATCH), Vec::new, |list, range| {
            Ok(range.map(|at| self.list(at, list)).collect::<Vec<_>>())
        })?;
        Ok(lists.into_iter().flatten().collect())
    }

    fn list(&self, at: usize, list: &mut List) -> List {
        let start = |at| self.starts.get(at).copied().unwrap_or(0);
        let range = start(at)..start(at + 1);
        let targets = self.targets.get(range.clone()).unwrap_or_default();
        let weights = self.weights.get(range).unwrap_or_default();
        list.clear();
        list.extend(targets.iter().copied().zip(weights.iter().copied()));
        list.sort_unstable_by_key(|&(target, weight)| (target, weight.to_bits()));
        let merge = |run: &[(VertexId, f64)]| {
            let target = run.first().map_or(0, |entry| entry.0);
            (target, run.iter().map(|entry| entry.1).sum())
        };
        list.chunk_by(|a, b| a.0 == b.0).map(merge).collect()
    }
}
