//! The directory of a store under construction, and the numbers of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_io::write::{AtomicDir, WriteFs};
use nakshi_io::{Salt, Striping};

use super::sink::Sink;
use crate::files::{self, Uuid};
use crate::{Error, FileEntry, Result, Store, StripeEntry};

/// Build name of files that will replace those of a store.
const SUCCESSOR: &str = "successor";
/// Directories over which lists and columns are striped; only directories on different devices make
/// reading faster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripes {
    /// Existing directories; each gets a directory `nakshi-<uuid>`.
    pub dirs: Vec<PathBuf>,
    /// Bytes of a stripe: a power of two, at least 4096 and at least the page size.
    pub unit: u64,
}

/// Returns a directory that occurs more than once.
fn twice(dirs: &[PathBuf]) -> Option<&PathBuf> {
    dirs.iter().enumerate().find(|(k, dir)| dirs.iter().take(*k).any(|d| d == *dir)).map(|d| d.1)
}

/// The directory under construction, and the numbers of its files.
#[derive(Debug)]
pub(super) struct BuildFiles {
    pub(super) fs: Arc<dyn WriteFs>,
    pub(super) dir: AtomicDir,
    pub(super) uuid: Uuid,
    page_size: u32,
    pub(super) stripes: Option<StripeEntry>,
    /// Directory for temporary files, unless they are in `dir`.
    pub(super) scratch: Option<PathBuf>,
    pub(super) generation: u64,
    next_id: u32,
}

impl BuildFiles {
    /// Creates a new store at `dest`, with stripes and temporary files in the directories that are
    /// named.
    pub(super) fn create(
        fs: Arc<dyn WriteFs>,
        dest: &Path,
        page_size: u32,
        (wanted, scratch): (Option<&Stripes>, Option<&Path>),
    ) -> Result<Self> {
        let uuid = files::new_uuid();
        let tag = files::hex(&uuid);
        let mut dir = AtomicDir::create(Arc::clone(&fs), dest, &tag)?;
        let absolute =
            |dir: &Path| std::fs::canonicalize(dir).map_err(|error| Error::io("open", dir, error));
        let mut annexes = Vec::new();
        let stripes = match wanted {
            None => None,
            Some(wanted) => {
                let dirs =
                    wanted.dirs.iter().map(|dir| absolute(dir)).collect::<Result<Vec<_>>>()?;
                if let Some(twice) = twice(&dirs) {
                    let what = format!(
                        "{} is named twice as a directory for stripes; name each disk once",
                        twice.display()
                    );
                    return Err(Error::Invalid(what));
                }
                annexes.extend(dirs.iter().map(|dir| files::stripe_dir(dir, &tag)));
                Some(StripeEntry { unit: wanted.unit, dirs })
            }
        };
        let scratch = scratch.map(absolute).transpose()?;
        let scratch = scratch.map(|dir| dir.join(format!("nakshi-scratch-{tag}")));
        annexes.extend(scratch.clone());
        if !annexes.is_empty() {
            dir.annex(&annexes)?;
        }
        Ok(Self { fs, dir, uuid, page_size, stripes, scratch, generation: 1, next_id: 1 })
    }

    /// Creates the files that will replace those of `store`, beside them.
    pub(super) fn succeed(fs: Arc<dyn WriteFs>, store: &Store, page_size: u32) -> Result<Self> {
        let manifest = store.manifest();
        let uuid = files::parse_uuid(&manifest.uuid)
            .ok_or_else(|| Error::Invalid(format!("{} has no identity", store.path().display())))?;
        let tag = files::hex(&files::new_uuid());
        let dir = AtomicDir::create(Arc::clone(&fs), &store.path().join(SUCCESSOR), &tag)?;
        let next_id = 1 + manifest.files().map(|file| file.id).max().unwrap_or(0);
        let generation = manifest.generation + 1;
        let (stripes, scratch) = (None, None);
        Ok(Self { fs, dir, uuid, page_size, stripes, scratch, generation, next_id })
    }

    /// Returns the name of a file of this generation.
    pub(super) fn name(&self, of: &str, kind: &str) -> String {
        format!("{of}-{}.{kind}", self.generation)
    }

    /// Creates a file, striped if `striped` and configured.
    pub(super) fn sink(&mut self, of: &str, kind: &str, striped: bool) -> Result<Sink> {
        let name = &self.name(of, kind);
        let striping = match &self.stripes {
            Some(stripes) if striped => stripes.of(&files::hex(&self.uuid), name),
            _ => Striping::single(self.path(name)),
        };
        let salt = Salt { store: self.uuid, file: self.next_id };
        self.next_id += 1;
        Sink::create(self.fs.as_ref(), name.to_string(), striping, self.page_size, salt)
    }

    /// Returns the path of an unstriped file.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Removes an unstriped file that is not needed.
    pub(super) fn discard(&self, name: &str) -> Result<()> {
        Ok(self.fs.remove_file(&self.path(name))?)
    }

    pub(super) fn finish(&mut self, sink: Sink) -> Result<FileEntry> {
        sink.finish(self.fs.as_ref(), self.dir.path())
    }
}
