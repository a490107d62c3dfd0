//! The property files of a store, in memory as they are on disk, or on disk behind a cache.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use nakshi_io::{CancelToken, IoStats, PageCache, SLACK, run_workers};

use super::blob::Blob;
use super::entry::{Dealt, PropertyEntry, SegmentDirectory};
use super::room::MemoryRoom;
use super::segment::{SegmentEdges, SegmentRows};
use super::shard_map::{Dealing, ShardMap};
use nakshi_store::ResidentIds;
use nakshi_store::{Direction, Error, ExternalId, FileEntry, OpenOptions, Result, Store, VertexId};

/// Smallest cache of property files, in bytes and in pages.
const LEAST_CACHE: u64 = 256 << 10;
const LEAST_PAGES: u64 = 16;

/// Largest share of the memory, and most bytes, for a writer's lookups of edges by destination.
const LOOKUPS_SHARE: u64 = 16;
const LOOKUPS: u64 = 64 << 20;

/// Share of the memory beyond the least that a log in memory may take before it is frozen, and the least
/// and the most bytes of it.
const LOG_SHARE: u64 = 16;
const LEAST_LOG: u64 = 512 << 10;
const MOST_LOG: u64 = 64 << 20;
/// Memory for changes, in logs: two for one that grows and waits, one that is frozen, and four for what is
/// encoded or merged.
const LOGS: u64 = 7;

/// Estimated nanoseconds of a search from which on several threads share it. Starting two threads
/// takes 24 us, eight take 158 us.
const WORTH_THREADS: u64 = 200_000;

/// All property files of a store, and the ids of its nodes.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
    /// The store of the files, and the process that opened it.
    store: (Arc<Store>, u32),
    entry: PropertyEntry,
    ids: ResidentIds,
    shards: Vec<Shard>,
    dealing: Dealing,
    /// Threads of a search over all shards that is worth them.
    searchers: usize,
    /// Bytes of memory of the files and the ids, or of the cache in place of the files.
    memory: u64,
    /// Bytes of that memory for a writer's lookups.
    lookups: u64,
    /// Bytes that a log may take before it is frozen.
    log_limit: u64,
    /// Cache of the files; `None` if they are in memory.
    cache: Option<Arc<PageCache>>,
    /// Memory for fragments, and a cache for those that it has no room for, where the files are in memory and
    /// there is a limit.
    fragments: Option<(Arc<MemoryRoom>, Arc<PageCache>)>,
    stats: Arc<IoStats>,
    /// The in-lists of the store, opened at their first use.
    incoming: OnceLock<Blob>,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) nodes: SegmentRows,
    pub(super) edges: SegmentEdges,
}

impl Base {
    /// The least memory that [`Base::open`] takes, in bytes.
    ///
    /// # Errors
    /// Errors of reading the directory.
    pub(crate) fn least(store: &Store, entry: &PropertyEntry, cancel: &CancelToken) -> Result<u64> {
        let directory = read_directory(store, entry, cancel)?;
        Ok(FileSizes { store, entry, directory: &directory }.least())
    }

    /// As [`Base::open_counted`], with new counters.
    pub(crate) fn open(store: &Store, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        Self::open_counted(store, memory, &Arc::default(), cancel)
    }

