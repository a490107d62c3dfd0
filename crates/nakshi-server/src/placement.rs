//! Which server has which nodes, where not all have the whole graph.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError, RwLock};

use nakshi_property::{BUCKETS, BucketSet, MovedBuckets, bucket_of};
use nakshi_store::{ExternalId, mix};

/// Servers that have the whole graph, and agree on the commits.
const WHOLE: usize = 3;

/// Placements that are remembered: states of earlier commits are kept for seconds.
const PLACEMENTS: usize = 8;

/// The servers of a graph: the first have the whole graph, and each of the others has a share of it.
///
/// The buckets are dealt to the shares by a hash, so that one share more takes few buckets from each of the
/// others (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    /// Number of servers with the whole graph, which come first.
    whole: usize,
    /// The servers that have each share.
    shares: Vec<Vec<usize>>,
    /// The share of each bucket.
    dealt: Vec<usize>,
    /// The buckets of each share.
    buckets: Vec<BucketSet>,
}

impl Placement {
    /// The placement of a graph on so many servers, each of whose shares `replicas` of them have; all have the
    /// whole graph if that is no fewer, or if there are too few servers.
    pub(crate) fn new(servers: usize, replicas: Option<usize>) -> Self {
        let sharing = servers.saturating_sub(WHOLE);
        let replicas = replicas.filter(|replicas| *replicas < servers).unwrap_or(servers).max(1);
        let count = sharing / replicas;
        if count == 0 {
            let (shares, dealt, buckets) = (Vec::new(), Vec::new(), Vec::new());
            return Placement { whole: servers, shares, dealt, buckets };
        }
        let mut shares = vec![Vec::new(); count];
        for number in 0..sharing {
            shares[number % count].push(WHOLE + number);
        }
        let dealt: Vec<usize> =
            (0..BUCKETS).map(|bucket| jump(mix(bucket.into()), count)).collect();
        Placement { whole: WHOLE, shares, buckets: buckets_of(&dealt, count), dealt }
    }

    /// The same with buckets that were moved.
    pub(crate) fn with(&self, moved: &MovedBuckets) -> Self {
        let count = self.shares.len();
        let share = |(bucket, listed): (u32, &usize)| {
            let moved = moved.share_of(bucket, count).filter(|share| *share < count);
            moved.unwrap_or(*listed)
        };
        let dealt: Vec<usize> = (0..).zip(&self.dealt).map(share).collect();
        let (whole, shares) = (self.whole, self.shares.clone());
        Placement { whole, shares, buckets: buckets_of(&dealt, count), dealt }
    }

    /// Number of servers with the whole graph, which come first.
    pub(crate) fn whole(&self) -> usize {
        self.whole
    }

    /// Number of shares; 0 if all servers have the whole graph.
    pub(crate) fn shares(&self) -> usize {
        self.shares.len()
    }

    /// The share of a server; `None` if it has the whole graph.
    pub(crate) fn share_of(&self, server: usize) -> Option<usize> {
        let number = server.checked_sub(self.whole)?;
        Some(number % self.shares.len().max(1))
    }

    /// The servers that have a share.
    pub(crate) fn servers(&self, share: usize) -> &[usize] {
        self.shares.get(share).map_or(&[], Vec::as_slice)
    }

    /// The buckets of a share.
    pub(crate) fn buckets(&self, share: usize) -> BucketSet {
        self.buckets.get(share).cloned().unwrap_or_default()
    }

    /// The share that has a node.
    pub(crate) fn share_with(&self, id: &ExternalId) -> usize {
        self.dealt.get(bucket_of(id) as usize).copied().unwrap_or(0)
    }
}

/// An order to a server, by its place in the list, to hold just these buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) server: usize,
    pub(crate) buckets: BucketSet,
}

/// Orders by which buckets move from one share to another, with a commit between.
impl Placement {
    /// Orders before the commit: the servers of the new share hold the buckets as well.
    pub(crate) fn to_take(&self, buckets: &BucketSet, to: usize) -> Vec<Order> {
        self.orders(to, &self.buckets(to).union(buckets))
    }

