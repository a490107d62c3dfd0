//! The time that searches of a kind take: those that are short are answered by the thread that received them.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::v1::Filter;
use crate::v1::query_request::Query;

/// Kinds that are told apart, about.
const KINDS: usize = 1024;
/// A search of this time, in nanoseconds, costs less than another thread does.
const SHORT: u32 = 100_000;
/// After a long search, it takes some short ones until they count: the part of the time that is left of it.
const LEFT: (u64, u64) = (7, 8);

/// Nanoseconds of the last searches of each kind, the longest of them for the longest time.
#[derive(Debug)]
pub(crate) struct Paces(Vec<AtomicU32>);

/// A kind of searches: what they look for, by which properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind(usize);

impl Default for Paces {
    fn default() -> Self {
        Paces((0..KINDS).map(|_| AtomicU32::new(u32::MAX)).collect())
    }
}

impl Kind {
    /// The kind of a search without an order; `None` for other queries.
    pub(crate) fn of(query: &Query) -> Option<Self> {
        let (what, filters): (u8, &[Filter]) = match query {
            Query::Nodes(query) if query.order.is_none() => (0, &query.r#where),
            Query::CountNodes(query) => (1, &query.r#where),
            Query::Frontier(query) => (2, &query.r#where),
            _ => return None,
        };
        let asked = filters.iter().map(|filter| {
            let condition = filter.condition.as_ref().and_then(|one| one.condition.as_ref());
            (&filter.property, condition.map(std::mem::discriminant))
        });
        let asked: Vec<_> = asked.collect();
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one((what, asked));
        Some(Kind(hash as usize % KINDS))
    }
}

impl Paces {
    /// Notes a search.
    pub(crate) fn note(&self, kind: Kind, took: Duration) {
        let Some(pace) = self.0.get(kind.0) else { return };
        let took = u32::try_from(took.as_nanos()).unwrap_or(u32::MAX);
        let left = u64::from(pace.load(Relaxed)) * LEFT.0 / LEFT.1;
        pace.store(took.max(u32::try_from(left).unwrap_or(u32::MAX)), Relaxed);
    }

    /// Returns true if searches of a kind have been short for a while.
    pub(crate) fn are_short(&self, kind: Kind) -> bool {
        self.0.get(kind.0).is_some_and(|pace| pace.load(Relaxed) <= SHORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{CountNodes, Expand, Nodes};

    #[test]
    fn searches_are_short_after_some_short_ones() {
        let by = |property: &str| Filter { property: property.into(), ..Filter::default() };
        let search = |property| {
            let query = Query::Nodes(Nodes { r#where: vec![by(property)], ..Nodes::default() });
            Kind::of(&query).unwrap()
        };
        let (paces, age) = (Paces::default(), search("age"));
        assert_eq!(age.0, search("age").0);
        assert_ne!(age.0, search("name").0);
        assert!(Kind::of(&Query::Expand(Expand::default())).is_none());
        assert!(Kind::of(&Query::CountNodes(CountNodes::default())).is_some());
        for turn in 0..2 {
            let mut needed = 0;
            while !paces.are_short(age) {
                paces.note(age, Duration::from_micros(20));
                needed += 1;
            }
            assert!((40..120).contains(&needed), "{needed} in turn {turn}");
            assert!(!paces.are_short(search("name")));
            paces.note(age, Duration::from_secs(1));
        }
    }
}
