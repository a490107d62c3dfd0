//! Import of a property graph: tables of nodes and edges become a store, under a memory cap.
//!
//! - [`load`] makes a store of [`Table`]s, as [`LoadOptions`] say, and returns a [`LoadReport`]
//! - `header` gives roles to columns, `text` splits the fields of text files, `rows` reads tables
//!   row by row, `arrow_cells` reads the types of Arrow, and `cell` infers types from fields
//! - `feed` hands the ids of all rows to the import of the topology, and spools the rest
//! - `missing` finds ends of edges that no table of nodes lists, `parallel` rows of the same source,
//!   type and destination; `report` says what became of both
//! - `shards` deals the nodes to shards, `sort` sorts records by key in runs on disk
//! - `reload` reads the rows of an existing graph, for its compaction and for `reorder`, which
//!   writes a graph in another order of its nodes
//!
//! The import of edge lists numbers the vertices: it reads the ids of all rows as edges, with the
//! row number as weight, into a temporary store. The lists of that store tell the vertices of each
//! row. The rows are then sorted by vertex and encoded.

mod arrow_cells;
mod cell;
mod feed;
mod header;
mod load;
mod missing;
mod options;
mod parallel;
mod reload;
mod reorder;
mod report;
mod rows;
mod shards;
mod sort;
mod table;
mod text;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nakshi_io::write::WriteFs;

pub(crate) use header::{LABELS, TIME};
pub use options::{IdSpaces, LoadOptions, MissingNodes, ParallelEdges};
pub use reorder::Reorder;
pub use report::LoadReport;
pub use rows::table_columns;
pub use table::{ColumnHeader, GraphRows, Table, TableRows};

use super::bucket_set::BucketSet;
use super::entry::{ANY_FORMAT, MOVED_FORMAT, RULES_FORMAT};
use super::row::{EncodedEdge, RowKind, RowValues};
use super::segment::{EdgeDirectory, NodeDirectory};
use super::shard_map::Dealing;
use super::value::ordered_int;
use super::writer::{EdgeWriter, NodeWriter};
use super::{
    Dealt, PropertyEntry, PropertyGraph, PropertySpec, Scalar, SegmentDirectory, ShardDirectory,
};
use cell::InferredProperties;
use feed::{Spooled, TableFeed, Tables};
use load::Load;
use missing::{ListedRows, Missing};
use nakshi_store::ListStream;
use nakshi_store::import::{
    Budget, Duplicates, Hooks, ImportOptions, Input, Progress, import_with,
};
use nakshi_store::sort::Spill;
use nakshi_store::without_rows;
use nakshi_store::{
    BuildOptions, Direction, Error, FileEntry, Manifest, OpenOptions, Result, Store, StoreBuilder,
    VertexId,
};
use parallel::{ParallelOutcome, ParallelRows};
use reload::Kept;
use rows::Setting;
use shards::{FileKind, ShardFiles};
use sort::RowSorter;

/// The format of a store with the nodes of some buckets.
const SHARE_FORMAT: u32 = 5;

/// Loads tables of nodes and edges into the new store `destination`.
///
/// # Errors
/// [`Error::Input`] naming file and line; [`Error::NoEdges`]; [`Error::Exists`]; [`Error::Budget`]; [`Error::Io`];
/// [`Error::Cancelled`]. Nothing is left behind then.
pub fn load(
    destination: &Path,
    nodes: Vec<Table<'_>>,
    edges: Vec<Table<'_>>,
    options: &LoadOptions,
    hooks: &Hooks,
) -> Result<LoadReport> {
    load_with(&nakshi_io::write::default_fs(), destination, nodes, edges, options, hooks)
}

