//! Look-ups in the users' ids: lists, degrees, edges, samples and paths of named vertices.
//!
//! * [`VertexLookup`]: a store that stays open for look-ups;
//! * [`edges`]: edges as pairs, and stores of some vertices and the edges between them;
//! * [`ids`]: the ids of requests and answers; [`dictionary`]: those of a store;
//! * [`similarity`]: similarity of pairs by their common neighbours; [`walks`]: random walks;
//! * [`latest`]: lists with the changes of a log.

mod dictionary;
mod edges;
mod ids;
mod latest;
mod similarity;
mod walks;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

pub use edges::EdgeTable;
pub use ids::{IdBatch, IdValues};
pub use similarity::Similarity;
pub use walks::Walking;

use crate::Result;
use dictionary::Dictionary;
use ids::Form;
use nakshi_engine::lookup::{ListNeeds, NeighborLists, OpenLists, Sampling, WeightedPath};
use nakshi_engine::parallel::{Tickets, run_workers};
use nakshi_engine::shared::{share_u32, zeroed};
use nakshi_engine::{self as engine, Context, Direction, EngineMode, VertexId};
use nakshi_property::{Along, PropertyGraph};
use nakshi_store::{ExternalId, Store};

/// Ids of a request that one worker looks up at once.
const BATCH: usize = 4096;
/// Ids of a request that is answered without a thread that could be stopped.
const BRIEF: usize = 16;
/// Unknown ids that an error names.
const EXAMPLES: usize = 5;

/// The graph after its last commit, where a request is answered from that and not from the files alone.
type Latest<'a> = Option<&'a PropertyGraph>;

/// The lists of the vertices of a request.
#[derive(Debug, Clone)]
pub struct Neighborhoods {
    /// The vertices of the request, by their numbers in the store.
    pub vertices: Vec<VertexId>,
    /// The list of the `i`-th vertex is `targets[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<i64>,
    /// The neighbours.
    pub targets: IdValues,
    /// A weight for each neighbour, if they were asked for.
    pub weights: Option<Vec<f64>>,
}

/// A path between two vertices.
#[derive(Debug, Clone)]
pub struct Path {
    /// The vertices, both ends included.
    pub ids: IdValues,
    /// The sum of the weights, or the number of edges.
    pub length: f64,
}

/// A store that stays open for look-ups: index, ids and page cache are kept between calls.
#[derive(Debug)]
pub struct VertexLookup {
    store: Arc<Store>,
    lists: OpenLists,
    ids: Dictionary,
    form: Form,
    /// Memory and mode that were asked for.
    memory: Option<u64>,
    mode: EngineMode,
    /// Whether lists stay where they are: the mode is not [`EngineMode::Auto`], or memory was tried.
    settled: bool,
}

impl VertexLookup {
    /// Opens a store for look-ups along `directions`, with a weight column if one is named. In
    /// [`EngineMode::Auto`] the lists stay on the SSD while calls read less than all of them, and are
    /// loaded, if the budget allows, for a call with so many `requests` that it would read as much.
    ///
    /// # Errors
    /// Too small a budget; no such column; reading; cancellation.
    pub fn open(
        store: &Arc<Store>,
        directions: &[Direction],
        column: Option<String>,
        requests: usize,
        cx: &Context,
    ) -> Result<VertexLookup> {
        let needs = needs(store, directions, column)?;
        let all = list_bytes(store, directions);
        let settled = cx.mode() != EngineMode::Auto || page_bytes(store, requests) >= all;
        let mode = if settled { cx.mode() } else { EngineMode::Ssd };
        let lists = OpenLists::open(store, needs, &cx.clone().with_mode(mode))?;
        let ids = Dictionary::load(store, cx.cancel_token())?;
        let (form, store) = (ids.form()?, Arc::clone(store));
        let (memory, mode) = (cx.memory(), cx.mode());
        Ok(VertexLookup { store, lists, ids, form, memory, mode, settled })
    }

    /// True if a call with the memory and mode of `cx` along `directions`, with this weight column and so
    /// many `requests`, can use what is open.
    pub fn serves(
        &self,
        directions: &[Direction],
        column: Option<&str>,
        requests: usize,
        cx: &Context,
    ) -> bool {
        let needs = self.lists.needs();
        let directed = self.store.directed();
        let has = |d: &Direction| !directed || needs.directions.contains(d);
        let read = self.lists.graph().io_stats().bytes_read;
        let read = read.saturating_add(page_bytes(&self.store, requests));
        self.memory == cx.memory()
            && self.mode == cx.mode()
            && directions.iter().all(has)
            && needs.column.as_deref() == column
            && (self.settled || read < list_bytes(&self.store, &needs.directions))
    }

