//! Passes over vertices in fixed blocks by the [workers](run_workers) of a call, deterministic sums.

use crate::context::Context;
use crate::error::Result;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most vertices per block of a pass. A multiple of 64, so that a block owns its bitmap words.
pub const BLOCK: usize = 1 << 16;
/// Least vertices per block of a pass, below which a second thread costs more than it saves.
const LEAST_BLOCK: usize = 1 << 12;
/// Blocks of a small graph, so that its last block does not leave the other threads idle for long.
const BLOCKS: usize = 32;

/// Vertices per block of a pass over `n` vertices: fixed by them, so that sums by block do not depend on the
/// number of threads.
pub fn block_of(n: usize) -> usize {
    (n / BLOCKS).next_power_of_two().clamp(LEAST_BLOCK, BLOCK)
}

/// Runs `work(worker)` on `threads` workers, which all start or none works: [`nakshi_io::run_workers`].
///
/// # Errors
/// As there.
pub fn run_workers<W, F>(threads: usize, work: F) -> Result<Vec<W>>
where
    W: Send,
    F: Fn(usize) -> Result<W> + Sync,
{
    nakshi_io::run_workers(threads, work)
}

/// Runs `work(worker)` on `threads` workers that draw what they do: [`nakshi_io::share_work`].
///
/// # Errors
/// As there.
pub(crate) fn share_work<W, F>(threads: usize, work: F) -> Result<Vec<W>>
where
    W: Send,
    F: Fn(usize) -> Result<W> + Sync,
{
    nakshi_io::share_work(threads, work)
}

/// A counter from which workers draw the numbers `0..total`, each once, and which
/// can be closed when one of them fails.
#[derive(Debug)]
pub struct Tickets {
    next: AtomicUsize,
    total: usize,
}

impl Tickets {
    /// Tickets `0..total`.
    pub fn new(total: usize) -> Self {
        Tickets { next: AtomicUsize::new(0), total }
    }

    /// Number of tickets, drawn or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The next ticket, or `None` when all are drawn or the counter is closed.
    pub fn draw(&self) -> Option<usize> {
        if self.next.load(Ordering::Relaxed) >= self.total {
            return None;
        }
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        (ticket < self.total).then_some(ticket)
    }

    /// Closes the counter if a worker has failed with `result`, so that the others stop as well.
    ///
    /// # Errors
    /// The error of `result`.
    pub(crate) fn settle<T>(&self, result: Result<T>) -> Result<T> {
        if result.is_err() {
            self.close();
        }
        result
    }

    /// Ends the tickets for all workers.
    pub fn close(&self) {
        self.next.store(self.total, Ordering::Relaxed);
    }
}

/// Runs `f` on the fixed blocks of `0..n`, in any order, on the context's threads.
///
/// # Errors
/// The first error of `f`; [`crate::Error::Cancelled`], [`crate::Error::Deadline`], [`crate::Error::Panicked`].
pub fn parallel_for<F>(cx: &Context, n: usize, f: F) -> Result<()>
where
    F: Fn(Range<usize>) -> Result<()> + Sync,
{
    map_blocks(cx, n, f).map(|_| ())
}

/// Runs `f` on the fixed blocks of `0..n` and returns its results in block order.
/// Folding them in that order gives the same floats for every thread count.
///
/// # Errors
/// As [`parallel_for`].
pub fn map_blocks<T, F>(cx: &Context, n: usize, f: F) -> Result<Vec<T>>
where
    T: Send,
    F: Fn(Range<usize>) -> Result<T> + Sync,
{
    #[cfg(test)]
    crate::work::add(n);
    map_ranges(cx, (n, block_of(n)), || (), |(), range| f(range))
}

/// Cuts `0..n` into ranges of `size` and runs `f` on them, in any order, on the context's threads. Each
/// thread has a state of its own from `init`. Returns the results in the order of the ranges.
///
/// # Errors
/// As [`parallel_for`].
pub fn map_ranges<S, T, F>(
    cx: &Context,
    (n, size): (usize, usize),
    init: impl Fn() -> S + Sync,
    f: F,
) -> Result<Vec<T>>
where
    T: Send,
    F: Fn(&mut S, Range<usize>) -> Result<T> + Sync,
{
    let threads = cx.threads().min(n.div_ceil(size).div_ceil(2));
    map_ranges_on(threads, cx, (n, size), init, f)
}

