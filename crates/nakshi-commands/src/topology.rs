//! Which edge lists an algorithm runs on: those after the last commit, or those of the last compaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nakshi_engine::Context;
use nakshi_property::{
    EdgeWeight, PropertyEntry, PropertyGraph, PropertyStore, Topology, files_generation,
    has_changes,
};
use nakshi_store::files::with_newest;
use nakshi_store::import::Hooks;
use nakshi_store::{self as store, AmendOptions, OpenOptions, Store};
use serde::{Deserialize, Serialize};

use crate::{Error, Result, info};

/// Memory for property files that are opened to see what the log has changed, if they need no more.
const MEMORY: u64 = 256 << 20;
/// Times that a handle follows compactions of other processes before it gives up.
const TRIES: usize = 8;

/// The state of a graph with properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// After the last commit.
    #[default]
    LastCommit,
    /// As the last compaction, or the import, left it.
    LastCompaction,
}

/// The edge lists that an algorithm asks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TopologyRequest {
    /// The state of the graph.
    pub at: At,
    /// Edge property that is the weight.
    pub weight: Option<String>,
    /// Takes the property `weight`, where edges have such numbers, if no property is named.
    pub weighs: bool,
    /// Weight of edges that lack the property; such edges are refused if it is not given.
    pub missing: Option<f64>,
}

/// What an algorithm ran on; only of stores with properties.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopologyInfo {
    /// The state of the graph.
    pub at: At,
    /// Number of the last commit that the edge lists have.
    pub commit: u64,
    /// True if the log has commits that the edge lists lack.
    pub stale: bool,
    /// Seconds that this call took to bring the edge lists up to date, or to read weights.
    pub seconds: f64,
    /// Edge property that is the weight.
    pub weight: Option<String>,
    /// Number of edges that lack it and have the weight of missing ones.
    pub missing_weights: u64,
    /// Edge properties with numbers, if none of them is the weight.
    #[serde(skip)]
    pub unused_weights: Vec<String>,
}

/// Edge lists, with the store that they were made of as it is on disk now.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The store.
    pub store: Arc<Store>,
    /// The edge lists.
    pub topology: Arc<Topology>,
    /// What they are; `None` for a store without properties, which does not change.
    pub info: Option<TopologyInfo>,
}

/// Numbers of nodes and edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of the commit after which they are so many.
    pub commit: u64,
    /// Nodes.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
}

/// The edge lists that were made for a handle, which are kept until there is another commit.
#[derive(Debug, Default)]
pub struct Topologies {
    made: Mutex<Vec<Arc<Topology>>>,
    /// The graph, for a handle that has not loaded the properties.
    opened: Mutex<Option<Arc<PropertyStore>>>,
}

/// A store as it is on disk, and its graph after the last commit, if that was asked for.
struct Current {
    store: Arc<Store>,
    graph: Option<PropertyGraph>,
}

impl Topologies {
    /// The edge lists that `request` asks for. Where the log has changes they are brought up to date in a
    /// temporary store, within the memory of `cx`; `properties` are those of the handle, if it has loaded
    /// them, and see the last commit of any process afterwards.
    ///
    /// # Errors
    /// An unknown weight, or one that is no number or missing on edges; too small a budget; reading,
    /// writing; cancellation.
    pub fn choose(
        &self,
        store: &Arc<Store>,
        properties: Option<&PropertyStore>,
        request: &TopologyRequest,
        cx: &Context,
        hooks: &Hooks,
    ) -> Result<Chosen> {
        let Some(entry) = PropertyEntry::of(store.manifest())? else {
            let topology = Arc::new(Topology::of_files(store)?);
            return Ok(Chosen { store: Arc::clone(store), topology, info: None });
        };
        entry.refuse_share(store.path())?;
        let named = request.weighs || request.weight.is_some();
        let current = match request.at {
            At::LastCommit => self.current(store, properties, cx.memory(), named, hooks),
            At::LastCompaction => {
                let graph = named.then(|| opened_files(store, cx.memory(), hooks)).transpose();
                graph.map(|graph| Current { store: Arc::clone(store), graph })
            }
        };
        let counts = properties.is_none();
        let chosen = current.and_then(|found| self.choose_of(found, counts, request, cx, hooks));
        if cx.memory().is_some() {
            // What was opened counts towards the memory of the algorithm otherwise.
            lock(&self.opened).take();
        }
        chosen
    }

