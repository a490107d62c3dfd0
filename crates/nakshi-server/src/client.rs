//! The client: its servers and its calls.

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use nakshi_property::Change;
use nakshi_store::files::new_uuid;
use tonic::{Request, Status};

use crate::channel::Peers;
use crate::connection::{Connection, Waiting, poll_once};
use crate::error::{Error, ErrorKind, Result, of_unknown_outcome};
use crate::in_flight::{InFlight, Pending, Told};
use crate::parts;
use crate::queries::Queries;
use crate::v1::query_request::Query;
use crate::v1::run_reply::Reply as RunReply;
use crate::v1::{
    Answer, CommitReply, CommitRequest, NewEdgeNumbersRequest, Progress, QueryRequest,
    ResolveRequest, RunRequest, StatusReply, StatusRequest,
};
use crate::wire;

/// Port of a server, unless an address names another.
const PORT: u16 = 7480;
/// Interval at which a waiting call asks whether it should stop.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(50);
/// Time for which a thread that waits alone stays awake.
const AWAKE: Duration = Duration::from_micros(100);
/// Waits before the second try of a call, when the server is not there; before each further one it is twice as
/// long.
const AGAIN: Duration = Duration::from_millis(50);
/// Time for which a call is tried again, if there is one server.
const AWAY: Duration = Duration::from_secs(5);
/// Numbers of edges that are fetched at once.
const NUMBERS: u32 = 64;

/// Options of a client.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Token that the server knows.
    pub token: Option<String>,
    /// Certificates of the authorities that the server's certificate is trusted by, as PEM; the
    /// connection is plain without.
    pub ca: Option<PathBuf>,
    /// Time of a call.
    pub timeout: Duration,
    /// Queries read what anybody was told of before, by whatever server; the servers have to agree on each. A
    /// query reads what this client was told of, and nothing older than before, if it is false.
    pub linearizable: bool,
    /// Is asked every 50 ms while a call waits, in the thread that waits; true ends the call with
    /// [`ErrorKind::Cancelled`].
    pub stop: Option<fn() -> bool>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            token: None,
            ca: None,
            timeout: Duration::from_secs(60),
            linearizable: false,
            stop: None,
        }
    }
}

impl ConnectOptions {
    fn peers(&self) -> Peers {
        Peers { ca: self.ca.clone(), token: self.token.clone() }
    }
}

impl std::fmt::Debug for ConnectOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectOptions").field("ca", &self.ca).finish_non_exhaustive()
    }
}

/// The outcome of [`Client::run`].
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// A JSON object with `summary`, `stats`, and `vertices`, whether each column has vertices.
    pub outcome: String,
    /// The rows, as a stream of Arrow.
    pub rows: Vec<u8>,
}

/// A client of a graph's servers, which any number of threads may use. It has the queries of [`Queries`].
///
/// It asks one server. If that one cannot be reached, or another one makes the commits, it goes on to that.
pub struct Client {
    options: ConnectOptions,
    /// Host and port of all servers that are known.
    servers: Mutex<Vec<String>>,
    /// Replaced by that to another server, and in a forked process, which cannot use the connection of its
    /// parent.
    connection: Mutex<Arc<Connection>>,
    /// The greatest number of a commit that the server has named.
    pub(crate) seen: AtomicU64,
    /// Replaced in a forked process.
    in_flight: Mutex<Arc<InFlight>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("address", &self.address()).finish_non_exhaustive()
    }
}

/// Host and port of an address such as `nakshi://127.0.0.1:7480`.
fn host_and_port(address: &str) -> Result<String> {
    let rest = address.strip_prefix("nakshi://").unwrap_or(address).trim_end_matches('/');
    let wrong = || {
        Error::parameter(format!(
            "{address:?} is no address; write nakshi://HOST:PORT or HOST:PORT"
        ))
    };
    if rest.is_empty() || rest.contains(['/', '@', ' ']) {
        return Err(wrong());
    }
    // The colons of an IPv6 address stand in brackets.
    match rest.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
        Some((host, port)) if !host.is_empty() => {
            port.parse::<u16>().map_err(|_| wrong())?;
            Ok(rest.to_owned())
        }
        Some(_) => Err(wrong()),
        None if rest.contains(':') && !rest.ends_with(']') => Err(wrong()),
        None => Ok(format!("{rest}:{PORT}")),
    }
}

