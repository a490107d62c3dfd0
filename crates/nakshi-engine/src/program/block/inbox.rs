//! Messages to vertices, which workers leave at the same time.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::error::Result;
use crate::shared::{share_u32, share_u64, zeroed};
use crate::vertex_set::AtomicBitmap;

/// Memory for a message to each vertex.
pub(super) enum Room {
    /// Messages whose bits fit 32.
    Narrow(Vec<u32>),
    /// Messages of 64 bits.
    Wide(Vec<u64>),
}

impl Room {
    /// Memory for messages to `n` vertices.
    pub(super) fn new(n: usize, narrow: bool) -> Result<Self> {
        Ok(match narrow {
            true => Room::Narrow(zeroed(n, "messages")?),
            false => Room::Wide(zeroed(n, "messages")?),
        })
    }
}

/// A message to each vertex, and flags of the vertices that have got one.
pub(super) struct Inbox<'a> {
    places: Places<'a>,
    /// The message that changes no other one.
    identity: u64,
    got: AtomicBitmap,
}

/// Messages as bits, which differ from those of the identity where a bit is set: no page has to be written
/// before a message comes.
enum Places<'a> {
    Narrow(&'a [AtomicU32]),
    Wide(&'a [AtomicU64]),
}

impl<'a> Inbox<'a> {
    /// An inbox without messages.
    pub(super) fn new(room: &'a mut Room, identity: u64) -> Self {
        let places = match room {
            Room::Narrow(places) => Places::Narrow(share_u32(places)),
            Room::Wide(places) => Places::Wide(share_u64(places)),
        };
        let got = AtomicBitmap::new(match places {
            Places::Narrow(places) => places.len(),
            Places::Wide(places) => places.len(),
        });
        Inbox { places, identity, got }
    }

    /// The vertices that have got a message.
    pub(super) fn got(&self) -> &AtomicBitmap {
        &self.got
    }

    /// The message to a vertex, or the identity.
    #[inline]
    pub(super) fn message(&self, v: usize) -> u64 {
        let bits = match self.places {
            Places::Narrow(places) => places.get(v).map_or(0, |place| place.load(Relaxed).into()),
            Places::Wide(places) => places.get(v).map_or(0, |place| place.load(Relaxed)),
        };
        bits ^ self.identity
    }

    /// Replaces the message to a vertex; the flag is the caller's.
    #[inline]
    pub(super) fn put(&self, v: usize, message: u64) {
        let bits = message ^ self.identity;
        match self.places {
            // Lossless: a program whose messages are narrow has no others.
            Places::Narrow(places) => {
                if let Some(place) = places.get(v) {
                    place.store(bits as u32, Relaxed);
                }
            }
            Places::Wide(places) => {
                if let Some(place) = places.get(v) {
                    place.store(bits, Relaxed);
                }
            }
        }
    }

    /// Makes one message of that to a vertex and another, which several threads may do at the same time.
    #[inline]
    pub(super) fn combine(&self, v: usize, combined: impl Fn(u64) -> u64) {
        let next = |bits: u64| {
            let after = combined(bits ^ self.identity) ^ self.identity;
            (after != bits).then_some(after)
        };
        // An update that would change nothing is refused, and that is all of its failures.
        match self.places {
            Places::Narrow(places) => {
                if let Some(place) = places.get(v) {
                    let next = |bits: u32| next(bits.into()).map(|bits| bits as u32);
                    let _ = place.fetch_update(Relaxed, Relaxed, next);
                }
            }
            Places::Wide(places) => {
                if let Some(place) = places.get(v) {
                    let _ = place.fetch_update(Relaxed, Relaxed, next);
                }
            }
        }
    }
}
