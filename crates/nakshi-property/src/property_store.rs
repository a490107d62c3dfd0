//! Writer of a property graph: one writer, group commits, and readers that keep their snapshot.

use std::hash::RandomState;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use nakshi_io::write::{FileLock, WriteFs};
use nakshi_io::{CancelToken, merge_freed_memory_at_once};

use super::aside::unless_cancelled;
use super::commit_log::CommitLog;
use super::conflict::{RecentWrites, WrittenKeys};
use super::graph::PropertyGraph;
use super::keep::{Touched, keep};
use super::log::{Change, CommitGroup, EncodedChanges, LogReader, LogWriter, TransactionMark};
use super::lookups::Lookups;
use super::orphans::remove_orphans;
use super::replay::{advance, current, from_files};
use super::state::GraphState;
use super::turns::Turns;
use super::upkeep::Upkeep;
use nakshi_store::files::with_newest;
use nakshi_store::{Error, Manifest, OpenOptions, Result, Store};

/// Name of the file that the writer locks.
const LOCK: &str = "write.lock";
/// How long a commit waits for the freezing of a full log before it looks again.
const FREEZE_WAIT: Duration = Duration::from_millis(50);
/// How often a thread yields to others before it sleeps until the shared state is unlocked.
const LOCK_YIELDS: u32 = 64;
/// How long a forked child waits for a lock that a thread of its parent may have held when it forked.
const FORK_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of changes at which [`PropertyStore::commit_all`] begins another commit. A commit that is
/// being written cannot be stopped, and all that it replaces is freed together.
const COMMIT: usize = 4 << 20;
/// How many times its limit the log may take while a compaction runs, of a handle with a cap of memory.
const WHILE_COMPACTING: u64 = 4;

/// Number of the next session of a writer.
static SESSIONS: AtomicU64 = AtomicU64::new(1);

/// A store with properties that can be changed.
///
/// A new handle only reads. Its first change makes it the only writer of the store, until it is
/// dropped. Any number of threads may read and write through one handle.
///
/// Guarantees: a commit is durable before it is acknowledged, and visible only then, as a whole.
/// Commits are made one after the other, and every reader sees the state after one of them. Writers
/// are therefore serializable, and readers have snapshot isolation.
#[derive(Debug)]
pub struct PropertyStore {
    pub(super) path: PathBuf,
    pub(super) fs: Arc<dyn WriteFs>,
    pub(super) options: OpenOptions,
    /// State after the last durable commit.
    pub(super) published: ArcSwap<PropertyGraph>,
    pub(super) core: Mutex<Core>,
    pub(super) done: Condvar,
    /// Number of the last durable commit, for threads that wait without the lock.
    pub(super) durable: AtomicU64,
    /// Number of the last submitted commit of this writer, for the same.
    pub(super) submitted: AtomicU64,
    /// Bytes of changes in the log.
    pub(super) logged: AtomicU64,
    /// Set while this handle is the writer.
    pub(super) writes: AtomicBool,
    /// Set when another handle of this process has taken the place of this one, which then refuses
    /// changes.
    retired: AtomicBool,
    /// Id of the process that opened the store.
    pub(super) process: u32,
    /// Held while the files are exchanged, or the writer's lock is released.
    alone: Mutex<()>,
    /// Hashes what transactions read and commits write.
    pub(super) hasher: RandomState,
    /// Order of the transactions that run alone.
    pub(super) turns: Turns,
    /// True while a thread makes commits durable for which no thread waits.
    pub(super) flushing: AtomicBool,
    /// The number that the next new edge gets.
    next_edge: AtomicU64,
    /// The handle itself, if it is shared; see [`PropertyStore::shared`].
    me: OnceLock<Weak<PropertyStore>>,
    /// Set when the log is full; cleared when somebody begins to freeze it.
    pub(super) full: AtomicBool,
    /// True while a thread freezes and merges.
    pub(super) tending: AtomicBool,
    /// Threads that wait until nobody else exchanges the files; a merge makes way for them.
    pub(super) wanted_alone: AtomicU64,
    /// Bytes at which the log is frozen, if a test has set them.
    pub(super) frozen_at: AtomicU64,
    /// The last session that has ended because another server makes the commits; 0 for none.
    pub(super) deposed: AtomicU64,
    /// True if commits are made only while the handle leads, or follows another one.
    pub(super) replicated: AtomicBool,
}

