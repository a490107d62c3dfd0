//! Similarity of pairs of vertices by their common neighbours.
//!
//! D. Liben-Nowell, J. Kleinberg, "The link-prediction problem for social networks", CIKM 2003, compares
//! these measures. As in NetworkX, neither vertex of a pair is a common neighbour, and a self-loop adds
//! two to the degree of its vertex.

use super::ids::IdBatch;
use super::{Latest, VertexLookup, range};
use crate::Result;
use nakshi_engine::lookup::NeighborLists;
use nakshi_engine::parallel::map_ranges;
use nakshi_engine::{self as engine, Context, Direction, VertexId};
use nakshi_property::Along;

/// Encoded bytes of lists that are read at once.
const GROUP_BYTES: u64 = 8 << 20;
/// Pairs that are answered at once.
const GROUP: usize = 1 << 16;
/// Pairs that a worker takes at once.
const BATCH: usize = 256;

/// A measure of similarity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Similarity {
    /// Common neighbours over all neighbours of either.
    Jaccard,
    /// Common neighbours over the neighbours of the one that has fewer.
    Overlap,
    /// Common neighbours over the geometric mean of the two numbers of neighbours.
    Cosine,
    /// Sum of 1 over the logarithm of the degree of each common neighbour.
    AdamicAdar,
    /// Sum of 1 over the degree of each common neighbour.
    ResourceAllocation,
}

impl Similarity {
    /// The measure from counts alone; `None` if it takes the common neighbours themselves.
    fn by_counts(self, common: usize, one: usize, other: usize, both: usize) -> Option<f64> {
        let whole = match self {
            Similarity::Jaccard => (one + other - both) as f64,
            Similarity::Overlap => one.min(other) as f64,
            Similarity::Cosine => (one as f64 * other as f64).sqrt(),
            Similarity::AdamicAdar | Similarity::ResourceAllocation => return None,
        };
        Some(if common == 0 { 0.0 } else { common as f64 / whole })
    }

    /// The part of a common neighbour of this degree.
    fn part(self, degree: u64) -> f64 {
        match self {
            Similarity::AdamicAdar => 1.0 / (degree as f64).ln(),
            _ => 1.0 / degree as f64,
        }
    }
}

/// The answer for a pair, or the neighbours from whose degrees it follows.
enum Found {
    Value(f64),
    Common(Vec<VertexId>),
}

