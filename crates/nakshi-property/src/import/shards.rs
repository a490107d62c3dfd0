//! The shards of a new store: which nodes they have, and their files, one after the other.

use std::io::Write as _;

use super::super::row::RowKind;
use super::super::shard_map::{Dealing, MOST_SHARDS, ShardMap, shard_of};
use super::super::writer::RowWriter;
use super::super::{PropertyEntry, PropertySpec};
use super::load::Load;
use super::options::LoadOptions;
use nakshi_store::import::Progress;
use nakshi_store::{Error, FileEntry, Key, Result, Sink, Store, StoreBuilder, VertexId};

/// Most shards that a store gets by itself.
const MOST_BY_DEFAULT: usize = 64;

/// Share of the memory that the shards of all nodes may take.
const MAP_SHARE: u64 = 8;

impl LoadOptions {
    /// The number of shards of a new store.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a number that no store can have.
    pub(super) fn number_of_shards(&self) -> Result<u32> {
        let Some(shards) = self.shards else {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            // At most 64.
            return Ok(cores.min(MOST_BY_DEFAULT) as u32);
        };
        if (1..=MOST_SHARDS).contains(&shards) {
            return Ok(shards);
        }
        Err(Error::Invalid(format!("a store has 1 to {MOST_SHARDS} shards, not {shards}")))
    }
}

/// Sort key of a vertex: its shard, and its row there.
pub(super) fn key(dealing: &Dealing, v: VertexId) -> u64 {
    let (shard, row) = dealing.place(v);
    (shard as u64) << 32 | row
}

/// Shard and row of a [`key`].
pub(super) fn place_of(key: u64) -> (usize, u64) {
    ((key >> 32) as usize, key & u64::from(u32::MAX))
}

impl Load<'_> {
    /// Deals the vertices of a store to the shards of the new one.
    ///
    /// # Errors
    /// [`Error::Budget`] if the memory is too little for the shards of so many nodes; errors of reading.
    pub(super) fn deal(&self, ids: &Store) -> Result<Dealing> {
        let (shards, nodes) = (self.shards, ids.num_vertices());
        if shards == 1 {
            return Ok(Dealing::Modulo(1));
        }
        let needed = MAP_SHARE * ShardMap::bytes(shards, nodes);
        Error::afford(needed, Some(self.options.memory))?;
        let mut map = ShardMap::new(shards, nodes)?;
        let (mut text, mut done) = (Vec::new(), 0_u64);
        ids.ids()?.for_each_vertex(|v, id| {
            if done.is_multiple_of(1 << 12) {
                self.hooks.check()?;
                let total = Some(nodes);
                self.hooks.tell(Progress { phase: "deal", done, total, edges: 0 });
            }
            done += 1;
            let id = match id {
                Key::Bytes(bytes) => bytes,
                Key::U64(id) => written(&mut text, id)?,
                Key::I64(id) => written(&mut text, id)?,
            };
            map.deal(v, shard_of(id, shards));
            Ok(())
        })?;
        map.count();
        Ok(Dealing::Hash(map))
    }
}

/// The text of an integer.
fn written(text: &mut Vec<u8>, id: impl std::fmt::Display) -> Result<&[u8]> {
    text.clear();
    write!(text, "{id}").map_err(|_| Error::Internal("a number has no text"))?;
    Ok(text)
}

/// The kind of rows of some files, and how the writer of each begins and ends.
pub(super) struct FileKind<W, D> {
    pub(super) rows: RowKind,
    pub(super) begin: fn(RowWriter) -> W,
    pub(super) end: fn(W, u64) -> Result<(Sink, D)>,
}

/// Files of one kind, one for each shard. The file of a shard is complete before that of the next is
/// begun, so that one group of rows is in memory, whatever the number of shards.
pub(super) struct ShardFiles<'f, W, D> {
    load: &'f Load<'f>,
    builder: &'f mut StoreBuilder,
    dealing: &'f Dealing,
    entry: &'f PropertyEntry,
    kind: FileKind<W, D>,
    writer: Option<W>,
    done: Vec<(D, FileEntry)>,
}

impl<'f, W, D> ShardFiles<'f, W, D> {
    /// Starts the files of `kind`.
    pub(super) fn new(
        load: &'f Load<'f>,
        builder: &'f mut StoreBuilder,
        dealing: &'f Dealing,
        entry: &'f PropertyEntry,
        kind: FileKind<W, D>,
    ) -> Self {
        ShardFiles { load, builder, dealing, entry, kind, writer: None, done: Vec::new() }
    }

    /// The writer of a shard, which is not before that of the last call.
    pub(super) fn writer(&mut self, shard: usize) -> Result<&mut W> {
        while self.done.len() < shard {
            self.complete()?;
        }
        let writer = self.take()?;
        Ok(self.writer.insert(writer))
    }

    /// Completes the files of all shards; returns directory and entry of each.
    pub(super) fn finish(mut self) -> Result<Vec<(D, FileEntry)>> {
        while self.done.len() < self.load.shards as usize {
            self.complete()?;
        }
        Ok(self.done)
    }

    fn complete(&mut self) -> Result<()> {
        let writer = self.take()?;
        let rows = self.dealing.members(self.done.len(), self.entry.nodes);
        let (sink, directory) = (self.kind.end)(writer, rows)?;
        self.done.push((directory, self.builder.finish_sink(sink)?));
        Ok(())
    }

    /// The writer of the present shard.
    fn take(&mut self) -> Result<W> {
        if let Some(writer) = self.writer.take() {
            return Ok(writer);
        }
        let (name, specs): (_, &[PropertySpec]) = match self.kind.rows {
            RowKind::Nodes => ("nodes", &self.entry.node_properties),
            RowKind::Edges => ("edges", &self.entry.edge_properties),
        };
        let (options, hooks) = (self.load.options, self.load.hooks);
        let sink = self.builder.section_sink(name, &format!("s{}.prop", self.done.len()))?;
        let (layout, group) = (options.properties, options.group);
        RowWriter::create(layout, self.kind.rows, specs, sink, group, &hooks.cancel)
            .map(self.kind.begin)
    }
}