/// State that the threads of a writer share.
#[derive(Debug)]
pub(super) struct Core {
    /// Position in the log up to which a handle that does not write has read.
    pub(super) reader: LogReader,
    /// State of writing; `None` unless this handle is the writer.
    pub(super) writing: Option<Writing>,
}

#[derive(Debug)]
pub(super) struct Writing {
    /// Lock of the writer; `None` once a broken writer has released it.
    lock: Option<FileLock>,
    pub(super) process: u32,
    /// Differs from every other time at which a handle of this process was the writer.
    pub(super) session: u64,
    /// State after all commits that were submitted, durable or not.
    pub(super) tip: GraphState,
    pub(super) lookups: Lookups,
    /// What commits have written that running transactions may have read.
    pub(super) recent: RecentWrites,
    pub(super) waiting: CommitGroup,
    /// The current log file; `None` before the first group, and while a thread writes one.
    pub(super) log: Option<LogWriter>,
    /// The layers' files.
    pub(super) upkeep: Upkeep,
    pub(super) busy: bool,
    /// True while new commits have to wait for a compaction.
    pub(super) paused: bool,
    /// Number of the transaction that runs alone, and until when other commits wait for it.
    pub(super) alone: Option<(u64, Instant)>,
    /// Number of commits of the last group, and how long writing it took.
    pub(super) last: (usize, Duration),
    /// Reason why nothing can be written any more.
    pub(super) broken: Option<String>,
    /// The log of several servers, which has a commit before this one's.
    pub(super) agreed: Option<Arc<dyn CommitLog>>,
    /// True once another server makes the commits.
    pub(super) deposed: bool,
}

/// A commit that may not be durable yet.
#[derive(Debug)]
#[must_use = "a commit is durable when `wait` has returned"]
pub struct Ticket<'s> {
    store: &'s PropertyStore,
    session: u64,
    pub(super) commit: u64,
    /// Number of its changes that changed something.
    pub changed: u64,
}

