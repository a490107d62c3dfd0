//! Hosts of a simulated network: each with a runtime of one thread, whose clock moves when it is told to.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nakshi_io::CancelToken;
use openraft::BasicNode;
use openraft::error::InstallSnapshotError;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

use super::super::TypeConfig;
use super::super::line::{Answered, Hello, Line, Other, Own, Ways};
use super::super::log::RaftLog;
use super::super::member::{Member, Seat, settings};
use super::super::network::WATCHED;
use super::super::replicated::Part;
use super::disk::{Disk, Store};
use super::draw::Draw;
use super::share::{self, moved, placed};
use crate::placement::{Placement, Placements};

/// Number of the host of the clients; those of the servers begin at 1.
pub(super) const FRONT: u64 = 0;
/// Step of all clocks.
pub(super) const TICK: Duration = Duration::from_millis(5);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;
type Job = Box<dyn FnOnce(Arc<Host>) -> Work + Send>;

/// The state of the lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Hosts from which and to which nothing arrives.
    pub(super) cut: BTreeSet<(u64, u64)>,
    /// Percentage of the messages that are lost.
    pub(super) loss: u64,
    /// Longest way of a message, in milliseconds.
    pub(super) slow: u64,
}

/// The lines between all hosts.
pub(super) struct World {
    pub(super) draw: Draw,
    lines: Mutex<Lines>,
    doors: Mutex<BTreeMap<u64, mpsc::UnboundedSender<Job>>>,
}

/// A server that runs.
pub(super) struct Host {
    pub(super) member: Member,
    pub(super) store: Arc<Store>,
    pub(super) number: u64,
    pub(super) world: Arc<World>,
    /// The shares of the graph, if not all have the whole of it.
    pub(super) listed: Option<Placement>,
    placements: Placements,
    /// Held by a move of buckets that this server leads, or in which it takes part.
    pub(super) moves: tokio::sync::Mutex<()>,
}

impl Host {
    /// The share of this server, if it has not the whole graph.
    pub(super) fn share(&self) -> Option<usize> {
        self.listed.as_ref()?.share_of(self.number as usize - 1)
    }

    /// The placement after a commit, as this server knows it.
    pub(super) fn placement(&self, commit: u64) -> Option<Arc<Placement>> {
        let listed = self.listed.as_ref()?;
        let moved = moved(listed, &self.store.disk.files().commits);
        Some(self.placements.after(commit, listed, &moved))
    }
}

/// The servers of a graph, with numbers from 1 on.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) servers: u64,
    /// Those up to this number vote.
    pub(super) voters: u64,
    /// The shares, if not all have the whole graph.
    pub(super) listed: Option<Placement>,
}

impl Cast {
    /// So many servers, of which some have the whole graph, and so many each share.
    pub(super) fn new((servers, voters, replicas): (u64, u64, Option<usize>)) -> Self {
        let listed = Placement::new(servers as usize, replicas);
        let listed = (listed.shares() > 0).then_some(listed);
        Cast { servers, voters, listed }
    }

    /// The files that a server has which starts with a copy of a store with some commits, if it has a share.
    pub(super) fn share(&self, number: u64, commits: &[Vec<u8>]) -> Option<share::Files> {
        let placement = placed(self.listed.as_ref()?, commits);
        let buckets = placement.buckets(placement.share_of(number as usize - 1)?);
        Some(share::Files::write(commits, &buckets))
    }
}

/// The fate of a message.
enum Fate {
    Lost,
    After(Duration),
}

impl World {
    pub(super) fn new(draw: Draw) -> Arc<Self> {
        Arc::new(World { draw, lines: Mutex::default(), doors: Mutex::default() })
    }

