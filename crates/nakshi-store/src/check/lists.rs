//! Checks of lists: every list against its header, the order and range of its neighbours, and its
//! entries in the side files.

use std::ops::Range;
use std::sync::Arc;

use nakshi_io::{IoStats, ReaderOptions};

use super::Checker;
use crate::heads::Heads;
use crate::{Adjacency, AdjacencyEntry, Direction, Error, Result, VertexId, varint};

/// Bytes of lists read at a time; a longer list is read whole.
const PIECE: u64 = 1 << 20;

/// Sums over all lists of one direction, which are compared with the manifest and the other
/// direction.
#[derive(Debug, Default, PartialEq, Eq)]
struct EdgeSums {
    arcs: u64,
    loops: u64,
    max_degree: u64,
    max_list_bytes: u64,
    /// Wrapping sum of a hash of each edge (source, target).
    edges: u64,
    /// The same sum over edges to a higher vertex, and over reversed edges to a lower one: equal in
    /// a symmetric graph.
    up: u64,
    down: u64,
}

/// The side files of the lists, read in vertex order.
struct Beside {
    degrees: nakshi_io::Resident,
    heads: nakshi_io::Resident,
    degrees_at: usize,
    heads_at: usize,
}

impl Checker<'_> {
    pub(super) fn lists(&mut self) -> Result<()> {
        let manifest = self.store.manifest();
        let mut all = Vec::new();
        for entry in &manifest.adjacency {
            match self.direction(entry) {
                Ok(sums) => all.push((entry.direction, sums)),
                Err(error) => self.note(error)?,
            }
        }
        if let [(_, a), (_, b)] = all.as_slice()
            && a.edges != b.edges
        {
            self.problem("the in-lists do not hold the same edges as the out-lists");
        }
        if let [(_, sums)] = all.as_slice()
            && !manifest.directed
            && sums.up != sums.down
        {
            self.problem(
                "the graph is undirected, but not every edge is in the lists of both its ends",
            );
        }
        if let Some((_, sums)) = all.first() {
            let edges = if manifest.directed { sums.arcs } else { (sums.arcs + sums.loops) / 2 };
            if (edges, sums.loops) != (manifest.edges, manifest.self_loops) {
                self.problem(format!(
                    "the manifest counts {} edges, {} of them self-loops, the lists hold {edges} and {}",
                    manifest.edges, manifest.self_loops, sums.loops
                ));
            }
        }
        Ok(())
    }

    fn direction(&mut self, entry: &AdjacencyEntry) -> Result<EdgeSums> {
        let adjacency = self.store.adjacency(entry.direction)?;
        let cancel = &self.options.cancel;
        let mut beside = Beside {
            degrees: self.store.file(&entry.degrees)?.load(cancel)?,
            heads: self.store.file(&entry.heads)?.load(cancel)?,
            degrees_at: 0,
            heads_at: 0,
        };
        let mut sums = EdgeSums::default();
        let options =
            ReaderOptions { depth: 1, cancel: Some(cancel.clone()), ..ReaderOptions::default() };
        let mut reader = adjacency.file().reader_with(&options, Arc::new(IoStats::new()))?;
        let mut v = 0;
        while v < entry.stored {
            let (to, bytes) = piece(adjacency, v, entry.stored);
            reader.submit(bytes.clone(), 0)?;
            let Some(block) = reader.next()? else {
                return Err(Error::BadList("a file ended before its lists"));
            };
            for (v, extent) in (v..to).zip(adjacency.extents(v..to)) {
                let id = VertexId::try_from(v)
                    .map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))?;
                let range = offset(&extent, bytes.start)?;
                self.list(adjacency, entry, id, block.slack(), range, &mut beside, &mut sums)?;
            }
            self.advance(bytes.end - bytes.start)?;
            v = to;
        }
        let counted = (sums.arcs, sums.max_degree, sums.max_list_bytes);
        if counted != (entry.arcs, entry.max_degree, entry.max_list_bytes) {
            self.problem(format!(
                "the manifest's sizes of the {:?} lists are not theirs: {counted:?} found",
                entry.direction
            ));
        }
        for (file, at, len) in [
            (&entry.degrees, beside.degrees_at, beside.degrees.len()),
            (&entry.heads, beside.heads_at, beside.heads.len()),
        ] {
            if at != len {
                self.problem(format!(
                    "{} has {} bytes too many",
                    self.store.path().join(&file.name).display(),
                    len - at
                ));
            }
        }
        Ok(sums)
    }

    #[expect(clippy::too_many_arguments, reason = "one place that sees the list and all beside it")]
    fn list(
        &mut self,
        adjacency: &Adjacency,
        entry: &AdjacencyEntry,
        v: VertexId,
        buf: &[u8],
        range: Range<usize>,
        beside: &mut Beside,
        sums: &mut EdgeSums,
    ) -> Result<()> {
        let bytes = (range.end - range.start) as u64;
        let mut first = Vec::new();
        let (mut last, mut ascending, mut count) = (0, true, 0);
        let decoded = adjacency.list(buf, range).and_then(|list| {
            list.for_each(|u| {
                ascending &= last <= u;
                last = u;
                count += 1;
                if first.len() < 2 {
                    first.push(u);
                }
                sums.edge(entry.direction, v, u);
            })
        });
        if let Err(error) = decoded {
            return self.note(adjacency.blame(v, error));
        }
        if !ascending {
            self.note(adjacency.blame(v, Error::BadList("its neighbours are not ascending")))?;
        }
        if varint::get(&beside.degrees, &mut beside.degrees_at) != Some(count) {
            self.problem(format!(
                "{}: the degree of vertex {v} is not {count}",
                entry.degrees.name
            ));
        }
        let mut heads = Vec::new();
        Heads::encode(&first, &mut heads);
        let found = beside.heads.get(beside.heads_at..).unwrap_or_default();
        if !found.starts_with(&heads) {
            self.problem(format!(
                "{}: the heads of vertex {v} are not {first:?}",
                entry.heads.name
            ));
        }
        beside.heads_at += heads.len();
        sums.max_degree = sums.max_degree.max(count);
        sums.max_list_bytes = sums.max_list_bytes.max(bytes);
        self.report.lists += 1;
        self.report.entries += count;
        Ok(())
    }
}