    /// Opens the property files of a store. If `memory` has room for all of them they are read into
    /// memory; otherwise they stay on disk, behind a cache of the remaining memory. `stats` counts
    /// the reads.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Budget`] if `memory` is less
    /// than [`Base::least`]; errors of reading.
    pub(crate) fn open_counted(
        store: &Store,
        memory: Option<u64>,
        stats: &Arc<IoStats>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let entry = entry_of(store)?;
        let directory = read_directory(store, &entry, cancel)?;
        let sizes = FileSizes { store, entry: &entry, directory: &directory };
        let lookups = sizes.lookups(memory);
        let log_limit = sizes.log_limit(memory);
        let kept = lookups + memory.map_or(0, |_| LOGS * log_limit);
        let cache = sizes.cache(memory, kept)?;
        let whole = sizes.whole();
        let fragments = match (&cache, memory) {
            (None, Some(given)) => {
                Some(fragment_memory(store, given.saturating_sub(kept + whole))?)
            }
            _ => None,
        };
        let blob = |file: Option<&FileEntry>| {
            let file = store.file(file.ok_or_else(|| lacks(store.path(), "a property file"))?)?;
            match &cache {
                None => Blob::load(&file, cancel),
                Some(cache) => Blob::cached(&file, cache, stats),
            }
        };
        let mut shards = Vec::new();
        for (number, shard) in directory.shards.iter().enumerate() {
            shards.push(Shard {
                nodes: SegmentRows::open(
                    blob(entry.segments.nodes.get(number))?,
                    shard.nodes.form(),
                )?,
                edges: SegmentEdges::open(blob(entry.segments.edges.get(number))?, &shard.edges)?,
            });
        }
        if shards.len() as u64 != u64::from(entry.shards) || shards.is_empty() {
            return Err(lacks(store.path(), "a shard"));
        }
        let dealing = dealing(store, &entry, &shards, cancel)?;
        let searchers = match shards.len() {
            1 => 1,
            many => many.min(std::thread::available_parallelism().map_or(1, usize::from)),
        };
        let ids = ResidentIds::load(&store.ids()?, cancel)?;
        let memory = memory.map_or(whole, |given| given.min(whole));
        let (path, stats) = (store.path().to_path_buf(), Arc::clone(stats));
        let opening =
            OpenOptions { backend: Some(Arc::clone(store.backend())), ..Default::default() };
        let store = Store::open_as(store.path(), store.manifest().clone(), &opening)?;
        let store = (store, std::process::id());
        Ok(Base {
            path,
            store,
            entry,
            ids,
            shards,
            dealing,
            searchers,
            memory,
            lookups,
            log_limit,
            cache,
            fragments,
            stats,
            incoming: OnceLock::new(),
        })
    }

    /// Counters of the reads since the files were opened; all zero if they are in memory.
    pub(super) fn io(&self) -> &IoStats {
        &self.stats
    }

    /// The counters behind [`Base::io`].
    pub(super) fn io_counters(&self) -> &Arc<IoStats> {
        &self.stats
    }

    /// Empties the cache, so that the next reads go to the disk.
    pub(super) fn clear_cache(&self) {
        let fragments = self.fragments.iter().map(|(_, cache)| cache);
        self.cache.iter().chain(fragments).for_each(|cache| cache.clear());
    }

    /// The cache of fragments; `None` if they are in memory.
    pub(super) fn fragment_cache(&self) -> Option<&Arc<PageCache>> {
        self.cache.as_ref().or(self.fragments.as_ref().map(|(_, cache)| cache))
    }

    /// Memory for fragments in place of the cache.
    pub(super) fn fragment_room(&self) -> Option<&Arc<MemoryRoom>> {
        self.fragments.as_ref().map(|(room, _)| room)
    }

