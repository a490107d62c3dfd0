//! What a writer remembers about the layers of its store.

use std::sync::Arc;
use std::time::Instant;

use nakshi_io::CancelToken;
use nakshi_store::Manifest;

use super::entry::PropertyEntry;
use super::logstore::LayerId;
use super::schema::Schema;

/// Numbers of files that are kept for each fragment.
const FILES_EACH: u32 = 8;

/// What a writer remembers about its layers.
#[derive(Debug)]
pub(super) struct Upkeep {
    /// The manifest that names files and fragments.
    pub(super) manifest: Manifest,
    /// The layer that is frozen and has no fragment yet.
    pub(super) frozen: Option<FrozenLog>,
    /// Numbers that the next fragment and the next file get.
    pub(super) next_layer: LayerId,
    next_file: u32,
    /// Manifests that may have been written although an error was reported.
    pub(super) attempts: u64,
    /// Why the last attempt failed, and when.
    pub(super) failed: Option<(String, Instant)>,
    /// First parts of the names of files that a merge is writing.
    pub(super) merging: Option<String>,
    /// Token of the compaction that is under way, during which nothing is frozen.
    pub(super) compacting: Option<CancelToken>,
}

/// A frozen log.
#[derive(Clone, Debug)]
pub(super) struct FrozenLog {
    pub(super) layer: LayerId,
    /// Number of its last commit.
    pub(super) commit: u64,
    pub(super) schema: Arc<Schema>,
    /// Number of the log file behind it.
    pub(super) behind: u64,
}

impl Upkeep {
    pub(super) fn new(manifest: &Manifest) -> Self {
        let stored = PropertyEntry::of(manifest).ok().flatten().and_then(|entry| entry.fragments);
        Upkeep {
            manifest: manifest.clone(),
            frozen: None,
            next_layer: stored.map_or(1, |stored| stored.next.max(1)),
            next_file: 1 + manifest.files().map(|file| file.id).max().unwrap_or(0),
            attempts: 0,
            failed: None,
            merging: None,
            compacting: None,
        }
    }

    /// The generation of the next manifest.
    pub(super) fn generation(&self) -> u64 {
        self.manifest.generation + 1 + self.attempts
    }

    /// Numbers for the files of a fragment.
    pub(super) fn files(&mut self) -> u32 {
        let first = self.next_file;
        self.next_file += FILES_EACH;
        first
    }
}
