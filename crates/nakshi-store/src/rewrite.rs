//! Rewriting: writes a store again, with its vertices in another order.
//!
//! Lists are streamed, moved to their new positions and sorted on disk, as in an import. Ids,
//! weights and the shape of the graph stay the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use nakshi_io::run_workers;
use nakshi_io::write::WriteFs;

use crate::budget::{self, Budget};
use crate::emit::{Duplicates, EmitScratch, ListRules, emit};
use crate::hooks::{Hooks, Progress};
use crate::import::STRIPE;
use crate::sort::pairs::sortable;
use crate::sort::partition::{ArcCells, Bucket, Ranges, Scatter, join};
use crate::sort::radix::{Record, Weighted};
use crate::sort::spill::Spill;
use crate::stream::ListStream;
use crate::{
    AttributeColumn, BuildOptions, ColumnSpec, Direction, Encoding, Error, IdKind, Manifest,
    Permutation, Result, Store, StoreBuilder, Stripes,
};

/// Memory per vertex at the peak: the new order, and the order of the ids or the degrees.
pub const BYTES_PER_VERTEX: u64 = 8;

/// Options of [`rewrite`], shared by Rust, the command line and Python.
#[derive(Clone, Debug)]
pub struct RewriteOptions {
    /// Name of the layout, for the manifest.
    pub layout: String,
    /// Memory in bytes. Default 1 GiB, at least [`crate::import::least_memory`] of
    /// [`crate::import::MINIMUM_MEMORY`] and [`BYTES_PER_VERTEX`].
    pub memory: u64,
    /// Number of threads; 0 stands for those of the machine. Does not change the store.
    pub threads: usize,
    /// Page size in bytes. Default: that of the source.
    pub page_size: Option<u32>,
    /// Encoding of lists. Default: that of the source.
    pub encoding: Option<Encoding>,
    /// Directories over which lists and weights are striped.
    pub stripes: Vec<PathBuf>,
}

impl Default for RewriteOptions {
    fn default() -> Self {
        Self {
            layout: "custom".into(),
            memory: 1 << 30,
            threads: 0,
            page_size: None,
            encoding: None,
            stripes: Vec::new(),
        }
    }
}

/// Fails as [`rewrite()`] would for this destination, before an order is computed.
///
/// # Errors
/// [`Error::Exists`]; [`Error::Locked`]; [`Error::Io`] if nothing can be created there.
pub fn check_destination(destination: &Path) -> Result<()> {
    let fs = nakshi_io::write::default_fs();
    StoreBuilder::create(fs, destination, BuildOptions::default()).map(drop)
}

/// The least memory, in bytes, with which [`rewrite()`] works for this source in an order whose
/// computation takes `order` bytes.
pub fn least_rewrite(source: &Store, order: u64) -> u64 {
    let held = BYTES_PER_VERTEX * source.num_vertices();
    budget::least_memory(budget::MINIMUM_MEMORY, held).max(order)
}

/// Fails as [`rewrite()`] would for this source and so little memory, before an order is computed that
/// takes `order` bytes itself.
///
/// # Errors
/// [`Error::Budget`] with the memory that works for both.
pub fn afford_rewrite(source: &Store, order: u64, memory: Option<u64>) -> Result<()> {
    Error::afford(least_rewrite(source, order), memory)
}

/// Refuses a store with properties: rows of nodes and edges are in the order of internal ids, and
/// would not be moved.
fn refuse_properties(source: &Store) -> Result<()> {
    if source.manifest().sections.is_empty() {
        return Ok(());
    }
    Err(Error::Unsupported(
        "properties do not follow lists that are written alone; write the graph as a whole \
         (`nakshi layout`, or `Relaid` in Rust)"
            .into(),
    ))
}

/// Writes the graph of `source` to the new store `destination`, with the vertices in the order of
/// `order` (the new internal id of each internal id). The source is only read. A store with
/// properties needs `Relaid` of `nakshi-property` instead.
///
/// # Errors
/// [`Error::Invalid`] if `order` is for another number of vertices; [`Error::Budget`] at once if
/// the memory is too little; [`Error::Unsupported`] for a store with several columns or properties;
/// [`Error::Exists`], [`Error::Io`], [`Error::Cancelled`]. Nothing is left behind then.
pub fn rewrite(
    source: &Store,
    destination: &Path,
    order: &Permutation,
    options: &RewriteOptions,
    hooks: &Hooks,
) -> Result<Manifest> {
    rewrite_with(&nakshi_io::write::default_fs(), source, destination, order, options, hooks)
}

