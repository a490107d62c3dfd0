//! Reorder: a graph in a new store, in a vertex order that is computed from its own edges.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::WriteFs;

use super::super::graph::PropertyGraph;
use super::reload::{self, Kept};
use super::{Load, LoadOptions, Rowed};
use nakshi_store::import::{Budget, Hooks, ImportLayout};
use nakshi_store::{
    BuildOptions, Error, Manifest, OpenOptions, Permutation, Result, Store, StoreBuilder,
};
use nakshi_store::{RewriteOptions, afford_rewrite, rewrite_with, without_rows};

/// A property graph that was read, and that waits for the order of its nodes before it is written.
/// All data lie in the hidden directory of the new store until then.
pub struct Reorder {
    fs: Arc<dyn WriteFs>,
    options: LoadOptions,
    hooks: Hooks,
    kept: Kept,
    builder: StoreBuilder,
    rowed: Rowed,
    topology: Arc<Store>,
    scratch: PathBuf,
}

impl std::fmt::Debug for Reorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reorder").field("topology", &self.topology).finish_non_exhaustive()
    }
}

impl Reorder {
    /// Reads all nodes and edges of `graph` for the new store `destination`. Layouts and treatment of
    /// duplicates are those of the graph, whatever `options` say. The memory of
    /// `graph` is not part of the budget, and is freed before this returns unless there are other
    /// clones.
    ///
    /// # Errors
    /// [`Error::Budget`] at once if the memory is too little; [`Error::Exists`]; errors of reading
    /// and writing; [`Error::Cancelled`]. Nothing is left behind then.
    pub fn read(
        graph: PropertyGraph,
        destination: &Path,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<Self> {
        Self::read_with(&nakshi_io::write::default_fs(), graph, destination, options, hooks)
    }

    /// Like [`Reorder::read`]; all writes go through the file system `fs`.
    ///
    /// # Errors
    /// As [`Reorder::read`].
    pub fn read_with(
        fs: &Arc<dyn WriteFs>,
        graph: PropertyGraph,
        destination: &Path,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<Self> {
        let options =
            LoadOptions { layout: ImportLayout::Original, ..reload::options(&graph, options) };
        Error::afford(options.least_memory(), Some(options.memory))?;
        let kept = Kept::of(&graph, graph.entry().buckets.as_ref());
        let shards = options.number_of_shards()?;
        let load = Load { fs, options: &options, hooks, kept: &kept, shards };
        let builder = StoreBuilder::create(Arc::clone(fs), destination, load.build_options())?;
        let table = || reload::table(&graph, kept.buckets.as_ref());
        let [nodes, edges] = [table(), table()];
        drop(graph);
        let done = (|| {
            let rowed = load.read(&builder, nodes, edges)?;
            nakshi_io::release_freed_memory();
            let topology = load.topology(&builder, &rowed)?;
            Ok((rowed, topology, builder.scratch_dir()?))
        })();
        let (rowed, topology, scratch) = blamed(hooks, done)?;
        let (fs, hooks) = (Arc::clone(fs), hooks.clone());
        Ok(Reorder { fs, options, hooks, kept, builder, rowed, topology, scratch })
    }

    /// The edges of the graph, each once, as a store for algorithms and vertex orders.
    pub fn topology(&self) -> &Arc<Store> {
        &self.topology
    }

    /// Writes the store, with each vertex of [`Reorder::topology`] at its position in `order`.
    /// `layout` is the name of the order.
    ///
    /// # Errors
    /// As [`nakshi_store::rewrite()`] and [`super::load`].
    pub fn write(self, order: &Permutation, layout: &str) -> Result<Manifest> {
        let Reorder { fs, options, hooks, kept, mut builder, mut rowed, topology, scratch } = self;
        let done = (|| {
            let rewriting = RewriteOptions {
                layout: layout.to_owned(),
                memory: options.memory,
                threads: options.threads,
                ..RewriteOptions::default()
            };
            drop(topology);
            let ordered = scratch.join("ordered");
            rewrite_with(&fs, &rowed.ids, &ordered, order, &rewriting, &hooks)?;
            rowed.ids = opened(&ordered, &hooks)?;
            for done in ["ids", TOPOLOGY] {
                fs.remove_dir_all(&scratch.join(done))?;
            }
            let shards = options.number_of_shards()?;
            let load = Load { fs: &fs, options: &options, hooks: &hooks, kept: &kept, shards };
            load.write(&mut builder, rowed)
        })();
        blamed(&hooks, done)?;
        builder.commit()
    }
}

/// Name of the topology in the directory for temporary files.
const TOPOLOGY: &str = "topology";

impl Load<'_> {
    /// Writes a temporary store of the edges alone, in the order of the ids.
    fn topology(&self, builder: &StoreBuilder, rowed: &Rowed) -> Result<Arc<Store>> {
        let path = builder.scratch_dir()?.join(TOPOLOGY);
        // Some orders depend on the size of a page.
        let build = BuildOptions { scratch: None, ..self.build_options() };
        let mut plain = StoreBuilder::create(Arc::clone(self.fs), &path, build)?;
        let Rowed { tables, ids, .. } = rowed;
        afford_rewrite(ids, 0, Some(self.options.memory))?;
        let budget = Budget::new(self.options.memory, 0, self.options.threads)?;
        without_rows(&mut plain, self.fs, ids, tables.nodes, budget, self.hooks)?;
        plain.commit()?;
        opened(&path, self.hooks)
    }
}

fn opened(path: &Path, hooks: &Hooks) -> Result<Arc<Store>> {
    Store::open(path, &OpenOptions { cancel: hooks.cancel.clone(), ..OpenOptions::default() })
}

/// Returns [`Error::Cancelled`] for any error of a job that was cancelled.
fn blamed<T>(hooks: &Hooks, done: Result<T>) -> Result<T> {
    done.map_err(|error| hooks.check().err().unwrap_or(error))
}
