//! The front-end (2.3): tells servers what to do, watches them, and takes what comes out.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use nakshi_engine::{Context, Graph, Outcome};
use nakshi_store::ExternalId;
use serde::Serialize;

use crate::checkpoint::{RecoveryState, complete, remove};
use crate::control::{ClusterJob, Command, Lines, Report, RunCommand, ServerLimits, say};
use crate::exchange::Counters;
use crate::exchange::greeting::{GREETING_TIMEOUT, Peer as Greeted};
use crate::exchange::sockets::{Check, Unheard, dial, greet, hear};
use crate::exchange::{PeerSocket, watchful};
use crate::job::Superstep;
use crate::programs::NamedProgram;
use crate::task::{GraphInput, Start, Task, all, ids};
use crate::{Checkpoints, EdgeFile, Error, Ids, Partition, Result, Token};

/// Longest wait of the front-end for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval at which the process looks whether it shall stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest wait for the cause when one server has lost another.
const CAUSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Longest wait for servers to hang up.
const HANGUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Statistics of all servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Servers {
    /// Supersteps of each server; what a connection that was cut has swallowed is missing.
    pub steps: Vec<Vec<Superstep>>,
    /// Frames of each server, since the run was taken up the last time.
    pub counters: Vec<Counters>,
    /// Most memory of each server's process, in bytes.
    pub peak_rss: Vec<u64>,
    /// Seconds until the first server could begin: connecting and loading.
    pub load: f64,
    /// Seconds from then on.
    pub run: f64,
    /// Recoveries from lost servers.
    pub recoveries: Vec<Recovery>,
    /// True if the time was up before the program was finished.
    pub cut: bool,
}

/// Servers that were lost and replaced.
#[derive(Clone, Debug, Serialize)]
pub struct Recovery {
    /// The servers.
    pub lost: Vec<usize>,
    /// Observation that showed the loss of the first of them.
    pub why: String,
    /// The last superstep that was over by then.
    pub reached: Option<u32>,
    /// The superstep from whose checkpoint the run was taken up; none if it began anew.
    pub from: Option<u32>,
    /// Seconds from when the loss was noticed until all servers could go on.
    pub seconds: f64,
}

/// Settings of a run on servers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The secret that the servers know.
    pub token: Token,
    /// Computation workers of each server.
    pub threads: usize,
    /// Communication workers of each server.
    pub senders: usize,
    /// Bytes that each may use; lists that do not fit are in files of its `TMPDIR`.
    pub memory: Option<u64>,
    /// Checkpoints from which a run is taken up; without them it begins anew on the servers that are
    /// left.
    pub checkpoints: Option<Checkpoints>,
    /// Most times that a run is taken up.
    pub restarts: usize,
    /// The run ends after a superstep before this, with the values that there are then.
    pub deadline: Option<Duration>,
    /// Time after which a silent server is lost.
    pub peer_timeout: Duration,
}

impl Settings {
    /// Default settings for servers that know this secret, with one thread of each kind.
    pub fn new(token: Token) -> Self {
        Settings {
            token,
            threads: 1,
            senders: 1,
            memory: None,
            checkpoints: None,
            restarts: 8,
            deadline: None,
            peer_timeout: Duration::from_secs(10),
        }
    }
}

/// Event of a run in progress.
#[derive(Clone, Copy, Debug)]
pub enum Event<'e> {
    /// Loading: units done by all servers, and in all.
    Loading(u64, u64),
    /// A superstep of a server is over.
    Step(usize, &'e Superstep),
    /// Servers were lost, and replaced.
    Recovered(&'e Recovery),
}

/// Callbacks of the front-end.
pub struct Caller<'c> {
    /// Receives the events of the run.
    pub watch: &'c mut dyn FnMut(Event<'_>),
    /// Ends a server that was lost, if it is still there, and says where another one listens in its
    /// place; none if there is no other.
    pub replace: &'c mut dyn FnMut(usize) -> Result<Option<String>>,
}