    pub(super) fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn doors(&self) -> MutexGuard<'_, BTreeMap<u64, mpsc::UnboundedSender<Job>>> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fate(&self, from: u64, to: u64) -> Fate {
        let lines = self.lines();
        if lines.cut.contains(&(from, to)) || self.draw.chance(lines.loss) {
            return Fate::Lost;
        }
        Fate::After(self.draw.millis(0, lines.slow))
    }

    /// Waits until a message arrives, or until the connection is given up.
    async fn arrive(&self, from: u64, to: u64) -> Result<(), Status> {
        match self.fate(from, to) {
            Fate::Lost => {
                tokio::time::sleep(WATCHED.0 + WATCHED.1).await;
                Err(Status::unavailable("the connection is lost"))
            }
            Fate::After(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
        }
    }

    /// Runs something at another host, and brings back what it returns.
    pub(super) async fn ask<A, F>(
        &self,
        from: u64,
        to: u64,
        work: impl FnOnce(Arc<Host>) -> F + Send + 'static,
    ) -> Result<A, Status>
    where
        A: Send + 'static,
        F: Future<Output = A> + Send + 'static,
    {
        let gone = || Status::unavailable("nobody listens");
        self.arrive(from, to).await?;
        let door = self.doors().get(&to).cloned().ok_or_else(gone)?;
        let (send, answer) = oneshot::channel();
        let job = move |host| -> Work {
            Box::pin(async move {
                // Nobody waits any more.
                let _ = send.send(work(host).await);
            })
        };
        door.send(Box::new(job)).map_err(|_| gone())?;
        let answer = answer.await.map_err(|_| gone())?;
        self.arrive(to, from).await?;
        Ok(answer)
    }
}

/// The line from a host to a server.
struct Wire {
    world: Arc<World>,
    from: u64,
    to: u64,
}

impl Wire {
    async fn ask<A, F>(&self, work: impl FnOnce(Own) -> F + Send + 'static) -> Result<A, Status>
    where
        A: Send + 'static,
        F: Future<Output = Result<A, Status>> + Send + 'static,
    {
        let work = move |host: Arc<Host>| work(host.member.own.clone());
        self.world.ask(self.from, self.to, work).await?
    }
}

#[tonic::async_trait]
impl Line for Wire {
    async fn append(
        &self,
        entries: AppendEntriesRequest<TypeConfig>,
    ) -> Answered<AppendEntriesResponse<u64>> {
        self.ask(|own| async move { own.append(entries).await }).await
    }

    async fn vote(&self, request: VoteRequest<u64>) -> Answered<VoteResponse<u64>> {
        self.ask(|own| async move { own.vote(request).await }).await
    }

    async fn install(
        &self,
        snapshot: InstallSnapshotRequest<TypeConfig>,
    ) -> Answered<InstallSnapshotResponse<u64>, InstallSnapshotError> {
        self.ask(|own| async move { own.install(snapshot).await }).await
    }

    async fn hello(&self) -> Result<Hello, Status> {
        self.ask(|own| async move { own.hello().await }).await
    }

    async fn newest(&self) -> Result<u64, Status> {
        self.ask(|own| async move { own.newest().await }).await
    }

    async fn commits(&self, since: u64, parts: mpsc::Sender<Part>) -> Result<(), Status> {
        self.ask(move |own| async move { own.commits(since, parts).await }).await
    }
}

/// A host, whether its server runs or not.
pub(super) struct Place {
    number: u64,
    pub(super) disk: Disk,
    /// The clock and the tasks; `None` while the server does not run.
    runtime: Option<Runtime>,
    pub(super) host: Option<Arc<Host>>,
    /// Reason why the server has left the others before.
    pub(super) left: Option<String>,
    /// Ticks for which nothing happens here.
    pub(super) stopped: u64,
    /// Thousandths of a tick by which its clock moves.
    pub(super) speed: u64,
}

/// A runtime whose clock moves only while it runs.
pub(super) fn runtime(draw: &Draw) -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    #[cfg(tokio_unstable)]
    builder
        .rng_seed(tokio::runtime::RngSeed::from_bytes(&draw.from(0, u64::MAX - 1).to_le_bytes()));
    let _ = draw;
    builder.enable_time().start_paused(true).build().unwrap()
}

