//! A count of the vertices and words that passes and sets touch, for tests of the work that a run does.

use std::cell::Cell;

thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// Counts what this thread does.
pub(crate) fn add(items: usize) {
    DONE.set(DONE.get() + items as u64);
}

/// Forgets what this thread has done.
pub(crate) fn reset() {
    DONE.set(0);
}

/// Vertices and words that this thread has touched.
pub(crate) fn done() -> u64 {
    DONE.get()
}
