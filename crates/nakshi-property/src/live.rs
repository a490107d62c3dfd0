//! A property graph that is written to: one writer, commits in groups, readers that keep what they see.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use nakshi_io::CancelToken;
use nakshi_io::write::{FileLock, WriteFs};

use super::apply::Lookups;
use super::base::Base;
use super::graph::PropertyGraph;
use super::log::{Change, Group, LogReader, LogWriter};
use super::state::State;
use nakshi_store::files::with_newest;
use nakshi_store::{Error, OpenOptions, Result, Store};

/// The lock of the writer.
const LOCK: &str = "write.lock";
/// A group waits for writers that were in the last one, this part of the time that a group takes.
const PATIENCE: u32 = 4;
/// For so long whoever waits for the disk does not sleep.
const AWAKE: Duration = Duration::from_micros(300);

/// A store with properties that can be changed.
///
/// Opening reads; the first change makes this handle the only writer of the store, until it is dropped.
/// Any number of threads may read and write through one handle.
///
/// What is promised: a commit is durable before it is acknowledged, and visible only then; it is
/// visible whole or not at all; commits are made one after the other, and every reader sees the state
/// after one of them (serializable for writers, snapshots for readers).
#[derive(Debug)]
pub struct PropertyStore {
    pub(super) path: PathBuf,
    pub(super) fs: Arc<dyn WriteFs>,
    pub(super) options: OpenOptions,
    /// The last commit that is durable.
    published: ArcSwap<PropertyGraph>,
    core: Mutex<Core>,
    done: Condvar,
    /// Its number, for those who wait without the lock.
    durable: AtomicU64,
}

/// What writers share.
#[derive(Debug)]
pub(super) struct Core {
    /// Up to where the log has been read, by a handle that does not write.
    pub(super) reader: LogReader,
    /// What makes this handle the writer.
    pub(super) writing: Option<Writing>,
}

#[derive(Debug)]
pub(super) struct Writing {
    _lock: FileLock,
    process: u32,
    /// After all commits that were made, durable or not.
    pub(super) tip: State,
    lookups: Lookups,
    waiting: Group,
    /// Nothing while a thread writes a group, or before the first.
    log: Option<LogWriter>,
    busy: bool,
    /// Whether new commits wait.
    paused: bool,
    /// Commits and seconds of the last group.
    last: (usize, Duration),
    /// Why nothing can be written any more.
    broken: Option<String>,
}

/// While it lives, no commit is made.
pub(super) struct Paused<'s>(&'s PropertyStore);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if let Some(writing) = &mut self.0.lock().writing {
            writing.paused = false;
        }
        self.0.done.notify_all();
    }
}

/// A commit that is not known to be durable yet.
#[derive(Debug)]
#[must_use = "a commit is durable when `wait` has returned"]
pub struct Ticket<'s> {
    store: &'s PropertyStore,
    commit: u64,
    changed: u64,
}

