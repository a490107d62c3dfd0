//! An open store.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use nakshi_io::{CancelToken, PagedFile, StorageBackend};

use crate::files::{self, Uuid};
use crate::heads::Heads;
use crate::ids::{IdKind, IdMap, keys};
use crate::list_index::ListIndexBuilder;
use crate::{
    Adjacency, AdjacencyEntry, AttributeColumn, ColumnEntry, Direction, Error, ListIndex, Manifest,
    Result, varint,
};

/// Options of opening a store.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Source of bytes; [`nakshi_io::default_backend`] if not given.
    pub backend: Option<Arc<dyn StorageBackend>>,
    /// Token that stops the reading of indexes and of other files that are read whole.
    pub cancel: CancelToken,
    /// Memory that [`crate::check`] may use, in bytes; without a limit if not given.
    pub memory: Option<u64>,
}

/// An open store: the manifest, and files that are opened on first use.
///
/// Opening and reading never write. A store is immutable, so handles can be shared freely.
pub struct Store {
    path: PathBuf,
    manifest: Manifest,
    uuid: Uuid,
    backend: Arc<dyn StorageBackend>,
    cancel: CancelToken,
    out: OnceLock<Adjacency>,
    into: OnceLock<Adjacency>,
    ids: OnceLock<IdMap>,
    companions: [OnceLock<Box<dyn Any + Send + Sync>>; 2],
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .field("uuid", &self.manifest.uuid)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store at `path` (a directory).
    ///
    /// # Errors
    /// [`Error::NotAStore`], [`Error::Incompatible`], [`Error::Corrupt`], [`Error::Unsupported`],
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Arc<Self>> {
        let path = path.as_ref();
        Self::open_as(path, files::read_manifest(path)?, options)
    }

