//! Upkeep of the layers while others read and write: the log is frozen when it is full, and fragments are
//! merged in tiers.
//!
//! One thread does both, so that nothing but a compaction changes the layers besides. A freeze has three
//! steps. Commits wait while the log file is changed and the log becomes a layer. Then its fragment is
//! written. At last a manifest names the fragment, and from then on the commits in it are not read from the
//! log any more. A crash leaves the manifest of before, and the log with all commits since, or the new one.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_io::write::replace_file;
use nakshi_store::files::{manifest_name, parse_uuid};
use nakshi_store::{Error, FileEntry, Manifest, OpenOptions, Result, Section, Store, VertexId};

use super::aside::free;
use super::entry::{
    ANY_FORMAT, FragmentEntry, FragmentsEntry, LogStart, MOVED_FORMAT, PropertyEntry, RULES_FORMAT,
};
use super::fragment::{Fragment, FragmentFiles, MergeInput, freeze, merge, moved};
use super::layers::{FILES, Layer, LayerChanges};
use super::log::{LogWriter, log_name};
use super::logstore::LayerId;
use super::orphans::remove_orphans;
use super::property_store::{Core, PropertyStore, Writing};
use super::row_set::RowSet;
use super::state::GraphState;
use super::upkeep::FrozenLog;

/// Fragments of one level that are merged into one of the next.
const FAN_OUT: usize = 4;
/// Bytes of memory that a row takes while it is merged: in lists and sets of its fragment.
const PER_ROW: u64 = 8;
/// Memory for merging, in logs.
const MERGING: u64 = 4;
/// Most bytes of log files that are kept, after their commits are in fragments, for those who read the log.
const KEPT: u64 = 256 << 20;
/// Steps of a merge between two looks at what else is to be done.
const STEPS: u32 = 16;
/// How many times its limit a log may take before commits wait for the freezing.
const FULL: u64 = 2;
/// How long the next attempt waits after one that failed.
const RETRY: Duration = Duration::from_millis(500);

/// How much nicer than the process the thread in the background is.
const TENDING_NICE: i32 = 5;

/// The format of a store with fragments.
const FRAGMENTS_FORMAT: u32 = 4;

/// Guard of the thread in the background: if it panics, commits get the reason in place of waiting for it.
struct Tending(Arc<PropertyStore>);

impl Drop for Tending {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        self.0.tending.store(false, Release);
        if let Some(writing) = &mut self.0.lock().writing {
            let why = "a thread panicked while it froze or merged".to_owned();
            writing.upkeep.failed = Some((why, Instant::now()));
            writing.upkeep.merging = None;
        }
        self.0.wake();
    }
}

impl PropertyStore {
    /// Makes sure that somebody freezes the log if it is full: a thread in the background if the handle is
    /// shared, or else this one.
    pub(super) fn tend(&self) {
        if !self.full.load(Acquire) || !self.may_tend() {
            return;
        }
        let Some(store) = self.shared_self() else {
            self.tend_now();
            return;
        };
        if self.tending.swap(true, AcqRel) {
            return;
        }
        let work = move || {
            // Reads and commits come first. A system that refuses runs this thread as the others.
            let _ = rustix::process::nice(TENDING_NICE);
            let tending = Tending(store);
            let store = &tending.0;
            loop {
                let done = store.tend_now();
                store.tending.store(false, Release);
                // A commit that filled the log before the flag fell has started no thread.
                if !done || !store.full.load(Acquire) || store.tending.swap(true, AcqRel) {
                    return;
                }
            }
        };
        if std::thread::Builder::new().name("nakshi-tend".into()).spawn(work).is_err() {
            self.tending.store(false, Release);
            // Nobody else does it.
            self.tend_now();
        }
    }

    /// Returns false during a compaction, during a merge, which freezes the log itself, and for a moment after
    /// an attempt that failed.
    fn may_tend(&self) -> bool {
        let core = self.lock();
        let Some(upkeep) = core.writing.as_ref().map(|writing| &writing.upkeep) else {
            return false;
        };
        let failed = upkeep.failed.as_ref().is_some_and(|(_, when)| when.elapsed() < RETRY);
        upkeep.compacting.is_none() && upkeep.merging.is_none() && !failed
    }