impl EdgeSums {
    fn edge(&mut self, direction: Direction, v: VertexId, u: VertexId) {
        let (source, target) = match direction {
            Direction::Out => (v, u),
            Direction::In => (u, v),
        };
        self.arcs += 1;
        self.loops += u64::from(v == u);
        self.edges = self.edges.wrapping_add(mix(source, target));
        if source < target {
            self.up = self.up.wrapping_add(mix(source, target));
        } else if source > target {
            self.down = self.down.wrapping_add(mix(target, source));
        }
    }
}

/// A hash of an edge (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
fn mix(source: VertexId, target: VertexId) -> u64 {
    let mut x = (u64::from(source) << 32 | u64::from(target)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Returns the end of the vertices from `from` on whose lists fill about a piece, and the extent of
/// these lists.
fn piece(adjacency: &Adjacency, from: u64, stored: u64) -> (u64, Range<u64>) {
    let mut bytes = 0..0;
    let mut to = from;
    for extent in adjacency.extents(from..stored) {
        if to == from {
            bytes = extent.clone();
        } else if extent.end - bytes.start > PIECE {
            break;
        }
        bytes.end = extent.end;
        to += 1;
    }
    (to, bytes)
}

fn offset(extent: &Range<u64>, from: u64) -> Result<Range<usize>> {
    let place = |at: u64| {
        usize::try_from(at - from).map_err(|_| Error::BadList("a list larger than memory"))
    };
    Ok(place(extent.start)?..place(extent.end)?)
}
