//! The threads of a phase.

use crate::{Error, Result};

/// Runs `work(worker)` on `threads` threads, one at least; the results in the order of the workers.
///
/// # Errors
/// [`Error::Invalid`] if one of them panicked.
pub(crate) fn side_by_side<T: Send>(
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Result<Vec<T>> {
    let results: Vec<_> = std::thread::scope(|scope| {
        let work = &work;
        let spawn = |worker| scope.spawn(move || work(worker));
        let workers: Vec<_> = (0..threads.max(1)).map(spawn).collect();
        workers.into_iter().map(|worker| worker.join()).collect()
    });
    let panicked = |_| {
        Error::Invalid(
            "a worker of the import panicked; this is a fault of nakshi, please report it".into(),
        )
    };
    results.into_iter().map(|result| result.map_err(panicked)).collect()
}
