//! Vertices by their place among the ids of all servers, in the order that an import gives them.

use std::cmp::Ordering;
use std::collections::HashSet;

use nakshi_engine::VertexId;
use nakshi_engine::program::pull::mixed;
use nakshi_store::is_canonical_integer;

use super::ids::{Ids, Name, order_of};
use crate::exchange::{BATCH, Batch, Session};
use crate::{Error, Result};

/// Ids, each once.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// Ids below `most`, a bit each.
    low: Vec<u64>,
    most: u64,
    high: Vec<u64>,
    /// Length of `high` at which it is sorted again.
    full: usize,
}

/// Fewer ids are not worth sorting.
const FEW: usize = 1 << 16;

impl Distinct {
    /// An empty set for a file of `bytes` bytes. The memory for low ids is at most an eighth of that.
    pub(crate) fn new(bytes: u64) -> Self {
        Distinct { most: bytes.max(1 << 20), full: FEW, ..Distinct::default() }
    }

    #[inline]
    pub(crate) fn add(&mut self, id: u64) {
        if id < self.most {
            let word = (id / 64) as usize;
            if word >= self.low.len() {
                self.low.resize((word + 1).max(self.low.len() * 3 / 2), 0);
            }
            if let Some(word) = self.low.get_mut(word) {
                *word |= 1 << (id % 64);
            }
        } else {
            self.high.push(id);
            if self.high.len() >= self.full {
                self.settle();
            }
        }
    }

    fn settle(&mut self) {
        self.high.sort_unstable();
        self.high.dedup();
        self.full = FEW.max(2 * self.high.len());
    }

    pub(crate) fn join(&mut self, other: Self) {
        if self.low.len() < other.low.len() {
            self.low.resize(other.low.len(), 0);
        }
        self.low.iter_mut().zip(&other.low).for_each(|(a, b)| *a |= b);
        self.high.extend(other.high);
        self.settle();
    }

    /// All ids, ascending.
    pub(crate) fn sorted(mut self) -> Vec<u64> {
        self.settle();
        let mut ids = Vec::with_capacity(self.high.len());
        for (k, mut word) in (0..).zip(self.low) {
            while word != 0 {
                ids.push(64 * k + u64::from(word.trailing_zeros()));
                word &= word - 1;
            }
        }
        ids.extend(self.high);
        ids
    }
}

/// Ids of any kind, each once, as they are found.
#[derive(Debug)]
pub(crate) struct FoundIds {
    /// Whole numbers without a sign, of 64 bits.
    integers: Distinct,
    names: HashSet<Name>,
    kinds: u8,
}

/// There are other whole numbers.
const LARGE: u8 = 1;
/// There are ids that are no whole numbers.
const TEXT: u8 = 2;

impl FoundIds {
    /// An empty set for ids that come in so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        FoundIds { integers: Distinct::new(bytes), names: HashSet::new(), kinds: 0 }
    }

    pub(crate) fn add(&mut self, text: &[u8]) {
        if let Some(id) = integer(text) {
            self.integers.add(id);
            return;
        }
        self.kinds |= if is_canonical_integer(text) { LARGE } else { TEXT };
        if !self.names.contains(text) {
            self.names.insert(text.into());
        }
    }

    /// Numbers the ids of all servers of a session.
    pub(crate) fn numbered(self, session: &mut Session) -> Result<Numbering> {
        let servers = session.servers();
        let mut kinds = self.kinds;
        let mut produce = || {
            let mut frame = Session::frame(0);
            frame.push(self.kinds);
            Ok(Batch { frames: (0..servers).map(|to| (to, frame.clone())).collect(), more: false })
        };
        session.exchange(&mut produce, &mut |_, body| {
            kinds |= body.first().copied().unwrap_or_default();
            Ok(())
        })?;
        let integers = self.integers.sorted();
        if kinds == 0 {
            return Numbering::of_all(&integers, session);
        }
        // Among others, whole numbers are names.
        let whole = kinds & TEXT == 0;
        let order = order_of(whole);
        let mut mine: Vec<Name> = self.names.into_iter().collect();
        mine.extend(integers.iter().map(|id| id.to_string().into_bytes().into()));
        let all = of_all(&mine, session, |a, b| order(a, b))?;
        refuse_too_many(all.len(), session.server())?;
        Ok(Numbering::Names(all, whole))
    }
}