    /// True if a call with so few ids takes no longer than starting a thread would.
    pub fn is_brief(&self, requests: usize) -> bool {
        requests <= BRIEF && self.lists.graph().mode() == EngineMode::Memory
    }

    /// The directions whose lists are open.
    pub fn directions(&self) -> &[Direction] {
        &self.lists.needs().directions
    }

    /// The store.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The lists, by numbers of vertices.
    pub fn lists(&self) -> &OpenLists {
        &self.lists
    }

    /// The vertices of a request; with `latest`, those that are there after its commit.
    ///
    /// # Errors
    /// [`engine::Error::UnknownVertices`], with the first of them; damage; cancellation.
    pub fn vertices(
        &self,
        ids: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<VertexId>> {
        let (found, missing) = self.find(ids, latest, cx)?;
        if missing.is_empty() { Ok(found) } else { Err(unknown(ids, &missing).into()) }
    }

    /// For each id of a request, whether the graph has it.
    ///
    /// # Errors
    /// Damage; cancellation.
    pub fn contains(&self, ids: &IdBatch, latest: Latest<'_>, cx: &Context) -> Result<Vec<bool>> {
        let (_, missing) = self.find(ids, latest, cx)?;
        let mut found = vec![true; ids.len()];
        for at in missing {
            if let Some(slot) = found.get_mut(at) {
                *slot = false;
            }
        }
        Ok(found)
    }

    /// The vertex of each id, and the positions of those that the graph does not have, ascending.
    fn find(
        &self,
        ids: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<(Vec<VertexId>, Vec<usize>)> {
        let mut vertices = zeroed::<u32>(ids.len(), "vertices")?;
        let found = share_u32(&mut vertices);
        let missing = Mutex::new(Vec::new());
        let tickets = Tickets::new(ids.len().div_ceil(BATCH));
        let threads = cx.threads().min(tickets.total()).max(1);
        run_workers(threads, |_| {
            while let Some(ticket) = tickets.draw() {
                cx.check()?;
                let from = ticket * BATCH;
                let slots = found.get(from..ids.len().min(from + BATCH)).unwrap_or_default();
                let lost = self.find_some(ids, latest, from, slots)?;
                if !lost.is_empty() {
                    missing.lock().unwrap_or_else(PoisonError::into_inner).extend(lost);
                }
            }
            Ok::<_, engine::Error>(())
        })?;
        let mut missing = missing.into_inner().unwrap_or_else(PoisonError::into_inner);
        missing.sort_unstable();
        Ok((vertices, missing))
    }

    /// Looks up the ids from position `from` on; returns the positions of those that are not there.
    fn find_some(
        &self,
        ids: &IdBatch,
        latest: Latest<'_>,
        from: usize,
        slots: &[AtomicU32],
    ) -> engine::Result<Vec<usize>> {
        let mut missing = Vec::new();
        if let (None, Some(integers)) = (latest, ids.integers(from))
            && let Some(found) = self.ids.vertices_of(integers)
        {
            for ((at, slot), vertex) in (from..).zip(slots).zip(found) {
                match vertex {
                    Some(vertex) => slot.store(vertex, Relaxed),
                    None => missing.push(at),
                }
            }
            return Ok(missing);
        }
        for (at, slot) in (from..).zip(slots) {
            let Some(id) = ids.get(at) else { break };
            let vertex = match latest {
                Some(graph) => graph.vertex(&id)?,
                None => self.ids.vertex(&id)?,
            };
            match vertex {
                Some(vertex) => slot.store(vertex, Relaxed),
                None => missing.push(at),
            }
        }
        Ok(missing)
    }

    /// The ids of vertices.
    ///
    /// # Errors
    /// A vertex that is not there; damage.
    pub fn values(&self, vertices: &[VertexId], latest: Latest<'_>) -> Result<IdValues> {
        if let Some(graph) = latest {
            let all = || vertices.iter().map(|&v| Ok(graph.id_of(v)?));
            // The log may have integers that those of the files leave no room for.
            return IdValues::collect(self.form, all())
                .or_else(|_| IdValues::collect(self.form.wider(), all()));
        }
        if self.form == Form::Signed {
            let mut ids = vec![0; vertices.len()];
            self.ids.write_integers(vertices, &mut ids)?;
            return Ok(IdValues::Signed(ids));
        }
        let ids = vertices.iter().map(|&v| Ok(self.ids.external(v)?));
        IdValues::collect(self.form, ids)
    }

    /// The ids of the vertices of a request, in the form of an answer.
    ///
    /// # Errors
    /// As [`VertexLookup::values`].
    pub fn sources(
        &self,
        ids: &IdBatch,
        vertices: &[VertexId],
        latest: Latest<'_>,
    ) -> Result<IdValues> {
        match ids {
            IdBatch::Signed(ids) if latest.is_none() && self.form == Form::Signed => {
                Ok(IdValues::Signed(ids.clone()))
            }
            _ => self.values(vertices, latest),
        }
    }

    /// The lists of vertices along `along`.
    fn lists_of(
        &self,
        vertices: &[VertexId],
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<NeighborLists<VertexId>> {
        let one = |direction| match latest {
            Some(graph) => self.merged(graph, direction, vertices, cx),
            None => Ok(self.lists.neighbors(direction, vertices, cx, copied)?),
        };
        match self.direction(along) {
            Some(direction) => one(direction),
            None => Ok(alternating(&one(Direction::Out)?, &one(Direction::In)?)),
        }
    }

    /// The neighbours of the vertices of a request.
    ///
    /// # Errors
    /// Unknown ids; a budget too small for the answer; reading; cancellation.
    pub fn neighbors(
        &self,
        ids: &IdBatch,
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Neighborhoods> {
        let vertices = self.vertices(ids, latest, cx)?;
        match (self.form, self.direction(along), latest) {
            (Form::Signed, Some(direction), None) => {
                let names = |from: &[VertexId], to: &mut [i64]| self.named_into(from, to);
                let found = self.lists.neighbors(direction, &vertices, cx, names)?;
                Ok(signed(vertices, found))
            }
            _ => {
                let found = self.lists_of(&vertices, along, latest, cx)?;
                self.named(vertices, found, latest)
            }
        }
    }

    fn named_into(&self, from: &[VertexId], to: &mut [i64]) -> engine::Result<()> {
        Ok(self.ids.write_integers(from, to)?)
    }

    /// The one direction that serves a request; `None` if it takes both.
    fn direction(&self, along: Along) -> Option<Direction> {
        match along {
            Along::In if self.store.directed() => Some(Direction::In),
            Along::Both if self.store.directed() => None,
            _ => Some(Direction::Out),
        }
    }

    fn named(
        &self,
        vertices: Vec<VertexId>,
        found: NeighborLists<VertexId>,
        latest: Latest<'_>,
    ) -> Result<Neighborhoods> {
        let targets = self.values(&found.targets, latest)?;
        Ok(Neighborhoods { vertices, offsets: found.offsets, targets, weights: found.weights })
    }

    /// Number of neighbours of each vertex of a request; both directions are added up.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`].
    pub fn degrees(
        &self,
        ids: &IdBatch,
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<u64>> {
        let vertices = self.vertices(ids, latest, cx)?;
        self.degrees_of(&vertices, along, latest, cx)
    }

    fn degrees_of(
        &self,
        vertices: &[VertexId],
        along: Along,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<u64>> {
        if latest.is_some() {
            let found = self.lists_of(vertices, along, latest, cx)?;
            let length = |at| range(&found.offsets, at).len() as u64;
            return Ok((0..vertices.len()).map(length).collect());
        }
        if let Some(direction) = self.direction(along) {
            return Ok(self.lists.degrees(direction, vertices, cx)?);
        }
        let mut degrees = self.lists.degrees(Direction::Out, vertices, cx)?;
        let more = self.lists.degrees(Direction::In, vertices, cx)?;
        degrees.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        Ok(degrees)
    }

    /// For each pair of a source and a target, 1 if there is an edge from the one to the other, else 0.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`]; arrays of different lengths.
    pub fn has_edges(
        &self,
        sources: &IdBatch,
        targets: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<u8>> {
        let pairs = self.pairs(sources, targets, latest, cx)?;
        self.edges_between(&pairs, latest, cx)
    }

    /// The vertices of as many sources as targets.
    fn pairs(
        &self,
        sources: &IdBatch,
        targets: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<(VertexId, VertexId)>> {
        if sources.len() != targets.len() {
            let (some, others) = (sources.len(), targets.len());
            let told = format!("{some} sources and {others} targets; give as many of both");
            return Err(engine::Error::parameter("targets", told).into());
        }
        let sources = self.vertices(sources, latest, cx)?;
        let targets = self.vertices(targets, latest, cx)?;
        Ok(sources.into_iter().zip(targets).collect())
    }

    fn edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<u8>> {
        match latest {
            Some(graph) => self.merged_edges(graph, pairs, cx),
            None => Ok(self.lists.has_edges(pairs, cx)?),
        }
    }

    /// Some neighbours of each vertex of a request, along one direction.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`]; both directions at once.
    pub fn sample(
        &self,
        ids: &IdBatch,
        along: Along,
        sampling: Sampling,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Neighborhoods> {
        let vertices = self.vertices(ids, latest, cx)?;
        let Some(direction) = self.direction(along) else {
            let told = "a sample follows edges \"out\" or \"in\"; draw one along each";
            return Err(engine::Error::parameter("direction", told).into());
        };
        if let Some(graph) = latest {
            let found = self.merged_sample(graph, direction, &vertices, sampling, cx)?;
            return self.named(vertices, found, latest);
        }
        if self.form != Form::Signed {
            let found = self.lists.sample(direction, &vertices, sampling, cx, copied)?;
            return self.named(vertices, found, None);
        }
        let names = |from: &[VertexId], to: &mut [i64]| self.named_into(from, to);
        let found = self.lists.sample(direction, &vertices, sampling, cx, names)?;
        Ok(signed(vertices, found))
    }

    /// A shortest path: by weights if the look-ups have a weight column, else with as few edges as
    /// possible. `None` if there is no path.
    ///
    /// # Errors
    /// As [`VertexLookup::neighbors`]; a negative weight on the way; weights after commits that the files
    /// do not have.
    pub fn path(&self, ends: &IdBatch, latest: Latest<'_>, cx: &Context) -> Result<Option<Path>> {
        let (from, to) = self.ends(ends, latest, cx)?;
        let weighted = self.lists.needs().column.is_some();
        if weighted && latest.is_none() {
            let found = self.lists.lightest_path(from, to, cx)?;
            return found.map(|path| self.named_path(path)).transpose();
        }
        let path = match latest {
            Some(_) if weighted => return Err(no_weights()),
            Some(graph) => self.merged_path(graph, (from, to), cx)?,
            None => self.lists.shortest_path(from, to, cx)?,
        };
        let Some(path) = path else { return Ok(None) };
        let length = path.len().saturating_sub(1) as f64;
        Ok(Some(Path { ids: self.values(&path, latest)?, length }))
    }

    /// Up to `count` paths that visit no vertex twice, the shortest first; by weights if the look-ups have a
    /// weight column, else by the number of edges.
    ///
    /// # Errors
    /// As [`VertexLookup::path`]; after commits that the files do not have.
    pub fn paths(
        &self,
        ends: &IdBatch,
        count: usize,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Vec<Path>> {
        let (from, to) = self.filed_ends(ends, latest, cx)?;
        let found = self.lists.lightest_paths(from, to, count, cx)?;
        found.into_iter().map(|path| self.named_path(path)).collect()
    }

    /// As [`VertexLookup::path`] by weights, where `potentials` has, in ascending order of the ids, for each
    /// vertex a number that is not above the length of the shortest path from there to the second end.
    ///
    /// # Errors
    /// As [`VertexLookup::path`]; another number of potentials, or one that is no number; after commits
    /// that the files do not have.
    pub fn guided_path(
        &self,
        ends: &IdBatch,
        potentials: &[f64],
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<Option<Path>> {
        let (from, to) = self.filed_ends(ends, latest, cx)?;
        let n = self.lists.graph().num_vertices();
        if potentials.len() != n {
            let message =
                format!("{} numbers for {n} vertices; give one for each", potentials.len());
            return Err(engine::Error::parameter("potential", message).into());
        }
        self.lists.check_room(4 * n as u64, "the order of the ids")?;
        let ranks = self.lists.graph().id_ranks(cx)?;
        let rank = |v: VertexId| match &ranks {
            Some(ranks) => ranks.get(v as usize).copied().unwrap_or(v),
            None => v,
        };
        let bound = |v: VertexId| potentials.get(rank(v) as usize).copied().unwrap_or(f64::NAN);
        let found = self.lists.guided_path(from, to, bound, cx)?;
        found.map(|path| self.named_path(path)).transpose()
    }

    /// The two ends of a path over edges that the files have.
    fn filed_ends(
        &self,
        ends: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<(VertexId, VertexId)> {
        if latest.is_some() {
            let what = "such paths over edges in the log; run compact() first";
            return Err(engine::Error::Unsupported { what: what.into() }.into());
        }
        self.ends(ends, latest, cx)
    }

    fn ends(
        &self,
        ends: &IdBatch,
        latest: Latest<'_>,
        cx: &Context,
    ) -> Result<(VertexId, VertexId)> {
        let ends = self.vertices(ends, latest, cx)?;
        let &[from, to] = ends.as_slice() else {
            return Err(engine::Error::parameter("ends", "a path has two ends").into());
        };
        Ok((from, to))
    }

    fn named_path(&self, path: WeightedPath) -> Result<Path> {
        Ok(Path { ids: self.values(&path.vertices, None)?, length: path.length })
    }
}

/// The error of a request for weights that the files do not have.
fn no_weights() -> crate::Error {
    let what = "weights of edges in the log; run compact() first, or leave weight out";
    engine::Error::Unsupported { what: what.into() }.into()
}

/// The numbers of neighbours as they are.
fn copied(from: &[VertexId], to: &mut [VertexId]) -> engine::Result<()> {
    to.copy_from_slice(from);
    Ok(())
}

/// The places of the list at a position.
fn range(offsets: &[i64], at: usize) -> std::ops::Range<usize> {
    let bound = |at: usize| offsets.get(at).and_then(|&at| usize::try_from(at).ok());
    bound(at).unwrap_or(0)..bound(at + 1).unwrap_or(0)
}

fn needs(store: &Store, directions: &[Direction], column: Option<String>) -> Result<ListNeeds> {
    let beside = Dictionary::memory_of(store)?;
    Ok(ListNeeds { directions: directions.to_vec(), column, beside })
}

/// Bytes that random reads of so many lists take at most, if each lies on one page.
fn page_bytes(store: &Store, requests: usize) -> u64 {
    (requests as u64).saturating_mul(store.manifest().page_size.into())
}

/// Bytes of all lists of these directions.
fn list_bytes(store: &Store, directions: &[Direction]) -> u64 {
    let mut wanted: Vec<Direction> = directions.iter().map(|&d| store.resolve(d)).collect();
    wanted.dedup();
    let bytes = |d| store.entry(d).map_or(0, |entry| entry.lists.len);
    wanted.into_iter().map(bytes).fold(0, u64::saturating_add)
}

fn signed(vertices: Vec<VertexId>, found: NeighborLists<i64>) -> Neighborhoods {
    let NeighborLists { offsets, targets, weights } = found;
    Neighborhoods { vertices, offsets, targets: IdValues::Signed(targets), weights }
}

/// The first lists, each followed by the second of the same vertex.
fn alternating(
    first: &NeighborLists<VertexId>,
    second: &NeighborLists<VertexId>,
) -> NeighborLists<VertexId> {
    let (mut offsets, mut targets) = (vec![0i64], Vec::new());
    targets.reserve_exact(first.targets.len() + second.targets.len());
    let weighted = first.weights.is_some() && second.weights.is_some();
    let mut weights = Vec::new();
    for i in 0..first.offsets.len().saturating_sub(1) {
        for lists in [first, second] {
            let range = range(&lists.offsets, i);
            targets.extend_from_slice(lists.targets.get(range.clone()).unwrap_or_default());
            let found = lists.weights.as_ref().and_then(|weights| weights.get(range));
            weights.extend_from_slice(found.unwrap_or_default());
        }
        offsets.push(targets.len() as i64);
    }
    NeighborLists { offsets, targets, weights: weighted.then_some(weights) }
}

/// The error that names the first of the ids at these positions.
fn unknown(ids: &IdBatch, missing: &[usize]) -> engine::Error {
    let shown = |id: &ExternalId| match id {
        ExternalId::Text(text) => format!("{text:?}"),
        ExternalId::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
        other => other.to_string(),
    };
    let examples = missing.iter().take(EXAMPLES).filter_map(|&at| ids.get(at));
    let mut examples: Vec<String> = examples.map(|id| shown(&id)).collect();
    if let ([_], [one]) = (missing, examples.as_slice()) {
        return engine::Error::UnknownVertex { id: one.clone() };
    }
    if missing.len() > examples.len() {
        examples.push("...".to_owned());
    }
    engine::Error::UnknownVertices { count: missing.len(), examples: examples.join(", ") }
}
