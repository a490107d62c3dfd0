//! Communities by modularity, level by level: what [`super::louvain`] and [`super::leiden`] share.
//!
//! * [`lists`]: the lists of a level; [`strengths`]: sums of the weights at each vertex;
//! * [`tally`]: weights of the edges from a vertex to communities;
//! * [`moving`]: passes in which vertices move; [`aggregate`]: the graph of communities.
//!
//! On level 0 the state of vertices is in memory and the lists are read, range by range, the first time
//! all of them and then those of vertices whose neighbours have moved. From level 1 on the graph of the
//! communities is in memory. An edge of a directed graph counts at both of its ends.
//!
//! State: 44 bytes a vertex for Louvain and 64 for Leiden; 12 bytes for each pair of communities with
//! edges between them, twice; and a scratch of an eighth of what is left, at least 16 MiB.

mod aggregate;
pub(super) mod lists;
mod moving;
mod strengths;
pub(super) mod tally;

use crate::context::{Context, EngineMode};
use crate::error::Result;
use crate::estimate::{Estimate, Needs, Summary};
use crate::graph::Graph;
use crate::outcome::{Column, Outcome, Values};
use crate::stats::{IterationLog, RunStats};
use crate::vertex_set::VertexSet;
use aggregate::{LEAST_SCRATCH, Room, aggregate};
use lists::{GraphLevel, Level};
use moving::{Mover, Partition};
use nakshi_store::{Direction, VertexId};
use strengths::Strengths;

/// Passes over a level at most.
const PASSES: u32 = 32;

/// The parameters of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) resolution: f64,
    /// Gain in modularity of a pass below which the level ends.
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) weight: &'a Option<String>,
    /// Splits communities before they are merged, as Leiden does.
    pub(super) refines: bool,
    /// Searches at most, each from the communities of the one before.
    pub(super) rounds: u32,
}

/// Communities in internal order.
#[derive(Debug, Clone, Default)]
pub struct Modules {
    /// The community of each vertex, named by the vertex in it that has the smallest id.
    pub communities: Vec<VertexId>,
    /// Number of communities.
    pub count: u64,
    /// Modularity.
    pub modularity: f64,
    /// Levels, the graph itself included.
    pub levels: u32,
    /// The column with the weights; `None` if every edge weighed 1.
    pub weight: Option<String>,
    /// Statistics of the run.
    pub stats: RunStats,
}

impl From<Modules> for Outcome {
    fn from(found: Modules) -> Self {
        let column = Column::new("community", Values::Vertex(found.communities));
        Outcome::of(vec![column], found.stats)
            .with_summary("communities", found.count)
            .with_summary("modularity", found.modularity)
            .with_summary("levels", found.levels)
            .with_summary("lengths", found.weight.as_deref().unwrap_or("unit"))
    }
}

