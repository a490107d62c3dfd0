//! The room that the temporary files of an import need.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nakshi_io::write::free_space;

use super::options::ImportOptions;
use crate::hooks::{Hooks, Progress};
use crate::sort::spill::ScratchMeter;
use crate::{Error, Result};

/// Edges between two looks at the disk.
const STEP: u64 = 1 << 20;
/// Least bytes from whose share in the edges a need can be told.
const LEAST: u64 = 4 << 20;

/// Share of the input, as its inverse, from which the whole can be told. Less says nothing: the readers of
/// Parquet and Arrow count no bytes.
const SHARE: u64 = 64;

/// The directory of the temporary files, and their bytes.
#[derive(Debug)]
pub(crate) struct Room {
    dir: PathBuf,
    meter: Arc<ScratchMeter>,
    weighted: bool,
    /// Number of edges at which to look next.
    next: AtomicU64,
}

impl Room {
    pub fn new(dir: PathBuf, meter: &Arc<ScratchMeter>, options: &ImportOptions) -> Self {
        let next = AtomicU64::new(STEP);
        Self { dir, meter: Arc::clone(meter), weighted: options.weighted, next }
    }

    /// Looks at the disk now and then while edges are read; `read` has the bytes of input so far and
    /// in total, if they are known.
    ///
    /// # Errors
    /// As [`Room::check`].
    pub fn watch(&self, edges: u64, read: Option<(u64, u64)>, hooks: &Hooks) -> Result<()> {
        let next = self.next.load(Ordering::Relaxed);
        let later = edges + STEP;
        let turn =
            |from| self.next.compare_exchange(from, later, Ordering::Relaxed, Ordering::Relaxed);
        if edges < next || turn(next).is_err() { Ok(()) } else { self.check(edges, read, hooks) }
    }

    /// Tells how much is needed by the `edges` so far, or by all if their share of the input is
    /// known.
    ///
    /// # Errors
    /// [`Error::Scratch`] if the disk has less room.
    pub fn check(&self, edges: u64, read: Option<(u64, u64)>, hooks: &Hooks) -> Result<()> {
        let (live, written) = (self.meter.live(), self.meter.written());
        if written < LEAST {
            return Ok(());
        }
        let needed = self.needed(edges, written, read);
        hooks.tell(Progress { phase: "scratch", done: live, total: Some(needed), edges });
        let (needed, free) = (needed.saturating_sub(live), free_space(&self.dir)?);
        if needed > free {
            return Err(Error::Scratch { needed, free, path: self.dir.clone() });
        }
        Ok(())
    }

    /// Returns the most bytes that will be on the disk at a time, by an estimate that is rather too
    /// low: an import is not refused for nothing.
    fn needed(&self, edges: u64, written: u64, read: Option<(u64, u64)>) -> u64 {
        let known = read.filter(|&(done, total)| done.saturating_mul(SHARE) >= total);
        let whole = |part: u64| {
            let (done, total) = known.unwrap_or((1, 1));
            u64::try_from(u128::from(part) * u128::from(total.max(done)) / u128::from(done.max(1)))
                .unwrap_or(u64::MAX)
        };
        // Every edge is two arcs, which take over from the edges as these are given back.
        let arcs = whole(edges).saturating_mul(if self.weighted { 6 } else { 4 });
        whole(written).max(arcs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_says_nothing_is_left_out() {
        let (dir, meter) = (PathBuf::new(), Arc::default());
        let room = Room::new(dir, &meter, &ImportOptions::default());
        let read_so_far = room.needed(1000, 9000, None);
        assert_eq!(read_so_far, 9000);
        for read in [(0, 1 << 30), (1, 1 << 30), (1000, 64_001)] {
            assert_eq!(room.needed(1000, 9000, Some(read)), read_so_far, "{read:?}");
        }
        assert_eq!(room.needed(1000, 9000, Some((1000, 10_000))), 90_000);
    }
}
