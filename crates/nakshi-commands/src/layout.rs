//! Orders of vertices by name, and plans of a static cache by its size.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use nakshi_engine::algo::{Algorithm, pagerank::PageRank};
use nakshi_engine::cache_plan::{self, Select};
use nakshi_engine::{Context, Direction, Estimate, Graph, Needs, Searches, Summary};
use nakshi_io::write::default_fs;
use nakshi_property::{LoadOptions, PropertyEntry, PropertyStore, Reorder, property_memory};
use nakshi_store::import::{Hooks, least_memory};
use nakshi_store::layout::{
    Bisection, Bondhu, By, ByScore, Communities, Degree, Extend, Gorder, LayoutInput, Model,
    Norder, Ordering, OrganPipe, Original, Random, Sides,
};
use nakshi_store::{
    CachePlan, Encoding, Error, OpenOptions, Permutation, PlanInfo, RewriteOptions, Store,
    afford_rewrite, check_destination, least_rewrite, rewrite,
};
use serde::{Deserialize, Serialize};

use crate::Result;

/// Bytes of memory that a byte of a log takes at most, in the maps that it becomes.
const LOG_IN_MEMORY: u64 = 8;

/// Names of the orders that a [`Request`] may ask for, each with one line of description.
pub const ORDERS: [(&str, &str); 12] = [
    ("auto", "that of original, degree, norder and bisection in which searches read fewest pages"),
    ("original", "ascending by id"),
    ("random", "shuffled by --seed"),
    ("degree", "hubs first, --by in, out or total degree"),
    ("pagerank", "descending by PageRank"),
    ("norder", "neighbours of hubs side by side, to --depth"),
    ("gorder", "vertices with edges or sources in common within a --window"),
    ("organ-pipe", "hubs in the middle"),
    ("bondhu-parcom", "--communities of equal size by METIS, placed greedily"),
    ("bondhu-modcom", "communities by modularity at --level, placed greedily"),
    ("bisection", "recursive bisection by the cost of a linear arrangement"),
    ("extend", "as --like another store, new vertices beside their neighbours"),
];

/// An order by name, with its parameters. A parameter that the order lacks is refused.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// One of [`ORDERS`].
    pub order: String,
    /// `auto`, `random`, `bondhu-*`, `bisection`: seed of the draws. Default 1.
    pub seed: Option<u64>,
    /// `degree`: direction of the edges that count. Default both.
    pub by: Option<By>,
    /// `norder`: depth of a search, in edges. Default 2.
    pub depth: Option<u32>,
    /// `gorder`: vertices of the window. Default: as many as have their lists in one page.
    pub window: Option<u32>,
    /// `bondhu-parcom`: number of communities. Default: one for each thousand vertices, at least two.
    pub communities: Option<u32>,
    /// `bondhu-modcom`: levels of merging. Default: as many as raise the modularity.
    pub level: Option<u32>,
    /// `bondhu-*`: model of the weights of edges. Default uniform.
    pub model: Option<Model>,
    /// `bondhu-*`: side on which the next community is placed. Default nearer.
    pub sides: Option<Sides>,
    /// `extend`: an earlier store of the graph, whose order stays.
    pub like: Option<PathBuf>,
    /// `bondhu-*`, `bisection`: column with the weights of edges. Default none.
    pub weight: Option<String>,
}

