//! The context of a long call: cancellation, deadline, memory budget, threads, progress.

use crate::error::{Error, Result};
use nakshi_io::CancelToken;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Receives the progress of a run; called from worker threads, at most a few
/// times per second and thread.
pub trait Progress: Send + Sync {
    /// `done` of `total` units of `phase` are finished; `total` is 0 when unknown.
    fn update(&self, phase: &str, done: u64, total: u64);
}

/// A progress sink that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _phase: &str, _done: u64, _total: u64) {}
}

/// Placement of the edge lists during a run: in memory or on the SSD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineMode {
    /// The lists are in memory if the budget allows, else on the SSD.
    #[default]
    Auto,
    /// The compressed lists are loaded into memory.
    Memory,
    /// The lists are read from the SSD as they are needed.
    Ssd,
}

impl fmt::Display for EngineMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineMode::Auto => "auto",
            EngineMode::Memory => "memory",
            EngineMode::Ssd => "ssd",
        })
    }
}

/// The context of a long call. Cheap to clone; clones share the cancel token.
#[derive(Clone)]
pub struct Context {
    cancel: CancelToken,
    started: Instant,
    deadline: Option<Instant>,
    memory: Option<u64>,
    threads: OnceLock<usize>,
    mode: EngineMode,
    selective: bool,
    static_cache: bool,
    holds: bool,
    traced: bool,
    progress: Arc<dyn Progress>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("deadline", &self.deadline)
            .field("memory", &self.memory)
            .field("threads", &self.threads())
            .field("mode", &self.mode)
            .field("selective", &self.selective)
            .field("static_cache", &self.static_cache)
            .finish_non_exhaustive()
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// No deadline, no budget, one thread per core, mode [`EngineMode::Auto`], silent.
    pub fn new() -> Self {
        Context {
            cancel: CancelToken::new(),
            started: Instant::now(),
            deadline: None,
            memory: None,
            threads: OnceLock::new(),
            mode: EngineMode::Auto,
            selective: false,
            static_cache: false,
            holds: false,
            traced: false,
            progress: Arc::new(NoProgress),
        }
    }

    /// Uses `threads` worker threads (at least one).
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = OnceLock::from(threads.max(1));
        self
    }

    /// Stops when `cancel` is set.
    pub fn with_cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Stops with [`Error::Deadline`] when `allowed` has passed from now.
    pub fn with_timeout(mut self, allowed: Duration) -> Self {
        self.started = Instant::now();
        self.deadline = self.started.checked_add(allowed);
        self
    }

    /// Memory budget in bytes for state, index, heads, buffers and cache together;
    /// `None` is no limit.
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Placement of the edge lists.
    pub fn with_mode(mut self, mode: EngineMode) -> Self {
        self.mode = mode;
        self
    }

    /// Reads pages of selected lists only, as the papers' engines do: no heads, no whole chunks,
    /// no steps against the direction of a search. For experiments; passes over all lists, as
    /// PageRank's, are not affected.
    pub fn with_selective(mut self, selective: bool) -> Self {
        self.selective = selective;
        self
    }

    /// Keeps the lists in memory that the store's [`nakshi_store::CachePlan`] names.
    pub fn with_static_cache(mut self, wanted: bool) -> Self {
        self.static_cache = wanted;
        self
    }

    /// Leaves lists that were loaded into memory there for the next run on the open store, and decodes
    /// them when they are read again. A run from the SSD gives them back, and so does one with a budget
    /// what it does not read itself.
    pub fn with_hold(mut self, wanted: bool) -> Self {
        self.holds = wanted;
        self
    }

    /// Notes every read of the run; see [`crate::Graph::accesses`].
    pub fn with_trace(mut self, wanted: bool) -> Self {
        self.traced = wanted;
        self
    }

    /// Sends progress to `sink`.
    pub fn with_progress(mut self, sink: Arc<dyn Progress>) -> Self {
        self.progress = sink;
        self
    }

    /// The cancel token.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Number of worker threads, at least one.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        *self.threads.get_or_init(cores)
    }

    /// Memory budget in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Placement of the edge lists.
    pub fn mode(&self) -> EngineMode {
        self.mode
    }

    /// True if lists in memory stay there after the run.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// True if only pages of selected lists are read.
    pub fn selective(&self) -> bool {
        self.selective
    }

    /// True if the lists that the store's cache plan names are kept in memory.
    pub fn static_cache(&self) -> bool {
        self.static_cache
    }

    /// True if every read is recorded.
    pub fn traced(&self) -> bool {
        self.traced
    }

    /// The progress sink.
    pub fn progress(&self) -> &dyn Progress {
        self.progress.as_ref()
    }

    /// Fails when the call shall stop. Called once per chunk of work.
    ///
    /// # Errors
    /// [`Error::Cancelled`] or [`Error::Deadline`].
    pub fn check(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.deadline {
            Some(at) if Instant::now() >= at => {
                Err(Error::Deadline { seconds: at.duration_since(self.started).as_secs_f64() })
            }
            _ => Ok(()),
        }
    }
}