/// Hosts and ports of an address such as `nakshi://one:7480,two:7480`.
fn places(address: &str) -> Result<Vec<String>> {
    address.split(',').map(host_and_port).collect()
}

impl Client {
    /// Connects to a server: `nakshi://HOST:PORT`, or without `nakshi://` or the port. Several servers of a
    /// graph stand with commas in between, and the first that answers is asked; it names the others.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`] for an address or certificate that is none;
    /// [`ErrorKind::Unavailable`] if no server answers; [`ErrorKind::Denied`].
    pub fn connect(address: &str, options: ConnectOptions) -> Result<Self> {
        let servers = places(address)?;
        let mut failed = None;
        for server in &servers {
            let first = Connection::open(server, &options.peers(), servers.len() > 1)?;
            let connection = Mutex::new(Arc::new(first));
            let (options, servers) = (options.clone(), Mutex::new(servers.clone()));
            let in_flight = Mutex::new(InFlight::new());
            let seen = AtomicU64::new(0);
            let client = Client { options, servers, connection, seen, in_flight };
            // Without patience: whoever connects wants to know at once that nobody answers.
            let connection = client.connection()?;
            match client.status_by(&connection) {
                Ok(status) => {
                    client.learn(&status.servers)?;
                    return Ok(client);
                }
                Err(error) if error.kind == ErrorKind::Unavailable => failed = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failed.unwrap_or_else(|| Error::parameter("there is no address")))
    }

    /// A client of one server, which does not go on to others.
    pub(crate) fn of_one(address: &str, options: ConnectOptions) -> Result<Self> {
        let connection = Connection::open(address, &options.peers(), true)?;
        Ok(Client {
            servers: Mutex::new(vec![address.to_owned()]),
            connection: Mutex::new(Arc::new(connection)),
            seen: AtomicU64::new(0),
            in_flight: Mutex::new(InFlight::new()),
            options,
        })
    }

    /// Host and port of the server that it asks.
    pub fn address(&self) -> String {
        self.current().address.clone()
    }

    fn current(&self) -> MutexGuard<'_, Arc<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Vec<String>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_others(&self) -> bool {
        self.known().len() > 1
    }

    /// Remembers servers of the graph.
    fn learn(&self, servers: &[String]) -> Result<()> {
        let alone = !self.has_others();
        for server in servers {
            let mut known = self.known();
            if !known.contains(server) {
                known.push(server.clone());
            }
        }
        if alone && self.has_others() {
            let mut current = self.current();
            *current = Arc::new(Connection::open(&current.address, &self.options.peers(), true)?);
        }
        Ok(())
    }

    /// Goes on from the server of a connection to one of the graph's others: to `leader`, or else to the next.
    /// Returns false if there is none.
    fn move_on(&self, from: &Connection, leader: Option<&String>) -> Result<bool> {
        let after = || {
            let known = self.known();
            let at = known.iter().position(|server| *server == from.address);
            let next = known.iter().cycle().nth(at.map_or(0, |at| at + 1)).cloned();
            next.filter(|next| *next != from.address)
        };
        let Some(next) = leader.cloned().or_else(after) else { return Ok(false) };
        let mut current = self.current();
        // Another thread may have gone on before.
        if current.address == from.address {
            *current = Arc::new(Connection::open(&next, &self.options.peers(), true)?);
        }
        Ok(true)
    }

    pub(crate) fn connection(&self) -> Result<Arc<Connection>> {
        let mut current = self.current();
        if current.process != std::process::id() {
            let watched = self.has_others();
            let new = Arc::new(Connection::open(&current.address, &self.options.peers(), watched)?);
            // Dropping it would end the connection of the parent.
            std::mem::forget(std::mem::replace(&mut *current, new));
        }
        Ok(Arc::clone(&current))
    }

