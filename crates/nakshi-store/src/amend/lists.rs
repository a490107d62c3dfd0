//! The lists of an amended store, made of the lists of its source.

use std::ops::Range;

use nakshi_io::run_workers;

use super::job::AmendJob;
use crate::hooks::Progress;
use crate::stream::{ChunkReader, ListStream};
use crate::{Direction, Error, ListBatch, Result, StoreBuilder, VertexId};

/// Chunks of lists that a thread amends before they are written.
const CHUNKS: usize = 4;
/// Vertices without a list that a batch may hold in a row.
const GAP: u64 = 1 << 16;

/// The out-lists that have changed.
#[derive(Clone, Copy)]
pub struct NewLists<'a> {
    /// Numbers of the vertices, ascending; new ones may be among them.
    pub of: &'a [VertexId],
    /// The new out-list of such a vertex, ascending.
    pub list: &'a (dyn Fn(VertexId) -> Result<Vec<VertexId>> + Sync),
}

/// Edges that were added or removed, each as `target << 32 | source`.
#[derive(Debug, Default)]
struct ChangedEdges {
    came: Vec<u64>,
    gone: Vec<u64>,
}

/// The amended lists of some chunks, from one thread.
struct ListPiece {
    batches: Vec<ListBatch>,
    changed: ChangedEdges,
}

/// The lists of one direction, and their changes.
struct ListPass<'p, M> {
    direction: Direction,
    /// Vertices whose list differs from that of the source, ascending.
    of: &'p [VertexId],
    /// Replaces the list of such a vertex; notes the edges that were added or removed.
    make: M,
}