impl VertexLookup {
    /// The similarity of each pair of a source and a target, in an undirected graph.
    ///
    /// # Errors
    /// As [`VertexLookup::has_edges`]; a directed graph.
    pub fn similarities(
        &self,
        measure: Similarity,
        (sources, targets): (&IdBatch, &IdBatch),
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<f64>> {
        if self.store.directed() {
            let what =
                "similarity of pairs in a directed graph; import it with --undirected".into();
            return Err(engine::Error::Unsupported { what }.into());
        }
        let pairs = self.pairs(sources, targets, latest, cx)?;
        let mut all = Vec::with_capacity(pairs.len());
        let mut rest = pairs.as_slice();
        while !rest.is_empty() {
            let (group, after) = rest.split_at(self.group(rest));
            all.extend(self.group_similarities(measure, group, latest, cx)?);
            rest = after;
        }
        Ok(all)
    }

    /// Number of the first pairs whose lists fit a group; at least one.
    fn group(&self, pairs: &[(VertexId, VertexId)]) -> usize {
        let graph = self.lists.graph();
        let bytes = |v| graph.list_bytes(Direction::Out, v).unwrap_or(0);
        let mut sum = 0;
        let fits = |&&(a, b): &&(VertexId, VertexId)| {
            sum += bytes(a) + bytes(b);
            sum <= GROUP_BYTES
        };
        pairs.iter().take(GROUP).take_while(fits).count().max(1)
    }

    fn group_similarities(
        &self,
        measure: Similarity,
        pairs: &[(VertexId, VertexId)],
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<f64>> {
        let ends = distinct(pairs.iter().flat_map(|&(a, b)| [a, b]));
        let lists = self.lists_of(&ends, Along::Out, latest, cx)?;
        let found = map_ranges(
            cx,
            (pairs.len(), BATCH),
            || (),
            |(), range| {
                let batch = pairs.get(range).unwrap_or_default().iter();
                let found = batch.map(|&pair| compare(measure, pair, &ends, &lists));
                Ok(found.collect::<Vec<_>>())
            },
        )?;
        let found: Vec<Found> = found.into_iter().flatten().collect();
        let common = distinct(
            found
                .iter()
                .flat_map(|found| match found {
                    Found::Common(common) => common.as_slice(),
                    Found::Value(_) => &[],
                })
                .copied(),
        );
        let degrees = self.degrees_with_loops(&common, latest, cx)?;
        let part = |v: &VertexId| {
            let at = common.binary_search(v).ok();
            at.and_then(|at| degrees.get(at)).map_or(0.0, |&degree| measure.part(degree))
        };
        let value = |found: &Found| match found {
            Found::Value(value) => *value,
            Found::Common(common) => common.iter().map(part).sum(),
        };
        Ok(found.iter().map(value).collect())
    }

    /// Degrees in which a self-loop counts twice.
    fn degrees_with_loops(
        &self,
        vertices: &[VertexId],
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<u64>> {
        let loops: Vec<(VertexId, VertexId)> = vertices.iter().map(|&v| (v, v)).collect();
        let loops = self.edges_between(&loops, latest, cx)?;
        let mut degrees = self.degrees_of(vertices, Along::Out, latest, cx)?;
        degrees.iter_mut().zip(loops).for_each(|(degree, more)| *degree += u64::from(more));
        Ok(degrees)
    }
}

/// The vertices, ascending, each once.
fn distinct(vertices: impl Iterator<Item = VertexId>) -> Vec<VertexId> {
    let mut all: Vec<VertexId> = vertices.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn compare(
    measure: Similarity,
    (a, b): (VertexId, VertexId),
    ends: &[VertexId],
    lists: &NeighborLists<VertexId>,
) -> Found {
    let list = |v: VertexId| {
        let at = ends.binary_search(&v).unwrap_or(usize::MAX);
        lists.targets.get(range(&lists.offsets, at)).unwrap_or_default()
    };
    let (one, other) = (list(a), list(b));
    let mut common = Vec::new();
    let both = meet(one, other, |v| {
        if v != a && v != b {
            common.push(v);
        }
    });
    match measure.by_counts(common.len(), one.len(), other.len(), both) {
        Some(value) => Found::Value(value),
        None => Found::Common(common),
    }
}

/// Calls `f` for the vertices in both of two ascending lists; returns their number.
fn meet(one: &[VertexId], other: &[VertexId], mut f: impl FnMut(VertexId)) -> usize {
    let (short, mut long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let mut both = 0;
    for &v in short {
        // Twice as far each time, then by halves: cheap where the lists are much unlike.
        let mut step = 1;
        while long.get(step).is_some_and(|&u| u < v) {
            step *= 2;
        }
        let near = long.get(..long.len().min(step + 1)).unwrap_or_default();
        long = long.get(near.partition_point(|&u| u < v)..).unwrap_or_default();
        if long.first() == Some(&v) {
            both += 1;
            f(v);
        }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::meet;

    #[test]
    fn lists_meet() {
        let thirds: Vec<u32> = (0..100).map(|v| 3 * v).collect();
        let fifths: Vec<u32> = (0..7).map(|v| 5 * v).collect();
        for (one, other) in [(&thirds, &fifths), (&fifths, &thirds)] {
            let mut common = Vec::new();
            assert_eq!(meet(one, other, |v| common.push(v)), 3);
            assert_eq!(common, [0, 15, 30]);
        }
        assert_eq!(meet(&[], &[1], |_| {}), 0);
    }
}