    /// Bytes that a log may take before it is frozen.
    pub(super) fn log_limit(&self) -> u64 {
        self.log_limit
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Generation of the files.
    pub(super) fn generation(&self) -> u64 {
        self.entry.log(self.store.0.manifest().generation).generation
    }

    /// Returns true if these are the files of a store, whose section of the manifest is `entry`.
    pub(super) fn is_of(&self, store: &Store, entry: &PropertyEntry) -> bool {
        self.store.0.uuid() == store.uuid() && self.entry.segments == entry.segments
    }

    /// The store of the files, for its edge lists. A forked child opens it anew.
    pub(super) fn store(&self) -> Result<Arc<Store>> {
        let (store, process) = &self.store;
        if *process == std::process::id() {
            return Ok(Arc::clone(store));
        }
        Store::open_as(&self.path, store.manifest().clone(), &OpenOptions::default())
    }

    /// The nodes that have edges to `v` in the files. The in-lists are in memory where the other files are and
    /// nobody limits it, else behind the cache.
    ///
    /// # Errors
    /// [`Error::Io`] where a compaction has removed the lists; damage.
    pub(super) fn in_list(&self, v: VertexId) -> Result<Vec<VertexId>> {
        let store = self.store()?;
        let adjacency = store.adjacency(Direction::In)?;
        let extent = adjacency.extent(v);
        if extent.is_empty() {
            return Ok(Vec::new());
        }
        let lists = match self.incoming.get() {
            Some(lists) => lists,
            None => {
                let opened = match self.fragment_cache() {
                    Some(cache) => Blob::cached(adjacency.file(), cache, &self.stats)?,
                    None => Blob::load(adjacency.file(), &CancelToken::new())?,
                };
                self.incoming.get_or_init(|| opened)
            }
        };
        let (from, to) = (extent.start as usize, extent.end as usize);
        let mut list = Vec::with_capacity(to - from + SLACK);
        lists.with(from, to, |bytes| list.extend_from_slice(bytes))?;
        list.resize(to - from + SLACK, 0);
        let mut found = Vec::new();
        let decoded = adjacency.list(&list, 0..to - from);
        decoded
            .and_then(|list| list.decode_into(&mut found))
            .map_err(|error| adjacency.blame(v, error))?;
        Ok(found)
    }

    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Bytes that a writer's lookups of edges by destination may take, in addition to the files and
    /// their cache.
    pub(super) fn lookups(&self) -> u64 {
        self.lookups
    }

    pub(crate) fn entry(&self) -> &PropertyEntry {
        &self.entry
    }

    pub(super) fn ids(&self) -> &ResidentIds {
        &self.ids
    }

    pub(super) fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shard of a node, and its row there.
    #[inline]
    pub(super) fn place(&self, v: VertexId) -> Result<(&Shard, u64)> {
        let (shard, row) = self.dealing.place(v);
        Ok((self.shard(shard)?, row))
    }

    /// The shard of a node.
    #[inline]
    pub(super) fn shard_of(&self, v: VertexId) -> Result<&Shard> {
        self.shard(self.dealing.shard(v))
    }

    /// A shard by its number.
    #[inline]
    pub(super) fn shard(&self, number: usize) -> Result<&Shard> {
        self.shards.get(number).ok_or_else(|| lacks(&self.path, "a shard"))
    }

    /// The shards of the nodes, and their rows.
    pub(super) fn dealing(&self) -> &Dealing {
        &self.dealing
    }

    /// The node of a row of a shard, which is given by its number.
    pub(super) fn node_at(&self, shard: usize, row: u64) -> Result<VertexId> {
        let v = self.dealing.node(shard, row).and_then(|v| u32::try_from(v).ok());
        v.ok_or(Error::BadList("a row of a shard has no node"))
    }

    /// Replaces ascending rows of a shard by their nodes, which ascend too.
    pub(super) fn name_nodes(&self, shard: usize, rows: &mut [u64]) -> Result<()> {
        let named = self.dealing.name_nodes(shard, rows);
        named.then_some(()).ok_or(Error::BadList("a row of a shard has no node"))
    }

    /// What `f` returns for each shard, in their order. The shards are searched by several threads
    /// if `cost`, an estimate of nanoseconds for all of them, is worth starting these.
    pub(super) fn search<'b, T: Send>(
        &'b self,
        cost: u64,
        f: impl Fn(usize, &'b Shard) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        if self.searchers < 2 || cost < WORTH_THREADS {
            return self
                .shards
                .iter()
                .enumerate()
                .map(|(number, shard)| f(number, shard))
                .collect();
        }
        let next = AtomicUsize::new(0);
        let work = |_| {
            let mut found = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(shard) = self.shards.get(number) else { return Ok::<_, Error>(found) };
                found.push((number, f(number, shard)?));
            }
        };
        let mut found: Vec<_> = run_workers(self.searchers, work)?.into_iter().flatten().collect();
        found.sort_unstable_by_key(|(number, _)| *number);
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }

    pub(super) fn no_node(&self, id: &ExternalId) -> Error {
        Error::NoNode { id: id.to_string(), path: self.path.clone() }
    }
}