/// Like [`load`]; all writes go through the file system `fs`.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    fs: &Arc<dyn WriteFs>,
    destination: &Path,
    nodes: Vec<Table<'_>>,
    edges: Vec<Table<'_>>,
    options: &LoadOptions,
    hooks: &Hooks,
) -> Result<LoadReport> {
    let shards = options.number_of_shards()?;
    Error::afford(options.least_memory(), Some(options.memory))?;
    let started = Instant::now();
    let load = Load { fs, options, hooks, kept: &Kept::default(), shards };
    let mut builder = StoreBuilder::create(Arc::clone(fs), destination, load.build_options())?;
    let done = load.run(&mut builder, nodes, edges);
    let mut report = done.map_err(|error| hooks.check().err().unwrap_or(error))?;
    builder.commit()?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// The contents of new files.
#[derive(Clone, Copy)]
pub(super) struct Contents<'c> {
    pub(super) graph: &'c PropertyGraph,
    /// The buckets of which the nodes are wanted; `None` for all.
    pub(super) buckets: Option<&'c BucketSet>,
    /// A store with buckets that `graph` lacks, in the state after the same commit.
    pub(super) more: Option<&'c PropertyGraph>,
}

impl Contents<'_> {
    /// A table of the nodes, or of the edges, of each graph.
    fn tables(&self) -> Vec<Table<'static>> {
        let of = |graph: &PropertyGraph| {
            let has = graph.entry().buckets.clone();
            self.buckets.zip(has).map(|(wanted, has)| has.intersection(wanted))
        };
        let own = of(self.graph);
        match (own, self.more.and_then(|more| Some((more, of(more)?)))) {
            (Some(own), Some((more, taken))) => {
                let taken = taken.without(&own);
                reload::tables((self.graph, &own), (more, &taken))
            }
            _ => reload::table(self.graph, self.buckets),
        }
    }
}

/// Builds new files with some contents for `store`, and moves them into the store. Returns the manifest that would
/// make them the store's files.
///
/// # Errors
/// As [`load`].
pub(super) fn compacted(
    fs: &Arc<dyn WriteFs>,
    store: &Store,
    contents: Contents<'_>,
    options: &LoadOptions,
    hooks: &Hooks,
) -> Result<Manifest> {
    let (manifest, graph) = (store.manifest(), contents.graph);
    let options = &LoadOptions {
        page_size: manifest.page_size,
        encoding: manifest.encoding,
        ..reload::options(graph, options)
    };
    let shards = options.number_of_shards()?;
    let load = Load { fs, options, hooks, kept: &Kept::of(graph, contents.buckets), shards };
    let mut builder = StoreBuilder::successor(Arc::clone(fs), store, load.build_options())?;
    let done = load.run(&mut builder, contents.tables(), contents.tables());
    done.map_err(|error| hooks.check().err().unwrap_or(error))?;
    builder.succeed(store.path())
}

/// Writes what some buckets of a graph have as the new store `destination`.
///
/// # Errors
/// As [`load`].
pub(super) fn write_share(
    fs: &Arc<dyn WriteFs>,
    graph: &PropertyGraph,
    buckets: &BucketSet,
    destination: &Path,
    options: &LoadOptions,
    hooks: &Hooks,
) -> Result<()> {
    let options = &reload::options(graph, options);
    let shards = options.number_of_shards()?;
    let load = Load { fs, options, hooks, kept: &Kept::of(graph, Some(buckets)), shards };
    let mut builder = StoreBuilder::create(Arc::clone(fs), destination, load.build_options())?;
    let table = || reload::table(graph, Some(buckets));
    let done = load.run(&mut builder, table(), table());
    done.map_err(|error| hooks.check().err().unwrap_or(error))?;
    builder.commit().map(|_| ())
}

/// The rows of nodes and of edges on their way to the files, and the keys of edges.
struct RowSorters<'s> {
    nodes: RowSorter<'s>,
    edges: RowSorter<'s>,
    keys: ParallelRows<'s>,
}

