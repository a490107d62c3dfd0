//! The flag that aborts a run from outside.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result};

/// Flag that a watcher sets when the run cannot go on.
#[derive(Clone, Debug, Default)]
pub struct AbortFlag(Arc<Mutex<Option<(usize, String)>>>);

impl AbortFlag {
    /// Sets the flag, because a server is lost: threads that wait for a round stop waiting.
    pub fn raise(&self, server: usize, why: impl Into<String>) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.get_or_insert_with(|| (server, why.into()));
    }

    /// # Errors
    /// [`Error::Lost`] once the flag is set.
    pub(crate) fn check(&self) -> Result<()> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match said.clone() {
            Some((server, why)) => Err(Error::Lost { server, why }),
            None => Ok(()),
        }
    }
}