/// Memory that the property files of a store take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyMemory {
    /// The least memory with which they can be asked, in bytes: the rest is read when it is needed.
    pub minimum: u64,
    /// Bytes that they take when they are loaded.
    pub in_memory: u64,
}

/// Estimates the memory that the property files of a store take, without loading them. Changes that are
/// only in the log come on top.
///
/// # Errors
/// [`Error::Unsupported`] for a store without properties; those of reading.
pub fn property_memory(store: &Store, cancel: &CancelToken) -> Result<PropertyMemory> {
    let entry = entry_of(store)?;
    let directory = read_directory(store, &entry, cancel)?;
    let sizes = FileSizes { store, entry: &entry, directory: &directory };
    Ok(PropertyMemory { minimum: sizes.least(), in_memory: sizes.whole() })
}

pub(super) fn entry_of(store: &Store) -> Result<PropertyEntry> {
    PropertyEntry::of(store.manifest())?.ok_or_else(|| {
        Error::Unsupported(format!(
            "{} has no properties; import tables of nodes and edges with properties",
            store.path().display()
        ))
    })
}

/// Opens the map of the shards of nodes, and compares it with the rows of the shards.
fn dealing(
    store: &Store,
    entry: &PropertyEntry,
    shards: &[Shard],
    cancel: &CancelToken,
) -> Result<Dealing> {
    let dealing = match entry.dealt {
        // There is at least one.
        Dealt::Modulo => Dealing::Modulo(shards.len() as u32),
        Dealt::Hash => {
            let file = entry.segments.shards.as_ref();
            let file = store.file(file.ok_or_else(|| lacks(store.path(), "its shard map"))?)?;
            let map = ShardMap::parse(&file.load(cancel)?, entry.shards, entry.nodes)?;
            Dealing::Hash(map.ok_or_else(|| {
                Error::Corrupt {
                    file: file.path().to_path_buf(),
                    page: 0,
                    what:
                        "it has another length than the manifest's numbers of nodes and shards say"
                            .into(),
                }
            })?)
        }
    };
    for (number, shard) in shards.iter().enumerate() {
        if dealing.members(number, entry.nodes) != shard.nodes.len() {
            return Err(lacks(store.path(), &format!("rows of shard {number}, or has too many")));
        }
    }
    Ok(dealing)
}

fn read_directory(
    store: &Store,
    entry: &PropertyEntry,
    cancel: &CancelToken,
) -> Result<SegmentDirectory> {
    let directory = entry.segments.directory.as_ref();
    let file = store
        .file(directory.ok_or_else(|| lacks(store.path(), "the directory of its properties"))?)?;
    let bytes = file.load(cancel)?;
    parse(file.path(), &bytes)
}

/// The property files of a store, by which its memory is divided.
struct FileSizes<'a> {
    store: &'a Store,
    entry: &'a PropertyEntry,
    directory: &'a SegmentDirectory,
}