    /// Freezes the log, and merges fragments; returns false if that failed. The error stays in
    /// [`Upkeep::failed`].
    fn tend_now(&self) -> bool {
        self.full.store(false, Release);
        let done = self.freeze_as_writer().and_then(|()| self.merge_full_tiers());
        let failed = match done {
            // Whoever wants the store to itself comes first.
            Ok(_) | Err(Error::Cancelled | Error::Abandoned) => None,
            Err(error) => {
                tracing::warn!("the log could not be frozen, or fragments not be merged: {error}");
                Some((error.to_string(), Instant::now()))
            }
        };
        let well = failed.is_none();
        if !well {
            self.full.store(true, Release);
        }
        if let Some(writing) = &mut self.lock().writing {
            writing.upkeep.failed = failed;
        }
        self.wake();
        well
    }

    /// Freezes the log if this handle is the writer.
    fn freeze_as_writer(&self) -> Result<()> {
        let cancel = &self.options.cancel;
        let _alone = self.alone(cancel)?;
        if !self.lock().writing.as_ref().is_some_and(Writing::is_ours) {
            return Ok(());
        }
        match self.set_log_aside()? {
            Some(frozen) => self.write_fragment(&frozen, cancel),
            None => Ok(()),
        }
    }

    /// Returns true if the log is full, so that a commit has to wait for the freezing.
    ///
    /// # Errors
    /// [`Error::Invalid`], which says why the log cannot be frozen.
    pub(super) fn must_wait(&self, writing: &Writing) -> Result<bool> {
        let limit = self.log_limit(&writing.tip);
        if writing.upkeep.compacting.is_some()
            || writing.tip.log.weight() < limit.saturating_mul(FULL)
        {
            return Ok(false);
        }
        match &writing.upkeep.failed {
            Some((why, when)) if when.elapsed() < RETRY => Err(Error::Invalid(format!(
                "the changes in memory are full ({} MiB), and freezing them into files failed: {why}; \
                 make room on the disk, and change again",
                limit.saturating_mul(FULL) >> 20
            ))),
            _ => Ok(true),
        }
    }

    /// Bytes that a log may take before it is frozen.
    pub(super) fn log_limit(&self, state: &GraphState) -> u64 {
        match self.frozen_at.load(Relaxed) {
            0 => state.base.log_limit(),
            own => own,
        }
    }

    /// Sets the bytes of memory at which the log is frozen, in place of those that follow from the memory of
    /// the handle; 0 for these.
    pub fn set_log_limit(&self, bytes: u64) {
        self.frozen_at.store(bytes, Relaxed);
    }

    /// Freezes the log: its commits become a compressed fragment on disk, and are not read from the log any
    /// more. Returns whether there was anything to freeze. A log that is full freezes by itself.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes; errors of writing. The log stays in memory then.
    pub fn freeze(&self, cancel: &CancelToken) -> Result<bool> {
        let _alone = self.alone(cancel)?;
        self.start_writing(cancel)?;
        let Some(frozen) = self.set_log_aside()? else { return Ok(false) };
        self.write_fragment(&frozen, cancel)?;
        Ok(true)
    }

    /// Merges fragments until fewer than `fan_out` neighbours are of the same level, or those are too large.
    /// Returns how often it merged. A writer merges by itself, four at a time.
    ///
    /// # Errors
    /// As [`PropertyStore::freeze`]; [`Error::Abandoned`] if the handle is closed or compacted meanwhile.
    pub fn merge_fragments(&self, fan_out: usize) -> Result<u64> {
        let mut merges = 0;
        loop {
            let _alone = self.alone(&self.options.cancel)?;
            let Some(found) = self.next_merge(fan_out.max(2)) else { return Ok(merges) };
            self.merge_layers(found)?;
            merges += 1;
        }
    }

    /// Merges fragments as a writer does by itself: four neighbours of a level at a time.
    ///
    /// # Errors
    /// As [`PropertyStore::merge_fragments`].
    pub fn merge_full_tiers(&self) -> Result<u64> {
        self.merge_fragments(FAN_OUT)
    }

