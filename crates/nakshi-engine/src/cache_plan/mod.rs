//! BASC: which edge lists to keep in memory for traversals (USENIX ATC 2019).
//!
//! A page that a traversal reads for a few of its lists is a waste. Every list is charged with the
//! waste that it causes, and those with the highest charge for their size are chosen, a K-th of the
//! budget at a time, since what is chosen changes what the others are charged with.
//!
//! * [`gvs`]: charges by neighbourhoods, as the paper has them;
//! * [`levels`]: charges by the levels of sampled searches, ours.
//!
//! Two readings of the paper: line 13 of its Algorithm 1 takes the lowest charge, its text the
//! highest, which is right; and what a list takes of a page is its size in bytes, since lists are
//! compressed.

mod charges;
mod gvs;
mod levels;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::Needs;
use crate::graph::Graph;
use crate::searches::SAMPLES;
use crate::vertex_set::Bitmap;
use charges::{Charges, ListExtents};
use gvs::Neighbourhoods;
use levels::Sampled;
use nakshi_store::layout::mix;
use nakshi_store::{CachePlan, Direction, PlanInfo, PlanSide, Store, VertexId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The rule by which vertices are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// Greedy Vertex Selection by what is asked for with each level of sampled searches.
    #[default]
    Levels,
    /// Greedy Vertex Selection as in the paper: by what is asked for with each neighbourhood.
    Gvs,
    /// Vertices of the largest degree.
    HighD,
    /// Vertices of the smallest degree that is not 0.
    LowD,
    /// Vertices shuffled by the seed.
    Random,
}

impl Select {
    fn name(self) -> &'static str {
        match self {
            Select::Gvs => "gvs",
            Select::Levels => "levels",
            Select::HighD => "highd",
            Select::LowD => "lowd",
            Select::Random => "random",
        }
    }
}

/// Parameters of a cache plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePlanConfig {
    /// Share of the bytes of all lists that the plan may keep, above 0 and at most 1.
    pub share: f64,
    /// K: the more, the more often charges follow what was chosen. Default 50.
    pub iterations: u32,
    /// The rule by which vertices are chosen. Default [`Select::Levels`].
    pub select: Select,
    /// Seed of [`Select::Random`] and [`Select::Levels`]. Default 1.
    pub seed: u64,
}

impl Default for CachePlanConfig {
    fn default() -> Self {
        CachePlanConfig { share: 0.2, iterations: 50, select: Select::default(), seed: 1 }
    }
}

impl CachePlanConfig {
    fn iterates(&self) -> bool {
        matches!(self.select, Select::Gvs | Select::Levels)
    }

    /// Memory that making a plan needs.
    pub fn needs(&self) -> Needs {
        let state = match self.select {
            // Steps, charge, queue and sets.
            Select::Levels => 2.0 * SAMPLES as f64 + 8.0 + 16.0 + 1.0,
            // Charge, in-degree, page, queue, lists that begin in a page, and sets.
            _ => 41.0,
        };
        Needs { gathers: true, ..Needs::new(state, &[Direction::Out, Direction::In]) }
    }
}

/// Chooses the lists of `store` that shall stay in memory.
///
/// # Errors
/// [`Error::Parameter`] for a share that cannot be; [`Error::Budget`]; errors of reading;
/// [`Error::Cancelled`].
pub fn make(store: &Arc<Store>, config: &CachePlanConfig, cx: &Context) -> Result<CachePlan> {
    if !(config.share > 0.0 && config.share <= 1.0) {
        return Err(Error::parameter("size", "must be above 0 % and at most 100 % of the lists"));
    }
    if config.iterations == 0 {
        return Err(Error::parameter("iterations", "must be 1 or more"));
    }
    let graph = Graph::open(store, &config.needs(), cx)?;
    let mut sides = Vec::new();
    let mut whole = 0;
    let directions: &[Direction] =
        if store.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    for &direction in directions {
        // Lossless: a share of bytes that a disk holds.
        let budget = (graph.total_bytes(direction)? as f64 * config.share) as u64;
        whole += budget;
        let vertices = choose(&graph, direction, budget, config, cx)?;
        sides.push(side(&graph, direction, vertices)?);
    }
    let about = PlanInfo {
        store: store.uuid().to_owned(),
        layout: store.manifest().layout.clone(),
        select: config.select.name().to_owned(),
        budget: whole,
        iterations: if config.iterates() { config.iterations } else { 1 },
    };
    Ok(CachePlan { about, sides })
}

