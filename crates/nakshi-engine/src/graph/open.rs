//! Opening a store as a graph: indexes and heads are loaded, and the lists if memory allows.

use super::Graph;
use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Needs, Summary};
use crate::source::pinned::Pinned;
use crate::source::{Data, Shared, Side, WeightColumn};
use nakshi_io::PagedFile;
use nakshi_store::{Direction, Store};
use std::sync::Arc;

/// Memory for lists beyond the needs of a run, when no budget is given.
const DEFAULT_SPARE: u64 = 64 << 20;
/// The smallest page cache, where pages are small.
const LEAST_CACHE: u64 = 1 << 20;
/// Pages that any page cache holds, one set of it.
const LEAST_PAGES: u64 = 8;

impl Summary {
    /// Summary of a store, for an estimate.
    pub fn of_store(store: &Store) -> Summary {
        let manifest = store.manifest();
        let entry = |d| store.entry(d).ok();
        let (out, incoming) = (entry(Direction::Out), entry(Direction::In));
        let lists = |e: Option<&nakshi_store::AdjacencyEntry>| e.map_or(0, |e| e.lists.len);
        // Lists are read in whole pages, and half a page cache of large pages goes by this too.
        let pages = u64::from(manifest.page_size) * (LEAST_PAGES / 2);
        let width = manifest.columns.iter().map(|c| c.ty.width() as u64).max();
        Summary {
            vertices: manifest.vertices,
            listed: manifest.adjacency.iter().map(|e| e.stored).max().unwrap_or(0),
            arcs: store.arcs(),
            directed: manifest.directed,
            out_bytes: lists(out),
            in_bytes: if manifest.directed { lists(incoming) } else { 0 },
            longest_list: manifest.adjacency.iter().map(|e| e.max_list_bytes).fold(pages, u64::max),
            // Elias-Fano: at most two bits and the logarithm of the mean length, with samples.
            index_bytes: manifest.adjacency.iter().map(index_bytes).max().unwrap_or(0),
            weight_width: width.unwrap_or(0),
        }
    }
}

fn index_bytes(entry: &nakshi_store::AdjacencyEntry) -> u64 {
    let mean = entry.lists.len / (entry.stored + 1);
    let bits = 3.5 + f64::from(mean.checked_ilog2().unwrap_or(0));
    (entry.stored as f64 * bits / 8.0) as u64 + 4 * entry.lists.len.div_ceil(4096)
}

impl Graph {
    /// Prepares `store` for a run with `needs`: loads the index and the heads, and in
    /// memory mode the lists. With [`EngineMode::Auto`] the lists are loaded if the budget
    /// (or, without one, the memory that is free) allows.
    ///
    /// # Errors
    /// [`Error::Budget`] with the smallest budget that works; [`Error::Cancelled`]; those of
    /// the store.
    pub fn open(store: &Arc<Store>, needs: &Needs, cx: &Context) -> Result<Graph> {
        cx.check()?;
        let needs = &needs.clone().within(cx);
        let summary = Summary::of_store(store);
        let (estimate, plan) = Estimate::with_plan(store, needs, cx)?;
        let mode = choose(&estimate, cx)?;
        let spare = spare(needs, estimate.minimum, cx);
        let lists = estimate.lists;
        let (cache, kept) = divide(needs, spare, cx.selective(), &summary);
        let cache = cache
            .min(lists)
            // Experiments have caches that are shares of small graphs.
            .max(if cx.selective() { 0 } else { LEAST_CACHE })
            .max(LEAST_PAGES * u64::from(store.manifest().page_size));
        let cache = usize::try_from(cache).unwrap_or(usize::MAX);
        let shared = Shared::new(if mode == EngineMode::Ssd { cache } else { 0 }, cx);
        let mut graph = Graph {
            n: usize::try_from(store.num_vertices()).map_err(|_| too_large(store))?,
            arcs: store.arcs(),
            directed: store.directed(),
            mode,
            out: None,
            incoming: None,
            shared,
            store: Some(Arc::clone(store)),
            heads: Default::default(),
            opened: 0,
            #[cfg(test)]
            thin: None,
        };
        for direction in [Direction::Out, Direction::In] {
            let slot = store.resolve(direction);
            if needs.directions.contains(&direction) && graph.slot(slot).is_none() {
                let side = graph.side_of(store, slot, needs, cx)?;
                match slot {
                    Direction::Out => graph.out = Some(side),
                    Direction::In => graph.incoming = Some(side),
                }
            }
        }
        if let Some(direction) = needs.heads {
            graph.heads(direction, cx)?;
        }
        for side in plan.iter().filter(|_| mode == EngineMode::Ssd).flat_map(|plan| &plan.sides) {
            let slot = match side.direction {
                Direction::Out => &mut graph.out,
                Direction::In => &mut graph.incoming,
            };
            if let Some(slot) = slot {
                slot.pinned = Some(Pinned::load((&slot.index, &slot.data), &side.vertices, cx)?);
            }
        }
        graph.keep(kept as f64 / lists.max(1) as f64);
        Ok(graph)
    }