    /// Makes the log a layer; returns that layer, or one that was made before and has no fragment. `None`
    /// if the log has nothing.
    fn set_log_aside(&self) -> Result<Option<FrozenLog>> {
        if let Some(writing) = &self.lock().writing
            && let Some(frozen) = &writing.upkeep.frozen
        {
            return Ok(Some(frozen.clone()));
        }
        let paused = self.pause()?;
        let mut core = self.lock();
        let Core { reader, writing } = &mut *core;
        let Some(writing) = writing else { return Ok(None) };
        writing.usable(&self.path)?;
        if writing.tip.log.is_empty() {
            return Ok(None);
        }
        let commit = writing.tip.commit;
        let next = match &writing.log {
            Some(log) => log.rotate(&self.fs, &self.path, commit),
            // This writer has written nothing yet, and begins a file anyway.
            None => LogWriter::begin(&self.fs, reader),
        };
        let next = match (next, &writing.log) {
            (Ok(next), _) => next,
            (Err(error), Some(log)) => {
                // The header of the next file says that this one has ended.
                if log.withdraw_next(&self.fs, &self.path).is_err() {
                    writing.fail(&error.to_string());
                }
                return Err(error);
            }
            (Err(error), None) => return Err(error),
        };
        let behind = next.number();
        writing.log = Some(next);
        reader.skip_to(commit, 0);
        let layer = writing.upkeep.next_layer;
        writing.upkeep.next_layer += 1;
        let empty = writing.tip.log.next();
        let log = Arc::new(std::mem::replace(&mut writing.tip.log, empty));
        let changes = LayerChanges::Log(log);
        Arc::make_mut(&mut writing.tip.layers).push(Layer { id: layer, changes });
        let schema = Arc::clone(&writing.tip.schema);
        let frozen = FrozenLog { layer, commit, schema, behind };
        writing.upkeep.frozen = Some(frozen.clone());
        self.count_log(reader);
        self.publish(writing.tip.clone());
        drop(core);
        drop(paused);
        Ok(Some(frozen))
    }

    /// Takes the newest state and manifest, and numbers for the files of a fragment.
    fn plan(&self, layer: Option<LayerId>) -> Result<Plan> {
        let mut core = self.lock();
        let gone = Error::Internal("a store without a writer has layers to write");
        let writing = core.writing.as_mut().ok_or(gone)?;
        let upkeep = &mut writing.upkeep;
        let layer = layer.unwrap_or_else(|| {
            upkeep.next_layer += 1;
            upkeep.next_layer - 1
        });
        let (file, generation) = (upkeep.files(), upkeep.generation());
        let manifest = upkeep.manifest.clone();
        Ok(Plan { state: writing.tip.clone(), manifest, layer, file, generation })
    }

    /// Writes a frozen log as a fragment, and puts the fragment in its place.
    fn write_fragment(&self, frozen: &FrozenLog, cancel: &CancelToken) -> Result<()> {
        let plan = self.plan(Some(frozen.layer))?;
        let state = &plan.state;
        let layer = state.layers.iter().find(|one| one.id == frozen.layer);
        let Some(LayerChanges::Log(log)) = layer.map(|layer| &layer.changes) else {
            return Err(Error::Internal("a frozen log is not there"));
        };
        let start_of = |layer: LayerId, v: VertexId, ty: u64| -> Result<(u32, u64)> {
            if layer == FILES {
                let (shard, row) = state.base.dealing().place(v);
                let start = state.base.shard(shard)?.edges.record(row, ty)?.start;
                return Ok((shard as u32, start));
            }
            let of = state.layers.iter().find(|one| one.id == layer);
            match of.map(|one| &one.changes) {
                Some(LayerChanges::Fragment(fragment, _)) => Ok((0, fragment.record(v, ty)?.start)),
                _ => Err(Error::Internal("a deletion in a layer without a fragment")),
            }
        };
        let first = state.filed() + log.named_before();
        let first = VertexId::try_from(first).unwrap_or(VertexId::MAX);
        let number = frozen.schema.edge_number();
        let files = self.files(&plan, cancel)?;
        let (entry, _) = freeze(log, number, first, &start_of, files)?;
        let mut section = plan.section()?;
        {
            let schema = &frozen.schema;
            section.node_properties = schema.nodes.specs().to_vec();
            section.edge_properties = schema.edges.specs().to_vec();
            section.edge_types = schema.types().to_vec();
            section.inverses =
                schema.inverses().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
            section.rules = schema.rules().to_vec();
            section.moved = schema.moved.clone();
        }
        section.next_edge = if log.next_edge > 1 { log.next_edge } else { 0 };
        let begin = section.log(plan.manifest.generation);
        let mut stored = section.fragments.take().unwrap_or_default();
        stored.commit = frozen.commit;
        (stored.more_nodes, stored.more_edges) = (log.more_nodes, log.more_edges);
        stored.next = stored.next.max(frozen.layer + 1);
        stored.log = LogStart {
            generation: begin.generation,
            first: frozen.behind,
            kept: self.kept(begin, frozen.behind),
        };
        stored.list.push(entry.clone());
        let manifest = self.name(&plan, section, stored)?;
        let fragment = Arc::new(self.open_fragment(&manifest, &entry, state, cancel)?);
        let (deleted, layers) = frozen_in_place(state, &fragment);
        self.exchange(manifest, |writing| {
            (writing.tip.deleted, writing.tip.layers) = (deleted, layers);
            writing.upkeep.frozen = None;
            Ok(())
        })
    }

