//! Look-ups after the last commit: lists of files, but where the log has changed them.

use std::collections::HashMap;

use super::VertexLookup;
use crate::Result;
use nakshi_engine::lookup::{NeighborLists, Sampling};
use nakshi_engine::{Context, Direction, VertexId};
use nakshi_property::PropertyGraph;

/// Vertices that are looked at between two looks at the token.
const VERTICES: usize = 256;

impl VertexLookup {
    /// The lists of `vertices` with the changes of the log of `graph`; each neighbour once.
    pub(super) fn merged(
        &self,
        graph: &PropertyGraph,
        direction: Direction,
        vertices: &[VertexId],
        cx: &Context,
    ) -> Result<NeighborLists<VertexId>> {
        let known = |v: VertexId| match direction {
            Direction::Out => !graph.has_other_targets(v),
            Direction::In => u64::from(v) < graph.num_filed(),
        };
        let filed: Vec<VertexId> = vertices.iter().copied().filter(|&v| known(v)).collect();
        let lists = self.lists.neighbors(direction, &filed, cx, super::copied)?;
        let mut place = 0;
        let mut merged = NeighborLists { offsets: vec![0], ..NeighborLists::default() };
        for (at, &v) in vertices.iter().enumerate() {
            if at.is_multiple_of(VERTICES) {
                cx.check()?;
            }
            let mut list: &[VertexId] = &[];
            if known(v) {
                list = lists.targets.get(super::range(&lists.offsets, place)).unwrap_or_default();
                place += 1;
            }
            match direction {
                Direction::Out if known(v) => merged.targets.extend_from_slice(list),
                Direction::Out => merged.targets.extend(graph.targets(v)?),
                Direction::In => merged.targets.extend(graph.sources(v, list)?),
            }
            merged.offsets.push(merged.targets.len() as i64);
        }
        Ok(merged)
    }

    /// For each pair, 1 if there is an edge after the last commit, else 0.
    pub(super) fn merged_edges(
        &self,
        graph: &PropertyGraph,
        pairs: &[(VertexId, VertexId)],
        cx: &Context,
    ) -> Result<Vec<u8>> {
        let filed = |&(source, target): &(VertexId, VertexId)| {
            !graph.has_other_targets(source) && u64::from(target) < graph.num_filed()
        };
        let known: Vec<(VertexId, VertexId)> = pairs.iter().copied().filter(filed).collect();
        let mut answers = self.lists.has_edges(&known, cx)?.into_iter();
        let mut found = Vec::with_capacity(pairs.len());
        for (at, pair) in pairs.iter().enumerate() {
            if at.is_multiple_of(VERTICES) {
                cx.check()?;
            }
            found.push(if filed(pair) {
                answers.next().unwrap_or(0)
            } else {
                u8::from(graph.targets(pair.0)?.binary_search(&pair.1).is_ok())
            });
        }
        Ok(found)
    }

    /// Samples of the lists after the last commit.
    pub(super) fn merged_sample(
        &self,
        graph: &PropertyGraph,
        direction: Direction,
        vertices: &[VertexId],
        sampling: Sampling,
        cx: &Context,
    ) -> Result<NeighborLists<VertexId>> {
        let all = self.merged(graph, direction, vertices, cx)?;
        let mut drawn = NeighborLists { offsets: vec![0], ..NeighborLists::default() };
        let mut places = Vec::new();
        for at in 0..vertices.len() {
            let list = all.targets.get(super::range(&all.offsets, at)).unwrap_or_default();
            sampling.places(list.len() as u64, at as u64, &mut places);
            let one = |&place: &u64| list.get(usize::try_from(place).unwrap_or(usize::MAX));
            drawn.targets.extend(places.iter().filter_map(one));
            drawn.offsets.push(drawn.targets.len() as i64);
        }
        Ok(drawn)
    }

    /// A path with as few edges as possible after the last commit.
    pub(super) fn merged_path(
        &self,
        graph: &PropertyGraph,
        (from, to): (VertexId, VertexId),
        cx: &Context,
    ) -> Result<Option<Vec<VertexId>>> {
        let mut sides = [(from, Direction::Out), (to, Direction::In)]
            .map(|(start, direction)| (HashMap::from([(start, start)]), vec![start], direction));
        if from == to {
            return Ok(Some(vec![from]));
        }
        loop {
            let [ahead, behind] = &mut sides;
            let forward = ahead.1.len() <= behind.1.len();
            let (mine, other) = if forward { (ahead, &behind.0) } else { (behind, &ahead.0) };
            let lists = self.merged(graph, mine.2, &mine.1, cx)?;
            let (mut next, mut met) = (Vec::new(), None);
            for (at, &v) in mine.1.iter().enumerate() {
                let list = lists.targets.get(super::range(&lists.offsets, at));
                for &u in list.unwrap_or_default() {
                    mine.0.entry(u).or_insert_with(|| {
                        next.push(u);
                        v
                    });
                    if other.contains_key(&u) {
                        met.get_or_insert(u);
                    }
                }
            }
            if let Some(met) = met {
                let [ahead, behind] = &sides;
                let mut path = back(&ahead.0, met);
                path.reverse();
                path.extend(back(&behind.0, met).into_iter().skip(1));
                return Ok(Some(path));
            }
            if next.is_empty() {
                return Ok(None);
            }
            mine.1 = next;
        }
    }
}

/// The way from a vertex back to the start of its side.
fn back(before: &HashMap<VertexId, VertexId>, mut vertex: VertexId) -> Vec<VertexId> {
    let mut path = vec![vertex];
    while let Some(&next) = before.get(&vertex).filter(|&&next| next != vertex) {
        path.push(next);
        vertex = next;
    }
    path
}
