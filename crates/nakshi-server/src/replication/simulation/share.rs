//! The buckets of commits, and the files of a store that has some of them.

use std::collections::BTreeMap;

use nakshi_property::{BucketSet, MovedBuckets};

use crate::placement::Placement;

/// The buckets of all commits.
pub(super) const BUCKETS: [u32; 4] = [7, 100, 500, 900];
/// A commit as the stores have it.
pub(super) enum Change {
    In(u32),
    Move { buckets: Vec<u32>, to: u32 },
}

impl Change {
    /// A change of a node in a bucket, of a client that has made `count` before.
    pub(super) fn node(bucket: u32, client: u64, count: u64) -> Vec<u8> {
        format!("{bucket}:{client}:{count}").into_bytes()
    }

    pub(super) fn moving(buckets: &BucketSet, to: usize, id: u64) -> Vec<u8> {
        let buckets: Vec<_> = buckets.iter().map(|bucket| bucket.to_string()).collect();
        format!("move {to} {} {id}", buckets.join(",")).into_bytes()
    }

    pub(super) fn read(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        if let Some((bucket, _)) = text.split_once(':') {
            return Change::In(bucket.parse().unwrap());
        }
        let mut words = text.split(' ').skip(1);
        let to = words.next().unwrap().parse().unwrap();
        let buckets = words.next().unwrap().split(',').map(|bucket| bucket.parse().unwrap());
        Change::Move { buckets: buckets.collect(), to }
    }
}

/// The numbers of the commits in a bucket, from `since` on up to a commit.
pub(super) fn rows(commits: &[Vec<u8>], bucket: u32, since: u64, commit: u64) -> Vec<u64> {
    let those = (1..=commit).zip(commits).skip(since as usize);
    let those = those
        .filter(|(_, change)| matches!(Change::read(change), Change::In(own) if own == bucket));
    those.map(|(number, _)| number).collect()
}

/// The files of a share: the commits in its buckets up to one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Files {
    pub(super) buckets: BucketSet,
    /// Last commit of which the files have the rows; the log has the others.
    pub(super) commit: u64,
    pub(super) rows: BTreeMap<u32, Vec<u64>>,
}

impl Files {
    /// The files of some buckets after a commit, as a store with all commits writes them.
    pub(super) fn write(commits: &[Vec<u8>], buckets: &BucketSet) -> Self {
        let commit = commits.len() as u64;
        let of = |bucket: u32| (bucket, rows(commits, bucket, 0, commit));
        let rows = BUCKETS.into_iter().filter(|bucket| has(buckets, *bucket)).map(of).collect();
        Files { buckets: buckets.clone(), commit, rows }
    }

    /// The files after a later commit, with the commits between from a log.
    pub(super) fn compacted(mut self, commits: &[Vec<u8>], commit: u64) -> Self {
        for (bucket, of) in &mut self.rows {
            of.extend(rows(commits, *bucket, self.commit, commit));
        }
        Files { commit, ..self }
    }

    /// The rows of a bucket after a commit, if they have the bucket.
    pub(super) fn read(&self, commits: &[Vec<u8>], bucket: u32, commit: u64) -> Option<Vec<u64>> {
        if !has(&self.buckets, bucket) {
            return None;
        }
        let mut found = self.rows.get(&bucket).cloned().unwrap_or_default();
        found.retain(|number| *number <= commit);
        found.extend(rows(commits, bucket, self.commit, commit));
        Some(found)
    }
}

pub(super) fn has(buckets: &BucketSet, bucket: u32) -> bool {
    buckets.has_all(&BucketSet::new([bucket]))
}

/// The placement that the last of some commits leaves.
pub(super) fn placed(listed: &Placement, commits: &[Vec<u8>]) -> Placement {
    listed.with(&moved(listed, commits))
}

/// The buckets that some commits have moved.
pub(super) fn moved(listed: &Placement, commits: &[Vec<u8>]) -> MovedBuckets {
    let mut all = MovedBuckets { shares: listed.shares() as u32, ..MovedBuckets::default() };
    for (number, change) in (1..).zip(commits) {
        if let Change::Move { buckets, to } = Change::read(change) {
            all.to.extend(buckets.into_iter().map(|bucket| (bucket, to)));
            all.since = number;
        }
    }
    all
}
