//! Values in frames: those of a publish list that are new, in its order.

use std::ops::Range;
use std::sync::Mutex;

use nakshi_engine::Bitmap;
use nakshi_engine::program::pull::{PullValue, Totals};

use crate::exchange::{BATCH, Batch, FRAME, Session};

/// First byte of a body: values of all positions of a range of the publish list; those that a bitmap
/// names; those that are named one by one; what a server says besides.
const ALL: u8 = 0;
const BITMAP: u8 = 1;
const LISTED: u8 = 2;
pub(super) const SAID: u8 = 3;

/// Kind, first position, positions, bytes that follow: first values, then the names of their positions.
const HEAD: usize = 1 + 4 + 4 + 4;

/// Report of one server to all others in a step, besides values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StepReport {
    /// Vertices that were given a value.
    pub(super) updated: u64,
    /// The totals of these vertices.
    pub(super) totals: Totals,
    /// True if the time of the server is up.
    pub(super) late: bool,
}

/// Position of one communication worker in the publish lists that it sends.
pub(super) struct PublishCursor {
    /// The servers that this worker sends to, in the order of sending.
    order: Vec<usize>,
    at: usize,
    position: usize,
    /// Bytes of a batch.
    most: usize,
}

impl PublishCursor {
    /// Positions for `senders` workers, at most one for each server to send to; at least one.
    pub(super) fn new(server: usize, servers: usize, senders: usize) -> Vec<Mutex<Self>> {
        let senders = senders.min(servers - 1).max(1);
        let part = |sender: usize| {
            // The server after this first, so that not all send to the same.
            let order = (1 + sender..servers).step_by(senders).map(|k| (server + k) % servers);
            let most = BATCH / senders;
            Mutex::new(PublishCursor { order: order.collect(), at: 0, position: 0, most })
        };
        (0..senders).map(part).collect()
    }

    /// Adds frames to a batch until it is full; how many values are in them.
    pub(super) fn fill<T: PullValue>(
        &mut self,
        batch: &mut Batch,
        publish: &[Vec<u32>],
        values: &[T],
        new: &Bitmap,
    ) -> u64 {
        let (mut bytes, mut sent) = (0, 0);
        let all = new.count() == new.len();
        while let Some(&to) = self.order.get(self.at) {
            let list =
                publish.get(to).and_then(|list| list.get(self.position..)).unwrap_or_default();
            if list.is_empty() {
                (self.at, self.position) = (self.at + 1, 0);
                continue;
            }
            if bytes >= self.most {
                batch.more = true;
                return sent;
            }
            let (frame, positions, count) =
                frame(self.position, list, values, (!all).then_some(new));
            self.position += positions;
            sent += count;
            if count > 0 {
                bytes += frame.len();
                batch.frames.push((to, frame));
            }
        }
        sent
    }
}

/// A frame with new values from the front of a publish list, the positions it covers, and the number of
/// values in it. Without `new`, all are.
fn frame<T: PullValue>(
    first: usize,
    list: &[u32],
    values: &[T],
    new: Option<&Bitmap>,
) -> (Vec<u8>, usize, u64) {
    let span = T::SIZE.map_or(FRAME / 8, |size| FRAME / size.max(1)).max(1);
    let mut list = list.get(..span).unwrap_or(list);
    let is_new = |slot: &&u32| new.is_none_or(|new| new.get(**slot as usize));
    let count = list.iter().filter(is_new).count();
    // A position in a list of them takes four bytes, in a bitmap an eighth of one for each position.
    let kind = if count == list.len() {
        ALL
    } else if 32 * count < list.len() {
        LISTED
    } else {
        BITMAP
    };
    let mut frame = Session::frame(HEAD + count * T::SIZE.unwrap_or(8) + list.len() / 8 + 1);
    frame.push(kind);
    // Positions and their number are below 2^32, as vertices are.
    frame.extend_from_slice(&(first as u32).to_le_bytes());
    let numbers = frame.len();
    frame.extend_from_slice(&[0; 8]);
    let mut taken = 0u32;
    for (position, slot) in list.iter().enumerate() {
        if (kind == ALL || is_new(&slot))
            && let Some(value) = values.get(*slot as usize)
        {
            value.encode(&mut frame);
            taken += 1;
        }
        if T::SIZE.is_none() && frame.len() >= FRAME {
            list = list.get(..=position).unwrap_or(list);
            break;
        }
    }
    let named = if kind == LISTED { taken } else { list.len() as u32 };
    match kind {
        BITMAP => {
            for eight in list.chunks(8) {
                let bits = eight.iter().enumerate().filter(|(_, slot)| is_new(slot));
                frame.push(bits.fold(0, |byte, (k, _)| byte | 1 << k));
            }
        }
        LISTED => {
            let positions = (0u32..).zip(list).filter(|(_, slot)| is_new(slot));
            positions.for_each(|(k, _)| frame.extend_from_slice(&k.to_le_bytes()));
        }
        _ => {}
    }
    // A frame is little longer than FRAME and one value, of which a vertex has fewer than 2^32 bytes.
    let bytes = (frame.len() - numbers - 8) as u32;
    let [named, bytes] = [named, bytes].map(u32::to_le_bytes);
    if let Some(place) = frame.get_mut(numbers..numbers + 8) {
        place.copy_from_slice([named, bytes].as_flattened());
    }
    (frame, list.len(), taken.into())
}