    fn open_fragment(
        &self,
        manifest: &Manifest,
        entry: &FragmentEntry,
        state: &GraphState,
        cancel: &CancelToken,
    ) -> Result<Fragment> {
        let opening = OpenOptions { cancel: cancel.clone(), ..self.options.clone() };
        let store = Store::open_as(&self.path, manifest.clone(), &opening)?;
        Fragment::open(entry, state.opening(&store, cancel))
    }

    fn files<'f>(&'f self, plan: &Plan, cancel: &'f CancelToken) -> Result<FragmentFiles<'f>> {
        let broken = || Error::Internal("the uuid of a store is not 32 hexadecimal digits");
        Ok(FragmentFiles {
            fs: &self.fs,
            dir: &self.path,
            store: parse_uuid(&plan.manifest.uuid).ok_or_else(broken)?,
            page_size: plan.manifest.page_size,
            generation: plan.generation,
            id: plan.layer,
            next: plan.file,
            group: usize::try_from(plan.state.base.log_limit() / 8).unwrap_or(usize::MAX),
            cancel,
        })
    }

    /// The first log file that is kept, when opening reads the files from `first` on.
    fn kept(&self, begin: LogStart, first: u64) -> u64 {
        let (mut kept, mut bytes) = (first, 0);
        while kept > begin.kept {
            let path = self.path.join(log_name(begin.generation, kept - 1));
            bytes += std::fs::metadata(path).map_or(KEPT, |file| file.len());
            if bytes > KEPT {
                break;
            }
            kept -= 1;
        }
        kept
    }

    /// Makes a manifest with these fragments the store's.
    fn name(
        &self,
        plan: &Plan,
        mut section: PropertyEntry,
        fragments: FragmentsEntry,
    ) -> Result<Manifest> {
        section.format = section.format.max(FRAGMENTS_FORMAT);
        let mut specs = section.node_properties.iter().chain(&section.edge_properties);
        if specs.any(|spec| spec.any_of().is_some()) {
            section.format = section.format.max(ANY_FORMAT);
        }
        if !section.rules.is_empty() {
            section.format = section.format.max(RULES_FORMAT);
        }
        if !section.moved.is_empty() {
            section.format = section.format.max(MOVED_FORMAT);
        }
        section.fragments = Some(fragments);
        let broken = |_| Error::Internal("a section of the manifest is no JSON");
        let mut manifest = plan.manifest.clone();
        let name = PropertyEntry::SECTION.to_owned();
        manifest.sections.insert(name, Section::new(&section).map_err(broken)?);
        // A merge writes while others freeze, so its plan is older than the last manifest.
        manifest.generation = match &mut self.lock().writing {
            Some(writing) => {
                let generation = writing.upkeep.generation();
                // From here on this manifest may be there, until `exchange` whatever fails: its files stay,
                // and the next one has a higher number.
                writing.upkeep.attempts += 1;
                generation
            }
            None => return Err(Error::Internal("a store without a writer has layers to write")),
        };
        let path = self.path.join(manifest_name(manifest.generation));
        replace_file(self.fs.as_ref(), &path, &manifest.to_bytes()?)?;
        Ok(manifest)
    }