/// The plan of `other` for `store`, a later state of the same graph: the lists of the same ids, as
/// far as they are there and have a list. Lists that have grown take more than the plan's budget.
///
/// # Errors
/// [`Error::Parameter`] if `other` has no plan; errors of reading; [`Error::Cancelled`].
pub fn carry_over(other: &Store, store: &Arc<Store>, cx: &Context) -> Result<CachePlan> {
    let plan = CachePlan::load(other)?.ok_or_else(|| {
        let what = format!("{} has no cache plan", other.path().display());
        Error::parameter("like", what)
    })?;
    let needs = Needs::new(20.0, &[Direction::Out, Direction::In]);
    let graph = Graph::open(store, &needs, cx)?;
    let (theirs, ours) = (other.ids()?, store.ids()?.until(cx.cancel_token()));
    // For each rank, the vertex here and there.
    let theirs_by_rank = ours.internal_in(&theirs.until(cx.cancel_token()))?;
    let pairs: Vec<(VertexId, VertexId)> = ours
        .internal_by_rank()?
        .into_iter()
        .zip(theirs_by_rank)
        .filter_map(|(here, there)| Some((here, there?)))
        .collect();
    let mut sides = Vec::new();
    for side in &plan.sides {
        // Both kinds of graph have out-lists, only directed ones have others.
        if side.direction != store.resolve(side.direction) {
            continue;
        }
        let mut vertices = Vec::new();
        for &(here, there) in &pairs {
            if side.vertices.binary_search(&there).is_ok()
                && graph.list_bytes(side.direction, here)? > 0
            {
                vertices.push(here);
            }
        }
        vertices.sort_unstable();
        sides.push(self::side(&graph, side.direction, vertices)?);
    }
    let (store, layout) = (store.uuid().to_owned(), store.manifest().layout.clone());
    Ok(CachePlan { about: PlanInfo { store, layout, ..plan.about }, sides })
}

/// The plan of a direction, from its vertices in ascending order.
fn side(graph: &Graph, direction: Direction, vertices: Vec<VertexId>) -> Result<PlanSide> {
    let mut bytes = 0;
    for &v in &vertices {
        bytes += graph.list_bytes(direction, v)?;
    }
    Ok(PlanSide { direction, bytes, vertices })
}

/// Vertices whose lists of a direction take at most `budget` bytes, ascending.
pub(crate) fn choose(
    graph: &Graph,
    direction: Direction,
    budget: u64,
    config: &CachePlanConfig,
    cx: &Context,
) -> Result<Vec<VertexId>> {
    let n = graph.num_vertices();
    let lists = ListExtents::new(graph, direction);
    let bytes = |v: VertexId| lists.bytes(v);
    let mut chosen = Bitmap::new(n);
    if config.iterates() {
        let mut charges: Box<dyn Charges> = match config.select {
            Select::Levels => Box::new(Sampled::new(graph, direction, config.seed, cx)?),
            _ => Box::new(Neighbourhoods::new(graph, direction, cx)?),
        };
        charges.all(&chosen)?;
        let mut taken = 0;
        for k in 1..=config.iterations {
            cx.check()?;
            cx.progress().update("cache-plan", k.into(), config.iterations.into());
            let limit = (budget as f64 * f64::from(k) / f64::from(config.iterations)) as u64;
            let news = highest(charges.as_ref(), &lists, &mut chosen, &mut taken, limit);
            cx.check()?;
            if k < config.iterations && !news.is_empty() {
                charges.update(&chosen, &news)?;
            }
        }
    } else {
        let degrees = graph.degrees(direction, cx)?;
        let degree = |v: VertexId| degrees.get(v as usize).copied().unwrap_or(0);
        // Lossless: vertices.
        let mut order: Vec<VertexId> = (0..n as VertexId).filter(|&v| bytes(v) > 0).collect();
        match config.select {
            Select::HighD => order.sort_unstable_by_key(|&v| (Reverse(degree(v)), v)),
            Select::LowD => order.sort_unstable_by_key(|&v| (degree(v), v)),
            _ => order.sort_unstable_by_key(|&v| (mix(config.seed ^ mix(v.into())), v)),
        }
        let mut taken = 0;
        for v in order {
            if taken + bytes(v) > budget {
                break;
            }
            taken += bytes(v);
            chosen.set(v as usize);
        }
    }
    // Lossless: vertices.
    Ok(chosen.iter_in(0, n).map(|v| v as VertexId).collect())
}