    /// The edge lists of a graph as a query sees it.
    ///
    /// # Errors
    /// As [`Topologies::choose`].
    pub fn of_graph(
        &self,
        graph: &PropertyGraph,
        request: &TopologyRequest,
        cx: &Context,
        hooks: &Hooks,
    ) -> Result<Chosen> {
        let current = Current { store: graph.store()?, graph: Some(graph.clone()) };
        self.choose_of(current, false, request, cx, hooks)
    }

    /// The edge lists of a store and its graph; `counts` is true if the graph was opened for this call
    /// and counts towards its memory.
    fn choose_of(
        &self,
        Current { store, graph }: Current,
        counts: bool,
        request: &TopologyRequest,
        cx: &Context,
        hooks: &Hooks,
    ) -> Result<Chosen> {
        let weight = match &graph {
            Some(graph) => weight(graph, request),
            None => None,
        };
        let (topology, seconds) = match &graph {
            None => (Arc::new(Topology::of_files(&store)?), 0.0),
            Some(graph) => self.made(graph, &store, weight.as_ref(), counts, cx, hooks)?,
        };
        let unused = match &graph {
            Some(graph) if weight.is_none() => owned(&graph.weights()),
            Some(_) => Vec::new(),
            None => info::weights(&store)?,
        };
        let stale = request.at == At::LastCompaction && has_changes(&store, &hooks.cancel)?;
        let info = TopologyInfo {
            at: request.at,
            commit: topology.commit(),
            stale,
            seconds,
            missing_weights: topology.unweighted(),
            weight: weight.map(|weight| weight.property),
            unused_weights: unused,
        };
        Ok(Chosen { store, topology, info: Some(info) })
    }

    /// Numbers of nodes and edges after the last commit that the handle sees: of `properties`, or of the
    /// disk. `None` for a store without properties.
    ///
    /// # Errors
    /// Those of reading.
    pub fn counts(
        &self,
        store: &Arc<Store>,
        properties: Option<&PropertyStore>,
        hooks: &Hooks,
    ) -> Result<Option<Counts>> {
        if PropertyEntry::of(store.manifest())?.is_none() {
            return Ok(None);
        }
        let of = |graph: &PropertyGraph| Counts {
            commit: graph.commit(),
            vertices: graph.num_nodes(),
            edges: graph.num_edges(),
        };
        if let Some(properties) = properties {
            return Ok(Some(of(&properties.snapshot())));
        }
        let current = self.current(store, None, None, false, hooks)?;
        match &current.graph {
            Some(graph) => Ok(Some(of(graph))),
            None => Ok(Some(of_files(&current.store)?)),
        }
    }

    /// The store as it is on disk now, and the graph: where it is `wanted`, or where the log has changes.
    fn current(
        &self,
        known: &Arc<Store>,
        properties: Option<&PropertyStore>,
        memory: Option<u64>,
        wanted: bool,
        hooks: &Hooks,
    ) -> Result<Current> {
        for _ in 0..TRIES {
            hooks.check()?;
            let store = with_newest(known.path(), |manifest| {
                if manifest.generation == known.manifest().generation {
                    return Ok(Arc::clone(known));
                }
                Store::open_as(known.path(), manifest, &OpenOptions::default())
            })?;
            let graph = match properties {
                Some(properties) => {
                    properties.refresh_until(&hooks.cancel)?;
                    Some(properties.snapshot())
                }
                None if wanted || has_changes(&store, &hooks.cancel)? => {
                    Some(self.opened(&store, memory, hooks)?)
                }
                None => None,
            };
            let files = files_generation(store.manifest())?;
            // A compaction may have come between.
            if graph.as_ref().is_none_or(|graph| graph.generation() == files) {
                return Ok(Current { store, graph });
            }
        }
        Err(store::Error::Locked(known.path().to_path_buf()).into())
    }