    /// Has readers and writers use the files of a manifest, and removes those that nobody needs.
    fn exchange(
        &self,
        manifest: Manifest,
        change: impl FnOnce(&mut Writing) -> Result<()>,
    ) -> Result<()> {
        let before;
        let spared;
        {
            let paused = self.pause()?;
            let mut core = self.lock();
            let Core { reader, writing } = &mut *core;
            let gone = Error::Internal("a store without a writer has layers to write");
            let writing = writing.as_mut().ok_or(gone)?;
            before = self.snapshot();
            if let Err(error) = change(writing) {
                writing.fail(&error.to_string());
                return Err(error);
            }
            reader.moved_to(manifest.generation);
            writing.upkeep.manifest = manifest.clone();
            writing.upkeep.attempts = 0;
            spared = writing.upkeep.merging.clone();
            self.publish(writing.tip.clone());
            drop(core);
            drop(paused);
        }
        free(before);
        if let Err(error) =
            remove_orphans(self.fs.as_ref(), &self.path, &manifest, spared.as_deref())
        {
            tracing::warn!("files that nobody needs are left behind: {error}");
        }
        Ok(())
    }

    /// The next layers to merge: a tier that is full.
    fn next_merge(&self, fan_out: usize) -> Option<Range<usize>> {
        let core = self.lock();
        let writing = core.writing.as_ref().filter(|writing| writing.is_ours())?;
        let most = MERGING * writing.tip.base.log_limit() / PER_ROW;
        let rows = |layer: &Layer| match &layer.changes {
            LayerChanges::Fragment(one, _) => {
                let entry = one.entry();
                Some((entry.level, entry.changed + entry.added))
            }
            LayerChanges::Log(_) => None,
        };
        let all: Vec<Option<(u32, u64)>> = writing.tip.layers.iter().map(rows).collect();
        let mut from = 0;
        while let Some(Some((level, _))) = all.get(from) {
            let run = all.iter().skip(from);
            let run = run.take_while(|one| one.is_some_and(|(of, _)| of == *level)).count();
            let sum: u64 = all.iter().skip(from).take(run).flatten().map(|(_, rows)| rows).sum();
            if run >= fan_out && sum <= most {
                return Some(from..from + run);
            }
            from += run;
        }
        None
    }

    /// Merges layers, given by their numbers, into one. Freezes the log in between when it is full.
    fn merge_layers(&self, layers: Range<usize>) -> Result<()> {
        let plan = self.plan(None)?;
        let (inputs, level) = plan.inputs(&layers);
        let older = plan.state.layers.get(..layers.start).unwrap_or_default();
        let older: Vec<LayerId> =
            std::iter::once(FILES).chain(older.iter().map(|layer| layer.id)).collect();
        let prefix = format!("fragment-{}.{}.", plan.generation, plan.layer);
        if let Some(writing) = &mut self.lock().writing {
            writing.upkeep.merging = Some(prefix);
        }
        let merged = self.merge_and_name(&plan, &inputs, level + 1, &older);
        if let Some(writing) = &mut self.lock().writing {
            writing.upkeep.merging = None;
        }
        merged
    }