/// Writes the directory of the property files, which are complete, and adds the section. Returns
/// the bytes of all property files.
///
/// # Errors
/// Errors of writing.
fn finish(
    builder: &mut StoreBuilder,
    mut entry: PropertyEntry,
    directory: &SegmentDirectory,
) -> Result<u64> {
    let mut sink = builder.section_sink("properties", "json")?;
    let bytes = serde_json::to_vec(directory)
        .map_err(|e| Error::Invalid(format!("the directory does not serialise: {e}")))?;
    sink.append(&bytes)?;
    entry.segments.directory = Some(builder.finish_sink(sink)?);
    builder.add_section(PropertyEntry::SECTION, &entry)?;
    Ok(entry.bytes())
}

/// All tables after they have been read.
struct Rowed {
    tables: Tables,
    missing: Missing,
    /// The missing nodes with examples, where there are any.
    described: String,
    /// Temporary store that gives the vertices of ids, and of rows.
    ids: Arc<Store>,
    /// The spooled rows.
    spool: Spill,
}

/// In place of the vertices of a row that is skipped.
const NONE: VertexId = VertexId::MAX;

/// The two vertices of each row, by row number.
type Ends = Vec<[VertexId; 2]>;

impl Load<'_> {
    fn build_options(&self) -> BuildOptions {
        BuildOptions {
            page_size: self.options.page_size,
            encoding: self.options.encoding,
            scratch: self.options.scratch.clone(),
            ..BuildOptions::default()
        }
    }

    fn run(
        &self,
        builder: &mut StoreBuilder,
        nodes: Vec<Table<'_>>,
        edges: Vec<Table<'_>>,
    ) -> Result<LoadReport> {
        let rowed = self.read(builder, nodes, edges)?;
        self.write(builder, rowed)
    }

    fn read(
        &self,
        builder: &StoreBuilder,
        nodes: Vec<Table<'_>>,
        edges: Vec<Table<'_>>,
    ) -> Result<Rowed> {
        let scratch = builder.scratch_dir()?;
        let spool = Spill::create(self.fs.as_ref(), &scratch, "rows")?;
        let given = names_of(&edges);
        let (tables, ids) = self.number(&scratch.join("ids"), nodes, edges, &spool)?;
        if let Some(from) = given
            && tables.edges == 0
            && !self.options.allow_empty
        {
            return Err(Error::NoEdges { from });
        }
        let (missing, described) = (Missing::default(), String::new());
        let rowed = Rowed { tables, missing, described, ids, spool };
        let rows = rowed.tables.nodes + rowed.tables.edges;
        if rowed.tables.lists_nodes && rows > 0 {
            return self.listed(&scratch, rowed);
        }
        Ok(rowed)
    }

    /// Compares ends of edges with the nodes that tables list, and does with others what the options
    /// say.
    fn listed(&self, scratch: &Path, mut rowed: Rowed) -> Result<Rowed> {
        let (ids, cancel) = (Arc::clone(&rowed.ids), &self.hooks.cancel);
        let listed = missing::listed(&rowed.tables, &ids, self.options.memory, cancel)?;
        let found = missing::missing(&rowed.tables, &ids, &listed, cancel)?;
        if found.edges == 0 {
            return Ok(rowed);
        }
        if self.options.missing_nodes == MissingNodes::Error {
            found.refuse(&rowed.tables, &ids, &listed)?;
        }
        rowed.described = found.describe(&rowed.tables, &ids, &listed)?;
        if self.options.missing_nodes == MissingNodes::Skip {
            let column = ids.column_until("weight", Direction::Out, cancel)?;
            let rows = ListedRows::new(&ids, &column, rowed.tables.nodes, &listed)?;
            let inputs = vec![Input::Batches(Box::new(rows))];
            rowed.ids = self.import(inputs, &scratch.join("listed"))?;
        }
        rowed.missing = found;
        Ok(rowed)
    }

    /// Rows of edges that have no place in the graph.
    fn skipped(&self, rowed: &Missing) -> u64 {
        if self.options.missing_nodes == MissingNodes::Skip { rowed.edges } else { 0 }
    }

    fn write(&self, builder: &mut StoreBuilder, rowed: Rowed) -> Result<LoadReport> {
        let Rowed { tables, missing, described, ids, spool } = rowed;
        let scratch = builder.scratch_dir()?;
        let spill = |name: &str| Spill::create(self.fs.as_ref(), &scratch, name);
        let (specs, dealing) = (self.specs(&tables)?, self.deal(&ids)?);
        let (node_runs, edge_runs, key_runs) = (spill("nodes")?, spill("edges")?, spill("keys")?);
        let part = usize::try_from(self.options.memory / 12).unwrap_or(usize::MAX);
        let mut sorters = RowSorters {
            nodes: RowSorter::new(&node_runs, part),
            edges: RowSorter::new(&edge_runs, part),
            keys: ParallelRows::new(RowSorter::new(&key_runs, part)),
        };
        let skipped = self.sort(&tables, &ids, &spool, &dealing, &mut sorters)?;
        if skipped != self.skipped(&missing) {
            return Err(Error::Internal("a row of a table has got no vertices"));
        }
        let RowSorters { nodes, edges, keys } = sorters;
        let parallel = keys.finish(self.options.parallel_edges)?;
        let examples = self.examples(&tables, &ids, &parallel)?;
        if self.options.parallel_edges == ParallelEdges::Error {
            self.refuse(&tables, &parallel, &examples)?;
        }
        let count = tables.edges - skipped - parallel.dropped.len() as u64;
        let mut entry = self.entry(&tables, specs, &ids, count);
        let nodes = self.write_nodes(builder, &ids, &dealing, &entry, nodes)?;
        let edges = self.write_edges(builder, &dealing, &entry, edges, &parallel.dropped)?;
        if let Dealing::Hash(map) = &dealing {
            let mut sink = builder.section_sink("shards", "map")?;
            map.write(&mut sink)?;
            entry.segments.shards = Some(builder.finish_sink(sink)?);
        }
        let mut directory = SegmentDirectory::default();
        for ((nodes, node_file), (edges, edge_file)) in std::iter::zip(nodes, edges) {
            entry.segments.nodes.push(node_file);
            entry.segments.edges.push(edge_file);
            directory.shards.push(ShardDirectory { nodes, edges });
        }
        let mut report = LoadReport::new(&tables, &entry);
        report.notes.splice(..0, self.options.notes.iter().cloned());
        report.add_missing(self.options.missing_nodes, &missing, &described);
        report.add_parallel(self.options.parallel_edges, &parallel, &examples);
        report.add_defaults();
        report.property_bytes = finish(builder, entry, &directory)?;
        let budget = Budget::new(self.options.memory, 0, self.options.threads)?;
        without_rows(builder, self.fs, &ids, tables.nodes, budget, self.hooks)?;
        report.pairs = builder.edges();
        let told = serde_json::to_value(&report).ok();
        if let Some(serde_json::Value::Object(mut told)) = told {
            told.remove("seconds");
            builder.set_report(told);
        }
        Ok(report)
    }

    /// The first parallel edges, as a message shows them.
    fn examples(&self, tables: &Tables, ids: &Store, found: &ParallelOutcome) -> Result<String> {
        if found.examples.is_empty() {
            return Ok(String::new());
        }
        let map = ids.ids()?;
        let mut shown = Vec::new();
        for pair in &found.examples {
            let (source, end) = (map.external(pair.source)?, map.external(pair.end)?);
            let ty = tables.types.get(pair.ty as usize).map_or("edge", String::as_str);
            let [(table, last), (other, first)] = pair.rows.map(|row| tables.place(row));
            let of = if table == other { String::new() } else { format!(" of {other}") };
            shown.push(format!(
                "{source} -[{ty}]-> {end} (row {first}{of} and row {last} of {table})"
            ));
        }
        Ok(shown.join(", "))
    }

    /// # Errors
    /// [`Error::Input`] if there are parallel edges.
    fn refuse(&self, tables: &Tables, found: &ParallelOutcome, examples: &str) -> Result<()> {
        let Some(first) = found.examples.first() else { return Ok(()) };
        let (table, line) = tables.place(first.rows[0]);
        let what = format!(
            "{} parallel to another one, with the same source, type and destination: {examples}; \
             parallel_edges='keep' (--parallel-edges keep) keeps all of them, 'replace' the last",
            missing::counted(found.parallel, "edge")
        );
        Err(Error::Input { file: table.into(), line, what })
    }

    /// Reads all tables, and numbers their ids in a temporary store.
    fn number(
        &self,
        path: &Path,
        nodes: Vec<Table<'_>>,
        edges: Vec<Table<'_>>,
        spool: &Spill,
    ) -> Result<(Tables, Arc<Store>)> {
        let mut setting = Setting {
            separator: self.options.separator,
            header: self.options.header,
            id_spaces: self.options.id_spaces,
            spaces: BTreeSet::new(),
            memory: self.options.memory,
            counters: Arc::default(),
            cancel: self.hooks.cancel.clone(),
        };
        if nodes.iter().any(|table| table.name.is_some()) {
            setting.spaces = rows::spaces(&edges, &setting);
        }
        let (feed, tables) = TableFeed::new(nodes, edges, spool, setting);
        let store = self
            .import(vec![Input::Batches(Box::new(feed))], path)
            .map_err(|error| Tables::blame(&tables, error))?;
        Ok((Tables::take(&tables), store))
    }

    /// A temporary store of rows as edges between the ids that they name.
    fn import(&self, inputs: Vec<Input<'_>>, path: &Path) -> Result<Arc<Store>> {
        let options = ImportOptions {
            weighted: true,
            duplicates: Duplicates::Keep,
            layout: self.options.layout,
            memory: self.options.memory,
            threads: self.options.threads,
            page_size: self.options.page_size,
            allow_empty: true,
            ..ImportOptions::default()
        };
        import_with(self.fs, inputs, path, &options, self.hooks)?;
        self.open(path)
    }

    fn open(&self, path: &Path) -> Result<Arc<Store>> {
        let cancel = self.hooks.cancel.clone();
        Store::open(path, &OpenOptions { cancel, ..OpenOptions::default() })
    }

    /// Hands each row to a sorter, with the vertices of its ids; returns the number of rows that are
    /// skipped.
    fn sort(
        &self,
        tables: &Tables,
        ids: &Store,
        spool: &Spill,
        dealing: &Dealing,
        sorters: &mut RowSorters<'_>,
    ) -> Result<u64> {
        let RowSorters { nodes, edges, keys } = sorters;
        let rows = tables.nodes + tables.edges;
        let mut skipped = 0;
        let window = (self.options.memory / 4 / 8).max(1);
        let mut spooled = Spooled::new(spool, tables.extents.clone());
        let mut bytes = Vec::new();
        for start in (0..rows).step_by(usize::try_from(window).unwrap_or(usize::MAX)) {
            let ends = self.ends(ids, start, window.min(rows - start))?;
            for (row, [source, target]) in (start..).zip(ends) {
                if row % 4096 == 0 {
                    self.hooks.check()?;
                    let total = Some(rows);
                    self.hooks.tell(Progress { phase: "sort", done: row, total, edges: row });
                }
                let fields = spooled.next()?;
                if source == NONE {
                    skipped += 1;
                    continue;
                }
                let node = shards::key(dealing, source);
                if row < tables.nodes {
                    nodes.push([node, row, 0, 0], fields)?;
                    continue;
                }
                let broken = || Error::Invalid("a temporary file is too short".into());
                let mut at = 0;
                let ty = nakshi_store::varint::get(fields, &mut at).ok_or_else(broken)?;
                let rest = fields.get(at..).unwrap_or_default();
                let (time, values) = rest.split_first_chunk::<8>().ok_or_else(broken)?;
                let time = ordered_int(i64::from_le_bytes(*time));
                bytes.clear();
                bytes.extend_from_slice(&target.to_le_bytes());
                bytes.extend_from_slice(values);
                edges.push([node, ty, time, row], &bytes)?;
                if !tables.reloaded {
                    keys.push(source, ty, target, row, rest)?;
                }
            }
        }
        Ok(skipped)
    }

    /// The vertices of `count` rows from row `start` on.
    fn ends(&self, ids: &Store, start: u64, count: u64) -> Result<Ends> {
        let mut ends = Ends::new();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        ends.try_reserve_exact(count)
            .map_err(|_| Error::Budget { needed: 8 * count as u64, given: self.options.memory })?;
        ends.resize(count, [NONE; 2]);
        let column = ids.column_until("weight", Direction::Out, &self.hooks.cancel)?;
        let stream = ListStream::new(ids, Direction::Out, Some(&column))?;
        let mut reader = stream.reader()?;
        for chunk in 0..stream.chunks() {
            self.hooks.check()?;
            reader.visit(chunk, |list| {
                let Some(rows) = &list.values else { return Ok(()) };
                for (i, &target) in list.neighbours.iter().enumerate() {
                    let place = rows.bits(i).checked_sub(start);
                    let place = place.and_then(|place| usize::try_from(place).ok());
                    if let Some(ends) = place.and_then(|place| ends.get_mut(place)) {
                        *ends = [list.vertex, target];
                    }
                }
                Ok(())
            })?;
        }
        Ok(ends)
    }

    /// The specifications of the properties of nodes, and of edges.
    fn specs(&self, tables: &Tables) -> Result<[Vec<PropertySpec>; 2]> {
        let mut specs = tables.properties.each_ref().map(InferredProperties::settle);
        for name in &self.options.searchable {
            let mut types = Vec::new();
            let mut named: Vec<&mut PropertySpec> =
                specs.iter_mut().flatten().filter(|spec| spec.name == *name).collect();
            for spec in &mut named {
                spec.searchable |= spec.ty.is_text() && !spec.ty.list;
                types.push(spec.ty.to_string());
            }
            if named.iter().any(|spec| spec.searchable) {
                continue;
            }
            if !types.is_empty() {
                return Err(Error::Invalid(format!(
                    "the property '{name}' is {}; only string and bytes can be searchable, which \
                     the header '{name}:string' makes it",
                    types.join(" and ")
                )));
            }
            let known: Vec<&str> = specs.iter().flatten().map(|spec| spec.name.as_str()).collect();
            return Err(Error::Invalid(format!(
                "there is no property '{name}' to be searchable (there are: {})",
                known.join(", ")
            )));
        }
        Ok(specs)
    }

    fn entry(
        &self,
        tables: &Tables,
        [nodes, edges]: [Vec<PropertySpec>; 2],
        ids: &Store,
        count: u64,
    ) -> PropertyEntry {
        let temporal = |spec: &PropertySpec| matches!(spec.ty.scalar, Scalar::Temporal(_));
        // Older versions know a single shard, and modulo.
        let dealt = if self.shards == 1 { Dealt::Modulo } else { Dealt::Hash };
        let numbered = edges.iter().any(PropertySpec::is_hidden);
        PropertyEntry {
            format: match dealt {
                _ if !self.kept.moved.is_empty() => MOVED_FORMAT,
                _ if !self.kept.rules.is_empty() => RULES_FORMAT,
                _ if nodes.iter().chain(&edges).any(|spec| spec.any_of().is_some()) => ANY_FORMAT,
                _ if self.kept.buckets.is_some() => SHARE_FORMAT,
                _ if numbered => 3,
                Dealt::Hash => 3,
                Dealt::Modulo if nodes.iter().chain(&edges).any(temporal) => 2,
                Dealt::Modulo => 0,
            },
            layout: self.options.properties,
            shards: self.shards,
            dealt,
            nodes: ids.num_vertices(),
            edges: count,
            node_properties: nodes,
            edge_properties: edges,
            edge_types: tables.types.clone(),
            inverses: self.kept.inverses.clone(),
            rules: self.kept.rules.clone(),
            moved: self.kept.moved.clone(),
            buckets: self.kept.buckets.clone(),
            next_edge: self.kept.next_edge,
            commit: self.kept.commit,
            ..PropertyEntry::default()
        }
    }

    fn write_nodes(
        &self,
        builder: &mut StoreBuilder,
        ids: &Store,
        dealing: &Dealing,
        entry: &PropertyEntry,
        rows: RowSorter<'_>,
    ) -> Result<Vec<(NodeDirectory, FileEntry)>> {
        let kind =
            FileKind { rows: RowKind::Nodes, begin: NodeWriter::new, end: NodeWriter::finish };
        let mut files = ShardFiles::new(self, builder, dealing, entry, kind);
        let (mut last, mut values, mut count) = (None, Vec::new(), 0);
        rows.finish(|key, fields| {
            let (shard, row) = shards::place_of(key[0]);
            if last == Some((shard, row)) {
                return Err(twice(ids, dealing.node(shard, row)));
            }
            last = Some((shard, row));
            self.tell(&mut count, entry.nodes)?;
            read_values(&entry.node_properties, fields, &mut values)?;
            files.writer(shard)?.push(row, RowValues(&values))
        })?;
        files.finish()
    }

    fn write_edges(
        &self,
        builder: &mut StoreBuilder,
        dealing: &Dealing,
        entry: &PropertyEntry,
        rows: RowSorter<'_>,
        replaced: &[u64],
    ) -> Result<Vec<(EdgeDirectory, FileEntry)>> {
        let kind =
            FileKind { rows: RowKind::Edges, begin: EdgeWriter::new, end: EdgeWriter::finish };
        let mut files = ShardFiles::new(self, builder, dealing, entry, kind);
        let (mut values, mut count) = (Vec::new(), 0);
        rows.finish(|key, fields| {
            let [node, ty, time, row] = *key;
            if replaced.binary_search(&row).is_ok() {
                return Ok(());
            }
            self.tell(&mut count, entry.edges)?;
            let broken = || Error::Invalid("a temporary file is too short".into());
            let (end, fields) = fields.split_first_chunk::<4>().ok_or_else(broken)?;
            read_values(&entry.edge_properties, fields, &mut values)?;
            let (shard, node) = shards::place_of(node);
            files.writer(shard)?.push(&EncodedEdge {
                node,
                ty,
                time: time.to_be_bytes(),
                end: u32::from_le_bytes(*end).into(),
                values: RowValues(&values),
            })
        })?;
        files.finish()
    }

    /// Counts a row; reports progress and checks for cancellation at times.
    fn tell(&self, count: &mut u64, total: u64) -> Result<()> {
        *count += 1;
        if count.is_multiple_of(1 << 12) {
            self.hooks.check()?;
            let total = Some(total);
            self.hooks.tell(Progress { phase: "encode", done: *count, total, edges: *count });
        }
        Ok(())
    }
}

/// Names of tables of edges, for a message; nothing without one, or for those of a graph.
fn names_of(edges: &[Table<'_>]) -> Option<String> {
    let name = |table: &Table<'_>| match (&table.rows, &table.name) {
        (TableRows::Graph(_), _) => None,
        (TableRows::Path(path), _) => Some(path.display().to_string()),
        (TableRows::Batches(_), name) => Some(name.clone().unwrap_or_else(|| "edges".to_owned())),
    };
    let names: Vec<String> = edges.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Decodes the values of a spooled row.
fn read_values(specs: &[PropertySpec], fields: &[u8], values: &mut Vec<u8>) -> Result<()> {
    values.clear();
    cell::read(specs, fields, |property, value| RowValues::put(property, value, values))
}

/// Error for a node with two rows.
fn twice(ids: &Store, v: Option<u64>) -> Error {
    let v = v.and_then(|v| VertexId::try_from(v).ok()).unwrap_or(NONE);
    match ids.ids().and_then(|ids| ids.external(v)) {
        Ok(id) => Error::Invalid(format!(
            "the node {id} has more than one row; remove the others, or give kinds of nodes id \
             spaces of their own"
        )),
        Err(error) => error,
    }
}
