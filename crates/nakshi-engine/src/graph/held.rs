//! Lists that stay in memory with an open store, from one run to the next.

use super::Heads;
use crate::context::EngineMode;
use crate::estimate::Needs;
use crate::source::{Data, Keep, WeightColumn};
use nakshi_store::{Direction, Store};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lists, their first neighbours and weights that runs leave in memory for the runs to come.
#[derive(Debug, Default)]
pub(crate) struct Held {
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    lists: [Option<Data>; 2],
    heads: [Option<Arc<Heads>>; 2],
    columns: Vec<(String, Direction, WeightColumn)>,
    /// Chunks that are kept of lists on the SSD.
    chunks: [Option<Arc<Keep>>; 2],
}

fn slot<T>(slots: &mut [T; 2], direction: Direction) -> &mut T {
    let [out, incoming] = slots;
    match direction {
        Direction::Out => out,
        Direction::In => incoming,
    }
}

impl Held {
    /// The lists that the open store holds.
    pub(crate) fn of(store: &Store) -> Option<&Held> {
        store.companion()
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        // The lock is held during plain assignments only, which cannot be left half done.
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lists of a direction of the store's files.
    pub(crate) fn lists(&self, direction: Direction) -> Option<Data> {
        slot(&mut self.parts().lists, direction).clone()
    }

    /// Holds the lists of a direction from now on.
    pub(crate) fn hold_lists(&self, direction: Direction, data: &Data) {
        *slot(&mut self.parts().lists, direction) = Some(data.clone());
    }

    /// The first neighbours in a direction.
    pub(crate) fn heads(&self, direction: Direction) -> Option<Arc<Heads>> {
        slot(&mut self.parts().heads, direction).clone()
    }

    /// Holds the first neighbours from now on.
    pub(crate) fn hold_heads(&self, direction: Direction, heads: &Arc<Heads>) {
        *slot(&mut self.parts().heads, direction) = Some(Arc::clone(heads));
    }

    /// The weights of this name beside the lists of a direction.
    pub(crate) fn column(&self, name: &str, direction: Direction) -> Option<WeightColumn> {
        let parts = self.parts();
        let found = parts.columns.iter().find(|(n, d, _)| n == name && *d == direction);
        found.map(|(_, _, column)| column.clone())
    }

    /// Holds weights from now on.
    pub(crate) fn hold_column(&self, name: &str, direction: Direction, column: &WeightColumn) {
        let mut parts = self.parts();
        parts.columns.retain(|(n, d, _)| n != name || *d != direction);
        parts.columns.push((name.to_owned(), direction, column.clone()));
    }

    /// Chunks that a run from the SSD has kept of the lists of a direction.
    pub(crate) fn chunks(&self, direction: Direction) -> Option<Arc<Keep>> {
        slot(&mut self.parts().chunks, direction).clone()
    }

    /// Holds chunks from now on.
    pub(crate) fn hold_chunks(&self, direction: Direction, keep: &Arc<Keep>) {
        *slot(&mut self.parts().chunks, direction) = Some(Arc::clone(keep));
    }

    /// Gives back what a run in this mode with these needs does not use; without a run, everything.
    pub(crate) fn release(&self, store: &Store, run: Option<(EngineMode, &Needs)>) {
        let reads = |mode: EngineMode, direction: Direction| {
            let same = |d: &Direction| store.resolve(*d) == direction;
            run.is_some_and(|(own, needs)| own == mode && needs.directions.iter().any(same))
        };
        let in_memory = run.filter(|(mode, _)| *mode == EngineMode::Memory);
        let heads = in_memory.and_then(|(_, needs)| needs.heads).map(|d| store.resolve(d));
        let column = in_memory.and_then(|(_, needs)| needs.column.as_deref());
        let mut parts = self.parts();
        for direction in [Direction::Out, Direction::In] {
            if !reads(EngineMode::Memory, direction) {
                *slot(&mut parts.lists, direction) = None;
            }
            if !reads(EngineMode::Ssd, direction) {
                *slot(&mut parts.chunks, direction) = None;
            }
            if heads != Some(direction) {
                *slot(&mut parts.heads, direction) = None;
            }
        }
        let used = |name: &str, d| column == Some(name) && reads(EngineMode::Memory, d);
        parts.columns.retain(|(name, direction, _)| used(name, *direction));
    }

    /// Bytes that are held.
    pub(crate) fn memory(&self) -> u64 {
        let parts = self.parts();
        let lists = parts.lists.iter().flatten().map(Data::memory);
        let heads = parts.heads.iter().flatten().map(|heads| heads.pairs.len() as u64 * 8);
        let columns = parts
            .columns
            .iter()
            .map(|(_, _, column)| column.data.memory() + column.entries.memory());
        lists.chain(heads).chain(columns).sum()
    }
}