impl PropertyStore {
    /// Opens a store with properties.
    ///
    /// # Errors
    /// As [`PropertyGraph::open`].
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        Self::open_with(&nakshi_io::write::default_fs(), path, options)
    }

    /// Like [`PropertyStore::open`], with writing through a file system of the caller's.
    ///
    /// # Errors
    /// As [`PropertyStore::open`].
    pub fn open_with(
        fs: &Arc<dyn WriteFs>,
        path: impl AsRef<Path>,
        options: &OpenOptions,
    ) -> Result<Self> {
        let path = path.as_ref();
        let (state, reader, _) = current(path, options)?;
        Ok(PropertyStore {
            path: path.to_path_buf(),
            fs: Arc::clone(fs),
            options: options.clone(),
            published: ArcSwap::from_pointee(PropertyGraph::of(state)),
            core: Mutex::new(Core { reader, writing: None }),
            done: Condvar::new(),
            durable: AtomicU64::new(0),
        })
    }

    /// The graph after the last commit of this handle, or after the last that it has read.
    pub fn snapshot(&self) -> PropertyGraph {
        PropertyGraph::clone(&self.published.load())
    }

    pub(super) fn publish(&self, state: State) {
        self.published.store(Arc::new(PropertyGraph::of(state)));
    }

    /// The directory of the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of changes in the log.
    pub fn log_bytes(&self) -> u64 {
        self.lock().reader.bytes()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what another process has committed since; whether there was something.
    ///
    /// # Errors
    /// Those of opening and of reading the log.
    pub fn refresh(&self) -> Result<bool> {
        let mut core = self.lock();
        if core.writing.is_some() {
            return Ok(false);
        }
        let before = core.reader.commit();
        let (state, _) = self.latest(&mut core)?;
        self.publish(state);
        Ok(core.reader.commit() != before)
    }

    /// The state after the last commit of any process.
    fn latest(&self, core: &mut Core) -> Result<(State, Arc<Store>)> {
        with_newest(&self.path, |manifest| {
            let known = manifest.generation == core.reader.generation();
            let store = Store::open_as(&self.path, manifest, &self.options)?;
            if !known {
                let (state, reader) = from_files(&store, &self.options)?;
                core.reader = reader;
                return Ok((state, store));
            }
            let mut state = self.snapshot().state().clone();
            // A copy, because the log may be removed while it is read.
            let mut reader = core.reader.clone();
            let mut lookups = Lookups::new(Arc::clone(&store));
            advance(&mut reader, &mut state, &mut lookups, &self.options.cancel)?;
            core.reader = reader;
            Ok((state, store))
        })
    }

    /// Makes changes as one commit, and returns when it is durable: how many of them changed something.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process writes; [`Error::Invalid`] and [`Error::NoNode`] for a
    /// change that is not possible, and then none is made; those of writing, after which the handle
    /// takes no more changes.
    pub fn commit(&self, changes: &[Change]) -> Result<u64> {
        self.submit(changes)?.wait()
    }

    /// Makes changes as one commit, whose durability is waited for later.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`].
    pub fn submit(&self, changes: &[Change]) -> Result<Ticket<'_>> {
        let mut core = self.lock();
        while core.writing.as_ref().is_some_and(|writing| writing.paused) {
            core = self.done.wait(core).unwrap_or_else(PoisonError::into_inner);
        }
        let writing = self.begin(&mut core)?;
        let mut next = writing.tip.clone();
        let mut changed = 0;
        for change in changes {
            changed += u64::from(next.apply(change, &mut writing.lookups)?);
        }
        if changed > 0 {
            next.commit += 1;
            writing.waiting.push(next.commit, changes)?;
            writing.tip = next;
        }
        // What changes nothing may rest on what is not durable yet.
        Ok(Ticket { store: self, commit: writing.tip.commit, changed })
    }

    /// The state of writing, begun if need be.
    pub(super) fn begin<'c>(&self, core: &'c mut Core) -> Result<&'c mut Writing> {
        if core.writing.is_none() {
            let lock = FileLock::acquire(&self.path.join(LOCK))?;
            let (state, store) = self.latest(core)?;
            super::compact::remove_orphans(self.fs.as_ref(), &self.path, store.manifest())?;
            self.publish(state.clone());
            self.durable.store(state.commit, Release);
            core.writing = Some(Writing::new(lock, state, store));
        }
        let writing = core.writing.as_mut().ok_or(Error::Cancelled)?;
        if writing.process != std::process::id() {
            return Err(Error::Locked(self.path.clone()));
        }
        writing.usable(&self.path)?;
        Ok(writing)
    }

    /// Returns when commit number `commit` is durable, having made it so if nobody else does.
    fn wait(&self, commit: u64) -> Result<()> {
        let mut core = self.lock();
        loop {
            let Some(writing) = &mut core.writing else { return Ok(()) };
            if self.is_durable(commit) {
                return Ok(());
            }
            writing.usable(&self.path)?;
            if writing.busy {
                drop(core);
                self.stay_awake(commit);
                core = self.lock();
                let sleep = core.writing.as_ref().is_some_and(|writing| {
                    writing.busy && !self.is_durable(commit) && writing.broken.is_none()
                });
                if !sleep {
                    continue;
                }
                core = self.done.wait(core).unwrap_or_else(PoisonError::into_inner);
            } else {
                core = self.write_group(core)?;
            }
        }
    }

    fn is_durable(&self, commit: u64) -> bool {
        self.durable.load(Acquire) >= commit
    }

    /// Lets others go on until a commit is durable, for a while: a disk that is done in time costs no
    /// falling asleep and waking up.
    fn stay_awake(&self, commit: u64) {
        let began = Instant::now();
        while !self.is_durable(commit) && began.elapsed() < AWAKE {
            std::thread::yield_now();
        }
    }

    /// Writes all commits that wait.
    fn write_group<'c>(&'c self, mut core: MutexGuard<'c, Core>) -> Result<MutexGuard<'c, Core>> {
        let Some(writing) = &mut core.writing else { return Ok(core) };
        writing.busy = true;
        let (before, took) = writing.last;
        let began = Instant::now();
        // Those whom the last group has woken are about to come back.
        let waits = |core: &Core| core.writing.as_ref().map_or(0, |writing| writing.waiting.len());
        while waits(&core) < before && began.elapsed() < took / PATIENCE {
            drop(core);
            std::thread::yield_now();
            core = self.lock();
        }
        let Core { reader, writing } = &mut *core;
        let Some(writing) = writing else { return Ok(core) };
        let group = std::mem::take(&mut writing.waiting);
        let state = writing.tip.clone();
        let log = writing.log.take();
        let position = log.is_none().then(|| reader.clone());
        drop(core);

        let began = Instant::now();
        let written = match (log, position) {
            (Some(log), _) => Ok(log),
            (None, Some(position)) => LogWriter::begin(&self.fs, &position),
            (None, None) => Err(Error::Cancelled),
        };
        let written = written.and_then(|mut log| log.write(&group).map(|()| log));

        core = self.lock();
        let Core { reader, writing } = &mut *core;
        let Some(writing) = writing else { return Ok(core) };
        writing.busy = false;
        writing.last = (group.len(), began.elapsed());
        let result = match written {
            Ok(log) => {
                self.durable.store(state.commit, Release);
                writing.log = Some(log);
                reader.count(group.bytes());
                self.publish(state);
                Ok(())
            }
            Err(error) => {
                writing.broken = Some(error.to_string());
                Err(error)
            }
        };
        self.done.notify_all();
        result.map(|()| core)
    }

    /// Keeps new commits waiting, once all that were submitted are durable.
    pub(super) fn pause(&self) -> Result<Paused<'_>> {
        let paused = Paused(self);
        if let Some(writing) = &mut self.lock().writing {
            writing.paused = true;
        }
        self.flush()?;
        Ok(paused)
    }

    /// Waits until all that was submitted is durable.
    ///
    /// # Errors
    /// Those of writing.
    pub fn flush(&self) -> Result<()> {
        let commit = self.lock().writing.as_ref().map_or(0, |writing| writing.tip.commit);
        self.wait(commit)
    }
}

