//! The state of a store: its files, and the replay of its log onto them.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::CancelToken;

use super::aside::unless_cancelled;
use super::base::{Base, entry_of};
use super::log::LogReader;
use super::lookups::Lookups;
use super::state::GraphState;
use nakshi_store::files::with_newest;
use nakshi_store::{OpenOptions, Result, Store};

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

/// The state of a store after its last commit, and the position of the log's reader.
pub(super) fn current(
    path: &Path,
    options: &OpenOptions,
    cancel: &CancelToken,
) -> Result<(GraphState, LogReader, Arc<Store>)> {
    with_newest(path, |manifest| {
        let store = Store::open_as(path, manifest, options)?;
        let (state, reader) = from_files(&store, options, None, cancel)?;
        Ok((state, reader, store))
    })
}

/// The state after the last commit in the files and the log of an open store. Files that `known` has are
/// not opened again.
pub(super) fn from_files(
    store: &Arc<Store>,
    options: &OpenOptions,
    known: Option<&GraphState>,
    cancel: &CancelToken,
) -> Result<(GraphState, LogReader)> {
    let entry = entry_of(store)?;
    let base = match known.filter(|known| known.base.is_of(store, &entry)) {
        Some(known) => Arc::clone(&known.base),
        None => Arc::new(Base::open(store, options.memory, cancel)?),
    };
    let state = GraphState::of_fragments(base, &entry, store, known, cancel)?;
    replay(store, state, cancel)
}