/// The graph of a run.
#[derive(Clone, Debug)]
pub enum Given<'g> {
    /// A store that all servers can read under the same path, and the graph in it.
    Store(&'g Path, &'g Graph),
    /// A file that all servers can read, and the id of the vertex that the task begins at, from [`Task::of_edges`].
    Edges(&'g EdgeFile, Option<ExternalId>),
    /// Parts of which each server has one ([`crate::worker::Rules`]), and the same from [`Task::of_parts`].
    Parts(Option<ExternalId>),
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Results, a row for each vertex.
    pub outcome: Outcome,
    /// The ids of the vertices, ascending as the rows are; none if a store has them.
    pub ids: Option<Ids>,
    /// Statistics of all servers.
    pub servers: Servers,
}

/// Runs a task on the servers that listen at `addresses`.
///
/// # Errors
/// [`Error::Lost`] for a server that cannot be reached, ends or says nothing, and that is not replaced;
/// what made a server fail; [`nakshi_engine::Error::Cancelled`] by `cx`.
pub fn run(
    given: Given<'_>,
    task: &Task,
    addresses: &[String],
    settings: &Settings,
    cx: &Context,
    caller: &mut Caller<'_>,
) -> Result<Ran> {
    let (results, servers) = results(&given, task, addresses, settings, cx, caller)?;
    let steps = servers.steps.first().and_then(|steps| steps.last()).map_or(0, |last| last.step);
    let (mut outcome, ids) = match given {
        Given::Store(_, graph) => {
            let values: Vec<_> = results.iter().map(Vec::as_slice).collect();
            let by_rank = || graph.vertices_by_id(cx);
            (task.outcome(&values, graph.num_vertices(), steps, &by_rank)?, None)
        }
        Given::Edges(..) | Given::Parts(_) => {
            let (ids, values) = ids(&results)?;
            (task.outcome(&values, ids.len(), steps, &|| Ok(None))?, Some(ids))
        }
    };
    if servers.cut {
        outcome = outcome.with_summary("complete", false);
    }
    Ok(Ran { outcome, ids, servers })
}

/// Runs a program that the workers at `addresses` have of their own, by [`crate::worker_main`], on a store.
/// Returns the result of each vertex.
///
/// # Errors
/// As [`run`]; [`Error::Failed`] for a worker that does not have the program.
pub fn run_own<P: NamedProgram>(
    (path, graph): (&Path, &Graph),
    program: &P,
    addresses: &[String],
    settings: &Settings,
    cx: &Context,
) -> Result<Vec<P::Output>> {
    let task = Task::of_own(program);
    let (watch, replace) = (&mut |_: Event<'_>| {}, &mut |_: usize| Ok(None));
    let mut caller = Caller { watch, replace };
    let given = Given::Store(path, graph);
    let (results, _) = results(&given, &task, addresses, settings, cx, &mut caller)?;
    let values: Vec<_> = results.iter().map(Vec::as_slice).collect();
    all(&values, graph.num_vertices())
}

/// Runs a task; returns the results of each server.
fn results(
    given: &Given<'_>,
    task: &Task,
    addresses: &[String],
    settings: &Settings,
    cx: &Context,
    caller: &mut Caller<'_>,
) -> Result<(Vec<Vec<u8>>, Servers)> {
    Partition::new(addresses.len())?;
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let input = match given {
        Given::Store(path, _) => GraphInput::Store(absolute(path)),
        Given::Edges(file, source) => {
            let nodes = file.nodes.as_deref().map(absolute);
            let file = EdgeFile { path: absolute(&file.path), nodes, ..(*file).clone() };
            GraphInput::Edges { bytes: file.bytes(), file, source: source.clone() }
        }
        Given::Parts(source) => GraphInput::Parts { source: source.clone() },
    };
    let mut front = Front::connect(addresses, settings, cx)?;
    let job = ClusterJob {
        id: job_id(),
        input,
        task: task.clone(),
        limits: ServerLimits {
            threads: settings.threads.max(1),
            senders: settings.senders,
            memory: settings.memory,
        },
        checkpoints: settings.checkpoints.clone(),
        peer_timeout: settings.peer_timeout,
    };
    let ended = front.go(&job, cx, caller);
    front.end(job.id, ended.as_ref().err());
    ended?;
    let Watched { results, mut servers, began, loaded, .. } = front.watched;
    let loaded = loaded.unwrap_or_else(Instant::now);
    (servers.load, servers.run) = ((loaded - began).as_secs_f64(), loaded.elapsed().as_secs_f64());
    Ok((results, servers))
}

/// A random number that identifies the run.
fn job_id() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one((SystemTime::now(), std::process::id()))
}

