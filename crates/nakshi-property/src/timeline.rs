//! The edges of a record in the log, in the order of their times. A timeline is persistent: a copy
//! shares the chunks that have not changed since.

use std::sync::Arc;

/// Most edges of a chunk.
const CHUNK: usize = 128;

/// An edge of the log.
#[derive(Clone, Debug)]
pub(super) struct LogEdge {
    pub(super) time: i64,
    /// Order of insertion among edges of the same time.
    pub(super) stamp: u64,
    /// Internal id of the destination.
    pub(super) end: u32,
    /// Tells edges with the same ends and type apart; 0 for an edge without a number.
    pub(super) number: u64,
    /// The properties, encoded as [`RowValues`](super::row::RowValues).
    pub(super) values: Arc<[u8]>,
}

impl LogEdge {
    fn key(&self) -> (i64, u64) {
        (self.time, self.stamp)
    }
}

/// The edges, oldest first, in chunks that are never empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    chunks: Arc<Vec<TimelineChunk>>,
}

#[derive(Clone, Debug)]
struct TimelineChunk {
    /// Number of edges up to the end of this chunk.
    end: usize,
    edges: Arc<Vec<LogEdge>>,
}

impl Timeline {
    pub(super) fn len(&self) -> usize {
        self.chunks.last().map_or(0, |chunk| chunk.end)
    }

    /// The `i`-th edge.
    pub(super) fn get(&self, i: usize) -> Option<&LogEdge> {
        let number = self.chunks.partition_point(|chunk| chunk.end <= i);
        let chunk = self.chunks.get(number)?;
        chunk.edges.get(i + chunk.edges.len() - chunk.end)
    }

    /// The edge with this time and stamp.
    pub(super) fn find(&self, time: i64, stamp: u64) -> Option<&LogEdge> {
        self.get(self.place((time, stamp))).filter(|edge| edge.key() == (time, stamp))
    }

    /// Position of the edge with this time and stamp.
    pub(super) fn position(&self, time: i64, stamp: u64) -> Option<u64> {
        self.find(time, stamp).map(|_| self.place((time, stamp)) as u64)
    }

    /// Number of edges with a lower key.
    fn place(&self, key: (i64, u64)) -> usize {
        let below = |edge: &LogEdge| edge.key() < key;
        let number = self.chunks.partition_point(|chunk| chunk.edges.last().is_some_and(below));
        let Some(chunk) = self.chunks.get(number) else { return self.len() };
        chunk.end - chunk.edges.len() + chunk.edges.partition_point(below)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LogEdge> {
        self.chunks.iter().flat_map(|chunk| chunk.edges.iter())
    }

    pub(super) fn insert(&mut self, edge: LogEdge) {
        let place = self.place(edge.key());
        let chunks = Arc::make_mut(&mut self.chunks);
        // An edge between two chunks goes to the end of the first of them.
        let number = chunks.partition_point(|chunk| chunk.end < place);
        match chunks.get_mut(number) {
            None => chunks.push(TimelineChunk { end: place + 1, edges: Arc::new(vec![edge]) }),
            Some(chunk) => {
                let edges = Arc::make_mut(&mut chunk.edges);
                let at = (place + edges.len() - chunk.end).min(edges.len());
                edges.insert(at, edge);
                if edges.len() > CHUNK {
                    // An insertion at the end splits off the new edge alone, so that edges that
                    // come in order fill their chunks.
                    let half = if at == CHUNK { CHUNK } else { CHUNK / 2 };
                    let second = edges.split_off(half);
                    chunks.insert(number + 1, TimelineChunk { end: 0, edges: Arc::new(second) });
                }
            }
        }
        count(chunks, number);
    }

    /// Removes the edge with this time and stamp.
    pub(super) fn remove(&mut self, time: i64, stamp: u64) -> Option<LogEdge> {
        self.find(time, stamp)?;
        let place = self.place((time, stamp));
        let chunks = Arc::make_mut(&mut self.chunks);
        let number = chunks.partition_point(|chunk| chunk.end <= place);
        let chunk = chunks.get_mut(number)?;
        let at = place + chunk.edges.len() - chunk.end;
        let edge = Arc::make_mut(&mut chunk.edges).remove(at);
        if chunk.edges.is_empty() {
            chunks.remove(number);
        }
        count(chunks, number);
        Some(edge)
    }
}

/// Recomputes the ends of the chunks from `number` on.
fn count(chunks: &mut [TimelineChunk], number: usize) {
    let mut end = number.checked_sub(1).and_then(|i| chunks.get(i)).map_or(0, |chunk| chunk.end);
    for chunk in chunks.iter_mut().skip(number) {
        end += chunk.edges.len();
        chunk.end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The model is a sorted vector. Seen red with `count` skipped after a removal.
        #[test]
        fn a_timeline_is_a_sorted_list(steps in prop::collection::vec((0..40i64, any::<bool>()), 0..600)) {
            let (mut line, mut model) = (Timeline::default(), Vec::new());
            for (stamp, (time, add)) in (0..).zip(steps) {
                if add || model.is_empty() {
                    line.insert(LogEdge { time, stamp, end: 0, number: 0, values: Arc::new([]) });
                    model.push((time, stamp));
                    model.sort_unstable();
                } else {
                    let (time, stamp) = model.remove(time as usize % model.len());
                    prop_assert!(line.remove(time, stamp).is_some());
                    prop_assert!(line.remove(time, stamp).is_none());
                }
                prop_assert_eq!(line.len(), model.len());
            }
            let found: Vec<_> = line.iter().map(LogEdge::key).collect();
            prop_assert_eq!(&found, &model);
            let by_place: Vec<_> = (0..line.len()).map(|i| line.get(i).unwrap().key()).collect();
            prop_assert_eq!(&by_place, &model);
        }
    }
}
