//! Buckets that move from the servers of one share to those of another, while all servers answer.
//!
//! The server that makes the commits has each server of the new share hold the buckets as well ([`move_buckets`]).
//! That one gets a copy of them from a server with the whole graph, brings it up to its own last commit, and
//! goes on with both ([`hold`]). A commit then says where the buckets are, and from its state on they are asked
//! for there. Last, the servers that had them leave them out. Each step may be made again, so whoever loses the
//! server that moves them asks for the same once more.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi_io::CancelToken;
use nakshi_property::{BucketSet, Change, LoadOptions, PropertyStore};
use nakshi_store::OpenOptions;
use nakshi_store::import::{Hooks, Progress as Stage};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::client::{Client, ConnectOptions};
use crate::copies;
use crate::error::{Error, ErrorKind, Result};
use crate::gateway::Gateway;
use crate::placement::{Order, held_after};
use crate::served::{AGAIN, Served};
use crate::v1::backup_reply::Reply;
use crate::v1::{
    BackupReply, HoldReply, HoldRequest, MoveBucketsReply, MoveBucketsRequest, Progress,
};
use crate::wire;

/// Store of the buckets that this server takes, in the directory of its own store.
const TAKEN: &str = "servers/taken";
/// Store of the buckets that this server sends.
const SENT: &str = "servers/sent";
/// Interval at which a server that works for another one tells of it.
const TELL: Duration = Duration::from_millis(200);
/// Interval at which a server looks for buckets that it lacks, and its pause after it has not got them.
const LOOK: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_secs(10);
/// Time for which a server that lags waits for the commits of the buckets that it takes.
const LAG: Duration = Duration::from_secs(60);

/// The progress of a stage, as servers tell of it.
fn progress(stage: &Stage) -> Progress {
    let Stage { phase, done, total, .. } = *stage;
    Progress { phase: phase.to_owned(), done, total, unit: String::new() }
}

/// Does something that takes long on a thread of its own, and tells of its progress until `tell` returns false.
fn telling<T: Send>(
    cancel: &CancelToken,
    tell: &dyn Fn(Progress) -> bool,
    work: impl FnOnce(&Hooks) -> Result<T> + Send,
) -> Result<T> {
    let last =
        Arc::new(Mutex::new(progress(&Stage { phase: "wait", done: 0, total: None, edges: 0 })));
    let cancel = cancel.child();
    let note = {
        let last = Arc::clone(&last);
        move |stage: Stage| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = progress(&stage);
        }
    };
    let hooks = Hooks { cancel: cancel.clone(), progress: Some(Arc::new(note)) };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("nakshi-move".into());
        let worker = worker.spawn_scoped(scope, || work(&hooks)).map_err(Error::no_thread)?;
        let mut told = Instant::now();
        while !worker.is_finished() {
            std::thread::sleep(AGAIN);
            if told.elapsed() < TELL {
                continue;
            }
            let now = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if !tell(now) {
                cancel.cancel();
            }
            told = Instant::now();
        }
        copies::joined(worker)
    })
}

/// A directory for a store that is needed for a moment; what an earlier one left there is removed.
struct Aside(PathBuf);

impl Aside {
    fn new(store: &Path, name: &str) -> Result<Self> {
        let aside = Aside(store.join(name));
        aside.clear()?;
        Ok(aside)
    }

    fn clear(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(nakshi_store::Error::io("remove", &self.0, error).into())
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            tracing::warn!(
                message = error.message.as_str(),
                "a store that nobody needs is left behind"
            );
        }
    }
}

/// A place for a move; one at a time.
pub(crate) fn place(moves: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    Arc::clone(moves).try_acquire_owned().map_err(|_| {
        let what = "other buckets are being moved; try again when they are where they shall be";
        Error::new(ErrorKind::Overloaded, what)
    })
}

/// Removes what a server has left that ended while it took buckets, or sent some.
pub(crate) fn clean(store: &Path) -> Result<()> {
    [TAKEN, SENT].iter().try_for_each(|name| Aside::new(store, name).map(drop))
}

/// Hands a copy of some buckets to `takes`, until that returns false.
pub(crate) fn send(
    served: &Served,
    buckets: &BucketSet,
    cancel: &CancelToken,
    takes: &dyn Fn(BackupReply) -> bool,
) -> Result<()> {
    let aside = Aside::new(served.store.path(), SENT)?;
    let tell = |now| takes(BackupReply { reply: Some(Reply::Progress(now)) });
    telling(cancel, &tell, |hooks| {
        Ok(served.store.write_share(buckets, &aside.0, &LoadOptions::default(), hooks)?)
    })?;
    copies::send(&aside.0, cancel, takes)
}

/// The options with which servers of a graph ask each other.
fn options(gateway: &Gateway) -> ConnectOptions {
    let peers = gateway.peers().clone();
    ConnectOptions { token: peers.token, ca: peers.ca, ..ConnectOptions::default() }
}

fn has_all() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "all servers of this graph have the whole of it, and no buckets to move",
    )
}

