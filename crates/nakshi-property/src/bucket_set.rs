//! Buckets: the nodes of a graph by a hash of their ids, for servers that each have a share of the graph.
//!
//! A store with a share has the nodes of its buckets, and every edge that begins or ends at one of them, whole.
//! The other end of such an edge is there as a node without properties. The log has whole commits, like that
//! of every other server; of each commit, the changes of other buckets are left out when it is applied. So
//! the two servers that have the two ends of an edge make and delete it by the same commit.

use std::fmt::Write;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::shard_map::shard_of;
use nakshi_store::ExternalId;

/// Words of a set.
const WORDS: usize = BUCKETS as usize / 64;

/// Number of the buckets of every graph.
pub const BUCKETS: u32 = 1024;

/// The bucket of a node, by its id.
pub fn bucket_of(id: &ExternalId) -> u32 {
    shard_of(&id.clone().into_bytes(), BUCKETS)
}

/// Some of the buckets of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BucketSet([u64; WORDS]);

impl BucketSet {
    /// The set of these buckets; numbers that no bucket has are left out.
    pub fn new(buckets: impl IntoIterator<Item = u32>) -> Self {
        let mut set = BucketSet::default();
        for bucket in buckets {
            if let Some(word) = set.0.get_mut(bucket as usize / 64) {
                *word |= 1 << (bucket % 64);
            }
        }
        set
    }

    /// Returns true if the node with an id is in one of the buckets.
    pub fn has(&self, id: &ExternalId) -> bool {
        self.has_bucket(bucket_of(id))
    }

    /// The buckets of the set, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..BUCKETS).filter(|bucket| self.has_bucket(*bucket))
    }

    /// Number of its buckets.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if it has no bucket.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if all buckets of another set are in this one.
    pub fn has_all(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).all(|(word, other)| other & !word == 0)
    }

    /// The buckets that another set does not have.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= !other);
        self
    }

    /// The buckets that another set has, too.
    #[must_use]
    pub fn intersection(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
        self
    }

    fn has_bucket(&self, bucket: u32) -> bool {
        let word = self.0.get(bucket as usize / 64).copied().unwrap_or(0);
        word >> (bucket % 64) & 1 == 1
    }

    /// The buckets of both sets.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
        self
    }

    /// The set as 128 bytes: bucket `b` is bit `b % 8` of byte `b / 8`.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The set of [`BucketSet::to_bytes`]; `None` for bytes that are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        rest.is_empty().then_some(())?;
        words.try_into().ok().map(BucketSet)
    }
}

/// The bytes in hexadecimal digits.
impl Serialize for BucketSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut digits = String::new();
        for byte in self.to_bytes() {
            write!(digits, "{byte:02x}").map_err(serde::ser::Error::custom)?;
        }
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for BucketSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let wrong = || D::Error::custom("a set of buckets is 256 hexadecimal digits");
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| {
            let pair = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
        let bytes = bytes.filter(|_| rest.is_empty()).ok_or_else(wrong)?;
        BucketSet::from_bytes(&bytes).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bucket of an id is a promise of the format; see the test of shards, which has the same hash.
    #[test]
    fn a_set_has_the_ids_of_its_buckets() {
        let id = ExternalId::U64(42);
        assert_eq!(bucket_of(&id), 770);
        assert_eq!(bucket_of(&ExternalId::Text("42".into())), 770);
        assert!(BucketSet::new([1, 770]).has(&id));
        assert!(!BucketSet::new([0, 769, 771, 9999]).has(&id));
    }

    #[test]
    fn sets_are_compared_and_taken_apart() {
        let (all, even) = (BucketSet::new(0..BUCKETS), BucketSet::new((0..BUCKETS).step_by(2)));
        let odd = all.clone().without(&even);
        assert_eq!((all.len(), odd.len(), odd.iter().next()), (BUCKETS, BUCKETS / 2, Some(1)));
        assert!(all.has_all(&odd) && !odd.has_all(&all) && !odd.has_all(&even));
        assert!(odd.clone().intersection(&even).is_empty());
        assert_eq!(all.clone().intersection(&odd), odd);
        assert_eq!(odd.union(&even), all);
        assert!(all.without(&BucketSet::new(0..BUCKETS)).is_empty());
    }

    #[test]
    fn a_set_survives_json() {
        let set = BucketSet::new((0..BUCKETS).filter(|bucket| bucket % 3 == 1));
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(text.len(), 258);
        assert_eq!(serde_json::from_str::<BucketSet>(&text).unwrap(), set);
        for wrong in ["\"\"", "\"0\"", "\"zz\"", "5", "\"00\""] {
            assert!(serde_json::from_str::<BucketSet>(wrong).is_err(), "{wrong}");
        }
    }
}