/// A report of a server with its results, or the end of its connection.
type Received = io::Result<Option<(Report, Vec<u8>)>>;

/// The connection to a server.
struct Link {
    /// Number of servers that had this place before.
    number: u32,
    socket: TcpStream,
    /// Address at which the worker was called.
    called: String,
    /// Address at which the other servers reach it.
    address: String,
}

impl Drop for Link {
    fn drop(&mut self) {
        // Ends the thread that listens, and the server notices.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

struct Front<'s> {
    settings: &'s Settings,
    links: Vec<Link>,
    sender: Sender<(usize, u32, Received)>,
    heard: Receiver<(usize, u32, Received)>,
    epoch: u32,
    watched: Watched,
}

impl<'s> Front<'s> {
    fn connect(addresses: &[String], settings: &'s Settings, cx: &Context) -> Result<Self> {
        let (sender, heard) = channel();
        let watched = Watched::new(addresses.len(), settings.peer_timeout);
        let mut front = Front { settings, links: Vec::new(), sender, heard, epoch: 0, watched };
        for (server, address) in addresses.iter().enumerate() {
            let link = front.join((server, 0), address, Duration::ZERO, cx)?;
            front.links.push(link);
        }
        Ok(front)
    }

    /// Makes a server part of the run; `timeout` is for how long one that does not answer is called.
    fn join(
        &self,
        (server, number): (usize, u32),
        address: &str,
        timeout: Duration,
        cx: &Context,
    ) -> Result<Link> {
        let lost = |why: String| Error::Lost { server, why: format!("{address}: {why}") };
        let failed = |error: io::Error| lost(error.to_string());
        let check = || Ok(cx.check()?);
        let socket = match call(address, timeout, &self.settings.token, &check) {
            Ok(socket) => socket,
            Err(Unheard::Ended(error)) => return Err(error),
            Err(Unheard::Never(why)) => return Err(lost(why)),
            Err(Unheard::Again(error)) => return Err(failed(error)),
        };
        watchful(&socket, self.settings.peer_timeout).map_err(failed)?;
        let mut lines = Lines::of(&socket).map_err(failed)?;
        let began = Instant::now();
        let port = loop {
            cx.check()?;
            match lines.next() {
                Ok(Some(Report::Ready { port })) => break port,
                Ok(None) => return Err(lost("it has hung up".into())),
                Ok(Some(other)) => return Err(lost(format!("it begins with {other:?}"))),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                    return Err(failed(error));
                }
                Err(_) if began.elapsed() < CONNECT_TIMEOUT => {}
                Err(_) => {
                    let seconds = CONNECT_TIMEOUT.as_secs();
                    let why = format!("it has served another front-end for {seconds} s");
                    return Err(lost(why));
                }
            }
        };
        socket.set_read_timeout(None).map_err(failed)?;
        let host = socket.peer_addr().map_err(failed)?.ip();
        let sender = self.sender.clone();
        let called = address.to_string();
        let address = SocketAddr::new(host, port).to_string();
        let link = Link { number, socket, called, address };
        let listens = move || listen((server, number), lines, &sender);
        let thread = std::thread::Builder::new().name(format!("nakshi-front-{server}"));
        // One for each server, and this one.
        let (wanted, started) = (self.watched.done.len() + 1, self.links.len() + 1);
        let refused = |source| nakshi_io::Error::Threads { wanted, started, source };
        thread.spawn(listens).map_err(refused)?;
        Ok(link)
    }

    /// Runs the task until it is done, with other servers in the place of those that are lost.
    fn go(&mut self, job: &ClusterJob, cx: &Context, caller: &mut Caller<'_>) -> Result<()> {
        let mut start = Start::Fresh;
        loop {
            let ended = self.start(job, &start).and_then(|()| self.follow(cx, caller));
            match ended {
                Err(Error::Lost { server, why })
                    if self.watched.servers.recoveries.len() < self.settings.restarts =>
                {
                    start = self.recover(server, why, job, cx, caller)?;
                }
                ended => return ended,
            }
        }
    }