/// Rewrites like [`rewrite`], through the given file system, such as one that fails on purpose.
///
/// # Errors
/// Same as [`rewrite`].
pub fn rewrite_with(
    fs: &Arc<dyn WriteFs>,
    source: &Store,
    destination: &Path,
    order: &Permutation,
    options: &RewriteOptions,
    hooks: &Hooks,
) -> Result<Manifest> {
    if order.len() as u64 != source.num_vertices() {
        return Err(Error::Invalid(format!(
            "an order of {} vertices for a graph of {}",
            order.len(),
            source.num_vertices()
        )));
    }
    refuse_properties(source)?;
    let budget =
        Budget::new(options.memory, BYTES_PER_VERTEX * source.num_vertices(), options.threads)?;
    let job = RewriteJob { fs, source, order, options, hooks, budget, rows: None };
    let done = match job.column()? {
        Some(column) => job.run::<Weighted>(destination, &column),
        None => job.run::<u64>(destination, ""),
    };
    // Other errors of a cancelled job are consequences of the cancellation.
    done.map_err(|e| hooks.check().err().unwrap_or(e))
}

/// Writes the ids and edges of `source`, whose weights are numbers of rows, to a store under
/// construction: without the weights, without edges of rows before `first`, and each edge once.
///
/// # Errors
/// Same as [`rewrite`].
pub fn without_rows(
    builder: &mut StoreBuilder,
    fs: &Arc<dyn WriteFs>,
    source: &Store,
    first: u64,
    budget: Budget,
    hooks: &Hooks,
) -> Result<()> {
    let order = Permutation::identity(source.num_vertices())?;
    let options = RewriteOptions::default();
    let rows = Some(first);
    let job = RewriteJob { fs, source, order: &order, options: &options, hooks, budget, rows };
    builder.set_shape(source.num_vertices(), Vec::new())?;
    builder.set_layout(&source.manifest().layout);
    match job.column()? {
        Some(column) => job.fill::<u64>(builder, &column),
        // A store without edges has no weights.
        None => job.fill::<u64>(builder, ""),
    }
}

struct RewriteJob<'j> {
    fs: &'j Arc<dyn WriteFs>,
    source: &'j Store,
    order: &'j Permutation,
    options: &'j RewriteOptions,
    hooks: &'j Hooks,
    budget: Budget,
    /// Set if the column has numbers of rows: edges of rows from this one on are kept, each once.
    rows: Option<u64>,
}