impl PropertyStore {
    /// Opens a store with properties.
    ///
    /// # Errors
    /// As [`PropertyGraph::open`].
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::open_with(&nakshi_io::write::default_fs(), path, options)
    }

    /// Like [`PropertyStore::open`]; all writes go through the file system `fs`.
    ///
    /// # Errors
    /// As [`PropertyStore::open`].
    pub fn open_with(
        fs: &Arc<dyn WriteFs>,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        // The states of a log are trees of small pieces.
        merge_freed_memory_at_once();
        let (state, reader, _) = current(path, options, &options.cancel)?;
        Ok(PropertyStore {
            logged: AtomicU64::new(reader.bytes()),
            path: path.to_path_buf(),
            fs: Arc::clone(fs),
            options: options.clone(),
            published: ArcSwap::from_pointee(PropertyGraph::of(state)),
            core: Mutex::new(Core { reader, writing: None }),
            done: Condvar::new(),
            durable: AtomicU64::new(0),
            submitted: AtomicU64::new(0),
            writes: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            process: std::process::id(),
            alone: Mutex::new(()),
            hasher: RandomState::new(),
            turns: Turns::new(),
            flushing: AtomicBool::new(false),
            next_edge: AtomicU64::new(0),
            me: OnceLock::new(),
            full: AtomicBool::new(false),
            tending: AtomicBool::new(false),
            wanted_alone: AtomicU64::new(0),
            frozen_at: AtomicU64::new(0),
            deposed: AtomicU64::new(0),
            replicated: AtomicBool::new(false),
        })
    }

    /// Shares the handle. Threads in the background then freeze its log and merge its fragments; those of
    /// a handle that is not shared are frozen and merged by the commits that fill the log.
    pub fn shared(self) -> Arc<Self> {
        let store = Arc::new(self);
        // It is set once, here.
        let _ = store.me.set(Arc::downgrade(&store));
        store
    }

    /// How many have the handle, if it is shared.
    pub(super) fn sharers(&self) -> Option<usize> {
        self.me.get().map(Weak::strong_count)
    }

    pub(super) fn shared_self(&self) -> Option<Arc<Self>> {
        self.me.get().and_then(Weak::upgrade)
    }

    /// The graph after the last durable commit of this handle, or after the last commit that it has
    /// read.
    pub fn snapshot(&self) -> PropertyGraph {
        PropertyGraph::clone(&self.published.load())
    }

    pub(super) fn publish(&self, state: GraphState) {
        self.published.store(Arc::new(PropertyGraph::of(state)));
    }

    /// The directory of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of changes in the log.
    pub fn log_bytes(&self) -> u64 {
        self.logged.load(Relaxed)
    }

    /// Returns true while this handle is the only writer of the store.
    pub fn is_writer(&self) -> bool {
        self.writes.load(Relaxed)
    }

    /// Takes the bytes of the log from its reader.
    pub(super) fn count_log(&self, reader: &LogReader) {
        self.logged.store(reader.bytes(), Relaxed);
    }

    /// Records the position up to which the log was read or written.
    pub(super) fn reached(&self, core: &mut Core, reader: LogReader) {
        self.logged.store(reader.bytes(), Relaxed);
        core.reader = reader;
    }

    /// Locks the state that threads share. A commit holds it for some microseconds, which is less than
    /// falling asleep and waking up takes.
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        for _ in 0..LOCK_YIELDS {
            if let Ok(core) = self.core.try_lock() {
                return core;
            }
            std::thread::yield_now();
        }
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`PropertyStore::lock`], with a time-out in a forked process, where the thread that held
    /// the lock may exist in the parent only.
    ///
    /// # Errors
    /// [`Error::Locked`] after the time-out.
    pub(super) fn enter(&self) -> Result<MutexGuard<'_, Core>> {
        if self.process == std::process::id() {
            return Ok(self.lock());
        }
        let began = Instant::now();
        loop {
            match self.core.try_lock() {
                Ok(core) => return Ok(core),
                Err(TryLockError::Poisoned(core)) => return Ok(core.into_inner()),
                Err(TryLockError::WouldBlock) if began.elapsed() < FORK_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Locked(self.path.clone())),
            }
        }
    }

    /// Waits until no other thread exchanges the files or releases the writer's lock.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(super) fn alone(&self, cancel: &CancelToken) -> Result<MutexGuard<'_, ()>> {
        // A merge makes way for whoever waits.
        self.wanted_alone.fetch_add(1, AcqRel);
        let alone = loop {
            match self.alone.try_lock() {
                Ok(alone) => break Ok(alone),
                Err(TryLockError::Poisoned(alone)) => break Ok(alone.into_inner()),
                Err(TryLockError::WouldBlock) => {
                    if let Err(error) = cancel.check() {
                        break Err(error.into());
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        };
        self.wanted_alone.fetch_sub(1, AcqRel);
        alone
    }

    /// Reads the commits that other processes have made since the last read; returns true if there
    /// were any.
    ///
    /// # Errors
    /// Errors of opening and of reading the log.
    pub fn refresh(&self) -> Result<bool> {
        self.refresh_until(&self.options.cancel)
    }

    /// Like [`PropertyStore::refresh`], with a cancel token. A cancelled call leaves the handle as
    /// it was.
    ///
    /// # Errors
    /// As [`PropertyStore::refresh`]; [`Error::Cancelled`].
    pub fn refresh_until(&self, cancel: &CancelToken) -> Result<bool> {
        let (reader, state) = {
            let core = self.enter()?;
            if core.writing.is_some() {
                return Ok(false);
            }
            (core.reader.clone(), self.snapshot().state().clone())
        };
        let before = reader.commit();
        // The lock is not held here, so another thread may start writing, or refresh first.
        let (state, reader, _) = self.latest(&reader, state, cancel)?;
        let mut core = self.enter()?;
        if core.writing.is_none() && core.reader.commit() <= reader.commit() {
            self.reached(&mut core, reader);
            self.publish(state);
        }
        Ok(core.reader.commit() != before)
    }

    /// The state after the last commit of any process, given `state`, up to which `reader` has
    /// read.
    fn latest(
        &self,
        reader: &LogReader,
        state: GraphState,
        cancel: &CancelToken,
    ) -> Result<(GraphState, LogReader, Arc<Store>)> {
        with_newest(&self.path, |manifest| {
            let known = manifest.generation == reader.manifest();
            let store = Store::open_as(&self.path, manifest, &self.options)?;
            if !known {
                let (state, reader) = from_files(&store, &self.options, Some(&state), cancel)?;
                return Ok((state, reader, store));
            }
            // Clones, because the log may be removed while it is read.
            let (mut reader, mut state) = (reader.clone(), state.clone());
            let mut lookups = Lookups::new(Arc::clone(&store), state.base.lookups(), cancel);
            let done = advance(&mut reader, &mut state, &mut lookups, cancel);
            let (state, ()) = unless_cancelled(state, done)?;
            Ok((state, reader, store))
        })
    }

    /// Makes this handle the only writer of the store, after reading the commits of others. The
    /// first change does so as well.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes; [`Error::Poisoned`]; errors of reading;
    /// [`Error::Cancelled`].
    pub fn start_writing(&self, cancel: &CancelToken) -> Result<()> {
        self.begin(&mut *self.enter()?, cancel).map(|_| ())
    }

    /// Waits for pending commits and a running compaction, and then releases the writer's lock. The
    /// next change makes this handle the writer again, unless writing has failed.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn release(&self, cancel: &CancelToken) -> Result<()> {
        if self.process != std::process::id() && self.enter().is_err() {
            // At the fork, a thread of the parent held the lock on the state. The lock file is
            // closed in this process already.
            return Ok(());
        }
        let _alone = self.alone(cancel)?;
        loop {
            // Errors are reported to the threads whose commits fail.
            let _ = self.flush();
            let mut core = self.enter()?;
            let Some(writing) = &mut core.writing else { return Ok(()) };
            if writing.process != std::process::id() || writing.broken.is_some() {
                writing.lock = None;
                return Ok(());
            }
            if !writing.busy && writing.waiting.len() == 0 {
                self.end_writing(&mut core);
                return Ok(());
            }
        }
    }

    /// As [`PropertyStore::release`], for good: this handle can still read, but its changes fail
    /// with [`Error::Locked`]. A user of the old handle therefore cannot write beside the new one.
    ///
    /// # Errors
    /// As [`PropertyStore::release`].
    pub fn retire(&self, cancel: &CancelToken) -> Result<()> {
        self.retired.store(true, Release);
        self.release(cancel)
    }

    /// A number that no edge of the store has had, for [`Change::CreateEdge`].
    pub fn new_edge_number(&self) -> u64 {
        let least = self.snapshot().state().log.next_edge;
        self.next_edge.fetch_max(least, Relaxed);
        self.next_edge.fetch_add(1, Relaxed)
    }

    /// Makes changes as one commit, and returns when it is durable. Returns how many of them
    /// changed something.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes; [`Error::Invalid`] and [`Error::NoNode`] for an
    /// impossible change, and then none of the changes is made; errors of writing, after which the
    /// handle refuses changes.
    pub fn commit(&self, changes: &[Change]) -> Result<u64> {
        self.submit(changes)?.wait()
    }

    /// Like [`PropertyStore::commit`], with a cancel token, which counts until the commit is handed
    /// to the writing thread. A cancelled call makes no change.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`]; [`Error::Cancelled`].
    pub fn commit_until(&self, changes: &[Change], cancel: &CancelToken) -> Result<u64> {
        self.submit_as(changes, None, cancel)?.wait()
    }

    /// Makes changes as one commit, and returns before it is durable; [`Ticket::wait`] waits for
    /// that.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`].
    pub fn submit(&self, changes: &[Change]) -> Result<Ticket<'_>> {
        self.submit_as(changes, None, &self.options.cancel)
    }

    /// As [`PropertyStore::submit`], under the number of a transaction if `id` is there.
    pub(super) fn submit_as(
        &self,
        changes: &[Change],
        id: Option<u128>,
        cancel: &CancelToken,
    ) -> Result<Ticket<'_>> {
        let mut core = self.writer(None, cancel)?;
        let writing = self.begin_own(&mut core, cancel)?;
        let mark = id.map(|id| TransactionMark { id, begun: writing.tip.commit });
        let changed = writing.make(changes, mark.as_ref(), &self.hasher)?;
        // A change that changes nothing may depend on a commit that is not durable yet.
        let ticket = self.ticket(writing, changed);
        self.leave(core);
        Ok(ticket)
    }

    /// Makes the changes of an iterator durable, and returns how many of them changed something. A
    /// commit takes up to 4 MiB of encoded changes; more changes make several commits.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`]; errors of `changes`; [`Error::Cancelled`]. Earlier commits
    /// stay.
    pub fn commit_all(
        &self,
        changes: impl IntoIterator<Item = Result<Change>>,
        cancel: &CancelToken,
    ) -> Result<u64> {
        let (mut changes, mut changed) = (changes.into_iter(), 0);
        while let Some(ticket) = self.submit_some(&mut changes, cancel)? {
            changed += ticket.wait()?;
        }
        Ok(changed)
    }

    /// Makes one commit of the next changes; `None` at the end of `changes`.
    fn submit_some(
        &self,
        changes: &mut impl Iterator<Item = Result<Change>>,
        cancel: &CancelToken,
    ) -> Result<Option<Ticket<'_>>> {
        // The iterator may block, so it runs before anything is locked.
        let Some(first) = changes.next() else { return Ok(None) };
        let mut core = self.writer(None, cancel)?;
        let writing = self.begin_own(&mut core, cancel)?;
        writing.note_writes(&self.hasher);
        let (mut next, mut encoded) = (writing.tip.clone(), EncodedChanges::default());
        let mut touched = Touched::default();
        let apply = || {
            let mut changed = 0;
            for change in std::iter::once(first).chain(changes) {
                let change = change?;
                next.refuse_unknown(&change)?;
                if next.apply_new(&change, &mut writing.lookups)? {
                    changed += 1;
                    touched.add(&change, &next.schema);
                    encoded.push(&change);
                }
                if encoded.len() >= COMMIT {
                    break;
                }
            }
            Ok(changed)
        };
        let done = apply();
        let (mut next, changed) = unless_cancelled(next, done)?;
        if changed > 0 {
            keep(&next, touched, cancel)?;
            next.commit += 1;
            writing.waiting.push(next.commit, encoded.finish(None))?;
            writing.advance(next);
        }
        let ticket = self.ticket(writing, changed);
        self.leave(core);
        Ok(Some(ticket))
    }

    /// A ticket for all that was submitted.
    fn ticket(&self, writing: &Writing, changed: u64) -> Ticket<'_> {
        Ticket { store: self, session: writing.session, commit: writing.tip.commit, changed }
    }

    /// Locks the shared state, after waiting for a compaction that has paused the writers, and for a
    /// transaction that runs alone, unless it is number `turn`.
    pub(super) fn writer(
        &self,
        turn: Option<u64>,
        cancel: &CancelToken,
    ) -> Result<MutexGuard<'_, Core>> {
        let mut core = self.enter()?;
        let process = std::process::id();
        loop {
            let writing = core.writing.as_ref().filter(|writing| writing.process == process);
            if writing.is_some_and(|writing| writing.paused) {
                core = self.done.wait(core).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if let Some(writing) = writing
                && self.must_wait(writing)?
            {
                drop(core);
                self.full.store(true, Release);
                self.tend();
                core = self.enter()?;
                let full = core.writing.as_ref().map_or(Ok(false), |one| self.must_wait(one))?;
                if full {
                    cancel.check()?;
                    let waited = self.done.wait_timeout(core, FREEZE_WAIT);
                    (core, _) = waited.unwrap_or_else(PoisonError::into_inner);
                }
                continue;
            }
            let other = writing.and_then(|writing| writing.alone);
            let Some((_, until)) = other.filter(|(number, _)| turn != Some(*number)) else { break };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.done.wait_timeout(core, left);
            (core, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(writing) = &mut core.writing {
            writing.lookups.watch(cancel);
        }
        Ok(core)
    }

    /// Releases the lock on the shared state after a commit, and has the log frozen if it is full.
    pub(super) fn leave(&self, core: MutexGuard<'_, Core>) {
        let full = core.writing.as_ref().is_some_and(|writing| {
            self.submitted.store(writing.tip.commit, Release);
            let (weight, limit) = (writing.tip.log.weight(), self.log_limit(&writing.tip));
            match &writing.upkeep.compacting {
                None => weight > limit,
                Some(compaction) => {
                    if self.options.memory.is_some()
                        && weight > limit.saturating_mul(WHILE_COMPACTING)
                    {
                        compaction.cancel();
                    }
                    false
                }
            }
        });
        drop(core);
        if full {
            self.full.store(true, Release);
        }
        self.tend();
    }

    /// The state of writing; makes this handle the writer if it is not.
    pub(super) fn begin<'c>(
        &self,
        core: &'c mut Core,
        cancel: &CancelToken,
    ) -> Result<&'c mut Writing> {
        let process = std::process::id();
        if core.writing.as_ref().is_some_and(|writing| writing.process != process) {
            // The state belongs to the parent process, and this one neither uses nor drops it.
            std::mem::forget(core.writing.take());
            core.reader.forget();
            self.writes.store(false, Relaxed);
            // A thread that tended the store is in the parent only.
            self.tending.store(false, Release);
            self.full.store(false, Release);
        }
        if core.writing.is_none() {
            if self.retired.load(Acquire) {
                return Err(Error::Locked(self.path.clone()));
            }
            let lock = FileLock::acquire(&self.path.join(LOCK))?;
            let known = self.snapshot().state().clone();
            let (state, reader, store) = self.latest(&core.reader, known, cancel)?;
            self.reached(core, reader);
            remove_orphans(self.fs.as_ref(), &self.path, store.manifest(), None)?;
            self.publish(state.clone());
            self.durable.store(state.commit, Release);
            self.submitted.store(state.commit, Release);
            core.writing = Some(Writing::new(lock, state, store, cancel));
            self.writes.store(true, Relaxed);
        }
        let unwritten = Error::Internal("a writer that was begun is not there");
        let writing = core.writing.as_mut().ok_or(unwritten)?;
        writing.usable(&self.path)?;
        Ok(writing)
    }

    /// Wakes the threads that wait for a transaction that runs alone.
    pub(super) fn wake(&self) {
        self.done.notify_all();
    }
}

