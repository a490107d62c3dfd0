//! Replay of the log onto the files of a store.

use std::sync::Arc;

use nakshi_io::CancelToken;

use super::aside::unless_cancelled;
use super::log::LogReader;
use super::lookups::Lookups;
use super::state::GraphState;
use nakshi_store::{Result, Store};

/// The state of an open store after all commits in its log, and the position of the reader behind
/// them.
pub(super) fn replay(
    store: &Arc<Store>,
    mut state: GraphState,
    cancel: &CancelToken,
) -> Result<(GraphState, LogReader)> {
    let mut reader = LogReader::new(store.path(), store.manifest())?;
    let mut lookups = Lookups::new(Arc::clone(store), state.base.lookups(), cancel);
    let done = advance(&mut reader, &mut state, &mut lookups, cancel);
    let (state, ()) = unless_cancelled(state, done)?;
    Ok((state, reader))
}

/// Applies the commits that were added to the log.
pub(super) fn advance(
    reader: &mut LogReader,
    state: &mut GraphState,
    lookups: &mut Lookups,
    cancel: &CancelToken,
) -> Result<()> {
    reader.read(cancel, |commit, changes| state.make(commit, changes, lookups))
}
