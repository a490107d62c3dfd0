//! What ends a run from outside.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result};

/// What a watcher says when the run cannot go on.
#[derive(Clone, Debug, Default)]
pub struct AbortFlag(Arc<Mutex<Option<(usize, String)>>>);

impl AbortFlag {
    /// Says that a server is lost: whoever waits for a round stops waiting.
    pub fn raise(&self, server: usize, why: impl Into<String>) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        said.get_or_insert_with(|| (server, why.into()));
    }

    /// # Errors
    /// [`Error::Lost`] once it has rung.
    pub(crate) fn check(&self) -> Result<()> {
        let said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match said.clone() {
            Some((server, why)) => Err(Error::Lost { server, why }),
            None => Ok(()),
        }
    }
}
