//! The builder of a store: writes it in a hidden directory and publishes it whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::WriteFs;

use super::batch::ListBatch;
use super::files::{BuildFiles, Stripes};
use super::ids::{IdSink, OrderSink, Orders};
use super::sink::{Sink, write_small};
use crate::column::NumberSlice;
use crate::files;
use crate::ids::keys::Key;
use crate::section::Section;
use crate::{
    AdjacencyEntry, ColumnEntry, ColumnType, Direction, Encoding, Error, FileEntry, IdKind,
    IdsEntry, Manifest, Result, Store, VertexId,
};

/// Bytes of encoded lists that are collected before they are written.
const FLUSH: usize = 1 << 20;

/// An attribute column to be written with the lists of every direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// The user's name of the column.
    pub name: String,
    /// Type of the values; [`ColumnType::for_integers`] and [`ColumnType::for_floats`] choose the
    /// narrowest.
    pub ty: ColumnType,
}

/// Properties of the store to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// True if edges have a direction. If not, the builder gets out-lists only, with each edge in
    /// the lists of both its ends, and a self-loop once.
    pub directed: bool,
    /// Number of vertices, including isolated ones.
    pub vertices: u64,
    /// Encoding of the lists.
    pub encoding: Encoding,
    /// Page size in bytes: a power of two from 512 to 1 MiB.
    pub page_size: u32,
    /// Name of the layout.
    pub layout: String,
    /// Attribute columns.
    pub columns: Vec<ColumnSpec>,
    /// Directories over which files are striped.
    pub stripes: Option<Stripes>,
    /// Existing directory for temporary files, which get a directory of their own in it. By default
    /// they are beside the files of the store.
    pub scratch: Option<PathBuf>,
    /// Bytes for a table of the order of the ids, which is written in several passes if it does not
    /// fit. Default 256 MiB.
    pub memory: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            directed: true,
            vertices: 0,
            encoding: Encoding::Packed,
            page_size: 4096,
            layout: "original".into(),
            columns: Vec::new(),
            stripes: None,
            scratch: None,
            memory: 256 << 20,
        }
    }
}

/// Writes a store: lists in vertex order per direction, ids in rank order, one commit.
///
/// All files are written in the hidden sibling `.<name>.importing-<uuid>` of the destination, which
/// [`StoreBuilder::commit`] renames when everything is durable. Dropping an uncommitted builder
/// removes it; the next builder removes the leftovers of a killed one.
#[derive(Debug)]
pub struct StoreBuilder {
    options: BuildOptions,
    files: BuildFiles,
    lists: Option<AdjacencySinks>,
    id_sink: Option<IdSink>,
    order: Option<OrderSink>,
    ids: Option<IdsEntry>,
    done: Vec<(AdjacencyEntry, u64)>,
    columns: Vec<ColumnEntry>,
    sections: BTreeMap<String, Section>,
    report: serde_json::Map<String, serde_json::Value>,
}

/// The files of one direction while they are written.
#[derive(Debug)]
struct AdjacencySinks {
    direction: Direction,
    batch: ListBatch,
    lists: Sink,
    lengths: Sink,
    degrees: Sink,
    heads: Sink,
    columns: Vec<Sink>,
    stored: u64,
    arcs: u64,
    loops: u64,
    max_degree: u64,
    max_list_bytes: u64,
}

impl StoreBuilder {
    /// Starts a store that will be the directory `dest`, which must not exist.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::Locked`] if another build has the same destination;
    /// [`Error::Unsupported`] for more than 2^32 vertices or a bad page size; [`Error::Io`].
    pub fn create(fs: Arc<dyn WriteFs>, dest: &Path, options: BuildOptions) -> Result<Self> {
        crate::permutation::check_count(options.vertices)?;
        let mut names: Vec<_> = options.columns.iter().map(|c| &c.name).collect();
        names.sort_unstable();
        if names.windows(2).any(|w| matches!(w, [a, b] if a == b)) {
            return Err(Error::Invalid("two columns have the same name".into()));
        }
        let outside = (options.stripes.as_ref(), options.scratch.as_deref());
        let files = BuildFiles::create(fs, dest, options.page_size, outside)?;
        Ok(Self::with(files, options))
    }

