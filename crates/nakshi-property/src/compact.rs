//! Compaction: what the log has changed becomes files, while readers read and writers write.
//!
//! New files are built from a snapshot, as an import builds them. Commits that were made meanwhile go to
//! the log of the new files. The next manifest makes both valid at once; a crash leaves the old files
//! with the old log, or the new ones with the new log.

use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_io::write::replace_file;

use super::PropertyEntry;
use super::apply::Lookups;
use super::base::Base;
use super::import::{LoadOptions, compacted};
use super::live::{Core, PropertyStore};
use super::log::{Group, LogReader, LogWriter};
use super::orphans::remove_orphans;
use super::state::State;
use nakshi_store::files::manifest_name;
use nakshi_store::import::Hooks;
use nakshi_store::{CachePlan, Manifest, Result, Store};

/// Commits that writers wait for while the last of them are carried over.
const FEW: u64 = 256;
/// Times that commits are carried over without that.
const ROUNDS: usize = 8;

/// Bytes of commits that are carried over together.
const GROUP: u64 = 8 << 20;

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CompactReport {
    /// Nodes and edges in the new files.
    pub nodes: u64,
    /// Edges in the new files.
    pub edges: u64,
    /// Bytes of the log before.
    pub log_bytes: u64,
    /// Bytes of the property files before, and now.
    pub property_bytes: (u64, u64),
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Seconds for which writers had to wait at the end.
    pub waited: f64,
}

/// New files and their log, on the way to the present.
struct Next {
    manifest: Manifest,
    state: State,
    lookups: Lookups,
    /// Reads the old log.
    old: LogReader,
    log: LogWriter,
    bytes: u64,
}

impl PropertyStore {
    /// Makes the log part of the files. Readers and writers go on meanwhile; snapshots stay what they
    /// are.
    ///
    /// # Errors
    /// [`nakshi_store::Error::Locked`] if another process writes; those of an import. The store is what it
    /// was then.
    pub fn compact(&self, options: &LoadOptions, hooks: &Hooks) -> Result<CompactReport> {
        let began = std::time::Instant::now();
        let _alone = self.alone(&hooks.cancel)?;
        self.start_writing(&hooks.cancel)?;
        self.flush()?;
        let (snapshot, log_bytes) = (self.snapshot(), self.log_bytes());
        let old = Store::open(&self.path, &self.options)?;
        let manifest = compacted(&self.fs, &old, &snapshot, options, hooks)?;
        let switched = self.switch(&old, &manifest, hooks);
        if switched.is_err() {
            // The new files are nobody's.
            let _ = remove_orphans(self.fs.as_ref(), &self.path, old.manifest());
        }
        let waited = switched?;
        if let Err(error) = remove_orphans(self.fs.as_ref(), &self.path, &manifest) {
            tracing::warn!("files that nobody needs are left behind: {error}");
        }
        let before = PropertyEntry::of(old.manifest())?.unwrap_or_default();
        let entry = PropertyEntry::of(&manifest)?.unwrap_or_default();
        Ok(CompactReport {
            nodes: entry.nodes,
            edges: entry.edges,
            log_bytes,
            property_bytes: (before.bytes(), entry.bytes()),
            seconds: began.elapsed().as_secs_f64(),
            waited,
        })
    }

    /// Carries over the commits that the new files lack, and makes them the files of the store; seconds
    /// for which writers had to wait.
    fn switch(&self, old: &Arc<Store>, manifest: &Manifest, hooks: &Hooks) -> Result<f64> {
        let store = Store::open_as(&self.path, manifest.clone(), &self.options)?;
        let base = Base::open(&store, self.options.memory, &hooks.cancel)?;
        let room = base.lookups();
        let state = State::new(Arc::new(base));
        let mut old = LogReader::new(&self.path, old.manifest())?;
        // What the files contain.
        old.read_until(state.commit, &hooks.cancel)?;
        let log = LogWriter::begin(&self.fs, &LogReader::new(&self.path, manifest)?)?;
        let lookups = Lookups::new(store, room, &hooks.cancel);
        let manifest = manifest.clone();
        let mut next = Next { manifest, state, lookups, old, log, bytes: 0 };
        for _ in 0..ROUNDS {
            hooks.check()?;
            if next.carry_over(&hooks.cancel)? <= FEW {
                break;
            }
        }
        let began = std::time::Instant::now();
        let paused = self.pause()?;
        next.carry_over(&hooks.cancel)?;
        hooks.check()?;
        let done = self.take_over(&mut self.lock(), next);
        drop(paused);
        done.map(|()| began.elapsed().as_secs_f64())
    }

    /// The new files and their log become those of the store.
    fn take_over(&self, core: &mut Core, next: Next) -> Result<()> {
        // Its vertices are others now.
        CachePlan::remove(self.fs.as_ref(), &self.path)?;
        let path = self.path.join(manifest_name(next.manifest.generation));
        if let Err(error) = replace_file(self.fs.as_ref(), &path, &next.manifest.to_bytes()?) {
            // Which of the two manifests a crash would leave is not known.
            core.writing.iter_mut().for_each(|writing| writing.fail(&error.to_string()));
            return Err(error.into());
        }
        let mut reader = LogReader::new(&self.path, &next.manifest)?;
        reader.skip_to(next.state.commit, next.bytes);
        self.reached(core, reader);
        self.publish(next.state.clone());
        if let Some(writing) = &mut core.writing {
            writing.move_to(next.state, next.lookups, next.log);
        }
        Ok(())
    }
}

impl Next {
    /// Makes the commits that have come to the old log, and writes them to the new one; their number.
    fn carry_over(&mut self, cancel: &CancelToken) -> Result<u64> {
        let (mut group, mut commits) = (Group::default(), 0);
        let Next { state, lookups, old, log, bytes, .. } = self;
        let mut write = |group: &Group| {
            log.write(group)?;
            *bytes += group.bytes();
            Ok(())
        };
        old.read(cancel, |commit, changes| {
            state.make(commit, changes, lookups)?;
            commits += 1;
            group.push_encoded(commit, changes.encoded()?)?;
            if group.bytes() < GROUP {
                return Ok(());
            }
            write(&std::mem::take(&mut group))
        })?;
        if group.len() > 0 {
            write(&group)?;
        }
        Ok(commits)
    }
}
