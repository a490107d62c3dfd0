//! BASC: which edge lists to keep in memory for traversals.
//!
//! E. Lee et al., "Pre-Select Static Caching and Neighborhood Ordering for BFS-like Algorithms on
//! Disk-based Graph Engines", USENIX ATC 2019, section 3: Greedy Vertex Selection. A traversal asks
//! for the lists of all neighbours of a vertex at once; a page that it reads for few of them is a
//! waste. Every list is charged with the waste that it causes, `1 / (r t d)` for each edge to its
//! vertex: `r` lists begin in its page, `t` bytes of them belong to neighbours of the same vertex,
//! and `d` edges share the request. The lists with the highest charge for their size are chosen, a
//! K-th of the budget at a time, and what that changes is charged anew.
//!
//! Two readings of the paper: its line 13 takes the lowest charge, its text the highest, which is
//! right; and what a list takes of a page is its size in bytes, since lists are compressed.
//!
//! Charges are integers, so that adding and taking away leaves exactly what counting anew would.
//! State: charge, in-degree, page and a queue entry a vertex, about 40 bytes; lists are scanned.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::estimate::Needs;
use crate::graph::Graph;
use crate::shared::{share_u64, zeroed};
use crate::vertex_set::{Bitmap, VertexSet};
use nakshi_store::layout::mix;
use nakshi_store::{CachePlan, Direction, List, PlanInfo, PlanSide, Store, VertexId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A charge of 1.
const ONE: f64 = (1u64 << 62) as f64;

/// How vertices are chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Select {
    /// Greedy Vertex Selection.
    #[default]
    Gvs,
    /// Those of the largest degree.
    HighD,
    /// Those of the smallest degree that is not 0.
    LowD,
    /// Shuffled by the seed.
    Random,
}

impl Select {
    fn name(self) -> &'static str {
        match self {
            Select::Gvs => "gvs",
            Select::HighD => "highd",
            Select::LowD => "lowd",
            Select::Random => "random",
        }
    }
}

/// How a plan is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Share of the bytes of all lists that the plan may keep, above 0 and at most 1.
    pub share: f64,
    /// K: the more, the more often charges follow what was chosen. Default 50.
    pub iterations: u32,
    /// How vertices are chosen. Default [`Select::Gvs`].
    pub select: Select,
    /// Of [`Select::Random`]. Default 1.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config { share: 0.2, iterations: 50, select: Select::Gvs, seed: 1 }
    }
}

impl Config {
    /// What making a plan needs in memory.
    pub fn needs(&self) -> Needs {
        // Charge, in-degree, page, queue, lists that begin in a page, and sets.
        Needs { gathers: true, ..Needs::new(41.0, &[Direction::Out, Direction::In]) }
    }
}

/// Chooses the lists of `store` that shall stay in memory.
///
/// # Errors
/// [`Error::Parameter`] for a share that cannot be; [`Error::Budget`]; those of reading;
/// [`Error::Cancelled`].
pub fn make(store: &Arc<Store>, config: &Config, cx: &Context) -> Result<CachePlan> {
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
        let mut bytes = 0;
        for &v in &vertices {
            bytes += graph.list_bytes(direction, v)?;
        }
        sides.push(PlanSide { direction, bytes, vertices });
    }
    let about = PlanInfo {
        store: store.uuid().to_owned(),
        layout: store.manifest().layout.clone(),
        select: config.select.name().to_owned(),
        budget: whole,
        iterations: if config.select == Select::Gvs { config.iterations } else { 1 },
    };
    Ok(CachePlan { about, sides })
}