    /// Starts the files that will replace those of `store`; see [`StoreBuilder::succeed`].
    ///
    /// # Errors
    /// Same as [`StoreBuilder::create`].
    pub fn successor(fs: Arc<dyn WriteFs>, store: &Store, options: BuildOptions) -> Result<Self> {
        Ok(Self::with(BuildFiles::succeed(fs, store, options.page_size)?, options))
    }

    fn with(files: BuildFiles, options: BuildOptions) -> Self {
        Self {
            options,
            files,
            lists: None,
            id_sink: None,
            order: None,
            ids: None,
            done: Vec::new(),
            columns: Vec::new(),
            sections: BTreeMap::new(),
            report: serde_json::Map::new(),
        }
    }

    /// Returns the options of the builder.
    pub fn options(&self) -> &BuildOptions {
        &self.options
    }

    /// Sets the number of vertices and the columns, if they become known later than
    /// [`StoreBuilder::create`]; called before any lists or ids.
    ///
    /// # Errors
    /// [`Error::Invalid`] if lists or ids were begun; [`Error::Unsupported`] for more than 2^32
    /// vertices.
    pub fn set_shape(&mut self, vertices: u64, columns: Vec<ColumnSpec>) -> Result<()> {
        crate::permutation::check_count(vertices)?;
        let begun = self.lists.is_some() || self.id_sink.is_some() || self.ids.is_some();
        if begun || !self.done.is_empty() {
            return Err(Error::Invalid(
                "the shape of a store comes before its lists and ids".into(),
            ));
        }
        self.options.vertices = vertices;
        self.options.columns = columns;
        Ok(())
    }

    /// Returns the directory for temporary files, which is removed with the build. It is on the file
    /// system of the store unless [`BuildOptions::scratch`] names another one.
    ///
    /// # Errors
    /// The errors of creating it.
    pub fn scratch_dir(&self) -> Result<PathBuf> {
        if let Some(dir) = &self.files.scratch {
            return Ok(dir.clone());
        }
        let dir = self.files.dir.path().join("scratch");
        if !dir.is_dir() {
            self.files.fs.create_dir(&dir)?;
        }
        Ok(dir)
    }

    /// Begins the lists of one direction; only `Out` for an undirected graph.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they were already written; the errors of creating files.
    pub fn begin_adjacency(&mut self, direction: Direction) -> Result<()> {
        let again = self.done.iter().any(|(a, _)| a.direction == direction);
        if self.lists.is_some() || again || (!self.options.directed && direction == Direction::In) {
            return Err(Error::Invalid(format!(
                "{direction:?} lists begin twice, inside others, or in an undirected graph"
            )));
        }
        let of = match direction {
            Direction::Out => "out",
            Direction::In => "in",
        };
        let columns = (0..self.options.columns.len())
            .map(|i| self.files.sink(of, &format!("c{i}.col"), true))
            .collect::<Result<_>>()?;
        self.lists = Some(AdjacencySinks {
            direction,
            batch: self.batch(),
            lists: self.files.sink(of, "adj", true)?,
            lengths: self.files.sink(of, "idx", false)?,
            degrees: self.files.sink(of, "deg", false)?,
            heads: self.files.sink(of, "heads", false)?,
            columns,
            stored: 0,
            arcs: 0,
            loops: 0,
            max_degree: 0,
            max_list_bytes: 0,
        });
        Ok(())
    }

    /// Returns an empty batch, to be filled on any thread.
    pub fn batch(&self) -> ListBatch {
        let types = self.options.columns.iter().map(|c| c.ty).collect();
        ListBatch::new(self.options.encoding, self.options.vertices, types)
    }

