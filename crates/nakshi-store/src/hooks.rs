//! What a long job asks and tells its caller: whether to stop, and how far it is.

use std::sync::Arc;

/// How far an import has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is going on: `read`, `sort` or `write`.
    pub phase: &'static str,
    /// Units done: bytes of input in phase `read`, edges afterwards.
    pub done: u64,
    /// Units altogether, where known.
    pub total: Option<u64>,
    /// Edges read so far.
    pub edges: u64,
}

/// What an import asks and tells its caller while it runs.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Stops the import with [`crate::Error::Cancelled`]; looked at every few milliseconds.
    pub cancel: nakshi_io::CancelToken,
    /// Told after every block.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Hooks {
    /// Returns at once, unless the job shall stop.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`] once the caller wants to stop.
    pub fn check(&self) -> crate::Result<()> {
        if self.cancel.is_cancelled() { Err(crate::Error::Cancelled) } else { Ok(()) }
    }

    /// Hands on how far the job is.
    pub fn tell(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}