    /// Waits for a call, but not longer than the time limit, and not when the user wants to stop.
    pub(crate) fn wait<T>(
        &self,
        connection: &Connection,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T> {
        let (began, timeout) = (Instant::now(), self.options.timeout);
        let waiting = Waiting::begin(&connection.waiting);
        connection.runtime.block_on(async {
            tokio::pin!(call);
            // An answer that comes soon finds this thread awake: waking it up takes longer than most
            // queries do. With several threads, another one may need the processor.
            while waiting.is_alone() && began.elapsed() < AWAKE {
                if let Poll::Ready(done) = poll_once(call.as_mut()).await {
                    return done.map_err(|status| self.told(connection, status));
                }
                tokio::task::yield_now().await;
            }
            loop {
                let beat = HEARTBEAT.min(timeout.saturating_sub(began.elapsed()));
                match tokio::time::timeout(beat, &mut call).await {
                    Ok(done) => return done.map_err(|status| self.told(connection, status)),
                    Err(_) if self.options.stop.is_some_and(|stop| stop()) => {
                        return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
                    }
                    Err(_) if began.elapsed() >= timeout => return Err(self.too_late(connection)),
                    Err(_) => {}
                }
            }
        })
    }

    fn too_late(&self, connection: &Connection) -> Error {
        let what = format!(
            "{} did not answer within {} seconds, or within its own limit; give it more time (timeout=, \
             and nakshi serve --timeout)",
            connection.address,
            self.options.timeout.as_secs_f64()
        );
        Error::new(ErrorKind::Deadline, what)
    }

    fn told(&self, connection: &Connection, status: Status) -> Error {
        let named = status.metadata().contains_key(crate::error::KIND);
        let error = Error::from(status);
        if error.kind == ErrorKind::Deadline && !named {
            return self.too_late(connection);
        }
        if error.kind != ErrorKind::Unavailable {
            return error;
        }
        let what = format!("{} cannot be reached: {}", connection.address, error.message);
        Error::new(
            ErrorKind::Unavailable,
            format!("{what}; does the server run, with or without a certificate (ca=)?"),
        )
    }

    /// Makes a call again if the server is not there, of another one if it can. A call that changes something
    /// must have an id.
    pub(crate) fn repeated<T>(
        &self,
        mut call: impl FnMut(&Arc<Connection>) -> Result<T>,
    ) -> Result<T> {
        // One of several servers can be away, the next may hang, and then an election takes a moment.
        let away = if self.has_others() { AWAY * 3 } else { AWAY };
        let (began, patience) = (Instant::now(), away.min(self.options.timeout));
        let (mut pause, mut moves, mut why) = (AGAIN, 0, None);
        loop {
            let connection = self.connection()?;
            let done = call(&connection);
            let error = match done {
                Err(error) if matches!(error.kind, ErrorKind::Unavailable | ErrorKind::Moved) => {
                    error
                }
                done => return done,
            };
            if error.kind == ErrorKind::Unavailable {
                why = Some(error.clone());
            }
            if began.elapsed() + pause > patience {
                // One that sends the client elsewhere does not say why that fails.
                return Err(why.unwrap_or(error));
            }
            // A server that was started anew gives the numbers that nobody has used once more.
            connection.numbers.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let moved = self.move_on(&connection, error.leader.as_ref())?;
            moves += usize::from(error.leader.is_some());
            // Two servers may name each other for a moment.
            if error.leader.is_none() || moves > 1 {
                self.pause(pause)?;
                pause = if moved { pause } else { pause * 2 };
            }
        }
    }

    /// The last commit that this client knows of.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Relaxed)
    }

    /// Notes a commit that this client was told of.
    pub(crate) fn note(&self, commit: u64) {
        self.seen.fetch_max(commit, Relaxed);
    }