impl Place {
    pub(super) fn new(number: u64, cast: &Cast, draw: &Draw) -> Self {
        let disk = Disk::new(draw.fork(), cast.share(number, &[]));
        Place { number, disk, runtime: None, host: None, left: None, stopped: 0, speed: 1000 }
    }

    /// Starts the server.
    pub(super) fn start(&mut self, world: &Arc<World>, cast: &Cast) {
        let Cast { servers, voters, .. } = *cast;
        self.disk.restart();
        let store = Arc::new(Store::new(self.disk.clone()));
        let records = self.disk.files().records.clone();
        let log = RaftLog::read("log".as_ref(), &records, Box::new(self.disk.clone())).unwrap();
        let mut config = settings(log.lost_before().is_some());
        // openraft draws it from there, and not from our seed.
        config.election_timeout_min =
            world.draw.from(config.election_timeout_min, config.election_timeout_max - 1);
        config.election_timeout_max = config.election_timeout_min + 1;
        let (from, lines) = (self.number, Arc::clone(world));
        let way = move |to: u64, address: &str| {
            let line = Arc::new(Wire { world: Arc::clone(&lines), from, to });
            Other { number: to, address: address.to_owned(), line }
        };
        let seat = Seat {
            number: self.number,
            nodes: (1..=servers).map(|n| (n, BasicNode::new(format!("host {n}")))).collect(),
            voters,
            listed: servers,
            kept_bytes: world.draw.from(50, 2000),
            config,
            log,
            store: Arc::clone(&store) as _,
            ways: Ways(Arc::new(way)),
            cancel: CancelToken::new(),
        };
        let runtime = runtime(&world.draw);
        let (door, mut jobs) = mpsc::unbounded_channel::<Job>();
        let member = match runtime.block_on(Member::begin(seat)) {
            Ok(member) => member,
            Err(error) => {
                self.left = Some(error.message);
                return;
            }
        };
        let host = Arc::new(Host {
            member,
            store,
            number: self.number,
            world: Arc::clone(world),
            listed: cast.listed.clone(),
            placements: Placements::default(),
            moves: tokio::sync::Mutex::default(),
        });
        let served = Arc::clone(&host);
        runtime.spawn(async move {
            while let Some(job) = jobs.recv().await {
                tokio::spawn(job(Arc::clone(&served)));
            }
        });
        world.doors().insert(self.number, door);
        (self.runtime, self.host) = (Some(runtime), Some(host));
    }

    /// Has the server do something beside its calls.
    pub(super) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Host>) -> F,
    ) {
        if let Some((runtime, host)) = self.runtime.as_ref().zip(self.host.as_ref()) {
            runtime.spawn(work(Arc::clone(host)));
        }
    }

    pub(super) fn runs(&self) -> bool {
        self.runtime.is_some()
    }

    /// Ends the server at once; what its disk has not made durable may be lost.
    pub(super) fn kill(&mut self, world: &World, power: bool) {
        world.doors().remove(&self.number);
        self.host = None;
        // Drops all tasks where they are.
        self.runtime = None;
        if power {
            self.disk.files().fail();
        }
        self.stopped = 0;
    }

    /// Has the clock jump.
    pub(super) fn jump(&self, time: Duration) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(async { tokio::time::advance(time).await });
        }
    }

    /// Runs the server for a tick of its own clock.
    pub(super) fn run(&mut self, world: &World) {
        if self.stopped > 0 {
            self.stopped -= 1;
            if self.stopped == 0 {
                // The clock of a process goes on while the process is stopped.
                self.jump(Duration::from_secs(1));
            }
            return;
        }
        let Some(runtime) = &self.runtime else { return };
        let tick = TICK * self.speed as u32 / 1000;
        runtime.block_on(async { tokio::time::sleep(tick).await });
        let left = self.host.as_ref().and_then(|host| host.member.failure());
        if let Some(why) = &left {
            assert!(!why.contains("panicked") && !why.contains("internal"), "{why}");
        }
        if self.disk.files().dead || left.is_some() {
            self.kill(world, true);
            self.left = left;
        }
    }
}