impl Writing {
    pub(super) fn new(lock: FileLock, tip: State, store: Arc<Store>) -> Self {
        Writing {
            _lock: lock,
            process: std::process::id(),
            tip,
            lookups: Lookups::new(store),
            waiting: Group::default(),
            log: None,
            busy: false,
            paused: false,
            last: (0, Duration::ZERO),
            broken: None,
        }
    }

    /// Takes no more changes.
    pub(super) fn fail(&mut self, why: &str) {
        self.broken = Some(why.to_owned());
    }

    /// Goes on with other files and their log, which are at the same commit.
    pub(super) fn move_to(&mut self, tip: State, lookups: Lookups, log: LogWriter) {
        (self.tip, self.lookups, self.log) = (tip, lookups, Some(log));
    }

    fn usable(&self, path: &Path) -> Result<()> {
        match &self.broken {
            None => Ok(()),
            Some(why) => Err(Error::Invalid(format!(
                "{} takes no changes since writing failed ({why}); open it anew",
                path.display()
            ))),
        }
    }
}

impl Ticket<'_> {
    /// Number of the commit.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// Returns when the commit is durable: how many of its changes changed something.
    ///
    /// # Errors
    /// Those of writing: the commit may be there or not when the store is opened again.
    pub fn wait(self) -> Result<u64> {
        self.store.wait(self.commit)?;
        Ok(self.changed)
    }
}

/// The state after the last commit of a store, and how far its log was read.
fn current(path: &Path, options: &OpenOptions) -> Result<(State, LogReader, Arc<Store>)> {
    with_newest(path, |manifest| {
        let store = Store::open_as(path, manifest, options)?;
        let (state, reader) = from_files(&store, options)?;
        Ok((state, reader, store))
    })
}

/// The state after the last commit in the files and the log of an open store.
fn from_files(store: &Arc<Store>, options: &OpenOptions) -> Result<(State, LogReader)> {
    let base = Base::open(store, options.memory, &options.cancel)?;
    replay(store, State::new(Arc::new(base)), &options.cancel)
}

/// The state after all commits in the log of an open store, and how far it was read.
pub(super) fn replay(
    store: &Arc<Store>,
    mut state: State,
    cancel: &CancelToken,
) -> Result<(State, LogReader)> {
    let mut reader = LogReader::new(store.path(), store.manifest())?;
    advance(&mut reader, &mut state, &mut Lookups::new(Arc::clone(store)), cancel)?;
    Ok((state, reader))
}

/// Makes the commits that have come to the log.
fn advance(
    reader: &mut LogReader,
    state: &mut State,
    lookups: &mut Lookups,
    cancel: &CancelToken,
) -> Result<()> {
    reader.read(|commit, changes| {
        cancel.check()?;
        state.make(commit, &changes, lookups)
    })
}
