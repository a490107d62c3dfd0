//! A flag by which a caller stops a long call.

use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which a call that waits for something checks its cancel token.
pub const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A flag shared between a caller and the calls that it may stop.
///
/// Clones share the flag. Long calls check it between units of work and while they wait for a
/// device, and return [`Error::Cancelled`].
#[derive(Debug, Clone, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
    parent: Option<Arc<CancelToken>>,
}

impl CancelToken {
    /// Makes a token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a token that is cancelled with this one, or alone.
    pub fn child(&self) -> Self {
        CancelToken { flag: Arc::default(), parent: Some(Arc::new(self.clone())) }
    }

    /// Asks every call that holds a clone of this token to stop. A cancelled token stays cancelled.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Returns true once [`cancel`](Self::cancel) was called.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
            || self.parent.as_ref().is_some_and(|parent| parent.is_cancelled())
    }

    /// Returns [`Error::Cancelled`] once the token is cancelled.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
