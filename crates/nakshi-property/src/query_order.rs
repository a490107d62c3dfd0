//! The order in which a query returns nodes and edges, and their counts by the value of a property.

use std::collections::{BTreeSet, HashMap};

use super::schema::Properties;
use super::value::items;
use nakshi_store::{Error, Result};

/// Order and number of the nodes or edges that a query returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryOrder<'o> {
    /// Property by whose values they are sorted, those without it last; by default they keep the
    /// order of the store. Edges without a property `timestamp` are sorted by time under that name.
    pub by: Option<&'o str>,
    /// True to begin with the greatest value.
    pub descending: bool,
    /// Most nodes or edges to return; by default all.
    pub limit: Option<usize>,
}

impl QueryOrder<'_> {
    /// Sorts `found` by the encoded value that `key` returns for each.
    pub(super) fn sort<T>(
        &self,
        found: Vec<T>,
        key: impl Fn(&T) -> Result<Option<Vec<u8>>>,
    ) -> Result<Vec<T>> {
        let keyed = found.into_iter().map(|one| Ok((key(&one)?, one)));
        let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
        // Null is last in either direction; the sort is stable.
        keyed.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) if self.descending => b.cmp(a),
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        Ok(keyed.into_iter().map(|(_, one)| one).collect())
    }

    /// Drops what is beyond the limit.
    pub(super) fn cut<T>(&self, found: &mut Vec<T>) {
        found.truncate(self.limit.unwrap_or(usize::MAX));
    }
}

impl Properties {
    /// The number of a property by whose values nodes or edges can be sorted.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown name, or a property of lists.
    pub(super) fn sortable(&self, name: &str) -> Result<u32> {
        let (property, spec) = self.find(name)?;
        if spec.ty.list {
            return Err(Error::Invalid(format!("'{name}' is {}, which has no order", spec.ty)));
        }
        Ok(property)
    }
}

/// Counts of encoded values, or of the items of lists.
#[derive(Debug, Default)]
pub(super) struct ValueCounts {
    counts: HashMap<Option<Vec<u8>>, u64>,
    lists: bool,
}

impl ValueCounts {
    /// Counts the items of values if these are `lists`: an item counts once for each list that has it.
    pub(super) fn new(lists: bool) -> Self {
        ValueCounts { counts: HashMap::new(), lists }
    }

    pub(super) fn add(&mut self, value: Option<Vec<u8>>) {
        match value.as_deref().filter(|_| self.lists) {
            None => *self.counts.entry(value).or_default() += 1,
            Some(list) => {
                let items: BTreeSet<&[u8]> = items(list).collect();
                for item in items {
                    *self.counts.entry(Some(item.to_vec())).or_default() += 1;
                }
            }
        }
    }

    /// The counts, the most frequent value first, ties by value.
    pub(super) fn finish(self) -> Vec<(Option<Vec<u8>>, u64)> {
        let mut counts: Vec<_> = self.counts.into_iter().collect();
        counts.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        counts
    }
}