    /// The graph of a handle that has not loaded the properties.
    fn opened(&self, store: &Store, memory: Option<u64>, hooks: &Hooks) -> Result<PropertyGraph> {
        let mut opened = lock(&self.opened);
        if let Some(properties) = opened.as_ref() {
            properties.refresh_until(&hooks.cancel)?;
            return Ok(properties.snapshot());
        }
        let open = |memory| {
            let cancel = hooks.cancel.clone();
            PropertyStore::open(store.path(), &OpenOptions { memory, cancel, ..Default::default() })
        };
        let properties = match open(memory.or(Some(MEMORY))) {
            Err(store::Error::Budget { .. }) if memory.is_none() => open(None)?,
            properties => properties?,
        };
        let graph = properties.snapshot();
        *opened = Some(Arc::new(properties));
        Ok(graph)
    }

    /// The edge lists of a graph, made if they are not there; seconds that it took.
    fn made(
        &self,
        graph: &PropertyGraph,
        store: &Arc<Store>,
        weight: Option<&EdgeWeight>,
        counts: bool,
        cx: &Context,
        hooks: &Hooks,
    ) -> Result<(Arc<Topology>, f64)> {
        let mut made = lock(&self.made);
        if made.iter().any(|topology| !topology.is_ours()) {
            // The parent's of a forked process: neither used nor dropped here.
            std::mem::forget(std::mem::take(&mut *made));
        }
        let place = (files_generation(store.manifest())?, graph.commit());
        let of = |topology: &Topology| (topology.generation(), topology.commit());
        // The changes of a transaction have no commit that would tell them apart.
        let keeps = !graph.is_of_transaction();
        if let Some(topology) = made
            .iter()
            .find(|topology| keeps && of(topology) == place && topology.weight() == weight)
        {
            return Ok((Arc::clone(topology), 0.0));
        }
        made.retain(|topology| !keeps || of(topology) == place);
        let held = if counts { graph.memory() } else { 0 };
        let memory = cx.memory().map(|given| given.saturating_sub(held));
        let options = AmendOptions { memory, threads: cx.threads() };
        let topology = Topology::bring_up_to_date(graph, store, weight, options, hooks);
        let topology = Arc::new(topology.map_err(|error| with(error, held))?);
        if keeps {
            made.push(Arc::clone(&topology));
        }
        let seconds = topology.seconds();
        Ok((topology, seconds))
    }

    /// Removes what was made for the handle.
    pub fn clear(&self) {
        let mut made = lock(&self.made);
        let all = std::mem::take(&mut *made);
        if all.iter().all(|topology| topology.is_ours()) {
            drop(all);
        } else {
            std::mem::forget(all);
        }
        lock(&self.opened).take();
    }
}

impl Drop for Topologies {
    fn drop(&mut self) {
        self.clear();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The weight that is asked for: a property that is named, or the usual one where edges have it.
fn weight(graph: &PropertyGraph, request: &TopologyRequest) -> Option<EdgeWeight> {
    let usual = || graph.usual_weight().filter(|_| request.weighs).map(str::to_owned);
    let property = request.weight.clone().or_else(usual)?;
    Some(EdgeWeight { property, missing: request.missing })
}

/// The graph in the files of a store, without its log.
fn opened_files(store: &Arc<Store>, memory: Option<u64>, hooks: &Hooks) -> Result<PropertyGraph> {
    let open = |memory| PropertyGraph::open_files(store, memory, &hooks.cancel);
    Ok(match open(memory.or(Some(MEMORY))) {
        Err(store::Error::Budget { .. }) if memory.is_none() => open(None)?,
        graph => graph?,
    })
}

/// Numbers of nodes and edges in the files of a store with properties.
///
/// # Errors
/// [`store::Error::Corrupt`] for a section that does not parse.
pub fn of_files(store: &Store) -> Result<Counts> {
    let entry = PropertyEntry::of(store.manifest())?.unwrap_or_default();
    Ok(Counts { commit: entry.commit, vertices: entry.nodes, edges: entry.edges })
}

/// An error of a job that has `held` bytes less than its caller was given.
fn with(error: store::Error, held: u64) -> Error {
    match error {
        store::Error::Budget { needed, given } => store::Error::Budget {
            needed: needed.saturating_add(held),
            given: given.saturating_add(held),
        }
        .into(),
        other => other.into(),
    }
}