    fn merge_and_name(
        &self,
        plan: &Plan,
        inputs: &[MergeInput],
        level: u32,
        older: &[LayerId],
    ) -> Result<()> {
        let cancel = &self.options.cancel;
        let mut steps = 0;
        let mut step = || {
            steps += 1;
            if steps % STEPS > 0 {
                return Ok(());
            }
            cancel.check()?;
            if self.wanted_alone.load(Acquire) > 0 || self.is_left() {
                return Err(Error::Abandoned);
            }
            if self.full.swap(false, AcqRel)
                && let Some(frozen) = self.set_log_aside()?
            {
                self.write_fragment(&frozen, cancel)?;
            }
            Ok(())
        };
        let files = self.files(plan, cancel)?;
        let (mut entry, file) = merge(inputs, older, level, files, &mut step)?;
        let ids: Vec<LayerId> = inputs.iter().map(|input| input.fragment.id()).collect();
        // Others may have been frozen since, and have deleted edges of what was merged.
        let now = self.plan(Some(plan.layer))?;
        let mut opened = self.open_fragment(&now.manifest, &entry, &now.state, cancel)?;
        let deleted = deleted_since(&now.state, inputs, &opened)?;
        if !deleted.is_empty() {
            entry.late = Some(self.write_late(plan, file, &deleted)?);
            opened.describe(&entry);
        }
        let mut section = now.section()?;
        let mut stored = section.fragments.take().unwrap_or_default();
        let at = stored.list.iter().position(|one| ids.contains(&one.id)).unwrap_or(0);
        stored.list.retain(|one| !ids.contains(&one.id));
        stored.list.insert(at.min(stored.list.len()), entry);
        stored.next = stored.next.max(plan.layer + 1);
        let manifest = self.name(&now, section, stored)?;
        let changes = LayerChanges::Fragment(Arc::new(opened), Arc::new(deleted));
        let layer = Layer { id: plan.layer, changes };
        self.exchange(manifest, |writing| put_merged(&mut writing.tip, inputs, layer))
    }

    /// Returns true if nobody but the thread in the background has the handle any more.
    fn is_left(&self) -> bool {
        self.tending.load(Acquire) && self.sharers() == Some(1)
    }

    /// Writes the rows of a merged fragment that were deleted meanwhile.
    fn write_late(&self, plan: &Plan, file: u32, deleted: &RowSet) -> Result<FileEntry> {
        let cancel = &self.options.cancel;
        let mut files = FragmentFiles { next: file, ..self.files(plan, cancel)? };
        let (mut sink, mut bytes) = (files.sink("late")?, Vec::new());
        deleted.write(&mut bytes);
        sink.append(&bytes)?;
        let entry = files.finish(sink)?;
        self.fs.sync_dir(&self.path)?;
        Ok(entry)
    }
}

/// What is needed to write a fragment.
struct Plan {
    state: GraphState,
    manifest: Manifest,
    layer: LayerId,
    /// Number of the first file.
    file: u32,
    generation: u64,
}

impl Plan {
    fn section(&self) -> Result<PropertyEntry> {
        let none = Error::Internal("a store with layers has no properties");
        PropertyEntry::of(&self.manifest)?.ok_or(none)
    }

    /// The fragments of some layers, and their highest level.
    fn inputs(&self, layers: &Range<usize>) -> (Vec<MergeInput>, u32) {
        let some = self.state.layers.get(layers.clone()).unwrap_or_default();
        let inputs: Vec<MergeInput> = some
            .iter()
            .filter_map(|layer| match &layer.changes {
                LayerChanges::Fragment(fragment, deleted) => Some(MergeInput {
                    fragment: Arc::clone(fragment),
                    deleted: Arc::clone(deleted),
                }),
                LayerChanges::Log(_) => None,
            })
            .collect();
        let level = inputs.iter().map(|input| input.fragment.entry().level).max().unwrap_or(0);
        (inputs, level)
    }
}

/// Deleted rows and layers of a state in which a fragment takes the place of the frozen log of its number.
fn frozen_in_place(
    state: &GraphState,
    fragment: &Arc<Fragment>,
) -> (Arc<Vec<Arc<RowSet>>>, Arc<Vec<Layer>>) {
    let (mut deleted, mut layers) = (state.deleted.to_vec(), state.layers.to_vec());
    for hidden in fragment.hidden() {
        let rows: Vec<u64> = hidden.rows.iter().collect();
        if hidden.layer == FILES {
            if let Some(set) = deleted.get_mut(hidden.shard as usize) {
                *set = Arc::new(set.with(&rows));
            }
        } else if let Some(layer) = layers.iter_mut().find(|one| one.id == hidden.layer)
            && let LayerChanges::Fragment(_, set) = &mut layer.changes
        {
            *set = Arc::new(set.with(&rows));
        }
    }
    if let Some(layer) = layers.iter_mut().find(|one| one.id == fragment.id()) {
        layer.changes = LayerChanges::Fragment(Arc::clone(fragment), Arc::default());
    }
    (Arc::new(deleted), Arc::new(layers))
}

