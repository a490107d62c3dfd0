//! Hooks of a long job: cancellation and progress.

use std::sync::Arc;

/// Progress of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Name of the phase: `read`, `sort` or `write`; or `scratch`, whose units are bytes of temporary
    /// files, now on the disk and at most.
    pub phase: &'static str,
    /// Units done: bytes of input in phase `read`, edges afterwards.
    pub done: u64,
    /// Units in total, if known.
    pub total: Option<u64>,
    /// Edges read so far.
    pub edges: u64,
}

/// The means by which a caller cancels a job and learns its progress.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Token that stops the job with [`crate::Error::Cancelled`]; checked every few milliseconds.
    pub cancel: nakshi_io::CancelToken,
    /// Function that gets the progress after every block.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}

impl Hooks {
    /// Returns an error if the job is cancelled.
    ///
    /// # Errors
    /// [`crate::Error::Cancelled`] once the caller has cancelled.
    pub fn check(&self) -> crate::Result<()> {
        if self.cancel.is_cancelled() { Err(crate::Error::Cancelled) } else { Ok(()) }
    }

    /// Reports the progress of the job.
    pub fn tell(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}