/// The integer of 64 bits without a sign that a text is.
fn integer(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok().filter(|_| is_canonical_integer(text))?.parse().ok()
}

fn refuse_too_many(ids: usize, server: usize) -> Result<()> {
    if VertexId::try_from(ids).is_ok() {
        return Ok(());
    }
    let why = format!("the graph has {ids} vertices; 2^32 - 1 are the most");
    Err(Error::Failed { server, why })
}

/// An id that servers tell each other.
trait Told: Clone + Eq {
    fn put(&self, bytes: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Option<Self>;
    fn hash(&self) -> u64;
}

impl Told for u64 {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*id))
    }

    fn hash(&self) -> u64 {
        mixed(*self)
    }
}

impl Told for Name {
    fn put(&self, bytes: &mut Vec<u8>) {
        super::ids::put_name(self, bytes);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        super::ids::take_name(bytes)
    }

    fn hash(&self) -> u64 {
        self.iter().fold(0, |hash, byte| mixed(hash ^ u64::from(*byte)))
    }
}

/// Frames with ids, of about so many bytes together; `to` says who gets one.
fn frames<'i, I: Told + 'i>(
    ids: &mut std::iter::Peekable<impl Iterator<Item = &'i I>>,
    servers: usize,
    bytes: usize,
    to: impl Fn(&I) -> usize,
) -> Vec<(usize, Vec<u8>)> {
    let (mut frames, mut put) = (vec![Session::frame(0); servers], 0);
    while put < bytes
        && let Some(id) = ids.next()
    {
        if let Some(frame) = frames.get_mut(to(id)) {
            let before = frame.len();
            id.put(frame);
            put += frame.len() - before;
        }
    }
    let frames = frames.into_iter().enumerate();
    frames.filter(|(_, frame)| frame.len() > Session::HEADER).collect()
}

/// The ids that all servers have found, each once, in order. A server gathers those with the same hash, so that
/// nobody gets an id once from everybody.
fn of_all<I: Told>(
    mine: &[I],
    session: &mut Session,
    order: impl Fn(&I, &I) -> Ordering,
) -> Result<Vec<I>> {
    let servers = session.servers();
    let mut left = mine.iter().peekable();
    let mut produce = || {
        let to = |id: &I| (id.hash() % servers as u64) as usize;
        Ok(Batch { frames: frames(&mut left, servers, BATCH, to), more: left.peek().is_some() })
    };
    let mut gathered = received(session, &mut produce)?;
    gathered.sort_unstable_by(&order);
    gathered.dedup();
    let mut left = gathered.iter().peekable();
    let mut produce = || {
        let mut one = frames(&mut left, 1, BATCH / servers, |_| 0);
        let frame = one.pop().map_or_else(|| Session::frame(0), |(_, frame)| frame);
        let frames = (0..servers).map(|to| (to, frame.clone())).collect();
        Ok(Batch { frames, more: left.peek().is_some() })
    };
    let mut all = received(session, &mut produce)?;
    all.sort_unstable_by(&order);
    Ok(all)
}

/// The ids that come in an exchange.
fn received<I: Told>(
    session: &mut Session,
    produce: &mut dyn FnMut() -> Result<Batch>,
) -> Result<Vec<I>> {
    let mut all = Vec::new();
    session.exchange(produce, &mut |from, mut body| {
        while !body.is_empty() {
            let cut = || Error::damaged(from, "an id in it is cut off");
            all.push(I::take(&mut body).ok_or_else(cut)?);
        }
        Ok(())
    })?;
    Ok(all)
}

/// Ids in ascending order: the number of one is its place.
#[derive(Debug)]
pub(crate) enum Numbering {
    /// Whole numbers without a sign, of 64 bits.
    Integers(Integers),
    /// Ids of other kinds; the flag says whether all of them are whole numbers.
    Names(Vec<Name>, bool),
}

impl Numbering {
    /// Numbers ascending integers.
    ///
    /// # Errors
    /// [`Error::Failed`] of `server` for 2^32 and more.
    pub(crate) fn new(ids: Vec<u64>, server: usize) -> Result<Self> {
        Integers::new(ids, server).map(Numbering::Integers)
    }

    /// Numbers the integers that all servers have found, ascending each.
    pub(crate) fn of_all(mine: &[u64], session: &mut Session) -> Result<Self> {
        Numbering::new(of_all(mine, session, u64::cmp)?, session.server())
    }