/// Has this server hold some buckets from now on.
pub(crate) fn hold(
    served: &Served,
    request: &HoldRequest,
    cancel: &CancelToken,
    takes: &dyn Fn(HoldReply) -> bool,
) -> Result<()> {
    let gateway = served.gateway.as_ref().ok_or_else(has_all)?;
    let buckets = wire::of_buckets(&request.buckets)?;
    let own = served.store.buckets().ok_or_else(has_all)?;
    let share = gateway.share().map_or(0, |share| share.number as usize);
    let placed = gateway.placement(&served.store.snapshot(), None).buckets(share);
    let buckets = held_after(&buckets, &own, &placed);
    let lacking = buckets.clone().without(&own);
    let tell = |now| takes(HoldReply { progress: Some(now) });
    telling(cancel, &tell, |hooks| {
        let (store, options) = (&served.store, LoadOptions::default());
        if lacking.is_empty() {
            return Ok(store.hold(&buckets, None, &options, hooks)?);
        }
        let aside = Aside::new(store.path(), TAKEN)?;
        let from = Client::of_one(&request.from, self::options(gateway))?;
        from.copy_buckets(&lacking, store.last_commit(), &aside.0, hooks)?;
        let more = PropertyStore::open(&aside.0, &OpenOptions::default())?;
        wait_for(served, more.last_commit(), hooks)?;
        Ok(store.hold(&buckets, Some(&more), &options, hooks)?)
    })
}

/// Takes buckets that this server lacks until it `ends`: its store was copied before they were moved, or an order to
/// leave them out came late.
pub(crate) fn tend(served: &Served, ends: &dyn Fn() -> bool) {
    let mut next = Instant::now() + LOOK;
    while !ends() {
        std::thread::sleep(AGAIN);
        if Instant::now() < next {
            continue;
        }
        let pause = match complete(served, ends) {
            Err(error) if error.kind != ErrorKind::Overloaded => {
                let why = error.message.as_str();
                tracing::warn!(why, "lacks buckets of its share, and has not got them yet");
                PAUSE
            }
            _ => LOOK,
        };
        next = Instant::now() + pause;
    }
}

/// Takes the buckets of this server's share that it lacks from the server that makes the commits.
fn complete(served: &Served, ends: &dyn Fn() -> bool) -> Result<()> {
    let parts = served.gateway.as_ref().zip(served.group.as_ref()).zip(served.store.buckets());
    let Some(((gateway, group), own)) = parts else { return Ok(()) };
    let share = gateway.share().map_or(0, |share| share.number as usize);
    let wanted = gateway.placement(&served.store.snapshot(), None).buckets(share);
    let buckets = wanted.without(&own);
    if buckets.is_empty() {
        return Ok(());
    }
    let none = || Error::new(ErrorKind::Unavailable, "no server makes commits at the moment");
    let from = group.leader().ok_or_else(none)?;
    let _alone = place(&served.moves)?;
    let request = HoldRequest { buckets: own.union(&buckets).to_bytes(), from, at_least: 0 };
    hold(served, &request, &served.cancel, &|_| !ends())?;
    tracing::info!(buckets = buckets.len(), "took buckets of its share that it lacked");
    Ok(())
}

/// Waits until this server has a commit that another one has made.
fn wait_for(served: &Served, commit: u64, hooks: &Hooks) -> Result<()> {
    let began = Instant::now();
    while served.store.last_commit() < commit {
        hooks.check()?;
        if began.elapsed() > LAG {
            let what =
                format!("this server lags behind commit {commit}; try again when it does not");
            return Err(Error::new(ErrorKind::Unavailable, what));
        }
        std::thread::sleep(AGAIN);
    }
    Ok(())
}

/// Moves buckets to the servers of another share.
pub(crate) fn move_buckets(
    served: &Served,
    request: &MoveBucketsRequest,
    cancel: &CancelToken,
    takes: &dyn Fn(MoveBucketsReply) -> bool,
) -> Result<()> {
    let gateway = served.gateway.as_ref().ok_or_else(has_all)?;
    let taken = wire::of_buckets(&request.buckets)?;
    let (to, shares) = (request.to, gateway.named(0).of);
    if to >= shares || taken.is_empty() {
        let what = format!("name buckets, and one of the shares 0 to {}", shares.saturating_sub(1));
        return Err(Error::parameter(what));
    }
    let before = gateway.placement(&served.store.snapshot(), None);
    for next in before.to_take(&taken, to as usize) {
        order(served, gateway, &next, cancel, takes)?;
    }
    served.refuse_unless_leading()?;
    let change = Change::MoveBuckets { buckets: taken.clone(), share: to, shares };
    let commit = served.store.commit(&[change])?.max(served.store.last_commit());
    let after = gateway.placement(&served.store.snapshot(), None);
    for next in after.to_leave(to as usize) {
        if let Err(error) = order(served, gateway, &next, cancel, takes) {
            // It answers for them no more, and they take room on its disk only.
            let (server, why) = (gateway.address(next.server), error.message);
            tracing::warn!(server, why, "buckets that were moved away are not left out");
        }
    }
    takes(MoveBucketsReply { commit: Some(commit), ..MoveBucketsReply::default() });
    Ok(())
}

/// Has a server hold some buckets, and takes what it lacks from this one.
fn order(
    served: &Served,
    gateway: &Gateway,
    order: &Order,
    cancel: &CancelToken,
    takes: &dyn Fn(MoveBucketsReply) -> bool,
) -> Result<()> {
    let address = gateway.address(order.server);
    let request = HoldRequest {
        buckets: order.buckets.to_bytes(),
        from: gateway.address(gateway.own()).to_owned(),
        at_least: served.store.last_commit(),
    };
    let tell = |now: Progress| {
        takes(MoveBucketsReply { server: address.to_owned(), progress: Some(now), commit: None })
    };
    Client::of_one(address, options(gateway))?.hold(&request, cancel, &tell)
}