    /// Adds the list of `v`; see [`ListBatch::push`]. Vertices that are skipped, and those after
    /// the last one, have no neighbours.
    ///
    /// # Errors
    /// Same as [`ListBatch::push`], and write errors.
    pub fn push_list(
        &mut self,
        v: VertexId,
        neighbours: &[VertexId],
        values: &[NumberSlice<'_>],
    ) -> Result<()> {
        let lists = open(&mut self.lists)?;
        lists.in_order(v)?;
        lists.batch.push(v, neighbours, values)?;
        if lists.batch.memory() >= FLUSH { self.flush() } else { Ok(()) }
    }

    /// Begins a list that is too large for memory; see [`ListBatch::start`].
    ///
    /// # Errors
    /// Same as [`StoreBuilder::push_list`].
    pub fn start_list(&mut self, v: VertexId, degree: u64) -> Result<()> {
        let lists = open(&mut self.lists)?;
        lists.in_order(v)?;
        lists.batch.start(v, degree)
    }

    /// Adds the next part of the list begun by [`StoreBuilder::start_list`].
    ///
    /// # Errors
    /// Same as [`StoreBuilder::push_list`].
    pub fn extend_list(
        &mut self,
        neighbours: &[VertexId],
        values: &[NumberSlice<'_>],
    ) -> Result<()> {
        let lists = open(&mut self.lists)?;
        lists.batch.extend(neighbours, values)?;
        if lists.batch.memory() >= FLUSH { lists.drain() } else { Ok(()) }
    }

    /// Ends the list begun by [`StoreBuilder::start_list`].
    ///
    /// # Errors
    /// Same as [`StoreBuilder::push_list`].
    pub fn finish_list(&mut self) -> Result<()> {
        open(&mut self.lists)?.batch.finish()
    }

    /// Appends lists that were encoded in a batch.
    ///
    /// # Errors
    /// [`Error::Invalid`] if they do not follow the lists before them; write errors.
    pub fn push_batch(&mut self, mut batch: ListBatch) -> Result<()> {
        if batch.has_open_list() || open(&mut self.lists)?.batch.has_open_list() {
            return Err(Error::Invalid("a list in parts was begun and not finished".into()));
        }
        self.flush()?;
        open(&mut self.lists)?.append(&mut batch)
    }

    fn flush(&mut self) -> Result<()> {
        let fresh = self.batch();
        let lists = open(&mut self.lists)?;
        let mut batch = std::mem::replace(&mut lists.batch, fresh);
        lists.append(&mut batch)
    }

    /// Ends the lists of the direction that was begun last.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish_adjacency(&mut self) -> Result<()> {
        if open(&mut self.lists)?.batch.has_open_list() {
            return Err(Error::Invalid("a list in parts was begun and not finished".into()));
        }
        self.flush()?;
        let Some(lists) = self.lists.take() else { return Err(no_lists()) };
        let direction = lists.direction;
        for (spec, sink) in self.options.columns.iter().zip(lists.columns) {
            let file = self.files.finish(sink)?;
            self.columns.push(ColumnEntry {
                name: spec.name.clone(),
                direction,
                ty: spec.ty,
                file,
            });
        }
        let entry = AdjacencyEntry {
            direction,
            lists: self.files.finish(lists.lists)?,
            lengths: self.files.finish(lists.lengths)?,
            degrees: self.files.finish(lists.degrees)?,
            heads: self.files.finish(lists.heads)?,
            arcs: lists.arcs,
            stored: lists.stored,
            max_degree: lists.max_degree,
            max_list_bytes: lists.max_list_bytes,
        };
        self.done.push((entry, lists.loops));
        Ok(())
    }

    /// Declares that external ids are the integers from `first` on. `internal_by_rank` has the
    /// internal id of each of them in ascending order; `None` means that they are in internal
    /// order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `internal_by_rank` is no permutation of the vertices; write errors.
    pub fn set_dense_ids(
        &mut self,
        first: i64,
        internal_by_rank: Option<&[VertexId]>,
    ) -> Result<()> {
        let (internal, ranks) = self.finish_order(internal_by_rank)?;
        self.ids = Some(IdsEntry {
            kind: IdKind::Dense,
            first,
            keys: None,
            blocks: None,
            internal,
            ranks,
        });
        Ok(())
    }

    /// Begins a dictionary of external ids.
    ///
    /// # Errors
    /// [`Error::Invalid`] for [`IdKind::Dense`]; the errors of creating files.
    pub fn begin_ids(&mut self, kind: IdKind) -> Result<()> {
        self.id_sink = Some(IdSink::create(&mut self.files, kind)?);
        Ok(())
    }

    /// Adds the next external id, in ascending order of its kind.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the order or the kind is wrong; write errors.
    pub fn push_id(&mut self, key: Key<'_>) -> Result<()> {
        self.id_sink.as_mut().ok_or_else(no_ids)?.push(key)
    }

    /// Ends the dictionary; `internal_by_rank` as in [`StoreBuilder::set_dense_ids`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more or fewer ids than vertices; write errors.
    pub fn finish_ids(&mut self, internal_by_rank: Option<&[VertexId]>) -> Result<()> {
        let sink = self.id_sink.take().ok_or_else(no_ids)?;
        let orders = self.finish_order(internal_by_rank)?;
        self.ids = Some(sink.finish(&mut self.files, self.options.vertices, orders)?);
        Ok(())
    }

    /// Returns the external id of a vertex, once ids are written. Reads files, so it is for
    /// messages only.
    pub(crate) fn id_of(&self, v: VertexId) -> Result<crate::ExternalId> {
        super::ids::id_of(&self.files, self.ids.as_ref().ok_or_else(no_ids)?, v)
    }

    /// Begins an order of ids that is passed piece by piece, instead of as an argument of
    /// [`StoreBuilder::set_dense_ids`] or [`StoreBuilder::finish_ids`].
    ///
    /// # Errors
    /// The errors of creating files.
    pub fn begin_order(&mut self) -> Result<()> {
        self.order = Some(OrderSink::create(&mut self.files, self.options.vertices)?);
        Ok(())
    }

    /// Adds the internal id of the next rank.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such vertex, or no order was begun; write errors.
    pub fn push_order(&mut self, v: VertexId) -> Result<()> {
        self.order.as_mut().ok_or_else(no_ids)?.push(v)
    }

    fn finish_order(&mut self, internal_by_rank: Option<&[VertexId]>) -> Result<Orders> {
        if let Some(order) = internal_by_rank {
            self.begin_order()?;
            order.iter().try_for_each(|&v| self.push_order(v))?;
        }
        match self.order.take() {
            Some(order) => order.finish(&mut self.files, self.options.memory),
            None => Ok((None, None)),
        }
    }

    /// Sets the name of the layout, instead of that in the options.
    pub fn set_layout(&mut self, name: &str) {
        self.options.layout = name.into();
    }

    /// Sets the report of the import, which the manifest keeps.
    pub fn set_report(&mut self, report: serde_json::Map<String, serde_json::Value>) {
        self.report = report;
    }

    /// Edges of the finished lists; an undirected edge counts once.
    pub fn edges(&self) -> u64 {
        let (arcs, loops) = self.done.first().map_or((0, 0), |(lists, loops)| (lists.arcs, *loops));
        if self.options.directed { arcs } else { (arcs + loops) / 2 }
    }

    /// Creates a file of a section, `<of>-<generation>.<kind>`.
    ///
    /// # Errors
    /// The errors of creating it.
    pub fn section_sink(&mut self, of: &str, kind: &str) -> Result<Sink> {
        self.files.sink(of, kind, false)
    }

    /// Makes a file of a section durable.
    ///
    /// # Errors
    /// Write errors.
    pub fn finish_sink(&mut self, sink: Sink) -> Result<FileEntry> {
        self.files.finish(sink)
    }

    /// Adds a section, whose files are complete, to the manifest; it replaces one of the same name.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a section that does not serialise.
    pub fn add_section<T: serde::Serialize>(&mut self, name: &str, section: &T) -> Result<()> {
        let section = Section::new(section).map_err(|error| {
            Error::Invalid(format!("the section '{name}' does not serialise: {error}"))
        })?;
        self.sections.insert(name.to_owned(), section);
        Ok(())
    }

    /// Makes everything durable and the store visible; returns its manifest.
    ///
    /// # Errors
    /// [`Error::Invalid`] if lists are missing or in- and out-lists differ in number; write errors.
    /// The destination is then absent.
    pub fn commit(mut self) -> Result<Manifest> {
        let manifest = self.complete()?;
        let (fs, dir) = (Arc::clone(&self.files.fs), self.files.dir.path().to_path_buf());
        write_small(
            fs.as_ref(),
            &dir.join(files::manifest_name(manifest.generation)),
            &manifest.to_bytes()?,
        )?;
        self.files.dir.publish()?;
        Ok(manifest)
    }

    /// Moves all files, which are durable, into the store at `path`, whose next manifest names
    /// them. Returns that manifest.
    ///
    /// # Errors
    /// Same as [`StoreBuilder::commit`]. Some of the files may be there then.
    pub fn succeed(mut self, path: &Path) -> Result<Manifest> {
        let manifest = self.complete()?;
        let (fs, dir) = (&self.files.fs, self.files.dir.path());
        for file in manifest.files() {
            for name in [file.name.clone(), files::sums_name(&file.name)] {
                fs.rename(&dir.join(&name), &path.join(&name))?;
            }
        }
        fs.sync_dir(path)?;
        Ok(manifest)
    }

    /// Returns the manifest, once no temporary file is left.
    fn complete(&mut self) -> Result<Manifest> {
        let manifest = self.manifest()?;
        if let Some(scratch) = self.files.scratch.take() {
            self.files.dir.remove_annex(&scratch)?;
        }
        let scratch = self.files.dir.path().join("scratch");
        if scratch.is_dir() {
            self.files.fs.remove_dir_all(&scratch)?;
        }
        Ok(manifest)
    }

    fn manifest(&mut self) -> Result<Manifest> {
        if self.lists.is_some() || self.id_sink.is_some() {
            return Err(Error::Invalid("lists or ids were begun and not finished".into()));
        }
        if self.ids.is_none() {
            self.set_dense_ids(0, None)?;
        }
        let Some(((first, loops), rest)) = self.done.split_first() else { return Err(no_lists()) };
        if rest.iter().any(|(a, l)| a.arcs != first.arcs || l != loops) {
            return Err(Error::Invalid(
                "in-lists and out-lists have different numbers of edges".into(),
            ));
        }
        let edges = self.edges();
        Ok(Manifest {
            uuid: files::hex(&self.files.uuid),
            generation: self.files.generation,
            directed: self.options.directed,
            vertices: self.options.vertices,
            edges,
            self_loops: *loops,
            id_bits: 32,
            encoding: self.options.encoding,
            page_size: self.options.page_size,
            layout: self.options.layout.clone(),
            stripes: self.files.stripes.clone(),
            adjacency: self.done.iter().map(|(a, _)| a.clone()).collect(),
            columns: std::mem::take(&mut self.columns),
            ids: self.ids.take().ok_or_else(no_ids)?,
            sections: std::mem::take(&mut self.sections),
            report: std::mem::take(&mut self.report),
        })
    }
}

fn open(lists: &mut Option<AdjacencySinks>) -> Result<&mut AdjacencySinks> {
    lists.as_mut().ok_or_else(no_lists)
}

fn no_lists() -> Error {
    Error::Invalid("no lists were begun".into())
}

fn no_ids() -> Error {
    Error::Invalid("no ids were begun".into())
}

impl AdjacencySinks {
    fn in_order(&self, v: VertexId) -> Result<()> {
        if u64::from(v) < self.stored {
            return Err(Error::Invalid(format!(
                "the list of vertex {v} comes after that of a higher one"
            )));
        }
        Ok(())
    }