impl Search<'_> {
    /// Memory and lists of a search.
    pub(super) fn needs(&self, summary: &Summary) -> Needs {
        let directions: &[Direction] =
            if summary.directed { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
        let mut needs = Needs::new(if self.refines { 64.0 } else { 44.0 }, directions);
        let weighted = self.weight.is_some();
        let lists = GraphLevel::state_bytes(summary.longest_list, weighted, summary.directed);
        // A worker tallies the neighbours of one vertex, of which a byte of list may hold two.
        needs.state_bytes_fixed = LEAST_SCRATCH + lists + 128 * summary.longest_list;
        Needs { repeats: true, column: self.weight.clone(), ..needs }
    }

    fn room(&self, graph: &Graph, cx: &Context) -> Room {
        let Some(given) = cx.memory() else { return Room { bytes: u64::MAX, beside: 0 } };
        let summary = graph.summary();
        let estimate = Estimate::new(&self.needs(&summary), &summary, cx.threads());
        let resident = match graph.mode() {
            EngineMode::Memory => estimate.in_memory,
            _ => estimate.minimum,
        };
        let beside = resident - LEAST_SCRATCH;
        Room { bytes: given.saturating_sub(beside), beside }
    }

    /// Finds communities.
    pub(super) fn run(&self, graph: &Graph, cx: &Context) -> Result<Modules> {
        let mut log = IterationLog::new(graph);
        let strengths = Strengths::read(graph, cx)?;
        log.end("strengths", graph.num_vertices() as u64);
        let mut best = self.round(graph, &strengths, None, &mut log, cx)?;
        for _ in 1..self.rounds {
            let next = self.round(graph, &strengths, Some(&best.of), &mut log, cx)?;
            let grows = next.modularity > best.modularity + self.tolerance;
            if next.modularity > best.modularity {
                best = next;
            }
            if !grows {
                break;
            }
        }
        let Found { of, count, modularity, levels } = best;
        let communities = named(graph, of, count, cx)?;
        let (count, weight) = (count as u64, self.weight.clone());
        Ok(Modules { communities, count, modularity, levels, weight, stats: log.finish() })
    }

    /// Searches level by level, from communities that are known or from single vertices.
    fn round(
        &self,
        graph: &Graph,
        strengths: &Strengths,
        known: Option<&[VertexId]>,
        log: &mut IterationLog<'_>,
        cx: &Context,
    ) -> Result<Found> {
        let n = graph.num_vertices();
        let (sum, mut inside, room) = (strengths.sum, strengths.inside, self.room(graph, cx));
        let start = match known {
            Some(known) => Partition::given(known.to_vec(), &strengths.of),
            None => Partition::alone(&strengths.of),
        };
        let level = GraphLevel(graph);
        let step = self.level(&level, &strengths.of, sum, start, log, cx)?;
        let (mut of, mut tops, mut start) = (step.merged.of, step.strengths, step.start);
        let mut levels = 1;
        if step.count < n {
            // The lists are read twice more; their memory is that of the next level.
            graph.release();
            let mut rows = aggregate(&level, &of, step.count, room, cx)?;
            log.end("aggregate", n as u64);
            inside = sum - rows.weights.iter().sum::<f64>();
            loop {
                let nodes = tops.len();
                let partition = match start {
                    Some(start) => Partition::given(start, &tops),
                    None => Partition::alone(&tops),
                };
                let step = self.level(&rows, &tops, sum, partition, log, cx)?;
                levels += 1;
                if step.count == nodes {
                    break;
                }
                for community in &mut of {
                    let higher = step.merged.of.get(*community as usize);
                    *community = higher.copied().unwrap_or(*community);
                }
                rows = aggregate(&rows, &step.merged.of, step.count, room, cx)?;
                log.end("aggregate", nodes as u64);
                (tops, inside) = (step.strengths, sum - rows.weights.iter().sum::<f64>());
                start = step.start;
            }
        }
        let modularity = modularity(&tops, sum, inside, self.resolution);
        Ok(Found { of, count: tops.len(), modularity, levels })
    }

    /// Moves the vertices of a level, and refines what comes of it.
    fn level<L: Level>(
        &self,
        level: &L,
        strengths: &[f64],
        sum: f64,
        mut partition: Partition,
        log: &mut IterationLog<'_>,
        cx: &Context,
    ) -> Result<Step> {
        let n = level.vertices();
        let mover = Mover { strengths, sum, resolution: self.resolution, seed: self.seed };
        let mut active = VertexSet::full(if sum > 0.0 { n } else { 0 });
        for pass in 0..PASSES {
            if active.is_empty() {
                break;
            }
            let count = active.count() as u64;
            let (passed, again) = mover.pass(level, &mut partition, &active, cx)?;
            log.end("move", count);
            cx.progress().update("passes", (pass + 1).into(), PASSES.into());
            active = again;
            if passed.moved == 0 || passed.gain < self.tolerance {
                break;
            }
        }
        if !self.refines {
            let strengths = partition.renumber();
            return Ok(Step { count: strengths.len(), strengths, merged: partition, start: None });
        }
        let mut refined = Partition::alone(strengths);
        if sum > 0.0 {
            mover.refine(level, &mut refined, &partition, cx)?;
            log.end("refine", n as u64);
        }
        let strengths = refined.renumber();
        // A refined community starts in that of the first of its kind.
        let mut first = vec![VertexId::MAX; n];
        let mut start = vec![0; strengths.len()];
        for (&small, &large) in refined.of.iter().zip(&partition.of) {
            let (Some(first), Some(slot)) =
                (first.get_mut(large as usize), start.get_mut(small as usize))
            else {
                continue;
            };
            *first = small.min(*first);
            *slot = *first;
        }
        Ok(Step { count: strengths.len(), strengths, merged: refined, start: Some(start) })
    }
}

/// The communities that a round has found, numbered from 0.
struct Found {
    of: Vec<VertexId>,
    count: usize,
    modularity: f64,
    levels: u32,
}

/// The outcome of a level, from which the next one starts.
struct Step {
    /// The communities that become vertices, numbered from 0.
    merged: Partition,
    count: usize,
    strengths: Vec<f64>,
    /// The communities in which these vertices start, if not alone.
    start: Option<Vec<VertexId>>,
}

/// Modularity of communities with these strengths.
fn modularity(strengths: &[f64], sum: f64, inside: f64, resolution: f64) -> f64 {
    if sum <= 0.0 {
        return 0.0;
    }
    let squares: f64 = strengths.iter().map(|strength| (strength / sum) * (strength / sum)).sum();
    inside / sum - resolution * squares
}

/// Names each of `count` communities by the vertex in it that has the smallest id.
fn named(
    graph: &Graph,
    mut of: Vec<VertexId>,
    count: usize,
    cx: &Context,
) -> Result<Vec<VertexId>> {
    let ranks = graph.id_ranks(cx)?;
    let mut first = vec![(u32::MAX, 0); count];
    for (v, &community) in (0..).zip(&of) {
        let rank = ranks.as_ref().map_or(v, |ranks| ranks.get(v as usize).copied().unwrap_or(v));
        if let Some(slot) = first.get_mut(community as usize) {
            *slot = (rank, v).min(*slot);
        }
    }
    for community in &mut of {
        *community = first.get(*community as usize).map_or(0, |found| found.1);
    }
    Ok(of)
}