/// Chooses the highest charges for their bytes, until `limit` bytes are taken (lines 12 to 16 of
/// Algorithm 1); returns the new ones.
fn highest(
    charges: &dyn Charges,
    lists: &ListExtents<'_>,
    chosen: &mut Bitmap,
    taken: &mut u64,
    limit: u64,
) -> Vec<VertexId> {
    // Lossless: vertices.
    let mut queue: BinaryHeap<Rated> = (0..lists.graph.num_vertices() as VertexId)
        .filter(|&v| !chosen.get(v as usize) && lists.bytes(v) > 0)
        .map(|v| Rated { rate: charges.rate(v), v })
        .collect();
    let mut news = Vec::new();
    while let Some(Rated { v, .. }) = queue.pop() {
        if *taken + lists.bytes(v) > limit {
            break;
        }
        *taken += lists.bytes(v);
        chosen.set(v as usize);
        news.push(v);
    }
    news
}

/// A candidate with its charge for each byte.
#[derive(PartialEq)]
struct Rated {
    rate: f64,
    v: VertexId,
}

impl Eq for Rated {}

impl Ord for Rated {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rate.total_cmp(&other.rate).then(other.v.cmp(&self.v))
    }
}

impl PartialOrd for Rated {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::gvs::ONE;
    use super::*;
    use crate::algo::oracle::sample::{Sample, contexts, graphs, power_law, power_laws};
    use proptest::prelude::*;

    /// Algorithm 1 as it is written, without pages in order, updates or integers.
    fn plainly(sample: &Sample, graph: &Graph, budget: u64, iterations: u32) -> Vec<VertexId> {
        let lists = sample.adjacency();
        let page = |v: u32| graph.extent(Direction::Out, v as usize).start / 4096;
        let bytes = |v: u32| graph.list_bytes(Direction::Out, v).unwrap();
        let mut into = vec![0u64; sample.n];
        let begin = |p: u64| (0..sample.n as u32).filter(|&v| bytes(v) > 0 && page(v) == p).count();
        for list in &lists {
            let mut list = list.clone();
            list.dedup();
            list.iter().for_each(|&u| into[u as usize] += 1);
        }
        let mut chosen = vec![false; sample.n];
        let mut taken = 0;
        for k in 1..=iterations {
            let mut charge = vec![0u64; sample.n];
            for list in &lists {
                let mut list: Vec<u32> = list.clone();
                list.dedup();
                list.retain(|&u| !chosen[u as usize] && bytes(u) > 0);
                for &u in &list {
                    let used: u64 =
                        list.iter().filter(|&&w| page(w) == page(u)).map(|&w| bytes(w)).sum();
                    let r = begin(page(u)) as f64;
                    let term = ONE / (r * into[u as usize] as f64 * used as f64);
                    charge[u as usize] += term as u64;
                }
            }
            let limit = (budget as f64 * f64::from(k) / f64::from(iterations)) as u64;
            loop {
                let best = (0..sample.n as u32)
                    .filter(|&v| !chosen[v as usize] && bytes(v) > 0)
                    .max_by(|&a, &b| {
                        let rate = |v: u32| charge[v as usize] as f64 / bytes(v) as f64;
                        rate(a).total_cmp(&rate(b)).then(b.cmp(&a))
                    });
                match best {
                    Some(v) if taken + bytes(v) <= limit => {
                        taken += bytes(v);
                        chosen[v as usize] = true;
                    }
                    _ => break,
                }
            }
        }
        (0..sample.n as u32).filter(|&v| chosen[v as usize]).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Simple graphs, since an in-degree counts edges twice that an algorithm on sets does not.
        /// Seen red with the lowest charge taken, with chosen lists still charged, and with
        /// updates that forget the other lists of a page.
        #[test]
        fn chooses_as_the_paper_does(sample in graphs(80, 300), share in 0.05f64..0.9, k in 1u32..6) {
            let mut sample = sample;
            sample.edges.sort_unstable();
            sample.edges.dedup_by_key(|e| (e.0.min(e.1), e.0.max(e.1)));
            sample.directed = false;
            sample.edges.retain(|(a, b)| a < b);
            for graph in [sample.graph(), sample.graph_on_ssd()] {
                let budget = (graph.total_bytes(Direction::Out).unwrap() as f64 * share) as u64;
                let expected = plainly(&sample, &graph, budget, k);
                let config = CachePlanConfig { iterations: k, select: Select::Gvs, ..CachePlanConfig::default() };
                for cx in contexts() {
                    let found = choose(&graph, Direction::Out, budget, &config, &cx).unwrap();
                    prop_assert_eq!(&found, &expected);
                }
            }
        }
    }