impl Request {
    /// The order of this name, which is one of [`ORDERS`] and not `auto`.
    fn ordering(&self, store: &Arc<Store>, cx: &Context) -> Result<Box<dyn Ordering>> {
        let seed = self.seed.unwrap_or(1);
        let bondhu = |communities| {
            let (model, sides) = (self.model.unwrap_or_default(), self.sides.unwrap_or_default());
            Box::new(Bondhu { communities, model, sides, seed })
        };
        Ok(match self.order.as_str() {
            "original" => Box::new(Original),
            "random" => Box::new(Random { seed }),
            "degree" => Box::new(Degree { by: self.by.unwrap_or_default() }),
            "pagerank" => Box::new(ByScore { name: "pagerank", scores: pagerank(store, cx)? }),
            "norder" => Box::new(Norder { depth: self.depth.unwrap_or(Norder::default().depth) }),
            "gorder" => Box::new(Gorder { window: self.window }),
            "organ-pipe" => Box::new(OrganPipe),
            "bondhu-parcom" => bondhu(Communities::ParCom(self.communities)),
            "bondhu-modcom" => bondhu(Communities::ModCom(self.level)),
            "extend" => {
                let like = self.like.as_ref().ok_or_else(|| {
                    Error::Invalid("the order 'extend' needs 'like', an earlier store".into())
                })?;
                Box::new(Extend { like: Store::open(like, &OpenOptions::default())? })
            }
            _ => Box::new(Bisection { seed }),
        })
    }

    /// Bytes of memory that computing the order of this name takes at least.
    fn memory(&self, store: &Arc<Store>, cx: &Context) -> Result<u64> {
        let runs = match self.order.as_str() {
            "auto" => Some(searching()),
            "pagerank" => Some(page_rank().needs(&Summary::of_store(store))),
            _ => None,
        };
        Ok(match runs {
            Some(needs) => Estimate::of_run(store, &needs, cx)?.minimum,
            None => self.ordering(store, cx)?.memory(store),
        })
    }

    /// Fails if the memory of `cx` is too little for the order of this name, before it is computed.
    fn afford(&self, store: &Arc<Store>, cx: &Context) -> Result<()> {
        Ok(afford_rewrite(store, self.memory(store, cx)?, cx.memory())?)
    }

    /// Computes the order of this name, within the memory of `cx`.
    fn ordered(&self, store: &Arc<Store>, cx: &Context, hooks: &Hooks) -> Result<Ordered> {
        self.afford(store, cx)?;
        let source = &LayoutInput {
            store,
            weight: self.weight.clone(),
            memory: cx.memory(),
            threads: cx.threads(),
            hooks: hooks.clone(),
        };
        if self.order == "auto" {
            return cheapest(source, store, self.seed.unwrap_or(1), cx);
        }
        let ordering = self.ordering(store, cx)?;
        afford_rewrite(store, ordering.memory(store), cx.memory())?;
        let places = ordering.order(source)?;
        Ok(Ordered { layout: ordering.name(), places, considered: Vec::new() })
    }

    fn refuse_others(&self) -> Result<()> {
        let name = self.order.as_str();
        if !ORDERS.iter().any(|(known, _)| *known == name) {
            let known: Vec<&str> = ORDERS.iter().map(|(name, _)| *name).collect();
            let known = known.join(", ");
            return Err(Error::Invalid(format!("unknown order '{name}'; choose {known}")).into());
        }
        let bondhu = name.starts_with("bondhu");
        let given = [
            (
                "seed",
                self.seed.is_some(),
                bondhu || ["auto", "random", "bisection"].contains(&name),
            ),
            ("by", self.by.is_some(), name == "degree"),
            ("depth", self.depth.is_some(), name == "norder"),
            ("window", self.window.is_some(), name == "gorder"),
            ("communities", self.communities.is_some(), name == "bondhu-parcom"),
            ("level", self.level.is_some(), name == "bondhu-modcom"),
            ("model", self.model.is_some(), bondhu),
            ("like", self.like.is_some(), name == "extend"),
            ("sides", self.sides.is_some(), bondhu),
            ("weight", self.weight.is_some(), bondhu || name == "bisection"),
        ];
        match given.iter().find(|(_, given, fits)| *given && !fits) {
            Some((parameter, ..)) => {
                Err(Error::Invalid(format!("the order '{name}' has no parameter '{parameter}'"))
                    .into())
            }
            None => Ok(()),
        }
    }
}

fn page_rank() -> PageRank {
    PageRank { iterations: 20, tolerance: 0.0, ..PageRank::default() }
}

