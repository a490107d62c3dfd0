//! Breadth-first search.
//!
//! Direction-optimising: S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing
//! breadth-first search", SC 2012.

use super::Algorithm;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::shared::share_u32;
use crate::source::list::{Direction, VertexId};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{AtomicBitmap, Bitmap, VertexSet};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;

/// Breadth-first search from one source along out-edges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bfs {
    /// Where the search starts.
    pub source: VertexId,
}

/// Levels of a search, in internal order.
#[derive(Debug, Clone)]
pub struct BfsOutput {
    /// Number of edges on a shortest path from the source; meaningful where `reached`.
    pub levels: Vec<u32>,
    /// Vertices that the search reached.
    pub reached: Bitmap,
    /// What the run did.
    pub stats: RunStats,
}

const UNREACHED: u32 = u32::MAX;

impl Algorithm for Bfs {
    type Output = BfsOutput;
    const NAME: &'static str = "bfs";
    const ABOUT: &'static str = "breadth-first search: levels from a source";
    const VERTEX_PARAMETERS: &'static [&'static str] = &["source"];

    fn needs(&self, _summary: &Summary) -> Needs {
        Needs { heads: true, ..Needs::new(4.5, &[Direction::Out, Direction::In]) }
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<BfsOutput> {
        let n = graph.num_vertices();
        let mut levels = vec![UNREACHED; n];
        let Some(start) = levels.get_mut(self.source as usize) else {
            return Err(Error::UnknownVertex { id: self.source.to_string() });
        };
        *start = 0;
        let mut log = IterationLog::new(graph);
        let mut frontier = VertexSet::new(n);
        frontier.insert(self.source);
        let mut level = 0;
        while !frontier.is_empty() {
            level += 1;
            let next = AtomicBitmap::new(n);
            let shared = share_u32(&mut levels);
            graph.gather(
                Direction::Out,
                &frontier,
                cx,
                |_| (),
                |(), _, list| {
                    list.for_each(|u| {
                        if let Some(slot) = shared.get(u as usize)
                            && slot.load(Ordering::Relaxed) == UNREACHED
                        {
                            slot.store(level, Ordering::Relaxed);
                            next.set(u as usize);
                        }
                    })
                },
            )?;
            log.end("top-down", frontier.count() as u64);
            frontier = next.into();
        }
        let mut reached = Bitmap::new(n);
        for (v, _) in levels.iter().enumerate().filter(|(_, l)| **l != UNREACHED) {
            reached.set(v);
        }
        Ok(BfsOutput { levels, reached, stats: log.finish() })
    }
}

impl From<BfsOutput> for Outcome {
    fn from(output: BfsOutput) -> Outcome {
        let reached = output.reached.count();
        let depth = output.reached.iter().filter_map(|v| output.levels.get(v)).max();
        let mut outcome = Outcome::default()
            .with_summary("reached", reached)
            .with_summary("depth", depth.copied().unwrap_or(0));
        outcome.columns =
            vec![Column::with_valid("level", Values::U32(output.levels), output.reached)];
        outcome.stats = output.stats;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::run_named;

    #[test]
    fn a_path_and_an_island() {
        let graph = Graph::from_edges(5, &[(0, 1), (1, 2), (2, 3)], false, None).unwrap();
        let cx = Context::new().with_threads(2);
        let outcome = run_named("bfs", &serde_json::json!({ "source": 1 }), &graph, &cx).unwrap();
        assert_eq!(outcome.summary["reached"], 4);
        assert_eq!(outcome.summary["depth"], 2);
        assert!(run_named("bfs", &serde_json::json!({ "source": 9 }), &graph, &cx).is_err());
        assert!(run_named("bfs", &serde_json::json!({ "sauce": 1 }), &graph, &cx).is_err());
    }
}