/// Vertices whose lists of a direction take at most `budget` bytes, ascending.
pub(crate) fn choose(
    graph: &Graph,
    direction: Direction,
    budget: u64,
    config: &Config,
    cx: &Context,
) -> Result<Vec<VertexId>> {
    let n = graph.num_vertices();
    let bytes = |v: VertexId| graph.list_bytes(direction, v).unwrap_or(0);
    let mut chosen = Bitmap::new(n);
    if config.select == Select::Gvs {
        let mut charges = Charges::new(graph, direction, cx)?;
        charges.all(&chosen)?;
        let mut taken = 0;
        for k in 1..=config.iterations {
            cx.check()?;
            cx.progress().update("cache-plan", k.into(), config.iterations.into());
            let limit = (budget as f64 * f64::from(k) / f64::from(config.iterations)) as u64;
            let news = charges.highest(&mut chosen, &mut taken, limit);
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

/// What every list is charged with.
struct Charges<'g> {
    graph: &'g Graph,
    cx: &'g Context,
    direction: Direction,
    page_size: u64,
    /// Edges to each vertex: between them the request for its list is shared.
    requests: Vec<u32>,
    /// Lists that begin in each page.
    lists: Vec<u32>,
    charge: Vec<u64>,
}

impl<'g> Charges<'g> {
    fn new(graph: &'g Graph, direction: Direction, cx: &'g Context) -> Result<Self> {
        let page_size = graph.store().map_or(4096, |store| u64::from(store.manifest().page_size));
        let pages = graph.total_bytes(direction)? / page_size + 1;
        let pages = usize::try_from(pages)
            .map_err(|_| Error::Unsupported { what: "so many pages on this machine".into() })?;
        let mut charges = Charges {
            graph,
            cx,
            direction,
            page_size,
            requests: graph.degrees(reverse(graph, direction), cx)?,
            lists: zeroed(pages, "lists of pages")?,
            charge: zeroed(graph.num_vertices(), "charges")?,
        };
        for v in 0..graph.num_vertices() {
            let extent = graph.extent(direction, v);
            if !extent.is_empty()
                && let Some(lists) = charges.lists.get_mut((extent.start / page_size) as usize)
            {
                *lists += 1;
            }
        }
        Ok(charges)
    }

    fn page(&self, v: VertexId) -> u64 {
        self.graph.extent(self.direction, v as usize).start / self.page_size
    }

    fn bytes(&self, v: VertexId) -> u64 {
        let extent = self.graph.extent(self.direction, v as usize);
        extent.end - extent.start
    }

    /// What an edge to `v` costs, when `used` bytes of its page are asked for together.
    fn term(&self, v: VertexId, page: u64, used: u64) -> u64 {
        let lists = self.lists.get(page as usize).copied().unwrap_or(1);
        let requests = self.requests.get(v as usize).copied().unwrap_or(1);
        // Rounded the same way whenever it is added or taken away.
        (ONE / (f64::from(lists) * f64::from(requests.max(1)) * used as f64)) as u64
    }

    /// Neighbours in one page whose lists are not empty: those outside `chosen` share the bytes
    /// that they use; `change` gets the term of each.
    fn page_terms(
        &self,
        page: u64,
        neighbours: &[VertexId],
        chosen: &Bitmap,
        mut change: impl FnMut(VertexId, u64),
    ) {
        let open = |v: &&VertexId| !chosen.get(**v as usize) && self.bytes(**v) > 0;
        let used: u64 = neighbours.iter().filter(open).map(|&v| self.bytes(v)).sum();
        for &v in neighbours.iter().filter(open) {
            change(v, self.term(v, page, used));
        }
    }

    /// Charges all lists outside `chosen`.
    fn all(&mut self, chosen: &Bitmap) -> Result<()> {
        let mut charge = std::mem::take(&mut self.charge);
        charge.fill(0);
        let shared = share_u64(&mut charge);
        self.graph.scan(
            self.direction,
            self.cx,
            |_| Vec::new(),
            |neighbours, _, list| {
                distinct(list, neighbours)?;
                for run in neighbours.chunk_by(|a, b| self.page(*a) == self.page(*b)) {
                    let page = run.first().map_or(0, |&v| self.page(v));
                    self.page_terms(page, run, chosen, |v, term| add(shared, v, term));
                }
                Ok(())
            },
        )?;
        self.charge = charge;
        Ok(())
    }

    /// Charges anew what changes by `news`, which are in `chosen` now: neighbours, in the pages of
    /// the news, of vertices that have an edge to one of them.
    fn update(&mut self, chosen: &Bitmap, news: &[VertexId]) -> Result<()> {
        let requests =
            |v: &VertexId| u64::from(self.requests.get(*v as usize).copied().unwrap_or(0));
        // Beyond this the pairs would take more memory, and time, than to begin again.
        if news.iter().map(requests).sum::<u64>() > self.graph.num_arcs() / 8 + 1024 {
            return self.all(chosen);
        }
        let mut before = chosen.clone();
        let mut set = VertexSet::new(self.graph.num_vertices());
        for &v in news {
            before.clear(v as usize);
            set.insert(v);
        }
        // Who has an edge to a new one, and in which page.
        let parts = self.graph.gather(
            reverse(self.graph, self.direction),
            &set,
            self.cx,
            |_| Vec::new(),
            |pairs: &mut Vec<(VertexId, u64)>, v, list| {
                let page = self.page(v);
                list.for_each(|u| pairs.push((u, page)))?;
                Ok(())
            },
        )?;
        let mut pairs: Vec<(VertexId, u64)> = parts.into_iter().flatten().collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut touched = VertexSet::new(self.graph.num_vertices());
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            run.first().into_iter().for_each(|pair| {
                touched.insert(pair.0);
            });
        }
        let mut charge = std::mem::take(&mut self.charge);
        let shared = share_u64(&mut charge);
        self.graph.gather(
            self.direction,
            &touched,
            self.cx,
            |_| Vec::new(),
            |neighbours, v, list| {
                distinct(list, neighbours)?;
                let from = pairs.partition_point(|pair| pair.0 < v);
                let mine = pairs.get(from..).unwrap_or_default();
                for &(_, page) in mine.iter().take_while(|pair| pair.0 == v) {
                    // Lists lie in the order of their vertices, and so do pages.
                    let from = neighbours.partition_point(|&u| self.page(u) < page);
                    let to = neighbours.partition_point(|&u| self.page(u) <= page);
                    let run = neighbours.get(from..to).unwrap_or_default();
                    self.page_terms(page, run, &before, |u, term| take(shared, u, term));
                    self.page_terms(page, run, chosen, |u, term| add(shared, u, term));
                }
                Ok(())
            },
        )?;
        self.charge = charge;
        Ok(())
    }

    /// Chooses the highest charges for their bytes, until `limit` bytes are taken (lines 12 to 16
    /// of Algorithm 1); returns the new ones.
    fn highest(&self, chosen: &mut Bitmap, taken: &mut u64, limit: u64) -> Vec<VertexId> {
        let mut queue: BinaryHeap<Rated> = (0..)
            .zip(&self.charge)
            .filter(|&(v, _)| !chosen.get(v as usize) && self.bytes(v) > 0)
            .map(|(v, &charge)| Rated { rate: charge as f64 / self.bytes(v) as f64, v })
            .collect();
        let mut news = Vec::new();
        while let Some(Rated { v, .. }) = queue.pop() {
            if *taken + self.bytes(v) > limit {
                break;
            }
            *taken += self.bytes(v);
            chosen.set(v as usize);
            news.push(v);
        }
        news
    }
}

/// A candidate.
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

/// The direction in which the edges to a vertex are found.
fn reverse(graph: &Graph, direction: Direction) -> Direction {
    if graph.directed() { direction.reverse() } else { direction }
}

/// The neighbours of a list, each once.
fn distinct(list: &List<'_>, neighbours: &mut Vec<VertexId>) -> Result<()> {
    neighbours.clear();
    list.decode_into(neighbours)?;
    neighbours.dedup();
    Ok(())
}

fn add(charges: &[AtomicU64], v: VertexId, term: u64) {
    if let Some(charge) = charges.get(v as usize) {
        charge.fetch_add(term, Relaxed);
    }
}

fn take(charges: &[AtomicU64], v: VertexId, term: u64) {
    if let Some(charge) = charges.get(v as usize) {
        charge.fetch_sub(term, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::oracle::sample::{Sample, contexts, graphs, power_law};
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
                let config = Config { iterations: k, ..Config::default() };
                for cx in contexts() {
                    let found = choose(&graph, Direction::Out, budget, &config, &cx).unwrap();
                    prop_assert_eq!(&found, &expected);
                }
            }
        }
    }

    /// On a graph of many pages: what is charged after updates is what is charged from the start.
    #[test]
    fn updates_leave_what_counting_anew_would() {
        for directed in [false, true] {
            let sample = power_law(20_000, 100_000, directed, 3);
            let graph = sample.graph();
            let cx = Context::new().with_threads(2);
            for direction in [Direction::Out, Direction::In] {
                let mut charges = Charges::new(&graph, direction, &cx).unwrap();
                let mut chosen = Bitmap::new(sample.n);
                charges.all(&chosen).unwrap();
                let mut taken = 0;
                for step in 1..6 {
                    let news = charges.highest(&mut chosen, &mut taken, step * 1500);
                    charges.update(&chosen, &news).unwrap();
                    let updated = charges.charge.clone();
                    charges.all(&chosen).unwrap();
                    let open = |v: &usize| !chosen.get(*v);
                    for v in (0..sample.n).filter(open) {
                        assert_eq!(updated[v], charges.charge[v], "vertex {v}, step {step}");
                    }
                }
            }
        }
    }

    #[test]
    fn other_choices_and_budgets() {
        let sample = power_law(2_000, 10_000, false, 5);
        let graph = sample.graph();
        let cx = Context::new().with_threads(2);
        let degree = |v: VertexId| sample.adjacency()[v as usize].len();
        let whole = graph.total_bytes(Direction::Out).unwrap();
        for select in [Select::Gvs, Select::HighD, Select::LowD, Select::Random] {
            let config = Config { select, ..Config::default() };
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