    /// Keeps this share of the lists and weights that are read again in memory.
    pub(crate) fn keep(&mut self, share: f64) {
        let sides = [&mut self.out, &mut self.incoming];
        sides.into_iter().flatten().for_each(|side| side.keep(share));
    }

    fn slot(&self, direction: Direction) -> &Option<Side> {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.incoming,
        }
    }

    fn side_of(
        &mut self,
        store: &Arc<Store>,
        direction: Direction,
        needs: &Needs,
        cx: &Context,
    ) -> Result<Side> {
        let adjacency = store.adjacency_until(direction, cx.cancel_token())?;
        self.opened += store.entry(direction)?.lengths.len;
        let data = self.data(adjacency.file(), cx)?;
        let weights = match &needs.column {
            None => None,
            Some(name) => {
                let column = store.column_until(name, direction, cx.cancel_token())?;
                self.opened += store.entry(direction)?.degrees.len;
                Some(WeightColumn {
                    kind: column.ty(),
                    entries: Arc::clone(column.index()),
                    data: self.data(column.file(), cx)?,
                })
            }
        };
        let index = Arc::clone(adjacency.index());
        Ok(Side::new(index, adjacency.encoding(), data, weights, Arc::clone(&self.shared)))
    }

    fn data(&mut self, file: &Arc<PagedFile>, cx: &Context) -> Result<Data> {
        Ok(match self.mode {
            EngineMode::Ssd => Data::Ssd(Arc::clone(file)),
            _ => {
                self.opened += file.len();
                Data::Memory(file.load(cx.cancel_token())?)
            }
        })
    }
}

fn too_large(store: &Store) -> Error {
    Error::Unsupported { what: format!("{} vertices on this machine", store.num_vertices()) }
}

/// Bytes that a run leaves of its budget.
fn spare(needs: &Needs, minimum: u64, cx: &Context) -> u64 {
    match cx.memory() {
        _ if needs.takes_spare => 0,
        Some(budget) => budget.saturating_sub(minimum),
        None => DEFAULT_SPARE,
    }
}

/// Bytes for the page cache and for kept chunks, of what a run leaves of its budget.
fn divide(needs: &Needs, spare: u64, selective: bool, summary: &Summary) -> (u64, u64) {
    if selective {
        return (spare, 0);
    }
    let late = needs.late_bytes_per_vertex * summary.vertices as f64;
    let kept = if needs.gathers { spare / 2 } else { spare };
    (spare - kept, kept.saturating_add(late as u64))
}

/// Chooses whether the lists are loaded into memory or stay on the SSD.
fn choose(estimate: &Estimate, cx: &Context) -> Result<EngineMode> {
    let short =
        |needed| Error::Budget { what: "this run".into(), needed, given: cx.memory().unwrap_or(0) };
    let budget = cx.memory().unwrap_or_else(free_memory);
    match cx.mode() {
        EngineMode::Memory if cx.memory().is_some_and(|b| b < estimate.in_memory) => {
            Err(short(estimate.in_memory))
        }
        EngineMode::Memory => Ok(EngineMode::Memory),
        _ if cx.memory().is_some_and(|b| b < estimate.minimum) => Err(short(estimate.minimum)),
        EngineMode::Auto if estimate.in_memory <= budget => Ok(EngineMode::Memory),
        _ => Ok(EngineMode::Ssd),
    }
}

/// Bytes that the system can give without swapping, with a fifth kept for others.
fn free_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(u64::MAX, |k| k.saturating_mul(1024) / 5 * 4)
}
