//! The order in which a query returns nodes and edges, and their counts by the value of a property.

use std::collections::{BTreeSet, HashMap};

use super::schema::Properties;
use super::value::{PropertyType, Value, items};
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
    /// Sorts rows that were found in several parts of a graph by the values that `key` returns for them.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a list.
    pub fn sort_by_value<T>(
        &self,
        found: Vec<T>,
        key: impl Fn(&T) -> Option<Value>,
    ) -> Result<Vec<T>> {
        self.sort(found, |one| key(one).map_or(Ok(None), |value| encoded(&value)))
    }

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

/// A value as it is sorted; `None` for null.
fn encoded(value: &Value) -> Result<Option<Vec<u8>>> {
    let Some(ty) = value.ty() else { return Ok(None) };
    let mut bytes = Vec::new();
    value.encode(PropertyType::of(ty.scalar), &mut bytes)?;
    Ok(Some(bytes))
}

/// Adds up the counts of several parts of a graph, in the order that one part has: the most frequent value
/// first, ties by value.
///
/// # Errors
/// [`Error::Invalid`] for a list.
pub fn added_up(parts: impl IntoIterator<Item = (Value, u64)>) -> Result<Vec<(Value, u64)>> {
    let (mut all, mut values) = (ValueCounts::default(), HashMap::new());
    for (value, count) in parts {
        let key = encoded(&value)?;
        *all.counts.entry(key.clone()).or_default() += count;
        values.insert(key, value);
    }
    let of = |(key, count)| (values.remove(&key).unwrap_or(Value::Null), count);
    Ok(all.finish().into_iter().map(of).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_merged_as_one_graph_would_answer() {
        let text = |text: &str| Value::String(text.to_owned());
        let parts =
            [(text("b"), 2), (Value::Null, 1), (text("a"), 1), (Value::Null, 1), (text("b"), 1)];
        let added = added_up(parts).unwrap();
        assert_eq!(added, [(text("b"), 3), (Value::Null, 2), (text("a"), 1)]);
        let order = QueryOrder { descending: true, ..QueryOrder::default() };
        let rows = vec![(1, Value::Int(-3)), (2, Value::Null), (3, Value::Int(5))];
        let sorted = order.sort_by_value(rows, |(_, value)| Some(value.clone())).unwrap();
        assert_eq!(sorted.iter().map(|(row, _)| *row).collect::<Vec<_>>(), [3, 1, 2]);
    }
}
