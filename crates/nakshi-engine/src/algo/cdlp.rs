//! Community detection by label propagation as LDBC Graphalytics defines it
//! (specification 1.0, section 2.3.4), a deterministic variant of U. Raghavan, R. Albert,
//! S. Kumara, "Near linear time algorithm to detect community structures in large-scale
//! networks", Phys. Rev. E 76 (2007).
//!
//! All vertices change their labels at once: to the most frequent label among their
//! neighbours, of several the smallest. In a directed graph an arc counts at both of its
//! ends, so that a neighbour joined both ways counts twice. First labels are the users'
//! ids, and it is those that are compared, whatever the layout.
//!
//! State: two labels of 4 bytes per vertex, which are ranks among the users' ids.

use super::pulling::{self, PulledResult, Pulls};
use super::{Algorithm, DirectOrPull, Output, Parameter, algorithm};
use crate::both::{self, both_lists};
use crate::context::Context;
use crate::error::Result;
use crate::estimate::{Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::program::pull::programs;
use crate::shared::share_u32;
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::{Direction, VertexId};
use std::sync::atomic::{AtomicU64, Ordering};

algorithm! {
    /// Communities by synchronous label propagation (LDBC Graphalytics).
    #[derive(Eq)]
    pub struct Cdlp = "cdlp" {
        /// Rounds at most. There are fewer if a round changes nothing.
        pub iterations: u32 = 10 => Parameter::INTEGER.pulls();
        /// Method that spreads the labels; the results are the same.
        pub variant: DirectOrPull = DirectOrPull::Direct => Parameter::choice(DirectOrPull::CHOICES);
    }
    citation: "LDBC Graphalytics specification 1.0, section 2.3.4; U. Raghavan, R. Albert, S. Kumara, \
        Phys. Rev. E 76 (2007)";
    columns: &[
        Output::new("label", "vertex", "the community, named by one of the vertex ids; ties go to the smallest"),
    ];
    summary: &[
        Output::new("communities", "uint64", "number of communities"),
        Output::new("iterations", "uint64", "rounds that were run"),
    ];
}

/// Communities in internal order.
#[derive(Debug, Clone, Default)]
pub struct Communities {
    /// The vertex whose id is the label of the community, by vertex.
    pub labels: Vec<VertexId>,
    /// Number of different labels.
    pub count: u64,
    /// Rounds that were run.
    pub iterations: u32,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Communities> for Outcome {
    fn from(found: Communities) -> Self {
        Outcome::of(vec![Column::new("label", Values::Vertex(found.labels))], found.stats)
            .with_summary("communities", found.count)
            .with_summary("iterations", found.iterations)
    }
}

impl Algorithm for Cdlp {
    type Output = Communities;

    fn needs(&self, summary: &Summary) -> Needs {
        if self.variant == DirectOrPull::PullProgram {
            // Ranks of ids as vertices, and a bit of each label.
            return pulling::needs(self, summary, 8.125);
        }
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(8.0 + 0.25, directions);
        // A worker counts the labels of one vertex: at most 36 bytes per neighbour, of which
        // a byte of list may hold more than one.
        needs.state_bytes_fixed = 64 * summary.longest_list
            + if summary.directed { both::state_bytes(summary.longest_list) } else { 0 };
        needs.repeats = true;
        needs
    }

    fn run(&self, graph: &Graph, cx: &Context) -> Result<Communities> {
        if self.variant == DirectOrPull::PullProgram {
            return pulling::run(self, graph, cx);
        }
        let mut log = IterationLog::new(graph);
        let n = graph.num_vertices();
        let mut labels = match graph.id_ranks(cx)? {
            Some(ranks) => ranks,
            // There are at most 2^32 vertices.
            None => (0..n).map(|v| v as u32).collect(),
        };
        let mut next = vec![0u32; n];
        let mut iterations = 0;
        while iterations < self.iterations {
            let changed = round(graph, &labels, &mut next, cx)?;
            std::mem::swap(&mut labels, &mut next);
            iterations += 1;
            log.end("propagate", changed);
            cx.progress().update("labels", iterations.into(), self.iterations.into());
            if changed == 0 {
                break;
            }
        }
        let count = different(&labels);
        drop(next);
        name_by_vertices(graph, &mut labels, cx)?;
        Ok(Communities { labels, count, iterations, stats: log.finish() })
    }
}

/// Replaces ranks by the vertices whose ids have them; numbers that are no rank stay.
pub(super) fn name_by_vertices(graph: &Graph, labels: &mut [u32], cx: &Context) -> Result<()> {
    if let Some(vertices) = graph.vertices_by_id(cx)? {
        for label in labels {
            *label = vertices.get(*label as usize).copied().unwrap_or(*label);
        }
    }
    Ok(())
}

/// Number of different ranks among these; numbers that are no rank do not count.
pub(super) fn different(labels: &[u32]) -> u64 {
    let mut used = Bitmap::new(labels.len());
    labels.iter().for_each(|&label| used.set(label as usize));
    used.count() as u64
}

impl Pulls for Cdlp {
    type Program = programs::PullCommunities;

    fn program(&self) -> programs::PullCommunities {
        programs::PullCommunities { iterations: self.iterations }
    }

    fn assemble(&self, mut found: PulledResult<'_, u32>) -> Result<Communities> {
        let ranks = std::mem::take(&mut found.values);
        let count = different(&ranks);
        let labels = found.vertices(ranks)?;
        Ok(Communities { labels, count, iterations: found.steps, stats: found.stats })
    }
}

/// Runs one round; returns the number of vertices whose label has changed.
fn round(graph: &Graph, labels: &[u32], next: &mut [u32], cx: &Context) -> Result<u64> {
    let shared = share_u32(next);
    let changed = AtomicU64::new(0);
    let all = VertexSet::full(graph.num_vertices());
    both_lists(
        graph,
        &all,
        cx,
        |_| Votes::default(),
        |votes, v, out, incoming| {
            let own = labels.get(v as usize).copied().unwrap_or(0);
            let label = votes.winner(labels, out, incoming).unwrap_or(own);
            if let Some(slot) = shared.get(v as usize) {
                slot.store(label, Ordering::Relaxed);
            }
            if label != own {
                changed.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        },
    )?;
    Ok(changed.into_inner())
}

/// Neighbours up to which labels are sorted; beyond, they are counted in a table.
const SORTED: usize = 64;

/// Counts labels of the neighbours of one vertex at a time.
#[derive(Default)]
struct Votes {
    labels: Vec<u32>,
    /// Open addressing; a count of 0 marks a free slot.
    table: Vec<(u32, u32)>,
}

impl Votes {
    /// The smallest of the most frequent labels; `None` without neighbours.
    fn winner(&mut self, labels: &[u32], out: &[VertexId], incoming: &[VertexId]) -> Option<u32> {
        self.labels.clear();
        let label = |&u: &VertexId| labels.get(u as usize).copied().unwrap_or(0);
        self.labels.extend(out.iter().chain(incoming).map(label));
        if self.labels.len() <= SORTED { self.by_sorting() } else { self.by_counting() }
    }

    fn by_sorting(&mut self) -> Option<u32> {
        self.labels.sort_unstable();
        let runs = self.labels.chunk_by(|a, b| a == b);
        // Of runs of equal length the first, which has the smallest label, must win.
        let mut best: Option<&[u32]> = None;
        for run in runs {
            if best.is_none_or(|b| run.len() > b.len()) {
                best = Some(run);
            }
        }
        best.and_then(|run| run.first().copied())
    }

    fn by_counting(&mut self) -> Option<u32> {
        let slots = (2 * self.labels.len()).next_power_of_two();
        self.table.clear();
        self.table.resize(slots, (0, 0));
        let shift = u64::BITS - slots.trailing_zeros();
        let mut best: Option<(u32, u32)> = None;
        for &label in &self.labels {
            let hash = u64::from(label).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift;
            let mut at = hash as usize;
            // The table is at most half full, so that a free slot is always found.
            while let Some(slot) = self.table.get_mut(at) {
                if slot.1 == 0 || slot.0 == label {
                    *slot = (label, slot.1 + 1);
                    if best.is_none_or(|(l, c)| (slot.1, l) > (c, label)) {
                        best = Some(*slot);
                    }
                    break;
                }
                at = (at + 1) & (slots - 1);
            }
        }
        best.map(|b| b.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::cdlp as oracle;
    use crate::algo::oracle::sample::{cases, graphs};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(40)))]
        #[test]
        fn equals_the_oracle(sample in graphs(60, 400), iterations in 0u32..12) {
            let ids: Vec<u64> = (0..sample.n as u64).collect();
            let expected = oracle::labels(&ids, &sample.arcs(), sample.directed, iterations);
            sample.compare(&expected, |graph, cx| {
                let found = Cdlp { iterations, ..Cdlp::default() }.run(graph, cx).unwrap();
                found.labels.iter().map(|&l| l.into()).collect()
            })?;
        }

        #[test]
        fn both_ways_of_counting_agree(labels in proptest::collection::vec(0u32..40, 1..400)) {
            let mut votes = Votes { labels, table: Vec::new() };
            let counted = votes.by_counting();
            prop_assert_eq!(counted, votes.by_sorting());
        }
    }
}
