//! Buckets that are not in the share where the list of servers has them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bucket_set::BucketSet;

/// Buckets that commits have moved to other shares than the list of servers says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedBuckets {
    /// Number of the shares of the graph when they were moved. Among another number of shares, none is moved.
    pub shares: u32,
    /// Number of the last commit that has moved some.
    pub since: u64,
    /// The share of each, by its number.
    pub to: BTreeMap<u32, u32>,
}

impl MovedBuckets {
    /// The share to which a bucket was moved among so many shares.
    pub fn share_of(&self, bucket: u32, shares: usize) -> Option<usize> {
        let share = self.to.get(&bucket).filter(|_| self.shares as usize == shares)?;
        Some(*share as usize)
    }

    /// Returns true if none was moved yet.
    pub(super) fn is_empty(&self) -> bool {
        self.to.is_empty()
    }

    /// Moves buckets to one of so many shares by a commit; returns false if they were moved there before.
    pub(super) fn record(
        &mut self,
        buckets: &BucketSet,
        share: u32,
        shares: u32,
        commit: u64,
    ) -> bool {
        let mut next = self.clone();
        if next.shares != shares {
            next = MovedBuckets { shares, ..MovedBuckets::default() };
        }
        next.to.extend(buckets.iter().map(|bucket| (bucket, share)));
        if (next.shares, &next.to) == (self.shares, &self.to) {
            return false;
        }
        *self = MovedBuckets { since: commit, ..next };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_where_the_last_commit_has_moved_them() {
        let mut moved = MovedBuckets::default();
        assert_eq!(moved.share_of(7, 3), None);
        assert!(moved.record(&BucketSet::new([7, 8]), 2, 3, 40));
        assert!(!moved.record(&BucketSet::new([7]), 2, 3, 41));
        assert_eq!((moved.since, moved.share_of(7, 3), moved.share_of(9, 3)), (40, Some(2), None));
        assert!(moved.record(&BucketSet::new([7]), 0, 3, 42));
        assert_eq!((moved.share_of(7, 3), moved.share_of(8, 3)), (Some(0), Some(2)));
        // Another list of servers has other shares.
        assert_eq!(moved.share_of(7, 4), None);
        assert!(moved.record(&BucketSet::new([9]), 3, 4, 50));
        assert_eq!((moved.share_of(9, 4), moved.share_of(8, 4)), (Some(3), None));
    }
}
