//! Opening a store as a graph: indexes and heads are loaded, and the lists if memory allows.

use super::Graph;
use super::held::Held;
use crate::context::{Context, EngineMode};
use crate::error::{Error, Result};
use crate::estimate::{Estimate, Needs, Summary};
use crate::source::pinned::Pinned;
use crate::source::{Data, Shared, Side, WeightColumn};
use nakshi_io::PagedFile;
use nakshi_store::{Adjacency, CachePlan, DecodedLists, Direction, Store};
use std::cell::OnceCell;
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
        let free = FreeMemory::default();
        let held = Held::of(store).filter(|held| {
            // Half of what is free, and a budget is a limit of its own.
            let room = || free.beside(held.memory()) / 2;
            cx.holds() && (cx.memory().is_some() || estimate.in_memory <= room())
        });
        let mode = choose(&estimate, || free.beside(held.map_or(0, Held::memory)), cx)?;
        if let Some(held) = Held::of(store)
            && (mode == EngineMode::Ssd || cx.memory().is_some())
        {
            held.release(store, cx.holds().then_some((mode, needs)));
        }
        let loader = Loader {
            store,
            needs,
            mode,
            held,
            decodes: decodes(&estimate, store, needs, cx, || {
                free.beside(held.map_or(0, Held::memory))
            }),
            cx,
        };
        let lists = estimate.lists;
        let (cache, kept) =
            divide(needs, spare(needs, estimate.minimum, cx), cx.selective(), &summary);
        let cache = cache_bytes(cache.min(lists), store, cx);
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
                let side = graph.side_of(&loader, slot)?;
                match slot {
                    Direction::Out => graph.out = Some(side),
                    Direction::In => graph.incoming = Some(side),
                }
            }
        }
        if let Some(direction) = needs.heads {
            graph.take_heads(&loader, direction)?;
        }
        if mode == EngineMode::Ssd {
            graph.pin(plan.as_ref(), cx)?;
            let kept = kept.saturating_add(graph.spare_buffers(needs, cx));
            graph.keep_with(kept as f64 / lists.max(1) as f64, held);
        }
        Ok(graph)
    }

    /// Loads the lists of a static cache.
    fn pin(&mut self, plan: Option<&CachePlan>, cx: &Context) -> Result<()> {
        for side in plan.iter().flat_map(|plan| &plan.sides) {
            let slot = match side.direction {
                Direction::Out => &mut self.out,
                Direction::In => &mut self.incoming,
            };
            if let Some(slot) = slot {
                slot.pinned = Some(Pinned::load((&slot.index, &slot.data), &side.vertices, cx)?);
            }
        }
        Ok(())
    }

    /// Bytes of the buffers of all workers that an estimate counts and this graph does not take. Experiments
    /// and algorithms that use the memory themselves keep no lists in them.
    fn spare_buffers(&self, needs: &Needs, cx: &Context) -> u64 {
        if needs.takes_spare || cx.selective() {
            return 0;
        }
        let sides = [&self.out, &self.incoming].into_iter().flatten();
        let least = sides.map(Side::spare_buffers).min().unwrap_or(0);
        least.saturating_mul(cx.threads() as u64)
    }

    /// Keeps this share of the lists and weights that are read again in memory.
    #[cfg(test)]
    pub(crate) fn keep(&mut self, share: f64) {
        self.keep_with(share, None);
    }

    /// As [`Graph::keep`], beginning with what earlier runs have kept, for runs to come.
    fn keep_with(&mut self, share: f64, held: Option<&Held>) {
        let sides = [(&mut self.out, Direction::Out), (&mut self.incoming, Direction::In)];
        for (side, direction) in sides.into_iter().filter_map(|(side, d)| Some((side.as_mut()?, d)))
        {
            let keep = side.keep(share, held.and_then(|held| held.chunks(direction)));
            if let Some(held) = held {
                held.hold_chunks(direction, keep);
            }
        }
    }

    fn slot(&self, direction: Direction) -> &Option<Side> {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.incoming,
        }
    }

    fn side_of(&mut self, loader: &Loader<'_>, direction: Direction) -> Result<Side> {
        let &Loader { store, needs, held, cx, .. } = loader;
        let adjacency = store.adjacency_until(direction, cx.cancel_token())?;
        self.opened += store.entry(direction)?.lengths.len;
        let data = self.lists(loader, direction, adjacency)?;
        let weights = match &needs.column {
            None => None,
            Some(name) => match held.and_then(|held| held.column(name, direction)) {
                Some(column) => Some(column),
                None => Some(self.column(loader, name, direction)?),
            },
        };
        let index = Arc::clone(adjacency.index());
        Ok(Side::new(index, adjacency.encoding(), data, weights, Arc::clone(&self.shared)))
    }

    /// The lists of a direction: those that are held, decoded if they are read again, or loaded.
    fn lists(
        &mut self,
        loader: &Loader<'_>,
        direction: Direction,
        adjacency: &Adjacency,
    ) -> Result<Data> {
        let &Loader { needs, held, decodes, cx, .. } = loader;
        let found = held.and_then(|held| held.lists(direction));
        let again = needs.repeats || found.is_some();
        let data = match found {
            Some(found) => found,
            None => self.data(loader, adjacency.file())?,
        };
        let data = match data {
            Data::Memory(bytes) if again && decodes => {
                let lists = (&**adjacency.index(), adjacency.encoding());
                let (threads, cancel) = (cx.threads(), cx.cancel_token());
                let decoded = DecodedLists::decode(lists, bytes.with_slack(), threads, cancel)?;
                Data::Decoded(Arc::new(decoded))
            }
            other => other,
        };
        if let Some(held) = held.filter(|_| data.in_memory()) {
            held.hold_lists(direction, &data);
        }
        Ok(data)
    }

    fn column(
        &mut self,
        loader: &Loader<'_>,
        name: &str,
        direction: Direction,
    ) -> Result<WeightColumn> {
        let &Loader { store, held, cx, .. } = loader;
        let column = store.column_until(name, direction, cx.cancel_token())?;
        self.opened += store.entry(direction)?.degrees.len;
        let column = WeightColumn {
            kind: column.ty(),
            entries: Arc::clone(column.index()),
            data: self.data(loader, column.file())?,
        };
        if let Some(held) = held.filter(|_| column.data.in_memory()) {
            held.hold_column(name, direction, &column);
        }
        Ok(column)
    }

    fn take_heads(&mut self, loader: &Loader<'_>, direction: Direction) -> Result<()> {
        let held = loader.held.filter(|_| loader.mode == EngineMode::Memory);
        let direction = loader.store.resolve(direction);
        if let Some(heads) = held.and_then(|held| held.heads(direction)) {
            self.set_heads(direction, heads);
        }
        let heads = self.heads(direction, loader.cx)?;
        if let Some(held) = held {
            held.hold_heads(direction, &heads);
        }
        Ok(())
    }

    fn data(&mut self, loader: &Loader<'_>, file: &Arc<PagedFile>) -> Result<Data> {
        Ok(match loader.mode {
            EngineMode::Ssd => Data::Ssd(Arc::clone(file)),
            _ => {
                self.opened += file.len();
                Data::Memory(Arc::new(file.load(loader.cx.cancel_token())?))
            }
        })
    }
}