impl AmendJob<'_> {
    /// Writes the lists of both directions.
    pub(super) fn write_lists(
        &self,
        builder: &mut StoreBuilder,
        lists: NewLists<'_>,
    ) -> Result<()> {
        let out = ListPass {
            direction: Direction::Out,
            of: lists.of,
            make: |v, list: &mut Vec<VertexId>, changed: &mut ChangedEdges| {
                let new = (lists.list)(v)?;
                self.compare(v, list, &new, changed);
                *list = new;
                Ok(())
            },
        };
        let mut changed = self.pass(builder, &out)?;
        changed.came.sort_unstable();
        changed.gone.sort_unstable();
        let mut targets: Vec<VertexId> =
            changed.came.iter().chain(&changed.gone).map(|edge| target(*edge)).collect();
        targets.sort_unstable();
        targets.dedup();
        let into = ListPass {
            direction: Direction::In,
            of: &targets,
            make: |v, list: &mut Vec<VertexId>, _: &mut ChangedEdges| {
                *list = merged(list, of(&changed.came, v), of(&changed.gone, v));
                Ok(())
            },
        };
        self.pass(builder, &into).map(|_| ())
    }

    /// Notes the edges to staying vertices that only the old or only the new list of `v` has.
    fn compare(&self, v: VertexId, old: &[VertexId], new: &[VertexId], changed: &mut ChangedEdges) {
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        let edge = |target: VertexId| u64::from(target) << 32 | u64::from(v);
        let stays = |target: VertexId| self.places.of(target).is_some();
        loop {
            let (gone, came) = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => (true, false),
                (None, Some(_)) => (false, true),
                (Some(a), Some(b)) => (a < b, b < a),
            };
            if !gone && !came {
                old.next();
                new.next();
            }
            if gone {
                changed.gone.extend(old.next().filter(|t| stays(**t)).map(|t| edge(*t)));
            }
            if came {
                changed.came.extend(new.next().filter(|t| stays(**t)).map(|t| edge(*t)));
            }
        }
    }

    /// Writes the lists of one direction; returns the edges that were added or removed.
    fn pass<M>(&self, builder: &mut StoreBuilder, pass: &ListPass<'_, M>) -> Result<ChangedEdges>
    where
        M: Fn(VertexId, &mut Vec<VertexId>, &mut ChangedEdges) -> Result<()> + Sync,
    {
        builder.begin_adjacency(pass.direction)?;
        let stream = ListStream::new(self.source, pass.direction, None)?;
        let (mut changed, mut written) = (ChangedEdges::default(), 0);
        for wave in (0..stream.chunks()).step_by(CHUNKS * self.threads) {
            self.hooks.check()?;
            let batch = builder.batch();
            let pieces = run_workers(self.threads, |worker| {
                let from = wave + worker * CHUNKS;
                let to = (from + CHUNKS).min(stream.chunks());
                let mut piece =
                    ListPiece { batches: vec![batch.fresh()], changed: ChangedEdges::default() };
                let mut reader = stream.reader()?;
                for chunk in from..to {
                    self.hooks.check()?;
                    self.chunk(&stream, &mut reader, chunk, pass, &mut piece)?;
                }
                Ok::<_, Error>(piece)
            })?;
            for piece in pieces {
                for batch in piece.batches {
                    written += batch.arcs();
                    builder.push_batch(batch)?;
                }
                changed.came.extend(piece.changed.came);
                changed.gone.extend(piece.changed.gone);
            }
            // As numbers, and their targets apart.
            let held = 12 * (changed.came.len() + changed.gone.len()) as u64;
            if held > self.room {
                return Err(Error::Budget { needed: 2 * held, given: self.room });
            }
            let total = Some(stream.entries());
            self.hooks.tell(Progress { phase: "amend", done: written, total, edges: written });
        }
        builder.finish_adjacency()?;
        Ok(changed)
    }

    /// Amends the lists of a chunk.
    fn chunk<M>(
        &self,
        stream: &ListStream<'_>,
        reader: &mut ChunkReader<'_>,
        chunk: usize,
        pass: &ListPass<'_, M>,
        piece: &mut ListPiece,
    ) -> Result<()>
    where
        M: Fn(VertexId, &mut Vec<VertexId>, &mut ChangedEdges) -> Result<()>,
    {
        let vertices = stream.vertices(chunk);
        // New vertices are behind the last chunk.
        let last = chunk + 1 == stream.chunks();
        let end = if last { u64::MAX } else { vertices.end };
        let mut others = between(pass.of, vertices.start..end).iter().copied().peekable();
        let mut list = Vec::new();
        reader.visit(chunk, |found| {
            while let Some(v) = others.next_if(|v| *v < found.vertex) {
                list.clear();
                (pass.make)(v, &mut list, &mut piece.changed)?;
                self.push(v, &mut list, piece)?;
            }
            list.clear();
            list.extend_from_slice(found.neighbours);
            if others.next_if_eq(&found.vertex).is_some() {
                (pass.make)(found.vertex, &mut list, &mut piece.changed)?;
            }
            self.push(found.vertex, &mut list, piece)
        })?;
        for v in others {
            list.clear();
            (pass.make)(v, &mut list, &mut piece.changed)?;
            self.push(v, &mut list, piece)?;
        }
        Ok(())
    }

    /// Adds a list, unless its vertex was removed. A vertex without a list takes room within a batch
    /// but not between two batches, so a long row of such vertices ends the batch.
    fn push(&self, v: VertexId, list: &mut Vec<VertexId>, piece: &mut ListPiece) -> Result<()> {
        let Some(place) = self.places.of(v) else { return Ok(()) };
        self.places.renumber(list);
        let none = || Error::Internal("a piece of lists without a batch");
        let end = piece.batches.last().map_or(0, ListBatch::end);
        if end > 0 && u64::from(place).saturating_sub(end) > GAP {
            let fresh = piece.batches.last().ok_or_else(none)?.fresh();
            piece.batches.push(fresh);
        }
        piece.batches.last_mut().ok_or_else(none)?.push(place, list, &[])
    }
}

fn target(edge: u64) -> VertexId {
    // The upper half.
    (edge >> 32) as VertexId
}

/// The part of ascending edges that leads to a vertex.
fn of(edges: &[u64], v: VertexId) -> &[u64] {
    let from = edges.partition_point(|edge| target(*edge) < v);
    let rest = edges.get(from..).unwrap_or_default();
    rest.get(..rest.partition_point(|edge| target(*edge) == v)).unwrap_or_default()
}

/// The part of ascending vertices that is in a range.
fn between(vertices: &[VertexId], range: Range<u64>) -> &[VertexId] {
    let from = vertices.partition_point(|v| u64::from(*v) < range.start);
    let to = vertices.partition_point(|v| u64::from(*v) < range.end);
    vertices.get(from..to).unwrap_or_default()
}

/// An ascending list with the sources of added edges, and without those of removed edges.
fn merged(list: &[VertexId], came: &[u64], gone: &[u64]) -> Vec<VertexId> {
    // The lower half is the source.
    let source = |edge: &u64| *edge as VertexId;
    let mut gone = gone.iter().map(source).peekable();
    let mut came = came.iter().map(source).peekable();
    let mut all = Vec::with_capacity(list.len() + came.len());
    for &v in list {
        if gone.next_if_eq(&v).is_some() {
            continue;
        }
        while let Some(new) = came.next_if(|new| *new < v) {
            all.push(new);
        }
        all.push(v);
    }
    all.extend(came);
    all
}