    /// Number of ids.
    pub(crate) fn len(&self) -> usize {
        match self {
            Numbering::Integers(integers) => integers.ids.len(),
            Numbering::Names(names, _) => names.len(),
        }
    }

    /// The number of an integer.
    #[inline]
    pub(crate) fn number(&self, id: u64) -> Option<VertexId> {
        match self {
            Numbering::Integers(integers) => integers.number(id),
            Numbering::Names(..) => self.named(id.to_string().as_bytes()),
        }
    }

    /// The number of an id, by its text.
    pub(crate) fn named(&self, text: &[u8]) -> Option<VertexId> {
        match self {
            Numbering::Integers(integers) => integers.number(integer(text)?),
            Numbering::Names(_, true) if !is_canonical_integer(text) => None,
            Numbering::Names(names, whole) => {
                let order = order_of(*whole);
                // Fewer than 2^32.
                names.binary_search_by(|name| order(name, text)).ok().map(|at| at as VertexId)
            }
        }
    }

    /// The ids of some numbers.
    pub(crate) fn ids(&self, numbers: &[VertexId]) -> Ids {
        let places = numbers.iter().map(|number| *number as usize);
        match self {
            Numbering::Integers(integers) => {
                Ids::Integers(places.filter_map(|v| integers.ids.get(v).copied()).collect())
            }
            Numbering::Names(names, _) => {
                Ids::Names(places.filter_map(|v| names.get(v).cloned()).collect())
            }
        }
    }
}

/// Whole numbers in ascending order.
#[derive(Debug)]
pub(crate) struct Integers {
    ids: Vec<u64>,
    /// Distances from the first id are cut off by so many bits, to look a number up.
    shift: u32,
    /// Number of ids before those with each shifted distance.
    starts: Vec<VertexId>,
}

impl Integers {
    fn new(ids: Vec<u64>, server: usize) -> Result<Self> {
        refuse_too_many(ids.len(), server)?;
        let first = ids.first().copied().unwrap_or_default();
        let range = ids.last().copied().unwrap_or_default() - first;
        let most = 2 * ids.len().max(1) as u64;
        let shift = (0..64).find(|shift| range >> shift < most).unwrap_or_default();
        let mut starts = vec![0; (range >> shift) as usize + 2];
        for id in &ids {
            if let Some(start) = starts.get_mut(((id - first) >> shift) as usize + 1) {
                *start += 1;
            }
        }
        let mut before = 0;
        for start in &mut starts {
            before += *start;
            *start = before;
        }
        Ok(Integers { ids, shift, starts })
    }

    #[inline]
    fn number(&self, id: u64) -> Option<VertexId> {
        let bucket = (id.checked_sub(*self.ids.first()?)? >> self.shift) as usize;
        let &[from, end] = self.starts.get(bucket..bucket + 2)? else { return None };
        if self.shift == 0 {
            // Ids are close together: a bucket has one at most.
            return (from < end).then_some(from);
        }
        let ids = self.ids.get(from as usize..end as usize)?;
        // No larger than the number of ids, which fits.
        ids.binary_search(&id).ok().map(|k| from + k as VertexId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places() {
        let far: Vec<u64> = (0..5000).map(|k| mixed(k % 3000)).collect();
        let near: Vec<u64> = (0..5000).map(|k| 7 + k % 2000 * 3).collect();
        let mixed_up: Vec<u64> = far.iter().chain(&near).copied().chain([u64::MAX, 0]).collect();
        for given in [Vec::new(), vec![9], near, far, mixed_up] {
            let (mut one, mut other) = (Distinct::new(0), Distinct::new(0));
            given.iter().for_each(|id| if id % 2 == 0 { one.add(*id) } else { other.add(*id) });
            one.join(other);
            let mut sorted = given.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let ids = one.sorted();
            assert!(ids == sorted);
            let numbers = Numbering::new(ids, 0).unwrap();
            for (k, id) in (0..).zip(&sorted) {
                assert_eq!(numbers.number(*id), Some(k));
                for other in [id.wrapping_add(1), id.wrapping_sub(1)] {
                    assert_eq!(
                        numbers.number(other).is_some(),
                        sorted.binary_search(&other).is_ok()
                    );
                }
            }
        }
    }
}