/// PageRank of every internal id, under the memory of `cx`.
fn pagerank(store: &Arc<Store>, cx: &Context) -> Result<Vec<f64>> {
    let algorithm = page_rank();
    let needs = algorithm.needs(&Summary::of_store(store));
    let graph = Graph::open(store, &needs, cx)?;
    Ok(algorithm.run(&graph, cx)?.ranks)
}

/// Orders that `auto` chooses from. Gorder takes ten times as long as any of them, and is used only
/// where a request names it.
const CANDIDATES: [&str; 4] = ["original", "degree", "norder", "bisection"];

/// An order that `auto` measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Considered {
    /// Name of the order.
    pub order: &'static str,
    /// Pages that sampled searches read in this order; see [`Searches::pages`].
    pub pages: u64,
    /// Seconds that computing the order took.
    pub seconds: f64,
}

/// A computed order.
struct Ordered {
    layout: &'static str,
    places: Permutation,
    considered: Vec<Considered>,
}

/// The first of [`CANDIDATES`] in which sampled searches read fewest pages. Orders that the memory
/// does not allow are left out.
fn cheapest(
    source: &LayoutInput<'_>,
    store: &Arc<Store>,
    seed: u64,
    cx: &Context,
) -> Result<Ordered> {
    let mut found = Vec::new();
    for order in CANDIDATES {
        let seed = (order == "bisection").then_some(seed);
        let request = Request { order: order.to_owned(), seed, ..Request::default() };
        let ordering = request.ordering(store, cx)?;
        let held = found.len() as u64 * 4 * store.num_vertices();
        let memory = cx.memory().map(|cap| cap.saturating_sub(held));
        if memory.is_some_and(|left| ordering.memory(store) > left) && !found.is_empty() {
            continue;
        }
        let started = Instant::now();
        let places = ordering.order(&LayoutInput { memory, ..source.clone() })?;
        found.push((order, places, started.elapsed().as_secs_f64()));
    }
    let pages = pages_of_searches(store, found.iter().map(|(_, places, _)| places), seed, cx)?;
    let considered: Vec<Considered> = std::iter::zip(&found, pages)
        .map(|(&(order, _, seconds), pages)| Considered { order, pages, seconds })
        .collect();
    let fewest = considered.iter().map(|order| order.pages).min();
    let mut best = std::iter::zip(found, &considered);
    match best.find(|(_, considered)| Some(considered.pages) == fewest) {
        Some(((layout, places, _), _)) => Ok(Ordered { layout, places, considered }),
        None => Err(Error::Invalid("no order is known".into()).into()),
    }
}

/// Pages that searches in the lists of all directions read, for each of these orders.
fn pages_of_searches<'p>(
    store: &Arc<Store>,
    orders: impl Iterator<Item = &'p Permutation> + Clone,
    seed: u64,
    cx: &Context,
) -> Result<Vec<u64>> {
    let graph = Graph::open(store, &searching(), cx)?;
    let mut pages = vec![0; orders.clone().count()];
    let directions: &[Direction] =
        if store.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] };
    for &direction in directions {
        let searches = Searches::run(&graph, direction, seed, cx)?;
        for (pages, places) in pages.iter_mut().zip(orders.clone()) {
            *pages += searches.pages(&graph, places, cx)?;
        }
    }
    Ok(pages)
}

/// Needs of searches beside all [`CANDIDATES`].
fn searching() -> Needs {
    let needs = Searches::needs();
    let held = 4.0 * CANDIDATES.len() as f64;
    Needs { state_bytes_per_vertex: needs.state_bytes_per_vertex + held, ..needs }
}

/// Format of the store that [`relayout`] writes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Output {
    /// Page size in bytes. Default: that of the source.
    pub page_size: Option<u32>,
    /// Encoding of lists. Default: that of the source.
    pub encoding: Option<Encoding>,
    /// Directories over which lists and weights are striped.
    pub stripes: Vec<PathBuf>,
}