/// Rows of a merged fragment that fragments have deleted since the merge began.
fn deleted_since(state: &GraphState, inputs: &[MergeInput], merged: &Fragment) -> Result<RowSet> {
    let mut rows = Vec::new();
    for input in inputs {
        let now = state.layers.iter().find(|layer| layer.id == input.fragment.id());
        let Some(LayerChanges::Fragment(_, now)) = now.map(|layer| &layer.changes) else {
            continue;
        };
        if now.len() == input.deleted.len() {
            continue;
        }
        for row in now.iter().filter(|row| !input.deleted.contains(*row)) {
            let (v, ty) = input.fragment.of_row(row)?;
            let position = row - input.fragment.record(v, ty)?.start;
            if let Some(position) = moved(inputs, input.fragment.id(), (v, ty), position)? {
                rows.push(merged.record(v, ty)?.start + position);
            }
        }
    }
    rows.sort_unstable();
    Ok(RowSet::of(rows))
}

/// Puts a merged layer in the place of those that were merged, and has the logs delete its edges in place of
/// theirs.
fn put_merged(tip: &mut GraphState, inputs: &[MergeInput], merged: Layer) -> Result<()> {
    let ids: Vec<LayerId> = inputs.iter().map(|input| input.fragment.id()).collect();
    let id = merged.id;
    let mut layers = Vec::with_capacity(tip.layers.len());
    let mut merged = Some(merged);
    for layer in tip.layers.iter() {
        if ids.contains(&layer.id) {
            layers.extend(merged.take());
            continue;
        }
        let mut layer = layer.clone();
        if let LayerChanges::Log(log) = &mut layer.changes {
            Arc::make_mut(log).move_hidden(&ids, id, |of, v, ty, position| {
                moved(inputs, of, (v, ty), position)
            })?;
        }
        layers.push(layer);
    }
    tip.log.move_hidden(&ids, id, |of, v, ty, position| moved(inputs, of, (v, ty), position))?;
    tip.layers = Arc::new(layers);
    Ok(())
}

/// Numbers of the fragments of a store, for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayersReport {
    /// Number of fragments.
    pub fragments: u64,
    /// Fragments of each level; those of level 0 were frozen, and those of the others merged.
    pub levels: BTreeMap<u32, u64>,
    /// Bytes of the fragments on disk.
    pub fragment_bytes: u64,
    /// Bytes of memory that they take, without a cache.
    pub fragment_memory: u64,
    /// Update pointers: changed nodes and sources of edges, counted in each fragment.
    pub pointers: u64,
    /// Edges that are deleted, and not yet left out by a merge or a compaction.
    pub deleted_edges: u64,
    /// Estimated bytes of the changes in memory, and the bytes at which they are frozen.
    pub log_memory: u64,
    /// The bytes at which they are frozen.
    pub log_limit: u64,
    /// Rows in fragments: what a compaction would move into the files.
    pub debt: u64,
}

impl PropertyStore {
    /// Describes the fragments of the store, and the changes in memory.
    pub fn layers(&self) -> LayersReport {
        let graph = self.snapshot();
        let state = graph.state();
        let fragments = state.layers.iter().filter_map(|layer| match &layer.changes {
            LayerChanges::Fragment(fragment, deleted) => Some((fragment, deleted)),
            LayerChanges::Log(_) => None,
        });
        let deleted = state.deleted.iter().map(|set| set.len()).sum();
        let mut report = LayersReport {
            fragments: 0,
            levels: BTreeMap::new(),
            fragment_bytes: 0,
            fragment_memory: 0,
            pointers: 0,
            deleted_edges: deleted,
            log_memory: state.log.weight(),
            log_limit: self.log_limit(state),
            debt: 0,
        };
        for (fragment, deleted) in fragments {
            let entry = fragment.entry();
            report.fragments += 1;
            *report.levels.entry(entry.level).or_insert(0) += 1;
            report.fragment_bytes += entry.bytes();
            report.fragment_memory += fragment.memory();
            report.pointers += fragment.nodes().len() + fragment.sources().len();
            report.deleted_edges += deleted.len();
            report.debt += entry.changed + entry.added;
        }
        report
    }
}
