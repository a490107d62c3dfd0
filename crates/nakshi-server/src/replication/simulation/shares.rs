//! Shares of a graph whose buckets move while servers fail.
//!
//! A bucket is moved by the orders, the placements and the rule for late orders of the servers that really run;
//! the rows of a store are the numbers of the commits in each bucket. A read of a bucket goes to a server that has
//! it in the state that is read, and to one with the whole graph if that one lacks it.
//!
//! A server takes by itself what it lacks: this simulation has found that a late order can leave out what comes back.
//!
//! Seen red with a copy that is not brought up to the own last commit, with a server that answers for a bucket that
//! it lacks, and with orders after the commit alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use nakshi_property::{BucketSet, MovedBuckets};

use super::super::replicated::Replicated;
use super::disk::{Disk, Store};
use super::draw::Draw;
use super::world::{Host, World};
use crate::placement::{Order, Placement, Placements, held_after};

/// The buckets of all commits.
pub(super) const BUCKETS: [u32; 4] = [7, 100, 500, 900];
/// Time for an order.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before something is looked at again.
const AGAIN: Duration = Duration::from_millis(10);
/// Looks at a server that lags before it is given up.
const LAG: usize = 100;

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

    fn moving(buckets: &BucketSet, to: usize, id: u64) -> Vec<u8> {
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
    commit: u64,
    rows: BTreeMap<u32, Vec<u64>>,
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
    fn compacted(mut self, commits: &[Vec<u8>], commit: u64) -> Self {
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

fn moved(listed: &Placement, commits: &[Vec<u8>]) -> MovedBuckets {
    let mut all = MovedBuckets { shares: listed.shares() as u32, ..MovedBuckets::default() };
    for (number, change) in (1..).zip(commits) {
        if let Change::Move { buckets, to } = Change::read(change) {
            all.to.extend(buckets.into_iter().map(|bucket| (bucket, to)));
            all.since = number;
        }
    }
    all
}

/// The way of a server to those that have the buckets.
pub(super) struct Shares {
    pub(super) world: Arc<World>,
    /// Number of this server.
    pub(super) number: u64,
    pub(super) listed: Placement,
    pub(super) placements: Placements,
    /// Held by a move that this server leads, or in which it takes part.
    moves: tokio::sync::Mutex<()>,
}

impl Host {
    /// The buckets of this server, with those of its share that it lacks, if it lacks some.
    fn lacking(&self) -> Option<BucketSet> {
        let (shares, disk) = (self.shares.as_ref()?, &self.store.disk);
        let own = disk.files().share.as_ref()?.buckets.clone();
        let wanted = shares.placement(disk, u64::MAX).buckets(shares.own()?);
        (!own.has_all(&wanted)).then(|| own.union(&wanted))
    }
}

impl Shares {
    pub(super) fn new(world: &Arc<World>, number: u64, listed: Placement) -> Self {
        let (world, placements) = (Arc::clone(world), Placements::default());
        Shares { world, number, listed, placements, moves: tokio::sync::Mutex::default() }
    }

    /// The share of this server, if it has not the whole graph.
    pub(super) fn own(&self) -> Option<usize> {
        self.listed.share_of(self.number as usize - 1)
    }

    /// The placement after a commit, as this server knows it.
    fn placement(&self, disk: &Disk, commit: u64) -> Arc<Placement> {
        let moved = moved(&self.listed, &disk.files().commits);
        self.placements.after(commit, &self.listed, &moved)
    }
}

/// Waits until a store has a commit; returns false if it lags for long.
pub(super) async fn catch_up(store: &Store, commit: u64) -> bool {
    for _ in 0..LAG {
        if store.last_commit() >= commit {
            return true;
        }
        tokio::time::sleep(AGAIN).await;
    }
    false
}

/// The rows of a bucket after a commit, as a server has them itself.
async fn own_rows(host: Arc<Host>, bucket: u32, commit: u64) -> Option<Vec<u64>> {
    if !catch_up(&host.store, commit).await {
        return None;
    }
    let files = host.store.disk.files();
    match &files.share {
        Some(share) => share.read(&files.commits, bucket, commit),
        None => Some(rows(&files.commits, bucket, 0, commit)),
    }
}

/// The rows of a bucket after a commit, from a server that has it.
pub(super) async fn read(host: &Host, bucket: u32, commit: u64) -> Option<Vec<u64>> {
    let shares = host.shares.as_ref()?;
    let placement = shares.placement(&host.store.disk, commit);
    let with = (0..placement.shares()).find(|share| has(&placement.buckets(*share), bucket))?;
    let one = *shares.world.draw.one(placement.servers(with)) as u64;
    for server in [one, shares.world.draw.from(0, placement.whole() as u64 - 1)] {
        let asked =
            shares.world.ask(shares.number, server + 1, move |host| own_rows(host, bucket, commit));
        if let Ok(Some(found)) = asked.await {
            return Some(found);
        }
    }
    None
}

/// Has a server hold some buckets; it takes those that it lacks from another one.
async fn hold(host: Arc<Host>, ordered: BucketSet, from: u64, at_least: u64) -> Option<()> {
    let (shares, store) = (host.shares.as_ref()?, &host.store);
    let _alone = shares.moves.try_lock().ok()?;
    if !catch_up(store, at_least).await {
        return None;
    }
    let own = store.disk.files().share.as_ref()?.buckets.clone();
    let placed = shares.placement(&store.disk, u64::MAX).buckets(shares.own()?);
    let next = held_after(&ordered, &own, &placed);
    let lacking = next.clone().without(&own);
    let mut more = Files::default();
    if !lacking.is_empty() {
        let copy = move |host: Arc<Host>| async move {
            Files::write(&host.store.disk.files().commits, &lacking)
        };
        more = shares.world.ask(shares.number, from, copy).await.ok()?;
        if !catch_up(store, more.commit).await {
            return None;
        }
    }
    if next == own {
        return Some(());
    }
    store.flush().ok()?;
    let commits = store.disk.files().commits.clone();
    let commit = commits.len() as u64;
    // Commits are made meanwhile.
    tokio::time::sleep(shares.world.draw.millis(0, 500)).await;
    let before = store.disk.files().share.clone()?;
    let mut after = before.compacted(&commits, commit);
    after.rows.extend(more.compacted(&commits, commit).rows);
    after.rows.retain(|bucket, _| has(&next, *bucket));
    after.buckets = next;
    store.disk.switch(after).ok()
}

/// Takes what this server lacks, again and again.
pub(super) async fn tend(host: Arc<Host>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let from = host.member.leader();
        if let Some((wanted, from)) = host.lacking().zip(from) {
            // The next turn tries again.
            let _ = hold(Arc::clone(&host), wanted, from, 0).await;
        }
    }
}

/// Gives an order to a server, sometimes once more: a call is repeated after a lost connection.
async fn give(host: &Host, order: Order) -> Option<()> {
    let (shares, at_least) = (host.shares.as_ref()?, host.store.last_commit());
    let (from, server) = (shares.number, order.server as u64 + 1);
    if shares.world.draw.chance(10) {
        let (world, buckets) = (Arc::clone(&shares.world), order.buckets.clone());
        tokio::spawn(async move {
            tokio::time::sleep(world.draw.millis(0, 2000)).await;
            // It may come late, or never.
            let _ = world.ask(from, server, move |host| hold(host, buckets, from, at_least)).await;
        });
    }
    let held =
        shares.world.ask(from, server, move |host| hold(host, order.buckets, from, at_least));
    tokio::time::timeout(PATIENCE, held).await.ok()?.ok()?
}

/// Moves buckets to a share, at the server that makes the commits; `id` tells this commit from others.
pub(super) async fn move_buckets(
    host: Arc<Host>,
    taken: BucketSet,
    to: usize,
    id: u64,
) -> Option<u64> {
    let (shares, store) = (host.shares.as_ref()?, &host.store);
    host.member.leading()?;
    let _alone = shares.moves.try_lock().ok()?;
    for order in shares.placement(&store.disk, u64::MAX).to_take(&taken, to) {
        give(&host, order).await?;
    }
    host.member.leading()?;
    let commit = store.commit(&[Change::moving(&taken, to, id)]).await?;
    for order in shares.placement(&store.disk, u64::MAX).to_leave(to) {
        // A server that is away leaves them out at another move.
        let _ = give(&host, order).await;
    }
    Some(commit)
}

/// A client that moves buckets.
pub(super) struct Mover {
    pub(super) world: Arc<World>,
    pub(super) shares: usize,
    pub(super) voters: u64,
    pub(super) draw: Draw,
}

impl Mover {
    /// Moves some buckets to some share, if the server that is asked leads.
    async fn try_one(&self, taken: BucketSet, to: usize) -> Option<u64> {
        // No two commits are the same.
        let id = self.draw.from(0, u64::MAX - 1);
        let leader = self.draw.from(1, self.voters);
        let moved =
            self.world.ask(super::FRONT, leader, move |host| move_buckets(host, taken, to, id));
        tokio::time::timeout(PATIENCE, moved).await.ok()?.ok()?
    }

    pub(super) async fn run(self, history: Arc<super::History>) {
        while !history.ends() {
            let taken = BUCKETS.into_iter().filter(|_| self.draw.chance(40));
            let (taken, to) = (BucketSet::new(taken), self.draw.from(0, self.shares as u64 - 1));
            if !taken.is_empty() && self.try_one(taken, to as usize).await.is_some() {
                history.moves.fetch_add(1, SeqCst);
            }
            tokio::time::sleep(self.draw.millis(0, 300)).await;
        }
    }
}