fn number(bytes: &mut &[u8]) -> Option<usize> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*number) as usize)
}

/// Puts the values of a frame into the places of its publish list, and marks these, by ranges; none if
/// it is not one.
pub(super) fn take<T: PullValue>(
    kind: u8,
    mut body: &[u8],
    places: &mut [T],
    mut mark: impl FnMut(Range<usize>),
) -> Option<()> {
    let (first, named, bytes) = (number(&mut body)?, number(&mut body)?, number(&mut body)?);
    let names = match kind {
        ALL => 0,
        BITMAP => named.div_ceil(8),
        LISTED => 4 * named,
        _ => return None,
    };
    let (mut values, mut names) = body.split_at_checked(bytes.checked_sub(names)?)?;
    if body.len() != bytes {
        return None;
    }
    let mut put = |position: usize| -> Option<()> {
        *places.get_mut(position)? = T::decode(&mut values)?;
        mark(position..position + 1);
        Some(())
    };
    match kind {
        BITMAP => {
            for (k, byte) in names.iter().enumerate() {
                for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
                    put(first + 8 * k + bit)?;
                }
            }
        }
        LISTED => {
            while !names.is_empty() {
                put(first + number(&mut names)?)?;
            }
        }
        _ => {
            for place in places.get_mut(first..first + named)? {
                *place = T::decode(&mut values)?;
            }
            mark(first..first + named);
        }
    }
    values.is_empty().then_some(())
}

/// Encodes the report of a server as a frame.
pub(super) fn encode(report: &StepReport) -> Vec<u8> {
    let mut frame = Session::frame(0);
    frame.push(SAID);
    frame.push(report.late.into());
    frame.extend_from_slice(&report.updated.to_le_bytes());
    report.totals.encode(&mut frame);
    frame
}

pub(super) fn decode(body: &mut &[u8]) -> Option<StepReport> {
    let (late, rest) = body.split_first()?;
    let (updated, rest) = rest.split_first_chunk()?;
    *body = rest;
    let totals = Totals::decode(body)?;
    Some(StepReport { updated: u64::from_le_bytes(*updated), totals, late: *late != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The values of a list that are sent, by position.
    fn sent<T: PullValue>(list: &[u32], values: &[T], new: &Bitmap) -> Vec<(usize, T)> {
        let cursors = PublishCursor::new(0, 2, 3);
        assert_eq!(cursors.len(), 1);
        let mut cursor = cursors[0].lock().unwrap();
        let (mut found, publish) = (Vec::new(), [Vec::new(), list.to_vec()]);
        loop {
            let mut batch = Batch::default();
            let count = cursor.fill(&mut batch, &publish, values, new);
            let before = found.len();
            for (to, frame) in &batch.frames {
                assert_eq!(*to, 1);
                let (kind, body) = frame[Session::HEADER..].split_first().unwrap();
                let mut places = vec![T::default(); list.len()];
                let mut marked = Vec::new();
                take(*kind, body, &mut places, |range| marked.extend(range)).unwrap();
                found.extend(marked.into_iter().map(|k| (k, places[k].clone())));
                for end in 0..body.len().min(100) {
                    assert!(take(*kind, &body[..end], &mut places, |_| {}).is_none());
                }
            }
            assert_eq!((found.len() - before) as u64, count);
            if !batch.more {
                return found;
            }
        }
    }

    proptest! {
        /// Seen red with a list that ends a position early where values have no fixed size.
        #[test]
        fn new_values_arrive_once(
            list in prop::collection::vec(0u32..300, 0..400),
            share in 0u32..40,
            long in any::<bool>(),
        ) {
            let mut new = Bitmap::new(300);
            (0..300).filter(|v| v * 7 % 40 < share as usize).for_each(|v| new.set(v));
            let expected = |f: &dyn Fn(u32) -> u64| -> Vec<(usize, u64)> {
                let new = list.iter().enumerate().filter(|(_, slot)| new.get(**slot as usize));
                new.map(|(k, slot)| (k, f(*slot))).collect()
            };
            let values: Vec<u64> = (0..300).map(|v| v * v).collect();
            prop_assert_eq!(sent(&list, &values, &new), expected(&|v| u64::from(v) * u64::from(v)));
            let length = |v: u32| if long { 5000 + v } else { v % 3 };
            let lists: Vec<Vec<u32>> = (0..300).map(|v| vec![v; length(v) as usize]).collect();
            let found = sent(&list, &lists, &new);
            let lengths: Vec<_> = found.iter().map(|(k, l)| (*k, l.len() as u64)).collect();
            prop_assert_eq!(lengths, expected(&|v| length(v).into()));
        }

        #[test]
        fn any_bytes_decode_or_do_not(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            for kind in 0..4 {
                let _ = take(kind, &bytes, &mut vec![(0u32, Vec::<u8>::new()); 9], |_| {});
            }
            let _ = decode(&mut bytes.as_slice());
        }
    }
}