    /// Orders after it: all servers but those of the new share hold what this placement gives them.
    pub(crate) fn to_leave(&self, to: usize) -> Vec<Order> {
        let others = (0..self.shares()).filter(|share| *share != to);
        others.flat_map(|share| self.orders(share, &self.buckets(share))).collect()
    }

    fn orders(&self, share: usize, buckets: &BucketSet) -> Vec<Order> {
        let order = |server: &usize| Order { server: *server, buckets: buckets.clone() };
        self.servers(share).iter().map(order).collect()
    }
}

/// The buckets that a server with its `own` ones holds after an order. An order that comes late leaves out nothing
/// that has come back since: of its own buckets, the server keeps those that are `placed` with it by now.
pub(crate) fn held_after(ordered: &BucketSet, own: &BucketSet, placed: &BucketSet) -> BucketSet {
    ordered.clone().union(&own.clone().intersection(placed))
}

/// The last placements of a graph, each with the commit from which on it holds.
#[derive(Debug, Default)]
pub(crate) struct Placements(RwLock<Known>);

type Known = VecDeque<(u64, Arc<Placement>)>;

impl Placements {
    /// The placement after a commit, by the list of servers and the buckets that were moved by then, and perhaps
    /// later.
    pub(crate) fn after(
        &self,
        commit: u64,
        listed: &Placement,
        moved: &MovedBuckets,
    ) -> Arc<Placement> {
        let after = |known: &Known| {
            let then = known.iter().rev().find(|(since, _)| *since <= commit).or(known.front());
            then.map_or_else(|| Arc::new(listed.clone()), |(_, then)| Arc::clone(then))
        };
        let is_known = |known: &Known| known.back().is_some_and(|(since, _)| *since >= moved.since);
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if is_known(&known) {
                return after(&known);
            }
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            known.push_back((0, Arc::new(listed.clone())));
        }
        if !is_known(&known) {
            known.push_back((moved.since, Arc::new(listed.with(moved))));
        }
        if known.len() > PLACEMENTS {
            known.pop_front();
        }
        after(&known)
    }
}

/// The buckets of each share, given the share of each bucket.
fn buckets_of(dealt: &[usize], shares: usize) -> Vec<BucketSet> {
    let of = |share| {
        let dealt = (0..).zip(dealt).filter(move |(_, of)| **of == share);
        BucketSet::new(dealt.map(|(bucket, _)| bucket))
    };
    (0..shares).map(of).collect()
}