impl FileSizes<'_> {
    /// Bytes of all property files, of the ids, and of open columns.
    fn whole(&self) -> u64 {
        self.entry.bytes() + ids_bytes(self.store) + self.directory.in_memory()
    }

    /// The least memory with which property files can be queried.
    fn least(&self) -> u64 {
        self.whole().min(self.resident() + least_cache(self.store))
    }

    /// Bytes that stay in memory when the files are on disk.
    fn resident(&self) -> u64 {
        let shards = self.directory.shards.iter();
        let forms = shards.flat_map(|shard| [shard.nodes.form(), shard.edges.form()]);
        let bytes: u64 = forms.map(|form| form.resident()).sum();
        let map = self.entry.segments.shards.as_ref().map_or(0, |file| file.len);
        bytes + ids_bytes(self.store) + map
    }

    /// The cache of the files; `None` if `memory` has room for all files.
    fn cache(&self, memory: Option<u64>, kept: u64) -> Result<Option<Arc<PageCache>>> {
        let (whole, needed) = (self.whole(), self.least());
        let fits = |given: u64| given.saturating_sub(kept) >= whole;
        let Some(given) = memory.filter(|given| !fits(*given)) else { return Ok(None) };
        if given < needed {
            return Err(Error::Budget { needed, given });
        }
        if needed == whole {
            // A cache would take more than the files.
            return Ok(None);
        }
        let given = needed.max(given.saturating_sub(kept));
        page_cache(self.store, given.saturating_sub(self.resident())).map(Some)
    }

    /// Bytes that a log may take before it is frozen.
    fn log_limit(&self, memory: Option<u64>) -> u64 {
        let Some(given) = memory else { return MOST_LOG };
        let spare = given.saturating_sub(self.least());
        (spare / LOG_SHARE).clamp(LEAST_LOG, MOST_LOG)
    }

    /// Bytes for a writer's lookups; never bytes that the files need.
    fn lookups(&self, memory: Option<u64>) -> u64 {
        let Some(given) = memory else { return LOOKUPS };
        let spare = given.saturating_sub(self.least());
        spare.min(given / LOOKUPS_SHARE).min(LOOKUPS)
    }
}

/// A cache that takes `bytes` of memory, 2 % of them for its own tables.
fn page_cache(store: &Store, bytes: u64) -> Result<Arc<PageCache>> {
    let pages = usize::try_from(bytes / 100 * 98).unwrap_or(usize::MAX);
    Ok(PageCache::new(pages, store.manifest().page_size)?)
}

/// Memory for fragments, of `rest` bytes: one half for those that are in memory, one for the cache of the
/// others and for what a merge opens.
fn fragment_memory(store: &Store, rest: u64) -> Result<(Arc<MemoryRoom>, Arc<PageCache>)> {
    let half = (rest / 2).max(least_cache(store));
    Ok((MemoryRoom::new(rest / 2), page_cache(store, half)?))
}

/// Bytes of the smallest cache, with the 2 % more that its own tables take.
fn least_cache(store: &Store) -> u64 {
    LEAST_CACHE.max(LEAST_PAGES * u64::from(store.manifest().page_size)) / 98 * 100 + 100
}

/// Parses the directory of property files, whose checksum was verified. Unknown fields come from a
/// newer version.
fn parse(path: &Path, bytes: &[u8]) -> Result<SegmentDirectory> {
    serde_json::from_slice(bytes).map_err(|error| {
        let path = path.display();
        Error::Unsupported(format!("{path} is of a newer nakshi, use that one ({error})"))
    })
}

fn ids_bytes(store: &Store) -> u64 {
    let ids = &store.manifest().ids;
    let files = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
    files.into_iter().flatten().map(|file| file.len).sum()
}

fn lacks(path: &Path, what: &str) -> Error {
    Error::NotAStore { path: path.to_path_buf(), what: format!("it lacks {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen red with the error of a damaged file.
    #[test]
    fn a_codec_of_a_newer_version_is_named() {
        let column = r#"{"codec":"telepathy","text":{"at":0,"len":8}}"#;
        let nodes = format!(r#"{{"groups":[{{"rows":1,"columns":{{"0":{column}}}}}]}}"#);
        let bytes = format!(r#"{{"shards":[{{"nodes":{nodes}}}]}}"#);
        let error = parse(Path::new("properties-1.json"), bytes.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)));
        for mention in ["properties-1.json", "newer nakshi", "telepathy"] {
            assert!(error.to_string().contains(mention), "{error}");
        }
    }
}
