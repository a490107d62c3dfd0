//! Compaction, which turns the log into files while readers read and writers write.
//!
//! A compaction builds new files from a snapshot, as an import does. Commits that are made
//! meanwhile are carried over to the log of the new files. The next manifest makes both valid at
//! once: a crash leaves the old files with the old log, or the new files with the new log.

use std::sync::Arc;

use nakshi_io::CancelToken;
use nakshi_io::write::replace_file;

use super::PropertyEntry;
use super::aside::free;
use super::base::Base;
use super::bucket_set::BucketSet;
use super::import::{Contents, LoadOptions, compacted};
use super::log::{CommitGroup, LogReader, LogWriter};
use super::lookups::Lookups;
use super::orphans::remove_orphans;
use super::property_store::{Core, PropertyStore};
use super::state::GraphState;
use nakshi_store::files::manifest_name;
use nakshi_store::import::Hooks;
use nakshi_store::{CachePlan, Error, Manifest, Result, Store};

/// Commits for which writers wait, while the last of them are carried over.
const FEW: u64 = 256;
/// Rounds of carrying over commits before writers have to wait.
const ROUNDS: usize = 8;

/// Bytes of commits that are carried over together.
const GROUP: u64 = 8 << 20;

/// Report of a compaction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CompactReport {
    /// Nodes in the new files.
    pub nodes: u64,
    /// Edges in the new files.
    pub edges: u64,
    /// Bytes of the log before the compaction.
    pub log_bytes: u64,
    /// Bytes of the property files before and after.
    pub property_bytes: (u64, u64),
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Seconds for which writers had to wait at the end.
    pub waited: f64,
}

/// New files and their log, which still lack the latest commits.
struct Next {
    manifest: Manifest,
    state: GraphState,
    lookups: Lookups,
    /// Reader of the old log.
    old: LogReader,
    log: LogWriter,
    bytes: u64,
}

/// Guard that keeps the log from being frozen, which would take away what a compaction carries over.
struct Compacting<'s>(&'s PropertyStore);

impl<'s> Compacting<'s> {
    /// Begins a compaction, which writers cancel by `token` if they fill the memory.
    fn begin(store: &'s PropertyStore, token: &CancelToken) -> Self {
        let guard = Compacting(store);
        guard.set(Some(token.clone()));
        guard
    }

    fn set(&self, compacting: Option<CancelToken>) {
        if let Some(writing) = &mut self.0.lock().writing {
            writing.upkeep.compacting = compacting;
        }
    }
}

impl Drop for Compacting<'_> {
    fn drop(&mut self) {
        self.set(None);
    }
}

impl PropertyStore {
    /// Turns the log into files. Readers and writers continue meanwhile, and snapshots stay valid.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes; [`Error::Invalid`] if the handle has a cap of memory
    /// and the changes made meanwhile take a quarter of it; errors of an import. The store is unchanged
    /// then.
    pub fn compact(&self, options: &LoadOptions, hooks: &Hooks) -> Result<CompactReport> {
        self.compact_to(self.buckets().as_ref(), None, options, hooks)
    }

