//! A graph without weights, with new lists for some vertices.

use std::path::Path;
use std::sync::Arc;

use nakshi_io::write::WriteFs;

use super::job::{AmendJob, AmendOptions};
use super::lists::NewLists;
use super::places::{Amendment, NewNumbers};
use crate::budget::threads_of;
use crate::hooks::Hooks;
use crate::{Direction, Error, Manifest, Result, Store, StoreBuilder};

/// Bytes that a thread needs beside the longest list, for lists as read and lists encoded anew.
const THREAD_MEMORY: u64 = 16 << 20;

/// Bytes of memory that [`amend()`] needs at least.
///
/// # Errors
/// [`Error::Unsupported`] for a source without one of the directions.
pub fn amend_memory(source: &Store, changes: Amendment<'_>) -> Result<u64> {
    let vertices = source.num_vertices() + changes.added.len() as u64;
    let places = if changes.removed.is_empty() { 0 } else { 4 * vertices };
    let index: u64 = source.manifest().adjacency.iter().map(Manifest::index_memory).sum();
    // The order of the ids, twice: of the source, and while that of the new store is written.
    Ok(places + index + 8 * vertices + list_memory(source)? + (8 << 20))
}

/// Bytes of memory of one thread.
fn list_memory(source: &Store) -> Result<u64> {
    let mut longest = 0;
    for direction in [Direction::Out, Direction::In] {
        longest = longest.max(source.entry(direction)?.max_degree);
    }
    Ok(THREAD_MEMORY + 12 * longest)
}

/// Writes the graph of `source`, which is directed and has no weights, to the new store `destination`:
/// with the vertices of `changes`, and with `lists` in place of the out-lists of their vertices. The
/// source is only read; sections of its manifest, such as properties, stay behind.
///
/// # Errors
/// [`Error::Unsupported`] for an undirected source or one with columns; [`Error::Budget`] with the
/// memory that works; [`Error::Exists`]; those of reading, writing and `lists`; [`Error::Cancelled`].
/// Nothing is left behind then.
pub fn amend(
    fs: &Arc<dyn WriteFs>,
    source: &Store,
    destination: &Path,
    changes: Amendment<'_>,
    lists: NewLists<'_>,
    options: AmendOptions,
    hooks: &Hooks,
) -> Result<Manifest> {
    if !source.directed() || !source.manifest().columns.is_empty() {
        return Err(Error::Unsupported("changes of an undirected or a weighted graph".into()));
    }
    let needed = amend_memory(source, changes)?;
    Error::afford(needed, options.memory)?;
    let spare = options.memory.map_or(u64::MAX, |given| given - needed);
    let others = usize::try_from(spare / 2 / list_memory(source)?).unwrap_or(usize::MAX);
    let threads = threads_of(options.threads).min(others.saturating_add(1));
    let job = AmendJob {
        source,
        changes,
        places: NewNumbers::new(source.num_vertices(), changes)?,
        hooks,
        threads,
        room: (spare / 2).max(1 << 20),
    };
    let mut builder =
        StoreBuilder::create(Arc::clone(fs), destination, job.build_options(Vec::new(), options))?;
    let done = job.write_ids(&mut builder).and_then(|()| job.write_lists(&mut builder, lists));
    // Whatever a cancelled job stumbled over, it is its caller who ended it.
    done.map_err(|error| hooks.check().err().unwrap_or(error))?;
    builder.commit()
}