impl RewriteJob<'_> {
    /// Returns the name of the column, if there is one.
    fn column(&self) -> Result<Option<String>> {
        let columns = &self.source.manifest().columns;
        let mut names: Vec<&String> = columns.iter().map(|column| &column.name).collect();
        names.sort_unstable();
        names.dedup();
        match names.as_slice() {
            [] => Ok(None),
            [name] => Ok(Some((*name).clone())),
            _ => Err(Error::Unsupported("a new layout of a store with several columns".into())),
        }
    }

    fn run<R: Record>(&self, destination: &Path, column: &str) -> Result<Manifest> {
        let mut builder =
            StoreBuilder::create(Arc::clone(self.fs), destination, self.build_options(column))?;
        self.fill::<R>(&mut builder, column)?;
        builder.set_report(self.source.manifest().report.clone());
        builder.commit()
    }

    /// Writes ids and lists; reads `column`, unless its name is empty.
    fn fill<R: Record>(&self, builder: &mut StoreBuilder, column: &str) -> Result<()> {
        self.write_ids(builder)?;
        let scratch = builder.scratch_dir()?;
        for &direction in self.directions() {
            self.hooks.check()?;
            nakshi_io::release_freed_memory();
            let spill = |name: &str| Spill::create(self.fs.as_ref(), &scratch, name);
            let column = match column {
                "" => None,
                name => Some(self.source.column_until(name, direction, &self.hooks.cancel)?),
            };
            let float = column.as_ref().is_some_and(|column| !column.ty().is_integer());
            let ranges = self.ranges::<R>(direction)?;
            let arcs = spill("arcs")?;
            let buckets = self.scatter::<R>(direction, column.as_ref(), &ranges, &arcs)?;
            drop(column);
            let (runs, lists) = (spill("runs")?, spill("lists")?);
            let place = EmitScratch {
                arcs: &arcs,
                runs: &runs,
                lists: &lists,
                limit: usize::try_from(self.budget.bucket::<R>()).unwrap_or(usize::MAX),
                sorters: self.budget.threads,
            };
            let duplicates = if self.rows.is_some() { Duplicates::Drop } else { Duplicates::Keep };
            let rules = ListRules { duplicates, valued: R::WEIGHTED, float };
            builder.begin_adjacency(direction)?;
            emit::<R>(&buckets, place, rules, self.hooks, builder)?;
            builder.finish_adjacency()?;
        }
        self.hooks.check()
    }

    fn directions(&self) -> &'static [Direction] {
        if self.source.directed() { &[Direction::Out, Direction::In] } else { &[Direction::Out] }
    }

    fn build_options(&self, column: &str) -> BuildOptions {
        let from = self.source.manifest();
        let page_size = self.options.page_size.unwrap_or(from.page_size);
        let found = from.columns.iter().find(|entry| entry.name == column);
        let stripes =
            Stripes { dirs: self.options.stripes.clone(), unit: STRIPE.max(page_size.into()) };
        BuildOptions {
            directed: from.directed,
            vertices: from.vertices,
            encoding: self.options.encoding.unwrap_or(from.encoding),
            page_size,
            layout: self.options.layout.clone(),
            columns: found
                .map(|c| ColumnSpec { name: c.name.clone(), ty: c.ty })
                .into_iter()
                .collect(),
            stripes: (!self.options.stripes.is_empty()).then_some(stripes),
            scratch: None,
            memory: self.budget.memory / 4,
        }
    }

    fn write_ids(&self, builder: &mut StoreBuilder) -> Result<()> {
        let ids = self.source.ids()?.until(&self.hooks.cancel);
        if ids.kind() != IdKind::Dense {
            builder.begin_ids(ids.kind())?;
            ids.for_each(|_, key| builder.push_id(key))?;
        }
        builder.begin_order()?;
        let places = self.order.as_slice();
        if ids.ranks_are_internal() {
            places.iter().try_for_each(|&place| builder.push_order(place))?;
        } else {
            for v in ids.internal_by_rank()? {
                let place = places.get(v as usize).copied();
                builder.push_order(place.ok_or_else(|| misfit(v))?)?;
            }
        }
        match ids.dense_first() {
            Some(first) => builder.set_dense_ids(first, None),
            None => builder.finish_ids(None),
        }
    }

    /// Returns ranges of new positions whose lists are sorted at a time.
    fn ranges<R: Record>(&self, direction: Direction) -> Result<Ranges> {
        let degrees = self.source.degrees(direction, &self.hooks.cancel)?;
        let mut cells = ArcCells::new(self.source.num_vertices());
        for (&place, &degree) in self.order.as_slice().iter().zip(&degrees) {
            cells.add(place, degree.into());
        }
        Ok(cells.ranges::<R>(self.budget.bucket::<R>() / 10 * 9, self.budget.buffers(1)))
    }

    /// Moves all list entries to the buckets of their new positions.
    fn scatter<R: Record>(
        &self,
        direction: Direction,
        column: Option<&AttributeColumn>,
        ranges: &Ranges,
        arcs: &Spill,
    ) -> Result<Vec<Bucket>> {
        let stream = ListStream::new(self.source, direction, column)?;
        let float = column.is_some_and(|column| !column.ty().is_integer());
        let (next, moved) = (AtomicUsize::new(0), AtomicU64::new(0));
        let total = Some(stream.entries());
        let workers = run_workers(self.budget.threads, |_| -> Result<Vec<Bucket>> {
            let mut out = Scatter::<R>::new(arcs, ranges);
            let mut reader = stream.reader()?;
            loop {
                self.hooks.check()?;
                let chunk = next.fetch_add(1, Relaxed);
                if chunk >= stream.chunks() {
                    return out.finish();
                }
                let entries = reader.visit(chunk, |list| {
                    let source = self.place(list.vertex)?;
                    for (i, &neighbour) in list.neighbours.iter().enumerate() {
                        let bits = list.values.as_ref().map_or(0, |values| values.bits(i));
                        if self.rows.is_some_and(|first| bits < first) {
                            continue;
                        }
                        let value = sortable(bits, float);
                        out.push(source, self.place(neighbour)?, value)?;
                    }
                    Ok(())
                })?;
                let done = moved.fetch_add(entries, Relaxed) + entries;
                self.hooks.tell(Progress { phase: "sort", done, total, edges: done });
            }
        })?;
        Ok(join(workers))
    }

    #[inline]
    fn place(&self, v: u32) -> Result<u32> {
        self.order.new_of(v).ok_or_else(|| misfit(v))
    }
}

fn misfit(v: u32) -> Error {
    Error::Invalid(format!("vertex {v} is beyond the graph; check the store with `nakshi check`"))
}