    /// As [`PropertyStore::compact`], with the nodes of some buckets only if there are any, of which `more` has those
    /// that this store lacks.
    pub(super) fn compact_to(
        &self,
        buckets: Option<&BucketSet>,
        more: Option<&PropertyStore>,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<CompactReport> {
        let token = hooks.cancel.child();
        let own = Hooks { cancel: token.clone(), progress: hooks.progress.clone() };
        match self.compact_until(buckets, more, options, &own) {
            Err(Error::Cancelled) if token.is_cancelled() && !hooks.cancel.is_cancelled() => Err(Error::Invalid(
                "the compaction was given up, because the changes made meanwhile filled the memory of \
                 this handle; compact when fewer changes are made, or give the properties more memory"
                    .into(),
            )),
            done => done,
        }
    }

    /// Compacts until the token of `hooks` is cancelled.
    fn compact_until(
        &self,
        buckets: Option<&BucketSet>,
        more: Option<&PropertyStore>,
        options: &LoadOptions,
        hooks: &Hooks,
    ) -> Result<CompactReport> {
        let began = std::time::Instant::now();
        let _alone = self.alone(&hooks.cancel)?;
        self.start_writing(&hooks.cancel)?;
        let _compacting = Compacting::begin(self, &hooks.cancel);
        self.flush()?;
        let (snapshot, log_bytes) = (self.snapshot(), self.log_bytes());
        let old = Store::open(&self.path, &self.options)?;
        let follow =
            |more: &PropertyStore| more.follow_log(&self.path, snapshot.commit(), &hooks.cancel);
        let more = more.map(follow).transpose()?;
        let contents = Contents { graph: &snapshot, buckets, more: more.as_ref() };
        let manifest = compacted(&self.fs, &old, contents, options, hooks)?;
        let switched = self.switch(&old, &manifest, hooks);
        if switched.is_err() {
            // No manifest names the new files.
            let _ = remove_orphans(self.fs.as_ref(), &self.path, old.manifest(), None);
        }
        let waited = switched?;
        if let Err(error) = remove_orphans(self.fs.as_ref(), &self.path, &manifest, None) {
            tracing::warn!("files that nobody needs are left behind: {error}");
        }
        // The state of before: a user who presses Ctrl-C now should not wait for that.
        free(snapshot);
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

    /// Carries over the commits that the new files lack, and makes the new files those of the
    /// store. Returns the seconds for which writers had to wait.
    fn switch(&self, old: &Arc<Store>, manifest: &Manifest, hooks: &Hooks) -> Result<f64> {
        let store = Store::open_as(&self.path, manifest.clone(), &self.options)?;
        let base = Base::open(&store, self.options.memory, &hooks.cancel)?;
        let budget = base.lookups();
        let state = GraphState::of_files(Arc::new(base));
        let mut old = LogReader::new(&self.path, old.manifest())?;
        // Commits that the new files contain.
        old.read_until(state.commit, &hooks.cancel)?;
        let log = LogWriter::begin(&self.fs, &LogReader::new(&self.path, manifest)?)?;
        let lookups = Lookups::new(store, budget, &hooks.cancel);
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

    /// Makes the new files and their log those of the store.
    fn take_over(&self, core: &mut Core, next: Next) -> Result<()> {
        // The new files number the vertices differently.
        CachePlan::remove(self.fs.as_ref(), &self.path)?;
        let path = self.path.join(manifest_name(next.manifest.generation));
        if let Err(error) = replace_file(self.fs.as_ref(), &path, &next.manifest.to_bytes()?) {
            // After a crash, either manifest might be valid.
            core.writing.iter_mut().for_each(|writing| writing.fail(&error.to_string()));
            return Err(error.into());
        }
        let mut reader = LogReader::new(&self.path, &next.manifest)?;
        reader.skip_to(next.state.commit, next.bytes);
        self.reached(core, reader);
        self.publish(next.state.clone());
        if let Some(writing) = &mut core.writing {
            writing.move_to(&next.manifest, next.state, next.lookups, next.log);
        }
        Ok(())
    }
}

impl Next {
    /// Applies the commits that were added to the old log, and writes them to the new log; returns
    /// their number.
    fn carry_over(&mut self, cancel: &CancelToken) -> Result<u64> {
        let (mut group, mut commits) = (CommitGroup::default(), 0);
        let Next { state, lookups, old, log, bytes, .. } = self;
        let mut write = |group: &CommitGroup| {
            log.write(group)?;
            *bytes += group.bytes();
            Ok(())
        };
        old.read(cancel, |commit, changes| {
            state.make(commit, changes, lookups)?;
            commits += 1;
            group.push(commit, changes.encoded()?)?;
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