    /// Sleeps, unless the user wants to stop.
    fn pause(&self, time: Duration) -> Result<()> {
        let began = Instant::now();
        while began.elapsed() < time {
            if self.options.stop.is_some_and(|stop| stop()) {
                return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
            }
            std::thread::sleep(HEARTBEAT.min(time.saturating_sub(began.elapsed())));
        }
        Ok(())
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.options.timeout);
        request
    }

    /// The server and its graph.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`], [`ErrorKind::Denied`], [`ErrorKind::Deadline`].
    pub fn status(&self) -> Result<StatusReply> {
        self.repeated(|connection| self.status_by(connection))
    }

    fn status_by(&self, connection: &Connection) -> Result<StatusReply> {
        let mut stub = connection.stub.clone();
        let request = self.request(StatusRequest {});
        let call = async move { Ok(stub.status(request).await?.into_inner()) };
        let status = self.wait(connection, call)?;
        self.seen.fetch_max(status.commit, Relaxed);
        Ok(status)
    }

    /// A query whose state must be as new as this client wants.
    fn fresh(&self, request: QueryRequest) -> QueryRequest {
        let (at_least, latest) = (self.seen.load(Relaxed), self.options.linearizable);
        QueryRequest { at_least, latest, ..request }
    }

    /// Asks many queries without waiting for the answers in between, and returns these in order. Each query
    /// reads the state that is the newest by then.
    ///
    /// # Errors
    /// As [`Client::status`]; those of single queries stand in their places.
    pub fn ask_each(&self, queries: Vec<Query>) -> Result<Vec<Result<Answer>>> {
        self.repeated(|connection| {
            let (mut stub, wanted) = (connection.stub.clone(), queries.len());
            let fresh = self.fresh(QueryRequest::default());
            let one = move |query| QueryRequest { query: Some(query), ..fresh.clone() };
            let request = self.request(tokio_stream::iter(queries.clone().into_iter().map(one)));
            self.wait(connection, async move {
                let mut replies = stub.pipeline(request).await?.into_inner();
                let mut answers = Vec::with_capacity(wanted);
                while answers.len() < wanted {
                    answers.push(parts::next_of_many(&mut replies).await?);
                }
                Ok(answers)
            })
        })
    }

    /// Makes changes as one commit, which is durable when the call returns. Returns how many of them
    /// changed something; `None` if the server was started anew meanwhile, and there were several.
    ///
    /// If the server is away, the commit is repeated for some seconds, and is still made once.
    ///
    /// # Errors
    /// As [`PropertyStore::commit`](nakshi_property::PropertyStore::commit);
    /// [`ErrorKind::Unavailable`] or [`ErrorKind::Deadline`], after which the commit may have been made
    /// or not.
    pub fn commit(&self, changes: &[Change]) -> Result<Option<u64>> {
        let (flight, request) = (self.in_flight(), self.commit_request(changes));
        if flight.is_empty() {
            return Ok(self.make(&request)?.changed);
        }
        // It comes after those in flight, also if their server is lost.
        let pending = flight.add(request);
        let made = self.until(&flight, &pending, true).inspect_err(|_| flight.forget(&pending))?;
        self.seen.fetch_max(made.commit, Relaxed);
        Ok(made.changed)
    }

    /// A new commit.
    pub(crate) fn commit_request(&self, changes: &[Change]) -> CommitRequest {
        let (id, since) = (new_uuid().to_vec(), self.seen.load(Relaxed));
        CommitRequest { changes: wire::changes(changes), id, again: false, since }
    }

    /// Makes a commit, and returns when it is durable.
    pub(crate) fn make(&self, request: &CommitRequest) -> Result<CommitReply> {
        let mut tries = 0;
        let made = self.repeated(|connection| {
            let request = CommitRequest { again: tries > 0, ..request.clone() };
            tries += 1;
            let (request, mut stub) = (self.request(request), connection.stub.clone());
            self.wait(connection, async move { Ok(stub.commit(request).await?.into_inner()) })
        });
        let reply = made.map_err(|error| of_unknown_outcome(error, tries > 1))?;
        self.seen.fetch_max(reply.commit, Relaxed);
        Ok(reply)
    }

    /// The commits of this process in flight.
    pub(crate) fn in_flight(&self) -> Arc<InFlight> {
        let mut flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if !flight.is_ours() {
            // Dropping it would end the calls of the parent.
            std::mem::forget(std::mem::replace(&mut *flight, InFlight::new()));
        }
        Arc::clone(&flight)
    }

    /// Waits until a commit in flight is made, or `durable`. If its call is lost, this begins another one.
    pub(crate) fn until(
        &self,
        flight: &Arc<InFlight>,
        pending: &Arc<Pending>,
        durable: bool,
    ) -> Result<CommitReply> {
        let told = self.repeated(|connection| {
            let connection = flight.connection(connection);
            let mut told = pending.watch();
            self.wait(&connection, async move {
                let enough =
                    |told: &Told| told.is_last() || matches!(told, Told::Made(_) if !durable);
                match told.wait_for(enough).await.map(|told| Told::clone(&told)) {
                    Ok(Told::Lost(status)) => Err(status),
                    Ok(told) => Ok(told),
                    Err(_) => Err(Status::internal("a commit in flight was dropped")),
                }
            })
        });
        let told = match told {
            Err(error) if matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Deadline) => {
                return Err(of_unknown_outcome(error, true));
            }
            Err(error) => {
                flight.give_up(pending, &error);
                Told::clone(&pending.watch().borrow())
            }
            Ok(told) => told,
        };
        match told {
            Told::Made(reply) | Told::Durable(reply) => Ok(reply),
            Told::Failed(error) => Err(error),
            Told::Nothing | Told::Lost(_) => {
                Err(Error::new(ErrorKind::Internal, "internal error: a commit has no outcome"))
            }
        }
    }

    /// Number of the commit with an id, if it was made after commit number `since`. If it was not, it never
    /// will be.
    pub(crate) fn resolve(&self, id: &[u8], since: u64) -> Result<Option<u64>> {
        self.repeated(|connection| {
            let request = self.request(ResolveRequest { id: id.to_vec(), since });
            let mut stub = connection.stub.clone();
            let call = async move { Ok(stub.resolve(request).await?.into_inner().commit) };
            self.wait(connection, call)
        })
    }

    /// Runs an algorithm on the server, on the state after the last commit. `watch` receives how far it has
    /// come, at least twice a second.
    ///
    /// # Errors
    /// [`ErrorKind::Parameter`], [`ErrorKind::UnknownNode`]; [`ErrorKind::Overloaded`] if another one runs; as
    /// [`Client::status`].
    pub fn run(
        &self,
        request: &RunRequest,
        watch: &mut dyn FnMut(&Progress) -> Result<()>,
    ) -> Result<Ran> {
        self.repeated(|connection| {
            let mut stub = connection.stub.clone();
            let request = RunRequest { at_least: self.seen.load(Relaxed), ..request.clone() };
            // The time limit is for each word of the server.
            let call = async move { Ok(stub.run(request).await?.into_inner()) };
            let mut replies = self.wait(connection, call)?;
            let mut ran = Ran::default();
            loop {
                match self.wait(connection, replies.message())?.and_then(|reply| reply.reply) {
                    Some(RunReply::Progress(progress)) => watch(&progress)?,
                    Some(RunReply::Outcome(outcome)) => ran.outcome = outcome,
                    Some(RunReply::Rows(mut rows)) => ran.rows.append(&mut rows),
                    None => return Ok(ran),
                }
            }
        })
    }

    /// A number that no edge of the graph has had, for [`Change::CreateEdge`].
    ///
    /// # Errors
    /// As [`Client::status`].
    pub fn new_edge_number(&self) -> Result<u64> {
        let connection = self.connection()?;
        let kept = || connection.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = kept().pop() {
            return Ok(number);
        }
        let mut numbers = self.repeated(|connection| {
            let mut stub = connection.stub.clone();
            let request = self.request(NewEdgeNumbersRequest { count: NUMBERS });
            let call =
                async move { Ok(stub.new_edge_numbers(request).await?.into_inner().numbers) };
            self.wait(connection, call)
        })?;
        numbers.reverse();
        let missing = || Error::new(ErrorKind::Internal, "the server gave no number for an edge");
        let number = numbers.pop().ok_or_else(missing)?;
        kept().append(&mut numbers);
        Ok(number)
    }
}

impl Queries for Client {
    fn ask(&self, request: QueryRequest) -> Result<Answer> {
        let answer = self.repeated(|connection| {
            let mut stub = connection.stub.clone();
            let request = self.request(self.fresh(request.clone()));
            let call = async move { parts::joined(stub.query(request).await?.into_inner()).await };
            self.wait(connection, call)
        })?;
        // What comes later must not be older, whatever server answers.
        self.seen.fetch_max(answer.commit, Relaxed);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (address, wanted) in [
            ("nakshi://host:7481", "host:7481"),
            ("nakshi://host", "host:7480"),
            ("127.0.0.1:1/", "127.0.0.1:1"),
            ("[::1]", "[::1]:7480"),
            ("[::1]:99", "[::1]:99"),
        ] {
            assert_eq!(host_and_port(address).as_deref(), Ok(wanted));
        }
        for wrong in ["", "nakshi://", "host:port", ":7480", "::1", "http://host", "a/b", "h:99999"]
        {
            assert!(host_and_port(wrong).is_err(), "{wrong}");
        }
    }
}