    /// On a graph of many pages, charges after updates equal charges that are counted anew.
    #[test]
    fn updates_leave_what_counting_anew_would() {
        for sample in power_laws(20_000, 100_000, 3) {
            let graph = sample.graph();
            let cx = Context::new().with_threads(2);
            for direction in [Direction::Out, Direction::In] {
                let neighbourhoods = Neighbourhoods::new(&graph, direction, &cx).unwrap();
                let lists = ListExtents::new(&graph, direction);
                updates_as_anew(neighbourhoods, &lists);
                updates_as_anew(Sampled::new(&graph, direction, 1, &cx).unwrap(), &lists);
            }
        }
    }

    fn updates_as_anew(mut charges: impl Charges, lists: &ListExtents<'_>) {
        let n = lists.graph.num_vertices();
        let mut chosen = Bitmap::new(n);
        charges.all(&chosen).unwrap();
        let mut taken = 0;
        for step in 1..6 {
            let news = highest(&charges, lists, &mut chosen, &mut taken, step * 1500);
            assert!(!news.is_empty());
            charges.update(&chosen, &news).unwrap();
            let open = |v: &u32| !chosen.get(*v as usize) && lists.bytes(*v) > 0;
            let open: Vec<u32> = (0..n as u32).filter(open).collect();
            let updated: Vec<f64> = open.iter().map(|&v| charges.rate(v)).collect();
            charges.all(&chosen).unwrap();
            let anew: Vec<f64> = open.iter().map(|&v| charges.rate(v)).collect();
            assert_eq!(updated, anew, "step {step}");
        }
    }

    #[test]
    fn other_choices_and_budgets() {
        let sample = power_law(2_000, 10_000, false, 5);
        let graph = sample.graph();
        let cx = Context::new().with_threads(2);
        let degree = |v: VertexId| sample.adjacency()[v as usize].len();
        let whole = graph.total_bytes(Direction::Out).unwrap();
        for select in [Select::Gvs, Select::Levels, Select::HighD, Select::LowD, Select::Random] {
            let config = CachePlanConfig { select, ..CachePlanConfig::default() };
            let choose = |budget| choose(&graph, Direction::Out, budget, &config, &cx).unwrap();
            assert!(choose(0).is_empty());
            let some = choose(whole / 5);
            let taken: u64 =
                some.iter().map(|&v| graph.list_bytes(Direction::Out, v).unwrap()).sum();
            assert!(taken <= whole / 5 && taken > whole / 7, "{select:?}: {taken} of {whole}");
            let all = choose(whole);
            assert!(all.iter().all(|&v| degree(v) > 0));
            assert_eq!(all.len(), (0..2_000).filter(|&v| degree(v) > 0).count());
        }
    }
}