    /// Opens the files that a manifest names, regardless of others in the directory.
    ///
    /// # Errors
    /// Same as [`Store::open`].
    pub fn open_as(path: &Path, manifest: Manifest, options: &OpenOptions) -> Result<Arc<Self>> {
        let uuid = files::validate(path, &manifest)?;
        Ok(Arc::new(Self {
            path: path.to_path_buf(),
            manifest,
            uuid,
            backend: options.backend.clone().unwrap_or_else(nakshi_io::default_backend),
            cancel: options.cancel.clone(),
            out: OnceLock::new(),
            into: OnceLock::new(),
            ids: OnceLock::new(),
            companions: Default::default(),
        }))
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the number of vertices, including isolated ones.
    pub fn num_vertices(&self) -> u64 {
        self.manifest.vertices
    }

    /// Returns the number of edges; an undirected edge counts once.
    pub fn num_edges(&self) -> u64 {
        self.manifest.edges
    }

    /// Returns the number of list entries of one direction; an undirected edge other than a
    /// self-loop has two.
    pub fn arcs(&self) -> u64 {
        self.manifest.adjacency.first().map_or(0, |a| a.arcs)
    }

    /// Returns true if edges have a direction.
    pub fn directed(&self) -> bool {
        self.manifest.directed
    }

    /// Returns the store's identity, which differs between two builds of the same graph.
    pub fn uuid(&self) -> &str {
        &self.manifest.uuid
    }

    /// Returns a hash of the content, equal for two builds of the same graph with the same options.
    pub fn content_hash(&self) -> String {
        self.manifest.content_hash()
    }

    /// Returns the backend through which the store reads.
    pub fn backend(&self) -> &Arc<dyn StorageBackend> {
        &self.backend
    }

    /// Returns what a crate above keeps with the open store, which is dropped with it. There are two
    /// such crates, with a type each: a third type gets `None`.
    pub fn companion<T: Default + Any + Send + Sync>(&self) -> Option<&T> {
        let mut slots = self.companions.iter();
        slots.find_map(|slot| slot.get_or_init(|| Box::<T>::default()).downcast_ref())
    }

    /// Returns the edge lists of one direction; reads their index on first use. In an undirected
    /// graph both directions have the same lists.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the store has no lists of that direction; read errors.
    pub fn adjacency(&self, direction: Direction) -> Result<&Adjacency> {
        self.adjacency_until(direction, &self.cancel)
    }

    /// Returns the edge lists like [`Store::adjacency`], stopped by `cancel`.
    ///
    /// # Errors
    /// Same as [`Store::adjacency`]; [`nakshi_io::Error::Cancelled`].
    pub fn adjacency_until(
        &self,
        direction: Direction,
        cancel: &CancelToken,
    ) -> Result<&Adjacency> {
        let direction = self.resolve(direction);
        let slot = match direction {
            Direction::Out => &self.out,
            Direction::In => &self.into,
        };
        if let Some(adjacency) = slot.get() {
            return Ok(adjacency);
        }
        let loaded = self.load_adjacency(self.entry(direction)?, cancel)?;
        // two threads may both have loaded it: one copy is kept
        Ok(slot.get_or_init(|| loaded))
    }

    /// Returns the direction whose files hold the lists of `direction`.
    pub fn resolve(&self, direction: Direction) -> Direction {
        if self.manifest.directed { direction } else { Direction::Out }
    }

    /// Returns the manifest's entry for a direction.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the store has no lists of that direction.
    pub fn entry(&self, direction: Direction) -> Result<&AdjacencyEntry> {
        let direction = self.resolve(direction);
        self.manifest.adjacency.iter().find(|a| a.direction == direction).ok_or_else(|| {
            Error::Unsupported(format!(
                "{} holds no {direction:?} lists; import it with both directions",
                self.path.display()
            ))
        })
    }

    fn load_adjacency(&self, entry: &AdjacencyEntry, cancel: &CancelToken) -> Result<Adjacency> {
        let index = self.sums(&entry.lengths, entry.stored, entry.lists.len, cancel)?;
        Ok(Adjacency {
            index: Arc::new(index),
            file: self.striped_file(&entry.lists)?,
            degrees: self.file(&entry.degrees)?,
            encoding: self.manifest.encoding,
            vertices: self.manifest.vertices,
            entry: entry.clone(),
        })
    }

    /// Reads the index over the `stored` LEB128 numbers of a file, whose sum is `total`.
    fn sums(
        &self,
        numbers: &crate::FileEntry,
        stored: u64,
        total: u64,
        cancel: &CancelToken,
    ) -> Result<ListIndex> {
        let file = self.file(numbers)?;
        let bytes = file.load(cancel)?;
        let corrupt = |at: usize, what: &str| Error::Corrupt {
            file: file.path().to_path_buf(),
            page: at as u64 / u64::from(file.page_size()),
            what: what.to_string(),
        };
        // a size takes at least a byte, so a hostile count cannot request more than 16 bytes for
        // each byte
        if stored > bytes.len() as u64 {
            return Err(corrupt(bytes.len(), "it has fewer values than the manifest says"));
        }
        let mut builder = ListIndexBuilder::new(self.manifest.vertices, stored, total)?;
        let (mut at, mut fault, mut count) = (0, None, 0u64);
        let read = varint::get_run(&bytes, &mut at, stored, |size| {
            count += 1;
            if count.is_multiple_of(varint::CANCEL_CHECK_INTERVAL) && cancel.is_cancelled() {
                return None;
            }
            builder.push(size).map_err(|e| fault = Some(e)).ok()
        });
        cancel.check()?;
        if read.is_none() {
            return Err(corrupt(
                at,
                &fault.map_or("a value does not decode".into(), |e| e.to_string()),
            ));
        }
        builder.finish().map_err(|e| corrupt(at, &e.to_string()))
    }

    /// Reads the first two neighbours of every vertex, eight bytes a vertex. Each call reads them
    /// again.
    ///
    /// # Errors
    /// Read errors; [`nakshi_io::Error::Cancelled`].
    pub fn heads(&self, direction: Direction, cancel: &CancelToken) -> Result<Heads> {
        let entry = self.entry(direction)?;
        let file = self.file(&entry.heads)?;
        Heads::load(&file, entry.stored, self.manifest.vertices, cancel)
            .map_err(|e| blame(&file, e))
    }

    /// Reads the degree of every vertex in a direction, 4 bytes a vertex, without the index of the
    /// lists.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a degree of 2^32 or more; read errors.
    pub fn degrees(&self, direction: Direction, cancel: &CancelToken) -> Result<Vec<u32>> {
        let entry = self.entry(direction)?;
        crate::adjacency::degrees(
            &self.file(&entry.degrees)?,
            entry.stored,
            self.manifest.vertices,
            cancel,
        )
    }

    /// Returns the attribute column `name` in the order of `direction`'s lists, with an index built
    /// from the degrees.
    ///
    /// # Errors
    /// [`Error::NoColumn`]; read errors.
    pub fn column(&self, name: &str, direction: Direction) -> Result<AttributeColumn> {
        self.column_until(name, direction, &self.cancel)
    }

    /// Returns a column like [`Store::column`], stopped by `cancel`.
    ///
    /// # Errors
    /// Same as [`Store::column`]; [`nakshi_io::Error::Cancelled`].
    pub fn column_until(
        &self,
        name: &str,
        direction: Direction,
        cancel: &CancelToken,
    ) -> Result<AttributeColumn> {
        let direction = self.resolve(direction);
        let all = &self.manifest.columns;
        let entry =
            all.iter().find(|c| c.name == name && c.direction == direction).ok_or_else(|| {
                let mut known: Vec<_> = all.iter().map(|c| c.name.as_str()).collect();
                known.dedup();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                Error::NoColumn { name: name.to_string(), known }
            })?;
        self.load_column(entry, cancel)
    }

    fn load_column(&self, entry: &ColumnEntry, cancel: &CancelToken) -> Result<AttributeColumn> {
        let lists = self.entry(entry.direction)?;
        Ok(AttributeColumn {
            name: entry.name.clone(),
            ty: entry.ty,
            file: self.striped_file(&entry.file)?,
            index: Arc::new(self.sums(&lists.degrees, lists.stored, lists.arcs, cancel)?),
        })
    }

    /// Opens the external ids.
    ///
    /// # Errors
    /// The errors of opening their files.
    pub fn ids(&self) -> Result<IdMap> {
        let opened = match self.ids.get() {
            Some(opened) => opened,
            None => {
                let opened = self.open_ids()?;
                self.ids.get_or_init(|| opened)
            }
        };
        Ok(opened.clone())
    }

    fn open_ids(&self) -> Result<IdMap> {
        let entry = &self.manifest.ids;
        let pair = |a: &Option<_>, b: &Option<_>| match (a, b) {
            (Some(a), Some(b)) => Ok::<_, Error>(Some((self.file(a)?, self.file(b)?))),
            _ => Ok(None),
        };
        Ok(IdMap {
            kind: entry.kind,
            count: self.manifest.vertices,
            first: entry.first,
            keys: pair(&entry.keys, &entry.blocks)?,
            orders: pair(&entry.internal, &entry.ranks)?,
            cancel: self.cancel.clone(),
        })
    }

    /// Bytes of memory that [`crate::ResidentIds`] of this store take.
    pub fn ids_memory(&self) -> u64 {
        let entry = &self.manifest.ids;
        let files = [&entry.keys, &entry.blocks, &entry.internal, &entry.ranks];
        let bytes = files.into_iter().flatten().map(|file| file.len).fold(0, u64::saturating_add);
        // The first id of each block, if ids are integers of 64 bits.
        let firsts = match entry.kind {
            IdKind::U64 | IdKind::I64 => self.num_vertices().div_ceil(keys::BLOCK) * 16,
            _ => 0,
        };
        bytes.saturating_add(firsts)
    }

    /// Opens a file of the store's directory.
    ///
    /// # Errors
    /// A missing or damaged checksum table; the errors of opening the file.
    pub fn file(&self, entry: &crate::FileEntry) -> Result<Arc<PagedFile>> {
        self.open_file(entry, false)
    }

    /// Opens a file that may be striped.
    pub(crate) fn striped_file(&self, entry: &crate::FileEntry) -> Result<Arc<PagedFile>> {
        self.open_file(entry, true)
    }

    fn open_file(&self, entry: &crate::FileEntry, striped: bool) -> Result<Arc<PagedFile>> {
        let (path, backend) = (&self.path, &self.backend);
        files::open(path, &self.manifest, &self.uuid, entry, striped, backend, &self.cancel)
    }
}

/// Adds `file` to a decoding error.
pub(crate) fn blame(file: &PagedFile, error: Error) -> Error {
    match error {
        Error::BadList(what) => {
            Error::Corrupt { file: file.path().to_path_buf(), page: 0, what: what.into() }
        }
        other => other,
    }
}