/// Report of [`relayout`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Relayout {
    /// Name of the order.
    pub layout: String,
    /// Vertices of the store.
    pub vertices: u64,
    /// Edges of the store.
    pub edges: u64,
    /// Seconds of computing the order and of writing.
    pub seconds: Seconds,
    /// Bytes of all edge lists.
    pub list_bytes: u64,
    /// Content hash of the new store.
    pub content_hash: String,
    /// The orders that `auto` chose from; empty otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub considered: Vec<Considered>,
}

/// Wall-clock time of the two halves of [`relayout`], in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds {
    /// Computing the order.
    pub order: f64,
    /// Writing the new store.
    pub write: f64,
}

/// Writes the graph of `store` to the new store `destination`, in the order that `request` names.
/// Memory and threads are those of `cx`; ids, weights and edges stay. A store with properties is written
/// as it is after its last commit, with an empty log.
///
/// # Errors
/// [`Error::Invalid`] for an unknown order or a parameter that it lacks; [`Error::Budget`], before any
/// work, with the smallest budget that works; [`Error::Unsupported`] for stripes of a store with
/// properties; errors of reading and writing; cancellation. A failed call leaves no files.
pub fn relayout(
    store: &Arc<Store>,
    destination: &Path,
    request: &Request,
    output: &Output,
    cx: &Context,
    hooks: &Hooks,
) -> Result<Relayout> {
    let started = Instant::now();
    check_destination(destination)?;
    request.refuse_others()?;
    let (ordered, seconds, manifest) = if PropertyEntry::of(store.manifest())?.is_some() {
        request.afford(store, cx)?;
        let read = read(store, destination, output, cx, hooks)?;
        let began = Instant::now();
        let ordered = request.ordered(read.topology(), cx, hooks)?;
        let seconds = began.elapsed().as_secs_f64();
        let manifest = read.write(&ordered.places, ordered.layout)?;
        (ordered, seconds, manifest)
    } else {
        let ordered = request.ordered(store, cx, hooks)?;
        let seconds = started.elapsed().as_secs_f64();
        let options = RewriteOptions {
            layout: ordered.layout.to_owned(),
            memory: cx.memory().unwrap_or(RewriteOptions::default().memory),
            threads: cx.threads(),
            page_size: output.page_size,
            encoding: output.encoding,
            stripes: output.stripes.clone(),
        };
        let manifest = rewrite(store, destination, &ordered.places, &options, hooks)?;
        (ordered, seconds, manifest)
    };
    Ok(Relayout {
        layout: ordered.layout.to_owned(),
        vertices: manifest.vertices,
        edges: manifest.edges,
        seconds: Seconds { order: seconds, write: started.elapsed().as_secs_f64() - seconds },
        list_bytes: manifest.adjacency.iter().map(|entry| entry.lists.len).sum(),
        content_hash: manifest.content_hash(),
        considered: ordered.considered,
    })
}

/// Memory that [`relayout`] takes at least, in bytes, and its parts by name.
///
/// Of a store with properties, changes that are only in the log come on top: up to eight times their bytes.
///
/// # Errors
/// [`Error::Invalid`] for an unknown order, or a parameter that it has not; those of reading.
pub fn estimate(store: &Arc<Store>, request: &Request, cx: &Context) -> Result<Estimate> {
    request.refuse_others()?;
    let order = request.memory(store, cx)?;
    let properties = match PropertyEntry::of(store.manifest())? {
        None => 0,
        Some(_) => {
            let held = property_memory(store, cx.cancel_token())?.in_memory;
            least_memory(LoadOptions::default().least_memory(), held)
        }
    };
    let write = least_rewrite(store, 0);
    let minimum = order.max(write).max(properties);
    let mut parts = vec![("order".to_owned(), order), ("write".to_owned(), write)];
    if properties > 0 {
        parts.push(("properties".to_owned(), properties));
    }
    Ok(Estimate { minimum, in_memory: minimum, parts, lists: 0 })
}

