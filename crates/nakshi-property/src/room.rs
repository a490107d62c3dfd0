//! A share of the memory that files are loaded into, as long as it has room for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A share of the memory.
#[derive(Debug)]
pub(super) struct MemoryRoom {
    limit: u64,
    used: AtomicU64,
}

/// Bytes of a [`MemoryRoom`] that are taken until this is dropped.
#[derive(Debug)]
pub(super) struct TakenRoom {
    room: Arc<MemoryRoom>,
    bytes: u64,
}

impl MemoryRoom {
    /// A share of `limit` bytes.
    pub(super) fn new(limit: u64) -> Arc<Self> {
        Arc::new(MemoryRoom { limit, used: AtomicU64::new(0) })
    }

    /// Takes bytes; `None` if there are not so many left.
    pub(super) fn take(self: &Arc<Self>, bytes: u64) -> Option<TakenRoom> {
        let more = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(TakenRoom { room: Arc::clone(self), bytes })
    }
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        self.room.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::MemoryRoom;

    #[test]
    fn what_is_dropped_is_free_again() {
        let room = MemoryRoom::new(10);
        let six = room.take(6);
        assert!(six.is_some() && room.take(5).is_none());
        let four = room.take(4);
        assert!(four.is_some());
        drop(six);
        assert!(room.take(6).is_some());
    }
}