/// The place of a hash among `count` places: Lamping and Veach, figure 1.
fn jump(hash: u64, count: usize) -> usize {
    let (mut key, mut place, mut next) = (hash, 0, 0);
    while next < count as u64 {
        place = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let range = (1_u64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((place + 1) as f64 * range) as u64;
    }
    place as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_servers_have_the_whole_graph() {
        for (servers, replicas) in
            [(1, Some(1)), (3, Some(1)), (3, Some(3)), (5, None), (4, Some(4))]
        {
            let placement = Placement::new(servers, replicas);
            assert_eq!((placement.whole(), placement.shares()), (servers, 0));
        }
        // Four servers are too few for shares of two.
        assert_eq!(Placement::new(4, Some(2)).shares(), 0);
    }

    /// Every bucket is in one share, every share on the servers that are asked for, and shares are about as
    /// large as each other.
    #[test]
    fn buckets_are_dealt_to_shares() {
        for (servers, replicas, shares) in [(4, 1, 1), (8, 1, 5), (8, 2, 2), (11, 1, 8), (9, 2, 3)]
        {
            let placement = Placement::new(servers, Some(replicas));
            assert_eq!((placement.whole(), placement.shares()), (3, shares));
            let mut count = 0;
            for share in 0..shares {
                assert!(placement.servers(share).len() >= replicas);
                let own = |server: &usize| placement.share_of(*server) == Some(share);
                assert!(placement.servers(share).iter().all(own));
                let buckets = placement.buckets(share).to_bytes();
                let buckets: u32 = buckets.iter().map(|byte| byte.count_ones()).sum();
                let mean = BUCKETS / shares as u32;
                assert!(buckets.abs_diff(mean) < mean / 2, "{buckets} of {mean}");
                count += buckets;
            }
            assert_eq!(count, BUCKETS);
            assert_eq!(placement.share_of(2), None);
        }
    }

    #[test]
    fn moved_buckets_are_in_their_share() {
        let listed = Placement::new(6, Some(1));
        let to = [(7, 0), (8, 2), (9, 5)].into_iter().collect();
        let moved = MovedBuckets { shares: 3, since: 9, to };
        let placement = listed.with(&moved);
        assert_eq!(placement.dealt.get(7..9), Some(&[0, 2][..]));
        // There is no share 5.
        assert_eq!(placement.dealt[9], listed.dealt[9]);
        assert!(placement.buckets(0).has_all(&BucketSet::new([7])));
        assert_eq!((0..3).map(|share| placement.buckets(share).len()).sum::<u32>(), BUCKETS);
        let other = MovedBuckets { shares: 4, ..moved };
        assert_eq!(listed.with(&other).dealt, listed.dealt);
    }

    /// Seen red with an order to the new share after the commit.
    #[test]
    fn buckets_move_by_orders_to_both_shares() {
        let placement = Placement::new(7, Some(2));
        let taken = BucketSet::new(placement.buckets(0).iter().take(2));
        let with_them = placement.buckets(1).union(&taken);
        let order = |server, buckets: &BucketSet| Order { server, buckets: buckets.clone() };
        let both = [order(4, &with_them), order(6, &with_them)];
        assert_eq!(placement.to_take(&taken, 1), both);
        let moved = taken.iter().map(|bucket| (bucket, 1)).collect();
        let after = placement.with(&MovedBuckets { shares: 2, since: 1, to: moved });
        let rest = placement.buckets(0).without(&taken);
        assert_eq!(after.to_leave(1), [order(3, &rest), order(5, &rest)]);
        // It has come back when the order arrives.
        assert_eq!(
            held_after(&rest, &placement.buckets(0), &placement.buckets(0)),
            placement.buckets(0)
        );
        assert_eq!(held_after(&rest, &placement.buckets(0), &after.buckets(0)), rest);
        assert_eq!(held_after(&with_them, &after.buckets(1), &after.buckets(1)), with_them);
    }

    /// A state is asked for where its buckets were.
    #[test]
    fn a_query_of_an_earlier_state_goes_to_the_servers_of_then() {
        let (placements, listed) = (Placements::default(), Placement::new(7, Some(2)));
        let bucket = listed.buckets(0).iter().next().unwrap();
        let of = |placement: &Placement| placement.buckets(1).has_all(&BucketSet::new([bucket]));
        let moved =
            |since, to| MovedBuckets { shares: 2, since, to: [(bucket, to)].into_iter().collect() };
        assert!(!of(&placements.after(30, &listed, &MovedBuckets::default())));
        for (commit, moved, there) in [
            (50, moved(40, 1), true),
            (39, moved(40, 1), false),
            (70, moved(60, 0), false),
            (59, moved(60, 0), true),
            // This server has the newer one from another thread.
            (45, moved(40, 1), true),
            (12, moved(60, 0), false),
        ] {
            assert_eq!(of(&placements.after(commit, &listed, &moved)), there, "{commit}");
        }
        for since in 100..200 {
            placements.after(since, &listed, &moved(since, (since % 2) as u32));
        }
        assert_eq!(placements.0.read().unwrap().len(), PLACEMENTS);
    }

    /// Seen red with buckets dealt by their remainder.
    #[test]
    fn one_share_more_moves_few_buckets() {
        let (before, after) = (Placement::new(10, Some(1)), Placement::new(11, Some(1)));
        let moved = before.dealt.iter().zip(&after.dealt).filter(|(a, b)| a != b);
        let moved: Vec<_> = moved.collect();
        assert!(moved.iter().all(|(_, to)| **to == 7), "only to the new share");
        assert!((64..192).contains(&moved.len()), "{}", moved.len());
    }
}