/// As [`map_ranges`], on `threads` threads.
///
/// # Errors
/// As there.
pub(crate) fn map_ranges_on<S, T, F>(
    threads: usize,
    cx: &Context,
    (n, size): (usize, usize),
    init: impl Fn() -> S + Sync,
    f: F,
) -> Result<Vec<T>>
where
    T: Send,
    F: Fn(&mut S, Range<usize>) -> Result<T> + Sync,
{
    let tickets = Tickets::new(n.div_ceil(size));
    let parts = share_work(threads, |_| {
        let (mut state, mut mine) = (init(), Vec::new());
        let mut work = || {
            while let Some(ticket) = tickets.draw() {
                cx.check()?;
                let from = ticket * size;
                mine.push((ticket, f(&mut state, from..n.min(from + size))?));
            }
            Ok(())
        };
        tickets.settle(work())?;
        Ok(mine)
    })?;
    let mut all: Vec<(usize, T)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(ticket, _)| *ticket);
    Ok(all.into_iter().map(|(_, t)| t).collect())
}

/// Sum of `f(i)` over `0..n`, the same for every thread count.
///
/// # Errors
/// As [`parallel_for`].
pub fn det_sum<F>(cx: &Context, n: usize, f: F) -> Result<f64>
where
    F: Fn(usize) -> f64 + Sync,
{
    Ok(map_blocks(cx, n, |range| Ok(range.map(&f).sum::<f64>()))?.into_iter().sum())
}

/// Runs `f(start, block)` on the fixed blocks of `slice`, each owned by one worker
/// at a time; `start` is the index of the block's first element.
///
/// # Errors
/// As [`parallel_for`].
pub fn for_each_block_mut<T, F>(cx: &Context, slice: &mut [T], f: F) -> Result<()>
where
    T: Send,
    F: Fn(usize, &mut [T]) -> Result<()> + Sync,
{
    #[cfg(test)]
    crate::work::add(slice.len());
    let size = block_of(slice.len());
    let blocks = slice.len().div_ceil(size);
    let threads = cx.threads().min(blocks.div_ceil(2)).max(1);
    let queue = Mutex::new(slice.chunks_mut(size).enumerate());
    share_work(threads, |_| {
        loop {
            // The lock is held only while an iterator advances, which cannot panic.
            let next = queue.lock().unwrap_or_else(|p| p.into_inner()).next();
            let Some((block, part)) = next else { return Ok(()) };
            cx.check()?;
            f(block * size, part)?;
        }
    })
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn sums_do_not_depend_on_threads() {
        let n = 5 * BLOCK + 17;
        let f = |i: usize| 1.0 / (i as f64 + 0.3);
        let one = det_sum(&Context::new().with_threads(1), n, f).unwrap();
        for threads in 2..5 {
            let cx = Context::new().with_threads(threads);
            assert_eq!(det_sum(&cx, n, f).unwrap().to_bits(), one.to_bits());
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let cx = Context::new().with_threads(2);
        let result = parallel_for(&cx, 10 * BLOCK, |r| {
            assert!(r.start != 3 * BLOCK, "planted");
            Ok(())
        });
        assert!(matches!(result, Err(Error::Panicked { message }) if message.contains("planted")));
    }

    #[test]
    fn blocks_are_owned() {
        let cx = Context::new().with_threads(3);
        let mut v = vec![0u32; 3 * BLOCK + 5];
        for_each_block_mut(&cx, &mut v, |start, part| {
            for (i, x) in part.iter_mut().enumerate() {
                *x += (start + i) as u32;
            }
            Ok(())
        })
        .unwrap();
        assert!(v.iter().enumerate().all(|(i, &x)| x as usize == i));
    }

    #[test]
    fn cancel_stops_a_pass() {
        let cx = Context::new().with_threads(2);
        cx.cancel_token().cancel();
        assert!(matches!(parallel_for(&cx, 10, |_| Ok(())), Err(Error::Cancelled)));
    }
}
