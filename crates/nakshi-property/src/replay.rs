//! The state that a store is in: its files, and what its log says has changed since.

use std::sync::Arc;

use nakshi_io::CancelToken;

use super::apply::Lookups;
use super::aside::unless_cancelled;
use super::log::LogReader;
use super::state::State;
use nakshi_store::{Result, Store};

/// The state after all commits in the log of an open store, and how far it was read.
pub(super) fn replay(
    store: &Arc<Store>,
    mut state: State,
    cancel: &CancelToken,
) -> Result<(State, LogReader)> {
    let mut reader = LogReader::new(store.path(), store.manifest())?;
    let mut lookups = Lookups::new(Arc::clone(store), state.base.lookups(), cancel);
    let done = advance(&mut reader, &mut state, &mut lookups, cancel);
    let (state, ()) = unless_cancelled(state, done)?;
    Ok((state, reader))
}

/// Makes the commits that have come to the log.
pub(super) fn advance(
    reader: &mut LogReader,
    state: &mut State,
    lookups: &mut Lookups,
    cancel: &CancelToken,
) -> Result<()> {
    reader.read(cancel, |commit, changes| state.make(commit, changes, lookups))
}