    /// Appends a batch to the files.
    fn append(&mut self, batch: &mut ListBatch) -> Result<()> {
        if batch.is_empty() {
            // an open list may be partly written already
            return self.drain_from(batch);
        }
        let gap = batch.first.checked_sub(self.stored);
        let gap = gap.ok_or_else(|| {
            Error::Invalid(format!(
                "a batch begins at vertex {}, after {}",
                batch.first, self.stored
            ))
        })?;
        for (sink, bytes) in [
            (&mut self.lengths, &batch.lengths),
            (&mut self.degrees, &batch.degrees),
            (&mut self.heads, &batch.heads),
        ] {
            sink.zeros(gap)?;
            sink.append(bytes)?;
        }
        self.drain_from(batch)?;
        self.stored = batch.next;
        self.arcs += batch.arcs;
        self.loops += batch.loops;
        self.max_degree = self.max_degree.max(batch.max_degree);
        self.max_list_bytes = self.max_list_bytes.max(batch.max_list_bytes);
        Ok(())
    }

    fn drain_from(&mut self, batch: &mut ListBatch) -> Result<()> {
        let (lists, columns) = (&mut self.lists, &mut self.columns);
        batch.drain(|column, bytes| match column {
            None => lists.append(bytes),
            Some(i) => columns.get_mut(i).map_or(Ok(()), |sink| sink.append(bytes)),
        })
    }

    /// Writes list and column bytes of the open list.
    fn drain(&mut self) -> Result<()> {
        let (lists, columns) = (&mut self.lists, &mut self.columns);
        self.batch.drain(|column, bytes| match column {
            None => lists.append(bytes),
            Some(i) => columns.get_mut(i).map_or(Ok(()), |sink| sink.append(bytes)),
        })
    }
}