impl Writing {
    fn new(lock: FileLock, tip: GraphState, store: Arc<Store>, cancel: &CancelToken) -> Self {
        let upkeep = Upkeep::new(store.manifest());
        let lookups = Lookups::new(store, tip.base.lookups(), cancel);
        Writing {
            upkeep,
            lock: Some(lock),
            process: std::process::id(),
            session: SESSIONS.fetch_add(1, Relaxed),
            tip,
            lookups,
            recent: RecentWrites::default(),
            waiting: CommitGroup::default(),
            log: None,
            busy: false,
            paused: false,
            alone: None,
            last: (0, Duration::ZERO),
            broken: None,
            agreed: None,
            deposed: false,
        }
    }

    /// Makes changes as one commit, which waits for the disk; returns how many of them changed
    /// something.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`]; none of the changes is made then.
    pub(super) fn make(
        &mut self,
        changes: &[Change],
        mark: Option<&TransactionMark>,
        hasher: &RandomState,
    ) -> Result<u64> {
        self.note_writes(hasher);
        let (mut next, mut encoded) = (self.tip.clone(), EncodedChanges::default());
        // A share takes names from changes of other shares, and its commits have the numbers of the whole graph's.
        let shared = next.base.entry().buckets.is_some();
        let done = changes.iter().try_fold(0, |changed, change| {
            next.refuse_unknown(change)?;
            let made = next.apply_new(change, &mut self.lookups)?;
            // In the log of a whole graph, every change has changed something: a share cannot tell.
            if made || shared {
                encoded.push(change);
            }
            Ok(changed + u64::from(made))
        });
        let (mut next, changed) = unless_cancelled(next, done)?;
        keep(&next, Touched::by(changes, &next.schema), &self.lookups.cancel)?;
        if changed > 0 || shared {
            next.commit += 1;
            self.waiting.push(next.commit, encoded.finish(mark))?;
            self.advance(next);
        }
        Ok(changed)
    }