    fn start(&self, job: &ClusterJob, start: &Start) -> Result<()> {
        let addresses: Vec<_> = self.links.iter().map(|link| link.address.clone()).collect();
        let mut gone = None;
        let left = |deadline: Duration| deadline.saturating_sub(self.watched.began.elapsed());
        for (server, link) in self.links.iter().enumerate() {
            let run = RunCommand {
                server,
                addresses: addresses.clone(),
                job: job.clone(),
                epoch: self.epoch,
                start: start.clone(),
                seconds: self.settings.deadline.map(|deadline| left(deadline).as_secs_f64()),
            };
            // All of them are told, so that those that are there can be stopped.
            if let Err(error) = say(&link.socket, &Command::Run(Box::new(run))) {
                gone.get_or_insert(Error::Lost { server, why: error.to_string() });
            }
        }
        gone.map_or(Ok(()), Err)
    }

    /// Tells the servers that still listen that the run is over.
    fn end(&self, job: u64, error: Option<&Error>) {
        for link in &self.links {
            let order = match error {
                None => Command::End,
                Some(Error::Lost { server, why }) => {
                    Command::Abort { server: Some(*server), why: why.clone() }
                }
                Some(error) => Command::Abort { server: None, why: error.to_string() },
            };
            // One that is gone hears nothing.
            let _ = say(&link.socket, &order);
        }
        if let Some(checkpoints) = &self.settings.checkpoints {
            self.part();
            remove(checkpoints, job, None);
        }
        for link in &self.links {
            let _ = link.socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Waits, with a time-out, until servers hang up, after which they write no more files.
    fn part(&self) {
        let (began, mut left) = (Instant::now(), self.links.len());
        while left > 0 && began.elapsed() < HANGUP_TIMEOUT {
            if let Ok((server, number, Ok(None) | Err(_))) = self.heard.recv_timeout(POLL_INTERVAL)
                && self.links.get(server).is_some_and(|link| link.number == number)
            {
                left -= 1;
            }
        }
    }

    /// Listens until all servers are done.
    fn follow(&mut self, cx: &Context, caller: &mut Caller<'_>) -> Result<()> {
        while self.watched.done.iter().any(|done| !done) {
            self.hear(cx, caller)?;
            self.watched.check()?;
        }
        Ok(())
    }

    /// Handles the next report of a server, if there is one.
    fn hear(&mut self, cx: &Context, caller: &mut Caller<'_>) -> Result<()> {
        cx.check()?;
        match self.heard.recv_timeout(POLL_INTERVAL) {
            Ok((server, number, said))
                if self.links.get(server).is_some_and(|link| link.number == number) =>
            {
                self.watched.hear(server, said, caller)
            }
            _ => Ok(()),
        }
    }

    /// Replaces a lost server and others that are lost by now; returns the start of the next epoch.
    fn recover(
        &mut self,
        server: usize,
        why: String,
        job: &ClusterJob,
        cx: &Context,
        caller: &mut Caller<'_>,
    ) -> Result<Start> {
        let began = Instant::now();
        let mut lost = vec![server];
        self.halt(&mut lost, cx, caller)?;
        for &server in &lost {
            let link = self.another(server, &why, cx, caller)?;
            put(&mut self.links, server, link);
        }
        let mut new = lost.clone();
        for (server, state) in self.watched.states.iter_mut().enumerate() {
            // One that has never got so far as to run begins as those that were replaced.
            if state.take_if(|state| !state.ready).is_some() {
                new.push(server);
            }
        }
        let states = &self.watched.states;
        let step = complete(states, &self.watched.saved, job.checkpoints.as_ref());
        let start = match new.len() < states.len() || step.is_some() {
            true => Start::Again { new, step },
            false => Start::Fresh,
        };
        self.epoch += 1;
        let reached = self.watched.begin_again(step);
        let seconds = began.elapsed().as_secs_f64();
        let recovery = Recovery { lost, why, reached, from: step, seconds };
        (caller.watch)(Event::Recovered(&recovery));
        self.watched.servers.recoveries.push(recovery);
        Ok(start)
    }

    /// A server in the place of one that is lost. One that is lost before it takes part is replaced in turn,
    /// as often as the run may be taken up, unless it was the same again, which has been called for long.
    fn another(
        &self,
        server: usize,
        why: &str,
        cx: &Context,
        caller: &mut Caller<'_>,
    ) -> Result<Link> {
        let old = self.links.get(server);
        let number = old.map_or(0, |link| link.number + 1);
        let mut before = old.map(|link| link.called.clone());
        let mut left = self.settings.restarts - self.watched.servers.recoveries.len();
        loop {
            let gone = || Error::Lost { server, why: why.into() };
            let address = (caller.replace)(server)?.ok_or_else(gone)?;
            left = left.saturating_sub(1);
            match self.join((server, number), &address, CONNECT_TIMEOUT, cx) {
                Err(Error::Lost { .. }) if left > 0 && before.as_ref() != Some(&address) => {
                    before = Some(address);
                }
                joined => return joined,
            }
        }
    }

    /// Stops the servers that are not lost, and waits until they say what they have; those that do not are
    /// lost too.
    fn halt(&mut self, lost: &mut Vec<usize>, cx: &Context, caller: &mut Caller<'_>) -> Result<()> {
        lost.iter().for_each(|lost| put(&mut self.watched.states, *lost, None));
        for (server, link) in self.links.iter().enumerate() {
            // One that does not hear it is found below.
            let _ = match lost.contains(&server) {
                true => link.socket.shutdown(std::net::Shutdown::Both),
                false => say(&link.socket, &Command::Halt),
            };
        }
        let began = Instant::now();
        loop {
            let states = self.watched.states.iter().enumerate();
            let missing = |(server, state): (usize, &Option<RecoveryState>)| {
                (state.is_none() && !lost.contains(&server)).then_some(server)
            };
            let missing: Vec<_> = states.filter_map(missing).collect();
            if missing.is_empty() {
                return Ok(());
            }
            if began.elapsed() > self.settings.peer_timeout {
                lost.extend(missing);
                return Ok(());
            }
            match self.hear(cx, caller) {
                Err(Error::Lost { server, .. }) if !lost.contains(&server) => {
                    put(&mut self.watched.states, server, None);
                    lost.push(server);
                }
                Err(error @ Error::Engine(_)) => return Err(error),
                // What a server has to say of being stopped.
                Ok(()) | Err(_) => {}
            }
        }
    }
}

/// State of a run in progress.
struct Watched {
    peer_timeout: Duration,
    began: Instant,
    /// Progress of loading, by server.
    loading: Vec<(u64, u64)>,
    /// When the first server had its part of the graph.
    loaded: Option<Instant>,
    /// When each server was heard last.
    heard: Vec<Instant>,
    done: Vec<bool>,
    /// Checkpoints of the servers that have stopped.
    states: Vec<Option<RecoveryState>>,
    /// Steps whose checkpoints each server has.
    saved: Vec<Vec<u32>>,
    servers: Servers,
    results: Vec<Vec<u8>>,
    /// A server has lost another one; what that one has to say may still come.
    echo: Option<(Instant, Error)>,
}

impl Watched {
    fn new(servers: usize, peer_timeout: Duration) -> Self {
        let began = Instant::now();
        Watched {
            peer_timeout,
            began,
            loading: vec![(0, 0); servers],
            loaded: None,
            heard: vec![began; servers],
            done: vec![false; servers],
            states: vec![None; servers],
            saved: vec![Vec::new(); servers],
            servers: Servers {
                steps: vec![Vec::new(); servers],
                counters: vec![Counters::default(); servers],
                peak_rss: vec![0; servers],
                ..Servers::default()
            },
            results: vec![Vec::new(); servers],
            echo: None,
        }
    }

    /// Forgets all that comes after a step; returns the last step that was over.
    fn begin_again(&mut self, from: Option<u32>) -> Option<u32> {
        let reached = self.servers.steps.iter().flatten().map(|step| step.step).max();
        let kept = |step: &Superstep| from.is_some_and(|from| step.step < from);
        if from.is_none() {
            self.saved.iter_mut().for_each(Vec::clear);
        }
        self.servers.steps.iter_mut().for_each(|steps| steps.retain(kept));
        self.heard.fill(Instant::now());
        self.done.fill(false);
        self.states.fill(None);
        self.results.iter_mut().for_each(Vec::clear);
        self.echo = None;
        reached
    }

    fn hear(&mut self, server: usize, said: Received, caller: &mut Caller<'_>) -> Result<()> {
        put(&mut self.heard, server, Instant::now());
        match said {
            Ok(Some((Report::Loaded, _))) => {
                self.loaded.get_or_insert_with(Instant::now);
            }
            Ok(Some((Report::Alive { loaded }, _))) => {
                put(&mut self.loading, server, loaded);
                let sum = |(a, b): (u64, u64), (c, d): &(u64, u64)| (a + c, b + d);
                let (done, total) = self.loading.iter().fold((0, 0), sum);
                if self.loaded.is_none() && total > 0 {
                    (caller.watch)(Event::Loading(done, total));
                }
            }
            Ok(Some((Report::Steps { done, saved }, _))) => {
                done.iter().for_each(|step| (caller.watch)(Event::Step(server, step)));
                put(&mut self.saved, server, saved);
                if let Some(steps) = self.servers.steps.get_mut(server) {
                    steps.extend(done);
                }
            }
            Ok(Some((Report::Done { counters, peak_rss, cut, state, .. }, bytes))) => {
                put(&mut self.done, server, true);
                put(&mut self.states, server, Some(state));
                put(&mut self.servers.counters, server, counters);
                put(&mut self.servers.peak_rss, server, peak_rss);
                self.servers.cut = cut;
                put(&mut self.results, server, bytes);
            }
            Ok(Some((Report::Failed { why, lost, state }, _))) => {
                put(&mut self.states, server, Some(state));
                match lost {
                    None => return Err(Error::Failed { server, why }),
                    Some(server) => {
                        self.echo.get_or_insert((Instant::now(), Error::Lost { server, why }));
                    }
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                return Err(Error::Lost { server, why: "its process has ended".into() });
            }
            Err(error) => return Err(Error::Lost { server, why: error.to_string() }),
        }
        Ok(())
    }

    /// Fails if a server is lost or silent for too long.
    fn check(&mut self) -> Result<()> {
        match self.echo.take() {
            Some((at, error)) if at.elapsed() > CAUSE_TIMEOUT => return Err(error),
            echo => self.echo = echo,
        }
        match self.heard.iter().position(|at| at.elapsed() > self.peer_timeout) {
            None => Ok(()),
            Some(server) => {
                let why =
                    format!("it has said nothing for {:.0} s", self.peer_timeout.as_secs_f64());
                Err(Error::Lost { server, why })
            }
        }
    }
}

fn put<T>(places: &mut [T], at: usize, value: T) {
    if let Some(place) = places.get_mut(at) {
        *place = value;
    }
}

/// Calls a worker until it knows this front-end. Waits up to `timeout` for a process that answers, which
/// then has
/// [`CONNECT_TIMEOUT`] to say who it is, since it may be busy with strangers.
fn call(
    address: &str,
    timeout: Duration,
    token: &Token,
    check: Check<'_>,
) -> std::result::Result<TcpStream, Unheard> {
    let (began, until) = (Instant::now(), Instant::now() + CONNECT_TIMEOUT);
    loop {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no such host");
        let mut timeout = timeout;
        for place in address.to_socket_addrs()? {
            match dial(place, until, check).and_then(|socket| {
                timeout = CONNECT_TIMEOUT;
                known(socket, token, check)
            }) {
                Err(Unheard::Again(error)) => last = error,
                ended => return ended,
            }
        }
        if began.elapsed() >= timeout {
            return Err(last.into());
        }
        check()?;
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Greets the process that answers; returns the socket if it is a worker that knows the secret. Reads of
/// the socket end
/// after a while.
fn known(
    socket: TcpStream,
    token: &Token,
    check: Check<'_>,
) -> std::result::Result<TcpStream, Unheard> {
    socket.set_nodelay(true)?;
    let mut wire = PeerSocket::Tcp(socket);
    let said = greet(&mut wire, Greeted::FrontEnd, token, check)?;
    let [] = hear(&mut wire, (&said, token), Instant::now() + GREETING_TIMEOUT, check)?;
    match wire {
        PeerSocket::Tcp(socket) => Ok(socket),
        PeerSocket::Unix(_) => unreachable!("it was called by TCP"),
    }
}

/// Passes on the reports of a server until its connection ends.
fn listen(place: (usize, u32), mut lines: Lines, heard: &Sender<(usize, u32, Received)>) {
    loop {
        let said = lines.next().and_then(|line| match line {
            Some(done @ Report::Done { bytes, .. }) => Ok(Some((done, lines.bytes(bytes)?))),
            other => Ok(other.map(|report| (report, Vec::new()))),
        });
        let last = !matches!(said, Ok(Some(_)));
        if heard.send((place.0, place.1, said)).is_err() || last {
            return;
        }
    }
}