/// Reads the graph of a store with properties for a new store.
fn read(
    store: &Store,
    destination: &Path,
    output: &Output,
    cx: &Context,
    hooks: &Hooks,
) -> Result<Reorder> {
    if !output.stripes.is_empty() {
        let what = "stripes of a store with properties; leave them out".into();
        return Err(Error::Unsupported(what).into());
    }
    let opening =
        OpenOptions { memory: cx.memory(), cancel: hooks.cancel.clone(), ..OpenOptions::default() };
    let opened = PropertyStore::open(store.path(), &opening)?;
    let graph = opened.snapshot();
    let held = graph.memory() + LOG_IN_MEMORY * opened.log_bytes();
    drop(opened);
    let options = LoadOptions {
        properties: graph.entry().layout,
        threads: cx.threads(),
        page_size: output.page_size.unwrap_or(store.manifest().page_size),
        encoding: output.encoding.unwrap_or(store.manifest().encoding),
        ..LoadOptions::default()
    };
    let least = options.least_memory();
    let needed = least_memory(least, held);
    // The graph is in memory while it is read.
    let memory = match cx.memory() {
        Some(given) if given < needed => return Err(Error::Budget { needed, given }.into()),
        Some(given) => given.saturating_sub(held).max(least),
        None => options.memory,
    };
    let options = LoadOptions { memory, ..options };
    Ok(Reorder::read(graph, destination, &options, hooks)?)
}

/// Options of [`plan_cache`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanRequest {
    /// Share of the bytes of all lists, above 0 and at most 1. Default 0.2.
    pub share: Option<f64>,
    /// Rounds in which charges are updated after a choice. Default 50.
    pub iterations: Option<u32>,
    /// Method that chooses vertices.
    pub select: Select,
    /// Seed of sampled searches and of a random choice. Default 1.
    pub seed: Option<u64>,
    /// Another store, whose plan is taken over by ids; no vertices are chosen then.
    pub like: Option<PathBuf>,
}

/// Report of [`plan_cache`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanReport {
    /// Purpose of the plan, and the options that made it.
    #[serde(flatten)]
    pub about: PlanInfo,
    /// Lists of all directions.
    pub lists: u64,
    /// Bytes of these lists.
    pub bytes: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Chooses lists that shall stay in memory and writes the plan beside the files of `store`.
///
/// # Errors
/// A share or a number of iterations out of range; too small a budget; errors of reading and writing;
/// cancellation.
pub fn plan_cache(store: &Arc<Store>, request: &PlanRequest, cx: &Context) -> Result<PlanReport> {
    let started = Instant::now();
    let usual = cache_plan::CachePlanConfig::default();
    let config = cache_plan::CachePlanConfig {
        share: request.share.unwrap_or(usual.share),
        iterations: request.iterations.unwrap_or(usual.iterations),
        select: request.select,
        seed: request.seed.unwrap_or(usual.seed),
    };
    let plan = match &request.like {
        Some(path) => {
            let other = Store::open(path, &OpenOptions::default())?;
            cache_plan::carry_over(&other, store, cx)?
        }
        None => cache_plan::make(store, &config, cx)?,
    };
    plan.save(default_fs().as_ref(), store)?;
    Ok(PlanReport {
        lists: plan.sides.iter().map(|side| side.vertices.len() as u64).sum(),
        bytes: plan.sides.iter().map(|side| side.bytes).sum(),
        about: plan.about,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Takes the cache plan of the store at `source` over to a temporary store of its edge lists, by ids, if
/// that store has none.
///
/// # Errors
/// Those of reading and writing.
pub fn carry_plan(source: &Path, lists: &Arc<Store>, cx: &Context) -> Result<()> {
    let source = Store::open(source, &OpenOptions::default())?;
    if CachePlan::load(lists)?.is_none() && CachePlan::load(&source)?.is_some() {
        // The lists have no plan yet.
        let cx = &cx.clone().with_static_cache(false);
        cache_plan::carry_over(&source, lists, cx)?.save(default_fs().as_ref(), lists)?;
    }
    Ok(())
}