/// The circumstances that decide how the parts of a graph are loaded.
struct Loader<'a> {
    store: &'a Arc<Store>,
    needs: &'a Needs,
    mode: EngineMode,
    /// Lists that the store holds in memory, if this run uses them.
    held: Option<&'a Held>,
    /// True if there is room for decoded lists.
    decodes: bool,
    cx: &'a Context,
}

/// Returns true if the budget, or the memory that is free, has room for decoded lists beside the encoded
/// ones, from which they are made.
fn decodes(
    estimate: &Estimate,
    store: &Store,
    needs: &Needs,
    cx: &Context,
    free: impl FnOnce() -> u64,
) -> bool {
    let reads = |d: &Direction| needs.directions.iter().any(|asked| store.resolve(*asked) == *d);
    let sides = [Direction::Out, Direction::In].iter().filter(|d| reads(d)).count() as u64;
    let Some(each) = DecodedLists::memory(store.num_vertices(), store.arcs()) else { return false };
    let needed = estimate.in_memory.saturating_add(each.saturating_mul(sides));
    needed <= cx.memory().unwrap_or_else(free)
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

/// Bytes of the page cache, of which so many are wanted.
fn cache_bytes(wanted: u64, store: &Store, cx: &Context) -> usize {
    // Experiments have caches that are shares of small graphs.
    let least = if cx.selective() { 0 } else { LEAST_CACHE };
    let pages = LEAST_PAGES * u64::from(store.manifest().page_size);
    usize::try_from(wanted.max(least).max(pages)).unwrap_or(usize::MAX)
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
fn choose(estimate: &Estimate, free: impl FnOnce() -> u64, cx: &Context) -> Result<EngineMode> {
    let short =
        |needed| Error::Budget { what: "this run".into(), needed, given: cx.memory().unwrap_or(0) };
    match cx.mode() {
        EngineMode::Memory if cx.memory().is_some_and(|b| b < estimate.in_memory) => {
            Err(short(estimate.in_memory))
        }
        EngineMode::Memory => Ok(EngineMode::Memory),
        _ if cx.memory().is_some_and(|b| b < estimate.minimum) => Err(short(estimate.minimum)),
        EngineMode::Auto if estimate.in_memory <= cx.memory().unwrap_or_else(free) => {
            Ok(EngineMode::Memory)
        }
        _ => Ok(EngineMode::Ssd),
    }
}

/// The memory that the system can give without swapping, asked for once.
#[derive(Default)]
struct FreeMemory(OnceCell<Option<u64>>);

impl FreeMemory {
    /// Free bytes, beside those that a store holds already, with a fifth kept for others.
    fn beside(&self, held: u64) -> u64 {
        let bytes = *self.0.get_or_init(|| {
            let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
            let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
            let kilobytes = line.trim().trim_end_matches(" kB").parse::<u64>().ok()?;
            Some(kilobytes.saturating_mul(1024))
        });
        bytes.map_or(u64::MAX, |bytes| bytes.saturating_add(held) / 5 * 4)
    }
}
