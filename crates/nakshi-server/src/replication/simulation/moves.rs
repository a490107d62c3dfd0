//! Shares of a graph whose buckets move while servers fail.
//!
//! A bucket is moved by the orders, the placements and the rule for late orders of the servers that really run;
//! the rows of a store are the numbers of the commits in each bucket. A read of a bucket goes to a server that has
//! it in the state that is read, and to one with the whole graph if that one lacks it. A server takes by itself what
//! it lacks: this simulation has found that a late order can leave out what comes back.
//!
//! Seen red with a copy that is not brought up to the own last commit, with a server that answers for a bucket that
//! it lacks, and with orders after the commit alone.

use std::sync::Arc;
use std::time::Duration;

use nakshi_property::BucketSet;

use super::super::replicated::Replicated;
use super::disk::Store;
use super::share::{Change, Files, has, rows};
use super::world::Host;
use crate::placement::{Order, held_after};

/// Time for an order.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before something is looked at again.
const AGAIN: Duration = Duration::from_millis(10);
/// Looks at a server that lags before it is given up.
const LAG: usize = 100;

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
    let placement = host.placement(commit)?;
    let with = (0..placement.shares()).find(|share| has(&placement.buckets(*share), bucket))?;
    let one = *host.world.draw.one(placement.servers(with)) as u64;
    for server in [one, host.world.draw.from(0, placement.whole() as u64 - 1)] {
        let asked =
            host.world.ask(host.number, server + 1, move |host| own_rows(host, bucket, commit));
        if let Ok(Some(found)) = asked.await {
            return Some(found);
        }
    }
    None
}

/// Has a server hold some buckets; it takes those that it lacks from another one.
async fn hold(host: Arc<Host>, ordered: BucketSet, from: u64, at_least: u64) -> Option<()> {
    let store = &host.store;
    let _alone = host.moves.try_lock().ok()?;
    if !catch_up(store, at_least).await {
        return None;
    }
    let own = store.disk.files().share.as_ref()?.buckets.clone();
    let placed = host.placement(u64::MAX)?.buckets(host.share()?);
    let next = held_after(&ordered, &own, &placed);
    let lacking = next.clone().without(&own);
    let mut more = Files::default();
    if !lacking.is_empty() {
        let copy = move |host: Arc<Host>| async move {
            Files::write(&host.store.disk.files().commits, &lacking)
        };
        more = host.world.ask(host.number, from, copy).await.ok()?;
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
    tokio::time::sleep(host.world.draw.millis(0, 500)).await;
    let before = store.disk.files().share.clone()?;
    let mut after = before.compacted(&commits, commit);
    after.rows.extend(more.compacted(&commits, commit).rows);
    after.rows.retain(|bucket, _| has(&next, *bucket));
    after.buckets = next;
    store.disk.switch(after).ok()
}

/// The buckets of a server, with those of its share that it lacks, if it lacks some.
fn completed(host: &Host) -> Option<BucketSet> {
    let own = host.store.disk.files().share.as_ref()?.buckets.clone();
    let wanted = host.placement(u64::MAX)?.buckets(host.share()?);
    (!own.has_all(&wanted)).then(|| own.union(&wanted))
}

/// Takes what this server lacks, again and again.
pub(super) async fn tend(host: Arc<Host>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let from = host.member.leader();
        if let Some((wanted, from)) = completed(&host).zip(from) {
            // The next turn tries again.
            let _ = hold(Arc::clone(&host), wanted, from, 0).await;
        }
    }
}

/// Gives an order to a server, sometimes once more: a call is repeated after a lost connection.
async fn give(host: &Host, order: Order) -> Option<()> {
    let (from, server) = (host.number, order.server as u64 + 1);
    let at_least = host.store.last_commit();
    if host.world.draw.chance(10) {
        let (world, buckets) = (Arc::clone(&host.world), order.buckets.clone());
        tokio::spawn(async move {
            tokio::time::sleep(world.draw.millis(0, 2000)).await;
            // It may come late, or never.
            let _ = world.ask(from, server, move |host| hold(host, buckets, from, at_least)).await;
        });
    }
    let held = host.world.ask(from, server, move |host| hold(host, order.buckets, from, at_least));
    tokio::time::timeout(PATIENCE, held).await.ok()?.ok()?
}

/// Moves buckets to a share, at the server that makes the commits; `id` tells this commit from others.
pub(super) async fn move_buckets(
    host: Arc<Host>,
    taken: BucketSet,
    to: usize,
    id: u64,
) -> Option<u64> {
    let store = &host.store;
    host.member.leading()?;
    let _alone = host.moves.try_lock().ok()?;
    for order in host.placement(u64::MAX)?.to_take(&taken, to) {
        give(&host, order).await?;
    }
    host.member.leading()?;
    let commit = store.commit(&[Change::moving(&taken, to, id)]).await?;
    for order in host.placement(u64::MAX)?.to_leave(to) {
        // A server that is away leaves them out at another move.
        let _ = give(&host, order).await;
    }
    Some(commit)
}
