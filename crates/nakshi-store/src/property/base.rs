//! The property files of a store, in memory as they are on disk: compressed.

use std::path::{Path, PathBuf};

use nakshi_io::CancelToken;

use super::blob::Blob;
use super::entry::{PropertyEntry, SegmentDirectory};
use super::segment::{Edges, Rows};
use crate::ids::ResidentIds;
use crate::{Error, ExternalId, FileEntry, Result, Store, VertexId};

/// All files, and the ids of their nodes.
#[derive(Debug)]
pub(crate) struct Base {
    path: PathBuf,
    entry: PropertyEntry,
    ids: ResidentIds,
    shards: Vec<Shard>,
}

#[derive(Debug)]
pub(super) struct Shard {
    pub(super) nodes: Rows,
    pub(super) edges: Edges,
}

impl Base {
    /// Loads the property files of a store.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a store without properties; [`Error::Budget`] if `memory` is less
    /// than they take; those of reading.
    pub(crate) fn open(store: &Store, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        let entry = store.manifest().property.clone().ok_or_else(|| {
            Error::Unsupported(format!(
                "{} has no properties; import tables of nodes and edges with properties",
                store.path().display()
            ))
        })?;
        Error::afford(entry.bytes() + ids_bytes(store), memory)?;
        let directory = entry.segments.directory.as_ref();
        let directory =
            directory.ok_or_else(|| lacks(store.path(), "the directory of its properties"))?;
        let directory: SegmentDirectory = {
            let file = store.file(directory)?;
            let bytes = file.load(cancel)?;
            serde_json::from_slice(&bytes).map_err(|error| Error::Corrupt {
                file: file.path().to_path_buf(),
                page: 0,
                what: format!("it does not parse: {error}"),
            })?
        };
        let blob = |file: Option<&FileEntry>| {
            let file = file.ok_or_else(|| lacks(store.path(), "a property file"))?;
            Blob::load(&store.file(file)?, cancel)
        };
        let mut shards = Vec::new();
        for (number, shard) in directory.shards.iter().enumerate() {
            shards.push(Shard {
                nodes: Rows::open(
                    blob(entry.segments.nodes.get(number))?,
                    &shard.nodes.groups,
                    shard.nodes.flat.as_ref(),
                )?,
                edges: Edges::open(blob(entry.segments.edges.get(number))?, &shard.edges)?,
            });
        }
        if shards.len() as u64 != u64::from(entry.shards) || shards.is_empty() {
            return Err(lacks(store.path(), "a shard"));
        }
        let ids = ResidentIds::load(&store.ids()?, cancel)?;
        Ok(Base { path: store.path().to_path_buf(), entry, ids, shards })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
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
        // At least one shard.
        let shards = self.shards.len() as u32;
        let shard = self.shards.get((v % shards) as usize);
        Ok((shard.ok_or_else(|| lacks(&self.path, "a shard"))?, u64::from(v / shards)))
    }

    pub(super) fn no_node(&self, id: &ExternalId) -> Error {
        Error::NoNode { id: id.to_string(), path: self.path.clone() }
    }
}

fn ids_bytes(store: &Store) -> u64 {
    let ids = &store.manifest().ids;
    let files = [&ids.keys, &ids.blocks, &ids.internal, &ids.ranks];
    files.into_iter().flatten().map(|file| file.len).sum()
}

fn lacks(path: &Path, what: &str) -> Error {
    Error::NotAStore { path: path.to_path_buf(), what: format!("it lacks {what}") }
}