    /// Has the next commit say what it writes, if transactions run.
    fn note_writes(&mut self, hasher: &RandomState) {
        self.lookups.written = self.recent.wanted().then(|| WrittenKeys::new(hasher));
    }

    /// Moves to the state after a commit that waits for the disk.
    fn advance(&mut self, next: GraphState) {
        if let Some(written) = self.lookups.written.take() {
            self.recent.add(next.commit, written);
        }
        self.tip = next;
    }

    /// Refuses all later changes, with this reason.
    pub(super) fn fail(&mut self, why: &str) {
        self.broken = Some(why.to_owned());
    }

    /// Continues with other files and their log, which are at the same commit.
    pub(super) fn move_to(
        &mut self,
        manifest: &Manifest,
        tip: GraphState,
        lookups: Lookups,
        log: LogWriter,
    ) {
        let compacting = self.upkeep.compacting.take();
        self.upkeep = Upkeep::new(manifest);
        self.upkeep.compacting = compacting;
        (self.tip, self.lookups, self.log) = (tip, lookups, Some(log));
    }

    /// Returns true in the process that began to write.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn usable(&self, path: &Path) -> Result<()> {
        if self.deposed {
            return Err(Error::Deposed(path.to_path_buf()));
        }
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(Error::Poisoned { path: path.to_path_buf(), why: why.clone() }),
        }
    }
}

impl Drop for PropertyStore {
    fn drop(&mut self) {
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner);
        if core.writing.as_ref().is_some_and(|writing| writing.process != std::process::id()) {
            // A forked child does not drop the state of its parent's writer.
            std::mem::forget(core.writing.take());
        }
    }
}

impl Ticket<'_> {
    /// Number of the commit.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// Returns when the commit is durable. Returns how many of its changes changed something.
    ///
    /// # Errors
    /// Errors of writing. The commit may or may not be there when the store is opened again.
    pub fn wait(self) -> Result<u64> {
        self.store.wait_as(self.commit, self.session)?;
        Ok(self.changed)
    }
}
